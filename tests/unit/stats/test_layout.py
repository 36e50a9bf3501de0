from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.stats.layout import MAX_VALUE, edges_of, index_of, last_index, parse_layout

VALUES = st.integers(0, MAX_VALUE) | st.integers(0, 1 << 14)
BITS = st.integers(1, 20)


@pytest.mark.slow
@given(VALUES, BITS)
def test_a_value_lies_in_its_bucket_and_the_bucket_is_narrow(value: int, bits: int) -> None:
    low, high = edges_of(index_of(value, bits), bits)
    assert low <= value <= high
    assert (high - low) * 2**bits <= low


@pytest.mark.slow
@given(st.integers(0, last_index(7) - 1))
def test_buckets_follow_each_other_without_a_gap(index: int) -> None:
    assert edges_of(index, 7)[1] + 1 == edges_of(index + 1, 7)[0]


@pytest.mark.parametrize(
    ("value", "index"),
    [(0, 0), (1023, 1023), (1024, 1024), (2047, 2047), (2048, 2048), (2049, 2048), (4096, 3072)],
)
def test_indices_are_those_of_the_closed_form(value: int, index: int) -> None:
    assert index_of(value) == index


def test_the_last_bucket_ends_at_the_largest_value() -> None:
    assert edges_of(last_index())[1] == MAX_VALUE


@pytest.mark.parametrize("value", [-1, MAX_VALUE + 1])
def test_a_value_outside_has_no_bucket(value: int) -> None:
    with pytest.raises(ValueError, match="has no bucket"):
        index_of(value)


def test_a_negative_index_has_no_edges() -> None:
    with pytest.raises(ValueError, match="not the index"):
        edges_of(-1)


def test_a_known_layout_gives_its_bits() -> None:
    assert parse_layout("log-linear/7") == 7


@pytest.mark.parametrize(
    "layout",
    ["", "linear/10", "log-linear/", "log-linear/0", "log-linear/21", "log-linear/-1",
     "log-linear/1e1", "log-linear/\N{SUPERSCRIPT TWO}", "log-linear/" + "9" * 5000],
)  # fmt: skip
def test_an_unknown_layout_is_refused_with_a_remedy(layout: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_layout(layout)
    assert "upgrade" in caught.value.remedy
    assert len(caught.value.cause) < 100
