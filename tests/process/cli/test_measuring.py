"""evaluate and run: what is planned, printed, stored, and how they exit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.catalogue import load_catalogue
from hardstone.errors import (
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
)
from hardstone.store import Store
from tests.process.cli.conftest import Done
from tests.process.targets import sample

Hardstone = Callable[..., Done]


def test_evaluate_runs_the_battery_and_stores_it(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    done = hardstone("evaluate", "--target", target, "--store", place)
    assert done.code == EXIT_OK, done.err
    (entry,) = Store(place).runs()
    assert (entry.status, entry.name) == ("complete", "quick battery")
    assert entry.tests == len(sample.register().tests)
    assert entry.id in done.out
    report = place / "reports" / f"{entry.id}.html"
    assert f"report: {report}" in done.err
    assert report.read_text().lower().startswith("<!doctype html>")


def test_the_summary_fits_a_terminal_and_a_pipe(hardstone: Hardstone, target: str) -> None:
    done = hardstone("run", "*", "--target", target)
    lines = done.out.splitlines()
    assert len(lines) <= 37
    assert max(len(line) for line in lines if "hardstone" not in line) <= 80
    assert "\x1b" not in done.out + done.err
    assert "trust       indicative" in done.out


def test_progress_on_a_pipe_is_a_line_for_each_test(hardstone: Hardstone, target: str) -> None:
    lines = hardstone("run", "SEM-P-SIG", "SEM-P-RTP", "--target", target).err.splitlines()
    assert lines[0].startswith("hardstone: 2 tests, about")
    assert lines[1].startswith("hardstone: 1 of 2  SEM-P-SIG  about")
    assert lines[2].startswith("hardstone: 2 of 2  SEM-P-RTP  about")


def test_quiet_keeps_progress_to_itself(hardstone: Hardstone, target: str) -> None:
    done = hardstone("run", "SEM-P-SIG", "SEM-P-RTP", "--target", target, "--quiet")
    assert " of 2 " not in done.err


def test_json_is_exactly_one_document(hardstone: Hardstone, target: str) -> None:
    done = hardstone("run", "sem-p-sig", "--target", target, "--json", "--name", "mine")
    assert done.code == EXIT_OK
    assert done.document["schema"] == "hardstone.run/3"
    assert done.document["name"] == "mine"
    assert [result["test"] for result in done.document["results"]] == ["SEM-P-SIG"]


def test_a_dry_run_prints_the_plan_and_runs_nothing(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    place = tmp_path / "store"
    done = hardstone("evaluate", "--target", target, "--store", place, "--dry-run")
    assert done.code == EXIT_OK
    for test in load_catalogue().ids():
        assert test in done.out
    assert not place.exists()


def test_a_dry_run_as_json_is_the_plan(hardstone: Hardstone, target: str) -> None:
    done = hardstone("run", "TMR-P-LAT", "--target", target, "-D", "5m", "--json", "--dry-run")
    (test,) = done.document["tests"]
    assert test["duration_ns"] == 300_000_000_000


def test_options_reach_the_plan(hardstone: Hardstone, target: str) -> None:
    options = ["-i", "250", "-a", "2", "--priority", "80", "--policy", "rr"]
    options += ["--clock", "monotonic", "--seed", "9"]
    done = hardstone("run", "TMR-P-LAT", *options, "--target", target, "--json", "--dry-run")
    plan = done.document
    assert plan["tests"][0]["params"]["interval_ns"] == 250_000
    assert (plan["cpu"], plan["priority"], plan["policy"]) == (2, 80, "rr")
    assert (plan["clock"], plan["seed"]) == ("monotonic", 9)


def test_all_input_errors_come_at_once(hardstone: Hardstone, target: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = hardstone(
        *("run", "TMR-P-LATT", "SEM-P-SIG", "-p", "knids=x", "--samples", "0"),
        *("-D", "nan", "--cpu", "77", "--priority", "100", "--target", target, "--json"),
        *("--policy", "fio", "--clock", "tsc", "--profile", "slow"),
        *("--store", tmp_path / "file", "-o", tmp_path / "no" / "r.html"),
    )
    assert done.code == EXIT_USAGE
    assert done.out == ""
    assert len(done.told) == 11
    assert "unknown policy 'fio'; did you mean fifo?" in done.err
    assert "unknown clock 'tsc'; choose from auto, monotonic" in done.err
    assert "unknown profile 'slow'" in done.err
    assert f"--store: {tmp_path / 'file'} is not a folder" in done.err
    assert f"there is no folder {tmp_path / 'no'}" in done.err
    assert "did you mean TMR-P-LAT?" in done.err
    assert "did you mean kinds?" in done.err


@pytest.mark.parametrize("value", ["", "nan", "-1", "0", "9" * 50, "1e400", "\x1b"])
@pytest.mark.parametrize("option", ["--samples", "-D", "-i"])
def test_figures_that_are_none(hardstone: Hardstone, target: str, option: str, value: str) -> None:
    done = hardstone("run", "TMR-P-LAT", f"{option}={value}"[:60], "--target", target)
    if not option.startswith("--"):
        done = hardstone("run", "TMR-P-LAT", option, value, "--target", target)
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1
    assert done.err.strip().isprintable()


def test_a_report_goes_where_it_is_asked(hardstone: Hardstone, target: str, tmp_path: Path) -> None:
    place = tmp_path / "mine.html"
    assert hardstone("run", "SEM-P-SIG", "--target", target, "-o", place).code == EXIT_OK
    assert place.exists()


def test_a_report_that_cannot_be_written_is_known_before(
    hardstone: Hardstone, target: str, tmp_path: Path
) -> None:
    done = hardstone("evaluate", "--target", target, "-o", tmp_path / "no" / "r.html")
    assert done.code == EXIT_USAGE
    assert "there is no folder" in done.err
    assert "1 of 8" not in done.err


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_fifo(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def ring(path: Path) -> None:
    path.symlink_to(path.name)


def identity(path: Path) -> tuple[int, int, int]:
    """Not the time of the last access, which looking at a link moves."""
    state = path.lstat()
    return state.st_ino, state.st_mode, state.st_mtime_ns


@pytest.mark.parametrize("make", [Path.mkdir, make_fifo, link_to_fifo, ring])
def test_a_place_that_is_no_file_is_known_before(
    hardstone: Hardstone, target: str, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    place = tmp_path / "r.html"
    make(place)
    before = identity(place)
    store = tmp_path / "store"
    done = hardstone("run", "SEM-P-SIG", "--target", target, "--store", store, "-o", place)
    assert done.code == EXIT_USAGE
    assert str(place) in done.err and "1 of 1" not in done.err and "stored as" not in done.err
    assert identity(place) == before
    assert not store.exists()


def scenario(tmp_path: Path, **changed: object) -> str:
    first = {"SEM-P-SIG": changed.pop("steps", sample.stream("SEM-P-SIG"))}
    return f"fake:{sample.scenario(tmp_path, first, **changed)}"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("denied", EXIT_PRIVILEGE),
        ("unsupported", EXIT_UNTRUSTWORTHY),
        ("timeout", EXIT_UNTRUSTWORTHY),
        ("failed", EXIT_UNTRUSTWORTHY),
    ],
)
def test_what_was_not_measured_is_said(
    hardstone: Hardstone, tmp_path: Path, status: str, code: int
) -> None:
    steps = sample.stream("SEM-P-SIG", status=status, reason="for a reason")
    done = hardstone("run", "SEM-P-SIG", "--target", scenario(tmp_path, steps=steps))
    assert done.code == code
    assert f"SEM-P-SIG {status}: for a reason" in done.out


@pytest.mark.parametrize(
    "steps",
    [
        ["garbage"],
        [{"cut": '{"type": "hea'}],
        [*sample.stream("SEM-P-SIG"), sample.stream("SEM-P-SIG")[-2]],
        [{"hang": True}],
    ],
)
def test_a_stream_that_is_none_is_bad_input_in_one_line(
    hardstone: Hardstone, tmp_path: Path, steps: list[object]
) -> None:
    done = hardstone("run", "SEM-P-SIG", "--target", scenario(tmp_path, steps=steps))
    assert done.code == EXIT_USAGE
    (line,) = [line for line in done.told if "the probe may be of another version" in line]
    assert line.startswith("hardstone: SEM-P-SIG: ") and line.isprintable()
    assert [one for one in done.typed if one.endswith("hardstone probe build")] != []
    assert "SEM-P-SIG failed" not in done.err and "SEM-P-SIG timeout" not in done.err


@pytest.mark.parametrize("name", ["register", "facts"])
def test_documents_that_are_none_are_bad_input(
    hardstone: Hardstone, tmp_path: Path, name: str
) -> None:
    target = scenario(tmp_path, **{name: {"garbage": True}})
    done = hardstone("run", "SEM-P-SIG", "--target", target)
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1 and "hardstone probe build" in done.err


def test_without_realtime_the_top_line_says_so(hardstone: Hardstone, tmp_path: Path) -> None:
    steps = sample.stream("SEM-P-SIG", realtime=False, policy="other", priority=0)
    done = hardstone("run", "SEM-P-SIG", "--target", scenario(tmp_path, steps=steps))
    assert done.code == EXIT_OK
    assert done.out.splitlines()[0] == "not scheduled as real-time"
    assert "setcap cap_sys_nice,cap_ipc_lock=ep" in " ".join(done.out.split())


def test_a_target_that_vanishes(hardstone: Hardstone, tmp_path: Path) -> None:
    target = scenario(tmp_path, steps=[{"vanish": True}])
    done = hardstone("run", "SEM-P-SIG", "TMR-P-LAT", "--target", target)
    assert done.code == EXIT_UNREACHABLE
    assert "the target is gone" in done.err
    assert "TMR-P-LAT skipped: not run: the target is gone" in done.out


def test_a_probe_that_is_missing(hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", "/nowhere/hardstone-probe")
    done = hardstone("evaluate")
    assert done.code == EXIT_UNREACHABLE
    assert len(done.told) == 1 and "/nowhere/hardstone-probe" in done.err


def test_a_store_that_is_a_file(hardstone: Hardstone, target: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = hardstone("run", "SEM-P-SIG", "--target", target, "--store", tmp_path / "file" / "x")
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1


def test_nothing_that_a_target_says_steers_the_terminal(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    nasty = "[bold]x[/bold]\x1b[2J\u202e\r\n[link=http://x]"
    steps = sample.stream(
        "SEM-P-SIG", status="failed", reason=nasty, verdicts=((nasty, False, nasty),)
    )
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"].update({"machine.cpu_model": nasty, "kernel.release": nasty})
    target = scenario(tmp_path, steps=steps, facts=facts)
    done = hardstone("run", "SEM-P-SIG", "--target", target)
    text = done.out + done.err
    assert not {"\x1b", "\r", "\u202e"} & set(text)
    assert "[bold]x[/bold]" in text
