"""What a test of the register says where it could observe hardly anything: a length that is over at
once, or one value. A figure or a verdict with nothing behind it is a status with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hardstone.model import StreamSeries, StreamVerdict
from tests.process.targets import sample
from tests.running import Stream
from tests.virtual.calls import measure

READ_NS = 100  # 1 ns would be 3 s of CPU where a thread spins on the clock; no value is judged here
# They wait for what the virtual libc does not have: these run in tests/host/test_register.py.
ON_A_KERNEL = {
    *("CLK-B-RES", "TMR-P-JIT", "TMR-B-EDGE", "TMR-P-LAT", "THR-B-NEW", "THR-B-PRI"),
    *("MUT-B-INV", "IRQ-P-TRK", "RSP-P-FIX", "SIM-S-RT", "SIM-P-RF"),
}
TESTS = [one.id for one in sample.register().tests if one.id not in ON_A_KERNEL]
# One value takes the virtual libc too long.
NOT_ONE = {"CLK-P-DUR", "IRQ-P-LAT", "IRQ-P-DLT", "KRN-P-PRE", "MSG-P-THR"}
# A good system gives none, or one value is too short for one.
MAY_BE_EMPTY = {"acquire", "throughput"}
OF_NOTHING = re.compile(r"\b(of|in) 0(?![.\d])|\b0 (readings|waits|rounds|tries|options|limits)\b")


def check_is_honest(stream: Stream) -> None:
    """Measured is what has a value or a verdict, and no verdict speaks of nothing."""
    result = stream.result
    if result.status == "measured":
        assert stream.sample_count or stream.verdicts
    else:
        assert result.status == "skipped"
        assert "nothing was measured: the 1 ns were over" in (result.reason or "")
        assert re.search(r"-D; the first values take about [\d.]+ [nmu]?s\)", result.remedy or "")
        # the latencies without a flood are what those with it are held against
        assert not stream.sample_count or stream.test == "IRQ-P-TRK"
    assert not [one for one in stream.of(StreamVerdict) if OF_NOTHING.search(one.evidence)]


@pytest.mark.parametrize("test", TESTS)
def test_a_length_that_is_over_at_once(shared_probe: Path, virtual_libc: Path, test: str) -> None:
    stream = measure(shared_probe, virtual_libc, test, "--duration-ns", "1", read_ns=READ_NS)
    check_is_honest(stream)
    empty = [one.name for one in stream.of(StreamSeries) if not one.count]
    if stream.result.status == "measured" and empty:
        assert f"{len(empty)} of " in stream.events["no_values"].text


@pytest.mark.parametrize("test", [one for one in TESTS if one not in NOT_ONE])
def test_one_sample(shared_probe: Path, virtual_libc: Path, test: str) -> None:
    stream = measure(shared_probe, virtual_libc, test, "--samples", "1", read_ns=READ_NS)
    if test == "IRQ-S-SUS":
        assert stream.result.reason == "a step of 1 interrupts has no period"
        return
    assert stream.result.status == "measured", stream.result.reason
    check_is_honest(stream)
    empty = {one.name for one in stream.of(StreamSeries) if not one.count}
    assert empty <= MAY_BE_EMPTY


def test_no_gap_is_a_figure_where_a_tick_was_due(shared_probe: Path, virtual_libc: Path) -> None:
    """No gap in 1 ms says nothing of a tick that comes every 4 ms."""
    stream = measure(shared_probe, virtual_libc, "CLK-P-DUR", "--duration-ns", "1000000")
    assert stream.series("gap").count == 0
    assert stream.result.status == "skipped"
