"""Limits as typed: what is read, and one line for each thing that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.gate import LimitsError, read_limits
from hardstone.gate.limit import Value, parse_value, share_text, typed_amount
from hardstone.units import MAX_DURATION_NS
from tests.unit.gate.made import TESTS, limit, limit_text

GOOD = 'address = "TMR-P-LAT/total/wakeup"\nstatistic = "max"\nat_most = "100us"'


def problems(data: bytes) -> tuple[str, ...]:
    with pytest.raises(LimitsError) as error:
        read_limits(data, TESTS, "limits.toml")
    assert error.value.exit_code == 2
    assert [cause for cause, _ in error.value.reasons()] == list(error.value.problems)
    assert all("\n" not in one and one.isprintable() for one in error.value.problems)
    return error.value.problems


def test_all_that_a_limit_can_say() -> None:
    found = limit(
        'statistic = "p99.9"\nat_most = "1.5ms"\nload = "heavy"\ncpu_config = "shielded"\n'
        'policy = "rr"\nemulated = true'
    )
    assert (found.statistic, found.bound, found.quantile) == ("p99.9", Value(1.5e6, "ns"), 0.999)
    assert (found.load, found.cpu_config, found.policy) == ("heavy", "shielded", "rr")
    assert found.is_at_most and found.is_emulated and found.wanted == "at most 1.5 ms"
    above = limit('above = "50us"\nat_most = "1 in 10000"')
    assert (above.deadline_ns, above.bound.kind) == (50_000, "share")
    assert above.figure == "above 50 us" and above.wanted == "at most 1 in 10000"
    rate = limit('statistic = "min"\nat_least = "40MB/s"')
    assert rate.bound == Value(4e7, "bytes_per_s") and rate.wanted == "at least 40 MB/s"
    assert limit('claims = "hold"', "sem-b-lck").wanted == "all claims hold"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("100us", Value(1e5, "ns")),
        ("2.2 us", Value(2200, "ns")),
        ("1.5kB/s", Value(1500, "bytes_per_s")),
        ("7", Value(7, "count")),
        (7, Value(7, "count")),
        ("0.1%", Value(0.001, "share")),
        ("1 in 1000", Value(0.001, "share")),
        *((bad, None) for bad in ("us", "100 furlongs", "1 in 0", "101%", "-1us", "")),
        *(
            (bad, None)
            for bad in (True, -1, float("nan"), float("inf"), 10**400, None, [1], "9" * 80)
        ),
    ],
)
def test_values_have_units(raw: object, value: Value | None) -> None:
    assert parse_value(raw) == value


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (GOOD + "\nat_mots = 3", "limit 1: unknown key 'at_mots'; did you mean at_most?"),
        (GOOD.replace("LAT", "LATT"), "unknown test 'TMR-P-LATT'; did you mean TMR-P-LAT?"),
        (GOOD.replace("max", "worst"), "unknown statistic 'worst'"),
        (GOOD.replace("max", "p0"), "unknown statistic 'p0'"),
        (GOOD.replace("max", "p100"), "unknown statistic 'p100'"),
        (GOOD.replace("100us", "100 furlongs"), "at_most is '100 furlongs'; write \"100us\""),
        (GOOD.replace("at_most", "at_least"), "max takes at_most"),
        (GOOD.replace("max", "min"), "min takes at_least"),
        (GOOD + '\nat_least = "1us"', "give one of at_most"),
        (GOOD.replace('at_most = "100us"', ""), "give one of at_most"),
        (GOOD.replace('statistic = "max"', ""), "give one of statistic"),
        (GOOD + '\nabove = "1us"', "give one of statistic"),
        (GOOD.replace("100us", "1%"), "write above in place of statistic"),
        (GOOD.replace('"TMR', '"TMR//'), "not the address of a figure"),
        (GOOD.replace("address", "load"), "no address"),
        (GOOD + "\nload = 3", "load is '3'; write load as text"),
        (GOOD + '\nemulated = "yes"', "emulated is true or false"),
        ('address = "TMR-P-LAT"\nabove = "5"\nat_most = 1', "above is '5'; write a duration"),
        ('address = "TMR-P-LAT"\nabove = "5us"\nat_least = 1', "above takes at_most"),
        ('address = "TMR-P-LAT"\nabove = "5us"\nat_most = "5us"', "above takes at_most"),
        ('address = "SEM-B-LCK"\nclaims = "pass"', 'write claims = "hold"'),
        ('address = "SEM-B-LCK"\nclaims = "hold"\nat_most = 1', "no meaning for claims"),
        ('address = "SEM-B-LCK/x"\nclaims = "hold"', "claims are those of a whole test"),
    ],
)
def test_a_wrong_limit_is_told_in_one_line(entry: str, told: str) -> None:
    (found,) = problems(limit_text(entry))
    assert found.startswith("limits.toml: limit 1: ") and told in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"schema = ", "at end of document"),
        (b'schema = "hardstone.limits/1"\n[[limit]\n', "line 2"),
        (b"a = 1\n# \xff\n", "line 2 is not UTF-8"),
        (b"a = " + b"[" * 5000, "limits.toml: "),
        (b"a = 1" + b"0" * 5000, "limits.toml: "),
        (limit_text(GOOD).replace(b"limits/1", b"limits/2"), "schema is 'hardstone.limits/2'"),
        (b"[[limit]]\n" + GOOD.encode(), "there is no schema"),
        (b'schema = "hardstone.limits/1"\n', "there are no limits"),
        (b'schema = "hardstone.limits/1"\nlimit = 3\n', "there are no limits"),
        (b'schema = "hardstone.limits/1"\nlimit = []\n', "0 limits"),
        (limit_text(GOOD).replace(b"\n[[", b"\nmargin = 3\n[[", 1), "unknown key 'margin'"),
    ],
)
def test_a_broken_file_is_told_in_one_line(data: bytes, told: str) -> None:
    (found,) = problems(data)
    assert told in found


def test_an_unknown_test_among_many() -> None:
    many = [f"ABC-P-{number}" for number in range(40)]
    with pytest.raises(LimitsError, match="unknown test 'TMR-P-LAT'; see hardstone list"):
        read_limits(limit_text(GOOD), many)


def test_every_problem_is_told_at_once() -> None:
    bad = GOOD.replace("max", "worst")
    found = problems(limit_text(bad, GOOD, bad, GOOD))
    assert [one.split(": ")[1] for one in found] == ["limit 1", "limit 3", "limit 4"]
    assert "limit 4: repeats limit 2" in found[2]
    many = problems(limit_text(*[bad] * 50))
    assert len(many) == 21 and many[-1].endswith("and 30 more problems")


def test_the_same_figure_under_another_load_is_no_repetition() -> None:
    data = limit_text(GOOD, GOOD + '\nload = "none"', GOOD.replace("max", "p99"))
    assert len(read_limits(data, TESTS)) == 3


def test_foreign_characters_do_not_reach_the_message() -> None:
    (found,) = problems(limit_text(GOOD + '\n"\\u001b[31m\\n" = 3'))
    assert "\x1b" not in found


@pytest.mark.slow
@given(st.integers(1, 10**15), st.booleans())
def test_a_typed_amount_is_read_again_and_never_on_the_wrong_side(value: int, is_up: bool) -> None:
    found = parse_value(typed_amount(value, "ns", is_up=is_up))
    assert found is not None and found.kind == "ns"
    assert (
        value <= found.number <= value * 1.01 + 1
        if is_up
        else value * 0.99 <= found.number <= value
    )


def test_the_longest_duration_is_still_one() -> None:
    assert parse_value(typed_amount(1e18, "ns", is_up=True)) == Value(MAX_DURATION_NS, "ns")


@pytest.mark.parametrize(
    ("share", "text"), [(0.05, "5 %"), (0.001, "1 in 1000"), (1 / 33381, "1 in 33380"), (0, "0")]
)
def test_shares_as_people_say_them(share: float, text: str) -> None:
    assert share_text(share) == text
