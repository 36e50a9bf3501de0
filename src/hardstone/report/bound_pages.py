"""Sheets as the pages of a PDF, with their texts as text."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from hardstone.present.wording import one_line
from hardstone.report.plain_text import operators
from hardstone.report.sheet import HEIGHT, WIDTH, Sheet

if TYPE_CHECKING:
    from pypdf import PageObject


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
