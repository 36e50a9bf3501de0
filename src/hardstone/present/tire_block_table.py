"""What the steps of each thread of the tire consist of, as rows of a table."""

from __future__ import annotations

from hardstone.stats.tire_kept import MeanBlock, StepBlocks, mean_blocks
from hardstone.units import format_count, format_ns

HEADINGS = ("thread", "CPU", "steps", "read", "compute", "write", "wait")
BARRIER_HEADINGS = ("thread", "CPU", "steps", "read", "compute", "barrier", "wait")
CAPTION = "Means over the steps that were kept. Wait: from the end of a step to the next one."


def headings(blocks: StepBlocks) -> tuple[str, ...]:
    """The threads of the solver `barrier` write as they compute, and wait for each other."""
    return BARRIER_HEADINGS if blocks.solver == "barrier" else HEADINGS


def block_rows(blocks: StepBlocks) -> list[tuple[str, ...]]:
    """A row for each thread, under `headings`."""
    return [_row(one) for one in mean_blocks(blocks)]


def _row(one: MeanBlock) -> tuple[str, ...]:
    parts = (one.read_ns, one.compute_ns, one.write_ns)
    return (
        f"{one.thread}",
        "not known" if one.cpu is None else f"{one.cpu}",
        format_count(one.steps),
        *(format_ns(round(part)) for part in parts),
        "not known" if one.wait_ns is None else format_ns(round(one.wait_ns)),
    )
