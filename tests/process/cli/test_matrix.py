"""Loads and CPU configurations from the command line to the summary."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY, EXIT_USAGE
from hardstone.model import RunDocument
from hardstone.store import Store
from tests.process.cli.conftest import Done
from tests.process.targets import sample

Hardstone = Callable[..., Done]
TESTS = ("TMR-P-JIT", "RSP-P-FIX", "CLK-P-BIN", "TMR-P-LAT")
MATRIX = ("--load", "none,heavy", "--cpu-config", "shared,single,shielded")
REACHED = {
    "element": "cpu",
    "degree": "10ms/100ms",
    "asked": 0.1,
    "reached": 0.05,
    "unit": "share",
    "processes": 2,
}
SHORT = {
    "load": "heavy",
    "cpu_config": "single",
    "reached": [REACHED],
    "events": [{"name": "load_short", "text": "cpu: 10 % asked, 5 % reached"}],
}


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


def test_a_dry_run_shows_load_and_configuration(hardstone: Hardstone, tmp_path: Path) -> None:
    target = fake(tmp_path)
    done = hardstone("run", "TMR-P-LAT", *MATRIX, "--target", target, "--dry-run")
    assert done.code == EXIT_OK
    rows = [line.split()[:3] for line in done.out.splitlines() if line.startswith("TMR")]
    assert ["TMR-P-LAT", "heavy", "shielded"] in rows and len(rows) == 6
    assert max(map(len, done.out.splitlines())) <= 80


def test_loads_repeat_and_stress_ng_is_whole(hardstone: Hardstone, tmp_path: Path) -> None:
    options = ("--load", "none", "--load", "search,stress-ng:--cpu 2, --vm 1", "--json")
    done = hardstone("run", "TMR-P-LAT", *options, "--target", fake(tmp_path), "--dry-run")
    assert done.document["loads"] == ["none", "search", "stress-ng:--cpu 2, --vm 1"]


def test_the_default_is_what_it_was(hardstone: Hardstone, tmp_path: Path) -> None:
    target = fake(tmp_path, loads=None)
    plan = hardstone("evaluate", "--target", target, "--dry-run", "--json").document
    assert {(test["load"], test["cpu_config"]) for test in plan["tests"]} == {("none", "shared")}


def test_errors_of_loads_come_with_the_others(hardstone: Hardstone, tmp_path: Path) -> None:
    done = hardstone(
        *("run", "TMR-P-LATT", "--load", "hevy,cpu=5", "--cpu-config", "singel"),
        *("--samples", "0", "--target", fake(tmp_path)),
    )
    assert done.code == EXIT_USAGE and done.out == ""
    assert len(done.told) == 5
    assert "did you mean heavy?" in done.err and "did you mean single?" in done.err


def test_a_short_load_is_seen_and_lowers_the_trust(
    measure: Callable[..., Done], hardstone: Hardstone, store: Path
) -> None:
    measure(SHORT)
    document = Store(store).load("last")
    assert document.trust.grade == "indicative"
    (reason,) = [one for one in document.trust.reasons if "load" in one]
    assert reason.endswith(
        "during TMR-P-JIT [heavy, single], RSP-P-FIX [heavy, single], "
        "CLK-P-BIN [heavy, single] and 1 more"
    )
    flat = " ".join(hardstone("show", "last", "--all", "--store", store).out.split())
    assert flat.count("cpu: 10 % asked, 5 % reached") == 4
    assert "heavy cpu 10 % - 5 % -" in flat


LEFT = "/proc/irq/7/smp_affinity: Invalid argument"


@pytest.mark.parametrize(
    ("event", "code"), [("not_put_back", EXIT_UNTRUSTWORTHY), ("shielded", EXIT_OK)]
)
def test_a_machine_that_was_not_put_back_exits_with_3_and_says_what_to_type(
    measure: Callable[..., Done], hardstone: Hardstone, store: Path, event: str, code: int
) -> None:
    """Two runs that differ in nothing else."""
    events = [{"name": event, "text": LEFT}]
    done = measure({"load": "heavy", "cpu_config": "shielded", "events": events})
    assert done.code == code
    if code == EXIT_OK:
        assert "not restored" not in done.out
        return
    trust = Store(store).load("last").trust
    assert trust.grade == "untrustworthy"
    assert trust.reasons[0].startswith("settings not restored after TMR-P-JIT [")
    assert trust.reasons[0].endswith(": hardstone shield --restore")
    assert "settings not restored after TMR-P-JIT" in done.out
    flat = " ".join(hardstone("show", "last", "--all", "--store", store).out.split())
    assert flat.count("not restored: /proc/irq/7/smp_affinity: Invalid argument") == 4
    assert any(line.endswith("/hardstone shield --restore") for line in done.out.splitlines())
    assert flat.index("deviations from the request") < flat.index("not restored:")


@pytest.mark.parametrize(
    ("status", "code"), [("denied", EXIT_PRIVILEGE), ("unsupported", EXIT_UNTRUSTWORTHY)]
)
def test_a_shield_that_is_not_to_be_had(
    measure: Callable[..., Done], store: Path, status: str, code: int
) -> None:
    done = measure({"cpu_config": "shielded", "status": status, "reason": "no cpuset"})
    assert done.code == code
    found = Store(store).load("last").results
    assert [one.status for one in found].count(status) == 8
    assert "[none, shielded]" in done.out and "no cpuset" in done.out


def test_stress_ng_that_is_missing_is_a_status(measure: Callable[..., Done], store: Path) -> None:
    missing = {"load": "stress-ng:*", "status": "unsupported", "reason": "no stress-ng"}
    done = measure(missing, options=("--load", "none", "--load", "stress-ng:--cpu 1"))
    assert done.code == EXIT_UNTRUSTWORTHY
    assert "no stress-ng" in done.out


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


def test_the_report_sets_them_side_by_side(measure: Callable[..., Done], tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    assert measure(SHORT, options=(*MATRIX, "-o", str(place))).code == EXIT_OK
    page = place.read_text("utf-8")
    assert '<section id="beside"' in page and "load fell short" in page


@pytest.mark.slow
def test_a_kill_in_the_seventh_of_24_keeps_what_was_and_says_where(
    hardstone: Hardstone, tmp_path: Path, store: Path, root: Path
) -> None:
    steps = [*sample.stream("RSP-P-FIX")[:3], {"delay_s": 100}]
    hang = {"test": "RSP-P-FIX", "load": "none", "cpu_config": "shared", "steps": steps}
    target = fake(tmp_path, hang, real_time=True)
    program = "from hardstone.cli.main import main; main()"
    command = [sys.executable, "-c", program, "run", *TESTS, *MATRIX]
    process = subprocess.Popen(
        [*command, "--target", target, "--store", str(store)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "7 of 24" in line:
            break
    journals = store / "journals"
    text = b""
    while text.count(b'"kind":"line","test":"RSP-P-FIX"') < 3:
        time.sleep(0.02)
        text = b"".join(path.read_bytes() for path in journals.glob("*/journal.jsonl"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert hardstone("runs", "--store", store).code == EXIT_OK
    document = Store(store).load("last")
    assert len(document.results) == 7 and document.status == "incomplete"
    assert [one.complete for one in document.results] == [True] * 6 + [False]
    planned = [(one.test, one.load, one.cpu_config) for one in document.plan.tests]
    assert cells(document) == planned[:7]
    assert document.results[6].series[0].count == 2000
    shown = json.loads(hardstone("show", "last", "--store", store, "--json").out)
    assert shown["results"][6]["conditions"]["cpu_config"] == "shared"
    place = tmp_path / "r.html"
    assert hardstone("report", "last", "--store", store, "-o", place).code == EXIT_OK
    assert "RSP-P-FIX [none, shared]: the tool was ended while this test ran" in place.read_text()
