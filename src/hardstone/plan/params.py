"""Input as typed, read and checked: tests by ID or glob, parameters, conditions, loads, numbers,
durations, sizes, CPU lists.

`Problems` collects all errors, so that a person sees them at once.

The probe's list of elements gives the form and the limits of each degree, so this file names no
element. The probe has a parser of its own, which accepts what this module writes.

A mix joins elements, with or without a degree, and named mixes by "+"; "@cpu" after one applies
its degrees to each CPU. The text from "stress-ng:" on is options of that program. Elements, mixes
and limits come from the probe (`hardstone-probe load --list`).
"""

from __future__ import annotations

import difflib
import fnmatch
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt

from hardstone.catalogue import Catalogue
from hardstone.errors import InputError, printable
from hardstone.model import Descriptor, LoadElement, Loads, ParamSpec, ParamValue, Register
from hardstone.units import format_count, format_ns, parse_duration_ns, write_ns

_MOST_NAMED = 8


class PlanError(InputError):
    """The request cannot be planned. `problems` has one line for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def reasons(self) -> list[tuple[str, str]]:
        """Each problem as cause and remedy; the remedy is the last clause of its line."""
        parts = (problem.rpartition("; ") for problem in self.problems)
        return [(cause or remedy, remedy if cause else "") for cause, _, remedy in parts]


class Problems:
    """The problems of a request, one line each: cause; remedy."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._lines = list(known)

    def add(self, cause: str, remedy: str) -> None:
        line = f"{cause}; {remedy}"
        if line not in self._lines:
            self._lines.append(line)

    def add_all(self, others: Problems) -> None:
        self._lines += [line for line in others._lines if line not in self._lines]

    @property
    def lines(self) -> tuple[str, ...]:
        """All problems so far, one line each."""
        return tuple(self._lines)

    @property
    def is_empty(self) -> bool:
        return not self._lines

    def raise_if_any(self, option: str = "") -> None:
        """Raises PlanError with every problem so far; drops `option` at the start of each."""
        if self._lines:
            raise PlanError([line.removeprefix(option) for line in self._lines])


def quote(text: str, limit: int = 40) -> str:
    """Typed text for a message: quoted, printable, short."""
    shown = printable(text)
    return f"'{shown if len(shown) <= limit else shown[: limit - 3] + '...'}'"


def nearest(text: str, names: Iterable[str]) -> str:
    """ "did you mean X?", or the known names if none is close."""
    known = list(names)
    by_fold = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(text[:200].casefold(), by_fold, n=1, cutoff=0.5)
    if close:
        return f"did you mean {by_fold[close[0]]}?"
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"choose from {', '.join(known[:_MOST_NAMED])}{more}" if known else "there are none"


MAX_SAMPLES = 10**12
MAX_SEED = 2**63 - 1
MAX_LATENCY_US = 2_000_000_000  # what the kernel has where nobody asks for less
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,12})([kmg]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_SIZE_UNIT = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_CPU_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", re.ASCII)
_MAX_CPUS = 1 << 16


def whole_number(text: str, name: str, low: int, high: int, problems: Problems) -> int | None:
    """Whole number from `low` to `high`; None, with a problem noted, for anything else."""
    digits = text.strip()
    if not _WHOLE.fullmatch(digits):
        problems.add(f"{name}: {quote(text)} is not a whole number", f"give {low} to {high}")
        return None
    value = int(digits)
    if not low <= value <= high:
        problems.add(f"{name}: {value} is out of range", f"give {low} to {high}")
        return None
    return value


def duration_ns(text: str, name: str, bare: str, problems: Problems) -> int | None:
    """Duration above zero in ns; None, with a problem noted, for anything else."""
    try:
        return parse_duration_ns(text, bare=bare)
    except ValueError as error:
        is_form = "write" in str(error)
        cause = f"{name}: {quote(text)} is not a duration" if is_form else f"{name}: {error}"
        problems.add(cause, f"give for example 30s, 5m, 24h, 250us or a bare number of {bare}")
        return None


def _size_bytes(text: str, name: str, problems: Problems) -> int | None:
    """Size such as 4096, 4k or 1M (powers of 1024) in bytes; None, with a problem noted, else."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        problems.add(f"{name}: {quote(text)} is not a size", "give bytes, or 4k, 1M, 2G")
        return None
    return int(match[1]) * _SIZE_UNIT[match[2].lower()]


def parse_cpu_list(text: str) -> set[int]:
    """CPUs of a list such as "0-3,6". Raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _CPU_RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{quote(text)} is not a list of CPUs")
        first = int(match[1])
        last = int(match[2] or first)
        if last < first:
            raise ValueError(f"{quote(text)} is in descending order: write {last}-{first}")
        if last - first > _MAX_CPUS:
            raise ValueError(f"{quote(text)} has too many CPUs")
        cpus.update(range(first, last + 1))
    return cpus


_MAX_PATTERN = 100


def find_tests(
    patterns: Sequence[str], register: Register, catalogue: Catalogue
) -> list[Descriptor]:
    """The tests that `patterns` name; PlanError with every pattern that names none."""
    problems = Problems()
    found = select_tests(patterns, register, catalogue, problems)
    problems.raise_if_any()
    return found


def select_tests(
    patterns: Sequence[str], register: Register, catalogue: Catalogue, problems: Problems
) -> list[Descriptor]:
    """The tests that `patterns` name, each once, in the given order.

    A glob gives battery order. A pattern without a match is noted, with the nearest name.
    """
    if not patterns:
        problems.add("no test was named", "see: hardstone list")
    in_order = sorted(register.tests, key=lambda test: catalogue.place(test.id))
    ordered = {test.id: test for test in in_order}
    selected: dict[str, Descriptor] = {}
    for pattern in patterns:
        wanted = pattern.strip().upper() if len(pattern) <= _MAX_PATTERN else ""
        found = [test for test in ordered if fnmatch.fnmatchcase(test.upper(), wanted)]
        if not found:
            problems.add(*_unknown(pattern, list(ordered), catalogue))
        selected.update({test: ordered[test] for test in found})
    return list(selected.values())


def _unknown(pattern: str, ordered: Sequence[str], catalogue: Catalogue) -> tuple[str, str]:
    if pattern.strip().upper() in catalogue.ids():
        return f"the probe has no test {quote(pattern)}", "update it: hardstone probe build"
    if any(char in pattern for char in "*?["):
        return f"no test matches {quote(pattern)}", "see: hardstone list"
    called = catalogue.called(pattern)
    if called:
        is_one = len(called) == 1
        its = f"its test{' is' if is_one else 's are'} {', '.join(called[:8])}"
        return f"unknown test {quote(pattern)}", f"{its}; see: hardstone explain {called[0]}"
    known = {name.casefold(): test for test in ordered for name in catalogue.entry(test).known_as}
    close = difflib.get_close_matches(pattern[:200].casefold(), known, n=1, cutoff=0.75)
    hint = f"did you mean {close[0]}, which is {known[close[0]]}?" if close else ""
    return f"unknown test {quote(pattern)}", (
        f"{hint or nearest(pattern, ordered)}; see all: hardstone list"
    )


_MAX_LIST = 16
_INT64 = 2**63 - 1


def split_assignments(pairs: Sequence[str], problems: Problems) -> dict[str, str]:
    """Names and texts of `key=value` pairs; faulty and repeated pairs are noted."""
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            problems.add(f"-p {quote(pair)} has no value", "write -p name=value")
        elif name in given:
            problems.add(f"-p {quote(name)} is given twice", "give it once, lists with commas")
        else:
            given[name] = text
    return given


def check_names(given: Sequence[str], tests: Sequence[Descriptor], problems: Problems) -> None:
    """Notes a problem for each name that no chosen test has as a parameter."""
    known = list(dict.fromkeys(spec.name for test in tests for spec in test.params))
    for name in given:
        if name not in known:
            cause = f"no chosen test has a parameter {quote(name)}"
            problems.add(cause, f"{nearest(name, known)} (explain TEST lists them)")


def fill_params(
    test: Descriptor, given: dict[str, str], problems: Problems
) -> dict[str, ParamValue]:
    """Every parameter of `test`, with the given value or its default."""
    filled: dict[str, ParamValue] = {}
    for spec in test.params:
        values = _values(test.id, spec, given, problems)
        if spec.is_list:
            filled[spec.name] = values
        elif values:
            filled[spec.name] = values[0]
    return filled


def _values(
    test: str, spec: ParamSpec, given: dict[str, str], problems: Problems
) -> list[int | str]:
    if spec.name not in given:
        return list(spec.default)
    parts = given[spec.name].split(",")
    name = f"{test} {spec.name}"
    if len(parts) > 1 and not spec.is_list:
        problems.add(f"{name} takes one value, not {len(parts)}", "run it once for each")
        return []
    if len(parts) > _MAX_LIST:
        problems.add(f"{name} has {len(parts)} values", f"give at most {_MAX_LIST}")
        return []
    values = [_value(name, spec, part.strip(), problems) for part in parts]
    found = [value for value in values if value is not None]
    return list(dict.fromkeys(found)) if spec.label else found


def _value(name: str, spec: ParamSpec, text: str, problems: Problems) -> int | str | None:
    if spec.unit == "name":
        if text in spec.choices:
            return text
        problems.add(f"{name}: unknown {quote(text)}", nearest(text, spec.choices))
        return None
    if spec.unit == "ns" and not (text == "0" and _is_within(spec, 0)):
        value = duration_ns(text, name, "ns", problems)
    elif spec.unit == "bytes":
        value = _size_bytes(text, name, problems)
    else:
        low, high = spec.min or 0, _INT64 if spec.max is None else spec.max
        value = whole_number(text, name, low, high, problems)
    if value is None or _is_within(spec, value):
        return value
    problems.add(f"{name}: {quote(text)} is out of limits", f"give {limits_text(spec)}")
    return None


def _is_within(spec: ParamSpec, value: int) -> bool:
    return (spec.min is None or value >= spec.min) and (spec.max is None or value <= spec.max)


def limits_text(spec: ParamSpec) -> str:
    """The values that a parameter takes, in words: "10 us to 1 s", "add, copy"."""
    if spec.unit == "name":
        return ", ".join(spec.choices) or "any name"
    show = format_ns if spec.unit == "ns" else format_count
    low = show(spec.min or 0)
    return f"{low} or more" if spec.max is None else f"{low} to {show(spec.max)}"


_SECOND_NS = 1_000_000_000


def longest_stable_ns(stiffness_per_s2: int) -> int:
    """The longest step at which the integration is stable with springs of this stiffness."""
    return isqrt(_SECOND_NS**2 // (6 * stiffness_per_s2))


def check_tire(test: str, params: Mapping[str, ParamValue], problems: Problems) -> None:
    """Notes masses that make no tire, more threads than masses, and an unstable step. Nothing for
    a test without masses."""
    masses, threads = _numbers(params, "masses"), _numbers(params, "threads")
    if not masses or not threads:
        return
    for count in masses:
        if count % 4:
            cause = f"{test} masses: {count} is not a multiple of 4"
            near = sorted({max(count // 4 * 4, 4), count // 4 * 4 + 4})
            problems.add(cause, f"give {' or '.join(map(str, near))}")
    if max(threads) > min(masses):
        cause = f"{test} threads: {max(threads)} threads are too many for {min(masses)} masses"
        problems.add(cause, "give at most as many threads as masses")
    step_ns, stiffness = params.get("step_ns"), params.get("stiffness_per_s2")
    if isinstance(step_ns, int) and isinstance(stiffness, int) and stiffness:
        limit_ns = longest_stable_ns(stiffness)
        if step_ns > limit_ns:
            cause = f"{test} step_ns: {format_ns(step_ns)} is unstable at {stiffness} per s^2"
            problems.add(cause, f"give {limit_ns}ns or less, or leave stiffness_per_s2 out")


def _numbers(params: Mapping[str, ParamValue], name: str) -> list[int]:
    values = params.get(name)
    return [one for one in values if isinstance(one, int)] if isinstance(values, list) else []


_MAX_HOST = 120
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,32}", re.ASCII)
_MOST_PORT = 65535


def _read_address(text: str) -> str | None:
    """`text` in one form: "[::1]:7" for "[0::1]:007", "target:7" for "Target:7"; None if faulty."""
    host, colon, port = text.rpartition(":")
    found: str | None
    if host.startswith("["):
        found = _bracketed(host)
    else:
        is_name = len(host) <= _MAX_HOST and _NAME.fullmatch(host) is not None
        found = host.lower() if is_name else None
    is_port = _PORT.fullmatch(port) is not None and 1 <= int(port) <= _MOST_PORT
    return f"{found}:{int(port)}" if colon and found and is_port else None


def _bracketed(host: str) -> str | None:
    """An IPv6 address, with its zone after % if it has one."""
    if not host.endswith("]") or len(host) > _MAX_HOST:
        return None
    number, percent, zone = host[1:-1].partition("%")
    try:
        address = ipaddress.IPv6Address(number)
    except ValueError:
        return None
    if percent and not _ZONE.fullmatch(zone):
        return None
    return f"[{address.compressed}{percent}{zone}]"


_EACH_CPU = "@cpu"
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True)
class _Degree:
    """How much of an element, for the whole system or for each CPU of the load. `text` is None
    if the element takes no degree."""

    text: str | None
    each_cpu: bool = False

    def of(self, name: str) -> str:
        """The term of a load: "cpu=10ms/100ms", "search@cpu"."""
        term = name if self.text is None else f"{name}={self.text}"
        return term + _EACH_CPU if self.each_cpu else term


def _read_degree(element: LoadElement, text: str | None, problems: Problems) -> str | None:
    """The degree `text` of `element` (None: its default) in its one form, "10ms/100ms" for
    "0.01s/0.1s". None if the element takes no degree, or, with a problem noted, for a fault."""
    if element.degree is None or element.default is None:
        if text is not None:
            problems.add(f"--load: {element.name} has no degree", f"write {element.name} alone")
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
    elif at and _read_address(host) is None:
        example = f"write for example {element.name}={element.default}@HOST:PORT"
        problems.add(f"{what} does not name a host and port", f"{example}, or @[::1]:7")
    else:
        return f"{int(number)}{tail}" + (f"@{_read_address(host)}" if at else "")
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


NONE = "none"
FOREIGN = "stress-ng:"
REBUILD = "rebuild it: hardstone probe build"
_OPTIONS = "OPTIONS"
_MAX_OPTIONS = 500
_MOST_NESTED = 8
_MOST_TERMS = 64


@dataclass
class _Mix:
    """The parts of a load: degrees by element, and the options of stress-ng if that is one."""

    known: Loads
    problems: Problems
    degrees: dict[str, _Degree] = field(default_factory=dict)
    options: str | None = None
    terms: int = 0

    def text(self) -> str:
        """The one form of equal loads: named mixes, the largest first, then elements in the
        order of the probe, each with its degree."""
        left = dict(self.degrees)
        terms = []
        for name, degrees in _named_mixes(self.known):
            if degrees.items() <= left.items():
                terms.append(name)
                left = {one: degree for one, degree in left.items() if one not in degrees}
        order = [one.name for one in self.known.elements if one.name in left]
        terms += [left[name].of(name) for name in order]
        return "+".join(terms if self.options is None else [*terms, FOREIGN + self.options])


def read_mix(text: str, known: Loads, problems: Problems) -> _Mix:
    """Parses the load `text`; faults are noted."""
    mix = _Mix(known, problems)
    _add_terms(mix, text, 0, each_cpu=False)
    return mix


def _is_load(text: str, known: Loads) -> bool:
    """Whether `text` is a load by itself, "none" included."""
    problems = Problems()
    if text != NONE:
        read_mix(text, known, problems)
    return problems.is_empty


def _named_mixes(known: Loads) -> list[tuple[str, dict[str, _Degree]]]:
    """Named mixes with their degrees, also with "@cpu"; the largest first."""
    found = []
    for name in [one.name + tail for one in known.mixes for tail in ("", _EACH_CPU)]:
        problems = Problems()
        degrees = read_mix(name, known, problems).degrees
        if problems.is_empty and degrees:
            found.append((name, degrees))
    return sorted(found, key=lambda mix: -len(mix[1]))


def _add_terms(mix: _Mix, text: str, depth: int, *, each_cpu: bool) -> None:
    head, marker, options = text.partition(FOREIGN)
    if marker and (not head or head.endswith("+")):
        terms = head.split("+")[:-1]
        _add_foreign(mix, options)
    else:
        terms = text.split("+")
    for term in terms:
        plain = term.removesuffix(_EACH_CPU)
        _add_term(mix, plain, depth, each_cpu=each_cpu or plain != term)


def _add_term(mix: _Mix, term: str, depth: int, *, each_cpu: bool) -> None:
    name, equals, degree = term.partition("=")
    elements = {one.name: one for one in mix.known.elements if one.degree != _OPTIONS}
    mixes = {one.name: one.load for one in mix.known.mixes}
    mix.terms += 1
    if mix.terms > _MOST_TERMS:
        mix.problems.add(f"--load: more than {_MOST_TERMS} terms", "name each element once")
    elif not term:
        mix.problems.add("--load: a part of a mix is empty", "write for example cpu=10ms/100ms")
    elif name in mixes and not equals and depth < _MOST_NESTED:
        _add_terms(mix, mixes[name], depth + 1, each_cpu=each_cpu)
    elif name in elements and name in mix.degrees:
        cause = f"--load: {name} is given twice"
        mix.problems.add(cause, "name it once (a mix may already include it)")
    elif name in elements:
        typed = degree if equals else None
        mix.degrees[name] = _Degree(_read_degree(elements[name], typed, mix.problems), each_cpu)
    elif name in mixes:
        mix.problems.add(f"--load: {name} is a mix and has no degree", "write it alone")
    elif name == NONE:
        mix.problems.add("--load: none cannot be part of a mix", "leave it out")
    else:
        names = [*elements, *mixes, NONE]
        mix.problems.add(f"--load: unknown {quote(name)}", nearest(name, names))


def _add_foreign(mix: _Mix, options: str) -> None:
    """Joins the options by single spaces; the probe splits them at spaces."""
    if all(one.degree != _OPTIONS for one in mix.known.elements):
        mix.problems.add("--load: the probe does not support stress-ng", REBUILD)
    mix.options = " ".join(word for word in options.split(" ") if word)
    if not mix.options or len(mix.options) > _MAX_OPTIONS:
        cause = f"--load: stress-ng: has {'too many' if mix.options else 'no'} options"
        mix.problems.add(cause, "write for example stress-ng:--cpu 2")


SHARED = "shared"
SINGLE = "single"
SHIELDED = "shielded"
_CPU_CONFIGS = (SHARED, SINGLE, SHIELDED)
_MOST_LOADS = 16
_MAX_TEXT = 600


def split_loads(given: Sequence[str]) -> list[str]:
    """The loads of all comma lists; from "stress-ng:" on, a value is not split."""
    found: list[str] = []
    for value in given:
        head, marker, options = value.partition(FOREIGN)
        parts = head.split(",")
        if marker:
            parts[-1] += marker + options
        found += [part.strip() for part in parts]
    return found


def check_loads(given: Sequence[str], known: Loads | None, problems: Problems) -> list[str]:
    """The requested loads, each in the one form that equal loads share. A faulty load is noted
    and left as typed."""
    typed = split_loads(given)
    _check_named("--load", typed, problems)
    if len(typed) > _MOST_LOADS:
        problems.add(f"--load names {len(typed)} loads", f"give at most {_MOST_LOADS}")
        return typed[:_MOST_LOADS]
    loads = [_one_form(load, known, problems) for load in typed]
    _check_once("--load", typed, loads, problems)
    return loads


def check_load(text: str, known: Loads | None, problems: Problems) -> str:
    """The same for exactly one load, which is not "none"."""
    typed = split_loads([text])
    if len(typed) > 1:
        problems.add(f"{quote(text)} names {len(typed)} loads", "give one; + joins elements")
    elif typed[0] in ("", NONE):
        problems.add(f"{quote(text)} is not a load", "write for example heavy")
    else:
        return check_loads(typed, known, problems)[0]
    return text


def check_cpu_configs(given: Sequence[str], problems: Problems) -> list[str]:
    """The requested CPU configurations, each known and named once."""
    configs = [part.strip() for value in given for part in value.split(",")]
    _check_named("--cpu-config", configs, problems)
    _check_once("--cpu-config", configs, configs, problems)
    for config in configs:
        if config and config not in _CPU_CONFIGS:
            cause = f"--cpu-config: unknown {quote(config)}"
            problems.add(cause, nearest(config, _CPU_CONFIGS))
    return configs


def started_processes(load: str, known: Loads | None, cpus: int) -> int:
    """Processes, jobs and groups whose number a valid load gives ("storm=240"), on `cpus` CPUs,
    as processes; each takes time to start."""
    if known is None or load == NONE:
        return 0
    degrees = read_mix(load, known, Problems()).degrees
    counted = {one.name: one.processes_each for one in known.elements if one.degree == "N"}
    return sum(
        int(degree.text or 0) * counted[name] * (cpus if degree.each_cpu else 1)
        for name, degree in degrees.items()
        if name in counted
    )


def _check_named(option: str, parts: Sequence[str], problems: Problems) -> None:
    if not parts or "" in parts:
        problems.add(f"{option}: a name is empty", "give names separated by commas")


def _check_once(
    option: str, typed: Sequence[str], parts: Sequence[str], problems: Problems
) -> None:
    """`parts` are the `typed` texts in the one form that equal ones share."""
    first: dict[str, str] = {}
    for text, part in zip(typed, parts, strict=True):
        if part and part in first and text == first[part]:
            problems.add(f"{option}: {quote(text)} is given twice", "give it once")
        elif part and part in first:
            both = f"{quote(first[part])} and {quote(text)}"
            problems.add(f"{option}: {both} are the same", "give one of them")
        first.setdefault(part, text)


def _one_form(load: str, known: Loads | None, problems: Problems) -> str:
    if load in (NONE, ""):
        return load
    if known is None:
        problems.add("--load: the probe supports no load", REBUILD)
        return load
    own = Problems()
    text = load
    if len(load) <= _MAX_TEXT and load.isprintable():
        _check_options(load, known, own)
        text = read_mix(load, known, own).text()
    if len(text) > _MAX_TEXT or not text.isprintable():
        cause = f"--load: {quote(load)} is too long or not printable"
        own.add(cause, f"give at most {_MAX_TEXT} printable characters")
    problems.add_all(own)
    return text if own.is_empty else load


def _check_options(load: str, known: Loads, problems: Problems) -> None:
    """Refuses a load after a comma in the options of stress-ng: it would become an option.

    The comma belongs to a list of stress-ng (--class cpu,memory) if another option follows, or
    if bare names stand on both sides.
    """
    elements = {one.name for one in known.elements}
    parts = [part.strip() for part in load.partition(FOREIGN)[2].split(",")]
    for at, part in enumerate(parts[1:], 1):
        rest = " ".join(parts[at + 1 :]).split()
        before = parts[at - 1].split()[-1:]
        is_listed = bool(before) and before[0].isalpha() and part in elements
        if any(word.startswith("-") for word in rest) or is_listed:
            continue
        if _is_load(part, known):
            problems.add(
                f"--load: everything after stress-ng: is passed to it, including {quote(part)}",
                f"put {quote(part)} before stress-ng:, or write a stress-ng option there",
            )
            return
