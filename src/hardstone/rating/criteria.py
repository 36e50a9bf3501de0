"""The criteria of the rating: criteria.toml as types."""

from __future__ import annotations

import itertools
import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

Role = Literal["worst", "mean", "uncontended"]
Reading = Literal["", "beyond block"]


class Instead(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A series of the same test that stands in for a missing one; `about` says what it is.

    `is_stricter`: it holds all that the figure would hold, so it is rated in its place. Of any
    other stand-in no star follows.
    """

    series: str
    about: str
    is_stricter: bool = False
    labels: dict[str, str] = {}
    none_means: str = ""


class FigureCriterion(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A rated figure; the fields are explained in criteria.toml."""

    test: str
    series: str
    roles: list[Role]
    labels: dict[str, str] = {}
    each: dict[str, list[str]] = {}
    statistic: Literal["max", "min"] = "max"
    reading: Reading = ""
    none_means: str = ""
    instead: list[Instead] = []
    interrupts: int = 0

    @property
    def address(self) -> str:
        return "/".join([self.test, *self.labels.values(), self.series])

    def written_out(self) -> list[FigureCriterion]:
        """One criterion for each combination of the values in `each`."""
        return [
            msgspec.structs.replace(
                self, each={}, labels={**self.labels, **dict(zip(self.each, values, strict=True))}
            )
            for values in itertools.product(*self.each.values())
        ]


class CategoryCriteria(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a category is rated by. `weight` 0: not calibrated. `why_no_stars`: it has none, and
    no figures."""

    weight: int
    figures: list[FigureCriterion] = []
    why_no_stars: str = ""
    behaviours: list[str] = []

    def each_figure(self) -> list[FigureCriterion]:
        """Every rated figure, `each` written out."""
        return [one for figure in self.figures for one in figure.written_out()]


class SpecialAttention(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of the kernel's command line that only a person who looked for them sets."""

    boot_options: list[str]


class Usual(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How a run is measured whose rating is the full one."""

    load: str
    free_parameters: list[str]


class Criteria(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All of criteria.toml."""

    anchors: list[tuple[int, float]]
    mean_factor: int
    uncontended_factor: int
    worst_weight: int
    mean_weight: int
    category_cap: float
    overall_cap: float
    lowest_margin: float
    configurations: dict[str, float]
    special_attention: SpecialAttention
    usual: Usual
    categories: dict[str, CategoryCriteria]

    def factor(self, role: Role) -> int:
        """What a figure of `role` is multiplied by before it is scored."""
        return {"worst": 1, "mean": self.mean_factor, "uncontended": self.uncontended_factor}[role]


@cache
def rated_figures(category: str) -> tuple[FigureCriterion, ...]:
    """Every figure that `category` is rated by."""
    return tuple(load_criteria().categories[category].each_figure())


@cache
def load_criteria() -> Criteria:
    """The criteria that are part of hardstone."""
    text = resources.files("hardstone.rating").joinpath("criteria.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Criteria)
