"""Pages of a PDF: text, tables and drawings from top to bottom, with text as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import escape

from hardstone.wording import clean, one_line, shorten

if TYPE_CHECKING:
    from pypdf import PageObject


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


WIDTH, HEIGHT, MARGIN = 595, 842, 40
ROOM = WIDTH - 2 * MARGIN
_FOOT = HEIGHT - 26
_STYLE = Path(__file__).parent / "templates" / "report.css"
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")
_SHARE = 0.49  # of the size of a letter is its width, on average
_BOX = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')
_SIZE = re.compile(r' (?:width|height)="[^"]*"')
_LEAST_DRAWN = 80
_FONT = 'font-family="Liberation Sans, Arial, sans-serif"'
_MORE = "more in the HTML report"


@cache
def palette() -> dict[str, str]:
    """The colours of the page in light, by the names of its style."""
    root = _STYLE.read_text("utf-8").partition("}")[0]
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", root))


def coloured(svg: str) -> str:
    """A drawing with colours in the place of their names."""
    return _VARIABLE.sub(lambda match: palette().get(match[1], "#000000"), svg)


def _widest(head: Sequence[str]) -> list[int]:
    """Characters from which on a column is wrapped."""
    return [34, *[18 if len(head) > 3 else 60] * (len(head) - 1)]


class Sheet:
    """A page that is filled from the top. What does not fit is left out, and said so.

    `texts` are not part of the SVG: they are written into the PDF.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.texts: list[Placed] = []
        self._y = float(MARGIN)
        self._is_cut = False

    def text(self, text: str, size: float = 9, *, colour: str = "ink", bold: bool = False) -> None:
        """A paragraph, wrapped."""
        for line in textwrap.wrap(one_line(text), int(ROOM / (size * _SHARE))):
            if not self._has_room(size * 1.35):
                return
            self._y += size * 1.35
            self._put(line, MARGIN, self._y, size, colour=colour, bold=bold)

    def gap(self, height: float = 8) -> None:
        self._y += height

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], *, is_numeric: bool = True
    ) -> None:
        """Rows of texts with a heading, none where all of it is empty; where `is_numeric`, all
        columns but the first align right."""
        self._is_cut |= self.fill_table(head, rows, is_numeric=is_numeric) < len(rows)

    def fill_table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], *, is_numeric: bool = True
    ) -> int:
        """As `table`, with as many of the rows as have room: their number."""
        size = 7.5
        heads = [head] if any(head) else []
        columns = list(zip(*heads, *rows, strict=True))
        if not columns:
            return len(rows)
        weights = [
            min(max(map(len, column)) + 1, most)
            for column, most in zip(columns, _widest(head), strict=True)
        ]
        widths = [ROOM * weight / sum(weights) for weight in weights]
        for number, row in enumerate([*heads, *rows]):
            cells = [
                textwrap.wrap(clean(cell), max(int((width - 6) / (size * _SHARE)), 4)) or [""]
                for cell, width in zip(row, widths, strict=True)
            ]
            deepest = max(map(len, cells))
            if not self.has_room(size * 1.25 * deepest + 3):
                return max(number - len(heads), 0)
            colour = "quiet" if number < len(heads) else "ink"
            self._row(cells, deepest, size, widths, colour, is_numeric=is_numeric)
        return len(rows)

    def drawings(self, found: Sequence[tuple[str, str]], columns: int = 1) -> None:
        """Drawings (title, SVG) in columns, as large as the rest of the page allows."""
        drawn = [(title, svg, _BOX.search(svg)) for title, svg in found]
        known = [(title, svg, (float(box[1]), float(box[2]))) for title, svg, box in drawn if box]
        if not known:
            return
        row_count = -(-len(known) // columns)
        tall = (_FOOT - 14 - self._y) / row_count - 16
        wide = (ROOM - 14 * (columns - 1)) / columns
        if tall < _LEAST_DRAWN:
            self._is_cut = True
            return
        for at in range(0, len(known), columns):
            row = known[at : at + columns]
            scales = [min(wide / box[0], tall / box[1], 1.25) for _, _, box in row]
            for place, ((title, svg, box), scale) in enumerate(zip(row, scales, strict=True)):
                x = MARGIN + place * (wide + 14)
                self._put(title, x, self._y + 12, 8.5, bold=True)
                whole = f'width="{box[0] * scale:.1f}" height="{box[1] * scale:.1f}"'
                head, _, body = svg.partition(">")
                moved = _SIZE.sub("", head).replace(
                    "<svg", f'<svg x="{x:.1f}" y="{self._y + 16:.1f}" {whole} {_FONT}', 1
                )
                self._parts.append(coloured(f"{moved}>{body}"))
            heights = (one[2][1] * scale for one, scale in zip(row, scales, strict=True))
            self._y += max(heights) + 18

    def svg(self, foot: str) -> str:
        """The page without its texts, with `foot` below it."""
        if self._is_cut:
            self._put(_MORE, MARGIN, _FOOT - 4, 7.5, colour="quiet")
        self._put(foot, MARGIN, _FOOT + 8, 7, colour="quiet")
        paper = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{palette()["page"]}"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}">{paper}{"".join(self._parts)}</svg>'
        )

    def has_room(self, height: float) -> bool:
        return self._y + height < _FOOT - 14

    def _has_room(self, height: float) -> bool:
        fits = self.has_room(height)
        self._is_cut |= not fits
        return fits

    def _row(
        self,
        cells: Sequence[Sequence[str]],
        deepest: int,
        size: float,
        widths: Sequence[float],
        colour: str,
        *,
        is_numeric: bool,
    ) -> None:
        """Cells of several lines each, and a rule below."""
        left = float(MARGIN)
        for place, (lines, width) in enumerate(zip(cells, widths, strict=True)):
            is_right = is_numeric and place > 0
            for number, line in enumerate(lines, 1):
                at = self._y + size * 1.25 * number
                x = left + width if is_right else left
                self._put(line, x, at, size, colour=colour, is_right=is_right)
            left += width
        self._y += size * 1.25 * deepest + 3
        self._parts.append(
            f'<path d="M{MARGIN} {self._y:.1f}H{WIDTH - MARGIN}" stroke="{palette()["rule"]}"'
            ' stroke-width="0.5"/>'
        )

    def _put(
        self,
        text: str,
        x: float,
        y: float,
        size: float,
        *,
        colour: str = "ink",
        bold: bool = False,
        is_right: bool = False,
    ) -> None:
        text = shorten(text, 400)
        if is_plain(text):
            self.texts.append(Placed(text, x, y, size, palette()[colour], bold, is_right))
            return
        look = ' font-weight="600"' if bold else ""
        look += ' text-anchor="end"' if is_right else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{palette()[colour]}"'
            f" {_FONT}{look}>"
            f"{escape(text)}</text>"
        )


def bind(title: str, about: str, sheets: Sequence[Sheet]) -> bytes:
    """`sheets` as PDF, with `about` and its number at the foot of each page."""
    import vl_convert  # type: ignore[import-untyped,unused-ignore]
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for number, sheet in enumerate(sheets, 1):
        foot = f"{about}, page {number} of {len(sheets)}"
        drawn = vl_convert.svg_to_pdf(sheet.svg(foot))
        page = writer.add_page(PdfReader(BytesIO(drawn)).pages[0])
        page.merge_page(_text_page(operators(sheet.texts, HEIGHT)))
    writer.add_metadata({"/Title": one_line(f"{title} - hardstone"), "/Creator": "hardstone"})
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def _text_page(content: bytes) -> PageObject:
    """A page with nothing but text."""
    from pypdf import PageObject
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    fonts = DictionaryObject()
    for name, font in (("/Plain", "/Helvetica"), ("/Bold", "/Helvetica-Bold")):
        entries = {
            "/Type": "/Font",
            "/Subtype": "/Type1",
            "/BaseFont": font,
            "/Encoding": "/WinAnsiEncoding",
        }
        fonts[NameObject(name)] = DictionaryObject(
            {NameObject(key): NameObject(value) for key, value in entries.items()}
        )
    page = PageObject.create_blank_page(width=WIDTH, height=HEIGHT)
    stream = DecodedStreamObject()
    stream.set_data(content)
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    page[NameObject("/Contents")] = stream
    return page
