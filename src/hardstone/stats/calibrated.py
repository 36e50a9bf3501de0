"""Work that a test calibrates. Results are comparable only if they did equal work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hardstone.model import ParamValue, Result, RunDocument, Series
from hardstone.stats.contradictions import is_contradictory
from hardstone.stats.identity import ranked_counts_of
from hardstone.units import format_ns

UNEQUAL = "unequal work, so the times are not comparable"
UNSTEADY = "the CPU was busy, or its frequency changed after the calibration"
_BLOCKS = "RSP-P-FIX"
# Of the calibrated time: twice the 5 % that throttling takes at most from a thread that only
# computes (interrupts and the tick take less than 1 %). What moves every second block by more is
# other work, or another frequency than that of the calibration.
_BLOCK_TOLERANCE = 0.1
Key = tuple[str, str]


def is_asked_alike(params: Mapping[str, ParamValue], result: Result) -> bool:
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
    firsts: dict[Key, list[Result]] = {}
    unequal: dict[str, list[str]] = {}
    for result in document.results:
        for name, value in result.calibrated.items():
            alike = [
                one
                for one in firsts.setdefault((result.test, name), [])
                if is_asked_alike(one.params, result)
            ]
            if not alike:
                firsts[result.test, name].append(result)
            elif alike[0].calibrated[name] != value:
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
        unlike = [
            f"{format_ns(median_ns)} ({kind})"
            for kind, median_ns in medians.items()
            if not least_ns <= median_ns <= most_ns
        ]
        if unlike:
            took = f"the median block took {', '.join(unlike)}"
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
    inside = (ranks.total + 1) // 2 - ranks.underflow
    if not 0 < inside <= ranks.total - ranks.underflow - ranks.overflow:
        return series.mean or 0.0
    return sum(ranks.edges_at(inside)) / 2
