"""`hardstone target collect`: which runs are meant, who may take one, and what is stored.

The client is a program of the tests, found on the path as `ssh`; shells, agent and keeper are real.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hardstone.campaign.campaign import Campaign
from hardstone.catalogue import load_catalogue
from hardstone.cli.target import check_of
from hardstone.errors import EXIT_OK, EXIT_UNREACHABLE, EXIT_USAGE
from hardstone.memory import LEFT_NAME
from hardstone.plan.make import Request, make_plan
from hardstone.store.store import Store
from hardstone.targets.base import LeftAloneError, Notices
from hardstone.targets.fake import FakeTarget
from hardstone.targets.probe_target import ProbeTarget
from tests.conftest import PROBE
from tests.process.cli.conftest import Hardstone
from tests.process.targets import sample
from tests.process.targets.made_ssh import MadeSsh
from tests.waiting import soon

TEST = "TMR-P-LAT"
URL = "ssh://board"

pytestmark = [
    pytest.mark.skipif(not PROBE.exists(), reason=f"there is no {PROBE}: make setup"),
    pytest.mark.slow,
]


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeSsh]:
    made = MadeSsh(tmp_path)
    for name, document in (("list", sample.register()), ("facts", sample.facts())):
        made.tell(name, msgspec.json.encode(document).decode())
    made.tell(TEST, "\n".join(sample.stream(TEST)) + "\n")
    monkeypatch.setenv("PATH", str(made.state), prepend=os.pathsep)
    yield made
    made.clear()


def leave(board: MadeSsh) -> str:
    """Begins a run on the board and leaves it there; its ID."""
    plan = make_plan(Request(tests=(TEST,), target="board"), sample.register(), load_catalogue())
    tests = [msgspec.structs.replace(one, expected_ns=1000) for one in plan.tests]
    target = ProbeTarget(board.transport())
    target.open(Notices(leaves=True))
    known = {one.id for one in Store().left()}
    with pytest.raises(LeftAloneError):
        Campaign(target, Store()).run(
            msgspec.structs.replace(plan, tests=tests), target.facts(), target.probe_list()
        )
    target.close()
    (left,) = [one.id for one in Store().left() if one.id not in known]
    return left


@pytest.fixture
def left(hardstone: Hardstone, board: MadeSsh) -> str:
    """A run that waits on the named target `board`."""
    assert hardstone("target", "add", "board", URL).code == EXIT_OK
    return leave(board)


def end_keeper(board: MadeSsh) -> None:
    """Once all has been measured. A keeper without work ends by itself after a minute, which it
    keeps the lock on measuring for."""
    (folder,) = [board.home / name for name in board.left()]
    soon((folder / "1.exit").exists)
    programs = {int(one.parent.name): read(one) for one in Path("/proc").glob("[0-9]*/cmdline")}
    keepers = [pid for pid, line in programs.items() if str(folder).encode() in line]
    assert keepers
    for pid in keepers:
        os.kill(pid, signal.SIGKILL)
    soon(lambda: not any(read(Path(f"/proc/{pid}/cmdline")) for pid in keepers))


def read(path: Path) -> bytes:
    """Empty for a process that has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def collected(board: MadeSsh) -> str:
    """The run that was stored; nothing is left of it elsewhere."""
    assert Store().left() == [] and board.left() == []
    document = Store().load("last")
    assert [one.status for one in document.results] == ["measured"]
    return document.id


def test_a_run_is_collected_by_the_name_of_its_target(
    hardstone: Hardstone, board: MadeSsh, left: str
) -> None:
    done = hardstone("target", "collect", "board")
    assert done.code == EXIT_OK, done.err
    assert f"hardstone: collecting run {left} from board" in done.told
    assert TEST in done.out and collected(board) == left


def test_a_run_is_collected_by_its_begin_when_its_keeper_has_long_ended(
    hardstone: Hardstone, board: MadeSsh, left: str
) -> None:
    end_keeper(board)
    done = hardstone("target", "collect", left[:10], "--quiet")
    assert done.code == EXIT_OK and collected(board) == left
    assert "collecting" not in done.err


@pytest.mark.parametrize("name", [URL, "bench"])
def test_a_run_is_collected_when_its_target_has_lost_its_name(
    hardstone: Hardstone, board: MadeSsh, left: str, name: str, tmp_path: Path
) -> None:
    assert hardstone("target", "remove", "board").code == EXIT_OK
    assert hardstone("target", "add", "bench", URL).code == EXIT_OK
    target = FakeTarget(sample.scenario(tmp_path, {}, facts=msgspec.to_builtins(sample.facts())))
    target.name = "bench"
    assert check_of(target).left == [f"run {left}"]
    done = hardstone("target", "collect", "mars")
    assert done.code == EXIT_USAGE
    assert "no run is left on 'mars'" in done.err and f"{left} on board" in done.err
    assert hardstone("target", "collect", "ssh://elsewhere").code == EXIT_USAGE
    done = hardstone("target", "collect", name)
    assert done.code == EXIT_OK, done.err
    assert collected(board) == left


def test_a_run_is_discarded_here_and_there(hardstone: Hardstone, board: MadeSsh, left: str) -> None:
    done = hardstone("target", "collect", "board", "--discard")
    assert (done.code, done.out) == (EXIT_OK, "")
    assert f"hardstone: discarded run {left}" in done.told
    assert Store().left() == [] and board.left() == [] and Store().runs() == []


def test_a_run_is_collected_by_its_end_into_one_document_and_a_report(
    hardstone: Hardstone, board: MadeSsh, left: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    end = left.rpartition("-")[2]
    done = hardstone("target", "collect", end, "--json", "-o", report)
    assert done.code == EXIT_OK, done.err
    assert done.document["id"] == left and done.document["status"] == "complete"
    assert left in report.read_text() and collected(board) == left


def test_of_several_runs_each_is_collected_and_one_file_holds_none(
    hardstone: Hardstone, board: MadeSsh, left: str, tmp_path: Path
) -> None:
    end_keeper(board)
    second = leave(board)
    done = hardstone("target", "collect", "-o", tmp_path / "report.html")
    assert done.code == EXIT_USAGE and "one file cannot hold 2 runs" in done.err
    assert len(Store().left()) == 2
    done = hardstone("target", "collect", "board", left)  # none of them twice
    assert done.code == EXIT_OK, done.out + done.err
    assert Store().left() == [] and board.left() == []
    assert {one.id for one in Store().runs()} == {left, second}


def test_a_board_that_does_not_answer_keeps_its_run(
    hardstone: Hardstone, board: MadeSsh, left: str
) -> None:
    board.tell("down")
    done = hardstone("target", "collect", "board")
    assert done.code == EXIT_UNREACHABLE and "Connection refused" in done.err
    (one,) = Store().left()
    assert one.id == left and not one.is_recorded and (one.journal / LEFT_NAME).exists()
    assert Store().runs() == []
    (board.state / "down").unlink()
    assert hardstone("target", "collect", "board").code == EXIT_OK
    assert collected(board) == left
