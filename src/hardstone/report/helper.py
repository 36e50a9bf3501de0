"""A process that draws charts for another one: a specification a line, an answer a line.

It ends with its standard input. See drawing.py.
"""

from __future__ import annotations

import sys
from typing import IO

import msgspec

from hardstone.report import svg


class Answer(msgspec.Struct, kw_only=True):
    """The drawing, or why there is none."""

    drawing: str | None = None
    problem: str = ""


def main(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answers every line of `source`; what is no chart is answered with a problem."""
    svg.start()
    for line in source:
        sink.write(msgspec.json.encode(_answer(line.decode())) + b"\n")
        sink.flush()


def _answer(text: str) -> Answer:
    try:
        return Answer(drawing=svg.draw(text))
    except ValueError as error:
        return Answer(problem=str(error))


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
