"""Expected time: one value of one variant, times the variants, times the values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import Entry, load_catalogue
from hardstone.expected_time import expected_ns, variant_count
from hardstone.model import Descriptor, ParamSpec, ParamValue
from hardstone.plan import own_time_ns
from tests.process.targets import sample

COUNTED = load_catalogue().entry("SEM-P-RTP")
FIXED = load_catalogue().entry("MUT-B-INV")


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
    params: dict[str, ParamValue] = {
        "kinds": ["a", "b", "c"],
        "scopes": ["x", "y"],
        "sizes": [1] * 9,
    }
    assert variant_count(test, params) == 6
    assert expected_ns(test, COUNTED, 100, 0, params) == 1000 + 100 * 10 * 6


def test_variants_at_the_same_time_take_the_time_of_one() -> None:
    test = descriptor(param("cpus", "cpu", unit="cpu"), is_concurrent=True)
    assert expected_ns(test, COUNTED, 100, 0, {"cpus": [0, 1, 2]}) == 1000 + 100 * 10


def test_an_empty_list_stands_for_one_value() -> None:
    assert variant_count(descriptor(param("cpus", "cpu")), {"cpus": []}) == 1


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
    assert expected_ns(test, FIXED, samples, duration_ns, params) == 1000 + 5 * 2 * 10
    assert own_time_ns(test, FIXED) == 1000 + 5 * 2 * 10


@pytest.mark.slow
@given(st.sampled_from(sample.register().tests), st.integers(0, 10**9), st.integers(1, 10**6))
def test_more_samples_never_take_less(test: Descriptor, samples: int, more: int) -> None:
    entry: Entry = load_catalogue().entry(test.id)
    params: dict[str, ParamValue] = {spec.name: list(spec.default) for spec in test.params}
    less_ns = expected_ns(test, entry, samples, 0, params)
    assert expected_ns(test, entry, samples + more, 0, params) >= less_ns >= test.setup_ns
