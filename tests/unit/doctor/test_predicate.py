"""Three values: nothing is ever concluded from what nobody told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.doctor.diagnose import Predicate, Truth, evaluate
from hardstone.model import Scalar

FACTS: dict[str, Scalar] = {
    "a.one": 1,
    "a.yes": True,
    "a.text": "tsc, hpet acpi_pm",
    "a.nothing": None,
    "a.open": "unlimited",
    "a.nan": float("nan"),
    "a.two": 2,
}


def truth(**predicate: Any) -> Truth:
    return evaluate(msgspec.convert(predicate, Predicate), FACTS)


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        ({"fact": "a.one", "equals": 1}, True),
        ({"fact": "a.one", "equals": 2}, False),
        ({"fact": "a.one", "equals": True}, None),
        ({"fact": "a.yes", "equals": 1}, None),
        ({"fact": "a.nothing", "equals": 1}, False),
        ({"fact": "a.missing", "equals": 1}, None),
        ({"fact": "a.text", "has": "hpet"}, True),
        ({"fact": "a.text", "has": "pet"}, False),
        ({"fact": "a.one", "has": "1"}, None),
        ({"fact": "a.nothing", "has": "x"}, False),
        ({"fact": "a.text", "one_of": ["tsc"]}, False),
        ({"fact": "a.open", "above": 10**18}, True),
        ({"fact": "a.open", "below": 10**18}, False),
        ({"fact": "a.text", "above": 1}, None),
        ({"fact": "a.yes", "above": 0}, None),
        ({"fact": "a.nan", "above": 0}, None),
        ({"fact": "a.nothing", "below": 5}, None),
        ({"fact": "a.two", "above": "a.one"}, True),
        ({"fact": "a.one", "at_least": "a.two"}, False),
        ({"fact": "a.one", "at_least": "a.missing"}, None),
        ({"fact": "a.nothing", "null": True}, True),
        ({"fact": "a.one", "null": True}, False),
        ({"fact": "a.missing", "null": True}, None),
        ({"fact": "a.missing", "known": False}, True),
        ({"fact": "a.nothing", "known": True}, True),
    ],
)
def test_comparisons(predicate: dict[str, Any], wanted: Truth) -> None:
    assert truth(**predicate) is wanted


YES: dict[str, Any] = {"fact": "a.one", "equals": 1}
NO: dict[str, Any] = {"fact": "a.one", "equals": 2}
WHO: dict[str, Any] = {"fact": "a.missing", "equals": 1}


@pytest.mark.parametrize(
    ("parts", "every", "some"),
    [
        ([YES, NO], False, True),
        ([YES, WHO], None, True),
        ([NO, WHO], False, None),
        ([WHO, WHO], None, None),
        ([YES, YES], True, True),
        ([NO, NO], False, False),
    ],
)
def test_kleene(parts: list[dict[str, Any]], every: Truth, some: Truth) -> None:
    assert truth(all=parts) is every
    assert truth(any=parts) is some


def test_not() -> None:
    assert truth(**{"not": YES}) is False
    assert truth(**{"not": NO}) is True
    assert truth(**{"not": WHO}) is None


@pytest.mark.parametrize(
    "predicate",
    [
        {},
        {"fact": "a.one"},
        {"equals": 1},
        {"fact": "a.one", "equals": 1, "above": 0},
        {"fact": "a.one", "equals": 1, "all": [YES]},
        {"all": [YES], "any": [NO]},
        {"fact": "a.one", "matches": "x"},
    ],
)
def test_a_condition_is_one_thing(predicate: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        msgspec.convert(predicate, Predicate)


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
_TESTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda value: {"equals": value}, st.one_of(st.booleans(), st.integers(0, 3))),
    st.builds(lambda value: {"above": value}, st.integers(0, 3)),
    st.builds(lambda value: {"one_of": [value]}, st.text(max_size=3)),
)
_LEAVES = st.builds(lambda fact, test: {"fact": fact, **test}, st.sampled_from("abc"), _TESTS)
_CONDITIONS = st.recursive(
    _LEAVES,
    lambda below: st.one_of(
        st.builds(lambda parts: {"all": parts}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda parts: {"any": parts}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda part: {"not": part}, below),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(_CONDITIONS, st.dictionaries(st.sampled_from("abc"), _SCALARS), st.sampled_from("abc"))
def test_knowing_more_never_turns_an_answer_round(
    predicate: dict[str, Any], facts: dict[str, Scalar], left_out: str
) -> None:
    parsed = msgspec.convert(predicate, Predicate)
    less = evaluate(parsed, {key: value for key, value in facts.items() if key != left_out})
    assert less is None or less is evaluate(parsed, facts)
