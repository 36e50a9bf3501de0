"""The name of a figure: `TEST/label-values/series`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hardstone.errors import InputError


@dataclass(frozen=True)
class Address:
    """The place of a figure in a run.

    `parts` are label values in any order, then the name of the series, which may be left out if
    the test has only one. `labels` are values with a known label. `conditions` are the values that
    the result's conditions must have: load, policy.
    """

    test: str
    parts: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        *values, series = self.parts or ("",)
        return "/".join(filter(None, (self.test, *self.labels.values(), *values, series)))


def parse_address(text: str) -> Address:
    """Address from its text. InputError if a part is empty."""
    test, *parts = text.split("/")
    if not test or not all(parts):
        raise InputError(
            f"'{text}' is not the address of a figure", "write TEST/label-values/series"
        )
    return Address(test.upper(), tuple(parts))
