"""What only people need to know about a test, and how long each takes.

The data is `catalogue.toml`, keyed by test ID: place in the battery, category, counts per
profile, and the texts of `hardstone explain`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import prod
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec

from hardstone.model import (
    Descriptor,
    ParamValue,
    PlannedTest,
    RunDocument,
)
from hardstone.units import parse_duration_ns

_FILE = Path(__file__).with_name("catalogue.toml")
PROFILES = ("quick", "standard", "soak")
KernelEntry = Literal["always", "when somebody waits"]
Category = Literal[
    "clock",
    "timers",
    "threads",
    "semaphores",
    "mutexes",
    "interrupts",
    "messages",
    "determinism",
    "application",
    "other",
]


class ProfileCount(NamedTuple):
    """How much of a test a profile asks for. Zero means "no limit"."""

    samples: int
    duration_ns: int


class _Count(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same as the file has it: `duration` is "5s", or "0" for no limit."""

    samples: int
    duration: str

    def __post_init__(self) -> None:
        self.parsed()

    def parsed(self) -> ProfileCount:
        """ValueError where `duration` is none."""
        return ProfileCount(self.samples, _span_ns(self.duration))


@cache  # few texts, read again and again
def _span_ns(duration: str) -> int:
    return 0 if duration == "0" else parse_duration_ns(duration)


class Entry(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One test of the catalogue; the fields are explained in `catalogue.toml`."""

    order: int
    category: Category
    known_as: list[str] = []
    about: str
    distorts: str
    takes_duration: bool = msgspec.field(name="duration", default=True)
    uncounted: dict[str, str] = {}
    enters_kernel: dict[str, KernelEntry] = {}
    means: dict[str, str] = {}
    idle: str = ""
    quick: _Count
    standard: _Count
    soak: _Count

    def __post_init__(self) -> None:
        for name in ("about", "distorts", "idle"):
            msgspec.structs.force_setattr(self, name, " ".join(getattr(self, name).split()))

    @property
    def profiles(self) -> dict[str, ProfileCount]:
        """How much each profile asks for."""
        return {name: getattr(self, name).parsed() for name in PROFILES}

    @property
    def kernel_kinds(self) -> dict[str, list[str]]:
        """Kinds of semaphore by when they enter the kernel."""
        found = self.enters_kernel
        return {
            when: [kind for kind in found if found[kind] == when]
            for when in get_args(KernelEntry)
            if when in found.values()
        }

    @property
    def takes_samples(self) -> bool:
        """Whether the number of samples that is asked for changes what the test does."""
        return self.takes_duration or any(count.samples for count in self.profiles.values())

    def why_uncounted(self, name: str) -> str:
        """Why a verdict ("lower/fifo") or series does not count for a rating; "" where it does."""
        return self.uncounted.get(name.partition("/")[0], "")


class RowFigure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A series of a row of the first screen. `labels`: as text; others may have any value, and the
    worst counts. `about`: what it is, where it stands for the figure of the row."""

    series: str
    labels: dict[str, str] = {}
    about: str = ""


class FirstScreenRow(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One of the figures that the first screen of every run shows; see `catalogue.toml`."""

    name: str
    test: str
    figures: list[RowFigure]
    reference: str
    reference_name: str
    why: str


class Catalogue:
    """The entries of all tests, by ID, in battery order, and the rows of the first screen."""

    def __init__(
        self, entries: Mapping[str, Entry], first_screen: Sequence[FirstScreenRow] = ()
    ) -> None:
        self._entries = dict(sorted(entries.items(), key=lambda one: (one[1].order, one[0])))
        self.first_screen = tuple(first_screen)

    def ids(self) -> list[str]:
        """Test IDs in battery order."""
        return list(self._entries)

    def place(self, test: str) -> tuple[int, str]:
        """What `test` is sorted by in battery order; one that is not in the catalogue is last."""
        return self.entry(test).order, test

    def called(self, name: str) -> list[str]:
        """The tests that are known as `name`: "cyclictest", "context switch"."""
        wanted = folded(name)
        return [
            test
            for test, entry in self._entries.items()
            if wanted and wanted in map(folded, entry.known_as)
        ]

    def entry(self, test: str, samples: int = 0, duration_ns: int = 0) -> Entry:
        """Entry of `test`; a test that only a newer probe has gets one made of its defaults."""
        if test in self._entries:
            return self._entries[test]
        count = _Count(samples, f"{duration_ns}ns" if duration_ns else "0")
        return Entry(
            order=1_000_000,
            category="other",
            about="",
            distorts="",
            quick=count,
            standard=count,
            soak=count,
        )


def folded(name: str) -> str:
    """`name` without case, spaces and hyphens: "wake-up latency" and "Wakeup Latency" are one."""
    return "".join(filter(str.isalnum, name.casefold()))


def parse_catalogue(text: str) -> Catalogue:
    """Catalogue from TOML. ValueError, which names the field, where the data is faulty."""
    found = tomllib.loads(text)
    rows = msgspec.convert(found.pop("first_screen", []), list[FirstScreenRow])
    return Catalogue(msgspec.convert(found, dict[str, Entry]), rows)


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that is part of hardstone."""
    return parse_catalogue(_FILE.read_text("utf-8"))


_KINDS = {"B": "behaviour", "P": "timing", "S": "sustained"}


def kind_of(test: str) -> str:
    """What the middle part of an ID says: behaviour, timing or sustained load."""
    parts = test.split("-")
    return _KINDS.get(parts[1], "other") if len(parts) > 1 else "other"


Params = Mapping[str, ParamValue]


def expected_ns(
    test: Descriptor, entry: Entry, samples: int, duration_ns: int, params: Params
) -> int:
    """Time that `test` takes: its duration or that of its samples, whichever is shorter."""
    round_ns = _sample_ns(test, params) * variant_count(test, params)
    least_ns = test.setup_ns + test.extra_samples * round_ns
    interrupts = params.get("interrupts")  # of each step, in the place of the samples
    asked = interrupts if isinstance(interrupts, int) and interrupts else samples
    counted = asked if entry.takes_samples else 0
    if duration_ns and entry.takes_duration:
        return least_ns + min(duration_ns, counted * round_ns or duration_ns)
    return least_ns + counted * round_ns


def variant_count(test: Descriptor, params: Params) -> int:
    """Number of variants measured in succession; a probe may leave some of them out."""
    if test.is_concurrent:
        return 1
    lists = (params.get(spec.name) for spec in test.variant_params)
    return prod(len(values) for values in lists if isinstance(values, list) and values)


def _sample_ns(test: Descriptor, params: Params) -> int:
    """Time per sample, as a mean over the variants."""
    named = params.get(test.sample_param or "")
    spans = named if isinstance(named, list) else [named]
    known = [span for span in spans if isinstance(span, int)]
    mean_ns = Fraction(sum(known), len(known) or 1)
    return test.sample_ns + round(mean_ns * test.sample_percent / 100)


def shorter_than_standard(document: RunDocument) -> dict[str, bool]:
    """Whether each planned test ends before it would under `standard`, by test.

    Tests that run until they are done are left out. The name of the profile decides where the
    length is not known: for a test that is not in the catalogue, and where samples and durations
    are to be compared and the document has no descriptor.
    """
    catalogue = load_catalogue()
    entries = {test: catalogue.entry(test) for test in catalogue.ids()}
    descriptors = {one.id: one for one in document.descriptors}
    found: dict[str, bool] = {}
    for one in document.plan.tests:
        entry = entries.get(one.test)
        if entry is not None and not any(entry.profiles["standard"]):
            continue
        is_short = None if entry is None else _is_short(one, entry, descriptors.get(one.test))
        if is_short is None:
            is_short = has_short_profile(document)
        found[one.test] = is_short or found.get(one.test, False)
    return found


def has_short_profile(document: RunDocument) -> bool:
    """Whether the profile, by its name, measures for less time than `standard`."""
    return document.plan.profile == "quick"


def _is_short(one: PlannedTest, entry: Entry, descriptor: Descriptor | None) -> bool | None:
    """Whether a limit of `one` ends it before `standard` would; None if that is not known."""
    samples, duration_ns = one.samples, one.duration_ns
    if duration_ns and not entry.takes_duration:
        duration_ns = 0
        if not samples:  # the probe takes its default
            if descriptor is None:
                return None
            samples = descriptor.default_samples
    limits = [ProfileCount(samples, 0), ProfileCount(0, duration_ns)]
    ends = [_is_below(limit, one, entry, descriptor) for limit in limits if any(limit)]
    return True if True in ends else None if None in ends else False


def _is_below(
    limit: ProfileCount, one: PlannedTest, entry: Entry, descriptor: Descriptor | None
) -> bool | None:
    """`limit` has samples or a duration, and is compared with `standard` in the same unit, or
    else by the expected time."""
    standard = entry.profiles["standard"]
    for given, usual in zip(limit, standard, strict=True):
        if given and usual:
            return given < usual
    if descriptor is None:
        return None
    given_ns, usual_ns = (
        expected_ns(descriptor, entry, *count, one.params) for count in (limit, standard)
    )
    return given_ns < usual_ns
