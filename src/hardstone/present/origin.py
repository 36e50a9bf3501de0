"""What is said of a run that was read from a file of another tool: where it is from, and what the
file could not say. Said wherever such a run appears.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hardstone.errors import InputError
from hardstone.figure_text import level_text, quantile_value
from hardstone.model import Imported, RunDocument, Series
from hardstone.stats.identity import step_of
from hardstone.stats.quantiles import summarise
from hardstone.systems.moments import load_moments
from hardstone.units import format_count
from hardstone.wording import format_value, one_line, series_text, shorten, spoken

_MOST_VALUE = 200
_MOST_COMMAND = 400


def tool_title(imported: Imported) -> str:
    """The tool with its version: "cyclictest 2.40"."""
    known = load_moments().get(imported.tool)
    title = known.title if known is not None else shorten(imported.tool)
    return " ".join(filter(None, (title, shorten(imported.version or "", 40))))


def origin_text(imported: Imported) -> str:
    """The file and its tool: "cyclictest-hist.txt, histogram file of cyclictest 2.40"."""
    file, form = shorten(imported.file, 60), shorten(imported.format, 40)
    return f"{file}, {form} of {tool_title(imported)}"


def origin_rows(imported: Imported) -> list[tuple[str, str]]:
    """(what, text): tool, format, file and command, as far as the file has them."""
    found = [
        ("tool", tool_title(imported)),
        ("format", shorten(imported.format, 80)),
        ("file", f"{shorten(imported.file, 120)}, {format_count(imported.size_bytes)} bytes"),
        ("command", one_line(imported.command or "")[:_MOST_COMMAND]),
    ]
    return [(name, text) for name, text in found if text]


def loss_texts(imported: Imported) -> list[str]:
    """What the file could not say, a sentence each; one of a single series names it first."""
    return [
        f"{spoken(one.series)}: {one_line(one.text)}" if one.series else one_line(one.text)
        for one in imported.losses
    ]


def unknown_rows(imported: Imported) -> list[tuple[str, str]]:
    """The keys of the file that hardstone does not know, by path, with their values."""
    return [
        (shorten(key, 80), shorten(value, _MOST_VALUE)) for key, value in imported.unknown.items()
    ]


def unknown_text(imported: Imported) -> str:
    """How many keys of the file are not known; "" if none is."""
    count = len(imported.unknown)
    if not count:
        return ""
    keys = "1 key" if count == 1 else f"{format_count(count)} keys"
    return f"{keys} of the file not known to hardstone"


def imported_lines(document: RunDocument) -> list[str]:
    """All of it for a list of remarks: first where the run is from; empty where hardstone measured
    it."""
    imported = document.imported
    if imported is None:
        return []
    first = f"read from {origin_text(imported)}: hardstone did not measure it"
    losses = [one.removesuffix(".") for one in loss_texts(imported)]
    return [first, *losses, *filter(None, [unknown_text(imported)])]


@dataclass(frozen=True)
class WithoutWorst:
    """A series of durations without a maximum. `tail`: its deepest quantile; "-" for what the file
    does not have."""

    test: str
    name: str
    mean: str
    median: str
    tail: str


def without_worst(document: RunDocument) -> list[WithoutWorst]:
    """The series of a file that have values and no maximum, in its order."""
    found = []
    for result in document.results:
        for series in result.series:
            if series.unit == "ns" and series.count and series.max is None:
                found.append(_without_worst(result.test, series))
    return found


def _without_worst(test: str, series: Series) -> WithoutWorst:
    try:
        quantiles = summarise(series).quantiles
    except InputError:  # it is reported as a contradiction
        quantiles = []
    step = step_of(series)
    texts = {one.q: quantile_value(one, series.unit, step=step) for one in quantiles}
    last = max(texts, default=0.5)
    tail = f"{level_text(last)} {texts[last]}" if last > 0.5 else "-"
    mean = format_value(series.mean, series.unit)
    return WithoutWorst(test, series_text(series), mean, texts.get(0.5, "-"), tail)


def means_only(document: RunDocument) -> Iterator[tuple[str, str, float]]:
    """(test, series, mean) of each series of durations whose file has neither maximum nor
    distribution."""
    for result in document.results:
        for series in result.series:
            is_bare = series.max is None and not series.histogram.buckets
            if series.unit == "ns" and series.mean is not None and is_bare:
                yield result.test, series_text(series), series.mean
