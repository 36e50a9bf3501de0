"""Cells and lines of a comparison on paper."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.compare.view import ClaimRow, ComparedCell, ComparedRow, SystemColumn
from hardstone.present.stars_text import category_number, stars_number
from hardstone.present.wording import amount_text, shorten
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, Missing


def stars_cell(rating: Rating) -> str:
    if rating.overall is None:
        return f"none: {shorten(rating.why_none, 80)}"
    number = stars_number(rating.overall, is_at_most=rating.is_at_most, lowest=rating.lowest)
    more = f" ({', '.join(rating.rated_as)})" if rating.rated_as else ""
    return f"{number} of 5{more}"


def category_cell(rating: Rating, name: str) -> str:
    for one in rating.categories:
        if one.category == name:
            return category_number(one, at_most="<= ")
    return "-"


def pair_cell(cell: ComparedCell, column: SystemColumn) -> str:
    """ "2.2 us / 10 us"; the reason once where both are missing."""
    if isinstance(cell.mean, Missing) and isinstance(cell.worst, Missing):
        return shorten(cell.worst.reason, 40)
    text = f"{_amount(cell.mean, column)} / {_amount(cell.worst, column)}"
    marks = "".join(f", {one}" for one in cell.marks)
    return f"{text}{marks}{' (grey)' if cell.is_grey or cell.worst_why else ''}"


def _amount(amount: Amount | Missing, column: SystemColumn) -> str:
    if isinstance(amount, Missing):
        return "-"
    return amount_text(amount, is_exact=column.is_published)


def grouped_text(words: Sequence[str], columns: Sequence[SystemColumn]) -> str:
    """ "measured: 1, 2; not published: 3": systems by their numbers."""
    found: dict[str, list[str]] = {}
    for word, column in zip(words, columns, strict=True):
        found.setdefault(shorten(word, 80), []).append(str(column.number))
    return "; ".join(f"{word}: {', '.join(numbers)}" for word, numbers in found.items())


def claim_text(claim: ClaimRow, columns: Sequence[SystemColumn]) -> str:
    told = grouped_text([cell.word for cell in claim.cells], columns)
    failed = [
        f"{column.number}: {shorten(cell.evidence, 120)}"
        for cell, column in zip(claim.cells, columns, strict=True)
        if cell.look in ("failed", "uncounted") and cell.evidence
    ]
    return f"{claim.name}: {told}" + (f" ({'; '.join(failed)})" if failed else "")


def remarks_on(rows: Sequence[ComparedRow], columns: Sequence[SystemColumn]) -> list[str]:
    """Why cells are grey, and notes on figures: each text once, with the systems it is of."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for cell, column in zip(row.cells, columns, strict=True):
            why = cell.why if cell.is_grey else cell.worst_why
            for text in filter(None, (why, *cell.notes)):
                numbers = found.setdefault(shorten(text, 200), [])
                if str(column.number) not in numbers:
                    numbers.append(str(column.number))
    return [f"{', '.join(numbers)}: {text}" for text, numbers in found.items()]
