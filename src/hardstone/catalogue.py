"""What people and ratings need to know about a test, beside the probe's descriptor.

The data is `catalogue.toml`, keyed by test ID: place in the battery, category,
counts per profile, and the texts of `hardstone explain`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from hardstone.units import parse_duration_ns

PROFILES = ("quick", "standard", "soak")
ENTERS_KERNEL = ("always", "when somebody waits")
CATEGORIES = (
    "clock",
    "timers",
    "threads",
    "semaphores",
    "mutexes",
    "interrupts",
    "messages",
    "determinism",
    "application",
)


@dataclass(frozen=True)
class ProfileCount:
    """How much of a test a profile asks for. Zero means "no limit"."""

    samples: int
    duration_ns: int


@dataclass(frozen=True)
class Entry:
    """One test of the catalogue; the fields are explained in `catalogue.toml`."""

    test: str
    order: int
    category: str
    about: str
    distorts: str
    takes_duration: bool
    profiles: Mapping[str, ProfileCount]
    after: str = ""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    enters_kernel: Mapping[str, str] = field(default_factory=dict)

    @property
    def kernel_kinds(self) -> dict[str, list[str]]:
        """Kinds of semaphore by when they enter the kernel."""
        return {
            when: [kind for kind, found in self.enters_kernel.items() if found == when]
            for when in ENTERS_KERNEL
            if when in self.enters_kernel.values()
        }

    @property
    def takes_samples(self) -> bool:
        """Whether a number of values that is asked for changes what the test does."""
        return self.takes_duration or any(count.samples for count in self.profiles.values())

    def why_uncounted(self, name: str) -> str:
        """Why a verdict ("lower/fifo") or series does not count for a rating; "" where it does."""
        return self.uncounted.get(name.partition("/")[0], "")


class Catalogue:
    """The entries of all tests, by ID, in battery order."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        ordered = sorted(entries, key=lambda entry: (entry.order, entry.test))
        self._entries = {entry.test: entry for entry in ordered}

    def ids(self) -> list[str]:
        """Test IDs in battery order."""
        return list(self._entries)

    def entry(self, test: str, samples: int = 0, duration_ns: int = 0) -> Entry:
        """Entry of `test`; for a test that a newer probe has, one made of its defaults."""
        return self._entries.get(test) or _uncatalogued(test, samples, duration_ns)


def _uncatalogued(test: str, samples: int, duration_ns: int) -> Entry:
    count = ProfileCount(samples, duration_ns)
    return Entry(
        test=test,
        order=1_000_000,
        category="other",
        about="",
        distorts="",
        takes_duration=True,
        profiles=dict.fromkeys(PROFILES, count),
    )


def parse_catalogue(text: str) -> Catalogue:
    """Catalogue from TOML. Raises KeyError or ValueError where the data is faulty."""
    tables = tomllib.loads(text)
    return Catalogue([_entry(test, table) for test, table in tables.items()])


def _entry(test: str, table: Mapping[str, Any]) -> Entry:
    if table["category"] not in CATEGORIES:
        raise ValueError(f"{test}: no category '{table['category']}'")
    for kind, when in table.get("enters_kernel", {}).items():
        if when not in ENTERS_KERNEL:
            raise ValueError(f"{test}: {kind} enters the kernel '{when}'?")
    return Entry(
        test=test,
        order=table["order"],
        category=table["category"],
        about=_one_line(table["about"]),
        distorts=_one_line(table["distorts"]),
        takes_duration=table.get("duration", True),
        profiles={name: _count(table[name]) for name in PROFILES},
        after=table.get("after", ""),
        uncounted=table.get("uncounted", {}),
        enters_kernel=table.get("enters_kernel", {}),
    )


def _count(table: Mapping[str, Any]) -> ProfileCount:
    return ProfileCount(table["samples"], _span_ns(table["duration"]))


def _span_ns(text: str) -> int:
    return 0 if text == "0" else parse_duration_ns(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that is part of hardstone."""
    return parse_catalogue(
        resources.files("hardstone").joinpath("catalogue.toml").read_text("utf-8")
    )
