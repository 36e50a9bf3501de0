"""Sweeps that were resumed: points are added, each once, whatever ended a part."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.event_names import NEW_PART
from hardstone.model import PlannedTest, Result, RunDocument, Scalar
from hardstone.plan.sweep import Sweeper
from hardstone.plan.sweep_results import curve_of, is_whole, masses_of
from hardstone.stats.joined_run import joined_run
from hardstone.stats.joined_sweep import joined_points, unmeasured_tests
from tests.sweeps import plan_of, register, result_of
from tests.unit.stats import make

PLAN = plan_of(threads="1", frames="0", has_fast=False, points="10")
BOOT: dict[str, Scalar] = {"os.boot_id": "one", "machine.arch": "x86_64"}


def sweep(
    results: list[Result], tests: list[PlannedTest], number: int = 0, **changed: Any
) -> RunDocument:
    """A run, or the part of that number, with the results of its first tests."""
    document = make.document(results=results)
    fields: dict[str, Any] = {
        "id": f"20261125T10{number:02}00Z-abcdef",
        "plan": msgspec.structs.replace(PLAN, tests=tests),
        "status": "incomplete",
        "system": BOOT,
    }
    return msgspec.structs.replace(document, **(fields | changed))


def point(masses: int, **changed: Any) -> tuple[PlannedTest, Result]:
    template = PLAN.tests[-1]
    planned = msgspec.structs.replace(template, params={**template.params, "masses": [masses]})
    return planned, result_of(planned, **changed)


CUT: dict[str, Any] = {"complete": False, "status": "failed", "reason": "ended"}


def parts(*found: tuple[PlannedTest, Result]) -> tuple[list[Result], list[PlannedTest]]:
    return [one for _, one in found], [one for one, _ in found]


def check(document: RunDocument) -> None:
    for planned, result in zip(document.plan.tests, document.results, strict=False):
        assert (curve_of(planned), masses_of(planned)) == (curve_of(result), masses_of(result))


def test_a_point_that_was_cut_off_is_there_once() -> None:
    whole = sweep(*parts(point(400), point(800), point(1600, **CUT)))
    part = sweep(*parts(point(1600), point(3200)), number=1, status="complete")
    found = joined_run(whole, part)
    assert [masses_of(one) for one in found.results] == [400, 800, 1600, 3200]
    assert all(map(is_whole, found.results)) and found.status == "complete"
    assert [one.result for one in found.parts] == [0, 2]
    assert [one.duration_ns for one in found.parts] == [3 * 10**9, 2 * 10**9]
    assert joined_run(found, part) is found
    check(found)


def test_one_that_was_cut_off_again_is_there_once_too() -> None:
    whole = sweep(*parts(point(400), point(800, **CUT)))
    found = joined_run(whole, sweep(*parts(point(800, **CUT)), number=1))
    assert [is_whole(one) for one in found.results] == [True, False]
    assert [masses_of(one) for one in unmeasured_tests(found)] == [800]
    last = joined_run(found, sweep(*parts(point(800), point(1600)), number=2))
    assert [masses_of(one) for one in last.results] == [400, 800, 1600]
    assert [one.result for one in last.parts] == [0, None, 1]
    check(last)


def test_a_repeat_that_was_cut_off_leaves_the_first_one() -> None:
    whole = sweep(*parts(point(400), point(400, **CUT)))
    found = joined_run(whole, sweep(*parts(point(400)), number=1))
    assert [is_whole(one) for one in found.results] == [True, True]


def test_what_was_skipped_or_not_begun_is_no_result() -> None:
    results, tests = parts(point(400), point(800, status="skipped", series=[]), point(1600))
    whole = sweep(results[:2], tests)
    later = parts(point(800), point(1600, status="skipped", series=[]))
    found = joined_run(whole, sweep(*later, number=1, status="interrupted"))
    assert [masses_of(one) for one in found.results] == [400, 800]
    assert [masses_of(one) for one in found.plan.tests] == [400, 800, 1600]
    assert found.status == "interrupted"


def test_a_part_that_measured_nothing_changes_no_result() -> None:
    whole = sweep(*parts(point(400), point(800, **CUT)))
    part = sweep([], [point(800)[0]], number=1)
    found = joined_run(whole, part)
    assert found.results == whole.results and found.parts[1].result is None
    assert [masses_of(one) for one in found.plan.tests] == [400, 800]
    assert [masses_of(one) for one in unmeasured_tests(found)] == [800]
    check(found)


def test_a_probe_that_failed_twice_is_asked_once() -> None:
    whole = sweep(*parts(point(400), point(800, **CUT), point(800, **CUT)))
    assert [masses_of(one) for one in unmeasured_tests(whole)] == [800]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"os.boot_id": "two"}, "the machine was rebooted"),
        ({"machine.arch": "aarch64"}, "another machine: machine.arch was x86_64, is aarch64"),
        ({"os.boot_id": None}, "is not known"),
    ],
)
def test_points_of_another_system_say_so(changed: dict[str, Scalar], why: str) -> None:
    whole = sweep(*parts(point(400)))
    part = sweep(*parts(point(800), point(1600)), number=1, system=BOOT | changed)
    found = joined_run(whole, part)
    marked = [[one.name for one in result.events] for result in found.results]
    assert marked == [[], [NEW_PART], []]
    assert why in found.results[1].events[0].text
    assert part.results[0].events == []  # the part itself is as it was


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(400, 20_000))
@settings(max_examples=20)
def test_killed_anywhere_any_number_of_times(seed: int, most: int) -> None:
    """The document in the end has the points of a sweep that nothing ended, in their order."""
    draw = random.Random(seed)

    def measured(planned: PlannedTest) -> Result:
        return result_of(planned, missed=3 * (masses_of(planned) > most))

    def next_of(results: list[Result]) -> list[PlannedTest]:
        return Sweeper(PLAN, register()).next_tests(results, 0)

    wanted, left = [], list(PLAN.tests)
    while left or (left := next_of(wanted)):
        wanted.append(measured(left.pop(0)))
    whole = sweep([], list(PLAN.tests))
    for number in range(200):
        done = [one for one in whole.results if is_whole(one)]
        tests, results = unmeasured_tests(whole), list[Result]()
        for _ in range(draw.randrange(6)):
            if len(results) == len(tests):
                tests += next_of([*done, *results])
            if len(results) < len(tests):
                results.append(measured(tests[len(results)]))
        if results and draw.random() < 0.5:
            results[-1] = msgspec.structs.replace(results[-1], **CUT)
        found = joined_points(whole, sweep(results, tests, number), [], None)
        whole = sweep(found.results, found.tests)
        check(whole)
        if not unmeasured_tests(whole) and not next_of(whole.results):
            break
    assert keys(whole.results) == keys(wanted)


def keys(results: list[Result]) -> list[tuple[str, int, bool]]:
    return [(one.test, masses_of(one), is_whole(one)) for one in results]
