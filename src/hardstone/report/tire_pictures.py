"""Pictures of the tire in a report: where it was, and what its threads did in a step."""

from __future__ import annotations

from hardstone.model import Result
from hardstone.present.wording import shorten
from hardstone.report.charts.tire_block_chart import (
    blocks_chart,
    blocks_text,
    has_behind,
    near_deadline_ns,
    shown_steps,
)
from hardstone.report.charts.tire_fall_chart import MOST_PANELS, frames_chart, frames_text
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, data_of
from hardstone.report.theme import Spec
from hardstone.simulation.kept import Frame, StepBlocks, blocks_of, frames_of
from hardstone.simulation.tables import block_rows, headings
from hardstone.units import format_count, format_ns

MOST_VARIANTS = 6
_LONGEST_ALT = 1200


def picture_figures(result: Result, anchor: str, drawer: Drawer, *, live: bool) -> list[Figure]:
    """The falling tire, and for the first MOST_VARIANTS variants the steps of its threads; none
    where the result has no such tables."""
    frames, variants = frames_of(result), blocks_of(result)
    found = [_frames_figure(frames, f"{anchor}-tire", drawer, live=live)] if frames else []
    for number, one in enumerate(variants[:MOST_VARIANTS]):
        name = f"{anchor}-blocks-{number}"
        found.append(_blocks_figure(one, _title(one, result), name, drawer, live=live))
    return found


def blocks_tables(result: Result) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Title, headings and rows for the variants that have such a figure."""
    return [
        (_title(one, result), headings(one), block_rows(one))
        for one in blocks_of(result)[:MOST_VARIANTS]
    ]


def _frames_figure(frames: list[Frame], name: str, drawer: Drawer, *, live: bool) -> Figure:
    first = frames[0]
    title = f"The tire of {format_count(first.masses)} masses"
    about = (
        f"Simulated on one thread after the measurement, in steps of {format_ns(first.step_ns)}. "
        "Upwards and across at one scale; the dot is the mass that was on top."
    )
    if len(frames) > MOST_PANELS:
        about += f" {MOST_PANELS} of {len(frames)} pictures."
    if first.every > 1:
        about += f" Of {first.every} neighbours one mass is drawn."
    return _figure(title, about, frames_text(frames), frames_chart(frames), name, drawer, live)


def _blocks_figure(
    blocks: StepBlocks, title: str, name: str, drawer: Drawer, *, live: bool
) -> Figure:
    kept = {one.step for row in blocks.rows for one in row.blocks}
    about = f"{len(shown_steps(blocks))} of {len(kept)} steps that were kept, around the one that "
    about += "ended latest. Thin: it waits to begin. Parts include time in which it did not run."
    if has_behind(blocks):
        about += " Behind: it has not ended an earlier step."
    if len(blocks.rows) < blocks.threads:
        about += f" {len(blocks.rows)} of {blocks.threads} threads."
    if blocks.period_ns is not None and near_deadline_ns(blocks) is None:
        about += f" The deadline is {format_ns(blocks.period_ns)} after the release."
    return _figure(title, about, blocks_text(blocks), blocks_chart(blocks), name, drawer, live)


def _title(blocks: StepBlocks, result: Result) -> str:
    where = result.conditions
    words = [
        f"Steps of {format_count(blocks.masses)} masses",
        f"{blocks.threads} {'thread' if blocks.threads == 1 else 'threads'}",
        shorten(blocks.solver),
        shorten(blocks.policy),
    ]
    words += [f"load {shorten(where.load)}"] if where.load not in (None, "none") else []
    words += [shorten(where.cpu_config)] if where.cpu_config not in (None, "shared") else []
    return ", ".join(words)


def _figure(
    title: str, about: str, spoken: str, spec: Spec, name: str, drawer: Drawer, live: bool
) -> Figure:
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=shorten(f"{title}: {spoken}.", _LONGEST_ALT),
        drawing=drawer.draw(spec),
        data=data_of(spec, live=live),
    )
