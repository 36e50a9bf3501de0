"""cyclictest of rt-tests, its JSON (`--json`), from `write_stats` of src/cyclictest/cyclictest.c of
rt-tests 1.9 to 2.8.

`resolution_in_ns` has the unit: 1 for ns, 0 for us. There is no overflow: it is `cycles` less the
sum of the histogram. A histogram that is empty was not asked for, unless the command has -h. What
else the tool does not say is in `cyclictest.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hardstone.errors import printable
from hardstone.importers.cyclictest import TOOL, Unit, is_json, unstated_unit, with_extremes
from hardstone.importers.cyclictest_command import (
    Options,
    asked_conditions,
    interval_params,
    intervals_us_of,
    options_of,
    quantity_of,
)
from hardstone.importers.fields import count, quoted, refuse
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.rt_json import (
    MOST_THREADS,
    amount,
    mapping,
    mean_of,
    number,
    read_json,
    unknown_of,
)
from hardstone.model import Conditions

_US = 1000
_KNOWN = {"num_threads", "resolution_in_ns", "thread"}
_KNOWN_THREAD = {"histogram", "cycles", "min", "max", "avg", "cpu", "node"}


def _read_json(content: bytes) -> Reading:
    found = read_json(TOOL, content)
    command = found.base.command
    options = options_of(command or "")
    threads = mapping(found.body.get("thread"), "thread")
    if not 1 <= len(threads) <= MOST_THREADS:
        refuse("thread", f"{len(threads)} threads")
    unit = _unit_of(found.body, command, options, threads)
    has_histogram = _has_histogram(threads, command, options)
    name = quantity_of(options)
    series = [
        _of_thread(key, one, name, unit, options if has_histogram else None)
        for key, one in threads.items()
    ]
    unknown = unknown_of(found.body, _KNOWN)
    for key, one in threads.items():
        unknown |= unknown_of(one, _KNOWN_THREAD, f"thread.{key}.")
    return replace(
        found.base,
        series=_told_apart(series, list(threads)),
        losses=unit.losses,
        unit_doubt=unit.doubt,
        unknown={**found.base.unknown, **unknown},
        params=interval_params(intervals_us_of(options, len(series))) if command else {},
        conditions=asked_conditions(options, len(series)) if command else Conditions(),
    )


def _unit_of(
    document: Mapping[str, Any],
    command: str | None,
    options: Options,
    threads: Mapping[str, Any],
) -> Unit:
    said = document.get("resolution_in_ns")
    if said in (0, 1):
        return Unit(1 if said else _US)
    if said is not None:
        refuse("resolution_in_ns", f"{quoted(said)} is not 0 or 1")
    if command is not None:
        return Unit(1 if options.has("N") else _US)
    figures = [one for one in threads.values() if isinstance(one, dict) and one.get("cycles")]
    least = [one["min"] for one in figures if isinstance(one.get("min"), int)]
    counts = [one["cycles"] for one in figures if isinstance(one["cycles"], int)]
    return unstated_unit(min(least, default=None), min(counts, default=0))


def _has_histogram(threads: Mapping[str, Any], command: str | None, options: Options) -> bool:
    """Whether histograms were asked for: newer versions write an empty one in any case."""
    is_filled = any(isinstance(one, dict) and one.get("histogram") for one in threads.values())
    return is_filled or (command is not None and options.has("h", "H"))


def _of_thread(
    key: str, found: object, name: str, unit: Unit, options: Options | None
) -> ReadSeries:
    """`options`: of a command that asked for histograms."""
    where = f"thread.{printable(key)[:20]}"
    one = mapping(found, where)
    cycles = amount(one, "cycles", where)
    cpu = _number(one, "cpu", where)
    series = ReadSeries(
        name=name,
        labels={"thread": _thread_label(key)} if cpu is None or cpu < 0 else {"cpu": cpu},
        count=cycles,
        step_ns=unit.scale,
    )
    if options is not None and "histogram" in one:
        buckets = _buckets_of(one.get("histogram"), unit, where)
        last = (options.number("h", "H") or 0) - 1
        if last >= 0 and (not buckets or buckets[-1][0] < last * unit.scale):
            buckets.append((last * unit.scale, 0))  # the overflow begins above it
        overflow = max(0, cycles - sum(inside for _, inside in buckets))
        series = replace(series, buckets=buckets, bucket_width_ns=unit.scale, overflow=overflow)
    return with_extremes(
        series,
        least=_number(one, "min", where),
        mean=mean_of(one, "avg", where, 1),
        most=_number(one, "max", where),
        unit=unit,
    )


def _number(one: Mapping[str, Any], key: str, where: str) -> int | None:
    """A whole number; None: there is none."""
    return None if one.get(key) is None else number(one, key, where)


def _told_apart(series: Sequence[ReadSeries], keys: Sequence[str]) -> list[ReadSeries]:
    """The series of several threads of one CPU have the thread too."""
    shared = Counter(one.labels.get("cpu") for one in series)
    return [
        replace(one, labels={**one.labels, "thread": _thread_label(key)})
        if shared[one.labels.get("cpu")] > 1
        else one
        for one, key in zip(series, keys, strict=True)
    ]


def _thread_label(key: str) -> int | str:
    return int(key) if key.isascii() and key.isdigit() and len(key) < 6 else key[:60]


def _buckets_of(found: object, unit: Unit, where: str) -> list[tuple[int, int]]:
    histogram = mapping(found, f"{where}.histogram")
    return sorted(
        (count(key, where) * unit.scale, amount(histogram, key, f"{where}.histogram"))
        for key in histogram
    )


FORMATS = [Format("cyclictest, JSON", is_json, _read_json)]
