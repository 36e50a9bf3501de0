"""What a person is told while a target is reached: lines on standard error."""

from __future__ import annotations

from hardstone.cli.messages import tell
from hardstone.targets.opening import Opening


def opening_told(*, quiet: bool) -> Opening:
    """Warnings are told in any case."""
    return Opening(warn=tell) if quiet else Opening(tell, tell)
