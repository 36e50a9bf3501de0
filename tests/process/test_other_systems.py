"""tools/other_systems.py: what systems have of the calls that the probe asks for."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.programs import ran
from tools import other_systems

FEATURES = {one.macro: one for one in other_systems.features(other_systems.MESON.read_text())}


def test_what_is_asked_for_is_what_the_build_asks_for() -> None:
    header = (ROOT / "probe/src/base/options.h").read_text()
    header += (ROOT / "probe/src/base/posix_source.h").read_text()
    macros = set(re.findall(r"^#ifndef (HS_HAS_\w+)$", header, re.MULTILINE))
    assert set(FEATURES) <= macros and len(FEATURES) > 40
    assert FEATURES["HS_HAS_FORK"].names == ("fork", "waitid", "waitpid")
    assert "O_ASYNC" in FEATURES["HS_HAS_READY_SIGNAL"].names
    assert FEATURES["HS_HAS_SIGNAL_SENDER"].names == ("si_pid",)
    assert all(one.names for one in FEATURES.values())


def test_a_name_in_a_comment_is_no_declaration(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/wait.h").write_text("/* no waitid( here */ int waitpid(int);\nint fork(void);")
    (tmp_path / "readme").write_text("waitid")
    words = other_systems.declared([tmp_path])
    missing = other_systems.missing_names(list(FEATURES.values()), words)
    assert missing["HS_HAS_FORK"] == ["waitid"]
    assert missing["HS_HAS_FIFO"] == ["mkfifo"]


def test_a_build_says_what_meson_found(tmp_path: Path) -> None:
    command = {"command": "cc -DHS_HAS_FORK=0 -DHS_HAS_FIFO=1 -DHS_LOAD=0"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([command]))
    assert other_systems.of_build(tmp_path) == {"HS_HAS_FORK": False, "HS_HAS_FIFO": True}


@pytest.mark.parametrize(
    ("system", "cells"),
    [
        ({"lacks": ["HS_HAS_FORK"]}, ["-", "yes"]),
        ({"lacks": [], "unknown": ["HS_HAS_FIFO"]}, ["yes", "?"]),
        ({"lacks": ["HS_HAS_FORK"], "known": []}, ["-", "?"]),
        ({"lacks": [], "known": ["HS_HAS_FIFO"]}, ["?", "yes"]),
    ],
)
def test_what_nobody_looked_up_is_not_called_there(
    system: dict[str, list[str]], cells: list[str]
) -> None:
    assert [other_systems.cell(system, one) for one in ("HS_HAS_FORK", "HS_HAS_FIFO")] == cells


def test_an_answer_to_what_is_not_asked_is_refused() -> None:
    system = {"name": "X", "lacks": ["HS_HAS_MAGIC"], "files": ["name.c", "wand.c"]}
    assert other_systems.complaints([system], list(FEATURES.values())) == [
        "X: HS_HAS_MAGIC is not asked for",
        "X: no file of the contract: wand.c",
    ]


def test_the_page_has_the_tables_of_the_data() -> None:
    command = [sys.executable, str(ROOT / "tools/other_systems.py"), "--check"]
    done = ran(command)
    assert done.returncode == 0, done.stdout


def test_the_state_of_each_system_says_whether_it_has_run() -> None:
    for system in other_systems.stored():
        assert (
            re.match(r"runs\b", system["state"])
            or "**not run**" in system["state"]
            or ("not run**" in system["state"])
        ), system["name"]
    ports = {path.name for path in other_systems.PORTS.iterdir() if path.is_dir()}
    for system in other_systems.stored():
        for port in re.findall(r"port `(\w+)`", system["state"]):
            assert port in ports
