"""What each test locks, by the kernel's own count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import memory
from tests.conftest import PROBE
from tests.host import few
from tests.running import run

# Memory grows with series and threads, not with samples: as many variants as by default.
OPTIONS = {
    **few.OPTIONS,
    "TMR-P-JIT": ("--samples", "20", "-p", "periods_ns=1ms,2ms,3ms"),
    "TMR-B-EDGE": ("--deadline-ns", "300ms"),
}


def every_test() -> list[str]:
    return memory.tests_of(PROBE) if PROBE.exists() else []


@pytest.fixture(scope="module")
def may_lock(probe: Path) -> None:
    stream = run(probe, "CLK-B-RES", "--samples", "10")
    if not stream.result.conditions.memory_locked:
        pytest.skip(f"memory cannot be locked here: {stream.events['memory_not_locked'].text}")


@pytest.mark.usefixtures("may_lock")
def test_a_recording_of_a_month_locks_no_more_than_others(probe: Path, quick: list[str]) -> None:
    month_ns = str(30 * 86_400 * 10**9)
    locked = memory.measure(probe, "TMR-P-LAT", [*quick, "--duration-ns", month_ns])
    assert locked.largest <= memory.LIMIT_BYTES


@pytest.mark.usefixtures("may_lock")
def test_a_further_cpu_locks_no_more_than_the_documents_say(probe: Path, quick: list[str]) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2:
        pytest.skip("there is one CPU only")
    words = [*quick, "-p", f"cpus={cpus[0]},{cpus[1]}"]
    locked = memory.measure(probe, "TMR-P-LAT", words)
    added = memory.CPU_LIST_BYTES + memory.FURTHER_CPU_BYTES
    assert locked.largest <= memory.WAKEUP_LIMIT_BYTES + added


@pytest.mark.usefixtures("may_lock")
@pytest.mark.parametrize("test", every_test())
def test_every_test_locks_little(probe: Path, quick: list[str], test: str) -> None:
    options = OPTIONS.get(test, ("--samples", "10"))
    locked = memory.measure(probe, test, [*quick, *options])
    assert locked.largest <= locked.limit
    assert locked.total <= locked.limit
