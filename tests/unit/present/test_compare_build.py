"""The whole comparison: limits, criteria, detail of tests, notes, and the document for programs."""

from __future__ import annotations

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone.errors import InputError
from hardstone.model import Verdict
from hardstone.present.compare_build import SINGLE_RUNS, compare_view
from hardstone.present.compare_view import ComparedTest
from hardstone.present.comparison_document import COMPARISON_SCHEMA, comparison_document
from hardstone.schema import schema_texts
from hardstone.subjects import Amount, Subject, published_ids, published_system
from tests.unit.present.compared import made_run
from tests.unit.present.made_systems import CE7, LINUX_RT, QNX, run_with, spread, switching
from tests.unit.stats.make import result


def test_two_to_twenty_systems() -> None:
    with pytest.raises(InputError, match="at least two systems") as error:
        compare_view([QNX])
    assert "list published" in error.value.remedy
    many = [published_system(key) for key in published_ids()]
    many += [run_with(result()) for _ in range(21 - len(many))]
    assert len(compare_view(many[:20]).columns) == 20
    with pytest.raises(InputError, match="21 systems") as error:
        compare_view(many[:21])
    assert "--load" in error.value.remedy


def test_the_same_system_twice_is_refused() -> None:
    run = run_with(result())
    for pair in ([QNX, QNX], [run, run]):
        with pytest.raises(InputError, match="named twice"):
            compare_view(pair)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", [-1, 2])
def test_a_reference_that_is_not_there_is_refused(place: int) -> None:
    with pytest.raises(InputError, match=f"no system {place + 1}"):
        compare_view([QNX, CE7], place)


def test_criteria_are_those_of_the_study_from_five_down() -> None:
    view = compare_view([QNX, CE7])
    assert [stars for stars, _, _ in view.criteria] == ["5", "4", "3", "2", "1", "0"]
    assert view.criteria[2][1] == "special attention and knowledge needed to configure the kernel"
    assert [one.value_ns for one in view.yardsticks] == [1_000_000, 10_000]


def test_published_stars_are_those_of_the_study() -> None:
    ratings = [one.rating.overall for one in compare_view([QNX, CE7, LINUX_RT]).columns]
    assert ratings == [5.0, 4.5, 3.0]


def test_the_upper_yardstick_is_one_of_a_mean_as_in_its_study() -> None:
    upper, lower = compare_view([QNX, CE7]).yardsticks
    assert upper.text.startswith("1000 us mean: not real-time above")
    assert lower.text.startswith("10 us: embedded hard real-time")


@pytest.mark.slow
def test_notes_depend_on_what_is_compared() -> None:
    published = " ".join(compare_view([QNX, CE7]).notes)
    mixed = " ".join(compare_view([QNX, switching(spread(500))]).notes)
    runs = " ".join(compare_view([switching(spread(500)), switching(spread(500, 2))]).notes)
    assert SINGLE_RUNS in runs and SINGLE_RUNS not in mixed and SINGLE_RUNS not in published
    assert "no distribution" in mixed and "no distribution" not in runs
    assert "What differs between the systems: kernel" in mixed


def judged(test: str, *systems: Subject) -> ComparedTest:
    (found,) = [one for one in compare_view(list(systems)).tests if one.test == test]
    return found


def rotating(*passed: bool, name: str = "equal") -> Subject:
    verdicts = [
        Verdict(name=f"{name}/{number}", passed=one, evidence=f"order {number}")
        for number, one in enumerate(passed)
    ]
    return run_with(result("THR-B-NEW", series=[], verdicts=verdicts))


def test_a_study_judges_the_test_as_a_whole() -> None:
    found = judged("THR-B-NEW", rotating(True, False), QNX, rotating(True, True), CE7)
    whole = found.claims[0]
    assert whole.name == "as a whole"
    assert [one.word for one in whole.cells] == ["fails", "holds", "holds", "holds"]
    assert [one.evidence for one in whole.cells] == ["order 1", "pass", "2 of 2 hold", "pass"]
    assert found.states == ["measured", "published", "measured", "published"]


def test_claims_that_fail_come_first_and_runs_alone_have_no_whole() -> None:
    found = judged("THR-B-NEW", rotating(True, False), rotating(True, True))
    assert [one.name for one in found.claims] == ["equal: 1", "equal: 0"]
    assert [one.look for one in found.claims[0].cells] == ["failed", "passed"]


def test_a_claim_that_does_not_count_is_not_failed() -> None:
    one = judged(
        "THR-B-NEW",
        rotating(False, name="lowered_setschedprio"),
        rotating(True, name="lowered_setschedprio"),
    )
    assert one.claims[0].cells[0].look == "uncounted"
    assert "does not count" in one.claims[0].cells[0].evidence


def test_many_claims_are_cut_and_counted() -> None:
    found = judged("THR-B-NEW", rotating(*[True] * 80), rotating(True))
    assert len(found.claims) == 60 and any("20 more claims" in one for one in found.notes)


@pytest.mark.slow
def test_a_test_says_what_it_measures_and_what_studies_said_in_words() -> None:
    found = judged("TMR-P-LAT", made_run(1), made_run(2))
    assert found.category == "timers" and "latency" in found.about.lower()
    jitter = run_with(result("TMR-P-JIT"))
    said = judged("TMR-P-JIT", jitter, QNX).published
    assert (
        said[0] == "Obenland 2000, load none: every configuration under 200 us, solaris-1rt least"
    )
    assert len(said) == len(set(said)) == 2
    resolution = judged("CLK-B-RES", run_with(result("CLK-B-RES")), QNX)
    assert "HP 1987: CLK-B-RES/setitimer/expiry_step min 10 ms" in resolution.published


def test_tests_are_in_the_order_of_the_battery() -> None:
    tests = [one.test for one in compare_view([QNX, CE7]).tests]
    assert tests.index("CLK-P-DUR") < tests.index("THR-P-SLS") < tests.index("IRQ-P-LAT")


# The document


@pytest.mark.slow
def test_the_document_is_as_its_schema_says_and_has_every_figure() -> None:
    view = compare_view([made_run(1), made_run(2, 1.4), *map(published_system, ("ce7", "lynx"))])
    document = msgspec.json.decode(msgspec.json.encode(comparison_document(view)))
    text = schema_texts()["hardstone.comparison-1.schema.json"]
    Draft202012Validator(msgspec.json.decode(text)).validate(document)
    assert document["schema"] == COMPARISON_SCHEMA
    said = {
        figure["source"]: (figure["value"], figure["below"], figure["above"])
        for test in document["tests"]
        for row in test["rows"]
        for cell in row["cells"]
        for figure in cell["figures"]
    }
    amounts = [
        one.amount(statistic)
        for column in view.columns
        if column.is_published
        for one in column.subject.held()
        for statistic in one.statistics()
    ]
    assert amounts and any(isinstance(one, Amount) and one.below for one in amounts)
    for one in amounts:
        assert isinstance(one, Amount) and said[one.source] == (one.value, one.below, one.above)


def test_the_document_has_ratings_reasons_and_what_is_missing() -> None:
    emulated = switching(spread(500), system={"virtual.hypervisor": "TCG"})
    document = comparison_document(compare_view([switching(spread(500)), emulated, QNX]))
    assert [one.rating.overall for one in document.systems] == [None, None, 5.0]
    assert document.systems[1].apart == "it is emulated, and the reference is not emulated"
    (row,) = [
        one for test in document.tests for one in test.rows if one.address.endswith("/2/switch")
    ]
    assert row.cells[1].grey == document.systems[1].apart and row.cells[1].count == 20_000
    assert row.cells[2].figures[2].missing == "not published"
    (period,) = [one for one in document.summary if one.address.endswith("minimal_period")]
    assert [one.figures[1].statistic for one in period.cells] == ["min", "min", "min"]
    assert "THR-P-SLS/2/switch" in [one.address for one in document.summary]
