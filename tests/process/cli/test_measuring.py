"""evaluate and run: what is planned and stored, under loads and CPU configurations, and how they
exit. What they print is in golden/run.txt, and wrong usage in golden/usage.txt."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import (
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    TargetError,
)
from hardstone.model import Facts, RunDocument
from hardstone.store.store import Store
from hardstone.targets.base import SILENT, Notices
from hardstone.targets.fake import FakeTarget
from tests.process.cli.conftest import Done, Hardstone, Lab, facts_with
from tests.process.cli.forked import Forked, at_run
from tests.process.targets import sample
from tests.unit.doctor.machine import machine
from tests.waiting import wait_until


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


@pytest.mark.parametrize(
    "words",
    [
        ("run", "SEM-P-SIG"),
        ("evaluate",),
        ("latstat", "-D", "1s"),
        ("posix",),
        ("simulate", "realtime", "--within", "10s"),
        ("gate", "SEM-P-SIG", "--pairs", "10"),
        ("doctor", "--prove", "idle-states"),
    ],
    ids=lambda words: words[0],
)
def test_whatever_measures_waits_for_others_no_longer_than_asked(
    hardstone: Hardstone, lab: Lab, target: str, words: tuple[str, ...]
) -> None:
    waits: set[float | None] = set()

    class Busy(FakeTarget):
        def open(self, notices: Notices = SILENT) -> None:
            waits.add(notices.wait_s)

        def alone(self, *how: Any) -> Any:
            waits.add(how[3])
            raise TargetError("another measurement has held the lock", "wait longer")

        def facts(self, *, with_counter: bool = True) -> Facts:
            found = super().facts()
            found.facts.update(machine(user__effective_id=0, cpu__allowed="0-2,5"))
            return found

    lab(target=lambda name: Busy(Path(target.removeprefix("fake:"))))
    done = hardstone(*words, "--target", "lab:busy", "--wait", "7s", "-q")
    assert "another measurement has held the lock" in done.err, done.err
    assert waits == {7.0}


def test_options_reach_the_plan(hardstone: Hardstone, target: str) -> None:
    options = ["-i", "250", "-a", "2", "--priority", "80", "--policy", "rr"]
    options += ["--clock", "monotonic", "--seed", "9", "-D", "5m"]
    done = hardstone("run", "TMR-P-LAT", *options, "--target", target, "--json", "--dry-run")
    plan = done.document
    (test,) = plan["tests"]
    assert (test["params"]["interval_ns"], test["duration_ns"]) == (250_000, 300_000_000_000)
    assert (plan["cpu"], plan["priority"], plan["policy"]) == (2, 80, "rr")
    assert (plan["clock"], plan["seed"]) == ("monotonic", 9)


def test_a_report_goes_where_it_is_asked(hardstone: Hardstone, target: str, tmp_path: Path) -> None:
    place = tmp_path / "mine.html"
    assert hardstone("run", "SEM-P-SIG", "--target", target, "-o", place).code == EXIT_OK
    assert place.exists()


@pytest.mark.parametrize(
    "make",
    [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.name)],
    ids=["folder", "pipe", "ring"],
)
def test_a_place_that_is_no_file_is_known_before(
    hardstone: Hardstone, target: str, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    place = tmp_path / "r.html"
    make(place)
    before = place.lstat()
    store = tmp_path / "store"
    done = hardstone("run", "SEM-P-SIG", "--target", target, "--store", store, "-o", place)
    assert done.code == EXIT_USAGE
    assert str(place) in done.err and "1 of 1" not in done.err and "stored as" not in done.err
    after = place.lstat()  # looking at a link moves the time of its last access
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
        *(before.st_ino, before.st_mode, before.st_mtime_ns),
    )
    assert not store.exists()


def scenario(tmp_path: Path, **changed: object) -> str:
    first = {"SEM-P-SIG": changed.pop("steps", sample.stream("SEM-P-SIG"))}
    return f"fake:{sample.scenario(tmp_path, first, **changed)}"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["register", "facts"])
def test_documents_that_are_none_are_bad_input(
    hardstone: Hardstone, tmp_path: Path, name: str
) -> None:
    target = scenario(tmp_path, **{name: {"garbage": True}})
    done = hardstone("run", "SEM-P-SIG", "--target", target)
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1 and "hardstone probe build" in done.err


def test_a_probe_that_is_missing(hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", "/nowhere/hardstone-probe")
    done = hardstone("evaluate")
    assert done.code == EXIT_UNREACHABLE
    assert len(done.told) == 1 and "/nowhere/hardstone-probe" in done.err


def test_nothing_that_a_target_says_steers_the_terminal(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    nasty = "[bold]x[/bold]\x1b[2J\u202e\r\n[link=http://x]"
    steps = sample.stream(
        "SEM-P-SIG", status="failed", reason=nasty, verdicts=((nasty, False, nasty),)
    )
    facts = facts_with({"machine.cpu_model": nasty, "kernel.release": nasty})
    target = scenario(tmp_path, steps=steps, facts=facts)
    done = hardstone("run", "SEM-P-SIG", "--target", target)
    text = done.out + done.err
    assert not {"\x1b", "\r", "\u202e"} & set(text)
    assert "[bold]x[/bold]" in text


TWO = ("SEM-P-SIG", "SEM-P-RTP")


def test_a_command_on_a_copy_of_the_store_does_not_disturb_the_run(
    hardstone: Hardstone, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(memory))
    store, copy = tmp_path / "store", tmp_path / "copy"
    seen: list[str] = []

    def list_a_copy() -> None:
        before = {path: path.stat().st_ino for path in memory.rglob("*")}
        shutil.copytree(store, copy)
        with Forked("runs", "--store", copy) as tool:
            assert tool.wait() == EXIT_OK
            seen.extend([tool.out, tool.err])
        assert before == {path: path.stat().st_ino for path in memory.rglob("*")} != {}

    streams: dict[str, list[Any]] = {test: [*sample.stream(test)] for test in TWO}
    target = at_run(lab, f"fake:{sample.scenario(tmp_path, streams)}", 2, list_a_copy)
    done = hardstone("run", *TWO, "--target", target, "--store", store)
    assert done.code == EXIT_OK, done.err
    (run,) = Store(store).runs()
    assert (run.status, run.tests) == ("complete", 2)
    assert list(memory.iterdir()) == []
    out, said = seen
    assert "incomplete" in out and run.id in out
    assert f"the journal of run {run.id} in {copy} is a copy" in said
    assert f"it is still recorded in {store}" in said
    assert [one.test for one in Store(copy).load(run.id).results] == list(TWO)


# ---- loads and CPU configurations ----

TESTS = ("TMR-P-JIT", "RSP-P-FIX", "CLK-P-BIN", "TMR-P-LAT")
MATRIX = ("--load", "none,heavy", "--cpu-config", "shared,single,shielded")


def fake(folder: Path, *under: dict[str, Any], **changed: Any) -> str:
    steps = {test: [*sample.stream(test)] for test in TESTS}
    return f"fake:{sample.scenario(folder, steps, under=list(under), **changed)}"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def measure(hardstone: Hardstone, tmp_path: Path, store: Path) -> Callable[..., Done]:
    """Runs the four tests under six conditions, as the entries given have it."""

    def run(*under: dict[str, Any], options: tuple[str, ...] = MATRIX, **changed: Any) -> Done:
        target = fake(tmp_path, *under, **changed)
        return hardstone("run", *TESTS, *options, "--target", target, "--store", store)

    return run


def cells(document: RunDocument) -> list[tuple[str, str, str]]:
    return [(one.test, one.conditions.load, one.conditions.cpu_config) for one in document.results]


def test_one_command_runs_every_combination(measure: Callable[..., Done], store: Path) -> None:
    done = measure()
    assert done.code == EXIT_OK
    document = Store(store).load("last")
    assert len(set(cells(document))) == len(document.results) == 24
    assert document.status == "complete"
    assert document.plan.loads == ["none", "heavy"]
    assert "24 measurements under 6 conditions" in done.err
    assert "7 of 24  RSP-P-FIX [none, shared]" in done.err
    lines = [line for line in done.out.splitlines() if "hardstone " not in line]
    assert len(lines) <= 35 and max(map(len, lines)) <= 80


SHIELD, STRESS = ({"cpu_config": "shielded"}, "no cpuset"), ({"load": "stress-ng:*"}, "no program")
STRESSED = ("--load", "none", "--load", "stress-ng:--cpu 1")


@pytest.mark.parametrize(
    ("lacking", "status", "options", "count", "code"),
    [
        (SHIELD, "denied", MATRIX, 8, EXIT_PRIVILEGE),
        (SHIELD, "unsupported", MATRIX, 8, EXIT_UNTRUSTWORTHY),
        (STRESS, "unsupported", STRESSED, 4, EXIT_UNTRUSTWORTHY),
    ],
)
def test_a_condition_that_is_not_to_be_had_is_a_status(
    measure: Callable[..., Done],
    store: Path,
    lacking: tuple[dict[str, str], str],
    status: str,
    options: tuple[str, ...],
    count: int,
    code: int,
) -> None:
    where, reason = lacking
    done = measure({**where, "status": status, "reason": reason}, options=options)
    assert done.code == code and reason in done.out
    found = Store(store).load("last").results
    assert [one.status for one in found].count(status) == count


def test_a_probe_that_measures_under_other_conditions_is_not_trusted(
    hardstone: Hardstone, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, register = ((sample.GOLDEN / f"{name}.json") for name in ("facts", "register"))
    answers = {"facts": facts.read_text(), "list": register.read_text()}
    answers["load"] = (sample.GOLDEN / "loads.json").read_text()
    answers["run"] = "\n".join(sample.stream("TMR-P-LAT", load="none"))
    probe = sample.executable(tmp_path, f"lines({answers!r}[sys.argv[1]])")
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    done = hardstone("run", "TMR-P-LAT", "--load", "heavy", "--store", store)
    assert done.code == EXIT_UNTRUSTWORTHY
    assert "the conditions differed from the request: TMR-P-LAT" in " ".join(done.out.split())


@pytest.mark.slow
def test_a_kill_in_the_seventh_of_24_keeps_what_was_and_says_where(
    hardstone: Hardstone, tmp_path: Path, store: Path
) -> None:
    steps = [*sample.stream("RSP-P-FIX")[:3], {"delay_s": 100}]
    hang = {"test": "RSP-P-FIX", "load": "none", "cpu_config": "shared", "steps": steps}
    target = fake(tmp_path, hang, real_time=True)

    def received() -> bool:
        texts = [path.read_bytes() for path in store.glob("journals/*/journal.jsonl")]
        return b"".join(texts).count(b'"kind":"line","test":"RSP-P-FIX"') == 3

    with Forked("run", *TESTS, *MATRIX, "--target", target, "--store", store) as tool:
        wait_until(received)
        tool.send(signal.SIGKILL)
        tool.wait()
    done = hardstone("runs", "--store", store)
    document = Store(store).load("last")
    assert done.code == EXIT_OK and f"recovered {document.id}" in done.err
    assert len(document.results) == 7 and document.status == "incomplete"
    assert [one.complete for one in document.results] == [True] * 6 + [False]
    planned = [(one.test, one.load, one.cpu_config) for one in document.plan.tests]
    assert cells(document) == planned[:7]
    assert document.results[6].series[0].count == 2000
    shown = json.loads(hardstone("show", "last", "--store", store, "--json").out)
    assert shown["results"][6]["conditions"]["cpu_config"] == "shared"
    place = tmp_path / "r.html"
    assert hardstone("report", "last", "--store", store, "-o", place).code == EXIT_OK
    assert "RSP-P-FIX [none, shared]: hardstone was ended while this test ran" in place.read_text()
