"""The effect of a setting is found where there is one, and never claimed where none can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from hardstone import schema
from hardstone.campaign.pairs import pair_plan
from hardstone.model import Conditions, Event, Plan, Result, RunDocument, Tool, Trust
from hardstone.stats.paired_runs import PROOF_SCHEMA, Proof, least_pairs, prove, why_useless
from hardstone.summary.proof import effect_text, print_proof
from tests.conftest import ROOT
from tests.stats import make
from tests.targets import sample

SETTINGS = ["dma_latency"]


def document(
    without: Sequence[Sequence[int]], with_setting: Sequence[Sequence[int]], **plan: Any
) -> RunDocument:
    """A run of one pair for each two lists of values."""
    base = Plan(name="p", profile="quick", target="local", tests=[sample.planned()])
    planned = pair_plan(base, SETTINGS, len(without), plan.get("seed", 0))
    sides = {False: iter(without), True: iter(with_setting)}
    results = []
    for one in planned.tests:
        values = next(sides[bool(one.settings)])
        conditions = Conditions(settings=list(one.settings))
        series = make.series(tuple(values))
        results.append(
            Result(test=one.test, status="measured", conditions=conditions, series=[series])
        )
    return RunDocument(
        schema="hardstone.run/1",
        id="20260101-000000-0000",
        name="p",
        started_utc="2026-01-01T00:00:00Z",
        finished_utc=None,
        status="complete",
        trust=Trust(grade="full"),
        tool=Tool(version="0"),
        system={},
        plan=planned,
        instrument=None,
        results=results,
    )


def runs(count: int, centre: int, seed: int) -> list[list[int]]:
    draw = np.random.default_rng(seed)
    return [[int(one) for one in draw.normal(centre, 50, 2000)] for _ in range(count)]


def proof(run: RunDocument) -> Proof:
    return prove(run, "idle-states", SETTINGS)


def test_an_effect_is_seen_with_its_size() -> None:
    found = proof(document(runs(8, 5000, 1), runs(8, 3000, 2)))
    median = found.effects[0]
    assert (found.pairs_counted, median.verdict) == (8, "lower")
    assert median.p == 2 / 2**8
    assert median.shift.estimate == pytest.approx(-2000, abs=20)
    assert "lower with the setting, by 2.00 us" in effect_text(median)


def test_harm_is_seen_too() -> None:
    found = proof(document(runs(8, 3000, 1), runs(8, 5000, 2)))
    assert found.effects[0].verdict == "higher"


def test_no_effect_says_what_would_have_been_seen() -> None:
    found = proof(document(runs(8, 5000, 1), runs(8, 5000, 2)))
    median = found.effects[0]
    assert median.verdict == "none seen"
    assert median.shift.low is not None
    assert "would have been seen" in effect_text(median)


def test_few_pairs_show_nothing_and_say_so() -> None:
    assert least_pairs() == 7
    found = proof(document(runs(5, 5000, 1), runs(5, 100, 2)))
    assert {effect.verdict for effect in found.effects} == {"none seen"}
    assert "take at least 7" in found.notes[0]
    assert "too few pairs" in effect_text(found.effects[0])
    assert not proof(document(runs(7, 5000, 1), runs(7, 100, 2))).notes


def test_false_alarms_are_rare() -> None:
    alarms = 0
    for seed in range(60):
        found = proof(document(runs(7, 5000, 2 * seed), runs(7, 5000, 2 * seed + 1)))
        alarms += any(effect.verdict != "none seen" for effect in found.effects)
    assert alarms <= 8


@pytest.mark.parametrize("seed", range(6))
def test_the_order_within_a_pair_does_not_matter(seed: int) -> None:
    found = proof(document(runs(8, 5000, 1), runs(8, 3000, 2), seed=seed))
    assert all(pair.without > pair.with_setting for pair in found.effects[0].pairs)


def test_orders_are_balanced_drawn_and_repeatable() -> None:
    base = Plan(name="p", profile="quick", target="local", tests=[sample.planned()])

    def orders(seed: int) -> list[bool]:
        tests = pair_plan(base, SETTINGS, 8, seed).tests
        return [bool(test.settings) for test in tests]

    for seed in range(5):
        firsts = orders(seed)[::2]
        assert sum(firsts) == 4
        assert all(a != b for a, b in zip(firsts[::2], firsts[1::2], strict=True))
        assert all(a != b for a, b in zip(orders(seed)[::2], orders(seed)[1::2], strict=True))
    assert len({tuple(orders(seed)) for seed in range(20)}) > 1
    assert orders(3) == orders(3)


def spoil(run: RunDocument, at: int, **changed: Any) -> RunDocument:
    run.results[at] = msgspec.structs.replace(run.results[at], **changed)
    return run


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"status": "failed", "reason": "throttled"}, "failed: throttled"),
        ({"interrupted": True}, "interrupted"),
        ({"complete": False}, "measured"),
        ({"series": []}, "no values"),
        ({"series": [make.series(())]}, "no values"),
    ],
)
def test_a_pair_that_is_not_whole_does_not_count(changed: dict[str, Any], said: str) -> None:
    found = proof(spoil(document(runs(8, 5000, 1), runs(8, 3000, 2)), 5, **changed))
    assert found.pairs_counted == 7
    assert said in found.left_out[0]
    assert found.left_out[0].startswith("pair 3: ")


def test_a_setting_that_was_not_in_force_proves_nothing() -> None:
    run = document(runs(8, 5000, 1), runs(8, 3000, 2))
    for result in run.results:
        result.conditions.settings = []
    found = proof(run)
    assert (found.pairs_counted, found.effects) == (0, [])
    assert "dma_latency was not in force" in found.left_out[0]
    for result in run.results:
        result.conditions.settings = list(SETTINGS)
    assert "was in force" in proof(run).left_out[0]


def test_from_a_machine_that_was_not_put_back_on_no_pair_counts() -> None:
    run = document(runs(12, 5000, 1), runs(12, 3000, 2))
    run.results[5].events = [Event(name="not_put_back", text="governor: Invalid argument")]
    found = proof(run)
    assert found.pairs_counted == 2
    assert found.left_out == [
        "pairs 3 to 12: the machine was not put back as it was: hardstone shield --restore"
    ]
    assert why_useless(run, SETTINGS) is None
    run.results[1].events = run.results[5].events
    assert "shield --restore" in (why_useless(run, SETTINGS) or "")


@pytest.mark.parametrize(
    ("settings", "told", "counted"),
    [
        (["timers"], "CPU 1: timers (new ones go to other CPUs already)", 0),
        (["timers"], "CPU 1: timers (new ones may go to other CPUs (timer_migration))", 7),
        (["interrupts"], "CPU 1: interrupts (0 of 26 interrupts moved)", 0),
        (["interrupts"], "CPU 1: interrupts (10 of 26 interrupts moved)", 7),
        (["watchdog"], "CPU 1: watchdog (does not have these CPUs already)", 0),
        (["watchdog"], "CPU 1: watchdog (0 instead of 0-1)", 7),
        (["timers"], "CPU 1: watchdog (does not have these CPUs already); timers (x)", 7),
        (
            ["interrupts", "timers"],
            "CPU 1: interrupts (3 of 26 interrupts moved); timers (new ones go to others already)",
            7,
        ),
        (
            ["interrupts", "timers"],
            "CPU 1: interrupts (0 of 26 interrupts moved); timers (new ones go to others already)",
            0,
        ),
        (["timers"], "", 7),
    ],
)
def test_a_setting_that_found_nothing_to_change_proves_nothing(
    settings: list[str], told: str, counted: int
) -> None:
    run = document(runs(7, 5000, 1), runs(7, 3000, 2))
    for planned, result in zip(run.plan.tests, run.results, strict=True):
        if planned.settings:
            planned.settings[:] = settings
            result.conditions.settings = list(settings)
            result.events = [Event(name="shielded", text=told)]
    found = prove(run, "isolated-cpus", settings)
    assert found.pairs_counted == counted
    if not counted:
        assert f"{', '.join(settings)} found nothing to change" in found.left_out[0]


def test_the_probe_words_it_so() -> None:
    port = ROOT / "probe" / "src" / "port"
    texts = [path.read_text() for path in port.glob("linux_shield*.c")]
    for worded in ("does not have these CPUs already", "already", "%d of %zu interrupts moved"):
        assert any(f'{worded}"' in text for text in texts), worded
    assert '" %s (%s);"' in (ROOT / "probe" / "src" / "shield.c").read_text()


def test_an_interrupted_run_keeps_its_pairs() -> None:
    run = document(runs(8, 5000, 1), runs(8, 3000, 2))
    del run.results[7:]
    found = proof(run)
    assert found.pairs_counted == 3
    assert found.left_out[-1] == "pairs 4 to 8: it was not measured"


def test_the_document_obeys_its_schema() -> None:
    path = schema.FOLDER / schema.file_name(PROOF_SCHEMA)
    validator = Draft202012Validator(msgspec.json.decode(path.read_bytes()))
    found = proof(document(runs(8, 5000, 1), runs(8, 3000, 2)))
    validator.validate(msgspec.json.decode(msgspec.json.encode(found)))


def test_it_is_printed_within_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_proof(proof(document(runs(8, 5000, 1), runs(8, 3000, 2))), "CPUs sleep deeply")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "8 of 8 pairs" in out
