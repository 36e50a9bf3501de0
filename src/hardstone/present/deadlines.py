"""A deadline in words: how many values of each series are above it, and the next maximum as
projected, or why there is none.

It is never the headline: the worst observed is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from math import ceil
from typing import TYPE_CHECKING

import msgspec

from hardstone.catalogue import kind_of
from hardstone.errors import InputError
from hardstone.figure_text import share_text
from hardstone.model import Result, RunDocument, Series, Trust
from hardstone.present.overview import decisive_series
from hardstone.stats.conditions import condition_of
from hardstone.stats.consistency import contradictions, is_contradictory, trust_of
from hardstone.stats.identity import parse_layout, top_of
from hardstone.stats.quantiles import (
    CONFIDENCE,
    INDEPENDENT,
    is_count_known,
    lacking,
    misses_of,
    share_high,
    values_to_bound,
    why_no_share,
)
from hardstone.stats.trust import MISSING, lacks
from hardstone.units import format_count, format_ns
from hardstone.wording import range_text, series_text, shorten

if TYPE_CHECKING:  # which loads numpy, and most screens have no projection
    from hardstone.stats.projection import Projection

_CONTRADICTORY = "figures of the series cannot be true"


@dataclass(frozen=True)
class ProjectionText:
    """The projection of one series in words.

    `lines`: the interval and what it holds for, or every reason why nothing is projected.
    `meaning`: why each of these reasons matters, or empty.
    """

    label: str
    worst: str
    is_projected: bool
    lines: list[str]
    meaning: list[str]

    @property
    def outcome(self) -> str:
        return "projection, not observed" if self.is_projected else "no projection"


def projections(result: Result, document: RunDocument) -> list[ProjectionText]:
    """One for each series of durations with at least LEAST_VALUES values."""
    return [_text_of(one, result, document) for one in result.series if _has_enough(one)]


def decisive_projection(result: Result, document: RunDocument) -> ProjectionText | None:
    """The projection of the decisive series of a timing test; None if the series is too short:
    fewer than LEAST_VALUES values, or maxima of fewer than LEAST_BLOCKS intervals."""
    if kind_of(result.test) == "behaviour":
        return None
    from hardstone.stats.projection import LEAST_BLOCKS, maxima_of

    series = decisive_series(result)
    if series is None or not _has_enough(series) or maxima_of(series).size < LEAST_BLOCKS:
        return None
    return _text_of(series, result, document)


def _has_enough(series: Series) -> bool:
    from hardstone.stats.projection import LEAST_VALUES

    return series.unit == "ns" and series.count >= LEAST_VALUES


def _text_of(series: Series, result: Result, document: RunDocument) -> ProjectionText:
    from hardstone.stats.projection import REASONS, Refusal, project

    reasons, meaning, lines = [], [], []
    if is_contradictory(series):
        reasons.append(_CONTRADICTORY)
    else:
        try:
            found = project(series, result, document)
        except InputError:
            reasons.append("the histogram is not readable")
        else:
            if isinstance(found, Refusal):
                reasons = [one.text for one in found.reasons]
                meaning = [REASONS[one.code] for one in found.reasons]
            elif any(contradictions(document)):  # what is stored of its trust does not know them
                reasons.append("other figures of the run cannot be true")
            else:
                lines = list(_projected(found))
    return ProjectionText(
        label=shorten(series_text(series), limit=120),
        worst=f"{format_ns(series.max)} in {format_count(series.count)} values",
        is_projected=not reasons,
        lines=reasons or lines,
        meaning=meaning,
    )


def _projected(found: Projection) -> Iterator[str]:
    interval = range_text(format_ns(found.low_ns), format_ns(found.high_ns))
    yield (
        f"maximum of the next {format_count(found.next_count)} values: {interval} "
        f"({found.confidence:.0%} interval), median {format_ns(found.median_ns)}"
    )
    yield "holds if system, state and load stay the same, and values are independent"
    yield (
        f"from the {format_count(found.exceedances_count)} values above "
        f"{format_ns(found.threshold_ns)}: shape {found.shape:.2f}, "
        f"scale {format_ns(found.scale_ns)}"
    )


MISSES_SCHEMA = "hardstone.misses/1"
_CUT = (
    "The deadline lies inside a histogram bucket, whose values may be on either side of it. Both "
    "counts are given; the share is that of the higher one, and the interval covers both."
)
_PAST = (
    "The deadline is above the last bucket of the file: the values there may be on either side of "
    "it, and only the largest is known."
)
_LATENESS = (
    "One late wake-up can miss several releases: wakeup counts it once, release counts each late "
    "release."
)
_DERIVED = (
    "Derived values were not timed directly: half of a round trip does not show which half was "
    "slow. Without a miss they give no upper bound."
)
_MISSING = (
    f"{MISSING[:1].upper()}{MISSING[1:]}: counts and shares are those of the values that it has, "
    "and without a miss they give no upper bound."
)
_RARE = 1_000_000
_NEEDED = (
    f"Without a miss, {format_count(values_to_bound(1e-3))} values are needed to bound the share "
    f"to 1 in 1000, and {format_count(values_to_bound(1 / _RARE))} to bound it to 1 in "
    f"{format_count(_RARE)}."
)
_LEAST_FOR_BOUND = 20  # fewer values bound next to nothing
_FROM_PERCENT = 0.1  # from which on share_text has percent


class Misses(msgspec.Struct, kw_only=True, frozen=True):
    """A series against the deadline. `least_count` to `most_count` of its `values` are above:
    equal, unless a bucket holds the deadline.

    The share is from `share_low` to `share_high`, at the confidence of the document. `at_most` is
    the one-sided limit of the share; only a timed series of at least 20 values, none of which
    missed, has it. `problem`: why
    there are no figures. `derived`: how its values follow from others, which were measured.
    `status` is that of the result; `is_complete`: it ran to its end. `is_past`: the deadline is
    above the buckets of the file of another tool. `values` is null where that file does not say
    how many there were.
    """

    test: str
    load: str
    cpu_config: str
    preemption: str
    name: str
    labels: dict[str, int | str]
    derived: str | None
    values: int | None
    least_count: int | None = None
    most_count: int | None = None
    share_low: float | None = None
    share_high: float | None = None
    at_most: float | None = None
    status: str
    is_complete: bool
    problem: str = ""
    is_past: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether a bucket holds the deadline, so that the count is open."""
        return self.least_count != self.most_count


class MissesDocument(msgspec.Struct, kw_only=True, frozen=True):
    """What `show RUN --deadline TIME --json` prints.

    `left_out_count`: series that are no durations. `trust` is that of the run.
    """

    schema: str
    run: str
    trust: Trust
    deadline_ns: int
    confidence: float
    series: list[Misses]
    left_out_count: int
    notes: list[str]


def misses_document(document: RunDocument, deadline_ns: int) -> MissesDocument:
    """Every series of durations of `document`. InputError if it has none."""
    lacks_values = lacks(document, "values")
    found = [
        misses(series, result, deadline_ns, lacks_values=lacks_values)
        for result in document.results
        for series in result.series
        if series.unit == "ns"
    ]
    total = sum(len(result.series) for result in document.results)
    if not found:
        what = "counts and throughputs have no deadline" if total else "nothing was timed"
        raise InputError(f"--deadline: no series of durations: {what}", "name another TEST")
    return MissesDocument(
        schema=MISSES_SCHEMA,
        run=document.id,
        trust=trust_of(document),
        deadline_ns=deadline_ns,
        confidence=CONFIDENCE,
        series=found,
        left_out_count=total - len(found),
        notes=[*_notes(found), *([_MISSING] if lacks_values else [])],
    )


def misses(
    series: Series, result: Result, deadline_ns: int, *, lacks_values: bool = False
) -> Misses:
    """One series of durations of `result`. `lacks_values`: some are missing from its file, so that
    no miss among those that it has bounds nothing."""
    from hardstone.stats.histogram import above

    condition = condition_of(result)
    one = Misses(
        test=result.test,
        load=condition.load,
        cpu_config=condition.cpu_config,
        preemption=condition.preemption,
        name=series.name,
        labels=series.labels,
        derived=series.derived,
        values=series.count if is_count_known(series) else None,
        status=result.status,
        is_complete=result.complete and not result.interrupted,
    )
    if is_contradictory(series):
        return msgspec.structs.replace(one, problem=_CONTRADICTORY)
    if not series.count:
        return msgspec.structs.replace(one, problem="no values")
    if why := why_no_share(series, above(series, deadline_ns)):
        return msgspec.structs.replace(one, problem=why)
    found = misses_of(series, deadline_ns)
    return msgspec.structs.replace(
        one,
        least_count=found.count if found.least_count is None else found.least_count,
        most_count=found.count,
        is_past=found.least_count is not None and _is_past(series, deadline_ns),
        share_low=found.low,
        share_high=found.high,
        at_most=None
        if found.count or series.derived or lacks_values or found.total < _LEAST_FOR_BOUND
        else share_high(0, found.total, 1 - CONFIDENCE),
    )


def _is_past(series: Series, deadline_ns: int) -> bool:
    """Whether the deadline is above the buckets of the file of another tool."""
    layout = parse_layout(series.histogram.layout)
    is_above = deadline_ns >= top_of(series.histogram.buckets, layout)
    return layout.is_imported and series.histogram.overflow > 0 and is_above


def _notes(found: list[Misses]) -> list[str]:
    """What a reader has to know about the figures of `found`."""
    notes = [INDEPENDENT] if any(not one.problem for one in found) else []
    if any(one.at_most is not None for one in found):
        notes.append(_NEEDED)
    if any(one.is_cut and not one.is_past for one in found):
        notes.append(_CUT)
    if any(one.is_past for one in found):
        notes.append(_PAST)
    if any(one.derived for one in found):
        notes.append(_DERIVED)
    names = {(one.test, one.name) for one in found}
    if any({(test, "wakeup"), (test, "release")} <= names for test, _ in names):
        notes.append(_LATENESS)
    return notes


def count_text(one: Misses) -> str:
    """The misses: "3", "none", "3 to 10"; "-" without a count."""
    if one.least_count is None or one.most_count is None:
        return "-"
    most = format_count(one.most_count)
    if one.is_cut:
        return f"{format_count(one.least_count)} to {most}"
    return most if one.most_count else "none"


def share_lines(one: Misses) -> list[str]:
    """The share with its interval; for a timed series without a miss, what it is at most.

    The ends are rounded outwards, and the share never in favour of the system.
    """
    if one.most_count is None or one.share_low is None or one.share_high is None:
        return [one.problem]
    values = one.values or 0  # known, where there is a share
    if one.at_most is not None:
        return [f"at most {share_text(one.at_most)}"]
    if not one.most_count:
        return [(not one.derived and lacking(_LEAST_FOR_BOUND, values)) or "-"]
    # Both ends of the interval in one form, whichever suits the upper end.
    if one.share_high > _FROM_PERCENT:
        two_digits = Context(prec=2, rounding=ROUND_FLOOR)
        low = f"{two_digits.create_decimal(Decimal(100 * one.share_low)):f} %"
    else:
        low = _ratio_down(one.share_low)
    return [share_text(one.most_count / values), f"{low} to {share_text(one.share_high)}"]


def _ratio_down(share: float) -> str:
    """As `share_text`, rounded down."""
    if share <= 0:
        return "0"
    whole = ceil(1 / share)
    step = 10 ** max(len(str(whole)) - 3, 0)
    return f"1 in\N{NO-BREAK SPACE}{format_count(-(-whole // step) * step)}"
