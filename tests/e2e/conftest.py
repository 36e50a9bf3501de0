"""The probe under test and its helpers, and a look for what a test leaves behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError
from hardstone.targets.alone import default_lock_file, measuring_alone
from hardstone.targets.find import find_probe
from tests.e2e import machine
from tests.e2e.odd import Odd, odd_values
from tests.e2e.running import rate_of_counter
from tests.e2e.shield_state import JOURNAL, State, read_state
from tests.e2e.shielding import RESERVED
from tests.waiting import wait_until

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ALONE_S = 240
CPUS_LOCK = ROOT / "build" / "cpus.lock"
MACHINE_LOCK = default_lock_file()  # read before each test gets a home of its own


def pytest_configure(config: pytest.Config) -> None:
    CPUS_LOCK.parent.mkdir(exist_ok=True)
    config.addinivalue_line("markers", "free_machine: wants all CPUs and the disk; comes last")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What wants the machine for itself comes last, when the others are done; also the unit tests
    of the probe, beside which no CPU is taken away."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.slow)
    items.sort(key=wants_the_machine)


def wants_the_machine(item: pytest.Item) -> int:
    if item.get_closest_marker("free_machine") is not None:
        return 2
    return int("cpus_taken" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def probe() -> Path:
    """HARDSTONE_PROBE, or the one that was built or installed."""
    try:
        return find_probe()
    except HardstoneError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def open_probe(probe: Path) -> Iterator[Path]:
    """A copy where every user can get at it: the folders of pytest are its user's alone."""
    with tempfile.TemporaryDirectory(prefix="hardstone-open-") as folder:
        Path(folder).chmod(0o755)
        copy = Path(folder, "hardstone-probe")
        shutil.copy(probe, copy)
        copy.chmod(0o755)
        yield copy


def helper(probe: Path, name: str) -> Path:
    """What the build left beside the probe, or beside the checkout's."""
    for build in (probe.parent, ROOT / "build" / "probe"):
        if (build / "tests" / name).exists():
            return build / "tests" / name
    pytest.skip(f"build/probe/tests/{name} is not there: make setup")


@pytest.fixture(scope="session")
def hog(probe: Path) -> Path:
    """A real-time program that takes a CPU and says from when to when."""
    return helper(probe, "hardstone-hog")


@pytest.fixture(scope="session")
def interrupter(probe: Path) -> Path:
    """A program that interrupts a CPU from another one and says when."""
    return helper(probe, "hardstone-interrupter")


@pytest.fixture(scope="session")
def broken_libc(probe: Path) -> Path:
    return helper(probe, "broken.so")


@pytest.fixture(scope="session")
def broken_signals(probe: Path) -> Path:
    """A libc that breaks what it promises of signals and rights."""
    return helper(probe, "broken_signals.so")


@pytest.fixture(scope="session")
def virtual_libc(probe: Path) -> Path:
    return helper(probe, "virtual_time.so")


@pytest.fixture(scope="session")
def virtual_calls(probe: Path) -> Path:
    """A libc in which every call takes a time that is known."""
    return helper(probe, "virtual_calls.so")


@pytest.fixture(scope="session")
def shared_probe(probe: Path) -> Path:
    """The probe linked dynamically: a libc can be put before its own."""
    return helper(probe, "hardstone-probe-shared")


@pytest.fixture(scope="session")
def quick(probe: Path) -> list[str]:
    """Options that save the second of calibration, and keep to one CPU."""
    del probe  # without one the test is skipped
    return [*rate_of_counter(), "--cpu", str(machine.cpu())]


@pytest.fixture(scope="session")
def beside(probe: Path) -> list[str]:
    """The same for what another worker runs beside the tests that measure."""
    del probe
    return [*rate_of_counter(), "--cpu", str(machine.cpu_beside()), *machine.BELOW_OTHERS]


@pytest.fixture
def alone() -> Iterator[None]:
    """Waits for the measurements of others on this machine, but not for ever."""
    give_up_s = time.monotonic() + ALONE_S
    with measuring_alone(lambda: time.monotonic() > give_up_s, lambda: None, print, MACHINE_LOCK):
        yield


@pytest.fixture
def cpus_taken(alone: None) -> Iterator[None]:
    """The test takes a CPU from all others, or takes it offline: the unit tests of the probe,
    which the checks run beside it, bind threads to that CPU."""
    with CPUS_LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(autouse=True)
def cpus_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """No other test takes a CPU away meanwhile: it would be `alone`."""
    if {"alone", "cpus_taken"} & set(request.fixturenames):
        yield
        return
    with CPUS_LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def our_probes() -> set[str]:
    """Ids of the probes that this process has started and that are still there."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (path / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name.startswith("hardstone-") and int(rest.split()[1]) == os.getpid():
            found.add(path.name)
    return found


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Of this test: the next ones are not to blame."""
    earlier = our_probes()
    yield
    assert our_probes() - earlier == set()


@pytest.fixture
def odd() -> Iterator[Odd]:
    with odd_values(RESERVED) as values:
        yield values


@pytest.fixture
def before(odd: Odd, probe: Path) -> Iterator[State]:
    assert not JOURNAL.exists(), f"somebody uses a shield: {JOURNAL}"
    assert {"timer_migration", "default_smp_affinity"} <= {
        path.rpartition("/")[2] for path in odd.files
    }
    yield read_state()
    if JOURNAL.exists():  # the test has failed: the machine is not to suffer from it
        subprocess.run([probe, "shield", "--restore"], check=False)


@contextmanager
def mounted_at(folder: Path, kind: str, *options: str) -> Iterator[Path]:
    """A file system of its own in a new folder, or the test is skipped."""
    folder.mkdir()
    words = ["mount", "-t", kind, *options, "hardstone-test", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no {kind} can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        # whoever was killed by the test has files there until it has ended
        wait_until(lambda: is_unmounted(folder), f"{folder} is still in use")


def is_unmounted(folder: Path) -> bool:
    return subprocess.run(["umount", str(folder)], check=False).returncode == 0


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 MiB of its own: 256 MiB of it must stay free."""
    with mounted_at(tmp_path / "small", "tmpfs", "-o", "size=400m") as folder:
        yield folder


@pytest.fixture
def queues(tmp_path: Path) -> Iterator[Path]:
    """The folder in which the system shows its message queues."""
    with mounted_at(tmp_path / "mqueue", "mqueue") as folder:
        yield folder


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where FIFOs are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder
