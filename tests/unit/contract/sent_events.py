"""The events that the C sources of the probe send, read from the calls that send them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[3] / "probe" / "src").rglob("*.c"))

# Calls that name their event in the second argument.
_SENDER = re.compile(r"\b(?:arena_event|arena_event_once|tell|send_event|data_pack)\(")
# Calls whose second argument is no literal: by file and that argument (DATA: they name no event).
_NAMED_ELSEWHERE = {
    ("shield.c", "DATA"): {"not_put_back"},  # by the caller, in shield_run.c
    ("undo.c", "DATA"): {"not_put_back"},
    ("shield_run.c", "event"): {"offline", "shielded"},
    ("stream.c", "sizeof data"): {"events_dropped", "intervals_dropped", "table_dropped"},
    ("thr_p_pre.c", "doubt->event"): {"nobody_to_preempt", "not_at_once"},
}
# Lists of data that are a table's: in the call, or in a variable beside it.
_TABLE = re.compile(r"\brow_table_add\(")
_TABLE_DATA = re.compile(r"\bconst struct datum \*\w+ =\s*DATA\(")
_COLUMNS = re.compile(r"\bconst char \*const \w*columns\w*\[\] = \{([^}]*)\}")
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"({_STRING})|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|'(?:\\.|[^'\\])*'|.", re.DOTALL)
_DATA = re.compile(r"\bDATA\(|\bNO_DATA\b")
_LITERAL = re.compile(r'"([a-z_]+)"')
_KEY = re.compile(r'\bdata_(?:integer|number|bool|text|texts)\(\s*"([a-z_]+)"')
_VALUE = re.compile(r'\bdata_text\(\s*"(?:why|reason)",\s*"([a-z_]+)"')


@dataclass(frozen=True)
class Call:
    """One call: the events that it may send, and the words that their row must have."""

    file: str
    names: frozenset[str]
    words: frozenset[str]  # keys of the data, and literal values of `why` and `reason`


def source_of(path: Path) -> str:
    """The text of a source without comments."""
    return _COMMENT.sub(lambda found: found[1] or " ", path.read_text())


def data_count(source: str) -> int:
    """How many lists of data of events are in a source, empty ones counted."""
    return len(_DATA.findall(source)) - len(_table_lists(source))


def table_words(source: str) -> tuple[set[str], set[str]]:
    """Names of the tables that a source keeps, and the keys of their data and their columns."""
    calls_of = [_arguments(source, match.end()) for match in _TABLE.finditer(source)]
    if not calls_of:
        return set(), set()
    names = {name for given in calls_of for name in _LITERAL.findall(given[1])}
    keys = set(_KEY.findall(",".join(_table_lists(source))))
    columns = [set(_LITERAL.findall(one)) for one in _COLUMNS.findall(source)]
    return names, keys.union(*columns)


def _table_lists(source: str) -> list[str]:
    """The lists of data of tables in a source."""
    if not _TABLE.search(source):
        return []
    given = [one for match in _TABLE.finditer(source) for one in _arguments(source, match.end())]
    declared = _TABLE_DATA.finditer(source)
    return [
        *(one for one in given if _DATA.search(one)),
        *(",".join(_arguments(source, match.end())) for match in declared),
    ]


def calls(file: str, source: str) -> list[Call]:
    """The calls in `source` that send data of an event, or none with NO_DATA.

    KeyError where a call names its event in a way that is not known here.
    """
    found = [_arguments(source, match.end()) for match in _SENDER.finditer(source)]
    return [
        Call(
            file,
            frozenset(_LITERAL.findall(given[1]) if _is_named(given) else _elsewhere(file, given)),
            frozenset(_KEY.findall(",".join(given)) + _VALUE.findall(",".join(given))),
        )
        for given in found
        if _DATA.search(",".join(given))
    ]


def _is_named(given: list[str]) -> bool:
    return not _DATA.search(given[1]) and bool(_LITERAL.search(given[1]))


def _elsewhere(file: str, given: list[str]) -> set[str]:
    return _NAMED_ELSEWHERE[file, "DATA" if _DATA.search(given[1]) else given[1].strip()]


def _arguments(source: str, start: int) -> list[str]:
    """The arguments of the call whose opening parenthesis ends at `start`."""
    arguments, depth = [""], 0
    for token in _TOKEN.finditer(source, start):
        depth += (token[0] in "({") - (token[0] in ")}")
        if depth < 0:
            break
        if token[0] == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += token[0]
    return arguments
