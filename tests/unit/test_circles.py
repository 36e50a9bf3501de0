"""No circle between files of the probe, of calls or of includes: each can be read before those that
use it. A file is a .c and its .h together; between which rooms it may be is test_includes.py's."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.probe_tree import include_edges

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


def circle(used: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(used).prepare()
    except CycleError as error:
        return [str(file) for file in error.args[1]]
    return []


def test_calls_make_no_circle(symbols: list[tuple[str, str, str]]) -> None:
    used = calls(symbols)
    assert len(used) > 50
    assert circle(used) == []


def test_a_circle_of_calls_is_found() -> None:
    symbols = [("a", "T", "one"), ("a", "U", "two"), ("b", "T", "two"), ("b", "U", "one")]
    assert set(circle(calls(symbols))) == {"a", "b"}


def test_includes_make_no_circle() -> None:
    used = include_edges(ROOT / "probe" / "src")
    assert len(used) > 100
    assert circle(used) == []


def test_a_circle_of_includes_is_found(tmp_path: Path) -> None:
    for name, included in [
        ("a.c", "b.h"),
        ("a.h", "c.h"),
        ("b.c", "b.h"),
        ("b.h", ""),
        ("c.h", ""),
    ]:
        (tmp_path / name).write_text(f'#include "{included}"\n' if included else "")
    assert circle(include_edges(tmp_path)) == []
    (tmp_path / "b.c").write_text('#include "a.h"\n')
    assert set(circle(include_edges(tmp_path))) == {"a", "b"}


def test_a_header_without_a_file_of_its_own_is_a_part_of_another(tmp_path: Path) -> None:
    for name, included in [
        ("a.c", "a_layout.h"),
        ("a.h", "b.h"),
        ("a_layout.h", "a.h"),
        ("b.h", "b.h"),
    ]:
        (tmp_path / name).write_text(f'#include "{included}"\n')
    assert include_edges(tmp_path) == {"a": {"b"}, "b": set()}
