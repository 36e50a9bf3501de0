"""The profiles of 1003.13 that a system satisfies, and what is missing from the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.present.wording import spoken
from hardstone.stats.posix_inventory import PosixProfile

PROFILES_MEANING = (
    "1003.13 profiles: PSE51 minimal, PSE52 controller, PSE53 dedicated, PSE54 multi-purpose. "
    "Lists of PSE51 to PSE53 by public documents that quote the standard; PSE54 is our reading, "
    "and units that POS-B-INV has no call for (system database, wide characters) are not in it."
)


@dataclass(frozen=True)
class ProfileRow:
    """`is_next`: the first that is not satisfied."""

    profile: str
    state: str
    missing: str
    is_satisfied: bool
    is_next: bool


def profile_rows(found: Sequence[PosixProfile]) -> list[ProfileRow]:
    """A row for each profile, in their order."""
    first = next((one.name for one in found if not one.is_satisfied), "")
    rows: list[ProfileRow] = []
    for place, one in enumerate(found):
        rows.append(
            ProfileRow(
                profile=one.name,
                state=_profile_state(one, is_next=one.name == first),
                missing=_missing(one, found[place - 1] if place else None),
                is_satisfied=one.is_satisfied,
                is_next=one.name == first,
            )
        )
    return rows


def _profile_state(one: PosixProfile, *, is_next: bool) -> str:
    if one.is_satisfied:
        return "satisfied"
    denied = f", {one.denied_count} of them not tried" if one.denied_count else ""
    return f"{'next: ' if is_next else ''}{one.missing_count} missing{denied}"


def _missing(one: PosixProfile, before: PosixProfile | None) -> str:
    """What is missing; of a profile that lacks all that the one before it does, what it lacks
    beyond that."""
    more = one.missing_count - len(one.missing)
    rest = f" and {more} more" if more > 0 else ""
    beyond = [name for name in one.missing if before is None or name not in before.missing]
    if before is None or not before.missing or not set(before.missing) <= set(one.missing):
        return _names(one.missing) + rest if one.missing else ""
    also = f" and {_names(beyond)}" if beyond else ""
    return f"as {before.name}{also}{rest}"


def satisfied_text(found: Sequence[PosixProfile]) -> str:
    """ "satisfies PSE51, PSE52"; empty if no profile was judged."""
    if not found:
        return ""
    names = [one.name for one in found if one.is_satisfied]
    return f"satisfies {', '.join(names)}" if names else "satisfies no profile"


def _names(names: Sequence[str]) -> str:
    return ", ".join(spoken(name) for name in dict.fromkeys(names))
