"""The register of a target's probe, for commands that measure nothing."""

from __future__ import annotations

from contextlib import closing

from hardstone.errors import HardstoneError
from hardstone.model import Register
from hardstone.targets import find_target


def read_register(target_name: str) -> Register:
    """The tests that the probe of a target has."""
    with closing(find_target(target_name)) as target:
        target.open()
        return target.probe_list()


def register_or_none(target_name: str = "local") -> Register | None:
    """The same, or None without a probe: a stored run can be shown all the same."""
    try:
        return read_register(target_name)
    except HardstoneError:
        return None
