"""schema/EVENTS.md names every event of the probe and what its data hold."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import combinations

from hardstone import schema
from tests.unit.contract.sent_events import SOURCES, Call, calls, data_count, source_of

_NO_DATA = re.compile(r'\bNO_DATA,\s*("[^"]*")')
_SENT = [call for path in SOURCES for call in calls(path.name, source_of(path))]


def _rows() -> dict[str, set[str]]:
    """Events of the table, and the words of the cell with their data."""
    rows = {}
    for line in (schema.FOLDER / "EVENTS.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) == 4 and "`" in cells[1]:
            words = set(re.findall(r"`([a-z_]+)`", cells[2]))
            rows |= dict.fromkeys(re.findall(r"`([a-z_]+)`", cells[1]), words)
    return rows


def _differences(rows: dict[str, set[str]], sent: list[Call]) -> list[str]:
    """Words that a call sends and the row of its event lacks, and the reverse."""
    words: dict[str, set[str]] = defaultdict(set)
    for call in sent:
        for name in call.names:
            words[name] |= call.words
    return [
        f"{call.file} sends {name}.{word}: not in its row"
        for call in sent
        for name in sorted(call.names)
        for word in sorted(call.words - rows.get(name, set()))
    ] + [
        f"nothing sends {name}.{word} of the table"
        for name in rows
        for word in sorted(rows[name] - words[name])
    ]


def test_every_list_of_data_is_of_a_call_that_is_read_here() -> None:
    assert len(_SENT) == sum(data_count(source_of(path)) for path in SOURCES)


def test_every_event_has_a_row() -> None:
    assert {name for call in _SENT for name in call.names} == set(_rows())


def test_every_event_is_named_in_the_sources() -> None:
    text = "\n".join(source_of(path) for path in SOURCES)
    assert [name for name in _rows() if f'"{name}"' not in text] == []


def test_each_row_has_just_the_data_of_its_event() -> None:
    assert _differences(_rows(), _SENT) == []


def test_data_in_the_row_of_another_event_are_noticed() -> None:
    rows = _rows()
    unlike = [(one, other) for one, other in combinations(rows, 2) if rows[one] != rows[other]]
    assert unlike
    for one, other in unlike:
        assert _differences(rows | {one: rows[other], other: rows[one]}, _SENT) != []


def test_an_event_without_data_has_no_figure_in_its_text() -> None:
    texts = [text for path in SOURCES for text in _NO_DATA.findall(source_of(path))]
    assert texts
    assert not [text for text in texts if "%" in text]
