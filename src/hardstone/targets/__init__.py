"""Targets: where the probe runs and how it is reached."""

from __future__ import annotations

from hardstone.errors import InputError
from hardstone.targets.base import Target


def find_target(name: str) -> Target:
    """The target called `name`, not yet reached. InputError for an unknown name."""
    kind, _, rest = name.partition(":")
    if name == "local":
        from hardstone.targets.local import local_target

        return local_target()
    if kind == "fake":
        from hardstone.targets.fake import fake_target

        return fake_target(rest)
    shown = "".join(char if char.isprintable() else "?" for char in name)[:60]
    raise InputError(f"unknown target '{shown}'", "known targets: local, fake:SCENARIO-FILE")
