"""`latency` of Xenomai 2 and 3, and `latmus` of EVL (Xenomai 4): their text and their plot files.

Taken from the sources: `testsuite/latency/latency.c` and `kernel/drivers/testing/timerbench.c` of
Xenomai 3.3 (2025), `src/testsuite/latency/latency.c` of Xenomai 2.1 to 2.6, `benchmarks/latmus.c`
of libevl 0.47 (2023) and its successor `latmus/stats.c`, the driver `latmus.c` of the EVL kernel,
and from the output that the documentation of EVL prints.

What they do to their figures:

- a row (RTD) is of 1 s / period values, with their minimum, mean (cut to ns) and maximum; the
  summary (RTS) has the extremes of all, and the mean of the rows (latency) or of all (latmus);
- a histogram has the absolute values: a negative one is counted with the positive ones of its size;
- its last bucket takes all values that are larger;
- the histogram of latency, not its other figures, has the values of the last, unfinished second;
- a plot of latency has 1 more in each bucket than were counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hardstone.errors import InputError, printable
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.model import Conditions, Event, Loss, Scalar, Verdict

Tool = Literal["xenomai-latency", "latmus"]
LATENCY: Tool = "xenomai-latency"
LATMUS: Tool = "latmus"
_REMEDY = "import the whole output of one run, as the tool printed it"
_HEAD_BYTES = 1 << 16
_MOST_CELLS = 1 << 20
_MOST_UNKNOWN = 1000
_FIGURES = ("min latency", "avg latency", "max latency")
_SECOND_NS = 1_000_000_000

_US = r"\s*(-?\d{1,12}\.\d{3})"
_COUNT = r"\s*(-?\d{1,15})"
_ROW = re.compile(rf"RTD\|{_US}\|{_US}\|{_US}\|{_COUNT}(?:\|{_COUNT})?\|{_US}\|{_US}$")
_SUMMARY = re.compile(
    rf"RTS\|{_US}\|{_US}\|{_US}\|{_COUNT}(?:\|{_COUNT})?\|"
    r"\s*(\d{2,9}):(\d\d):(\d\d)/(\d{2,9}):(\d\d):(\d\d)$"
)
_BUCKET = re.compile(r"HSD\|\s*(min|avg|max)\|\s*(\d{1,9})\s*-\s*(\d{1,9})\s*\|\s*(\d{1,15})$")
_TOTAL = re.compile(r"HSS\|\s*(min|avg|max)\|\s*(\d{1,15})\|\s*(\S+)\|\s*(\S+)$")
_PERIOD = re.compile(r"== Sampling period: (\d{1,10}) us$")
_MODES = {
    "periodic user-mode task": "user",
    "in-kernel periodic task": "kernel",
    "in-kernel timer handler": "irq",
}
_MODE = "|".join(_MODES)
_TEST_MODE = re.compile(rf"== Test mode: ({_MODE})$")
_LATENCY_AT = rf"\d+:\d\d:\d\d\s+\(({_MODE}), (\d{{1,10}}) us period, priority (\d{{1,3}})\)$"
_LATENCY_PAGE = re.compile(rf"RTT\|\s*{_LATENCY_AT}")
_CONTEXT = r"user|kernel|irq|sirq|oob-gpio|inband-gpio"
_LATMUS_PAGE = re.compile(
    rf"RTT\|\s*\d+:\d\d:\d\d\s+\(({_CONTEXT}), (\d{{1,10}}) us period,"
    r"(?: priority (\d{1,3}),)? CPU(-?\d{1,5})(-noisol)?\)$"
)
_LATENCY_PLOT = re.compile(rf"#\s*{_LATENCY_AT}")
_UNAME = re.compile(r"# Linux (\S{1,64}) (\S{1,100}) (#.{1,100}?)(?: \S+ GNU/Linux)?$")
_PLOT_FIGURES = re.compile(rf"#\s*{_US}\|{_US}\|{_US}\|{_COUNT}\|{_COUNT}\|$")
_PLOT_POINT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?(?:e\+\d{2})?) (\d{1,15})$")
_LATMUS_KEY = re.compile(r"# ((?:[a-z]+ )?[A-Za-z][A-Za-z -]*?(?: \(hhmmss\))?): ?(.*)$")
_LATMUS_CELL = re.compile(r"(\d{1,7})(\+?) (\d{1,15})$")


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    min_ns: int
    mean_ns: int
    max_ns: int
    best_ns: int
    worst_ns: int


@dataclass
class _Found:
    """What the lines of one run say. Times in ns; `cells` are of each kind, by index."""

    tool: Tool | None = None
    context: str | None = None
    period_us: int | None = None
    priority: int | None = None
    cpu: int | None = None
    is_isolated: bool | None = None
    rows: list[_Row] = field(default_factory=list)
    summary: tuple[int, int, int] | None = None
    figures: dict[str, int] = field(default_factory=dict)
    overruns: int | None = None
    switches: int | None = None
    lasted_s: int | None = None
    wanted_s: int | None = None
    cells: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    cell_ns: int | None = None
    is_plot: bool = False
    has_outliers: bool = False
    is_broken_off: bool = False
    samples: int | None = None
    peak_s: int | None = None
    version: str | None = None
    facts: dict[str, Scalar] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


def recognises_latency(content: bytes) -> bool:
    """Whether this is text or a plot of latency, or rows without a header, which `read` refuses."""
    heads = ("== Sampling period:", "RTS|", "RTD|", "HSS|")
    is_one = any(
        line.startswith(heads) or _LATENCY_PAGE.match(line) or _LATENCY_PLOT.match(line)
        for _, line in _lines(content[:_HEAD_BYTES])
    )
    return is_one and not recognises_latmus(content)


def recognises_latmus(content: bytes) -> bool:
    """Whether this is text or a plot of latmus."""
    return any(
        line.startswith("# libevl version:") or _LATMUS_PAGE.match(line)
        for _, line in _lines(content[:_HEAD_BYTES])
    )


def read(content: bytes) -> Reading:
    """What latency or latmus printed, or what one of them wrote into a plot file."""
    found = _Found()
    for number, line in _lines(content):
        _take(found, number, line)
    tool = _check_header(found)
    _check_rows(found)
    series = _series(found)
    _count_events(found)
    return Reading(
        tool=tool,
        format="plot" if found.cell_ns is not None and not found.rows else "text",
        series=[series],
        version=found.version,
        params=_params(found),
        conditions=_conditions(found),
        facts=found.facts,
        verdicts=found.verdicts,
        events=found.events,
        losses=found.losses,
        unknown=found.unknown,
        duration_ns=None if found.lasted_s is None else found.lasted_s * _SECOND_NS,
        is_cut=_is_cut(found),
    )


def _check_header(found: _Found) -> Tool:
    if found.tool is None or found.context is None:
        raise _refused("no header, which -q and -l 0 of latmus leave out, says what was measured")
    if found.figures:
        if len(found.figures) < len(_FIGURES):
            raise _refused("the plot lacks one of minimum, mean and maximum")
        low, mean, high = (found.figures[key] for key in _FIGURES)
        _set_summary(found, (low, mean, high))
    if found.summary is None and not found.rows:
        raise _refused("the file holds no figures: no row of a second (RTD) and no summary (RTS)")
    return found.tool


def _set_summary(found: _Found, figures: tuple[int, int, int]) -> None:
    if found.summary is not None and found.summary != figures:
        raise _refused("the plot has other figures than the summary")
    found.summary = figures


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without the "^C" that a terminal shows before one."""
    for number, line in lines_of(content):
        yield number, line.strip().removeprefix("^C").strip()


def _take(found: _Found, number: int, line: str) -> None:
    """One line; others than those that the tools print are no part of the result."""
    head = line[:4]
    if head == "RTD|":
        _take_row(found, number, line)
    elif head == "RTS|":
        _take_summary(found, number, line)
    elif head in ("HSD|", "HSS|"):
        _take_histogram(found, number, line)
    elif head == "RTT|":
        _take_page(found, number, line)
    elif line.startswith("=="):
        _take_header(found, number, line)
    elif line.startswith("#"):
        _take_comment(found, number, line)
    elif found.is_plot and line[:1].isdigit():
        _take_point(found, number, line)
    else:
        _take_message(found, line)


def _ns(microseconds: str) -> int:
    """ "-0.123" us, with three decimals: -123."""
    return int(microseconds.replace(".", ""))


def _take_row(found: _Found, number: int, line: str) -> None:
    match = _ROW.match(line)
    if match is None:
        raise _broken(number, "no row of a second", line)
    low, mean, high = (_ns(match[place]) for place in (1, 2, 3))
    best, worst = _ns(match[6]), _ns(match[7])
    found.overruns = int(match[4])
    found.switches = int(match[5]) if match[5] else None
    found.rows.append(_Row(number, low, mean, high, best, worst))


def _take_summary(found: _Found, number: int, line: str) -> None:
    match = _SUMMARY.match(line)
    if match is None:
        raise _broken(number, "no summary", line)
    if found.wanted_s is not None:
        raise _refused(f"line {number}: a second summary; the file holds more than one run")
    _set_summary(found, (_ns(match[1]), _ns(match[2]), _ns(match[3])))
    found.overruns = int(match[4])
    found.switches = int(match[5]) if match[5] else None
    found.lasted_s = _seconds(match[6], match[7], match[8])
    found.wanted_s = _seconds(match[9], match[10], match[11])


def _seconds(hours: str, minutes: str, seconds: str) -> int:
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def _take_histogram(found: _Found, number: int, line: str) -> None:
    """A bucket of -h, or the total of -h and -s. They count in buckets, and do not say how wide."""
    if line.startswith("HSS|"):
        match = _TOTAL.match(line)
        if match is None:
            raise _broken(number, "no total of a histogram", line)
        kind, samples = match[1], int(match[2])
        counted = sum(count for _, count in found.cells.get(kind, ()))
        if found.cells and counted != samples:
            raise _refused(f"line {number}: the buckets of {kind} hold {counted}, not {samples}")
        found.totals[kind] = samples
        found.unknown[f"HSS.{kind}"] = f'["{printable(match[3])}", "{printable(match[4])}"]'
        return
    match = _BUCKET.match(line)
    if match is None or int(match[3]) != int(match[2]) + 1:
        raise _broken(number, "no bucket", line)
    _add_cell(found, match[1], int(match[2]), int(match[4]), number)


def _add_cell(found: _Found, kind: str, index: int, count: int, number: int) -> None:
    cells = found.cells.setdefault(kind, [])
    if cells and index <= cells[-1][0]:
        raise _refused(f"line {number}: bucket {index} is out of order")
    if index >= _MOST_CELLS or len(cells) >= _MOST_CELLS:
        raise _refused(f"line {number}: more buckets than the tools have")
    if count:
        cells.append((index, count))


def _take_page(found: _Found, number: int, line: str) -> None:
    """The header of a page: it says what is measured, again and again."""
    if match := _LATENCY_PAGE.match(line):
        _set_what(found, number, LATENCY, _MODES[match[1]], int(match[2]))
        found.priority = int(match[3])
    elif match := _LATMUS_PAGE.match(line):
        _set_what(found, number, LATMUS, match[1], int(match[2]))
        found.priority = int(match[3]) if match[3] else None
        _set_cpu(found, match[4], match[5])
    else:
        raise _broken(number, "no header of a page", line)


def _set_what(
    found: _Found, number: int, tool: Tool, context: str | None, period_us: int | None
) -> None:
    """The tool, its context and period; an error where they are not those of the lines before."""
    for name, value in (("tool", tool), ("context", context), ("period_us", period_us)):
        known = getattr(found, name)
        if value is not None and known is not None and known != value:
            raise _refused(
                f"line {number}: {value} after {known}; the file holds more than one run"
            )
        if value is not None:
            setattr(found, name, value)


def _set_cpu(found: _Found, cpu: str, suffix: str | None) -> None:
    found.cpu = int(cpu) if int(cpu) >= 0 else None
    found.is_isolated = suffix is None


def _take_header(found: _Found, number: int, line: str) -> None:
    if match := _PERIOD.match(line):
        if found.rows or found.summary:
            raise _refused(f"line {number}: a second run begins; import each run alone")
        _set_what(found, number, LATENCY, None, int(match[1]))
    elif match := _TEST_MODE.match(line):
        _set_what(found, number, LATENCY, _MODES[match[1]], None)
    elif line.startswith("== All results in") and line != "== All results in microseconds":
        raise _broken(number, "not in microseconds", line)
    elif line.startswith("== latmus started for core tuning"):
        raise _refused("latmus tuned the timer here: that holds no latencies")


def _take_comment(found: _Found, number: int, line: str) -> None:
    """A comment of a plot file."""
    if match := _LATENCY_PLOT.match(line):
        _set_what(found, number, LATENCY, _MODES[match[1]], int(match[2]))
        found.priority, found.is_plot = int(match[3]), True
    elif found.tool == LATENCY:
        _take_latency_comment(found, line)
    elif line == "# C-state restricted":
        # No condition: it is printed too where /dev/cpu_dma_latency refused the write of one byte.
        found.unknown["C-state"] = '"restricted"'
    elif line.startswith("# Linux version "):
        version = line.removeprefix("# Linux version ")
        found.facts["kernel.name"] = "Linux"
        found.facts["kernel.release"] = printable(version.split(" ", 1)[0])[:200]
        if place := re.search(r"#\d+ .*$", version):
            found.facts["kernel.version"] = printable(place[0])[:200]
    elif line.startswith("# BOOT_IMAGE="):
        found.facts["kernel.cmdline"] = printable(line[2:])[:4096]
    elif match := _LATMUS_KEY.match(line):
        _take_latmus_key(found, number, match[1], match[2].strip())


def _take_latency_comment(found: _Found, line: str) -> None:
    """The figures; else a line of xeno-config: "# Xenomai version: Xenomai/cobalt v3.2.1"."""
    if match := _PLOT_FIGURES.match(line):
        _set_summary(found, (_ns(match[1]), _ns(match[2]), _ns(match[3])))
        found.overruns, found.switches = int(match[4]), int(match[5])
    elif line.startswith("# Xenomai version:"):
        found.version = printable(line.partition(":")[2].strip())[:200]
    elif line.startswith("# Kernel parameters:"):
        found.facts["kernel.cmdline"] = printable(line.partition(":")[2].strip())[:4096]
    elif match := _UNAME.match(line):
        names = ("machine.node", "kernel.release", "kernel.version")
        found.facts |= {
            name: printable(text) for name, text in zip(names, match.groups(), strict=True)
        }
        found.facts["kernel.name"] = "Linux"


_NUMBERS = {
    "thread priority": "priority",
    "OVERRUNS": "overruns",
    "IN-BAND SWITCHES": "switches",
    "sample count": "samples",
}


def _take_latmus_key(found: _Found, number: int, key: str, text: str) -> None:
    for prefix in ("timer ", "gpio "):  # newer ones name the measurement before the key
        key = key.removeprefix(prefix)
    if key.startswith(("RX ", "TX ")) or (key == "context" and text == "net"):
        raise _refused(f"line {number}: latmus measured the network here, which is not read")
    if key in _NUMBERS:
        setattr(found, _NUMBERS[key], _integer(number, text))
    elif key in _FIGURES:
        if not re.fullmatch(_US, text):
            raise _broken(number, f"no {key}", text)
        found.figures[key] = _ns(text)
    elif key in ("libevl version", "context", "sampling period"):
        _take_what(found, number, key, text)
    elif not _take_machine(found, key, text) and len(found.unknown) < _MOST_UNKNOWN:
        found.unknown[printable(key)[:100]] = f'"{_as_json(text)}"'


def _take_what(found: _Found, number: int, key: str, text: str) -> None:
    if key == "libevl version":
        _set_what(found, number, LATMUS, None, None)
        found.is_plot, found.version = True, printable(text)[:200]
    elif key == "context":
        if not re.fullmatch(_CONTEXT, text):
            raise _broken(number, "no context of latmus", text)
        _set_what(found, number, LATMUS, text, None)
    else:
        _set_what(found, number, LATMUS, None, _integer(number, text.partition(" ")[0]))


def _take_machine(found: _Found, key: str, text: str) -> bool:
    """Whether it was what a fact, a condition or a time is read from."""
    if match := re.fullmatch(r"(\d{2,9}):(\d\d):(\d\d)", text):
        seconds = _seconds(match[1], match[2], match[3])
        if key == "peak (hhmmss)":
            found.peak_s = seconds
        elif key == "duration (hhmmss)" and found.lasted_s is None:
            found.lasted_s = seconds
        return key.endswith("(hhmmss)")
    if key == "thread affinity" and (match := re.fullmatch(r"CPU(-?\d{1,5})(-noisol)?", text)):
        _set_cpu(found, match[1], match[2])
        return True
    if key == "clocksource":
        found.facts["kernel.clocksource"] = printable(text)[:200]
        return True
    return False


def _as_json(text: str) -> str:
    return printable(text)[:1000].replace("\\", "\\\\").replace('"', '\\"')


def _integer(number: int, text: str) -> int:
    if not re.fullmatch(r"-?\d{1,15}", text):
        raise _broken(number, "no whole number", text)
    return int(text)


def _take_point(found: _Found, number: int, line: str) -> None:
    """A bucket of a plot: "INDEX COUNT" of latmus, "MIDDLE COUNT+1" of latency in us."""
    if found.tool == LATMUS:
        match = _LATMUS_CELL.match(line)
        if match is None:
            raise _broken(number, "no bucket", line)
        if found.has_outliers:
            raise _refused(f"line {number}: a bucket after the one for larger values")
        _add_cell(found, "avg", int(match[1]), int(match[3]), number)
        found.cell_ns, found.has_outliers = 1000, bool(match[2])
        return
    match = _PLOT_POINT.match(line)
    points = found.cells.setdefault("plot", [])
    if match is None or len(points) > _MOST_CELLS:
        raise _broken(number, "no bucket", line)
    points.append((round(float(match[1]) * 1000), int(match[2])))


def _take_message(found: _Found, line: str) -> None:
    """A verdict of the tool itself, where its other stream is in the file too."""
    if line.startswith("Maximum latency exceeded:"):
        _judge(found, "maximum below the threshold of -m", line)
    elif line.startswith("latency threshold is exceeded"):
        _judge(found, "maximum below the threshold of -A", line)
    elif line.startswith("results look weird"):
        _judge(found, "figures of each second in order", line)
    elif line.startswith("*** WARNING: unexpected switches to in-band mode"):
        _judge(found, "no switch to in-band mode", line.removeprefix("*** WARNING: "))


def _judge(found: _Found, name: str, line: str) -> None:
    if all(one.name != name for one in found.verdicts):
        found.verdicts.append(Verdict(name=name, passed=False, evidence=printable(line)[:1000]))


def _check_rows(found: _Found) -> None:
    """Refuses figures that no run can have: out of order, or extremes beyond those of all."""
    for row in found.rows:
        if not row.min_ns <= row.mean_ns <= row.max_ns:
            raise _refused(f"line {row.line}: minimum, mean and maximum are not in order")
        if row.best_ns > row.min_ns or row.worst_ns < row.max_ns:
            raise _refused(f"line {row.line}: beyond the best and worst value of its own row")
    if found.summary is None:
        return
    low, mean, high = found.summary
    if low > high:  # how the tools print that there was no value
        if found.rows:
            raise _refused("the summary has no value, but there are rows")
        return
    if not low <= mean <= high:
        raise _refused("minimum, mean and maximum of the summary are not in order")
    for row in found.rows:
        if row.min_ns < low or row.max_ns > high:
            raise _refused(f"line {row.line}: beyond the extremes of the summary")


def _series(found: _Found) -> ReadSeries:
    name = found.context or ""
    labels: dict[str, int | str] = {} if found.cpu is None else {"cpu": found.cpu}
    if found.summary is not None and found.summary[0] > found.summary[2]:
        return ReadSeries(name=name, labels=labels, count=0)
    is_whole = _rows_are_whole(found)
    low, mean, high = found.summary or (found.rows[-1].best_ns, None, found.rows[-1].worst_ns)
    _read_plot_of_latency(found)
    buckets = _Buckets(found, low, high)
    return ReadSeries(
        name=name,
        labels=labels,
        count=_count(found, buckets, is_whole=is_whole),
        min=buckets.low,
        mean=None if mean is None else float(mean),
        max=buckets.high,
        buckets=buckets.cells,
        bucket_width_ns=buckets.width_ns,
        underflow=buckets.underflow,
        overflow=buckets.overflow,
        maxima_per_s=[row.max_ns for row in found.rows] if is_whole else (),
    )


def _rows_are_whole(found: _Found) -> bool:
    """Whether no row is missing: best and worst run on from the first one, and, for latency, the
    mean of the rows is that of the summary."""
    if not found.rows:
        return False
    best, worst = found.rows[0].min_ns, found.rows[0].max_ns
    for row in found.rows:
        best, worst = min(best, row.min_ns), max(worst, row.max_ns)
        if (row.best_ns, row.worst_ns) != (best, worst):
            found.losses.append(
                Loss(what="time", text=f"Rows of seconds are missing before line {row.line}.")
            )
            return False
    if found.tool == LATENCY and found.summary is not None:
        mean = sum(row.mean_ns for row in found.rows) / len(found.rows)
        seconds = found.totals.get("min", len(found.rows))
        if abs(mean - found.summary[1]) > 1 or seconds != len(found.rows):
            text = "Rows of seconds are missing: they are not those of the summary."
            found.losses.append(Loss(what="time", text=text))
            return False
    return True


def _count(found: _Found, buckets: _Buckets, *, is_whole: bool) -> int | None:
    """How many values there were: as counted by the tool; else, for latency, from its rows."""
    counted = found.totals.get("avg", buckets.counted)
    if found.samples is not None:
        return found.samples
    if counted is not None:
        _note_last_second(found, counted)
        return counted
    if found.tool == LATENCY and is_whole and found.period_us:
        each = _SECOND_NS // (found.period_us * 1000)
        text = (
            f"The file does not say how many values there were. By the source of latency each of "
            f"its {len(found.rows)} rows has {each}: 1 s / period."
        )
        found.losses.append(Loss(what="count", text=text))
        return len(found.rows) * each
    return None


def _note_last_second(found: _Found, counted: int) -> None:
    seconds = found.totals.get("min")
    if found.tool != LATENCY or seconds is None or not found.period_us:
        return
    rest = counted - seconds * (_SECOND_NS // (found.period_us * 1000))
    if rest > 0:
        text = (
            f"Minimum, mean and maximum are of {seconds} whole seconds; {rest} of the "
            f"{counted} values came after them and are in the histogram only."
        )
        found.losses.append(Loss(what="extremes", text=text))


def _read_plot_of_latency(found: _Found) -> None:
    """Buckets of a plot: "FIRST 1", "MIDDLE COUNT+1" for each, "END 1"."""
    points = found.cells.pop("plot", None)
    if points is None:
        return
    if len(points) < 3 or points[0][1] != 1 or points[-1][1] != 1:
        raise _refused("the plot is incomplete: its histogram has no begin or no end")
    first, last = points[0][0], points[-1][0]
    width, rest = divmod(last - first, len(points) - 2)
    if rest or width < 1 or first % width or first // width >= _MOST_CELLS:
        raise _refused("the buckets of the plot are not equally wide")
    for place, (middle, count) in enumerate(points[1:-1]):
        if abs(2 * (middle - first) - width * (2 * place + 1)) > 2 or count < 1:
            raise _refused(f"bucket {place + 1} of the plot is not where it should be")
    start = first // width
    found.cells["avg"] = [
        (start + place, count - 1) for place, (_, count) in enumerate(points[1:-1]) if count > 1
    ]
    found.cell_ns = width


class _Buckets:
    """The histogram as far as it says something: `cells` None where it does not.

    Values below the first bucket are in `underflow`: those that may be negative, since the tools
    count absolute values. What the last bucket took from beyond it is in `overflow`.
    """

    def __init__(self, found: _Found, low: int, high: int) -> None:
        self.low: int | None = low
        self.high: int | None = high
        self.cells: Sequence[tuple[int, int]] | None = None
        self.width_ns = 0
        self.underflow = 0
        self.overflow: int | None = 0
        self.counted: int | None = None
        cells = found.cells.get("avg")
        if not cells:
            return
        counted = sum(count for _, count in cells)
        if problem := _incomplete(found, counted, cells[-1][0], high):
            found.is_broken_off = True
            found.losses.append(Loss(what="distribution", text=problem))
            return
        self.counted = counted
        width = found.cell_ns or (1000 if _fits_microseconds(found, low, high) else None)
        if width is None:
            text = "The text does not say how wide a bucket is (-B); 1 us contradicts the figures."
            found.losses.append(Loss(what="bucket width", text=text))
            return
        if found.cell_ns is None:
            text = "The text does not say how wide a bucket is; 1 us, the default of -B, fits."
            found.losses.append(Loss(what="bucket width", text=text))
        self._place(found, cells, width)

    def _place(self, found: _Found, cells: list[tuple[int, int]], width: int) -> None:
        low, high, last = self.low or 0, self.high or 0, cells[-1]
        folded = -low // width if low < 0 else -1
        is_beyond = high >= (last[0] + 1) * width or found.has_outliers
        upper = last[0] if is_beyond else last[0] + 1
        if folded >= upper:
            text = "All values may be negative ones, which the histogram counts as positive."
            found.losses.append(Loss(what="distribution", text=text))
            return
        if folded >= 0:
            text = (
                f"The histogram counts negative values as positive. Its buckets up to "
                f"{(folded + 1) * width} ns may hold some, and are taken together."
            )
            found.losses.append(Loss(what="distribution", text=text))
        if is_beyond:
            text = f"The last bucket, from {last[0] * width} ns on, has all larger values too."
            found.losses.append(Loss(what="overflow", text=text))
        self.width_ns = width
        self.underflow = sum(count for index, count in cells if index <= folded)
        self.overflow = last[1] if is_beyond else 0
        self.cells = [(index * width, count) for index, count in cells if folded < index < upper]
        if not is_beyond and high < last[0] * width:
            text = f"The histogram has values from {last[0] * width} ns on, above the maximum."
            found.losses.append(Loss(what="extremes", text=text))
            self.high = None
        if folded < 0 and low >= (cells[0][0] + 1) * width:
            text = f"The histogram has values below the minimum of {low} ns."
            found.losses.append(Loss(what="extremes", text=text))
            self.low = None


def _incomplete(found: _Found, counted: int, last: int, high: int) -> str:
    """Why the histogram cannot be all of it; "" where it can."""
    if found.tool == LATENCY:
        if found.cell_ns is None and "avg" not in found.totals:
            return "The file ends within the histogram, or before the totals that would confirm it."
        return ""
    if found.samples is not None and found.samples != counted:
        return f"The file says {found.samples} values, but its histogram has {counted}."
    if high // 1000 > last and not found.has_outliers:
        return "The histogram ends before the maximum: the file is not complete."
    return ""


def _fits_microseconds(found: _Found, low: int, high: int) -> bool:
    """Whether the buckets of the text can be 1 us wide: the largest maximum of a second is in the
    bucket of the maximum, or in the last one, and the mean is within what the buckets allow."""
    cells, tops, farthest = found.cells["avg"], found.cells.get("max"), max(abs(low), abs(high))
    if not tops or tops[-1][0] > farthest // 1000:
        return False
    if tops[-1][0] != high // 1000 and tops[-1][0] != cells[-1][0]:
        return False
    if found.summary is None:
        return False
    counted = sum(count for _, count in cells)
    least = sum(index * 1000 * count for index, count in cells)
    beyond = max(farthest - (cells[-1][0] + 1) * 1000, 0)
    most = least + 1000 * counted + cells[-1][1] * beyond
    mean, negative, slack = found.summary[1], max(-low, 0), 1000 * counted
    is_below = abs(mean) * counted <= most + slack
    return is_below and least <= (mean + 2 * negative) * counted + slack


def _count_events(found: _Found) -> None:
    if found.overruns:
        text = f"{found.overruns} releases were missed, each by a wake-up that was late."
        event = Event(name="overruns", text=text, data={"overruns_count": found.overruns})
        found.events.append(event)
    if found.switches:
        text = f"The thread lost the real-time mode {found.switches} times while it was measured."
        event = Event(name="mode_switches", text=text, data={"switches_count": found.switches})
        found.events.append(event)
    if found.cpu is not None and found.is_isolated is False:
        text = f"latmus says that CPU {found.cpu} was not isolated."
        found.events.append(Event(name="not_isolated", text=text, data={"cpu": found.cpu}))
    if found.peak_s is not None:
        text = f"The largest value came {found.peak_s} s after the start."
        found.events.append(Event(name="peak", text=text, data={"peak_s": found.peak_s}))


def _params(found: _Found) -> dict[str, int | str]:
    return {} if found.period_us is None else {"interval_ns": found.period_us * 1000}


def _conditions(found: _Found) -> Conditions:
    has_thread = found.context not in ("irq", "sirq")
    return Conditions(
        cpu=found.cpu,
        policy="fifo" if found.priority is not None and has_thread else None,
        priority=found.priority if has_thread else None,
    )


def _is_cut(found: _Found) -> bool:
    """Without a summary, or shorter than the run was to last."""
    if found.is_broken_off or found.summary is None:
        return True
    if found.lasted_s is None:
        return False
    return found.wanted_s is not None and found.lasted_s < found.wanted_s


def _refused(cause: str) -> InputError:
    return InputError(cause, _REMEDY)


def _broken(number: int, what: str, line: str) -> InputError:
    return _refused(f"line {number}: {what}: '{printable(line)[:80]}'")


FORMATS = [
    Format("latency of Xenomai, text or plot", recognises_latency, read),
    Format("latmus, text or plot", recognises_latmus, read),
]
