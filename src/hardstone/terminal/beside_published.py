"""Compares a run with the published figures of its tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import msgspec
from rich.console import Console
from rich.text import Text

from hardstone.errors import InputError
from hardstone.model import Result, RunDocument
from hardstone.present.kernel_kinds import Stand, beside
from hardstone.present.section_text import whole_length
from hardstone.present.study_params import why_another
from hardstone.present.time_words import time_mark
from hardstone.present.tire_published import comparable, is_of_sweep, told_of
from hardstone.present.wording import format_value
from hardstone.stats.conditions import NOT_KNOWN, config_text
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.stats.tire_bound import bounds_of
from hardstone.stats.tire_points import points_of
from hardstone.systems.published import (
    Address,
    AddressError,
    Figure,
    Resolved,
    is_of_kernel_time,
    is_under,
    length_of,
    resolve,
    tables_of,
    value_of,
)
from hardstone.terminal.beside_doubts import doubts_of, verdicts_text
from hardstone.terminal.console import make_console
from hardstone.terminal.published import PublishedTable, Row, published_tables, within
from hardstone.terminal.published_table import print_published
from hardstone.terminal.run_rows import trust_rows
from hardstone.terminal.whole_run import print_head
from hardstone.terminal.words import words

CLOSING = (
    "An address names the same figure in a run and in a study. Hardware, kernel and conditions "
    "differ, so compare the distance from mean to worst and the effect of load."
)


def print_beside_published(document: RunDocument) -> None:
    """Prints the figures of the run and of the studies by address. InputError if there are none."""
    tests = dict.fromkeys(one.test for one in document.results if tables_of(one.test))
    if not tests:
        raise InputError(
            "no test of this run has published figures",
            "to see those of a test: hardstone explain TEST",
        )
    console = make_console()
    _print_head(console, document)
    for test in tests:
        for table in published_tables(test, partial(_rows, document)):
            _print_table(console, test, table)
    console.print(words(CLOSING, "dim"))


def _print_head(console: Console, document: RunDocument) -> None:
    """The conditions of the run and its trust."""
    print_head(console, document)
    for row in trust_rows(document):
        console.print(Text(" ").join(row))
    console.print()


def _print_table(console: Console, test: str, table: PublishedTable) -> None:
    console.print(words(f"{test}, published: {table.title}", "bold"))
    print_published(console, table)
    console.print()


def _rows(document: RunDocument, figures: Sequence[Figure]) -> Iterator[Row]:
    """A row for each result measured under the conditions of the study."""
    address = figures[0].address
    run = " ".join(filter(None, ("this run", time_mark(document.system))))
    where = {name: value for name, value in address.conditions.items() if name != "policy"}
    if is_of_sweep(figures[0]):
        yield from _sweep_rows(document, figures, run)
        return
    for result in document.results:
        if result.test == address.test and is_under(result, where):
            system = f"{run}, {config_text(result.conditions)}"
            for stand in beside(address, document.system):
                refused = stand.refused or why_another(figures[0], result)
                told = f"- ({refused})" if refused else _told(document, result, stand, figures)
                yield Row(
                    (within(stand.address),), result.conditions.load or NOT_KNOWN, system, told
                )


def _sweep_rows(document: RunDocument, figures: Sequence[Figure], run: str) -> Iterator[Row]:
    """Numbers of masses come from all points of a load, and from no single result."""
    bounds = bounds_of(points_of(document))
    for load in dict.fromkeys(one.curve.load for one in bounds):
        own = [one for one in bounds if one.curve.load == load and comparable(one)]
        told = why_not_beside_hardware(document) or ", ".join(
            f"{one.statistic} {told_of(own, one)}" for one in figures
        )
        yield Row((within(figures[0].address),), load, run, told)


def _told(document: RunDocument, result: Result, stand: Stand, figures: Sequence[Figure]) -> str:
    """The figures of `result` at the address, with caveats in brackets.

    Verdicts of an emulated run stand beside those of the studies, its figures do not.
    """
    alone = msgspec.structs.replace(document, results=[result])
    try:
        found = resolve(stand.address, alone)
        others = [resolve(_of_series(stand.address, one), alone) for one in figures[0].or_series]
    except AddressError as error:
        return f"- ({error.cause.removeprefix(f'{stand.address}: ')})"
    if found.series is None:
        told = verdicts_text(found)
    elif why := why_not_beside_hardware(document):
        return f"- ({why})"
    else:
        statistics = [one.statistic for one in figures if one.statistic] or ["max"]
        largest = max([found, *others], key=_largest)
        told = ", ".join([f"{one} {_value(largest, one)}" for one in statistics])
    notes = [stand.note, _larger_of([found, *others]) if others else ""]
    for one in (found, *others):
        notes += [*one.notes, *doubts_of(one, document)]
    notes = list(dict.fromkeys(filter(None, notes)))
    return f"{told} ({'; '.join(notes)})" if notes else told


def _of_series(address: Address, name: str) -> Address:
    return replace(address, parts=(*address.parts[:-1], name))


def _largest(found: Resolved) -> int:
    return (found.series.max if found.series is not None else None) or 0


def _larger_of(found: Sequence[Resolved]) -> str:
    """ "the larger of inverted 0 and ended_by_watchdog 1"."""
    said = [f"{one.series.name} {_largest(one)}" for one in found if one.series is not None]
    return f"the larger of {' and '.join(said)}"


def _value(found: Resolved, statistic: str) -> str:
    if found.series is None:
        return "-"
    try:
        if is_of_kernel_time(statistic):
            return whole_length(length_of(found, statistic))
        return format_value(value_of(found.series, statistic), found.series.unit)
    except AddressError as error:
        return f"- ({error.cause})"
