"""Progress of a run on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from hardstone.campaign.collect import (
    CampaignEvent,
    LeftAlone,
    MeasuringFinished,
    MeasuringStarted,
    RunStarted,
    Tick,
    Warned,
)
from hardstone.cli.messages import abandon, message_lines, tell
from hardstone.errors import remedy_text
from hardstone.model import Plan, Result
from hardstone.present.measured_tables import step_line
from hardstone.stats.conditions import Names, condition_of, planned_conditions
from hardstone.stats.sustained import SUSTAINED, steps_of, time_left_ns
from hardstone.targets.base import QUIET, REBUILD
from hardstone.terminal.console import make_console
from hardstone.units import format_span
from hardstone.wording import clean, shorten

_SECOND_NS = 1_000_000_000
_LEAST_NS = 20 * _SECOND_NS  # a shorter search is reported when it is over
_INTERVAL_NS = 10 * _SECOND_NS
_COST_SHARE = 100  # looking takes no more than this share of a CPU


class StepProgress:
    """Looks at a search now and then; each finished step is a line, once."""

    def __init__(self) -> None:
        self._next_ns = 0
        self._shown_count = 0
        self._elapsed_ns = 0

    def lines(self, event: Tick) -> list[str]:
        """The lines that are new since the last look; none while it is too early for another."""
        planned = event.planned
        if planned.test != SUSTAINED or planned.expected_ns < _LEAST_NS:
            return []
        if event.elapsed_ns < self._elapsed_ns:  # a later measurement has steps of its own
            self._shown_count = self._next_ns = 0
        self._elapsed_ns = event.elapsed_ns
        if event.elapsed_ns < self._next_ns:
            return []
        look = event.look()
        pause_ns = max(_INTERVAL_NS, look.cost_ns * _COST_SHARE)
        self._next_ns = event.elapsed_ns + pause_ns if look.can_come else planned.deadline_ns
        if look.result is None:
            return []
        steps = steps_of([look.result])
        new, self._shown_count = steps[self._shown_count :], len(steps)
        left_ns = time_left_ns(steps, planned.params, planned.samples)
        return [step_line(step, left_ns if step is new[-1] else None) for step in new]


class Reporter(Protocol):
    """Prints events of a campaign to standard error."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def take(self, event: CampaignEvent) -> None: ...


class PassiveReporter:
    """A reporter that has nothing to start or stop."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was started."""


class QuietReporter(PassiveReporter):
    """Warnings only."""

    def __init__(self) -> None:
        self._names = Names([])

    def take(self, event: CampaignEvent) -> None:
        if isinstance(event, RunStarted):
            self._names = Names(planned_conditions(event.plan))
        if isinstance(event, Warned):
            tell(event.text)


class PlainReporter(QuietReporter):
    """One line for each test, and for each step of a long search: for pipes, logs and consoles
    without cursor."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = StepProgress()

    def take(self, event: CampaignEvent) -> None:
        super().take(event)
        if isinstance(event, RunStarted):
            tell(self.start_text(event.plan))
            for line in _legend(event.plan, self._names):
                tell(line)
        elif isinstance(event, MeasuringStarted):
            tell(self.begin_text(event, self._names.name(event.planned)))
        elif isinstance(event, LeftAlone):
            tell(left_alone_text(event))
        elif isinstance(event, Tick):
            for line in self._steps.lines(event):
                tell(line)

    def start_text(self, plan: Plan) -> str:
        """The text about a plan before it begins."""
        total_ns = sum(test.expected_ns for test in plan.tests)
        count = len(plan.tests)
        conditions = len({condition_of(test) for test in plan.tests})
        what = f"{count} test{'' if count == 1 else 's'}"
        if conditions > 1:
            what = f"{count} measurements under {conditions} conditions"
        is_guest = "deterministic" in plan.target.split(",")  # whose clock counts instructions
        guest = " of guest time, which takes longer" if is_guest else ""
        return f"{what}, about {format_span(total_ns)}{guest}"

    def begin_text(self, event: MeasuringStarted, name: str) -> str:
        """The text about a test, called `name`, when it begins."""
        span = format_span(event.planned.expected_ns)
        return f"{event.position} of {event.total}  {name}  about {span}"


class _UnfailingReporter:
    """Silences a reporter after its first write error, so that the measurement goes on."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._is_silent = False

    def __enter__(self) -> Self:
        with self._silenced():
            self._reporter.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._silenced():
            self._reporter.__exit__(kind, error, trace)

    def take(self, event: CampaignEvent) -> None:
        if not self._is_silent:
            with self._silenced():
                self._reporter.take(event)

    @contextmanager
    def _silenced(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):  # ValueError: the stream was closed
            self._is_silent = True
            abandon(sys.stderr)


class LiveReporter(QuietReporter):
    """One live line, redrawn only on ticks, so that no thread runs beside the test."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._progress = Progress(
            TextColumn("{task.fields[current]}", markup=False),
            BarColumn(bar_width=None),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._steps = StepProgress()
        self._task: TaskID | None = None
        self._plan: Plan | None = None
        self._current = ""
        self._done_ns = 0
        self._alone_ns = 0  # what the target measures at once by itself

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def take(self, event: CampaignEvent) -> None:
        """Moves the live line to where the run is."""
        if isinstance(event, RunStarted):
            super().take(event)
            self._plan = event.plan
            total_ns = sum(test.expected_ns for test in event.plan.tests)
            self._task = self._progress.add_task("", total=total_ns, current="", left="")
            for line in _legend(event.plan, self._names):
                self._print(line)
        elif isinstance(event, MeasuringStarted):
            self._show(self.begin_text(event, self._names.name(event.planned)), 0)
        elif isinstance(event, LeftAlone):
            self._alone_ns = event.expected_ns
            self._print(left_alone_text(event))
        elif isinstance(event, Tick):
            for line in self._steps.lines(event):
                self._print(line)
            most_ns = max(event.planned.expected_ns, self._alone_ns)
            is_late = event.elapsed_ns > most_ns
            self._show(None, min(event.elapsed_ns, most_ns), is_late=is_late)
        elif isinstance(event, MeasuringFinished):
            self._done_ns += event.planned.expected_ns
            self._alone_ns = 0
            result = event.result
            if _has_reason_to_tell(result):
                reason = shorten(result.reason or "no reason given", 300)
                self._print(f"{self._names.name(result)} {result.status}: {reason}")
            self._show(None, 0)
        elif isinstance(event, Warned):
            for line in message_lines(event.text):
                self._print(line)

    def _show(self, current: str | None, elapsed_ns: int, *, is_late: bool = False) -> None:
        if self._task is None or self._plan is None:
            return
        done_ns = self._done_ns + elapsed_ns
        left_ns = self.left_ns(self._plan, done_ns)
        self._current = current or self._current
        self._progress.update(
            self._task,
            completed=done_ns,
            total=done_ns + left_ns,
            refresh=True,
            current=self._current,
            left="longer than expected" if is_late else f"{format_span(left_ns)} left",
        )

    def begin_text(self, event: MeasuringStarted, name: str) -> str:
        """The text about a test, called `name`, while it runs."""
        return f"{name}  {event.position} of {event.total}"

    def left_ns(self, plan: Plan, done_ns: int) -> int:
        """About how long the run still takes, after `done_ns` of the times that were expected."""
        return max(0, sum(test.expected_ns for test in plan.tests) - done_ns)

    def _print(self, text: str) -> None:
        # A command to type stays whole, with its indent.
        line = clean(text) if text.startswith(" ") else shorten(text, 500)
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


def left_alone_text(event: LeftAlone) -> str:
    """What a person should know of a target that measures without a connection."""
    what = "1 test runs" if event.count == 1 else f"{event.count} tests run"
    ready = datetime.now() + timedelta(microseconds=event.expected_ns / 1000)
    return f"{what} on the target without a connection, until about {ready:%H:%M:%S}"


def make_reporter(*, quiet: bool) -> Reporter:
    """The reporter of a campaign that suits standard error."""
    return suitable(QuietReporter, PlainReporter, LiveReporter, quiet=quiet)


def suitable(
    make_quiet: Callable[[], Reporter],
    make_plain: Callable[[], Reporter],
    make_live: Callable[[Console], Reporter],
    *,
    quiet: bool,
) -> Reporter:
    """The one of three reporters that suits standard error."""
    if quiet:
        return make_quiet()
    if not sys.stderr.isatty():
        return make_plain()
    console = make_console(sys.stderr)
    return _UnfailingReporter(make_plain() if console.is_dumb_terminal else make_live(console))


def _legend(plan: Plan, names: Names) -> list[str]:
    """Full texts of the loads that names of measurements cut; one load is in no name."""
    if len(plan.loads) < 2:
        return []
    return [f"{text}: {load}" for text, load in names.legend().items()]


def _has_reason_to_tell(result: Result) -> bool:
    """False if a warning about an unreadable stream has already given cause and remedy."""
    remedy = remedy_text(result.remedy, result.command)
    return result.status != "measured" and remedy not in (QUIET, REBUILD)
