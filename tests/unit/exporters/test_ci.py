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
from hardstone.model import RunDocument, Trust, Verdict
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
    figures = [one for one in cases_for_lava(wrong()) if "measurement" in one]
    assert figures and {one["result"] for one in figures} == {"unknown"}
    assert "**cannot be true**" in text_of(wrong())


def test_an_untrustworthy_run_has_no_measurement_that_passes() -> None:
    trust = Trust(grade="untrustworthy", reasons=["the counter failed its checks"])
    document = msgspec.structs.replace(run_of(), trust=trust)
    figures = [one for one in cases_for_lava(document) if "measurement" in one]
    assert figures and {one["result"] for one in figures} == {"unknown"}
    assert "- trust: untrustworthy\n    - the counter failed its checks\n" in text_of(document)


def test_a_run_without_results_does_not_pass() -> None:
    (case,) = cases_of(make.document(results=[]))
    assert kind_of(case) is Error


def test_several_runs_are_suites() -> None:
    assert len(cases_of(run_of(), run_of())) == 2


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
