"""oslat: JSON and text.

From the source of rt-tests 1.9 to 2.10 (src/oslat/oslat.c) and from output of 2.4. Every turn of
its loop is a value. What the output does not say by itself:

- A bucket is named by its upper end: "003 (us)" has values from 2 to below 3 us. Up to 2.4 minimum
  and maximum are rounded up in the same way, in 2.5 and 2.6 they and the values are rounded up
  before they are sorted into buckets, from 2.7 on they are cut.
- The last bucket has all larger values too. Whether it has any is seen by the maximum. JSON leaves
  out empty buckets, also the last.
- With -B (bias) the lowest bucket has all smaller values too.
- The mean is that of the upper ends of the buckets.
- With -W that is no multiple of 1000 JSON has minimum and maximum in ns and all else in us, and the
  mean is wrong where a value was above the buckets.
- Version 2.1 calls itself 2.10, as 2.10 does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from math import gcd
from typing import Any, Literal

from hardstone.importers.fields import count, in_ns, mean_ns, quoted, refuse, whole
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import (
    US,
    amount,
    checked,
    is_json_of,
    json_tool,
    mapping,
    mean_of,
    number,
    option_of,
    read_json,
    unknown_of,
)
from hardstone.model import Conditions, Loss, Verdict

Rounding = Literal["up", "up first", "cut"]
_MOST_CPUS = 8192
_MEAN = (
    "The mean is that of the upper ends of the buckets: it is too large by up to a bucket's width."
)
_UP = "Values are rounded up to whole microseconds: each may be up to 1 us smaller than shown."
_BIAS = (
    "With -B the lowest bucket has all smaller values too, so nothing is known within it, and they "
    "make the mean larger than it was."
)
_NO_MEAN = "oslat computes a wrong mean with -W where a value is above its buckets: it is left out."
_MEAN_ABOVE = "The mean that oslat prints is that of ends above its values: it is left out."
_ASSUMED = "The file does not say its version: values are taken as cut, as from 2.7 on."


@dataclass
class _Cpu:
    """One CPU. Names of buckets, minimum and maximum are in ns, as printed."""

    cpu: int
    buckets: list[tuple[int, int]] = field(default_factory=list)
    min: int | None = None
    mean: float | None = None
    max: int | None = None
    duration_ns: int | None = None


@dataclass(frozen=True)
class _Layout:
    """How values got into buckets. `unit_ns`: to which they are rounded, 1000 or 1."""

    rounding: Rounding
    unit_ns: int
    width_ns: int
    has_bias: bool


def _rounding(version: str | None, cpus: Sequence[_Cpu], says_new: bool | None) -> Rounding | None:
    """None: not known. `says_new`: whether the text is spelled as from 2.7 on; None: no text."""
    numbers = re.fullmatch(r"([0-9])\.([0-9]{1,2})", version or "")
    if numbers is None:
        return None
    said = Decimal(numbers[0])
    if said == Decimal("2.10"):  # or 2.1
        is_new = says_new if says_new is not None else _is_below_its_bucket(cpus)
        return "cut" if is_new else "up"
    if said <= Decimal("2.40"):
        return "up"
    return "up first" if said <= Decimal("2.60") else "cut"


def _is_below_its_bucket(cpus: Sequence[_Cpu]) -> bool:
    """Whether a minimum is below the name of its bucket, as it is unless it was rounded up."""
    lowest = [
        (one.min, next((name for name, number in one.buckets if number), None)) for one in cpus
    ]
    return all(low is None or name is None or low < name for low, name in lowest)


def _series(one: _Cpu, layout: _Layout, losses: list[Loss]) -> ReadSeries:
    place = f"CPU {one.cpu}"
    total = sum(number for _, number in one.buckets)
    base = ReadSeries(name="turn", labels={"cpu": one.cpu}, count=total)
    if total == 0 or one.min is None or one.max is None:
        if total:
            refuse(place, "its minimum or maximum is missing")
        return replace(base, count=0)
    filled = [(name, number) for name, number in one.buckets if number]
    low = [(_lowest(name, layout), number) for name, number in filled]
    over = low.pop()[1] if one.max >= _beyond(low[-1][0], layout) else 0
    under = 0
    if layout.has_bias and low:
        under = low.pop(0)[1]
        if not low:  # nothing is known above it either
            low = [(_lowest(filled[0][0], layout) + layout.width_ns, 0)]
    mean = one.mean
    if layout.unit_ns == 1 and over:
        mean = None
        losses.append(Loss(what="mean", text=_NO_MEAN))
    elif mean is not None and (layout.rounding == "up first" or mean > one.max):
        mean = None
        losses.append(Loss(what="mean", text=_MEAN_ABOVE))
    if not layout.has_bias and low and one.min >= _beyond(low[0][0], layout):
        refuse(place, f"the minimum {one.min} ns is above its lowest bucket")
    return replace(
        base,
        min=one.min,
        mean=mean,
        max=one.max,
        step_ns=layout.unit_ns if layout.rounding == "cut" else 1,
        buckets=low,
        bucket_width_ns=layout.width_ns,
        underflow=under,
        overflow=over,
    )


def _lowest(name_ns: int, layout: _Layout) -> int:
    """The lowest value of a bucket, so that minimum and maximum as printed lie in theirs.

    Rounded up, the values 1 to 1000 ns have the name 1 us; cut, 0 to 999 ns."""
    low = name_ns - layout.width_ns
    if layout.rounding == "cut":
        return low
    return low + 1 if layout.rounding == "up" else low + 1 - layout.unit_ns


def _beyond(low: int, layout: _Layout) -> int:
    return low + layout.width_ns


def _reading(
    base: Reading,
    cpus: Sequence[_Cpu],
    *,
    unit_ns: int,
    has_bias: bool,
    says_new: bool | None = None,
) -> Reading:
    """The reading of all CPUs, whose buckets have the same width."""
    rounding = _rounding(base.version, cpus, says_new)
    losses = [*base.losses]
    if rounding is None:
        rounding = "cut" if says_new or _is_below_its_bucket(cpus) else "up"
        losses.append(Loss(what="version", text=_ASSUMED))
    layout = _Layout(rounding, unit_ns, _width(cpus, unit_ns, base.command), has_bias)
    series = [_series(one, layout, losses) for one in sorted(cpus, key=lambda one: one.cpu)]
    if rounding != "cut" and unit_ns == US:
        losses.append(Loss(what="resolution", text=_UP))
    if any(one.mean is not None for one in series):
        losses.append(Loss(what="mean", text=_MEAN))
    if has_bias:
        losses.append(Loss(what="bucket width", text=_BIAS))
    durations = [one.duration_ns for one in cpus if one.duration_ns is not None]
    return replace(
        base,
        series=[checked(one, f"CPU {one.labels['cpu']}") if one.mean else one for one in series],
        losses=list(dict.fromkeys(losses)),
        duration_ns=max(durations, default=base.duration_ns),
    )


def _width(cpus: Sequence[_Cpu], unit_ns: int, command: str | None) -> int:
    """Of a bucket: what the command says, else the largest that all names allow."""
    names = sorted({name for one in cpus for name, _ in one.buckets})
    if found := re.search(r"(?:-W|--bucket-width(?:=| )) *([0-9]{1,9})\b", command or ""):
        return max(1, int(found[1])) if int(found[1]) % 1000 else max(US, int(found[1]))
    steps = [after - before for before, after in pairwise(names)]
    return gcd(*steps) if steps else unit_ns


# ---- JSON ----

_THREAD_KEYS = {"cpu", "freq", "min", "avg", "max", "duration", "histogram"}


def _read_json(content: bytes) -> Reading:
    found = read_json("oslat", content)
    unknown = {**found.base.unknown, **unknown_of(found.body, {"num_threads", "thread"})}
    threads = found.threads()
    unit_ns = US
    for index, thread in threads:
        unknown |= unknown_of(thread, _THREAD_KEYS, f"thread.{index}.")
        if any("." in key for key in mapping(thread.get("histogram"), f"thread.{index}.histogram")):
            unit_ns = 1
    cpus = [_cpu_of_json(index, thread, unit_ns) for index, thread in threads]
    _refuse_doubles(cpus)
    command = found.base.command or ""
    base = replace(
        found.base,
        unknown=unknown,
        conditions=_conditions(option_of(command, "f", "rtprio")),
    )
    bias = re.search(r"(?:^| )(?:-[A-Za-z]*B|--bias)(?: |$)", command) is not None
    return _reading(base, cpus, unit_ns=unit_ns, has_bias=bias)


def _cpu_of_json(index: int, thread: Mapping[str, Any], unit_ns: int) -> _Cpu:
    place = f"thread.{index}"
    found = mapping(thread["histogram"], f"{place}.histogram")
    buckets = [
        (in_ns(key, US, f"{place}.histogram"), amount(found, key, f"{place}.histogram"))
        for key in found
    ]
    duration = mean_of(thread, "duration", place, 10**9)
    return _Cpu(
        cpu=amount(thread, "cpu", place),
        buckets=sorted(buckets),
        min=amount(thread, "min", place) * unit_ns if buckets else None,
        mean=mean_of(thread, "avg", place),
        max=number(thread, "max", place) * unit_ns,
        duration_ns=None if duration is None else round(duration),
    )


def _conditions(priority: int | None, **more: Any) -> Conditions:
    policy = "fifo" if priority else "other"
    return Conditions(policy=policy, priority=priority or None, memory_locked=True, **more)


def _refuse_doubles(cpus: Sequence[_Cpu]) -> None:
    if len({one.cpu for one in cpus}) != len(cpus):
        refuse("", "a CPU is there twice")


# ---- text ----

_FIELD = re.compile(r" *(?P<name>[A-Z][A-Za-z -]*|[0-9]+(?:\.[0-9]+)? \(us\)):\t (?P<rest>.*?)\s*")
_FIGURES = re.compile(r"(?P<figures>[^(]*?)\s*(?:\((?P<note>[^)]*)\))?")
_BIAS_LINE = re.compile(r"Global bias set to ([0-9.]+) \(us\)")
_VERSION = re.compile(r"oslat V ([0-9.]{1,8})\s*")
_PRIORITY = re.compile(r"Thread priority: \tSCHED_FIFO:([0-9]{1,3})\s*")
_CROSSED = re.compile(
    r"\S*oslat: Trace threshold \(([0-9]+) us\) triggered(?: on cpu ([0-9]+))? "
    r"with ([0-9.]+) us!\s*"
)
_KNOWN_LINES = re.compile(
    r"\s*(?:Total runtime: |CPU list: |CPU for main thread: |Workload mem: |Preheat cores: |"
    r"Pre-heat for |Test starts|Test completed|Thread priority: |\.\.\.|Stopping the test|"
    r"INFO: |WARNING: )"
)
_NO_MIN = "18446744073709551615"  # of a CPU without a value
_IS_TEXT = re.compile(rb"(?:^|\n)(?:oslat V [0-9.]+|\S*oslat: Trace threshold \([0-9]+ us\))")


def _is_text(content: bytes) -> bool:
    is_help = b"oslat <options>" in content[:4096]
    return _IS_TEXT.search(content[:65_536]) is not None and not is_help and not json_tool(content)


@dataclass
class _Text:
    cpus: list[_Cpu] = field(default_factory=list)
    version: str | None = None
    priority: int | None = None
    has_bias: bool = False
    says_new: bool | None = None
    unit_ns: int = US
    crossed: re.Match[str] | None = None
    workload: str = "no"
    ended: bool = False
    unknown: dict[str, str] = field(default_factory=dict)


def _read_text(content: bytes) -> Reading:
    text = _Text()
    for line, one in lines_of(content):
        _take(text, one, f"line {line}")
    base = Reading(
        tool="oslat",
        format="text",
        series=(),
        version=text.version,
        unknown=text.unknown,
        conditions=_conditions(text.priority) if text.version else Conditions(),
    )
    if text.crossed is not None:
        return _of_threshold(base, text.crossed)
    if not text.cpus:
        refuse("", "it ends before its figures: oslat was stopped", "let it run to its end")
    if not text.ended:
        refuse("", "it ends within its figures: 'Duration' is missing")
    return _reading(
        base,
        text.cpus,
        unit_ns=text.unit_ns,
        has_bias=text.has_bias,
        says_new=text.says_new,
    )


def _take(text: _Text, line: str, place: str) -> None:
    if found := _FIELD.fullmatch(line):
        _take_field(text, found["name"], found["rest"], place)
    elif found := _VERSION.fullmatch(line):
        text.version = found[1]
    elif found := _PRIORITY.fullmatch(line):
        text.priority = count(found[1], place)
    elif _BIAS_LINE.match(line):
        text.has_bias = True
    elif found := _CROSSED.fullmatch(line.strip()):
        text.crossed = found
    elif re.match(r" *[0-9.]+ \(us\):|\s+(?:Minimum|Average|Maximum|Core|Duration)\b", line):
        refuse(place, f"{quoted(line.strip())} is no line of figures")
    elif line.strip() and not _KNOWN_LINES.match(line) and not line.startswith("Workload:"):
        text.unknown[place] = json.dumps(line.strip())


def _take_field(text: _Text, name: str, rest: str, place: str) -> None:
    """One figure of each CPU. A bucket's name is a time, and the last one's figures have a note."""
    if name.startswith("Workload"):
        return
    found = _FIGURES.fullmatch(rest)
    figures = found["figures"].split() if found else []
    if name == "Core":
        if text.cpus:
            refuse(place, "a second table of figures", "import one result a file")
        text.cpus = [_Cpu(cpu=count(one, place)) for one in figures[:_MOST_CPUS]]
        _refuse_doubles(text.cpus)
    if not text.cpus or len(figures) != len(text.cpus):
        refuse(place, f"{len(figures)} figures for {len(text.cpus)} CPUs")
    note = found["note"] if found else None
    if name.endswith("Freq"):
        text.says_new = note == "MHz"
        return
    for one, figure in zip(text.cpus, figures, strict=True):
        _take_figure(text, one, name, figure, place)


def _take_figure(text: _Text, one: _Cpu, name: str, figure: str, place: str) -> None:
    if name.endswith("(us)"):
        if "." in name:
            text.unit_ns = 1
        bucket = in_ns(name.partition(" ")[0], US, place)
        if one.buckets and bucket <= one.buckets[-1][0]:
            refuse(place, f"bucket {quoted(name)} does not ascend")
        one.buckets.append((bucket, count(figure, place)))
    elif name == "Minimum":
        one.min = None if figure == _NO_MIN else in_ns(figure, US, place)
    elif name == "Average":
        one.mean = None if figure in ("-nan", "nan") else mean_ns(figure, US, place)
    elif name == "Maximum":
        one.max = in_ns(figure, US, place)
    elif name == "Max-Min":
        if (
            one.min is not None
            and one.max is not None
            and (in_ns(figure, US, place) != one.max - one.min)
        ):
            refuse(place, f"Max-Min is {quoted(figure)}, and not the maximum less the minimum")
    elif name == "Duration":
        one.duration_ns = in_ns(figure, 10**9, place)
        text.ended = True
    elif name != "Core":
        text.unknown[place] = json.dumps(f"{name}: {figure}")


def _of_threshold(base: Reading, crossed: re.Match[str]) -> Reading:
    """The run ended at the first value of at least the threshold: the largest of its CPU."""
    value = in_ns(crossed[3], US, "the value")
    limit = whole(crossed[1], "the threshold")
    one = ReadSeries(
        name="turn",
        labels={"cpu": int(crossed[2])} if crossed[2] else {},
        max=value,
    )
    cpu = f"CPU {crossed[2]}" if crossed[2] else "A CPU"
    verdict = Verdict(
        name="trace_threshold",
        passed=False,
        evidence=f"{cpu} had {crossed[3]} us, and -T {limit} ends the run; there is nothing else.",
    )
    return replace(base, series=[one], verdicts=[verdict], is_cut=True)


FORMATS = [
    Format("oslat, JSON", is_json_of("oslat"), _read_json),
    Format("oslat, text", _is_text, _read_text),
]
