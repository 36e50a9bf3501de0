"""Caveats for a figure of a run that is compared with a published one."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.catalogue import Entry, load_catalogue
from hardstone.event_names import NOT_SEEN, STEP_BOUNDED
from hardstone.model import DataValue, Result, RunDocument, Series
from hardstone.stats.calibrated import UNEQUAL, unequal_work, work_of
from hardstone.stats.contradictions import MARK, contradiction_of
from hardstone.systems.published import Resolved
from hardstone.units import format_count

AT_MOST = "upper bound of the step: latency and the time to arm the timer are included"
_BOUNDED_SERIES = "expiry_step"


def doubts_of(found: Resolved, document: RunDocument) -> Iterator[str]:
    """Caveats for the figure, in addition to the notes of `found`."""
    conditions = found.result.conditions
    if conditions.realtime is False:
        yield f"not scheduled as real-time: policy {conditions.policy}"
    if found.series is not None:
        problem = contradiction_of(found.series)
        if problem is not None:
            yield f"{MARK} cannot be true: {problem}"
        yield from _doubts_of_work(found.series, found.result, document)
        if _is_bound(found.series, found.result):
            yield AT_MOST


def _doubts_of_work(series: Series, result: Result, document: RunDocument) -> Iterator[str]:
    unequal = unequal_work(document).get(result.test, [])
    if work_of(series, dict.fromkeys(unequal, 0)):
        yield UNEQUAL
    asked = [one.params for one in document.plan.tests if one.test == result.test]
    given = {
        name: value
        for name, value in result.calibrated.items()
        if any(params.get(name) == value for params in asked)
    }
    for what, count in work_of(series, given).items():
        yield f"{format_count(count)} {what} set by the request, not calibrated"


def _is_bound(series: Series, result: Result) -> bool:
    """Whether an event says that the step of this mechanism is an upper bound."""
    mechanism = series.labels.get("mechanism")
    return series.name == _BOUNDED_SERIES and any(
        mechanism in _listed(event.data.get("mechanisms"))
        for event in result.events
        if event.name == STEP_BOUNDED
    )


def _listed(value: DataValue) -> list[int | str]:
    return value if isinstance(value, list) else []


def verdicts_text(found: Resolved) -> str:
    """The verdicts in the study's terms. Claims that do not count for a rating cannot fail."""
    entry = load_catalogue().entry(found.result.test)
    failed = [one.name for one in found.verdicts if not one.passed]
    counted = [name for name in failed if not entry.why_uncounted(name)]
    told = f"fail: {', '.join(counted)}" if counted else "pass"
    told += _uncounted_text(entry, failed)
    unseen = [
        str(event.data.get("verdict", ""))
        for event in found.result.events
        if event.name == NOT_SEEN
    ]
    return f"{told}; not seen: {', '.join(dict.fromkeys(unseen))}" if unseen else told


def _uncounted_text(entry: Entry, failed: list[str]) -> str:
    names = [name for name in failed if entry.why_uncounted(name)]
    do = "does" if len(names) == 1 else "do"
    return f", but {', '.join(names)} failed ({do} not count for a rating)" if names else ""
