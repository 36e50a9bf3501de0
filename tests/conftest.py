"""What every test may use: where things are, and a home of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

# CI judges a change, not a draw of the day; `--hypothesis-profile=explore` goes looking.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("repeatable")

# Who is started in the background by a shell, or by nohup, ignores them, and so would all that
# tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "build" / "probe" / "hardstone-probe"


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "kernels that tests/guests boots: all, or names of the lab with commas"
    parser.addoption("--kernels", default="debian", metavar="NAMES", help=about)
    about = "keep the path lengths that tests/guests find, instead of comparing them"
    parser.addoption("--write-golden", action="store_true", help=about)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """A file is for one worker, and all that uses the machine as such is too, in turn: it
    measures, reserves CPUs, looks at all processes. So are the tests in one kernel, which share
    its guests, and those of pages, which share Chromium. They begin in the order of the items, not
    those of most tests first."""
    from xdist.scheduler import LoadFileScheduling

    from tests.guests.kernels import kernel_of

    config.option.loadscopereorder = False

    class OneForTheMachine(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            if path.startswith("tests/guests/"):
                return f"guests {kernel_of(nodeid)}"
            if path.startswith("tests/browser/"):
                return "browser"
            return "machine" if uses_the_machine(path) else path

    return OneForTheMachine(config, log)


# Of tests/e2e what runs beside the others in any worker: it judges no time that passes on the real
# machine, or measures only with the fixture `alone`, which one test on the machine has at a time;
# it looks at nothing but what it made or started itself, or waits until what others made is gone;
# it fills nothing that all processes of a user share, as queued signals;
# what is real-time for longer is on a CPU that is not measured, and below the others (the fixture
# `beside`); and while a test takes a CPU from all others it waits, by the fixture `cpus_kept`. What
# it costs the others, the checks of the probe cost them too, which run beside pytest: none of them
# may fail on a busy machine.
BESIDE_OTHERS = {
    f"tests/e2e/test_{name}.py"
    for name in (
        *("facts_of_root", "hostile_words", "posix_inventory", "posix_options"),  # what is told
        *("virtual_time", "virtual_timers"),  # on a clock that is made up
        *("lock_figures", "signal_figures", "thread_figures"),  # so, on a CPU that is not measured
        *("lock_leftovers", "message_leftovers"),  # there too, below others
        *("locked_memory", "async_io"),  # the same
        *("musl", "other_architecture", "small_build", "small_memory"),  # builds of their own
        *("lab", "preemption", "trace_guard"),  # guests and mounts that nobody else sees
        *("counters", "resume"),  # what is counted is at least what was done to it
        *("files_of_tests", "uncut"),  # faults that are made up
    )
}


def uses_the_machine(path: str) -> bool:
    is_of_machine = path.startswith("tests/e2e/") or path == "tests/cli/test_real.py"
    return is_of_machine and path not in BESIDE_OTHERS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What one worker has to run in turn takes longest: it begins first. What is short is last, so
    that all workers end at the same time."""
    items.sort(key=order)


def order(item: pytest.Item) -> int:
    path = item.nodeid.partition("::")[0]
    longest_first = (
        uses_the_machine(path),
        path.startswith("tests/guests/"),
        path.startswith("tests/e2e/"),
        any(map(item.get_closest_marker, ("slow", "browser"))),
        True,
    )
    return longest_first.index(True)


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def probe() -> Path:
    """The probe that `make setup` built; skips where there is none."""
    if not PROBE.exists():
        pytest.skip("there is no build/probe/hardstone-probe: make setup")
    return PROBE


@pytest.fixture(autouse=True, scope="session")
def charts_are_drawn_here() -> Iterator[None]:
    """In the process of the tests, whose converter runs: a helper takes 0.7 s of CPU to start, and
    each report would start two. tests/report/test_drawing.py has them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARDSTONE_CHART_HELPERS", "0")
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that are not there yet. pytest would look for each at all that there are."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the runs of the person who types `make test`."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.delenv("HARDSTONE_LAB_DIR", raising=False)
    monkeypatch.setenv("HARDSTONE_LOCK_FILE", str(home / "lock"))
    return home
