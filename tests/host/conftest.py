"""The probe under test and its helpers, and a look for what a test leaves behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hardstone.targets.alone import default_lock_file, measuring_alone
from tests.host.odd import Odd, odd_values
from tests.host.shield_state import JOURNAL, State, read_state
from tests.host.shielding import RESERVED
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
