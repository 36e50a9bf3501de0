"""The description of one test, from the probe's descriptor and the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.catalogue import Entry, ProfileCount, kind_of
from hardstone.model import Descriptor, ParamSpec, SeriesSpec
from hardstone.plan import limits_text, own_time_ns
from hardstone.present.wording import spoken
from hardstone.terminal.console import make_console
from hardstone.terminal.published import PRIORITY, published_data, published_tables
from hardstone.terminal.published_table import published_parts
from hardstone.terminal.variants import cpu_text, variants_text, warm_up_text
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words
from hardstone.units import format_count, format_ns, format_span


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
