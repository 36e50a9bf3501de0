"""KRN-P-PRE on the page: the charts, with HP's points in them, and what is not drawn. The words of
each medium are in golden/kernel-*.txt."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from hardstone.kernel.page import UNSEEN, KernelPage, blocking_chart, kernel_page, section_chart
from hardstone.kernel.results import kernel_time_of
from hardstone.kernel.screen import show_table
from hardstone.kernel.tables import kernel_history, kernel_table
from hardstone.model import Result, RunDocument, Scalar
from hardstone.preemption.page import preemption_sheet
from hardstone.preemption.screen import show_pair
from hardstone.preemption.tables import PreemptionPair, preemption_table
from hardstone.report import drawing
from hardstone.report.chart_frame import Spec
from hardstone.report.sheet import bind
from hardstone.terminal.console import make_console
from hardstone.terminal.whole_run import print_whole
from tests.unit.kernel.blocked import dispatch, kernel_result, with_reference_at_work
from tests.unit.report.media import Sketches, flat, printed, sketched, texts_of, words
from tests.unit.stats import make

Facts = dict[str, Scalar]
HARDWARE: Facts = {"kernel.preemption": "none"}
EMULATED: Facts = HARDWARE | {"virtual.emulated": True}
COUNTED: Facts = HARDWARE | {"virtual.time": "instructions"}
ON = "on (180 preemption points)"
HP = "HP 1987, HP-UX/RT on HP 9000 Series 800"


def document(*results: Result, system: Facts = HARDWARE) -> RunDocument:
    return make.document(results=list(results or [kernel_result()]), system=system)


def page(found: Result | None = None, **options: object) -> KernelPage:
    one = kernel_page(found or kernel_result(), "r", Sketches(has_scripts=True), **options)  # type: ignore[arg-type]
    assert one is not None
    return one


@cache
def charts() -> tuple[Spec, Spec]:
    time = kernel_time_of(kernel_result())
    assert time is not None and time.reference is not None
    shown = [time.whole, *time.operations]
    sections = section_chart(shown, kernel_history())
    return sections, blocking_chart([*shown, time.reference])


@pytest.mark.slow
def test_the_page_has_two_charts_and_the_ranked_rows() -> None:
    found = page()
    assert [one.title for one in found.figures] == [
        "Kernel time by length of section",
        "Blocking rate",
    ]
    rows = [row.operation for row in found.rows]
    assert rows[0] == "exit" and rows[-2:] == ["all", "reference"]
    assert HP in found.figures[0].about and "exit" in found.figures[0].alt
    assert len(page(is_brief=True).figures) == 1
    assert "Kernel preemption: full." in page(preemption="full").figures[0].about
    assert kernel_page(make.result(), "r", Sketches()) is None


@pytest.mark.slow
def test_hps_three_points_of_each_system_are_drawn() -> None:
    sections, _ = charts()
    points = {(row["c"], row["v"], row["b"]) for row in sections["data"]["values"] if "b" in row}
    ends = {
        "off (not preemptible)": (40e6, 129e6, 1127e6),
        "on (180 preemption points)": (1.4e6, 3.4e6, 14.6e6),
    }
    assert points == {
        (f"HP 1987 {state}", value, share)
        for state, values in ends.items()
        for value, share in zip(values, (0.9, 0.99, 1.0), strict=True)
    }


@pytest.mark.slow
def test_shares_rise_to_all_of_it_and_rates_fall() -> None:
    sections, rates = (one["data"]["values"] for one in charts())
    for name in ("all", "exit"):
        shares = [row["s"] for row in sections if row["c"] == name]
        assert shares == sorted(shares) and shares[-1] == 1
        falling = [row["s"] for row in rates if row["c"] == name and "s" in row]
        assert falling == sorted(falling, reverse=True) and falling[-1] > 0
    limits = [row["t"] for row in rates if row["c"] == UNSEEN]
    assert limits and limits == sorted(limits, reverse=True)
    assert all(drawing.render(one).startswith("<svg") for one in charts())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("facts", "reason"),
    [(EMULATED, "emulated"), (COUNTED, "time is an instruction count")],
)
def test_hps_points_are_marked_where_times_have_no_common_scale(facts: Facts, reason: str) -> None:
    found = document(system=facts)
    said = f"Not compared: {reason}: not comparable with hardware. The times of HP 1987 are"
    scale = "they and those of this run have no common scale."
    for text in (flat(printed(print_whole, found)), words(sketched(found))):
        assert said in text and scale in text and "off (not preemptible) 90 % 40 ms" in text
    marked = page(refused=f"{reason}: not comparable with hardware")
    assert said in marked.figures[0].about and "Crosses *:" in marked.figures[0].about
    spec = marked.figures[0].drawing.spec
    (points,) = [one["mark"] for one in spec["layer"] if one["mark"]["type"] == "point"]
    assert points["shape"] == "cross" and not points["filled"]
    names = {row["c"] for row in spec["data"]["values"] if "b" in row}
    assert names == {f"HP 1987 {one} *" for one in ("off (not preemptible)", ON)}
    (usual,) = [one["mark"] for one in charts()[0]["layer"] if one["mark"]["type"] == "point"]
    assert usual["shape"] == "diamond" and usual["filled"]


@pytest.mark.slow
def test_off_and_on_name_their_model_of_preemption() -> None:
    table = preemption_table(
        [kernel_result()], [kernel_result(2)], (HARDWARE, {"kernel.preemption": "lazy"})
    )
    pair = PreemptionPair("", table)
    text = flat(printed(lambda _, out: show_pair(make_console(out), pair), document()))
    assert "off on improve- HP 1987" in text and "(none) (lazy)" in text
    assert f"HP 1987: off (not preemptible) and on ({ON.partition('(')[2]}" in text
    sheet = "".join(texts_of(bind("a", "b", [preemption_sheet("made up", pair)])))
    for head in ("Off (none)", "On (lazy)"):
        assert head in sheet


@pytest.mark.slow
def test_nothing_blocked_or_a_reference_of_other_processes_draws_nothing() -> None:
    quiet = make.result("KRN-P-PRE", series=[dispatch(n, [100] * 500) for n in ("none", "fork")])
    assert page(quiet).figures == []
    assert "Kernel time by operation" in sketched(document(quiet))
    others = with_reference_at_work(kernel_result(), still=0.6)
    assert page(others).figures == []
    assert "Other processes disturbed the reference" in sketched(document(others))
    unreadable = kernel_result()
    unreadable.series[1].histogram.layout = "odd"
    for one in (unreadable, make.result()):
        assert "kernel time by operation" not in printed(print_whole, document(one))


def shown_words(text: str) -> set[str]:
    return set(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 60, 40])
def test_cells_wrap_whole_words(columns: int) -> None:
    found = kernel_table(kernel_result(count=300))
    assert found is not None
    rows = [
        replace(row, rate=f"{place}00000 /s", rate_interval=f"{place}5000 /s to unbounded")
        for place, row in enumerate(found.rows, 1)
    ]
    wide = replace(found, rows=rows)
    text = printed(lambda _, out: show_table(make_console(out), wide, ""), document(), columns)
    for row in rows:
        cells = (row.quantile, row.interval, row.length_90, row.interval_90, row.worst)
        for cell in (*cells, row.rate, row.rate_interval):
            assert shown_words(cell) <= shown_words(text), cell
    pair = PreemptionPair("", preemption_table([kernel_result()], [kernel_result(2)]))
    text = printed(lambda _, out: show_pair(make_console(out), pair), document(), columns)
    for one in pair.table.rows:
        for cell in (one.off, one.off_interval, one.on, one.on_interval, *one.limits):
            assert shown_words(cell) <= shown_words(text), cell
