"""published.json and reading.toml, as types."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import msgspec

_OWN = {"title", "author", "hardware", "systems", "load", "configuration"}


class System(msgspec.Struct, kw_only=True, frozen=True):
    """A system that a study measured; further fields of the file are ignored.

    `priorities`: how many there are; `classes`: the first and the last priority of each scheduling
    class, where the study names them.
    """

    name: str
    hardware: str = ""
    configuration: str = ""
    stars: float | None = None
    clock_tick_hz: int | None = None
    priorities: int | None = None
    classes: dict[str, tuple[int, int]] = {}


class Case(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a study means for one test; the names are explained in reading.toml."""

    series: str | None = None
    labels: dict[str, str] = {}
    each: dict[str, list[str]] = {}
    params: dict[str, int] = {}


class TableReading(Case, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the keys of a table mean; the names are explained in reading.toml."""

    rows: list[str]
    columns: list[str] = []
    keys: list[dict[str, str]] = []
    statistic: str | None = None
    at: dict[str, dict[str, str]] = {}
    cases: dict[str, Case] = {}
    in_unit: list[str] = []
    note: str = ""


class FigureReading(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A single figure, by its path in the study."""

    path: list[str]
    address: str
    system: str | None = None
    statistic: str | None = None
    unit: str | None = None
    or_series: list[str] = []
    note: str = ""


class StudyReading(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How one study is read. `unread`: paths that hold no figure, with the reason."""

    short: str
    tables: dict[str, TableReading] = {}
    figures: list[FigureReading] = []
    unread: dict[str, str] = {}


@dataclass(frozen=True)
class Study:
    """A study: its systems, its tables as they are in the file, and how to read them."""

    key: str
    title: str
    author: str
    conditions: Mapping[str, str]
    systems: Mapping[str, System]
    tables: Mapping[str, Any]
    reading: StudyReading


@cache
def load_studies() -> Mapping[str, Study]:
    """The studies that are part of hardstone, by key."""
    folder = resources.files("hardstone.published")
    found = msgspec.json.decode(folder.joinpath("published.json").read_bytes())
    readings = tomllib.loads(folder.joinpath("reading.toml").read_text("utf-8"))
    return read_studies(found["studies"], readings)


def read_studies(found: Mapping[str, Any], readings: Mapping[str, Any]) -> Mapping[str, Study]:
    """Studies from both files. KeyError or msgspec.ValidationError if they do not match."""
    return {key: _study(key, table, readings[key]) for key, table in found.items()}


def _study(key: str, table: Mapping[str, Any], reading: Any) -> Study:
    return Study(
        key=key,
        title=table["title"],
        author=table.get("author", ""),
        conditions={
            name: table[name] for name in ("hardware", "load", "configuration") if name in table
        },
        systems=msgspec.convert(table["systems"], dict[str, System]),
        tables={name: value for name, value in table.items() if name not in _OWN},
        reading=msgspec.convert(reading, StudyReading),
    )
