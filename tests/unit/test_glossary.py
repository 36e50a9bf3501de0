"""The glossary: each term once, in order, and what it refers to is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text()
TERMS = re.findall(r"^\*\*([^*]+)\*\*: ", GLOSSARY, re.MULTILINE)


def test_terms_are_unique_and_sorted() -> None:
    assert sorted(set(TERMS), key=str.casefold) == TERMS


def test_every_paragraph_is_a_term() -> None:
    _, *paragraphs = GLOSSARY.strip().split("\n\n")
    assert len(paragraphs[1:]) == len(TERMS)


def test_terms_that_are_referred_to_exist() -> None:
    """`see *trust*`, `without *contention*`."""
    told = {part for term in TERMS for part in re.split(r", | \(.*\)", term)}
    assert set(re.findall(r"(?:[Ss]ee|[Ww]ithout) \*([^*]+)\*", GLOSSARY)) - told == set()
