"""The five papers as data, held cell by cell against appendix.toml.

That file was typed from the tables of the papers, not from published.json."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from hardstone.catalogue import load_catalogue
from hardstone.errors import InputError
from hardstone.study.papers import Exhibit, Paper, Quantity, load_papers, paper_named
from hardstone.systems.published import Figure, parse_address, study_figures
from tests.process.targets import sample

APPENDIX = tomllib.loads(Path(__file__).with_name("appendix.toml").read_text("utf-8"))


def by_key(section: str) -> dict[tuple[str, str], str]:
    """The tables of a section by paper and number."""
    found = APPENDIX[section].items()
    return {(name, number): text for name, of in found for number, text in of.items()}


EXHIBITS: dict[str, str] = APPENDIX["exhibits"]
FIGURES, STATISTICS = by_key("figures"), by_key("statistics")
WORDS, TABLES = by_key("words"), by_key("tables")
CONCLUSIONS, SAID = APPENDIX["conclusions"], APPENDIX["said"]

PAPERS = load_papers()
FIGURES_AT: dict[tuple[str, str | None, str | None], list[Figure]] = {}
for _paper in PAPERS.values():
    for _one in study_figures(_paper.study):
        _key = (_paper.name, str(_one.address), _one.statistic)
        FIGURES_AT.setdefault(_key, []).append(_one)


class Slot(NamedTuple):
    """One cell: its system, load and statistic."""

    system: str
    load: str
    statistic: str


def slots(paper: Paper, exhibit: Exhibit, row: Quantity) -> Iterator[Slot]:
    for system in row.systems or exhibit.systems or list(paper.study.systems):
        for load in row.loads or exhibit.loads or [""]:
            for statistic in row.statistics or exhibit.statistics or [""]:
                yield Slot(system, load, statistic)


def at_slot(paper: Paper, row: Quantity, slot: Slot) -> Figure | None:
    found = [
        one
        for one in FIGURES_AT.get((paper.name, row.at, slot.statistic), ())
        if one.system in (None, slot.system)
        and one.address.conditions.get("load", slot.load) == slot.load
    ]
    assert len(found) <= 1, (row.at, slot)
    return found[0] if found else None


def kinds(paper: Paper, exhibit: Exhibit) -> str:
    if not exhibit.has_results:
        return "none"
    if exhibit.plots:
        return f"of {exhibit.plots}"
    found = {"words" for row in exhibit.rows if row.words}
    for row in exhibit.rows:
        for slot in slots(paper, exhibit, row):
            if at_slot(paper, row, slot):
                found.add("figures")
            elif slot.system in row.cells:
                found.add("words")
            elif row.lost:
                found.add("lost")
    return " ".join(sorted(found))


def value_text(figure: Figure) -> str:
    if isinstance(figure.value, dict):
        ((kind, bound),) = figure.value.items()
        return {"below": "<", "above": ">"}[kind] + f"{bound:g}"
    return f"{figure.value}"


def same_number(one: str, other: str) -> bool:
    sign, _, _ = one.partition(one.lstrip("<>"))
    return other.startswith(sign) and float(one.lstrip("<>")) == float(other.lstrip("<>"))


def has_words(text: str, words: str) -> bool:
    """Whether `text` has each of the words as a whole, in any order."""
    return all(
        re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text, re.IGNORECASE)
        for word in words.replace(";", " ").split()
    )


def exhibit_of(key: tuple[str, str]) -> tuple[Paper, Exhibit]:
    paper = PAPERS[key[0]]
    return paper, paper.exhibit(key[1])


def lines(text: str) -> list[list[str]]:
    return [[part.strip() for part in line.split("|")] for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_table_and_figure_stands_in_the_numbering_and_order_of_the_paper(name: str) -> None:
    paper = PAPERS[name]
    shown = [[one.number, kinds(paper, one), " ".join(one.tests)] for one in paper.exhibits]
    assert shown == lines(EXHIBITS[name])


def test_there_are_no_other_papers() -> None:
    assert list(PAPERS) == list(EXHIBITS)


@pytest.mark.parametrize("key", FIGURES, ids=": ".join)
def test_every_cell_has_the_figure_of_the_paper(key: tuple[str, str]) -> None:
    paper, exhibit = exhibit_of(key)
    units, *typed = FIGURES[key].splitlines()
    assert len(exhibit.rows) == len(typed)
    seen = []
    for row, line in zip(exhibit.rows, typed, strict=True):
        address, *groups = [part.strip() for part in line.split("|")]
        assert row.at == address
        cells = [cell for group in groups for cell in group.split()]
        at = list(slots(paper, exhibit, row))
        assert len(cells) == len(at), address
        for slot, cell in zip(at, cells, strict=True):
            figure = at_slot(paper, row, slot)
            assert (figure is None) == (cell == "?"), (address, slot)
            if figure:
                assert same_number(cell, value_text(figure)), (address, slot, figure.value)
                seen.append(figure.unit)
            else:
                assert row.lost, (address, slot)
    assert list(dict.fromkeys(seen)) == units.split()


@pytest.mark.parametrize("key", FIGURES, ids=": ".join)
def test_every_row_has_the_statistics_of_the_paper(key: tuple[str, str]) -> None:
    _, exhibit = exhibit_of(key)
    typed = STATISTICS.get(key, "mean max")
    of_rows = [" ".join(row.statistics or exhibit.statistics) for row in exhibit.rows]
    expected = typed.split(", ") if "," in typed else [typed] * len(of_rows)
    assert of_rows == expected


@pytest.mark.parametrize("key", WORDS, ids=": ".join)
def test_every_cell_of_words_has_those_of_the_paper(key: tuple[str, str]) -> None:
    paper, exhibit = exhibit_of(key)
    shown = []
    for row in exhibit.rows:
        covered = row.systems or exhibit.systems or list(paper.study.systems)
        cells = []
        for system in paper.study.systems:
            said = row.cells.get(system, "?" if row.lost else "")
            cells.append(said if system in covered else "")
        shown.append([row.at or "-", " ".join(row.loads or exhibit.loads), *cells])
    assert shown == lines(WORDS[key])


@pytest.mark.parametrize("key", TABLES, ids=": ".join)
def test_every_table_of_words_has_those_of_the_paper(key: tuple[str, str]) -> None:
    _, exhibit = exhibit_of(key)
    headings, *typed = lines(TABLES[key])
    assert exhibit.headings == headings
    assert [row.label for row in exhibit.rows] == [label for label, *_ in typed]
    for row, (_, *cells) in zip(exhibit.rows, typed, strict=True):
        assert len(row.words) == len(cells), row.label
        for shown, cell in zip(row.words, cells, strict=True):
            assert has_words(shown, cell), (row.label, shown, cell)


def test_each_table_of_words_is_typed_here() -> None:
    of_words = {
        (paper.name, one.number)
        for paper in PAPERS.values()
        for one in paper.exhibits
        if any(row.words for row in one.rows)
    }
    assert of_words == set(TABLES)
    with_cells = {
        (paper.name, one.number)
        for paper in PAPERS.values()
        for one in paper.exhibits
        if any(row.cells for row in one.rows)
    }
    assert with_cells == set(WORDS)
    for name, text in EXHIBITS.items():
        for number, has, _ in lines(text):
            assert ("figures" in has.split()) == ((name, number) in FIGURES), number


def test_every_conclusion_has_its_tests() -> None:
    typed = lines(CONCLUSIONS)
    shown = [(paper.name, one) for paper in PAPERS.values() for one in paper.conclusions]
    assert [[name, one.id, " ".join(one.tests)] for name, one in shown] == [
        line[:3] for line in typed
    ]
    for (_, one), (*_, words) in zip(shown, typed, strict=True):
        assert has_words(one.says, words), one.id
        assert one.place


def said_in(paper: Paper, where: str) -> str:
    if where == "conditions":
        return " ".join(f"{name} {text}" for name, text in paper.conditions.items())
    if where == "remarks":
        return " ".join(one.says for one in paper.remarks)
    exhibit = paper.exhibit(where)
    notes = [text for row in exhibit.rows for text in (row.label, row.note, row.lost)]
    return " ".join([exhibit.title, exhibit.lost, *exhibit.text, *notes])


@pytest.mark.parametrize("line", lines(SAID), ids=": ".join)
def test_every_fact_of_the_text_is_said_where_it_belongs(line: Sequence[str]) -> None:
    name, where, words = line
    assert has_words(said_in(PAPERS[name], where), words)


def test_the_features_of_hp_name_the_tests_of_their_rows() -> None:
    for row in PAPERS["hp-1987"].exhibit("Table 2").rows:
        named = re.findall(r"[A-Z]{3}-[A-Z]-(?:[A-Z]+|\*)", row.words[-1])
        stems = tuple(one.rstrip("*") for one in named)
        assert [one for one in row.tests if not one.startswith(stems)] == []
        assert all(any(one.startswith(stem) for one in row.tests) for stem in stems), row.label


def test_axes_are_those_that_the_papers_give() -> None:
    ranges = {
        (paper.name, one.number): (axis.title, axis.low, axis.high)
        for paper in PAPERS.values()
        for one in paper.exhibits
        for axis in (one.y,)
        if axis and axis.high is not None
    }
    assert ranges == {
        ("obenland-2000", "Figure 8a"): ("worst, us", 0, 35),
        ("obenland-2000", "Figure 8b"): ("average, us", 0, 10),
        ("hp-1987", "Figure 1"): ("share of kernel time, %", 0, 100),
    }
    garre = {one.number: one for one in PAPERS["garre-2014"].exhibits}
    for number in range(5, 14):
        x, y = garre[f"Figure {number}"].x, garre[f"Figure {number}"].y
        assert x and y and x.title == "nodes"
        assert y.title == ("total time for 60 s, s" if number < 8 else "threads")


@pytest.mark.parametrize(
    ("number", "system", "policy"),
    [
        ("Figure 5", "linux", "other"),
        ("Figure 6", "xenomai", "fifo"),
        ("Figure 7", "xenomai", "other"),
        ("Figure 11", "xenomai", "fifo"),
        ("Figure 12", "linux", "other"),
        ("Figure 13", "linux", "fifo"),
    ],
)
def test_curves_and_maps_are_of_one_system_and_policy(
    number: str, system: str, policy: str
) -> None:
    exhibit = PAPERS["garre-2014"].exhibit(number)
    assert exhibit.systems == [system]
    threads = [1, 6, 12, 24] if exhibit.form == "lines" else [1, 6, 12, 18, 24]
    series = "total_time" if exhibit.form == "lines" else "missed"
    (test,) = exhibit.tests
    assert [row.at for row in exhibit.rows] == [f"{test}/{n}/{policy}/{series}" for n in threads]


def test_the_systems_of_exhibits_are_those_of_the_captions() -> None:
    obenland = PAPERS["obenland-2000"]
    for number in ("Figure 8a", "Figure 8b", "Figure 9"):
        assert obenland.exhibit(number).systems == ["lynx", "solaris-1rt"]
    sync = [row.at.split("/")[1] for row in obenland.exhibit("Figure 8a").rows if row.at]
    assert sync == ["unnamed", "named", "mutex"]
    assert [row.systems for row in obenland.exhibit("Figure 8a").rows if not row.at] == [["lynx"]]
    garre = PAPERS["garre-2014"]
    assert garre.exhibit("Table 1").systems == ["rtai", "xenomai", "rt-preempt", "linux"]
    assert garre.exhibit("Table 2").systems == ["linux", "linux-2.6.38"]


def test_a_figure_draws_the_statistics_of_its_letter() -> None:
    for paper in PAPERS.values():
        for one in paper.exhibits:
            if not one.plots:
                continue
            assert paper.rows_of(one)
            if paper.name == "dedicated-systems-2012":
                expected = {"a": ["mean"], "b": ["max"]}.get(one.number[-1], ["min"])
                assert one.statistics == expected, one.number
    paper = PAPERS["dedicated-systems-2012"]
    of_1000 = paper.rows_of(paper.exhibit("Figure 4a"))
    assert [row.at for row in of_1000] == ["THR-P-SLS/1000/switch"]


@pytest.mark.parametrize("name", PAPERS)
def test_every_published_figure_stands_in_one_exhibit(name: str) -> None:
    """But for those of a system that a second table repeats, which says so."""
    paper = PAPERS[name]
    reached: Counter[int] = Counter()
    figures = {id(one): one for one in study_figures(paper.study) if one.statistic}
    by_cell = {
        (str(one.address), one.system, one.address.conditions.get("load"), one.statistic): key
        for key, one in figures.items()
    }
    for exhibit in paper.exhibits:
        for row in exhibit.rows:
            seen = set()
            for system, load, statistic in slots(paper, exhibit, row):
                if system in exhibit.repeats:
                    assert exhibit.repeats[system] in [one.number for one in paper.exhibits]
                    continue
                for owner in (system, None):
                    for under in (load, None):
                        key = by_cell.get((row.at, owner, under, statistic))
                        seen |= {key} if key is not None else set()
            reached.update(seen)
    assert {key: reached[key] for key in figures if reached[key] != 1} == {}


@pytest.mark.parametrize("name", PAPERS)
def test_a_row_without_figures_and_words_says_why_it_is_lost(name: str) -> None:
    paper = PAPERS[name]
    for exhibit in paper.exhibits:
        assert exhibit.rows or not exhibit.has_results or exhibit.plots or exhibit.lost
        for row in exhibit.rows:
            for slot in slots(paper, exhibit, row):
                known = at_slot(paper, row, slot) or slot.system in row.cells or row.words
                is_unnamed = any("not known which" in one.label for one in exhibit.rows)
                assert known or row.lost or is_unnamed, (exhibit.number, row.label, slot)
            covered = row.systems or exhibit.systems or list(paper.study.systems)
            assert set(row.cells) <= set(covered) <= set(paper.study.systems), row.label
            assert len(row.words) in (0, len(exhibit.headings)), row.label


def test_addresses_name_series_of_the_tests_of_their_exhibit() -> None:
    series = {test.id: {one.name for one in test.series} for test in sample.register().tests}
    known = load_catalogue().ids()
    for paper in PAPERS.values():
        for exhibit in paper.exhibits:
            assert set(exhibit.tests) <= set(known), exhibit.number
            for row in exhibit.rows:
                if row.at:
                    address = parse_address(row.at)
                    assert address.test in exhibit.tests, row.at
                    assert not address.parts or address.parts[-1] in series[address.test], row.at
        said = [*(one.tests for one in paper.conclusions), *(one.tests for one in paper.remarks)]
        assert all(set(tests) <= set(known) for tests in said)


LABELS = {
    "1000000": "1 ms",
    "10000000": "10 ms",
    "100000000": "100 ms",
    "unnamed": "semaphore",
    "none": "does not inherit",
    "inherit": "pthread mutex",
    "CLOCK_REALTIME": "clock",
}
# Label values that the title of an exhibit says, or that are our choice.
TITLED = {"64", "8192", "mq", "other", "fifo"}
DIRECTIONS = {"acquire", "release", "create", "delete", "latency", "throughput"}


@pytest.mark.parametrize("name", PAPERS)
def test_the_label_of_a_row_says_what_its_address_does(name: str) -> None:
    for exhibit in PAPERS[name].exhibits:
        rows = [(row.label, row.at.split("/")) for row in exhibit.rows if "/" in row.at]
        for label, (test, *values, series) in rows:
            shared = set[str].intersection(*(set(at[1:-1]) for _, at in rows if at[0] == test))
            for value in set(values) - shared - TITLED:
                said = LABELS.get(value, value.replace("-", " "))
                assert said in label, (exhibit.number, label, value)
            if series in DIRECTIONS and len({at[-1] for _, at in rows}) > 1:
                assert series in label, (exhibit.number, label)


def test_what_is_lost_says_what_is_missing() -> None:
    for paper in PAPERS.values():
        for exhibit in paper.exhibits:
            for lost in (exhibit.lost, *(row.lost for row in exhibit.rows)):
                assert (
                    not lost or has_words(lost, "missing") or "lost" in lost or "not trans" in lost
                )
            if exhibit.plots:
                assert exhibit.lost, exhibit.number


def test_what_the_old_tables_hold_is_what_the_exhibits_say() -> None:
    """Stars, improvements and counts stand twice in the file."""
    dedicated, hp = PAPERS["dedicated-systems-2012"], PAPERS["hp-1987"]
    (stars,) = dedicated.exhibit("Table 2").rows
    assert {key: float(text) for key, text in stars.cells.items()} == {
        key: one.stars for key, one in dedicated.study.systems.items()
    }
    table = hp.study.tables["non_preemptable_kernel_time"]
    improvements = [row[2] for row in table["rows"].values()]
    found = [re.search(r"(\d+) times", *row.words) for row in hp.exhibit("Table 3").rows]
    assert [int(one[1]) for one in found if one] == improvements == [28, 37, 77]
    assert hp.conditions["preemption points"] == f"about {table['preemption_points']}"
    assert hp.conditions["preemption regions"] == f"about {table['preemption_regions']}"
    total = PAPERS["latstat-2007"].study.tables["total_latency"]
    assert (total["points"], total["points_between_13_and_32"]) == (300_000_000, 300)
    costs = PAPERS["garre-2014"].study.tables["simulation"]["cost_ns"]
    shown = [row.words[0] for row in PAPERS["garre-2014"].exhibit("Equation 2").rows]
    assert shown == [f"{value} ns" for value in costs.values()]


def test_readings_do_not_compare_what_is_no_such_thing() -> None:
    figures = [one for paper in PAPERS.values() for one in study_figures(paper.study)]
    shuffles = {
        one.system: one.address.labels["kind"] for one in figures if one.address.test == "SEM-P-SHF"
    }
    assert shuffles.pop("xenomai") == "mutex"
    assert set(shuffles.values()) == {"unnamed"}
    protocols = {
        one.address.labels["protocol"] for one in figures if one.address.test == "MUT-P-INV"
    }
    assert protocols == {"none", "inherit"}
    scopes = {one.address.labels["scope"] for one in figures if one.address.test == "SIG-P-LAT"}
    assert scopes == {"process"}


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("hp-1987", "hp-1987"),
        ("hp-ux-rt-1987", "hp-1987"),
        ("GARRE", "garre-2014"),
        ("obe", "obenland-2000"),
        ("hp", "hp-1987"),
    ],
)
def test_a_paper_is_found_by_its_name_its_key_or_a_start(typed: str, name: str) -> None:
    assert paper_named(typed).name == name


@pytest.mark.parametrize("typed", ["o", "ob", "h", "g"])
def test_a_start_of_fewer_than_three_letters_is_too_short(typed: str) -> None:
    with pytest.raises(InputError, match=f"'{typed}' is too short") as caught:
        paper_named(typed)
    assert "obenland-2000, dedicated-systems-2012, hp-1987" in caught.value.remedy


@pytest.mark.parametrize("typed", ["", "x", "2014"])
def test_another_name_is_refused_with_those_there_are(typed: str) -> None:
    with pytest.raises(InputError, match="no study") as caught:
        paper_named(typed)
    assert "latstat-2007" in str(caught.value.remedy)
