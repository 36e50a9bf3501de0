"""Figures of a run that cannot be true, the kind of its time, and work that it calibrated:
whether figures may be believed and set against others.

They contradict each other, or are values that are impossible whatever the system does: an event
before its cause, a time longer than the measurement. The probe's descriptors state what is possible
for each series (`struct series_spec`, probe/src/run/test.h).

A guest that calibrated its clock wrongly is consistent within itself: nothing that its probe
measures shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple
from weakref import KeyedRef

import msgspec

from hardstone.model import ClockCheck, ParamValue, Result, RunDocument, Scalar, Series, Trust
from hardstone.stats.conditions import names_in
from hardstone.stats.identity import (
    MAX_VALUE,
    duration_problem,
    load_problem,
    observation_problem,
    pair_problem,
    parse_layout,
    ranked_counts_of,
    series_problem,
)
from hardstone.units import format_count, format_ns

TITLE = "Figures that cannot be true"
MARK = "!"
MARK_NOTE = f"{MARK} cannot be true (see the top): do not use it"
_WRONG_CLOCK = "the clock or a timer is wrong: run CLK-B-RES TMR-B-EDGE"
_OF_WRONG = "computed from figures that cannot be true"
# The counter may run as far from CLOCK_MONOTONIC before the probe refuses it (base/clock.h).
_CLOCKS_APART = 500e-6
_MOST_MESSAGES = 20
_MOST_CHARACTERS = 100


class Contradiction(NamedTuple):
    """`where` names test and figure, `what` the contradiction. `series` is None if the figure
    belongs to the whole result or run."""

    where: str
    what: str
    series: Series | None = None

    @property
    def text(self) -> str:
        return f"{self.where}: {self.what}"


def contradictions(document: RunDocument) -> Iterator[Contradiction]:
    """The contradictions in `document`: those of the run first, then result by result."""
    if document.instrument is not None:
        problem = pair_problem(document.instrument.pair)
        if problem is not None:
            yield Contradiction("instrument", problem)
    names = names_in(document)
    for result in document.results:
        name = _shortened(names.name(result))
        for found in _result_contradictions(result):
            yield found._replace(where=f"{name} {found.where}".rstrip())


def _result_contradictions(result: Result) -> Iterator[Contradiction]:
    found = [("", duration_problem(result.duration_ns)), ("", observation_problem(result))]
    if result.instrument is not None:
        found.append(("instrument", pair_problem(result.instrument.pair)))
    found += [(f"load {_shortened(one.element)}", load_problem(one)) for one in result.load]
    for where, problem in found:
        if problem is not None:
            yield Contradiction(where, problem)
    yield from series_contradictions(result)


def series_contradictions(result: Result) -> Iterator[Contradiction]:
    """The contradictions in the series of a result. What is computed from a wrong one is wrong."""
    is_source_wrong = False
    derived = []
    for series in result.series:
        problem = contradiction_of(series)
        if problem is not None:
            is_source_wrong = is_source_wrong or series.derived is None
            yield Contradiction(_series_name(series), problem, series)
        elif series.derived is not None and series.count:
            derived.append(series)
    if is_source_wrong:
        for series in derived:
            yield Contradiction(_series_name(series), _OF_WRONG, series)


def contradiction_messages(
    document: RunDocument, known: Sequence[Contradiction] | None = None
) -> list[str]:
    """A line for each of the first contradictions, then the number of the others. `known`: the
    contradictions, if already computed."""
    found = iter(contradictions(document) if known is None else known)
    lines = [one.text for one in islice(found, _MOST_MESSAGES)]
    more = sum(1 for _ in found)
    return [*lines, f"and {more} more"] if more else lines


class _Checked(NamedTuple):
    """What is wrong with a series, and what it contained then."""

    series: KeyedRef[int, Series]
    fields: tuple[object, ...]
    problem: str | None


_CHECKED: dict[int, _Checked] = {}  # by id, while the series lives


def is_contradictory(series: Series) -> bool:
    """Whether figures of `series` cannot be true."""
    return contradiction_of(series) is not None


def contradiction_of(series: Series) -> str | None:
    """Why figures of `series` cannot be true, or None.

    Checked once, as long as its fields are the same: each part of a screen asks anew.
    """
    key, histogram = id(series), series.histogram
    lengths = len(histogram.buckets), len(series.worst), len(series.maxima_per_s)
    fields = (*msgspec.structs.astuple(series), *msgspec.structs.astuple(histogram), *lengths)
    known = _CHECKED.get(key)
    if known is not None and known.fields == fields:
        return known.problem
    problem = series_problem(series) or _impossible(series)
    reference = KeyedRef(series, lambda gone: _CHECKED.pop(gone.key, None), key)
    _CHECKED[key] = _Checked(reference, fields, problem)
    return problem


def _impossible(series: Series) -> str | None:
    """Values of a sound series that are impossible: how many, and the worst of them."""
    if series.min is None or series.max is None:
        return None
    is_timed = series.unit == "ns" and series.derived is None
    least, most = series.possible_min, series.possible_max
    is_own = not parse_layout(series.histogram.layout).is_imported
    if least is None and series.derived is None and is_own:
        least = 0  # probes before these bounds
    if least is not None and series.min < least:
        count = series.histogram.underflow + _count_in(series, 0, least - 1)
        if is_timed:
            return f"{_beyond(series, count, 'negative, down to', series.min)}; {_WRONG_CLOCK}"
        which = f"below {_said(series, least)}, down to"
        return f"{_beyond(series, count, which, series.min)}, which is impossible"
    slack = 0 if most is None or not is_timed else round(most * _CLOCKS_APART)
    if most is None or series.max <= most + slack:
        return None
    count = max(1, series.histogram.overflow + _count_in(series, most + 1, MAX_VALUE))
    if is_timed:
        which = f"above the {_said(series, most)} of the measurement, up to"
        return f"{_beyond(series, count, which, series.max)}; {_WRONG_CLOCK}"
    which = f"above {_said(series, most)}, up to"
    return f"{_beyond(series, count, which, series.max)}, which is impossible"


def _beyond(series: Series, count: int, which: str, worst: int) -> str:
    be = "is" if count == 1 else "are"
    return f"{count} of {series.count} values {be} {which} {_said(series, worst)}"


def _said(series: Series, value: int) -> str:
    return format_ns(value) if series.unit == "ns" else format_count(value)


def _count_in(series: Series, least: int, most: int) -> int:
    """The number of values in the buckets that lie within `least` to `most`."""
    layout = parse_layout(series.histogram.layout)
    ends = ((layout.edges_of(index), count) for index, count in series.histogram.buckets)
    return sum(count for (low, high), count in ends if least <= low and high <= most)


def trust_of(document: RunDocument, known: Sequence[Contradiction] | None = None) -> Trust:
    """The stored trust, but always untrustworthy if figures contradict each other. `known`: the
    contradictions, if already computed."""
    first = next(iter(contradictions(document) if known is None else known), None)
    if first is None or first.text in document.trust.reasons:
        return document.trust
    return msgspec.structs.replace(
        document.trust, grade="untrustworthy", reasons=[first.text, *document.trust.reasons]
    )


def _series_name(series: Series) -> str:
    labels = ", ".join(f"{key} {value}" for key, value in series.labels.items())
    return _shortened(f"{series.name} [{labels}]" if labels else series.name)


def _shortened(name: str) -> str:
    is_long = len(name) > _MOST_CHARACTERS
    return f"{name[:_MOST_CHARACTERS]}\N{HORIZONTAL ELLIPSIS}" if is_long else name


_MOST_PERCENT = 1


def clocks_apart(check: ClockCheck) -> str | None:
    """The reason, if the spans differ by more than 1 % beyond the uncertainty; else None."""
    beyond_ns = abs(check.target_ns - check.host_ns) - _uncertainty_ns(check)
    if check.host_ns <= 0 or 100 * beyond_ns <= _MOST_PERCENT * check.host_ns:
        return None
    if check.target_ns <= 0:
        return f"the target's clock {'went back' if check.target_ns else 'stood still'}"
    speed = _speed_text(check.target_ns / check.host_ns)
    return f"the target's clock ran {speed} times as fast as this machine's"


def clocks_not_held(check: ClockCheck) -> str | None:
    """The reason, if the uncertainty exceeds 1 % of the span and nothing else is seen; else None.

    Without a span there is nothing to hold against either.
    """
    uncertainty_ns = _uncertainty_ns(check)
    is_sure = 100 * uncertainty_ns <= _MOST_PERCENT * check.host_ns
    if (check.host_ns > 0 and is_sure) or clocks_apart(check):
        return None
    return (
        "the target's clock could not be checked against this machine's: the uncertainty is "
        f"{format_ns(uncertainty_ns)} in {format_ns(max(check.host_ns, 0))}"
    )


def _uncertainty_ns(check: ClockCheck) -> int:
    return max(check.uncertainty_ns, 0)


def _speed_text(ratio: float) -> str:
    """Four significant digits: a clock that is off by 1 % is not called 1.0 times as fast."""
    if ratio < 0.001:
        return "less than 0.001"
    return format_count(round(ratio)) if ratio >= 1000 else f"{ratio:.4g}"


_EMULATOR = "TCG"  # QEMU reports this name when it emulates the processor


class KindOfTime(Enum):
    """Durations of different kinds are never compared. The value is what a reason calls a run."""

    HARDWARE = "measured on hardware"
    EMULATED = "emulated"
    COUNTED = "time is an instruction count"
    UNKNOWN = "may be emulated"


_OTHER_TIMES = {
    KindOfTime.HARDWARE: "hardware",
    KindOfTime.EMULATED: "an emulated processor",
    KindOfTime.COUNTED: "an instruction count",
    KindOfTime.UNKNOWN: "a processor that may be emulated",
}
_MEANINGS = {
    KindOfTime.EMULATED: "Times of an emulated processor do not apply to hardware.",
    KindOfTime.COUNTED: (
        "Each instruction takes the same virtual time: the times are path lengths and do not "
        "apply to hardware."
    ),
    KindOfTime.UNKNOWN: (
        "The processor may be emulated. If it is, the times do not apply to hardware."
    ),
}


def is_emulated(system: Mapping[str, Scalar]) -> bool:
    """Whether the facts `system` say that the processor is emulated."""
    hypervisor = str(system.get("virtual.hypervisor"))
    return bool(system.get("virtual.emulated")) or hypervisor.startswith(_EMULATOR)


def counts_instructions(system: Mapping[str, Scalar]) -> bool:
    """Whether the clocks of the system count instructions, each of which takes the same time."""
    return system.get("virtual.time") == "instructions"


def kind_of_time(system: Mapping[str, Scalar]) -> KindOfTime:
    """A system without the fact is taken for hardware, one that could not find it out is not."""
    if counts_instructions(system):
        return KindOfTime.COUNTED
    if is_emulated(system):
        return KindOfTime.EMULATED
    is_unknown = system.get("virtual.emulated", False) is None
    return KindOfTime.UNKNOWN if is_unknown else KindOfTime.HARDWARE


def time_meaning(system: Mapping[str, Scalar]) -> str:
    """What the kind of time means for the figures, as a sentence; empty for hardware."""
    return _MEANINGS.get(kind_of_time(system), "")


def why_other_time(ours: KindOfTime, theirs: KindOfTime = KindOfTime.HARDWARE) -> str:
    """Why no duration of kind `ours` may be compared with one of kind `theirs`, which is that of
    every study: "emulated: not comparable with hardware". Empty if it may.

    Such a figure is shown all the same, marked, with this reason; nothing follows from it: no
    ratio, no point, no verdict.
    """
    if ours is theirs:
        return ""
    return f"{ours.value}: not comparable with {_OTHER_TIMES[theirs]}"


_SAME_SET = {"amd64": "x8664", "arm64": "aarch64"}
_WIDTH_UNSAID = "riscv"  # as NuttX names its instruction set, of 32 and of 64 bits


def why_other_set(ours: Mapping[str, Scalar], theirs: Mapping[str, Scalar]) -> str:
    """Why no duration of a system may be compared with one of another if both count instructions,
    and have different instruction sets. Empty if it may, or a set is not known."""
    if not (counts_instructions(ours) and counts_instructions(theirs)):
        return ""
    own, other = _instruction_set(ours), _instruction_set(theirs)
    if not own or not other or own == other:
        return ""
    if _WIDTH_UNSAID in (own, other) and own.startswith(_WIDTH_UNSAID) == other.startswith(
        _WIDTH_UNSAID
    ):
        return ""
    return "another instruction set: the same work is another number of instructions"


def _instruction_set(system: Mapping[str, Scalar]) -> str:
    """ "riscv" for "risc-v", "aarch64" for "arm64"; "" if it is not known."""
    name = system.get("machine.arch")
    plain = name.lower().replace("-", "").replace("_", "") if isinstance(name, str) else ""
    return _SAME_SET.get(plain, plain)


def why_incomparable(first: RunDocument, other: RunDocument) -> str | None:
    """Why no duration of `other` may be divided by one of `first`; None if it may."""
    apart = why_other_time(kind_of_time(other.system), kind_of_time(first.system))
    apart = apart or why_other_set(other.system, first.system)
    if apart:
        return apart
    for document, whose in ((other, ""), (first, "of the first target: ")):
        problem = clock_problem(document)
        if problem:
            return whose + problem
    return None


def why_not_comparable_to_hardware(document: RunDocument) -> str | None:
    """Why no figure of `document` may stand beside one measured on hardware; None if it may."""
    return why_other_time(kind_of_time(document.system)) or clock_problem(document)


def clock_problem(document: RunDocument) -> str | None:
    """Why no duration of `document` may be compared at all: its clock was wrong."""
    return clocks_apart(document.clock_check) if document.clock_check else None


# Counts further apart than this differ: more values usually show a larger worst.
UNLIKE_COUNTS = 1.1
UNEQUAL = "the amounts of work differ, so the times are not comparable"
UNSTEADY = "the CPU was busy, or its frequency changed after the calibration"
_BLOCKS = "RSP-P-FIX"
# Of the calibrated time: twice the 5 % that throttling takes at most from a thread that only
# computes (interrupts and the tick take less than 1 %). What moves every second block by more is
# other work, or another frequency than that of the calibration.
_BLOCK_TOLERANCE = 0.1


def has_same_request(params: Mapping[str, ParamValue], result: Result) -> bool:
    """Whether `result` answers a request with `params`, apart from calibrated parameters."""
    return _fixed(params, result) == _fixed(result.params, result)


def _fixed(params: Mapping[str, ParamValue], result: Result) -> dict[str, ParamValue]:
    """Parameters that are not calibrated. The probe does not report empty ones."""
    return {
        name: value
        for name, value in params.items()
        if name not in result.calibrated and value != []
    }


def unequal_work(document: RunDocument) -> dict[str, list[str]]:
    """Calibrated parameters that differ between results of equal requests, by test."""
    firsts: dict[tuple[str, str], list[Result]] = {}
    unequal: dict[str, list[str]] = {}
    for result in document.results:
        for name, value in result.calibrated.items():
            same = [
                one
                for one in firsts.setdefault((result.test, name), [])
                if has_same_request(one.params, result)
            ]
            if not same:
                firsts[result.test, name].append(result)
            elif same[0].calibrated[name] != value:
                unequal.setdefault(result.test, []).append(name)
    return {test: list(dict.fromkeys(names)) for test, names in unequal.items()}


def work_of(series: Series, calibrated: Mapping[str, int]) -> dict[str, int]:
    """The part of `calibrated` that belongs to `series`: with the label kind=add,
    `add_operations` gives {"operations": 7}."""
    heads = [f"{value}_" for value in series.labels.values() if isinstance(value, str)]
    return {
        name.removeprefix(head): value
        for name, value in calibrated.items()
        for head in heads
        if name.startswith(head)
    }


def unsteady_blocks(document: RunDocument) -> Iterator[tuple[Result, str]]:
    """Results without load whose median block did not take the time that was calibrated, each with
    that in words. Only where the run itself calibrated the block."""
    for result in document.results:
        if result.test != _BLOCKS or result.conditions.load != "none":
            continue
        block_ns = result.params.get("block_ns")
        if not isinstance(block_ns, int) or block_ns <= 0:
            continue
        least_ns, most_ns = (block_ns * (1 + sign * _BLOCK_TOLERANCE) for sign in (-1, 1))
        medians = {
            str(series.labels.get("kind", series.name)): _median_ns(series)
            for series in result.series
            if series.count
            and not is_contradictory(series)
            and _is_calibrated_here(series, result, document)
        }
        outside = [
            f"{format_ns(median_ns)} ({kind})"
            for kind, median_ns in medians.items()
            if not least_ns <= median_ns <= most_ns
        ]
        if outside:
            took = f"the median block took {', '.join(outside)}"
            yield result, f"without load {took}, calibrated to {format_ns(block_ns)}"


def _is_calibrated_here(series: Series, result: Result, document: RunDocument) -> bool:
    """Whether no request gave the number of operations of `series`."""
    names = [f"{value}_operations" for value in series.labels.values()]
    asked = [one.params for one in document.plan.tests if one.test == result.test]
    return any(
        params.get(name) == 0
        for name in names
        if name in result.calibrated
        for params in (result.params, *asked)
    )


def _median_ns(series: Series) -> float:
    """The middle of the bucket of the median; of a series without one, its mean."""
    ranks = ranked_counts_of(series.histogram)
    if not ranks.has_quantiles:
        return series.mean or 0.0
    inside = (ranks.total + 1) // 2 - ranks.underflow
    if not 0 < inside <= ranks.total - ranks.underflow - ranks.overflow:
        return series.mean or 0.0
    return sum(ranks.edges_at(inside)) / 2
