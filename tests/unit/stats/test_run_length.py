"""Whether a run is shorter than `standard`: by lengths, else by the profile's name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.model import Descriptor, Plan, PlannedTest, RunDocument
from hardstone.plan import Request, make_plan
from hardstone.stats.trust import grade_run
from tests.process.targets import sample
from tests.unit.stats import make

SHORT = "run shorter than standard"
LONG_NS = 110_000_000_000  # of TMR-P-LAT under `standard`
INT64 = 2**63
DESCRIPTORS = sample.register().tests


def reasons(plan: Plan, *, descriptors: list[Descriptor] = DESCRIPTORS) -> list[str]:
    """Of a run that has no other reason."""
    return grade_run(make.document(plan=plan, descriptors=descriptors)).reasons


def asked(*tests: str, **request: str) -> list[str]:
    """Reasons of the run that a command line asks for."""
    wanted = Request(tests=tests, **request)  # type: ignore[arg-type]
    return reasons(make_plan(wanted, sample.register(), load_catalogue()))


def planned(
    test: str, samples: int, duration_ns: int, *, profile: str = "standard", **changed: object
) -> Plan:
    one = sample.planned(test, samples=samples, duration_ns=duration_ns, **changed)
    return make.plan_of([one], profile=profile)


def test_the_document_of_these_tests_has_no_other_reason() -> None:
    document: RunDocument = make.document(plan=planned("TMR-P-LAT", 0, LONG_NS))
    assert grade_run(document).grade == "full"


@pytest.mark.parametrize(("profile", "said"), [("quick", [SHORT]), ("standard", []), ("soak", [])])
def test_a_battery_is_as_long_as_its_profile(profile: str, said: list[str]) -> None:
    assert asked("*", profile=profile) == said


@pytest.mark.parametrize("test", load_catalogue().ids())
def test_every_test_is_as_long_as_its_profile(test: str) -> None:
    entry = load_catalogue().entry(test)
    is_longer = entry.profiles["quick"] != entry.profiles["standard"]
    assert asked(test, profile="quick") == ([SHORT] if is_longer else [])
    assert asked(test, profile="standard") == asked(test, profile="soak") == []


@pytest.mark.parametrize("profile", ["quick", "standard", "soak"])
@pytest.mark.parametrize(
    ("test", "typed", "is_short"),
    [
        ("TMR-P-LAT", {"duration": "0.1"}, True),
        ("TMR-P-LAT", {"duration": "109.999s"}, True),
        ("TMR-P-LAT", {"duration": "110s"}, False),
        ("RSP-P-FIX", {"samples": "799"}, True),
        ("RSP-P-FIX", {"samples": "800"}, False),
        ("TMR-P-LAT", {"duration": "10m", "samples": "5"}, True),
        ("TMR-P-LAT", {"duration": "1s", "samples": "1000000"}, True),
        ("RSP-P-FIX", {"duration": "1s", "samples": "1000"}, True),
        ("RSP-P-FIX", {"duration": "10h", "samples": "1000"}, False),
    ],
)
def test_a_length_that_was_typed_decides_and_not_the_profile(
    profile: str, test: str, typed: dict[str, str], is_short: bool
) -> None:
    assert asked(test, profile=profile, **typed) == ([SHORT] if is_short else [])


@pytest.mark.parametrize(
    ("test", "typed", "is_short"),
    [
        ("TMR-P-LAT", {"samples": "109999", "interval": "1000"}, True),
        ("TMR-P-LAT", {"samples": "110000", "interval": "1000"}, False),
        ("TMR-P-LAT", {"samples": "110000", "interval": "100"}, True),
        ("SEM-P-ARN", {"duration": "0.1"}, True),
        ("SEM-P-ARN", {"duration": "1h"}, False),
    ],
)
def test_samples_and_durations_are_compared_by_the_expected_time(
    test: str, typed: dict[str, str], is_short: bool
) -> None:
    assert asked(test, profile="standard", **typed) == ([SHORT] if is_short else [])


def test_the_samples_of_a_test_that_ignores_durations_are_the_probes_default() -> None:
    assert asked("THR-B-NEW", profile="standard", duration="1h") == [SHORT]
    assert asked("THR-B-NEW", profile="quick", duration="1h", samples="40") == []


def test_a_test_that_runs_until_it_is_done_is_not_short() -> None:
    for typed in ({}, {"duration": "0.1"}, {"samples": "1"}):
        assert asked("MUT-B-ARC", profile="quick", **typed) == []
    assert reasons(planned("TMR-P-LAT", 0, 0)) == []


def test_tests_are_named_where_others_are_long_enough() -> None:
    battery = ("TMR-P-LAT", "CLK-P-BIN", "MUT-B-ARC")
    assert asked(*battery, profile="quick", duration="1m") == [f"{SHORT}: TMR-P-LAT"]
    assert asked(*battery, profile="quick", duration="1s") == [SHORT]
    assert asked(*battery, profile="quick", duration="4m") == []


def test_many_short_tests_are_counted_and_each_is_named_once() -> None:
    mixed = [sample.planned("RSP-P-FIX", samples=1000, duration_ns=0)]
    mixed += [
        sample.planned(test, samples=1, duration_ns=0, cpu_config=config)
        for test in ("SEM-P-NEW", "SEM-P-ARN", "SEM-P-ARC", "SEM-P-SIG", "MUT-P-INV")
        for config in ("shared", "single")
    ]
    said = f"{SHORT}: SEM-P-NEW, SEM-P-ARN, SEM-P-ARC and 2 more"
    assert reasons(make.plan_of(mixed)) == [said]


@pytest.mark.parametrize("lengths_ns", [(1, LONG_NS), (LONG_NS, 1)])
def test_a_test_is_short_if_it_is_so_under_one_condition(lengths_ns: tuple[int, int]) -> None:
    lengths = [sample.planned("TMR-P-LAT", samples=0, duration_ns=one) for one in lengths_ns]
    long_enough = sample.planned("CLK-P-BIN", samples=0, duration_ns=LONG_NS)
    assert reasons(make.plan_of([*lengths, long_enough])) == [f"{SHORT}: TMR-P-LAT"]


BY_NAME = [("quick", [SHORT]), ("standard", []), ("soak", []), ("", []), ("unheard", [])]


@pytest.mark.parametrize(("profile", "said"), BY_NAME)
def test_the_name_decides_where_no_length_is_known(profile: str, said: list[str]) -> None:
    assert reasons(make.plan_of([], profile=profile)) == said
    assert reasons(planned("NEW-P-ONE", 1, 0, profile=profile)) == said
    assert reasons(planned("", 0, 1, profile=profile)) == said


@pytest.mark.parametrize(("profile", "said"), BY_NAME)
def test_the_name_decides_where_an_older_document_cannot_compare(
    profile: str, said: list[str]
) -> None:
    for plan in (
        planned("TMR-P-LAT", 10, 0, profile=profile),
        planned("SEM-P-ARN", 0, LONG_NS, profile=profile),
        planned("THR-B-NEW", 0, LONG_NS, profile=profile),
    ):
        assert reasons(plan, descriptors=[]) == said
    assert reasons(planned("TMR-P-LAT", 0, 1, profile=profile), descriptors=[]) == [SHORT]
    assert reasons(planned("TMR-P-LAT", 1, 1, profile=profile), descriptors=[]) == [SHORT]
    assert reasons(planned("TMR-P-LAT", 0, LONG_NS, profile=profile), descriptors=[]) == []


@pytest.mark.parametrize(
    ("test", "samples", "duration_ns", "is_short"),
    [
        ("RSP-P-FIX", -1, 0, True),
        ("RSP-P-FIX", -INT64, 0, True),
        ("RSP-P-FIX", INT64 - 1, 0, False),
        ("TMR-P-LAT", 0, -1, True),
        ("TMR-P-LAT", -INT64, 0, True),
        ("TMR-P-LAT", INT64 - 1, 0, False),
        ("SEM-P-ARN", 0, INT64 - 1, False),
        ("SEM-P-ARN", 0, -INT64, True),
        ("MUT-B-ARC", -1, -1, False),
    ],
)
def test_lengths_that_no_plan_has_are_compared_all_the_same(
    test: str, samples: int, duration_ns: int, is_short: bool
) -> None:
    assert reasons(planned(test, samples, duration_ns)) == ([SHORT] if is_short else [])


WHOLE = st.integers(-INT64, INT64 - 1)
VALUES = st.one_of(WHOLE, st.text(max_size=5), st.lists(WHOLE, max_size=3))
PLANNED = st.builds(
    PlannedTest,
    test=st.one_of(st.sampled_from(load_catalogue().ids()), st.text(max_size=9)),
    params=st.dictionaries(
        st.sampled_from(["interval_ns", "periods_ns", "kinds", "scopes", "cpus"]), VALUES
    ),
    samples=WHOLE,
    duration_ns=WHOLE,
    deadline_ns=WHOLE,
    expected_ns=WHOLE,
)


@pytest.mark.slow
@given(st.lists(PLANNED, max_size=5), st.sampled_from(["quick", "standard", ""]), st.booleans())
def test_no_plan_breaks_the_grade(
    tests: list[PlannedTest], profile: str, has_descriptors: bool
) -> None:
    plan = make.plan_of(tests, profile=profile)
    found = reasons(plan, descriptors=DESCRIPTORS if has_descriptors else [])
    assert len(found) <= 1 and all(one.startswith(SHORT) for one in found)
