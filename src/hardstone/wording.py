"""Words for figures, times, amounts, claims and machines, as people read them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor, log10

from hardstone.catalogue import load_catalogue
from hardstone.model import (
    Descriptor,
    Instrument,
    ParamValue,
    RunDocument,
    Scalar,
    Series,
    Unit,
    Verdict,
)
from hardstone.stats.consistency import KindOfTime, kind_of_time, work_of
from hardstone.units import COARSE_NS, MARKED_STEPS, format_count, format_ns, format_read

_BEYOND_CHARTS = re.compile("[\U00010000-\U0010ffff]")
_HIDDEN = ("Cc", "Cf", "Cs", "Cn")  # controls, direction marks and joiners, surrogates, unassigned
_KEPT_CONTROLS = "\n\t"
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")


def clean(text: str) -> str:
    """`text` with unprintable characters and direction marks replaced by U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character in _KEPT_CONTROLS or unicodedata.category(character) not in _HIDDEN
        else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def shorten(text: str, limit: int = 48) -> str:
    """A clean single line of at most `limit` characters that a chart can draw.

    Characters beyond U+FFFF become U+FFFD: the chart library counts each as two, and fails
    if it cuts between them.
    """
    line = " ".join(_BEYOND_CHARTS.sub("\N{REPLACEMENT CHARACTER}", clean(text)).split())
    return line if len(line) <= limit else line[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def format_value(value: float | None, unit: Unit, quantum_ns: float = 1.0) -> str:
    """A value of a series with its unit. A time has no digits below `quantum_ns`."""
    if value is None:
        return "-"
    if unit == "ns":
        step = max(10.0 ** floor(log10(quantum_ns)), 0.1) if quantum_ns > 0 else 0.1
        return format_ns(round(value / step) * step)
    return _format_bytes(value) + "/s" if unit == "bytes_per_s" else format_count(round(value))


def read_value(value: float | None, unit: Unit, quantum_ns: float = 1.0) -> str:
    """A value that was read once, unlike a mean: a time as `format_read` has it."""
    if value is None or unit != "ns" or quantum_ns < COARSE_NS:
        return format_value(value, unit, quantum_ns)
    return format_read(value, quantum_ns)


def steps_text(instrument: Instrument | None) -> str:
    """What to know of a coarse clock before its figures: "clock rdtime, steps of 100 ns: ..."; ""
    of any other."""
    if instrument is None or instrument.quantum_ns < COARSE_NS:
        return ""
    step, marked = (format_ns(one * instrument.quantum_ns) for one in (1, MARKED_STEPS))
    clock = shorten(instrument.clock, 20)
    return f"clock {clock}, steps of {step}: a value may be 1 step off (~ below {marked})"


def is_rate(unit: Unit) -> bool:
    """Whether more is better: the worst value of a rate is the least."""
    return unit == "bytes_per_s"


def worst_value(series: Series) -> int | None:
    """The worst observed: the largest value, or the least one of a rate."""
    return series.min if is_rate(series.unit) else series.max


def _format_bytes(value: float) -> str:
    for unit in _BYTE_UNITS[:-1]:
        if abs(value) < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} {_BYTE_UNITS[-1]}"


def label_text(key: str, value: int | str) -> str:
    """One label for people: "period 10 ms", "cpu 0", "timerfd"."""
    if isinstance(value, str):
        return value
    if key.endswith("_ns"):
        return f"{spoken(key[:-3])} {format_ns(value)}"
    if key.endswith("_bytes"):
        return f"{spoken(key[:-6])} {format_count(value)} B"
    return f"{spoken(key)} {value}"


def spoken(name: str) -> str:
    """A name from the contract as words: "round_trip" is "round trip"."""
    return shorten(name.replace("_", " "), 40)


def one_line(text: str) -> str:
    """Untrusted text on one line, without control characters."""
    return " ".join(clean(text).split())


def numbers_text(numbers: Iterable[int], dash: str = " to ", least: int = 3) -> str:
    """ "1 to 3, 5, 6": `least` and more in a row are a range."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        [f"{run[0]}{dash}{run[-1]}"] if len(run) >= least else [str(number) for number in run]
        for run in runs
    ]
    return ", ".join(text for part in parts for text in part)


def short(value: Scalar, limit: int = 60) -> str:
    """A fact as one short line; empty if unknown."""
    return "" if value is None else shorten(str(value), limit)


def labels_text(labels: Mapping[str, int | str]) -> str:
    """The labels of a series on one line: "period 10 ms, timerfd"."""
    return ", ".join(shorten(label_text(key, value)) for key, value in labels.items())


def ratio_text(ratio: float) -> str:
    """Two significant digits, an integer from 10 on: "0.64", "1.0", "23", "1 200"."""
    if ratio >= 9.95:
        return format_count(round(ratio))
    return f"{ratio:.1f}" if ratio >= 0.995 else f"{ratio:.2g}"


def series_text(series: Series, keys: Iterable[str] | None = None) -> str:
    """Name and labels of a series; only the labels in `keys` where given."""
    shown = series.labels if keys is None else [key for key in keys if key in series.labels]
    return ", ".join([spoken(series.name), *(label_text(k, series.labels[k]) for k in shown)])


def work_text(series: Series, calibrated: Mapping[str, int]) -> str:
    """Calibrated work per value of `series`: "36 696 328 operations"; empty if none."""
    work = work_of(series, calibrated)
    return ", ".join(
        f"{format_count(count)} {shorten(spoken(what))}" for what, count in work.items()
    )


def parameter_text(name: str, value: ParamValue) -> str:
    """A parameter with its value: "interval 1 ms", "kinds posix,named"."""
    if isinstance(value, list):
        is_time = name.endswith("_ns")
        items = [format_ns(one) if is_time and isinstance(one, int) else str(one) for one in value]
        return f"{spoken(name.removesuffix('_ns').removesuffix('_bytes'))} {', '.join(items)}"
    return label_text(name, value) if isinstance(value, int) else f"{spoken(name)} {value}"


def range_text(low: str, high: str) -> str:
    """Two values with their units as a range: "17.9 to 18.1 us", "990 ns to 1.02 us"."""
    figure, _, unit = low.rpartition(" ")
    return f"{figure} to {high}" if figure and high.endswith(f" {unit}") else f"{low} to {high}"


def fact_text(value: Scalar) -> str:
    """The value of a fact. Its unit is part of its name."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return format_count(value) if isinstance(value, int) else value


_MARKS = {
    KindOfTime.EMULATED: "(emulated)",
    KindOfTime.COUNTED: "(instructions)",
    KindOfTime.UNKNOWN: "(emulated?)",
}
_MACHINES = {
    KindOfTime.EMULATED: "emulated",
    KindOfTime.COUNTED: "emulated, counts instructions",
    KindOfTime.UNKNOWN: "may be emulated",
}


def time_mark(system: Mapping[str, Scalar]) -> str:
    """The mark of figures that are not of hardware: "(emulated)"; empty for those of hardware."""
    return _MARKS.get(kind_of_time(system), "")


def time_machine(system: Mapping[str, Scalar]) -> str:
    """The word before the name of the processor: "emulated"; empty for hardware."""
    return _MACHINES.get(kind_of_time(system), "")


@dataclass(frozen=True)
class Claim:
    """A verdict with the text of its claim from the register.

    `uncounted`: why it does not count for a rating; empty if it counts.
    """

    name: str
    claim: str
    passed: bool
    evidence: str
    uncounted: str = ""

    @property
    def word(self) -> str:
        if self.passed:
            return "pass"
        return "fail" if self.uncounted else "FAIL"

    @property
    def look(self) -> str:
        """The CSS class of the verdict."""
        if self.passed:
            return "passed"
        return "uncounted" if self.uncounted else "failed"


def claim_of(verdict: Verdict, test: str, spec: Descriptor | None = None) -> Claim:
    """A verdict of `test` as a claim. `spec`: the descriptor of the test, if known."""
    known = {one.name: one.claim for one in spec.verdicts} if spec else {}
    name, slash, case = verdict.name.partition("/")
    shown = f"{spoken(name)}{slash and ': '}{case}"
    uncounted = load_catalogue().entry(test).why_uncounted(verdict.name)
    return Claim(shown, known.get(name, ""), verdict.passed, verdict.evidence, uncounted)


def claims_text(claims: list[Claim]) -> str:
    """How many claims hold or failed, in a few words."""
    looks = [one.look for one in claims]
    failed, uncounted = looks.count("failed"), looks.count("uncounted")
    if failed:
        return f"{failed} of {len(looks)} claims failed"
    if uncounted:
        hold_count = len(looks) - uncounted
        return f"{hold_count} of {len(looks)} claims hold; the others are not rated"
    return f"{len(looks)} claims hold"


_OF_MACHINE = ("machine.", "cpu.", "virtual.", "power.")


def target_text(document: RunDocument) -> str:
    """The machine, after the name of its target where that is not this machine. A file of another
    tool may not name one."""
    machine = machine_text(document.system)
    if document.imported is not None:
        is_known = any(name.startswith(_OF_MACHINE) for name in document.system)
        return machine if is_known else "machine not known"
    target = document.plan.target
    return machine if target == "local" else f"{short(target, limit=40)}: {machine}"


def machine_text(facts: Mapping[str, Scalar]) -> str:
    """Processor, number of CPUs, hypervisor and container, governor.

    "emulated" comes first, since the line may be cut.
    """
    processor = short(facts.get("machine.cpu_model")) or short(facts.get("machine.arch"))
    parts = [time_machine(facts), processor]
    count = facts.get("cpu.count")
    parts.append(f"{count} CPU{'' if count == 1 else 's'}" if count else "")
    found = [short(facts.get(f"virtual.{key}")) for key in ("hypervisor", "container")]
    virtual = [name for name in found if name and name not in ("none", "False")]
    parts.append(f"virtual: {' '.join(virtual)}" if virtual else "")
    governor = short(facts.get("power.governor"))
    parts.append(f"governor {governor}" if governor else "")
    return ", ".join(part for part in parts if part) or "unknown machine"


def kernel_of(document: RunDocument) -> str:
    """Its kernel, as `kernel_text`; "kernel not known" where a file of another tool has none."""
    is_known = any(name.startswith(("kernel.", "os.")) for name in document.system)
    is_bare = document.imported is not None and not is_known
    return "kernel not known" if is_bare else kernel_text(document.system)


def kernel_text(facts: Mapping[str, Scalar]) -> str:
    """Kernel, preemption, tick rate, distribution."""
    kernel = f"{short(facts.get('kernel.name'))} {short(facts.get('kernel.release'))}".strip()
    preemption = short(facts.get("kernel.preemption"))
    rate = facts.get("kernel.hz")
    parts = [
        kernel or "kernel unknown",
        f"preemption {preemption}" if preemption else "preemption unknown",
        f"{rate} Hz" if rate else "",
        short(facts.get("os.name")),
    ]
    return ", ".join(part for part in parts if part)
