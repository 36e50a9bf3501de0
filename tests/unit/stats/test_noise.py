"""The analysis of periodic noise, on records of a watching loop whose combs are known."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import Event, Noise, NoiseComb, Result, Series, Window
from hardstone.stats.comb import Gaps, Line, comb_near, gaps_of, merged_gaps, share_within
from hardstone.stats.identity import series_problem, windows_problem
from hardstone.stats.join import joined_results
from hardstone.stats.noise import gap_points, with_noise
from hardstone.store.documents import encode_document, parse_document
from tests.unit.stats import make
from tests.unit.stats.made_gaps import Machine, S, result_of


def noise_of(result: Result) -> Noise:
    (noise,) = with_noise(result).noise
    return noise


def analysed(windows: list[Window], **watch: int | str | None) -> Noise:
    return noise_of(result_of(windows, **watch))


def only(noise: Noise, name: str) -> NoiseComb:
    (comb,) = [one for one in noise.combs if one.name == name]
    return comb


def series(result: Result, name: str) -> Series:
    (one,) = [one for one in result.series if one.name == name]
    return one


# ---- one comb ----


@pytest.mark.slow
@settings(max_examples=5)
@given(
    seed=st.integers(0, 10**6),
    ppm=st.floats(-300, 300),
    hz=st.sampled_from([100, 250, 300, 1000]),
    rests=st.booleans(),
)
def test_a_tick_is_found_whatever_its_drift(seed: int, ppm: float, hz: int, rests: bool) -> None:
    machine = Machine(seed, seconds=6)
    machine.comb(hz, 8_000, ppm=ppm, missing=0.01)
    machine.noise(50, 2_000)
    windows = machine.windows(timer_hz=hz, rests=rests)
    result = with_noise(result_of(windows, tick_ns=round(1e9 / hz)))
    (noise,) = result.noise
    assert noise.tick_ppm == pytest.approx(ppm, abs=10)
    tick = only(noise, "tick")
    assert tick.coverage > 0.95
    assert tick.median_ns == pytest.approx(8_000, rel=0.05)
    assert series(result, "tick").count == tick.count


@pytest.mark.slow
def test_a_minute_at_the_largest_drift() -> None:
    machine = Machine(3, seconds=60)
    machine.comb(250, 12_000, ppm=290)
    machine.noise(50, 5_000)
    noise = analysed(machine.windows(timer_hz=250))
    assert noise.tick_ppm == pytest.approx(290, abs=0.1)
    assert only(noise, "tick").coverage > 0.99


@pytest.mark.slow
def test_missing_slots_down_to_nine_of_ten() -> None:
    few, many = Machine(4), Machine(4)
    few.comb(250, 9_000, missing=0.07)
    many.comb(250, 9_000, missing=0.2)
    found = only(analysed(few.windows(timer_hz=250)), "tick")
    assert found.coverage == pytest.approx(0.93, abs=0.02)
    noise = analysed(many.windows(timer_hz=250))
    assert only(noise, "irregular").coverage == pytest.approx(0.8, abs=0.03)
    assert len(noise.combs) == 1 and "at 250.00 Hz 8" in noise.no_tick


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jitter_ns", "tolerance_ns"), [(4_000, 25_000), (30_000, 100_000), (120_000, 400_000)]
)
def test_jitter_widens_the_tolerance(jitter_ns: float, tolerance_ns: int) -> None:
    machine = Machine(5)
    machine.comb(250, 9_000, jitter_ns=jitter_ns)
    tick = only(analysed(machine.windows(timer_hz=250)), "tick")
    assert tick.tolerance_ns == tolerance_ns
    assert list(tick.within.values()) == sorted(tick.within.values())


# ---- several ----


@pytest.mark.slow
def test_a_guests_tick_on_a_hosts() -> None:
    """docs/method.md: a 1000 Hz comb of 10.6 us with every fourth slot 28.3 us. Where the kernel
    counts all of it, it is one tick of 1000 Hz with more work in every fourth: a mark."""
    machine = Machine(6, seconds=12)
    machine.comb(1000, 10_600, every=(4, 28_300))
    quiet = machine.windows(timer_hz=1000)
    machine.noise(30, 3_000)
    result = with_noise(result_of(machine.windows(timer_hz=250)))
    (noise,) = result.noise
    host, tick = only(noise, "host tick"), only(noise, "tick")
    assert host.rate_hz == pytest.approx(1000, rel=1e-6)
    assert tick.rate_hz == pytest.approx(250, rel=1e-6)
    assert tick.on_top_of == noise.combs.index(host)
    assert tick.median_ns == pytest.approx(28_300, rel=0.02)
    assert tick.beyond_ns == pytest.approx(28_300 - 10_600, rel=0.02)
    assert series(result, "tick").mean == pytest.approx(28_300, rel=0.03)
    assert series(result, "other").count > 0.74 * 1000 * 9
    (tick,) = analysed(quiet, tick_ns=1_000_000).combs
    (mark,) = tick.marks
    assert (tick.name, mark.every) == ("tick", 4)
    assert mark.rest_median_ns == pytest.approx(10_600, rel=0.02)
    assert mark.median_ns == pytest.approx(28_300, rel=0.02)


@pytest.mark.slow
@settings(max_examples=2)
@given(seed=st.integers(0, 10**6), ppm=st.floats(2, 50))
def test_a_host_that_drifts_through_the_guests_tick(seed: int, ppm: float) -> None:
    machine = Machine(seed, seconds=12)
    machine.comb(1000, 6_000, ppm=ppm)
    machine.comb(250, 15_000)
    noise = analysed(machine.windows(timer_hz=250))
    assert only(noise, "host tick").median_ns == pytest.approx(6_000, rel=0.05)
    assert only(noise, "tick").median_ns == pytest.approx(15_000, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("others_hz", "timer_hz", "all_hz", "name"),
    [
        ([170], 420, 420, "timer"),
        ([90], 250, 342, "periodic"),
        ([90], 250, 260, "uncounted"),
        # too few counts for all that might be timers
        ([110, 170], 420, 450, "periodic"),
        ([110, 170], 530, 530, "timer"),
    ],
)
def test_a_comb_beside_the_tick_has_the_name_that_the_counts_allow(
    others_hz: list[int], timer_hz: int, all_hz: int, name: str
) -> None:
    machine = Machine(10)
    machine.comb(250, 12_000)
    for hz in others_hz:
        machine.comb(hz, 7_000)
    noise = analysed(machine.windows(timer_hz=timer_hz, all_hz=all_hz))
    assert only(noise, "tick").median_ns == pytest.approx(12_000, rel=0.05)
    others = sorted(
        (one.rate_hz, one.name, one.median_ns) for one in noise.combs if one.name != "tick"
    )
    near = [(pytest.approx(hz, rel=1e-5), name, pytest.approx(7_000, rel=0.05)) for hz in others_hz]
    assert others == near


@pytest.mark.slow
@pytest.mark.parametrize("hz", [700, 3_000])
def test_two_combs_of_long_gaps_beside_a_burst(hz: int) -> None:
    """Of the longest hundredth either comb has too few, of the longest twentieth the burst hides
    both, whose gaps are the longest of all."""
    machine = Machine(20, seconds=4)
    machine.noise(hz, 3_000)
    machine.comb(250, 15_000)
    machine.comb(43, 1_200_000, spread=0.01)
    machine.comb(21, 1_000_000, spread=0.01)
    machine.begin.append(machine.random.uniform(1.1e9, 1.12e9, 150))
    machine.length.append(np.full(150, 60_000.0))
    rates = [one.rate_hz for one in analysed(machine.windows(timer_hz=314)).combs]
    assert rates == [pytest.approx(hz, rel=1e-4) for hz in (250, 43, 21)]


@pytest.mark.slow
def test_two_combs_do_not_look_like_one_of_twice_the_rate() -> None:
    machine = Machine(21, seconds=4)
    machine.comb(100, 20_000, phase_ns=1e6)
    machine.comb(100, 15_000, phase_ns=6.3e6, ppm=8)
    machine.noise(100, 2_000)
    rates = [one.rate_hz for one in analysed(machine.windows(timer_hz=200)).combs]
    assert rates == [pytest.approx(100, rel=1e-4)] * 2


def test_a_tick_that_long_gaps_swallow() -> None:
    """A guest that its host often keeps for tens of ms: the kernel counts one tick for many."""
    machine = Machine(22, seconds=6)
    machine.comb(250, 15_000)
    machine.noise(20, 25_000_000)
    tick = only(analysed(machine.windows(timer_hz=150, rests=False)), "tick")
    assert tick.count < 0.75 * 250 * 6
    assert tick.coverage > 0.95


@pytest.mark.parametrize(("apart_ns", "is_seen"), [(24_000, False), (26_000, True)])
def test_a_slot_shortly_after_another_gap_is_not_counted(apart_ns: int, is_seen: bool) -> None:
    """Its own gap may be part of that one, or late because of it."""
    slots = np.arange(1, 101) * 4_000_000
    other = slots[::4] - apart_ns - 600_000
    begin = np.sort(np.concatenate([slots[1::4], slots[2::4], slots[3::4], other]))
    length = np.where(np.isin(begin, other), 600_000, 9_000)
    gaps = Gaps(begin, length, np.array([0]), np.array([404_000_000]))
    comb = comb_near(gaps, np.zeros(begin.size, dtype=np.bool_), 250.0, 1e-5, 25_000)
    assert comb is not None
    assert comb.is_clear.tolist() == [is_seen, True, True, True] * 25
    assert comb.coverage == (0.75 if is_seen else 1.0)


# ---- no comb ----


@pytest.mark.slow
@pytest.mark.parametrize(("hz", "records"), [(2, 5), (20, 5), (300, 3), (5_000, 1)])
def test_random_noise_has_no_comb(hz: int, records: int) -> None:
    for seed in range(records):
        machine = Machine(seed, seconds=5)
        machine.noise(hz, 4_000)
        noise = analysed(machine.windows(timer_hz=250))
        assert noise.combs == []
        assert noise.no_tick is not None


def test_a_kernel_that_stops_its_tick_says_so() -> None:
    machine = Machine(11)
    machine.noise(100, 4_000)
    result = with_noise(result_of(machine.windows(timer_hz=1)))
    (noise,) = result.noise
    assert "nohz_full" in noise.no_tick
    assert series(result, "tick").count == 0
    assert noise.tick_period_ns is None


def test_a_comb_that_ends_half_way_is_no_tick() -> None:
    machine = Machine(25, seconds=6)
    machine.comb(250, 9_000)
    is_early = machine.begin[0] < 3e9
    machine.begin[0], machine.length[0] = machine.begin[0][is_early], machine.length[0][is_early]
    noise = analysed(machine.windows(timer_hz=125))
    assert noise.combs == []
    assert "the kernel counted 558 timer interrupts in 4.50 s" in noise.no_tick


def test_a_hosts_comb_at_the_ticks_rate_is_no_tick_where_the_kernel_counts_none() -> None:
    machine = Machine(12)
    machine.comb(250, 9_000)
    result = with_noise(result_of(machine.windows(timer_hz=2)))
    assert [one.name for one in result.noise[0].combs] == ["host tick"]
    assert series(result, "tick").count == 0


@pytest.mark.slow
@pytest.mark.parametrize("gaps_hz", [10, 0.25])
def test_a_loop_that_is_mostly_away_names_no_host_and_no_stopped_tick(gaps_hz: float) -> None:
    """Where a quota of 20 ms in 100 ms stops it, or a task, its CPU idles without a tick, or runs
    others: the kernel counts too few interrupts for any comb."""
    machine = Machine(27, seconds=4)
    machine.comb(250, 9_000)
    machine.comb(gaps_hz, 0.8e9 / gaps_hz, phase_ns=0.2e9 / gaps_hz)
    result = result_of(machine.windows(timer_hz=2, rests=False, window_ns=4 * S))
    result.conditions.policy = "other"
    (noise,) = with_noise(result).noise
    assert not {"host tick", "uncounted"} & {one.name for one in noise.combs}
    assert "nohz_full" not in (noise.no_tick or "")
    assert any("more than half of the time" in note for note in noise.notes)


@pytest.mark.slow
def test_a_kernel_that_says_nothing_of_its_tick() -> None:
    machine, empty = Machine(13), Machine(13)
    machine.comb(300, 9_000)
    empty.noise(100, 4_000)
    noise = analysed(machine.windows(), tick_ns=None)
    assert only(noise, "tick").rate_hz == pytest.approx(300, rel=1e-5)
    assert noise.tick_ppm is None
    assert "does not report" in analysed(empty.windows(), tick_ns=None).no_tick


@pytest.mark.slow
@pytest.mark.parametrize("end_ns", [10**14, 10**16, 2**61])
def test_a_window_that_says_to_last_for_years_takes_no_memory(end_ns: int) -> None:
    """A document from elsewhere may say so, with few gaps."""
    machine = Machine(24, seconds=2)
    machine.comb(1000, 10_000)
    (window,) = machine.windows(rests=False, window_ns=2 * S)
    window.end_ns = end_ns
    if end_ns > 10**15:
        window.distance_ns.append(end_ns - 2 * S)
        window.length_ns.append(100)
    assert windows_problem([window]) is None
    tracemalloc.start()
    try:
        result = with_noise(result_of([window], tick_ns=1_000_000))
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()
    (noise,) = result.noise
    assert noise.combs == []
    assert "the recorded gaps do not cover" in noise.no_tick
    other = series(result, "other")
    assert other.count == len(window.length_ns)
    assert series_problem(other) is None


def test_a_loop_that_saw_nothing() -> None:
    result = with_noise(result_of(Machine(14).windows(timer_hz=0)))
    (noise,) = result.noise
    assert (noise.gaps_count, noise.combs, noise.noise_ns) == (0, [], 0)
    assert [one.count for one in result.series] == [0, 0]


# ---- throttling ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "runtime_ns", "name"),
    [
        ("6.1.0", 950_000_000, "throttling"),
        ("6.12.3", 950_000_000, "fair server"),
        ("6.18.44-fc", None, "fair server"),
        ("5.10.0", 800_000_000, "throttling"),
        ("6.18.44-group", 800_000_000, "throttling"),  # not of the system: still in force
    ],
)
def test_throttling_is_named(release: str, runtime_ns: int | None, name: str) -> None:
    machine = Machine(15, seconds=10)
    machine.comb(250, 12_000)
    left_ns = S - (runtime_ns or 950_000_000)
    machine.comb(1, left_ns, jitter_ns=4e6, spread=0.03)
    windows = machine.windows(timer_hz=250, rests=False, window_ns=2 * S)
    period = S if runtime_ns else None
    noise = analysed(
        windows,
        release=release,
        rt_runtime_ns=runtime_ns,
        rt_period_ns=period,
        is_budget_of_group="group" in release,
    )
    comb = only(noise, name)
    assert comb.rate_hz == pytest.approx(1, rel=0.05)
    assert comb.median_ns == pytest.approx(left_ns, rel=0.05)
    assert only(noise, "tick").coverage > 0.95  # what a pause hides is not missing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "runtime_ns", "name"),
    [("6.1.0", 950_000_000, "throttling"), ("6.18.44-fc", None, "fair server")],
)
def test_throttling_that_begins_in_the_tick_is_no_tick(
    release: str, runtime_ns: int | None, name: str
) -> None:
    """The tick counts what real-time threads used and throttles them: its gap lasts on."""
    machine = Machine(15, seconds=10)
    machine.comb(250, 10_000, phase_ns=1e6)
    machine.comb(1, 50e6, phase_ns=801e6, spread=0.002)
    windows = machine.windows(timer_hz=250, all_hz=260, rests=False)
    result = with_noise(result_of(windows, release=release, rt_runtime_ns=runtime_ns))
    (noise,) = result.noise
    tick, pause = only(noise, "tick"), only(noise, name)
    assert (pause.count, pause.rate_hz) == (10, pytest.approx(1, rel=0.01))
    assert pause.median_ns == pytest.approx(50e6, rel=0.01)
    assert tick.coverage > 0.99
    assert tick.max_ns == series(result, "tick").max < 20_000
    assert series(result, "other").max == pause.max_ns
    assert sum(one.total_ns for one in noise.combs) <= noise.noise_ns
    assert tick.total_ns + pause.total_ns == pytest.approx(noise.noise_ns, rel=0.001)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "count"), [("fifo", 1), (None, 1), ("other", 0)])
def test_a_real_time_budget_throttles_no_time_shared_thread(policy: str | None, count: int) -> None:
    machine = Machine(15, seconds=10)
    machine.comb(1, 50e6, jitter_ns=4e6, spread=0.03)
    result = result_of(machine.windows(timer_hz=0, rests=False, window_ns=2 * S))
    result.conditions.policy = policy
    (noise,) = with_noise(result).noise
    assert sum(one.name in ("throttling", "fair server") for one in noise.combs) == count


@pytest.mark.slow
def test_throttling_that_begins_in_each_tenth_tick_hides_it() -> None:
    """Of a period of 100 ms, at a tick that is late by up to some 100 us."""
    machine = Machine(23, seconds=10)
    machine.comb(100, 10_000, phase_ns=1e6, jitter_ns=120_000)
    machine.comb(10, 5e6, phase_ns=1e6, jitter_ns=120_000, spread=0.002)
    windows = machine.windows(timer_hz=100, rests=False, window_ns=2 * S)
    budget = {"rt_runtime_ns": 95_000_000, "rt_period_ns": 100_000_000}
    result = with_noise(result_of(windows, tick_ns=10_000_000, **budget))
    (noise,) = result.noise
    assert only(noise, "throttling").count == 100
    tick = only(noise, "tick")
    assert (tick.tolerance_ns, tick.coverage) == (400_000, pytest.approx(1, abs=0.01))
    assert 900 <= tick.count < 1000  # of some a gap of their own ended before the throttling
    assert series(result, "tick").max < 20_000


@pytest.mark.slow
@pytest.mark.parametrize("at_s", [(3.1,), (3.1, 3.5), (1.2, 6.6), (0.9, 14.3)])
def test_long_gaps_at_no_whole_periods_are_not_throttling(at_s: tuple[float, ...]) -> None:
    machine = Machine(16, seconds=16)
    machine.comb(250, 12_000)
    machine.begin.append(np.array(at_s) * 1e9)
    machine.length.append(np.full(len(at_s), 50e6))
    noise = analysed(machine.windows(timer_hz=250, rests=False))
    assert {one.name for one in noise.combs} == {"tick"}


# ---- what is said ----


@pytest.mark.slow
def test_gaps_that_found_no_room() -> None:
    machine = Machine(17)
    machine.comb(250, 12_000)
    windows = machine.windows(timer_hz=250)
    windows[20].dropped_count = 3
    noise = analysed(windows)
    assert noise.left_out_windows == 1
    assert noise.watched_ns == sum(one.end_ns - one.begin_ns for one in windows[:20] + windows[21:])
    assert noise.tick_period_ns == pytest.approx(4e6, rel=1e-6)
    assert any("could be recorded" in one for one in noise.notes)
    for window in windows:
        window.dropped_count = 1
    noise = analysed(windows)
    assert noise.watched_ns == 0
    assert "gaps_count" in noise.no_tick


def test_doubts_are_said() -> None:
    machine = Machine(18, seconds=3)
    machine.comb(250, 12_000)
    result = result_of(machine.windows(timer_hz=250))
    assert noise_of(result).notes == []
    result.conditions.realtime = False
    result.environment = {"steal_ns": 40_000_000}
    result.instrument = make.instrument(trusted=False)
    said = " ".join(noise_of(result).notes)
    for part in ("not real-time", "hypervisor took 40 ms", "not trusted (it stepped back)"):
        assert part in said
    result.conditions.clock = "monotonic"
    assert "clock_gettime" in " ".join(noise_of(result).notes)


# ---- the result ----


def ticking(seed: int, seconds: float) -> Result:
    machine = Machine(seed, seconds=seconds)
    machine.comb(250, 9_000)
    return with_noise(result_of(machine.windows(timer_hz=250)))


@pytest.mark.slow
def test_the_analysis_can_be_made_again_and_is_stored() -> None:
    once = ticking(19, 3)
    assert with_noise(once) == once
    assert [one.name for one in once.series] == ["tick", "other"]
    document = make.document(results=[once])
    raw = msgspec.json.encode(document)
    stored = parse_document(raw, "the run")
    assert encode_document(stored) == encode_document(document)
    assert with_noise(stored.results[0]) == once


def test_a_document_with_an_impossible_window_is_refused() -> None:
    bad = Window(begin_ns=100, end_ns=1_000, distance_ns=[50, 100, 700], length_ns=[1, 1, 999])
    result = make.result("CLK-P-DUR", windows=[bad])
    with pytest.raises(Exception, match="after its window"):
        parse_document(msgspec.json.encode(make.document(results=[result])), "the run")


def test_a_result_without_windows_stays_as_it_is() -> None:
    result = Result(test="CLK-P-DUR", status="denied")
    assert with_noise(result) is result


@pytest.mark.slow
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), hz=st.floats(0.2, 3_000), length_ns=st.floats(300, 100_000))
def test_every_gap_is_in_one_series(seed: int, hz: float, length_ns: float) -> None:
    machine = Machine(seed, seconds=1)
    machine.noise(hz, length_ns)
    machine.comb(250, 5_000)
    windows = machine.windows(timer_hz=250)
    assert windows_problem(windows) is None
    result = with_noise(result_of(windows))
    gaps = merged_gaps(gaps_of(windows))
    made = [series(result, "tick"), series(result, "other")]
    assert sum(one.count for one in made) == gaps.begin.size
    assert [series_problem(one) for one in made] == [None, None]
    assert [one.maxima_interval_ns for one in made] == [S, S]
    total = sum((one.mean or 0) * one.count for one in made)
    assert total == pytest.approx(float(gaps.length.sum()))


def test_joined_recordings_keep_what_was_found_in_each() -> None:
    first, second = ticking(31, 3), ticking(31, 3)
    shift_ns = 100 * S
    joined = joined_results(first, second, shift_ns, Event(name="joined", text=""))
    assert joined.noise == [*first.noise, *second.noise]
    assert windows_problem(joined.windows) is None
    assert joined.windows[len(first.windows)].begin_ns == second.windows[0].begin_ns + shift_ns
    assert series(joined, "tick").count == first.series[0].count + second.series[0].count
    assert gap_points(joined) == []


@pytest.mark.slow
def test_points_of_a_picture() -> None:
    machine = Machine(32, seconds=3)
    machine.comb(250, 9_000)
    machine.noise(1_000, 2_000)
    result = with_noise(result_of(machine.windows(timer_hz=250)))
    points = gap_points(result, most=300)
    assert 200 <= len(points) <= 300
    assert max(one.length_ns for one in points) == max(one.max or 0 for one in result.series)
    assert all(-2_000_000 <= one.at_ns <= 2_000_000 for one in points)
    assert all(abs(one.at_ns) <= 25_000 for one in points if one.is_tick)
    assert any(one.is_tick for one in points)


# ---- parts ----


def gaps(*begin_length: tuple[int, int]) -> Gaps:
    begin, length = (np.array(one, dtype=np.int64) for one in zip(*begin_length, strict=True))
    bounds = np.array([0, 1_000_000], dtype=np.int64)
    return Gaps(begin, length, bounds, bounds + 1_000_000)


def test_gaps_closer_than_a_microsecond_are_one() -> None:
    found = merged_gaps(gaps((0, 500), (1_499, 100), (2_599, 10), (999_000, 900), (1_000_000, 50)))
    assert found.begin.tolist() == [0, 2_599, 999_000, 1_000_000]
    assert found.length.tolist() == [1_599, 10, 900, 50]


def test_the_chance_of_a_moment_by_counting() -> None:
    found = gaps((100_000, 10), (130_000, 10), (900_000, 10))
    near = np.zeros(2_000_000, dtype=bool)
    for begin in found.begin:
        near[begin - 25_000 : begin + 25_000] = True
    assert share_within(found, 25_000) == pytest.approx(near.mean())


def test_slots_of_a_line() -> None:
    line = Line(4_000.0, 100.0)
    at = np.array([100, 4_200, 7_900, -4_000])
    assert line.numbers(at).tolist() == [0, 1, 2, -1]
    assert line.offsets(at).tolist() == [0, 100, -200, -100]
