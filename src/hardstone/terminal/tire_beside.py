"""What the sweeps of several targets say beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from hardstone.model import RunDocument
from hardstone.present import tire_statement_text
from hardstone.present.target_labels import target_columns
from hardstone.stats.kind_of_time import time_meaning
from hardstone.terminal.console import make_console
from hardstone.terminal.tire_view import statement_parts
from hardstone.terminal.words import words


def print_tires(documents: Sequence[RunDocument], stream: IO[str] | None = None) -> None:
    """Prints to `stream` (default: standard output) each run after the first beside that one."""
    console = make_console(stream)
    columns = [column.short for column in target_columns(documents)]
    console.print(words(tire_statement_text.TITLE.lower(), "bold"))
    for label, document in list(zip(columns, documents, strict=True))[1:]:
        labels = (columns[0], label)
        found = tire_statement_text.texts_between(documents[0], document, labels)
        if isinstance(found, str) or not found:
            why = found or "no size, number of threads and policy that both have"
            console.print(words(f"{labels[0]} and {label}: not compared: {why}", "yellow"))
            continue
        for one in found:
            for number, (text, style) in enumerate(statement_parts(one)):
                console.print(words(text if number == 0 else f"  {text}", style))
    console.print(words(tire_statement_text.ABOUT, "dim"))
    meaning = time_meaning(documents[0].system)
    if meaning:
        console.print(words(meaning, "yellow"))
