"""POS-B-INV: what a system has of POSIX, by headers, by sysconf and by a real call."""

from __future__ import annotations

from typing import Literal

import msgspec

from hardstone.model import Status
from hardstone.stats.posix_data import posix_data

TEST = "POS-B-INV"
NO_LIMIT = -1

CallState = Literal["works", "partly", "fails", "missing", "denied", "untried"]
Contradiction = Literal[
    "claimed_but_fails",
    "claimed_but_partly",
    "works_but_not_claimed",
    "headers_and_sysconf_differ",
]


class PosixOption(msgspec.Struct, kw_only=True, frozen=True):
    """One option by three means.

    `headers`: the value of its macro, -1 (not there) and 0 (asked at run time) too; null: not
    defined. `sysconf`: its value, for some that of pathconf; null: not supported, or not known if
    not `is_sysconf_known`.
    `why`: the failed call and the reason, where the probe gives one.
    """

    name: str
    part: str
    headers: int | None
    sysconf: int | None
    is_sysconf_known: bool
    call: CallState
    why: str = ""
    contradictions: list[Contradiction] = []

    @property
    def is_claimed(self) -> bool:
        """Whether sysconf claims the option; if that is not known, whether the headers do."""
        return self.claims(self.sysconf if self.is_sysconf_known else self.headers)

    def claims(self, value: int | None) -> bool:
        """Whether `value`, of headers or sysconf, claims the option; of pathconf 0 does too."""
        least = 0 if self.name in posix_data().pathconf else 1
        return value is not None and value >= least


class PosixProfile(msgspec.Struct, kw_only=True, frozen=True):
    """A profile of 1003.13, and the options that are missing from it.

    `denied_count` of the missing were denied or not tried. `next_missing` are those that the
    profile before it does not need.
    """

    name: str
    is_satisfied: bool
    missing_count: int
    missing: list[str]
    denied_count: int = 0
    next_missing: list[str] = []


class PosixLimit(msgspec.Struct, kw_only=True, frozen=True):
    """A limit; -1: sysconf tells none. `least` is what POSIX requires, null if nothing."""

    name: str
    value: int
    least: int | None

    @property
    def is_below(self) -> bool:
        """Whether the system allows less than POSIX requires."""
        return self.least is not None and self.value != NO_LIMIT and self.value < self.least


class PosixClaim(msgspec.Struct, kw_only=True, frozen=True):
    """A verdict of the test."""

    name: str
    is_true: bool
    evidence: str


class PosixInventory(msgspec.Struct, kw_only=True, frozen=True):
    """What one result of POS-B-INV says. `clocks` has the resolutions that clock_getres claims.

    `is_whole`: the test ended as planned, and its stream too. `named_only`: parts of which nothing
    was asked. `problems`: what was left out.
    """

    status: Status
    is_whole: bool
    reason: str | None
    remedy: str | None
    command: str | None
    options: list[PosixOption]
    limits: list[PosixLimit]
    clocks: dict[str, int]
    profiles: list[PosixProfile]
    claims: list[PosixClaim]
    named_only: list[str]
    problems: list[str]

    def option(self, name: str) -> PosixOption | None:
        """The option called `name`; None if it was not reported."""
        return next((one for one in self.options if one.name == name), None)

    def parts(self) -> dict[str, list[PosixOption]]:
        """The options by part: known parts first, others in the order of the stream."""
        found: dict[str, list[PosixOption]] = {part: [] for part in posix_data().parts}
        for one in self.options:
            found.setdefault(one.part, []).append(one)
        return {part: options for part, options in found.items() if options}
