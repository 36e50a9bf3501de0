"""published.json as it is read: nothing is left out, and nothing is given to another test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

import pytest

from hardstone.catalogue import load_catalogue
from hardstone.errors import InputError
from hardstone.systems.moments import OWN, load_moments
from hardstone.systems.published import (
    Figure,
    all_figures,
    figures_of,
    load_studies,
    read_studies,
    study_figures,
)
from hardstone.terminal.explain import study_conditions
from tests.process.targets import sample

FILE = json.loads(resources.files("hardstone.systems").joinpath("published.json").read_bytes())
# Fields that are no condition: keys, labels, and what is about the copy.
READ_AS_THEY_ARE = {
    *("unit", "test", "columns", "at", "load", "kind", "source"),
    *("sic", "lost"),  # said by the exhibit
}
# What the file says without naming a test: reading.toml names it, figure by figure.
BY_PATH = {
    "hp-ux-rt-1987/clock": {"CLK-B-RES"},
    "garre-2014/priority_inversion": {"MUT-B-INV"},
    "garre-2014/simulation": {"SIM-S-RT"},
}


def of(study: str, table: str) -> list[Figure]:
    return [one for one in all_figures() if (one.study, one.table) == (study, table)]


def value(text: str, system: str | None, statistic: str | None, load: str | None = None) -> Any:
    (found,) = [
        one
        for one in all_figures()
        if str(one.address) == text
        and (one.system, one.statistic) == (system, statistic)
        and one.address.conditions.get("load") == load
    ]
    return found.value


def leaves(found: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Where each word and number of `found` stands; what was not published is none."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from leaves(value, *path, key)
    elif found is not None:
        yield path


def starts(path: tuple[str, ...], heads: Iterable[tuple[str, ...]]) -> bool:
    return any(path[: len(head)] == head for head in heads)


@pytest.mark.parametrize("key", FILE["studies"])
def test_every_word_and_number_is_read_or_says_why_not(key: str) -> None:
    study = load_studies()[key]
    read = [(name,) for name in study.reading.tables]
    read += [tuple(one.path) for one in study.reading.figures]
    unread = [tuple(path.split("/")) for path in study.reading.unread]
    for path in leaves(dict(study.tables)):
        is_of_table = len(path) == 2 and path[1] in {"unit", "test"}
        assert is_of_table or starts(path, read) != starts(path, unread), path
    assert all(any(starts(path, [head]) for path in leaves(study.tables)) for head in unread)


@pytest.mark.parametrize(
    "table",
    [(study, table) for study in load_studies() for table in load_studies()[study].reading.tables],
    ids="/".join,
)
def test_every_field_of_a_table_is_read_or_shown(table: tuple[str, str]) -> None:
    found, reading = FILE["studies"][table[0]][table[1]], load_studies()[table[0]].reading
    fields = {name for name, value in found.items() if value is not None} - READ_AS_THEY_ARE
    if "rows" in found:
        conditions = study_conditions(load_studies()[table[0]], table[1])
        told = {line.partition(":")[0].replace(" ", "_") for line in conditions}
        assert fields - {"rows"} <= told | set(reading.tables[table[1]].params)
    else:
        values = [str(one.value) for one in of(*table)]
        cells = [cell for row in found.values() for name, cell in row.items() if name != "via"]
        assert {str(cell) for cell in cells} == set(values)


def test_what_has_several_figures_of_one_address_has_them_for_several_systems() -> None:
    keys = [
        (one.study, one.table, one.system, f"{one.address} {one.address.conditions}", one.statistic)
        for one in all_figures()
    ]
    assert len(keys) == len(set(keys))


def tables_of(test: str) -> list[str]:
    """The tables of published.json with figures of `test`."""
    return list(dict.fromkeys(f"{one.study}/{one.table}" for one in figures_of(test)))


SHOWN = [(test, reference) for test in load_catalogue().ids() for reference in tables_of(test)]


@pytest.mark.parametrize(("test", "reference"), SHOWN)
def test_a_test_is_shown_only_tables_that_name_it_and_names_their_study(
    test: str, reference: str
) -> None:
    study, table = reference.split("/")
    assert test in json.dumps(FILE["studies"][study][table]) or test in BY_PATH[reference]
    source = next((one.source for one in sample.register().tests if one.id == test), None)
    words = load_studies()[study].reading.short.split()
    assert source is None or all(word in source for word in words), source


def test_the_uncontended_pair_is_not_shown_the_context_switch() -> None:
    assert tables_of("SEM-P-SIG") == ["obenland-2000/statements"]
    assert tables_of("SEM-P-RTP") == ["obenland-2000/context_switch", "obenland-2000/statements"]
    assert tables_of("TMR-B-EDGE") == []


def test_a_condition_is_no_label() -> None:
    (found, *_) = of("dedicated-systems-2012", "timings")[6:]
    assert (found.address.labels, found.address.conditions) == ({}, {"policy": "fifo"})


def study(table: dict[str, Any], reading: dict[str, Any]) -> list[Figure]:
    """The figures of a study with one table, made up."""
    found = {"title": "A study", "systems": {"a": {"name": "A"}}, "table": table}
    readings = {"made-up": {"short": "Made up", "tables": {"table": reading}}}
    return list(study_figures(read_studies({"made-up": found}, readings)["made-up"]))


@pytest.mark.parametrize(
    ("table", "reading", "said"),
    [
        (
            {"columns": ["x/y/z"], "rows": {"a": [1]}},
            {"columns": ["kind", "load"]},
            "'x/y/z' does not have the parts kind, load",
        ),
        ({"rows": {"b": 1}}, {}, "no system 'b'"),
    ],
)
def test_odd_keys_are_refused(table: dict[str, Any], reading: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        study({"test": "A-P-B"} | table, {"rows": ["system"]} | reading)


def test_what_was_not_published_is_no_figure() -> None:
    table = {"test": "A-P-B", "columns": ["x", "y"], "rows": {"a": [None, 2]}}
    (found,) = study(table, {"rows": ["system"], "columns": ["kind"]})
    assert (found.value, str(found.address)) == (2, "A-P-B/y")


def test_a_unit_is_that_of_times_and_not_of_counts() -> None:
    kernel = study_conditions(load_studies()["hp-ux-rt-1987"], "non_preemptable_kernel_time")
    assert list(kernel) == [
        "preemption points: 180",
        "preemption regions: 20",
        "longest paths: off fork, exec, user I/O copies; on terminal driver",
    ]
    obenland = load_studies()["obenland-2000"]
    assert list(study_conditions(obenland, "response_worst_case")) == ["calibrated block: 10 ms"]
    timings = study_conditions(load_studies()["dedicated-systems-2012"], "timings")
    assert "load: not published" in timings


def test_what_a_study_fixes_is_a_parameter_and_its_default() -> None:
    """But for interrupts: 1e9 in each step take hours."""
    for test in sample.register().tests:
        defaults = {one.name: one.default for one in test.params}
        for name, value in (item for one in figures_of(test.id) for item in one.params.items()):
            assert defaults[name] == ([0] if name == "interrupts" else [value]), test.id


def test_the_context_switch_says_which_kinds_stand_beside_it() -> None:
    notes = {one.note for one in figures_of("SEM-P-RTP") if one.table == "context_switch"}
    assert all("enter the kernel in both SEM-P-SIG and SEM-P-RTP" in note for note in notes)


# ---- figures of hardstone that those of other tools are compared with ----

OWN_MOMENTS = load_moments()[OWN].series


@pytest.mark.parametrize("name", OWN_MOMENTS)
def test_a_figure_is_of_a_series_that_its_test_declares(name: str) -> None:
    moments = OWN_MOMENTS[name]
    (test,) = [one for one in sample.register().tests if one.id == moments.test]
    known = {str(one.label): set(map(str, one.default)) for one in test.variant_params}
    declared = [one for one in test.series if one.name == moments.series]
    assert declared
    for label, value in (item for one in declared for item in one.fixed.items()):
        known.setdefault(label, set()).add(value)
    assert all(value in known[label] for label, value in moments.labels.items())
    assert not moments.differs
