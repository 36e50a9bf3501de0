"""Text of a PDF page in the fonts that every reader has, which is much faster to write than drawn
text; characters outside of Windows-1252 have to be drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Widths of Helvetica in thousandths of its size, by the characters that have them; bold ones are
# a little wider, which right-aligned text, never bold here, does not need.
_WIDTHS = {
    222: "ijl'",
    278: " !,./:;I[\\]ft\u00a0",
    333: "()-`r",
    500: "Jckxsyvz",
    556: "0123456789#$?_Labdeghnopqu",
    584: "+<=>~",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
}
_WIDTH_OF = {character: width for width, all_of in _WIDTHS.items() for character in all_of}
_USUAL = 556


@dataclass(frozen=True)
class Placed:
    """A line of text; `y` counts from the top, `colour` is #rrggbb."""

    text: str
    x: float
    y: float
    size: float
    colour: str
    bold: bool = False
    is_right: bool = False


def is_plain(text: str) -> bool:
    """Whether the fonts that every reader has can show `text`."""
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def width_of(text: str, size: float) -> float:
    return sum(_WIDTH_OF.get(character, _USUAL) for character in text) * size / 1000


def operators(found: Iterable[Placed], height: float) -> bytes:
    """The operators of PDF that show `found`, with the fonts /Plain and /Bold."""
    parts = [b"BT"]
    for one in found:
        x = one.x - (width_of(one.text, one.size) if one.is_right else 0)
        red, green, blue = (int(one.colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        font = "Bold" if one.bold else "Plain"
        look = f"/{font} {one.size} Tf {red:.3f} {green:.3f} {blue:.3f} rg"
        place = f"1 0 0 1 {x:.2f} {height - one.y:.2f} Tm"
        text = one.text.encode("cp1252")
        for special in (b"\\", b"(", b")"):
            text = text.replace(special, b"\\" + special)
        parts.append(f"{look} {place} (".encode() + text + b") Tj")
    return b"\n".join([*parts, b"ET"])
