"""schema/TABLES.md names every table of the probe, what its data hold, and its columns."""

from __future__ import annotations

import re

from hardstone import schema
from tests.unit.contract.sent_events import SOURCES, data_count, source_of, table_words

MADE_UP = """
static const char *const columns[] = {"x_um", "y_um", NULL};
row_table_add(arena, "frame", DATA(data_integer("step_ns", 1)), columns, 2);
arena_event(arena, "told", -1, DATA(data_integer("frame_count", 1)), "one");
"""
DECLARED = """
static const char *const their_columns[] = {"step", NULL};
const struct datum *data =
    DATA(data_integer("thread", i), data_text("solver", solver));
int table = row_table_add(arena, "blocks", data, their_columns, (uint32_t)steps);
"""


def _rows() -> dict[str, set[str]]:
    rows = {}
    for line in (schema.FOLDER / "TABLES.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) == 6 and "`" in cells[1]:
            (name,) = re.findall(r"`([a-z_]+)`", cells[1])
            rows[name] = set(re.findall(r"`([a-z_]+)`", cells[3] + cells[4]))
    return rows


def test_every_table_has_a_row_with_its_data_and_columns() -> None:
    rows = _rows()
    for path in SOURCES:
        names, words = table_words(source_of(path))
        assert names <= rows.keys(), path.name
        missing = words - set().union(*(rows[name] for name in names))
        assert missing == set(), path.name


def test_the_data_of_a_table_are_not_those_of_an_event() -> None:
    assert table_words(MADE_UP) == ({"frame"}, {"step_ns", "x_um", "y_um"})
    assert data_count(MADE_UP) == 1
    assert table_words(DECLARED) == ({"blocks"}, {"thread", "solver", "step"})
    assert data_count(DECLARED) == 0
    assert table_words("arena_event(arena, DATA(x))") == (set(), set())
