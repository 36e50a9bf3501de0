"""The checks of a gate as Markdown, for the summary of a GitHub workflow."""

from __future__ import annotations

import re

from hardstone.gate.outcome_document import Check, GateDocument

_MOST_ROWS = 500  # GitHub takes 1 MiB for a step
_LONGEST = 300
_SIGNS = {"PASS": "\N{WHITE HEAVY CHECK MARK}", "FAIL": "\N{CROSS MARK}"}
_OPEN = "\N{WHITE QUESTION MARK ORNAMENT}"
# All that Markdown or HTML may read as more than itself.
_SPECIAL = re.compile(r"[^A-Za-z0-9 .,;:/=%+()'-]")


def github_summary(document: GateDocument) -> str:
    """A heading with the outcome, a row for each check, the worst first, then the notes."""
    counts = {
        one: sum(check.outcome == one for check in document.checks)
        for one in ("FAIL", "INCONCLUSIVE", "PASS")
    }
    told = ", ".join(f"{count} {one}" for one, count in counts.items() if count)
    systems = ", ".join(map(_text, document.systems))
    against = ", ".join(map(_text, document.against))
    lines = [
        f"## hardstone gate: {_SIGNS.get(document.outcome, _OPEN)} {document.outcome}",
        "",
        f"{systems} against {against}: {told or 'nothing was checked'}.",
        "",
        "| outcome | figure | found | limit | why |",
        "| --- | --- | --- | --- | --- |",
        *(_row(one) for one in document.checks[:_MOST_ROWS]),
    ]
    more = len(document.checks) - _MOST_ROWS
    if more > 0:
        lines += ["", f"{more} more checks, none of them worse than those above."]
    return "\n".join([*lines, "", *(f"- {_text(note)}" for note in document.notes), ""])


def _row(check: Check) -> str:
    figure = f"{_text(check.address)} {_text(check.statistic)}<br>{_text(check.condition)}"
    sign = f"{_SIGNS.get(check.outcome, _OPEN)} {check.outcome}"
    cells = (sign, figure, *map(_text, (check.found, check.wanted, check.reason)))
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Untrusted text as it is: on one line, nothing in it marks up, links or mentions."""
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line).replace("://", ":&#47;&#47;")
