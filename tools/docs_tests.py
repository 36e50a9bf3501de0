"""The page of one test, from the probe's descriptor and the catalogue's entry."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path

from hardstone.catalogue import PROFILES, Catalogue, Entry, ProfileCount
from hardstone.model import Descriptor, ParamSpec, Register, SeriesSpec
from hardstone.study.exhibits import LaidOut, StudyView
from hardstone.study.screen import lines_below, title_of
from hardstone.terminal.explain import (
    cpu_text,
    published_conditions,
    published_views,
    study_title,
    variants_text,
    warm_up_text,
)
from hardstone.units import format_count, format_ns, format_span

BIBLIOGRAPHY = Path(__file__).resolve().parent.parent / "docs" / "bibliography.md"
CHANGES = re.compile(r"(<!-- tests -->\n).*?(<!-- end -->\n)", re.DOTALL)
STUDY = re.compile(
    r"(^### \[([A-Z])\][^#]*?)^- \*\*Tests\*\*: .*?\n(?=- )", re.MULTILINE | re.DOTALL
)


def page(test: Descriptor, catalogue: Catalogue) -> str:
    entry = catalogue.entry(test.id, test.default_samples, test.default_duration_ns)
    parts = [f"# {test.id}: {test.title}", entry.about, f"Source: {_linked(test.source)}."]
    parts.append(f"```\nhardstone run {test.id}\n```")
    parts += _section("What distorts it", [part for part in (entry.distorts, entry.idle) if part])
    parts += _section("Which kinds enter the kernel", _kernel(entry))
    parts += _section("Needs", [", ".join(test.needs) + "."] if test.needs else [])
    parts += _section("CPU", [cpu_text(test)])
    parts += _section("Series", _series(test))
    parts += _section("Verdicts", _verdicts(test, entry))
    parts += _section("Shown but not rated", _uncounted(entry))
    parts += _section("Parameters", _parameters(test))
    parts += _section("Counts", _profiles(entry))
    parts += _section("Published figures", _published(test.id))
    return "\n\n".join(parts) + "\n"


def index(register: Register, catalogue: Catalogue) -> str:
    by_id = {test.id: test for test in register.tests}
    known = [test for test in catalogue.ids() if test in by_id]
    known += [test for test in by_id if test not in known]
    rows = [
        [f"[{name}]({name.lower()}.md)", catalogue.entry(name).category, by_id[name].title]
        for name in known
    ]
    return f"# Tests\n\n{table(['test', 'category', 'what'], rows)}\n"


def changes(text: str, register: Register) -> str:
    """The changelog with the tests of the register in the block that names them."""
    told = textwrap.fill(
        f"- Tests: {', '.join(test.id for test in register.tests)}.",
        width=100,
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    return CHANGES.sub(lambda block: f"{block[1]}{told}\n{block[2]}", text)


def bibliography(text: str, register: Register) -> str:
    """The bibliography, each study with the tests of the register whose source it is."""

    def with_tests(section: re.Match[str]) -> str:
        tests = [test.id for test in register.tests if f"[{section[2]}]" in test.source]
        told = f"- **Tests**: {', '.join(tests)}."
        filled = textwrap.fill(told, width=100, subsequent_indent="  ", break_on_hyphens=False)
        return f"{section[1]}{filled}\n"

    return STUDY.sub(with_tests, text)


@cache
def _anchors() -> dict[str, str]:
    """The anchor of each study of the bibliography, by its key."""
    headings = re.findall(r"^### (\[([A-Z])\].*)$", BIBLIOGRAPHY.read_text(), re.MULTILINE)
    return {key: anchor(heading) for heading, key in headings}


def anchor(heading: str) -> str:
    """That of a heading, as it is made on the web."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _linked(source: str) -> str:
    """The source of a test, each key a link to its study."""
    for key, place in _anchors().items():
        source = source.replace(f"[{key}]", f"[[{key}]](../../{BIBLIOGRAPHY.name}#{place})")
    return source


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _section(title: str, parts: list[str]) -> list[str]:
    return [f"## {title}", *parts] if parts else []


def _labels(series: SeriesSpec) -> str:
    fixed = series.fixed
    return ", ".join(f"{name} = {fixed[name]}" if name in fixed else name for name in series.labels)


def _meaning(series: SeriesSpec) -> str:
    return f"{series.meaning} ({series.possible})" if series.possible else series.meaning


def _series(test: Descriptor) -> list[str]:
    rows = [[f"`{one.name}`", one.unit, _labels(one), _meaning(one)] for one in test.series]
    parts = [table(["series", "unit", "labels", "a value is"], rows)] if rows else []
    return [*parts, *filter(None, [warm_up_text(test)])]


def _verdicts(test: Descriptor, entry: Entry) -> list[str]:
    rows = [[f"`{one.name}`", one.claim, entry.means.get(one.name, "")] for one in test.verdicts]
    return [table(["verdict", "claim", "if it fails"], rows)] if rows else []


def _uncounted(entry: Entry) -> list[str]:
    rows = [[f"`{name}`", reason] for name, reason in entry.uncounted.items()]
    return [table(["what", "why"], rows)] if rows else []


def _parameters(test: Descriptor) -> list[str]:
    rows = [
        [f"`{one.name}`", _values(one.default, one.unit), _range(one), one.about]
        for one in test.params
    ]
    if not rows:
        return []
    example = next((one for one in test.params if one.default), test.params[0])
    value = _values(example.default, example.unit).replace(" ", "").replace("`", "")
    return [
        table(["parameter", "default", "allowed", "what"], rows),
        f"Set one with `-p {example.name}={value}`; a list takes commas.",
        *filter(None, [variants_text(test, mark="`")]),
    ]


def _kernel(entry: Entry) -> list[str]:
    rows = [
        [when, ", ".join(f"`{one}`" for one in kinds)] for when, kinds in entry.kernel_kinds.items()
    ]
    return [table(["on Linux", "kinds"], rows)] if rows else []


def _range(param: ParamSpec) -> str:
    if param.choices:
        return ", ".join(f"`{choice}`" for choice in param.choices)
    if param.min is None or param.max is None:
        return "any" if param.min is None and param.max is None else "one-sided"
    return f"{_values([param.min], param.unit)} to {_values([param.max], param.unit)}"


def _values(values: list[int | str], unit: str) -> str:
    return ", ".join(
        format_ns(value)
        if unit == "ns" and isinstance(value, int)
        else format_count(value)
        if isinstance(value, int)
        else f"`{value}`"
        for value in values
    )


def _published(test: str) -> list[str]:
    parts = []
    for view in published_views(test):
        parts.append(study_title(view))
        for one in view.exhibits:
            parts += _exhibit(view, one)
        if lines := published_conditions(view, test):
            parts += ["Conditions and systems:", _listed(lines)]
    return [part for part in parts if part]


def _exhibit(view: StudyView, one: LaidOut) -> list[str]:
    """An exhibit of a paper: its rows with their addresses, and what must be known of them."""
    number, title = title_of(one)
    heading = f"**{number}**: {title}"
    if one.exhibit.plots:
        return [heading]
    systems = [view.columns[place].short for place in one.columns]
    head = ["quantity", "address", *one.exhibit.headings, "load", "statistic", *systems]
    rows = [
        [
            row.label,
            f"`{row.address.partition('/')[2] or row.address}`" if row.address else "",
            *row.words,
            row.load,
            row.statistic,
            *(row.cells[place].text or row.cells[place].kind for place in one.columns),
        ]
        for row in one.rows
    ]
    kept = [place for place, _ in enumerate(head) if any(row[place] for row in rows)]
    cells = [[row[place].replace("not covered", "") for place in kept] for row in rows]
    shown = [table([head[place] for place in kept], cells)] if rows else []
    return [heading, *shown, _listed(list(lines_below(one)))]


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _profiles(entry: Entry) -> list[str]:
    rows = [[name, *_count(entry.profiles[name])] for name in PROFILES]
    return [table(["profile", "samples", "duration"], rows)]


def _count(count: ProfileCount) -> list[str]:
    samples = format_count(count.samples) if count.samples else "no limit"
    return [samples, format_span(count.duration_ns) if count.duration_ns else "as it takes"]
