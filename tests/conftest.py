"""What every test may use: where things are, and a home of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from hardstone.calling import stay_in
from hardstone.files import replace_file
from tests.waiting import soon

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

pytest_plugins = ["tests.programs"]


# Of CPU. The aim is 0.02; two machines whose loops are equally fast may differ by two in tests.
QUICK_S = 0.2
QUICK_RUNS = 3


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "fail a test that is not marked slow and takes more than 0.2 s of CPU"
    parser.addoption("--quick", action="store_true", help=about)
    about = "kernels that tests/guest boots: all, or names of the lab with commas"
    parser.addoption("--kernels", default="debian", metavar="NAMES", help=about)
    about = "keep what tests/guest and the transcripts of commands find, instead of comparing it"
    parser.addoption("--write-golden", action="store_true", help=about)
    about = "how often tests/host/test_kills.py kills each command"
    parser.addoption("--kills", default=5, type=int, metavar="N", help=about)


TOOK_S = pytest.StashKey[float]()
LIMIT_S = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    """A slower machine than that of the budgets has a higher limit."""
    if config.getoption("--quick"):
        import check

        config.stash[LIMIT_S] = QUICK_S * max(1.0, check.reference_s() / check.REFERENCE_S)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Keeps the CPU time of the test: a busy host adds little to that."""
    begin_s = cpu_s()
    yield
    item.stash[TOOK_S] = cpu_s() - begin_s


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """With --quick, a test that is over the limit in each of some runs fails: the first time it may
    have loaded what others use too."""
    if not item.config.getoption("--quick") or item.get_closest_marker("slow") is not None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(QUICK_RUNS):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        took_s = item.stash.get(TOOK_S, 0)
        if took_s <= item.config.stash[LIMIT_S] or not all(report.passed for report in reports):
            break
    else:
        call = next(report for report in reports if report.when == "call")
        call.outcome = "failed"
        call.longrepr = f"took {took_s:.2f} s of CPU: make it cheaper, or mark it slow"
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def cpu_s() -> float:
    """Of this process and of the children that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# Set by tools/check.py, which makes the name spaces: where their message queues are files.
ISOLATED = "HARDSTONE_TESTS_ISOLATED"


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """No process, no message queue, no System V object and nothing in shared memory outlives its
    test. In name spaces of their own there is nothing of others."""
    looked_at = (ROOT / "tests" / room for room in ("process", "virtual"))
    if ISOLATED not in os.environ or not any(map(request.path.is_relative_to, looked_at)):
        yield
        return
    before = all_objects()
    yield
    # A guard that undoes what a killed program left takes its time.
    assert soon(lambda: not all_objects() - before), f"left: {all_objects() - before}"


def all_objects() -> set[str]:
    """Names of all that outlives who made it; a zombie only waits for its parent."""
    found = {f"shared memory {path.name}" for path in Path("/dev/shm").iterdir()}
    found |= {f"message queue {path.name}" for path in Path(os.environ[ISOLATED]).iterdir()}
    for kind in ("msg", "sem", "shm"):
        lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
        found |= {f"System V {kind} {line.split()[1]}" for line in lines}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            number, _, rest = (folder / "stat").read_text().partition(" (")
            name, _, state = rest.rpartition(") ")
            if not state.startswith("Z"):
                found.add(f"process {number} {name}")
    return found


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(autouse=True, scope="session")
def charts_are_drawn_here() -> Iterator[None]:
    """In the process of the tests, whose converter runs: a helper takes 0.7 s of CPU to start, and
    each report would start two. tests/unit/report/test_drawing.py has them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARDSTONE_CHART_HELPERS", "0")
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that are not there yet. pytest would look for each at all that there are."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


REPORT_CACHE = ROOT / "build" / "pytest" / "report"


def copy_all(source: Path, target: Path) -> None:
    """Copies the files of a report's cache that are not in `target` yet: by a link where both are
    on one file system."""
    for file in (*source.glob("charts-*.js"), *source.glob("templates/*")):
        copy = target / file.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                copy.hardlink_to(file)
            except FileExistsError:  # another call of pytest was faster
                continue
            except OSError:
                replace_file(copy, file.read_bytes(), 0o600, is_durable=False)


@pytest.fixture(scope="session")
def report_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy on the file system of the tests' homes."""
    folder = tmp_path_factory.mktemp("report")
    copy_all(REPORT_CACHE, folder)
    yield folder
    copy_all(folder, REPORT_CACHE)


@pytest.fixture(autouse=True)
def own_home(
    homes: Iterator[Path], report_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """No test touches the runs of the person who types `make test`. The script of charts and the
    compiled templates of reports are made once for all: they take 2 s of CPU."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.delenv("HARDSTONE_LAB_DIR", raising=False)
    monkeypatch.delenv("HARDSTONE_TARGETS_FILE", raising=False)
    monkeypatch.setenv("HARDSTONE_LOCK_FILE", str(home / "lock"))
    copy_all(report_cache, home / "cache" / "hardstone")
    yield home
    copy_all(home / "cache" / "hardstone", report_cache)


@pytest.fixture(autouse=True)
def no_store_is_named() -> Iterator[None]:
    """Commands to type name the store of the last command: no test sees that of another."""
    yield
    stay_in(None)
