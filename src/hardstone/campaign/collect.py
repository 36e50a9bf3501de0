"""Collects one test from a target: sends the request, reads its stream, looks at what the probe
records meanwhile.

What one test calibrated or chose is carried to the later requests of the run.

Pure. The stored plan has the parameters as requested, a result those that its probe was given.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from hardstone.calling import parted
from hardstone.errors import HardstoneError, TargetError
from hardstone.event_names import COPIED, LOOKED
from hardstone.model import (
    Conditions,
    DataValue,
    Event,
    ParamValue,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
)
from hardstone.stats.conditions import Names, result_under
from hardstone.stats.consistency import has_same_request
from hardstone.store.journal import Journal
from hardstone.store.place import StoreError
from hardstone.store.slots import CopyCost
from hardstone.stream import StreamReader
from hardstone.targets.base import (
    QUIET,
    SILENT_REMEDY,
    BrokenStreamError,
    NotSentError,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
    Target,
    TargetAwayError,
)
from hardstone.units import format_count, format_ns

_LONG_NS = 10_000_000_000  # of a shorter test little is lost, and little written
_PROMISED_NS = 1_000_000_000
_NOT_YET = "nothing is recorded yet"
_NOT_NOW = "the target is left alone until the next look"


class TargetGoneError(TargetError):
    """The target was lost during a test; `result` holds what had arrived until then."""

    def __init__(self, error: TargetError, result: Result) -> None:
        super().__init__(error.cause, error.remedy)
        self.result = result


@dataclass
class _SnapshotCost:
    """How often a test was looked at while it measured, and what that took."""

    count: int = 0
    cost_ns: int = 0


@dataclass(frozen=True)
class Collector:
    """What all tests of a run share."""

    target: Target
    options: RunOptions
    journal: FaultTolerantJournal
    stop: Stop
    names: Names
    looks: _SnapshotCost = field(default_factory=_SnapshotCost)

    def look(self, test: str) -> Snapshot:
        """What the running test has recorded by now. Never raises."""
        found = self._look(test)
        if found.reason != _NOT_NOW:
            self.looks.count += 1
            self.looks.cost_ns += found.cost_ns
        return found

    def _look(self, test: str) -> Snapshot:
        if not self.journal.has_recording():
            return Snapshot(None, 0, _NOT_YET)
        begin_ns = _cpu_ns()
        reader = StreamReader(test)
        try:
            copy = self.journal.snapshot()
            if copy is None:
                cost_ns = _cpu_ns() - begin_ns
                if self.target.is_looked_at:
                    return Snapshot(None, cost_ns, _NOT_NOW)
                why = "copying would disturb the measurement"
                if self.target.is_unattended:
                    why = "the target is left alone; --look TIME connects to it now and then"
                return Snapshot(None, cost_ns, why, can_come=False)
            for line in self.target.dump(str(copy)):
                reader.feed(line)
        except (HardstoneError, OSError) as error:
            return Snapshot(None, _cpu_ns() - begin_ns, str(error))
        found = reader.finish()
        cost_ns = _cpu_ns() - begin_ns
        if any(series.count for series in found.series):
            return Snapshot(found, cost_ns)
        return Snapshot(None, cost_ns, reader.problem or _NOT_YET)

    def tell_looks(self, result: Result) -> None:
        """Adds what looking at the test took: it had a part of the machine while that measured."""
        count, cost_ns = self.looks.count, self.looks.cost_ns
        self.looks.count = self.looks.cost_ns = 0
        if count:
            text = f"hardstone read the recording {count} times, which took "
            text += f"{format_ns(cost_ns)} of CPU time"
            data: dict[str, DataValue] = {"looks_count": count, "cost_ns": cost_ns}
            result.events.append(Event(name=LOOKED, text=text, data=data))


@dataclass(frozen=True)
class Measured:
    """The result of a test, whether the probe broke the contract of its stream, and whether it did
    not answer in time."""

    result: Result
    is_broken: bool = False
    is_silent: bool = False


def measure(common: Collector, planned: PlannedTest, on_idle: OnIdle) -> Measured:
    """Runs one test. TargetGoneError when the target is lost meanwhile, TargetAwayError where the
    test goes on there, NotSentError where it never began."""
    is_noisy = common.target.is_noisy
    reader = StreamReader(
        planned.test,
        is_noisy=is_noisy,
        params=planned.params,
        policy=common.options.policy,
    )
    backing: str | None = None
    error: HardstoneError | None = None
    try:
        backing = common.journal.backing_file(planned.test)
        lines = common.target.run(planned, common.options, backing, common.stop, on_idle)
        with closing(lines):
            for raw in lines:
                if raw.strip():  # the reader counts empty lines too
                    common.journal.stream_line(planned.test, raw)
                reader.feed(raw)
                if reader.problem is not None:
                    break  # leaving ends the probe: the reader ignores what follows
    except (TargetAwayError, NotSentError):
        raise
    except (ProbeError, TargetError) as caught:
        error = caught
    result = _result(reader, planned, error)
    is_broken = not reader.is_complete if error is None else isinstance(error, BrokenStreamError)
    if is_broken:
        result.remedy, result.command = parted(QUIET if is_noisy else common.target.rebuild_remedy)
    is_silent = isinstance(error, ProbeTimeoutError)
    if is_silent:
        result.remedy, result.command = parted(SILENT_REMEDY)
    if error and backing is not None and not result.series and common.journal.has_recording():
        _salvage(common.target, result, backing)
    if backing is not None:
        tell_copies(result, common.journal.copy_cost())
    if result.windows:
        from hardstone.stats.noise import with_noise

        result = with_noise(result)
    result = result_under(planned, result, common.options.addresses)
    result.events.extend(common.target.take_remarks())
    if isinstance(error, TargetError):
        raise TargetGoneError(error, result)
    return Measured(result, is_broken, is_silent)


def skipped(planned: PlannedTest, plan: Plan, reason: str) -> Result:
    """The result of a planned test that did not run."""
    conditions = Conditions(
        load=planned.load,
        cpu_config=planned.cpu_config,
        cpu=plan.cpu,
        preemption=planned.preemption,
    )
    return Result(
        test=planned.test,
        status="skipped",
        reason=reason,
        params=planned.params,
        conditions=conditions,
    )


def _result(reader: StreamReader, planned: PlannedTest, error: HardstoneError | None) -> Result:
    result = reader.finish()
    result.params = result.params or planned.params
    if error is not None:
        result.status = "timeout" if isinstance(error, ProbeTimeoutError) else "failed"
        result.reason = f"{error.cause}; {reader.problem}" if reader.problem else error.cause
        result.complete = False
    return result


def tell_copies(result: Result, cost: CopyCost | None) -> None:
    """Adds what the copies on disk took, and what a power cut could have taken."""
    if cost is None or result.duration_ns < _LONG_NS:
        return
    text = f"the recording was copied to disk {format_count(cost.copies_count)} times, "
    text += f"{format_count(cost.written_bytes)} bytes in all; "
    longest = format_ns(cost.longest_ns)
    if cost.longest_ns > _PROMISED_NS:
        text += (
            f"a power cut could have lost {longest}, because the CPU or the disk was busy or the "
            "disk was full"
        )
    else:
        text += f"a power cut would have lost at most {longest}"
    data: dict[str, DataValue] = {
        "copies_count": cost.copies_count,
        "written_bytes": cost.written_bytes,
        "longest_ns": cost.longest_ns,
    }
    result.events.append(Event(name=COPIED, text=text, data=data))


def _salvage(target: Target, result: Result, backing: str) -> None:
    """Adds to `result`, which has no series, what the probe had recorded when it ended."""
    reader = StreamReader(result.test, is_noisy=target.is_noisy)
    try:
        for raw in target.dump(backing):
            reader.feed(raw)
    except HardstoneError:
        return
    found = reader.finish()
    if any(series.count for series in found.series) or found.tables:
        result.series, result.events = found.series, result.events + found.events
        result.instrument = result.instrument or found.instrument
        result.conditions, result.environment = found.conditions, found.environment
        result.calibrated = result.calibrated or found.calibrated
        result.load = result.load or found.load
        result.intervals, result.traces = found.intervals, found.traces
        result.windows, result.tables = found.windows, found.tables or result.tables
        result.started_uptime_ns = result.started_uptime_ns or found.started_uptime_ns
        result.started_utc = result.started_utc or found.started_utc
        result.duration_ns = result.duration_ns or found.duration_ns


def carried(planned: PlannedTest, results: Sequence[Result]) -> PlannedTest:
    """`planned` with the parameters that the same test calibrated in `results`, the earlier ones of
    its run. A parameter with a value of its own is left as it is.
    """
    given = _calibrated(planned, results)
    return msgspec.structs.replace(planned, params=planned.params | given) if given else planned


def _calibrated(planned: PlannedTest, results: Sequence[Result]) -> dict[str, ParamValue]:
    """The parameters that the test calibrated under the condition that was measured first."""
    found: dict[str, ParamValue] = {}
    for result in results:
        if result.test != planned.test or not has_same_request(planned.params, result):
            continue
        for name, value in result.calibrated.items():
            if planned.params.get(name) == 0 and value > 0:
                found.setdefault(name, value)
    return found


def _cpu_ns() -> int:
    """CPU time of this thread, and of the children that were waited for, as the probe that
    dumps."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time_ns() + round((children.ru_utime + children.ru_stime) * 1e9)


class FaultTolerantJournal:
    """Records what it can: a store that fails is reported once, and measuring continues.

    From then on the run is kept outside of the store too, and the next command on the store
    takes it from there.
    """

    def __init__(
        self, journal: Journal, document: RunDocument, on_problem: Callable[[StoreError], None]
    ) -> None:
        self._journal = journal
        self._document = document
        self._on_problem = on_problem
        self._is_failing = False
        self.problem: StoreError | None = None
        self.spare: Path | None = None
        self.path: Path | None = None

    @property
    def plan(self) -> Plan:
        return self._document.plan

    def backing_file(self, test: str) -> str | None:
        """The file of the journal; None if the store fails."""
        try:
            return self._journal.backing_file(test)
        except StoreError as error:
            self._fail(error)
            return None

    def has_recording(self) -> bool:
        return self._journal.has_recording()

    def stream_line(self, test: str, raw: bytes) -> None:
        try:
            self._journal.stream_line(test, raw)
        except StoreError as error:
            self._fail(error)

    def planned(self, tests: Sequence[PlannedTest]) -> None:
        """Records tests that the plan of the document already has."""
        try:
            self._journal.planned(tests)
        except StoreError as error:
            self._fail(error)

    def result(self, result: Result) -> None:
        """Records a result that the document already has."""
        try:
            self._journal.result(result)
        except StoreError as error:
            self._fail(error)
        if self._is_failing:
            self.spare = self._journal.spare(self._document)

    def snapshot(self) -> Path | None:
        return self._journal.snapshot()

    def copy_cost(self) -> CopyCost | None:
        return self._journal.copy_cost()

    def take_warning(self) -> str | None:
        return self._journal.take_warning()

    def finish(self) -> None:
        """Stores the document at `path`. If that fails, `problem` says why and `spare` where it
        is."""
        try:
            self.path = self._journal.finish(self._document)
        except StoreError as error:
            self._fail(error)
            self.problem = error
            self.spare = self._journal.spare(self._document)

    def _fail(self, error: StoreError) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._on_problem(error)


@dataclass(frozen=True)
class RunStarted:
    """The plan is stored and measuring begins."""

    run_id: str
    plan: Plan


@dataclass(frozen=True)
class MeasuringStarted:
    """`position` counts from 1."""

    planned: PlannedTest
    position: int
    total: int


@dataclass(frozen=True)
class Snapshot:
    """What a running test has recorded so far: `result`, or None and why there is nothing to see.

    `cost_ns`: the time of a CPU that looking took. `can_come`: a later look may see something.
    """

    result: Result | None
    cost_ns: int
    reason: str | None = None
    can_come: bool = True


@dataclass(frozen=True)
class LeftAlone:
    """The target measures `count` tests by itself, in about `expected_ns`, without a connection."""

    count: int
    expected_ns: int


@dataclass(frozen=True)
class Tick:
    """A sign of life, at most once a second, while the test measures in silence.

    `look` reads what the test has recorded from a copy of its memory; the probe takes no notice.
    """

    planned: PlannedTest
    elapsed_ns: int
    look: Callable[[], Snapshot]


@dataclass(frozen=True)
class MeasuringFinished:
    planned: PlannedTest
    position: int
    total: int
    result: Result


@dataclass(frozen=True)
class Warned:
    """A message for the person who waits."""

    text: str


@dataclass(frozen=True)
class RunFinished:
    run_id: str
    is_aborted: bool = False  # what had not arrived yet is lost


CampaignEvent = (
    RunStarted | MeasuringStarted | LeftAlone | Tick | MeasuringFinished | Warned | RunFinished
)
