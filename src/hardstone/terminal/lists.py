"""Lists on a terminal: tests, published systems, tools, and the answers to a questionnaire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from hardstone.catalogue import kind_of
from hardstone.model import Descriptor, Plan
from hardstone.terminal.console import (
    make_console,
    make_table,
    print_command,
    print_table,
    print_wrapped,
    words,
)
from hardstone.units import format_span

if TYPE_CHECKING:
    from hardstone.present.stars_text import PublishedRow
    from hardstone.study.papers import Paper
    from hardstone.study.procedure import Missing, Part
    from hardstone.study.questionnaire import Questionnaire


def print_tests(tests: Sequence[Descriptor]) -> None:
    """Prints one row for each test."""
    table = make_table()
    for head in ("test", "title", "kind", "origin", "needs"):
        table.add_column(head, overflow="fold", no_wrap=head in ("test", "kind"))
    for test in tests:
        needs = ", ".join(test.needs) or "-"
        table.add_row(*map(words, (test.id, test.title, kind_of(test.id), test.source, needs)))
    print_table(make_console(), table)


def print_tools(formats: Mapping[str, Sequence[str]]) -> None:
    """Prints a row for each tool whose files are read, with its formats."""
    table = make_table()
    for head in ("tool", "formats"):
        table.add_column(head, overflow="fold", no_wrap=head == "tool")
    for tool, forms in formats.items():
        table.add_row(words(tool), words(", ".join(forms)))
    print_table(make_console(), table)


_ID, _FIGURES, _STUDY, _OURS = 26, 9, 7, 11
_LEGEND = """\
study: the stars that the study gave. hardstone: the stars of the same figures by the formula of
docs/method/rating.md, <= where figures are missing. To see where each star comes from:"""


def print_published_systems(rows: Sequence[PublishedRow]) -> None:
    """A line for each system; name, hardware and the rated categories below it."""
    from hardstone.present.stars_text import stars_number

    console = make_console()
    study = ""
    for one in rows:
        if one.study != study:
            study = one.study
            print_wrapped(console, f"{one.study}: {one.title}", style="bold")
            head = f"{'figures':>{_FIGURES}}{'study':>{_STUDY}}{'hardstone':>{_OURS}}"
            console.print(Text(f"{'system':{_ID}}{head}"), soft_wrap=True)
        bound = "<= " if one.is_at_most and one.stars is not None else ""
        figures = f"{one.figure_count:>{_FIGURES}}{stars_number(one.study_stars):>{_STUDY}}"
        ours = f"{bound + stars_number(one.stars):>{_OURS}}"
        console.print(Text(f"{one.id:{_ID}}{figures}{ours}", "cyan"), soft_wrap=True)
        print_wrapped(console, "; ".join(filter(None, (one.name, one.hardware))), lead="  ")
        if one.categories:
            print_wrapped(console, ", ".join(one.categories), lead="  ")
        if one is rows[-1] or rows[rows.index(one) + 1].study != study:
            console.print()
    print_wrapped(console, _LEGEND)
    print_command(console, "hardstone show published:qnx --why")


def print_parts(
    paper: Paper,
    target: str,
    parts: Sequence[tuple[Part, Plan, int]],
    missing: Sequence[Missing],
) -> None:
    """The parts of a study with their tests, conditions and times in ns, and what cannot be had on
    the target."""
    console = make_console()
    total = format_span(sum(span_ns for *_, span_ns in parts))
    count = f"{len(parts)} part{'' if len(parts) == 1 else 's'}"
    console.print(words(f"{paper.name} on {target}: {count}, about {total}", "bold"))
    table = make_table()
    table.add_column("part", justify="right", no_wrap=True)
    table.add_column("tests", overflow="fold")
    table.add_column("loads; CPUs", overflow="fold")
    table.add_column("repeats", overflow="fold")
    table.add_column("about", justify="right", no_wrap=True)
    for part, plan, span_ns in parts:
        loads, configs = ", ".join(plan.loads), ", ".join(plan.cpu_configs)
        models = f"; preemption {', '.join(plan.preemption_models)}" * bool(plan.preemption_models)
        what = (" ".join(part.tests), f"{loads}; {configs}{models}", part.numbers(paper) or "-")
        cells = (str(part.number), *what)
        table.add_row(*map(words, (*cells, format_span(span_ns))))
    print_table(console, table)
    for one in missing:
        print_wrapped(console, str(one))


_STYLES = {"yes": "green", "partly": "yellow", "no": "red", "not known": "dim"}


def print_questionnaire(found: Questionnaire) -> None:
    """Each question with its answer and evidence, and what the study says of its systems."""
    from hardstone.study.questionnaire import REPLIES, load_questions, the_study

    console, paper = make_console(), the_study()
    print_wrapped(console, found.system, style="bold")
    for question in load_questions():
        answer = found.answers[question.id]
        console.print()
        console.print(Text(f"{question.id}: ") + words(answer.reply, _STYLES[answer.reply]))
        print_wrapped(console, question.asks, lead="  ", style="dim")
        if answer.evidence:
            print_wrapped(console, answer.evidence, lead="  ")
        for point in question.points:
            name = paper.study.systems[point.system].name
            print_wrapped(console, f"{name}: {point.says}", lead=f"  {str(point)[0]} ")
    console.print()
    replies = [answer.reply for answer in found.answers.values()]
    counts = ", ".join(f"{replies.count(one)} {one}" for one in REPLIES)
    print_wrapped(console, f"{counts}. No answer counts in a score.")
    print_wrapped(console, f"+ and -: positive and negative points of {paper.study.reading.short}.")
