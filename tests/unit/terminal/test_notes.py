"""What the probe said beside its figures: once each, and nothing lost without a word."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, Event, LoadReached, Result, RunDocument
from hardstone.older.old_events import with_data
from hardstone.present.notices import deviations
from hardstone.terminal.run_rows import note_rows
from hardstone.terminal.whole_run import print_whole
from tests.unit.stats import make

SHORT = "{} reached 3.0 % of a CPU (requested: 10.0 %)"


def under(config: str, *events: tuple[str, str]) -> Result:
    return make.result(
        conditions=Conditions(load="heavy", cpu_config=config),
        events=[with_data(Event(name=name, text=text)) for name, text in events],
        load=[
            LoadReached(element=one, degree="", asked=0.1, reached=0.03, unit="share", processes=2)
            for one in ("cpu", "disk", "memory")
        ],
    )


def noted(*results: Result) -> list[tuple[str, str]]:
    rows, _ = note_rows(make.document(results=list(results)))
    return [(who.plain, text.plain) for who, text in rows]


def of_kind(kind: str, run: RunDocument) -> list[str]:
    return [one.text for one in deviations(run) if one.kind == kind]


def document(*results: Result) -> RunDocument:
    return make.document(results=list(results))


def test_what_differs_in_its_figures_is_told_once_for_all_conditions() -> None:
    results = [under(one) for one in "abc"]
    for late_ns, result in enumerate(results):
        data = {"kind": "sleep", "late_ns": late_ns}
        result.events = [Event(name="late", text=f"late by {late_ns} ns", data=data)]
    rows = noted(*results)
    assert rows == [("TMR-P-LAT [a]", "late by 0 ns (and 2 similar, in the report)")]


def test_one_condition_keeps_each_of_its_notes() -> None:
    rows = noted(under("shared", ("late", "late by 1 ns"), ("late", "late by 2 ns")))
    assert [text for _, text in rows] == ["late by 1 ns", "late by 2 ns"]


def test_other_words_are_another_note() -> None:
    rows = noted(under("a", ("late", "late by 1 ns")), under("b", ("late", "early by 1 ns")))
    assert [text for _, text in rows] == ["late by 1 ns", "early by 1 ns"]


def test_a_note_of_many_conditions_names_the_first_and_counts_the_others() -> None:
    rows = noted(*(under(one, ("late", "late")) for one in "abcd"))
    assert rows == [("TMR-P-LAT [a]\nand 3 more conditions", "late")]


def test_cpus_that_stayed_online_are_told_once_for_all_tests() -> None:
    told = [under("shared"), under("single", ("not_offline", "it is read-only"))]
    told.append(under("single", ("not_offline", "it is read-only")))
    told[2].test = "CLK-P-BIN"
    assert noted(*told) == [("TMR-P-LAT [single]\nCLK-P-BIN [single]", "it is read-only")]


def test_elements_that_fell_short_are_one_line_that_names_all() -> None:
    result = under("a", *(("load_short", SHORT.format(one)) for one in ("cpu", "disk", "memory")))
    (text,) = of_kind("load", document(result))
    assert text == f"load: {SHORT.format('cpu')}; also short: disk, memory"


def test_a_text_without_a_known_element_is_kept_whole() -> None:
    said = [("load_short", SHORT.format("cpu")), ("load_short", "the keeper was killed")]
    assert of_kind("load", document(under("a", *said))) == [f"load: {text}" for _, text in said]


def test_another_kind_of_event_is_another_line() -> None:
    said = [("load_short", SHORT.format("cpu")), ("load_ended_early", "disk : 1 of 2 ended")]
    assert len(of_kind("load", document(under("a", *said)))) == 2


def test_what_was_not_put_back_stands_first_and_once_with_what_to_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = ("not_put_back", "/proc/sys/kernel/watchdog: Invalid argument")
    result = under("shielded", ("load_short", SHORT.format("cpu")), left, left)
    other = make.result("SEM-P-SIG", status="failed", reason="it broke")
    run = document(other, result)
    first, *others = deviations(run)
    assert (first.kind, first.who) == ("left", "TMR-P-LAT [shielded]")
    assert first.text == f"not restored: {left[1]}"
    assert first.command == "sudo hardstone shield --restore"
    assert all(one.kind != "left" for one in others)
    assert left[1] not in str(noted(other, result))
    print_whole(run)
    lines = capsys.readouterr().out.partition("deviations from the request\n")[2].splitlines()
    assert "not restored:" in lines[0]
    assert sum("not restored:" in line for line in lines) == 1
    assert any("it broke" in line for line in lines[1:])


def test_what_to_type_is_not_in_the_words_of_a_deviation() -> None:
    refused = [
        make.result(test, status="denied", reason="EPERM", remedy="grant it", command="hardstone x")
        for test in ("TMR-P-LAT", "TMR-P-JIT")
    ]
    found = deviations(document(*refused))
    assert [one.text for one in found] == ["denied: EPERM; grant it", "denied: EPERM"]
    assert [one.command for one in found] == ["hardstone x", "hardstone x"]
