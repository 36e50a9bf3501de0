"""Runs for CI systems: JUnit by junitparser, LAVA by the rules of its dispatcher, Markdown."""

from __future__ import annotations

import html
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from hardstone.exporters.ci import export_junit, export_lava, export_markdown
from hardstone.exporters.registry import Wanted
from hardstone.model import Conditions, RunDocument, Trust, Verdict
from tests.unit.stats import make

ASKED = Wanted()


def run_of(**changed: Any) -> RunDocument:
    return make.document(results=[make.result(values=range(1000, 3000), **changed)])


def cases_of(*documents: RunDocument) -> list[TestCase]:
    found = JUnitXml.fromstring(export_junit(documents, ASKED).content)
    cases = [case for suite in found for case in suite]
    assert (found.tests, len(list(found))) == (len(cases), len(documents))
    kinds = [type(one) for case in cases for one in case.result]
    assert (found.failures, found.errors) == (kinds.count(Failure), kinds.count(Error))
    return cases


def kind_of(case: TestCase) -> type | None:
    return type(case.result[0]) if case.result else None


@pytest.mark.parametrize(
    ("status", "kind", "lava"),
    [
        ("measured", None, "pass"),
        ("failed", Error, "fail"),
        ("timeout", Error, "fail"),
        ("denied", Error, "fail"),
        ("unsupported", Skipped, "skip"),
        ("skipped", Skipped, "skip"),
    ],
)
def test_a_test_that_did_not_run_never_passes(status: Any, kind: type, lava: str) -> None:
    document = run_of(status=status, reason="a reason")
    (case,) = cases_of(document)
    assert kind_of(case) is kind
    assert kind is None or case.result[0].message == f"{status}: a reason"
    assert cases_for_lava(document)[0]["result"] == lava


@pytest.mark.parametrize("changed", [{"interrupted": True}, {"complete": False}])
def test_what_was_cut_off_does_not_pass(changed: dict[str, bool]) -> None:
    document = run_of(**changed)
    (case,) = cases_of(document)
    assert kind_of(case) is Error and case.result[0].message == "ended before its last value"
    assert {one["result"] for one in cases_for_lava(document)} == {"fail", "unknown"}


def test_a_claim_that_does_not_hold_fails() -> None:
    verdicts = [
        Verdict(name="order/fifo", passed=True, evidence="1 2 3"),
        Verdict(name="order/rr", passed=False, evidence="1 3 2"),
    ]
    measured, holds, fails = cases_of(run_of(verdicts=verdicts))
    assert [kind_of(one) for one in (measured, holds, fails)] == [None, None, Failure]
    assert fails.name.endswith("order/rr") and "1 3 2" in fails.result[0].message
    results = {
        one["test_case_id"]: one["result"] for one in cases_for_lava(run_of(verdicts=verdicts))
    }
    assert (results["TMR-P-LAT.order-fifo"], results["TMR-P-LAT.order-rr"]) == ("pass", "fail")


def wrong() -> RunDocument:
    """Its maximum is not in its last bucket."""
    document = run_of()
    series = msgspec.structs.replace(document.results[0].series[0], max=10**9)
    result = msgspec.structs.replace(document.results[0], series=[series])
    return msgspec.structs.replace(document, results=[result])


def test_a_figure_that_cannot_be_true_fails_and_is_no_measurement() -> None:
    assert [kind_of(one) for one in cases_of(wrong())] == [None, Failure]
    measured, *figures = cases_for_lava(wrong())
    assert measured["result"] == "pass" and {one["result"] for one in figures} == {"unknown"}
    assert figures and not any("measurement" in one for one in figures)
    assert "**cannot be true**" in text_of(wrong())
    assert "| wake-up | cannot be true |  | 2 000 | TMR-P-LAT |" in text_of(wrong())


def test_an_untrustworthy_run_has_no_measurement_that_passes() -> None:
    trust = Trust(grade="untrustworthy", reasons=["the counter failed its checks"])
    document = msgspec.structs.replace(run_of(), trust=trust)
    figures = [one for one in cases_for_lava(document) if "measurement" in one]
    assert figures and {one["result"] for one in figures} == {"unknown"}
    assert "- trust: untrustworthy\n    - the counter failed its checks\n" in text_of(document)


def test_a_run_without_results_does_not_pass() -> None:
    (case,) = cases_of(make.document(results=[]))
    assert kind_of(case) is Error


@pytest.mark.parametrize("status", ["interrupted", "incomplete"])
def test_a_run_that_is_not_complete_passes_nowhere(status: Any) -> None:
    """A test that it did not come to is skipped in the document."""
    document = msgspec.structs.replace(run_of(status="skipped", reason="not run"), status=status)
    skipped, whole = cases_of(document)
    assert kind_of(skipped) is kind_of(whole) is Error
    assert [one["result"] for one in cases_for_lava(document)[:2]] == ["fail", "fail"]
    assert "- **not measured**: TMR-P-LAT: skipped: not run\n" in text_of(document)


def test_several_runs_are_suites_and_their_cases_differ() -> None:
    assert len(cases_of(run_of(), run_of())) == 2
    lines = export_lava([run_of(), run_of()], ASKED).content.decode().splitlines()
    assert len(set(lines)) == len(lines)


def test_points_of_a_sweep_differ_in_their_parameters() -> None:
    points = [make.result(params={"masses": count, "seed": 1}) for count in (100, 200, 200)]
    document = make.document(results=points)
    names = [case.name for case in cases_of(document)]
    assert names == [f"TMR-P-LAT, masses {n}: measured" for n in ("100", "200", "200 #2")]
    ids = [one["test_case_id"] for one in cases_for_lava(document)]
    assert len(set(ids)) == len(ids)


def test_names_that_lava_cannot_tell_apart_get_a_number() -> None:
    series = [
        msgspec.structs.replace(make.series(range(100)), labels={"topic": topic})
        for topic in ("a b", "a/b")
    ]
    ids = [
        one["test_case_id"]
        for one in cases_for_lava(make.document(results=[make.result(series=series)]))
    ]
    assert len(set(ids)) == len(ids) > 2


def test_virtual_time_is_no_measurement_of_a_machine() -> None:
    facts = {"virtual.emulated": True, "virtual.instruction_time": True}
    document = run_of()
    document = msgspec.structs.replace(document, system={**document.system, **facts})
    exported = export_lava([document], ASKED)
    results = {one["result"] for one in cases_for_lava(document) if "measurement" in one}
    assert results == {"unknown"} and exported.lost and export_junit([document], ASKED).lost


def test_each_condition_has_a_row() -> None:
    conditions = [Conditions(load=load, cpu_config="shared") for load in ("none", "heavy")]
    results = [make.result(values=range(1000, 3000), conditions=one) for one in conditions]
    rows = [
        one for one in text_of(make.document(results=results)).splitlines() if "wake-up," in one
    ]
    assert len(rows) == 2 and "heavy" in rows[1]


def cases_for_lava(document: RunDocument) -> list[dict[str, str]]:
    lines = export_lava([document], ASKED).content.decode().splitlines()
    found = []
    for line in lines:
        (signal,) = re.findall(r"<LAVA_SIGNAL_TESTCASE ([^>]+)>", line)
        pairs = [word.split("=") for word in signal.split()]
        assert all(len(pair) == 2 for pair in pairs)
        found.append({key.lower(): value for key, value in pairs})
    return found


def test_quantiles_for_lava_reach_as_far_as_the_values() -> None:
    names = [one["test_case_id"].rpartition(".wakeup.")[2] for one in cases_for_lava(run_of())[1:]]
    assert names == ["min", "mean", "p50", "p90", "p99", "max"]
    worst = cases_for_lava(run_of())[-1]
    assert (worst["measurement"], worst["units"]) == ("2999", "ns")


def text_of(document: RunDocument) -> str:
    return export_markdown([document], ASKED).content.decode()


def test_the_summary_has_the_answer_and_a_row() -> None:
    text = text_of(run_of())
    assert text.startswith("## hardstone: ") and "| wake-up | 3.00 us | " in text
    assert "- trust: full\n" in text


@pytest.mark.slow
@given(st.text(alphabet=st.sampled_from("<>&|`[]()*_#@~\\!:/\"'\n\x1ba1 .-"), min_size=1))
def test_nothing_foreign_marks_up(text: str) -> None:
    verdict = Verdict(name="order/rr", passed=False, evidence=text)
    document = msgspec.structs.replace(run_of(verdicts=[verdict]), name=text)
    facts = {**document.system, "machine.cpu_model": text, "kernel.release": text}
    shown = text_of(msgspec.structs.replace(document, system=facts))
    for line in shown.splitlines():
        plain = html.unescape(line)
        assert line.count("|") in (0, 6) and "<" not in line.replace("<br>", "")
        assert "](" not in line and plain.isprintable()
    assert cases_of(msgspec.structs.replace(document, system=facts))
