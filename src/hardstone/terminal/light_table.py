"""Tables and lines of a terminal without rich's console, which takes longer to load than a list to
print. rich also wraps each cell by itself: fifty rows take longer than all else that lists them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hardstone.terminal import width_of
from hardstone.wording import one_line

if TYPE_CHECKING:
    from rich.console import Console


_COLOURS = ("FORCE_COLOR", "TTY_COMPATIBLE")
Parts = list[str | tuple[str, str]]


class LightLines:
    """Prints lines that are never wrapped. `width` is that of the terminal."""

    def __init__(self) -> None:
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
        self._console = _console()
        self.width = width_of(None) if self._console is None else self._console.width

    @property
    def is_ascii(self) -> bool:
        """Whether the stream has no other characters."""
        return not (sys.stdout.encoding or "utf-8").lower().startswith("utf")

    def line(self, text: str = "", style: str = "") -> None:
        """Prints `text`, which has no control characters."""
        self.parts([(text, style)])

    def parts(self, parts: Parts) -> None:
        """Prints a line of texts, some with a style."""
        if self._console is None:
            texts = [part if isinstance(part, str) else part[0] for part in parts]
            _write("".join([*texts, "\n"]))
            return

        from rich.text import Text

        self._console.print(Text.assemble(*parts), soft_wrap=True)

    def raw(self, lines: list[str]) -> None:
        """Prints lines without a style."""
        _write("".join(f"{line}\n" for line in lines))


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise BrokenPipeError from None  # click would exit with 1 if it had a number


def _console() -> Console | None:
    if not (sys.stdout.isatty() or any(name in os.environ for name in _COLOURS)):
        return None
    from hardstone.terminal.console import make_console

    return make_console()


_GAP = 2  # a space, and the divider
_LONGEST_NAME = 24
_WORD = re.compile(r"\S+\s?")


def _cell_len(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _chopped(text: str, width: int) -> list[str]:
    if text.isascii():
        return [text[begin : begin + width] for begin in range(0, len(text), width)]
    from rich.cells import chop_cells

    return chop_cells(text, width)


def _sized(text: str, width: int) -> str:
    if text.isascii():
        return text[:width].ljust(width)
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def print_light_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], wrapping: Sequence[bool]
) -> None:
    """Prints untrusted words to standard output. Columns that are not `wrapping` stay on one line.

    Columns that wrap shrink to their longest word; then lines are longer than the terminal.
    """
    screen = LightLines()
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = _widths([heads, *cells], wrapping, screen.width)
    divider, line, cross = ("|", "-", "+") if screen.is_ascii else (" ", "\u2500", "\u2500")
    parts: Parts = []
    for head, width in zip(heads[:-1], widths[:-1], strict=True):
        parts += [(_sized(head, width), "bold"), (" ", "bold"), divider]
    screen.parts([*parts, (_sized(heads[-1], widths[-1]), "bold")])
    drawn = [f"{line * (width + 1)}{cross}" for width in widths[:-1]]
    drawn = ["".join([*drawn, line * widths[-1]])]
    for row in cells:
        drawn += _lines(row, widths, divider)
    screen.raw(drawn)


def _lines(row: Sequence[str], widths: Sequence[int], divider: str) -> list[str]:
    columns = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    height = max(len(column) for column in columns)
    filled = [
        [*column, *[" " * width] * (height - len(column))]
        for column, width in zip(columns, widths, strict=True)
    ]
    return [f" {divider}".join(parts) for parts in zip(*filled, strict=True)]


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of `width` cells; a word that is longer than a line is cut."""
    breaks, used = [0], 0
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        length = _cell_len(word.rstrip())
        if length <= width - used:
            used += _cell_len(word)
        elif length <= width:
            breaks.append(start)
            used = _cell_len(word)
        else:
            parts = _chopped(word, width)
            for part in parts:
                breaks.append(start)
                start += len(part)
            used = _cell_len(parts[-1])
    ends = [*breaks[1:], len(text)]
    pieces = [text[begin:end] for begin, end in zip(breaks, ends, strict=True)]
    return [_sized(piece, width) for piece in pieces if piece or len(pieces) == 1]


def _widths(rows: Sequence[Sequence[str]], wrapping: Sequence[bool], room: int) -> list[int]:
    columns = list(zip(*rows, strict=True))
    widths = [max(_cell_len(cell) for cell in column) for column in columns]
    least = [
        min(_longest_word(column), _LONGEST_NAME, width) if wraps else width
        for column, width, wraps in zip(columns, widths, wrapping, strict=True)
    ]
    limit = room - _GAP * (len(widths) - 1)
    if sum(widths) <= limit:
        return widths
    level = _levelled(widths, wrapping, limit)
    if all(one >= low for one, low in zip(level, least, strict=True)):
        return level
    return _narrowed(widths, least, limit)


def _longest_word(column: Sequence[str]) -> int:
    return max((_cell_len(word) for cell in column for word in cell.split()), default=1)


def _levelled(widths: Sequence[int], wrapping: Sequence[bool], limit: int) -> list[int]:
    """The widest wrapping columns are cut to the next widest one until all fit, as rich does it:
    with the space that follows each column but the last."""
    spaces = [1] * (len(widths) - 1) + [0]
    most = limit + sum(spaces)
    found = [min(width + space, most) for width, space in zip(widths, spaces, strict=True)]
    able = [place for place, wraps in enumerate(wrapping) if wraps]
    while (excess := sum(found) - most) > 0:
        level = max(found[place] for place in able)
        widest = [place for place in able if found[place] == level]
        step = level - max((found[place] for place in able if found[place] < level), default=0)
        if not level:
            break
        for left, place in zip(range(len(widest), 0, -1), widest, strict=True):
            cut = min(step, round(excess / left))
            found[place] -= cut
            excess -= cut
    return [width - space for width, space in zip(found, spaces, strict=True)]


def _narrowed(widths: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    """The widest column that still can loses one, until all fit or none can."""
    found = list(widths)
    while sum(found) > limit:
        able = [place for place, low in enumerate(least) if found[place] > low]
        if not able:
            break
        found[max(able, key=lambda place: found[place])] -= 1
    return found
