"""Degrees of load elements, checked and normalised.

The probe's list of elements gives the form and the limits of each degree, so this file names no
element. The probe has a parser of its own, which accepts what this module writes.
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
    """How much of an element, for the whole system or for each CPU of the load. `text` is None
    if the element takes no degree."""

    text: str | None
    each_cpu: bool = False

    def of(self, name: str) -> str:
        """The term of a load: "cpu=10ms/100ms", "search@cpu"."""
        term = name if self.text is None else f"{name}={self.text}"
        return term + EACH_CPU if self.each_cpu else term


def read_degree(element: LoadElement, text: str | None, problems: Problems) -> str | None:
    """The degree `text` of `element` (None: its default) in its one form, "10ms/100ms" for
    "0.01s/0.1s". None if the element takes no degree, or, with a problem noted, for a fault."""
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
        problems.add(f"{what} does not have the form {element.degree}", example)
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
        problems.add(f"{what} does not have the form {element.degree}", example)
        return None
    busy_ns, period_ns = (span or 0 for span in spans)
    least, most = element.min_period_ns or 1, element.max_period_ns or period_ns
    least_busy = element.min_busy_ns or 1
    if not least <= period_ns <= most:
        limits = f"give a period of {format_ns(least)} to {format_ns(most)}"
        problems.add(f"{what}: the period is out of limits", limits)
    elif not least_busy <= busy_ns <= period_ns:
        limits = f"give {format_ns(least_busy)} up to the whole period"
        problems.add(f"{what}: the busy time is out of limits", limits)
    else:
        return f"{write_ns(busy_ns)}/{write_ns(period_ns)}"
    return None


def _span_ns(text: str) -> int | None:
    """The duration in ns; None for a faulty one, and without a unit, which would be a guess."""
    try:
        return parse_duration_ns(text) if text[-1:].isalpha() else None
    except ValueError:
        return None
