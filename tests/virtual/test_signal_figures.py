"""What SIG-P-LAT times, on a libc whose calls cost known times: each value is the sum of the calls
between its two moments, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import machine
from tests.virtual.calls import COST, READ_NS, figures, measure

pytestmark = [
    pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime())),
]

SAMPLES = 50


def test_a_latency_is_the_way_of_the_signal(shared_probe: Path, virtual_calls: Path) -> None:
    """The sender's call and its wait as far as it blocks, and the receiver's way out of its own
    wait: a handler's stamp comes before that. The answer is no part of it."""
    stream = measure(shared_probe, virtual_calls, "SIG-P-LAT", "--samples", str(SAMPLES))
    sent_ns = COST["sigqueue"].whole + COST["sigwaitinfo"].enter + READ_NS
    woken_ns = sent_ns + COST["sigwaitinfo"].woken
    assert figures(stream) == {
        ("latency", receiver, scope): [SAMPLES, ns, ns]
        for receiver, ns in (("handler", sent_ns), ("sigwaitinfo", woken_ns))
        for scope in ("thread", "process")
    }
