"""The two documents that hardstone reads and writes, as types.

`Stream*` are the lines that the probe sends (`hardstone.stream/3`, one JSON
object a line). `RunDocument` is what the store keeps (`hardstone.run/3`).
Durations are integer nanoseconds unless the name says otherwise; `at_ns` counts
from the start of the measurement; times of day are UTC. schema/HISTORY.md tells
how both formats changed; schema/*.json is generated from this module.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

STREAM_SCHEMA = "hardstone.stream/3"
RUN_SCHEMA = "hardstone.run/3"
REGISTER_SCHEMA = "hardstone.register/1"
LOADS_SCHEMA = "hardstone.loads/2"
SHIELD_SCHEMA = "hardstone.shield/1"
FACTS_SCHEMA = "hardstone.facts/1"

Status = Literal["measured", "failed", "unsupported", "denied", "timeout", "skipped"]
RunStatus = Literal["complete", "interrupted", "incomplete"]
TrustGrade = Literal["full", "indicative", "untrustworthy"]
Unit = Literal["ns", "count", "bytes_per_s"]

# Bounds of what is read: all are ten times and more above anything that a run has held
# (schema/HISTORY.md has the figures), so that damage is refused and no real document is.
YEAR_NS = 31_557_600_000_000_000
MOST_SERIES = 1 << 14  # of a result
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


class Histogram(msgspec.Struct, kw_only=True):
    """Sparse log-linear histogram: `buckets` holds [index, count] pairs, ascending.

    `layout` is "log-linear/B": B sub-bucket bits, so a bucket is at most 2**-B of
    its value wide (stats.histogram gives the edges). Values below 0 are counted in
    `underflow`, values past the last bucket in `overflow`; with them the buckets
    add up to the count of the series.
    """

    layout: Name
    buckets: list[tuple[Int64, Int64]]
    underflow: Int64 = 0
    overflow: Int64 = 0


class Worst(msgspec.Struct, kw_only=True):
    """One of the largest values: when it occurred and its sample number (from 0)."""

    value_ns: Int64
    at_ns: Int64
    index: Int64


class Series(msgspec.Struct, kw_only=True):
    """One distribution. `min`, `mean`, `stddev` and `max` are exact, null when empty.

    `stddev` is that of a sample (n - 1), and null for a single value too.
    `maxima_per_s` holds the largest value of each interval of `maxima_interval_ns`
    (one second unless that is more than the recorder or a document holds), null where
    none fell.
    `derived` is the formula of a series that was computed and not timed.
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


class Verdict(msgspec.Struct, kw_only=True):
    """A claim about behaviour: `evidence` is what was seen, in words and figures."""

    name: Name
    passed: bool = msgspec.field(name="pass")
    evidence: Text


class Event(msgspec.Struct, kw_only=True):
    """Something that a reader must know: `at_ns` is null outside the measurement.

    `data` is what a program reads: every name and figure that `text` speaks of, with the unit at
    the end of its key. Its `command` is what to type. `text` is for people, and for nobody else.
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
    """What the probe found out about itself before and after measuring."""

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
    """Under what a result was obtained, as it was and not as it was asked. Null: not known.

    `cpu` is null too where the measuring thread was not bound to one. `settings` are those that
    were in force for the measurement only: "dma_latency"; "offline": all other CPUs were.
    `dma_latency_us`: the bound on the wake-up time of idle states that was held meanwhile; null
    where none was.
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


class LoadReached(msgspec.Struct, kw_only=True):
    """What one element of the load did while the test measured.

    `degree` is that of the whole system, or of each CPU where it ends with "@cpu".
    `unit`: "share" of the time of a CPU, "per_s", "processes" and "jobs" in all, or
    "rounds_per_s" of an element that has no degree: then `asked` is null.
    `reached` is the mean of its loaders (of which the whole system has one), `least` what the one
    that did least reached (null: from a probe that does not say).
    `processes` is the number of its loaders; `counters` are raw, each with its unit.
    `how` says what the degree does not: "loopback", "to HOST:PORT", "SCHED_IDLE", "nice 19".
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


class StreamSeries(Series, kw_only=True, tag_field="type", tag="series"):
    pass


class StreamVerdict(Verdict, kw_only=True, tag_field="type", tag="verdict"):
    pass


class StreamResult(msgspec.Struct, kw_only=True, tag_field="type", tag="result"):
    """How the test ended. `environment` holds what the kernel counted meanwhile.

    `remedy` says in words what would help; `command` is what to type, null where there is nothing.
    `calibrated`: parameters with the value that they had in the measurement, found by the test
    where the request said 0, else as given.
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


class StreamFooter(msgspec.Struct, kw_only=True, tag_field="type", tag="footer"):
    """Counts of what was sent. A stream without it is incomplete.

    `crc32` is that of all lines before it, without their ends; null from a probe that has none.
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
    | StreamSeries
    | StreamVerdict
    | StreamResult
    | StreamFooter
)


class Result(msgspec.Struct, kw_only=True):
    """One test of a run under one condition. `complete` is false without a footer.

    `remedy` says in words what would help where `status` is not "measured"; `command` is what to
    type, null where there is nothing.
    `params` are those of the request; of those that the test calibrates `calibrated` says what
    they were in the measurement. `foreign_count` lines of the stream were not the probe's, on a
    console that others write to; `foreign_lines` are the first of them.
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

    `expected_ns` and `deadline_ns` count what load and CPU configuration take to set up.
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


class Plan(msgspec.Struct, kw_only=True, frozen=True):
    """What will be run. Pure data: the same request gives the same plan.

    `tests` holds each test under each of `loads` in each of `cpu_configs`; `load` and
    `cpu_config` are the same as text, joined by commas. Runs from before loads have no lists.
    `command` holds the words after `hardstone` that make this plan again; none where no command
    does. `dma_latency_us`: the bound on the wake-up time of idle states that is held while
    measuring; null: none.
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


class Moved(msgspec.Struct, kw_only=True):
    """A fact about the machine that differed at the end of the run."""

    fact: Name
    before: Scalar
    after: Scalar


class ParamSpec(msgspec.Struct, kw_only=True):
    """A parameter of a test as the probe declares it. `unit` "name" takes `choices`.

    `label`: the values of this parameter are variants of the test, and this label of its series
    says which; null: one setting for the whole test.
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
    """A series that a test can give, and the two moments between which it is taken.

    Where nothing is timed (counts, what a system claims) `begin` says what a value is
    and `end` is empty. `derived` is the formula of a series that is computed and not timed.
    """

    name: Name
    unit: Unit
    labels: Annotated[list[Name], _FEW]
    begin: Text
    end: Text
    derived: Text | None = None

    @property
    def meaning(self) -> str:
        """What a value is, in words: "from BEGIN to END", or what is counted."""
        return f"from {self.begin} to {self.end}" if self.end else self.begin


class VerdictSpec(msgspec.Struct, kw_only=True):
    name: Name
    claim: Text


class Descriptor(msgspec.Struct, kw_only=True):
    """A test as the probe's register declares it.

    Its variants are the combinations of the values of the parameters that have a label; they are
    measured one after another, or at the same time where the test is concurrent. One value of
    one variant takes `sample_ns` and `sample_percent` of the parameter `sample_param`, if any.
    `extra_samples` are taken for each variant beside those asked for, as to calibrate; `setup_ns`
    is the rest of the time. `warm_up_samples` are taken and not recorded at the start of a variant
    and after each rest. The defaults of the times are for probes that do not say them.
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


class RunDocument(msgspec.Struct, kw_only=True):
    """One run: written once, never rewritten. `system` maps fact names to values.

    `descriptors` are those of the tests in it, as the probe that ran them declared them: what
    shows a run needs no probe. Runs from before have none.
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
    environment_moved: Annotated[list[Moved], _MANY] = []
    advice: Annotated[list[Text], _FEW] = []
    rating: Annotated[dict[Name, Scalar], _FEW] | None = None


class Register(msgspec.Struct, kw_only=True):
    schema: str
    probe_version: str
    tests: list[Descriptor]


class LoadElement(msgspec.Struct, kw_only=True):
    """An element of load as the probe declares it.

    `degree` is its form: "BUSY/PERIOD", "N/s", "N", "OPTIONS", or null where it has none;
    the limits are of that form. `each_cpu`: it may be asked for on each CPU, "@cpu"; `host`: a
    host may follow, "@HOST:PORT".
    """

    name: str
    title: str
    degree: str | None
    default: str | None
    unit: str
    min: int | None = None
    max: int | None = None
    min_busy_ns: int | None = None
    min_period_ns: int | None = None
    max_period_ns: int | None = None
    each_cpu: bool = False
    host: bool = False
    counters: list[str] = []


class LoadMix(msgspec.Struct, kw_only=True):
    """A mix that has a name; `load` may hold another one."""

    name: str
    load: str


class Loads(msgspec.Struct, kw_only=True):
    """Of what a probe can make load."""

    schema: str
    elements: list[LoadElement]
    mixes: list[LoadMix]


class ShieldSetting(msgspec.Struct, kw_only=True):
    """A setting of the probe's shield: whether the machine has what it switches, and how that
    is now, or why it is not there."""

    name: str
    available: bool
    now: str


class ShieldLook(msgspec.Struct, kw_only=True):
    """What a shield could switch (`hardstone-probe shield --show`); the rest is not kept."""

    schema: str
    settings: list[ShieldSetting]


class Facts(msgspec.Struct, kw_only=True):
    """Raw facts about a machine: dotted names, the unit at the end of the name."""

    schema: str
    probe_version: str
    compiler: str
    libc: str
    facts: dict[str, Scalar]
    instrument: Instrument
