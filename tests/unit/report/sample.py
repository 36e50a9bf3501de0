"""A synthetic run that looks like a real one: eight tests, and every way to end badly."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from hardstone.catalogue import kind_of, load_catalogue
from hardstone.model import (
    RUN_SCHEMA,
    ChangedFact,
    Conditions,
    Descriptor,
    Event,
    Instrument,
    PairCost,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    Series,
    SeriesSpec,
    Skew,
    Tool,
    Trust,
    Unit,
    Verdict,
    VerdictSpec,
    Worst,
)
from hardstone.stats.histogram import histogram_of

LONGEST_NS = 60_000_000_000
SECOND_NS = 1_000_000_000
Values = NDArray[np.int64]


def worst(values: Values, step_ns: int) -> list[Worst]:
    order = np.argsort(values)[::-1][:32]
    return [Worst(value_ns=int(values[i]), at_ns=int(i) * step_ns, index=int(i)) for i in order]


def maxima(values: Values, step_ns: int, silent_s: tuple[int, ...]) -> list[int | None]:
    """Largest value of each second; the seconds in `silent_s` had no sample."""
    per_second = max(1, SECOND_NS // step_ns)
    chunks = [values[i : i + per_second] for i in range(0, len(values), per_second)]
    return [None if s in silent_s else int(chunk.max()) for s, chunk in enumerate(chunks)]


def series(
    name: str,
    values: Values,
    *,
    step_ns: int = 1_000_000,
    silent_s: tuple[int, ...] = (),
    unit: Unit = "ns",
    derived: str | None = None,
    **labels: int | str,
) -> Series:
    empty = len(values) == 0
    return Series(
        name=name,
        labels=labels,
        unit=unit,
        count=len(values),
        min=None if empty else int(values.min()),
        mean=None if empty else float(values.mean()),
        stddev=None if empty else float(values.std()),
        max=None if empty else int(values.max()),
        histogram=histogram_of(values, limit=LONGEST_NS),
        worst=[] if empty or derived else worst(values, step_ns),
        maxima_per_s=[] if empty or derived else maxima(values, step_ns, silent_s),
        derived=derived,
    )


def latencies(rng: np.random.Generator, count: int, median_ns: float, tail: float = 1e-3) -> Values:
    """Lognormal body, and a share `tail` of rare long ones."""
    body = rng.lognormal(np.log(median_ns), 0.22, count)
    rare = rng.random(count) < tail
    body[rare] *= rng.pareto(1.6, int(rare.sum())) + 3
    return body.astype(np.int64)


def per_release(values: Values, period_ns: int) -> Values:
    """Each lateness L, and L - jT for every release that it swallowed."""
    late = values[values > period_ns]
    extra = [np.arange(value - period_ns, 0, -period_ns) for value in late]
    return np.concatenate([values, *extra]).astype(np.int64)


def jitter_series(rng: np.random.Generator) -> list[Series]:
    found = []
    kept = {(100, "setitimer"): 0, (100, "timerfd"): 1}
    for period_ms, count in ((1, 9000), (10, 900), (100, 90)):
        for factor, mechanism in enumerate(("timer", "nanosleep", "timerfd", "setitimer")):
            values = latencies(rng, count, 18_000 + 9_000 * factor, 3e-3) - 4_000 * factor
            values = values[: kept.get((period_ms, mechanism), count)]
            period_ns = period_ms * 1_000_000
            own = {"period_ns": period_ns, "mechanism": mechanism}
            found.append(series("jitter", values, step_ns=period_ns, **own))
    return found


def latency_series(rng: np.random.Generator, count: int) -> list[Series]:
    found = []
    for cpu in (0, 1):
        values = latencies(rng, count, 6_500 + 1_500 * cpu, 4e-4)
        values[count // 3] = 3_700_000
        gaps = (11, 12, 13) if cpu else ()
        found.append(series("wakeup", values, silent_s=gaps, part="total", cpu=cpu))
        released = per_release(values, 1_000_000)
        found.append(series("release", released, silent_s=gaps, part="total", cpu=cpu))
    for part, median in (("interrupt", 2_100), ("dispatch", 3_600), ("return", 800)):
        found.append(series("wakeup", latencies(rng, count, median), part=part, cpu=0))
    return found


def instrument(*, trusted: bool = True) -> Instrument:
    return Instrument(
        clock="tsc" if trusted else "monotonic",
        trusted=trusted,
        reason=None if trusted else "nonstop_tsc is missing",
        counter_hz=2_399_988_123 if trusted else None,
        calibration_ppb=310.0,
        drift_ppb=-42.0,
        quantum_ns=0.83,
        pair=PairCost(count=100_000, min=24, median=27, p99=41, mean=28.3, max=9_120),
        record_step_ns=3.4,
        perturbation_ns=58.0,
        skew=[Skew(cpu_a=0, cpu_b=1, offset_ns=-12.0, bound_ns=61.0, consistent=True)],
    )


def conditions(*, realtime: bool = True) -> Conditions:
    policy, priority = ("fifo", 98) if realtime else ("other", 0)
    return Conditions(
        load="heavy",
        cpu_config="shared",
        cpu=1,
        policy=policy,
        priority=priority,
        clock="tsc",
        memory_locked=realtime,
        realtime=realtime,
    )


def measured(test: str, found: list[Series], *, realtime: bool, **more: object) -> Result:
    fields: dict[str, object] = {
        "test": test,
        "status": "measured",
        "conditions": conditions(realtime=realtime),
        "started_utc": "2026-03-02T08:14:09Z",
        "duration_ns": 30 * SECOND_NS,
        "series": found,
        "instrument": instrument(),
        "environment": {"throttled_count": 0, "steal_ns": 12_400_000, "migrations_count": 0},
    }
    return Result(**{**fields, **more})  # type: ignore[arg-type]


def timing_results(rng: np.random.Generator, realtime: bool, count: int) -> list[Result]:
    fast, slow = latencies(rng, count, 46, 2e-4), latencies(rng, count, 310, 2e-4)
    blocking = np.array([int(slow.max() - slow.mean())])
    calls = [series("call", fast, via="vdso"), series("call", slow, via="syscall")]
    calls.append(series("blocking", blocking, derived="max(call) - mean(call)", via="syscall"))
    signals = [
        series("signal_wait", latencies(rng, 20_000, 140 + 90 * number), kind=kind)
        for number, kind in enumerate(("posix", "named", "sysv", "mutex"))
    ]
    past = signals[2]
    past.histogram.overflow += 3
    past.count += 3
    past.max = past.worst[0].value_ns = past.maxima_per_s[-1] = 2 * (past.max or 0)
    blocks = [
        series("time", latencies(rng, 500, 10e6), step_ns=10_000_000, kind=kind)
        for kind in ("add", "copy", "whetstone")
    ]
    lat = latency_series(rng, count)
    return [
        measured("CLK-P-BIN", calls, realtime=realtime),
        measured("TMR-P-JIT", jitter_series(rng), realtime=realtime),
        measured("TMR-P-LAT", lat, realtime=realtime, params={"interval_ns": 1_000_000}),
        measured("RSP-P-FIX", blocks, realtime=realtime, params={"block_ns": 10_000_000}),
        measured("SEM-P-SIG", signals, realtime=realtime),
    ]


def judged(**claims: tuple[bool, str]) -> list[Verdict]:
    return [Verdict(name=name, passed=one, evidence=seen) for name, (one, seen) in claims.items()]


def behaviour_results(realtime: bool) -> list[Result]:
    steps = judged(
        monotonic=(True, "no step back in 4 000 000 reads"),
        resolution=(True, "claimed 1 ns, smallest step seen 1 ns"),
    )
    edges = judged(
        never_early=(True, "0 of 1 000 expiries before their time"),
        overrun_count=(False, "7 counted after a stall of 10.4 ms"),
        one_shot_once=(True, "1 expiry in 50 ms"),
    )
    stall = Event(name="stall", text="the deliberate stall took 10.4 ms", at_ns=2_400_000_000)
    return [
        measured("CLK-B-RES", [], realtime=realtime, verdicts=steps),
        measured("TMR-B-EDGE", [], realtime=realtime, verdicts=edges, events=[stall]),
    ]


def unlucky_results(rng: np.random.Generator) -> list[Result]:
    trips = [
        series("round_trip", latencies(rng, 4_000, 5_200), kind=kind, scope=scope)
        for kind in ("posix", "named")
        for scope in ("thread", "process")
    ]
    late = measured(
        "SEM-P-RTP",
        trips,
        realtime=True,
        status="timeout",
        reason="the partner did not answer within 10 s",
        remedy="look whether real-time throttling is on",
        complete=False,
    )
    denied = Result(
        test="IRQ-P-LAT",
        status="denied",
        reason="/dev/cpu_dma_latency: EACCES",
        remedy="run the probe with sudo, or grant CAP_SYS_RAWIO",
        command="sudo hardstone run",
    )
    no_tracefs = {"reason": "the kernel has no tracefs", "remedy": "CONFIG_FTRACE=y"}
    return [
        late,
        denied,
        Result(test="KRN-P-PRE", status="unsupported", **no_tracefs),
        Result(test="MUT-P-INV", status="failed", reason="pthread_mutex_lock: EDEADLK"),
        Result(test="THR-P-SLS", status="skipped", reason="interrupted before it began"),
    ]


def planned(result: Result) -> PlannedTest:
    return PlannedTest(
        test=result.test,
        params=result.params,
        samples=0,
        duration_ns=30 * SECOND_NS,
        deadline_ns=90 * SECOND_NS,
        expected_ns=31 * SECOND_NS,
    )


def document(*, realtime: bool = True, count: int = 30_000, seed: int = 7) -> RunDocument:
    """The whole run. `count` is the number of wake-ups a CPU of TMR-P-LAT."""
    rng = np.random.default_rng(seed)
    results = behaviour_results(realtime) + timing_results(rng, realtime, count)
    results += unlucky_results(rng)
    return RunDocument(
        schema=RUN_SCHEMA,
        id="20260302-081402-7f3a",
        name="bench-board, heavy load",
        started_utc="2026-03-02T08:14:02Z",
        finished_utc="2026-03-02T08:19:40Z",
        status="complete",
        trust=Trust(
            grade="indicative",
            reasons=["a hypervisor is below (kvm)", "12.4 ms of steal time in TMR-P-LAT"],
        ),
        tool=Tool(
            version="0.1.0",
            probe_version="0.1.0",
            probe_sha256="9f2c" * 16,
            compiler="gcc 12.2.0",
            libc="glibc 2.36",
        ),
        system=facts(),
        plan=Plan(
            name="evaluate",
            profile="quick",
            target="bench-board",
            tests=[planned(result) for result in results],
            load="heavy",
            priority=98,
            cpu=1,
            seed=7,
        ),
        instrument=instrument(),
        results=results,
        environment_moved=[
            ChangedFact(fact="memory.total_bytes", before=8_254_390_272, after=4_127_195_136)
        ],
        advice=["Set the governor to performance: frequency moved during the run."],
    )


def facts() -> Mapping[str, bool | int | float | str | None]:
    return {
        "kernel.name": "Linux",
        "kernel.release": "6.12.9-rt-amd64",
        "kernel.version": "#1 SMP PREEMPT_RT Debian 6.12.9-1",
        "kernel.preemption": "full",
        "kernel.hz": 250,
        "kernel.rt_runtime_us": 950_000,
        "machine.node": "bench-board",
        "machine.arch": "x86_64",
        "machine.page_bytes": 4096,
        "memory.total_bytes": 8_254_390_272,
        "machine.cpu_model": "Intel(R) Atom(TM) x7-E3950",
        "cpu.count": 2,
        "cpu.allowed": "0-1",
        "cpu.smt": False,
        "power.governor": "schedutil",
        "power.idle_states": "POLL C1 C6",
        "kernel.rt_period_us": 1_000_000,
        "limits.can_realtime": True,
        "limits.memlock_bytes": None,
        "limits.realtime_reason": None,
        "virtual.hypervisor": "kvm",
        "virtual.emulated": False,
    }


def descriptor(test: str, title: str, *found: tuple[str, str, str]) -> Descriptor:
    series = [
        SeriesSpec(name=name, unit="ns", labels=[], begin=begin, end=end)
        for name, begin, end in found
    ]
    claims = [VerdictSpec(name="never_early", claim="no timer expires before its time")]
    return Descriptor(
        id=test,
        title=title,
        source="[O]",
        params=[],
        needs=[],
        series=series,
        verdicts=claims,
        default_samples=1000,
        default_duration_ns=0,
    )


STAMP = "first user-land time stamp"
CALL = ("call", "before the clock call", "after its return")
BLOCKING = ("blocking", "mean duration of the call", "longest duration of the call")
JITTER = ("jitter", "desired expiry (start + k x period)", "the thread reads the clock")
WAKEUP = ("wakeup", "programmed expiry of the timer", STAMP)
RELEASE = ("release", "each release, also the swallowed", f"{STAMP} after it")
BLOCK = ("time", "first operation of the block", "last operation of the block")
SIGNAL = ("signal_wait", "before the signal", "after the wait")
SPECS = {
    spec.id: spec
    for spec in (
        descriptor("CLK-B-RES", "Resolution and monotonicity of the clocks"),
        descriptor("CLK-P-BIN", "Maximum kernel blocking time", CALL, BLOCKING),
        descriptor("TMR-P-JIT", "Periodic timer jitter", JITTER),
        descriptor("TMR-B-EDGE", "Timers: never early, exact interval, overrun count"),
        descriptor("TMR-P-LAT", "Wake-up latency", WAKEUP, RELEASE),
        descriptor("RSP-P-FIX", "Response of a fixed block of processing", BLOCK),
        descriptor("SEM-P-SIG", "Signal and wait in one thread", SIGNAL),
    )
}


_SERIES_OF = {
    **{"CLK-B-RES": 25, "TMR-P-JIT": 30, "SEM-P-NEW": 20, "SEM-P-ARC": 80, "SEM-P-RTP": 36},
    **{"MUT-B-INV": 27, "IRQ-S-SUS": 22, "MSG-P-LAT": 48, "KRN-P-PRE": 13, "MSG-P-THR": 12},
}
_COUNTERS = {
    **{"steal_ns": 0, "interrupts_count": 8_172, "timer_interrupts_count": 6_992},
    **{"minor_faults_count": 1_386, "voluntary_switches_count": 5_324, "run_delay_ns": 2_140_000},
    **{"involuntary_switches_count": 3, "migrations_count": 0, "load_average_1min_milli": 600},
}


def battery() -> RunDocument:
    """Every test of the catalogue, with as many series and claims as a run of a machine has."""
    known = load_catalogue()
    leading = {row.test: row.figures[0] for row in known.first_screen}
    rng = np.random.default_rng(11)
    results = []
    for test in known.ids():
        is_timed = kind_of(test) != "behaviour"
        first = leading.get(test)
        found = []
        for number in range(_SERIES_OF.get(test, 6 if is_timed else 0)):
            values = latencies(rng, 500, 900 + 40 * number, 2e-3)
            name = first.series if first else "latency"
            labels: dict[str, int | str] = {**(first.labels if first else {}), "waiters": number}
            found.append(series(name, values, **labels))
        claims = [] if is_timed else [f"{one}/{case}" for one in "abcd" for case in "wxyz"]
        verdicts = [
            Verdict(name=one, passed=one != "a/w", evidence=f"{one} was seen in {number} rounds")
            for number, one in enumerate(claims)
        ]
        notes = [f"what {test} alone says of {count} of its cases" for count in (1, 2)]
        events = [Event(name="note", text=text) for text in notes]
        events.append(Event(name="shared", text="what every test says of this machine"))
        more = {"verdicts": verdicts, "events": events, "environment": _COUNTERS}
        results.append(measured(test, found, realtime=True, params={"interval_ns": 1}, **more))
    whole = document(count=200)
    plan = msgspec.structs.replace(whole.plan, tests=[planned(one) for one in results])
    return msgspec.structs.replace(whole, results=results, plan=plan)
