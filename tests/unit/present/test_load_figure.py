"""Figures of a load, for people."""

from __future__ import annotations

import pytest

from hardstone.present.load_table import load_figure


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "per_s", "-"),
        (100000.0, "per_s", "100\xa0000/s"),
        (79307.7818, "per_s", "79\xa0308/s"),
        (99.96, "rounds_per_s", "100 rounds/s"),
        (2.25, "rounds_per_s", "2.25 rounds/s"),
        (0.0287, "share", "2.87 %"),
        (0.1, "share", "10 %"),
        (240.0, "processes", "240 processes"),
        (12.5, "jobs", "12.5 jobs"),
        (3.0, "sheep", "3 sheep"),
    ],
)
def test_no_exponent_and_no_digits_too_many(value: float | None, unit: str, text: str) -> None:
    assert load_figure(value, unit) == text
