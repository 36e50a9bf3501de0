"""evaluate and run: what is planned and stored, under loads and CPU configurations, and how they
exit. What they print is in golden/run.txt, and wrong usage in golden/usage.txt."""

from __future__ import annotations

import os
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
from tests.process.targets import sample
from tests.unit.doctor.machine import machine


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
