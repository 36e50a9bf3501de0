"""Input as typed, read and checked: tests by ID or glob, parameters, numbers, durations, sizes,
CPU lists.

`Problems` collects all errors, so that a person sees them at once.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isqrt

from hardstone.catalogue import Catalogue
from hardstone.errors import InputError
from hardstone.model import Descriptor, ParamSpec, ParamValue, Register
from hardstone.units import format_count, format_ns, parse_duration_ns

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
    shown = "".join(char if char.isprintable() else "?" for char in text)
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


def size_bytes(text: str, name: str, problems: Problems) -> int | None:
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
            raise ValueError(f"{quote(text)} counts down: write {last}-{first}")
        if last - first > _MAX_CPUS:
            raise ValueError(f"{quote(text)} has too many CPUs")
        cpus.update(range(first, last + 1))
    return cpus


_MAX_PATTERN = 100


def battery(register: Register, catalogue: Catalogue) -> list[Descriptor]:
    """All tests of the probe in the order of the catalogue, which may lack the last ones."""
    return sorted(register.tests, key=lambda test: catalogue.place(test.id))


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
    """The tests that `patterns` name, each once, in the given order; a test that gives figures
    to another one comes before it.

    A glob gives battery order. A pattern without a match is noted, with the nearest name.
    """
    if not patterns:
        problems.add("no test was named", "see: hardstone list")
    ordered = {test.id: test for test in battery(register, catalogue)}
    selected: dict[str, Descriptor] = {}
    for pattern in patterns:
        found = _match(pattern, list(ordered))
        if not found:
            problems.add(*_unknown(pattern, list(ordered), catalogue))
        selected.update({test: ordered[test] for test in found})
    return [selected[test] for test in _givers_first(list(selected), catalogue)]


def _givers_first(tests: Sequence[str], catalogue: Catalogue) -> list[str]:
    """`tests`, in which a test that gives figures to another one comes before it."""
    order: dict[str, None] = {}
    for test in tests:
        giver = catalogue.entry(test).after
        if giver in tests:
            order.setdefault(giver)
        order.setdefault(test)
    return list(order)


def _match(pattern: str, ordered: Sequence[str]) -> list[str]:
    if len(pattern) > _MAX_PATTERN:
        return []
    wanted = pattern.strip().upper()
    return [test for test in ordered if fnmatch.fnmatchcase(test.upper(), wanted)]


def _unknown(pattern: str, ordered: Sequence[str], catalogue: Catalogue) -> tuple[str, str]:
    if pattern.strip().upper() in catalogue.ids():
        return f"the probe has no test {quote(pattern)}", "update it: hardstone probe build"
    if any(char in pattern for char in "*?["):
        return f"no test matches {quote(pattern)}", "see: hardstone list"
    return f"unknown test {quote(pattern)}", f"{nearest(pattern, ordered)}; see all: hardstone list"


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
        return _choice(name, spec, text, problems)
    value = _figure(name, spec, text, problems)
    if value is None or _is_within(spec, value):
        return value
    problems.add(f"{name}: {quote(text)} is out of limits", f"give {limits_text(spec)}")
    return None


def _choice(name: str, spec: ParamSpec, text: str, problems: Problems) -> str | None:
    if text in spec.choices:
        return text
    problems.add(f"{name}: unknown {quote(text)}", nearest(text, spec.choices))
    return None


def _figure(name: str, spec: ParamSpec, text: str, problems: Problems) -> int | None:
    if spec.unit == "ns" and not (text == "0" and _is_within(spec, 0)):
        return duration_ns(text, name, "ns", problems)
    if spec.unit == "bytes":
        return size_bytes(text, name, problems)
    low = 0 if spec.min is None else spec.min
    return whole_number(text, name, low, _INT64 if spec.max is None else spec.max, problems)


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
            cause = f"{test} masses: {count} is no multiple of 4"
            near = sorted({max(count // 4 * 4, 4), count // 4 * 4 + 4})
            problems.add(cause, f"give {' or '.join(map(str, near))}")
    if max(threads) > min(masses):
        cause = f"{test} threads: {max(threads)} for {min(masses)} masses"
        problems.add(cause, "give at most as many threads as masses")
    _check_step(test, params, problems)


def _check_step(test: str, params: Mapping[str, ParamValue], problems: Problems) -> None:
    step_ns, stiffness = params.get("step_ns"), params.get("stiffness_per_s2")
    if not isinstance(step_ns, int) or not isinstance(stiffness, int) or stiffness == 0:
        return
    limit_ns = longest_stable_ns(stiffness)
    if step_ns > limit_ns:
        cause = f"{test} step_ns: {format_ns(step_ns)} is unstable at {stiffness} per s^2"
        problems.add(cause, f"give {limit_ns}ns or less, or leave stiffness_per_s2 out")


def _numbers(params: Mapping[str, ParamValue], name: str) -> list[int]:
    values = params.get(name)
    return [one for one in values if isinstance(one, int)] if isinstance(values, list) else []
