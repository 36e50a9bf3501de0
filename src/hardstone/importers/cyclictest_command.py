"""What the command line of cyclictest asks for: intervals, scheduling, and what is measured.

From `process_options` in src/cyclictest/cyclictest.c of rt-tests 1.0 to 2.8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hardstone.model import Conditions


class Options(NamedTuple):
    """What a command line says: values of options by their short names, or their long ones."""

    given: Mapping[str, str]

    def number(self, *names: str) -> int | None:
        """Of the first that was given; as atoi reads it."""
        for name in names:
            if name in self.given:
                found = re.match(r"\s*[+-]?\d{1,9}", self.given[name])
                return int(found[0]) if found else 0
        return None

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)


_WITH_VALUE = set("bcdDFhHilopeyT")
_MAY_HAVE_VALUE = set("aAt")
_LONG = {
    "affinity": "a",
    "aligned": "A",
    "breaktrace": "b",
    "clock": "c",
    "distance": "d",
    "duration": "D",
    "fifo": "F",
    "histogram": "h",
    "histofall": "H",
    "interval": "i",
    "loops": "l",
    "mlockall": "m",
    "nsecs": "N",
    "oscope": "o",
    "prio": "p",
    "priority": "p",
    "posix_timers": "x",
    "relative": "r",
    "smp": "S",
    "system": "s",
    "threads": "t",
}
_LONG_WITH_VALUE = {"policy", "latency", "json", "histfile", "mainaffinity", "spike", "spike-nodes"}


def options_of(command: str) -> Options:
    """The options of a command line, which has no quotes: rt-tests joins the words by blanks."""
    words = command.split()[1:]
    given: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            short = _LONG.get(name, name)
            takes = short in _WITH_VALUE or name in _LONG_WITH_VALUE
            given[short] = value if equals or not (takes and words) else words.pop(0)
        elif word.startswith("-"):
            _take_cluster(word[1:], words, given)
    return Options(given)


def _take_cluster(letters: str, words: list[str], given: dict[str, str]) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in _WITH_VALUE:
            given[letter] = letters or (words.pop(0) if words else "")
            return
        if letter in _MAY_HAVE_VALUE:
            is_next = not letters and bool(words) and words[0][:1].isdigit()
            given[letter] = words.pop(0) if is_next else letters
            return
        given[letter] = ""


def quantity_of(options: Options) -> str:
    """With -x a periodic timer's signal wakes the thread, whether -r or -s is given or not."""
    if options.has("x"):
        return "wakeup-signal"
    return "wakeup-relative" if options.has("r", "s") else "wakeup"


def interval_params(intervals_us: Sequence[int]) -> dict[str, int | str]:
    """The interval of the first thread; the others have their own, unless the distance is 0."""
    if not intervals_us:
        return {}
    found: dict[str, int | str] = {"interval_ns": intervals_us[0] * 1000}
    if len(set(intervals_us)) > 1:
        found["intervals_us"] = ",".join(map(str, intervals_us))
    return found


def intervals_us_of(options: Options, threads: int) -> list[int]:
    """A thread's interval is longer than that of the one before it by the distance, except with a
    histogram."""
    first = options.number("i")
    first = 1000 if first is None else first
    distance = options.number("d")
    distance = 500 if distance is None else distance
    step = 0 if options.has("h", "H") else distance
    return [first + place * step for place in range(threads)]


def asked_conditions(options: Options, threads: int) -> Conditions:
    """Scheduling, locked memory and clock, with the tool's defaults: a priority means SCHED_FIFO,
    and --policy fifo or --priospread without one the number of threads and 1."""
    policy = options.given.get("policy", options.given.get("y", "")).lower()
    priority = options.number("p") or 0
    is_spread = options.has("priospread")
    if priority and policy not in ("fifo", "rr"):
        policy = "fifo"
    if policy in ("fifo", "rr") or is_spread:
        policy, priority = policy or "fifo", priority or threads + 1
    policy = policy or "other"
    return Conditions(
        policy="other" if policy == "normal" else policy,
        priority=priority,
        realtime=policy in ("fifo", "rr"),
        memory_locked=options.has("m"),
        clock="realtime" if options.number("c") == 1 else "monotonic",
    )
