"""Comparison of tools: which measure between the same two moments, and why their figures differ."""

from __future__ import annotations

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.figures import BegunFigures
from hardstone.comparison.page import render_compare
from hardstone.comparison.screen import comparison_lines
from hardstone.comparison.view import (
    ComparedCell,
    ComparedRow,
    CompareView,
    ToolComparison,
    comparison_document,
)
from hardstone.model import Conditions, Histogram, Loss
from hardstone.report.drawing import Drawer
from hardstone.schema import schema_texts
from hardstone.systems.subjects import (
    Amount,
    MeasuredRun,
    Missing,
    Subject,
    published_system,
)
from tests.unit.comparison.imported_systems import (
    FIFO,
    MACHINE,
    cyclictest,
    imported,
    linear,
    own,
    relative,
    total,
    without_distribution,
)
from tests.unit.comparison.made_systems import QNX, labelled, run_with, spread
from tests.unit.stats.make import result

RELATIVE = "begins at a clock reading before a relative sleep"


def tools(*subjects: Subject) -> ToolComparison:
    found = compare_view(subjects).tools
    assert found is not None
    return found


def wakeup(view: CompareView) -> ComparedRow:
    (row,) = [one for one in view.decisive if one.question == "wakeup"]
    return row


def cells(*subjects: Subject) -> list[ComparedCell]:
    return wakeup(compare_view(subjects)).cells


def reasons(*subjects: Subject) -> dict[str, str]:
    return {one.rule: one.text for one in tools(*subjects).reasons}


def test_runs_of_hardstone_alone_have_no_part_about_tools() -> None:
    assert compare_view([own(), own()]).tools is None
    assert compare_view([own(), QNX]).tools is None


def test_figures_of_one_question_stand_in_one_row_whatever_their_tests_are() -> None:
    view = compare_view([own(), cyclictest(), relative()])
    row = wakeup(view)
    series = [one.subject_series for one in row.cells]
    assert [one.address for one in series if one] == [
        "TMR-P-LAT/total/1/wakeup",
        "TMR-P-LAT/total/1/wakeup",
        "cyclictest/1/wakeup_relative",
    ]
    assert row.address == "TMR-P-LAT/total/wakeup" and row.known_count == 3


def test_only_another_moment_makes_a_figure_grey() -> None:
    _, same, other = cells(own(spread(5000)), cyclictest(spread(9000)), relative())
    assert not same.is_grey and same.ratio and same.ratio.outcome == "higher"
    assert other.is_grey and other.why.startswith(RELATIVE) and other.ratio is None


def test_the_reference_may_be_the_one_that_measures_something_else() -> None:
    first, second = cells(relative(), own())
    assert not first.is_grey
    assert second.is_grey and second.why.startswith(f"the reference {RELATIVE}")
    again = cells(relative(), relative())
    assert not any(one.is_grey for one in again)


def test_other_questions_have_rows_where_two_tools_answer_them() -> None:
    signals = labelled(spread(4000), "latency", receiver="sigwaitinfo", scope="thread")
    battery = run_with(result("SIG-P-LAT", series=[signals], conditions=FIFO))
    other = result("sigwaittest", series=[labelled(spread(3000), "signal")], conditions=FIFO)
    view = compare_view([battery, imported("sigwaittest", other)])
    (row,) = view.decisive
    assert (row.question, row.label) == ("signal", "signal latency") and row.known_count == 2
    assert row.cells[1].why.startswith("sends an ordinary signal")
    assert compare_view([battery, cyclictest()]).decisive[0].question == "wakeup"


def test_where_the_reference_has_no_figure_the_first_that_has_one_decides() -> None:
    other = own(series=[])
    first, second, third = cells(other, cyclictest(), relative())[:3]
    assert isinstance(first.mean, Missing) and not second.is_grey
    assert third.is_grey and "system 2" not in third.why and third.why.startswith(RELATIVE)


def test_a_series_that_a_tool_has_without_its_cpu_is_not_called_unmeasured() -> None:
    whole = cyclictest(series=[labelled(spread(5000), "wakeup", part="total")])
    several = own(series=[total(spread(5000), cpu=0), total(spread(5000))])
    rows = {
        row.address: [one.mean for one in row.cells]
        for test in compare_view([several, whole]).tests
        for row in test.rows
    }
    assert rows["TMR-P-LAT/total/1/wakeup"][1] == Missing("of other CPUs only")
    assert rows["TMR-P-LAT/total/wakeup"][0] == Missing("of other CPUs only")
    parts = own(series=[total(spread(3000), part="interrupt"), total(spread(5000))])
    (test,) = compare_view([parts, whole]).tests
    (cell,) = [row.cells[1] for row in test.rows if "interrupt" in row.address]
    assert cell.mean == Missing("not measured by cyclictest 2.40")


def test_pairs_say_whether_their_moments_are_the_same() -> None:
    found = tools(own(), cyclictest(), relative()).pairs
    assert [(one.first, one.second, one.is_same) for one in found] == [
        (1, 2, True),
        (1, 3, False),
        (2, 3, False),
    ]
    assert found[1].why.startswith(f"3 {RELATIVE}") and not found[0].why
    assert "idle states: left as they are, held off" in found[0].differing


def test_of_many_systems_each_is_paired_with_the_reference() -> None:
    found = compare_view([cyclictest() for _ in range(7)], 2).tools
    assert found and [(one.first, one.second) for one in found.pairs] == [
        (3, number) for number in (1, 2, 4, 5, 6, 7)
    ]


def test_what_each_tool_measures_is_as_its_moments_say() -> None:
    first, second = tools(own(), cyclictest()).tools
    assert (first.tool, second.tool) == ("hardstone 0.1.0", "cyclictest 2.40")
    assert [one.question for one in second.figures] == ["wakeup"]
    assert second.figures[0].begin == "the programmed expiry (release)"
    assert second.losses == ["The file does not say what load was running."] and not first.losses


def xenomai() -> MeasuredRun:
    fields = {"series": [total(spread(5000))], "params": {"interval_ns": 1_000_000}}
    return imported("xenomai-latency", result("TMR-P-LAT", conditions=FIFO, **fields))


def gaps() -> MeasuredRun:
    return run_with(result("CLK-P-DUR", series=[labelled(spread(2000), "gap")], conditions=FIFO))


def test_the_command_that_measures_the_same_has_what_the_file_says() -> None:
    series = [total(spread(5000), cpu=0), total(spread(5000))]
    known = cyclictest(series=series, params={"interval_ns": 500_000}, duration_ns=8_000_000_000)
    silent = cyclictest(
        series=[labelled(spread(5000), "wakeup", part="total")],
        command="cyclictest --laptop",
        params={},
        conditions=Conditions(policy="rr", realtime=True),
    )
    found = tools(own(), known, silent, relative(), xenomai())
    assert [one.command for one in found.tools] == [
        "",
        "hardstone latstat -a 0-1 -p 90 -i 500 --dma-latency 0 -D 8s",
        "hardstone latstat --policy rr",
        "",
        "",
    ]


OTHER_KERNEL = {**MACHINE, "kernel.release": "6.1.0"}
SILENT = {"machine.arch": "x86_64"}


def at(**changed: object) -> Conditions:
    return msgspec.structs.replace(FIFO, **changed)


WHOLE_US = msgspec.structs.replace(linear(spread(5000), 1000), step=1000)
WITHOUT_UNIT = Loss(what="unit", text="The text does not state its unit.")
RULES: dict[str, tuple[str, MeasuredRun, MeasuredRun]] = {
    "unit": (
        "the file of 2 (cyclictest) does not state its unit; us were taken, in ns its figures are "
        "1000 times smaller: name it, hardstone import FILE --unit ns",
        cyclictest(series=[WHOLE_US], losses=[WITHOUT_UNIT]),
        cyclictest(series=[WHOLE_US]),
    ),
    "moments": ("2 (cyclictest): begins at a clock reading", relative(), cyclictest()),
    "systems": (
        "kernel Linux 6.12.0-rt (1), Linux 6.1.0 (2)",
        cyclictest(system=OTHER_KERNEL),
        cyclictest(),
    ),
    "idle states": (
        "2 (cyclictest) held them off (by default), 1 (hardstone) left them as they are",
        cyclictest(),
        cyclictest(command="cyclictest --laptop -p 90"),
    ),
    "conditions": (
        "interval 1 ms (1), 500 us (2); priority 90 (1), 80 (2)",
        cyclictest(params={"interval_ns": 500_000}, conditions=at(priority=80)),
        cyclictest(),
    ),
    "core": ("Cobalt schedules 2 (latency of Xenomai), Linux the others", xenomai(), cyclictest()),
    "resolution": (
        "2 (cyclictest) has steps of 1 us, 20 % of its median",
        cyclictest(series=[linear(spread(5000), 1000)]),
        cyclictest(series=[linear(spread(5000), 10)]),
    ),
    "range": (
        "2 (cyclictest) has 3\xa0480 of 20\xa0000 values above its last bucket",
        cyclictest(series=[linear(spread(5000), 10, 6000)]),
        cyclictest(series=[linear(spread(5000), 10)]),
    ),
    "counts": ("1 has 20\xa0000, 2 has 1\xa0000", cyclictest(spread(5000, 1, 1000)), cyclictest()),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_fires_where_it_applies_and_nowhere_else(rule: str) -> None:
    text, fires, does_not = RULES[rule]
    assert text in reasons(own(), fires)[rule]
    assert rule not in reasons(own(), does_not)


def test_a_question_that_one_system_alone_answers_is_said() -> None:
    found = reasons(own(), cyclictest(), gaps())
    assert found["questions"].startswith(
        "Other questions: 3 (hardstone) measures what takes the CPU from a thread that computes. No"
    )
    assert "questions" not in reasons(gaps(), own(), cyclictest(), gaps())


def test_where_no_two_systems_answer_one_question_only_that_is_a_reason() -> None:
    found = tools(gaps(), cyclictest())
    assert [one.rule for one in found.reasons] == ["questions"]
    (pair,) = found.pairs
    assert not pair.is_same and pair.question == ""
    assert pair.why == (
        "1 measures what takes the CPU from a thread that computes; 2 measures how late a thread "
        "wakes up"
    )


def test_without_a_distribution_there_is_no_ratio_and_the_reason_is_said() -> None:
    bare = cyclictest(series=[without_distribution(spread(5000))])
    _, cell = cells(own(), bare)
    assert cell.ratio is None and not cell.is_grey and isinstance(cell.worst, Amount)
    why = "the file has minimum, mean and maximum only, so no quantile"
    assert f"no ratio: {why}" in cell.notes
    _, cell = cells(bare, own())
    assert f"no ratio: of the reference {why}" in cell.notes
    assert "no distribution: 2" in tools(own(), bare).pairs[0].differing
    assert (
        "without a distribution, so without a median: 2 (cyclictest)"
        in reasons(own(), bare)["resolution"]
    )


def test_a_count_that_is_not_known_is_not_shown_as_a_number() -> None:
    uncounted = msgspec.structs.replace(
        without_distribution([2000, 3000, 50_000]),
        count=1,
        histogram=Histogram(layout="none", buckets=[], overflow=1, is_cut=True),
    )
    silent = cyclictest(series=[uncounted])
    _, cell = cells(own(), silent)
    assert cell.count is None
    assert cell.worst_why.startswith("how many values there were is not known")
    assert "values: 20\xa0000, not known" in tools(own(), silent).pairs[0].differing
    assert "counts" not in reasons(own(), silent)


@pytest.mark.slow
def test_a_study_is_not_called_scheduled_by_linux() -> None:
    found = compare_view([own(), cyclictest(), published_system("solaris-latstat")])
    assert found.tools is not None
    first, _, study = found.tools.tools
    assert first.figures[0].core == "Linux" and study.figures[0].core == "not known"
    assert "core" not in {one.rule for one in found.tools.reasons}
    assert "scheduled by not known" not in render_compare(found, bundle=lambda: None)


def test_a_cut_histogram_has_no_ratio() -> None:
    cut = cyclictest(series=[linear(spread(5000), 1000, 6000, is_cut=True)])
    _, cell = cells(own(), cut)
    assert cell.ratio is None
    assert any(
        one.startswith("no ratio: the file has no count of the values") for one in cell.notes
    )
    assert "dropped the values above its last bucket" in reasons(own(), cut)["range"]


@pytest.mark.slow
@pytest.mark.parametrize(("median", "outcome"), [(5400, "not decided"), (9400, "higher")])
def test_a_ratio_within_the_width_of_a_bucket_is_not_decided(median: int, outcome: str) -> None:
    values = spread(median, 2, 80_000)
    exact = cells(own(spread(4600, 1, 80_000)), cyclictest(values))[1].ratio
    coarse = cells(own(spread(4600, 1, 80_000)), cyclictest(series=[linear(values, 1000)]))[1].ratio
    assert exact and exact.outcome == "higher"
    assert coarse and coarse.outcome == outcome


def test_curves_of_linear_and_log_linear_series_name_who_is_missing() -> None:
    bare = cyclictest(series=[without_distribution(spread(5000))])
    coarse = cyclictest(series=[linear(spread(5000), 1000, 7000)])
    view = compare_view([own(), coarse, bare])
    with Drawer(0) as drawer:
        (figure, *_) = BegunFigures(view, drawer).tools
        about = figure.about
    assert "Not drawn: 3 run" in about and "minimum, mean and maximum only" in about
    beyond = coarse.held()[0].series.histogram.overflow
    assert f"{beyond:,}".replace(",", "\xa0") + " from 8 us on" in about
    drawn = [float(str(row[4])) for row in figure.table.rows if row[0] == 2]
    assert max(drawn) == 7999 < max(spread(5000))
    # exact values of 1 us buckets: the share changes at their edges only
    assert all((one + 1) % 1000 == 0 for one in drawn[1:])


def test_a_series_without_its_maximum_has_no_curve_and_is_named() -> None:
    open_end = msgspec.structs.replace(linear(spread(5000), 1000), max=None)
    view = compare_view([own(), cyclictest(series=[open_end])])
    with Drawer(0) as drawer:
        (figure, *_) = BegunFigures(view, drawer).tools
    assert "its file has not both ends of the curve: least" in figure.about
    assert {row[0] for row in figure.table.rows} == {1}


def test_a_file_that_does_not_say_the_kernel_or_the_load_is_not_called_another_system() -> None:
    found = reasons(own(), cyclictest(system=SILENT, conditions=at(load=None)))
    assert found["systems"].startswith("Perhaps other systems: machine Example 1000 (1), not known")
    assert "load none (1), not known (2)" in found["conditions"]


def test_idle_states_that_a_run_held_off_are_no_reason() -> None:
    assert "idle states" not in reasons(own(conditions=at(dma_latency_us=0)), cyclictest())
    found = reasons(own(conditions=at(dma_latency_us=50)), cyclictest())
    assert "1 (hardstone) allowed exit latency at most 50 us" in found["idle states"]


def test_a_file_that_does_not_state_its_unit_is_compared_with_nothing() -> None:
    view = compare_view([own(), cyclictest(losses=[WITHOUT_UNIT])])
    cell = view.decisive[0].cells[1]
    assert cell.is_grey and cell.ratio is None
    assert cell.why.startswith("the file does not state its unit")
    assert view.tools is not None and view.tools.reasons[0].rule == "unit"


@pytest.mark.parametrize("place", [0, 1])
def test_the_worst_of_a_file_that_lacks_values_is_not_compared(place: int) -> None:
    lacking = cyclictest(losses=[Loss(what="values", text="The trace dropped 12 values.")])
    systems = [own(), own()]
    systems[place] = lacking
    cell = cells(*systems)[1]
    assert "missing from the file: one of them may be larger" in cell.worst_why
    assert not cell.is_grey and cell.ratio is not None
    assert not cells(own(), cyclictest())[1].worst_why


def test_what_an_option_asked_for_is_not_called_a_default() -> None:
    asked = cyclictest(command="cyclictest --laptop -p 90")
    found = reasons(own(conditions=at(dma_latency_us=0)), asked)
    assert "2 (cyclictest) left them as they are. A CPU" in found["idle states"]
    found = reasons(asked, cyclictest())
    assert "2 (cyclictest) held them off (by default), 1 (cyclictest)" in found["idle states"]


def test_at_most_five_reasons_are_given() -> None:
    several = cyclictest(
        spread(5000, 1, 1000),
        system=OTHER_KERNEL,
        params={"interval_ns": 500_000},
        conditions=at(priority=80),
    )
    found = tools(own(), several, relative()).reasons
    assert [one.rule for one in found] == [
        *("moments", "systems", "idle states", "conditions", "counts"),
    ]


def test_conditions_say_which_tool_and_what_its_file_does_not_say() -> None:
    silent = cyclictest(system=SILENT, conditions=Conditions(policy="fifo", realtime=True))
    rows = {one.name: one for one in compare_view([own(), silent]).conditions}
    assert rows["tool"].cells == ["hardstone 0.1.0", "cyclictest 2.40"]
    assert rows["load"].cells == ["none", "not known"] and rows["load"].differs
    assert rows["kernel"].cells == ["Linux 6.12.0-rt", "not known"]
    assert rows["interval"].cells == ["1 ms", "1 ms"] and not rows["interval"].differs
    assert rows["idle states"].cells == ["left as they are", "held off"]
    assert rows["profile"].cells[1] == "-"


def test_no_point_follows_from_a_figure_between_other_moments() -> None:
    quick = relative([1000, 1100, 1200] * 10)
    view = compare_view([own([1000, 1100, 1200] * 10), quick])
    first, second = (" ".join(one.positive) for one in view.points)
    assert "wake-up latency below" in first and "wake-up latency below" not in second


@pytest.mark.slow
def test_the_document_is_as_its_schema_says() -> None:
    view = compare_view([own(), cyclictest(), relative()])
    found = msgspec.json.decode(msgspec.json.encode(comparison_document(view)))
    text = schema_texts()["hardstone.comparison-1.schema.json"]
    Draft202012Validator(msgspec.json.decode(text)).validate(found)
    assert [one["is_same"] for one in found["tools"]["pairs"]] == [True, False, False]
    assert found["summary"][-1]["question"] == "wakeup"


def test_the_screen_groups_systems_by_their_moments_within_80_columns() -> None:
    lines = [
        one.plain for one in comparison_lines(compare_view([own(), cyclictest(), relative()]), 80)
    ]
    assert max(map(len, lines[4:])) <= 80
    text = "\n".join(lines)
    assert "moments     how late a thread wakes up\n            1, 2: begin: the programmed" in text
    assert "            3: begin: a clock reading before the sleep" in text
    assert "why differ  Other moments" in text


def test_the_page_has_the_answer_before_everything_else_and_escapes_names() -> None:
    hostile = cyclictest()
    assert hostile.document.imported is not None
    renamed = msgspec.structs.replace(hostile.document.imported, version="<script>")
    document = msgspec.structs.replace(hostile.document, imported=renamed)
    text = render_compare(
        compare_view([own(), MeasuredRun(document, hostile.condition, "x")]), bundle=lambda: None
    )
    assert text.index("Why these tools disagree") < text.index('id="overview"')
    assert "cyclictest &lt;script&gt;" in text and "cyclictest <script>" not in text
