"""The papers: their tables and figures in their own numbering and order, and their conclusions.

`published.json` holds what a paper printed. `systems.published` reads its figures; this module
reads where in the paper they stand, and what it says in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from hardstone.errors import InputError
from hardstone.systems.published import Address, Figure, Study, load_studies

Form = Literal["table", "bars", "lines", "curves", "map", "picture"]


class Quantity(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One row of an exhibit: a quantity that the paper gives for its systems.

    `at` is the address of the figure, as `str(Figure.address)`: TEST/label-values/series; "" for a
    row of words. `words` fill the exhibit's `headings`. `cells`: words of the paper by system key,
    where it has no figure ("pass", "conformant"). `lost`: the paper has figures here that our copy
    lacks, of every system without `cells`; "" if it has them, or none. `systems`: the systems that
    the row covers; empty: those of the exhibit. `loads` and `statistics`: in place of the
    exhibit's. `tests`: those of a row of words, which say whether a system has what the row names.
    `is_rating`: the stars of a system, which a run has too.
    """

    label: str
    at: str = ""
    words: list[str] = []
    cells: dict[str, str] = {}
    lost: str = ""
    note: str = ""
    systems: list[str] = []
    loads: list[str] = []
    statistics: list[str] = []
    tests: list[str] = []
    is_rating: bool = False


class Axis(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """An axis of a figure in the paper: its title with the unit, and its range if it is known."""

    title: str
    low: float | None = None
    high: float | None = None


class Exhibit(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A table or figure of a paper.

    `number` as the paper prints it ("Table 8", "Figure 8a"; "no number: clock"). `form`: how the
    paper shows it. `tests`: those that repeat it. `systems`: keys in the paper's order; empty: all.
    `rows`: one for each quantity; with `loads` and `statistics` a row stands for each load and
    statistic. A published figure without a load stands in the row of any load, one without a system
    in the column of every system. `headings` are those of `words`. `lost`: what our copy lacks of
    the whole. `text`: what the paper says of the results, in our words. `x`, `y`: axes of a figure.
    `has_results`: False for an exhibit that explains and measures nothing. `plots`: the number of
    the exhibit whose values it draws (see `rows_of`); of those rows only `plots_rows`, if it names
    addresses. `repeats`: systems whose figures another exhibit has too: its number by system.
    """

    number: str
    title: str
    form: Form
    tests: list[str] = []
    systems: list[str] = []
    headings: list[str] = []
    rows: list[Quantity] = []
    loads: list[str] = []
    statistics: list[str] = []
    lost: str = ""
    text: list[str] = []
    x: Axis | None = None
    y: Axis | None = None
    has_results: bool = True
    plots: str = ""
    plots_rows: list[str] = []
    repeats: dict[str, str] = {}


class Conclusion(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a paper concluded, in our words.

    `id` is looked up in `study.conclusions`; `place`: where the paper says it; `tests`: those whose
    figures decide whether a run bears it out.
    """

    id: str
    says: str
    place: str
    tests: list[str] = []


class Remark(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a paper says of its results beside its conclusions, or what is odd in it ("sic")."""

    says: str
    place: str
    tests: list[str] = []


class _Literature(msgspec.Struct, kw_only=True, frozen=True):
    """The part of a study that this module reads; further fields belong to `systems.published`."""

    name: str
    exhibits: list[Exhibit] = []
    conclusions: list[Conclusion] = []
    conditions: dict[str, str] = {}
    remarks: list[Remark] = []


@dataclass(frozen=True)
class Paper:
    """A study with its exhibits in the order of the paper.

    `name` is typed for it ("hp-1987"); `conditions`: how it measured, by name.
    """

    study: Study
    name: str
    exhibits: Sequence[Exhibit]
    conclusions: Sequence[Conclusion]
    conditions: Mapping[str, str]
    remarks: Sequence[Remark] = ()

    @property
    def key(self) -> str:
        return self.study.key

    def exhibit(self, number: str) -> Exhibit:
        """The exhibit `number`. KeyError if the paper has none."""
        return {one.number: one for one in self.exhibits}[number]

    def rows_of(self, exhibit: Exhibit) -> Sequence[Quantity]:
        """The rows that `exhibit` shows: its own, or those of the table that it plots."""
        if not exhibit.plots:
            return exhibit.rows
        rows = self.exhibit(exhibit.plots).rows
        chosen = exhibit.plots_rows
        return [row for row in rows if not chosen or row.at in chosen]


@dataclass(frozen=True)
class Wanted:
    """What a row asks of each system.

    `figures` are those that the paper has at its address, of any system, load and statistic; where
    it has none there (they are lost), `fixed` is a figure of the same test, for the parameters that
    the paper fixes. `address` has no test in a row of words.
    """

    exhibit: Exhibit
    quantity: Quantity
    figures: Sequence[Figure]
    fixed: Figure | None
    address: Address
    load: str
    statistic: str

    @property
    def lost(self) -> str:
        return self.quantity.lost or self.exhibit.lost

    @property
    def own_statistic(self) -> str:
        """What a run shows: its worst where the paper has words."""
        return self.statistic or "max"

    @property
    def matching(self) -> list[Figure]:
        """Of all systems. A figure without a load is one of any load that the exhibit names."""
        return [
            one
            for one in self.figures
            if one.address.conditions.get("load", self.load) == self.load
            and one.statistic in (None, self.statistic)
        ]


@cache
def load_papers() -> Mapping[str, Paper]:
    """The papers by name, in the order of the file."""
    text = resources.files("hardstone.systems").joinpath("published.json").read_bytes()
    found = msgspec.json.decode(text)["studies"]
    papers = {}
    for key, study in load_studies().items():
        own = msgspec.convert(found[key], _Literature)
        papers[own.name] = Paper(
            study, own.name, own.exhibits, own.conclusions, own.conditions, own.remarks
        )
    return papers


_LEAST_LETTERS = 3  # a slip of the finger starts nothing that takes CPUs offline


def paper_named(name: str) -> Paper:
    """The paper `name`, by its name, its key, its first word ("hp") or a start of at least three
    letters. InputError if it is none."""
    papers = load_papers()
    wanted = name.lower()
    for paper in papers.values():
        if wanted in (paper.name, paper.key, paper.name.partition("-")[0]):
            return paper
    begun = [one for one in papers.values() if wanted and one.name.startswith(wanted)]
    if len(begun) == 1 and len(wanted) >= _LEAST_LETTERS:
        return begun[0]
    why = f"'{name[:40]}' is too short for the name of a study" if begun else ""
    raise InputError(why or f"no study '{name[:40]}'", f"there are {', '.join(papers)}")
