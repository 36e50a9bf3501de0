"""The stars at the top of the report of one run."""

from __future__ import annotations

import re

import msgspec
import pytest

from hardstone.model import RunDocument, Sweep
from hardstone.present.stars_text import stars_number
from hardstone.rating import FORMULA, rate_run
from tests.unit.present.compared import document_of, two_systems
from tests.unit.report import matrix, sample
from tests.unit.report.sketches import sketched
from tests.unit.report.test_compare_page import Page, words

pytestmark = pytest.mark.slow

SWEEP = Sweep(
    test="SIM-S-RT",
    solvers=["semaphore"],
    policies=["fifo"],
    threads=[2],
    masses=[],
    masses_least=10,
    masses_most=100,
    points_most=3,
    within_ns=0,
)


def glance(document: RunDocument) -> str:
    page = sketched(document)
    return page[page.index('id="glance"') : page.index('id="findings"')]


def test_stars_of_every_category_come_first_and_say_why() -> None:
    document = document_of(two_systems())
    part = glance(document)
    _, rating = rate_run(document)[0]
    assert part.index('class="board"') < part.index("Timings")
    text = words(part)
    for one in rating.categories:
        number = stars_number(one.stars, is_at_most=one.is_at_most)
        shown = "not rated" if one.stars is None else f"{number} of 5 stars"
        assert f"{one.category.capitalize()} {shown}" in text
    assert f"Why these stars Formula {FORMULA}." in text
    decisive = [one.decisive for one in rating.categories if one.decisive]
    assert decisive
    for figure in decisive:
        assert f"{figure.address}, {figure.role}:" in text
    found = {source for _, _, source in Page(sketched(document)).figures}
    assert {figure.amount.source for figure in decisive} <= found
    for half in (one.next_half for one in rating.categories if one.next_half):
        assert half in text


def test_a_rating_that_is_not_the_full_one_says_as_what_it_was_given() -> None:
    text = words(glance(sample.document(count=500, realtime=False)))
    rated = rate_run(sample.document(count=500, realtime=False))[0][1].rated_as
    assert "not scheduled as real-time" in rated
    assert f"rated as: {', '.join(rated)}" in text


def test_each_condition_has_its_stars_and_the_headline_its_reason() -> None:
    document = matrix.document(count=200)
    text = words(glance(document))
    count = len(rate_run(document))
    assert count == 6
    assert "Stars under 5 other conditions" in text
    assert "The headline is of" in text
    assert text.count("Why these stars:") >= count


def test_a_run_in_which_nothing_is_rated_has_no_stars() -> None:
    document = msgspec.structs.replace(sample.document(count=500), results=[])
    assert 'class="board"' not in sketched(document)
    rated = document_of(two_systems())
    assert 'class="board"' in sketched(rated)
    plan = msgspec.structs.replace(rated.plan, sweep=SWEEP)
    assert 'class="board"' not in sketched(msgspec.structs.replace(rated, plan=plan))


def test_a_stored_rating_is_not_shown() -> None:
    """It is computed on reading: the formula may have changed since."""
    document = msgspec.structs.replace(document_of(two_systems()), rating={"overall": "stale"})
    assert not re.search("stale", sketched(document))
