"""A plan as text."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from hardstone.model import Plan, PlannedTest, Sweep
from hardstone.present.wording import parameter_text
from hardstone.stats.conditions import Condition, condition_of
from hardstone.terminal.console import make_console
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words
from hardstone.units import format_count, format_span

_LOAD_WIDTH = 20


def print_plan(plan: Plan) -> None:
    """Prints every test with its limits and parameters; nothing is run."""
    console = make_console()
    total = format_span(sum(test.expected_ns for test in plan.tests))
    console.print(words(f"plan '{plan.name}' on {plan.target}: about {total}", "bold"))
    if plan.sweep is not None:
        console.print(words(_sweep(plan.sweep), "yellow"))
    console.print(words(_conditions(plan)))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("test", no_wrap=True)
    is_plain = {condition_of(test) for test in plan.tests} == {Condition("none", "shared")}
    if not is_plain:
        table.add_column("load", overflow="fold", max_width=_LOAD_WIDTH)
        table.add_column("CPUs", no_wrap=True)
    if plan.preemption_models:
        table.add_column("preemption", no_wrap=True)
    for title in ("samples", "duration", "about"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("parameters", overflow="fold", ratio=1)
    for test in plan.tests:
        cells = _cells(test)
        under = [] if is_plain else [words(test.load), words(test.cpu_config)]
        under += [words(test.preemption or "")] if plan.preemption_models else []
        table.add_row(cells[0], *under, *cells[1:])
    print_table(console, table)


def _sweep(sweep: Sweep) -> str:
    """What the time of the known points leaves out."""
    limit = f"{format_span(sweep.within_ns)} in all" if sweep.within_ns else "without a time limit"
    return f"only the first points: results decide the others, {limit} (--within)"


def _conditions(plan: Plan) -> str:
    cpu = "CPU left to the probe" if plan.cpu is None else f"CPU {plan.cpu}"
    priority = "" if plan.priority is None else f" {plan.priority}"
    return (
        f"policy {plan.policy}{priority}, {cpu}, clock {plan.clock}, "
        f"load {', '.join(plan.loads)}, CPUs {', '.join(plan.cpu_configs)}, seed {plan.seed}"
    )


def _cells(test: PlannedTest) -> tuple[Text, ...]:
    shown = [parameter_text(name, value) for name, value in test.params.items() if value != []]
    return (
        Text(test.test),
        Text(format_count(test.samples) if test.samples else "-"),
        Text(format_span(test.duration_ns) if test.duration_ns else "-"),
        Text(format_span(test.expected_ns)),
        words("; ".join(shown)),
    )
