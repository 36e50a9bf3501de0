from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.units import (
    MAX_DURATION_NS,
    format_count,
    format_ns,
    format_span,
    parse_duration_ns,
    whole_number,
)


@pytest.mark.parametrize(
    ("text", "value_ns"),
    [
        ("300", 300_000_000_000),
        ("30s", 30_000_000_000),
        ("1.5ms", 1_500_000),
        ("250us", 250_000),
        ("250 \N{MICRO SIGN}s", 250_000),
        ("250\N{GREEK SMALL LETTER MU}s", 250_000),
        ("1ns", 1),
        ("5m", 300_000_000_000),
        ("2min", 120_000_000_000),
        (" 24H ", 86_400_000_000_000),
        ("366d", MAX_DURATION_NS),
        ("0.000000001s", 1),
    ],
)
def test_durations_are_read_in_every_unit(text: str, value_ns: int) -> None:
    assert parse_duration_ns(text) == value_ns


def test_a_bare_number_takes_the_unit_of_its_option() -> None:
    assert parse_duration_ns("250", bare="us") == 250_000


@pytest.mark.parametrize(
    "text",
    ["", "s", "-1s", "0", "0.0s", "1.5ns", "1e3s", "1 fortnight", "367d", "9" * 50,
     "0." + "0" * 9999, "\N{SUPERSCRIPT TWO}s", "1s2", "nan", "inf"],
)  # fmt: skip
def test_what_is_no_duration_is_refused_shortly(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|nanoseconds") as caught:
        parse_duration_ns(text)
    assert len(str(caught.value)) < 120


@pytest.mark.slow
@given(st.integers(1, MAX_DURATION_NS))
def test_nanoseconds_come_back_exactly(value_ns: int) -> None:
    assert parse_duration_ns(f"{value_ns}ns") == value_ns
    assert parse_duration_ns(f"{value_ns // 10**9}.{value_ns % 10**9:09}s") == value_ns


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (812, "812 ns"),
        (-812, "-812 ns"),
        (12.34, "12.3 ns"),
        (999.7, "1.00 us"),
        (1_000, "1 us"),
        (999_600, "1.00 ms"),
        (3_014_000, "3.01 ms"),
        (27_412, "27.4 us"),
        (100_200, "100 us"),
        (1_500_000_000, "1.50 s"),
        (2_000_000_000_000, "2000 s"),
    ],
)
def test_durations_are_written_with_the_digits_that_matter(
    value_ns: float | None, text: str
) -> None:
    assert format_ns(value_ns) == text


@pytest.mark.slow
@given(st.floats(1, 1e15))
def test_what_is_written_is_near_what_it_was(value_ns: float) -> None:
    number, unit = format_ns(value_ns).split()
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert float(number) * scale == pytest.approx(value_ns, rel=0.006)
    assert unit == "s" or float(number) < 1000


@pytest.mark.parametrize(
    ("text", "number"),
    [("400", 400), ("007", 7), ("1" * 18, int("1" * 18)), ("1" * 5000, None)]
    + [(text, None) for text in ("", "-1", "1.5", "4 00", "٤", "x")],
)
def test_whole_numbers_of_labels(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_counts_are_written_in_groups() -> None:
    assert format_count(300_000_000) == "300\N{NO-BREAK SPACE}000\N{NO-BREAK SPACE}000"


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (90_000_000_000, "1 min 30 s"),
        (86_400_000_000_000, "1 d"),
        (90_061_000_000_000, "1 d 1 h"),
        (59_600_000_000, "1 min"),
        (250_000, "250 us"),
    ],
)
def test_long_times_are_written_in_two_parts(value_ns: int, text: str) -> None:
    assert format_span(value_ns) == text
