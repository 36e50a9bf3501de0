"""One load as typed: a mix of elements, parsed and normalised.

A mix joins elements, with or without a degree, and named mixes by "+"; "@cpu" after one applies
its degrees to each CPU. The text from "stress-ng:" on is options of that program. Elements, mixes
and limits come from the probe (`hardstone-probe load --list`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hardstone.model import LoadElement, Loads
from hardstone.plan.degrees import EACH_CPU, Degree, read_degree
from hardstone.plan.problems import Problems, nearest, quote

NONE = "none"
FOREIGN = "stress-ng:"
REBUILD = "rebuild it: hardstone probe build"
_OPTIONS = "OPTIONS"
_MAX_OPTIONS = 500
_MOST_NESTED = 8
_MOST_TERMS = 64


@dataclass
class Mix:
    """The parts of a load: degrees by element, and the options of stress-ng if that is one."""

    known: Loads
    problems: Problems
    degrees: dict[str, Degree] = field(default_factory=dict)
    options: str | None = None
    terms: int = 0

    def text(self) -> str:
        """The one form of equal loads: named mixes, the largest first, then elements in the
        order of the probe, each with its degree."""
        left = dict(self.degrees)
        terms = []
        for name, held in _named_mixes(self.known):
            if held.items() <= left.items():
                terms.append(name)
                left = {one: degree for one, degree in left.items() if one not in held}
        order = [one.name for one in self.known.elements if one.name in left]
        terms += [left[name].of(name) for name in order]
        return "+".join(terms if self.options is None else [*terms, FOREIGN + self.options])


def read_mix(text: str, known: Loads, problems: Problems) -> Mix:
    """Parses the load `text`; faults are noted."""
    mix = Mix(known, problems)
    _add_terms(mix, text, 0, each_cpu=False)
    return mix


def is_load(text: str, known: Loads) -> bool:
    """Whether `text` is a load by itself, "none" included."""
    problems = Problems()
    if text != NONE:
        read_mix(text, known, problems)
    return problems.is_empty


def _named_mixes(known: Loads) -> list[tuple[str, dict[str, Degree]]]:
    """Named mixes with their degrees, also with "@cpu"; the largest first."""
    found = []
    for name in [one.name + tail for one in known.mixes for tail in ("", EACH_CPU)]:
        problems = Problems()
        held = read_mix(name, known, problems).degrees
        if problems.is_empty and held:
            found.append((name, held))
    return sorted(found, key=lambda mix: -len(mix[1]))


def _add_terms(mix: Mix, text: str, depth: int, *, each_cpu: bool) -> None:
    head, marker, options = text.partition(FOREIGN)
    if marker and (not head or head.endswith("+")):
        terms = head.split("+")[:-1]
        _add_foreign(mix, options)
    else:
        terms = text.split("+")
    for term in terms:
        plain = term.removesuffix(EACH_CPU)
        _add_term(mix, plain, depth, each_cpu=each_cpu or plain != term)


def _add_term(mix: Mix, term: str, depth: int, *, each_cpu: bool) -> None:
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
    elif name in elements:
        _add_element(mix, elements[name], degree if equals else None, each_cpu=each_cpu)
    elif name in mixes:
        mix.problems.add(f"--load: {name} is a mix and takes no degree", "write it alone")
    elif name == NONE:
        mix.problems.add("--load: none cannot be part of a mix", "leave it out")
    else:
        names = [*elements, *mixes, NONE]
        mix.problems.add(f"--load: unknown {quote(name)}", nearest(name, names))


def _add_element(mix: Mix, element: LoadElement, degree: str | None, *, each_cpu: bool) -> None:
    if element.name in mix.degrees:
        cause = f"--load: {element.name} is given twice"
        mix.problems.add(cause, "name it once (a named mix may include it)")
        return
    mix.degrees[element.name] = Degree(read_degree(element, degree, mix.problems), each_cpu)


def _add_foreign(mix: Mix, options: str) -> None:
    """Joins the options by single spaces; the probe splits them at spaces."""
    if all(one.degree != _OPTIONS for one in mix.known.elements):
        mix.problems.add("--load: the probe does not support stress-ng", REBUILD)
    mix.options = " ".join(word for word in options.split(" ") if word)
    if not mix.options or len(mix.options) > _MAX_OPTIONS:
        cause = f"--load: stress-ng: has {'too many' if mix.options else 'no'} options"
        mix.problems.add(cause, "write for example stress-ng:--cpu 2")
