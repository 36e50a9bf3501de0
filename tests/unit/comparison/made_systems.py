"""Small systems for the tests of the comparison: a run with one series, or a few."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import msgspec
import numpy as np

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.view import ComparedCell, CompareView
from hardstone.model import Result, Series
from hardstone.systems.subjects import MeasuredRun, Subject, published_system, subjects_of
from tests.unit.stats.make import document, result, series

_numbers = count(1)
QNX, CE7, LINUX_RT = map(published_system, ("qnx", "ce7", "linux-rt"))


def labelled(values: Sequence[int], name: str, **labels: int | str) -> Series:
    return msgspec.structs.replace(series(values, name), labels=dict(labels))


def spread(median: float, number: int = 1, size: int = 20_000) -> list[int]:
    """Values around `median`, different for each `number`."""
    draw = np.random.default_rng(number)
    return [int(one) for one in median * np.exp(0.2 * draw.standard_normal(size))]


def run_with(*results: Result, **changed: object) -> MeasuredRun:
    """A run under one condition, with an ID of its own."""
    number = next(_numbers)
    fields: dict[str, object] = {
        "run_id": f"20261125T20{number // 60:02d}{number % 60:02d}Z-{number:06x}",
        "name": f"run {number}",
        "results": list(results),
    }
    (found,) = subjects_of(document(**(fields | changed)))  # type: ignore[arg-type]
    return found


def switching(
    values: Sequence[int], threads: int = 2, *, system: object = None, **changed: object
) -> MeasuredRun:
    """A run of THR-P-SLS."""
    one = result("THR-P-SLS", series=[labelled(values, "switch", threads=threads)], **changed)
    return run_with(one) if system is None else run_with(one, system=system)


def cells_at(view: CompareView, address: str) -> list[ComparedCell]:
    (row,) = [one for test in view.tests for one in test.rows if one.address == address]
    return row.cells


def cell_beside(one: Subject, reference: Subject, address: str) -> ComparedCell:
    """The cell of `one` in the row `address`, beside `reference`."""
    return cells_at(compare_view([reference, one]), address)[1]
