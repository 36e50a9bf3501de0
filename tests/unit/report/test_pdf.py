"""The report as PDF: what is on which page, also of hostile texts, drawn without a browser."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from pypdf import PdfReader

from bench.long_recording import recording
from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.report.drawing import Drawer
from hardstone.report.pdf import render_pdf, write_pdf
from hardstone.report.plain_text import Placed, is_plain, operators, width_of
from hardstone.report.sheet import HEIGHT, ROOM, Sheet, coloured, palette
from tests.unit.report import sample
from tests.unit.report.hostile import hostile_document, hostile_lookup
from tests.unit.report.sketches import Sketches, no_descriptor
from tests.unit.stats import make, recorded


def read(data: bytes) -> list[str]:
    pages = PdfReader(BytesIO(data)).pages
    return [" ".join(page.extract_text().split()) for page in pages]


def pages(document: RunDocument, drawer: Drawer | None = None) -> list[str]:
    return read(render_pdf(document, sample.SPECS.get, drawer=drawer or Sketches()))


@pytest.mark.slow
def test_every_page_has_machine_conditions_and_trust(run: RunDocument) -> None:
    first, *others = pages(run)
    for text in (first, *others):
        assert "bench-board" in text and "6.12.9-rt-amd64" in text
        assert "heavy" in text and "Indicative only" in text
        assert run.id in text
    assert f"page 1 of {len(others) + 1}" in first


@pytest.mark.slow
def test_every_test_has_a_page_or_its_reason(run: RunDocument) -> None:
    first, *others = pages(run)
    for result in run.results:
        assert result.test in first and result.status in first
        shown = bool(result.series or result.verdicts)
        assert any(f"{result.test}:" in text for text in others) == shown


@pytest.mark.slow
def test_a_latency_has_a_page_for_each_part(run: RunDocument) -> None:
    found = pages(run)
    for title in ("Total, per wake-up", "Total, per release", "Dispatch, per wake-up"):
        (page,) = [text for text in found if f"TMR-P-LAT: {title}" in text]
        assert "Above 1 ms" in page and ("30 000" in page or "30 003" in page)


@pytest.mark.slow
def test_charts_are_drawn_with_their_labels() -> None:
    document = recording(points=100_000)
    (page,) = [text for text in pages(document, Drawer()) if "TMR-P-LAT: Return" in text]
    assert "values per bin (log)" in page and "10 us" in page


def test_causes_have_a_page() -> None:
    document = make.document(results=[recorded.with_cause(migrations_count=1)])
    (page,) = [text for text in pages(document) if "why the worst values were late" in text]
    assert "seen in that second: 1 migration (usually 0)" in page


@pytest.mark.slow
def test_the_causes_of_all_worst_values_have_pages() -> None:
    document = make.document(results=[recorded.with_many(40)])
    found = [text for text in pages(document) if "why the other worst values were late" in text]
    assert len(found) == 3
    for number in range(10, 43):
        assert any(f"task-{number} (pid" in text for text in found)


@pytest.mark.slow
def test_hostile_texts_stay_texts() -> None:
    data = render_pdf(hostile_document(), hostile_lookup, drawer=Sketches())
    assert len(read(data)) > 5
    assert b"/JavaScript" not in data and b"/URI" not in data and b"/Launch" not in data


@pytest.mark.slow
def test_the_title_of_the_file_is_one_clean_line() -> None:
    document = msgspec.structs.replace(make.document(), name="a\x1b[31m\nb\u202ec")
    data = render_pdf(document, sample.SPECS.get, drawer=Sketches())
    title = PdfReader(BytesIO(data)).metadata.title
    assert title is not None and title.isprintable() and title.endswith("- hardstone")


@pytest.mark.slow
def test_text_of_any_language_is_kept() -> None:
    name = "\u6e2c\u5b9a (\u00e9t\u00e9) \\ ("
    document = make.document(name=name)
    reader = PdfReader(BytesIO(render_pdf(document, no_descriptor, drawer=Sketches())))
    assert reader.metadata is not None and name in str(reader.metadata.title)
    document = make.document(name="\u00e9t\u00e9 \\ (a)")
    assert "\u00e9t\u00e9 \\ (a)" in pages(document)[0]


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pdf").mkdir()
    with pytest.raises(InputError):
        write_pdf(make.document(), tmp_path / "x.pdf", no_descriptor, drawer=Sketches())


def test_colours_have_no_names_on_paper() -> None:
    drawn = coloured('<path fill="var(--series-1)" stroke="var(--bad)"/>')
    assert drawn == f'<path fill="{palette()["series-1"]}" stroke="{palette()["bad"]}"/>'


def test_what_does_not_fit_is_said() -> None:
    full, free = Sheet(), Sheet()
    for sheet, count in ((full, 300), (free, 3)):
        sheet.table(["a", "b"], [[f"row {n}", "1"] for n in range(count)])
    for sheet in (full, free):
        sheet.svg("foot")
    assert any(one.text == "more in the HTML report" for one in full.texts)
    assert not any(one.text == "more in the HTML report" for one in free.texts)
    assert all(one.y <= HEIGHT for one in full.texts)


def test_a_count_is_never_cut() -> None:
    sheet = Sheet()
    text = "between 40\N{NO-BREAK SPACE}308\N{NO-BREAK SPACE}177 and 40\N{NO-BREAK SPACE}595"
    sheet.table(["CPU", *["Above 10 us"] * 8], [["CPU 0", *[text] * 8]])
    said = " ".join(one.text for one in sheet.texts)
    assert said.count("40 308 177") == 8


@pytest.mark.slow
def test_many_limits_take_several_tables() -> None:
    limits = [1000 * n for n in range(1, 13)]
    document = recording(points=100_000)
    data = render_pdf(document, no_descriptor, drawer=Sketches(), limits=limits)
    (page,) = [text for text in read(data) if "TMR-P-LAT: Return" in text]
    assert all(f"Above {n} us" in page for n in range(1, 13))
    assert page.count("Worst observed") == 3


def test_a_paragraph_stays_on_the_page() -> None:
    sheet = Sheet()
    sheet.text("Average words of a paragraph that has many of them " * 20, 9)
    assert max(width_of(one.text, one.size) for one in sheet.texts) <= ROOM


def test_special_characters_of_pdf_are_escaped() -> None:
    found = operators([Placed("a(b)\\c", 0, 0, 9, "#102030")], 100)
    assert b"(a\\(b\\)\\\\c) Tj" in found
    assert is_plain("\u00b5s") and not is_plain("\u6e2c")
