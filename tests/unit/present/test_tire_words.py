"""The tire in words: nothing is rounded in favour of the system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Result
from hardstone.present.tire_cost_table import cost_table, residual_text
from hardstone.present.tire_lines import deadlines_missed, tire_lines
from hardstone.present.tire_map import map_texts
from hardstone.present.tire_published import published_points, published_tire
from hardstone.present.tire_statement_text import statement_texts, texts_between
from hardstone.present.tire_table import bound_rows, denied_lines, paused_lines, point_rows
from hardstone.present.tire_words import percent
from hardstone.stats.tire_points import points_of
from tests.unit.stats.tires import (
    costs,
    opening,
    real_fast,
    real_time,
    simulation,
    sweep,
    whole_sweep,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0"),
        (0.0295, "3.0 %"),
        (0.0300, "3.0 %"),
        (0.03001, "3.1 %"),
        (0.00051, "0.051 %"),
        (0.005, "0.50 %"),
        (0.195, "20 %"),
        (1.0, "100 %"),
        (0.00003, "1 in\N{NO-BREAK SPACE}33\N{NO-BREAK SPACE}300"),
    ],
)
def test_a_share_is_rounded_up(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.slow
@given(st.floats(0.0001, 1))
def test_no_share_is_shown_smaller_than_it_is(share: float) -> None:
    assert float(percent(share).removesuffix(" %")) / 100 >= share * (1 - 1e-8)


def rows_of(*results: Result) -> list[tuple[str, ...]]:
    document = sweep(*results)
    return [row.cells for row in bound_rows(document, points_of(document))]


def test_a_row_says_what_held_with_its_bound() -> None:
    (row,) = rows_of(real_time(400), real_time(800), real_time(1200, missed=2))
    assert row[:7] == ("fifo", "", "2", "800", "1\N{NO-BREAK SPACE}200", "0 of 100", "< 3.0 %")
    assert row[7:] == ("800 us", "-", "800 us")


def test_without_a_miss_the_largest_is_no_limit() -> None:
    (row,) = rows_of(real_time(400), real_time(800))
    assert row[3:5] == (">= 800", "none")


def test_what_was_refused_is_not_said_to_have_held_none() -> None:
    refused = real_time(400, status="denied", reason="no", series=[], events=[])
    (row,) = rows_of(refused)
    assert row[3:7] == ("denied", "-", "-", "-")


def test_what_never_held_shows_its_smallest_point() -> None:
    (row,) = rows_of(real_time(400, missed=50), real_time(800, missed=100))
    assert row[3:6] == ("none", "400", "50 of 100")


def test_islands_and_uncounted_points_are_told() -> None:
    document = sweep(
        real_time(400, missed=1),
        real_time(800),
        real_time(200, status="denied", reason="no memory", series=[], events=[]),
        real_time(100, interrupted=True),
    )
    (row,) = bound_rows(document, points_of(document))
    assert "none missed again at 800" in row.note
    assert "200 not counted: denied, no memory" in row.note
    assert "100 not counted: ended before its last step" in row.note


def test_a_thread_far_ahead_ends_a_simulation() -> None:
    ended = real_time(400)
    event = simulation(400, 2)
    event.name = "simulation_out_of_step"
    ended.events.append(event)
    (row,) = rows_of(ended)
    assert row[3] == "none"


def test_every_point_has_a_row_with_its_cpu_time_and_switches() -> None:
    document = sweep(real_time(400, missed=3), real_fast(400))
    fast, late = point_rows(document, points_of(document))
    assert fast[10:14] == ("2.40 s", "50 ms", "200 + 4", "40 of 160\N{NO-BREAK SPACE}000")
    assert late[4:7] == ("3 of 100", "< 7.6 %", "1 ms")
    assert late[-1] == "measured"


def test_the_map_has_a_column_for_each_number_of_masses() -> None:
    document = sweep(
        real_time(400, 1),
        real_time(800, 1, missed=2),
        real_time(1200, 1, interrupted=True),
        real_time(400, 2),
        real_time(1200, 2),
    )
    (found,) = map_texts(document, points_of(document))
    assert found.lines == [("1", "\u00b7\u25cf?"), ("2", "\u00b7 \u00b7")]
    assert found.ends == ("400", "1\N{NO-BREAK SPACE}200")


def test_narrow_maps_show_the_worst_of_neighbours() -> None:
    document = sweep(*(real_time(4 * n, 1, missed=n == 7) for n in range(1, 13)))
    (found,) = map_texts(document, points_of(document), columns=4)
    assert found.lines == [("1", "\u00b7\u00b7\u25cf\u00b7")]


@pytest.mark.slow
def test_the_statement_says_which_side_is_which() -> None:
    document = whole_sweep()
    quiet, loaded = statement_texts(document, points_of(document))
    assert quiet.title == "fifo and other, none"
    assert quiet.conclusion == "Not decided."
    assert loaded.conclusion == (
        "other is faster and misses more deadlines: real-time is not real-fast."
    )
    assert "0.8 times that of fifo" in loaded.speed
    assert "each time was measured once" in loaded.speed
    assert loaded.rows[0] == (
        "held with 1 thread",
        "12\N{NO-BREAK SPACE}000 masses",
        "none, missed at 400",
    )


def test_other_steps_are_other_curves() -> None:
    found = []
    for policy in ("fifo", "other"):
        for step_ns, masses in ((10_000_000, 4000), (500_000, 400)):
            one = real_time(masses, 1, policy=policy)
            one.params["step_ns"] = step_ns
            found.append(one)
    document = sweep(*found)
    (text,) = statement_texts(document, points_of(document))
    assert text.rows == [
        (
            "held with 1 thread, step 500 us",
            "at least 400 masses",
            "at least 400 masses",
        ),
        (
            "held with 1 thread, step 10 ms",
            "at least 4\N{NO-BREAK SPACE}000 masses",
            "at least 4\N{NO-BREAK SPACE}000 masses",
        ),
    ]


@pytest.mark.slow
def test_an_emulated_kernel_stands_beside_no_hardware() -> None:
    first, second = whole_sweep(), whole_sweep()
    second.system["virtual.hypervisor"] = "TCG"
    assert "emulated" in str(texts_between(first, second, ("a", "b")))
    found = texts_between(first, whole_sweep(), ("6.12", "6.12-rt"))
    assert not isinstance(found, str)
    assert {one.conclusion for one in found} == {"Not decided."}


@pytest.mark.slow
def test_two_emulated_kernels_stand_beside_each_other() -> None:
    first, second = whole_sweep(), whole_sweep()
    for one in (first, second):
        one.system["virtual.hypervisor"] = "TCG"
    assert not isinstance(texts_between(first, second, ("6.12", "6.12-rt")), str)


def test_paused_simulations_are_told() -> None:
    paused = real_fast(400, 1)
    event = simulation(400, 1, lost_ns=50_000_000)
    event.name = "real_fast_paused"
    paused.events.append(event)
    (told,) = paused_lines(points_of(sweep(paused, real_fast(800, 1))))
    assert "At 1 points" in told
    assert "50 ms of 2.40 s" in told


def test_the_cost_table_shows_the_residual_and_what_lacks() -> None:
    document = whole_sweep(["none"])
    found = cost_table(document, points_of(document))
    assert len(found.rows) == 12
    assert found.rows[0][:4] == ("12\N{NO-BREAK SPACE}000", "1", "fifo", "-")
    assert found.lacking == []
    assert "on the machine of the study a spring 400 ns and a mass 80 ns" in found.notes[0]
    bare = sweep(real_time())
    table = cost_table(bare, points_of(bare))
    assert table.rows == []
    assert "tire_costs" in table.lacking[0]


@pytest.mark.parametrize(
    ("residual", "text"), [(None, "-"), (42.0, "+42 %"), (-100.0, "-100 %"), (0.0, "+0 %")]
)
def test_a_residual_has_a_sign(residual: float | None, text: str) -> None:
    assert residual_text(residual, 100.0) == text


def test_the_published_points_are_those_of_the_study() -> None:
    found = [(one.system[:5], one.threads, one.held, one.missed_from) for one in published_points()]
    assert found == [
        ("Xenom", None, 14_000, None),
        ("Xenom", 12, 57_000, None),
        ("Linux", 1, None, 6_000),
        ("Linux", 12, None, 24_000),
    ]


def test_only_runs_like_the_study_stand_beside_it() -> None:
    other_step = real_time(800)
    other_step.params["step_ns"] = 500_000
    document = sweep(real_time(400), other_step, real_time(1200, solver="barrier"))
    found = published_tire(document, points_of(document))
    own = [row for row in found.rows if row[0].startswith("this run")]
    assert own == [("this run, fifo", "2", ">= 400", "-")]
    assert "i7-3930K 3.2 GHz, 6 cores with hyper-threading" in found.hardware
    assert "40 threads with 41 nodes" in found.pretest
    document.system["virtual.hypervisor"] = "TCG"
    assert published_tire(document, points_of(document)).rows == found.rows[:4]


def test_a_battery_has_a_line_for_each_size() -> None:
    document = sweep(real_time(400, 2, missed=3), real_fast(400, 1))
    assert tire_lines(document) == [
        "3 of 100 steps missed their deadline (share < 7.6 %): 400 masses, 2 threads, fifo",
        "400 masses, 1 thread, fifo in 2.40 s, code c",
    ]
    assert deadlines_missed(document).startswith("SIM-S-RT: 3 of 100 steps missed")
    assert deadlines_missed(sweep(real_time(400))) == ""


def test_a_sweep_misses_on_purpose() -> None:
    document = whole_sweep()
    assert tire_lines(document) == []
    assert deadlines_missed(document) == ""


def test_a_refusal_is_told_once_with_its_remedy() -> None:
    refused = [
        real_time(n, status="denied", reason="admission refused", remedy="fewer threads", series=[])
        for n in (400, 800)
    ]
    told = denied_lines(points_of(sweep(*refused)))
    assert told == ["denied: admission refused; remedy: fewer threads"]


def test_inputs_are_only_those_of_the_document() -> None:
    point = real_time()
    point.events.append(costs())
    document = sweep(point)
    (lacking,) = cost_table(document, points_of(document)).lacking
    assert "THR-P-SLS" in lacking
    assert cost_table(sweep(point, *opening()), points_of(sweep(point, *opening()))).rows
