"""Results of the tire as points, also those that contradict themselves."""

from __future__ import annotations

import pytest

from hardstone.model import DataValue, Event, Series
from hardstone.stats.tire_points import MOST_POINTS, by_curve, has_tire, points_of, problems_of
from tests.unit.stats.make import document
from tests.unit.stats.tires import labelled, labels, real_fast, real_time, simulation, sweep


def test_a_point_has_what_its_series_and_event_say() -> None:
    (point,) = points_of(sweep(real_time(400, 2, missed=3, released=1000)))
    assert (point.masses, point.threads, point.solver, point.policy) == (
        400,
        2,
        "semaphore",
        "fifo",
    )
    assert point.deadlines is not None
    assert (point.deadlines.missed_count, point.deadlines.released_count) == (3, 1000)
    assert point.deadlines.first_missed_count == 3
    assert point.deadlines.lateness_max_ns == 1_000_000
    assert point.step_time is not None
    assert point.step_time.mean_ns == point.step_time.max_ns == 400_000
    assert point.step_time.p99_ns == 400_000
    assert (point.step_ns, point.period_ns) == (10_000_000, 10_000_000)
    assert point.work.operations_count == 160_000
    assert point.is_whole
    assert not point.is_delayed
    assert point.problems == ()


def test_p99_needs_ten_values_beyond_it() -> None:
    (point,) = points_of(sweep(real_time(released=999)))
    assert point.step_time is not None
    assert point.step_time.p99_ns is None


def test_a_total_time_has_its_repeats() -> None:
    (point,) = points_of(sweep(real_fast(totals=[5, 7, 9])))
    assert point.total is not None
    assert (point.total.repeats_count, point.total.mean_ns) == (3, 7)
    assert (point.total.min_ns, point.total.max_ns) == (5, 9)
    assert point.deadlines is None
    assert point.period_ns == 0


def test_a_result_of_several_variants_has_a_point_each() -> None:
    one, other = real_time(400, 1), real_time(400, 2, missed=5)
    one.series += other.series
    one.events += other.events
    points = points_of(sweep(one))

    assert [point.threads for point in points] == [1, 2]
    assert [one.deadlines.missed_count for one in points if one.deadlines] == [0, 5]


def test_a_refused_point_has_its_reason() -> None:
    refused = real_time(
        4000,
        4,
        policy="deadline",
        status="denied",
        reason="the kernel's admission refused",
        remedy="fewer threads",
        series=[],
        events=[],
    )
    (point,) = points_of(sweep(refused))
    assert (point.masses, point.threads, point.policy) == (4000, 4, "deadline")
    assert point.status == "denied"
    assert point.reason == "the kernel's admission refused"
    assert point.deadlines is not None
    assert point.deadlines.missed_count is None
    assert not point.is_measured


def test_the_policy_of_the_run_is_that_of_its_conditions() -> None:
    refused = real_time(status="timeout", series=[], events=[])
    refused.params["policy"] = ["run"]
    (point,) = points_of(sweep(refused))
    assert point.policy == "fifo"


@pytest.mark.parametrize(
    ("data", "missed", "released"),
    [
        ({"missed_count": 7}, 7, 100),  # the event says more than the series
        ({"missed_count": 0}, 2, 100),  # and less
        ({"missed_count": None}, 2, 100),
        ({"missed_count": -1}, 2, 100),
        ({"missed_count": True}, 2, 100),
        ({"missed_count": "many"}, 2, 100),
        ({"missed_count": 2**62}, 2, 100),
        ({"released_count": 1}, 2, None),  # more missed than released
        ({"released_count": -5}, 2, None),
        ({"released_count": None}, 2, None),
    ],
)
def test_contradictions_never_flatter(
    data: dict[str, DataValue], missed: int, released: int | None
) -> None:
    (point,) = points_of(sweep(real_time(missed=2, data=data)))
    assert point.deadlines is not None
    assert point.deadlines.missed_count == missed
    assert point.deadlines.released_count == released


def test_more_late_steps_than_were_counted_are_missed_steps() -> None:
    odd = real_time(missed=0)
    odd.series[1] = labelled("lateness", "ns", [5, 6, 7], odd.series[1].labels)
    (point,) = points_of(sweep(odd))
    assert point.deadlines is not None
    assert point.deadlines.missed_count == 3
    assert "late steps" in problems_of([point])[0]


def test_blocked_operations_are_at_most_all() -> None:
    (point,) = points_of(sweep(real_time(data={"semaphore_blocked_count": 10**9})))
    assert point.work.operations_count is None
    assert point.work.blocked_count is None
    assert any("semaphore operations" in problem for problem in point.problems)


def test_a_result_without_its_event_has_what_its_series_say() -> None:
    (point,) = points_of(sweep(real_time(missed=4, events=[])))
    assert point.deadlines is not None
    assert point.deadlines.missed_count == 4
    assert point.deadlines.released_count is None
    assert point.work.operations_count is None


def test_series_that_cannot_be_durations_are_left_out() -> None:
    odd = real_time()
    odd.series[2] = labelled("step_time", "ns", [-5, 3], odd.series[2].labels)
    (point,) = points_of(sweep(odd))
    assert point.step_time is None


def _broken(found: Series, **changed: object) -> Series:
    for name, value in changed.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    "hostile",
    [
        labelled(
            "missed", "count", [1], {"masses": -4, "threads": 1, "solver": "s", "policy": "p"}
        ),
        labelled("missed", "count", [1], {"masses": "<b>", "threads": 1}),
        labelled("missed", "count", [1], {}),
        labelled("missed", "count", [1], labels(4, 300, "semaphore", "fifo")),
        labelled("missed", "count", [1], labels(4, 1, "", "fifo")),
    ],
)
def test_labels_of_no_simulation_make_no_point(hostile: Series) -> None:
    odd = real_time(400, 2)
    odd.series.append(hostile)
    assert [(one.masses, one.threads) for one in points_of(sweep(odd))] == [(400, 2)]


def test_figures_that_contradict_a_series_do_not_raise() -> None:
    odd = real_time()
    odd.series[0] = _broken(odd.series[0], mean=float("nan"), count=3)
    odd.series[2] = _broken(odd.series[2], mean=float("inf"))
    odd.events.append(Event(name="simulation", text="", data={"masses_count": None}))
    (point,) = points_of(sweep(odd))
    assert point.step_time is None


def test_parts_of_a_resumed_point_are_added_up() -> None:
    joined = real_time(missed=2)
    second = simulation(400, 2, released_count=100, missed_count=3)
    own = labels(400, 2, "semaphore", "fifo")
    joined.series[0] = labelled("missed", "count", [2, 3], own)
    joined.series[1] = labelled("lateness", "ns", [1_000_000] * 5, own)
    joined.events.append(second)
    (point,) = points_of(sweep(joined))
    assert point.deadlines is not None
    assert (point.deadlines.missed_count, point.deadlines.released_count) == (5, 200)
    assert point.problems == ()


@pytest.mark.slow
def test_names_and_points_are_bounded() -> None:
    odd = real_time(policy="<script>" * 100)
    (point,) = points_of(sweep(odd))
    assert len(point.policy) == 32
    many = real_time(4, 1)
    many.params["masses"] = [4] * 3000
    many.series, many.events = [], []
    assert len(points_of(sweep(*[many] * 100))) <= MOST_POINTS


def test_curves_differ_by_load_policy_and_threads() -> None:
    points = points_of(
        sweep(
            real_time(800, 1),
            real_time(400, 1),
            real_time(400, 2),
            real_time(400, 1, load="heavy"),
            real_time(400, 1, policy="other"),
        )
    )
    curves = by_curve(points)
    assert [len(own) for own in curves.values()] == [2, 1, 1, 1]
    assert [one.masses for one in next(iter(curves.values()))] == [400, 800]


def test_other_tests_have_no_points() -> None:
    assert not has_tire(document())
    assert points_of(document()) == []
    assert has_tire(sweep(real_time()))
