"""A test explained, and a plan before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.catalogue import Entry, ProfileCount, kind_of
from hardstone.model import Descriptor, ParamSpec, Plan, PlannedTest, SeriesSpec, Sweep
from hardstone.plan import limits_text, own_time_ns
from hardstone.stats.conditions import Condition, condition_of
from hardstone.terminal.console import make_console, print_table, words
from hardstone.terminal.studies import PRIORITY, published_data, published_parts, published_tables
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import parameter_text, spoken


def variants_text(test: Descriptor, mark: str = "") -> str:
    """Which parameters make variants, and whether these run at once; empty if none do.

    `mark` is put around names.
    """
    names = [f"{mark}{spec.name}{mark}" for spec in test.variant_params]
    if not names:
        return ""
    when = "at the same time" if test.is_concurrent else "one after another"
    if len(names) == 1:
        return f"The values of {names[0]} are variants, measured {when}."
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"The combinations of {listed} that differ are variants, measured {when}."


def warm_up_text(test: Descriptor) -> str:
    """Which values are not recorded; empty if all are."""
    count = test.warm_up_samples
    if not count:
        return ""
    first = "first value" if count == 1 else f"first {count} values"
    each = "each variant" if test.variant_params else "the test"
    are = "is" if count == 1 else "are"
    return (
        f"Warm-up: the {first} of {each} and after each rest {are} not recorded. "
        "The test rests so that the kernel does not throttle it."
    )


def cpu_text(test: Descriptor) -> str:
    """On which CPU the threads of the test run."""
    if "one_cpu" in test.needs:
        return "All its threads run on one CPU in every CPU configuration: it is about their order."
    if "a_cpu" in test.needs:
        return "Each thread is bound to the CPU that it measures, in every CPU configuration."
    return "Under `shared` its threads are not bound to a CPU, unless `--cpu` names one."


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


def explanation(test: Descriptor, entry: Entry) -> dict[str, Any]:
    """The description of a test as data."""
    return {
        **msgspec.to_builtins(test),
        "kind": kind_of(test.id),
        "category": entry.category,
        "about": entry.about,
        "distorts": entry.distorts,
        "idle": entry.idle,
        "means": dict(entry.means),
        "published": published_data(test.id),
        "uncounted": dict(entry.uncounted),
        "enters_kernel": dict(entry.enters_kernel),
        "profiles": {
            name: {"samples": count.samples, "duration_ns": count.duration_ns}
            for name, count in entry.profiles.items()
        },
    }


def print_explanation(test: Descriptor, entry: Entry) -> None:
    """Prints what `test` measures, between which moments, and what falsifies it."""
    console = make_console()
    console.print(words(f"{test.id}  {test.title}", "bold"))
    console.print(words(f"{kind_of(test.id)}, {entry.category}; source: {test.source}"))
    _print_part(console, "", _sentence(entry.about))
    series = [*map(_series_line, test.series), *_sentence(warm_up_text(test))]
    _print_part(console, "series", series)
    verdicts = (words(f"{spoken(one.name)}: {one.claim}") for one in test.verdicts)
    _print_part(console, "verdicts", verdicts)
    means = (words(f"{spoken(name)}: {text}") for name, text in entry.means.items())
    _print_part(console, "what a failure means for a program", means)
    _print_part(console, "shown, not rated", _uncounted_lines(entry))
    params = [*map(_param_line, test.params), *_sentence(variants_text(test))]
    _print_part(console, "parameters (-p name=value)", params)
    _print_part(console, "samples and duration", _profile_lines(test, entry))
    _print_part(console, "what distorts it", _sentence(f"{entry.distorts} {entry.idle}".strip()))
    kinds = (words(f"{when}: {', '.join(found)}") for when, found in entry.kernel_kinds.items())
    _print_part(console, "kinds that enter the kernel (Linux)", kinds)
    _print_part(console, "needs", [words(", ".join(test.needs) or "nothing special")])
    _print_part(console, "CPU", [words(cpu_text(test))])
    _print_part(console, "priority", _sentence(PRIORITY))
    for table in published_tables(test.id):
        _print_part(console, f"published: {table.title}", published_parts(table))


def _print_part(console: Console, title: str, lines: Iterable[RenderableType]) -> None:
    found = list(lines)
    if not found:
        return
    console.print()
    if title:
        console.print(words(title, "bold"))
    for line in found:
        indent = 2 if title else 0
        if isinstance(line, Table):
            print_table(console, line, indent)
        else:
            console.print(Padding(line, (0, 0, 0, indent)))


def _sentence(text: str) -> list[Text]:
    return [words(text)] if text else []


def _series_line(series: SeriesSpec) -> Text:
    varied = [label for label in series.labels if label not in series.fixed]
    labels = f", by {', '.join(map(spoken, varied))}" if varied else ""
    possible = f" ({series.possible})" if series.possible else ""
    return words(f"{spoken(series.title)} [{series.unit}{labels}]: {series.meaning}{possible}")


def _param_line(spec: ParamSpec) -> Text:
    default = ", ".join(_param_value(spec, value) for value in spec.default) or "chosen by the test"
    several = "; a list, separated by commas" if spec.is_list else ""
    return words(f"{spec.name}: {spec.about} [{default}]; {limits_text(spec)}{several}")


def _param_value(spec: ParamSpec, value: int | str) -> str:
    return format_ns(value) if spec.unit == "ns" and isinstance(value, int) else str(value)


def _uncounted_lines(entry: Entry) -> Iterator[Text]:
    return (words(f"{spoken(name)}: {reason}") for name, reason in entry.uncounted.items())


def _profile_lines(test: Descriptor, entry: Entry) -> Iterator[Text]:
    own_time = f"until it is done, about {format_span(own_time_ns(test, entry))}"
    for name, count in entry.profiles.items():
        yield words(f"{name}: {_count_text(count) or own_time}")


def _count_text(count: ProfileCount) -> str:
    parts = []
    if count.samples:
        parts.append(f"{format_count(count.samples)} values per series")
    if count.duration_ns:
        parts.append(format_span(count.duration_ns))
    return ", ".join(parts)
