"""One test: its raw lines go to the journal first, then into a result."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field

from hardstone.calling import parted
from hardstone.campaign.events import Look
from hardstone.campaign.keeper import Keeper
from hardstone.campaign.look import look_at
from hardstone.errors import HardstoneError, TargetError
from hardstone.event_names import COPIED, LOOKED
from hardstone.model import Conditions, DataValue, Event, Plan, PlannedTest, Result
from hardstone.stats.conditions import Names, result_under
from hardstone.store import CopyCost
from hardstone.stream import StreamReader
from hardstone.targets.base import (
    QUIET,
    REBUILD,
    SILENT_REMEDY,
    BrokenStreamError,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
    Target,
)
from hardstone.units import format_count, format_ns

_LONG_NS = 10_000_000_000  # of a shorter test little is lost, and little written
_PROMISED_NS = 1_000_000_000


class TargetGoneError(TargetError):
    """The target was lost during a test; `result` holds what had arrived until then."""

    def __init__(self, error: TargetError, result: Result) -> None:
        super().__init__(error.cause, error.remedy)
        self.result = result


@dataclass
class Looks:
    """How often a test was looked at while it measured, and what that took."""

    count: int = 0
    cost_ns: int = 0


@dataclass(frozen=True)
class Collector:
    """What all tests of a run share."""

    target: Target
    options: RunOptions
    journal: Keeper
    stop: Stop
    names: Names
    looks: Looks = field(default_factory=Looks)

    def look(self, test: str) -> Look:
        """What the running test has recorded by now."""
        is_recording = self.journal.has_recording()
        found = look_at(test, self.target, self.journal.snapshot, is_recording=is_recording)
        self.looks.count += 1
        self.looks.cost_ns += found.cost_ns
        return found

    def tell_looks(self, result: Result) -> None:
        """Adds what looking at the test took: it had a part of the machine while that measured."""
        count, cost_ns = self.looks.count, self.looks.cost_ns
        self.looks.count = self.looks.cost_ns = 0
        if count:
            text = f"the toolkit looked at the recording {count} times, which took "
            text += f"{format_ns(cost_ns)} of a CPU"
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
    """Runs one test. TargetGoneError when the target is lost meanwhile."""
    is_noisy = common.target.is_noisy
    reader = StreamReader(planned.test, is_noisy=is_noisy)
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
    except (ProbeError, TargetError) as caught:
        error = caught
    result = _result(reader, planned, error)
    is_broken = not reader.is_complete if error is None else isinstance(error, BrokenStreamError)
    if is_broken:
        result.remedy, result.command = parted(QUIET if is_noisy else REBUILD)
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
    if isinstance(error, TargetError):
        raise TargetGoneError(error, result_under(planned, result))
    return Measured(result_under(planned, result), is_broken, is_silent)


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
            f"a power cut could have taken {longest} of it: CPU or disk were busy, or it was full"
        )
    else:
        text += f"a power cut would have taken {longest} of it at most"
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
