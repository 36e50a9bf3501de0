"""JUnit XML and the GitHub summary: whole, valid, and nothing foreign gets through."""

from __future__ import annotations

import html
import re
from io import StringIO
from xml.etree import ElementTree as Tree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.gate.outcome import (
    Check,
    GateDocument,
    gate_document,
    github_summary,
    junit_xml,
    lava_lines,
)
from hardstone.gate.screen import print_gate
from hardstone.stats.run_gate import Outcome

HOSTILE = (
    "</testcase><script>alert(1)</script> \"' & ]]> \x00\x1b[31m\ud800 | `x` [a](http://b) @me #1"
)


def check(outcome: Outcome, text: str = "TMR-P-LAT/total/wakeup", **changed: str) -> Check:
    fields = {
        "system": "run",
        "condition": "load heavy",
        "address": text,
        "statistic": "max",
        "wanted": "at most 100 us",
        "found": "131 us",
        "reason": "one value beyond a limit is a proof",
    }
    return Check(outcome=outcome, **(fields | changed))


def document(*checks: Check, notes: tuple[str, ...] = ()) -> GateDocument:
    return gate_document("limits", ["run"], ["limits.toml"], checks, notes=notes)


def suite_of(found: GateDocument) -> Tree.Element:
    text = junit_xml(found, "2026-11-21T03:22:00Z", "bench")
    root = Tree.fromstring(text)  # noqa: S314 - our own
    assert root.tag == "testsuites"
    (suite,) = root
    check_schema(suite)
    for name in ("tests", "failures", "errors"):
        assert root.get(name) == suite.get(name)
    return suite


def check_schema(suite: Tree.Element) -> None:
    """What the schemas of Jenkins and of Ant ask for: attributes, and the order of elements."""
    assert suite.tag == "testsuite"
    needed = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"}
    assert set(suite.attrib) == needed
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    tags = " ".join(one.tag for one in suite)
    assert re.fullmatch(r"properties( testcase)+ system-out system-err", tags)
    for case in suite.iter("testcase"):
        assert set(case.attrib) == {"name", "classname", "time"}
        assert len(case) <= 1
        for one in case:
            assert one.tag in ("failure", "error", "system-out")
            assert set(one.attrib) == (set() if one.tag == "system-out" else {"type", "message"})
    assert all(set(one.attrib) == {"name", "value"} for one in suite.iter("property"))


def counts_in(suite: Tree.Element) -> str:
    return " ".join(suite.attrib[name] for name in ("tests", "failures", "errors"))


@pytest.mark.parametrize(
    ("outcome", "counts", "tag"),
    [
        ("PASS", "1 0 0", "system-out"),
        ("FAIL", "1 1 0", "failure"),
        ("INCONCLUSIVE", "1 0 1", "error"),
    ],
)
def test_each_outcome_in_junit(outcome: Outcome, counts: str, tag: str) -> None:
    suite = suite_of(document(check(outcome)))
    assert counts_in(suite) == counts
    (case,) = suite.iter("testcase")
    assert [one.tag for one in case] == [tag]
    assert case.attrib["classname"] == "hardstone.TMR-P-LAT"
    assert "TMR-P-LAT/total/wakeup max at most 100 us [load heavy]" in case.attrib["name"]
    if outcome != "PASS":
        assert case[0].get("type") == outcome
        assert "131 us; at most 100 us" in case[0].attrib["message"]


def test_the_terminal_shows_the_worst_first_and_nothing_foreign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = StringIO()
    found = document(check("PASS"), check("FAIL", HOSTILE, reason=HOSTILE), notes=(HOSTILE,))
    print_gate(found, out)
    text = out.getvalue()
    assert text.index("FAIL  ") < text.index("PASS  ")
    assert not any(one in text for one in "\x00\x1b\ud800")
    assert "FAIL: 1 FAIL, 1 PASS" in text and max(map(len, text.splitlines())) <= 80


def test_nothing_checked_does_not_pass_in_junit() -> None:
    assert counts_in(suite_of(document())) == "1 0 1"


def test_hostile_names_are_words_in_junit() -> None:
    suite = suite_of(document(check("FAIL", HOSTILE, reason=HOSTILE), notes=(HOSTILE,)))
    (case,) = suite.iter("testcase")
    assert "<script>alert(1)</script>" in case.attrib["name"]
    assert "\x1b" not in case.attrib["name"] and [one.tag for one in case] == ["failure"]


@pytest.mark.slow
@given(st.text())
def test_any_text_is_xml(text: str) -> None:
    suite_of(document(check("FAIL", text, reason=text, found=text), notes=(text,)))


def test_the_summary_has_a_row_for_each_check_the_worst_first() -> None:
    found = github_summary(document(check("PASS"), check("FAIL"), check("INCONCLUSIVE")))
    assert found.startswith("## hardstone gate: \N{CROSS MARK} FAIL\n")
    assert "1 FAIL, 1 INCONCLUSIVE, 1 PASS." in found
    rows = [line for line in found.splitlines() if line.startswith("| ")][2:]
    assert [row.split(" | ")[0].split()[-1] for row in rows] == ["FAIL", "INCONCLUSIVE", "PASS"]
    assert all(row.count(" | ") == 4 for row in rows)


def test_a_long_summary_is_cut_after_the_worst() -> None:
    found = github_summary(document(*[check("PASS")] * 600, check("FAIL")))
    assert "101 more checks" in found and "FAIL" in found.splitlines()[6]


@pytest.mark.slow
@given(st.text(alphabet=st.sampled_from("<>&|`[]()*_#@~\\!:/\"'\n\x1ba1 .-")))
def test_nothing_in_the_summary_marks_up(text: str) -> None:
    (row,) = [
        line
        for line in github_summary(document(check("FAIL", text, reason=text))).splitlines()
        if line.startswith("| ") and "FAIL" in line
    ]
    bare = row.replace("<br>", "").replace(" | ", "").strip("| ")
    assert not re.search(r"[<>|`\[\]*_@~\\!\x1b]|://", bare)
    assert not re.search(r"#(?![0-9]+;)|&(?!#[0-9]+;)", bare)
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert shown in html.unescape(row)


_SIGNAL = re.compile(r"<LAVA_SIGNAL_(\S+) ([^>]+)>")  # as LAVA's dispatcher has it


def read_by_lava(line: str) -> dict[str, str]:
    """What the dispatcher reads: words that are split at spaces, each with one "="."""
    (found,) = _SIGNAL.findall(line)
    assert found[0] == "TESTCASE"
    pairs = [word.split("=") for word in found[1].split()]
    assert all(len(pair) == 2 for pair in pairs)
    return {key.lower(): value for key, value in pairs}


@pytest.mark.parametrize(
    ("outcome", "result"), [("PASS", "pass"), ("FAIL", "fail"), ("INCONCLUSIVE", "unknown")]
)
def test_each_outcome_for_lava(outcome: Outcome, result: str) -> None:
    one, whole = map(read_by_lava, lava_lines(document(check(outcome))))
    assert one["test_case_id"] == "TMR-P-LAT-total-wakeup.max.load-heavy"
    assert one["result"] == whole["result"] == result and whole["test_case_id"] == "gate-limits"


def test_measurements_and_repeated_cases_for_lava() -> None:
    one = gate_document("limits", ["run"], ["l"], [*twice()])
    first, second, _ = map(read_by_lava, lava_lines(one))
    assert (first["measurement"], first["units"]) == ("131000", "ns")
    assert second["test_case_id"] == first["test_case_id"] + ".2"


def twice() -> list[Check]:
    fields = {"system": "run", "condition": "-", "address": "A-B-C", "statistic": "max"}
    more = {"wanted": "w", "found": "f"}
    return [Check(outcome="FAIL", unit="ns", value=131e3, **fields, **more) for _ in range(2)]


def test_names_of_cases_are_the_same_in_every_job() -> None:
    """The ID of a run is in no name: a CI system could follow no case from job to job."""
    found = []
    for ids in (("20261130T132039Z-1a9fbc", "20261130T132040Z-1a9fbd"), ("a", "b")):
        checks = [check("PASS", system=one) for one in ids[::-1]]
        systems = [f"{one} nightly {n} of 2" for n, one in enumerate(ids, 1)]
        one = gate_document("limits", systems, ["l"], checks)
        cases = [case.attrib["name"] for case in suite_of(one).iter("testcase")]
        rows = [line for line in github_summary(one).splitlines() if "<br>" in line]
        found.append((cases, lava_lines(one), rows))
        assert [case.rpartition(" run ")[2] for case in cases] == ["2", "1"]
        assert all(f"run {n} |" in row for n, row in zip((2, 1), rows, strict=True))
    assert found[0] == found[1]


def test_nothing_checked_passes_nowhere() -> None:
    (line,) = lava_lines(document())
    assert read_by_lava(line)["result"] == "unknown"


@pytest.mark.slow
@given(st.text())
def test_nothing_ends_a_signal(text: str) -> None:
    for line in lava_lines(document(check("PASS", text, condition=text))):
        assert read_by_lava(line)["test_case_id"] and line.count("\n") == 0
