"""The tools of rt-tests in which one thread wakes another: pmqtest, ptsematest, svsematest,
sigwaittest.

From the source of rt-tests 0.84 to 2.10 (src/pmqtest/pmqtest.c and its sisters). What their output
does not say by itself:

- They count what was sent, so a figure may be of one value fewer.
- A pair without a value has the minimum -1 and the mean -nan.
- The text of ptsematest, svsematest and sigwaittest is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hardstone.importers.fields import count, mean_ns, quoted, refuse, whole
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import (
    MOST_THREADS,
    US,
    amount,
    checked,
    ends_of,
    interval,
    is_json_of,
    json_tool,
    mapping,
    mean_of,
    number,
    of_priority,
    read_json,
    unknown_of,
)
from hardstone.model import Event, Loss

PAIRS = {
    "pmqtest": "message",
    "ptsematest": "mutex",
    "svsematest": "semaphore",
    "sigwaittest": "signal",
}
ANY_PAIR = "ptsematest-or-sister"
_SENT = Loss(
    what="count",
    text="The count is that of the sender: the receiver may have one value fewer.",
)
_ROUNDED = Loss(what="mean", text="Means are rounded to whole microseconds.")


@dataclass(frozen=True)
class _Pair:
    """A receiver, and what it took from its sender. None: it took nothing."""

    number: int
    cpu: int
    sender_cpu: int
    priority: int
    interval_us: int
    samples: int
    timeouts: int = 0
    min_us: int | None = None
    mean_ns: float | None = None
    max_us: int | None = None


def _read_pairs_json(tool: str, content: bytes) -> Reading:
    found = read_json(tool, content)
    unknown = {**found.base.unknown, **unknown_of(found.body, {"num_threads", "thread"})}
    pairs = []
    for index, thread in found.threads():
        place = f"thread.{index}"
        sender = mapping(thread.get("sender"), f"{place}.sender")
        receiver = mapping(thread.get("receiver"), f"{place}.receiver")
        pairs.append(_pair_of_json(index, sender, receiver, place))
        unknown |= unknown_of(thread, {"sender", "receiver"}, f"{place}.")
        unknown |= unknown_of(sender, _SENDER_KEYS, f"{place}.sender.")
        unknown |= unknown_of(receiver, _RECEIVER_KEYS, f"{place}.receiver.")
    return replace(_of_pairs(found.base, PAIRS[tool], pairs), losses=(_SENT,), unknown=unknown)


_SENDER_KEYS = {"cpu", "priority", "samples", "interval"}
_RECEIVER_KEYS = {"cpu", "priority", "timeoutcount", "min", "avg", "max"}


def _pair_of_json(
    index: int, sender: Mapping[str, Any], receiver: Mapping[str, Any], place: str
) -> _Pair:
    pair = _Pair(
        number=index,
        cpu=number(receiver, "cpu", f"{place}.receiver"),
        sender_cpu=number(sender, "cpu", f"{place}.sender"),
        priority=amount(receiver, "priority", f"{place}.receiver"),
        interval_us=amount(sender, "interval", f"{place}.sender"),
        samples=amount(sender, "samples", f"{place}.sender"),
        timeouts=amount({"timeoutcount": 0, **receiver}, "timeoutcount", f"{place}.receiver"),
    )
    if number(receiver, "min", f"{place}.receiver") == -1:
        return pair
    return replace(
        pair,
        min_us=amount(receiver, "min", f"{place}.receiver"),
        mean_ns=mean_of(receiver, "avg", f"{place}.receiver"),
        max_us=amount(receiver, "max", f"{place}.receiver"),
    )


def _of_pairs(base: Reading, name: str, pairs: Sequence[_Pair]) -> Reading:
    cpus = [pair.cpu for pair in pairs]
    by_cpu = len(set(cpus)) == len(cpus) and all(pair.cpu == pair.sender_cpu >= 0 for pair in pairs)
    series = [
        checked(
            ReadSeries(
                name=name,
                labels={"cpu": pair.cpu} if by_cpu else {"thread": pair.number},
                count=0 if pair.min_us is None else pair.samples,
                min=None if pair.min_us is None else pair.min_us * US,
                mean=pair.mean_ns,
                max=None if pair.max_us is None else pair.max_us * US,
                step_ns=US,
            ),
            f"pair {pair.number}",
        )
        for pair in pairs
    ]
    timeouts = {f"pair_{pair.number}_count": pair.timeouts for pair in pairs if pair.timeouts}
    events = [*base.events]
    if timeouts:
        text = f"{sum(timeouts.values())} calls that wait for a message timed out."
        events.append(Event(name="timeouts", text=text, data={**timeouts}))
    return replace(
        base,
        series=series,
        conditions=of_priority([pair.priority for pair in pairs], memory_locked=True),
        params=interval([pair.interval_us for pair in pairs]),
        events=events,
    )


_PAIR_LINE = re.compile(
    r"#(\S+): ID\S+, P(\S+), CPU(\S+), I(\S+); #\S+: ID\S+, P\S+, CPU([^\s,]+), "
    r"(?:TO ([^\s,]+), )?Cycles (\S+)\s*"
)
_PAIR_RESULT = re.compile(
    r"#(\S+) -> #([^\s,]+)(?:, Min +(\S+), Cur +\S+, Avg +(\S+), Max +(\S+)| \(not yet ready\))\s*"
)
_IS_PAIR = re.compile(rb"#0: ID\d+, P\d+, CPU-?\d+, I-?\d+; #1: ID")
_HAS_TIMEOUT = re.compile(rb"#1: ID\d+, P\d+, CPU-?\d+, TO ")


def _is_pair_text(content: bytes) -> bool:
    return _IS_PAIR.search(ends_of(content)) is not None and json_tool(content) is None


def _is_pmqtest(content: bytes) -> bool:
    return _is_pair_text(content) and _HAS_TIMEOUT.search(ends_of(content)) is not None


def _is_any_pair(content: bytes) -> bool:
    return _is_pair_text(content) and _HAS_TIMEOUT.search(ends_of(content)) is None


def _read_pairs_text(tool: str, content: bytes) -> Reading:
    heads: dict[int, re.Match[str]] = {}
    results: dict[int, tuple[int, re.Match[str]]] = {}
    unknown: dict[str, str] = {}
    for line, text in lines_of(content):
        if found := _PAIR_LINE.fullmatch(text):
            heads[count(found[1], f"line {line}")] = found
        elif found := _PAIR_RESULT.fullmatch(text):
            results[count(found[2], f"line {line}")] = (line, found)
        elif text.startswith("#"):
            refuse(f"line {line}", f"{quoted(text)} is no line of a pair")
        elif text.strip():
            unknown[f"line {line}"] = json.dumps(text.strip())
    if not heads or len(heads) > MOST_THREADS:
        refuse("", "it has no pair of threads")
    if missing := sorted(set(heads) ^ set(results)):
        refuse("", f"thread #{missing[0]} has no line of figures, or no line of its own")
    pairs = [_pair_of_text(index, heads[index], *results[index]) for index in sorted(heads)]
    base = Reading(tool=tool, format="text", series=(), unknown=unknown)
    losses = [_SENT, _ROUNDED, *([_WHICH] if tool == ANY_PAIR else [])]
    name = "handover" if tool == ANY_PAIR else PAIRS[tool]
    return replace(_of_pairs(base, name, pairs), losses=losses)


_WHICH = Loss(
    what="conditions",
    text="ptsematest, svsematest and sigwaittest print the same text: the file does not say which "
    "of them it is from. --tool says it.",
)


def _pair_of_text(index: int, head: re.Match[str], line: int, result: re.Match[str]) -> _Pair:
    place = f"line {line}"
    pair = _Pair(
        number=index // 2,
        cpu=whole(head[3], place),
        sender_cpu=whole(head[5], place),
        priority=count(head[2], place),
        interval_us=count(head[4], place),
        samples=count(head[7], place),
        timeouts=count(head[6] or "0", place),
    )
    if result[3] is None or result[3] == "-1":
        return pair
    return replace(
        pair,
        min_us=count(result[3], place),
        mean_ns=mean_ns(str(count(result[4], place)), US, place),
        max_us=count(result[5], place),
    )


def _never(content: bytes) -> bool:
    """A text that does not say its tool: read only where a person named the tool."""
    return False


FORMATS = [
    *(Format(f"{tool}, JSON", is_json_of(tool), partial(_read_pairs_json, tool)) for tool in PAIRS),
    Format("pmqtest, text", _is_pmqtest, partial(_read_pairs_text, "pmqtest")),
    Format(
        "ptsematest/svsematest/sigwaittest, text",
        _is_any_pair,
        partial(_read_pairs_text, ANY_PAIR),
    ),
    *(
        Format(f"{tool}, text", _never, partial(_read_pairs_text, tool))
        for tool in PAIRS
        if tool != "pmqtest"
    ),
]
