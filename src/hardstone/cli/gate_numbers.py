"""Numbers among the options of `hardstone gate`: margins, the level of a test, a deadline."""

from __future__ import annotations

import re
from decimal import Decimal

from hardstone.errors import InputError
from hardstone.gate.pairs import MOST_MARGIN
from hardstone.units import parse_duration_ns

ONLY_MEDIANS = "only medians are judged (--tails judges p99, p99.9)"
_PERCENT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%", re.ASCII)
_MOST_ALPHA = 0.1


def margin_of(text: str) -> float:
    """0.25 of "25%"; InputError for anything that is no margin."""
    margin = _share(text)
    if not 0 < margin <= MOST_MARGIN:
        raise InputError(f"--margin: '{_shown(text)}' is not a margin", "write 25%")
    return margin


def alpha_of(text: str) -> float:
    """0.01 of "1%"; InputError for anything that is no level of a test."""
    alpha = _share(text)
    if not 0 < alpha <= _MOST_ALPHA:
        raise InputError(
            f"--alpha: '{_shown(text)}' is not a level up to {100 * _MOST_ALPHA:.0f} %", "write 1%"
        )
    return alpha


def deadline_of(text: str) -> int:
    """A deadline in ns; InputError for anything else."""
    try:
        return parse_duration_ns(text, bare="us")
    except ValueError as error:
        raise InputError(f"--deadline: {error}", "write --deadline 100us") from None


def _share(text: str) -> float:
    """0 if it is none."""
    found = _PERCENT.fullmatch(text.strip())
    return float(Decimal(found[1]) / 100) if found else 0.0


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:40]
