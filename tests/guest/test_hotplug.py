"""A CPU of a guest that goes offline while a test measures on it."""

from __future__ import annotations

import pytest

from hardstone.lab.kernels import Kernel
from hardstone.model import StreamSeries
from hardstone.targets.lab import LabTransport
from tests.guest.called import shell
from tests.running import Stream

CPU1 = "/sys/devices/system/cpu/cpu1/online"
SECOND_NS = 1_000_000_000
MEASURED_S = 3  # with that there were looks at the threads
# Leaves the CPU of the shield; waits until a thread on CPU 1 has done so much; takes the CPU.
TAKE = """
taskset -p 3 $$ >/dev/null || exit 1
/proc/$PPID/exe run {words} --json --cpu 1 --samples 0 --duration-ns 600s >/tmp/said &
probe=$!
is_there() {{
    for task in /proc/$probe/task/*; do
        grep -q '^Cpus_allowed_list:.1$' $task/status && [ "$({done})" -ge {least} ] && return 0
    done
    return 1
}}
until is_there 2>/dev/null || [ ! -e /proc/$probe ]; do :; done
echo 0 >{online}
wait $probe
echo "exit $?"
cat {online} /tmp/said
echo 1 >{online}
"""
SLEPT = "sed -n 's/^voluntary_ctxt_switches:.//p' $task/status"
RAN = "cut -d ' ' -f 14 $task/stat"  # in 0.01 s, also before it measures


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("words", "done", "least"),
    [
        ("TMR-P-LAT -p interval_ns=1ms", SLEPT, MEASURED_S * 1000),
        ("CLK-P-DUR", RAN, MEASURED_S * 100),
    ],
    ids=["TMR-P-LAT", "CLK-P-DUR"],
)
def test_a_cpu_that_goes_offline(
    kernel: Kernel, guest: LabTransport, words: str, done: str, least: int
) -> None:
    """What was measured until the last look at it stays, and is said to be that."""
    if not shell(guest, f"cat {CPU1} 2>/dev/null || echo none").startswith("1"):
        pytest.skip(f"{kernel.name}: CPU 1 of the guest cannot go offline")
    said = shell(guest, TAKE.format(words=words, done=done, least=least, online=CPU1))
    code, online, stream_text = said.split("\n", 2)
    assert (code, online) == ("exit 3", "0"), said
    stream = Stream(words.split(maxsplit=1)[0], 3, stream_text.encode())
    assert stream.result.status == "failed"
    lost = stream.events["cpu_went_offline"].data
    assert (lost["cpu"], lost["cause"]) == (1, "offline")
    assert "kept_ns" in lost, said
    kept_ns = lost["kept_ns"]
    assert SECOND_NS <= kept_ns == stream.result.duration_ns <= lost["sure_until_ns"]
    reason = stream.result.reason or ""
    assert reason.startswith("CPU 1 went offline between ")
    assert reason.endswith(f"; the figures are those of the first {kept_ns / SECOND_NS:.1f} s")
    worst = [one for series in stream.of(StreamSeries) for one in series.worst]
    assert worst and all(one.at_ns <= kept_ns for one in worst)
