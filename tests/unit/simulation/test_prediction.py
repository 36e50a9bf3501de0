"""The largest simulation, predicted from costs before the first point: the sum by hand, what it
cannot say, and whether what held is inside."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.event_names import TIRE_PREDICTED
from hardstone.model import Event, Result
from hardstone.simulation.analysis import Bound, bounds_of
from hardstone.simulation.prediction import (
    Prediction,
    check_of,
    checked,
    parts_of_period,
    predict,
    prediction_events,
    predictions_of,
    step_ns,
)
from hardstone.simulation.results import Costs, costs_of, points_of
from hardstone.simulation.tables import (
    period_rows,
    prediction_sentences,
    prediction_table,
)
from tests.unit.simulation.tires import (
    costs_only,
    parts_of,
    planned_curves,
    real_time,
    sweep,
    timed_costs,
)

PERIOD_NS = 10_000_000


def costs(*events: Event) -> list[Costs]:
    return costs_of(costs_only(*events))


# ---- the sum ----


def test_a_step_is_arithmetic_and_accesses() -> None:
    """Two threads have 5000 masses each: 10 ns and 20 ns for each of them."""
    found = costs(timed_costs(400, 2), timed_costs(10_000, 2))
    assert step_ns(found, "mean", 10_000) == pytest.approx(5000 * 30.0)
    assert step_ns(found, "low", 10_000) == pytest.approx(5000 * 27.0)
    assert step_ns(found, "high", 10_000) == pytest.approx(5000 * 33.0)


def test_accesses_are_interpolated_and_go_on_in_proportion() -> None:
    found = costs(
        timed_costs(100, 1, loop_ns=1e-3, access_ns=1000.0),
        timed_costs(10_000, 1, loop_ns=1e-3, access_ns=1_000_000.0),
    )
    between = step_ns(found, "mean", 1000) - 1.0
    assert between == pytest.approx((1000.0 * 1_000_000.0) ** 0.5)
    assert step_ns(found, "mean", 20_000) - 20.0 == pytest.approx(2_000_000.0)
    assert step_ns(found, "mean", 40) - 0.04 == pytest.approx(400.0)


def test_the_largest_step_fits_the_period_less_the_dispatch() -> None:
    found = predict(costs(timed_costs(400, 2), timed_costs(10_000, 2)), 2, PERIOD_NS, 2)
    masses = 2 * (PERIOD_NS - 50_000) / 30.0
    low, high = 2 * (PERIOD_NS - 100_000) / 33.0, 2 * (PERIOD_NS - 50_000) / 27.0
    assert found == (masses // 4 * 4, low // 4 * 4, high // 4 * 4)


def test_the_interval_has_the_means_of_all_repeats() -> None:
    """Threads that met at a mass in one start, and not in the other two."""
    access = [timed_costs(10_000, 2, access_ns=ns) for ns in (100_000.0, 100_000.0, 700_000.0)]
    for one in access:
        one.data |= {
            "access_low_ns": one.data["access_ns"],
            "access_high_ns": one.data["access_ns"],
        }
    found = costs(*access)
    assert step_ns(found, "mean", 10_000) == pytest.approx(50_000 + 300_000)
    assert step_ns(found, "low", 10_000) == pytest.approx(45_000 + 100_000)
    assert step_ns(found, "high", 10_000) == pytest.approx(55_000 + 700_000)


@pytest.mark.parametrize(
    ("events", "threads", "cpus", "why"),
    [
        ([timed_costs(400, 4)], 4, 2, "4 threads on 2 CPUs wait for each other"),
        ([timed_costs(400, 2)], 2, 1, "2 threads on 1 CPU wait for each other"),
        ([timed_costs(400, 2)], 1, 2, "were not timed with this number of threads"),
        ([timed_costs(400, 1, access_ns=None)], 1, 2, "were not timed"),
        ([timed_costs(400, 1, loop_ns=float("nan"))], 1, 2, "were not timed"),
        ([timed_costs(400, 1, dispatch_ns=None)], 1, 2, "first thread is not known"),
    ],
)
def test_what_is_not_known_is_said(events: list[Event], threads: int, cpus: int, why: str) -> None:
    found = predict(costs(*events), threads, PERIOD_NS, cpus)
    assert isinstance(found, str) and why in found


# ---- stored before the first point ----


def before(**changed: Any) -> Result:
    one = costs_only(*(timed_costs(n, i) for n in (400, 10_000) for i in (1, 2)), **changed)
    one.events += prediction_events(one, planned_curves(1, 2, 4))
    return one


def test_a_prediction_is_read_as_it_was_stored() -> None:
    """Costs that are changed later do not change it."""
    stored = before()
    found = predictions_of(sweep(stored))
    assert [one.threads for one in found] == [1, 2, 4]
    assert found[1].masses == 2 * (PERIOD_NS - 50_000) // 30 // 4 * 4
    assert found[2].masses is None and "4 threads on 2 CPUs" in found[2].why
    for event in stored.events:
        if event.name == "tire_costs":
            event.data["loop_ns"] = 1000.0
    assert predictions_of(sweep(stored)) == found


def test_only_curves_of_the_same_condition_and_only_costs_have_predictions() -> None:
    one = costs_only(timed_costs(400, 1), load="heavy")
    assert prediction_events(one, planned_curves(1)) == []
    assert len(prediction_events(one, planned_curves(1, load="heavy"))) == 1
    assert prediction_events(real_time(400, 1), planned_curves(1)) == []
    other = costs_only(timed_costs(400, 1, "other"))
    (event,) = prediction_events(other, planned_curves(1))
    assert "were not timed" in str(event.data["reason"])
    failed = costs_only(status="failed", reason="no threads")
    (event,) = prediction_events(failed, planned_curves(1))
    assert "no threads" in str(event.data["reason"])


@pytest.mark.parametrize(
    "data",
    [
        {"masses_low_count": 9_000_000},
        {"masses_count": -4},
        {"masses_high_count": 2**60},
        {"masses_count": "<b>"},
    ],
)
def test_figures_that_cannot_be_are_no_prediction(data: dict[str, Any]) -> None:
    stored = before()
    for event in stored.events:
        if event.name == TIRE_PREDICTED:
            event.data |= data
    assert all(one.masses is None and one.why for one in predictions_of(sweep(stored)))


def test_costs_are_no_point_of_a_curve() -> None:
    assert points_of(sweep(before())) == []


# ---- held ----


def bound_of(*sizes: tuple[int, int]) -> Bound:
    """Of (masses, missed steps)."""
    found = [real_time(masses, 2, missed=missed) for masses, missed in sizes]
    return bounds_of(points_of(sweep(*found)))[0]


PREDICTED = Prediction(
    solver="semaphore",
    policy="fifo",
    threads=2,
    load="none",
    cpu_config="shared",
    masses=1000,
    low=900,
    high=1100,
)


@pytest.mark.parametrize(
    ("sizes", "check"),
    [
        ([(960, 0), (1000, 5)], "inside"),
        ([(400, 0), (800, 0), (840, 3)], "below"),
        ([(400, 3)], "below"),
        ([(1000, 0), (1200, 0), (1300, 9)], "above"),
        ([(1200, 0)], "above"),
        ([(960, 0)], "not decided"),  # no miss: the limit is higher
        ([(400, 0), (1600, 9)], "not decided"),  # the limit is anywhere between
        ([(880, 0), (920, 2)], "inside"),  # a limit that is known to a tenth
        ([(800, 0), (1050, 2)], "not decided"),
    ],
)
def test_what_held_is_inside_or_not(sizes: list[tuple[int, int]], check: str) -> None:
    assert check_of(PREDICTED, bound_of(*sizes)) == check


def test_without_a_prediction_nothing_is_decided() -> None:
    none = Prediction(
        solver="semaphore", policy="fifo", threads=2, load="none", cpu_config="shared"
    )
    assert check_of(none, bound_of((960, 0), (1000, 5))) == "not decided"


def test_predictions_stand_beside_what_held() -> None:
    document = sweep(before(), real_time(640_000, 2), real_time(680_000, 2, missed=4))
    points = points_of(document)
    (one,) = checked(document, points)
    assert one.check == "inside" and not one.is_wide
    (text,) = prediction_sentences(document, points)
    assert text.replace("\N{NO-BREAK SPACE}", " ") == (
        "fifo, 2 threads: predicted 663 332 (600 000 to 737 036), held 640 000: inside"
    )


def test_a_wide_interval_says_so() -> None:
    stored = before()
    for event in stored.events:
        if event.name == TIRE_PREDICTED and event.data["threads_count"] == 2:
            event.data["masses_low_count"] = 8
    document = sweep(stored, real_time(640_000, 2), real_time(680_000, 2, missed=4))
    (row,) = prediction_table(document, points_of(document)).rows
    assert row[-1] == "inside a wide interval"


def test_curves_without_a_prediction_have_the_reason_once() -> None:
    document = sweep(before(), real_time(400, 4), real_time(400, 4, policy="other"))
    found = prediction_table(document, points_of(document))
    assert found.rows == []
    assert found.lacking == [
        "no prediction: 4 threads on 2 CPUs wait for each other (fifo, 4 threads)"
    ]


# ---- the parts of a period ----


def test_a_period_is_dispatch_step_and_idle() -> None:
    one = real_time(400, 2, step_ns=3_000_000)
    one.series += parts_of(one, dispatch_ns=500_000, idle_ns=6_500_000)
    document = sweep(one)
    (point,) = points_of(document)
    found = parts_of_period(document, point)
    assert found == pytest.approx((500_000, 3_000_000, 6_500_000))
    assert sum(found or ()) == pytest.approx(PERIOD_NS)
    (row,) = period_rows(document, [point])
    assert row[3:7] == ("500 us", "3 ms", "6.50 ms", "10 ms")


def test_without_a_part_there_is_no_period() -> None:
    one = real_time(400, 2)
    one.series += parts_of(one, dispatch_ns=5, idle_ns=6)[:1]
    document = sweep(one)
    assert parts_of_period(document, points_of(document)[0]) is None
    assert period_rows(document, points_of(document)) == []
