"""A part that resumed a run: joined to it, or a result of its own that says why; two records
joined are the record of both; of a sweep each point is there once, whatever ended a part."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.event_names import JOINED, NEW_PART, NOT_RESUMED, THRESHOLD
from hardstone.model import (
    Conditions,
    Event,
    Interval,
    LoadReached,
    PlannedTest,
    Result,
    RunDocument,
    Scalar,
    Series,
    Tool,
    Trace,
    Worst,
)
from hardstone.simulation.sweep import Sweeper, curve_of, is_whole, masses_of
from hardstone.stats.identity import series_problem
from hardstone.stats.join import (
    empty_like,
    joined_points,
    joined_run,
    joined_series,
    measured_ns,
    parts_of,
    unmeasured_tests,
)
from hardstone.stats.sustained import worst_breach
from tests.sweeps import plan_of, register, result_of
from tests.unit.stats import make

SECOND_NS = 1_000_000_000
SYSTEM = {
    "os.boot_id": "boot-1",
    "machine.arch": "x86_64",
    "kernel.release": "6.12.0-rt",
    "virtual.hypervisor": None,
}
UPTIME_NS = 500 * SECOND_NS


def recording(
    number: int,
    *,
    begin_s: float | None = None,
    seconds: int = 10,
    values: tuple[int, ...] = (1000, 2000, 3000),
    complete: bool = True,
    system: dict[str, object] | None = None,
    of_result: dict[str, object] | None = None,
    **changed: object,
) -> RunDocument:
    """Part `number`, which began `begin_s` after the first, or 13 s after the one before."""
    begin_s = 13 * number if begin_s is None else begin_s
    series = make.series(values)
    series.maxima_per_s = [max(values)] if values else []
    found: dict[str, object] = {
        "complete": complete,
        "series": [series] if values else [],
        "duration_ns": seconds * SECOND_NS,
        "started_uptime_ns": UPTIME_NS + round(begin_s * SECOND_NS),
    }
    fields: dict[str, object] = {
        "run_id": f"20261121T03220{number}Z-1a2b3c",
        "results": [make.result(**(found | (of_result or {})))],
        "system": {**SYSTEM, **(system or {})},
        "status": "complete" if complete else "incomplete",
    }
    return make.document(**(fields | changed))


def part(number: int, **of_result: object) -> RunDocument:
    return recording(number, of_result=of_result)


def marks(result: Result) -> list[Event]:
    return [one for one in result.events if one.name in (JOINED, NEW_PART, NOT_RESUMED)]


def joined(*parts: RunDocument) -> RunDocument:
    whole, *others = parts
    for one in others:
        whole = joined_run(whole, one)
    return whole


def mark_of(*parts: RunDocument) -> Event:
    """That of the last result."""
    return marks(joined(*parts).results[-1])[-1]


def new_part(*parts: RunDocument) -> object:
    """Why the last part is a result of its own."""
    whole = joined(*parts)
    (mark,) = marks(whole.results[-1])
    assert (len(whole.results), mark.name) == (2, NEW_PART)
    return mark.data["reason"]


def test_the_gap_is_that_of_the_clock_since_boot() -> None:
    whole = joined(recording(0), recording(1, begin_s=13.5))
    (result,) = whole.results
    (mark,) = marks(result)
    assert (mark.name, mark.at_ns) == (JOINED, round(13.5 * SECOND_NS))
    assert mark.data["gap_ns"] == round(3.5 * SECOND_NS)
    assert mark.data["uncertainty_ns"] == 0
    assert mark.data["ended_at_ns"] == 10 * SECOND_NS
    assert result.series[0].count == 6
    assert (result.duration_ns, measured_ns(whole)) == (20 * SECOND_NS, 20 * SECOND_NS)
    ids = ["20261121T032200Z-1a2b3c", "20261121T032201Z-1a2b3c"]
    assert [one.id for one in whole.parts] == ids
    early = recording(1, begin_s=13.5, started_utc="1999-01-01T00:00:00Z")  # of no account
    assert mark_of(recording(0), early).data["gap_ns"] == round(3.5 * SECOND_NS)


def test_what_was_cut_off_may_have_lasted_an_interval_longer_and_at_most_the_gap() -> None:
    cut = recording(0, complete=False)
    whole = joined(cut, recording(1))
    (mark,) = marks(whole.results[0])
    assert mark.data["uncertainty_ns"] == SECOND_NS
    assert "except perhaps the first 1 s before it was cut off" in mark.text
    assert (whole.status, whole.results[0].complete) == ("complete", True)
    assert mark_of(cut, recording(1, begin_s=10.25)).text == (
        "resumed; nothing was recorded for 250 ms, except perhaps the first 250 ms before it was "
        "cut off"
    )


def test_a_part_is_added_once() -> None:
    once = joined(recording(0), recording(1))
    assert joined_run(once, recording(1)) == once


REBOOT = {"os.boot_id": "boot-2"}
ANOTHER = "another machine: machine.arch changed from x86_64 to aarch64"
IDLE_BOUND = {us: Conditions(load="none", dma_latency_us=us) for us in (0, 100)}
TIME_SHARED = Conditions(load="heavy", policy="other", realtime=False)
BOOT_UNKNOWN = "it is not known whether this is the same boot of the same machine"
NEW_KERNEL = "the machine was rebooted: kernel.release changed from 6.12.0-rt to 6.13"


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (part(0), recording(1, system=REBOOT), "the machine was rebooted"),
        (part(0), recording(1, system=REBOOT | {"kernel.release": "6.13"}), NEW_KERNEL),
        (part(0), recording(1, system={"os.boot_id": None}), BOOT_UNKNOWN),
        (part(0), recording(1, system=REBOOT | {"machine.arch": "aarch64"}), ANOTHER),
        (part(0), recording(1, system={"machine.arch": "aarch64"}), ANOTHER),
        (part(0), recording(1, begin_s=5), "the boot-time clock went back"),
        (part(0), part(1, started_uptime_ns=None), "its start on the boot-time clock is unknown"),
        (
            part(0),
            part(1, conditions=TIME_SHARED),
            ("other conditions: policy changed from fifo to other"),
        ),
        (
            part(0, conditions=IDLE_BOUND[0]),
            part(1, conditions=IDLE_BOUND[100]),
            "other conditions: dma_latency_us changed from 0 to 100",
        ),
    ],
)
def test_what_cannot_be_joined_is_a_new_part(
    first: RunDocument, later: RunDocument, said: str
) -> None:
    assert str(new_part(first, later)).startswith(said)
    whole = joined(first, later)
    assert [result.series[0].count for result in whole.results] == [3, 3]
    assert [one.result for one in whole.parts] == [0, 1]
    changed = later.system.items() - first.system.items()
    assert whole.parts[1].system == dict(changed)


def test_the_breach_is_the_largest_of_all_cpus() -> None:
    found = [make.series([value]) for value in (3000, 9000, 5000)]
    for cpu, series in enumerate(found):
        series.labels = {"cpu": cpu}
        series.worst = [Worst(value_ns=series.max, at_ns=5, index=0)]
    breach = worst_breach(make.result(series=found), 2500)
    assert (breach.value_ns, breach.cpu) == (9000, 1)


def test_a_third_part_is_joined_to_the_one_of_its_boot() -> None:
    whole = joined(recording(0), recording(1, system=REBOOT), recording(2, begin_s=30))
    assert [result.series[0].count for result in whole.results] == [6, 3]
    (mark,) = marks(whole.results[0])
    assert (mark.at_ns, mark.data["gap_ns"]) == (30 * SECOND_NS, 20 * SECOND_NS)
    assert [one.result for one in parts_of(whole)] == [0, 1, 0]


def test_the_gap_before_a_third_part_begins_where_the_second_ended() -> None:
    mark = mark_of(recording(0), recording(1), recording(2, begin_s=30))
    assert (mark.data["ended_at_ns"], mark.data["gap_ns"]) == (23 * SECOND_NS, 7 * SECOND_NS)


def test_what_recorded_nothing_leaves_the_figures_and_says_so() -> None:
    denied = recording(1, values=(), of_result={"status": "denied", "reason": "no right"})
    first = recording(0, complete=False)
    whole = joined(first, denied)
    assert whole.results[0].series == first.results[0].series
    assert "no right" in marks(whole.results[0])[0].text
    assert whole.status == "incomplete"
    assert mark_of(whole, recording(2, begin_s=20)).data["gap_ns"] == 10 * SECOND_NS


def test_a_run_that_had_nothing_yet_becomes_its_first_part() -> None:
    (result,) = joined(recording(0, values=(), complete=False), recording(1)).results
    assert (result.series[0].count, marks(result)) == (3, [])


def test_another_build_of_the_probe_is_told() -> None:
    tools = [Tool(version=one, probe_sha256=sha) for one, sha in (("1", "aaaa"), ("2", "bbbb"))]
    mark = mark_of(*(recording(number, tool=tool) for number, tool in enumerate(tools)))
    assert mark.data["has_other_tool"] is True
    assert "the tool changed: 1 with probe not known (aaaa) before" in mark.text


def test_a_setting_that_moved_between_both_has_moved_during_the_run() -> None:
    governors = ("performance", "powersave")
    whole = joined(
        *(recording(n, system={"power.governor": one}) for n, one in enumerate(governors))
    )
    (moved,) = whole.environment_moved
    assert (moved.fact, moved.before, moved.after) == ("power.governor", *governors)
    assert any("changed during the run" in reason for reason in whole.trust.reasons)


def test_counters_add_and_what_one_part_lacks_is_told() -> None:
    environments = [{"steal_ns": 5, "load_average_1min_milli": 9}]
    environments += [{"steal_ns": 7, "load_average_1min_milli": 4}]
    first, later = (part(number, environment=one) for number, one in enumerate(environments))
    (result,) = joined(first, later).results
    assert result.environment == {"steal_ns": 12, "load_average_1min_milli": 4}
    text = mark_of(first, part(2, environment={})).text
    assert "known for one part only: counters of the kernel" in text


@pytest.mark.parametrize(
    ("first", "count", "lines"),
    [(part(0, foreign_count=3, foreign_lines=["a", "b"]), 7, ["a", "b"]), (part(0), 4, ["c"])],
)
def test_lines_of_other_programs_are_counted_in_both_parts(
    first: RunDocument, count: int, lines: list[str]
) -> None:
    (result,) = joined(first, part(1, foreign_count=4, foreign_lines=["c"])).results
    assert (result.foreign_count, result.foreign_lines) == (count, lines)


@pytest.mark.parametrize(
    ("later", "kept", "counters"),
    [
        ("24: eth0", "24: eth0", {"interrupts_count": 90, "busiest_count": 70}),
        ("LOC", None, {"interrupts_count": 90}),
    ],
)
def test_the_busiest_interrupt_is_counted_where_it_is_the_same(
    later: str, kept: str | None, counters: dict[str, int]
) -> None:
    def counted(number: int, busiest: str, count: int) -> RunDocument:
        whole = Interval(at_ns=0, span_ns=10 * SECOND_NS, cpu=1, whole=True, busiest=busiest)
        whole.counters = {"interrupts_count": count + 10, "busiest_count": count}
        return part(number, intervals=[whole])

    (result,) = joined(counted(0, "24: eth0", 30), counted(1, later, 40)).results
    (whole,) = result.intervals
    assert (whole.busiest, whole.counters) == (kept, counters)


def reached(share: float, least: float, busy_ns: int) -> LoadReached:
    return LoadReached(
        element="cpu",
        degree="10ms/100ms",
        asked=0.1,
        reached=share,
        least=least,
        unit="share",
        processes=2,
        counters={"busy_ns": busy_ns},
    )


def test_the_load_reached_is_the_mean_over_the_time_and_the_least_of_both() -> None:
    first = recording(0, seconds=10, of_result={"load": [reached(0.1, 0.09, 5)]})
    later = recording(1, seconds=30, of_result={"load": [reached(0.06, 0.02, 7)]})
    (load,) = joined(first, later).results[0].load
    assert load.reached == pytest.approx(0.07)
    assert (load.least, load.counters) == (0.02, {"busy_ns": 12})


def test_seconds_and_traces_move_with_their_part() -> None:
    def seen(number: int) -> RunDocument:
        return part(
            number,
            intervals=[
                Interval(at_ns=7, span_ns=SECOND_NS, cpu=1, counters={"steal_ns": 1}),
                Interval(
                    at_ns=0, span_ns=10 * SECOND_NS, cpu=1, counters={"steal_ns": 10}, whole=True
                ),
            ],
            traces=[Trace(at_ns=9, value_ns=3000, lines=["a"])],
            events=[Event(name="x", text="x", at_ns=4)],
        )

    (result,) = joined(seen(0), seen(1)).results
    shift_ns = 13 * SECOND_NS
    assert [one.at_ns for one in result.intervals if not one.whole] == [7, shift_ns + 7]
    (whole,) = [one for one in result.intervals if one.whole]
    assert (whole.span_ns, whole.counters) == (20 * SECOND_NS, {"steal_ns": 20})
    assert [one.at_ns for one in result.traces] == [9, shift_ns + 9]
    assert [one.at_ns for one in result.events if one.name == "x"] == [4, shift_ns + 4]


def test_words_of_one_part_are_not_those_of_the_whole() -> None:
    first, second, third = (part(n, reason=f"stopped early, after {n + 1} s") for n in range(3))
    reason = joined(first, second, third).results[0].reason
    assert reason == "part 3: stopped early, after 3 s"
    assert joined(first, second, part(2)).results[0].reason is None


def test_an_event_of_a_whole_part_names_it() -> None:
    def traced(count: int) -> Event:
        return Event(name="traced", text=f"{count} values", data={"count": count, "cpus": [0, 1]})

    worst = Event(name="parts_worst", text="2 us", at_ns=5)
    moment = Event(name="x", text="then", at_ns=5)
    events = [[traced(1), worst, moment], [traced(1), worst, moment], [traced(7), worst]]
    (result,) = joined(*(part(n, events=found) for n, found in enumerate(events))).results
    told = [one.text for one in result.events if one.name != JOINED]
    assert told == [
        "parts 1, 2: 1 values",
        "part 1: 2 us",
        "then",
        "part 2: 2 us",
        "then",
        "part 3: 7 values",
        "part 3: 2 us",
    ]
    assert result.events[0].data == {"count": 1, "cpus": [0, 1], "of_parts": "1, 2"}


def test_a_failure_stays_one() -> None:
    lost = part(0, status="failed", reason="its CPU was not given")
    result = joined(lost, recording(1)).results[0]
    assert (result.status, result.reason) == ("failed", "its CPU was not given")


def test_a_breach_that_nobody_saw_is_marked() -> None:
    first = recording(0, complete=False)
    first.plan = msgspec.structs.replace(first.plan, watched_ns=2500)
    first.results[0].series[0].worst = [Worst(value_ns=3000, at_ns=5, index=0)]
    parts = [first, *(recording(n, values=(1000,)) for n in (1, 2))]
    for whole in (joined(*parts[:2]), joined(*parts)):
        assert [one.name for one in whole.results[0].events].count(THRESHOLD) == 1


def test_trust_says_how_long_nobody_looked() -> None:
    other = recording(2, begin_s=3, system=REBOOT)
    whole = joined(recording(0), recording(1, begin_s=75), other)
    said = (
        "TMR-P-LAT was resumed: nothing was recorded for 1 min 5 s between its parts, 1 of its "
        "parts come from another boot, machine or condition"
    )
    assert said in whole.trust.reasons
    assert whole.trust.grade != "full"


# ---- tracing ----


def seen(number: int, *events: Event, parts: str = "auto", split: int = 0) -> RunDocument:
    """Part `number` with events, and with `split` values of each part of a wake-up."""
    run = part(number, events=list(events), params={"parts": parts})
    for name in ("interrupt", "dispatch", "return"):
        series = make.series([100] * split)
        series.labels = {"part": name}
        run.results[0].series.append(series)
    return run


def by(source: str) -> Event:
    return Event(name="parts_seen", text=source, data={"source": source})


TOTALS_ONLY = Event(name="parts_not_seen", text="tracefs is not mounted", data={})
KEPT = Event(name="traced", text="the kernel recorded events", data={})
SOURCE = "the source of the parts changed from"


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (seen(0, by("tracepoints")), seen(1, TOTALS_ONLY), f"{SOURCE} tracepoints to none"),
        (seen(0, TOTALS_ONLY), seen(1, by("timerlat"), split=3), f"{SOURCE} none to timerlat"),
        (seen(0, by("tracepoints")), seen(1, by("timerlat")), f"{SOURCE} tracepoints to timerlat"),
        (seen(0, split=3), seen(1, TOTALS_ONLY), f"{SOURCE} timerlat or tracepoints to none"),
        (seen(0, parts="none"), seen(1, split=3), f"{SOURCE} none to timerlat or tracepoints"),
        (
            seen(0, parts="timerlat", split=3),
            seen(1, by("tracepoints")),
            f"{SOURCE} timerlat to tracepoints",
        ),
        (seen(0, KEPT), seen(1), "--trace was on before and is off now"),
        (seen(0), seen(1, KEPT), "--trace was off before and is on now"),
        # a source that is not known is no other one
        (seen(0, by("timerlat")), seen(1, by("timerlat")), ""),
        (seen(0, TOTALS_ONLY), seen(1, TOTALS_ONLY), ""),
        (seen(0, split=3), seen(1, by("timerlat"), split=3), ""),  # which one is not known
        (seen(0), seen(1, by("tracepoints")), ""),  # cut off before any value of a part
        (seen(0, parts="tracepoints"), seen(1, TOTALS_ONLY), ""),
    ],
)
def test_values_with_and_without_tracing_are_never_mixed(
    first: RunDocument, later: RunDocument, said: str
) -> None:
    if said:
        assert new_part(first, later) == f"other conditions: {said}"
    else:
        (result,) = joined(first, later).results
        assert marks(result)[0].name == JOINED


def test_the_source_is_that_of_all_parts_before() -> None:
    whole = joined(seen(0, split=3), seen(1, by("tracepoints"), split=3))
    again = joined(whole, seen(2, by("timerlat"), split=3))
    assert "changed from tracepoints to timerlat" in marks(again.results[1])[0].text
    assert joined(again, seen(3, split=3)).results[1].series[0].count == 6


# ---- series ----

Value = tuple[int, int]  # at_ns, value
STREAMS = st.lists(
    st.tuples(st.integers(0, 20 * SECOND_NS), st.integers(0, 2**40)), max_size=40
).map(sorted)


def recorded(
    stream: list[Value], *, interval_ns: int = SECOND_NS, layout: str = "log-linear/10"
) -> Series:
    """The record that a recorder makes of a stream, value by value."""
    series = make.series([value for _, value in stream], layout=layout)
    worst = [Worst(value_ns=v, at_ns=at, index=n) for n, (at, v) in enumerate(stream)]
    series.worst = sorted(worst, key=lambda one: (-one.value_ns, one.at_ns, one.index))[:32]
    length = stream[-1][0] // interval_ns + 1 if stream else 0
    series.maxima_per_s = [
        max((v for at, v in stream if at // interval_ns == number), default=None)
        for number in range(length)
    ]
    series.maxima_interval_ns = interval_ns
    return series


def later(stream: list[Value], shift_ns: int) -> list[Value]:
    return [(at + shift_ns, value) for at, value in stream]


def same(found: Series, expected: Series) -> None:
    fields = ("count", "min", "max", "histogram", "worst", "maxima_per_s", "maxima_interval_ns")
    for name in fields:
        assert getattr(found, name) == getattr(expected, name), name
    for name in ("mean", "stddev"):
        moment = getattr(expected, name)
        if moment is not None:
            moment = pytest.approx(moment, rel=1e-9, abs=1e-3)
        assert getattr(found, name) == moment, name
    assert series_problem(found) is None


@pytest.mark.slow
@settings(max_examples=60)
@given(STREAMS, STREAMS, STREAMS, st.integers(21, 100))
def test_joined_records_are_the_record_of_all_in_any_order(
    first: list[Value], second: list[Value], third: list[Value], shift_s: int
) -> None:
    shift_ns = shift_s * SECOND_NS
    one, two, three = recorded(first), recorded(second), recorded(third)
    both = joined_series(one, two, shift_ns)
    same(both, recorded([*first, *later(second, shift_ns)]))
    right = joined_series(one, joined_series(two, three, shift_ns), shift_ns)
    same(joined_series(both, three, 2 * shift_ns), right)
    same(joined_series(one, empty_like(one), 0), one)
    same(joined_series(empty_like(one), one, 0), one)


@pytest.mark.slow
@settings(max_examples=60)
@given(STREAMS, STREAMS, st.sampled_from([(1, 4), (4, 1), (2, 4)]), st.integers(6, 20))
def test_different_intervals_of_maxima_give_the_longer(
    first: list[Value], second: list[Value], seconds: tuple[int, int], shift: int
) -> None:
    longer_ns = max(seconds) * SECOND_NS
    one, other = (
        recorded(stream, interval_ns=span * SECOND_NS)
        for stream, span in zip((first, second), seconds, strict=True)
    )
    found = joined_series(one, other, shift * longer_ns)
    if first and second:
        whole = [*first, *later(second, shift * longer_ns)]
        same(found, recorded(whole, interval_ns=longer_ns))


def test_a_gap_is_null_and_maxima_move_by_half_an_interval_at_most() -> None:
    first = recorded([(0, 5), (SECOND_NS, 7)])
    second = recorded([(0, 9), (SECOND_NS, 3)])
    maxima = [
        joined_series(first, second, ns).maxima_per_s for ns in (4_400_000_000, 4_600_000_000)
    ]
    assert maxima == [[5, 7, None, None, 9, 3], [5, 7, None, None, None, 9, 3]]


def test_a_gap_of_years_takes_no_memory() -> None:
    year_ns = 365 * 86_400 * SECOND_NS
    found = joined_series(recorded([(0, 5)]), recorded([(0, 9)]), 50 * year_ns)
    assert len(found.maxima_per_s) <= 1 << 20
    assert found.maxima_per_s[0] == 5 and found.maxima_per_s[-1] == 9
    assert series_problem(found) is None


@pytest.mark.slow
@settings(max_examples=60)
@given(STREAMS, STREAMS)
def test_histograms_of_two_layouts_add_in_the_coarser(
    first: list[Value], second: list[Value]
) -> None:
    shift_ns = 30 * SECOND_NS
    one, other = recorded(first, layout="log-linear/7"), recorded(second)
    expected = recorded([*first, *later(second, shift_ns)], layout="log-linear/7")
    for found in (joined_series(one, other, shift_ns), joined_series(other, one, shift_ns)):
        assert found.histogram == expected.histogram
        assert all(a[0] < b[0] for a, b in pairwise(found.histogram.buckets))


def test_what_ran_before_stays_with_its_value() -> None:
    first, second = make.series([100]), make.series([200])
    second.worst = [Worst(value_ns=200, at_ns=5, index=0, before="hog", before_thread=77)]
    (worst, *_) = joined_series(first, second, 1_000).worst
    assert (worst.at_ns, worst.before, worst.before_thread) == (1_005, "hog", 77)


# ---- sweeps ----

PLAN = plan_of(threads="1", frames="0", has_fast=False, points="10")
BOOT: dict[str, Scalar] = {"os.boot_id": "one", "machine.arch": "x86_64"}
CUT: dict[str, Any] = {"complete": False, "status": "failed", "reason": "ended"}
Point = tuple[PlannedTest, Result]


def sweep(
    results: list[Result], tests: list[PlannedTest], number: int = 0, **changed: Any
) -> RunDocument:
    """A run, or the part of that number, with the results of its first tests."""
    fields: dict[str, Any] = {
        "run_id": f"20261125T10{number:02}00Z-abcdef",
        "plan": msgspec.structs.replace(PLAN, tests=tests),
        "status": "incomplete",
        "system": BOOT,
    }
    return make.document(results=results, **(fields | changed))


def point(masses: int, **changed: Any) -> Point:
    template = PLAN.tests[-1]
    planned = msgspec.structs.replace(template, params={**template.params, "masses": [masses]})
    return planned, result_of(planned, **changed)


def swept(*points: Point, number: int = 0, **changed: Any) -> RunDocument:
    return sweep([one for _, one in points], [one for one, _ in points], number, **changed)


def check(document: RunDocument) -> None:
    for planned, result in zip(document.plan.tests, document.results, strict=False):
        assert (curve_of(planned), masses_of(planned)) == (curve_of(result), masses_of(result))


def masses(of: list[Any]) -> list[int]:
    return [masses_of(one) for one in of]


def test_a_point_that_was_cut_off_is_there_once() -> None:
    whole = swept(point(400), point(800), point(1600, **CUT))
    later = swept(point(1600), point(3200), number=1, status="complete")
    found = joined(whole, later)
    assert masses(found.results) == [400, 800, 1600, 3200]
    assert all(map(is_whole, found.results)) and found.status == "complete"
    assert [one.result for one in found.parts] == [0, 2]
    assert [one.duration_ns for one in found.parts] == [3 * 10**9, 2 * 10**9]
    assert joined_run(found, later) is found
    check(found)


def test_one_that_was_cut_off_again_is_there_once_too() -> None:
    whole = swept(point(400), point(800, **CUT))
    found = joined(whole, swept(point(800, **CUT), number=1))
    assert [is_whole(one) for one in found.results] == [True, False]
    assert masses(unmeasured_tests(found)) == [800]
    last = joined(found, swept(point(800), point(1600), number=2))
    assert masses(last.results) == [400, 800, 1600]
    assert [one.result for one in last.parts] == [0, None, 1]
    check(last)


def test_a_repeat_that_was_cut_off_leaves_the_first_one() -> None:
    found = joined(swept(point(400), point(400, **CUT)), swept(point(400), number=1))
    assert [is_whole(one) for one in found.results] == [True, True]


def test_what_was_skipped_or_not_begun_is_no_result() -> None:
    skipped = {"status": "skipped", "series": []}
    whole = swept(point(400), point(800, **skipped), point(1600))
    whole.results.pop()
    later = swept(point(800), point(1600, **skipped), number=1, status="interrupted")
    found = joined(whole, later)
    assert masses(found.results) == [400, 800]
    assert masses(found.plan.tests) == [400, 800, 1600]
    assert found.status == "interrupted"


def test_a_part_that_measured_nothing_changes_no_result() -> None:
    whole = swept(point(400), point(800, **CUT))
    found = joined(whole, sweep([], [point(800)[0]], number=1))
    assert found.results == whole.results and found.parts[1].result is None
    assert masses(found.plan.tests) == [400, 800]
    assert masses(unmeasured_tests(found)) == [800]
    check(found)


def test_a_probe_that_failed_twice_is_asked_once() -> None:
    whole = swept(point(400), point(800, **CUT), point(800, **CUT))
    assert masses(unmeasured_tests(whole)) == [800]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"os.boot_id": "two"}, "the machine was rebooted"),
        ({"machine.arch": "aarch64"}, ANOTHER),
        ({"os.boot_id": None}, "is not known"),
    ],
)
def test_points_of_another_system_say_so(changed: dict[str, Scalar], why: str) -> None:
    later = swept(point(800), point(1600), number=1, system=BOOT | changed)
    found = joined(swept(point(400)), later)
    marked = [[one.name for one in result.events] for result in found.results]
    assert marked == [[], [NEW_PART], []]
    assert why in found.results[1].events[0].text
    assert later.results[0].events == []  # the part itself is as it was


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(400, 20_000))
@settings(max_examples=12)
def test_killed_anywhere_any_number_of_times(seed: int, most: int) -> None:
    """The document in the end has the points of a sweep that nothing ended, in their order."""
    draw = random.Random(seed)

    def measured(planned: PlannedTest) -> Result:
        return result_of(planned, missed=3 * (masses_of(planned) > most))

    def next_of(results: list[Result]) -> list[PlannedTest]:
        return Sweeper(PLAN, register()).next_tests(results, 0)

    wanted, left = [], list(PLAN.tests)
    while left or (left := next_of(wanted)):
        wanted.append(measured(left.pop(0)))
    whole = sweep([], list(PLAN.tests))
    for number in range(200):
        done = [one for one in whole.results if is_whole(one)]
        tests, results = unmeasured_tests(whole), list[Result]()
        for _ in range(draw.randrange(6)):
            if len(results) == len(tests):
                tests += next_of([*done, *results])
            if len(results) < len(tests):
                results.append(measured(tests[len(results)]))
        if results and draw.random() < 0.5:
            results[-1] = msgspec.structs.replace(results[-1], **CUT)
        found = joined_points(whole, sweep(results, tests, number), [], None)
        whole = sweep(found.results, found.tests)
        check(whole)
        if not unmeasured_tests(whole) and not next_of(whole.results):
            break
    keys = [
        [(one.test, masses_of(one), is_whole(one)) for one in results]
        for results in (whole.results, wanted)
    ]
    assert keys[0] == keys[1]
