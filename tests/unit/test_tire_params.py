"""Parameters of a simulation that do not fit together are refused before it runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import ParamValue
from hardstone.plan.problems import Problems
from hardstone.plan.tire_params import check_tire

TEST = "SIM-S-RT"
FINE: dict[str, ParamValue] = {
    "masses": [400, 4000],
    "threads": [1, 2],
    "step_ns": 10_000_000,
    "stiffness_per_s2": 0,
}
WRONG: list[tuple[dict[str, ParamValue], list[str]]] = [
    ({"masses": [400, 402]}, ["SIM-S-RT masses: 402 is no multiple of 4; give 400 or 404"]),
    ({"masses": [3], "threads": [1]}, ["SIM-S-RT masses: 3 is no multiple of 4; give 4"]),
    (
        {"masses": [400, 8], "threads": [1, 9]},
        ["SIM-S-RT threads: 9 for 8 masses; give at most as many threads as masses"],
    ),
    (
        {"stiffness_per_s2": 1_000_000},
        [
            "SIM-S-RT step_ns: 10 ms is unstable at 1000000 per s^2; "
            "give 408248ns or less, or leave stiffness_per_s2 out"
        ],
    ),
]


def told(params: dict[str, ParamValue]) -> list[str]:
    problems = Problems()
    check_tire(TEST, params, problems)
    return list(problems.lines)


@pytest.mark.parametrize(("change", "wanted"), WRONG)
def test_what_does_not_fit_is_told(change: dict[str, ParamValue], wanted: list[str]) -> None:
    assert told(FINE | change) == wanted


def test_what_fits_is_not() -> None:
    assert told(FINE) == []
    assert told({"interval_ns": 5}) == []  # another test
    assert told(FINE | {"stiffness_per_s2": 1_000_000, "step_ns": 408_248}) == []


@pytest.mark.slow
@given(st.integers(1, 10**6), st.integers(1, 256))
def test_a_size_is_refused_or_is_a_tire(quarter: int, threads: int) -> None:
    complaints = told(FINE | {"masses": [4 * quarter], "threads": [threads]})
    assert bool(complaints) == (threads > 4 * quarter)
