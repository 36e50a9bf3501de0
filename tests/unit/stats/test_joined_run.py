"""A part that resumed a run: joined to it, or a result of its own that says why."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.event_names import JOINED, NEW_PART, NOT_RESUMED, THRESHOLD
from hardstone.model import (
    Conditions,
    Event,
    Interval,
    LoadReached,
    Result,
    RunDocument,
    Tool,
    Trace,
    Worst,
)
from hardstone.stats.joined_run import joined_run, measured_ns, parts_of
from hardstone.stats.watched import worst_breach
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
    begin_s: float,
    seconds: int = 10,
    values: tuple[int, ...] = (1000, 2000, 3000),
    complete: bool = True,
    system: dict[str, object] | None = None,
    **changed: object,
) -> RunDocument:
    """Part `number`, which began `begin_s` after the first."""
    series = make.series(values)
    series.maxima_per_s = [max(values)] if values else []
    result = make.result(
        values=values,
        complete=complete,
        series=[series] if values else [],
        duration_ns=seconds * SECOND_NS,
        started_uptime_ns=UPTIME_NS + round(begin_s * SECOND_NS),
    )
    fields: dict[str, object] = {
        "run_id": f"20261121T03220{number}Z-1a2b3c",
        "results": [result],
        "system": {**SYSTEM, **(system or {})},
        "status": "complete" if complete else "incomplete",
    }
    return make.document(**(fields | changed))  # type: ignore[arg-type]


def change(run: RunDocument, **changed: object) -> RunDocument:
    for name, value in changed.items():
        setattr(run.results[0], name, value)
    return run


def marks(result: Result) -> list[Event]:
    return [one for one in result.events if one.name in (JOINED, NEW_PART, NOT_RESUMED)]


def test_the_gap_is_that_of_the_clock_since_boot() -> None:
    whole = joined_run(recording(0, begin_s=0), recording(1, begin_s=13.5))
    (result,) = whole.results
    (mark,) = marks(result)
    assert (mark.name, mark.at_ns) == (JOINED, round(13.5 * SECOND_NS))
    assert mark.data["gap_ns"] == round(3.5 * SECOND_NS)
    assert mark.data["uncertainty_ns"] == 0
    assert mark.data["ended_at_ns"] == 10 * SECOND_NS
    assert result.series[0].count == 6
    assert (result.duration_ns, measured_ns(whole)) == (20 * SECOND_NS, 20 * SECOND_NS)
    assert [part.id for part in whole.parts] == [
        "20261121T032200Z-1a2b3c",
        "20261121T032201Z-1a2b3c",
    ]


def test_the_clock_of_the_wall_has_no_say() -> None:
    early = recording(1, begin_s=13.5, started_utc="1999-01-01T00:00:00Z")
    mark = marks(joined_run(recording(0, begin_s=0), early).results[0])[0]
    assert mark.data["gap_ns"] == round(3.5 * SECOND_NS)


def test_what_was_cut_off_may_have_lasted_an_interval_longer() -> None:
    cut = recording(0, begin_s=0, complete=False)
    whole = joined_run(cut, recording(1, begin_s=13.5))
    (mark,) = marks(whole.results[0])
    assert mark.data["uncertainty_ns"] == SECOND_NS
    assert "the first 1 s of which may be recorded" in mark.text
    assert (whole.status, whole.results[0].complete) == ("complete", True)


def test_no_more_than_the_gap_may_have_been_recorded() -> None:
    cut = recording(0, begin_s=0, complete=False)
    (mark,) = marks(joined_run(cut, recording(1, begin_s=10.25)).results[0])
    assert mark.text == (
        "resumed: nothing is known of 250 ms, "
        "the first 250 ms of which may be recorded: it was cut off"
    )


def test_many_parts_lie_one_after_another() -> None:
    whole = recording(0, begin_s=0, complete=False)
    for number in range(1, 10):
        whole = joined_run(whole, recording(number, begin_s=number * 12, complete=number == 9))
    (result,) = whole.results
    found = marks(result)
    assert [one.at_ns for one in found] == [n * 12 * SECOND_NS for n in range(1, 10)]
    assert {one.data["gap_ns"] for one in found} == {2 * SECOND_NS}
    gaps_ns = sum(int(str(one.data["gap_ns"])) for one in found)
    assert result.duration_ns + gaps_ns == 9 * 12 * SECOND_NS + 10 * SECOND_NS
    assert len(parts_of(whole)) == 10


def test_a_part_is_added_once() -> None:
    part = recording(1, begin_s=12)
    once = joined_run(recording(0, begin_s=0), part)
    assert joined_run(once, part) == once


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ({"os.boot_id": "boot-2"}, "the machine was rebooted"),
        (
            {"os.boot_id": "boot-2", "kernel.release": "6.13"},
            "the machine was rebooted: kernel.release was 6.12.0-rt, is 6.13",
        ),
        ({"os.boot_id": None}, "whether it is the same boot of the same machine is not known"),
        (
            {"os.boot_id": "boot-2", "machine.arch": "aarch64"},
            "another machine: machine.arch was x86_64, is aarch64",
        ),
        ({"machine.arch": "aarch64"}, "another machine: machine.arch was x86_64, is aarch64"),
    ],
)
def test_another_boot_or_machine_is_a_new_part(system: dict[str, object], said: str) -> None:
    first, part = recording(0, begin_s=0), recording(1, begin_s=13, system=system)
    whole = joined_run(first, part)
    assert [result.series[0].count for result in whole.results] == [3, 3]
    (mark,) = marks(whole.results[1])
    assert (mark.name, mark.data["reason"]) == (NEW_PART, said)
    assert [one.result for one in whole.parts] == [0, 1]
    assert whole.parts[1].system["os.boot_id" if "os.boot_id" in system else "machine.arch"] != ""


def test_a_clock_that_went_back_is_a_new_part() -> None:
    whole = joined_run(recording(0, begin_s=0), recording(1, begin_s=5))
    assert "went back" in str(marks(whole.results[1])[0].data["reason"])


def test_without_a_begin_on_the_clock_since_boot_it_is_a_new_part() -> None:
    part = change(recording(1, begin_s=13), started_uptime_ns=None)
    whole = joined_run(recording(0, begin_s=0), part)
    assert "not known on the clock" in str(marks(whole.results[1])[0].data["reason"])


def test_other_conditions_are_never_mixed() -> None:
    part = recording(1, begin_s=13)
    part.results[0].conditions = Conditions(load="heavy", policy="other", realtime=False)
    whole = joined_run(recording(0, begin_s=0), part)
    reason = marks(whole.results[1])[0].data["reason"]
    assert reason == "other conditions: policy was fifo, is other"


def test_another_bound_on_idle_states_is_another_condition() -> None:
    first, part = recording(0, begin_s=0), recording(1, begin_s=13)
    for run, bound_us in ((first, 0), (part, 100)):
        run.results[0].conditions = Conditions(load="none", dma_latency_us=bound_us)
    reason = marks(joined_run(first, part).results[1])[0].data["reason"]
    assert reason == "other conditions: dma_latency_us was 0, is 100"


def test_the_breach_is_the_largest_of_all_cpus() -> None:
    first = recording(0, begin_s=0)
    found = []
    for cpu, value in ((0, 3000), (1, 9000), (2, 5000)):
        series = make.series([value])
        series.labels = {"cpu": cpu}
        series.worst = [Worst(value_ns=value, at_ns=5, index=0)]
        found.append(series)
    breach = worst_breach(change(first, series=found).results[0], 2500)
    assert breach is not None
    assert (breach.value_ns, breach.cpu) == (9000, 1)


def test_a_third_part_is_joined_to_the_one_of_its_boot() -> None:
    other = recording(1, begin_s=13, system={"os.boot_id": "boot-2"})
    whole = joined_run(joined_run(recording(0, begin_s=0), other), recording(2, begin_s=30))
    assert [result.series[0].count for result in whole.results] == [6, 3]
    assert marks(whole.results[0])[0].data["gap_ns"] == 20 * SECOND_NS


def test_what_recorded_nothing_leaves_the_figures_and_says_so() -> None:
    part = change(
        recording(1, begin_s=13, values=()), status="denied", reason="no right", complete=True
    )
    first = recording(0, begin_s=0, complete=False)
    whole = joined_run(first, part)
    assert whole.results[0].series == first.results[0].series
    assert "no right" in marks(whole.results[0])[0].text
    assert whole.status == "incomplete"
    again = joined_run(whole, recording(2, begin_s=20))
    assert marks(again.results[0])[1].data["gap_ns"] == 10 * SECOND_NS


def test_a_run_that_had_nothing_yet_becomes_its_first_part() -> None:
    first = recording(0, begin_s=0, values=(), complete=False)
    whole = joined_run(first, recording(1, begin_s=13))
    assert [result.series[0].count for result in whole.results] == [3]
    assert marks(whole.results[0]) == []


def test_another_build_of_the_probe_is_told() -> None:
    first = recording(0, begin_s=0, tool=Tool(version="1", probe_sha256="aaaa"))
    part = recording(1, begin_s=13, tool=Tool(version="2", probe_sha256="bbbb"))
    mark = marks(joined_run(first, part).results[0])[0]
    assert mark.data["has_other_tool"] is True
    assert "the tool changed: 1 with probe not known (aaaa) before" in mark.text


def test_a_setting_that_moved_between_both_has_moved_during_the_run() -> None:
    first = recording(0, begin_s=0, system={"power.governor": "performance"})
    part = recording(1, begin_s=13, system={"power.governor": "powersave"})
    whole = joined_run(first, part)
    (moved,) = whole.environment_moved
    assert (moved.fact, moved.before, moved.after) == (
        "power.governor",
        "performance",
        "powersave",
    )
    assert any("changed during the run" in reason for reason in whole.trust.reasons)


def test_counters_add_and_what_one_part_lacks_is_told() -> None:
    first = change(
        recording(0, begin_s=0), environment={"steal_ns": 5, "load_average_1min_milli": 9}
    )
    part = change(
        recording(1, begin_s=13), environment={"steal_ns": 7, "load_average_1min_milli": 4}
    )
    result = joined_run(first, part).results[0]
    assert result.environment == {"steal_ns": 12, "load_average_1min_milli": 4}
    cut = change(recording(2, begin_s=30), environment={})
    mark = marks(joined_run(first, cut).results[0])[0]
    assert "of one part only: counters of the kernel" in mark.text


def test_lines_of_other_programs_are_counted_in_both_parts() -> None:
    first = change(recording(0, begin_s=0), foreign_count=3, foreign_lines=["a", "b"])
    part = change(recording(1, begin_s=13), foreign_count=4, foreign_lines=["c"])
    result = joined_run(first, part).results[0]
    assert (result.foreign_count, result.foreign_lines) == (7, ["a", "b"])
    silent = joined_run(recording(0, begin_s=0), part).results[0]
    assert (silent.foreign_count, silent.foreign_lines) == (4, ["c"])


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
        return change(recording(number, begin_s=13 * number), intervals=[whole])

    result = joined_run(counted(0, "24: eth0", 30), counted(1, later, 40)).results[0]
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
    first = change(recording(0, begin_s=0, seconds=10), load=[reached(0.1, 0.09, 5)])
    part = change(recording(1, begin_s=13, seconds=30), load=[reached(0.06, 0.02, 7)])
    (load,) = joined_run(first, part).results[0].load
    assert load.reached == pytest.approx(0.07)
    assert (load.least, load.counters) == (0.02, {"busy_ns": 12})


def test_seconds_and_traces_move_with_their_part() -> None:
    def seen(number: int, begin_s: float) -> RunDocument:
        single = Interval(at_ns=7, span_ns=SECOND_NS, cpu=1, counters={"steal_ns": 1})
        whole = msgspec.structs.replace(
            single, at_ns=0, span_ns=10 * SECOND_NS, whole=True, counters={"steal_ns": 10}
        )
        trace = Trace(at_ns=9, value_ns=3000, lines=["a"])
        return change(
            recording(number, begin_s=begin_s),
            intervals=[single, whole],
            traces=[trace],
            events=[Event(name="x", text="x", at_ns=4)],
        )

    result = joined_run(seen(0, 0), seen(1, 13)).results[0]
    shift_ns = 13 * SECOND_NS
    assert [one.at_ns for one in result.intervals if not one.whole] == [7, shift_ns + 7]
    (whole,) = [one for one in result.intervals if one.whole]
    assert (whole.span_ns, whole.counters) == (20 * SECOND_NS, {"steal_ns": 20})
    assert [one.at_ns for one in result.traces] == [9, shift_ns + 9]
    assert [one.at_ns for one in result.events if one.name == "x"] == [4, shift_ns + 4]


def test_words_of_one_part_are_not_those_of_the_whole() -> None:
    first, second, third = (
        change(
            recording(number, begin_s=13 * number), reason=f"stopped early, after {number + 1} s"
        )
        for number in range(3)
    )
    result = joined_run(joined_run(first, second), third).results[0]
    assert result.reason == "part 3: stopped early, after 3 s"
    whole = joined_run(joined_run(first, second), recording(2, begin_s=26))
    assert whole.results[0].reason is None


def test_an_event_of_a_whole_part_names_it() -> None:
    def with_events(number: int, *events: Event) -> RunDocument:
        return change(recording(number, begin_s=13 * number), events=list(events))

    def traced(count: int) -> Event:
        return Event(name="traced", text=f"{count} values", data={"count": count, "cpus": [0, 1]})

    worst = Event(name="parts_worst", text="2 us", at_ns=5)
    moment = Event(name="x", text="then", at_ns=5)
    whole = joined_run(
        with_events(0, traced(1), worst, moment), with_events(1, traced(1), worst, moment)
    )
    whole = joined_run(whole, with_events(2, traced(7), worst))
    told = [one.text for one in whole.results[0].events if one.name != JOINED]
    assert told == [
        "parts 1, 2: 1 values",
        "part 1: 2 us",
        "then",
        "part 2: 2 us",
        "then",
        "part 3: 7 values",
        "part 3: 2 us",
    ]
    assert whole.results[0].events[0].data == {"count": 1, "cpus": [0, 1], "of_parts": "1, 2"}


def test_a_failure_stays_one() -> None:
    lost = change(recording(0, begin_s=0), status="failed", reason="its CPU was not given")
    result = joined_run(lost, recording(1, begin_s=13)).results[0]
    assert (result.status, result.reason) == ("failed", "its CPU was not given")


def test_a_breach_that_nobody_saw_is_marked() -> None:
    first = recording(0, begin_s=0, complete=False)
    first.plan = msgspec.structs.replace(first.plan, watched_ns=2500)
    series = first.results[0].series[0]
    series.worst = [Worst(value_ns=3000, at_ns=5, index=0)]
    whole = joined_run(first, recording(1, begin_s=13, values=(1000,)))
    again = joined_run(whole, recording(2, begin_s=26, values=(1000,)))
    for run in (whole, again):
        assert [one.name for one in run.results[0].events].count(THRESHOLD) == 1


def test_trust_says_how_long_nobody_looked() -> None:
    other = recording(2, begin_s=3, system={"os.boot_id": "boot-2"})
    whole = joined_run(joined_run(recording(0, begin_s=0), recording(1, begin_s=75)), other)
    said = (
        "TMR-P-LAT was resumed: 1 min 5 s of gaps between its parts are not known, "
        "1 of its parts are of another boot, machine or condition"
    )
    assert said in whole.trust.reasons
    assert whole.trust.grade != "full"


PARTS = "interrupt", "dispatch", "return"


def seen(number: int, *events: Event, parts: str = "auto", split: int = 0) -> RunDocument:
    """Part `number` with events, and with `split` values of each part of a wake-up."""
    run = recording(number, begin_s=13 * number)
    for name in PARTS:
        series = make.series([100] * split)
        series.labels = {"part": name}
        run.results[0].series.append(series)
    return change(run, events=list(events), params={"parts": parts})


def by(source: str) -> Event:
    return Event(name="parts_seen", text=source, data={"source": source})


TOTALS_ONLY = Event(name="parts_not_seen", text="tracefs is not mounted", data={})
KEPT = Event(name="traced", text="the kernel recorded events", data={})


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (seen(0, by("tracepoints")), seen(1, TOTALS_ONLY), "was tracepoints, is none"),
        (seen(0, TOTALS_ONLY), seen(1, by("timerlat"), split=3), "was none, is timerlat"),
        (seen(0, by("tracepoints")), seen(1, by("timerlat")), "was tracepoints, is timerlat"),
        (seen(0, split=3), seen(1, TOTALS_ONLY), "was timerlat or tracepoints, is none"),
        (seen(0, parts="none"), seen(1, split=3), "was none, is timerlat or tracepoints"),
        (
            seen(0, parts="timerlat", split=3),
            seen(1, by("tracepoints")),
            "was timerlat, is tracepoints",
        ),
    ],
)
def test_totals_with_and_without_tracing_are_never_mixed(
    first: RunDocument, later: RunDocument, said: str
) -> None:
    whole = joined_run(first, later)
    (mark,) = marks(whole.results[1])
    assert mark.name == NEW_PART
    assert mark.data["reason"] == f"other conditions: the source of the parts {said}"


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (seen(0, by("timerlat")), seen(1, by("timerlat"))),
        (seen(0, TOTALS_ONLY), seen(1, TOTALS_ONLY)),
        (seen(0, split=3), seen(1, by("timerlat"), split=3)),  # which one is not known
        (seen(0), seen(1, by("tracepoints"))),  # cut off before any value of a part
        (seen(0, parts="tracepoints"), seen(1, TOTALS_ONLY)),
    ],
)
def test_a_source_that_is_not_known_is_no_other_one(first: RunDocument, later: RunDocument) -> None:
    (result,) = joined_run(first, later).results
    assert marks(result)[0].name == JOINED


def test_the_source_is_that_of_all_parts_before() -> None:
    whole = joined_run(seen(0, split=3), seen(1, by("tracepoints"), split=3))
    again = joined_run(whole, seen(2, by("timerlat"), split=3))
    assert "was tracepoints, is timerlat" in marks(again.results[1])[0].text
    assert joined_run(again, seen(3, split=3)).results[1].series[0].count == 6


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [(seen(0, KEPT), seen(1), "on, is off"), (seen(0), seen(1, KEPT), "off, is on")],
)
def test_a_part_with_trace_is_not_joined_to_one_without(
    first: RunDocument, later: RunDocument, said: str
) -> None:
    (mark,) = marks(joined_run(first, later).results[1])
    assert mark.data["reason"] == f"other conditions: --trace was {said}"
