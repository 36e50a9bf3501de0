"""The view of a recording that grows: the tail of its distribution in a screen's rows."""

from __future__ import annotations

import io

import pytest

from hardstone.terminal.console import make_console
from hardstone.terminal.recording_view import Progress, recording_view
from tests.unit.stats import make

PROGRESS = Progress(elapsed_ns=60 * 10**9, left_ns=540 * 10**9, rate_hz=None)


def bars(*values: int) -> list[list[str]]:
    """Of each row of the distribution its begin, with the unit, and its count."""
    stream = io.StringIO()
    console = make_console(stream)
    console.print(recording_view("TMR-P-LAT", make.result(values=values), "", PROGRESS))
    lines = stream.getvalue().splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("from "))
    return [line.split()[:3] for line in lines[head + 1 :]]


@pytest.mark.parametrize(
    ("largest", "in_first"),
    [
        (600_000, 1),  # 18 steps
        (1_100_000, 3),  # 19: the first row holds two
        (11_000_000, 6),  # 22: it holds five
    ],
)
def test_a_wide_distribution_keeps_the_rows_of_its_tail(largest: int, in_first: int) -> None:
    values = [1, 3, 3, 7, 11, 23, largest]
    rows = bars(*values)
    assert len(rows) == 18
    assert (rows[0], rows[-1][2]) == (["1", "ns", str(in_first)], "1")
    assert sum(int(row[2]) for row in rows) == len(values)
