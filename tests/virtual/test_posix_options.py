"""The options that the toolkit knows are those that the probe reports, in the same parts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from hardstone.model import Event
from hardstone.stats.posix_data import posix_data
from hardstone.stats.posix_inventory import TEST
from hardstone.stats.posix_reading import inventory_of
from tests.unit.stats import inventories


def reported(probe: Path) -> list[Event]:
    done = subprocess.run(
        [probe, "run", TEST, "--json"], capture_output=True, check=True, timeout=60
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Event(name=one["name"], text=one["text"], data=one["data"])
        for one in found
        if one["type"] == "event"
    ]


def test_every_option_is_known_and_reported_and_readable(probe: Path) -> None:
    found = inventory_of(inventories.result(reported(probe)))
    assert found.problems == []
    parts = {part: [one.name for one in options] for part, options in found.parts().items()}
    assert parts == {part: one.options for part, one in posix_data().parts.items()}
    assert {one.name for one in found.profiles} == {"PSE51", "PSE52", "PSE53", "PSE54"}
    assert len(found.clocks) == 4 and found.named_only
    assert all(one.value for one in found.limits)
