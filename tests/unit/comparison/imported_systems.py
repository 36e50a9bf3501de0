"""Systems that other tools measured, for the tests of their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hardstone.model import Conditions, Histogram, Imported, Loss, Result, Scalar, Series
from hardstone.stats.histogram import histogram_of
from hardstone.stats.identity import MAX_VALUE
from hardstone.systems.subjects import MeasuredRun
from tests.unit.comparison.made_systems import labelled, run_with, spread
from tests.unit.stats.make import result

MACHINE: Mapping[str, Scalar] = {
    "machine.cpu_model": "Example 1000",
    "kernel.name": "Linux",
    "kernel.release": "6.12.0-rt",
}
FIFO = Conditions(load="none", policy="fifo", priority=90, realtime=True)
WITHOUT_LOAD = Loss(what="conditions", text="The file does not say what load was running.")


def total(values: Sequence[int], **labels: int | str) -> Series:
    """The wake-up latency of one CPU."""
    return labelled(values, "wakeup", **({"part": "total", "cpu": 1} | labels))


def own(values: Sequence[int] = (), **changed: object) -> MeasuredRun:
    """TMR-P-LAT, measured by hardstone every millisecond."""
    fields: dict[str, object] = {
        "series": [total(values or spread(5000))],
        "params": {"interval_ns": 1_000_000},
        "conditions": FIFO,
    }
    return run_with(result("TMR-P-LAT", **(fields | changed)), system=dict(MACHINE))


def imported(
    tool: str,
    *results: Result,
    command: str | None = None,
    system: Mapping[str, Scalar] = MACHINE,
    losses: Sequence[Loss] = (WITHOUT_LOAD,),
) -> MeasuredRun:
    """What the file of a tool has."""
    found = Imported(
        tool=tool,
        version="2.40",
        format="JSON",
        file="a.json",
        sha256="0" * 64,
        size_bytes=1,
        command=command,
        losses=list(losses),
    )
    return run_with(*results, imported=found, system=dict(system), instrument=None)


def cyclictest(
    values: Sequence[int] = (),
    *,
    command: str | None = "cyclictest -m -p 90",
    system: Mapping[str, Scalar] = MACHINE,
    losses: Sequence[Loss] = (WITHOUT_LOAD,),
    **changed: object,
) -> MeasuredRun:
    """cyclictest, with whatever its file does not say."""
    fields: dict[str, object] = {
        "series": [total(values or spread(5000))],
        "params": {"interval_ns": 1_000_000},
        "conditions": FIFO,
    }
    one = result("TMR-P-LAT", **(fields | changed))
    return imported("cyclictest", one, command=command, system=system, losses=losses)


def relative(values: Sequence[int] = ()) -> MeasuredRun:
    """cyclictest -r, whose moments are others."""
    one = labelled(values or spread(6000), "wakeup_relative", cpu=1)
    found = result("cyclictest", series=[one], params={"interval_ns": 1_000_000}, conditions=FIFO)
    return imported("cyclictest", found, command="cyclictest -r -p 90")


def linear(
    values: Sequence[int], width: int = 1000, most: int = MAX_VALUE, *, is_cut: bool = False
) -> Series:
    """A series with buckets of equal width from 0 on. What lies above `most` overflowed, or with
    `is_cut` was dropped."""
    histogram = histogram_of(values, layout=f"linear/{width}/0", limit=most)
    count = len(values)
    if is_cut:
        count -= histogram.overflow
        histogram.overflow, histogram.is_cut = 0, True
    return msgspec.structs.replace(total(values), count=count, histogram=histogram)


def without_distribution(values: Sequence[int]) -> Series:
    """Minimum, mean and maximum alone."""
    histogram = Histogram(layout="none", buckets=[], overflow=len(values))
    return msgspec.structs.replace(total(values), histogram=histogram)
