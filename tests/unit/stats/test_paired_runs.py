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
from hardstone.model import RUN_SCHEMA, Conditions, Event, Plan, Result, RunDocument, Tool, Trust
from hardstone.older.old_events import with_data
from hardstone.stats.paired_runs import PROOF_SCHEMA, Proof, prove, why_useless
from hardstone.stats.signed_rank import hodges_lehmann, holm
from hardstone.terminal.proof import effect_text, maxima_text, print_proof
from tests.conftest import ROOT
from tests.process.targets import sample
from tests.unit.stats import make

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
        schema=RUN_SCHEMA,
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
    found = proof(document(runs(12, 5000, 1), runs(12, 3000, 2)))
    median = found.effects[0]
    assert (found.pairs_counted, median.verdict) == (12, "lower")
    assert median.p == 2 / 2**12
    assert median.shift.estimate == pytest.approx(-2000, abs=20)
    assert "lower with the setting, by 2.00 us" in effect_text(median)


def test_harm_is_seen_too() -> None:
    found = proof(document(runs(12, 3000, 1), runs(12, 5000, 2)))
    assert found.effects[0].verdict == "higher"


def test_no_effect_says_what_would_have_been_seen() -> None:
    found = proof(document(runs(12, 5000, 1), runs(12, 5000, 2)))
    median = found.effects[0]
    assert median.verdict == "none seen"
    assert median.shift.low is not None
    assert "would have been detected" in effect_text(median)


def test_a_proof_in_an_emulated_guest_says_so() -> None:
    run = document(runs(10, 5000, 1), runs(10, 100, 2))
    run.system = {"virtual.emulated": True}
    (note,) = proof(run).notes
    assert "emulated" in note and "hardware" in note


@pytest.mark.parametrize(
    ("pairs", "said"), [(1, "1 pair counts"), (9, "9 pairs count"), (10, None), (12, None)]
)
def test_fewer_than_ten_pairs_are_not_judged_and_say_so(pairs: int, said: str | None) -> None:
    found = proof(document(runs(pairs, 5000, 1), runs(pairs, 100, 2)))
    verdicts = {effect.verdict for effect in found.effects}
    if said is None:
        assert (verdicts, found.notes) == ({"lower"}, [])
        return
    assert verdicts == {"not judged"}
    assert found.notes == [f"{said}: a verdict needs at least 10 pairs"]
    assert effect_text(found.effects[0]).startswith(
        "median: not judged; a verdict needs at least 10 pairs"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "figures"),
    [
        (20, ["median"]),
        (999, ["median"]),
        (1000, ["median", "p99"]),
        (9_999, ["median", "p99"]),
        (10_000, ["median", "p99", "p99.9"]),
    ],
)
def test_quantiles_are_judged_where_the_shortest_run_has_ten_values_beyond(
    count: int, figures: list[str]
) -> None:
    values = [list(range(5000, 5000 + 20_000))] * 10
    with_setting = [*values[1:], values[0][:count]]
    found = proof(document(values, with_setting))
    assert [effect.figure for effect in found.effects] == figures


@pytest.mark.slow
@pytest.mark.parametrize(("count", "figures"), [(100, 1), (2_000, 2), (10_000, 3)])
def test_the_interval_allows_for_every_figure_that_is_judged(count: int, figures: int) -> None:
    draw = np.random.default_rng(5)
    sides = [
        [[int(one) for one in draw.normal(5000 + 40 * n, 50, count)] for n in range(12)]
        for _ in range(2)
    ]
    found = proof(document(*sides))
    assert len(found.effects) == figures
    for effect in found.effects:
        differences = [one.with_setting - one.without for one in effect.pairs]
        assert effect.shift == hodges_lehmann(differences, 1 - 0.05 / figures)
        assert (effect.shift.confidence or 0) >= 1 - 0.05 / figures
        assert effect.p_adjusted >= effect.p
    p_values = [effect.p for effect in found.effects]
    assert [effect.p_adjusted for effect in found.effects] == holm(p_values)


def test_a_maximum_is_shown_and_never_judged() -> None:
    """All that differs is the highest value of each run, in every pair the same way."""
    body = list(range(5000, 6000))
    without = [[*body, 90_000 + n] for n in range(12)]
    with_setting = [[*body, 9_000 + n] for n in range(12)]
    found = proof(document(without, with_setting))
    assert {effect.verdict for effect in found.effects} == {"none seen"}
    assert "worst observed" not in {effect.figure for effect in found.effects}
    maxima = found.maxima
    assert maxima is not None
    assert [one.without for one in maxima.pairs] == [90_000 + n for n in range(12)]
    assert (maxima.without, maxima.with_setting) == (90_005.5, 9_005.5)
    assert maxima.ratio == pytest.approx(0.10005, abs=1e-4)
    text = maxima_text(maxima)
    assert "90.0 us without, 9.01 us with the setting, ratio 0.10" in text
    assert text.endswith("not judged: a maximum of a run")
    assert "lower" not in text


def test_maxima_of_nothing_have_no_ratio() -> None:
    maxima = proof(document([[0] * 20] * 10, [[5] * 20] * 10)).maxima
    assert maxima is not None and maxima.ratio is None
    assert "ratio" not in maxima_text(maxima)


@pytest.mark.slow
def test_false_alarms_are_rare() -> None:
    alarms = 0
    for seed in range(60):
        found = proof(document(runs(10, 5000, 2 * seed), runs(10, 5000, 2 * seed + 1)))
        alarms += any(effect.verdict != "none seen" for effect in found.effects)
    assert alarms <= 8


@pytest.mark.parametrize("seed", range(6))
def test_the_order_within_a_pair_does_not_matter(seed: int) -> None:
    found = proof(document(runs(12, 5000, 1), runs(12, 3000, 2), seed=seed))
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
    found = proof(spoil(document(runs(12, 5000, 1), runs(12, 3000, 2)), 5, **changed))
    assert found.pairs_counted == 11
    assert said in found.left_out[0]
    assert found.left_out[0].startswith("pair 3: ")


def test_a_setting_that_was_not_in_force_proves_nothing() -> None:
    run = document(runs(12, 5000, 1), runs(12, 3000, 2))
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
    assert found.left_out == ["pairs 3 to 12: settings not restored: hardstone shield --restore"]
    assert why_useless(run, SETTINGS) is None
    run.results[1].events = run.results[5].events
    assert "shield --restore" in (why_useless(run, SETTINGS) or "")


@pytest.mark.parametrize(
    ("settings", "told", "counted"),
    [
        (["timers"], "CPU 1: timers (new ones go to other CPUs already)", 0),
        (["timers"], "CPU 1: timers (new ones may go to other CPUs (timer_migration))", 11),
        (["interrupts"], "CPU 1: interrupts (0 of 26 interrupts moved)", 0),
        (["interrupts"], "CPU 1: interrupts (10 of 26 interrupts moved)", 11),
        (["watchdog"], "CPU 1: watchdog (does not have these CPUs already)", 0),
        (["watchdog"], "CPU 1: watchdog (0 instead of 0-1)", 11),
        (["timers"], "CPU 1: watchdog (does not have these CPUs already); timers (x)", 11),
        (
            ["interrupts", "timers"],
            "CPU 1: interrupts (3 of 26 interrupts moved); timers (new ones go to others already)",
            11,
        ),
        (
            ["interrupts", "timers"],
            "CPU 1: interrupts (0 of 26 interrupts moved); timers (new ones go to others already)",
            0,
        ),
        (["timers"], "", 11),
    ],
)
def test_a_setting_that_found_nothing_to_change_proves_nothing(
    settings: list[str], told: str, counted: int
) -> None:
    run = document(runs(11, 5000, 1), runs(11, 3000, 2))
    for planned, result in zip(run.plan.tests, run.results, strict=True):
        if planned.settings:
            planned.settings[:] = settings
            result.conditions.settings = list(settings)
            result.events = [with_data(Event(name="shielded", text=told))]
    found = prove(run, "isolated-cpus", settings)
    assert found.pairs_counted == counted
    if not counted:
        assert f"{', '.join(settings)} found nothing to change" in found.left_out[0]


def test_the_probe_words_it_so() -> None:
    port = ROOT / "probe" / "src" / "port"
    texts = [path.read_text() for path in port.glob("linux/shield*.c")]
    for worded in ("does not have these CPUs already", "already", "%d of %zu interrupts moved"):
        assert any(f'{worded}"' in text for text in texts), worded
    assert '" %s (%s);"' in (ROOT / "probe" / "src/shield/shield.c").read_text()


def test_an_interrupted_run_keeps_its_pairs() -> None:
    run = document(runs(12, 5000, 1), runs(12, 3000, 2))
    del run.results[7:]
    found = proof(run)
    assert found.pairs_counted == 3
    assert found.left_out[-1] == "pairs 4 to 12: not measured"


def test_the_document_obeys_its_schema() -> None:
    path = schema.FOLDER / schema.file_name(PROOF_SCHEMA)
    validator = Draft202012Validator(msgspec.json.decode(path.read_bytes()))
    found = proof(document(runs(12, 5000, 1), runs(12, 3000, 2)))
    validator.validate(msgspec.json.decode(msgspec.json.encode(found)))


@pytest.mark.slow
def test_it_is_printed_within_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    sides = ([[n * m for n in range(1, 12_000)] for m in range(101, 113)] for _ in range(2))
    print_proof(proof(document(*sides)), "CPUs sleep deeply")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "12 of 12 pairs" in out
    assert "..." not in out and "\N{HORIZONTAL ELLIPSIS}" not in out
    assert all(figure in out for figure in ("median", "p99", "p99.9", "worst observed"))
