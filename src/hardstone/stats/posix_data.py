"""posix.toml, as types: the options of each part, least limits, and HP's real-time features."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An amendment of POSIX: its title, and the options that it is known to have."""

    title: str
    options: list[str]


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A test that answers a point; without `series` its claims or its decisive series do.

    `labels`: only series with these.
    """

    test: str
    series: str | None = None
    labels: dict[str, str] = {}
    statistic: Literal["min", "max"] = "max"


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One feature of HP's table, the options that stand for it, and the tests that answer it."""

    name: str
    about: str
    tests: list[Measurement]
    options: list[str] = []


class PosixData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    pathconf: list[str]
    parts: dict[str, Part]
    least: dict[str, int]
    points: list[Point]


@cache
def posix_data() -> PosixData:
    """The data that is part of hardstone."""
    text = resources.files("hardstone.stats").joinpath("posix.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), PosixData)
