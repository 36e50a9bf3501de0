"""The doors: each takes an input, a file, as a command would, to what a person sees."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import unicodedata
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

import hardstone.report
from bench.fuzz.inputs import GOLDEN, RUN_ID, STREAM_TEST
from hardstone.catalogue import load_catalogue
from hardstone.comparison.assemble import compare_view
from hardstone.comparison.page import render_compare
from hardstone.comparison.screen import print_comparison
from hardstone.comparison.view import MOST_SYSTEMS
from hardstone.errors import HardstoneError
from hardstone.gate.against_limits import check_limits, limits_text, suggest_limits
from hardstone.gate.against_run import check_against_runs
from hardstone.gate.limits import read_limits
from hardstone.gate.outcome import gate_document
from hardstone.gate.screen import print_gate
from hardstone.importers.imported import document_of
from hardstone.importers.reading import Reading
from hardstone.importers.recognise import SourceFile, read, source_of, text_of
from hardstone.model import Result, RunDocument
from hardstone.report import drawing
from hardstone.report.drawing import Drawer, Drawing
from hardstone.report.page import render_html
from hardstone.stats.identity import series_problem
from hardstone.store.documents import read_document
from hardstone.store.store import Store
from hardstone.stream import StreamReader
from hardstone.systems.rating import rate_run
from hardstone.systems.subjects import published_system, subjects_of
from hardstone.targets.local import local_target
from hardstone.targets.transport import split_lines
from hardstone.terminal.whole_run import print_whole, print_why

PAGES_EACH = 20  # a page takes ten times as long as a summary
SHOWN_EACH = 10  # a summary takes ten times as long as reading a file of another tool
_CHUNK_BYTES = 1 << 16
_ACTIVE = ("iframe", "object", "embed", "base", "form", "link")


class Undrawn(Drawer):
    """Checks what would be drawn; drawing itself takes as long as fifty inputs."""

    def draw(self, spec: Any) -> Drawing:
        drawn: Future[str] = Future()
        try:
            drawing.encoded(spec)
            drawn.set_result("<svg></svg>")
        except ValueError as error:
            drawn.set_exception(error)
        return Drawing(spec, super().draw(spec).data, drawn)


def enter(kind: str, path: Path, number: int) -> bool:
    """Whether the input was accepted; what is refused in words is not. Raises what is a defect."""
    try:
        return _DOORS[kind](path, number)
    except HardstoneError as error:
        if not error.cause.strip() or "\n" in str(error):
            raise AssertionError("refused without words, or in more than a line") from error
        return False


def _document(path: Path, number: int) -> bool:
    document = read_document(path)
    show(document, with_page=number % PAGES_EACH == 0)
    judge(document, with_page=number % PAGES_EACH == 0)
    return True


def judge(document: RunDocument, *, with_page: bool) -> None:
    """Through rating, comparison and gates. What they refuse in words is fine: too few systems,
    nothing that can be compared."""
    out = io.StringIO()
    print_why(rate_run(document), out)
    subjects = subjects_of(document)[:MOST_SYSTEMS]
    with contextlib.suppress(HardstoneError):
        view = compare_view([*subjects[: MOST_SYSTEMS - 1], published_system("qnx")])
        with contextlib.redirect_stdout(out):
            print_comparison(view)
        if with_page:
            check_page(render_compare(view, bundle=lambda: None))
    with contextlib.suppress(HardstoneError):
        held = check_against_runs(subjects, [subjects])
        print_gate(gate_document("baseline", [document.id], [document.id], held.checks), out)
    with contextlib.suppress(HardstoneError):
        suggestions = suggest_limits([subjects], 0.25)
        limits = read_limits(limits_text(suggestions, ["run"], 0.25).encode(), _all_tests())
        print_gate(gate_document("limits", ["run"], ["x"], check_limits(limits, subjects)), out)
    check_steering(out.getvalue())


def _all_tests() -> list[str]:
    return load_catalogue().ids()


def show(document: RunDocument, *, with_page: bool) -> None:
    """As text, and as a page; AssertionError where one could steer a terminal."""
    out = io.StringIO()
    print_whole(document, out)
    check_steering(out.getvalue())
    if with_page:
        with Undrawn() as drawer:
            check_page(render_html(document, bundle=lambda: None, drawer=drawer))


class _Page(HTMLParser):
    """What a browser would run or load of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[str] = []
        self.others: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")
        if tag in _ACTIVE or (self._in_script and attrs):
            self.others.append(f"<{tag}>")
        for name, value in attrs:
            where = "".join((value or "").split()).lower()
            if name.startswith("on") or where.startswith(("javascript:", "data:text")):
                self.others.append(f"<{tag} {name}>")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


def check_page(text: str) -> None:
    """AssertionError where a page runs or loads anything that this package did not write."""
    page = _Page()
    page.feed(text)
    page.close()
    foreign = [one for one in page.scripts if one not in _own_scripts()]
    if foreign or page.others:
        raise AssertionError(f"the page holds {[one[:80] for one in foreign] + page.others}")


@cache
def _own_scripts() -> set[str]:
    folder = Path(hardstone.report.__file__).parent / "templates"
    return {path.read_text("utf-8") for path in folder.glob("*.js")}


def check_steering(text: str) -> None:
    """AssertionError where `text` could steer a terminal."""
    kinds = {char: unicodedata.category(char) for char in set(text) if char != "\n"}
    steering = [char for char, kind in kinds.items() if kind in ("Cc", "Cf", "Cs")]
    if steering:
        raise AssertionError(f"what is printed holds {[hex(ord(one)) for one in steering]}")


def _stream(path: Path, number: int) -> bool:
    reader = StreamReader(STREAM_TEST)
    with path.open("rb") as file:
        for line in split_lines(iter(lambda: file.read(_CHUNK_BYTES), b"")):
            reader.feed(line)
            if reader.problem is not None:
                break
    result = msgspec.convert(msgspec.to_builtins(reader.finish()), Result)
    document = msgspec.structs.replace(_around(), results=[result])
    show(document, with_page=number % PAGES_EACH == 0)
    if reader.is_complete:
        judge(document, with_page=number % PAGES_EACH == 0)
    return reader.is_complete


@cache
def _around() -> RunDocument:
    """A run for the result of a stream."""
    return read_document(GOLDEN / "run-1.json")


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


def _import(path: Path, number: int) -> bool:
    with path.open("rb") as file:
        source = source_of(file, "input")
    reading = read(source)
    document = document_of(reading, source, RUN_ID)
    series = [one for result in document.results for one in result.series]
    problems = [problem for one in series if (problem := series_problem(one)) is not None]
    if problems and document.trust.grade != "untrustworthy":
        raise AssertionError(f"trusted, though {problems[0]}")
    most = _counted_most(reading, source)
    if not problems and any(one.count > most for one in series):
        raise AssertionError(f"more values than the {most} that the file could have")
    if number % SHOWN_EACH == 0:
        show(document, with_page=number % (SHOWN_EACH * PAGES_EACH) == 0)
        judge(document, with_page=False)
    return True


def _counted_most(reading: Reading, source: SourceFile) -> int:
    """No file has more values than its numbers add up to, than it has records, or than its seconds
    allow where only those are in it. Numbers are as a terminal shows them."""
    text = text_of(source.content)
    found = re.findall(r"\d{1,3}(?:,\d{3})+|\d{1,20}", text)
    numbers = sum(int(one.replace(",", "")) for one in found)
    seconds = sum(len(one.maxima_per_s) for one in reading.series)
    period_ns = reading.params.get("interval_ns")
    each = 10**9 // period_ns if isinstance(period_ns, int) and period_ns > 0 else 0
    return numbers + len(source.content) + seconds * each


_DOORS: dict[str, Callable[[Path, int], bool]] = {
    "document": _document,
    "stream": _stream,
    "journal": _journal,
    "import": _import,
}
