"""What the page of a study says: every exhibit in order, each cell by its kind, with its reason."""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.study.exhibits import Cell, StudyView
from hardstone.study.layout import lay_out
from hardstone.study.page import (
    render_study,
    render_study_pdf,
    title_of,
    write_study,
)
from hardstone.study.papers import Remark, load_papers
from tests.changed_copy import replace
from tests.unit.golden import assert_as_stored
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.media import Sketches, flat, texts_of, words
from tests.unit.report.test_compare_page import Page
from tests.unit.stats import make
from tests.unit.study import made_exhibits as made
from tests.unit.study.test_study_figures import run_of


def page(view: StudyView) -> str:
    return render_study(view, bundle=lambda: None, drawer=Sketches())


def articles(text: str) -> list[str]:
    return re.findall(r"<article.*?</article>", text, flags=re.S)


def titles(text: str) -> list[str]:
    return [
        flat(html.unescape(re.sub("<[^>]+>", "", one)))
        for one in re.findall(r"<h3>(.*?)</h3>", text)
    ]


@pytest.fixture(scope="module")
def whole() -> str:
    return page(made.whole())


def test_the_page_as_stored(request: pytest.FixtureRequest, whole: str) -> None:
    """But for the lengths of its drawings."""
    body = re.sub(r"(?<=<!-- )\d+", "", whole[whole.index("<header") : whole.index("</main>")])
    assert_as_stored(request, "page.txt", "\n".join(filter(str.strip, body.split("\n"))))


@pytest.mark.parametrize("name", load_papers())
def test_a_paper_alone_has_all_its_exhibits_and_no_measured_cell(name: str) -> None:
    view = lay_out(load_papers()[name], [])
    text = page(view)
    shown = [one.partition(": ")[2] for one in titles(text)[: len(view.exhibits)]]
    assert shown == [flat(one.exhibit.title) for one in view.exhibits]
    assert view.counts()["measured"] == 0
    assert f"{view.paper.study.reading.short}, as published" in text
    cells = Counter(re.findall(r'<td class="cell ([a-z-]+)', text))
    assert cells["published"] >= view.counts()["published"] / 2 and not cells["measured"]
    assert structure(text) is None


def structure(text: str) -> None:
    found = Page(text)
    assert [one for one, count in Counter(found.ids).items() if count > 1] == []
    assert set(found.links) <= set(found.ids)
    assert found.headings[0] == 1 and found.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(found.headings, found.headings[1:], strict=False))
    assert found.tables == found.captions and found.tags["main"] == 1


def test_the_page_loads_nothing(whole: str) -> None:
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b", whole)
    outside = re.sub(r"<script>.*?</script>", "", whole, flags=re.S)
    assert "style=" not in outside and not re.search("https?:", outside)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', whole)
    assert policy and "default-src 'none'" in html.unescape(policy[1])


def test_the_run_of_a_figure_is_in_its_source_and_not_in_a_note() -> None:
    cell = made.measured(9, notes=("of run made", "under load none"))
    text = page(made.view(made.laid(made.exhibit(), [made.row("all", [cell] * 5)])))
    assert "under load none" in text and "of run made" not in text


def test_an_interval_stands_below_its_figure() -> None:
    cell = made.measured(3_380_000, text="3.38 ms (40.6 us to unbounded)")
    text = page(made.view(made.laid(made.exhibit(form="table"), [made.row("all", [cell] * 5)])))
    assert "<small>40.6 us to unbounded</small>" in text


def test_one_drawing_stands_beside_its_table() -> None:
    rows = [made.row("all", [made.published(10), *[made.measured(9)] * 4])]
    text = page(made.view(made.laid(made.exhibit(), rows)))
    assert '<div class="with-figure">' in text and '<div class="with-figure">' not in page(
        made.whole()
    )


def test_a_figure_that_plots_a_table_leads_to_it_and_does_not_repeat_it() -> None:
    rows = [made.row("all", [made.published(10), *[made.measured(9)] * 4])]
    table = made.laid(made.exhibit("Table 8", "table"), rows)
    plots = [
        made.laid(made.exhibit(f"Figure 9{letter}", plots="Table 8", lost="the drawing"), rows)
        for letter in "ab"
    ]
    text = page(made.view(table, *plots))
    assert [one.count("<table") for one in articles(text)] == [1, 0, 0]
    assert 'Values: <a href="#exhibit-1">Table 8</a>' in articles(text)[1]
    assert "Lost: the drawing." in articles(text)[1]
    assert text.count('class="abreast"') == 1  # a and b
    nothing = [made.row("all", [made.LOST] * 5, unit=None)]
    lost = page(made.view(table, replace(plots[0], rows=tuple(nothing))))
    assert articles(lost)[1].count("<table") == 1


def test_a_system_that_another_exhibit_has_too_is_counted_there() -> None:
    rows = [made.row("all", [made.published(10), *[made.measured(9)] * 4])]
    first = made.laid(made.exhibit("Table 1", "table"), rows)
    second = made.laid(made.exhibit("Table 2", "table", repeats={"qnx": "Table 1"}), rows)
    view = made.view(first, second)
    assert view.counts()["published"] == 1
    assert "qnx: as in Table 1, where its cells are counted." in articles(page(view))[1]


def test_what_else_the_paper_says_is_there() -> None:
    view = made.view(made.table())
    remark = Remark(says="The tick grows.", place="Table 8", tests=["SEM-P-ARC"])
    text = words(page(replace(view, paper=replace(view.paper, remarks=[remark]))))
    assert "The tick grows. Table 8: SEM-P-ARC" in text
    assert "What else the paper says" not in page(view)


def test_a_table_that_measures_nothing_is_folded() -> None:
    rows = [made.row("1003.1a", [made.UNCOVERED] * 5, unit=None)]
    text = page(made.view(made.laid(made.exhibit("Table 1", "table", has_results=False), rows)))
    assert '<details class="aside">' in articles(text)[0]


def test_an_exhibit_without_number_is_called_so() -> None:
    rows = [made.row("all", [made.published(10)] * 5)]
    text = page(made.view(made.laid(made.exhibit("no number: clock", "table"), rows)))
    assert "Without number: Clock call" in text and "no number: clock" not in text


def test_a_conclusion_without_an_answer_is_still_said() -> None:
    view = made.view(made.table(), answers=made.answers())
    text = page(replace(view, answers=()))
    assert "QNX is a true RTOS." in text and "whether it holds here" not in text


def test_it_says_where_its_figures_are_from_and_how_to_measure_them_again() -> None:
    subject = run_of(make.result("TMR-P-LAT", [1, 2, 3]))
    view = made.view(
        made.table(), columns=[*made.COLUMNS[:3], made.machine("m", "m", subject), made.guest()]
    )
    text = words(page(view))
    assert f"{subject.id} evening 2026-11-21T03:22:00Z" in text
    assert subject.trust.grade in text
    assert "Measure it again: hardstone study dedicated-systems-2012" in text
    assert f"hardstone study dedicated-systems-2012 {subject.id}" in text
    assert f"hardstone show {subject.id}" in text
    assert (
        "published:qnx" in text and "Its times are not comparable: time counts instructions" in text
    )
    assert "board Intel Atom" in text
    assert "Runs of two days are merged." in text


@pytest.mark.parametrize(
    ("system", "wanted"),
    [
        (
            {"machine.cpu_model": "AMD EPYC", "virtual.hypervisor": "KVM", "kernel.name": "Linux"}
            | {"kernel.release": "6.18.44-fc-v595"},
            "Dedicated Systems 2012 on AMD EPYC VM, Linux 6.18",
        ),
        (
            {"machine.cpu_model": "Intel Atom", "kernel.name": "Linux", "kernel.release": "5.10"},
            "Dedicated Systems 2012 on Intel Atom, Linux 5.10",
        ),
        ({}, "Dedicated Systems 2012 on a machine, kernel unknown"),
    ],
)
def test_the_title_names_the_machine(system: dict[str, str], wanted: str) -> None:
    subject = run_of(make.result(), system=system)
    columns = [*made.COLUMNS[:3], made.machine("m", "m", subject), made.guest()]
    assert title_of(made.view(made.table(), columns=columns)) == wanted
    other = run_of(make.result(), run_id="20261122T032200Z-1a2b3d", system={"machine.arch": "arm"})
    more = made.view(made.table(), columns=[*columns[:4], made.machine("n", "n", other)])
    assert title_of(more) == f"{wanted} and 1 more"


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_hostile_becomes_markup(attack: str) -> None:
    cells = [Cell(kind, attack, attack, (attack,), source=attack) for kind in made.whole().counts()]
    rows = [made.row(attack, cells, load=attack, words=(attack,), note=attack, unit=None)]
    what = made.exhibit("Table 1", "table", title="t", headings=["h"])
    columns = [
        replace(one, short=attack, title=attack, about=attack, id=attack) for one in made.COLUMNS
    ]
    answer = replace(
        made.answers()[0], text=attack, column=attack, evidence=(attack,), needed=attack
    )
    view = made.view(made.laid(what, rows, attack), columns=columns, answers=[answer])
    text = page(view)
    found = Page(text)
    assert found.tags["img"] == 0 and found.tags["script"] == 1
    assert not {one for one in found.attributes if one.startswith("on")}
    assert not {"\x1b", "\x00", "\u202e"} & set(text)


def test_a_study_on_paper_has_every_exhibit_with_reasons_and_conclusions() -> None:
    text = " ".join(texts_of(render_study_pdf(made.whole(), drawer=Sketches())))
    for one in made.whole().exhibits:
        assert f"{one.exhibit.number}: {one.exhibit.title}" in text
    assert "time counts instructions" in text and "700 ns* [2]" in text
    assert "QNX is a true RTOS. (4)" in text and "borne out" in text
    assert "Hollow: published." in text
    assert "17 measured" in text


def test_a_row_that_no_sheet_can_hold_ends_the_table() -> None:
    rows = [made.row("word " * 40, [Cell("published", "long " * 4_000)] * 5, unit=None)]
    view = made.view(made.laid(made.exhibit("Table 1", "table"), rows))
    assert texts_of(render_study_pdf(view, drawer=Sketches()))


@pytest.mark.slow
def test_a_long_table_goes_on_over_several_sheets() -> None:
    rows = [made.row(f"row {n}", [made.published(n)] * 5) for n in range(1, 151)]
    texts = texts_of(
        render_study_pdf(
            made.view(made.laid(made.exhibit("Table 1", "table"), rows)), drawer=Sketches()
        )
    )
    assert len([one for one in texts if "continued" in one]) >= 2
    assert all(f"row {n} " in " ".join(texts) for n in range(1, 151))


def test_the_name_of_the_file_chooses_the_format(tmp_path: Path) -> None:
    for name, start in (
        ("s.html", b"<!doctype html>"),
        ("s.pdf", b"%PDF"),
        ("s", b"<!doctype html>"),
    ):
        write_study(
            made.view(made.table()), tmp_path / name, bundle=lambda: None, drawer=Sketches()
        )
        assert (tmp_path / name).read_bytes().strip().startswith(start)


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.html")
    for place in (tmp_path / "fifo.html", tmp_path):
        with pytest.raises(InputError):
            write_study(made.view(made.table()), place, bundle=lambda: None, drawer=Sketches())


def test_a_page_with_scripts_is_of_a_fair_size() -> None:
    script = "x" * 900_000
    view = made.whole()
    many = replace(view, exhibits=view.exhibits * 8)  # 56 exhibits, as in the largest paper
    text = render_study(many, bundle=lambda: script, drawer=Sketches(has_scripts=True))
    assert len(text.encode()) < 1_500_000
