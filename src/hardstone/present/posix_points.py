"""HP's real-time features, each answered by options of POSIX and by measurements of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.time_words import time_mark
from hardstone.present.wording import format_value, labels_text, shorten, spoken
from hardstone.stats.posix_answer import Measured, PointAnswer
from hardstone.units import format_count

POINTS_TITLE = "real-time features, as HP listed them in 1987"
POINTS_MEANING = (
    "by options: yes if a real call of each works, no if none does; one that was not tried is "
    "neither. measured: the claims and figures of this run; figures alone are no yes."
)
_LOOKS = {
    "holds": "passed",
    "fails": "failed",
    "figures": "",
    "nothing": "partly",
}
_ANSWER_LOOKS = {"yes": "passed", "partly": "partly", "no": "failed"}
_ABSENT = "not in this run"
_NO_OPTION = "not in POSIX"
_MOST_FAILED = 3


@dataclass(frozen=True)
class MeasuredText:
    """What one test says: `judged` with its look, then `figure`, which is no judgement."""

    test: str
    judged: str
    look: str
    figure: str = ""
    is_absent: bool = False

    @property
    def text(self) -> str:
        """All of it."""
        return "; ".join(part for part in (self.judged, self.figure) if part)


@dataclass(frozen=True)
class PointRow:
    """One feature. `options` names those that answer it, with what their call did if not all
    work."""

    name: str
    about: str
    answer: str
    look: str
    options: str
    measured: list[MeasuredText]


def point_rows(document: RunDocument, points: Sequence[PointAnswer]) -> list[PointRow]:
    """A row for each of `points`, answers of `document`."""
    mark = time_mark(document.system)
    return [
        PointRow(
            name=one.name,
            about=one.about,
            answer=_NO_OPTION if one.by_options == "no option" else one.by_options,
            look=_ANSWER_LOOKS.get(one.by_options, "quiet"),
            options=_options(one.options),
            measured=_measured(one.measured, mark),
        )
        for one in points
    ]


def _measured(found: Sequence[Measured], mark: str) -> list[MeasuredText]:
    """A text for each test; those that the run lacks share one."""
    absent = list(dict.fromkeys(one.test for one in found if one.judgement == "absent"))
    told: list[MeasuredText] = []
    for one in found:
        if one.judgement != "absent":
            is_first = all(before.test != one.test for before in told)
            told.append(measured_text(one, mark, has_claims=is_first))
    if absent:
        told.append(MeasuredText(", ".join(absent), _ABSENT, "quiet", is_absent=True))
    return told


def measured_text(found: Measured, mark: str = "", *, has_claims: bool = True) -> MeasuredText:
    """`mark` stands behind figures that are not those of hardware."""
    look = _LOOKS[found.judgement]
    if found.judgement == "nothing":
        text = ": ".join(filter(None, (_ended(found), shorten(found.reason, 120))))
        return MeasuredText(found.test, text, look)
    cut = found.status if found.status != "measured" else ""
    figure = "; ".join(filter(None, (_figure(found, mark), cut)))
    return MeasuredText(found.test, _claims(found) if has_claims else "", look, figure)


def _ended(found: Measured) -> str:
    return "measured, but not this" if found.status == "measured" else found.status


def _claims(found: Measured) -> str:
    if found.judgement == "fails":
        more = len(found.failed) - _MOST_FAILED
        names = ", ".join(spoken(name) for name in found.failed[:_MOST_FAILED])
        rest = f" and {more} more" if more > 0 else ""
        return f"{len(found.failed)} of {found.claims_count} claims failed: {names}{rest}"
    if found.judgement == "holds":
        are = "claim holds" if found.claims_count == 1 else "claims hold"
        return f"{found.claims_count} {are}"
    return ""


def _figure(found: Measured, mark: str) -> str:
    if not found.series:
        return ""
    labels = {key: _label(key, value) for key, value in found.labels.items()}
    name = ", ".join(filter(None, (spoken(found.series), labels_text(labels))))
    value = format_value(found.value, found.unit)
    if found.statistic == "min":
        told = f"smallest {value}"
    else:
        median = format_value(found.median, found.unit)
        told = f"median {median}, worst observed {value}"
    count = format_count(found.values_count)
    return " ".join(filter(None, (f"{told} ({shorten(name, 60)}; {count} values)", mark)))


def _label(key: str, value: int | str) -> int | str:
    """A label whose value says nothing alone has its name: "locked yes"."""
    return f"{spoken(key)} {value}" if value in ("yes", "no") else value


def _options(calls: Mapping[str, str]) -> str:
    """The options alone if all work, else each with what its call did."""
    is_all = all(call == "works" for call in calls.values())
    return ", ".join(
        spoken(name) if is_all else f"{spoken(name)} {call}" for name, call in calls.items()
    )
