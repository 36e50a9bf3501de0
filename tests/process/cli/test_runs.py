"""The stored runs: listed, counted back from the last, removed, exported; and long output, through
a pager or into a pipe that closes."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pty
import shutil
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.model import Repeat
from hardstone.store.journal import LOCK_NAME
from hardstone.store.place import try_lock
from hardstone.store.store import Store
from tests.process.cli.conftest import Hardstone
from tests.process.cli.forked import Forked
from tests.process.cli.test_looking import keep
from tests.unit.stats import make

IDS = [f"2026112{day}T042200Z-00000{day}" for day in range(4)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    place = tmp_path / "store"
    system = {"machine.cpu_model": "Example 1000", "kernel.name": "Linux", "kernel.release": "6.18"}
    for day, run_id in enumerate(IDS):
        started = f"2026-11-2{day}T04:22:07Z"
        keep(
            place,
            make.document(run_id=run_id, name=f"day {day}", started_utc=started, system=system),
        )
    return place


def listed(hardstone: Hardstone, store: Path) -> list[str]:
    return [one["id"] for one in hardstone("runs", "--json", "--store", store).document]


@pytest.mark.parametrize(
    ("reference", "place"),
    [("last", -1), ("last~0", -1), ("last~", -2), ("last~1", -2), ("last~3", -4)],
)
def test_runs_are_counted_back_from_the_last(
    hardstone: Hardstone, store: Path, reference: str, place: int
) -> None:
    assert hardstone("show", reference, "--json", "--store", store).document["id"] == IDS[place]


def test_removed_are_just_the_runs_that_are_named(hardstone: Hardstone, store: Path) -> None:
    report = store / "reports" / f"{IDS[1]}.html"
    report.parent.mkdir()
    report.write_text("kept")
    done = hardstone("runs", "remove", "day 1", "last", "--yes", "--store", store)
    assert done.code == EXIT_OK
    assert done.out == f"removed {IDS[1]}  day 1\nremoved {IDS[3]}  day 3\n"
    assert str(report) in done.err and report.exists()
    assert listed(hardstone, store) == [IDS[0], IDS[2]]
    there = {path.name.partition(".")[0] for path in (store / "runs").iterdir()}
    assert there == {IDS[0], IDS[2]}


def test_a_lying_index_removes_no_other_run(hardstone: Hardstone, store: Path) -> None:
    """The summary of the second run says that it is the first one, by name."""
    summary = store / "runs" / f"{IDS[1]}.summary.json"
    summary.write_bytes(summary.read_bytes().replace(b"day 1", b"day 0"))
    done = hardstone("runs", "remove", "day 0", "--yes", "--store", store)
    assert done.out == f"removed {IDS[0]}  day 0\n"
    assert listed(hardstone, store) == IDS[1:]


@pytest.mark.parametrize(("answer", "left"), [("n\n", 4), ("\n", 4), ("y\n", 3)])
def test_at_a_terminal_it_asks(store: Path, answer: str, left: int) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    with Forked(
        *("runs", "remove", "last", "--store", store),
        err=theirs,
        before=lambda: os.dup2(theirs, 0),
    ) as tool:
        assert tool.wait() == EXIT_OK
    said = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    assert f"{IDS[3]}  day 3" in said and "Remove this run? [y/N]" in said
    assert len(Store(store).runs()) == left


def test_a_run_that_is_being_recorded_is_not_removed(hardstone: Hardstone, store: Path) -> None:
    """By a process that holds the lock of its journal, as one that continues a run does."""
    folder = store / "journals" / IDS[2]
    folder.mkdir(parents=True)
    lock = try_lock(folder / LOCK_NAME)
    assert lock is not None
    done = hardstone("runs", "remove", "last", "last~1", "--yes", "--store", store)
    lock.release()
    shutil.rmtree(folder)
    assert done.code == EXIT_USAGE and f"run {IDS[2]} is being recorded now" in done.err
    assert listed(hardstone, store) == IDS


def test_what_gate_and_resume_lose_is_named(hardstone: Hardstone, store: Path) -> None:
    plan = msgspec.structs.replace(make.plan_of([]), repeat=Repeat(number=1, count=10))
    run_id = keep(
        store,
        make.document(run_id="20261130T000000Z-00000a", plan=plan, status="incomplete"),
    )
    done = hardstone("runs", "remove", "last", "--yes", "--store", store)
    assert done.out.startswith(f"removed {run_id}")
    assert f"run {run_id} is number 1 of 10 repeats: gate --baseline can no longer" in done.err
    assert f"run {run_id} was interrupted: --resume can no longer continue it" in done.err


def test_a_damaged_run_is_removed_by_its_whole_id_only(hardstone: Hardstone, store: Path) -> None:
    path = Store(store).path_of(IDS[3])
    path.unlink()
    path.write_bytes(b"damaged")
    assert hardstone("runs", "remove", "last", "--yes", "--store", store).code == EXIT_USAGE
    done = hardstone("runs", "remove", IDS[3], "--yes", "--store", store)
    assert done.out == f"removed {IDS[3]} (cannot be read)\n"
    assert listed(hardstone, store) == IDS[:3]


def test_a_run_is_exported_as_json_and_csv(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    files = {"--export-json": tmp_path / "a.json", "--export-csv": tmp_path / "a.csv"}
    asked = [word for pair in files.items() for word in pair]
    done = hardstone(
        *("run", "SEM-P-SIG", "--target", target, "--store", tmp_path / "s", "--quiet"), *asked
    )
    assert done.code == EXIT_OK, done.err
    stored = Store(tmp_path / "s").load("last")
    assert json.loads(files["--export-json"].read_text())["id"] == stored.id
    rows = list(csv.DictReader(files["--export-csv"].read_text().splitlines()))
    assert {row["test"] for row in rows} == {"SEM-P-SIG"}
    assert len(rows) == sum(len(one.series) for one in stored.results)
    assert done.err.count("exported: ") == 2


PAGER = "sed s/^/paged:/"


def at_terminal(*words: object, pager: str | None) -> str:
    """What `hardstone` with `words` writes to a terminal."""
    ours, theirs = pty.openpty()

    def before() -> None:
        os.dup2(theirs, 0)
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.environ.pop("NO_COLOR", None)
        if pager is not None:
            os.environ["PAGER"] = pager

    with Forked(*words, out=theirs, before=before) as tool:
        os.close(theirs)
        parts = []
        while True:
            try:
                parts.append(os.read(ours, 1 << 16))
            except OSError:
                break
            if not parts[-1]:
                break
        assert tool.wait() == EXIT_OK, tool.err
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    "words",
    [
        ("show", "last", "--all"),
        ("show", "last", "--why"),
        ("show", "last", "TMR-P-LAT"),
        ("runs",),
    ],
    ids=" ".join,
)
def test_long_output_goes_through_the_pager(store: Path, words: tuple[str, ...]) -> None:
    shown = at_terminal(*words, "--store", store, pager=PAGER)
    lines = shown.splitlines()
    assert len(lines) > 3 and all(line.startswith("paged:") for line in lines)


def test_one_screen_needs_none(store: Path) -> None:
    assert "paged:" not in at_terminal("show", "last", "--store", store, pager=PAGER)


@pytest.mark.parametrize("pager", ["", "cat", "no-such-program", "'"])
def test_whoever_wants_no_pager_has_none(store: Path, pager: str) -> None:
    direct = at_terminal("runs", "--store", store, pager=pager)
    assert IDS[0] in direct and "\x1b[" in direct


def test_a_pager_that_keeps_colours_gets_them(store: Path, tmp_path: Path) -> None:
    """A program with the name of less, which is told to show them."""
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\necho "LESS=$LESS"\nexec cat\n')
    less.chmod(0o755)
    shown = at_terminal("runs", "--store", store, pager=str(less))
    assert shown.startswith("LESS=-FRX") and "\x1b[" in shown


def test_a_pager_that_is_left_early_is_no_error(store: Path) -> None:
    assert "Traceback" not in at_terminal("show", "last", "--all", "--store", store, pager="true")


def test_a_pipe_has_no_pager(store: Path) -> None:
    with Forked("runs", "--store", store, before=lambda: os.environ.update(PAGER=PAGER)) as tool:
        assert tool.wait() == EXIT_OK
        assert IDS[0] in tool.out and "paged:" not in tool.out


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("run", "--help"),
        ("runs",),
        ("runs", "--json"),
        ("show", "last"),
        ("show", "last", "--all"),
        ("list", "published"),
    ],
    ids=" ".join,
)
def test_a_pipe_that_closes_is_no_matter_to_speak_of(store: Path, words: tuple[str, ...]) -> None:
    """Whoever reads it, such as head, has seen enough."""
    reads, writes = os.pipe()
    os.close(reads)
    where = () if "--help" in words or "list" in words else ("--store", store)
    with Forked(*words, *where, out=writes) as tool:
        assert (tool.wait(), tool.err) == (EXIT_OK, "")
    os.close(writes)


def test_it_closes_in_the_middle_of_a_screen(target: str) -> None:
    """More than the pipe holds, of which a few lines are read."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    words = ("list", "--target", target)
    with Forked(*words, out=writes, before=lambda: os.close(reads)) as tool:
        os.close(writes)
        assert os.read(reads, 80)
        os.close(reads)
        assert (tool.wait(), tool.err) == (EXIT_OK, "")
