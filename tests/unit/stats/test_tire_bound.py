"""What a curve held, and how much that says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hardstone.model import Result
from hardstone.stats.tire_bound import Bound, bounds_of, maps_of, miss_bound
from hardstone.stats.tire_points import points_of
from tests.unit.stats.tires import real_time, simulation, sweep


def bound_of(*results: Result) -> Bound:
    (found,) = bounds_of(points_of(sweep(*results)))
    return found


@pytest.mark.slow
@given(st.integers(1, 5000), st.data())
def test_the_bound_is_that_of_clopper_and_pearson(released: int, data: st.DataObject) -> None:
    missed = data.draw(st.integers(0, released))
    interval = stats.binomtest(missed, released, alternative="less").proportion_ci(0.95, "exact")
    assert miss_bound(missed, released) == pytest.approx(interval.high, rel=1e-9)


@pytest.mark.parametrize("released", [20, 100, 6000, 10**9])
def test_none_missed_bounds_the_share_to_about_three_over_n(released: int) -> None:
    assert miss_bound(0, released) == pytest.approx(1 - 0.05 ** (1 / released), rel=1e-7)
    assert miss_bound(0, released) < 3 / released


@pytest.mark.parametrize(("missed", "released"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_counts_that_cannot_be_have_no_bound(missed: int, released: int) -> None:
    with pytest.raises(ValueError, match="cannot be missed"):
        miss_bound(missed, released)


def test_the_largest_held_has_no_miss_at_or_below_it() -> None:
    found = bound_of(
        real_time(400),
        real_time(800),
        real_time(1200, missed=2),
        real_time(1600),
        real_time(2000, missed=50),
    )
    assert (found.held_masses, found.first_missed_masses) == (800, 1200)
    assert [one.masses for one in found.islands] == [1600]
    assert found.held is not None
    assert found.held.bound == pytest.approx(1 - 0.05 ** (1 / 100))


def test_the_order_of_measuring_does_not_matter() -> None:
    found = bound_of(real_time(1200, missed=2), real_time(800), real_time(1600), real_time(400))
    assert (found.held_masses, found.first_missed_masses) == (800, 1200)


def test_nothing_held_where_the_smallest_missed() -> None:
    found = bound_of(real_time(400, missed=1), real_time(800))
    assert (found.held_masses, found.first_missed_masses) == (None, 400)
    assert [one.masses for one in found.islands] == [800]


def test_without_a_miss_the_largest_measured_held() -> None:
    found = bound_of(real_time(400), real_time(800))
    assert (found.held_masses, found.first_missed_masses) == (800, None)


def test_a_point_that_missed_once_of_several_measurements_missed() -> None:
    found = bound_of(real_time(400), real_time(800), real_time(800, missed=1), real_time(800))
    assert (found.held_masses, found.first_missed_masses) == (400, 800)
    assert found.cells[1].released_count == 300
    assert found.cells[1].bound == pytest.approx(miss_bound(1, 300))


def test_repeats_that_held_bound_the_share_together() -> None:
    found = bound_of(real_time(400), real_time(400))
    assert found.held is not None
    assert found.held.bound == pytest.approx(1 - 0.05 ** (1 / 200))


@pytest.mark.parametrize(
    "cut_off",
    [
        real_time(800, interrupted=True),
        real_time(800, complete=False),
        real_time(800, status="timeout"),
        real_time(800, status="denied", series=[], events=[]),
        real_time(800, events=[]),  # released steps are not known
        real_time(800, released=0),
        real_time(800, data={"released_count": -1}),
    ],
)
def test_what_was_not_measured_to_its_end_never_held(cut_off: Result) -> None:
    found = bound_of(real_time(400), cut_off)
    assert (found.held_masses, found.first_missed_masses) == (400, None)
    assert [one.masses for one in found.not_counted] == [800]


def test_a_point_that_was_measured_again_in_full_holds() -> None:
    found = bound_of(real_time(400), real_time(800, interrupted=True), real_time(800))
    assert found.held_masses == 800
    assert found.held is not None
    assert found.held.released_count == 100


def test_a_miss_of_a_cut_off_point_is_a_miss() -> None:
    found = bound_of(real_time(400), real_time(800, missed=1, interrupted=True))
    assert (found.held_masses, found.first_missed_masses) == (400, 800)


def test_a_gap_below_does_not_count_as_a_miss() -> None:
    refused = real_time(800, status="denied", series=[], events=[])
    found = bound_of(real_time(400), refused, real_time(1200))
    assert found.held_masses == 1200
    assert [one.masses for one in found.not_counted] == [800]


def test_a_step_that_was_delayed_on_purpose_says_nothing() -> None:
    late = real_time(400, missed=1)
    late.events.append(
        simulation(400, 2).__class__(name="delayed_on_purpose", text="", data={"step_count": 3})
    )
    assert bounds_of(points_of(sweep(late))) == []


def test_maps_have_a_panel_for_each_policy_and_condition() -> None:
    points = points_of(
        sweep(
            real_time(400, 1),
            real_time(800, 1, missed=100),
            real_time(400, 2),
            real_time(400, 2, policy="other", missed=5),
            real_time(400, 2, load="heavy", missed=7),
        )
    )
    panels = maps_of(bounds_of(points))
    assert [(one.key.policy, one.key.load) for one in panels] == [
        ("fifo", "none"),
        ("other", "none"),
        ("fifo", "heavy"),
    ]
    assert (panels[0].threads, panels[0].masses) == ([1, 2], [400, 800])
    assert [(one.masses, one.share) for one in panels[0].cells] == [(400, 0), (800, 1), (400, 0)]


def test_maps_are_bounded() -> None:
    bounds = bounds_of(points_of(sweep(*(real_time(4 * n, 1) for n in range(1, 60)))))
    assert sum(len(one.cells) for one in maps_of(bounds, most=50)) == 50
