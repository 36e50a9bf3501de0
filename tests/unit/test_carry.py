"""What a test of a run is given from earlier results of the run."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest

from hardstone.campaign.campaign import Campaign, pair_plan
from hardstone.campaign.collect import carried
from hardstone.catalogue import load_catalogue
from hardstone.model import Plan, PlannedTest, Result, RunDocument, Status
from hardstone.plan.make import Request, make_plan
from hardstone.present.overview import run_command
from hardstone.present.overview import test_commands as commands_of
from hardstone.store.store import Store
from hardstone.targets.fake import FakeTarget
from tests.process.targets import sample

TEST = "RSP-P-FIX"
OPEN = {"add_operations": 0, "copy_operations": 0, "whetstone_operations": 0}
FOUND = {"add_operations": 700, "copy_operations": 70, "whetstone_operations": 7}
ALL: dict[str, Any] = {"kinds": ["add", "copy", "whetstone"], "block_ns": 10_000_000}


def planned(**params: Any) -> PlannedTest:
    return sample.planned(TEST, params=ALL | OPEN | params)


def result(
    calibrated: dict[str, int] | None = None, status: Status = "measured", **params: Any
) -> Result:
    found = FOUND if calibrated is None else calibrated
    return Result(test=TEST, status=status, params=ALL | OPEN | params, calibrated=found)


# ---- the number of operations ----


LATER = {"add_operations": 999, "copy_operations": 99, "whetstone_operations": 9}
PART = {"add_operations": 700}
LEFT_OPEN: list[tuple[PlannedTest, list[Result]]] = [
    (planned(), []),
    *((planned(), [result({}, status)]) for status in get_args(Status) if status != "measured"),
    (planned(block_ns=1_000_000), [result()]),  # other work
    (sample.planned("TMR-P-LAT", params={"interval_ns": 0}), [result()]),
]


@pytest.mark.parametrize(("test", "results"), LEFT_OPEN)
def test_without_a_number_of_the_same_work_a_test_calibrates(
    test: PlannedTest, results: list[Result]
) -> None:
    assert carried(test, results) is test


@pytest.mark.parametrize(
    ("given", "results", "expected"),
    [
        ({}, [result(), result(LATER)], FOUND),  # what the first one found
        ({}, [result({}, "denied"), result()], FOUND),
        ({}, [result(status="failed")], FOUND),  # it had calibrated
        ({}, [result(PART, "skipped")], OPEN | PART),  # stopped within the calibration
        ({"add_operations": 5}, [result(add_operations=5)], FOUND | {"add_operations": 5}),
    ],
)
def test_later_results_do_what_earlier_ones_found(
    given: dict[str, Any], results: list[Result], expected: dict[str, int]
) -> None:
    test = carried(planned(**given), results)
    assert test.params == ALL | expected
    assert (test.test, test.samples) == (TEST, planned().samples)


@dataclass
class Moody(FakeTarget):
    """Its probe finds another number of operations at each calibration."""

    path: Path
    requests: list[PlannedTest] = field(default_factory=list)
    breaks: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.path)

    def run(self, planned: PlannedTest, *more: Any) -> Generator[bytes]:
        self.requests.append(planned)
        number = len(self.requests)
        if number <= self.breaks:
            lines = sample.stream(TEST, params=planned.params, status="failed", reason="no CPU")
        else:
            work = {name: int(str(planned.params[name])) or 1000 + number for name in OPEN}
            lines = sample.stream(TEST, params=planned.params, calibrated=work)
        yield from (line.encode() for line in lines)


def plan_of(*loads: str, configs: str = "shared") -> Plan:
    request = Request(tests=(TEST,), load=(",".join(loads),), cpu_config=(configs,))
    return make_plan(request, sample.register(), load_catalogue(), None, sample.loads())


def play(folder: Path, plan: Plan, breaks: int = 0) -> tuple[RunDocument, Moody]:
    target = Moody(sample.scenario(folder, {}), breaks=breaks)
    outcome = Campaign(target, Store(folder / "store")).run(plan, sample.facts())
    return outcome.document, target


def test_all_results_of_a_run_do_the_same_work(tmp_path: Path) -> None:
    """And single tests that are typed again; another run calibrates for itself."""
    plan = plan_of("none", "heavy", configs="shared,single,shielded")
    document, target = play(tmp_path, plan)
    assert len(document.results) == 6
    assert {one.calibrated["add_operations"] for one in document.results} == {1001}
    assert [one.params["add_operations"] for one in target.requests] == [0, *[1001] * 5]
    assert [one.params["add_operations"] for one in document.results] == [0, *[1001] * 5]
    assert not any("unequal" in reason for reason in document.trust.reasons)
    assert all("-p add_operations=1001" in command for command in commands_of(document))
    assert document.plan == plan and "add_operations" not in run_command(document.plan)


def test_the_second_calibrates_where_the_first_could_not(tmp_path: Path) -> None:
    document, _ = play(tmp_path, plan_of("none", "heavy", "cpu"), breaks=1)
    numbers = [one.calibrated.get("add_operations") for one in document.results]
    assert numbers == [None, 1002, 1002]


def test_pairs_of_a_proof_do_the_same_work(tmp_path: Path) -> None:
    plan = pair_plan(plan_of("none"), ["governor"], pairs=3, seed=1)
    document, target = play(tmp_path, plan)
    assert {one.calibrated["add_operations"] for one in document.results} == {1001}
    assert [one.settings for one in target.requests] == [one.settings for one in plan.tests]
