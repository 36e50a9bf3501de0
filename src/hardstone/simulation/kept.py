"""Tables that the tests of the tire keep: pictures of it, and the blocks of its threads.

Documents are untrusted, and a killed probe leaves rows that it had not written: what is not sound
is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec

from hardstone.model import Result, Table

FRAME, BLOCKS = "frame", "blocks"
MOST_FRAMES = 64
MOST_THREADS = 32
MOST_VARIANTS = 64
_MOST_UM = 10**9  # a kilometre
_MOST_NS = 10**18
_NAME_CHARACTERS = 40
_FEW_POINTS = 3


class Frame(msgspec.Struct, kw_only=True, frozen=True):
    """The tire at one moment of simulated time. `points_um`: (x, height) of masses on the circle,
    mass 0 first, in their order. `every`: every so many-th mass is in it."""

    at_ns: int
    step_ns: int
    masses: int
    every: int
    energy_uj: int | None
    points_um: tuple[tuple[int, int], ...]


class Block(NamedTuple):
    """One step of one thread. All times count from one moment of the variant."""

    step: int
    release_ns: int
    begin_ns: int
    read_ns: int
    compute_ns: int
    write_ns: int


class ThreadBlocks(msgspec.Struct, kw_only=True, frozen=True):
    """The steps of a thread that were kept, in their order. `cpu`: where it began, if known."""

    thread: int
    cpu: int | None
    blocks: tuple[Block, ...]


class StepBlocks(msgspec.Struct, kw_only=True, frozen=True):
    """The kept steps of all threads of one variant. `period_ns`: a step is due this long after its
    release; None where steps have no release (real-fast), or but one was kept."""

    masses: int
    threads: int
    solver: str
    policy: str
    period_ns: int | None
    rows: tuple[ThreadBlocks, ...]


class MeanBlock(NamedTuple):
    """Means over the kept steps of a thread. `wait_ns`: from the end of a step to the begin of the
    next; None: no two steps in a row."""

    thread: int
    cpu: int | None
    steps: int
    read_ns: float
    compute_ns: float
    write_ns: float
    wait_ns: float | None


def frames_of(result: Result) -> list[Frame]:
    """The pictures of one simulation in the order of simulated time: of the one with most of them.

    At most MOST_FRAMES. Pictures of which rows were not written are left out.
    """
    found = [one for table in result.tables if (one := _frame(table)) is not None]
    of_simulation: dict[tuple[int, int], dict[int, Frame]] = {}
    for one in found:
        of_simulation.setdefault((one.masses, one.step_ns), {})[one.at_ns] = one
    most = max(of_simulation.values(), key=len, default={})
    return sorted(most.values(), key=lambda one: one.at_ns)[:MOST_FRAMES]


def blocks_of(result: Result) -> list[StepBlocks]:
    """The kept steps of each variant, in the order in which they were measured.

    At most MOST_VARIANTS, each of at most MOST_THREADS threads. A variant ends where the next table
    is of another one, or of a thread that it has already.
    """
    found = [one for table in result.tables if (one := _thread(table)) is not None]
    variants: list[StepBlocks] = []
    for key, tables in groupby(found, key=lambda one: one[0]):
        for rows in _without_repeats(row for _, row in tables):
            variants.append(_variant(key, rows))
    return [one for one in variants if one.rows][:MOST_VARIANTS]


def mean_blocks(variant: StepBlocks) -> list[MeanBlock]:
    """For each thread what its steps consist of, on average."""
    return [_mean_block(row) for row in variant.rows]


class _Key(NamedTuple):
    masses: int
    threads: int
    solver: str
    policy: str


def _frame(table: Table) -> Frame | None:
    at_ns, step_ns = _count(table, "simulated_ns"), _count(table, "step_ns")
    masses, every = _count(table, "masses_count"), _count(table, "every_count")
    x, y = table.columns.get("x_um", []), table.columns.get("y_um", [])
    if table.name != FRAME or at_ns is None or not masses or len(x) != len(y):
        return None
    points = tuple(zip(x, y, strict=True))
    if len(points) < _FEW_POINTS or len(points) > masses or not _is_written(points):
        return None
    return Frame(
        at_ns=at_ns,
        step_ns=step_ns or 0,
        masses=masses,
        every=every or 1,
        energy_uj=_whole(table, "energy_uj"),
        points_um=points,
    )


def _is_written(points: Sequence[tuple[int, int]]) -> bool:
    """Rows that were not written are zeros: two masses at the origin. None is far away."""
    is_near = all(abs(x) <= _MOST_UM and abs(y) <= _MOST_UM for x, y in points)
    return is_near and points[-2:] != ((0, 0), (0, 0))


def _thread(table: Table) -> tuple[_Key, ThreadBlocks] | None:
    masses, threads = _count(table, "masses_count"), _count(table, "threads_count")
    thread, cpu = _count(table, "thread"), _count(table, "cpu")
    if table.name != BLOCKS or thread is None or not masses or not threads:
        return None
    if not set(Block._fields) <= table.columns.keys():
        return None
    columns = [table.columns[name] for name in Block._fields]
    rows = [Block(*row) for row in zip(*columns, strict=False)]
    key = _Key(masses, threads, _name(table, "solver"), _name(table, "policy"))
    return key, ThreadBlocks(thread=thread, cpu=cpu, blocks=_sound(rows))


def _sound(rows: Iterable[Block]) -> tuple[Block, ...]:
    """Those that were written, in the order of their steps, each after the one before it."""
    found: list[Block] = []
    for row in rows:
        is_in_order = all(a <= b for a, b in pairwise(row[2:]))  # a release: of another clock
        is_near = all(abs(at_ns) <= _MOST_NS for at_ns in row[1:])
        last = found[-1] if found else None
        is_later = last is None or (row.step > last.step and row.begin_ns >= last.write_ns)
        if row.step >= 1 and is_in_order and is_near and is_later:
            found.append(row)
    return tuple(found)


def _without_repeats(rows: Iterable[ThreadBlocks]) -> list[list[ThreadBlocks]]:
    """Cut where a thread comes again: another recording of the same variant."""
    found: list[list[ThreadBlocks]] = [[]]
    for row in rows:
        if any(row.thread == one.thread for one in found[-1]):
            found.append([])
        found[-1].append(row)
    return found


def _variant(key: _Key, rows: list[ThreadBlocks]) -> StepBlocks:
    kept = [row for row in rows if row.blocks][:MOST_THREADS]
    return StepBlocks(
        masses=key.masses,
        threads=key.threads,
        solver=key.solver,
        policy=key.policy,
        period_ns=_period_ns(kept),
        rows=tuple(sorted(kept, key=lambda one: one.thread)),
    )


def _period_ns(rows: Iterable[ThreadBlocks]) -> int | None:
    """From the releases of two steps. A step without a release has its begin there."""
    for row in rows:
        first, last = row.blocks[0], row.blocks[-1]
        if all(block.release_ns == block.begin_ns for block in row.blocks):
            continue
        if last.step > first.step and last.release_ns > first.release_ns:
            return (last.release_ns - first.release_ns) // (last.step - first.step)
    return None


def _mean_block(row: ThreadBlocks) -> MeanBlock:
    blocks = row.blocks
    waits = [b.begin_ns - a.write_ns for a, b in pairwise(blocks) if b.step == a.step + 1]
    return MeanBlock(
        row.thread,
        row.cpu,
        len(blocks),
        sum(one.read_ns - one.begin_ns for one in blocks) / len(blocks),
        sum(one.compute_ns - one.read_ns for one in blocks) / len(blocks),
        sum(one.write_ns - one.compute_ns for one in blocks) / len(blocks),
        sum(waits) / len(waits) if waits else None,
    )


def _whole(table: Table, name: str) -> int | None:
    value = table.data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _count(table: Table, name: str) -> int | None:
    """A whole number of the data that is not negative."""
    value = _whole(table, name)
    return value if value is not None and 0 <= value <= _MOST_NS else None


def _name(table: Table, name: str) -> str:
    value = table.data.get(name)
    return value[:_NAME_CHARACTERS] if isinstance(value, str) else "unknown"
