"""A run in each medium: a page or paper without drawings, which take a hundred times as long as the
rest, and a terminal."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from concurrent.futures import Future
from io import BytesIO, TextIOWrapper
from typing import IO, Any

import pytest
from pypdf import PdfReader
from rich.cells import cell_len

from hardstone.model import Descriptor, RunDocument
from hardstone.report import drawing
from hardstone.report.chart_frame import Spec
from hardstone.report.drawing import Drawer, Drawing
from hardstone.report.page import render_html
from hardstone.report.pdf import render_pdf
from hardstone.report.results import SpecLookup


class Sketches(Drawer):
    """Takes what can be drawn, and draws nothing."""

    def draw(self, spec: Spec) -> Drawing:
        drawn: Future[str] = Future()
        drawn.set_result(f"<svg aria-hidden='true'><!-- {len(drawing.encoded(spec))} --></svg>")
        return Drawing(spec, super().draw(spec).data, drawn)


def no_descriptor(_test: str) -> Descriptor | None:
    return None


def sketched(document: RunDocument, lookup: SpecLookup = no_descriptor, **options: Any) -> str:
    """The page without scripts and without drawings."""
    return render_html(document, lookup, bundle=lambda: None, drawer=Sketches(), **options)


def flat(text: str) -> str:
    return " ".join(text.split())


def words(page: str) -> str:
    """The text of a page as a reader sees it."""
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", page, flags=re.S)
    return flat(html.unescape(re.sub(r"<[^>]+>", " ", body)))


def paper(
    document: RunDocument, lookup: SpecLookup = no_descriptor, drawer: Drawer | None = None
) -> list[str]:
    return texts_of(render_pdf(document, lookup, drawer=drawer or Sketches()))


def texts_of(data: bytes) -> list[str]:
    """The text of each page of a PDF."""
    return [flat(page.extract_text()) for page in PdfReader(BytesIO(data)).pages]


def printed(
    print_it: Callable[[RunDocument, IO[str]], None],
    document: RunDocument,
    width: int = 80,
    encoding: str = "utf-8",
) -> str:
    """What a terminal shows: no line is wider than it but commands, and nothing steers it."""
    stream = TextIOWrapper(BytesIO(), encoding=encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        print_it(document, stream)
    stream.seek(0)
    text = stream.read()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    lines = [one.rstrip() for one in text.splitlines() if not is_command(one)]
    assert width < 80 or all(cell_len(line) <= width for line in lines)
    return text


def is_command(line: str) -> bool:
    return "hardstone " in line or "setcap " in line
