"""What every test may use: where things are, and a home of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# CI judges a change, not a draw of the day; `--hypothesis-profile=explore` goes looking.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("repeatable")

# Who is started in the background by a shell ignores it, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
PROBE = ROOT / "build" / "probe" / "hardstone-probe"


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def probe() -> Path:
    """The probe that `make setup` built; skips where there is none."""
    if not PROBE.exists():
        pytest.skip("there is no build/probe/hardstone-probe: make setup")
    return PROBE


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test touches the runs of the person who types `make test`."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("HARDSTONE_LOCK_FILE", str(home / "lock"))
    return home
