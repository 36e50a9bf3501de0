"""Grades how far a run can be trusted: for each grade a table of claims, which give reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from hardstone import event_names
from hardstone.catalogue import has_short_profile, shorter_than_standard
from hardstone.model import (
    Imported,
    Instrument,
    LossKind,
    Result,
    RunDocument,
    Stopped,
    Trust,
    TrustGrade,
)
from hardstone.stats.causes import is_limited_by_quota
from hardstone.stats.conditions import listed, names_in
from hardstone.stats.consistency import (
    UNEQUAL,
    UNSTEADY,
    clocks_apart,
    clocks_not_held,
    contradictions,
    counts_instructions,
    is_emulated,
    unequal_work,
    unsteady_blocks,
)
from hardstone.units import format_count, format_ns, format_span

_MOST_WITHOUT = 0.01  # of the wake-ups that slept
_EARLY = 0.01  # of the interrupts that were seen
_MOST_SERIES = 3
_FEW_STOLEN = 2  # tests that are named
_MINUTE_NS = 60_000_000_000


def has_run(result: Result) -> bool:
    """Whether the test got as far as measuring. Before that its scheduling is unknown."""
    if result.status in ("failed", "timeout"):
        return bool(result.verdicts) or any(series.count for series in result.series)
    return result.status == "measured"


def lacking_text(results: Sequence[Result]) -> str:
    """How many were not measured, by status: "2 failed, 1 denied"; empty: none."""
    lacking = Counter(one.status for one in results if one.status != "measured")
    return ", ".join(f"{count} {status}" for status, count in lacking.items())


def lacks_realtime(result: Result) -> bool:
    """Whether the test ran without real-time scheduling."""
    return has_run(result) and result.conditions.realtime is False


def tool_text(imported: Imported) -> str:
    """The tool that wrote the file of a run, with its version: "cyclictest 2.40"."""
    return " ".join(filter(None, (imported.tool, imported.version)))


Claim = Callable[[RunDocument], str | None]  # the reason, or None


def grade_run(document: RunDocument) -> Trust:
    """The grade of a run with every reason, most severe first; grade "full" has no reasons."""
    grave = list(filter(None, (claim(document) for claim in UNTRUSTWORTHY)))
    light = list(filter(None, (claim(document) for claim in INDICATIVE)))
    grade: TrustGrade = "untrustworthy" if grave else "indicative" if light else "full"
    return Trust(grade=grade, reasons=grave + light)


def _unequal_work(document: RunDocument) -> str | None:
    """Times of different amounts of work say nothing about the conditions."""
    tests = listed(unequal_work(document))
    return f"{UNEQUAL}: {tests}" if tests else None


def _blocks_unsteady(document: RunDocument) -> str | None:
    """The effect of a load is compared with these."""
    names = names_in(document)
    found = [f"{names.name(result)}: {text}" for result, text in unsteady_blocks(document)]
    return f"{'; '.join(found)}: {UNSTEADY}" if found else None


def _load_short(document: RunDocument) -> str | None:
    """The share of a load counts all the time of the test, a stop too."""
    names = [{event.name for event in result.events} for result in document.results]
    short = [
        (result, event_names.STOPPED in has)
        for result, has in zip(document.results, names, strict=True)
        if has.intersection(event_names.SHORT)
    ]
    tests = _names(document, [result for result, _ in short])
    stopped = _names(document, [result for result, was_stopped in short if was_stopped])
    counted = f" (its share includes the time of the stop: {stopped})" if stopped else ""
    return tests and f"the load was lower than requested during {tests}{counted}"


def _counter_wrong(document: RunDocument) -> str | None:
    for instrument in _instruments(document):
        if not instrument.trusted and instrument.clock != "monotonic":
            return f"the counter failed its checks: {instrument.reason or 'no reason given'}"
    return None


def _skew_wrong(document: RunDocument) -> str | None:
    for instrument in _instruments(document):
        for skew in instrument.skew:
            if not skew.consistent and instrument.clock != "monotonic":
                return f"the counters of CPUs {skew.cpu_a} and {skew.cpu_b} disagree"
    return None


def _clock_wrong(document: RunDocument) -> str | None:
    check = document.clock_check
    return None if check is None else clocks_apart(check)


def _clock_unsure(document: RunDocument) -> str | None:
    check = document.clock_check
    if check is not None:
        return clocks_not_held(check)
    has_own_clock = document.plan.target.startswith("lab:")
    if not has_own_clock or counts_instructions(document.system):
        return None
    return "the target's clock was not checked against this machine's"


def _identity_broken(document: RunDocument) -> str | None:
    first = next(contradictions(document), None)
    return first and first.text


# Of a tool that dropped or overwrote them: a missing value may be the largest.
MISSING = "values are, or may be, missing from the file"
# What else a file does not say makes its figures fewer, not doubtful.
_DOUBTFUL_LOSSES = {
    "unit": "the unit of its figures is assumed",
    "count": "the count of its values is not in the file",
    "values": MISSING,
    "overflow": "values above the range of its histogram are not counted",
}


def lacks(document: RunDocument, what: LossKind) -> bool:
    """Whether the file of another tool does not say `what`."""
    imported = document.imported
    return imported is not None and any(one.what == what for one in imported.losses)


def _imported(document: RunDocument) -> str | None:
    """Nobody can grade how another tool measured; what its file does not say adds to that."""
    imported = document.imported
    if imported is None:
        return None
    kinds = {one.what for one in imported.losses}
    lost = [text for what, text in _DOUBTFUL_LOSSES.items() if what in kinds]
    read = f"read from a file of {tool_text(imported)}: hardstone did not measure it"
    return "; ".join([read, *lost])


def _virtual(document: RunDocument) -> str | None:
    facts = document.system
    hypervisor = facts.get("virtual.hypervisor")
    is_open = facts.get("virtual.emulated", False) is None
    doubt = "; its processor may be emulated" if is_open else ""
    return f"virtual machine ({hypervisor}){doubt}" if hypervisor else None


def _emulated(document: RunDocument) -> str | None:
    if not is_emulated(document.system):
        return None
    return "the processor is emulated: the figures do not apply to hardware"


def _instructions(document: RunDocument) -> str | None:
    if not counts_instructions(document.system):
        return None
    return (
        "virtual time: each instruction takes the same time; the figures are path lengths, not "
        "hardware times"
    )


def _stolen(document: RunDocument) -> str | None:
    """How much is said before where: a list of twenty tests would hide it."""
    stolen = [one for one in document.results if one.environment.get("steal_ns", 0) > 0]
    if not stolen:
        return None
    total_ns = sum(one.environment["steal_ns"] for one in stolen)
    took = "less than 1 ms" if total_ns < 1_000_000 else format_ns(total_ns)
    if len(stolen) <= _FEW_STOLEN:
        return f"the hypervisor took {took} during {_names(document, stolen)}"
    is_each = len({one.test for one in stolen}) == len(stolen)
    return f"the hypervisor took {took} across {len(stolen)} {'tests' if is_each else 'results'}"


def _stopped(document: RunDocument) -> str | None:
    """What a stop made late is in no figure, but the stop is reported."""
    names = names_in(document)
    texts = [_stops_of(names.name(one), one) for one in document.results]
    return "; ".join(filter(None, texts)) or None


def _stops_of(test: str, result: Result) -> str | None:
    stops = [event for event in result.events if event.name == event_names.STOPPED]
    if not stops:
        return None
    counts = [event.data.get("more_count", 1) for event in stops]
    count = sum(one for one in counts if isinstance(one, int))
    known_ns = stopped_least_ns(result)
    when = [event.at_ns for event in stops if event.at_ns is not None]
    many = f" {format_count(count)} times" if count > 1 else ""
    length = f" for {_brief(known_ns)} or more" if known_ns > 0 else ""
    moment = f" until {_brief(when[0])}" if len(when) == count == 1 else ""
    return f"the program was stopped{many}{length}{moment} ({test}): {_kept_apart(result)}"


def stopped_least_ns(result: Result) -> int:
    """How long the program was stopped during a test, at least: the sum over the stops of what the
    longest value of each has beyond the longest other one."""
    lengths = [
        event.data.get("least_ns") for event in result.events if event.name == event_names.STOPPED
    ]
    return sum(one for one in lengths if isinstance(one, int) and one > 0)


def _brief(span_ns: int) -> str:
    return format_ns(span_ns) if span_ns < _MINUTE_NS else format_span(span_ns)


def _kept_apart(result: Result) -> str:
    """Values kept apart, by series, since one wake-up has a value in several."""
    apart = [(one, one.stopped) for one in result.series if isinstance(one.stopped, Stopped)]
    if not apart:
        return "no value was affected"
    texts = [
        f"{format_count(stopped.count)} of {series.name} (worst "
        f"{_brief(stopped.worst) if series.unit == 'ns' else format_count(stopped.worst)})"
        for series, stopped in apart[:_MOST_SERIES]
    ]
    more = len(apart) - len(texts)
    rest = [f"{more} more series"] if more else []
    return f"set aside: {', '.join([*texts, *rest])}"


def _quota_used_up(document: RunDocument) -> str | None:
    """A quota stops time-shared threads only."""
    stopped = [
        result
        for result in document.results
        if result.environment.get("throttled_ns", 0) > 0
        and any(is_limited_by_quota(series, result) for series in result.series)
    ]
    tests = _names(document, stopped)
    total_ns = sum(result.environment["throttled_ns"] for result in stopped)
    return tests and (
        f"a CPU quota stopped the control group during {tests}: {_milliseconds(total_ns)} in "
        "total, summed over its CPUs"
    )


def _clocked_down(document: RunDocument) -> str | None:
    tests = _tests_with_counter(document, "thermal_throttled_count")
    return tests and f"the processor reduced its frequency because of heat during {tests}"


def _not_realtime(document: RunDocument) -> str | None:
    tests = _names(document, filter(lacks_realtime, document.results))
    return tests and f"not scheduled as real-time: {tests}"


def _conditions_unknown(document: RunDocument) -> str | None:
    """Without them a figure is about no system that can be named."""
    unknown = (
        result
        for result in document.results
        if has_run(result) and None in (result.conditions.load, result.conditions.policy)
    )
    tests = _names(document, unknown)
    return tests and f"the load or the scheduling is unknown: {tests}"


def _counter_refused(document: RunDocument) -> str | None:
    if document.plan.clock == "monotonic":
        return None
    for instrument in _instruments(document):
        if not instrument.trusted and instrument.clock == "monotonic":
            return f"the counter is not trusted: {instrument.reason or 'no reason given'}"
    return None


def _changed_facts(document: RunDocument) -> str | None:
    facts = sorted({changed.fact for changed in document.environment_moved})
    return f"the machine changed during the run: {listed(facts)}" if facts else None


def _clock_set_back(document: RunDocument) -> str | None:
    """Figures use the monotonic clock. Only the start and end of the run are in doubt."""
    if document.finished_utc is None or document.finished_utc >= document.started_utc:
        return None
    return "the wall clock was set back during the run: only its start and end times are wrong"


def _unfinished(document: RunDocument) -> str | None:
    if document.status != "complete":
        return f"the run is {document.status}"
    tests = _names(document, (result for result in document.results if not result.complete))
    return tests and f"incomplete: {tests}"


def _resumed(document: RunDocument) -> str | None:
    """Nobody knows what happened in a gap: the worst value may lie there."""
    tests = _with_event(document, event_names.JOINED, event_names.NEW_PART)
    gaps = [
        gap
        for result in document.results
        for event in result.events
        if event.name == event_names.JOINED and isinstance(gap := event.data.get("gap_ns"), int)
    ]
    apart = sum(
        event.name == event_names.NEW_PART for result in document.results for event in result.events
    )
    known = f"nothing was recorded for {format_span(sum(gaps))} between its parts" if gaps else ""
    boots = f"{apart} of its parts come from another boot, machine or condition" if apart else ""
    return tests and f"{tests} was resumed: {', '.join(filter(None, (known, boots)))}"


def _totals_lost(document: RunDocument) -> str | None:
    """timerlat reports a release only in its events: without them its wake-up has no total."""
    losing = [one for one in _parts_seen(document) if one.is_timerlat and one.without > 0]
    tests = _names(document, [one.result for one in losing])
    lost = format_count(sum(one.without for one in losing))
    return tests and f"{lost} totals are missing, perhaps including the worst one: {tests}"


def _interrupts_early(document: RunDocument) -> str | None:
    """Their delivery would be negative. It is recorded as 0, which is no time that was measured."""
    texts = []
    for result in document.results:
        for event in result.events:
            seen, early = (event.data.get(name) for name in ("seen_count", "early_count"))
            if event.name != event_names.ACCOUNTED or not isinstance(early, int):
                continue
            if isinstance(seen, int) and early > _EARLY * seen:
                most = event.data.get("earliest_ns")
                by = f", by up to {format_ns(most)}" if isinstance(most, int) else ""
                texts.append(
                    f"{result.test} {event.data.get('source')}: {format_count(early)} of "
                    f"{format_count(seen)} interrupts arrived before they were due{by}, as when a "
                    "hypervisor resumes its guest early, and count as 0"
                )
    return "; ".join(texts) or None


def _parts_seldom(document: RunDocument) -> str | None:
    """The parts of a few wake-ups may be those of one kind of wake-up."""
    tests = _names(
        document,
        [
            one.result
            for one in _parts_seen(document)
            if not one.is_timerlat and one.without > _MOST_WITHOUT * one.slept
        ],
    )
    return tests and f"the parts of many wake-ups were not seen: {tests}"


class _PartsSeen(NamedTuple):
    """One CPU: its wake-ups that slept, and those of them that have no parts."""

    result: Result
    is_timerlat: bool
    slept: int
    without: int


def _parts_seen(document: RunDocument) -> Iterator[_PartsSeen]:
    for result in document.results:
        for event in result.events:
            if event.name != event_names.PARTS_SEEN:
                continue
            asked, seen = event.data.get("sample_count"), event.data.get("matched_count")
            awake = event.data.get("not_slept_count", 0)
            if isinstance(asked, int) and isinstance(seen, int) and isinstance(awake, int):
                slept = asked - awake
                yield _PartsSeen(
                    result, event.data.get("source") == "timerlat", slept, slept - seen
                )


def _short(document: RunDocument) -> str | None:
    """Lengths decide: -D and --samples replace those of the profile."""
    lengths = shorter_than_standard(document)
    short = [test for test, is_short in lengths.items() if is_short]
    if not short and (document.plan.tests or not has_short_profile(document)):
        return None
    tests = f": {listed(short)}" if len(short) < len(lengths) else ""
    return f"run shorter than standard{tests}"


def _unloaded(document: RunDocument) -> str | None:
    loads = {result.conditions.load for result in document.results} or {document.plan.load}
    return "no load" if loads == {"none"} else None


def _of_event(name: str, text: str) -> Claim:
    """The claim that tests have the event `name`: `text`, with their names."""

    def claim(document: RunDocument) -> str | None:
        tests = _with_event(document, name)
        return tests and text.format(tests=tests)

    return claim


UNTRUSTWORTHY: tuple[Claim, ...] = (
    _of_event(
        event_names.LEFT, f"settings not restored after {{tests}}: {event_names.LEFT_REMEDY}"
    ),
    _of_event(event_names.THROTTLED, f"{{tests}} {event_names.CPU_LOST}"),
    _of_event(event_names.DIFFER, "the conditions differed from the request: {tests}"),
    _unequal_work,
    _counter_wrong,
    _skew_wrong,
    _clock_wrong,
    _of_event(
        event_names.STOPS_MIXED,
        ("the figures include values from while the program was stopped: {tests}"),
    ),
    _identity_broken,
)
INDICATIVE: tuple[Claim, ...] = (
    _imported,
    _stopped,
    _quota_used_up,
    _of_event(
        event_names.STOPS_NOT_WATCHED,
        "stops of the program cannot be detected and would look like latencies: {tests}",
    ),
    _instructions,
    _emulated,
    _virtual,
    _stolen,
    _clocked_down,
    _load_short,
    _blocks_unsteady,
    _not_realtime,
    _conditions_unknown,
    _counter_refused,
    _clock_unsure,
    _changed_facts,
    _clock_set_back,
    _unfinished,
    _resumed,
    _totals_lost,
    _parts_seldom,
    _interrupts_early,
    _of_event(
        event_names.CONNECTED, "hardstone connected to the target while it measured: {tests}"
    ),
    _of_event(event_names.DROPPED, "more events than fit, some are lost: {tests}"),
    _of_event(
        event_names.IN_MEMORY,
        ("the files were in memory, where synchronisation means nothing: {tests}"),
    ),
    _of_event(
        event_names.ON_NETWORK,
        ("the files were on a network file system, whose delays are in the figures: {tests}"),
    ),
    _short,
    _unloaded,
)


def _instruments(document: RunDocument) -> Iterator[Instrument]:
    if document.instrument is not None:
        yield document.instrument
    for result in document.results:
        if result.instrument is not None:
            yield result.instrument


def _tests_with_counter(document: RunDocument, name: str) -> str | None:
    counted = (result for result in document.results if result.environment.get(name, 0) > 0)
    return _names(document, counted)


def _with_event(document: RunDocument, *names: str) -> str | None:
    found = (
        result for result in document.results if any(event.name in names for event in result.events)
    )
    return _names(document, found)


def _milliseconds(span_ns: int) -> str:
    """Always in ms. Less than 1 ms is never rounded to 0."""
    return f"{span_ns / 1e6:.0f} ms" if span_ns >= 1_000_000 else "less than 1 ms"


def _names(document: RunDocument, results: Iterable[Result]) -> str | None:
    names = names_in(document)
    return listed(names.name(result) for result in results) or None
