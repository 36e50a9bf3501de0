"""A run beside the published figures of its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from rich.console import Console

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series
from hardstone.published import (
    Address,
    AddressError,
    Resolved,
    is_under,
    resolve,
    tables_of,
    value_of,
)
from hardstone.report.text import format_value
from hardstone.stats.conditions import conditions_in
from hardstone.summary.kernel_kinds import beside
from hardstone.summary.published import PublishedTable, Row, published_tables, within
from hardstone.summary.published_table import print_published
from hardstone.summary.show import make_console
from hardstone.summary.text import words

CLOSING = (
    "An address names the same figure in a run and in a study. Hardware, kernel and conditions "
    "differ: compare how far the worst is from the mean, and what load changes."
)


def print_beside_published(document: RunDocument) -> None:
    """Prints what the run and the studies say at the same address. InputError if nothing does."""
    tests = dict.fromkeys(one.test for one in document.results if tables_of(one.test))
    if not tests:
        raise InputError(
            "no test of this run has published figures", "hardstone explain shows those of a test"
        )
    console = make_console()
    for test in tests:
        for table in published_tables(test, partial(_rows, document)):
            _print_table(console, test, table)
    console.print(words(CLOSING, "dim"))


def _print_table(console: Console, test: str, table: PublishedTable) -> None:
    console.print(words(f"{test}, published: {table.title}", "bold"))
    print_published(console, table)
    console.print()


def _rows(document: RunDocument, address: Address, statistics: Sequence[str]) -> Iterator[Row]:
    """A row for each result that was measured under what the study says."""
    for result in document.results:
        if result.test == address.test and is_under(result, address.conditions):
            alone = msgspec.structs.replace(document, results=[result])
            for one, reason in beside(address, document.system):
                told = f"- ({reason})" if reason else _figures(alone, one, statistics or ("max",))
                name = _name(document, result)
                yield Row((within(one),), result.conditions.load, name, told)


def _name(document: RunDocument, result: Result) -> str:
    """The run as a system: with its CPU configuration where it has several."""
    several = len({one.cpu_config for one in conditions_in(document)}) > 1
    return f"this run, {result.conditions.cpu_config}" if several else "this run"


def _figures(alone: RunDocument, address: Address, statistics: Sequence[str]) -> str:
    try:
        found = resolve(address, alone)
    except AddressError as error:
        return f"- ({error.cause.removeprefix(f'{address}: ')})"
    if found.series is None:
        told = _verdicts(found)
    else:
        told = ", ".join([f"{one} {_value(found.series, one)}" for one in statistics])
    return f"{told} ({'; '.join(found.notes)})" if found.notes else told


def _value(series: Series, statistic: str) -> str:
    try:
        return format_value(value_of(series, statistic), series.unit)
    except AddressError as error:
        return f"- ({error.cause})"


def _verdicts(found: Resolved) -> str:
    failed = [one.name for one in found.verdicts if not one.passed]
    return f"fail: {', '.join(failed)}" if failed else "pass"
