"""Loads and CPU configurations as typed: lists, checked against what the probe can make.

A load is a mix of elements joined by "+", each with or without a degree, a named mix, or
"none"; "stress-ng:OPTIONS" takes the rest of the text. The probe knows elements, mixes and
limits (`hardstone-probe load --list`), so nothing of that stands here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from hardstone.model import LoadElement, Loads
from hardstone.plan.problems import Problems, nearest, quote
from hardstone.units import format_ns, parse_duration_ns

NONE, SHARED = "none", "shared"
CPU_CONFIGS = (SHARED, "single", "shielded")
FOREIGN = "stress-ng:"
MOST_LOADS = 16
_MAX_TEXT = 600
_MAX_OPTIONS = 500
_MOST_NESTED = 8
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_REBUILD = "rebuild it: hardstone probe build"


@dataclass
class _Mix:
    """The terms of one load so far: degrees by element."""

    known: Loads
    problems: Problems
    degrees: dict[str, str | None] = field(default_factory=dict)


def split_loads(given: Sequence[str]) -> list[str]:
    """Single loads of all comma lists; from "stress-ng:" on a value is taken whole."""
    found: list[str] = []
    for value in given:
        head, marker, options = value.partition(FOREIGN)
        parts = head.split(",")
        if marker:
            parts[-1] += marker + options
        found += [part.strip() for part in parts]
    return found


def check_loads(given: Sequence[str], known: Loads | None, problems: Problems) -> list[str]:
    """The loads that were asked for; what is wrong with any of them is noted."""
    loads = split_loads(given)
    _check_list("--load", loads, problems)
    if len(loads) > MOST_LOADS:
        problems.add(f"--load names {len(loads)} loads", f"give at most {MOST_LOADS}")
        return loads[:MOST_LOADS]
    if known is None and any(load not in (NONE, "") for load in loads):
        problems.add("--load: the probe makes no load", _REBUILD)
    for load in loads:
        if load not in (NONE, "") and known is not None:
            _check_load(load, known, problems)
    return loads


def check_cpu_configs(given: Sequence[str], problems: Problems) -> list[str]:
    """The CPU configurations that were asked for, each known and named once."""
    configs = [part.strip() for value in given for part in value.split(",")]
    _check_list("--cpu-config", configs, problems)
    for config in configs:
        if config and config not in CPU_CONFIGS:
            cause = f"--cpu-config: unknown {quote(config)}"
            problems.add(cause, nearest(config, CPU_CONFIGS))
    return configs


def started_processes(load: str, known: Loads | None) -> int:
    """How many processes a valid load starts by number ("storm=240"): each takes a while."""
    if known is None or load == NONE:
        return 0
    mix = _Mix(known, Problems())
    _add_terms(mix, load, 0)
    counted = {one.name for one in known.elements if one.degree == "N"}
    return sum(int(degree or 0) for name, degree in mix.degrees.items() if name in counted)


def _check_list(option: str, parts: Sequence[str], problems: Problems) -> None:
    if not parts or "" in parts:
        problems.add(f"{option}: a name is empty", "give names, with commas between them")
    for part in dict.fromkeys(part for part in parts if parts.count(part) > 1 and part):
        problems.add(f"{option}: {quote(part)} is given twice", "give it once")


def _check_load(load: str, known: Loads, problems: Problems) -> None:
    if len(load) > _MAX_TEXT or not load.isprintable():
        cause = f"--load: {quote(load)} is too long or not printable"
        problems.add(cause, f"give at most {_MAX_TEXT} printable characters")
        return
    _add_terms(_Mix(known, problems), load, 0)


def _add_terms(mix: _Mix, text: str, depth: int) -> None:
    head, marker, options = text.partition(FOREIGN)
    if marker and (not head or head.endswith("+")):
        terms = head.split("+")[:-1]
        _add_foreign(mix, options)
    else:
        terms = text.split("+")
    for term in terms:
        _add_term(mix, term, depth)


def _add_term(mix: _Mix, term: str, depth: int) -> None:
    name, equals, degree = term.partition("=")
    elements = {one.name: one for one in mix.known.elements if one.degree != "OPTIONS"}
    mixes = {one.name: one.load for one in mix.known.mixes}
    if not term:
        mix.problems.add("--load: a part of a mix is empty", "write for example cpu=10ms/100ms")
    elif name in mixes and not equals and depth < _MOST_NESTED:
        _add_terms(mix, mixes[name], depth + 1)
    elif name in elements:
        _add_element(mix, elements[name], degree if equals else None)
    elif name in mixes:
        mix.problems.add(f"--load: {name} is a mix and takes no degree", "write it alone")
    elif name == NONE:
        mix.problems.add("--load: none stands alone", "leave it out of the mix")
    else:
        names = [*elements, *mixes, NONE]
        mix.problems.add(f"--load: unknown {quote(name)}", nearest(name, names))


def _add_element(mix: _Mix, element: LoadElement, degree: str | None) -> None:
    if element.name in mix.degrees:
        cause = f"--load: {element.name} is there twice"
        mix.problems.add(cause, "name it once; a named mix may hold it")
    elif degree is not None:
        _check_degree(element, degree, mix.problems)
    mix.degrees[element.name] = element.default if degree is None else degree


def _add_foreign(mix: _Mix, options: str) -> None:
    if all(one.degree != "OPTIONS" for one in mix.known.elements):
        mix.problems.add("--load: the probe knows no stress-ng", _REBUILD)
    if not options.strip() or len(options) > _MAX_OPTIONS:
        cause = f"--load: stress-ng: has {'too many' if options.strip() else 'no'} options"
        mix.problems.add(cause, "write for example stress-ng:--cpu 2")


def _check_degree(element: LoadElement, degree: str, problems: Problems) -> None:
    what = f"--load: {element.name}={quote(degree)[1:-1]}"
    if element.degree is None or element.default is None:
        problems.add(f"--load: {element.name} takes no degree", f"write {element.name} alone")
    elif element.degree == "BUSY/PERIOD":
        _check_share(what, element, degree, problems)
    else:
        _check_number(what, element, degree, problems)


def _check_number(what: str, element: LoadElement, degree: str, problems: Problems) -> None:
    tail = (element.degree or "").removeprefix("N")
    number = degree.removesuffix(tail)
    is_form = degree.endswith(tail) and _NUMBER.fullmatch(number)
    low, high = element.min or 1, element.max or 10**9
    if not is_form:
        example = f"write for example {element.name}={element.default}"
        problems.add(f"{what} is not of the form {element.degree}", example)
    elif not low <= int(number) <= high:
        problems.add(f"{what} is out of limits", f"give {low}{tail} to {high}{tail}")


def _check_share(what: str, element: LoadElement, degree: str, problems: Problems) -> None:
    busy, slash, period = degree.partition("/")
    spans = [_span_ns(text) for text in (busy, period)]
    if not slash or None in spans:
        example = f"write for example {element.name}={element.default}"
        problems.add(f"{what} is not a time in each period", example)
        return
    busy_ns, period_ns = (span or 0 for span in spans)
    least, most = element.min_period_ns or 1, element.max_period_ns or period_ns
    least_busy = element.min_busy_ns or 1
    if not least <= period_ns <= most:
        limits = f"give a period of {format_ns(least)} to {format_ns(most)}"
        problems.add(f"{what} has a period out of limits", limits)
    elif not least_busy <= busy_ns <= period_ns:
        limits = f"give {format_ns(least_busy)} to the whole period"
        problems.add(f"{what} has a time of work out of limits", limits)


def _span_ns(text: str) -> int | None:
    """Of a time with its unit: a bare number would be a guess."""
    try:
        return parse_duration_ns(text) if text[-1:].isalpha() else None
    except ValueError:
        return None
