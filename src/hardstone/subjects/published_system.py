"""A system of the literature as a subject: averages, maxima and bounds, and no distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from hardstone.errors import InputError
from hardstone.model import Result, Series, Unit, Verdict
from hardstone.published import Figure, Study, all_figures, load_studies
from hardstone.subjects.amount import Amount, Missing

PREFIX = "published:"
_SCALE: dict[str, tuple[int, Unit]] = {
    "ns": (1, "ns"),
    "us": (1_000, "ns"),
    "ms": (1_000_000, "ns"),
    "s": (1_000_000_000, "ns"),
    "MB/s": (1_000_000, "bytes_per_s"),
    "masses": (1, "count"),
}
_NO_FIGURE = Missing("not published")


def published_ids() -> list[str]:
    """The keys of all published systems, in the order of their studies."""
    return [key for study in load_studies().values() for key in study.systems]


@dataclass(frozen=True)
class PublishedSeries:
    """The figures that one study published of one series, under one load."""

    figures: tuple[Figure, ...]
    series: Series | None = None
    result: Result | None = None

    @property
    def test(self) -> str:
        return self.figures[0].address.test

    @property
    def name(self) -> str:
        """The last part of the address, which is the name of the series where the study's table
        names one."""
        parts = self.figures[0].address.parts
        return parts[-1] if parts else ""

    @property
    def labels(self) -> Mapping[str, str]:
        return dict(self.figures[0].address.labels)

    @property
    def parts(self) -> tuple[str, ...]:
        return self.figures[0].address.parts[:-1]

    @property
    def unit(self) -> Unit:
        return _SCALE[self.figures[0].unit or "ns"][1]

    @property
    def address(self) -> str:
        return str(self.figures[0].address)

    @property
    def notes(self) -> tuple[str, ...]:
        load = self.figures[0].address.conditions.get("load")
        said = dict.fromkeys(one.note for one in self.figures if one.note)
        return (*([f"load {load}"] if load else []), *said)

    def statistics(self) -> list[str]:
        return [one.statistic for one in self.figures if one.statistic]

    def amount(self, statistic: str) -> Amount | Missing:
        found = next((one for one in self.figures if one.statistic == statistic), None)
        return _NO_FIGURE if found is None else amount_of(found)


def amount_of(figure: Figure) -> Amount:
    """A published figure in the unit of its series. InputError if it is in words."""
    scale, unit = _SCALE.get(figure.unit or "", (0, "ns"))
    load = figure.address.conditions.get("load")
    source = f"{figure.study}/{figure.table} {PREFIX}{figure.system} {figure.address}"
    source += f" under load {load}" if load else ""
    said = figure.value if isinstance(figure.value, dict) else {"value": figure.value}
    if not scale or not figure.statistic or not set(said) <= {"value", "below", "above"}:
        raise InputError(f"{source} is no figure in a unit")
    values = {key: float(Decimal(str(value)) * scale) for key, value in said.items()}
    return Amount(
        unit,
        figure.statistic,
        f"{source} {figure.statistic}",
        value=values.get("value"),
        below=values.get("below"),
        above=values.get("above"),
    )


@dataclass(frozen=True)
class PublishedSystem:
    """One system of one study. Where the study measured under several loads, `load` chooses;
    figures that it has under one load only are shown with that load in their notes."""

    study: Study
    key: str
    load: str = ""
    is_published: bool = field(default=True, init=False)

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.key}"

    @property
    def label(self) -> str:
        return self.study.systems[self.key].name

    @property
    def year(self) -> str:
        return self.study.key.rpartition("-")[2]

    @property
    def stars(self) -> float | None:
        """The stars that the study itself gave; None if it gave none."""
        return self.study.systems[self.key].stars

    @cached_property
    def loads(self) -> list[str]:
        """The loads under which the study has figures of this system; often none is named."""
        found = (one.address.conditions.get("load") for one in self._figures)
        return [load for load in dict.fromkeys(found) if load]

    @property
    def conditions(self) -> Mapping[str, str]:
        system, study = self.study.systems[self.key], self.study.conditions
        found = {
            "study": self.study.reading.short,
            "machine": system.hardware or study.get("hardware", ""),
            "kernel": system.name,
            "configuration": system.configuration or study.get("configuration", ""),
            "load": ", ".join(self.loads) or study.get("load", ""),
        }
        return {name: text for name, text in found.items() if text}

    @cached_property
    def _figures(self) -> list[Figure]:
        return [
            one for one in all_figures() if one.study == self.study.key and one.system == self.key
        ]

    def held(self) -> Sequence[PublishedSeries]:
        return self._held

    @cached_property
    def _held(self) -> list[PublishedSeries]:
        """By address; of several loads that of `load`, else the last one, which is the heaviest."""
        by_address: dict[str, dict[str, list[Figure]]] = {}
        for one in self._figures:
            if one.statistic and one.unit in _SCALE:
                loads = by_address.setdefault(str(one.address), {})
                loads.setdefault(one.address.conditions.get("load", ""), []).append(one)
        return [
            PublishedSeries(tuple(loads.get(self.load) or list(loads.values())[-1]))
            for loads in by_address.values()
        ]

    def verdicts(self, test: str) -> Sequence[Verdict] | Missing:
        found = [
            Verdict(name="published", passed=_has_passed(str(one.value)), evidence=str(one.value))
            for one in self._figures
            if one.address.test == test and one.statistic is None
        ]
        return found or _NO_FIGURE

    def tests(self) -> list[str]:
        return list(dict.fromkeys(one.address.test for one in self._figures))


def _has_passed(words: str) -> bool:
    """Behaviours are "pass", "pass, but ...", or "fail ..."."""
    return words.startswith("pass")


def published_system(name: str, load: str = "") -> PublishedSystem:
    """The system `name` ("published:qnx"), its figures under `load` where it has several.

    InputError for one that no study has.
    """
    key = name.removeprefix(PREFIX)
    for study in load_studies().values():
        if key in study.systems:
            return PublishedSystem(study, key, load)
    raise InputError(
        f"no study has a system '{key[:40]}'; there are {', '.join(published_ids())}",
        "see them with hardstone list published",
    )
