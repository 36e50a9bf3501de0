"""Degrees of the elements of a load: checked, and written in the one form of equal ones.

The form and its limits are those that the probe tells of the element, so no element stands
here. The probe has a reader of its own; what is written here is what that one takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hardstone.model import LoadElement
from hardstone.plan.host_port import read_address
from hardstone.plan.problems import Problems, quote
from hardstone.units import format_ns, parse_duration_ns, write_ns

EACH_CPU = "@cpu"
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True)
class Degree:
    """How much of an element: `text` None where it has no degree; of the whole system, or of
    each CPU of the load."""

    text: str | None
    each_cpu: bool = False

    def of(self, name: str) -> str:
        """The term of a load: "cpu=10ms/100ms", "search@cpu"."""
        term = name if self.text is None else f"{name}={self.text}"
        return term + EACH_CPU if self.each_cpu else term


def read_degree(element: LoadElement, text: str | None, problems: Problems) -> str | None:
    """The degree `text` of `element`, None being the one it has by itself, in its one form:
    "0.01s/0.1s" is "10ms/100ms". None where an element has no degree, or `text` is none."""
    if element.degree is None or element.default is None:
        if text is not None:
            problems.add(f"--load: {element.name} takes no degree", f"write {element.name} alone")
        return None
    degree = element.default if text is None else text
    read = _read_share if element.degree == "BUSY/PERIOD" else _read_number
    return read(f"--load: {element.name}={quote(degree)[1:-1]}", element, degree, problems)


def _read_number(what: str, element: LoadElement, degree: str, problems: Problems) -> str | None:
    tail = (element.degree or "").removeprefix("N")
    degree, at, host = degree.partition("@") if element.host else (degree, "", "")
    number = degree.removesuffix(tail)
    low, high = element.min or 1, element.max or 10**9
    if not degree.endswith(tail) or not _NUMBER.fullmatch(number):
        example = f"write for example {element.name}={element.default}"
        problems.add(f"{what} is not of the form {element.degree}", example)
    elif not low <= int(number) <= high:
        problems.add(f"{what} is out of limits", f"give {low}{tail} to {high}{tail}")
    elif at and read_address(host) is None:
        example = f"write for example {element.name}={element.default}@HOST:PORT"
        problems.add(f"{what} names no host and port", f"{example}, or @[::1]:7")
    else:
        return f"{int(number)}{tail}" + (f"@{read_address(host)}" if at else "")
    return None


def _read_share(what: str, element: LoadElement, degree: str, problems: Problems) -> str | None:
    busy, slash, period = degree.partition("/")
    spans = [_span_ns(text) for text in (busy, period)]
    if not slash or None in spans:
        example = f"write for example {element.name}={element.default}"
        problems.add(f"{what} is not a time in each period", example)
        return None
    busy_ns, period_ns = (span or 0 for span in spans)
    least, most = element.min_period_ns or 1, element.max_period_ns or period_ns
    least_busy = element.min_busy_ns or 1
    if not least <= period_ns <= most:
        limits = f"give a period of {format_ns(least)} to {format_ns(most)}"
        problems.add(f"{what} has a period out of limits", limits)
    elif not least_busy <= busy_ns <= period_ns:
        limits = f"give {format_ns(least_busy)} to the whole period"
        problems.add(f"{what} has a time of work out of limits", limits)
    else:
        return f"{write_ns(busy_ns)}/{write_ns(period_ns)}"
    return None


def _span_ns(text: str) -> int | None:
    """Of a time with its unit: a bare number would be a guess."""
    try:
        return parse_duration_ns(text) if text[-1:].isalpha() else None
    except ValueError:
        return None
