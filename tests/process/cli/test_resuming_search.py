"""`hardstone run --resume`: a search of IRQ-S-SUS goes on from the steps that were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.store import Store
from tests.process.cli.recordings import BOOT, SECOND_NS, Hardstone
from tests.process.targets import sample

SUS = "IRQ-S-SUS"


def step(period_ns: int, *, source: str = "ipi", lost: int = 0) -> dict[str, Any]:
    data = {
        "source": source,
        "period_ns": period_ns,
        "interrupts_count": 1000,
        "lost_count": lost,
        "late_count": 0,
        "merged_count": 0,
        "is_source_limited": False,
        "passed": lost == 0,
    }
    return {"type": "event", "name": "sustained_step", "text": "a step", "at_ns": 5, "data": data}


def limit(source: str = "ipi") -> dict[str, Any]:
    data = {"source": source, "why": "lost"}
    return {"type": "event", "name": "sustained_limit", "text": "a limit", "at_ns": 6, "data": data}


def period(source: str, value_ns: int) -> dict[str, Any]:
    (found,) = [
        json.loads(line) for line in sample.stream(SUS, values=(value_ns,)) if '"series"' in line
    ][:1]
    return found | {"name": "minimal_period", "labels": {"source": source}}


def lines(*more: dict[str, Any], begin_s: int, is_cut: bool = False) -> list[str]:
    found = [json.loads(line) for line in sample.stream(SUS, status="skipped", reason="none")]
    found[2:2] = more
    ending = next(one for one in found if one["type"] == "result")
    ending |= {"status": "measured", "reason": None, "duration_ns": SECOND_NS}
    ending["started_uptime_ns"] = begin_s * SECOND_NS
    kinds = [one["type"] for one in found]
    found[-1] |= {
        "lines": len(found) - 1,
        "events": kinds.count("event"),
        "series": kinds.count("series"),
    }
    return [json.dumps(one) for one in (found[:-1] if is_cut else found)]


def play(folder: Path, steps: list[str]) -> str:
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"]["os.boot_id"] = BOOT
    return f"fake:{sample.scenario(folder, {SUS: steps}, facts=facts)}"


def cut_off(hardstone: Hardstone, folder: Path, *more: dict[str, Any]) -> str:
    target = play(folder, lines(*more, period("timer", 7000), begin_s=100, is_cut=True))
    words = ("-p", "source=ipi,timer", "-p", "interrupts=1000")
    hardstone("run", SUS, "--target", target, "-q", *words)
    document = Store().load("last")
    assert document.status == "incomplete"
    return document.id


def test_only_what_is_not_known_is_tried(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = cut_off(
        hardstone,
        tmp_path,
        step(1000, lost=7),
        step(4000),
        limit(),
        step(2000, source="timer", lost=2),
    )
    done = hardstone("run", "--resume", run_id, "--dry-run", "--json")
    params = done.document["tests"][0]["params"]
    assert (params["source"], params["passed_ns"], params["failed_ns"]) == (["timer"], [0], [2000])
    assert params["interrupts"] == 1000


def test_the_rest_is_joined_into_the_run(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = cut_off(hardstone, tmp_path, step(1000, lost=7), step(4000))
    play(
        tmp_path,
        lines(step(2800), limit(), limit("timer"), period("ipi", 2800), begin_s=163),
    )
    done = hardstone("run", "--resume", "--json")
    assert (done.code, done.document["id"]) == (EXIT_OK, run_id), done.err
    document = Store().load(run_id)
    (result,) = document.results
    assert (document.status, len(document.parts)) == ("complete", 2)
    found = {one.labels["source"]: one for one in result.series}
    assert found["ipi"].min == found["ipi"].max == 2800
    tried = [one.data["period_ns"] for one in result.events if one.name == "sustained_step"]
    assert tried == [1000, 4000, 2800]


def test_nothing_left_is_said(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = cut_off(hardstone, tmp_path, limit(), limit("timer"))
    done = hardstone("run", "--resume", run_id)
    assert done.code == EXIT_USAGE and "nothing is left" in done.err
    assert "there is none to resume" in hardstone("run", "--resume").err


def test_another_test_is_refused(hardstone: Hardstone, tmp_path: Path) -> None:
    done = hardstone("run", "TMR-P-LAT", "--resume", "last")
    assert done.code == EXIT_USAGE and f"only {SUS}" in done.err


@pytest.mark.parametrize("words", [("--samples", "7"), ("-p", "interrupts=5"), ("--cpu", "0")])
def test_an_option_that_says_something_else_is_refused(
    hardstone: Hardstone, tmp_path: Path, words: tuple[str, ...]
) -> None:
    run_id = cut_off(hardstone, tmp_path, step(1000))
    done = hardstone("run", "--resume", run_id, *words)
    assert done.code == EXIT_USAGE and "begun with another value" in " ".join(done.err.split())
