"""What a person is told while a target is reached: lines on standard error."""

from __future__ import annotations

from hardstone.cli.messages import tell
from hardstone.targets.reaching import Notices


def notices_told(*, quiet: bool) -> Notices:
    """Warnings are told in any case."""
    return Notices(warn=tell) if quiet else Notices(tell, tell)
