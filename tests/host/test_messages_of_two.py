"""Two probes that measure messages at once, on two CPUs, do not meet."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import machine
from tests.host.test_message_leftovers import queues_of, sysv_of_this_user
from tests.running import measuring
from tests.waiting import soon


@pytest.mark.parametrize("test", ["MSG-P-LAT", "MSG-B-PRI"])
def test_two_probes_at_once_do_not_meet(
    probe: Path, queues: Path, scratch: Path, test: str
) -> None:
    """With the same seed: both have all their figures, and nothing is left of either."""
    before = sysv_of_this_user()
    options = ["--clock", "monotonic", "--samples", "300", "--seed", "7"]
    with ExitStack() as stack:
        both = [
            stack.enter_context(measuring(probe, test, *options, "--cpu", str(cpu)))
            for cpu in sorted(machine.allowed())[:2]
        ]
        streams = [running.rest() for running in both]
    for stream in streams:
        assert stream.result.status == "measured", stream.result
        assert not set(stream.events) & {"kind_denied", "kind_unsupported", "not_handed_over"}
        assert all(stream.verdicts.values())
    assert list(scratch.iterdir()) == []
    assert soon(lambda: sysv_of_this_user() <= before)
    assert set().union(*(queues_of(running.pid, queues) for running in both)) == set()
