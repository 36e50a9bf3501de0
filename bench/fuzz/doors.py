"""The doors: each takes an input, a file, as a command would, to what a person sees."""

from __future__ import annotations

import io
import shutil
import unicodedata
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from bench.fuzz.inputs import RUN_ID, STREAM_TEST
from hardstone.errors import HardstoneError
from hardstone.model import Result, RunDocument
from hardstone.report import render_html, svg
from hardstone.report.drawing import Drawer, Drawing
from hardstone.store import Store, read_document
from hardstone.stream import StreamReader
from hardstone.targets.lines import split_lines
from hardstone.targets.local import local_target
from hardstone.terminal.whole_run import print_whole

PAGES_EACH = 20  # a page takes ten times as long as a summary
_CHUNK_BYTES = 1 << 16


class Undrawn(Drawer):
    """Checks what would be drawn; drawing itself takes as long as fifty inputs."""

    def draw(self, spec: Any) -> Drawing:
        drawn: Future[str] = Future()
        try:
            svg.encoded(spec)
            drawn.set_result("<svg></svg>")
        except ValueError as error:
            drawn.set_exception(error)
        return Drawing(spec, drawn)


def enter(kind: str, path: Path, number: int) -> bool:
    """Whether the input was accepted; what is refused in words is not. Raises what is a defect."""
    try:
        return _DOORS[kind](path, number)
    except HardstoneError as error:
        if not str(error).strip():
            raise AssertionError("refused without words") from error
        return False


def _document(path: Path, number: int) -> bool:
    show(read_document(path), with_page=number % PAGES_EACH == 0)
    return True


def show(document: RunDocument, *, with_page: bool) -> None:
    """As text, and as a page; AssertionError where one could steer a terminal."""
    out = io.StringIO()
    print_whole(document, out)
    kinds = {char: unicodedata.category(char) for char in set(out.getvalue()) if char != "\n"}
    steering = [char for char, kind in kinds.items() if kind in ("Cc", "Cf", "Cs")]
    if steering:
        raise AssertionError(f"the summary holds {[hex(ord(one)) for one in steering]}")
    if with_page:
        with Undrawn() as drawer:
            page = render_html(document, bundle=lambda: None, drawer=drawer)
        if "<script" in page:
            raise AssertionError("the page holds a script")


def _stream(path: Path, _number: int) -> bool:
    reader = StreamReader(STREAM_TEST)
    with path.open("rb") as file:
        for line in split_lines(iter(lambda: file.read(_CHUNK_BYTES), b"")):
            reader.feed(line)
            if reader.problem is not None:
                break
    result = reader.finish()
    msgspec.convert(msgspec.to_builtins(result), Result)
    return reader.is_complete


def _journal(path: Path, number: int) -> bool:
    store = path.parent / "store"
    shutil.rmtree(store, ignore_errors=True)
    journal = store / "journals" / RUN_ID
    journal.mkdir(parents=True)
    path.rename(journal / "journal.jsonl")
    opened = Store(store)
    recovered = opened.recover(lambda _path: [], lambda _name: local_target())
    for run_id in recovered:
        show(opened.load(run_id), with_page=number % PAGES_EACH == 0)
    return bool(recovered)


_DOORS: dict[str, Callable[[Path, int], bool]] = {
    "document": _document,
    "stream": _stream,
    "journal": _journal,
}
