"""rteval's summary.xml and the report that it prints (`rteval`, `rteval -Z summary.xml`).

Taken from the source of rteval 2.14 to 3.8: `rteval/modules/measurement/cyclictest.py` and
`timerlat.py`, `rteval/rtevalReport.py`, `rteval/sysinfo/*.py` and `rteval/rteval_text.xsl`.

What rteval does to the figures:

- it parses the histogram of cyclictest and computes from it; what cyclictest found beyond the
  histogram is in no figure. Since 3.3 it then leaves out all figures; before, the maximum too is
  that of the histogram;
- its median is wrong: before 3.8 it is found in the sum of the values and not of their counts, and
  since then at the borders of buckets where the number of values is odd. It is kept as unknown, as
  is all else that rteval computed and hardstone computes itself;
- with one value the mean stays 0;
- of timerlat it adds the counts of interrupt, kernel thread and user thread, for each CPU, into one
  histogram, and drops what is beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree  # nosec: DOCTYPE is refused, so that there are no entities

from hardstone.errors import InputError, printable
from hardstone.importers.reading import Format, Reading, ReadSeries
from hardstone.importers.recognise import lines_of
from hardstone.model import Conditions, Event, Loss, Scalar, Verdict

TOOL = "rteval"
_HEAD_BYTES = 1 << 16
_MOST_DEPTH = 32
_MOST_ELEMENTS = 1 << 18
_MOST_CPUS = 4096
_MOST_UNKNOWN = 1000
_MOST_TEXT = 4096
_US_NS = 1000
_SECOND_NS = 1_000_000_000
_HAS_MAXIMUM_SINCE = (3, 3)
_SERIES = {"cyclictest": "wakeup", "timerlat": "timerlat-sum"}
_REMEDY = "import summary.xml of the report's folder, or the whole text report"
_COUNT = re.compile(r"\d{1,15}")
_DECIMAL = re.compile(r"\d{1,12}(?:\.\d{1,20})?(?:e-\d{1,2})?")
_FIGURES = {
    "minimum": "Min",
    "maximum": "Max",
    "mean": "Mean",
    "standard_deviation": "Std.dev",
    "median": "Median",
    "mode": "Mode",
    "range": "Range",
    "mean_absolute_deviation": "Mean Absolute Dev",
}
_OWN_FIGURES = ("median", "mode", "range", "mean_absolute_deviation")
_FIGURE_OF = {text: name for name, text in _FIGURES.items()}


@dataclass
class _Part:
    """The figures of one CPU, or of the system; `what` is its title: "CPU core 2"."""

    what: str
    cpu: int | None = None
    priority: int | None = None
    samples: int | None = None
    figures: dict[str, float] = field(default_factory=dict)
    buckets: list[tuple[int, int]] | None = None


@dataclass
class _Found:
    version: str | None = None
    module: str = ""
    command: str | None = None
    parts: list[_Part] = field(default_factory=list)
    facts: dict[str, Scalar] = field(default_factory=dict)
    load: str | None = None
    begin: str = ""
    end: str = ""
    duration_ns: int | None = None
    unknown: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    is_cut: bool = False

    def keep(self, key: str, text: str) -> None:
        """A key that has no place in a run, with its value as JSON."""
        if len(self.unknown) < _MOST_UNKNOWN:
            plain = printable(text)[:1000].replace("\\", "\\\\").replace('"', '\\"')
            self.unknown[printable(key)[:200]] = f'"{plain}"'

    def lose(self, what: Any, text: str) -> None:
        self.losses.append(Loss(what=what, text=text))


# --- XML ----------------------------------------------------------------------------------------


class _Guarded(ElementTree.TreeBuilder):
    """A tree without DOCTYPE, of a bounded depth and size."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._elements = 0

    def start(self, tag: Any, attrs: Any, /) -> Any:
        self._depth += 1
        self._elements += 1
        if self._depth > _MOST_DEPTH:
            raise _refused(f"elements are nested more than {_MOST_DEPTH} deep")
        if self._elements > _MOST_ELEMENTS:
            raise _refused(f"more than {_MOST_ELEMENTS} elements")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> Any:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, _name: str, _public: str | None, _system: str | None) -> None:
        raise _refused("it has a DOCTYPE, which rteval does not write")


def recognises_xml(content: bytes) -> bool:
    """Whether this is XML whose root is rteval's."""
    head = content[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"<") and re.search(rb"<rteval[\s>]", head) is not None


def read_xml(content: bytes) -> Reading:
    """What summary.xml holds."""
    parser = ElementTree.XMLParser(target=_Guarded())  # noqa: S314  guarded
    try:
        parser.feed(content)
        root = parser.close()
    except ElementTree.ParseError as error:
        place, text = error.position, printable(str(error))[:100]
        raise _refused(f"line {place[0]}: no valid XML: {text}") from None
    except (LookupError, ValueError) as error:  # an encoding that is not known
        raise _refused(f"no valid XML: {printable(str(error))[:100]}") from None
    if root.tag != "rteval":
        raise _refused(f"its root is '{printable(root.tag)[:40]}'")
    found = _Found(version=_shortened(root.get("version")))
    _take_run(found, root)
    _take_facts(found, root.findtext)
    _take_system(found, root)
    _take_loads(found, root)
    measured = _latency_test(root)
    found.module = measured.tag
    found.command = _shortened(measured.get("command_line"))
    found.begin = measured.findtext("timestamps/runloop_start") or ""
    found.end = measured.findtext("timestamps/runloop_stop") or ""
    _take_abort(found, measured)
    found.parts = [_part(one, "system") for one in measured.findall("system")]
    found.parts += [_part(one, "CPU core") for one in measured.findall("core")]
    return _reading(found, "XML")


def _shortened(text: str | None) -> str | None:
    return None if text is None else printable(text.strip())[:_MOST_TEXT] or None


def _take_run(found: _Found, root: ElementTree.Element) -> None:
    info = root.find("run_info")
    if info is None:
        return
    parts = [info.get(name, "") for name in ("days", "hours", "minutes", "seconds")]
    if all(re.fullmatch(r"\d{1,6}", one) for one in parts):
        found.duration_ns = _duration(*map(int, parts))
    for name in ("date", "time", "annotate"):
        if text := info.findtext(name):
            found.keep(f"run_info.{name}", text)


def _duration(days: int, hours: int, minutes: int, seconds: int) -> int:
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * _SECOND_NS


_FACTS = {
    "kernel.release": "SystemInfo/uname/kernel",
    "machine.node": "SystemInfo/uname/node",
    "machine.arch": "SystemInfo/uname/arch",
    "os.name": "SystemInfo/uname/baseos",
    "kernel.cmdline": "SystemInfo/cmdlineInfo/cmdline",
}


def _take_facts(found: _Found, text_of: Callable[[str], str | None]) -> None:
    for name, path in _FACTS.items():
        if text := _shortened(text_of(path)):
            found.facts[name] = text


def _take_system(found: _Found, root: ElementTree.Element) -> None:
    kernel = root.find("SystemInfo/uname/kernel")
    if kernel is not None and kernel.get("is_RT") in ("0", "1"):
        _take_realtime(found, is_realtime=kernel.get("is_RT") == "1")
    sources = root.findall("SystemInfo/Kernel/ClockSource/source")
    _take_clock_sources(
        found,
        [_shortened(one.text) or "" for one in sources],
        next((_shortened(one.text) or "" for one in sources if one.get("current") == "1"), ""),
    )
    topology = root.find("SystemInfo/CPUtopology")
    if topology is not None:
        _take_cpu_count(found, topology.get("num_cpu_cores_online", ""))
    product = "SystemInfo/DMIinfo/Handle[@name='System Information']/Field[@Name='Product Name']"
    if text := _shortened(root.findtext(product)):
        found.facts["machine.product"] = text
    memory = root.find("SystemInfo/Memory/memory_size")
    if memory is not None:
        found.keep("SystemInfo.Memory.memory_size", f"{memory.text} {memory.get('unit', 'kB')}")
    if profile := root.findtext("SystemInfo/Tuned/active_profile"):
        found.keep("SystemInfo.Tuned.active_profile", profile)


def _take_realtime(found: _Found, *, is_realtime: bool) -> None:
    found.facts["kernel.name"] = "Linux"  # rteval runs on no other kernel
    found.facts["kernel.realtime"] = is_realtime
    if is_realtime:
        found.facts["kernel.preemption"] = "rt"


def _take_clock_sources(found: _Found, names: list[str], current: str) -> None:
    if current:
        found.facts["kernel.clocksource"] = current[:200]
    if any(names):
        found.facts["kernel.clocksources"] = " ".join(names)[:_MOST_TEXT]


def _take_cpu_count(found: _Found, text: str) -> None:
    if re.fullmatch(r"\d{1,6}", text):
        found.facts["cpu.count"] = int(text)


def _take_loads(found: _Found, root: ElementTree.Element) -> None:
    loads = root.find("loads")
    profile = root.find("Measurements/Profile")
    if loads is None or (profile is not None and profile.get("loads") == "0"):
        found.load = "none"
        return
    commands = [one for one in loads.findall("command_line") if one.get("run", "1") == "1"]
    _set_load(found, [(one.get("name", ""), one.text or "") for one in commands])
    for name in ("load_average", "loadcpus"):
        found.keep(f"loads.{name}", loads.get(name, ""))


def _set_load(found: _Found, commands: list[tuple[str, str]]) -> None:
    names = [printable(name)[:40] for name, _ in commands if name]
    found.load = f"rteval: {', '.join(names)}"[:_MOST_TEXT] if names else None
    for name, command in commands:
        found.keep(f"loads.{name}", command)


def _latency_test(root: ElementTree.Element) -> ElementTree.Element:
    """The measurement of cyclictest or timerlat. rteval has at most one in a profile."""
    places = [*root.findall("Measurements"), *root.findall("Measurements/Profile")]
    tests = [one for place in places for one in place if one.tag in _SERIES]
    if len(tests) == 1:
        return tests[0]
    if tests:
        raise _refused("it has more than one latency test, and a run has one of each kind")
    raise _refused("it has no latency test: neither cyclictest nor timerlat")


def _take_abort(found: _Found, measured: ElementTree.Element) -> None:
    stop = measured.find("abort_report/breaktrace")
    invoked = measured.find("stoptrace_invoked")
    if stop is not None:
        limit = printable(stop.get("latency_threshold", "?"))[:20]
        seen = printable(stop.get("measured_latency", "?"))[:20]
        evidence = f"{seen} us; cyclictest stopped, since its threshold was {limit} us"
    elif invoked is not None and invoked.get("invoked") == "true":
        evidence = "rtla timerlat stopped the trace: a latency was above its threshold"
    else:
        return
    found.verdicts.append(Verdict(name="threshold", passed=False, evidence=evidence))
    found.is_cut = True


def _part(element: ElementTree.Element, title: str) -> _Part:
    part = _Part(title)
    if title != "system":
        part.cpu = _cpu(element.get("id", ""))
        part.what = f"CPU core {part.cpu}"
        if re.fullmatch(r"\d{1,3}", element.get("priority", "")):
            part.priority = int(element.get("priority", ""))
    statistics = element.find("statistics")
    if statistics is None:
        raise _refused(f"{part.what} has no statistics")
    part.samples = _count(statistics.findtext("samples"), f"samples of {part.what}")
    for name in _FIGURES:
        one = statistics.find(name)
        if one is not None:
            if one.get("unit", "us") != "us":
                raise _refused(f"{name} of {part.what} is in '{printable(one.get('unit', ''))}'")
            part.figures[name] = _decimal(one.text, f"{name} of {part.what}")
    histogram = element.find("histogram")
    if histogram is not None:
        part.buckets = [_bucket(one, part.what) for one in histogram.findall("bucket")]
    return part


def _bucket(element: ElementTree.Element, what: str) -> tuple[int, int]:
    index = _count(element.get("index"), f"index of a bucket of {what}")
    return index, _count(element.get("value"), f"value of bucket {index} of {what}")


def _cpu(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text) or int(text) >= _MOST_CPUS:
        raise _refused(f"'{printable(text)[:20]}' is no CPU")
    return int(text)


def _count(text: str | None, what: str) -> int:
    if text is None or not _COUNT.fullmatch(text.strip()):
        raise _refused(f"{what} is '{printable(text or '')[:40]}', no count")
    return int(text)


def _decimal(text: str | None, what: str) -> float:
    if text is None or not _DECIMAL.fullmatch(text.strip()):
        raise _refused(f"{what} is '{printable(text or '')[:40]}', no number")
    return float(text)


# --- The text report ----------------------------------------------------------------------------

_IS_REPORT = re.compile(rb"^[ \t]*rteval \(v[\w.+-]{1,40}\) report\s*$", re.MULTILINE)
_REPORT = re.compile(r"\s*rteval \(v([\w.+-]{1,40})\) report\s*$")
_RUN_TIME = re.compile(r"(\d{1,6}) days (\d{1,3})h (\d{1,3})m (\d{1,3})s$")
_CORE = re.compile(r"CPU core\s+(\d{1,5})\s+Priority:\s*(\d{1,3})?$")
_STATISTIC = re.compile(r"(Samples|[A-Z][A-Za-z. ]{1,20}):\s+(\S+)$")
_LOAD = re.compile(r"- ([\w.-]{1,40}): (.*)$")
_LINES = {
    "Kernel": "SystemInfo/uname/kernel",
    "Tested node": "SystemInfo/uname/node",
    "Architecture": "SystemInfo/uname/arch",
    "Base OS": "SystemInfo/uname/baseos",
    "Cmdline": "SystemInfo/cmdlineInfo/cmdline",
}
_KEY = re.compile(r"([A-Z][A-Za-z. ]{1,20}):(?:\s+(.*))?$")


def recognises_text(content: bytes) -> bool:
    """Whether this is the text of a report."""
    return _IS_REPORT.search(content[:_HEAD_BYTES]) is not None


def read_text(content: bytes) -> Reading:
    """What the text report says."""
    found, reports = _Found(), 0
    keys: dict[str, str] = {}
    loads: list[tuple[str, str]] = []
    for number, raw in lines_of(content):
        line = raw.strip()
        if match := _REPORT.match(raw):
            found.version, reports = match[1], reports + 1
            if reports > 1:
                raise _refused(f"line {number}: a second report; import each one alone")
        elif reports:
            _take_line(found, number, line, keys, loads)
    if not keys:
        raise _refused("the report is empty")
    _take_report(found, keys, loads)
    return _reading(found, "text")


def _take_line(
    found: _Found, number: int, line: str, keys: dict[str, str], loads: list[tuple[str, str]]
) -> None:
    if match := _CORE.match(line):
        if len(found.parts) >= _MOST_CPUS:
            raise _refused(f"line {number}: more CPUs than there are")
        cpu = _cpu(match[1])
        priority = int(match[2]) if match[2] else None
        found.parts.append(_Part(f"CPU core {cpu}", cpu=cpu, priority=priority))
    elif line.startswith("CPU core "):
        raise _refused(f"line {number}: '{printable(line)[:60]}' names no CPU")
    elif line.startswith("System:"):
        found.parts.append(_Part("system"))
    elif found.parts and (match := _STATISTIC.match(line)):
        _take_statistic(found.parts[-1], number, match[1], match[2])
    elif match := _LOAD.match(line):
        loads.append((match[1], "" if match[2] == "(Not run)" else match[2]))
    elif line.startswith("Measurement profile"):
        keys["profile"] = line
    elif match := _KEY.match(line):
        keys.setdefault(match[1], match[2] or "")


def _take_statistic(part: _Part, number: int, name: str, text: str) -> None:
    if name == "Samples":
        if part.samples is not None:
            raise _refused(f"line {number}: a second number of samples")
        part.samples = _count(text, f"line {number}: Samples")
    elif name in _FIGURE_OF:
        if not text.endswith("us") or _FIGURE_OF[name] in part.figures:
            raise _refused(f"line {number}: '{printable(text)[:40]}' is no {name} in us")
        part.figures[_FIGURE_OF[name]] = _decimal(text[:-2], f"line {number}: {name}")


def _take_report(found: _Found, keys: Mapping[str, str], loads: list[tuple[str, str]]) -> None:
    kernel, _, realtime = keys.get("Kernel", "").partition("  (RT")
    values = {_LINES[name]: text for name, text in keys.items() if name in _LINES}
    _take_facts(found, {**values, _LINES["Kernel"]: kernel}.get)
    if kernel:
        _take_realtime(found, is_realtime=bool(realtime))
    available = printable(keys.get("Available", "").strip())
    _take_clock_sources(found, [available], printable(keys.get("Clocksource", "").strip()))
    if match := re.match(r"\d+ \(online: (\d{1,6})", keys.get("CPU cores", "")):
        _take_cpu_count(found, match[1])
    if match := _RUN_TIME.match(keys.get("Run time", "")):
        found.duration_ns = _duration(*(int(match[place]) for place in range(1, 5)))
    found.command = _shortened(keys.get("Command"))
    found.begin, found.end = keys.get("Started", ""), keys.get("Stopped", "")
    found.module = "timerlat" if "timerlat" in (found.command or "") else "cyclictest"
    ran = [(name, command) for name, command in loads if command]
    if keys.get("Loads") == "none" or "Without loads" in keys.get("profile", ""):
        found.load = "none"
    elif ran:
        _set_load(found, ran)
    for name in ("Test run", "Model", "BIOS version", "Memory", "Load average", "Tuned state"):
        if keys.get(name):
            found.keep(name, keys[name])


# --- Both ---------------------------------------------------------------------------------------


def _reading(found: _Found, kind: str) -> Reading:
    cores = [part for part in found.parts if part.cpu is not None]
    systems = [part for part in found.parts if part.cpu is None and part.samples is not None]
    chosen = cores or systems[:1]
    if not chosen:
        raise _refused(_why_no_figures(found))
    if len({part.cpu for part in cores}) < len(cores):
        raise _refused("a CPU is in it twice")
    _check_system(found, cores, systems)
    _note_losses(found, kind)
    priorities = {part.priority for part in chosen if part.priority is not None}
    return Reading(
        tool=TOOL,
        format=kind,
        series=[_series(found, part) for part in chosen],
        version=found.version,
        command=found.command,
        params=_params(found),
        conditions=Conditions(
            load=found.load,
            cpu=chosen[0].cpu if len(chosen) == 1 else None,
            policy="fifo" if priorities else None,
            priority=priorities.pop() if len(priorities) == 1 else None,
            memory_locked=True if _has_option(found.command, "m") else None,
        ),
        facts=found.facts,
        verdicts=found.verdicts,
        events=found.events,
        losses=found.losses,
        unknown=found.unknown,
        duration_ns=_measured_ns(found) or found.duration_ns,
        is_cut=found.is_cut,
    )


def _why_no_figures(found: _Found) -> str:
    if found.is_cut:
        return "it holds no figures: the measurement was stopped at its threshold"
    return (
        "it holds no figures: rteval leaves them out where a latency was beyond its histogram "
        "(--cyclictest-buckets)"
    )


def _check_system(found: _Found, cores: list[_Part], systems: list[_Part]) -> None:
    """The system's count is that of all CPUs; what rteval computed for it is kept as unknown."""
    for part in [*systems, *cores]:
        for name in _OWN_FIGURES:
            if name in part.figures:
                found.keep(f"{part.what}.{name}_us", f"{part.figures[name]:g}")
    counted = sum(part.samples or 0 for part in cores)
    if cores and systems and systems[0].samples != counted:
        text = (
            f"The system has {systems[0].samples} values, but the CPUs in the file have {counted}: "
            "some CPUs are missing."
        )
        found.lose("values", text)


def _note_losses(found: _Found, kind: str) -> None:
    if kind == "text":
        found.lose("distribution", "The text has no histogram; summary.xml has it.")
    if found.module == "timerlat":
        text = "Counts of interrupt, kernel thread and user thread are added into one histogram."
        found.lose("distribution", text)
        found.lose("extremes", "The maximum is that of the histogram: there may be larger values.")
    elif not _has_maximum(found.version):
        found.lose("extremes", "The maximum is that of the histogram: there may be larger values.")
    if found.begin:
        found.keep("runloop_start", found.begin)
        found.lose("time", f"{printable(found.begin)[:40]}, the begin, is without a time zone.")


def _has_maximum(version: str | None) -> bool:
    """Whether maxima are those of cyclictest, and figures left out where one is too large."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", version or "")
    return match is not None and (int(match[1]), int(match[2])) >= _HAS_MAXIMUM_SINCE


def _series(found: _Found, part: _Part) -> ReadSeries:
    labels: dict[str, int | str] = {} if part.cpu is None else {"cpu": part.cpu}
    if part.samples is None:
        raise _refused(f"{part.what} has no number of samples")
    name = _SERIES[found.module]
    if part.samples == 0:
        return ReadSeries(name=name, labels=labels, count=0, step_ns=_US_NS)
    low, high = (_whole_us(part, key) for key in ("minimum", "maximum"))
    if low is not None and high is not None and low > high:
        raise _refused(f"minimum and maximum of {part.what} are not in order")
    is_single = part.samples == 1  # its mean stays 0
    return ReadSeries(
        name=name,
        labels=labels,
        count=part.samples,
        min=None if low is None else low * _US_NS,
        mean=None if is_single else _scaled(part, "mean"),
        max=None if high is None else high * _US_NS,
        stddev=None if is_single else _scaled(part, "standard_deviation"),
        step_ns=_US_NS,
        buckets=_checked_buckets(part, low, high),
        bucket_width_ns=0 if part.buckets is None else _US_NS,
        overflow=0 if part.buckets is None else _overflow(found, part, high),
    )


def _whole_us(part: _Part, key: str) -> int | None:
    value = part.figures.get(key)
    if value is not None and value != int(value):
        raise _refused(f"{key} of {part.what} is no whole number of us")
    return None if value is None else int(value)


def _scaled(part: _Part, key: str) -> float | None:
    value = part.figures.get(key)
    return None if value is None else value * _US_NS


def _checked_buckets(
    part: _Part, low: int | None, high: int | None
) -> list[tuple[int, int]] | None:
    if part.buckets is None:
        return None
    kept = [(index, count) for index, count in part.buckets if count]
    if any(after[0] <= before[0] for before, after in pairwise(kept)):
        raise _refused(f"the buckets of {part.what} are not in order")
    counted = sum(count for _, count in kept)
    if counted != part.samples:
        raise _refused(f"{part.what} has {part.samples} samples, but {counted} in its buckets")
    if (low is not None and kept[0][0] != low) or (high is not None and kept[-1][0] > high):
        raise _refused(f"the buckets of {part.what} go beyond its minimum and maximum")
    return [(index * _US_NS, count) for index, count in kept]


def _overflow(found: _Found, part: _Part, high: int | None) -> int | None:
    """None: values beyond the histogram were dropped, or may have been."""
    if found.module == "timerlat" or not _has_maximum(found.version) or high is None:
        return None
    if part.buckets and high > max((index for index, count in part.buckets if count), default=0):
        text = f"{part.what}: values beyond the histogram, up to the maximum, are not counted."
        found.lose("overflow", text)
        return None
    return 0


def _params(found: _Found) -> dict[str, int | str]:
    match = re.search(r"(?:^| )-i ?(\d{1,9})(?: |$)", found.command or "")
    if found.module != "cyclictest" or match is None:
        return {}
    return {"interval_ns": int(match[1]) * _US_NS}


def _has_option(command: str | None, letter: str) -> bool:
    words: Iterator[str] = (word for word in (command or "").split(" ")[1:])
    return any(re.fullmatch(r"-[a-z]{1,10}", word) and letter in word for word in words)


def _measured_ns(found: _Found) -> int | None:
    """How long the measurement took; None where its times are missing or make no sense."""
    try:
        begin, end = (datetime.fromisoformat(text.strip()) for text in (found.begin, found.end))
        seconds = (end - begin).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return round(seconds * _SECOND_NS) if seconds > 0 else None


def _refused(cause: str) -> InputError:
    return InputError(cause, _REMEDY)


FORMATS = [
    Format("rteval, summary.xml", recognises_xml, read_xml),
    Format("rteval, text report", recognises_text, read_text),
]
