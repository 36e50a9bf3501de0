"""Every number of published.json, read by walking the file: nothing of the package is used.

What each number is follows from the words beside it: the system, test, statistic and load of the
row and column that it stands in, or, for a single number, reading.toml.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parents[3] / "src" / "hardstone" / "published"
SCALES = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "MB/s": 1_000_000,
    "masses": 1,
}
BOUNDS = {"below", "above"}
# Numbers that are no figure of a system, by path; what holds each is tested by name.
CONDITIONS = (
    "*/systems/*",  # stars, priorities, classes, tick: of the system
    "*/*/at/*",  # label values
    "obenland-2000/response_worst_case/calibrated_block",
    "dedicated-systems-2012/sustained_interrupt_period/interrupts",
    "hp-ux-rt-1987/non_preemptable_kernel_time/preemption_points",
    "hp-ux-rt-1987/non_preemptable_kernel_time/preemption_regions",
    "hp-ux-rt-1987/non_preemptable_kernel_time/rows/*/2",  # the improvement: the ratio of the two
    "hp-ux-rt-1987/clock/*",  # of no one system: reading.toml gives it none
)
WORDS = {"avg": "mean", "worst": "max", "minimal": "min"}
_ADDRESS = re.compile(r"[A-Z]{3}-[A-Z]-[A-Z]+")


class Number(NamedTuple):
    """`kind` is "value", "below" or "above"; `value` is in ns, bytes per second or a count. `said`
    are the words of row and column that stand in the address of the figure: "thread", "128"."""

    study: str
    system: str
    test: str
    statistic: str
    load: str
    kind: str
    value: Decimal
    said: frozenset[str] = frozenset()


def raw_file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        FOLDER.joinpath("published.json").read_text("utf-8"), parse_float=Decimal
    )
    return found


def raw_readings() -> dict[str, Any]:
    return tomllib.loads(FOLDER.joinpath("reading.toml").read_text("utf-8"))


def leaves(node: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each number with its path; a bound is one number, with its word at the end of the path."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, *path, key)
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from leaves(value, *path, str(place))
    elif isinstance(node, int | Decimal) and not isinstance(node, bool):
        yield path, node


def numbers_of(file: Mapping[str, Any]) -> tuple[list[Number], list[str]]:
    """The figures of systems, and the paths of numbers that nothing explains."""
    found: list[Number] = []
    unexplained: list[str] = []
    readings = raw_readings()
    for path, value in leaves(file["studies"]):
        text = "/".join(path)
        if any(fnmatchcase(text, one) for one in CONDITIONS):
            continue
        number = _number(file["studies"][path[0]], readings[path[0]], path, value)
        if number is not None:
            found.append(number)
        elif not _is_unread(readings[path[0]], path):
            unexplained.append(text)
    return found, unexplained


def _is_unread(reading: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    inner = "/".join(path[1:])
    return any(f"{inner}/".startswith(f"{one}/") for one in reading.get("unread", {}))


def _number(
    study: Mapping[str, Any], reading: Mapping[str, Any], path: tuple[str, ...], value: Any
) -> Number | None:
    kind, inner = ("value", path[1:]) if path[-1] not in BOUNDS else (path[-1], path[1:-1])
    for single in reading.get("figures", []):
        if tuple(single["path"]) == inner:
            test = single["address"].partition("/")[0]
            words = (single["system"], test, single["statistic"], "")
            return Number(path[0], *words, kind, value * SCALES[single["unit"]])
    if len(inner) < 3 or inner[1] != "rows":
        return None
    return _cell(path[0], study, inner, kind, value)


def _cell(
    name: str, study: Mapping[str, Any], inner: tuple[str, ...], kind: str, value: Any
) -> Number:
    """A number in the rows of a table: what it is stands in its row, its column and the table."""
    table = study[inner[0]]
    column = table["columns"][int(inner[3])] if len(inner) > 3 else ""
    row = inner[2]
    words = re.split(r"[ /]", f"{row} {column}")
    tests = _ADDRESS.findall(f"{row} {column}") or _ADDRESS.findall(table["test"])
    test = tests[0]
    if len(tests) > 1:  # "MSG-P-LAT and MSG-P-THR": which one says the column
        test = tests[["latency", "throughput"].index(words[2])]
    statistic = next((WORDS.get(one, one) for one in words if one in _STATISTICS), "")
    statistic = statistic or _OF_TITLE[inner[0]]
    if test == "MSG-P-THR" and statistic == "max":
        statistic = "min"  # of a rate the worst is the least
    unit = column.rpartition(" ")[2]
    unit = unit if unit in SCALES else table["unit"]
    load = next((one for one in words if one in ("none", "heavy")), table.get("load") or "")
    system = _system(study, row, column)
    said = frozenset(words) - _NO_LABELS - {test, system}
    return Number(name, system, test, statistic, load, kind, value * SCALES[unit], said)


_STATISTICS = {"avg", "max", "worst", "time_90", "time_99"}
_NO_LABELS = {*_STATISTICS, "", "none", "heavy", "preemption", "off", "on", "us", "MB", "s"}
# Tables that say in their title which statistic they hold: worst cases, and the shortest period.
_OF_TITLE = {
    "response_worst_case": "max",
    "worst_case": "max",
    "sustained_interrupt_period": "min",
}


def _system(study: Mapping[str, Any], row: str, column: str) -> str:
    known = study["systems"]
    said = {row, *column.split(), column.replace("preemption ", "hpux-")}
    (found,) = said & set(known)
    return found
