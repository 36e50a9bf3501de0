"""Numbers and rows of foreign files: what is taken, and what is refused with its place."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hardstone.errors import InputError
from hardstone.importers import fields


@pytest.mark.parametrize(
    ("text", "unit_ns", "expected"),
    [
        ("0.302", 10**9, 302_000_000),
        ("15.121950", 1000, Decimal("15121.95")),
        ("-4.1", 1000, -4100),
        ("1.5e-3", 10**9, 1_500_000),
    ],
)
def test_durations_are_exact(text: str, unit_ns: int, expected: Decimal) -> None:
    assert fields.exact_ns(text, unit_ns, "line 1") == expected


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "1e999", "1_000", "0x1", "1 2", "9" * 30, "\u0661"]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(InputError, match=r"line 7: '.*' is not a number"):
        fields.exact_ns(text, 1, "line 7")


def test_durations_of_centuries_are_refused() -> None:
    with pytest.raises(InputError, match="line 7: '99999999999' is out of range"):
        fields.exact_ns("99999999999", 10**9, "line 7")


def test_foreign_text_in_errors_is_one_short_line() -> None:
    with pytest.raises(InputError) as caught:
        fields.count("\x1b[31m\n" + "9" * 100, "line 1")
    assert caught.value.cause == f"line 1: '?[31m?{'9' * 34}…' is not a count"


def test_rows() -> None:
    content = b"a\r\n" + b"b" * 1001 + b"\nc"
    assert list(fields.rows_of(content)) == [(1, "a"), (2, ""), (3, "c")]
    with pytest.raises(InputError, match="line 3: more than 2 lines"):
        list(fields.rows_of(content, most=2))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("/camera/image", "camera-image"),
        (" a  b\n", "a b"),
        ("/", "unnamed"),
        ("x" * 300, "x" * 200),
    ],
)
def test_labels_fit_into_addresses(text: str, label: str) -> None:
    assert fields.label(text) == label
