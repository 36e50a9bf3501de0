"""No circle of calls between files of the probe: each can be read before those that use it. Of
includes tools/lint.py holds it."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from lint_c import circle

DEFINED = set("TDRBVW")


@pytest.fixture
def symbols(probe: Path) -> list[tuple[str, str, str]]:
    """(object file, kind, name) of all that the probe is linked from."""
    archive = probe.parent / "libprobe.a"
    if shutil.which("nm") is None or not archive.exists():
        pytest.skip("nm, or the library that the probe is linked from, is not here")
    told = subprocess.run(["nm", "-A", archive], capture_output=True, text=True, check=True)
    rows = [line.rsplit(":", 1) for line in told.stdout.splitlines() if ":" in line]
    return [(place.split(":")[-1], rest.split()[-2], rest.split()[-1]) for place, rest in rows]


def calls(symbols: list[tuple[str, str, str]]) -> dict[str, set[str]]:
    """Which files define what a file uses, itself left out."""
    homes = {name: file for file, kind, name in symbols if kind in DEFINED}
    used: dict[str, set[str]] = defaultdict(set)
    for file, kind, name in symbols:
        if kind == "U" and homes.get(name, file) != file:
            used[file].add(homes[name])
    return used


@pytest.mark.slow
def test_calls_make_no_circle(symbols: list[tuple[str, str, str]]) -> None:
    used = calls(symbols)
    assert len(used) > 50
    assert circle(used) == []


def test_a_circle_of_calls_is_found() -> None:
    symbols = [("a", "T", "one"), ("a", "U", "two"), ("b", "T", "two"), ("b", "U", "one")]
    assert circle(calls(symbols)) == ["a", "b", "a"]
