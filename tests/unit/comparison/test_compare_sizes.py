"""Sizes of the tire beside published ones: as rows, with the reason where they may not stand so."""

from __future__ import annotations

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.view import ComparedCell, CompareView
from hardstone.model import Result
from hardstone.simulation.tables import FIRST_MISSED, MOST_HELD
from hardstone.systems.subjects import Amount, Missing, published_system
from tests.unit.comparison.made_systems import run_with
from tests.unit.simulation.tires import real_time

XENOMAI, LINUX = published_system("xenomai"), published_system("linux")


def swept(*points: Result, **changed: object) -> CompareView:
    return compare_view([run_with(*points, **changed), XENOMAI, LINUX])


def cells(view: CompareView, threads: str, size: str) -> list[ComparedCell]:
    address = f"SIM-S-RT/{threads}/{size}"
    (test,) = [one for one in view.tests if one.test == "SIM-S-RT"]
    (row,) = [one for one in test.rows if one.address == address]
    return row.cells


def values(found: list[ComparedCell]) -> list[object]:
    """The value of each system, a bound as (below, above); None where there is none."""
    amounts = [one.worst for one in found]
    return [
        None
        if isinstance(one, Missing)
        else one.value
        if one.value is not None
        else (one.below, one.above)
        for one in amounts
    ]


def twelve(masses: int, *, missed: int = 0) -> Result:
    return real_time(masses, 12, missed=missed)


def test_published_sizes_are_rows_beside_what_held() -> None:
    points = (
        real_time(4000, 1),
        real_time(9000, 1, missed=2),
        twelve(20_000),
        twelve(30_000, missed=1),
    )
    view = swept(*points)
    assert values(cells(view, "any", MOST_HELD)) == [4000.0, 14_000.0, None]
    assert values(cells(view, "1", FIRST_MISSED)) == [9000.0, None, 6000.0]
    assert values(cells(view, "12", MOST_HELD)) == [20_000.0, 57_000.0, None]
    assert values(cells(view, "12", FIRST_MISSED)) == [30_000.0, None, 24_000.0]
    assert not any(one.is_grey for one in cells(view, "12", MOST_HELD))


def test_a_size_that_no_point_limits_is_a_bound() -> None:
    held, lost = swept(real_time(400, 1)), swept(real_time(400, 1, missed=1))
    assert values(cells(held, "any", MOST_HELD))[0] == (None, 400.0)
    assert values(cells(held, "1", FIRST_MISSED))[0] == (None, 400.0)
    assert values(cells(lost, "any", MOST_HELD))[0] == (400.0, None)


def test_any_number_of_threads_holds_what_the_least_holds() -> None:
    points = real_time(4000, 1), real_time(9000, 1, missed=2), real_time(2000, 2)
    view = swept(*points, real_time(3000, 2, missed=1))
    (own, *_) = cells(view, "any", MOST_HELD)
    assert values([own]) == [2000.0] and "threads measured: 1, 2" in own.notes


def test_of_several_policies_the_one_that_held_least_stands() -> None:
    points = real_time(4000, 12), real_time(9000, 12, policy="other"), real_time(5000, 12, missed=1)
    (own, *_) = cells(swept(*points), "12", MOST_HELD)
    assert values([own]) == [4000.0]
    assert "policy fifo" in own.notes and "the least of the policies fifo, other" in own.notes


def test_another_step_or_solver_is_shown_and_not_compared() -> None:
    for odd in (
        real_time(400, 12, solver="barrier"),
        real_time(400, 12, params={"masses": [400], "threads": [12], "step_ns": 1_000_000}),
    ):
        (own, study, _) = cells(swept(odd), "12", MOST_HELD)
        assert isinstance(own.worst, Amount) and own.is_grey
        assert "not those of the study" in own.why and not study.is_grey
