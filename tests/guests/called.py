"""A command of the probe in a guest."""

from __future__ import annotations

import io
from pathlib import Path

from hardstone.targets.lab import LabTransport


def call(guest: LabTransport, *arguments: str) -> tuple[int, str]:
    """Exit code and output."""
    output = io.BytesIO()
    with Path("/dev/null").open("rb") as nothing:
        code = guest.call(arguments, nothing, output, io.BytesIO())
    return code, output.getvalue().decode()
