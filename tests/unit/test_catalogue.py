"""The catalogue against the register, what the register says of its tests, and expected times."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import (
    expected_ns,
    load_catalogue,
    parse_catalogue,
    variant_count,
)
from hardstone.model import Descriptor, ParamSpec, ParamValue
from hardstone.plan.make import Request, make_plan, own_time_ns
from tests.process.targets import sample

CATALOGUE = load_catalogue()
MINUTE_NS = 60_000_000_000


# By the study of 2012: the place of a thread that lowers itself, unequal first slices, creation and
# deletion of threads.
UNCOUNTED = {
    "THR-B-NEW": {"lowered_setschedprio", "lowered_setschedparam"},
    "THR-B-RR": {"first_slice"},
    "THR-P-NEW": {"create", "delete"},
    "POS-B-INV": {"base_limits_at_least_posix_minimum"},
}


@cache
def register() -> dict[str, Descriptor]:
    return {test.id: test for test in sample.register().tests}


def described(test: str) -> Descriptor:
    return register()[test]


def test_register_and_probe_have_the_tests_of_the_catalogue(probe: Path) -> None:
    assert set(CATALOGUE.ids()) == set(register())
    output = subprocess.run([probe, "list", "--json"], capture_output=True, check=True).stdout
    assert {test["id"] for test in json.loads(output)["tests"]} == set(CATALOGUE.ids())


def test_what_does_not_count_is_what_was_chosen() -> None:
    found = {test: set(CATALOGUE.entry(test).uncounted) for test in CATALOGUE.ids()}
    assert {test: names for test, names in found.items() if names} == UNCOUNTED
    entry = CATALOGUE.entry("THR-B-NEW")  # instances of a verdict count as it does
    assert entry.why_uncounted("lowered_setschedparam/fifo")
    assert not entry.why_uncounted("lower/fifo")


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("cyclictest", ["TMR-P-LAT"]),
        ("Wakeup Latency", ["TMR-P-LAT"]),
        ("pmqtest", ["MSG-P-LAT"]),
        ("signaltest", ["SIG-P-LAT"]),
        ("ptsematest", ["MUT-P-ARC"]),
        ("svsematest", ["SEM-P-RTP"]),
        ("oslat", ["CLK-P-DUR", "CLK-P-BIN"]),
        ("hwlatdetect", ["CLK-P-DUR", "CLK-P-BIN"]),
        ("timerlat", ["TMR-P-LAT"]),
        ("context-switch", ["THR-P-SLS"]),
        ("bintime", ["CLK-P-BIN"]),
        ("priority inversion", ["MUT-B-ARC", "MUT-B-INV", "MUT-P-INV"]),
        ("", []),
        ("nothing", []),
    ],
)
def test_tests_are_found_by_the_names_that_people_know(name: str, tests: list[str]) -> None:
    assert CATALOGUE.called(name) == tests


@pytest.mark.parametrize(("profile", "least", "most"), [("quick", 0.8, 1.4), ("standard", 8, 12)])
def test_a_battery_takes_as_long_as_promised(profile: str, least: float, most: float) -> None:
    plan = make_plan(Request(profile=profile), sample.register(), CATALOGUE)
    total = sum(test.expected_ns for test in plan.tests)
    assert least * MINUTE_NS < total < most * MINUTE_NS


def test_expected_time_is_the_duration_where_there_is_one() -> None:
    entry, test = CATALOGUE.entry("TMR-P-LAT"), described("TMR-P-LAT")
    params: dict[str, ParamValue] = {"interval_ns": 1_000_000}
    assert expected_ns(test, entry, 0, MINUTE_NS, params) == MINUTE_NS + test.setup_ns
    assert expected_ns(test, entry, 1000, 0, params) == 1_000_000_000 + test.setup_ns
    assert expected_ns(test, entry, 1000, MINUTE_NS, params) == 1_000_000_000 + test.setup_ns
    assert expected_ns(test, entry, 100_000, MINUTE_NS, params) == MINUTE_NS + test.setup_ns


def test_a_test_that_nobody_catalogued_runs_with_its_defaults() -> None:
    entry = CATALOGUE.entry("NEW-P-ONE", samples=7, duration_ns=9)
    assert entry.category == "other"
    assert entry.profiles["quick"].samples == 7
    assert entry.profiles["soak"].duration_ns == 9


KERNEL_TESTS = [test for test in CATALOGUE.ids() if CATALOGUE.entry(test).enters_kernel]


@pytest.mark.parametrize("test", KERNEL_TESTS)
def test_what_is_said_of_the_kernel_is_so(probe: Path, test: str) -> None:
    """Of a thread that signals and waits alone, every system call is refused."""
    program = probe.parent / "tests" / "hardstone-kernel-entries"
    if not program.exists():
        pytest.skip(f"only Linux can forbid system calls: there is no {program}")
    output = subprocess.run([program], capture_output=True, check=True, text=True).stdout
    found = dict(line.split() for line in output.splitlines())
    said = CATALOGUE.entry(test).enters_kernel
    assert found and {kind: when == "always" for kind, when in found.items()} == {
        kind: said[kind] == "always" for kind in found
    }


WHOLE = resources.files("hardstone").joinpath("catalogue.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"when somebody waits"\nnamed', '"sometimes"\nnamed', "'sometimes'.*enters_kernel"),
        ('category = "clock"', 'category = "nonsense"', "'nonsense'.*category"),
        ("order = 10", "order = 10\nodrer = 10", "odrer"),
        ('duration = "6s"', 'duration = "5 parsecs"', "5 parsecs.*quick"),
        ('duration = "6s"', 'duration = "5s", smaples = 3', "smaples.*quick"),
    ],
)
def test_faulty_data_is_refused_by_its_field(right: str, wrong: str, said: str) -> None:
    assert right in WHOLE
    with pytest.raises(ValueError, match=said):
        parse_catalogue(WHOLE.replace(right, wrong, 1))


COUNTED, UNCOUNTED_TEST = CATALOGUE.entry("SEM-P-RTP"), CATALOGUE.entry("MUT-B-INV")


def param(name: str, label: str | None = None, **changed: Any) -> ParamSpec:
    fields: dict[str, Any] = {"unit": "count", "default": [1, 2], "is_list": True, "about": ""}
    return ParamSpec(name=name, label=label, **(fields | changed))


def descriptor(*params: ParamSpec, **changed: Any) -> Descriptor:
    fields: dict[str, Any] = {"setup_ns": 1000, "sample_ns": 10}
    fields |= {"title": "", "source": "", "needs": [], "series": [], "verdicts": []}
    fields |= {"default_samples": 1, "default_duration_ns": 0}
    return Descriptor(id="MAD-P-UP", params=list(params), **(fields | changed))


def test_variants_are_the_product_of_the_labelled_lists() -> None:
    test = descriptor(param("kinds", "kind"), param("scopes", "scope"), param("sizes"))
    params: dict[str, ParamValue] = {"kinds": [*"abc"], "scopes": [*"xy"], "sizes": [1] * 9}
    assert variant_count(test, params) == 6
    assert expected_ns(test, COUNTED, 100, 0, params) == 1000 + 100 * 10 * 6
    assert variant_count(descriptor(param("cpus", "cpu")), {"cpus": []}) == 1
    at_once = descriptor(param("cpus", "cpu", unit="cpu"), is_concurrent=True)
    assert expected_ns(at_once, COUNTED, 100, 0, {"cpus": [0, 1, 2]}) == 1000 + 100 * 10


@pytest.mark.parametrize(
    ("value", "percent", "one_ns"),
    [(200, 100, 210), (200, 134, 278), ([100, 300], 100, 210), ([1, 2], 100, 12), (None, 100, 10)],
)
def test_a_parameter_comes_on_top_on_the_mean_of_its_values(
    value: ParamValue | None, percent: int, one_ns: int
) -> None:
    test = descriptor(param("span_ns"), sample_param="span_ns", sample_percent=percent)
    params: dict[str, ParamValue] = {} if value is None else {"span_ns": value}
    assert expected_ns(test, COUNTED, 1, 0, params) == 1000 + one_ns


def test_extra_samples_are_taken_for_each_variant_beside_a_duration_too() -> None:
    test = descriptor(param("kinds", "kind"), extra_samples=5)
    params: dict[str, ParamValue] = {"kinds": ["a", "b"]}
    assert expected_ns(test, COUNTED, 0, 7000, params) == 1000 + 5 * 2 * 10 + 7000
    assert expected_ns(test, COUNTED, 3, 0, params) == 1000 + 8 * 2 * 10


@pytest.mark.parametrize(("samples", "duration_ns"), [(0, 0), (500, 0), (0, 10**9)])
def test_a_test_without_counts_takes_its_own_time(samples: int, duration_ns: int) -> None:
    test = descriptor(param("kinds", "kind"), extra_samples=5)
    params: dict[str, ParamValue] = {"kinds": ["a", "b"]}
    assert expected_ns(test, UNCOUNTED_TEST, samples, duration_ns, params) == 1000 + 5 * 2 * 10
    assert own_time_ns(test, UNCOUNTED_TEST) == 1000 + 5 * 2 * 10


@pytest.mark.slow
@given(st.sampled_from(sample.register().tests), st.integers(0, 10**9), st.integers(1, 10**6))
def test_more_samples_never_take_less(test: Descriptor, samples: int, more: int) -> None:
    entry = CATALOGUE.entry(test.id)
    params: dict[str, ParamValue] = {spec.name: list(spec.default) for spec in test.params}
    less_ns = expected_ns(test, entry, samples, 0, params)
    assert expected_ns(test, entry, samples + more, 0, params) >= less_ns >= test.setup_ns
