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
