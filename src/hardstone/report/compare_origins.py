"""Where the figures of a comparison are from, for paper: what the page says of each figure."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.compare.view import ComparedRow, CompareView, SystemColumn
from hardstone.report.system_figure import system_name
from hardstone.systems.subjects import Amount, PublishedSystem

OF_RUNS = (
    "A figure of a run is at TEST/label values/series in that run: the heading names the test, the "
    "row the rest. To see it again: hardstone show ID TEST."
)
OF_OTHERS = (
    "Other figures: the table of the study, or the run, that they are from, the systems by number, "
    "and their addresses."
)


def system_rows(view: CompareView) -> list[list[str]]:
    """Each system with its ID, and the run or study that it is of."""
    return [[system_name(one), one.id, _what(one)] for one in view.columns]


def _what(column: SystemColumn) -> str:
    subject = column.subject
    if not isinstance(subject, PublishedSystem):
        return column.study
    study = subject.study
    return ", ".join(filter(None, (study.author, study.title, column.year)))


def figure_rows(view: CompareView) -> list[list[str]]:
    """Where, systems, addresses: a row for each test, with the addresses that the same systems have
    from the same place."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in (row for test in view.tests for row in test.rows):
        for column, where, address in _places(view, row):
            test = address.partition("/")[0]
            numbers = found.setdefault((where, test), {}).setdefault(address, [])
            if str(column.number) not in numbers:
                numbers.append(str(column.number))
    return [
        [where, numbers, ", ".join(addresses)]
        for (where, _), by_address in found.items()
        for numbers, addresses in _by_numbers(by_address).items()
    ]


def _by_numbers(by_address: dict[str, list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for address, numbers in by_address.items():
        found.setdefault(", ".join(numbers), []).append(address)
    return found


def _places(view: CompareView, row: ComparedRow) -> Iterator[tuple[SystemColumn, str, str]]:
    """Every place that a figure of the row is from, but that which its row names."""
    for column, cell in zip(view.columns, row.cells, strict=True):
        for amount in (cell.mean, cell.worst, *cell.more):
            if not isinstance(amount, Amount) or amount.place == f"{column.id} {row.address}":
                continue
            before, _, address = amount.place.partition(f"{column.id} ")
            yield column, before.strip() or column.id, address
