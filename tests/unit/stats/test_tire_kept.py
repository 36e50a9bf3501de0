"""Tables of the tire as pictures and steps: what is not sound is left out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import Result, Table
from hardstone.stats.tire_kept import (
    MOST_FRAMES,
    MOST_THREADS,
    Block,
    blocks_of,
    frames_of,
    mean_blocks,
)
from tests.unit.stats import make
from tests.unit.stats.made_tables import COLUMNS, MS, blocks, frame, steps


def of(*tables: Table) -> Result:
    return make.result("SIM-S-RT", tables=list(tables))


def changed(table: Table, **data: Any) -> Table:
    return msgspec.structs.replace(table, data=table.data | data)


def columns(table: Table, **found: list[int]) -> Table:
    return msgspec.structs.replace(table, columns=table.columns | found)


def test_pictures_are_in_the_order_of_simulated_time() -> None:
    found = frames_of(of(frame(40), frame(0), frame(20)))
    assert [one.at_ns // MS for one in found] == [0, 20, 40]
    first = found[0]
    assert (first.masses, first.every, first.step_ns, first.energy_uj) == (40, 2, MS, 78_000_000)
    assert first.points_um[0] == (0, 1_100_000)
    assert len(first.points_um) == 20


def test_pictures_are_of_one_simulation_and_each_moment_is_there_once() -> None:
    other = [frame(at_ms, masses=80) for at_ms in (0, 5, 10)]
    found = frames_of(of(frame(0), frame(20), *other, other[0]))
    assert [(one.masses, one.at_ns // MS) for one in found] == [(80, 0), (80, 5), (80, 10)]


@pytest.mark.slow
def test_the_number_of_pictures_is_bounded() -> None:
    assert len(frames_of(of(*(frame(at_ms) for at_ms in range(90))))) == MOST_FRAMES


@pytest.mark.parametrize(
    "bad",
    [
        changed(frame(9), simulated_ns=-1),
        changed(frame(9), simulated_ns="soon"),
        changed(frame(9), simulated_ns=True),
        changed(frame(9), masses_count=0),
        changed(frame(9), masses_count=19),  # fewer than are in it
        columns(frame(9), x_um=[1]),
        columns(frame(9), x_um=[], y_um=[]),
        columns(frame(9), x_um=[2**62] * 20),
        columns(frame(9), x_um=[1] * 18 + [0, 0], y_um=[1] * 18 + [0, 0]),  # not written
        msgspec.structs.replace(frame(9), columns={"x_um": [1] * 20}),
        msgspec.structs.replace(frame(9), name="another"),
    ],
    ids=range(11),
)
def test_an_unsound_picture_is_left_out(bad: Table) -> None:
    assert [one.at_ns // MS for one in frames_of(of(bad, frame(1)))] == [1]
    assert frames_of(of(bad)) == []


def test_a_mass_at_the_origin_is_no_unwritten_row() -> None:
    """The lowest mass may lie there."""
    table = frame(1)
    x, y = table.columns["x_um"], table.columns["y_um"]
    at_origin = columns(table, x_um=[*x[:-1], 0], y_um=[*y[:-1], 0])
    assert len(frames_of(of(at_origin))) == 1


def test_steps_are_read_with_their_period() -> None:
    (found,) = blocks_of(of(blocks(steps(3), thread=1), blocks(steps(3), thread=0)))
    assert [row.thread for row in found.rows] == [0, 1]
    assert (found.masses, found.threads, found.solver) == (400, 2, "semaphore")
    assert found.period_ns == 10 * MS
    assert found.rows[0].blocks[1] == Block(*steps(3)[1])


def test_steps_without_releases_have_no_period() -> None:
    rows = [[row[0], row[2], *row[2:]] for row in steps(3)]
    (found,) = blocks_of(of(blocks(rows)))
    assert found.period_ns is None


def test_a_single_step_has_no_period() -> None:
    (found,) = blocks_of(of(blocks(steps(1))))
    assert found.period_ns is None


def test_variants_are_apart_also_those_of_another_recording() -> None:
    pair = [blocks(steps(2), thread=0), blocks(steps(2), thread=1)]
    other = blocks(steps(2), policy="other")
    found = blocks_of(of(frame(1), *pair, *pair, other))
    assert [(one.policy, len(one.rows)) for one in found] == [
        ("fifo", 2),
        ("fifo", 2),
        ("other", 1),
    ]


def test_the_number_of_threads_is_bounded() -> None:
    many = [blocks(steps(1), thread=number, threads=99) for number in range(99)]
    (found,) = blocks_of(of(*many))
    assert len(found.rows) == MOST_THREADS


@pytest.mark.parametrize(
    "row",
    [
        [0, 0, 0, 0, 0, 0],  # not written
        [-3, 1, 2, 3, 4, 5],
        [3, 30 * MS, 31 * MS, 30 * MS, 33 * MS, 34 * MS],  # computed before it was read
        [3, 30 * MS, 1, 2, 3, 4],  # before the end of the step before
        [2, 30 * MS, 31 * MS, 32 * MS, 33 * MS, 34 * MS],  # twice
        [3, 30 * MS, 31 * MS, 32 * MS, 33 * MS, 2**62],
    ],
    ids=range(6),
)
def test_an_unsound_step_is_left_out(row: list[int]) -> None:
    (found,) = blocks_of(of(blocks([*steps(2), row])))
    assert [one.step for one in found.rows[0].blocks] == [1, 2]


@pytest.mark.parametrize(
    "bad",
    [
        changed(blocks(steps(2)), thread=-1),
        changed(blocks(steps(2)), masses_count=None),
        changed(blocks(steps(2)), threads_count=0),
        msgspec.structs.replace(blocks(steps(2)), columns={"step": [1]}),
        blocks([]),
        blocks([[0] * 6] * 4),
    ],
    ids=range(6),
)
def test_an_unsound_table_of_steps_is_left_out(bad: Table) -> None:
    assert blocks_of(of(bad)) == []


def test_a_cpu_that_is_not_known_is_none_and_names_are_cut() -> None:
    (found,) = blocks_of(of(changed(blocks(steps(1)), cpu=-1, solver="x" * 999, policy=7)))
    assert found.rows[0].cpu is None
    assert (len(found.solver), found.policy) == (40, "unknown")


def test_means_are_those_of_the_steps() -> None:
    (found,) = blocks_of(of(blocks(steps(3))))
    (one,) = mean_blocks(found)
    assert (one.thread, one.cpu, one.steps) == (0, 0, 3)
    assert (one.read_ns, one.compute_ns, one.write_ns) == (MS, 5 * MS, 2 * MS)
    assert one.wait_ns == 10 * MS - 8 * MS


def test_a_wait_is_known_between_steps_in_a_row_only() -> None:
    (found,) = blocks_of(of(blocks([steps(3)[0], steps(3)[2]])))
    assert mean_blocks(found)[0].wait_ns is None


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 40)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(
            ["masses_count", "threads_count", "thread", "cpu", "simulated_ns", "step_ns"]
        ),
        NUMBERS | st.text(max_size=3) | st.none() | st.booleans(),
    ),
    st.lists(st.lists(NUMBERS, min_size=8, max_size=8), max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_no_table_is_too_odd(data: dict[str, Any], rows: list[list[int]]) -> None:
    names = (*COLUMNS, "x_um", "y_um")
    found = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    for name in ("frame", "blocks"):
        result = of(Table(name=name, data=data, columns=found))
        for one in blocks_of(result):
            assert all(row.blocks for row in one.rows)
            assert len(mean_blocks(one)) == len(one.rows)
        assert all(len(one.points_um) <= one.masses for one in frames_of(result))
