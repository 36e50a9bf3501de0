"""A comparison on one screen: 37 lines of 80 columns, from 2 to 20 systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hardstone.comparison.screen import MOST_LINES, comparison_lines, different_names
from hardstone.comparison.view import CompareView
from hardstone.systems.subjects import Amount, published_system
from hardstone.wording import numbers_text
from tests.unit.comparison import compared

VIEWS = {
    "two": compared.two_systems,
    "six": compared.six_systems,
    "emulated": compared.emulated_systems,
    "twenty": compared.twenty_systems,
}


def shown(view: CompareView, width: int = 80) -> list[str]:
    return [line.plain for line in comparison_lines(view, width)]


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_it_fits_a_screen(name: str) -> None:
    view = VIEWS[name]()
    for width in (80, 120):
        lines = shown(view, width)
        assert len(lines) <= MOST_LINES
        systems = len(view.columns) if len(view.columns) <= 6 else 0
        tables = lines[1 + systems :]  # names of systems are cut by the console
        assert max(map(len, tables)) <= width


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 6, 7, 13, 20])
def test_every_system_is_there(count: int) -> None:
    lines = shown(compared.made_view([compared.made_run(n) for n in range(1, count + 1)]))
    assert all(any(f"board {n}" in line for line in lines) for n in range(1, count + 1))
    assert len(lines) <= MOST_LINES
    assert lines[0] == f"{count} systems; 1 is the reference: board 1"


@pytest.mark.parametrize("width", [40, 50, 60])
def test_on_a_narrow_screen_no_system_is_cut_off(width: int) -> None:
    lines = shown(compared.six_systems(), width)
    head = next(n for n, line in enumerate(lines) if "worst observed" in line)
    figures = lines[head : head + 7]
    assert [line.split()[0] for line in figures[1:]] == ["1", "2", "3", "4", "5", "6"]
    assert max(map(len, figures)) <= width


def test_a_figure_keeps_its_unit_where_a_column_is_narrow() -> None:
    view = compared.twenty_systems()
    row = view.decisive[0]
    worst = Amount("ns", "max", "made up", value=47_400.0)
    grey = [replace(one, worst=worst, is_grey=True, why="a reason") for one in row.cells]
    lines = shown(replace(view, decisive=[replace(row, cells=grey)]), 60)
    assert sum("(47.4us)" in line for line in lines) == 20


def test_names_that_begin_alike_are_told_apart() -> None:
    hp = compared.made_view([published_system("hpux-off"), published_system("hpux-on")])
    lines = shown(hp)
    assert "preemption off" in lines[1] and "preemption on:" in lines[2]
    names = ["a" * 50 + " first", "a" * 50 + " last"]
    assert different_names(names, 20) == [
        "a" * 9 + "\u2026aaaa first",
        "a" * 9 + "\u2026aaaaa last",
    ]
    assert different_names(["short", "a" * 50], 20) == ["short", "a" * 19 + "\u2026"]


def line_of(lines: Sequence[str], start: str) -> str:
    (found,) = [line for line in lines if line.startswith(start)]
    return found


def test_study_hardware_and_year_stand_with_published_systems() -> None:
    view = compared.six_systems()
    for width in (80, 120, 300):
        lines = shown(view, width)
        text = " ".join(" ".join(lines).split())
        assert "Dedicated Systems 2012" in line_of(lines, " 2 QNX")
        assert "Obenland 2000" in line_of(lines, " 5 Solaris")
        assert [one.hardware for one in view.columns if one.hardware not in text] == []
    # published figures keep their digits, bounds and gaps
    lines = shown(view)
    assert " ".join(line_of(lines, "CLK-P-DUR").split()).endswith("10 us 12 us 30 us - -")
    assert "< 100 ns" in line_of(lines, "MUT-P-ARN acquire")
    assert not any("One run each" in line for line in lines)


def test_two_systems_are_compared_in_words() -> None:
    view = compared.two_systems()
    lines = shown(view)
    assert "*" in line_of(lines, "THR-P-SLS 2 ") and "*" not in line_of(lines, "CLK-P-DUR")  # tick
    assert "2: higher tick x1.4" in line_of(lines, "median")
    assert "One run each: only hardstone gate --pairs decides about systems." in lines
    (first,) = [line for line in lines if line.startswith("differs")]
    assert "PREEMPT_RT (1), PREEMPT_DYNAMIC voluntary (2)" in first
    assert line_of(lines, "stars of 5").split()[-1] == "<=4.5"  # figures are missing
    known = replace(view.columns[1], rating=replace(view.columns[1].rating, is_at_most=False))
    stars = line_of(shown(replace(view, columns=[view.columns[0], known])), "stars of 5")
    assert stars.split()[-2:] == ["-", "4.5"]


def test_what_may_not_be_compared_stands_in_brackets() -> None:
    lines = shown(compared.emulated_systems())
    assert line_of(lines, "THR-P-SLS 2 ").count("(") == 1
    assert any(line.startswith("apart") and "it is emulated" in line for line in lines)
    assert any("( ) not comparable" in line for line in lines)
    assert not any("( )" in line for line in shown(compared.two_systems()))
    alone = shown(compared.worst_alone_grey(compared.two_systems(), "5 values"))
    assert line_of(alone, "CLK-P-DUR").count("(") == 1
    assert any("( ) not comparable" in line for line in alone)


def test_hostile_names_stay_on_their_line() -> None:
    view = compared.two_systems()
    bad = replace(view.columns[0], label="a\x1b[31m\nb\u202e", apart="x\ny")
    lines = shown(replace(view, columns=[bad, view.columns[1]]))
    assert not any("\n" in line or "\x1b" in line or "\u202e" in line for line in lines)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([1], "1"), ([1, 2, 4], "1-2, 4"), ([1, 2, 3, 5], "1-3, 5"), ([2, 4, 6], "2, 4, 6"), ([], "")],
)
def test_numbers_with_ranges(numbers: list[int], text: str) -> None:
    assert numbers_text(numbers, "-", 2) == text
