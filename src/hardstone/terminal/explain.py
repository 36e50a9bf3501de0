"""A test explained, published figures of it and of a study, and a plan before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.catalogue import Entry, kind_of
from hardstone.model import Descriptor, ParamSpec, Plan, SeriesSpec
from hardstone.plan.make import own_time_ns
from hardstone.plan.params import limits_text
from hardstone.stats.conditions import Condition, condition_of
from hardstone.study.exhibits import StudyView
from hardstone.study.layout import lay_out
from hardstone.study.papers import load_papers
from hardstone.study.screen import print_exhibit, system_text
from hardstone.systems.published import Study, figures_of
from hardstone.terminal.console import (
    make_console,
    make_table,
    print_table,
    print_wrapped,
    words,
)
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import parameter_text, spoken

_NO_CONDITIONS = {
    *("unit", "test", "columns", "rows", "at", "kind", "source", "load"),  # shown elsewhere
    *("lost", "sic"),  # about what was transcribed
}

PRIORITY = (
    'The measuring threads run at the maximum priority less one. The studies\' "maximum possible" '
    "is --priority max. On Linux threads of the stop class (migration, lockup watchdog) preempt "
    "either; other threads at SCHED_FIFO 99 preempt the default and are equal to the maximum, so "
    "they wait until it blocks."
)


def _published_data(test: str) -> list[dict[str, Any]]:
    """Every published figure of `test`, as data."""
    return [
        {
            "table": f"{one.study}/{one.table}",
            "system": one.system,
            "address": str(one.address),
            "conditions": dict(one.address.conditions),
            "statistic": one.statistic,
            "unit": one.unit,
            "value": one.value,
        }
        for one in figures_of(test)
    ]


def _listed_value(value: Any) -> str:
    if isinstance(value, Mapping):
        is_long = any(isinstance(one, list) for one in value.values())
        return ("; " if is_long else ", ").join(
            f"{key} {_listed_value(one)}" for key, one in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_listed_value, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def study_conditions(study: Study, table: str) -> Iterator[str]:
    """The conditions of a table, as far as the study gives them."""
    fields = study.tables[table]
    conditions: dict[str, Any] = dict(study.conditions)
    if isinstance(fields, dict) and "columns" in fields:
        conditions |= {name: value for name, value in fields.items() if name not in _NO_CONDITIONS}
    reading = study.reading.tables.get(table)
    in_unit = reading.in_unit if reading else []
    for name, value in conditions.items():
        if value is not None:
            unit = f" {fields['unit']}" if name in in_unit else ""
            yield f"{name.replace('_', ' ')}: {_listed_value(value)}{unit}"
    if isinstance(fields, dict) and "load" in fields and fields["load"] is None:
        yield "load: not published"


def _systems(view: StudyView) -> Iterator[str]:
    """What each system is that has a figure, after the name that stands above its column."""
    places = sorted({place for one in view.exhibits for place in one.columns})
    for column in (view.columns[place] for place in places):
        yield f"{column.short}: {system_text(view, column)}"


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
        within_ns = plan.sweep.within_ns
        limit = f"{format_span(within_ns)} in all" if within_ns else "without a time limit"
        rest = f"only the first points: results decide the others, {limit} (--within)"
        console.print(words(rest, "yellow"))
    console.print(words(_conditions(plan)))
    table = make_table()
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
        under = [] if is_plain else [words(test.load), words(test.cpu_config)]
        under += [words(test.preemption or "")] if plan.preemption_models else []
        samples = format_count(test.samples) if test.samples else "-"
        duration = format_span(test.duration_ns) if test.duration_ns else "-"
        limits = map(Text, (samples, duration, format_span(test.expected_ns)))
        params = [parameter_text(name, value) for name, value in test.params.items() if value != []]
        table.add_row(Text(test.test), *under, *limits, words("; ".join(params)))
    print_table(console, table)


def _conditions(plan: Plan) -> str:
    cpu = "CPU left to the probe" if plan.cpu is None else f"CPU {plan.cpu}"
    priority = "" if plan.priority is None else f" {plan.priority}"
    return (
        f"policy {plan.policy}{priority}, {cpu}, clock {plan.clock}, "
        f"load {', '.join(plan.loads)}, CPUs {', '.join(plan.cpu_configs)}, seed {plan.seed}"
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
        "published": _published_data(test.id),
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
    uncounted = (words(f"{spoken(name)}: {reason}") for name, reason in entry.uncounted.items())
    _print_part(console, "shown, not rated", uncounted)
    params = [*map(_param_line, test.params), *_sentence(variants_text(test))]
    _print_part(console, "parameters (-p name=value)", params)
    _print_part(console, "samples and duration", _profile_lines(test, entry))
    _print_part(console, "what distorts it", _sentence(f"{entry.distorts} {entry.idle}".strip()))
    kinds = (words(f"{when}: {', '.join(found)}") for when, found in entry.kernel_kinds.items())
    _print_part(console, "kinds that enter the kernel (Linux)", kinds)
    _print_part(console, "needs", [words(", ".join(test.needs) or "nothing special")])
    _print_part(console, "CPU", [words(cpu_text(test))])
    _print_part(console, "priority", _sentence(PRIORITY))
    for view in published_views(test.id):
        _print_published(console, view, test.id)


def published_views(test: str) -> Iterator[StudyView]:
    """Each paper that has figures of `test`, laid out with their exhibits alone."""
    for paper in load_papers().values():
        view = lay_out(paper, [], only_tests=(test,))
        if view.exhibits:
            yield view


def study_title(view: StudyView) -> str:
    """The short name of a study, its title and its authors."""
    study = view.paper.study
    author = f" ({study.author})" if study.author else ""
    return f"{study.reading.short}: {study.title}{author}"


def published_conditions(view: StudyView, test: str) -> list[str]:
    """Under which conditions the paper measured `test`, and on which systems."""
    study = view.paper.study
    tables = dict.fromkeys(one.table for one in figures_of(test) if one.study == study.key)
    found = (line for table in tables for line in study_conditions(study, table))
    return [*dict.fromkeys(found), *_systems(view)]


def _print_published(console: Console, view: StudyView, test: str) -> None:
    console.print()
    print_wrapped(console, f"published: {study_title(view)}", style="bold")
    for number, one in enumerate(view.exhibits):
        if number and not (one.exhibit.plots and view.exhibits[number - 1].exhibit.plots):
            console.print()
        print_exhibit(console, view, one, has_addresses=True)
    lines = published_conditions(view, test)
    if lines:
        console.print()
    for line in lines:
        print_wrapped(console, line, lead="  ")


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
    values = [
        format_ns(value) if spec.unit == "ns" and isinstance(value, int) else str(value)
        for value in spec.default
    ]
    default = ", ".join(values) or "chosen by the test"
    several = "; a list, separated by commas" if spec.is_list else ""
    return words(f"{spec.name}: {spec.about} [{default}]; {limits_text(spec)}{several}")


def _profile_lines(test: Descriptor, entry: Entry) -> Iterator[Text]:
    own_time = f"until it is done, about {format_span(own_time_ns(test, entry))}"
    for name, count in entry.profiles.items():
        parts = []
        if count.samples:
            parts.append(f"{format_count(count.samples)} values per series")
        if count.duration_ns:
            parts.append(format_span(count.duration_ns))
        yield words(f"{name}: {', '.join(parts) or own_time}")
