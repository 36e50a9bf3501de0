"""A study on a terminal: 80 columns, whole words, and marks that need no colour."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Trust
from hardstone.study.exhibits import Answer, StudyView
from hardstone.study.papers import load_papers
from hardstone.study.screen import print_study, print_study_list
from hardstone.terminal.console import make_console
from tests.changed_copy import replace
from tests.unit.golden import assert_as_stored
from tests.unit.stats import make
from tests.unit.study.made_runs import (
    COUNTED,
    DEDICATED,
    EMULATED,
    GARRE,
    HP,
    LINUX,
    OBENLAND,
    behaviour,
    conditions,
    labelled,
    response,
    ring,
    run,
    view_of,
)

PAPERS = list(load_papers())


def printed(view: StudyView, columns: int = 80, *, is_terminal: bool = False) -> str:
    stream = io.StringIO()
    console = make_console(stream)
    assert console.width >= 40
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        # The name of the program has one length, whatever finds it: lines break alike.
        patch.setenv("PATH", f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}")
        if is_terminal:
            patch.setenv("FORCE_COLOR", "1")
        print_study(view, stream)
    return stream.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def exhibit(out: str, lead: str) -> str:
    """The lines of one exhibit."""
    return re.search(rf"^{re.escape(lead)}.*?(?=^$)", out, re.M | re.S)[0]  # type: ignore[index]


def made_view() -> StudyView:
    """Obenland's study with every kind of cell: two runs of this machine, and a guest."""
    unnamed = labelled("signal_wait", 60, 90, kind="unnamed", scope="thread")
    shown = run(
        response(10.5),
        response(23, conditions=conditions("heavy")),
        response(10.1, conditions=conditions("heavy", cpu_config="shielded")),
        make.result("SEM-P-SIG", series=[unnamed], conditions=conditions()),
        make.result("CLK-P-BIN", series=[], status="denied", reason="no right",
                    conditions=conditions()),
        trust=Trust(grade="indicative", reasons=["virtual machine", "short"]),
    )  # fmt: skip
    later = run(response(11, params={"block_ns": 1_000_000}), ring(threads=2), number=2)
    plan = msgspec.structs.replace(shown.plan, target="lab:debian-rt,deterministic")
    guest = run(response(10), number=3, system=LINUX | COUNTED, plan=plan)
    return view_of(OBENLAND, shown, later, guest)


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_a_study_alone(request: pytest.FixtureRequest, paper: str) -> None:
    assert_as_stored(request, f"{paper}.txt", printed(view_of(paper)))


@pytest.mark.slow
def test_a_study_with_runs(request: pytest.FixtureRequest) -> None:
    view, said = made_view(), ("not borne out", "a block took 1.2 s", "this machine, shared")
    answer = Answer(view.paper.conclusions[0], *said, needed="more blocks")
    assert_as_stored(request, "measured.txt", printed(replace(view, answers=(answer,))))


def test_the_list_of_studies_fits_one_screen(request: pytest.FixtureRequest) -> None:
    stream = io.StringIO()
    print_study_list(dict.fromkeys(PAPERS, "15 min"), stream)
    out = stream.getvalue()
    assert_as_stored(request, "list.txt", out)
    assert len(out.splitlines()) <= 24 and all(name in out for name in PAPERS)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 132])
@pytest.mark.parametrize("paper", PAPERS)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_broken(
    paper: str, columns: int
) -> None:
    view = view_of(paper, run(response(), behaviour("THR-B-RR"), ring()))
    out = printed(view, columns)
    commands = [line for line in out.splitlines() if "hardstone run" in line]
    assert commands
    for line in out.splitlines():
        assert len(line.rstrip()) <= columns or line in commands, line
    seen = set(re.split(r"\s+", out.replace("(", " ").replace(")", " ")))
    whole = [
        word
        for one in view.exhibits
        for row in one.rows
        for place in one.columns
        for word in row.cells[place].text.split()
        if row.cells[place].kind == "published"
    ]
    whole += [part for one in view.columns for part in re.split(r"(?<=-)|\s", one.short) if part]
    lost = {word for word in whole if word.strip("()") and word.strip("()") not in seen}
    assert all(any(word in line for line in out.splitlines()) for word in lost), lost


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_on_a_narrow_terminal_lines_are_long_and_words_stay_whole(paper: str) -> None:
    view = view_of(paper)
    out = printed(view, 40)
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    tables = [one for one in view.exhibits if one.exhibit.has_results and not one.exhibit.plots]
    shown = {one.exhibit.number: exhibit(out, one.exhibit.number) for one in tables
             if not one.exhibit.number.startswith("no ")}  # fmt: skip
    for one in tables:
        part = shown.get(one.exhibit.number, out)
        if "─" in part:  # else all of it is lost
            words = [word for row in one.rows for text in (row.label, *row.words)
                     for word in text.split()]  # fmt: skip
            assert words and all(word in part for word in words)


@pytest.mark.slow
def test_colour_marks_what_was_measured_and_what_may_not_be_compared() -> None:
    out = printed(made_view(), is_terminal=True)
    assert re.search(r"\x1b\[1m *10\.5 ms", out)
    assert re.search(r"\x1b\[2m *\(10 ms\)", out)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert flat(plain) == flat(printed(made_view()))


def test_many_systems_stand_in_several_tables_each_with_those_that_were_measured() -> None:
    models = [conditions(preemption=one) for one in ("none", "voluntary", "full")]
    view = view_of(
        GARRE, run(*(msgspec.structs.replace(ring(threads=2), conditions=one) for one in models))
    )
    table = exhibit(printed(view), "Table 1")
    assert all(name in table for name in ("none", "voluntary", "full"))
    assert table.count("─\n") > 1


@pytest.mark.slow
def test_names_of_a_document_bring_neither_markup_nor_controls_to_the_terminal() -> None:
    odd = "\x1b[31m[bold]evil[/bold]\x07" + "y" * 300
    plan = make.plan_of([], target=odd, loads=["none"])
    result = response(conditions=conditions(), status="measured")
    failed = make.result(
        "CLK-P-BIN", series=[], status="failed", reason=odd, conditions=conditions()
    )
    verdict = behaviour("THR-B-RR", odd)
    done = run(
        result,
        failed,
        verdict,
        plan=plan,
        system=LINUX | {"machine.cpu_model": odd},
        trust=Trust(grade="indicative", reasons=[odd]),
    )
    for paper in (OBENLAND, DEDICATED, HP):
        out = printed(view_of(paper, done, run(response(), number=2, system=EMULATED)))
        assert "\x1b" not in out and "\x07" not in out
        assert all(len(line.rstrip()) <= 80 for line in out.splitlines() if "type:" not in line)
        assert "[bold]" in out  # as text
