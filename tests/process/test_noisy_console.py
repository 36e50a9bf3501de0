"""A run through a console to which others write: their lines are kept apart and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.campaign.collect import CampaignEvent, MeasuringFinished
from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_USAGE
from hardstone.model import Result
from hardstone.plan.make import Request, make_plan
from hardstone.store.store import Store
from hardstone.targets.fake import FakeTarget
from tests.process.store.fake_probe import dump, recover
from tests.process.targets import sample

TEST = "TMR-P-LAT"
OURS = sample.stream(TEST)
KERNEL = "[   12.345678] random: \x1b[31mcrng init done"


def measured(folder: Path, *steps: Any, load: str = "none", **changed: Any) -> Outcome:
    scenario = sample.scenario(folder, {TEST: list(steps)}, **({"noisy": True} | changed))
    target = FakeTarget(scenario)
    request = Request(tests=(TEST,), load=(load,))
    plan = make_plan(request, sample.register(), load_catalogue(), None, sample.loads())
    return Campaign(target, Store(folder / "store")).run(plan, target.facts())


def result_of(outcome: Outcome) -> Result:
    (result,) = outcome.document.results
    return result


@pytest.mark.parametrize("load", ["none", "heavy"])
def test_a_line_of_ours_that_others_break_is_missed(tmp_path: Path, load: str) -> None:
    """Under a load of the scenario too. Lines of every kind are in tests/unit/test_stream.py."""
    number = 2
    broken = [OURS[number][:30] + KERNEL, OURS[number][30:]]
    outcome = measured(tmp_path, *OURS[:number], *broken, *OURS[number + 1 :], load=load)
    result = result_of(outcome)
    assert (outcome.exit_code, result.complete) == (EXIT_USAGE, False)
    assert outcome.document.status == "incomplete"
    assert result.reason and ("footer" in result.reason)
    assert result.remedy is not None and "dmesg" in result.remedy
    assert result.foreign_count == 2


def test_after_a_kill_of_the_tool_they_are_known_again(tmp_path: Path) -> None:
    """The journal has the lines as they came, and that the target was noisy."""
    scenario = sample.scenario(tmp_path, {TEST: [KERNEL, *OURS, KERNEL]}, noisy=True)
    target, store = FakeTarget(scenario), Store(tmp_path / "store")
    plan = make_plan(Request(tests=(TEST,)), sample.register(), load_catalogue())

    def die(event: CampaignEvent) -> None:
        journal = next(store.path.glob("journals/*/journal.jsonl"), None)
        if journal is not None and not isinstance(event, MeasuringFinished):
            return
        assert journal is not None
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(line for line in lines if b'"kind":"result"' not in line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Campaign(target, store, die).run(plan, target.facts())
    (run_id,) = recover(store, dump)
    (result,) = store.load(run_id).results
    assert result.complete and result.series[0].count == 2000
    assert result.foreign_count == 2
