"""Boards for the tests of SSH: each test has its own, at its own desk."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.ssh.at_once import Outcomes, begun
from tests.host.ssh.board import Board, Controller, Desk, desk_in, no_boards


@pytest.fixture(scope="session")
def boards_can_be_made() -> None:
    if reason := no_boards():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def small_probe(probe: Path) -> Iterator[dict[str, str]]:
    """Names the probe without what only a debugger reads: it goes over slow links."""
    with tempfile.TemporaryDirectory(prefix="hardstone-probe-") as folder:
        copy = Path(folder, "hardstone-probe")
        shutil.copy(probe, copy)
        if shutil.which("strip") is not None:
            subprocess.run(["strip", str(copy)], check=True)
        yield {"HARDSTONE_PROBE": str(copy)}


@pytest.fixture
def desk(boards_can_be_made: None, small_probe: dict[str, str]) -> Iterator[Desk]:
    """Short is the name of its folder: it is in that of sockets."""
    with tempfile.TemporaryDirectory(prefix="hs-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)  # for an account of a board that is not root
        with desk_in(Path(folder)) as made:
            made.variables = small_probe
            yield made


@pytest.fixture
def board(desk: Desk) -> Iterator[Board]:
    """An ordinary one: root, bash, OpenSSH."""
    with desk.board() as made:
        yield made


@pytest.fixture
def controller(desk: Desk, board: Board) -> Controller:
    return desk.controller(board)


@pytest.fixture(scope="module")
def outcomes(
    boards_can_be_made: None, small_probe: dict[str, str], request: pytest.FixtureRequest
) -> Iterator[Outcomes]:
    """Of the module's `cases`, as many as were chosen; the module says how many run AT_ONCE."""
    module = request.module
    chosen = {
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is module
    }
    cases = {name: work for name, work in module.cases.known.items() if name in chosen}
    with begun(cases, module.AT_ONCE, small_probe) as futures:
        yield futures
