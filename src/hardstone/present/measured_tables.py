"""Tables of what a run measured in addition to its series: what a load reached, what took the CPU,
the steps of a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hardstone.model import LoadReached, Noise, NoiseComb, Result, RunDocument
from hardstone.stats.conditions import SeriesRow, condition_of, conditions_in, names_in
from hardstone.stats.sustained import Step, steps_of
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import shorten, work_text

_MOST_COUNT = 1e15  # larger numbers of others are shown with an exponent
_UNITS = {
    "share": " %",
    "per_s": "/s",
    "processes": " processes",
    "jobs": " jobs",
    "groups": " groups",
    "rounds_per_s": " rounds/s",
}


@dataclass(frozen=True)
class LoadRow:
    """An element of a load; `reached` is its range over all tests, by CPU configuration."""

    load: str
    name: str
    element: str
    asked: str
    reached: list[str]
    is_short: list[bool]


@dataclass(frozen=True)
class LoadTable:
    cpu_configs: list[str]
    rows: list[LoadRow]


def load_table(document: RunDocument) -> LoadTable | None:
    """Requested and reached load by element; None if the run had no load."""
    conditions = conditions_in(document)
    configs = list(dict.fromkeys(one.cpu_config for one in conditions))
    labels = names_in(document)
    rows = [
        row
        for load in dict.fromkeys(one.load for one in conditions)
        for row in _rows(document, load, configs, labels.load(load))
    ]
    return LoadTable(configs, rows) if rows else None


def reached_text(result: Result) -> str:
    """All elements in one line: "cpu 9.97 % of 10 %, interrupt (kernel timers) 999/s of 1000/s"."""
    texts = []
    for one in result.load:
        how = f" ({shorten(one.how)})" if one.how else ""
        text = f"{shorten(one.element)}{how} {load_figure(one.reached, one.unit)}"
        if _least(one) < 0.95 * one.reached:
            text += f" (lowest {load_figure(_least(one), one.unit)})"
        if one.asked is not None:
            text += f" of {load_figure(one.asked, one.unit)}"
        texts.append(text)
    return ", ".join(texts)


def is_short(one: LoadReached) -> bool:
    """Whether any process reached less than 80 % of the request, or no round at all."""
    least = _least(one)
    return least <= 0 if one.asked is None else least < 0.8 * one.asked


def _least(one: LoadReached) -> float:
    """The lowest figure of any process: a mean would hide a CPU without load."""
    return one.reached if one.least is None else min(one.least, one.reached)


def _rows(document: RunDocument, load: str, configs: list[str], label: str) -> Iterable[LoadRow]:
    cells: dict[tuple[str, str], dict[str, list[LoadReached]]] = {}
    for result in document.results:
        under = condition_of(result)
        for one in result.load if under.load == load else ():
            by_config = cells.setdefault((one.element, one.degree), {})
            by_config.setdefault(under.cpu_config, []).append(one)
    for (element, _), by_config in cells.items():
        found = [by_config.get(config, []) for config in configs]
        first = next(one for part in found for one in part)
        how = f", {first.how}" if first.how else ""
        equals = "=" if first.degree and not first.degree.startswith("@") else ""
        yield LoadRow(
            load=label,
            name=shorten(f"{element}{how}"),
            # "network=4000/s, to target:7", "search@cpu"
            element=shorten(f"{element}{equals}{first.degree}{how}"),
            asked="continuous" if first.asked is None else load_figure(first.asked, first.unit),
            reached=[_reached_range(part) for part in found],
            is_short=[any(map(is_short, part)) for part in found],
        )
    if cells:
        yield from _average_row(document, load, configs, label)


def _average_row(
    document: RunDocument, load: str, configs: list[str], label: str
) -> Iterable[LoadRow]:
    """The kernel's 1-minute load average at the end of each test, if it was read."""
    averages: dict[str, list[float]] = {}
    for result in document.results:
        milli = result.environment.get("load_average_1min_milli")
        if condition_of(result).load == load and milli is not None:
            averages.setdefault(condition_of(result).cpu_config, []).append(milli / 1000)
    if averages:
        found = [averages.get(config) for config in configs]
        yield LoadRow(
            load=label,
            name="load average",
            element="1-minute load average at the end of the test",
            asked="-",
            reached=[_range(min(part), max(part), "") if part else "-" for part in found],
            is_short=[False] * len(configs),
        )


def _reached_range(found: list[LoadReached]) -> str:
    """From the lowest figure of any CPU to the highest mean of any test."""
    if not found:
        return "-"
    unit = found[0].unit
    lowest, highest = min(map(_least, found)), max(one.reached for one in found)
    return _range(lowest, highest, unit) + _spoken(unit)


def _range(low: float, high: float, unit: str) -> str:
    """Two numbers without their unit; one if they look the same."""
    first, last = _number(low, unit), _number(high, unit)
    return first if first == last else f"{first} to {last}"


def load_figure(value: float | None, unit: str) -> str:
    """10 %, 4 000/s, 240 processes; "-" if the request has no figure."""
    return "-" if value is None else _number(value, unit) + _spoken(unit)


def _spoken(unit: str) -> str:
    return _UNITS.get(unit, f" {shorten(unit, 20)}")


def _number(value: float, unit: str) -> str:
    value = 100 * value if unit == "share" else value
    is_count = 100 <= value < _MOST_COUNT
    return format_count(round(value)) if is_count else f"{value:.3g}"


def works_of(results: Sequence[Result | None], row: SeriesRow) -> list[str]:
    """Calibrated work per value of each series in `row`: "36 696 328 operations", or empty.

    `results`: those that the series are of.
    """
    return [
        work_text(series, result.calibrated) if result is not None and series is not None else ""
        for result, series in zip(results, row.found, strict=True)
    ]


def common_work(works: list[str]) -> str:
    """The work if it is equal under all conditions; empty if it differs or there is none."""
    found = list(dict.fromkeys(work for work in works if work))
    return found[0] if len(found) == 1 else ""


COLUMNS = ("what", "rate", "gaps", "filled", "median", "worst", "of the time")
_MEANING = {
    "tick": "tick of this kernel",
    "host tick": "tick of the host",
    "timer": "timer of this kernel",
    "uncounted": "not counted by this kernel",
    "periodic": "periodic interrupts",
    "irregular": "with empty slots",
    "throttling": "throttling",
    "fair server": "fair server",
}


@dataclass(frozen=True)
class NoiseRow:
    """The figures of a comb as texts, in the order of COLUMNS."""

    what: str
    rate: str
    gaps: str
    filled: str
    median: str
    worst: str
    share: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.what, self.rate, self.gaps, self.filled, self.median, self.worst, self.share)


@dataclass(frozen=True)
class NoiseTable:
    """The noise of one recording."""

    title: str
    rows: list[NoiseRow]
    remarks: list[str]


def noise_tables(result: Result) -> list[NoiseTable]:
    """A table for each recording of `result`; empty if it has no loop that watched."""
    several = len(result.noise) > 1
    return [
        NoiseTable(
            title=f"recording {number}: {_title(noise)}" if several else _title(noise),
            rows=[*(_row(comb, noise) for comb in noise.combs), _rest(noise)],
            remarks=list(_remarks(noise)),
        )
        for number, noise in enumerate(result.noise, 1)
    ]


def noise_line(result: Result) -> str:
    """The noise on one line: the tick, and the two others that take most of the time."""
    if not result.noise:
        return ""
    noise = result.noise[-1]
    ticks = [_brief(one) for one in noise.combs if one.name == "tick"] or ["no tick found"]
    others = sorted((one for one in noise.combs if one.name != "tick"), key=lambda o: -o.total_ns)
    parts = [*ticks, *(_brief(one) for one in others[:2])]
    return f"{', '.join(parts)}; gaps take {_share(noise.noise_ns, noise)} of the time"


def _title(noise: Noise) -> str:
    return (
        f"{format_count(noise.gaps_count)} gaps in {format_ns(noise.watched_ns)} of watching, "
        f"{_share(noise.noise_ns, noise)} of the time"
    )


def _brief(comb: NoiseComb) -> str:
    return f"{comb.name} {_rate(comb)} {format_ns(comb.median_ns)}"


def _row(comb: NoiseComb, noise: Noise) -> NoiseRow:
    return NoiseRow(
        what=_MEANING.get(comb.name, comb.name),
        rate=_rate(comb),
        gaps=format_count(comb.count),
        filled=f"{100 * comb.coverage:.1f} %",
        median=format_ns(comb.median_ns),
        worst=format_ns(comb.max_ns),
        share=_share(comb.total_ns, noise),
    )


def _rest(noise: Noise) -> NoiseRow:
    """All gaps that belong to no comb. Gaps of a mark are also in the comb that it marks."""
    own = [one for one in noise.combs if one.on_top_of is None]
    count = noise.merged_count - sum(one.count for one in own)
    total_ns = noise.noise_ns - sum(one.total_ns for one in own)
    share = _share(max(total_ns, 0), noise)
    return NoiseRow("no period", "-", format_count(max(count, 0)), "-", "-", "-", share)


def _rate(comb: NoiseComb) -> str:
    return f"{comb.rate_hz:.6g} Hz"


def _share(part_ns: int, noise: Noise) -> str:
    return f"{100 * part_ns / noise.watched_ns:.2g} %" if noise.watched_ns > 0 else "-"


def _remarks(noise: Noise) -> Iterator[str]:
    if noise.no_tick:
        yield f"No tick found: {noise.no_tick}."
    if noise.tick_ppm is not None and noise.tick_period_ns is not None:
        ppm = round(noise.tick_ppm, 2) + 0.0  # never -0.00
        yield (
            f"The tick's period is {noise.tick_period_ns / 1e6:.7g} ms, {ppm:+.2f} ppm "
            "against what the kernel states."
        )
    for comb in noise.combs:
        yield from _remarks_on(comb, noise)
    yield from _counted(noise)
    for note in noise.notes:
        yield f"{note[:1].upper()}{note[1:]}."


def _remarks_on(comb: NoiseComb, noise: Noise) -> Iterator[str]:
    name = _MEANING.get(comb.name, comb.name)
    place = comb.on_top_of
    if place is not None and comb.beyond_ns is not None and 0 <= place < len(noise.combs):
        other = noise.combs[place]
        yield (
            f"The {name} comes with the {_MEANING.get(other.name, other.name)} at "
            f"{_rate(other)}: {format_ns(comb.beyond_ns)} of its median are its own."
        )
    for mark in comb.marks:
        yield (
            f"Of the {name} at {_rate(comb)} one gap in {mark.every} is longer: "
            f"{format_ns(mark.median_ns)}, the others {format_ns(mark.rest_median_ns)} (medians)."
        )


def _counted(noise: Noise) -> Iterator[str]:
    if noise.timer_interrupts_count is None or not noise.counted_ns:
        yield "The kernel's counts of interrupts are not known: nothing checks the rates."
        return
    timer = noise.timer_interrupts_count * 1e9 / noise.counted_ns
    text = f"The kernel counted {timer:.4g} timer interrupts a second meanwhile"
    if noise.interrupts_count is not None:
        other = (noise.interrupts_count - noise.timer_interrupts_count) * 1e9 / noise.counted_ns
        text += f", and {other:.3g} others"
    yield f"{text}."


CAPTION = (
    "Late: not served before the next interrupt was due. Merged: came within another interruption."
)
HEADINGS = ("source", "period", "interrupts", "lost", "late", "merged", "sustained")


def step_line(step: Step, left_ns: int | None) -> str:
    """One finished step; with the time that is left."""
    counts = f"{format_count(step.lost)} lost of {format_count(step.interrupts)}"
    left = "" if left_ns is None else f"; about {format_span(left_ns)} left"
    return (
        f"{shorten(step.source, 20)}, {format_ns(step.period_ns)}: {counts}, {verdict(step)}{left}"
    )


def verdict(step: Step) -> str:
    """Whether the period was sustained, and whether the source is the reason if it was not."""
    if step.passed:
        return "sustained"
    return "not held by the source" if step.is_source_limited and not step.lost else "not sustained"


def step_rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Cells of each step as in HEADINGS, by source in the order of time and by falling period."""
    steps = steps_of(results)
    sources = list(dict.fromkeys(step.source for step in steps))
    steps.sort(key=lambda step: (sources.index(step.source), -step.period_ns))
    return [
        (
            shorten(step.source, 20),
            format_ns(step.period_ns),
            format_count(step.interrupts),
            format_count(step.lost),
            format_count(step.late),
            format_count(step.merged),
            "yes"
            if step.passed
            else "not by the source"
            if step.is_source_limited and not step.lost
            else "no",
        )
        for step in steps
    ]
