"""Why pip failed: without a package index its last line claims that there is no such version."""

from __future__ import annotations

import re

BROKEN = re.compile(r"connection broken by '(.*)': /")
WORDS = re.compile(r"[^][(){}<>:'\"]{8,}")
PROGRESS = ("Collecting ", "Downloading ", "Using cached ")


def cause(output: str) -> str:
    """One line; "" if pip gives no reason."""
    lines = [line.strip() for line in output.splitlines()]
    since = max((n for n, line in enumerate(lines) if line.startswith(PROGRESS)), default=0)
    broken = [match[1] for line in lines[since:] if (match := BROKEN.search(line))]
    if broken:
        return f"the package index cannot be reached ({reason(broken[-1])})"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return errors[-1] if errors else ""


def reason(exception: str) -> str:
    """The last words of pip's nested exceptions, after classes, objects and hosts."""
    return str(WORDS.findall(exception)[-1]).strip(" .,")
