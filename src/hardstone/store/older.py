"""What documents of the first version say otherwise than those of today."""

from __future__ import annotations

import re

from hardstone.model import Result

_BLOCK = re.compile(r"(\w{1,32}): a block is (\d{1,18}) operations", re.ASCII)


def fill_in(result: Result) -> Result:
    """Fills a field of `result` from what stood for it before there was one; returns `result`."""
    if result.test == "RSP-P-FIX" and not result.calibrated:
        result.calibrated = _told_operations(result)
    return result


def _told_operations(result: Result) -> dict[str, int]:
    """The number of operations, once in events only."""
    told = (_BLOCK.fullmatch(event.text) for event in result.events if event.name == "calibrated")
    return {f"{found[1]}_operations": int(found[2]) for found in told if found}
