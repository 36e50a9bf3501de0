"""Records hours of wake-up latency, with a live view and a command at a threshold, and goes on
with a recording that was cut off.

All reporters look for breaches of a threshold at which measuring goes on, and start the command.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from rich.console import Console, Group
from rich.live import Live

from hardstone.campaign.collect import (
    CampaignEvent,
    LeftAlone,
    MeasuringFinished,
    MeasuringStarted,
    RunFinished,
    RunStarted,
    Snapshot,
    Tick,
    Warned,
)
from hardstone.cli.ctrl_c import unwind_on_termination
from hardstone.cli.latstat import LatstatOptions, plan_options
from hardstone.cli.measure import Prepared, prepare, print_run, run_one, show_plan
from hardstone.cli.messages import message_lines, print_json, tell
from hardstone.cli.open_store import open_store
from hardstone.cli.options import lab_target
from hardstone.cli.progress import PassiveReporter, left_alone_text, suitable
from hardstone.cli.resume import check_agreement, check_params, is_of, recorded_now, tests_text
from hardstone.errors import InputError
from hardstone.files import pause
from hardstone.model import Plan, Result, RunDocument
from hardstone.plan.make import rest_of
from hardstone.stats.join import measured_ns
from hardstone.stats.quantiles import quantum_of
from hardstone.stats.sustained import Breach, reported_breach, worst_breach
from hardstone.store.store import Store
from hardstone.targets import find_target
from hardstone.terminal.console import words
from hardstone.terminal.distribution import (
    TEST,
    bar_rows,
    lines_of,
    moment_of_worst,
    table_rows,
    wakeups,
)
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import clean

_WAKEUP = "wakeup"
_START = "start one: hardstone latstat"
_DEADLINE_S = 60.0
_STEP_S = 0.05
_SAID_BYTES = 300
_READ_BYTES = 1 << 16
_MOST_READS = 16
_SILENT_S = 1.0  # a short command is not worth a word
_KILLED_S = 5.0


def command_words(text: str) -> list[str]:
    """The words of a command; InputError if a quotation is open, or they name no program."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--on-threshold: {error}", "close the quotes") from None
    if not words:
        raise InputError(
            "--on-threshold: the command is empty", "give one, or leave the option out"
        )
    if shutil.which(words[0]) is None:
        raise InputError(
            f"--on-threshold: program {words[0][:60]!r} not found",
            "name an executable file, or one in a folder of PATH",
        )
    return words


class BreachCommand:
    """Runs the command at a breach; one that comes while it still runs does not start it again.

    Its output goes nowhere, but its last error line is printed if it fails. At the end of the
    `with` block a command that still runs is ended, with its children, which are its process
    group. What a command that ended by itself left in the background goes on: it was put there to
    outlive the command.
    """

    def __init__(self, words: list[str], deadline_s: float = _DEADLINE_S) -> None:
        self._words = words
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""
        self._end_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, breach: Breach, run_id: str, target: str) -> None:
        """Starts the command unless it runs. Never raises."""
        self.poll()
        if self._process is not None:
            return
        self._said = b""
        try:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, **_variables(breach, run_id, target)},
            )
            if self._process.stderr is not None:
                os.set_blocking(self._process.stderr.fileno(), False)
        except (OSError, ValueError) as error:
            self._tell(f"cannot be started: {getattr(error, 'strerror', None) or error}")
        self._end_at = time.monotonic() + self._deadline_s

    def poll(self) -> None:
        """Prints how it ended, once it has; ends it at its deadline."""
        if self._process is None:
            return
        code = self._process.poll()
        self._listen()
        if code is None and time.monotonic() >= self._end_at:
            self._kill(f"did not end within {format_span(round(self._deadline_s * 1e9))}")
        elif code is not None and code < 0:
            self._tell(f"was ended by signal {-code}")
        elif code is not None:
            self._tell(f"failed with exit code {code}" if code else "")

    def finish(self) -> None:
        """Waits for its end or its deadline, and says so; an interrupt ends it instead."""
        tell_at = time.monotonic() + _SILENT_S
        try:
            while self._process is not None:
                pause(_STEP_S)
                self.poll()
                if self._process is not None and time.monotonic() >= tell_at:
                    tell_at = self._end_at + _DEADLINE_S
                    tell(f"waiting for {self._words[0]} (--on-threshold); press Ctrl-C to end it")
        except KeyboardInterrupt:
            self.end()

    def end(self) -> None:
        """Ends it and its children, if it still runs, because of an interrupt."""
        self.poll()
        if self._process is not None:
            self._kill("was killed: interrupted")

    def _kill(self, problem: str) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILLED_S)
        self._tell(problem)

    def _listen(self) -> None:
        """Reads its error output; no more at once than a pipe holds, since a command that never
        pauses would keep the reader here."""
        if self._process is None or self._process.stderr is None:
            return
        with contextlib.suppress(OSError):  # BlockingIOError: that was all
            for _ in range(_MOST_READS):
                said = os.read(self._process.stderr.fileno(), _READ_BYTES)
                if not said:
                    return
                self._said = (self._said + said)[-_SAID_BYTES:]

    def _tell(self, problem: str) -> None:
        """Forgets the process; prints its problem, if it has one."""
        if self._process is not None and self._process.stderr is not None:
            self._process.stderr.close()
        self._process = None
        if problem:
            last = self._said.decode("utf-8", "replace").strip().splitlines()[-1:]
            tell(": ".join([f"--on-threshold: {self._words[0]} {problem}", *last]))


def _variables(breach: Breach, run_id: str, target: str) -> dict[str, str]:
    found = {
        "HARDSTONE_RUN": run_id,
        "HARDSTONE_TARGET": target,
        "HARDSTONE_VALUE_NS": str(breach.value_ns),
        "HARDSTONE_THRESHOLD_NS": str(breach.threshold_ns),
        "HARDSTONE_AT_NS": str(breach.at_ns),
    }
    return found if breach.cpu is None else {**found, "HARDSTONE_CPU": str(breach.cpu)}


# Looking takes no more than this share of a CPU, and comes no more often than the interval.
_COST_SHARE = 100
_SECOND_NS = 1_000_000_000
_PLAIN_NS = 10 * _SECOND_NS
_HALF_TICK_NS = _SECOND_NS // 2  # ticks are a second apart: the one nearest to a moment is taken


class RecordingReporter(PassiveReporter):
    """Prints warnings and breaches only; its subclasses show more."""

    interval_ns = _SECOND_NS

    def __init__(self, command: BreachCommand | None) -> None:
        self._command = command
        self._plan: Plan | None = None
        self._run_id = ""
        self._largest_ns = 0  # of the breaches that were reported
        self._next_ns = 0
        self._can_look = True
        self._before: tuple[int, int] | None = None  # elapsed, count

    def take(self, event: CampaignEvent) -> None:
        """Prints what happens, and looks at the recording when it is time."""
        if isinstance(event, RunStarted):
            self._plan, self._run_id = event.plan, event.run_id
        elif isinstance(event, Warned):
            self.say(event.text)
        elif isinstance(event, LeftAlone):
            self.say(left_alone_text(event))
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

    def show(self, look: Snapshot | None, progress: Progress) -> None:
        """Shows how far it is; `look` is None if it was too early for one."""

    def _tick(self, event: Tick) -> None:
        if self._command is not None:
            self._command.poll()
        is_time = event.elapsed_ns >= self._next_ns
        look = self._look(event) if is_time and self._can_look and self.wants_looks() else None
        left_ns = max(0, event.planned.expected_ns - event.elapsed_ns)
        self.show(look, Progress(event.elapsed_ns, left_ns, self._rate_hz(look, event.elapsed_ns)))

    def _look(self, event: Tick) -> Snapshot:
        """Looks, reports a breach, and sets the time of the next look."""
        look = event.look()
        self._can_look = look.can_come
        pause_ns = max(self.interval_ns, look.cost_ns * _COST_SHARE)
        self._next_ns = event.elapsed_ns + pause_ns - _HALF_TICK_NS
        if look.result is not None:
            self._look_for_breach(look.result)
        elif not look.can_come:
            self.say(f"the live view is not available: {look.reason}")
        return look

    def _rate_hz(self, look: Snapshot | None, elapsed_ns: int) -> float | None:
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
            self._tell_breach(worst_breach(result, limit_ns), "measurement continues")

    def _finish(self, result: Result) -> None:
        if result.status != "measured":
            self._tell_breach(reported_breach(result), "measurement stopped")
        self._look_for_breach(result)

    def _tell_breach(self, breach: Breach | None, follows: str) -> None:
        """Reports the first breach, and each that is larger than all before it."""
        if breach is None or breach.value_ns <= self._largest_ns or self._plan is None:
            return
        self._largest_ns = breach.value_ns
        where = "" if breach.cpu is None else f" on CPU {breach.cpu}"
        after = f", {format_span(breach.at_ns)} after the start"
        limit = format_ns(breach.threshold_ns)
        self.say(f"{format_ns(breach.value_ns)}{where}{after} is above {limit}; {follows}")
        if self._command is not None:
            self._command.start(breach, self._run_id, self._plan.target)


class PlainRecording(RecordingReporter):
    """A line at the start, and one every ten seconds."""

    interval_ns = _PLAIN_NS

    def wants_looks(self) -> bool:
        return True

    def take(self, event: CampaignEvent) -> None:
        super().take(event)
        if isinstance(event, MeasuringStarted):
            self.say(f"{event.planned.test}  about {format_span(event.planned.expected_ns)}")

    def show(self, look: Snapshot | None, progress: Progress) -> None:
        if look is not None and look.result is not None:
            self.say(_recording_line(look.result, progress))


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
        self._said = "no value has been recorded yet"
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

    def show(self, look: Snapshot | None, progress: Progress) -> None:
        if look is not None:
            self._result = look.result or self._result
            self._said = look.reason or self._said
            self._rate = progress.rate_hz or self._rate
        shown = Progress(progress.elapsed_ns, progress.left_ns, self._rate)
        view = recording_view(TEST, self._result, self._said, shown, self._live.console)
        self._live.update(view, refresh=True)


def record(options: LatstatOptions) -> int:
    """A new recording: the exit code."""
    if options.go_on and options.threshold is None:
        raise InputError("--go-on needs a threshold", "add --threshold TIME")
    command = _command(options, has_threshold=options.threshold is not None)
    name = lab_target(options.target, options)
    with closing(find_target(name)) as target:
        prepared = prepare(target, name, (TEST,), plan_options(options))
        count = len(prepared.plan.tests)
        if count != 1:
            raise InputError(
                f"latstat records under one load and one CPU configuration, not {count}",
                "join elements with +, as in heavy+storm, or use: hardstone run TMR-P-LAT",
            )
        return _run(prepared, options, command, None)


def resume(reference: str, options: LatstatOptions, given: set[str]) -> int:
    """Goes on with a recording that was cut off; `given` are the options that were typed."""
    whole = _find_unfinished(open_store(options.store), reference)
    name = whole.plan.target
    asked_name = lab_target(options.target if "target" in given else name, options)
    if asked_name != name:
        raise InputError(
            f"run {whole.id} was measured on {name}, not on {asked_name}",
            "leave out the target and its options: a recording is resumed where it started",
        )
    params = whole.plan.tests[0].params
    has_threshold = whole.plan.watched_ns is not None or bool(params.get("threshold_ns"))
    command = _command(options, has_threshold=has_threshold)
    with closing(find_target(name)) as target:
        asked = prepare(target, name, (TEST,), plan_options(options))
        check_agreement(whole, asked.plan, given, options.params)
        prepared = _prepared_rest(asked, whole)
        return _run(prepared, options, command, whole)


def _find_unfinished(store: Store, reference: str) -> RunDocument:
    """The run that `reference` names, by default the last recording that is not complete.

    InputError where it cannot be resumed, with the reason.
    """
    if not reference:
        return _last_unfinished(store)
    for run_id in store.recorded_now():
        if run_id.startswith(reference):
            raise recorded_now(run_id)
    document = store.load(reference)
    _check(store, document)
    return document


def _last_unfinished(store: Store) -> RunDocument:
    spent: list[str] = []
    for entry in reversed(store.runs()):
        if entry.status != "complete":
            document = store.load(entry.id)
            if not is_of(document, TEST):
                continue
            _check(store, document)
            if _rest(document) is not None:
                if spent:
                    tell(f"{_nothing_left(spent)}; run {document.id} is resumed")
                return document
            spent.append(document.id)
    if spent:
        raise InputError(_nothing_left(spent), _START)
    raise InputError("no recording was interrupted, so there is none to resume", _START)


def _nothing_left(run_ids: list[str]) -> str:
    more = len(run_ids) - 1
    have = f"run {run_ids[0]} and {more} earlier have" if more else f"run {run_ids[0]} has"
    return f"{have} nothing left to record"


def _check(store: Store, document: RunDocument) -> None:
    """InputError for a run that cannot be resumed."""
    if not is_of(document, TEST):
        cause = (
            f"run {document.id} is not a recording of {TEST} alone: it has {tests_text(document)}"
        )
        raise InputError(cause, _START)
    if document.status == "complete":
        raise InputError(f"run {document.id} is complete and cannot be resumed", _START)
    if document.id in store.recorded_now():
        raise recorded_now(document.id)


def _prepared_rest(asked: Prepared, whole: RunDocument) -> Prepared:
    """The rest of the recorded plan on the same target; InputError if the probe cannot do it."""
    check_params(whole, asked.register)
    plan = _rest(whole)
    if plan is None:
        raise InputError(_nothing_left([whole.id]), _START)
    return replace(asked, plan=plan)


def _rest(whole: RunDocument) -> Plan | None:
    """The plan of what is left. Each CPU is to have as many samples as were asked for, so that the
    CPU with the fewest counts."""
    counts: dict[object, int] = {}
    for result in whole.results:
        for series in result.series:
            if series.name == _WAKEUP:
                cpu = series.labels.get("cpu")
                counts[cpu] = counts.get(cpu, 0) + series.count
    return rest_of(whole.plan, measured_ns(whole), min(counts.values(), default=0))


def _run(
    prepared: Prepared,
    options: LatstatOptions,
    command: BreachCommand | None,
    whole: RunDocument | None,
) -> int:
    if options.dry_run:
        return show_plan(prepared.plan, as_json=options.as_json)
    reporter = suitable(
        partial(RecordingReporter, command),
        partial(PlainRecording, command),
        partial(LiveRecording, command),
        quiet=options.quiet,
    )
    show = print_json if options.as_json else print_run
    run = partial(
        run_one, prepared, options, show, wants_report=False, reporter=reporter, resumes=whole
    )
    if command is None:
        return run()[1]
    with unwind_on_termination(), command:
        _, code = run()
        command.finish()
    return code


def _command(options: LatstatOptions, *, has_threshold: bool) -> BreachCommand | None:
    text = options.on_threshold
    if text is None:
        return None
    if not has_threshold:
        raise InputError("--on-threshold needs a threshold", "add --threshold TIME")
    return BreachCommand(command_words(text))


_MOST_ROWS = 18


@dataclass(frozen=True)
class Progress:
    """How far a recording is. `rate_hz` is None until two looks could tell it."""

    elapsed_ns: int
    left_ns: int
    rate_hz: float | None


def recording_view(
    name: str, result: Result | None, said: str, progress: Progress, console: Console
) -> Group:
    """The live view of a recording; `said` stands in for `result` where there is none."""
    spans = f"{format_span(progress.elapsed_ns)} elapsed, {format_span(progress.left_ns)} left"
    head = words(f"{name}  {spans}", "bold")
    if result is None:
        return Group(head, words(said))
    found = wakeups(result)
    rows = table_rows(found, quantum_of(found[0], result.instrument) if found else 1.0)
    if progress.rate_hz is not None:
        rows.append(f"{format_count(round(progress.rate_hz))} wake-ups per s")
    return Group(head, *lines_of([*rows, "", *bar_rows(found, console, _MOST_ROWS)], console))


def _recording_line(result: Result, progress: Progress) -> str:
    """How far the recording is, in one line of plain characters, for pipes."""
    found = wakeups(result)
    count = sum(series.count for series in found)
    worst = max(found, key=lambda one: one.max or 0, default=None)
    text = f"{format_span(progress.elapsed_ns)}: {count} wake-ups"
    if progress.rate_hz is not None:
        text += f", {round(progress.rate_hz)} per s"
    if worst is None:
        return text
    cpu = worst.labels.get("cpu")
    where = "" if cpu is None else f" on CPU {cpu}"
    return f"{text}, worst {format_ns(worst.max)} at {moment_of_worst(worst)}{where}"
