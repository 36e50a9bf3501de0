"""What is drawn in files: pages of a PDF with text as text, charts as SVG and PNG that stand
alone, and what they draw as CSV.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from markupsafe import escape

from hardstone.errors import InputError
from hardstone.exporters.long_table import csv_bytes
from hardstone.files import check_folder, check_regular, remedy_of, replace_file
from hardstone.report.chart_frame import Spec
from hardstone.report.figures import ChartTable, Figure, Value
from hardstone.report.page_frame import renderer
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


@cache
def palette() -> dict[str, str]:
    """The colours of the page in light, by the names of its style."""
    root = _STYLE.read_text("utf-8").partition("}")[0]
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", root))


def coloured(svg: str) -> str:
    """A drawing with colours in the place of their names."""
    return _VARIABLE.sub(lambda match: palette().get(match[1], "#000000"), svg)


class Sheet:
    """A page that is filled from the top. What does not fit is left out, and said so.

    `texts` are not part of the SVG: they are written into the PDF.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.texts: list[Placed] = []
        self._y = float(MARGIN)
        self._is_cut = False

    @classmethod
    def headed(cls, subject: str, title: str) -> Self:
        """A sheet that begins with what it is about, small, and a title."""
        sheet = cls()
        sheet.text(subject, 8, colour="quiet")
        sheet.text(title, 14, bold=True)
        sheet.gap(4)
        return sheet

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
        # Characters beyond which a column is wrapped.
        longest = [34, *[18 if len(head) > 3 else 60] * (len(head) - 1)]
        weights = [
            min(max(map(len, column)) + 1, most)
            for column, most in zip(columns, longest, strict=True)
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
                placed = _SIZE.sub("", head).replace(
                    "<svg", f'<svg x="{x:.1f}" y="{self._y + 16:.1f}" {whole} {_FONT}', 1
                )
                self._parts.append(coloured(f"{placed}>{body}"))
            heights = (one[2][1] * scale for one, scale in zip(row, scales, strict=True))
            self._y += max(heights) + 18

    def svg(self, foot: str) -> str:
        """The page without its texts, with `foot` below it."""
        if self._is_cut:
            self._put("more in the HTML report", MARGIN, _FOOT - 4, 7.5, colour="quiet")
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
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for number, sheet in enumerate(sheets, 1):
        foot = f"{about}, page {number} of {len(sheets)}"
        drawn = renderer().svg_to_pdf(sheet.svg(foot))
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


INDEX = "index.csv"
_SAFE = re.compile(r"[^a-z0-9-]+")
_PNG_SCALE = 2.0
_LONGEST_NAME = 80
_KEYS = {"c": "series", "p": "panel", "d": "view", "y": "row", "h": "kind"}
_HIDDEN = {"i", "o", "e"}  # what a drawing needs to tell its lines apart
_FALLBACK = {"min": "low", "max": "high", "avg": "average"}


def write_chart_files(figures: Iterable[Figure], folder: Path, source: str = "") -> list[Path]:
    """Writes each figure to `folder` as ID.svg, ID.png and ID.csv, and `index.csv`, which says
    what each one is. Returns the paths.

    `source` is where the data are from, for charts that do not say it themselves. The folder is
    made; one that holds anything but files of these names is left alone. InputError for that, and
    for what cannot be written.
    """
    named = _named(figures)
    rows: list[list[Value]] = [
        [name, figure.title, figure.about, figure.alt] for name, figure in named.items()
    ]
    index = ChartTable(["file", "title", "what it shows", "figures in words"], rows)
    files: dict[str, bytes] = {INDEX: csv_bytes(index.columns, index.rows)}
    for name, figure in named.items():
        drawing = standing_alone(figure)
        if drawing:
            files[f"{name}.svg"] = drawing.encode("utf-8", "replace")
            files[f"{name}.png"] = png(drawing, _PNG_SCALE)
        place = f"{source} {figure.subject}".strip()
        table = figure.table or table_of(figure.drawing.spec, place)
        files[f"{name}.csv"] = csv_bytes(table.columns, table.rows)
    try:
        _make(folder, set(files))
        for name, data in files.items():
            replace_file(folder / name, data, None, is_durable=False)
    except OSError as error:
        cause = f"--files: {folder} cannot be written: {error.strerror or error}"
        raise InputError(cause, remedy_of(error, "name another folder with --files")) from error
    return [folder / name for name in files]


def figures_in(part: object) -> Iterator[Figure]:
    """Every figure within the parts of a page, in their order."""
    if isinstance(part, Figure):
        yield part
    elif isinstance(part, dict):
        for one in part.values():
            yield from figures_in(one)
    elif isinstance(part, list | tuple):
        for one in part:
            yield from figures_in(one)
    elif is_dataclass(part):
        for one in fields(part):
            yield from figures_in(getattr(part, one.name))


def _named(figures: Iterable[Figure]) -> dict[str, Figure]:
    """By the name of their files: the ID, of which only small letters, digits and "-" are kept."""
    found: dict[str, Figure] = {}
    for figure in figures:
        name = base = _SAFE.sub("-", figure.id.lower()).strip("-")[:_LONGEST_NAME] or "chart"
        number = 2
        while name in found or f"{name}.csv" == INDEX:
            name, number = f"{base}-{number}", number + 1
        found[name] = figure
    return found


def _make(folder: Path, names: set[str]) -> None:
    """OSError or InputError unless `folder` may be filled with files of these names."""
    if not folder.parent.is_dir():
        cause = f"--files: there is no folder {folder.parent}"
        raise InputError(cause, f"mkdir -p {shlex.quote(str(folder.parent))}")
    folder.mkdir(exist_ok=True)
    check_folder(folder)
    for one in sorted(folder.iterdir()):
        if one.name not in names:
            cause = f"--files: {folder} has other files, such as {one_line(one.name)[:60]}"
            raise InputError(cause, "name a new folder with --files")
        check_regular(one.lstat().st_mode)


def standing_alone(figure: Figure) -> str:
    """The chart as an SVG file, in the colours of light; empty if it cannot be drawn."""
    drawn = figure.drawing.__html__()
    box = _BOX.search(drawn)
    if box is None:
        return ""
    body = coloured(drawn.partition(">")[2])
    size = f'width="{box[1]}" height="{box[2]}" viewBox="0 0 {box[1]} {box[2]}"'
    words = f"<title>{_words(figure.title)}</title><desc>{_words(figure.alt)}</desc>"
    paper = f'<rect width="100%" height="100%" fill="{palette()["page"]}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT}>{words}{paper}{body}\n'
    )


def _words(text: str) -> str:
    return str(escape(one_line(text)))


def png(drawing: str, scale: float) -> bytes:
    """An SVG as a picture of pixels, `scale` of them for each of its own."""
    return bytes(renderer().svg_to_png(drawing, scale=scale))


def table_of(spec: Spec, source: str = "") -> ChartTable:
    """The rows of a specification, under the headings that the chart itself has for them.

    A value of 0 or less stands at 0.5 on a logarithmic axis, and here too.
    """
    rows: list[dict[str, Any]] = spec["data"]["values"]
    names = list(dict.fromkeys(key for row in rows for key in row))
    shown = [name for name in names if name not in _HIDDEN]
    titles = _titles(spec)
    heads = [titles.get(name) or _KEYS.get(name) or _FALLBACK.get(name, name) for name in shown]
    found: list[list[Value]] = [[*(row.get(name) for name in shown), source] for row in rows]
    return ChartTable([*heads, "source"], found)


def _titles(spec: Spec) -> dict[str, str]:
    """What tooltips and axes call each field; tooltips name units."""
    layers: Sequence[Spec] = spec.get("spec", spec).get("layer", [])
    found: dict[str, str] = {}
    for layer in layers:
        encoding = layer.get("encoding", {})
        tips = encoding.get("tooltip", [])
        axes = [one for one in encoding.values() if isinstance(one, dict)]
        for one in [*tips, *axes]:
            title = one.get("title")
            if isinstance(title, str) and "field" in one:
                found.setdefault(one["field"], title.removesuffix(" (log)"))
    return found
