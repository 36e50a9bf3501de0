"""The tire in words: nothing is rounded in favour of the system. A whole sweep is in
tests/unit/report/golden, word for word."""

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


THOUSAND = "1\N{NO-BREAK SPACE}200"
REFUSED = {"status": "denied", "reason": "no", "series": [], "events": []}


@pytest.mark.parametrize(
    ("results", "first", "cells"),
    [
        (
            [real_time(400), real_time(800), real_time(1200, missed=2)],
            0,
            ("fifo", "", "2", "800", THOUSAND, "0 of 100", "< 3.0 %", "800 us", "-", "800 us"),
        ),
        # without a miss the largest is no limit
        ([real_time(400), real_time(800)], 3, (">= 800", "none")),
        # what was refused is not said to have held none
        ([real_time(400, **REFUSED)], 3, ("denied", "-", "-", "-")),
        # what never held shows its smallest point
        ([real_time(400, missed=50), real_time(800, missed=100)], 3, ("none", "400", "50 of 100")),
    ],
)
def test_a_row_says_what_held_with_its_bound(
    results: list[Result], first: int, cells: tuple[str, ...]
) -> None:
    (row,) = rows_of(*results)
    assert row[first : first + len(cells)] == cells


def test_islands_and_uncounted_points_are_told() -> None:
    document = sweep(
        real_time(400, missed=1),
        real_time(800),
        real_time(200, **REFUSED | {"reason": "no memory"}),
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


def test_other_steps_are_other_curves() -> None:
    found = [real_time(n, 1, policy=one) for one in ("fifo", "other") for n in (4000, 400)]
    for one in found[1::2]:
        one.params["step_ns"] = 500_000
    document = sweep(*found)
    (text,) = statement_texts(document, points_of(document))
    assert text.rows == [
        (f"held with 1 thread, step {step}", *[f"at least {masses} masses"] * 2)
        for step, masses in (("500 us", "400"), ("10 ms", "4\N{NO-BREAK SPACE}000"))
    ]


@pytest.mark.slow
def test_an_emulated_kernel_stands_beside_no_hardware() -> None:
    names = ("6.12", "6.12-rt")
    first, second = whole_sweep(), whole_sweep()
    found = texts_between(first, second, names)
    assert not isinstance(found, str) and {one.conclusion for one in found} == {"Not decided."}
    second.system["virtual.hypervisor"] = "TCG"
    assert "emulated" in str(texts_between(first, second, names))
    first.system["virtual.hypervisor"] = "TCG"
    assert not isinstance(texts_between(first, second, names), str)


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
    assert table.rows == [] and "tire_costs" in table.lacking[0]
    point = real_time()
    point.events.append(costs())
    (lacking,) = cost_table(sweep(point), points_of(sweep(point))).lacking
    assert "THR-P-SLS" in lacking  # inputs are only those of the document
    whole = sweep(point, *opening())
    assert cost_table(whole, points_of(whole)).rows


@pytest.mark.parametrize(
    ("residual", "text"), [(None, "-"), (42.0, "+42 %"), (-100.0, "-100 %"), (0.0, "+0 %")]
)
def test_a_residual_has_a_sign(residual: float | None, text: str) -> None:
    assert residual_text(residual, 100.0) == text


def test_the_published_points_are_those_of_the_study() -> None:
    found = [(one.system[:5], one.threads, one.held, one.missed_from) for one in published_points()]
    assert found[:2] == [("Xenom", None, 14_000, None), ("Xenom", 12, 57_000, None)]
    assert found[2:] == [("Linux", 1, None, 6_000), ("Linux", 12, None, 24_000)]


def test_only_runs_like_the_study_stand_beside_it() -> None:
    other_step = real_time(800)
    other_step.params["step_ns"] = 500_000
    document = sweep(real_time(400), other_step, real_time(1200, solver="barrier"))
    found = published_tire(document, points_of(document))
    own = [row for row in found.rows if row[0].startswith("this run")]
    assert own == [("this run, fifo", "2", ">= 400", "-")]
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
    on_purpose = whole_sweep()
    assert (tire_lines(on_purpose), deadlines_missed(on_purpose)) == ([], "")


def test_a_refusal_is_told_once_with_its_remedy() -> None:
    refused = [
        real_time(n, status="denied", reason="admission refused", remedy="fewer threads", series=[])
        for n in (400, 800)
    ]
    told = denied_lines(points_of(sweep(*refused)))
    assert told == ["denied: admission refused; remedy: fewer threads"]
