"""The answer of a run: how late, why, what next; and the rows of its first screen.

The terminal's first screen and the opening of the report show the same values.
docs/method/answer.md has the table of judgements and the reason for each limit.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from hardstone import event_names
from hardstone.calling import granting
from hardstone.catalogue import FirstScreenRow, load_catalogue
from hardstone.doctor.diagnose import (
    LEVELS,
    REALTIME_RULES,
    Finding,
    diagnose,
    doctor_command,
)
from hardstone.errors import InputError
from hardstone.figure_text import quantile_value
from hardstone.model import Result, RunDocument, Series
from hardstone.present.notices import deviations
from hardstone.present.origin import means_only, origin_text, tool_title
from hardstone.present.overview import FailedClaim, families, timings
from hardstone.present.why_late import LateValue, late_values
from hardstone.stats.causes import cpu_of
from hardstone.stats.conditions import (
    NOT_KNOWN,
    Condition,
    condition_of,
    conditions_in,
    listed,
    sweep_points,
)
from hardstone.stats.consistency import (
    KindOfTime,
    counts_instructions,
    is_contradictory,
    kind_of_time,
    series_contradictions,
    trust_of,
)
from hardstone.stats.identity import highest_of, step_of
from hardstone.stats.quantiles import (
    count_text,
    is_count_known,
    is_printable,
    median_of,
    quantile_of_series,
    quantum_of,
)
from hardstone.stats.trust import MISSING, has_run, lacks, lacks_realtime
from hardstone.systems.criteria import load_criteria
from hardstone.systems.moments import Moments, load_moments
from hardstone.systems.published import Address, figures_of, load_studies
from hardstone.systems.published import Figure as PublishedFigure
from hardstone.systems.rating import ns_of_score
from hardstone.systems.subjects import amount_of
from hardstone.units import format_count
from hardstone.wording import (
    format_value,
    one_line,
    read_value,
    series_text,
    short,
    spoken,
    time_machine,
    worst_value,
)

Grade = Literal["good", "fair", "poor", "bad", "unjudged"]
WAKE_UP = "TMR-P-LAT"
_NOT_REALTIME = "not scheduled as real-time"

# The worst observed wake-up up to which a judgement holds: a tenth of the period of a loop at
# 1 kHz, a tenth of that of one at 100 Hz, and all of the latter.
JUDGEMENTS: tuple[tuple[int, Grade, str], ...] = (
    (100_000, "good", "real-time as measured"),
    (1_000_000, "fair", "real-time as measured for periods of 10 ms and longer"),
    (10_000_000, "poor", "soft real-time as measured"),
)
_BAD = "not real-time as measured"
LEAST_VALUES = 1000  # on each CPU, for a judgement that more values could only worsen
_LEAST_MARKED = 20
_LEAST_PAIRS = 5  # times the cost of a pair of time stamps: below, a value is the instrument's
_REALTIME = (None, "fifo", "rr", "deadline")


@dataclass(frozen=True)
class Figure:
    """The worst series of a row under one condition. `median_ns` is None if unknown. `cpus`: those
    that the series of the row were measured on, as far as the series name them. `counts`: the
    number of values of each of these series."""

    result: Result
    series: Series
    worst_ns: int
    median_ns: int | None
    about: str = ""
    cpus: frozenset[int] = frozenset()
    counts: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        return self.series.count

    @property
    def count_text(self) -> str:
        """The count for people; of another tool it may be a bound, or not known."""
        return count_text(self.series)

    @property
    def place(self) -> str:
        """ " on CPU 1"; " of thread 1" where the file of another tool names no CPU."""
        thread = self.series.labels.get("thread")
        is_thread = thread is not None and self.cpu == "?"
        return f" of thread {short(thread)}" if is_thread else f" on CPU {self.cpu}"

    @property
    def median_text(self) -> str:
        """The median; "<6 us" of whole microseconds, a bound outside of the buckets; "-" if it is
        not known."""
        if self.median_ns is not None and step_of(self.series) == 1:
            return read_value(self.median_ns, "ns", self.quantum_ns)
        if not is_printable(0.5, self.count):
            return "-"
        with suppress(InputError):
            found = quantile_of_series(self.series, 0.5)
            text = quantile_value(found, "ns", self.quantum_ns, step_of(self.series))
            return text.replace("above ", ">").replace("below ", "<")
        return "-"

    @property
    def quantum_ns(self) -> float:
        """The step of the clock."""
        return quantum_of(self.series, self.result.instrument)

    @property
    def worst_text(self) -> str:
        return read_value(self.worst_ns, "ns", self.quantum_ns)

    @property
    def highest_ns(self) -> int:
        """What the worst may stand for, where values are whole steps."""
        return highest_of(self.series) or self.worst_ns

    @property
    def is_contradictory(self) -> bool:
        return is_contradictory(self.series)

    @property
    def cpu(self) -> str:
        cpu = cpu_of(self.series, self.result)
        return "?" if cpu is None else str(cpu)


@dataclass(frozen=True)
class ScreenRow:
    """One row of the first screen. `figures`: for each condition of the run; None: no values, and
    `states` has why ("not run", "unsupported: ..."). `reference`: a name and the worst observed
    in ns that the row is held against; None: there is none."""

    name: str
    test: str
    figures: list[Figure | None]
    states: list[str]
    reference: tuple[str, float] | None = None

    @property
    def figure(self) -> Figure | None:
        """The figure with the largest worst observed value."""
        found = [one for one in self.figures if one is not None]
        return max(found, key=lambda one: one.worst_ns, default=None)

    @property
    def state(self) -> str:
        return next(filter(None, self.states), "")

    @property
    def ratio(self) -> float | None:
        """The worst observed, in multiples of the reference; None without either."""
        if self.figure is None or self.reference is None:
            return None
        return self.figure.worst_ns / self.reference[1]

    @property
    def mark(self) -> str:
        """ "+": at most the reference, "=": up to 3 times, "-": up to 30 times, "--": more; with
        "?" of so few values that more may change it. None of a figure that cannot be true or is of
        an ordinary thread."""
        figure, ratio = self.figure, self.ratio
        if (
            figure is None
            or ratio is None
            or figure.is_contradictory
            or not _is_realtime(figure.result)
        ):
            return ""
        mark = next((mark for most, mark in _MARKS if ratio <= most), "--")
        return f"{mark}?" if figure.count < _LEAST_MARKED and ratio <= _MARKS[-1][0] else mark


NOT_RUN = "not run"
_MARKS = ((1.0, "+"), (3.0, "="), (30.0, "-"))


@dataclass(frozen=True)
class NextStep:
    """What to do next, and what to type; `command` is "" where nothing can be typed."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class Answer:
    """`sentence`: how late, with the judgement that the figures allow. `figure`: what it is about;
    None where nothing was timed. `late`: the worst value with its cause. `steps`: the largest
    expected effect first."""

    sentence: str
    grade: Grade
    judgement: str
    what: str
    figure: Figure | None
    late: LateValue | None
    cause: str
    failed: list[FailedClaim]
    steps: list[NextStep]


def answer_of(document: RunDocument) -> Answer:
    """The answer of a run that measured anything, or why there is none."""
    rows = screen_rows(document)
    what, figure = _leading(document, rows)
    late = _late_of(figure) if figure else None
    grade, judgement = _judgement(document, figure if what == _WAKE_UP_WORDS else None)
    judgement = judgement or _other_moments(document, figure)
    failed = [
        one for row in zip_longest(*(one.failed for one in families(document))) for one in row
    ]
    claims = sorted(filter(None, failed), key=lambda one: bool(one.uncounted))
    return Answer(
        sentence=_sentence(document, what, figure, judgement),
        grade=grade,
        judgement=judgement,
        what=what,
        figure=figure,
        late=late,
        cause=late.cause if late else "",
        failed=claims,
        steps=list(_steps(document, late, judgement)),
    )


def title_of(document: RunDocument, answer: Answer) -> str:
    """The machine and the answer: "AMD EPYC VM, Linux 6.18: worst wake-up 22.4 ms"."""
    facts = document.system
    if document.imported is not None:
        head = origin_text(document.imported)
        worst = f"worst {answer.what} {worst_text(answer.figure)}" if answer.figure else ""
        return f"{head}: {worst or f'{answer.sentence[:1].lower()}{answer.sentence[1:]}'}"
    machine = short(facts.get("machine.cpu_model"), 40) or short(facts.get("machine.arch"))
    is_virtual = facts.get("virtual.hypervisor") not in (None, "", "none", False)
    release = ".".join(str(facts.get("kernel.release") or "").split("-")[0].split(".")[:2])
    kernel = f"{short(facts.get('kernel.name'))} {short(release)}".strip()
    place = f"{machine or 'machine not known'}{' VM' if is_virtual else ''}"
    where = ", ".join(part for part in (place, kernel) if part)
    if kind := time_machine(facts):  # its figures would pass for those of a very good machine
        where = f"{short(document.plan.target, 40)}, {kind}"
    if answer.figure is None:
        return f"{where}: {answer.sentence[:1].lower()}{answer.sentence[1:]}"
    return f"{where}: worst {answer.what} {worst_text(answer.figure)}"


_WAKE_UP_WORDS = "wake-up"


def _wake_up_of_tool(document: RunDocument) -> tuple[str, Figure] | None:
    """The worst of what another tool has in the place of the wake-up, which ends at another moment:
    "wake-up (thread)"; None where it has none with a maximum."""
    found = []
    for result in document.results:
        for moments in _wake_ups_of_tool(document):
            every = [one for one in result.series if _is_at(result, one, moments)]
            if every:
                worst = max(every, key=lambda one: one.max or 0)
                named = ", ".join(moments.labels.values()) or spoken(moments.series)
                found.append(
                    (f"{_WAKE_UP_WORDS} ({named})", _figure(result, worst, "", every)),
                )
    return max(found, key=lambda one: one[1].worst_ns, default=None)


def _wake_ups_of_tool(document: RunDocument) -> list[Moments]:
    tool = load_moments().get(document.imported.tool) if document.imported is not None else None
    every = tool.series.values() if tool is not None else ()
    return [one for one in every if one.question == "wakeup"]


def _is_at(result: Result, series: Series, moments: Moments) -> bool:
    is_place = (result.test, series.name) == (moments.test, moments.series)
    return is_place and series.max is not None and _fits(series, moments.labels)


def _other_moments(document: RunDocument, figure: Figure | None) -> str:
    """Why the wake-up of another tool is not judged: it is between other moments; "" of others."""
    if figure is None:
        return ""
    found = (
        one.differs
        for one in _wake_ups_of_tool(document)
        if _is_at(figure.result, figure.series, one)
    )
    differs = next(found, "")
    return f"not judged: it {differs}" if differs else ""


def _leading(document: RunDocument, rows: Sequence[ScreenRow]) -> tuple[str, Figure | None]:
    """The figure that the sentence is about, in words: the wake-up, of another tool also between
    its own moments; else the first row of the screen that was measured; else the first test that
    timed anything. Of a sweep, none: its points measure how large a simulation may be."""
    if sweep_points(document):
        return "", None
    has_wake_up = any(row.name == _WAKE_UP_WORDS and row.figure is not None for row in rows)
    if not has_wake_up and (found := _wake_up_of_tool(document)) is not None:
        return found
    for row in rows:
        if row.figure is not None:
            return row.name, row.figure
    for one in timings(document):
        if one.test in event_names.TIRE_TESTS:
            continue
        result = next(r for r in document.results if any(s is one.series for s in r.series))
        return f"{one.test} {one.label}", Figure(result, one.series, one.worst_ns, one.median_ns)
    return "", None


def _late_of(figure: Figure) -> LateValue | None:
    """The worst value of a figure among those that were watched."""
    found = (one for one in late_values(figure.result) if one.late.series is figure.series)
    return next(found, None)


def _judgement(document: RunDocument, wake_up: Figure | None) -> tuple[Grade, str]:
    """The grade and its words; of a run that may not be judged, why."""
    if wake_up is None:
        return "unjudged", ""
    if (why := _why_unjudged(document, wake_up)) is not None:
        return "unjudged", f"not judged: {why}"
    found = (one for one in JUDGEMENTS if wake_up.highest_ns <= one[0])
    _, grade, words = next(found, (0, "bad", _BAD))
    if grade == "bad":  # one value is a proof
        return grade, words
    if min(wake_up.counts, default=wake_up.count) < LEAST_VALUES:
        each = " on each CPU" if len(wake_up.counts) > 1 else ""
        return "unjudged", f"not judged: fewer than {format_count(LEAST_VALUES)} values{each}"
    loads = _loads(document)
    if not loads:
        is_known = wake_up.result.conditions.load is not None
        return grade, f"{words}, {'without load' if is_known else 'load not known'}"
    is_named = len({one.load for one in conditions_in(document)}) > 1  # by the sentence before it
    return grade, words if is_named else f"{words}, load {listed(loads)}"


def _why_unjudged(document: RunDocument, wake_up: Figure) -> str | None:
    result, trust = wake_up.result, trust_of(document)
    kind = kind_of_time(document.system)
    instrument = result.instrument or document.instrument
    least_ns = 0.0
    if instrument is not None:
        least_ns = max(_LEAST_PAIRS * instrument.pair.median, instrument.quantum_ns)
    reason = one_line(trust.reasons[0]) if trust.reasons else "no reason is stored"
    is_ordinary = document.plan.policy == "other" or not _is_realtime(result)
    is_uncounted = lacks(document, "count") or not is_count_known(wake_up.series)
    where = result.conditions
    is_unsaid = document.imported is not None and where.policy is None and where.realtime is None
    found = (
        (any(series_contradictions(result)), "figures of the test cannot be true"),
        (trust.grade == "untrustworthy", f"not trustworthy, {reason}"),
        (kind is KindOfTime.COUNTED, "time counts instructions, it is not time of hardware"),
        (kind is not KindOfTime.HARDWARE, "the processor is or may be emulated"),
        (result.status != "measured", f"{WAKE_UP} {result.status}"),
        (is_ordinary, f"the thread was {_NOT_REALTIME}"),
        (is_unsaid, "the file does not say whether the thread was real-time"),
        (lacks(document, "unit"), "the file does not state the unit of its figures"),
        (lacks(document, "values"), MISSING),
        (is_uncounted, "the file does not say how many values there were"),
        (wake_up.worst_ns <= least_ns, "the clock cannot resolve it"),
    )
    return next((why for is_so, why in found if is_so), None)


def _is_realtime(result: Result) -> bool:
    return not lacks_realtime(result) and result.conditions.policy in _REALTIME


def _loads(document: RunDocument) -> list[str]:
    """The loads that reached their degree while enough wake-ups of a real-time thread were
    measured."""
    found = [
        short(one.conditions.load)
        for one in document.results
        if one.test == WAKE_UP
        and has_run(one)
        and _is_realtime(one)
        and (one.conditions.load or NOT_KNOWN) not in ("none", NOT_KNOWN)
        and not {event.name for event in one.events}.intersection(event_names.SHORT)
        and any(own.name == "wakeup" and own.count >= LEAST_VALUES for own in one.series)
    ]
    return list(dict.fromkeys(found))


def _sentence(document: RunDocument, what: str, figure: Figure | None, judgement: str) -> str:
    if figure is None and document.imported is not None and _lacks_maxima(document):
        has = "means only" if any(means_only(document)) else "no maximum"
        return f"No worst value: the file of {tool_title(document.imported)} has {has}"
    if figure is None:
        return _without_times(document)
    median = "" if figure.median_text == "-" else f"median {figure.median_text}, "
    is_wake_up = what.startswith(_WAKE_UP_WORDS)
    count = sum(figure.counts) if is_wake_up and figure.counts else figure.count
    values = "1 value" if count == 1 else f"{format_count(count)} values"
    if figure.series.histogram.is_cut is True:
        is_known = is_count_known(figure.series)
        values = f"{values} or more" if is_known else "count not known"
    about = f", {figure.about}" if figure.about else ""
    is_of_many = len(figure.counts) > 1 and is_wake_up
    under = f"{figure.place if is_of_many else ''}{_under(document, figure.result)}"
    text = f"Worst {what}{about} {worst_text(figure)}{under} ({median}{values})"
    if document.imported is not None:
        text += f", measured by {tool_title(document.imported)}"
        return f"{text}: {judgement}" if judgement else text
    if judgement:
        return f"{text}: {judgement}"
    return f"{text}; wake-up latency {_why_no_wake_up(document)}"


def _lacks_maxima(document: RunDocument) -> bool:
    timed = [one for each in document.results for one in each.series if one.unit == "ns"]
    return any(one.count and one.max is None for one in timed)


def worst_text(figure: Figure) -> str:
    """A worst value. One that is rounded to the limit of a judgement that it exceeds says so."""
    limits = [limit for limit, _, _ in JUDGEMENTS if limit < figure.worst_ns <= 1.01 * limit]
    return f"just above {format_value(limits[0], 'ns')}" if limits else figure.worst_text


def _why_no_wake_up(document: RunDocument) -> str:
    own = [one for one in document.results if one.test == WAKE_UP]
    if not own or own[0].status == "measured":
        return "was not measured"
    return f"{own[0].status}{f': {one_line(own[0].reason)}' if own[0].reason else ''}"


def _under(document: RunDocument, result: Result) -> str:
    """ " under load kernel, CPUs shielded": what differs between the conditions of the run."""
    found, own = conditions_in(document), condition_of(result)
    parts = []
    if len({one.load for one in found}) > 1:
        parts.append("without load" if own.load == "none" else f"under load {short(own.load)}")
    if len({one.cpu_config for one in found}) > 1:
        parts.append(f"CPUs {short(own.cpu_config)}")
    if len({one.preemption for one in found}) > 1:
        parts.append(f"preemption {short(own.preemption)}")
    return f" {', '.join(parts)}" if parts else ""


def _without_times(document: RunDocument) -> str:
    """What a run says that timed nothing, or whose times are those of a simulation."""
    if sweep_points(document):
        from hardstone.simulation.tables import sweep_sentence

        return sweep_sentence(document)
    if any(one.test in event_names.TIRE_TESTS for one in document.results):
        from hardstone.simulation.tables import tire_lines

        return next(iter(tire_lines(document)), "Nothing was measured")
    claims = [verdict for one in document.results for verdict in one.verdicts]
    counted = [
        (one, own)
        for one in document.results
        for own in one.series
        if own.count and worst_value(own) is not None
    ]
    if counted and not claims:
        result, series = counted[0]
        worst = format_value(worst_value(series), series.unit)
        return f"No time was measured; {result.test} {series_text(series)}: worst {worst}"
    if claims:
        failed = sum(not one.passed for one in claims)
        hold = f"{format_count(len(claims) - failed)} of {format_count(len(claims))} claims hold"
        return f"{hold}; no time was measured"
    lacking = [one for one in document.results if not has_run(one)]
    if lacking:
        reason = f": {one_line(lacking[0].reason)}" if lacking[0].reason else ""
        return f"Nothing was measured: {lacking[0].test} {lacking[0].status}{reason}"
    return "Nothing was measured"


def _steps(document: RunDocument, late: LateValue | None, judgement: str) -> Iterator[NextStep]:
    """What to restore, what to grant, the findings of the doctor, what to measure next."""
    for one in deviations(document):
        if one.command:
            yield NextStep(f"{one.who}: {one.text}", one.command)
    for line in document.advice:
        if line.startswith(_NOT_REALTIME):
            text, _, command = line.partition("; type: ")
            yield NextStep(text, granting(command))
    if document.imported is not None:  # its machine is not at hand, and another tool measured
        return
    target = document.plan.target
    steps = [step for finding in _by_effect(document, late) for step in _step_of(finding, target)]
    yield from steps[:1]
    if "without load" in judgement:
        where = () if target == "local" else ("--target", target)
        command = shlex.join(("hardstone", "run", WAKE_UP, "--load", "heavy", *where))
        yield NextStep("Measure under load: without it a latency says little", command)
    yield from steps[1:]


def _by_effect(document: RunDocument, late: LateValue | None) -> list[Finding]:
    """What the doctor found: what rules out real-time work, then what relieves a cause of the worst
    value, then what hurts; the rest in the order of its rules."""
    if not document.system:
        return []
    kinds = {one.kind for one in late.late.causes} if late else set()
    left_out = {*REALTIME_RULES, *(_OF_EMULATION if counts_instructions(document.system) else ())}
    found = [
        one
        for one in diagnose(document.system, target=document.plan.target).findings
        if one.state == "found" and one.rule not in left_out
    ]
    return sorted(
        (one for one in found if one.level != "note" or kinds.intersection(one.relieves)),
        key=lambda one: (
            one.level != LEVELS[0],
            not kinds.intersection(one.relieves),
            LEVELS.index(one.level),
        ),
    )


_OF_EMULATION = ("emulation", "hypervisor", "steal")  # meant by whoever counts instructions


def _step_of(finding: Finding, target: str) -> Iterator[NextStep]:
    first = finding.steps[0] if finding.steps else None
    if first is None:
        yield NextStep(f"{finding.title}: {finding.found}")
    elif first.command:
        yield NextStep(finding.title, first.command)
    else:
        yield NextStep(f"{finding.title}: {first.words}")


def more_advice(document: RunDocument) -> str:
    """The command that shows all advice; "" where the run has none."""
    if document.imported is not None:
        return ""
    return doctor_command(document.plan.target) if document.advice else ""


def screen_rows(document: RunDocument) -> list[ScreenRow]:
    """The fixed rows, in the order of the catalogue, for the conditions of the run."""
    conditions = conditions_in(document)
    is_of_hardware = kind_of_time(document.system) is KindOfTime.HARDWARE
    return [
        _row(document, one, conditions, is_of_hardware) for one in load_catalogue().first_screen
    ]


def other_rows(document: RunDocument, rows: Sequence[ScreenRow]) -> list[ScreenRow]:
    """A row for each series of durations that none of `rows` shows, in the order of the run."""
    shown = {id(one.series) for row in rows for one in row.figures if one is not None}
    conditions = conditions_in(document)
    found: dict[tuple[str, str], ScreenRow] = {}
    for result in document.results:
        for series in result.series:
            is_release = result.test == WAKE_UP and series.name == "release"  # of the same wake-ups
            if series.unit != "ns" or series.max is None or series.derived or is_release:
                continue
            if id(series) in shown:
                continue
            name = series_text(series)
            row = found.setdefault(
                (result.test, name),
                ScreenRow(name, result.test, [None] * len(conditions), [""] * len(conditions)),
            )
            place = conditions.index(condition_of(result))
            row.figures[place] = _figure(result, series, "", [series])
    return list(found.values())


def _row(
    document: RunDocument,
    row: FirstScreenRow,
    conditions: Sequence[Condition],
    is_of_hardware: bool,
) -> ScreenRow:
    results = [one for one in document.results if one.test == row.test]
    # One choice for all conditions, so that they can be compared.
    fitting: list[tuple[Result, Series]] = []
    about = ""
    for one in row.figures:
        fitting = [
            (result, series)
            for result in results
            for series in result.series
            if series.name == one.series and series.max is not None and _fits(series, one.labels)
        ]
        if fitting:
            about = one.about
            break
    figures: list[Figure | None] = []
    states = []
    for condition in conditions:
        own = [pair for pair in fitting if condition_of(pair[0]) == condition]
        worst = max(own, key=lambda pair: pair[1].max or 0, default=None)
        figures.append(_figure(*worst, about, [series for _, series in own]) if worst else None)
        is_imported = document.imported is not None
        states.append("" if worst else _state(results, condition, row, is_imported=is_imported))
    worst_of = max(fitting, key=lambda pair: pair[1].max or 0, default=None)
    # What stands for a figure is another interval: no reference for it.
    has_reference = is_of_hardware and not about and document.imported is None
    reference = _reference(row, worst_of) if has_reference else None
    return ScreenRow(row.name, row.test, figures, states, reference)


def _figure(result: Result, series: Series, about: str, every: Sequence[Series]) -> Figure:
    median = None
    if is_printable(0.5, series.count):
        with suppress(InputError):  # an unreadable histogram is reported as a contradiction
            median = median_of(series)
    cpus = [one.labels.get("cpu") for one in every]
    known = frozenset(one for one in cpus if isinstance(one, int))
    counts = tuple(one.count for one in every)
    return Figure(result, series, series.max or 0, median, about, known, counts)


def _fits(series: Series, labels: Mapping[str, str]) -> bool:
    return all(str(series.labels.get(key)) == value for key, value in labels.items())


def _state(
    results: Sequence[Result], condition: Condition, row: FirstScreenRow, *, is_imported: bool
) -> str:
    own = [one for one in results if condition_of(one) == condition]
    if not own:
        return NOT_RUN
    if own[0].status == "measured":
        filled = [one for one in own[0].series if one.count]
        if not is_imported or not filled:
            return "no values"
        has_any = any(
            one.name == figure.series and _fits(one, figure.labels)
            for one in filled
            for figure in row.figures
        )
        return "no maximum in the file" if has_any else "not in the file"
    reason = f": {one_line(own[0].reason)}" if own[0].reason else ""
    return f"{own[0].status}{reason}"


def _reference(
    row: FirstScreenRow, shown: tuple[Result, Series] | None
) -> tuple[str, float] | None:
    """The worst observed of a published system, of the series with the same labels; else the limit
    for 3 stars. What was published under load is none for a figure without: it would flatter it."""
    if row.reference == "rating":
        return _of_rating()
    own = row.figures[0]
    fitting = [
        one
        for one in figures_of(row.test)
        if (one.system, one.statistic, one.address.parts[-1:])
        == (row.reference, "max", (own.series,))
        and all(one.address.labels.get(key, value) == value for key, value in own.labels.items())
    ]
    labels = {str(value) for value in shown[1].labels.values()} if shown else set()
    is_loaded = shown is not None and condition_of(shown[0]).load not in ("none", NOT_KNOWN)
    same = [
        one
        for one in fitting
        if labels.issuperset(_values_in(one.address))
        and (is_loaded or _published_load(one) == "none")
    ]
    values = [amount.value for one in same if (amount := amount_of(one)).value]
    return (row.reference_name, max(values)) if values else _of_rating()


def _published_load(one: PublishedFigure) -> str:
    """Under which load a figure was published; of a study that names one for all, that one."""
    own = one.address.conditions.get("load")
    return own or load_studies()[one.study].conditions.get("load", "none")


def _of_rating() -> tuple[str, float]:
    return "3 stars", ns_of_score(3.0, load_criteria().anchors)


def _values_in(address: Address) -> set[str]:
    """The label values of a published figure, of known labels and of others."""
    return {*address.labels.values(), *address.parts[:-1]}
