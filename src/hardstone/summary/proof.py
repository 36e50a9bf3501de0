"""The effect of a setting, for the terminal."""

from __future__ import annotations

from typing import IO

from rich import box
from rich.table import Table
from rich.text import Text

from hardstone.report.text import format_value
from hardstone.stats.paired_runs import Effect, Proof
from hardstone.summary.show import make_console
from hardstone.summary.text import spoken, words

_STYLES = {"lower": "green", "higher": "bold red", "none seen": ""}


def print_proof(proof: Proof, title: str, stream: IO[str] | None = None) -> None:
    """Prints every pair, then by how much each figure moved and how sure that is."""
    console = make_console(stream)
    console.print(words(f"{proof.rule}: {title}", "bold"))
    settings = ", ".join(proof.settings)
    console.print(
        words(
            f"{proof.test}, {spoken(proof.series) or 'no series'}; without and with {settings}: "
            f"{proof.pairs_counted} of {proof.pairs_asked} pairs"
        )
    )
    console.print()
    if proof.effects:
        console.print(_pairs_table(proof))
        console.print()
        console.print(_effects_table(proof))
        console.print()
    for effect in proof.effects:
        console.print(words(effect_text(effect), _STYLES[effect.verdict]))
    for line in (*proof.notes, *proof.left_out):
        console.print(words(line, "yellow"))


def effect_text(effect: Effect) -> str:
    """What may be said of one figure, in a sentence."""
    shift = effect.shift
    if effect.verdict != "none seen":
        size = format_value(abs(shift.estimate), effect.unit)
        return f"{effect.figure}: {effect.verdict} with the setting, by {size}"
    if shift.low is None or shift.high is None:
        return f"{effect.figure}: no effect seen; too few pairs to say what would have been seen"
    most = format_value(max(abs(shift.low), abs(shift.high)), effect.unit)
    return f"{effect.figure}: no effect seen; more than {most} would have been seen"


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(titles[0])
    for title in titles[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _pairs_table(proof: Proof) -> Table:
    titles = [f"{effect.figure}\nwithout, with" for effect in proof.effects]
    table = _table("pair", *titles)
    for number in range(proof.pairs_counted):
        cells = [_pair_text(effect, number) for effect in proof.effects]
        table.add_row(str(number + 1), *cells)
    return table


def _pair_text(effect: Effect, number: int) -> Text:
    pair = effect.pairs[number]
    shown = (format_value(one, effect.unit) for one in (pair.without, pair.with_setting))
    return Text(", ".join(shown))


def _effects_table(proof: Proof) -> Table:
    table = _table("figure", "difference", "interval", "confidence", "p", "p of all")
    for effect in proof.effects:
        shift = effect.shift
        interval = "none"
        if shift.low is not None and shift.high is not None:
            low, high = (format_value(one, effect.unit) for one in (shift.low, shift.high))
            interval = f"{low} to {high}"
        sure = f"{shift.confidence:.1%}" if shift.confidence is not None else "-"
        table.add_row(
            Text(effect.figure),
            Text(format_value(shift.estimate, effect.unit)),
            Text(interval),
            Text(sure),
            Text(f"{effect.p:.4f}"),
            Text(f"{effect.p_adjusted:.4f}"),
        )
    return table
