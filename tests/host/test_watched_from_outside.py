"""Where the probe moves to a reserved CPU, a process that stays outside reads the counters.

No time is asserted.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from hardstone.model import StreamInterval
from tests.host.shield_state import guard_of
from tests.host.shielding import GIVE_UP_S, RESERVED, SHIELD_MARKS
from tests.running import Running, Stream, children, measuring, measuring_thread, run
from tests.waiting import wait_until

pytestmark = SHIELD_MARKS

WORDS = ("-p", "interval_ns=1ms", "--samples", "0", "--cpu", str(RESERVED))
SHIELDED = (*WORDS, "--cpu-config", "shielded")
LONG = ("--duration-ns", "60s")


def seconds(stream: Stream) -> list[StreamInterval]:
    return [one for one in stream.of(StreamInterval) if not one.whole]


def looker_of(running: Running) -> int:
    """Waits until it looks: then it may run everywhere but on the reserved CPU."""
    guard = guard_of(running.pid)
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [
            child
            for child in children(running.pid)
            if child != guard and RESERVED not in os.sched_getaffinity(child)
        ]
        return bool(found)

    wait_until(is_there, "no process looks")
    return found[0]


def test_the_seconds_of_its_worst_values_are_kept(probe: Path, tmp_path: Path) -> None:
    words = (*SHIELDED, "--duration-ns", "2500ms", "--backing", str(tmp_path / "records"))
    stream = run(probe, "TMR-P-LAT", *words)
    assert "not_watched" not in stream.events, stream.events
    assert seconds(stream)
    assert {one.cpu for one in seconds(stream)} == {RESERVED}
    (whole,) = [one for one in stream.of(StreamInterval) if one.whole]
    counters = whole.counters
    assert counters["interrupts_count"] > 0 and counters["minor_faults_count"] == 0
    assert stream.result.environment["migrations_count"] == counters["migrations_count"]


def test_faults_of_the_probe_are_counted_and_not_those_of_the_looker(
    probe: Path, tmp_path: Path
) -> None:
    """It reads its own copy of the probe's memory, which faults."""
    words = (*SHIELDED, "--duration-ns", "1500ms", "--backing", str(tmp_path / "records"))
    usage = run(probe, "TMR-P-LAT", *words).result.environment
    assert usage["minor_faults_count"] == usage["major_faults_count"] == 0


def test_memory_of_the_probe_alone_is_not_watched(probe: Path) -> None:
    stream = run(probe, "TMR-P-LAT", *SHIELDED, "--duration-ns", "100ms")
    assert "no CPU is allowed" in stream.events["not_watched"].text
    assert not seconds(stream)


def test_a_looker_that_is_killed_is_told(probe: Path, tmp_path: Path) -> None:
    words = (*SHIELDED, *LONG, "--backing", str(tmp_path / "records"))
    with measuring(probe, "TMR-P-LAT", *words) as running:
        measuring_thread(running.pid)
        os.kill(looker_of(running), signal.SIGKILL)
        stream = running.stopped()
    assert "the process that looks has ended" in stream.events["not_watched"].text
    assert stream.series("wakeup").count > 0


def test_it_ends_with_a_probe_that_is_killed(probe: Path, tmp_path: Path) -> None:
    words = (*SHIELDED, *LONG, "--backing", str(tmp_path / "records"))
    with measuring(probe, "TMR-P-LAT", *words) as running:
        looker = looker_of(running)
        running.process.kill()
    wait_until(lambda: not Path(f"/proc/{looker}").exists(), "it is still there")
    restored = subprocess.run(
        [str(probe), "shield", "--restore"], check=False, timeout=GIVE_UP_S, capture_output=True
    )
    assert restored.returncode == 0, restored.stderr
