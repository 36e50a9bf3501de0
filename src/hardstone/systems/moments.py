"""The two moments between which each tool measures (`moments.toml`): what may be compared."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

_FILE = Path(__file__).with_name("moments.toml")
OWN = "hardstone"
# What people use the figures of a question for.
QUESTIONS = {
    "wakeup": "how late a thread wakes up",
    "interrupt": "how long an interrupt takes to be handled",
    "cpu loss": "what takes the CPU from a thread that computes",
    "switch": "how long a switch between threads takes",
    "message": "how long a message takes to wake the receiver",
    "semaphore": "how long a semaphore takes to wake the next thread",
    "mutex": "how long a mutex takes to pass to the next thread",
    "signal": "how long a signal takes to wake the receiver",
    "other": "other figures",
}
Question = Literal[
    "wakeup", "interrupt", "cpu loss", "switch", "message", "semaphore", "mutex", "signal", "other"
]


class Moments(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One measured quantity of a tool; `moments.toml` explains the fields."""

    test: str
    series: str
    labels: dict[str, str] = {}
    question: Question
    begin: str
    end: str
    thread: Literal["user", "kernel", "handler"]
    differs: str = ""

    @property
    def is_between(self) -> tuple[str, str, str]:
        """Begin, end and thread: quantities with the same three may be compared."""
        return self.begin, self.end, self.thread


class Idle(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a tool does with idle states; with one of the options `unless` it does the other."""

    does: Literal["held", "left"]
    unless: list[str] = []


class ToolMoments(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A tool and what it measures, by the name of `ReadSeries`."""

    title: str
    package: str
    source: str
    notes: list[str] = []
    idle: Idle | None = None
    core: str = ""
    series: dict[str, Moments]


@cache
def load_moments() -> dict[str, ToolMoments]:
    """Every tool, by its key."""
    return msgspec.convert(tomllib.loads(_FILE.read_text("utf-8")), dict[str, ToolMoments])


def moments_at(test: str, series: str, labels: dict[str, str]) -> Iterator[tuple[str, Moments]]:
    """Tools and quantities that are stored under this test, series and labels."""
    for tool, one in load_moments().items():
        for found in one.series.values():
            is_place = (found.test, found.series) == (test, series)
            if is_place and all(labels.get(name) == value for name, value in found.labels.items()):
                yield tool, found
