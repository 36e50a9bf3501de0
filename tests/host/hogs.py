"""A hog of known length beside a measurement, and where it is found there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from hardstone.model import Worst
from tests import machine
from tests.running import GIVE_UP_S, Stream, measuring, witnesses

PRIORITY = 98  # the highest but one, so that only the hog is above
TOLERANCE = 0.1


@dataclass(frozen=True)
class Bursts:
    """How a hog is asked to behave."""

    length_ns: int
    period_ns: int
    count: int

    @property
    def duration_s(self) -> float:
        return self.period_ns * (self.count + 0.6) / 1e9


@dataclass(frozen=True)
class Burst:
    """How it did, by its own words: CLOCK_MONOTONIC."""

    begin_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


@contextmanager
def hogging(hog: Path, bursts: Bursts) -> Iterator[Callable[[], list[Burst]]]:
    """Starts the hog above the measuring thread; gives a call that waits for its words."""
    asked = [machine.cpu(), PRIORITY + 1, bursts.length_ns, bursts.period_ns, bursts.count]
    words = [str(hog), *map(str, asked)]
    with (
        without_an_excuse(),
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process,
    ):

        def told() -> list[Burst]:
            out, _ = process.communicate(timeout=GIVE_UP_S)
            lines = [Burst(*map(int, line.split())) for line in out.splitlines()]
            assert len(lines) == bursts.count
            return lines

        try:
            yield told
        finally:
            process.kill()


def measure_under(
    hog: Path, bursts: Bursts, probe: Path, interval_ns: int, quick: list[str]
) -> tuple[Stream, list[Burst]]:
    """TMR-P-LAT over all bursts; its stream, and the bursts as they were."""
    options = ["-p", f"interval_ns={interval_ns}", "--samples", "0", "--priority", str(PRIORITY)]
    options += ["--duration-ns", str(round(bursts.duration_s * 1e9)), *quick]
    with (
        measuring(probe, "TMR-P-LAT", *options) as running,
        hogging(hog, bursts) as told,
    ):
        stream = running.rest()
        return stream, told()


def cut(probe: Path, hog: Path, words: Sequence[str], bursts: Sequence[str]) -> Stream:
    """A run into which a hog cuts, at the highest priority; `bursts` are its length, period and
    count."""
    command = [str(hog), str(machine.cpu()), str(PRIORITY + 1), *bursts]
    with (
        without_an_excuse(),
        measuring(probe, *words) as running,
        subprocess.Popen(command, stdout=subprocess.DEVNULL) as above,
    ):
        stream = running.rest()
        above.kill()
    return stream


@contextmanager
def without_an_excuse() -> Iterator[None]:
    """That the test's own hog took the CPU is no witness of noise."""
    known = len(witnesses)
    try:
        yield
    finally:
        del witnesses[known:]


def found(worst: list[Worst], bursts: list[Burst]) -> list[Worst]:
    """The wake-up that ended each burst: those that lie apart as the ends of the bursts do.

    The start of the measurement is not known to the hog, so each pair of a wake-up and
    a burst is a guess at it; the guess with the least misfit in time and length is taken.
    """
    guesses = (one.at_ns - burst.end_ns for one, burst in product(worst, bursts))
    ends = ([nearest_to(worst, burst.end_ns + guess) for burst in bursts] for guess in guesses)
    return min(ends, key=partial(misfit_ns, bursts))


def nearest_to(worst: list[Worst], at_ns: int) -> Worst:
    return min(worst, key=lambda one: abs(one.at_ns - at_ns))


def misfit_ns(bursts: list[Burst], ends: list[Worst]) -> int:
    pairs = list(zip(ends, bursts, strict=True))
    apart = [end.at_ns - burst.end_ns for end, burst in pairs]
    return (
        max(apart) - min(apart) + sum(abs(one.value_ns - burst.length_ns) for one, burst in pairs)
    )
