"""Interleaved pairs: their figures, and what a stored gate measured of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from hardstone.errors import InputError
from hardstone.gate.judge import WeighedRun
from hardstone.gate.limits import amount_text
from hardstone.gate.outcome import GATE_SCHEMA, Check, GateDocument, JudgedBy, Pair, gate_document
from hardstone.model import RunDocument, Series, Unit
from hardstone.stats.consistency import is_contradictory, time_meaning, why_incomparable
from hardstone.stats.histogram import above
from hardstone.stats.identity import parse_layout
from hardstone.stats.quantiles import is_printable, why_no_quantile
from hardstone.stats.resampling import MOST_PAIRS
from hardstone.stats.run_gate import ALPHA, DEFAULT_MARGINS, PairGate, gate_pairs
from hardstone.stats.two_runs import quantile_of
from hardstone.systems.published import Address, AddressError, resolve
from hardstone.systems.subjects import subjects_of
from hardstone.units import MAX_DURATION_NS

_QUANTILES = {"q50": 0.5, "q99": 0.99, "q99.9": 0.999}
_ABOVE = "above"
INTERRUPTED = (
    "interrupted: fewer pairs than requested, and a test must not stop depending on its results"
)
OPEN = (
    "the deadline is inside a histogram bucket, and the outcome depends on where its values are: "
    "choose another deadline"
)


@dataclass(frozen=True)
class PairedRun:
    """A run of one side of a pair, or why there is none."""

    document: RunDocument | None
    problem: str = ""


@dataclass(frozen=True)
class _Sides:
    """The series of both runs of a pair that counts."""

    first: Series
    second: Series


def check_pairs(
    address: Address,
    runs: Sequence[tuple[PairedRun, PairedRun]],
    sides: tuple[str, str],
    *,
    deadline_ns: int | None = None,
    has_tails: bool = True,
    margin: float | None = None,
    alpha: float = ALPHA,
    is_cut: bool = False,
    is_chosen_later: bool = False,
    before: Sequence[Pair] = (),
    notes: Sequence[str] = (),
) -> GateDocument:
    """What pairs of runs say about the second side. `sides` are what was run, for people.

    Without `has_tails` medians are judged, and values above `deadline_ns` where that is given.
    `margin` takes the place of that of each statistic; `alpha` is the level of all together.
    `is_cut`: not all pairs that were asked for were run; then nothing is decided.
    `is_chosen_later`: the pairs were measured for another question.
    `before`: the same pairs as they were judged before; what did not count then does not count now.
    """
    counted: list[_Sides] = []
    pairs: list[Pair] = []
    for number, (first, second) in enumerate(runs):
        if before and before[number].left_out:
            pairs.append(before[number])
            continue
        found = _sides(address, first, second)
        ids = [one.document.id if one.document else None for one in (first, second)]
        why = found if isinstance(found, str) else ""
        pairs.append(Pair(first=ids[0], second=ids[1], left_out=why))
        if isinstance(found, _Sides):
            counted.append(found)
    values = _values(counted, deadline_ns, has_tails=has_tails)
    margins = {name: margin or DEFAULT_MARGINS[name] for name in values}
    gates = gate_pairs(values, margins, alpha=alpha)
    if deadline_ns is not None:
        least = [_share_above_least(one, deadline_ns) for one in counted]
        gates = _decided(gates, values, least, margins, alpha)
    checks = [_check(address, one, counted, sides, deadline_ns, is_cut=is_cut) for one in gates]
    return gate_document(
        "pairs",
        [sides[1]],
        [sides[0]],
        checks,
        pairs=pairs,
        statistics=gates,
        judged_by=JudgedBy(
            address=str(address),
            deadline_ns=deadline_ns,
            has_tails=has_tails,
            margin=margin,
            alpha=alpha,
            is_cut=is_cut,
            is_chosen_later=is_chosen_later,
        ),
        notes=[*notes, *_meaning(runs), *_differing_labels(counted), *_maxima(counted)],
    )


def why_left_out(address: Address, pair: tuple[PairedRun, PairedRun]) -> str:
    """Why a pair does not count; "": it does."""
    found = _sides(address, *pair)
    return found if isinstance(found, str) else ""


def _sides(address: Address, first: PairedRun, second: PairedRun) -> _Sides | str:
    """Both series, or why the pair does not count."""
    found: list[Series] = []
    for name, one in (("A", first), ("B", second)):
        series = _series(address, one)
        if isinstance(series, str):
            return f"{name}: {series}"
        found.append(series)
    a, b = first.document, second.document
    why = why_incomparable(a, b) if a is not None and b is not None else ""
    if why:
        return why
    if found[0].unit != found[1].unit or found[0].name != found[1].name:
        return "the two runs have different series"
    return _Sides(*found)


def _series(address: Address, one: PairedRun) -> Series | str:
    """The series at `address` (the first of a test without one), or why it does not count."""
    if one.document is None:
        return one.problem or "not measured"
    result = next((each for each in one.document.results if each.test == address.test), None)
    if result is None:
        return f"the run has no {address.test}"
    doubts = WeighedRun(subjects_of(one.document)[0]).doubts_of(result)
    if doubts.barring or doubts.weakening:
        return doubts.barring or doubts.weakening
    series = result.series[0] if result.series else None
    try:
        series = resolve(address, one.document).series if address.parts else series
    except AddressError as error:
        return error.cause
    if series is None or not series.count:
        return "no values"
    return _why_unusable(series) or series


def _why_unusable(series: Series) -> str:
    if is_contradictory(series):
        return "figures that cannot be true"
    is_open = series.histogram.overflow and parse_layout(series.histogram.layout).is_imported
    lost = (
        f"{series.histogram.overflow} values are in no bucket of its histogram" if is_open else ""
    )
    return why_no_quantile(series) or lost


def _values(
    counted: Sequence[_Sides], deadline_ns: int | None, *, has_tails: bool
) -> Mapping[str, Sequence[tuple[float, float]]]:
    """(A, B) of each pair for each statistic, larger being worse: a rate is inverted."""
    least = min((one.count for pair in counted for one in (pair.first, pair.second)), default=0)
    is_rate = bool(counted) and counted[0].first.unit == "bytes_per_s"
    found: dict[str, list[tuple[float, float]]] = {}
    for name, q in _QUANTILES.items():
        if q == 0.5 or (has_tails and is_printable(q, least) and not is_rate):
            found[name] = [(_quantile(one.first, q), _quantile(one.second, q)) for one in counted]
    if deadline_ns is not None:
        if counted and counted[0].first.unit != "ns":
            raise InputError(f"--deadline: {counted[0].first.name} is not a time", "leave it out")
        found[_ABOVE] = [_share_above(one, deadline_ns) for one in counted]
    return found


def _quantile(series: Series, q: float) -> float:
    """A rate as its inverse, so that less is better."""
    value = float(quantile_of(series, q))
    return 1 / value if series.unit == "bytes_per_s" and value else value


def _share_above(one: _Sides, deadline_ns: int) -> tuple[float, float]:
    """How many of a million values are above the deadline: the counts of the runs may differ.
    Where a bucket holds the deadline, the least of A and the most of B, so that no change looks
    better than it is."""
    first, second = (above(series, deadline_ns) for series in (one.first, one.second))
    most = one.second.count if second.high is None else second.high
    return 1e6 * first.low / one.first.count, 1e6 * most / one.second.count


def _share_above_least(one: _Sides, deadline_ns: int) -> tuple[float, float]:
    """The same in favour of B: what fails here fails wherever the values lie in their bucket."""
    first, second = (above(series, deadline_ns) for series in (one.first, one.second))
    most = one.first.count if first.high is None else first.high
    return 1e6 * most / one.first.count, 1e6 * second.low / one.second.count


def _decided(
    gates: Sequence[PairGate],
    values: Mapping[str, Sequence[tuple[float, float]]],
    least: Sequence[tuple[float, float]],
    margins: Mapping[str, float],
    alpha: float,
) -> list[PairGate]:
    """`gates`; values above a deadline fail only if they also do with the shares `least`."""
    if not any(one.statistic == _ABOVE and one.outcome == "FAIL" for one in gates):
        return list(gates)
    other = gate_pairs({**values, _ABOVE: least}, margins, alpha=alpha)
    is_open = any(one.statistic == _ABOVE and one.outcome != "FAIL" for one in other)
    return [
        msgspec.structs.replace(one, outcome="INCONCLUSIVE", reason=OPEN)
        if is_open and one.statistic == _ABOVE
        else one
        for one in gates
    ]


def _check(
    address: Address,
    gate: PairGate,
    counted: Sequence[_Sides],
    sides: tuple[str, str],
    deadline_ns: int | None,
    *,
    is_cut: bool,
) -> Check:
    series = counted[0].first if counted else None
    unit: Unit | None = series.unit if series else None
    name = gate.statistic.replace("q", "p")
    if gate.statistic == _ABOVE and deadline_ns is not None:
        name = f"above {amount_text(deadline_ns, 'ns')}"
    slower = "lower" if unit == "bytes_per_s" else "higher"
    which = "A/B" if unit == "bytes_per_s" else "B/A"  # of a rate the inverse is worse
    low, high = ("unbounded" if one is None else f"{one:.3g}" for one in (gate.low, gate.high))
    found = "-"
    if gate.ratio is not None:
        interval = f"{low} to {high}, {100 * gate.confidence:g} %"
        found = f"{which} {gate.ratio:.3g} ({interval})"
    labels = [] if series is None else [*map(str, series.labels.values()), series.name]
    return Check(
        outcome="INCONCLUSIVE" if is_cut else gate.outcome,
        system=sides[1],
        condition=f"{gate.pairs_count} pairs",
        address=str(address) if address.parts else "/".join([address.test, *labels]),
        statistic=name,
        wanted=f"at most {100 * gate.margin:.6g} % {slower} than A",
        found=found,
        reason=INTERRUPTED if is_cut else gate.reason,
        value=gate.ratio,
        low=gate.low,
        high=gate.high,
        source="interleaved pairs",
    )


def _differing_labels(counted: Sequence[_Sides]) -> list[str]:
    """A remark where the labels of the sides differ; the CPU may be one of them."""
    if not counted:
        return []
    first, second = counted[0].first.labels, counted[0].second.labels
    return [
        f"{key} is {first.get(key, 'none')} in A and {second.get(key, 'none')} in B"
        for key in {**first, **second}
        if first.get(key) != second.get(key)
    ]


def _maxima(counted: Sequence[_Sides]) -> list[str]:
    if not counted:
        return []
    unit = counted[0].first.unit
    firsts = [one.first.max for one in counted if one.first.max is not None]
    seconds = [one.second.max for one in counted if one.second.max is not None]
    if not firsts or not seconds:  # files of other tools may have no maximum
        return []
    first, second = (amount_text(max(found), unit) for found in (firsts, seconds))
    return [f"worst observed: A {first}, B {second}; no verdict on the maximum of a run"]


def _meaning(runs: Sequence[tuple[PairedRun, PairedRun]]) -> list[str]:
    documents = [one.document for pair in runs for one in pair if one.document is not None]
    said = dict.fromkeys(time_meaning(one.system) for one in documents)
    return [one for one in said if one]


MOST_MARGIN = 100
_RUN_NAME = re.compile("gate ([AB]) ([1-9][0-9]?) of ([1-9][0-9]?)", re.ASCII)
_REMEDY = "name a file that hardstone gate --pairs --json wrote"


@dataclass(frozen=True)
class MeasuredPairs:
    """The runs of each pair, what was run as A and as B, what they were asked, and what they said
    of it."""

    pairs: list[Pair]
    sides: tuple[str, str]
    judged_by: JudgedBy
    statistics: list[PairGate]


def read_measured_pairs(data: bytes, name: str) -> MeasuredPairs:
    """The pairs of the document `data`, which errors call `name`. InputError for anything else."""
    try:
        document = msgspec.json.decode(data, type=GateDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not the outcome of a gate: {error}", _REMEDY) from None
    if document.schema != GATE_SCHEMA:
        said = document.schema[:60]
        raise InputError(f"{name} has the schema '{said}', not {GATE_SCHEMA}", _REMEDY)
    if document.kind != "pairs" or not document.pairs:
        raise InputError(f"{name} has no interleaved pairs", _REMEDY)
    if document.judged_by is None or len(document.systems) != 1 or len(document.against) != 1:
        raise InputError(f"{name} does not state the request of its pairs", "measure them again")
    if len(document.pairs) > MOST_PAIRS:
        raise InputError(f"{name} has {len(document.pairs)} pairs; the most is {MOST_PAIRS}")
    asked = document.judged_by
    is_possible = (
        0 < asked.alpha < 0.5
        and (asked.margin is None or 0 < asked.margin <= MOST_MARGIN)
        and (asked.deadline_ns is None or 0 < asked.deadline_ns <= MAX_DURATION_NS)
    )
    if not is_possible:
        raise InputError(f"{name}: its level, margin or deadline is impossible", _REMEDY)
    sides = document.against[0], document.systems[0]
    return MeasuredPairs(document.pairs, sides, asked, document.statistics)


def run_name(side: str, number: int, pairs_count: int) -> str:
    """The name under which the run of "A" or "B" in pair `number`, from 1, is stored."""
    return f"gate {side} {number} of {pairs_count}"


def pairs_asked(name: str, side: str, number: int) -> int | None:
    """How many pairs were asked for when the run `name` was measured; None where it is not that of
    `side` in pair `number`."""
    found = _RUN_NAME.fullmatch(name)
    is_it = found is not None and (found[1], int(found[2])) == (side, number)
    return int(found[3]) if found is not None and is_it else None
