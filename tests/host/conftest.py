"""What the tests of a real kernel share: the machine for themselves, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from hardstone.targets.alone import default_lock_file, measuring_alone
from tests.host import noise
from tests.host.odd import Odd, odd_values
from tests.host.place import Place, place_in
from tests.host.shielding import JOURNAL, RESERVED, State, read_state
from tests.running import Stream, children, run, witnesses
from tests.waiting import wait_until

HERE = Path(__file__).parent
MACHINE = pytest.StashKey[noise.Machine]()
MACHINE_LOCK = default_lock_file()  # read before each test gets a home of its own


def pytest_configure(config: pytest.Config) -> None:
    machine = config.stash[MACHINE] = noise.Machine()
    os.environ.update([machine.mark.split("=")])
    config.pluginmanager.register(noise.Noise(HERE, machine.watch), "noise")


@pytest.fixture(autouse=True, scope="session")
def alone() -> Iterator[None]:
    """Waits for the measurements of others on this machine, which then wait for the tests."""
    with measuring_alone(lambda: False, print, print, MACHINE_LOCK):
        yield


@pytest.fixture(scope="session")
def kept(request: pytest.FixtureRequest) -> Callable[[Hashable, Callable[[], Any]], Any]:
    """Makes something, once for all tests that ask for it. What disturbed this has disturbed each
    of them."""
    machine = request.config.stash[MACHINE]
    made: dict[Hashable, tuple[Any, list[str]]] = {}

    def of_all(key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in made:
            watched, known = machine.watch(), len(witnesses)
            thing = make()
            made[key] = thing, [*watched(), *witnesses[known:]]
        thing, found = made[key]
        witnesses.extend(found)
        return thing

    return of_all


@pytest.fixture(scope="session")
def recorded(kept: Callable[[Hashable, Callable[[], Any]], Any]) -> Callable[..., Stream]:
    """`run`, once for all tests that ask for the same."""

    def recorded_run(*words: Any, **given: Any) -> Stream:
        return kept((words, repr(given)), lambda: run(*words, **given))  # type: ignore[no-any-return]

    return recorded_run


@pytest.fixture
def broken(shared_probe: Path, broken_libc: Path, quick: list[str]) -> Callable[..., Stream]:
    """Runs a test on a libc that breaks something."""

    def run_on(
        breach: str, test: str, *words: str, prefix: Sequence[str] = (), **variables: str
    ) -> Stream:
        variables = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": breach, **variables}
        options = (*quick, *words)
        stream = run(shared_probe, test, *options, prefix=prefix, variables=variables)
        return stream.checked()

    return run_on


def our_probes() -> set[int]:
    """Ids of the probes that this process has started and that are still there."""
    return {pid for pid in children(os.getpid()) if is_probe(Path(f"/proc/{pid}"))}


def is_probe(process: Path) -> bool:
    with suppress(OSError):
        return (process / "comm").read_text().startswith("hardstone-")
    return False


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Of this test: the next ones are not to blame."""
    earlier = our_probes()
    yield
    assert our_probes() - earlier == set()


@pytest.fixture
def place() -> Iterator[Place]:
    """Its folder is on a disk: only there a control group is made."""
    with (
        tempfile.TemporaryDirectory(prefix="hardstone-test-", dir="/var/tmp") as folder,
        place_in(Path(folder)) as made,
    ):
        yield made


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
