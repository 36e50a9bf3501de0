"""hwlatdetect, and the kernel's tracer hwlat, on which it is built.

The trace as kernel/trace/trace_output.c prints it (Linux 4.9 to 6.18: with `count` in newer ones,
with `nmi-total` where interrupts that cannot be masked came), and the text of
src/hwlatdetect/hwlatdetect.py of rt-tests 1.0 to 2.10. A line is one sampling window in which a gap
was above the threshold; windows without one leave nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hardstone.importers.fields import NS, count, in_ns, quoted, refuse
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.importers.rt_json import ends_of
from hardstone.model import Event, Loss, Verdict

US = NS["us"]
_TRACE_LINE = re.compile(
    r"\s*\S.*?-\d+\s+\[(?P<cpu>\d{1,5})\]\s+\S{1,16}\s+[\d.]+:\s+#(?P<number>\d{1,10})\s+"
    r"inner/outer\(us\):\s*(?P<inner>\S+?)/(?P<outer>\S+)\s+ts:(?P<ts>[\d.]+)"
    r"(?:\s+count:(?P<count>\S+?))?(?P<nmi>(?:\s+nmi-(?:total|count):\d+)*)\s*",
    re.ASCII,
)
_REPORT_LINE = re.compile(
    r"ts: (?P<ts>[^,]{1,64})(?:, delta:[^,]{1,32})?, inner:(?P<inner>\S+?), outer:(?P<outer>\S+?)"
    r"(?:, cpu:(?P<cpu>\d{1,5}))?(?:, count:(?P<count>\S+))?\s*",
    re.ASCII,
)
_SETTING = re.compile(r"\s*(Latency threshold|Sample window|Sample width):\s+(\S+?)us\s*")
_DURATION = re.compile(r"hwlatdetect:\s+test duration (\S+) seconds\s*")
_MAXIMUM = re.compile(r"Max Latency: (?:(?P<us>\S+?)us|Below threshold)\s*")
_RECORDED = re.compile(r"Samples recorded: (\S+)\s*")
_ABOVE = re.compile(r"Samples exceeding threshold: (\S+)\s*")
_PARAMS = {
    "Latency threshold": "threshold_ns",
    "Sample window": "window_ns",
    "Sample width": "width_ns",
}
_IS_TRACE = re.compile(rb"inner/outer\(us\): *\d")
_IS_REPORT = re.compile(rb"(?:^|\n)(?:hwlatdetect:  test duration |ts: [^\n]{1,100}, inner:-?\d)")
_ONLY_LARGEST = Loss(
    what="distribution",
    text="Of each sampling window only the largest gap is kept, and only of windows with one above "
    "the threshold.",
)
_NO_CPU = Loss(what="conditions", text="The file does not say on which CPU each gap was.")
_LAST_ONLY = Loss(
    what="values",
    text="The trace dropped {lost} of {written} entries: the oldest windows are missing.",
)
_ENTRIES = re.compile(r"# entries-in-buffer/entries-written: (\d{1,19})/(\d{1,19}) .*", re.ASCII)


@dataclass
class _Found:
    """Gaps in us, by label of the CPU; "" where it is not known."""

    inner: dict[str, list[int]] = field(default_factory=dict)
    outer: dict[str, list[int]] = field(default_factory=dict)
    gaps: int = 0
    has_gaps: bool = False
    nmis: int = 0
    params: dict[str, int | str] = field(default_factory=dict)
    duration_ns: int | None = None
    maximum: int | None = None
    is_below: bool = False
    recorded: int | None = None
    above: int | None = None
    entries: tuple[int, int] | None = None
    unknown: dict[str, str] = field(default_factory=dict)


def _is_trace(content: bytes) -> bool:
    return _IS_TRACE.search(ends_of(content)) is not None


def _is_report(content: bytes) -> bool:
    return _IS_REPORT.search(ends_of(content)) is not None and not _is_trace(content)


def _read(content: bytes, kind: str) -> Reading:
    found = _Found()
    for line, text in lines_of(content):
        _take(found, text, f"line {line}")
    windows = sum(len(values) for values in found.inner.values())
    if kind == "report" and windows == 0 and not found.is_below and found.maximum is None:
        refuse("", "it ends before its result: hwlatdetect was stopped", "let it run to its end")
    _check(found, windows)
    losses = [_ONLY_LARGEST]
    if "" in found.inner:
        losses.append(_NO_CPU)
    if found.entries and found.entries[0] < found.entries[1]:
        kept, written = found.entries
        text = _LAST_ONLY.text.format(lost=written - kept, written=written)
        losses.append(Loss(what="values", text=text))
    return Reading(
        tool="hwlatdetect",
        format="report" if kind == "report" else "trace",
        series=[*_series("inner", found.inner), *_series("outer", found.outer)],
        params=found.params,
        duration_ns=found.duration_ns,
        verdicts=list(_verdicts(found, windows)),
        events=list(_events(found)),
        losses=losses,
        unknown=found.unknown,
    )


def _take(found: _Found, text: str, place: str) -> None:
    if sample := _TRACE_LINE.fullmatch(text) or _REPORT_LINE.fullmatch(text):
        _take_sample(found, sample, place)
    elif "inner/outer(us):" in text or re.match(r"ts: .*inner:", text):
        refuse(place, f"{quoted(text.strip())} is no window of the detector")
    elif one := _SETTING.fullmatch(text):
        found.params[_PARAMS[one[1]]] = count(one[2], place) * US
    elif one := _DURATION.fullmatch(text):
        found.duration_ns = in_ns(one[1], NS["s"], place)
    elif one := _MAXIMUM.fullmatch(text):
        found.is_below = one["us"] is None
        found.maximum = None if one["us"] is None else count(one["us"], place)
    elif one := _RECORDED.fullmatch(text):
        found.recorded = count(one[1], place)
    elif one := _ABOVE.fullmatch(text):
        found.above = count(one[1], place)
    elif one := _ENTRIES.fullmatch(text.strip()):
        found.entries = int(one[1]), int(one[2])
    elif text.strip() and not text.startswith(("#", "  ", "Starting", "test finished", "MTBF")):
        found.unknown[place] = json.dumps(text.strip()[:1000])


def _take_sample(found: _Found, sample: re.Match[str], place: str) -> None:
    cpu = sample["cpu"] or ""
    cpu = str(int(cpu)) if cpu else ""
    found.inner.setdefault(cpu, []).append(count(sample["inner"], place))
    found.outer.setdefault(cpu, []).append(count(sample["outer"], place))
    if sample["count"] is not None:
        found.has_gaps = True
        found.gaps += count(sample["count"], place)
    if "nmi" in sample.re.groupindex and sample["nmi"]:
        found.nmis += sum(int(one) for one in re.findall(r"nmi-count:(\d{1,12})", sample["nmi"]))


def _check(found: _Found, windows: int) -> None:
    """What the report says of its windows, against the windows that it lists."""
    if windows == 0:
        return
    values = [
        value for each in (found.inner, found.outer) for one in each.values() for value in one
    ]
    if found.recorded is not None and found.recorded != windows:
        refuse("Samples recorded", f"{found.recorded}, but there are {windows}")
    if found.maximum is not None and found.maximum != max(values):
        refuse("Max Latency", f"{found.maximum} us, but the largest is {max(values)} us")
    if found.is_below:
        refuse("Max Latency", "'Below threshold', but there are windows above it")


def _series(name: str, values: Mapping[str, list[int]]) -> list[ReadSeries]:
    """One for each CPU; one without values where no window had a gap."""
    if not values:
        return [ReadSeries(name=name, count=0, values=[], step_ns=US)]
    return [
        ReadSeries(
            name=name,
            labels={"cpu": int(cpu)} if cpu else {},
            count=len(one),
            values=[value * US for value in one],
            step_ns=US,
        )
        for cpu, one in sorted(values.items(), key=lambda each: int(each[0] or -1))
    ]


def _verdicts(found: _Found, windows: int) -> list[Verdict]:
    limit = found.params.get("threshold_ns")
    if limit is None or (found.maximum is None and not found.is_below):
        return []
    bound = f"{int(limit) // US} us"
    if found.is_below:
        return [Verdict(name="below_threshold", passed=True, evidence=f"No gap above {bound}.")]
    most = found.maximum
    evidence = f"The largest gap was {most} us, the threshold {bound}."
    return [Verdict(name="below_threshold", passed=False, evidence=evidence)]


def _events(found: _Found) -> list[Event]:
    events = []
    gaps = found.gaps if found.has_gaps else found.above
    if gaps:
        text = f"{gaps} gaps above the threshold, in all windows."
        events.append(Event(name="gaps_above_threshold", text=text, data={"gaps_count": gaps}))
    if found.nmis:
        text = f"{found.nmis} interrupts that cannot be masked came within the windows."
        events.append(Event(name="nmi", text=text, data={"nmi_count": found.nmis}))
    return events


FORMATS = [
    Format("hwlatdetect, trace", _is_trace, lambda content: _read(content, "trace")),
    Format("hwlatdetect, report", _is_report, lambda content: _read(content, "report")),
]
