"""What an importer read, as a run document: results by test, descriptors, histograms, and what the
file could not say, which follows from the figures in the same way for every tool.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import PurePath

import msgspec
from msgspec import UNSET

import hardstone
from hardstone.errors import InputError, printable
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.importers.recognise import SourceFile
from hardstone.model import (
    MOST_SERIES,
    RUN_SCHEMA,
    YEAR_NS,
    Conditions,
    Descriptor,
    Histogram,
    Imported,
    Loss,
    LossKind,
    Plan,
    Result,
    RunDocument,
    Series,
    SeriesSpec,
    Tool,
    Trust,
    VerdictSpec,
)
from hardstone.stats.identity import MAX_VALUE, histogram_problem
from hardstone.stats.trust import grade_run
from hardstone.systems.moments import Moments, ToolMoments, load_moments
from hardstone.units import format_ns

PROFILE = "imported"
_CUT = "the tool was ended before its time, or the file ends early"
NO_COUNT = "mean of values whose count the file does not say"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_MOST_UNKNOWN = 256
_MOST_TEXT = 4096
_MOST_EVENTS = 4096
_MOST_BUCKETS = 2_000_000
_YEARS = range(1970, 2200)  # of a document
_TITLES = {
    "wakeup": "Wake-up latency",
    "interrupt": "Interrupt latency",
    "cpu loss": "Lost CPU time",
    "switch": "Context switch",
    "message": "Message passing",
    "semaphore": "Semaphore hand-over",
    "mutex": "Mutex hand-over",
    "signal": "Signal delivery",
    "other": "Figures",
}


@dataclass(frozen=True, kw_only=True)
class Added:
    """What a person adds that the file does not say. `unit`: "us" or "ns", of a file that does not
    state it."""

    name: str | None = None
    load: str | None = None
    unit: str | None = None


def document_of(
    reading: Reading, source: SourceFile, run_id: str, added: Added | None = None
) -> RunDocument:
    """The run of one file. InputError where a figure of it cannot be represented; one that
    contradicts another is in the document, which is untrustworthy then."""
    added = added or Added()
    if added.unit is not None:
        reading = _in_unit(reading, added.unit, source.name)
    elif reading.unit_doubt is not None:
        remedy = "name it: hardstone import FILE --unit us, or --unit ns"
        raise InputError(f"{printable(source.name)}: {reading.unit_doubt}", remedy)
    conditions = reading.conditions
    if added.load is not None:
        conditions = msgspec.structs.replace(conditions, load=added.load)
    moments = load_moments()[reading.tool]
    reading = replace(reading, started_utc=_possible(reading.started_utc))
    now = datetime.now(UTC).strftime(_TIME)
    started = reading.started_utc or _possible(source.changed_utc) or now
    name = added.name or _name_of(source.name)
    document = RunDocument(
        schema=RUN_SCHEMA,
        id=run_id,
        name=name,
        started_utc=started,
        finished_utc=_finished(reading),
        status="interrupted" if reading.is_cut else "complete",
        trust=Trust(grade="indicative"),
        tool=Tool(version=hardstone.__version__),
        system={key: value for key, value in reading.facts.items() if value is not None},
        plan=_plan(name, conditions),
        instrument=None,
        results=_results(reading, moments, conditions, started, source.name),
        descriptors=list(_descriptors(reading, moments)),
        imported=Imported(
            tool=reading.tool,
            version=_short(reading.version),
            format=reading.format,
            file=_short(printable(source.name)) or "",
            sha256=source.sha256,
            size_bytes=source.size_bytes,
            command=_short(reading.command),
            losses=_losses(reading, moments, conditions, source),
            unknown=_unknown(reading.unknown),
        ),
    )
    document.trust = grade_run(document)
    _check_storable(document, source.name)
    return document


def _check_storable(document: RunDocument, file: str) -> None:
    """InputError where the document could not be read again."""
    series = [one for result in document.results for one in result.series]
    problem = next(filter(None, (histogram_problem(one.histogram) for one in series)), None)
    if sum(len(one.histogram.buckets) for one in series) > _MOST_BUCKETS:
        problem = f"more than {_MOST_BUCKETS} buckets"
    try:
        msgspec.json.decode(msgspec.json.encode(document), type=RunDocument)
    except (msgspec.ValidationError, ValueError) as error:  # ValueError: half a character
        problem = problem or str(error)[:200]
    if problem is not None:
        cause = f"{printable(file)} cannot become a run: {printable(problem)}"
        raise InputError(cause, "import a file that is not damaged")


def _possible(time: str | None) -> str | None:
    """The time if a document can have it: a board without a clock says odd ones."""
    with suppress(ValueError):
        if time is not None and datetime.fromisoformat(time).year in _YEARS:
            return time
    return None


def _short(text: str | None) -> str | None:
    return None if text is None else text[:_MOST_TEXT]


def _name_of(file: str) -> str:
    """The name of a file without folder and suffixes; "imported" of one without a name."""
    name = PurePath(file).name.removesuffix(".gz")
    return printable(name.rpartition(".")[0] or name or PROFILE)[:200]


def _unknown(unknown: Mapping[str, str]) -> dict[str, str]:
    kept = list(unknown.items())[:_MOST_UNKNOWN]
    return {printable(key)[:_MOST_TEXT]: value[:_MOST_TEXT] for key, value in kept}


def _plan(name: str, conditions: Conditions) -> Plan:
    """Nothing was planned: the file has what was measured. So `tests` is empty."""
    load, config = conditions.load or "none", conditions.cpu_config or "shared"
    return Plan(
        name=name,
        profile=PROFILE,
        target=PROFILE,
        tests=[],
        load=load,
        cpu_config=config,
        cpu=conditions.cpu,
        policy=conditions.policy or "",
        priority=conditions.priority,
        clock=conditions.clock or "",
    )


def _finished(reading: Reading) -> str | None:
    if reading.started_utc is None or reading.duration_ns is None:
        return None
    try:
        begin = datetime.fromisoformat(reading.started_utc)
        return (begin + timedelta(seconds=reading.duration_ns // 10**9)).strftime(_TIME)
    except (ValueError, OverflowError):
        return None


def _in_unit(reading: Reading, unit: str, file: str) -> Reading:
    """The reading of a file whose unit the person knows. An importer took microseconds, or ns
    where the values hint at them; then no value is a multiple of one."""
    losses = [loss for loss in reading.losses if loss.what != "unit"]
    taken = "ns" if all(one.step_ns == 1 for one in reading.series) else "us"
    if unit == taken:
        return replace(reading, losses=losses)
    if len(losses) == len(reading.losses):
        raise InputError(f"{printable(file)} has its values in {taken}", "leave out --unit")
    factor = Fraction(1, 1000) if unit == "ns" else Fraction(1000)
    series = [_scaled(one, factor) for one in reading.series]
    return replace(reading, losses=losses, series=series)


def _scaled(one: ReadSeries, factor: Fraction) -> ReadSeries:
    """A series in the other unit. Whole values stay whole."""
    if one.unit != "ns":
        return one
    buckets, values = one.buckets, one.values
    return replace(
        one,
        min=None if one.min is None else int(one.min * factor),
        mean=None if one.mean is None else float(Fraction(one.mean) * factor),
        max=None if one.max is None else int(one.max * factor),
        stddev=None if one.stddev is None else float(Fraction(one.stddev) * factor),
        step_ns=max(1, int(one.step_ns * factor)),
        buckets=None if buckets is None else [(int(low * factor), count) for low, count in buckets],
        bucket_width_ns=int(one.bucket_width_ns * factor),
        values=None if values is None else [int(value * factor) for value in values],
        worst=[
            msgspec.structs.replace(worst, value_ns=int(worst.value_ns * factor))
            for worst in one.worst
        ],
        maxima_per_s=[None if most is None else int(most * factor) for most in one.maxima_per_s],
    )


def _results(
    reading: Reading, moments: ToolMoments, conditions: Conditions, started: str, file: str
) -> list[Result]:
    """One for each test, in the order in which the file has them first. Claims and events are of
    the whole file, and stand in the first."""
    found: dict[str, list[Series]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    if len(reading.series) > MOST_SERIES:
        raise InputError(f"{printable(file)} has more than {MOST_SERIES} series", "split it")
    for one in reading.series:
        where = moments.series[one.name]
        having = found.setdefault(where.test, [])
        series = _series(one, where, file)
        place = (where.test, series.name, *sorted(map(str, series.labels.items())))
        seen[place] += 1
        if seen[place] > 1:  # an address has one series: the second would be seen nowhere
            series.labels["number"] = seen[place]
        having.append(series)
    if not found:
        first = next(iter(moments.series.values()), None)
        found = {reading.tool if first is None else first.test: []}
    results = [
        Result(
            test=test,
            status="measured",
            interrupted=reading.is_cut,
            reason=_CUT if reading.is_cut else None,
            params=dict(reading.params),
            conditions=conditions,
            started_utc=started,
            duration_ns=max(0, min(reading.duration_ns or 0, 100 * YEAR_NS)),
            series=series,
        )
        for test, series in found.items()
    ]
    results[0].verdicts = [*reading.verdicts]
    results[0].events = [*reading.events][:_MOST_EVENTS]
    return results


def _series(one: ReadSeries, where: Moments, file: str) -> Series:
    figures = _figures_of(one)
    histogram = _histogram(one, figures)
    _check_range(one, figures, file)
    count = figures.count
    has_negative = min([figures.min or 0, *(low for low, _ in (one.buckets or [])[:1])]) < 0
    series = Series(
        name=where.series,
        labels={**one.labels, **where.labels},
        unit=one.unit,
        count=1 if count is None else count,
        min=figures.min,
        mean=figures.mean,
        stddev=figures.stddev,
        max=figures.max,
        histogram=histogram,
        worst=list(one.worst),
        maxima_per_s=list(one.maxima_per_s),
        derived=NO_COUNT if count is None and figures.max is None else one.derived,
        step=one.step_ns if one.step_ns > 1 else UNSET,
        # A tool that measures against an expected moment has values before it.
        possible_min=-100 * YEAR_NS if has_negative else None,
    )
    return series


@dataclass(frozen=True)
class _Figures:
    count: int | None
    min: int | None
    mean: float | None
    max: int | None
    stddev: float | None


def _figures_of(one: ReadSeries) -> _Figures:
    """As printed; what is not printed is taken from single values, where the file has them."""
    count = one.count
    if one.values is None:
        if count is None and one.buckets is not None:
            count = sum(number for _, number in one.buckets) + one.underflow + (one.overflow or 0)
        if count == 0:
            return _Figures(0, None, None, None, None)
        return _Figures(count, one.min, one.mean, one.max, one.stddev)
    values = one.values
    count = len(values) if count is None else count
    if not values:
        return _Figures(count, one.min, one.mean, one.max, one.stddev)
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    stddev = math.sqrt(spread / (len(values) - 1)) if len(values) > 1 else None
    return _Figures(
        count,
        min(values) if one.min is None else one.min,
        mean if one.mean is None else one.mean,
        max(values) if one.max is None else one.max,
        stddev if one.stddev is None else one.stddev,
    )


def _histogram(one: ReadSeries, figures: _Figures) -> Histogram:
    if one.buckets is not None:
        return _of_buckets(one, one.buckets)
    if one.values is None:
        if figures.count is None:  # one value at least
            return Histogram(layout="none", buckets=[], overflow=1, is_cut=True)
        return Histogram(layout="none", buckets=[], overflow=figures.count)
    if one.step_ns > 1 and one.unit == "ns":
        return _of_steps(one.values, one.step_ns)
    from hardstone.stats.histogram import histogram_of

    return histogram_of(one.values)


def _of_buckets(one: ReadSeries, buckets: Sequence[tuple[int, int]]) -> Histogram:
    """With the layout that begins at 0, where the first bucket and the width allow it: equal for
    all files of a tool."""
    width = one.bucket_width_ns
    if width < 1:
        raise ValueError("a histogram without the width of its buckets")
    first = buckets[0][0] if buckets else 0
    if first > 0 and first % width == 0 and not one.underflow:
        first = 0
    indexed = []
    for low, count in buckets:
        index, rest = divmod(low - first, width)
        if rest:
            raise InputError(f"a bucket begins at {low} ns, which is not on its grid", "")
        is_last = low == buckets[-1][0]  # says where the overflow begins
        if count or (is_last and one.overflow != 0):
            indexed.append((index, count))
    return Histogram(
        layout=f"linear/{width}/{first}",
        buckets=indexed,
        underflow=one.underflow,
        overflow=one.overflow or 0,
        is_cut=UNSET if one.overflow is not None else True,
    )


def _of_steps(values: Sequence[int], step_ns: int) -> Histogram:
    first = min(0, min(values, default=0) // step_ns * step_ns)
    counts: dict[int, int] = {}
    for value in values:
        index = (value - first) // step_ns
        counts[index] = counts.get(index, 0) + 1
    return Histogram(layout=f"linear/{step_ns}/{first}", buckets=sorted(counts.items()))


def _check_range(one: ReadSeries, figures: _Figures, file: str) -> None:
    """InputError for a figure that a document cannot have."""
    numbers = [figures.count, figures.min, figures.max, one.underflow, one.overflow]
    known = [number for number in numbers if number is not None]
    floats = [number for number in (figures.mean, figures.stddev) if number is not None]
    is_finite = all(math.isfinite(number) for number in floats)
    if not is_finite or any(not -MAX_VALUE <= number <= MAX_VALUE for number in known):
        raise InputError(
            f"{printable(file)} has a figure of {one.name} that does not fit into 64 bits",
            "import a file that is not damaged",
        )


def _descriptors(reading: Reading, moments: ToolMoments) -> Iterator[Descriptor]:
    """A descriptor for each test of the file: the moments of its tool, also for a test of
    hardstone, so that a stored run says by itself what was measured."""
    names = dict.fromkeys(one.name for one in reading.series)
    found = [(moments.series[name], name) for name in names]
    tests = dict.fromkeys(where.test for where, _ in found)
    verdicts = [VerdictSpec(name=one.name, claim=one.name) for one in reading.verdicts]
    for number, test in enumerate(tests):
        own = [(where, name) for where, name in found if where.test == test]
        yield Descriptor(
            id=test,
            title=f"{_TITLES[own[0][0].question]} ({moments.title})",
            source=moments.source,
            params=[],
            needs=[],
            series=[_spec(where, name, reading) for where, name in own],
            verdicts=verdicts if number == 0 else [],
            default_samples=0,
            default_duration_ns=0,
        )


def _spec(where: Moments, name: str, reading: Reading) -> SeriesSpec:
    same = [one for one in reading.series if one.name == name]
    labels = dict.fromkeys(label for one in same for label in (*where.labels, *one.labels))
    return SeriesSpec(
        name=where.series,
        unit=same[0].unit,
        labels=list(labels),
        fixed=where.labels,
        begin=where.begin,
        end=where.end,
        derived=same[0].derived,
    )


def _losses(
    reading: Reading, moments: ToolMoments, conditions: Conditions, source: SourceFile
) -> list[Loss]:
    """Those that the importer knows, then those that follow from the figures, each once."""
    found = [
        *reading.losses,
        *_losses_of_series(reading.series, moments),
        *_losses_of_file(reading, moments, conditions, source),
    ]
    return list(dict.fromkeys(found))


def _losses_of_file(
    reading: Reading, moments: ToolMoments, conditions: Conditions, source: SourceFile
) -> Iterator[Loss]:
    known = {
        "the load": conditions.load,
        "the scheduling policy": conditions.policy,
        "the clock": conditions.clock,
    }
    missing = [name for name, value in known.items() if value is None]
    if missing:
        yield Loss(what="conditions", text=f"The file does not say {_either(missing)}.")
    if reading.version is None:
        text = f"The file does not say which version of {moments.title} measured."
        yield Loss(what="version", text=text)
    if reading.started_utc is None:
        stand_in = "its last change" if source.changed_utc else "the import"
        text = f"The file does not say when it was measured: the time shown is that of {stand_in}."
        yield Loss(what="time", text=text)


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_ONLY_EXTREMES = "The file has no distribution, so there are no quantiles."
_DROPPED = (
    "The tool dropped values above its histogram, and the file does not say how many: no quantiles."
)
_NO_ORDER = "The file has no single values, so their order and their times are not known."
_LossTest = Callable[[ReadSeries], str | None]


def _has_values(one: ReadSeries) -> bool:
    return one.count is None or one.count > 0


def _no_distribution(one: ReadSeries) -> str | None:
    is_without = one.buckets is None and one.values is None and _has_values(one)
    return _ONLY_EXTREMES if is_without else None


def _dropped(one: ReadSeries) -> str | None:
    return _DROPPED if one.buckets is not None and one.overflow is None else None


def _resolution(one: ReadSeries) -> str | None:
    if one.step_ns <= 1 or one.unit != "ns":
        return None
    step = format_ns(one.step_ns)
    return f"Values are whole multiples of {step}: each may be up to {step} larger than shown."


def _width(one: ReadSeries) -> str | None:
    if one.buckets is None or one.bucket_width_ns <= one.step_ns:
        return None
    return f"Values are known to {format_ns(one.bucket_width_ns)} only, the width of a bucket."


def _no_values(one: ReadSeries) -> str | None:
    is_without = one.buckets is not None and one.values is None and _has_values(one)
    return _NO_ORDER if is_without else None


def _no_extremes(one: ReadSeries) -> str | None:
    if one.values or not _has_values(one):
        return None
    known = {"minimum": one.min, "maximum": one.max}
    missing = [name for name, value in known.items() if value is None]
    return f"The file has no {_either(missing)}." if missing else None


def _no_mean(one: ReadSeries) -> str | None:
    is_without = one.mean is None and not one.values and _has_values(one)
    return "The file has no mean." if is_without else None


def _no_count(one: ReadSeries) -> str | None:
    is_without = one.count is None and one.buckets is None and one.values is None
    return "The file does not say how many values there were." if is_without else None


_OF_SERIES: tuple[tuple[LossKind, _LossTest], ...] = (
    ("count", _no_count),
    ("distribution", _no_distribution),
    ("overflow", _dropped),
    ("extremes", _no_extremes),
    ("mean", _no_mean),
    ("resolution", _resolution),
    ("bucket width", _width),
    ("single values", _no_values),
)


def _losses_of_series(series: Sequence[ReadSeries], moments: ToolMoments) -> Iterator[Loss]:
    """One loss for all series that have it. It names no series where all have it."""
    names = dict.fromkeys(moments.series[one.name].series for one in series)
    for what, test in _OF_SERIES:
        found: dict[str, list[str]] = {}
        for one in series:
            text = test(one)
            name = moments.series[one.name].series
            if text is not None and name not in found.setdefault(text, []):
                found[text].append(name)
        for text, having in found.items():
            if len(having) == len(names):
                yield Loss(what=what, text=text)
            else:
                yield from (Loss(what=what, text=text, series=name) for name in having)
