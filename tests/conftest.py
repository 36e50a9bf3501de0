"""What every test may use: where things are, and a home of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

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


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "kernels that tests/guest boots: all, or names of the lab with commas"
    parser.addoption("--kernels", default="debian", metavar="NAMES", help=about)
    about = "keep the path lengths that tests/guest find, instead of comparing them"
    parser.addoption("--write-golden", action="store_true", help=about)


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
