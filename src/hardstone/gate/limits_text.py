"""Writes limits as a file, with how each came about."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hardstone.gate.limit import CLAIMS, Limit
from hardstone.gate.limits_file import LIMITS_SCHEMA
from hardstone.gate.suggest import Suggestion


def limits_text(suggestions: Sequence[Suggestion], runs: Sequence[str], margin: float) -> str:
    """The file of `suggestions`, made from `runs` with `margin`; what was left out as comments."""
    head = [
        f'schema = "{LIMITS_SCHEMA}"',
        "",
        f"# Made by hardstone gate --suggest from {len(runs)} run{'s' * (len(runs) != 1)}, with a "
        f"margin of {100 * margin:g} %.",
        *(f"#   {_comment(one)}" for one in runs),
        "# A maximum that was observed grows with the length of a run: set it to what your",
        "# application needs where you know that.",
    ]
    used = [line for one in suggestions if not one.left_out for line in _entry(one)]
    left = [line for one in suggestions if one.left_out for line in _left_out(one)]
    return "\n".join([*head, *used, *left, ""])


def _entry(one: Suggestion) -> list[str]:
    limit = one.limit
    lines = ["", f"# {_comment(one.how)}", "[[limit]]", f"address = {_quoted(str(limit.address))}"]
    if limit.statistic == CLAIMS:
        lines.append(f'{CLAIMS} = "hold"')
    else:
        lines += [f'statistic = "{limit.statistic}"', _bound(limit)]
    for key in ("load", "cpu_config", "policy"):
        word = getattr(limit, key)
        if word is not None:
            lines.append(f"{key} = {_quoted(word)}")
    return [*lines, "emulated = true"] if limit.is_emulated else lines


def _bound(limit: Limit) -> str:
    return (
        f'{"at_most" if limit.is_at_most else "at_least"} = "{str(limit.bound).replace(" ", "")}"'
    )


def _left_out(one: Suggestion) -> list[str]:
    what = f"{one.limit.address} {one.limit.figure} {one.limit.wanted} (load {one.limit.load})"
    return ["", f"# left out: {_comment(what)}", f"#   {_comment(one.left_out)}"]


def _quoted(text: str) -> str:
    """A TOML string: as JSON, but that DEL is escaped and other letters are not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    line = "".join(char if char.isprintable() else "?" for char in text)
    return line if len(line) <= 400 else f"{line[:397]}..."
