"""Tables as the tests of the tire keep them."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from hardstone.model import Table

MS = 1_000_000
COLUMNS = ("step", "release_ns", "begin_ns", "read_ns", "compute_ns", "write_ns")


def frame(at_ms: int, *, masses: int = 40, rows: int = 20, height_m: float = 0.8) -> Table:
    """A circle of 0.3 m around a point at `height_m`, mass 0 on top, cut by the floor."""
    angles = [2 * pi * number / rows for number in range(rows)]
    return Table(
        name="frame",
        data={
            "simulated_ns": at_ms * MS,
            "masses_count": masses,
            "every_count": masses // rows,
            "step_ns": MS,
            "energy_uj": 78_000_000,
        },
        columns={
            "x_um": [round(300_000 * sin(angle)) for angle in angles],
            "y_um": [
                max(0, round(1_000_000 * height_m + 300_000 * cos(angle))) for angle in angles
            ],
        },
    )


def blocks(
    rows: Sequence[Sequence[int]], *, thread: int = 0, threads: int = 2, **data: object
) -> Table:
    """One thread's table; each row has step, release, begin, read, compute, write."""
    about = {
        "masses_count": 400,
        "threads_count": threads,
        "thread": thread,
        "cpu": thread,
        "solver": "semaphore",
        "policy": "fifo",
    }
    columns = {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
    return Table(name="blocks", data=about | data, columns=columns)


def steps(count: int, *, period_ns: int = 10 * MS, late: int = 0) -> list[list[int]]:
    """Steps from 1: released, begun 20 us later, then 1, 5 and 2 ms of work; `late` takes 9 ms
    more. The one after it begins when it has ended."""
    rows, free_ns = [], 0
    for number in range(1, count + 1):
        release_ns = (number - 1) * period_ns
        begin_ns = max(release_ns, free_ns) + 20_000
        read_ns = begin_ns + MS
        compute_ns = read_ns + 5 * MS + (9 * MS if number == late else 0)
        free_ns = compute_ns + 2 * MS
        rows.append([number, release_ns, begin_ns, read_ns, compute_ns, free_ns])
    return rows
