"""The tire in each medium, and what is not in it; golden/ has a whole sweep and a battery."""

from __future__ import annotations

import html
import re

import msgspec
import pytest

from hardstone.model import Verdict
from hardstone.report.drawing import Drawer
from hardstone.report.pdf import render_pdf
from hardstone.simulation.analysis import Cell
from hardstone.simulation.charts import NO_SHARE, NOT_COUNTED, map_chart, map_row
from hardstone.simulation.page import MOST_DRAWN, tire_figures
from hardstone.simulation.prediction import prediction_events
from hardstone.simulation.results import points_of
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.media import (
    Sketches,
    flat,
    no_descriptor,
    printed,
    sketched,
    texts_of,
)
from tests.unit.simulation.tires import (
    costs_only,
    parts_of,
    planned_curves,
    real_fast,
    real_time,
    sweep,
    timed_costs,
    whole_sweep,
)
from tests.unit.stats import make


@pytest.fixture(scope="module")
def page() -> str:
    return sketched(whole_sweep())


def ids(text: str) -> list[str]:
    return re.findall(r'<figure class="chart" id="(tire-[^"]+)"', text)


# The page


@pytest.mark.slow
def test_a_sweep_has_every_chart_and_table(page: str) -> None:
    assert ids(page) == [
        *("tire-sides-speed", "tire-sides-held", "tire-total", "tire-steps"),
        *("tire-map-10000000-10000000", "tire-model", "tire-study"),
    ]
    one_side = sketched(sweep(*(real_time(n) for n in (400, 800, 1200, 1600))))
    assert "tire-sides" not in one_side and "nothing to compare" in one_side


@pytest.mark.slow
def test_the_section_comes_first_in_a_sweep_whose_points_have_none(page: str) -> None:
    assert page.index('id="tire"') < page.index('id="tests"')
    assert page.count('href="#tire"') == 2
    assert page.count('<article id="result-') == 2  # those of THR-P-SLS and SEM-P-SHF
    assert "SIM-S-RT</a>" not in page
    battery = sketched(sweep(real_time(400), make.result()))
    assert battery.index('id="tire"') > battery.index('id="tests"')
    assert 'class="test">SIM-S-RT' in battery
    document = whole_sweep(["none"])
    document.results[5].verdicts.append(Verdict(name="late_once", passed=False, evidence="twice"))
    assert "twice" in sketched(document)
    other = sketched(make.document())
    assert 'id="tire"' not in other and 'href="#tire"' not in other


@pytest.mark.slow
def test_each_chart_can_be_drawn_and_made_interactive_and_has_its_figures_in_words() -> None:
    document = whole_sweep()
    with Drawer() as drawer:
        found = tire_figures(document, points_of(document), drawer)
        for one in found:
            assert one.drawing.__html__().startswith("<svg"), one.id
            assert len(one.alt) <= 600 and one.about
    words = {one.id: one.alt for one in found}
    assert "other, heavy, 4 threads, 1 000 masses: 400 ms" in words["tire-total"]
    spoken = words["tire-map-10000000-10000000"]
    assert "fifo, none, 1 thread: none missed up to 12 000" in spoken
    assert "held, any threads: Xenomai 2.6.2.1 (Linux 3.5.7) 14" in words["tire-study"]


@pytest.mark.slow
def test_what_was_predicted_and_the_parts_of_a_period_are_shown() -> None:
    before = costs_only(timed_costs(400, 2), timed_costs(10_000, 2))
    before.events += prediction_events(before, planned_curves(2))
    points = real_time(640_000, 2), real_time(680_000, 2, missed=4)
    for one in points:
        one.series += parts_of(one, dispatch_ns=50_000, idle_ns=300_000)
    text = html.unescape(sketched(sweep(before, *points)))
    assert "tire-period" in ids(text) and "Predicted and held" in text
    shown = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "663 332" in shown and "600 000 to 737 036" in shown
    none = sketched(sweep(real_time(400), real_time(800)))
    assert "tire-period" not in none and "Predicted and held" not in none


@pytest.mark.slow
def test_a_sweep_of_a_short_step_is_the_pre_test() -> None:
    found = [real_time(n, n, missed=n > 24, policy="other") for n in range(4, 41, 4)]
    for one in found:
        one.params["step_ns"] = 500_000
    text = html.unescape(sketched(sweep(*found)))
    assert "Pre-test map, step 500 us" in text and "hard map" not in text


@pytest.mark.slow
def test_a_battery_has_no_charts_of_what_it_lacks() -> None:
    assert ids(sketched(sweep(real_time(400), real_fast(400)))) == ["tire-study"]
    steps = ["tire-steps", "tire-map-10000000-10000000", "tire-study"]
    assert ids(sketched(sweep(real_time(400), real_time(800)))) == steps


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        {"missed_count": -5, "released_count": -5},
        {"masses_count": "<b>", "threads_count": None},
        {"steps_count": 0, "involuntary_count": 2**60},
        {"solver": 7, "policy": ["x"]},
    ],
)
def test_broken_events_make_a_page(data: dict[str, object]) -> None:
    odd = [real_time(n, 2, data=data) for n in (400, 800, 1200, 1600)]  # type: ignore[arg-type]
    document = sweep(*odd, real_time(events=[]), real_fast(series=[]))
    assert 'id="tire"' in sketched(document)
    render_pdf(document, no_descriptor, drawer=Sketches())


@pytest.mark.slow
def test_hundreds_of_points_make_a_small_page() -> None:
    many = [
        real_time(4 * n, threads, missed=n > 60, policy=policy, released=2)
        for n in range(1, 121)
        for threads in (1, 2, 4)
        for policy in ("fifo", "other")
    ]
    document = sweep(*many)
    assert len(sketched(document)) < 500_000
    found = tire_figures(document, points_of(document), Sketches(has_scripts=True))
    rows = [
        sum(len(line["points"]) for line in msgspec.json.decode(str(one.drawing.data))["lines"])
        for one in found
    ]
    assert max(rows) <= MOST_DRAWN + 10


@pytest.mark.slow
def test_another_run_stands_beside() -> None:
    first, second = whole_sweep(["none"]), whole_sweep(["none"])
    second.system["kernel.release"] = "6.12.0"
    text = html.unescape(sketched(first, beside=second))
    assert "Beside the other run" in text
    assert "6.12.0-rt, fifo and 6.12.0, fifo, none, shared" in text
    assert '<figure class="chart" id="tire-beside-held">' in text
    second.system["virtual.hypervisor"] = "TCG"
    assert "Not compared: emulated" in sketched(first, beside=second)
    sheets = texts_of(render_pdf(first, no_descriptor, drawer=Sketches(), beside=second))
    assert "Not compared with the other run: emulated" in " ".join(sheets)


# The terminal


@pytest.mark.slow
def test_a_terminal_without_utf_8_has_other_marks() -> None:
    assert printed(print_screen, whole_sweep(), 120) == printed(print_screen, whole_sweep(), 80)
    text = printed(print_screen, whole_sweep(), encoding="ascii")
    assert "hard map: # missed, . none missed" in text and "  1  ....#" in text
    other = printed(print_whole, make.document())
    assert "simulation" not in other and "Garre" not in other


@pytest.mark.slow
def test_large_sweeps_still_fit() -> None:
    many = [
        real_time(4 * n, threads, missed=n > 35, policy=policy, load=load, released=2)
        for n in range(1, 71)
        for threads, policy, load in (
            (1, "fifo", "none"),
            (2, "other", "none"),
            (2, "fifo", "heavy"),
        )
    ]
    assert len(printed(print_screen, sweep(*many)).splitlines()) <= MOST_LINES
    curves = [
        real_time(n, threads, missed=n > 8 * threads, load=load)
        for n in (400, 800)
        for threads in range(1, 17)
        for load in ("none", "heavy")
    ]
    found = printed(print_screen, sweep(*curves)).splitlines()
    assert len(found) <= MOST_LINES and any("more, with --all" in line for line in found)


@pytest.mark.slow
def test_counts_bounds_and_times_are_not_cut() -> None:
    document = sweep(*(real_time(n, released=10_000) for n in (400, 800, 1200, 1600)))
    assert "0 of 10 000 < 0.030 %" in flat(printed(print_screen, document))
    fast = sweep(*(real_fast(n, threads) for n in (400, 800, 1200) for threads in (1, 2)))
    assert "SIM-P-RF fifo 1 400 2.40 s 50 ms 200 + 4" in flat(printed(print_screen, fast))
    assert "simulation as fast as possible" in flat(printed(print_whole, fast))


@pytest.mark.parametrize(
    ("missed", "released", "is_counted", "kind"),
    [
        (0, 100, True, "none missed"),
        (1, 1_000, True, "below 1 % missed"),
        (10, 1_000, True, "below 10 % missed"),
        (100, 1_000, True, "below 50 % missed"),
        (1_000, 1_000, True, "50 % and more missed"),
        (3, 0, False, NO_SHARE),
        (0, 0, False, NOT_COUNTED),
        (0, 100, False, NOT_COUNTED),
    ],
)
def test_the_map_tells_a_miss_from_none_and_from_what_was_not_counted(
    missed: int, released: int, is_counted: bool, kind: str
) -> None:
    (point,) = points_of(sweep(real_time(400)))
    cell = Cell(
        curve=point.curve,
        masses=400,
        points=(point,),
        missed_count=missed,
        released_count=released,
        is_counted=is_counted,
        bound=None,
    )
    row = map_row("", cell)
    assert row["c"] == kind
    (drawn,) = map_chart([row])["data"]["values"]
    assert (drawn["z"] > 50) == (missed > 0)
