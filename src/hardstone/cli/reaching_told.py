"""What a person is told while a target is reached: lines on standard error."""

from __future__ import annotations

from hardstone.cli.messages import tell
from hardstone.targets.base import Notices


def notices_told(*, quiet: bool, wait_s: float | None = None) -> Notices:
    """Warnings are told in any case. `wait_s`: the longest wait for another measurement."""
    return Notices(warn=tell, wait_s=wait_s) if quiet else Notices(tell, tell, wait_s)
