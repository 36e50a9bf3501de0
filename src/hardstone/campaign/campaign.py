"""Runs a plan on a target: the only place that joins target, conditions and plan; and the exit
code of what came.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from types import FrameType
from typing import TypeVar

import msgspec

import hardstone
from hardstone.campaign.collect import (
    CampaignEvent,
    Collector,
    FaultTolerantJournal,
    LeftAlone,
    MeasuringFinished,
    MeasuringStarted,
    RunFinished,
    RunStarted,
    TargetGoneError,
    Tick,
    Warned,
    carried,
    measure,
    skipped,
)
from hardstone.doctor.diagnose import advice_lines, diagnose, realtime_refusal
from hardstone.errors import (
    EXIT_GATE,
    EXIT_INTERRUPTED,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    HardstoneError,
    InputError,
    remedy_text,
    worst_code,
)
from hardstone.event_names import THRESHOLD, TIRE_TESTS
from hardstone.hosts import addresses_of
from hardstone.model import (
    RUN_SCHEMA,
    ClockCheck,
    Event,
    Facts,
    Plan,
    PlannedTest,
    Register,
    Result,
    RunDocument,
    RunStatus,
    Scalar,
    Tool,
    Trust,
)
from hardstone.stats.conditions import condition_of, environment_moved, names_in
from hardstone.stats.join import joined_run
from hardstone.stats.sustained import mark_breach
from hardstone.stats.trust import grade_run, has_run
from hardstone.store.journal import Journal
from hardstone.store.place import StoreError, new_run_id
from hardstone.store.store import Store
from hardstone.targets.base import NotSentError, Stop, Target, run_options


def _exit_code(
    document: RunDocument, *, is_target_gone: bool = False, is_broken: bool = False
) -> int:
    """0 only if every requested test was measured and can be trusted. Of the tests that a pattern
    or a battery chose, those that the system does not support count as no failure.

    `is_target_gone`: it cannot be reached, or its probe does not answer. `is_broken`: the probe
    sent something else than a stream, which is bad input. A behaviour that fails is a finding about
    the system and not an error.
    """
    results = document.results
    is_whole = all(
        (one.status == "measured" and one.complete) or _is_only_unsupported(one, document)
        for one in results
    )
    applies = {
        EXIT_INTERRUPTED: document.status == "interrupted",
        EXIT_UNREACHABLE: is_target_gone,
        EXIT_USAGE: is_broken,
        EXIT_GATE: any(map(_crossed_threshold, results)),
        EXIT_PRIVILEGE: any(result.status == "denied" for result in results),
        EXIT_UNTRUSTWORTHY: not is_whole or document.trust.grade == "untrustworthy",
    }
    return worst_code(code for code, is_so in applies.items() if is_so)


def _is_only_unsupported(result: Result, document: RunDocument) -> bool:
    """Whether the system lacks what the test needs, and nobody asked for it by name.

    A load or a CPU configuration is asked for by name: where nothing was measured under it, its
    results are not excused.
    """
    if result.status != "unsupported" or not result.reason:
        return False
    words = document.plan.command
    is_chosen = words[:1] == ["evaluate"] or (
        words[:1] == ["run"]
        and result.test not in map(str.upper, words)
        and any(fnmatchcase(result.test, word.upper()) for word in words[1:])
    )
    return is_chosen and any(
        one.status == "measured" and condition_of(one) == condition_of(result)
        for one in document.results
    )


def _standing_code(document: RunDocument) -> int:
    """The exit code of all parts of a resumed run together; how its last one ended is another
    matter."""
    is_crossed = any(map(_crossed_threshold, document.results))
    is_doubtful = document.trust.grade == "untrustworthy"
    return worst_code(
        code
        for code, is_so in ((EXIT_GATE, is_crossed), (EXIT_UNTRUSTWORTHY, is_doubtful))
        if is_so
    )


def _crossed_threshold(result: Result) -> bool:
    """Whether a value passed the limit that the user gave, which is a failed gate; also where
    measuring went on."""
    is_event = any(event.name == THRESHOLD for event in result.events)
    return is_event and (result.status == "measured" or result.complete)


def realtime_advice(
    document: RunDocument, facts: Mapping[str, Scalar], probe_path: str | None
) -> list[str]:
    """What to grant if tests ran without the real-time scheduling that was requested."""
    is_refused = facts.get("limits.can_realtime") is False
    is_lacking = any(
        result.conditions.realtime is False
        if has_run(result)
        else is_refused and result.status == "denied"
        for result in document.results
    )
    if document.plan.policy == "other" or not is_lacking:
        return []
    refusal = realtime_refusal(facts, probe_path or "hardstone-probe")
    if refusal is None:
        return [
            "not scheduled as real-time: it was granted before the run; the notes of the results "
            "name what refused it"
        ]
    steps = [f"type: {one.command}" if one.command else one.words for one in refusal.steps[:1]]
    reason = facts.get("limits.realtime_reason")
    return ["not scheduled as real-time: " + "; ".join(map(str, filter(None, [reason, *steps])))]


Answer = TypeVar("Answer")

_UNLOCKED = "simultaneous measurements would disturb each other unnoticed"
_STOPPING = "Stopping; results so far are kept. Press Ctrl-C again to quit now."


@dataclass(frozen=True)
class Outcome:
    """The document of a run and its exit code.

    `problem` says why the document is not stored, and `spare` where it is kept until it can be.
    """

    document: RunDocument
    exit_code: int
    problem: StoreError | None = None
    spare: Path | None = None


class Campaign:
    """Runs a plan on an open target and stores what comes, test by test."""

    def __init__(
        self,
        target: Target,
        store: Store,
        on_event: Callable[[CampaignEvent], None] = lambda event: None,
        why_end: Callable[[RunDocument], str | None] | None = None,
        more: Callable[[RunDocument], Sequence[PlannedTest]] = lambda document: (),
        wait_s: float | None = None,
        note: Callable[[Result], Sequence[Event]] = lambda result: (),
        stop: Stop | None = None,
    ) -> None:
        """`why_end` is called after each result: with a reason, the other tests are skipped.

        `more` is called once all tests of the plan have a result: what it gives is added to the
        plan and measured, until it gives none. `wait_s`: the longest wait for another measurement
        of the machine; None: until it has ended. `note` gives events that a result is stored with.
        `stop` is what Ctrl-C sets.
        """
        self._wait_s = wait_s
        self._note = note
        self._target = target
        self._store = store
        self._on_event = on_event
        self._is_open_ended = why_end is not None
        self._why_end = why_end or (lambda document: None)
        self._more = more
        self._end: str | None = None
        self._stop = stop or Stop()
        self._gone: str | None = None
        self._is_announced = False
        self._is_cut_short = False
        self._is_unsent = False
        self._is_broken = False
        self._is_silent = False

    def run(
        self,
        plan: Plan,
        facts: Facts,
        register: Register | None = None,
        resumes: RunDocument | None = None,
    ) -> Outcome:
        """Runs every test of `plan`; `facts` are those that the plan was made with.

        The document keeps what `register` declares of the tests of the plan. `resumes`: a stored
        run, of one test, of which this one becomes a part.
        """
        loads = [*plan.loads, *(one.load for one in plan.tests)]
        plan = msgspec.structs.replace(plan, addresses=addresses_of(loads, plan.addresses))
        document = _new_document(plan, facts, self._target, register)
        with (
            stop_on_signals(self._stop, leaves=self._target.is_unattended),
            self._target.alone(
                self._stop,
                self._warn,
                lambda why: self._warn(f"{why}; {_UNLOCKED}"),
                self._wait_s,
            ),
            closing(self._journal(document, resumes)) as journal,
        ):
            keeper = self._record(journal, document, (resumes or document).id)
        self._on_event(RunFinished((resumes or document).id, self._stop.is_abort))
        is_gone = self._gone is not None or self._is_silent
        code = _exit_code(document, is_target_gone=is_gone, is_broken=self._is_broken)
        if resumes is not None and not self._is_of_its_own(keeper.path, document):
            document = joined_run(resumes, document)
            code = worst_code((code, _standing_code(document)))
        if self._stop.is_set() and self._gone is None:
            code = EXIT_INTERRUPTED  # also where it came after the last test
        if keeper.problem is not None:
            code = keeper.problem.exit_code
        return Outcome(document, code, keeper.problem, keeper.spare)

    def collect(self, journal: Journal, document: RunDocument) -> Outcome:
        """Goes on with a run that was left on its target, where its tests run or have ended.

        `document` has the results that `journal` has. Tests that were not sent are skipped. Raises
        TargetAwayError where the target does not answer, and the run stays there.
        """
        with stop_on_signals(self._stop, leaves=True), closing(journal):
            keeper = self._record(journal, document, document.id)
        self._on_event(RunFinished(document.id, self._stop.is_abort))
        code = _exit_code(
            document, is_target_gone=self._gone is not None, is_broken=self._is_broken
        )
        if keeper.problem is not None:
            code = keeper.problem.exit_code
        return Outcome(document, code, keeper.problem, keeper.spare)

    def _record(self, journal: Journal, document: RunDocument, run_id: str) -> FaultTolerantJournal:
        """Runs the tests that have no result yet, and stores the run."""
        self._on_event(RunStarted(run_id, document.plan))
        keeper = FaultTolerantJournal(
            journal, document, lambda error: self._warn(f"{error}; measuring continues")
        )
        options = run_options(document.plan, document.instrument)
        names = names_in(document)
        self._run_tests(document, Collector(self._target, options, keeper, self._stop, names))
        self._close(document)
        keeper.finish()
        if keeper.problem is None:
            self._target.stored()
        return keeper

    def _journal(self, document: RunDocument, resumes: RunDocument | None) -> Journal:
        if resumes is None:
            return self._store.journal(document, self._target)
        journal = self._store.journal(document, self._target, resumes=resumes.id)
        # Nobody else can change it from here on; what somebody did before is not in `resumes`.
        if self._store.load(resumes.id) != resumes:
            journal.close()
            raise StoreError(f"run {resumes.id} was resumed by another process", "try again")
        return journal

    def _is_of_its_own(self, path: Path | None, document: RunDocument) -> bool:
        """Whether it is stored as a run of its own: the one that it resumes is gone or damaged."""
        if path != self._store.path_of(document.id):
            return False
        self._warn(f"the run to resume is gone or damaged; stored as {document.id}")
        return True

    def _run_tests(self, document: RunDocument, collector: Collector) -> None:
        position = len(document.results)
        while self._has_next(document, position, collector.journal):
            planned = document.plan.tests[position]
            position += 1
            self._run_test(planned, position, document, collector)
        self._is_cut_short = self._stop.is_set()

    def _has_next(
        self, document: RunDocument, position: int, journal: FaultTolerantJournal
    ) -> bool:
        """Whether the plan has a test after `position` of them, be it one that is added now."""
        plan = document.plan
        if position == len(plan.tests) and self._skip_reason() is None:
            added = self._more(document)
            if added:
                document.plan = msgspec.structs.replace(plan, tests=[*plan.tests, *added])
                journal.planned(added)
        return position < len(document.plan.tests)

    def _run_test(
        self, planned: PlannedTest, position: int, document: RunDocument, collector: Collector
    ) -> None:
        total = len(document.plan.tests)
        why = self._skip_reason()
        if why is None:
            self._on_event(MeasuringStarted(planned, position, total))
            asked = carried(planned, document.results)
            if not self._target.has_more():
                self._announce(asked, position, document, collector)
            result = self._measure(planned, asked, collector)
        else:
            result = skipped(planned, document.plan, why)
        collector.tell_looks(result)
        mark_breach(result, document.plan.watched_ns)
        result.events.extend(self._note(result))
        document.results.append(result)
        collector.journal.result(result)
        self._end = self._end or self._why_end(document)
        self._on_event(MeasuringFinished(planned, position, total, result))

    def _announce(
        self, asked: PlannedTest, position: int, document: RunDocument, collector: Collector
    ) -> None:
        """Tells the target the tests that need nothing of the results before them: what the first
        measurement of a test calibrates, the others are given."""
        known = {one.test for one in document.results if one.status == "measured"}
        seen, following = {asked.test}, []
        for planned in document.plan.tests[position:]:
            if self._is_open_ended or planned.test in seen - known:
                break
            seen.add(planned.test)
            following.append(carried(planned, document.results))
        self._target.announce(following, collector.options)
        if self._target.is_unattended:
            span_ns = sum(one.expected_ns for one in (asked, *following))
            self._on_event(LeftAlone(1 + len(following), span_ns))

    def _warn(self, text: str) -> None:
        self._on_event(Warned(text))

    def _skip_reason(self) -> str | None:
        if self._gone is not None:
            return f"not run: {self._gone}"
        if self._end is not None:
            return f"not run: {self._end}"
        is_over = self._stop.is_abort or not self._target.has_more()
        return "not run: the run was interrupted" if self._stop.is_set() and is_over else None

    def _measure(self, planned: PlannedTest, asked: PlannedTest, collector: Collector) -> Result:
        """The result of `asked`: `planned` with the parameters that the run has found."""
        ticker = _Ticker(lambda elapsed_ns: self._tick(planned, collector, elapsed_ns))

        def on_idle(said: str = "") -> None:
            if said:
                self._warn(f"{planned.test}: {said}")
            ticker.look()

        try:
            measured = measure(collector, asked, on_idle)
        except TargetGoneError as error:
            self._gone = error.cause
            self._warn(str(error))
            return error.result
        except NotSentError:
            if not self._stop.is_set():
                self._is_unsent = True
                self._end = "hardstone was ended before the test was sent to the target"
            why = self._skip_reason() or "not run: the run was interrupted"
            return skipped(planned, collector.journal.plan, why)
        self._is_broken = self._is_broken or measured.is_broken
        self._is_silent = self._is_silent or measured.is_silent
        if measured.is_broken or measured.is_silent:
            result = measured.result
            name = collector.names.name(result)
            self._warn(f"{name}: {result.reason}; {remedy_text(result.remedy, result.command)}")
        return measured.result

    def _tick(self, planned: PlannedTest, collector: Collector, elapsed_ns: int) -> None:
        warning = collector.journal.take_warning()
        if warning is not None:
            self._warn(f"{warning}; a power cut now would lose this test")
        if self._stop.is_set() and not self._is_announced:
            self._is_announced = True
            self._warn(_STOPPING)
        self._on_event(Tick(planned, elapsed_ns, lambda: collector.look(planned.test)))

    def _close(self, document: RunDocument) -> None:
        """Adds what is known only at the end of the run."""
        document.clock_check = self._clock_check()
        after = self._at_end(self._target.facts, "the facts")
        if after is not None:
            document.environment_moved = environment_moved(document.system, after.facts)
        document.finished_utc = now_utc()
        document.status = self._status(document)
        document.advice = [
            *realtime_advice(document, document.system, self._target.probe_path()),
            *advice_lines(diagnose(document.system, target=document.plan.target)),
        ]
        document.trust = grade_run(document)

    def _status(self, document: RunDocument) -> RunStatus:
        if self._gone is None and self._is_cut_short:
            return "interrupted"
        is_whole = all(result.complete for result in document.results)
        is_lost = self._gone is not None or self._is_broken or self._is_unsent
        return "complete" if is_whole and not is_lost else "incomplete"

    def _clock_check(self) -> ClockCheck | None:
        """The clock check, also of a target that is gone: then as it was read before."""
        if self._gone is None and not self._stop.is_abort:
            return self._at_end(self._target.clock_check, "the clock")
        with suppress(HardstoneError):
            return self._target.clock_check()
        return None

    def _at_end(self, ask: Callable[[], Answer], what: str) -> Answer | None:
        """The target's answer after its last test; None once it is gone."""
        if self._gone is not None or self._stop.is_abort:
            return None
        try:
            return ask()
        except HardstoneError as error:
            if isinstance(error, InputError):
                self._is_broken = True
            else:
                self._gone = error.cause
            self._warn(f"{what} could not be read again after the run: {error}")
            return None


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_on_signals(stop: Stop, *, leaves: bool = False) -> Iterator[None]:
    """Within, the first signal sets `stop`, the second aborts it, and the third does what
    Ctrl-C did before. With `leaves`, only Ctrl-C stops the measurement: a terminal that is closed,
    or SIGTERM, leaves it.

    A signal that is ignored (nohup) stays ignored. Only the main thread can set handlers; in
    another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    wanted = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    interrupt = before[signal.SIGINT]

    def take(number: int, frame: FrameType | None) -> None:
        if stop.is_abort:
            if callable(interrupt):
                interrupt(number, frame)
            raise KeyboardInterrupt
        if leaves and number != signal.SIGINT:
            stop.leave()
        elif stop.is_set():
            stop.abort()
        else:
            stop.set()

    for number in wanted:
        signal.signal(number, take)
    try:
        yield
    finally:
        for number in wanted:
            if signal.getsignal(number) is take:  # what an interrupt has set stays
                signal.signal(number, before[number])


class _Ticker:
    """Calls `on_tick` at most once a second."""

    def __init__(self, on_tick: Callable[[int], None]) -> None:
        self._on_tick = on_tick
        self._start_ns = self._last_ns = time.monotonic_ns()

    def look(self) -> None:
        now_ns = time.monotonic_ns()
        if now_ns - self._last_ns >= 1_000_000_000:
            self._last_ns = now_ns
            self._on_tick(now_ns - self._start_ns)


def _new_document(
    plan: Plan, facts: Facts, target: Target, register: Register | None
) -> RunDocument:
    """The document of a run that begins, still without results."""
    described = {one.test for one in plan.tests}
    if plan.sweep is not None:
        described |= set(TIRE_TESTS)  # a sweep may add any of them
    known = [] if register is None else register.tests
    tool = Tool(
        version=hardstone.__version__,
        probe_version=facts.probe_version,
        probe_sha256=target.probe_sha256(),
        compiler=facts.compiler,
        libc=facts.libc,
    )
    return RunDocument(
        schema=RUN_SCHEMA,
        id=new_run_id(),
        name=plan.name,
        started_utc=now_utc(),
        finished_utc=None,
        status="incomplete",
        trust=Trust(grade="indicative", reasons=["the run is not finished"]),
        tool=tool,
        system=facts.facts,
        sources=facts.sources or [],
        plan=plan,
        instrument=facts.instrument,
        results=[],
        descriptors=[one for one in known if one.id in described],
    )


def now_utc() -> str:
    """The time of day as documents have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pair_plan(plan: Plan, settings: Sequence[str], pairs: int, seed: int) -> Plan:
    """`plan`, of one test, as `pairs` pairs of it.

    Of every two pairs one begins without the settings and one with them, in an order drawn by
    `seed`, so that neither drift nor order looks like an effect.
    """
    if len(plan.tests) != 1:
        raise ValueError("pairs need one test")
    without = plan.tests[0]
    with_settings = msgspec.structs.replace(without, settings=list(settings))
    tests: list[PlannedTest] = []
    draw = random.Random(seed)  # noqa: S311 - an order that can be repeated, no secret
    orders: list[bool] = []
    while len(orders) < pairs:
        is_with_first = draw.random() < 0.5
        orders += [is_with_first, not is_with_first]
    for is_with_first in orders[:pairs]:
        pair = [without, with_settings]
        tests += reversed(pair) if is_with_first else pair
    return msgspec.structs.replace(plan, tests=tests)
