"""Pieces of text for the terminal: untrusted words cleaned, figures with units."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from hardstone.model import ParamValue, Scalar
from hardstone.report.text import clean, shorten
from hardstone.units import format_ns


def words(text: str, style: str = "") -> Text:
    """Untrusted text without controls and without markup."""
    return Text(" ".join(clean(text).split()), style=style)


def short(value: Scalar, limit: int = 60) -> str:
    """A fact as one short line, empty where it is not known."""
    return "" if value is None else shorten(str(value), limit)


def label_value(key: str, value: int | str) -> str:
    """A label where its name is plain from the table: "10 ms", "timerfd", "cpu 0"."""
    if isinstance(value, str):
        return shorten(value, 40)
    return format_ns(value) if key.endswith("_ns") else f"{key.replace('_', ' ')} {value}"


def param_text(name: str, value: ParamValue) -> str:
    """A parameter with its value: "interval 1 ms", "kinds add, copy"."""
    values = value if isinstance(value, list) else [value]
    is_time = name.endswith("_ns")
    shown = [format_ns(one) if is_time and isinstance(one, int) else str(one) for one in values]
    return f"{spoken(name.removesuffix('_ns'))} {', '.join(shown)}"


def labels_text(labels: Mapping[str, int | str]) -> str:
    """All labels of a series in one line."""
    return ", ".join(label_value(key, value) for key, value in labels.items())


def spoken(name: str) -> str:
    """A name of the contract as words: "round_trip" is "round trip"."""
    return shorten(name.replace("_", " "), 40)
