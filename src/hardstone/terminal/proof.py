"""The effect of a setting, for the terminal."""

from __future__ import annotations

from typing import IO

from rich import box
from rich.table import Table
from rich.text import Text

from hardstone.model import Unit
from hardstone.present.wording import format_value, spoken
from hardstone.stats.paired_runs import FEW_PAIRS, Effect, Maxima, PairValues, Proof
from hardstone.terminal.console import make_console
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words

_STYLES = {"lower": "green", "higher": "bold red", "none seen": "", "not judged": "yellow"}


def print_proof(proof: Proof, title: str, stream: IO[str] | None = None) -> None:
    """Prints every pair, then the change of each figure with its confidence."""
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
        print_table(console, _pairs_table(proof))
        console.print()
        print_table(console, _effects_table(proof))
        console.print()
    for effect in proof.effects:
        console.print(words(effect_text(effect), _STYLES[effect.verdict]))
    if proof.maxima is not None:
        console.print(words(maxima_text(proof.maxima)))
    for line in (*proof.notes, *proof.left_out):
        console.print(words(line, "yellow"))


def effect_text(effect: Effect) -> str:
    """The verdict on one figure, as a sentence."""
    shift = effect.shift
    if effect.verdict == "not judged" or shift.low is None or shift.high is None:
        return f"{effect.figure}: not judged; {FEW_PAIRS}"
    if effect.verdict != "none seen":
        size = format_value(abs(shift.estimate), effect.unit)
        return f"{effect.figure}: {effect.verdict} with the setting, by {size}"
    most = format_value(max(abs(shift.low), abs(shift.high)), effect.unit)
    return f"{effect.figure}: no effect seen; an effect above {most} would have been detected"


def maxima_text(maxima: Maxima) -> str:
    """The worst observed with and without the setting, without a verdict."""
    without, with_setting = (
        format_value(one, maxima.unit) for one in (maxima.without, maxima.with_setting)
    )
    ratio = "" if maxima.ratio is None else f", ratio {maxima.ratio:.2f}"
    return (
        f"worst observed: {without} without, {with_setting} with the setting{ratio} "
        f"(medians of the pairs); {maxima.verdict}"
    )


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(titles[0])
    for title in titles[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _pairs_table(proof: Proof) -> Table:
    columns = [(effect.figure, effect.unit, effect.pairs) for effect in proof.effects]
    if proof.maxima is not None:
        columns.append(("worst observed", proof.maxima.unit, proof.maxima.pairs))
    table = _table("pair", *(f"{figure}\nwithout, with" for figure, _, _ in columns))
    for number in range(proof.pairs_counted):
        cells = [_pair_text(pairs[number], unit) for _, unit, pairs in columns]
        table.add_row(str(number + 1), *cells)
    return table


def _pair_text(pair: PairValues, unit: Unit) -> Text:
    shown = (format_value(one, unit) for one in (pair.without, pair.with_setting))
    return Text(", ".join(shown))


def _effects_table(proof: Proof) -> Table:
    table = _table("figure", "difference", "interval", "confidence", "p", "adjusted p")
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
