"""Results of the tire: their names, variants with their counts, each measured point, and the
tables that the tests keep.

Where two sources of one count contradict each other, the larger count of missed steps holds.

Documents are untrusted: a figure that cannot be is left out, and `problems` says so. A killed probe
leaves rows that it had not written; they are left out too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise, product
from typing import NamedTuple

import msgspec

from hardstone import event_names
from hardstone.errors import InputError
from hardstone.model import DataValue, Result, RunDocument, Series, Table, as_integer
from hardstone.stats.conditions import condition_of
from hardstone.stats.quantiles import is_printable, quantile
from hardstone.units import whole_number

REAL_TIME, REAL_FAST = TESTS = event_names.TIRE_TESTS
_LATENESS = "lateness"
SIMULATION, COSTS = event_names.TIRE
_PAUSED = "real_fast_paused"  # the only thread did not have the CPU
_OUT_OF_STEP = "simulation_out_of_step"  # one thread far ahead, which ended it
_SHOWN_CHARACTERS = 32  # of a solver, a policy and a code, as shown
_MOST_COUNT = 2**53


class Deadlines(msgspec.Struct, kw_only=True, frozen=True):
    """Steps of SIM-S-RT: `missed_count` of `released_count` were late or not finished.

    `lateness_max_ns` is that of the steps whose end is known. None: not known, or it does not
    exist. `first_missed_count` counts from 1.
    """

    released_count: int | None
    missed_count: int | None
    first_missed_count: int | None
    lateness_max_ns: int | None


class StepTime(msgspec.Struct, kw_only=True, frozen=True):
    """From the begin of a step's first thread to the end of its last one.

    `p99_ns` is given where at least 10 values lie beyond it.
    """

    count: int
    mean_ns: float
    p99_ns: int | None
    max_ns: int


class Total(msgspec.Struct, kw_only=True, frozen=True):
    """The time of a whole simulation of SIM-P-RF, over its repeats."""

    repeats_count: int
    mean_ns: float
    min_ns: int
    max_ns: int


class Work(msgspec.Struct, kw_only=True, frozen=True):
    """What all threads of a variant did together. None: not known."""

    steps_count: int | None = None
    cpu_ns: int | None = None
    voluntary_count: int | None = None
    involuntary_count: int | None = None
    operations_count: int | None = None
    blocked_count: int | None = None
    cpus_count: int | None = None
    code: str | None = None


class Counts:
    """The counts of one variant, from its event and its series."""

    def __init__(self, series: Mapping[str, Series], data: Mapping[str, DataValue]) -> None:
        self._series, self._data = series, data
        self.problems: list[str] = []
        self._released = self._get("released_count")
        self._missed = self._largest_missed()

    def deadlines(self) -> Deadlines:
        """Its released, missed and late steps."""
        late = self._series.get(_LATENESS)
        first = self._get("first_missed_count")
        return Deadlines(
            released_count=self._released,
            missed_count=self._missed,
            first_missed_count=first if self._missed and first else None,
            lateness_max_ns=late.max if late and late.max is not None and late.max >= 0 else None,
        )

    def work(self) -> Work:
        """What its threads did, without counts that contradict each other."""
        operations = self._get("semaphore_operations_count")
        blocked = self._get("semaphore_blocked_count")
        if operations is not None and blocked is not None and blocked > operations:
            self._odd(f"{blocked} of {operations} semaphore operations blocked")
            operations = blocked = None
        code = self._data.get("code")
        return Work(
            steps_count=self._get("steps_count"),
            cpu_ns=self._get("cpu_ns"),
            voluntary_count=self._get("voluntary_count"),
            involuntary_count=self._get("involuntary_count"),
            operations_count=operations,
            blocked_count=blocked,
            cpus_count=self._get("cpus_count"),
            code=code[:_SHOWN_CHARACTERS] if isinstance(code, str) else None,
        )

    def _largest_missed(self) -> int | None:
        """The largest of all counts of missed steps, so that a contradiction never flatters."""
        series, late = self._series.get("missed"), self._series.get(_LATENESS)
        said = {
            "its event": self._get("missed_count"),
            "its series": _sum_of(series) if series else None,
        }
        known = {name: one for name, one in said.items() if one is not None}
        if len(set(known.values())) > 1:
            self._odd("missed steps: " + ", ".join(f"{n} by {who}" for who, n in known.items()))
        if late and late.count > max(known.values(), default=0):
            self._odd(f"{late.count} late steps, but fewer were counted as missed")
            known["its lateness"] = late.count
        missed = max(known.values(), default=None)
        if missed is not None and self._released is not None and missed > self._released:
            self._odd(f"{missed} missed steps of {self._released} released")
            self._released = None
        return missed

    def _get(self, name: str) -> int | None:
        if name not in self._data:
            return None
        value = _count_of(self._data[name])
        if value is None:
            self._odd(f"{name} is no count")
        return value

    def _odd(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)


def _step_time_of(series: Series | None) -> StepTime | None:
    """None without values, and where they cannot be durations."""
    if series is None or not _has_durations(series):
        return None
    return StepTime(
        count=series.count,
        mean_ns=series.mean or 0.0,
        p99_ns=_p99(series),
        max_ns=series.max or 0,
    )


def _total_of(series: Series | None) -> Total | None:
    """None without values, and where they cannot be durations."""
    if series is None or not _has_durations(series) or not series.mean:
        return None
    return Total(
        repeats_count=series.count,
        mean_ns=series.mean,
        min_ns=series.min or 0,
        max_ns=series.max or 0,
    )


def _has_durations(series: Series) -> bool:
    low, mean, high = series.min, series.mean, series.max
    if series.count <= 0 or low is None or mean is None or high is None:
        return False
    return 0 <= low <= mean * (1 + 1e-9) and mean <= high * (1 + 1e-9)


def _p99(series: Series) -> int | None:
    if not is_printable(0.99, series.count):
        return None
    try:
        found = quantile(series.histogram, 0.99)
    except InputError:  # the histogram is damaged; the top of a report says so
        return None
    if found is None or found.value is None or series.max is None:
        return None
    return min(found.value, series.max)


def _sum_of(series: Series) -> int | None:
    """The sum of all values; of a measurement that was resumed each part has one."""
    if series.count <= 0 or series.mean is None or series.min is None or series.min < 0:
        return None
    total = series.mean * series.count
    return round(total) if 0 <= total < _MOST_COUNT else None


def _count_of(value: DataValue) -> int | None:
    """A possible count; None for everything else."""
    count = as_integer(value)
    return count if count is not None and 0 <= count < _MOST_COUNT else None


_MOST_MASSES = 4_000_000
_MOST_THREADS = 256
_MOST_VARIANTS = 256


class Variant(NamedTuple):
    """The parameters in which the variants of a test differ."""

    masses: int
    threads: int
    solver: str
    policy: str


def _counted_of(result: Result) -> dict[Variant, dict[str, DataValue]]:
    """The data of the events `simulation`; counts of one variant that was resumed are added up."""
    found: dict[Variant, dict[str, DataValue]] = {}
    for event in result.events:
        if event.name != SIMULATION:
            continue
        data = event.data
        key = _key(*map(data.get, ("masses_count", "threads_count", "solver", "policy")))
        if key is None:
            continue
        known = found.get(key)
        found[key] = dict(data) if known is None else _added(known, data)
    return found


def _added(one: Mapping[str, DataValue], other: Mapping[str, DataValue]) -> dict[str, DataValue]:
    """Sums of the counts of both; what one of them does not know, the sum does not."""
    summed: dict[str, DataValue] = {}
    for name in one.keys() & other.keys():
        first, second = _count_of(one[name]), _count_of(other[name])
        if name in ("masses_count", "threads_count", "cpus_count") or first is None:
            summed[name] = one[name]
        elif second is not None and name != "first_missed_count":
            summed[name] = first + second
    return summed


def _timed_of(result: Result) -> dict[Variant, dict[str, Series]]:
    """The series of each variant by their names."""
    found: dict[Variant, dict[str, Series]] = {}
    for series in result.series:
        key = _key(*map(series.labels.get, ("masses", "threads", "solver", "policy")))
        if key is not None:
            found.setdefault(key, {}).setdefault(series.name, series)
    return found


def _requested_of(result: Result) -> Iterator[Variant]:
    """The variants that a result without values was asked for."""
    params = result.params
    lists = [params.get(name) for name in ("masses", "threads", "solver", "policy")]
    choices = [one if isinstance(one, list) else [one] for one in lists]
    real_policy = result.conditions.policy or "run"
    for masses, threads, solver, policy in islice(product(*choices), _MOST_VARIANTS):
        key = _key(masses, threads, solver, real_policy if policy == "run" else policy)
        if key is not None:
            yield key


def _key(masses: object, threads: object, solver: object, policy: object) -> Variant | None:
    """None where these are not those of a simulation."""
    mass_count, thread_count = _whole(masses), _whole(threads)
    if mass_count is None or not 0 < mass_count <= _MOST_MASSES:
        return None
    if thread_count is None or not 0 < thread_count <= _MOST_THREADS:
        return None
    if not isinstance(solver, str) or not isinstance(policy, str) or not solver or not policy:
        return None
    return Variant(mass_count, thread_count, solver[:_SHOWN_CHARACTERS], policy[:_SHOWN_CHARACTERS])


def _whole(value: object) -> int | None:
    """A label may be text: "400"."""
    return whole_number(value) if isinstance(value, str) else as_integer(value)


MOST_POINTS = 8192
_MOST_COST_NS = 1e15
_DEFAULT_STEP_NS = 10_000_000


class Curve(NamedTuple):
    """What the points of one curve over the masses have in common."""

    test: str
    solver: str
    policy: str
    threads: int
    load: str
    cpu_config: str
    preemption: str
    step_ns: int
    period_ns: int
    simulated_s: int


class Point(msgspec.Struct, kw_only=True, frozen=True):
    """One variant of one result. None: not known, or it does not exist.

    `is_whole`: measured to its end. `is_delayed`: a step was made late on purpose, so its misses
    say nothing about the system. `simulated_s` is that of SIM-P-RF, 0 for SIM-S-RT. `has_frames`:
    it was asked for pictures. `paused_ns`: the only thread of SIM-P-RF did not have the CPU, by
    real-time throttling or other work. `deadlines` are those of SIM-S-RT, `total` is that of
    SIM-P-RF. `result` is the place of the result in the document.
    """

    test: str
    masses: int
    threads: int
    solver: str
    policy: str
    load: str
    cpu_config: str
    preemption: str
    step_ns: int
    period_ns: int
    simulated_s: int
    status: str
    reason: str | None
    remedy: str | None
    command: str | None
    is_whole: bool
    is_delayed: bool
    is_realtime: bool | None
    has_frames: bool
    paused_ns: int | None
    result: int
    deadlines: Deadlines | None = None
    step_time: StepTime | None = None
    total: Total | None = None
    work: Work = Work()
    problems: tuple[str, ...] = ()

    @property
    def curve(self) -> Curve:
        """The curve of the point."""
        return Curve(
            test=self.test,
            solver=self.solver,
            policy=self.policy,
            threads=self.threads,
            load=self.load,
            cpu_config=self.cpu_config,
            preemption=self.preemption,
            step_ns=self.step_ns,
            period_ns=self.period_ns,
            simulated_s=self.simulated_s,
        )

    @property
    def is_measured(self) -> bool:
        """Whether anything was counted or timed."""
        is_counted = self.deadlines is not None and self.deadlines.missed_count is not None
        return is_counted or self.total is not None or self.step_time is not None


class Costs(msgspec.Struct, kw_only=True, frozen=True):
    """What the parts of a step of one variant cost, timed apart from its steps. None: not known.

    `spring_ns`, `mass_ns`, `semaphore_ns`: of each; `loop_ns`: of a mass with its springs;
    `access_ns`: the reads and writes of a step without its arithmetic; `dispatch_ns`: from a
    release to the first thread. `low` and `high`: deciles of the repeats. An event of an earlier
    version has the first three, for all variants: its `threads` is 0.
    """

    masses: int
    threads: int
    policy: str
    spring_ns: float | None
    mass_ns: float | None
    semaphore_ns: float | None
    loop_ns: float | None = None
    loop_low_ns: float | None = None
    loop_high_ns: float | None = None
    access_ns: float | None = None
    access_low_ns: float | None = None
    access_high_ns: float | None = None
    dispatch_ns: float | None = None
    dispatch_high_ns: float | None = None
    cpus: int | None = None

    def loop_of(self, which: str) -> float:
        """`low`, `mean` or `high`; the mean where there is no other."""
        return _one_of(which, self.loop_low_ns, self.loop_ns, self.loop_high_ns)

    def access_of(self, which: str) -> float:
        """The same of the reads and writes."""
        return _one_of(which, self.access_low_ns, self.access_ns, self.access_high_ns)


def _one_of(which: str, low: float | None, mean: float | None, high: float | None) -> float:
    found = {"low": low, "high": high}.get(which, mean)
    return (found if found is not None else mean) or 0.0


def has_costs_only(result: Result) -> bool:
    """Whether a result has the costs of steps, and no step."""
    return result.test == REAL_TIME and _param(result, "costs_only") is not None


def costs_of(result: Result) -> list[Costs]:
    """The costs that the variants of a result were timed with."""
    return [_costs(event.data) for event in result.events if event.name == COSTS]


def _costs(data: Mapping[str, DataValue]) -> Costs:
    threads, policy = as_integer(data.get("threads_count")), data.get("policy")
    times = {
        name: _possible_ns(data.get(name), least=0 if "access" in name else 1e-3)
        for name in Costs.__struct_fields__
        if name.endswith("_ns")
    }
    return Costs(
        masses=as_integer(data.get("masses_count")) or 0,
        threads=threads if threads is not None and 0 < threads <= _MOST_THREADS else 0,
        policy=policy[:_SHOWN_CHARACTERS] if isinstance(policy, str) else "",
        cpus=as_integer(data.get("cpus_count")) or None,
        **times,
    )


def _possible_ns(value: object, least: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if least <= value < _MOST_COST_NS else None


def has_tire(document: RunDocument) -> bool:
    """Whether a document has any result of the tire."""
    return any(one.test in TESTS for one in document.results)


def points_of(document: RunDocument) -> list[Point]:
    """All points, in the order of the results, without those that have costs only; never raises,
    whatever the document holds."""
    return list(islice(_all_points(document), MOST_POINTS))


def _all_points(document: RunDocument) -> Iterator[Point]:
    for number, result in enumerate(document.results):
        if result.test in TESTS and not has_costs_only(result):
            counted, timed = _counted_of(result), _timed_of(result)
            keys = list(dict.fromkeys([*timed, *counted])) or list(_requested_of(result))
            for key in keys:
                yield _point(result, number, key, timed.get(key, {}), counted.get(key, {}))


def _point(
    result: Result,
    number: int,
    key: Variant,
    series: Mapping[str, Series],
    data: Mapping[str, DataValue],
) -> Point:
    where = condition_of(result)
    step_ns = _param(result, "step_ns") or _DEFAULT_STEP_NS
    counts = Counts(series, data)
    return Point(
        test=result.test,
        masses=key.masses,
        threads=key.threads,
        solver=key.solver,
        policy=key.policy,
        load=where.load,
        cpu_config=where.cpu_config,
        preemption=where.preemption,
        step_ns=step_ns,
        period_ns=(_param(result, "period_ns") or step_ns) if result.test == REAL_TIME else 0,
        simulated_s=(_param(result, "simulated_s") or 0) if result.test == REAL_FAST else 0,
        status=result.status,
        reason=result.reason,
        remedy=result.remedy,
        command=result.command,
        is_whole=_is_whole(result, key),
        is_delayed=any(event.name == "delayed_on_purpose" for event in result.events),
        is_realtime=result.conditions.realtime,
        has_frames=_param(result, "frames") is not None,
        paused_ns=_paused_ns(result, key),
        result=number,
        deadlines=counts.deadlines() if result.test == REAL_TIME else None,
        step_time=_step_time_of(series.get("step_time")),
        total=_total_of(series.get("total_time")),
        work=counts.work(),
        problems=tuple(counts.problems),
    )


def _is_whole(result: Result, key: Variant) -> bool:
    is_apart = any(
        event.name == _OUT_OF_STEP
        and (event.data.get("masses_count"), event.data.get("threads_count")) == key[:2]
        for event in result.events
    )
    is_measured = result.status == "measured" and result.complete
    return is_measured and not result.interrupted and not is_apart


def _paused_ns(result: Result, key: Variant) -> int | None:
    """How long the only thread did not have the CPU, as far as that is known."""
    if result.test != REAL_FAST or key.threads != 1:
        return None
    lost = (
        _count_of(event.data.get("lost_ns"))
        for event in result.events
        if event.name == _PAUSED
        and event.data.get("masses_count") == key.masses
        and event.data.get("policy") == key.policy
    )
    return next(lost, None)


def _param(result: Result, name: str) -> int | None:
    value = as_integer(result.params.get(name))
    return value if value is not None and value > 0 else None


def by_curve(points: Iterable[Point]) -> dict[Curve, list[Point]]:
    """The points of each curve by their masses, the curves in the order of their first points."""
    found: dict[Curve, list[Point]] = {}
    for point in points:
        found.setdefault(point.curve, []).append(point)
    return {curve: sorted(own, key=lambda one: one.masses) for curve, own in found.items()}


def problems_of(points: Sequence[Point]) -> list[str]:
    """The contradictions in the points, each after the name of its point."""
    return [
        f"{one.test}, {one.masses} masses, {one.threads} threads, {one.policy}: {problem}"
        for one in points
        for problem in one.problems
    ]


FRAME, BLOCKS = "frame", "blocks"
MOST_FRAMES = 64
MOST_BLOCK_THREADS = 32
MOST_VARIANTS = 64
_MOST_UM = 10**9  # a kilometre
_MOST_NS = 10**18
_NAME_CHARACTERS = 40
_FEW_POINTS = 3


class Frame(msgspec.Struct, kw_only=True, frozen=True):
    """The tire at one moment of simulated time. `points_um`: (x, height) of masses on the circle,
    mass 0 first, in their order. `every`: every so many-th mass is in it."""

    at_ns: int
    step_ns: int
    masses: int
    every: int
    energy_uj: int | None
    points_um: tuple[tuple[int, int], ...]


class Block(NamedTuple):
    """One step of one thread. All times count from one moment of the variant."""

    step: int
    release_ns: int
    begin_ns: int
    read_ns: int
    compute_ns: int
    write_ns: int


class ThreadBlocks(msgspec.Struct, kw_only=True, frozen=True):
    """The steps of a thread that were kept, in their order. `cpu`: where it began, if known."""

    thread: int
    cpu: int | None
    blocks: tuple[Block, ...]


class StepBlocks(msgspec.Struct, kw_only=True, frozen=True):
    """The kept steps of all threads of one variant. `period_ns`: a step is due this long after its
    release; None where steps have no release (real-fast), or but one was kept."""

    masses: int
    threads: int
    solver: str
    policy: str
    period_ns: int | None
    rows: tuple[ThreadBlocks, ...]


class MeanBlock(NamedTuple):
    """Means over the kept steps of a thread. `wait_ns`: from the end of a step to the begin of the
    next; None: no two steps in a row."""

    thread: int
    cpu: int | None
    steps: int
    read_ns: float
    compute_ns: float
    write_ns: float
    wait_ns: float | None


def frames_of(result: Result) -> list[Frame]:
    """The pictures of the simulation that has most of them, in the order of simulated time.

    At most MOST_FRAMES. Pictures of which rows were not written are left out.
    """
    found = [one for table in result.tables if (one := _frame(table)) is not None]
    of_simulation: dict[tuple[int, int], dict[int, Frame]] = {}
    for one in found:
        of_simulation.setdefault((one.masses, one.step_ns), {})[one.at_ns] = one
    most = max(of_simulation.values(), key=len, default={})
    return sorted(most.values(), key=lambda one: one.at_ns)[:MOST_FRAMES]


def blocks_of(result: Result) -> list[StepBlocks]:
    """The kept steps of each variant, in the order in which they were measured.

    At most MOST_VARIANTS, each of at most MOST_BLOCK_THREADS threads. A variant ends where the
    next table is of another one, or of a thread that it has already.
    """
    found = [one for table in result.tables if (one := _thread(table)) is not None]
    variants: list[StepBlocks] = []
    for key, tables in groupby(found, key=lambda one: one[0]):
        for rows in _without_repeats(row for _, row in tables):
            kept = [row for row in rows if row.blocks][:MOST_BLOCK_THREADS]
            if not kept:
                continue
            variant = StepBlocks(
                masses=key.masses,
                threads=key.threads,
                solver=key.solver,
                policy=key.policy,
                period_ns=_period_ns(kept),
                rows=tuple(sorted(kept, key=lambda one: one.thread)),
            )
            variants.append(variant)
    return variants[:MOST_VARIANTS]


def mean_blocks(variant: StepBlocks) -> list[MeanBlock]:
    """What the steps of each thread consist of, on average."""
    means = []
    for row in variant.rows:
        blocks, count = row.blocks, len(row.blocks)
        waits = [b.begin_ns - a.write_ns for a, b in pairwise(blocks) if b.step == a.step + 1]
        mean = MeanBlock(
            thread=row.thread,
            cpu=row.cpu,
            steps=count,
            read_ns=sum(one.read_ns - one.begin_ns for one in blocks) / count,
            compute_ns=sum(one.compute_ns - one.read_ns for one in blocks) / count,
            write_ns=sum(one.write_ns - one.compute_ns for one in blocks) / count,
            wait_ns=sum(waits) / len(waits) if waits else None,
        )
        means.append(mean)
    return means


def _frame(table: Table) -> Frame | None:
    at_ns, step_ns = _count(table, "simulated_ns"), _count(table, "step_ns")
    masses, every = _count(table, "masses_count"), _count(table, "every_count")
    x, y = table.columns.get("x_um", []), table.columns.get("y_um", [])
    if table.name != FRAME or at_ns is None or not masses or len(x) != len(y):
        return None
    points = tuple(zip(x, y, strict=True))
    if len(points) < _FEW_POINTS or len(points) > masses or not _is_written(points):
        return None
    return Frame(
        at_ns=at_ns,
        step_ns=step_ns or 0,
        masses=masses,
        every=every or 1,
        energy_uj=as_integer(table.data.get("energy_uj")),
        points_um=points,
    )


def _is_written(points: Sequence[tuple[int, int]]) -> bool:
    """Rows that were not written are zeros: two masses at the origin. None is far away."""
    is_near = all(abs(x) <= _MOST_UM and abs(y) <= _MOST_UM for x, y in points)
    return is_near and points[-2:] != ((0, 0), (0, 0))


def _thread(table: Table) -> tuple[Variant, ThreadBlocks] | None:
    masses, threads = _count(table, "masses_count"), _count(table, "threads_count")
    thread, cpu = _count(table, "thread"), _count(table, "cpu")
    if table.name != BLOCKS or thread is None or not masses or not threads:
        return None
    if not set(Block._fields) <= table.columns.keys():
        return None
    columns = [table.columns[name] for name in Block._fields]
    rows = [Block(*row) for row in zip(*columns, strict=False)]
    key = Variant(masses, threads, _name(table, "solver"), _name(table, "policy"))
    return key, ThreadBlocks(thread=thread, cpu=cpu, blocks=_sound(rows))


def _sound(rows: Iterable[Block]) -> tuple[Block, ...]:
    """Those that were written, in the order of their steps, each after the one before it."""
    found: list[Block] = []
    for row in rows:
        is_in_order = all(a <= b for a, b in pairwise(row[2:]))  # a release: of another clock
        is_near = all(abs(at_ns) <= _MOST_NS for at_ns in row[1:])
        last = found[-1] if found else None
        is_later = last is None or (row.step > last.step and row.begin_ns >= last.write_ns)
        if row.step >= 1 and is_in_order and is_near and is_later:
            found.append(row)
    return tuple(found)


def _without_repeats(rows: Iterable[ThreadBlocks]) -> list[list[ThreadBlocks]]:
    """Cut where a thread comes again: another recording of the same variant."""
    found: list[list[ThreadBlocks]] = [[]]
    for row in rows:
        if any(row.thread == one.thread for one in found[-1]):
            found.append([])
        found[-1].append(row)
    return found


def _period_ns(rows: Iterable[ThreadBlocks]) -> int | None:
    """The period, from the releases of two steps. A step without a release has its begin there."""
    for row in rows:
        first, last = row.blocks[0], row.blocks[-1]
        if all(block.release_ns == block.begin_ns for block in row.blocks):
            continue
        if last.step > first.step and last.release_ns > first.release_ns:
            return (last.release_ns - first.release_ns) // (last.step - first.step)
    return None


def _count(table: Table, name: str) -> int | None:
    """A whole number of the data that is not negative."""
    value = as_integer(table.data.get(name))
    return value if value is not None and 0 <= value <= _MOST_NS else None


def _name(table: Table, name: str) -> str:
    value = table.data.get(name)
    return value[:_NAME_CHARACTERS] if isinstance(value, str) else "unknown"
