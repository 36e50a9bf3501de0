"""Between which two moments the systems of a comparison measure: what each tool measures, and which
pairs of systems may be compared.

Figures of one question ("how late a thread wakes up") are taken by different tools under different
tests. `systems/moments.toml` says between which moments; two figures are the same if both moments
and the thread are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from hardstone.comparison.view import (
    SystemColumn,
    SystemTool,
    ToolComparison,
    ToolFigure,
    ToolPair,
)
from hardstone.model import Imported, Result, RunDocument, Series
from hardstone.stats.conditions import NOT_KNOWN
from hardstone.stats.consistency import UNLIKE_COUNTS
from hardstone.stats.identity import NO_DISTRIBUTION, Linear, parse_layout
from hardstone.stats.identity import step_of as value_step_of
from hardstone.stats.quantiles import count_text, is_count_known, why_no_quantile
from hardstone.systems.moments import OWN, QUESTIONS, Idle, Moments, ToolMoments, load_moments
from hardstone.systems.subjects import (
    Amount,
    FigureRow,
    MeasuredRun,
    PublishedSystem,
    Subject,
    SubjectSeries,
)
from hardstone.units import format_count, format_ns
from hardstone.wording import numbers_text, one_line, shorten

_CHARACTERS = 120
_LOSS_CHARACTERS = 240
MOST_PAIRED = 6  # of more systems each is paired with the reference only
WAKEUP = "wakeup"
OTHER = "other"  # figures that answer no question in common
HELD, LEFT = "held off", "left as they are"
LINUX = "Linux"


def imported_of(subject: Subject) -> Imported | None:
    """The file of another tool that a system was read from; None: it was not."""
    return subject.document.imported if isinstance(subject, MeasuredRun) else None


def tool_of(subject: Subject) -> ToolMoments | None:
    """The tool that measured a system, a study as hardstone's tests are; None: it is not known."""
    imported = imported_of(subject)
    return load_moments().get(OWN if imported is None else imported.tool)


def tool_name(subject: Subject) -> str:
    """ "cyclictest 2.40", "hardstone 0.1.0", the name of a study."""
    if isinstance(subject, PublishedSystem):
        return subject.study.reading.short
    imported, tool = imported_of(subject), tool_of(subject)
    if imported is None:
        version = subject.document.tool.version if isinstance(subject, MeasuredRun) else ""
        return f"{OWN} {version}".strip()
    title = tool.title if tool else imported.tool
    return shorten(f"{title} {imported.version or ''}".strip(), 60)


def moments_of(one: SubjectSeries, subject: Subject | None) -> Moments | None:
    """The two moments of a series; None: they are in no list."""
    tool = tool_of(subject) if subject is not None else None
    found = tool.series.values() if tool else ()
    return next((moments for moments in found if _is_at(one, moments)), None)


def _is_at(one: SubjectSeries, moments: Moments) -> bool:
    if (one.test, one.name) != (moments.test, moments.series):
        return False
    labels, parts = one.labels, one.parts
    return all(labels.get(name) == text or text in parts for name, text in moments.labels.items())


def why_other_moments(
    one: SubjectSeries,
    against: SubjectSeries,
    subject: Subject | None = None,
    reference: Subject | None = None,
) -> str:
    """Why `one` is not between the same two moments as `against`; "" if it is."""
    is_imported = any(each and imported_of(each) for each in (subject, reference))
    if not is_imported or (one.test, one.name) == (against.test, against.name):
        return ""  # a test is between the same moments whoever measures it
    ours, theirs = moments_of(one, subject), moments_of(against, reference)
    if ours is None or theirs is None:
        whose = "it measures" if ours is None else "the reference measures"
        return f"between which moments {whose} is not known"
    return _why_other(ours, theirs)


def _why_other(ours: Moments, theirs: Moments) -> str:
    if ours.is_between == theirs.is_between and ours.differs == theirs.differs:
        return ""
    if ours.differs and not theirs.differs:
        return ours.differs
    if theirs.differs and not ours.differs:
        return f"the reference {theirs.differs}"
    found = [
        f"{name}: {mine}, of the reference: {other}"
        for name, mine, other in (
            ("begin", ours.begin, theirs.begin),
            ("end", ours.end, theirs.end),
            ("end in", _thread(ours), _thread(theirs)),
        )
        if mine != other
    ]
    return "; ".join(found) or ours.differs


_THREADS = {
    "user": "user space",
    "kernel": "a kernel thread",
    "handler": "the handler of an interrupt",
}


def _thread(moments: Moments) -> str:
    return _THREADS[moments.thread]


@dataclass(frozen=True)
class Measured:
    """The figure of one system for a question: of its CPUs the one with the largest worst. `every`:
    those of all CPUs."""

    column: SystemColumn
    question: str
    moments: Moments
    series: SubjectSeries
    every: Sequence[SubjectSeries]

    @property
    def document(self) -> RunDocument | None:
        subject = self.column.subject
        return subject.document if isinstance(subject, MeasuredRun) else None

    @property
    def result(self) -> Result | None:
        return self.series.result

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """What its figure depends on, by name; NOT_KNOWN: its file or study does not say."""
        return {name: text or NOT_KNOWN for name, text in self._settings()}

    def _settings(self) -> Iterator[tuple[str, str | None]]:
        conditions, result = self.column.subject.conditions, self.result
        document = self.document
        model = document.system.get("machine.cpu_model") if document else conditions.get("machine")
        yield "machine", str(model) if model else None
        yield "kernel", conditions.get("kernel")
        yield "scheduled by", self._scheduler
        yield "load", conditions.get("load")
        params = result.params if result else {}
        interval_ns = params.get("interval_ns")
        yield "interval", format_ns(interval_ns) if isinstance(interval_ns, int) else None
        where = result.conditions if result else None
        yield "policy", where.policy if where else None
        yield "priority", str(where.priority) if where and where.priority is not None else None
        yield "idle states", idle_states(self.column.subject, result) if result else None
        yield "resolution", format_ns(self.step_ns) if self.step_ns else None

    @property
    def _scheduler(self) -> str | None:
        """What schedules the thread: Linux for most tools, the system of a run of hardstone."""
        tool = self.tool
        if tool and tool.core:
            return tool.core
        if self.document is None:
            return None
        if self.document.imported is not None:
            return LINUX
        name = self.document.system.get("kernel.name")
        return str(name) if name else None

    @property
    def tool(self) -> ToolMoments | None:
        return tool_of(self.column.subject)

    @property
    def is_idle_by_default(self) -> bool:
        """Whether what became of idle states is known from the tool's habit alone."""
        imported, result = imported_of(self.column.subject), self.result
        if imported is None or result is None or result.conditions.dma_latency_us is not None:
            return False
        habit = self.tool.idle if self.tool else None
        return habit is not None and not _is_against_habit(imported, habit)

    @property
    def count(self) -> int | None:
        """How many values there are; None: not known."""
        series = self.series.series
        return series.count if series is not None and is_count_known(series) else None

    @property
    def step_ns(self) -> float | None:
        """The step of its values; None: not known."""
        if self.series.series is None or self.series.unit != "ns":
            return None
        if imported_of(self.column.subject) is not None:
            return step_of(self.series.series)
        instrument = (self.result and self.result.instrument) or (
            self.document and self.document.instrument
        )
        return max(instrument.quantum_ns, 1.0) if instrument else None


def idle_states(subject: Subject, result: Result) -> str | None:
    """What became of idle states while a run measured; None: not known."""
    limit_us = result.conditions.dma_latency_us
    if limit_us is not None:
        return HELD if limit_us == 0 else f"exit latency at most {limit_us} us"
    imported, tool = imported_of(subject), tool_of(subject)
    if imported is None:
        return LEFT
    habit = tool.idle if tool else None
    if habit is None:
        return None
    return HELD if (habit.does == "held") != _is_against_habit(imported, habit) else LEFT


def _is_against_habit(imported: Imported, habit: Idle) -> bool:
    """Whether the tool was called with an option that changes what it does with idle states."""
    words = (imported.command or "").split()
    return any(word.partition("=")[0] in habit.unless for word in words)


def step_of(series: Series) -> int:
    """The step that values of a series of another tool are known to: the width of its buckets, or
    that of its values; 1: they are exact."""
    layout = parse_layout(series.histogram.layout)
    width = layout.width if isinstance(layout, Linear) else 1
    return max(width, value_step_of(series))


def has_distribution(series: Series) -> bool:
    """Whether anything is known between the least and the largest value."""
    return series.histogram.layout != NO_DISTRIBUTION


def why_no_ratio(one: Series, against: Series) -> str:
    """Why medians of two series are not divided, where the file of one gives no median; "" if they
    may be."""
    for series, whose in ((one, ""), (against, "of the reference ")):
        if why := why_no_quantile(series):
            return f"no ratio: {whose}{why}"
    return ""


def measured_of(
    question: str, columns: Sequence[SystemColumn], reference: int
) -> list[Measured | None]:
    """The figure of each system for `question`. A tool that has several is taken with that between
    the moments of the reference, else with that between those of hardstone."""
    wanted = _best(columns[reference], question, None)
    between = wanted.moments.is_between if wanted else None
    return [_best(one, question, between) for one in columns]


def _best(
    column: SystemColumn, question: str, between: tuple[str, str, str] | None
) -> Measured | None:
    tool = tool_of(column.subject)
    found = [
        (moments, held)
        for moments in (tool.series.values() if tool else ())
        if moments.question == question and (held := _held(column.subject, moments))
    ]
    if not found:
        return None
    moments, held = min(found, key=lambda one: (one[0].is_between != between, bool(one[0].differs)))
    return Measured(column, question, moments, max(held, key=_largest), held)


def _held(subject: Subject, moments: Moments) -> list[SubjectSeries]:
    if isinstance(subject, MeasuredRun):
        of_name: Sequence[SubjectSeries] = subject.held_of(moments.test, moments.series)
    else:
        of_name = subject.held()
    return [one for one in of_name if _is_at(one, moments)]


def _largest(one: SubjectSeries) -> float:
    worst = one.amount("max")
    return worst.lowest if isinstance(worst, Amount) else 0.0


Questions = Mapping[str, Sequence[Measured | None]]


def questions_of(columns: Sequence[SystemColumn], reference: int) -> Questions:
    """The figure of each system for each question that any of them answers, by question. Of systems
    that hardstone measured only the wake-up: their other figures have the same tests."""
    is_mixed = has_imported(columns)
    found = {
        name: measured_of(name, columns, reference)
        for name in QUESTIONS
        if name == WAKEUP or (is_mixed and name != OTHER)
    }
    return {name: measured for name, measured in found.items() if any(measured)}


def has_imported(columns: Sequence[SystemColumn]) -> bool:
    """Whether another tool than hardstone measured any of the systems."""
    return any(imported_of(one.subject) is not None for one in columns)


def figure_row(question: str, found: Sequence[Measured | None]) -> FigureRow:
    """The figures for a question as one row, whatever their tests are."""
    known = [one for one in found if one is not None]
    own = own_moments(question)
    first = next((one.moments for one in known if one.moments == own), known[0].moments)
    notes = [
        (f"CPU {cpu}, the worst of {len(one.every)}",)
        if one and (cpu := one.series.labels.get("cpu")) and len(one.every) > 1
        else ()
        for one in found
    ]
    key = first.test, first.series, tuple(first.labels.items())
    return FigureRow(key, tuple(one.series if one else None for one in found), tuple(notes))


def own_moments(question: str) -> Moments | None:
    """The figure of hardstone for a question; None where it has none."""
    found = load_moments()[OWN].series.values()
    return next((one for one in found if one.question == question), None)


def remarks_on(one: SubjectSeries, subject: Subject) -> tuple[str, ...]:
    """How an imported figure was taken and cut: "cyclictest 2.40: steps of 1 us"."""
    if imported_of(subject) is None or one.series is None:
        return ()
    step = step_of(one.series) if one.unit == "ns" else 1
    texts = [
        *([f"steps of {format_ns(step)}"] if step > 1 else []),
        *([] if has_distribution(one.series) else ["no distribution"]),
        *(
            ["values above its last bucket were dropped"]
            if one.series.histogram.is_cut is True
            else []
        ),
    ]
    return (": ".join(filter(None, (tool_name(subject), ", ".join(texts)))),)


def pairs_of(
    questions: Questions, columns: Sequence[SystemColumn], reference: int
) -> list[ToolPair]:
    """What may be compared with what: every pair of few systems, of many those with the reference.
    `questions` has the figure of each system for each question that any of them answers."""
    places = range(len(columns))
    pairs = list(combinations(places, 2))
    if len(columns) > MOST_PAIRED:
        pairs = [(reference, one) for one in places if one != reference]
    return [found for first, second in pairs for found in _pairs(questions, columns, first, second)]


def _pairs(
    questions: Questions, columns: Sequence[SystemColumn], first: int, second: int
) -> Iterator[ToolPair]:
    numbers = columns[first].number, columns[second].number
    is_shared = False
    for question, found in questions.items():
        one, other = found[first], found[second]
        if one is not None and other is not None:
            is_shared = True
            why = _between(one, other)
            yield ToolPair(*numbers, question, not why, why, _differing(one, other))
    if not is_shared:
        asked = [
            [name for name, found in questions.items() if found[place] is not None]
            for place in (first, second)
        ]
        texts = [" and ".join(QUESTIONS[name] for name in names) for names in asked]
        why = "; ".join(
            f"{number} measures {text or 'other figures'}"
            for number, text in zip(numbers, texts, strict=True)
        )
        yield ToolPair(*numbers, "", is_same=False, why=why, differing=[])


def unrelated(tools: ToolComparison) -> list[str]:
    """The systems that answer no question in common, as words: "5 with 1, 2 and 4"."""
    found: dict[int, list[int]] = {}
    apart = [(one.first, one.second) for one in tools.pairs if not one.question]
    often = Counter(number for pair in apart for number in pair)
    for pair in apart:
        one, other = sorted(pair, key=lambda number: (-often[number], number))
        found.setdefault(one, []).append(other)
    return [f"{one} with {numbers_text(others)}" for one, others in found.items()]


def _between(one: Measured, other: Measured) -> str:
    """Why the moments of two systems differ, with their numbers; "" if they do not."""
    if _why_other(other.moments, one.moments) == "":
        return ""
    theirs, ours = other.moments.differs, one.moments.differs
    texts = [
        f"{each.column.number} {text}"
        for each, text in ((one, ours), (other, theirs))
        if text and ours != theirs
    ]
    if texts:
        return "; ".join(texts)
    return _why_other(other.moments, one.moments).replace("the reference", str(one.column.number))


def _differing(one: Measured, other: Measured) -> list[str]:
    """What else differs between two figures, and what of that is not known."""
    found = []
    for name, mine in one.settings.items():
        its = other.settings[name]
        if mine != its:
            found.append(f"{name}: {shorten(mine, _CHARACTERS)}, {shorten(its, _CHARACTERS)}")
        elif mine == NOT_KNOWN:
            found.append(f"{name}: {NOT_KNOWN}")
    counts = [each.count for each in (one, other)]
    known = [count for count in counts if count is not None]
    if len(known) < 2 or max(known) > UNLIKE_COUNTS * min(known):
        texts = [NOT_KNOWN if count is None else format_count(count) for count in counts]
        found.append(f"values: {', '.join(texts)}")
    lacking = [
        str(each.column.number)
        for each in (one, other)
        if each.series.series is None or not has_distribution(each.series.series)
    ]
    if lacking:
        found.append(f"no distribution: {' and '.join(lacking)}")
    return found


def tools_of(questions: Questions, columns: Sequence[SystemColumn]) -> list[SystemTool]:
    """What the tool of each system measures, and what its file leaves open."""
    return [
        _system_tool(column, [found[place] for found in questions.values()])
        for place, column in enumerate(columns)
    ]


def _system_tool(column: SystemColumn, found: Sequence[Measured | None]) -> SystemTool:
    imported, tool = imported_of(column.subject), tool_of(column.subject)
    losses = (
        [one_line(shorten(one.text, _LOSS_CHARACTERS)) for one in imported.losses]
        if imported
        else []
    )
    if column.is_published:
        losses = ["a study: no distribution, and no counts"]
    known = [one for one in found if one is not None]
    return SystemTool(
        number=column.number,
        tool=tool_name(column.subject),
        package=tool.package if tool and imported else "",
        is_imported=imported is not None,
        figures=[_tool_figure(one) for one in known],
        machine=list(tool.notes) if tool and not column.is_published else [],
        losses=list(dict.fromkeys(losses)),
        command=next(filter(None, map(_same_with_hardstone, known)), ""),
    )


def _same_with_hardstone(one: Measured) -> str:
    """The command that measures what another tool measured, by what its file says; "" for a figure
    that hardstone does not have, and where nothing is known."""
    result = one.result
    is_on_linux = imported_of(one.column.subject) is not None and not (one.tool and one.tool.core)
    if not is_on_linux or result is None or one.question != WAKEUP or one.moments.differs:
        return ""
    cpus = [int(held.labels["cpu"]) for held in one.every if held.labels.get("cpu", "").isdecimal()]
    interval_ns, where = result.params.get("interval_ns"), result.conditions
    options = [
        f"-a {numbers_text(cpus, '-', 2).replace(', ', ',')}" if cpus else "",
        f"-p {where.priority}" if where.priority else "",
        f"--policy {where.policy}" if where.policy in ("rr", "other") else "",
        f"-i {interval_ns // 1000}" if isinstance(interval_ns, int) and interval_ns >= 1000 else "",
        "--dma-latency 0" if one.settings["idle states"] == HELD else "",
        f"-D {result.duration_ns // 10**9}s" if result.duration_ns >= 10**9 else "",
    ]
    found = [option for option in options if option]
    return f"hardstone latstat {' '.join(found)}" if found else ""


def _tool_figure(one: Measured) -> ToolFigure:
    series = one.series.series
    return ToolFigure(
        question=one.question,
        address=one.series.address,
        begin=one.moments.begin,
        end=one.moments.end,
        thread=_thread(one.moments),
        core=one.settings["scheduled by"],
        resolution=one.settings["resolution"],
        beyond=_beyond(series) if series is not None else NOT_KNOWN,
    )


def _beyond(series: Series) -> str:
    """What became of the values that are in no bucket."""
    histogram = series.histogram
    if not has_distribution(series):
        return "no distribution: no quantile"
    if histogram.is_cut is True:
        return "values above the last bucket were dropped, and not counted"
    outside = histogram.overflow + histogram.underflow
    if not outside:
        return "none"
    return f"{format_count(outside)} of {count_text(series)}, counted"
