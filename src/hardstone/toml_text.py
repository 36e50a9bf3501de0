"""TOML that anybody may have written."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_MOST_PARTS = 64
# Parts are bare or in quotes. A search from the start of a word, with quotes of bounded length,
# takes time in proportion to the text.
_PART = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.){0,64}"|'[^'\n]{0,64}')"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")


def parse_toml(data: bytes) -> dict[str, Any]:
    """The document; ValueError (of what is no UTF-8 a UnicodeDecodeError) or RecursionError for
    anything else.

    The parser's time grows with the square of the parts of a dotted key: they are bounded first.
    """
    text = data.decode("utf-8")
    found = _LONG_KEY.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key of more than {_MOST_PARTS} parts (at line {line})")
    return tomllib.loads(text)
