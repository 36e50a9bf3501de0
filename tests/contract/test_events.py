"""schema/EVENTS.md names every event of the probe and what its data hold."""

from __future__ import annotations

import re
from pathlib import Path

from hardstone import schema

SOURCE = Path(__file__).parents[2] / "probe" / "src"
_CALL = re.compile(
    r"\b(?:arena_event(?:_once)?\([^;]*?|tell\(context|(?:event_line|send_event)\(emit), "
    r'"([a-z_]+)",'
)
_KEY = re.compile(r'\bdata_(?:integer|number|bool|text|texts)\(\s*"([a-z_]+)"')
_NO_DATA = re.compile(r'\bNO_DATA,\s*("[^"]*")')
# Named in a table, or by a choice, where the probe sends them.
NAMED_ELSEWHERE = {
    "nobody_to_preempt",
    "not_at_once",
    "not_vulnerable",
    "offline",
    "shielded",
    "vulnerable",
}


def _sources() -> str:
    return "\n".join(path.read_text() for path in sorted(SOURCE.rglob("*.c")))


def _rows() -> dict[str, str]:
    """Events of the table, and the cell with their data."""
    rows = {}
    for line in (schema.FOLDER / "EVENTS.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) == 4 and "`" in cells[1]:
            rows |= dict.fromkeys(re.findall(r"`([a-z_]+)`", cells[1]), cells[2])
    return rows


def test_every_event_has_a_row() -> None:
    sent = set(_CALL.findall(_sources()))
    assert len(sent) > 40
    assert sent | NAMED_ELSEWHERE == set(_rows())
    assert all(f'"{name}"' in _sources() for name in NAMED_ELSEWHERE)


def test_every_key_is_in_a_row() -> None:
    told = {name for cell in _rows().values() for name in re.findall(r"`([a-z_]+)`", cell)}
    keys = set(_KEY.findall(_sources()))
    values = set(re.findall(r'data_text\("(?:why|reason)", "([a-z_]+)"', _sources()))
    assert keys - told == set()
    assert told - keys - values == set()
    assert values <= told


def test_an_event_without_data_has_no_figure_in_its_text() -> None:
    texts = _NO_DATA.findall(_sources())
    assert texts
    assert not [text for text in texts if "%" in text]
