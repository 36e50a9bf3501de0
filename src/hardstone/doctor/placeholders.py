"""Puts facts into the texts of rules. Facts are untrusted: cleaned, cut, quoted in commands."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Mapping
from itertools import pairwise

from hardstone.model import Scalar

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
