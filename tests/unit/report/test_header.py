"""What stands above all figures: said after what is known, and nothing more."""

from __future__ import annotations

import re

import msgspec
import pytest

from hardstone.model import Conditions, Event, Result, RunDocument
from hardstone.report.masthead import Banner, head_of
from hardstone.report.page import render_html
from tests.unit.report import sample
from tests.unit.report.sketches import sketched

REST = "All other results are complete."


def banner(document: RunDocument, title: str = "Incomplete run") -> Banner:
    (found,) = [one for one in head_of(document).banners if one.title == title]
    return found


def run(*results: Result, planned: int = 0, finished: bool = True) -> RunDocument:
    """An incomplete run of `results`, and of `planned` tests that have none."""
    whole = sample.document(count=100)
    tests = [sample.planned(one) for one in results]
    tests += [sample.planned(Result(test=f"SEM-P-{n}", status="skipped")) for n in range(planned)]
    return msgspec.structs.replace(
        whole,
        status="incomplete",
        finished_utc=whole.finished_utc if finished else None,
        results=list(results),
        plan=msgspec.structs.replace(whole.plan, tests=tests),
    )


WHOLE = Result(test="CLK-B-RES", status="measured")
CUTS = ("the probe was killed by signal 9", "line 4: not JSON: trailing characters")


@pytest.mark.parametrize("reason", CUTS)
def test_one_test_that_broke_is_named_and_no_connection_is_blamed(reason: str) -> None:
    cut = Result(test="TMR-P-LAT", status="failed", reason=reason, complete=False)
    found = banner(run(WHOLE, cut))
    assert found.lines == [f"TMR-P-LAT: {reason}.", REST]
    assert found.grave
    assert not {"connection", "lost", "tool"} & set(" ".join(found.lines).split())


@pytest.mark.parametrize(
    ("loads", "configs", "said"),
    [
        ([], [], {"Load": "storm", "CPU configuration": "single"}),
        (
            ["none", "heavy"],
            ["shared", "single"],
            {"Load": "none, heavy", "CPU configuration": "shared, single"},
        ),
    ],
)
def test_conditions_come_from_the_lists_or_from_before_there_were_any(
    loads: list[str], configs: list[str], said: dict[str, str]
) -> None:
    whole = run(WHOLE)
    plan = msgspec.structs.replace(
        whole.plan, load="storm", cpu_config="single", loads=loads, cpu_configs=configs
    )
    facts = dict(head_of(msgspec.structs.replace(whole, plan=plan)).facts)
    assert {name: facts[name] for name in said} == said


def test_a_target_that_was_lost_is_said_with_what_did_not_run() -> None:
    cut = Result(test="A-P-X", status="failed", reason="the target is gone", complete=False)
    after = [
        Result(test=test, status="skipped", reason="not run: the target is gone")
        for test in ("B-P-X", "C-P-X")
    ]
    assert banner(run(WHOLE, cut, *after)).lines == [
        "A-P-X: the target is gone.",
        "Did not run: B-P-X, C-P-X (the target is gone).",
        REST,
    ]


def test_a_run_that_was_recovered_has_no_end() -> None:
    cut = Result(
        test="A-P-X",
        status="measured",
        reason="the tool was ended while this test ran",
        complete=False,
    )
    lines = banner(run(WHOLE, cut, planned=2, finished=False)).lines
    assert lines == [
        "hardstone, or the machine it ran on, stopped before the run finished.",
        "A-P-X: the tool was ended while this test ran.",
        "Did not run: SEM-P-0, SEM-P-1.",
        REST,
    ]


def test_facts_that_did_not_come_at_the_end_are_what_is_missing() -> None:
    (first, rest) = banner(run(WHOLE)).lines
    assert "no facts at the end" in first and rest == REST


def test_many_cuts_are_counted() -> None:
    cuts = [Result(test=f"A-P-{n}", status="failed", complete=False) for n in range(9)]
    lines = banner(run(*cuts)).lines
    assert len(lines) == 8
    assert lines[6] == "And 3 more: see the table of all results."


def test_an_interrupted_run_says_what_did_not_run() -> None:
    skipped = Result(test="A-P-X", status="skipped", reason="not run: the run was interrupted")
    found = banner(
        msgspec.structs.replace(run(WHOLE, skipped), status="interrupted"), "Interrupted run"
    )
    assert found.lines[1:] == ["Did not run: A-P-X (the run was interrupted)."]
    assert not found.grave


@pytest.mark.slow
def test_settings_that_were_not_restored_are_told_first_with_what_to_type() -> None:
    whole = sample.document(realtime=False, count=100)
    assert "not restored" not in str(head_of(whole).banners)
    event = Event(name="not_put_back", text="/proc/irq/7/smp_affinity: Invalid argument")
    whole.results[0].events = [event, event]
    first = head_of(whole).banners[0]
    assert (first.title, first.grave) == ("Settings were not restored", True)
    assert first.lines[0] == f"{whole.results[0].test}: {event.text}."
    assert len(first.lines) == 2 and "run hardstone shield --restore" in first.lines[1]
    page = sketched(whole, sample.SPECS.get)
    assert f"Not restored: {event.text}; run hardstone shield --restore." in page


def test_what_nobody_planned_and_nobody_knows_is_not_claimed() -> None:
    result = sample.document(count=100).results[0]
    result.conditions = Conditions()
    head = head_of(run(result))
    assert head.summary.endswith("load not known, CPUs not known")
    assert dict(head.facts)["Load"] == dict(head.facts)["CPU configuration"] == "not known"


def test_unknown_conditions_of_a_result_are_said_to_be_unknown() -> None:
    document = sample.document(count=100)
    document.results = document.results[:1]
    document.results[0].conditions = Conditions(dma_latency_us=0)
    page = render_html(document, bundle=lambda: None)
    assert "load not known, CPUs not known, CPU not known, policy not known" in page
    told = dict(re.findall(r"<dt>([^<]+)</dt>\s*<dd[^>]*>([^<]+)</dd>", page))
    assert {told[name] for name in ("Policy", "Real-time", "Memory locked")} == {"not known"}
    assert told["cpu_dma_latency"] == "0 us"
