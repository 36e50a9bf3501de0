"""What took the CPU from a watching loop: a row for each comb, and what must be said of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hardstone.model import Noise, NoiseComb, Result
from hardstone.units import format_count, format_ns

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
_BRIEF = 2


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
    """Of one recording."""

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
    """The most important of it on one line: the tick, and what takes most of the time else."""
    if not result.noise:
        return ""
    noise = result.noise[-1]
    ticks = [_brief(one) for one in noise.combs if one.name == "tick"] or ["no tick found"]
    others = sorted((one for one in noise.combs if one.name != "tick"), key=lambda o: -o.total_ns)
    parts = [*ticks, *(_brief(one) for one in others[:_BRIEF])]
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
    """All gaps that belong to no comb. Those of a mark are in the comb that it marks too."""
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
