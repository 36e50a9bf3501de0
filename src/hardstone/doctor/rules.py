"""The rules as data: rules.toml, checked as it is read."""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from importlib import resources

import msgspec

from hardstone.doctor.diagnosis import Brings, Level
from hardstone.doctor.placeholders import keeps_facts_whole, names_in
from hardstone.doctor.predicate import Predicate
from hardstone.errors import InputError


class StepRule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A step as data: exactly one of `command`, `boot` and `words`.

    `boot` is an option of the boot line; how it gets there depends on the machine. A step
    whose texts name a fact that is not known is left out; so is one whose `when` is not
    certainly true. `undo` is empty where nothing is typed to take a command back; `lasts`
    says how it ends.
    """

    command: str | None = None
    boot: str | None = None
    words: str | None = None
    undo: str | None = None
    lasts: str = ""
    when: Predicate | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.command, self.boot, self.words)) != 1:
            raise ValueError("a step has a command, a boot option or words")
        if self.command is not None and self.undo is None:
            raise ValueError("a command says how it is taken back")
        if not all(keeps_facts_whole(one) for one in (self.command, self.undo) if one):
            raise ValueError("a fact in a command stands outside of quotes")


class Obstacle(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Where `when` certainly holds, a setting cannot be switched, or that would change nothing,
    as `says`."""

    when: Predicate
    says: str


class Rule(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One rule. `{fact}` in its texts is replaced by what the machine says.

    Found where `found` holds. Where it does not, the machine is fine only if `fine` holds
    too (where there is one); in every other case nobody knows. `settings` are those of the
    probe that switch what the rule is about while the system runs (`--prove`), `cannot` what
    stands in their way; where there are none, `fixed` says why.
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
            raise ValueError("a rule has settings, or says why there are none")
        if bool(self.settings) != bool(self.cannot):
            raise ValueError("a rule with settings says what stands in their way")
        if names_in(self.why + self.title + self.fixed):
            raise ValueError("why, title and fixed are the same on every machine: no facts")


Rules = dict[str, Rule]


def parse_rules(text: str) -> Rules:
    """Rules from TOML, in its order. ValueError where the data is faulty."""
    return msgspec.convert(tomllib.loads(text), Rules)


@cache
def load_rules() -> Rules:
    """The rules that are part of hardstone, by their names."""
    return parse_rules(
        resources.files("hardstone.doctor").joinpath("rules.toml").read_text("utf-8")
    )


def find_rule(name: str) -> tuple[str, Rule]:
    """The rule called `name`, in any case. InputError with the nearest name."""
    rules = load_rules()
    wanted = name.strip().lower()
    if wanted in rules:
        return wanted, rules[wanted]
    shown = "".join(char if char.isprintable() else "?" for char in name)[:40]
    close = difflib.get_close_matches(wanted[:80], rules, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else "see every rule: hardstone doctor --all"
    raise InputError(f"there is no rule '{shown}'", hint)
