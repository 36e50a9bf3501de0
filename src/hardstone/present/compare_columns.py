"""The systems of a comparison: what each is, and why its times may not stand beside the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from hardstone.model import Trust
from hardstone.present.compare_view import SystemColumn
from hardstone.present.time_words import time_mark
from hardstone.present.wording import short, shorten
from hardstone.stats.clock_check import clocks_apart
from hardstone.stats.kind_of_time import KindOfTime, kind_of_time
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import MeasuredRun, Subject

OWN_STUDY = "measured with hardstone"
_LABEL_CHARACTERS = 60
_REASON_CHARACTERS = 200


def columns_of(
    subjects: Sequence[Subject], reference: int, rate: Callable[[Subject], Rating]
) -> list[SystemColumn]:
    """A column for each of `subjects`, in their order; `reference` is a place in it."""
    labels = _labels(subjects)
    return [
        _column(place, one, labels[place], subjects[reference], rate)
        for place, one in enumerate(subjects)
    ]


def _column(
    place: int,
    one: Subject,
    label: str,
    reference: Subject,
    rate: Callable[[Subject], Rating],
) -> SystemColumn:
    trust = one.trust if isinstance(one, MeasuredRun) else None
    return SystemColumn(
        number=place + 1,
        id=one.id,
        label=label,
        subject=one,
        is_published=one.is_published,
        is_reference=one is reference,
        study=short(one.conditions.get("study"), 80) or OWN_STUDY,
        hardware=_hardware(one),
        year=one.year,
        trust=trust.grade if trust else "",
        trust_reasons=list(trust.reasons) if trust else [],
        mark=time_mark(one.document.system) if isinstance(one, MeasuredRun) else "",
        apart=why_apart(one, reference, trust),
        rating=rate(one),
    )


def _hardware(one: Subject) -> str:
    if not isinstance(one, MeasuredRun):
        return one.conditions.get("machine", "not known")
    said = one.conditions
    machine = shorten(said.get("machine", ""), 80) or "not known"
    count = said.get("CPUs")
    virtual = said.get("virtual")
    parts = [
        machine,
        f"{count} CPU{'' if count == '1' else 's'}" if count else "",
        f"virtual machine ({shorten(virtual, 40)})" if virtual else "",
    ]
    return ", ".join(filter(None, parts))


def why_apart(one: Subject, reference: Subject, trust: Trust | None) -> str:
    """Why no time of `one`, a run of grade `trust`, may stand beside those of `reference`; empty
    if they may.

    Times of a processor, of an emulated one, and counted instructions are of different kinds;
    published times are those of hardware. A run that is not trustworthy is beside nothing.
    """
    if isinstance(one, MeasuredRun):
        apart = clocks_apart(one.document.clock_check) if one.document.clock_check else None
        if apart:
            return apart
    if trust is not None and trust.grade == "untrustworthy":
        return _not_trusted(trust.reasons)
    ours, theirs = _kind(one), _kind(reference)
    return "" if ours is theirs else f"it {ours.value}, and the reference {theirs.value}"


def why_not_trusted(column: SystemColumn) -> str:
    """Why no figure of a system may stand beside others; empty if it is trusted so far."""
    return _not_trusted(column.trust_reasons) if column.trust == "untrustworthy" else ""


def _not_trusted(reasons: Sequence[str]) -> str:
    reason = shorten(reasons[0], _REASON_CHARACTERS) if reasons else "no reason"
    return f"not trustworthy: {reason}"


def _kind(one: Subject) -> KindOfTime:
    if isinstance(one, MeasuredRun):
        return kind_of_time(one.document.system)
    return KindOfTime.HARDWARE


def _labels(subjects: Sequence[Subject]) -> list[str]:
    """Different from each other: the label, then what tells the runs of one label apart, then the
    ID, then the number."""
    plain = [shorten(one.label, _LABEL_CHARACTERS) or one.id for one in subjects]
    for more in (_kernel, _of_id):
        same = Counter(plain)
        plain = [
            f"{label}, {more(one)}" if same[label] > 1 and more(one) else label
            for label, one in zip(plain, subjects, strict=True)
        ]
    return list(_numbered(plain))


def _kernel(one: Subject) -> str:
    if not isinstance(one, MeasuredRun):
        return ""
    return short(one.document.system.get("kernel.release"), 40)


def _of_id(one: Subject) -> str:
    return one.id


def _numbered(labels: Sequence[str]) -> Iterator[str]:
    same = Counter(labels)
    for number, label in enumerate(labels, 1):
        yield f"{label} #{number}" if same[label] > 1 else label
