"""docs/method/rating.md says what the code does: its tables follow from the code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.rating import load_criteria, rate
from hardstone.subjects import Amount, published_system
from tests.changed_copy import replace
from tests.unit.rating.made_subject import copy_of
from tests.unit.rating.page_parts import PARTS

PAGE = Path(__file__).parents[3] / "docs/method/rating.md"


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_page_has_what_follows_from_the_code(part: Callable[[], str]) -> None:
    assert part() in PAGE.read_text("utf-8"), part()


def test_the_page_names_the_numbers_of_the_formula() -> None:
    criteria = load_criteria()
    assert criteria.anchors == [(15, 5.0), (40, 3.0), (1000, 0.0)]
    assert (criteria.mean_factor, criteria.uncontended_factor) == (4, 16)
    assert (criteria.worst_weight, criteria.mean_weight) == (3, 1)
    assert (criteria.category_cap, criteria.overall_cap, criteria.lowest_margin) == (2, 3, 1.5)


@pytest.mark.parametrize(("factor", "said"), [(1.2, "4.25"), (0.8, "4.68")])
def test_what_a_fifth_more_gives_is_as_said(factor: float, said: str) -> None:
    def moved(_: str, __: str, amount: Amount) -> Amount:
        return replace(amount, value=None if amount.value is None else amount.value * factor)

    score = rate(copy_of(published_system("ce7")).changed(moved)).score
    assert f"{score:.2f}" == said and said in PAGE.read_text("utf-8")
