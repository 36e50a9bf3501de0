"""The documents that hardstone reads and writes, as types.

`Stream*` are the lines that the probe sends (`hardstone.stream/1`, one JSON
object a line). `RunDocument` is what the store keeps (`hardstone.run/1`).
Durations are integer nanoseconds unless the name says otherwise; `at_ns` counts
from the start of the measurement; times of day are UTC. schema/HISTORY.md tells
how both formats changed; schema/*.json is generated from this module.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

STREAM_SCHEMA = "hardstone.stream/1"
RUN_SCHEMA = "hardstone.run/1"
TARGETS_SCHEMA = "hardstone.targets/1"
REGISTER_SCHEMA = "hardstone.register/1"
FORMULA = "hardstone.rating/3"  # of the stars: docs/method/rating.md
LOADS_SCHEMA = "hardstone.loads/1"
SHIELD_SCHEMA = "hardstone.shield/1"
SELFTEST_SCHEMA = "hardstone.selftest/1"
FACTS_SCHEMA = "hardstone.facts/1"

Status = Literal["measured", "failed", "unsupported", "denied", "timeout", "skipped"]
RunStatus = Literal["complete", "interrupted", "incomplete"]
TrustGrade = Literal["full", "indicative", "untrustworthy"]
Unit = Literal["ns", "count", "bytes_per_s"]

# Bounds for reading. All are at least ten times the largest figure of any real run
# (schema/HISTORY.md has the figures), so only damaged documents are refused.
YEAR_NS = 31_557_600_000_000_000
MOST_SERIES = 1 << 14  # of a result
MOST_GAPS = 1 << 20  # of a recording
MOST_TABLES = 1 << 12  # of a result
MOST_ROWS = 1 << 14  # of a table
MOST_MAXIMA = 1 << 21  # of a series; the probe keeps at most 2**17
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
DurationNs = Annotated[int, Meta(ge=-100 * YEAR_NS, le=100 * YEAR_NS)]
Name = Annotated[str, Meta(max_length=4096)]
Text = Annotated[str, Meta(max_length=65_536)]
_FEW = Meta(max_length=1 << 12)
_MANY = Meta(max_length=1 << 14)
MOST_RESULTS = _MANY

Scalar = bool | Int64 | float | Text | None
ParamValue = Int64 | Text | Annotated[list[Int64 | Text], _FEW]
DataValue = bool | Int64 | float | Text | Annotated[list[Int64 | Text], _FEW] | None


def as_integer(value: object) -> int | None:
    """A whole number of a document; None for all else, also for true and false."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Histogram(msgspec.Struct, kw_only=True, weakref=True):
    """Sparse histogram: `buckets` has [index, count] pairs, ascending.

    `layout` is "log-linear/B": B sub-bucket bits, so the width of a bucket is at most 2**-B of
    its value (stats.identity has the edges). `underflow` counts values below 0, `overflow`
    values past the last bucket. Buckets, underflow and overflow add up to the count of the
    series.

    Imported series have two more layouts. "linear/WIDTH/FIRST": bucket i has the WIDTH values from
    FIRST + i * WIDTH on; underflow is below FIRST. "none": the source has no distribution, and all
    values are counted in `overflow`. `is_cut`: the source dropped values above the last bucket and
    does not say how many. Without a distribution, and where it is cut, there are no quantiles.
    The count of a cut series is the least that it can be; of a series without a distribution and
    without a count it is 1. A last bucket without values says where the overflow begins.
    """

    layout: Name
    buckets: list[tuple[Int64, Int64]]
    underflow: Int64 = 0
    overflow: Int64 = 0
    is_cut: bool | UnsetType = UNSET


class Worst(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One of the largest values, with its time and sample number (from 0).

    `before` is the name of the task that had the CPU before the thread that was late, as the
    kernel has it, and `before_thread` its id, 0 where the CPU was idle; null: not known.
    """

    value_ns: Int64
    at_ns: Int64
    index: Int64
    before: Text | None = None
    before_thread: Int64 | None = None


class Stopped(msgspec.Struct, kw_only=True):
    """Values that were under way while the program was stopped (SIGSTOP, Ctrl-Z, a debugger, the
    freezer of a control group). They are in no other figure: with `count` of the series they are
    all that were attempted. `worst` is the largest."""

    count: Int64
    worst: Int64


class Series(msgspec.Struct, kw_only=True, weakref=True):
    """One distribution. `min`, `mean`, `stddev` and `max` are exact, null when empty.

    `stddev` is that of a sample (n - 1), and null for a single value too.
    `maxima_per_s` has the largest value of each interval of `maxima_interval_ns` (one second,
    or longer if the recorder or a document could not hold that many), null for an interval
    without values. `derived` is the formula of a series that was computed and not timed.
    `possible_min` and `possible_max` bound what is possible; a value beyond them is wrong whatever
    the system does (stats/consistency.py). Older probes sent none.
    `stopped` is left out where the program was not stopped.

    An imported series may lack `min`, `mean` or `max` with values: its source does not have them.
    Where its histogram is cut, `count` is the least that it can be; with the layout "none" it is
    not known then, and stored as 1.
    Its values are whole multiples of `step`, cut off below, where it has one: with a step of 1000
    what the source calls 34 000 is 34 000 to 34 999.
    """

    name: Name
    labels: Annotated[dict[Name, Int64 | Text], Meta(max_length=64)]
    unit: Unit
    count: Int64
    min: Int64 | None
    mean: float | None
    stddev: float | None
    max: Int64 | None
    histogram: Histogram
    worst: Annotated[list[Worst], _FEW] = []
    maxima_per_s: Annotated[list[Int64 | None], Meta(max_length=MOST_MAXIMA)] = []
    maxima_interval_ns: Int64 = 1_000_000_000
    derived: Text | None = None
    possible_min: Int64 | None = None
    possible_max: Int64 | None = None
    stopped: Stopped | UnsetType = UNSET
    step: Int64 | UnsetType = UNSET


class Verdict(msgspec.Struct, kw_only=True):
    """A claim about behaviour. `evidence` is the observation, in words and figures."""

    name: Name
    passed: bool = msgspec.field(name="pass")
    evidence: Text


class Event(msgspec.Struct, kw_only=True):
    """An event during a test. `at_ns` is null outside the measurement.

    `data` is for programs: every name and figure of `text`, with the unit at the end of its key.
    `command` in it is a command to run. `text` is for people only.
    """

    name: Name
    text: Text
    at_ns: Int64 | None = None
    data: Annotated[dict[Name, DataValue], Meta(max_length=64)] = {}


class PairCost(msgspec.Struct, kw_only=True):
    """Distribution of empty time-stamp pairs, in ns."""

    count: Int64
    min: Int64
    median: Int64
    p99: Int64
    mean: float
    max: Int64


class Skew(msgspec.Struct, kw_only=True):
    """Offset of the counter of `cpu_b` against `cpu_a`: true value within +-`bound_ns`."""

    cpu_a: Int64
    cpu_b: Int64
    offset_ns: float
    bound_ns: float
    consistent: bool


class Instrument(msgspec.Struct, kw_only=True):
    """What the probe measured about its own clock, before and after the test."""

    clock: Name
    trusted: bool
    reason: Text | None
    counter_hz: Int64 | None
    calibration_ppb: float | None
    drift_ppb: float | None
    quantum_ns: float
    pair: PairCost
    record_step_ns: float
    perturbation_ns: float
    skew: Annotated[list[Skew], Meta(max_length=1 << 16)] = []


class Conditions(msgspec.Struct, kw_only=True):
    """The conditions of a result, as they were and not as requested. Null: not known.

    `cpu` is also null if the measuring thread was not bound. `settings` were in force during the
    measurement only: "dma_latency"; "offline" if all other CPUs were. `dma_latency_us` is the
    limit on the exit latency of idle states during the measurement; null if there was none.
    `preemption`: the model that the kernel was switched to for the measurement; null: the fact
    kernel.preemption holds.
    """

    load: Text | None = None
    cpu_config: Name | None = None
    cpu: Int64 | None = None
    policy: Name | None = None
    priority: Int64 | None = None
    clock: Name | None = None
    memory_locked: bool | None = None
    realtime: bool | None = None
    settings: Annotated[list[Name], _FEW] = []
    dma_latency_us: Int64 | None = None
    preemption: Name | None = None


class LoadReached(msgspec.Struct, kw_only=True):
    """What one element of the load did while the test measured.

    `degree` is that of the whole system, or of each CPU where it ends with "@cpu".
    `unit`: "share" of the time of a CPU, "per_s", "processes", "jobs" and "groups" in total,
    or "rounds_per_s" for an element without a degree; then `asked` is null.
    `reached` is the mean of its loaders (the whole system has one), `least` the lowest of them
    (null: the probe did not send it).
    `processes` is the number of its loaders; `counters` are raw, each with its unit.
    `how` adds to the degree: "loopback", "to HOST:PORT", "SCHED_IDLE", "nice 19", "kernel timers",
    "device /dev/uioN".
    """

    element: Name
    degree: Name
    asked: float | None
    reached: float
    least: float | None = None
    unit: Name
    processes: Int64
    how: Text | None = None
    counters: Annotated[dict[Name, Int64], _FEW] = {}


class Interval(msgspec.Struct, kw_only=True):
    """Counters of the kernel for one CPU, over about a second in which a worst value lies.

    They were read at `at_ns` and `span_ns` later, on a CPU that did not measure; `counters` has
    the differences. Those of the CPU: steal_ns, interrupts_count, timer_interrupts_count,
    busiest_count (of `busiest`, as the kernel names it: the interrupt that came most often beyond
    its mean of the seconds before; with `whole`, the one that came most often),
    thermal_throttled_count and thermal_throttled_ns (slowed down for heat: counted when it begins,
    its time when it ends). Those of the measuring threads on it: run_delay_ns, minor_faults_count,
    major_faults_count, migrations_count, involuntary_switches_count. Those of the control group:
    throttled_count, throttled_ns. One that is missing is not known. `whole`: over the whole
    measurement instead, to compare with. `cpu` is null where the counters are those of the machine.
    """

    at_ns: Int64
    span_ns: DurationNs
    cpu: Int64 | None = None
    whole: bool = False
    counters: Annotated[dict[Name, Int64], _FEW] = {}
    busiest: Text | None = None


class Trace(msgspec.Struct, kw_only=True):
    """What the kernel's ring of trace events held around a worst value that ended at `at_ns`.

    `lines` are the kernel's, oldest first, with its own time stamps (CLOCK_MONOTONIC, in s).
    """

    at_ns: Int64
    value_ns: Int64
    cpu: Int64 | None = None
    lines: Annotated[list[Text], _FEW] = []


class Window(msgspec.Struct, kw_only=True):
    """A time in which a loop watched for gaps, from its first reading of the counter to its last.

    Gap i began `distance_ns[i]` after the begin of the gap before it, the first one after
    `begin_ns`, and lasted `length_ns[i]`. `dropped_count` more found no room. The kernel counted
    the interrupts of the CPU over `counted_ns`, which is a little longer; null: not known.
    """

    begin_ns: DurationNs
    end_ns: DurationNs
    distance_ns: Annotated[list[Int64], Meta(max_length=MOST_GAPS)]
    length_ns: Annotated[list[Int64], Meta(max_length=MOST_GAPS)]
    dropped_count: Int64 = 0
    counted_ns: Int64 | None = None
    interrupts_count: Int64 | None = None
    timer_interrupts_count: Int64 | None = None


class Table(msgspec.Struct, kw_only=True):
    """Whole numbers that a test kept beside its series: pictures of a simulation, times of threads.

    `data` says what they are of, with the unit at the end of each key; all `columns` have the same
    number of rows, and the unit at the end of their names. A row of zeros was not written.
    """

    name: Name
    data: Annotated[dict[Name, DataValue], Meta(max_length=64)] = {}
    columns: Annotated[
        dict[Name, Annotated[list[Int64], Meta(max_length=MOST_ROWS)]], Meta(max_length=64)
    ] = {}


class CombMark(msgspec.Struct, kw_only=True):
    """Every `every`-th gap of a comb is longer: `median_ns`, against `rest_median_ns`."""

    every: Int64
    median_ns: Int64
    rest_median_ns: Int64


class NoiseComb(msgspec.Struct, kw_only=True):
    """Gaps that recur at one rate.

    `name`: "tick" (this kernel's), "host tick" and "uncounted" (the kernel has no count of it: it
    comes from a host or firmware), "timer" (of this kernel), "throttling", "fair server" or
    "periodic"; "irregular": fewer than nine of ten slots have a gap. `phase_ns` is the begin of
    the first slot after the start. `count` gaps belong to it. Of `slots` in which no other gap
    could hide one the share `coverage` has one within `tolerance_ns`; gaps without a period would
    fill `chance` of them. `within` has the coverage for each tolerance in ns. `on_top_of`: the
    place in the list of the comb at whose slots this one comes; then `beyond_ns` is how much
    longer its gaps are than those of that comb alone.
    """

    name: Name
    rate_hz: float
    phase_ns: Int64
    slots: Int64
    count: Int64
    coverage: float
    chance: float
    tolerance_ns: Int64
    median_ns: Int64
    max_ns: Int64
    total_ns: Int64
    within: Annotated[dict[Name, float], _FEW] = {}
    marks: Annotated[list[CombMark], _FEW] = []
    on_top_of: Int64 | None = None
    beyond_ns: Int64 | None = None


class Noise(msgspec.Struct, kw_only=True):
    """What took the CPU from a watching loop, found from the windows of one recording.

    `method` is the version of the analysis; the windows can be analysed again. `watched_ns` and
    all counts are those of the windows that have all their gaps. `kernel_tick_ns` is the period
    that the kernel states, `tick_period_ns` the one found, `tick_ppm` how far it is off.
    `no_tick`: why none was found. `counted_ns` is the time over which the kernel counted its
    interrupts.
    """

    method: Name
    watched_ns: DurationNs
    noise_ns: DurationNs
    gaps_count: Int64
    merged_count: Int64
    left_out_windows: Int64 = 0
    kernel_tick_ns: Int64 | None = None
    tick_period_ns: float | None = None
    tick_ppm: float | None = None
    no_tick: Text | None = None
    counted_ns: Int64 | None = None
    interrupts_count: Int64 | None = None
    timer_interrupts_count: Int64 | None = None
    combs: Annotated[list[NoiseComb], _FEW] = []
    notes: Annotated[list[Text], _FEW] = []


class StreamHeader(msgspec.Struct, kw_only=True, tag_field="type", tag="header"):
    schema: Name
    probe_version: Name
    test: Name
    params: Annotated[dict[Name, ParamValue], _FEW]
    started_utc_ns: Int64


class StreamInstrument(Instrument, kw_only=True, tag_field="type", tag="instrument"):
    pass


class StreamEvent(Event, kw_only=True, tag_field="type", tag="event"):
    pass


class StreamLoad(LoadReached, kw_only=True, tag_field="type", tag="load"):
    pass


class StreamInterval(Interval, kw_only=True, tag_field="type", tag="interval"):
    pass


class StreamTrace(Trace, kw_only=True, tag_field="type", tag="trace"):
    pass


class StreamWindow(Window, kw_only=True, tag_field="type", tag="window"):
    pass


class StreamTable(Table, kw_only=True, tag_field="type", tag="table"):
    pass


class StreamSeries(Series, kw_only=True, tag_field="type", tag="series"):
    pass


class StreamVerdict(Verdict, kw_only=True, tag_field="type", tag="verdict"):
    pass


class StreamResult(msgspec.Struct, kw_only=True, tag_field="type", tag="result"):
    """How the test ended. `environment` has kernel counters for the time of the test.

    `remedy` is the remedy in words, `command` the command for it, or null.
    `calibrated`: calibrated parameters with the values used in the measurement. The test found
    them if the request said 0. `started_uptime_ns`: when the measurement began, on a clock that
    counts from boot, also while the machine sleeps; null: before it began, or not known.
    """

    status: Status
    reason: Text | None
    remedy: Text | None
    command: Text | None = None
    interrupted: bool
    duration_ns: DurationNs
    conditions: Conditions
    environment: Annotated[dict[Name, Int64], _FEW]
    calibrated: Annotated[dict[Name, Int64], _FEW] = {}
    started_uptime_ns: Int64 | None = None


class StreamFooter(msgspec.Struct, kw_only=True, tag_field="type", tag="footer"):
    """Counts of the lines sent. A stream without a footer is incomplete.

    `crc32` covers all lines before the footer, without line ends; null if the probe sends none.
    """

    lines: Int64
    events: Int64
    series: Int64
    verdicts: Int64
    crc32: Int64 | None = None


StreamLine = (
    StreamHeader
    | StreamInstrument
    | StreamEvent
    | StreamLoad
    | StreamInterval
    | StreamTrace
    | StreamWindow
    | StreamTable
    | StreamSeries
    | StreamVerdict
    | StreamResult
    | StreamFooter
)


class Result(msgspec.Struct, kw_only=True, weakref=True):
    """One test of a run under one condition. `complete` is false without a footer.

    If `status` is not "measured", `remedy` is the remedy in words and `command` the command for
    it, or null.
    `params` are those of the request; `calibrated` has the values of calibrated parameters in
    the measurement. `started_uptime_ns`: its begin on a clock that counts from boot.
    `windows` has the gaps of a watching loop, and `noise` what was found in them, for each
    recording of the result. `tables` has whole numbers that the test kept beside its series.
    `foreign_count` counts lines of other programs on a shared console;
    `foreign_lines` are the first of them.
    """

    test: Name
    status: Status
    reason: Text | None = None
    remedy: Text | None = None
    command: Text | None = None
    complete: bool = True
    interrupted: bool = False
    params: Annotated[dict[Name, ParamValue], _FEW] = {}
    calibrated: Annotated[dict[Name, Int64], _FEW] = {}
    conditions: Conditions = msgspec.field(default_factory=Conditions)
    started_utc: Text | None = None
    duration_ns: DurationNs = 0
    series: Annotated[list[Series], Meta(max_length=MOST_SERIES)] = []
    verdicts: Annotated[list[Verdict], _MANY] = []
    events: Annotated[list[Event], _MANY] = []
    instrument: Instrument | None = None
    environment: Annotated[dict[Name, Int64], _FEW] = {}
    load: Annotated[list[LoadReached], _FEW] = []
    intervals: Annotated[list[Interval], _MANY] = []
    traces: Annotated[list[Trace], _FEW] = []
    windows: Annotated[list[Window], _MANY] = []
    noise: Annotated[list[Noise], _FEW] = []
    tables: Annotated[list[Table], Meta(max_length=MOST_TABLES)] = []
    started_uptime_ns: Int64 | None = None
    foreign_count: Int64 = 0
    foreign_lines: Annotated[list[Text], _FEW] = []


class Trust(msgspec.Struct, kw_only=True):
    grade: TrustGrade
    reasons: Annotated[list[Text], _MANY] = []


class Tool(msgspec.Struct, kw_only=True):
    version: Name
    probe_version: Name | None = None
    probe_sha256: Name | None = None
    compiler: Text | None = None
    libc: Text | None = None


class PlannedTest(msgspec.Struct, kw_only=True, frozen=True):
    """One line of a plan, with every default filled in. Zero means "no limit".

    `expected_ns` and `deadline_ns` include the time to set up load and CPU configuration.
    `folder`: where a test that needs files makes them; null: where the probe chooses.
    """

    test: Name
    params: Annotated[dict[Name, ParamValue], _FEW]
    samples: Int64
    duration_ns: DurationNs
    deadline_ns: DurationNs
    expected_ns: DurationNs
    load: Text = "none"
    cpu_config: Name = "shared"
    settings: Annotated[list[Name], _FEW] = []
    preemption: Name | None = None
    folder: Text | None = None


class Sweep(msgspec.Struct, kw_only=True, frozen=True):
    """How a sweep of the tire chooses its points: one test with one value in each list.

    A curve has one solver, policy, number of threads, load and CPU configuration. `masses`: each is
    measured on each curve; empty: the largest without a missed deadline is searched from
    `masses_least` to `masses_most`, with at most `points_most` points of a curve. `within_ns`:
    measuring time that was asked for, 0: no limit. `block_steps` are kept in one point of each
    curve, and `frames` pictures of the state in one. `fast_masses`: sizes at which a sweep in real
    time ends with SIM-P-RF.
    """

    test: Name
    solvers: Annotated[list[Name], _FEW]
    policies: Annotated[list[Name], _FEW]
    threads: Annotated[list[Int64], _FEW]
    masses: Annotated[list[Int64], _FEW]
    masses_least: Int64
    masses_most: Int64
    points_most: Int64
    within_ns: DurationNs
    block_steps: Int64 = 0
    frames: Int64 = 0
    fast_masses: Annotated[list[Int64], _FEW] = []


class Repeat(msgspec.Struct, kw_only=True, frozen=True):
    """One of `count` runs of one plan, measured in turn; `number` counts from 1. `first`: the id of
    the first of them; empty in it."""

    number: Int64
    count: Int64
    first: Name = ""


class StudyPart(msgspec.Struct, kw_only=True, frozen=True):
    """One of `count` parts of a study that is repeated ("obenland-2000"), each of which is a run;
    `number` counts from 1. `first`: the id of the first run of the same call, on any target; empty
    in it."""

    study: Name
    number: Int64
    count: Int64
    first: Name = ""


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """What will be run. Pure data: the same request gives the same plan.

    `tests` has each test under each of `loads` in each of `cpu_configs`; `load` and `cpu_config`
    are the same lists as text, joined by commas. Runs before loads existed have no lists.
    `command` has the words after `hardstone` that make this plan again; it is empty if no command
    does. `dma_latency_us` is the limit on the exit latency of idle states while measuring; null:
    none. `trace`: the kernel's events around the worst values are kept. `watched_ns`: a latency
    above it is told, and measuring goes on; null: none. `preemption_models`: each condition is
    measured under each of these models, which the kernel is switched to; empty: it is not switched.
    `sweep`: each result decides what is measured next, and is added to `tests` then; null: `tests`
    were known before. `repeat`: which of several runs of this plan it is; null: it was asked for
    once. `study`: which part of a study; null: of none. `addresses`: those of the hosts that the
    loads name, as they were looked up when the run began; the probe gets them in place of the
    names.
    """

    name: Name
    profile: Name
    target: Name
    tests: Annotated[list[PlannedTest], _MANY]
    load: Text = "none"
    cpu_config: Name = "shared"
    cpu: Int64 | None = None
    policy: Name = "fifo"
    priority: Int64 | None = None
    clock: Name = "auto"
    seed: Int64 = 0
    loads: Annotated[list[Text], _FEW] = []
    cpu_configs: Annotated[list[Text], _FEW] = []
    command: Annotated[list[Text], _MANY] = []
    dma_latency_us: Int64 | None = None
    trace: bool = False
    watched_ns: Int64 | None = None
    preemption_models: Annotated[list[Name], _FEW] = []
    sweep: Sweep | None = None
    repeat: Repeat | None = None
    study: StudyPart | None = None
    addresses: Annotated[dict[Name, Name], _FEW] = {}


class ClockCheck(msgspec.Struct, kw_only=True, frozen=True):
    """The target's clock beside that of the machine that the toolkit runs on, over the run.

    `host_ns` and `target_ns` are the spans of the two clocks between the same two moments.
    `uncertainty_ns`: how far apart those moments may be, from the round trips to the target.
    """

    host_ns: Int64
    target_ns: Int64
    uncertainty_ns: Int64


class ChangedFact(msgspec.Struct, kw_only=True):
    """A fact about the machine that changed between start and end of the run."""

    fact: Name
    before: Scalar
    after: Scalar


class ParamSpec(msgspec.Struct, kw_only=True):
    """A parameter of a test as the probe declares it. With `unit` "name" it has `choices`.

    `label`: each value of this parameter is a variant of the test, named by this label of its
    series; null: one value for the whole test.
    """

    name: Name
    unit: Literal["ns", "count", "bytes", "name", "cpu", "hz"]
    default: Annotated[list[Int64 | Text], _FEW]
    is_list: bool
    about: Text
    min: Int64 | None = None
    max: Int64 | None = None
    choices: Annotated[list[Name], _FEW] = []
    label: Name | None = None


class SeriesSpec(msgspec.Struct, kw_only=True):
    """A series of a test, and the two moments between which a value is measured.

    If nothing is timed (counts, values that a system reports), `begin` describes a value and
    `end` is empty. `derived` is the formula of a series that is computed and not timed. `fixed`
    has the values of labels that are the same in each of its series, {"part": "total"}.
    `possible_min` and `possible_max` bound what is possible; with `within_measurement` a value is
    no longer than the measurement either.
    """

    name: Name
    unit: Unit
    labels: Annotated[list[Name], _FEW]
    fixed: Annotated[dict[Name, Name], _FEW] = {}
    begin: Text
    end: Text
    derived: Text | None = None
    possible_min: Int64 | None = None
    possible_max: Int64 | None = None
    within_measurement: bool = False

    @property
    def title(self) -> str:
        """Its name, with the values of its fixed labels: "wakeup, total"."""
        return ", ".join([self.name, *self.fixed.values()])

    @property
    def meaning(self) -> str:
        """What a value means: "from BEGIN to END", or what is counted."""
        return f"from {self.begin} to {self.end}" if self.end else self.begin

    @property
    def possible(self) -> str:
        """What is possible, where that is not all from 0 on: "0 to 1"; else ""."""
        if self.possible_max is not None:
            return f"{self.possible_min} to {self.possible_max}"
        if self.possible_min is None:
            return "may be negative" if self.derived else ""
        return f"at least {self.possible_min}" if self.possible_min else ""


class VerdictSpec(msgspec.Struct, kw_only=True):
    name: Name
    claim: Text


class Descriptor(msgspec.Struct, kw_only=True):
    """A test as the probe's register declares it.

    Its variants are the combinations of the values of the parameters that have a label; they are
    measured one after another, or at the same time where the test is concurrent. One value of
    one variant takes `sample_ns` and `sample_percent` of the parameter `sample_param`, if any.
    `extra_samples` are taken for each variant in addition to the request, for example to
    calibrate. `setup_ns` is all other time. `warm_up_samples` are taken and not recorded at the
    start of a variant and after each rest. The defaults of the times are for probes that do not
    send them.
    """

    id: Name
    title: Text
    source: Text
    params: Annotated[list[ParamSpec], _FEW]
    needs: Annotated[list[Name], _FEW]
    series: Annotated[list[SeriesSpec], _FEW]
    verdicts: Annotated[list[VerdictSpec], _FEW]
    default_samples: Int64
    default_duration_ns: Int64
    setup_ns: Int64 = 1_000_000_000
    sample_ns: Int64 = 100_000
    sample_percent: Int64 = 100
    sample_param: Name | None = None
    extra_samples: Int64 = 0
    warm_up_samples: Int64 = 0
    is_concurrent: bool = msgspec.field(name="concurrent", default=False)

    @property
    def variant_params(self) -> list[ParamSpec]:
        """The parameters whose values are variants."""
        return [spec for spec in self.params if spec.label is not None]


class Part(msgspec.Struct, kw_only=True):
    """One recording of a run that was resumed.

    `id` is that of its journal; the first part has that of the run. `result` is the place in
    `results` of the one that has its values; null: it recorded none. `duration_ns` is its measuring
    time, which is up to `uncertainty_ns` longer if it was cut off. `system` has the facts that
    were not as in `system` of the run.
    """

    id: Name
    result: Int64 | None
    started_utc: Text | None
    started_uptime_ns: Int64 | None
    duration_ns: DurationNs
    uncertainty_ns: DurationNs
    tool: Tool
    system: Annotated[dict[Name, Scalar], _MANY] = {}


class Source(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a target's file holds, as it is: facts are read from it (raw_facts.py).

    `source` is its path, with "*" for a CPU's number where `text` has a line "0-3 TEXT" for the
    CPUs of each text; or "debugfs:PATH", "tracefs:PATH", "debugfs" (why nothing is seen there),
    "cpuid:LEAF". `base64` in place of `text`: it is no UTF-8. Neither: the file is there.
    """

    source: Name
    text: Text | None = None
    base64: Annotated[str, Meta(max_length=1 << 20)] | None = None


LossKind = Literal[
    "count",
    "values",
    "unit",
    "resolution",
    "bucket width",
    "overflow",
    "single values",
    "distribution",
    "extremes",
    "mean",
    "conditions",
    "version",
    "time",
]


class Loss(msgspec.Struct, kw_only=True, frozen=True):
    """What the file of another tool could not say of the series `series` (empty: of any): `text` is
    a sentence for people. "count": it does not say how many values there were; "values": some are,
    or may be, missing from it, so that the true maximum may be larger than the one it has.
    """

    what: LossKind
    text: Text
    series: Name = ""


class Imported(msgspec.Struct, kw_only=True, frozen=True):
    """The file of another tool that a run was read from.

    `tool` is a key of systems/moments.toml, `format` that of the file in words. `command` is the
    tool's, as far as the file has it. `unknown` has the keys that the importer does not know, by
    path, with their values as JSON.
    """

    tool: Name
    version: Text | None
    format: Name
    file: Text
    sha256: Name
    size_bytes: Int64
    command: Text | None = None
    losses: Annotated[list[Loss], _FEW] = []
    unknown: Annotated[dict[Name, Text], _FEW] = {}


class RunDocument(msgspec.Struct, kw_only=True):
    """One run: written once; only a part that is recorded later replaces it, with one that has
    both. `system` maps fact names to values, as they were read from `sources` and sent as facts.

    `descriptors` are those of its tests, as declared by the probe that ran them, so that showing
    a run needs no probe. Older runs have none. `clock_check` is null where the target has no clock
    of its own, or none that keeps time: it is this machine, or its time counts instructions.
    `parts`: the recordings that a resumed run consists of, in their order; empty if it never was.
    `imported`: the file of another tool that it was read from; null: hardstone measured it.
    """

    schema: Name
    id: Name
    name: Name
    started_utc: Text
    finished_utc: Text | None
    status: RunStatus
    trust: Trust
    tool: Tool
    system: Annotated[dict[Name, Scalar], _MANY]
    plan: Plan
    instrument: Instrument | None
    results: Annotated[list[Result], MOST_RESULTS]
    descriptors: Annotated[list[Descriptor], _FEW] = []
    environment_moved: Annotated[list[ChangedFact], _MANY] = []
    clock_check: ClockCheck | None = None
    advice: Annotated[list[Text], _FEW] = []
    parts: Annotated[list[Part], _FEW] = []
    rating: Annotated[dict[Name, Scalar], _FEW] | None = None
    sources: Annotated[list[Source], _MANY] = []
    imported: Imported | None = None


class NotRun(msgspec.Struct, kw_only=True):
    """A target that was not measured, with the exit code that it would have had alone."""

    target: Name
    reason: Text
    exit_code: Int64


class Runs(msgspec.Struct, kw_only=True):
    """What --json prints for several targets: the runs in the order of the command line, and
    the targets without one."""

    schema: Name
    runs: list[RunDocument]
    not_run: list[NotRun]


class Plans(msgspec.Struct, kw_only=True):
    """What --json --dry-run prints for several targets."""

    plans: list[Plan]
    not_run: list[NotRun]


class Register(msgspec.Struct, kw_only=True):
    """The tests of a probe. `of`: how many it has, where `tests` is only a part of them."""

    schema: str
    probe_version: str
    tests: list[Descriptor]
    of: int | None = None


class LoadElement(msgspec.Struct, kw_only=True):
    """An element of load as the probe declares it.

    `degree` is its form: "BUSY/PERIOD", "N/s", "N", "OPTIONS", or null where it has none;
    the limits are of that form. `processes_each`: processes that each of N is. `each_cpu`: it
    accepts "@cpu", for each CPU; `host`: it accepts "@HOST:PORT"; `device`: "@/dev/uioN".
    """

    name: str
    title: str
    degree: str | None
    default: str | None
    unit: str
    min: int | None = None
    max: int | None = None
    processes_each: int = 1
    min_busy_ns: int | None = None
    min_period_ns: int | None = None
    max_period_ns: int | None = None
    each_cpu: bool = False
    host: bool = False
    device: bool = False
    counters: list[str] = []


class LoadMix(msgspec.Struct, kw_only=True):
    """A named mix of elements; `load` may contain another mix."""

    name: str
    load: str


class Loads(msgspec.Struct, kw_only=True):
    """The load elements and mixes of a probe."""

    schema: str
    elements: list[LoadElement]
    mixes: list[LoadMix]


class ShieldSetting(msgspec.Struct, kw_only=True):
    """A setting of the probe's shield: whether the machine has it, and its value, or why not."""

    name: str
    available: bool
    now: str


class ShieldState(msgspec.Struct, kw_only=True):
    """The settings that a shield can switch (`hardstone-probe shield --show`)."""

    schema: str
    settings: list[ShieldSetting]


class SelfCheck(msgspec.Struct, kw_only=True):
    """A check of the probe's own code: what it claims, whether that holds, and what was seen. One
    that was not `checked`, for want of memory, has passed."""

    name: str
    passed: bool
    checked: bool = True
    claim: str
    why: str


class SelfTest(msgspec.Struct, kw_only=True):
    """Whether a probe computes rightly on its processor (`hardstone-probe selftest`)."""

    schema: str
    probe_version: str
    checks: list[SelfCheck]


class Facts(msgspec.Struct, kw_only=True):
    """Facts about a machine: dotted names, the unit at the end of the name.

    `sources`: the raw text from which the toolkit reads more of them; null: all are in `facts`.
    """

    schema: str
    probe_version: str
    compiler: str
    libc: str
    facts: dict[str, Scalar]
    instrument: Instrument
    sources: Annotated[list[Source], _MANY] | None = None
