"""Untrusted values as text for people: sanitized, shortened, with units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from math import floor, log10

from hardstone.model import ParamValue, Scalar, Series, Unit
from hardstone.stats.calibrated import work_of
from hardstone.units import format_count, format_ns

LABEL_CHARACTERS = 48
_BEYOND_CHARTS = re.compile("[\U00010000-\U0010ffff]")
_KEPT_CONTROLS = "\n\t"
_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")


def clean(text: str) -> str:
    """`text` with unprintable characters and direction marks replaced by U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    # Cc controls, Cf direction marks and joiners, Cs surrogates, Cn noncharacters.
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn")
    return "\N{REPLACEMENT CHARACTER}" if hidden and character not in _KEPT_CONTROLS else character


def shorten(text: str, limit: int = LABEL_CHARACTERS) -> str:
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


def is_rate(unit: Unit) -> bool:
    """Whether more is better: of a rate the worst value is the least."""
    return unit == "bytes_per_s"


def worst_value(series: Series) -> int | None:
    """The worst observed: the largest value, of a rate the least."""
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
        return f"{spoken(_without_unit(name))} {', '.join(_item(name, one) for one in value)}"
    return label_text(name, value) if isinstance(value, int) else f"{spoken(name)} {value}"


def _without_unit(name: str) -> str:
    return name.removesuffix("_ns").removesuffix("_bytes")


def _item(name: str, value: int | str) -> str:
    if isinstance(value, int) and name.endswith("_ns"):
        return format_ns(value)
    return str(value)


def range_text(low: str, high: str) -> str:
    """Two values with their units as a range: "17.9 to 18.1 us", "990 ns to 1.02 us"."""
    figure, _, unit = low.rpartition(" ")
    return f"{figure} to {high}" if figure and high.endswith(f" {unit}") else f"{low} to {high}"


def fact_text(name: str, value: Scalar) -> str:
    """The value of a fact. Its unit is part of its name."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return format_count(value) if isinstance(value, int) else value
