"""What a person is told while a target is reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing(text: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class Notices:
    """`step` is called with what begins now and takes seconds, `warn` with what went otherwise
    than it should. `wait_s`: the longest wait for another measurement of the machine, where that is
    needed to reach the target; None: until it has ended."""

    step: Callable[[str], None] = _nothing
    warn: Callable[[str], None] = _nothing
    wait_s: float | None = None


SILENT = Notices()
