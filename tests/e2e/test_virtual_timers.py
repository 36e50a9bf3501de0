"""The stamps of TMR-P-JIT by each mechanism, on a libc whose time and latencies are known."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests.e2e import machine
from tests.e2e.running import Stream, run

pytestmark = pytest.mark.e2e

MECHANISMS = ("timer-handler", "timer-sigwaitinfo", "nanosleep", "timerfd", "setitimer")
OPTIONS = ("--clock", "monotonic", "--policy", "other")
PERIOD_NS = 100_000


def measure(probe: Path, libc: Path, words: tuple[str, ...], **variables: object) -> Stream:
    prefix = ("taskset", "-c", str(machine.cpu()))
    told = {f"HARDSTONE_{name.upper()}": str(value) for name, value in variables.items()}
    stream = run(
        probe, *words, *OPTIONS, prefix=prefix, variables={"LD_PRELOAD": str(libc), **told}
    )
    assert stream.result.status == "measured", stream.result
    return stream


def jitter(probe: Path, libc: Path, mechanism: str, **variables: object) -> StreamSeries:
    words = ("-p", f"periods_ns={PERIOD_NS}", "-p", f"mechanisms={mechanism}", "--samples", "120")
    return measure(probe, libc, ("TMR-P-JIT", *words), **variables).series("jitter")


def expanded(late_ns: list[int]) -> list[int]:
    """A value for each expiry: also for those that a late wake-up serves."""
    values: list[int] = []
    for late in cycle(late_ns):
        values += [late - j * PERIOD_NS for j in range(late // PERIOD_NS + 1)]
        if len(values) >= 120:
            return values
    return values


@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if one != "setitimer"])
@pytest.mark.parametrize("late_ns", [[7_000], [1_000, 250_000, 0, 3_000_123]], ids=str)
def test_each_expiry_has_its_lateness(
    shared_probe: Path, virtual_libc: Path, mechanism: str, late_ns: list[int]
) -> None:
    late = ",".join(map(str, late_ns))
    series = jitter(shared_probe, virtual_libc, mechanism, late_ns=late, return_ns=11_000)
    values = expanded(late_ns)
    assert (series.count, series.min, series.max) == (len(values), min(values), max(values))
    assert series.mean == pytest.approx(sum(values) / len(values), rel=1e-12)
    assert series.labels["mechanism"] == mechanism


def test_the_stamp_is_the_first_act_of_the_handler(shared_probe: Path, virtual_libc: Path) -> None:
    """What comes after it in the handler, and the way back from it, is not in the figure."""
    series = jitter(
        *(shared_probe, virtual_libc, "timer-handler"), late_ns=5_000, return_ns=40_000, read_ns=20
    )
    assert (series.min, series.max) == (5_020, 5_020)
