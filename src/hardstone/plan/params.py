"""Parameters of tests: `-p key=value`, checked against what the probe declares."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import Descriptor, ParamSpec, ParamValue
from hardstone.plan.numbers import duration_ns, size_bytes, whole_number
from hardstone.plan.problems import Problems, nearest, quote
from hardstone.units import format_count, format_ns

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
