"""Lines of one style for standard output, without rich where nothing is coloured.

rich's console takes longer to load than a list to print.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hardstone.terminal.screen_width import width_of

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
