"""The rules of the doctor: rules.toml as types, their predicates and placeholders, and what each
can find.

A comparison is unknown when its fact is missing or of a type that cannot be compared. `all` and
`any` follow Kleene's logic: "false and unknown" is false, "true or unknown" is true, any other
combination with an unknown part is unknown. So a missing fact never leads to a conclusion.
"""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from math import inf, isnan
from typing import Literal

import msgspec

from hardstone.errors import InputError
from hardstone.model import Scalar

DOCTOR_SCHEMA = "hardstone.doctor/1"

Level = Literal["blocks", "hurts", "note"]
State = Literal["found", "fine", "unknown"]


class Step(msgspec.Struct, kw_only=True, frozen=True):
    """One thing to do: a command or, when `command` is null, instructions in words.

    `undo` is the command that reverts it. `lasts` says how long it stays in force.
    """

    command: str | None = None
    words: str = ""
    undo: str | None = None
    needs_reboot: bool = False
    lasts: str = ""


class Brings(msgspec.Struct, kw_only=True, frozen=True):
    """The published effect of a change, and who measured it.

    `is_history`: measured on a system of another time. It shows the kind of effect, not its size
    on this machine.
    """

    text: str
    source: str
    is_history: bool = False


def brings_texts(brings: Brings | None, settings: Sequence[str]) -> list[tuple[str, str]]:
    """The effect of a change as labels and texts; old systems are labelled "history"."""
    said = f"{brings.text} ({brings.source})" if brings else ""
    if brings is not None and not brings.is_history:
        return [("brings", said)]
    here = "unknown; measure it" if settings else "unknown"
    return [("brings", here), *([("history", said)] if said else [])]


class Finding(msgspec.Struct, kw_only=True):
    """One rule on one machine.

    `facts` are the known facts that the rule compares or quotes, `missing` the unknown ones.
    `found` says in every state what was seen. `steps` are for state "found" only.
    """

    rule: str
    title: str
    level: Level
    state: State
    found: str
    why: str
    steps: list[Step] = []
    brings: Brings | None = None
    settings: list[str] = []
    facts: dict[str, Scalar] = {}
    missing: list[str] = []


class Diagnosis(msgspec.Struct, kw_only=True):
    """All rules on one machine; `counts` has blocks, hurts, note, fine and unknown."""

    schema: str
    target: str
    probe_version: str
    conclusion: str
    counts: dict[str, int]
    findings: list[Finding]


_NAME = re.compile(r"\{([a-z]+\.[a-z_]+)\}")
_MOST_CHARACTERS = 240
_READ_AGAIN = ("-c", "eval")


def fill(text: str, facts: Mapping[str, Scalar]) -> str:
    """`text` with each `{fact}` replaced by its value, or by "(unknown)"."""
    return _replace(text, facts, spoken)


def fill_command(text: str, facts: Mapping[str, Scalar]) -> str | None:
    """The same for a shell command; None when a fact is unknown or null."""
    if any(facts.get(name) is None for name in names_in(text)):
        return None
    return _replace(text, facts, lambda value: shlex.quote(spoken(value)))


def keeps_facts_whole(text: str) -> bool:
    """Whether each fact in a command stays one word, or part of one, whatever its value.

    It does not inside quotes, which the quotes of the value would close, nor in text that another
    shell parses again.
    """
    odd = "'; a \" $(b) `c`"
    try:
        words = shlex.split(text)
        found = shlex.split(_NAME.sub(shlex.quote(odd), text))
    except ValueError:
        return False
    is_read_again = any(
        before in _READ_AGAIN and names_in(word) for before, word in pairwise(words)
    )
    return not is_read_again and found == [_NAME.sub(odd, word) for word in words]


def names_in(text: str) -> list[str]:
    """Names of the facts that `text` quotes."""
    return _NAME.findall(text)


def spoken(value: Scalar) -> str:
    """One value as a short line without control characters."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    line = " ".join("".join(map(_plain, str(value))).split())
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 3] + "..."


def _plain(character: str) -> str:
    if character in "\n\t":
        return " "
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")
    return "?" if hidden else character


def _replace(text: str, facts: Mapping[str, Scalar], shown: Callable[[Scalar], str]) -> str:
    def value(match: re.Match[str]) -> str:
        return shown(facts[match[1]]) if match[1] in facts else "(unknown)"

    return _NAME.sub(value, text)


Facts = Mapping[str, Scalar]
Truth = bool | None


class Predicate(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Either one comparison of a fact, or one combination of predicates.

    `above`, `below` and `at_least` take a number or the name of another fact; "unlimited"
    is above every number. `one_of`: the fact's text is one of these. `has`: the fact's list,
    separated by commas or spaces, holds this word. `null`: the fact is known to be null.
    `known`: the fact is there, null or not; this comparison is never unknown.
    """

    fact: str | None = None
    equals: bool | int | str | None = None
    one_of: list[str] | None = None
    has: str | None = None
    above: int | str | None = None
    below: int | str | None = None
    at_least: int | str | None = None
    null: bool | None = None
    known: bool | None = None
    all: list[Predicate] | None = None
    any: list[Predicate] | None = None
    negate: Predicate | None = msgspec.field(name="not", default=None)

    def __post_init__(self) -> None:
        tests = (self.equals, self.one_of, self.has, self.above, self.below)
        more = (self.at_least, self.null, self.known)
        compared = sum(one is not None for one in (*tests, *more))
        joined = sum(one is not None for one in (self.all, self.any, self.negate))
        if (self.fact is None) != (compared == 0) or compared + joined != 1:
            raise ValueError("a predicate compares one fact once, or combines predicates once")


def evaluate(predicate: Predicate, facts: Facts) -> Truth:
    """Whether `predicate` holds; None when it is unknown."""
    if predicate.all is not None:
        return _all([evaluate(one, facts) for one in predicate.all])
    if predicate.any is not None:
        return _inverse(_all([_inverse(evaluate(one, facts)) for one in predicate.any]))
    if predicate.negate is not None:
        return _inverse(evaluate(predicate.negate, facts))
    return _compare(predicate, facts)


def facts_used(predicate: Predicate | None) -> Iterator[str]:
    """Names of the facts that `predicate` compares, each once."""
    yield from dict.fromkeys(_names(predicate))


def _names(predicate: Predicate | None) -> Iterator[str]:
    if predicate is None:
        return
    if predicate.fact is not None:
        yield predicate.fact
    for limit in (predicate.above, predicate.below, predicate.at_least):
        if isinstance(limit, str):
            yield limit
    for part in (*(predicate.all or ()), *(predicate.any or ()), predicate.negate):
        yield from _names(part)


def _all(parts: Sequence[Truth]) -> Truth:
    if any(part is False for part in parts):
        return False
    return None if any(part is None for part in parts) else True


def _inverse(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _compare(predicate: Predicate, facts: Facts) -> Truth:
    name = predicate.fact or ""
    if predicate.known is not None:
        return (name in facts) == predicate.known
    if name not in facts:
        return None
    value = facts[name]
    if predicate.null is not None:
        return (value is None) == predicate.null
    if predicate.equals is not None:
        return _same(value, predicate.equals)
    if predicate.one_of is not None or predicate.has is not None:
        return _among(predicate, value)
    return _beyond(predicate, value, facts)


def _among(predicate: Predicate, value: Scalar) -> Truth:
    """False for a null fact; unknown for a type that is not text."""
    if not isinstance(value, str):
        return False if value is None else None
    if predicate.one_of is not None:
        return value in predicate.one_of
    return predicate.has in value.replace(",", " ").split()


def _same(value: Scalar, wanted: bool | int | str) -> Truth:
    if value is None:
        return False
    return value == wanted if type(value) is type(wanted) else None


def _beyond(predicate: Predicate, value: Scalar, facts: Facts) -> Truth:
    number = _number(value)
    limit = _limit(predicate.above, facts)
    if number is not None and limit is not None:
        return number > limit
    limit = _limit(predicate.below, facts)
    if number is not None and limit is not None:
        return number < limit
    limit = _limit(predicate.at_least, facts)
    return None if number is None or limit is None else number >= limit


def _limit(limit: int | str | None, facts: Facts) -> float | None:
    return _number(facts.get(limit)) if isinstance(limit, str) else _number(limit)


def _number(value: Scalar) -> float | None:
    if value == "unlimited":
        return inf
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isnan(value) else value


class StepRule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A step as data: exactly one of `command`, `boot` and `words`.

    `boot` is an option of the boot line; how to add it depends on the machine. A step is left out
    when its texts name an unknown fact or its `when` is not certainly true. `undo` is empty when
    no command reverts the step; `lasts` then says how it ends. A `local` command also works in a
    container; others change the kernel that the container shares with its host.
    """

    command: str | None = None
    boot: str | None = None
    words: str | None = None
    undo: str | None = None
    lasts: str = ""
    local: bool = False
    when: Predicate | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.command, self.boot, self.words)) != 1:
            raise ValueError("a step needs exactly one of command, boot and words")
        if self.command is not None and self.undo is None:
            raise ValueError("a command needs an undo")
        if not all(keeps_facts_whole(one) for one in (self.command, self.undo) if one):
            raise ValueError("a fact in a command must stand outside of quotes")


class Obstacle(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """When `when` certainly holds, switching the setting is impossible or has no effect; `says`
    gives the reason."""

    when: Predicate
    says: str


class Rule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One rule. `{fact}` in its texts is replaced by the value of the fact.

    The state is "found" when `found` holds. When it does not hold, the state is "fine" if `fine`
    holds or is absent. In every other case it is "unknown". `settings` are the probe's settings
    that switch the subject of the rule at run time (`--prove`); `cannot` lists what prevents
    that. A rule without settings says why in `fixed`.
    """

    title: str
    topic: str
    level: Level
    found: Predicate
    fine: Predicate | None = None
    says: str
    says_fine: str
    unknown: str
    why: str
    steps: list[StepRule]
    brings: Brings | None = None
    settings: list[str] = []
    fixed: str = ""
    cannot: list[Obstacle] = []

    def __post_init__(self) -> None:
        if bool(self.settings) == bool(self.fixed):
            raise ValueError("a rule needs either settings or fixed, which says why there are none")
        if bool(self.settings) != bool(self.cannot):
            raise ValueError("a rule has settings and cannot, or neither")
        if names_in(self.why + self.title + self.fixed):
            raise ValueError(
                "why, title and fixed must not name facts: they are the same on every machine"
            )


Rules = dict[str, Rule]


def parse_rules(text: str) -> Rules:
    """Rules from TOML, in its order. ValueError when the data is faulty."""
    return msgspec.convert(tomllib.loads(text), Rules)


@cache
def load_rules() -> Rules:
    """The rules that are part of hardstone, by their names."""
    return parse_rules(
        resources.files("hardstone.doctor").joinpath("rules.toml").read_text("utf-8")
    )


def find_rule(name: str) -> tuple[str, Rule]:
    """The rule called `name`, in any case. InputError, with the nearest name, if there is none."""
    rules = load_rules()
    wanted = name.strip().lower()
    if wanted in rules:
        return wanted, rules[wanted]
    shown = "".join(char if char.isprintable() else "?" for char in name)[:40]
    close = difflib.get_close_matches(wanted[:80], rules, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else "see every rule: hardstone doctor --all"
    raise InputError(f"there is no rule '{shown}'", hint)
