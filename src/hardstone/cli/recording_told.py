"""Reporters of a recording: a live view on a terminal, a line now and then on a pipe, nothing.

All three look for breaches of a threshold at which measuring goes on, and start the command.
"""

from __future__ import annotations

from functools import partial
from typing import Self

from rich.console import Console
from rich.live import Live

from hardstone.campaign import (
    CampaignEvent,
    Look,
    MeasuringFinished,
    MeasuringStarted,
    RunFinished,
    RunStarted,
    Tick,
    Warned,
)
from hardstone.cli.breach_command import BreachCommand
from hardstone.cli.messages import message_lines, tell
from hardstone.cli.progress import Reporter, Unopened, suitable
from hardstone.model import Plan, Result
from hardstone.present.wording import clean
from hardstone.stats.watched import Breach, reported_breach, worst_breach
from hardstone.terminal.recording_view import Progress, recording_line, recording_view, wakeups
from hardstone.units import format_ns, format_span

# Looking takes no more than this share of a CPU, and comes no more often than the interval.
_COST_SHARE = 100
_SECOND_NS = 1_000_000_000
_PLAIN_NS = 10 * _SECOND_NS
_HALF_TICK_NS = _SECOND_NS // 2  # ticks are a second apart: the one nearest to a moment is taken


class RecordingReporter(Unopened):
    """Warnings and breaches only; others add what they show.

    What is left of the command is waited for after the summary.
    """

    interval_ns = _SECOND_NS

    def __init__(self, command: BreachCommand | None) -> None:
        self._command = command
        self._plan: Plan | None = None
        self._run_id = ""
        self._told_ns = 0  # the largest breach that was told
        self._next_ns = 0
        self._can_look = True
        self._before: tuple[int, int] | None = None  # elapsed, count

    def take(self, event: CampaignEvent) -> None:
        """Tells what happens, and looks at the recording when it is time."""
        if isinstance(event, RunStarted):
            self._plan, self._run_id = event.plan, event.run_id
        elif isinstance(event, Warned):
            self.say(event.text)
        elif isinstance(event, Tick):
            self._tick(event)
        elif isinstance(event, MeasuringFinished):
            self._finish(event.result)
        elif isinstance(event, RunFinished) and event.is_aborted and self._command is not None:
            self._command.end()

    def wants_looks(self) -> bool:
        """Whether it is worth looking: only for a breach."""
        return self._plan is not None and self._plan.watched_ns is not None

    def say(self, text: str) -> None:
        tell(text)

    def show(self, look: Look | None, progress: Progress) -> None:
        """Shows how far it is; `look` is None where nobody looked this time."""

    def _tick(self, event: Tick) -> None:
        if self._command is not None:
            self._command.poll()
        is_time = event.elapsed_ns >= self._next_ns
        look = self._look(event) if is_time and self._can_look and self.wants_looks() else None
        left_ns = max(0, event.planned.expected_ns - event.elapsed_ns)
        self.show(look, Progress(event.elapsed_ns, left_ns, self._rate_hz(look, event.elapsed_ns)))

    def _look(self, event: Tick) -> Look:
        """Looks, tells what was found, and sets the time of the next look."""
        look = event.look()
        self._can_look = look.can_come
        pause_ns = max(self.interval_ns, look.cost_ns * _COST_SHARE)
        self._next_ns = event.elapsed_ns + pause_ns - _HALF_TICK_NS
        if look.result is not None:
            self._look_for_breach(look.result)
        elif not look.can_come:
            self.say(f"there is no view of the recording: {look.reason}")
        return look

    def _rate_hz(self, look: Look | None, elapsed_ns: int) -> float | None:
        """Wake-ups a second since the look before; only of a new look."""
        if look is None or look.result is None:
            return None
        count = sum(series.count for series in wakeups(look.result))
        before, self._before = self._before, (elapsed_ns, count)
        if before is None or elapsed_ns <= before[0]:
            return None
        return max(0, count - before[1]) / ((elapsed_ns - before[0]) / 1e9)

    def _look_for_breach(self, result: Result) -> None:
        limit_ns = None if self._plan is None else self._plan.watched_ns
        if limit_ns is not None:
            self._tell_breach(worst_breach(result, limit_ns), "measuring goes on")

    def _finish(self, result: Result) -> None:
        if result.status != "measured":
            self._tell_breach(reported_breach(result), "measuring stopped")
        self._look_for_breach(result)

    def _tell_breach(self, breach: Breach | None, follows: str) -> None:
        """Tells the first one, and one that is worse than all that were told."""
        if breach is None or breach.value_ns <= self._told_ns or self._plan is None:
            return
        self._told_ns = breach.value_ns
        where = "" if breach.cpu is None else f" on CPU {breach.cpu}"
        after = f", {format_span(breach.at_ns)} after the begin"
        limit = format_ns(breach.threshold_ns)
        self.say(f"{format_ns(breach.value_ns)}{where}{after} is above {limit}; {follows}")
        if self._command is not None:
            self._command.start(breach, self._run_id, self._plan.target)


class PlainRecording(RecordingReporter):
    """A line at the begin, and one every ten seconds."""

    interval_ns = _PLAIN_NS

    def wants_looks(self) -> bool:
        return True

    def take(self, event: CampaignEvent) -> None:
        super().take(event)
        if isinstance(event, MeasuringStarted):
            self.say(f"{event.planned.test}  about {format_span(event.planned.expected_ns)}")

    def show(self, look: Look | None, progress: Progress) -> None:
        if look is not None and look.result is not None:
            self.say(recording_line(look.result, progress))


class LiveRecording(RecordingReporter):
    """The distribution, redrawn on ticks only, so that no thread runs beside the test."""

    def __init__(self, command: BreachCommand | None, console: Console) -> None:
        super().__init__(command)
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._result: Result | None = None
        self._said = "nothing is recorded yet"
        self._rate: float | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def wants_looks(self) -> bool:
        return True

    def say(self, text: str) -> None:
        for line in message_lines(text):
            self._live.console.print(clean(line), markup=False, highlight=False, soft_wrap=True)

    def show(self, look: Look | None, progress: Progress) -> None:
        if look is not None:
            self._result = look.result or self._result
            self._said = look.reason or self._said
            self._rate = progress.rate_hz or self._rate
        shown = Progress(progress.elapsed_ns, progress.left_ns, self._rate)
        self._live.update(
            recording_view("TMR-P-LAT", self._result, self._said, shown), refresh=True
        )


def make_recording_reporter(*, quiet: bool, command: BreachCommand | None) -> Reporter:
    """The reporter of a recording that suits standard error."""
    return suitable(
        partial(RecordingReporter, command),
        partial(PlainRecording, command),
        partial(LiveRecording, command),
        quiet=quiet,
    )
