"""Interleaved pairs of runs: the gate of two systems, and the proof of a setting's effect."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import msgspec
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from hardstone import schema
from hardstone.campaign.campaign import pair_plan
from hardstone.doctor.screen import effect_text, maxima_text, print_proof
from hardstone.model import Conditions, DataValue, Event, Plan, Result, RunDocument
from hardstone.stats.resampling import hodges_lehmann, holm, p_above, p_below
from hardstone.stats.run_gate import DEFAULT_MARGINS, OUTCOMES, PairGate, gate_pairs
from hardstone.stats.two_runs import PROOF_SCHEMA, Proof, prove, quantile_of, why_useless
from tests.process.targets import sample
from tests.unit.stats import make

NOISE = (1.01, 0.98, 1.0, 1.03, 0.97, 1.02, 0.99, 1.01, 1.04, 0.96, 1.0, 0.99)


def pairs(ratio: float, noise: Sequence[float] = NOISE) -> list[tuple[float, float]]:
    return [(1000.0, 1000.0 * ratio * one) for one in noise]


def gate(
    found: Sequence[tuple[float, float]], name: str = "q50", margin: float | None = None
) -> PairGate:
    (one,) = gate_pairs({name: found}, DEFAULT_MARGINS if margin is None else {name: margin})
    return one


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [(1.0, "PASS"), (0.5, "PASS"), (1.2, "FAIL"), (1.1, "INCONCLUSIVE"), (1.08, "INCONCLUSIVE")],
)
def test_the_three_outcomes(ratio: float, outcome: str) -> None:
    found = gate(pairs(ratio))
    assert found.outcome == outcome
    assert found.ratio == pytest.approx(ratio, rel=1e-3)
    assert found.low <= ratio <= found.high
    assert found.reason == OUTCOMES[outcome]
    assert found.confidence == 0.99


@pytest.mark.parametrize(
    ("margin", "outcome"), [(0.5, "PASS"), (0.2, "INCONCLUSIVE"), (0.05, "FAIL")]
)
def test_the_margin_decides(margin: float, outcome: str) -> None:
    assert gate(pairs(1.2), margin=margin).outcome == outcome


def test_a_quantile_is_at_most_the_maximum() -> None:
    """Also where its value lies beyond the histogram, or its bucket reaches further."""
    values = [1000] * 90 + [9085] * 10
    assert quantile_of(make.series(values), 0.99) == 9085
    assert quantile_of(make.series(values, limit=5000), 0.99) == 9085
    assert quantile_of(make.series(values, limit=5000), 0.5) < 1100


def test_p_is_that_of_the_test_after_holm() -> None:
    values = {"q50": pairs(1.05), "q99": pairs(1.3), "q99.9": pairs(1.6), "above": pairs(1.48)}
    raw = []
    for name, one in values.items():
        margin = DEFAULT_MARGINS[name]
        terms = np.log([b / a for a, b in one]) - log(1 + margin)
        if name == "above":  # a count, which may be 0
            terms = np.array([b - (1 + margin) * a for a, b in one])
        raw += [p_below(terms), p_above(terms)]
    found = gate_pairs(values, DEFAULT_MARGINS)
    assert [p for one in found for p in (one.p_within, one.p_beyond)] == pytest.approx(holm(raw))


def test_ten_pairs_are_the_least() -> None:
    assert gate(pairs(1.0)[:10]).outcome == "PASS"
    few = gate(pairs(1.0)[:9])
    assert (few.outcome, few.p_within, few.ratio) == ("INCONCLUSIVE", 1.0, None)
    assert few.reason == "9 pairs: at least 10 are needed"


def test_more_statistics_take_more_pairs_and_it_says_so() -> None:
    margins = {f"q{n}": 0.1 for n in range(6)}
    few, enough = (
        gate_pairs({name: pairs(1.0)[:count] for name in margins}, margins) for count in (10, 11)
    )
    assert {one.outcome for one in few} == {"INCONCLUSIVE"}
    assert few[0].reason == "10 pairs cannot decide 6 statistics at 0.01: 11 could"
    assert {one.outcome for one in enough} == {"PASS"}


@pytest.mark.parametrize("value", [0.0, -5.0, float("nan"), float("inf")])
def test_a_value_without_a_ratio_is_never_a_pass(value: float) -> None:
    for found in (gate([*pairs(1.0), (value, 900.0)]), gate([*pairs(1.0), (900.0, value)])):
        assert found.outcome == "INCONCLUSIVE"
        assert found.reason.startswith("pair 13: ") and found.reason.endswith("no ratio")


def test_the_others_are_judged_beside_one_that_cannot_be() -> None:
    bad, good = gate_pairs({"q99": [(0.0, 1.0)] * 12, "q50": pairs(1.0)}, DEFAULT_MARGINS)
    assert (bad.outcome, good.outcome) == ("INCONCLUSIVE", "PASS")


def test_counts_of_nothing_decide_nothing() -> None:
    never = gate([(0.0, 0.0)] * 12, "above")
    assert (never.outcome, never.ratio) == ("INCONCLUSIVE", None)
    assert never.reason == "no event in any run, so there is nothing to compare"
    rare = gate([(0.0, 0.0)] * 9 + [(3.0, 0.0)] * 3, "above")
    assert rare.outcome == "INCONCLUSIVE"
    assert rare.reason == "3 pairs with an event cannot decide 1 statistics at 0.01: 8 could"


def test_counts_with_zeros_on_one_side_are_judged() -> None:
    gone = gate([(float(n), 0.0) for n in range(5, 17)], "above")
    assert (gone.outcome, gone.ratio, gone.low) == ("PASS", 0.0, None)
    new = gate([(0.0, float(n)) for n in range(5, 17)], "above")
    assert (new.outcome, new.ratio, new.high) == ("FAIL", None, None)


def test_counts_may_be_zero_where_other_values_may_not() -> None:
    values = [(float(n % 2), float(n)) for n in range(5, 17)]
    assert gate(values).outcome == "INCONCLUSIVE"
    assert gate(values, "above").outcome == "FAIL"


@pytest.mark.parametrize(
    ("values", "margins", "alpha", "problem"),
    [
        ({"q50": pairs(1.0)}, {}, 0.01, "margin above 0"),
        ({"q50": pairs(1.0)}, {"q50": 0.0}, 0.01, "margin above 0"),
        ({"q50": pairs(1.0)}, {"q50": float("nan")}, 0.01, "margin above 0"),
        ({"TMR-P-LAT max": pairs(1.0)}, {"TMR-P-LAT max": 0.1}, 0.01, "against a deadline"),
        ({"q50": pairs(1.0) * 3}, {"q50": 0.1}, 0.01, "at most 30"),
        *(({"q50": pairs(1.0)}, DEFAULT_MARGINS, a, "alpha") for a in (0.0, 0.5, float("nan"))),
    ],
)
def test_wrong_questions_are_refused(
    values: dict[str, Any], margins: dict[str, float], alpha: float, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        gate_pairs(values, margins, alpha=alpha)


def test_nothing_asked_is_nothing_said() -> None:
    assert gate_pairs({}, {}) == []


def test_the_interval_holds_for_all_statistics_together() -> None:
    """Twice as many statistics, half the error of each: that of one more bit of pairs."""
    some = [(1.0, 1.0 + 0.01 * number) for number in range(1, 17)]
    alone = gate_pairs({"q50": some}, {"q50": 0.1})[0]
    both = gate_pairs({"q50": some, "q99": some}, {"q50": 0.1, "q99": 0.25})[0]
    assert both.low < alone.low < alone.high < both.high


# ---- the proof of an effect ----

SETTINGS = ["dma_latency"]


def plan_of_pairs(count: int, seed: int = 0) -> Plan:
    return pair_plan(make.plan_of([sample.planned()], profile="quick"), SETTINGS, count, seed)


def document(
    without: Sequence[Sequence[int]], with_setting: Sequence[Sequence[int]], seed: int = 0
) -> RunDocument:
    """A run of one pair for each two lists of values."""
    planned = plan_of_pairs(len(without), seed)
    sides = {False: iter(without), True: iter(with_setting)}
    results = [
        Result(
            test=one.test,
            status="measured",
            conditions=Conditions(settings=list(one.settings)),
            series=[make.series(next(sides[bool(one.settings)]))],
        )
        for one in planned.tests
    ]
    return make.document(system={}, plan=planned, instrument=None, results=results)


def runs(count: int, centre: int, seed: int) -> list[list[int]]:
    return list(np.random.default_rng(seed).normal(centre, 50, (count, 2000)).astype(int))


def faster(count: int = 12, seed: int = 0) -> RunDocument:
    """From 5 us to 3 us."""
    return document(runs(count, 5000, 1), runs(count, 3000, 2), seed)


def proof(run: RunDocument) -> Proof:
    return prove(run, "idle-states", SETTINGS)


@pytest.mark.parametrize(
    ("without", "with_setting", "verdict", "said"),
    [
        (5000, 3000, "lower", "lower with the setting, by 2.00 us"),
        (3000, 5000, "higher", "higher with the setting, by 2.00 us"),
        (5000, 5000, "none seen", "would have been detected"),
    ],
)
def test_an_effect_is_seen_with_its_size(
    without: int, with_setting: int, verdict: str, said: str
) -> None:
    found = proof(document(runs(12, without, 1), runs(12, with_setting, 2)))
    median = found.effects[0]
    assert (found.pairs_counted, median.verdict) == (12, verdict)
    assert median.p == 2 / 2**12 or verdict == "none seen"
    assert median.shift.estimate == pytest.approx(with_setting - without, abs=20)
    assert said in effect_text(median)
    path = schema.FOLDER / schema.file_name(PROOF_SCHEMA)
    validator = Draft202012Validator(msgspec.json.decode(path.read_bytes()))
    validator.validate(msgspec.json.decode(msgspec.json.encode(found)))


# of 2000 values in each run: its row was left out in silence
LACKS = "p99.9 needs 10\N{NO-BREAK SPACE}000 values, has 2\N{NO-BREAK SPACE}000"


def test_a_proof_in_an_emulated_guest_says_so() -> None:
    run = faster(10)
    run.system = {"virtual.emulated": True}
    note, _ = proof(run).notes
    assert "emulated" in note and "hardware" in note


@pytest.mark.parametrize(
    ("pairs", "said"),
    [(1, "only 1 usable pair"), (9, "only 9 usable pairs"), (10, None), (12, None)],
)
def test_fewer_than_ten_pairs_are_not_judged_and_say_so(pairs: int, said: str | None) -> None:
    found = proof(faster(pairs))
    verdicts = {effect.verdict for effect in found.effects}
    if said is None:
        assert (verdicts, found.notes) == ({"lower"}, [LACKS])
        return
    assert verdicts == {"not judged"}
    assert found.notes == [f"{said}: a verdict needs at least 10 pairs", LACKS]
    text = effect_text(found.effects[0])
    assert text.startswith("median: no verdict; a verdict needs at least 10 pairs")


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
    values = [np.arange(5000, 25_000)] * 10
    found = proof(document(values, [*values[1:], values[0][:count]]))
    assert [effect.figure for effect in found.effects] == figures


@pytest.mark.slow
@pytest.mark.parametrize(("count", "figures"), [(100, 1), (2_000, 2), (10_000, 3)])
def test_the_interval_allows_for_every_figure_that_is_judged(count: int, figures: int) -> None:
    draw = np.random.default_rng(5)
    sides = (
        [draw.normal(5000 + 40 * n, 50, count).astype(int) for n in range(12)] for _ in range(2)
    )
    effects = proof(document(*sides)).effects
    assert len(effects) == figures
    for effect in effects:
        differences = [one.with_setting - one.without for one in effect.pairs]
        assert effect.shift == hodges_lehmann(differences, 1 - 0.05 / figures)
        assert effect.shift.confidence >= 1 - 0.05 / figures
        assert effect.p_adjusted >= effect.p
    assert [one.p_adjusted for one in effects] == holm([one.p for one in effects])


def test_a_maximum_is_shown_and_never_judged() -> None:
    """All that differs is the highest value of each run, in every pair the same way."""
    body = list(range(5000, 6000))
    sides = ([[*body, highest + n] for n in range(12)] for highest in (90_000, 9_000))
    found = proof(document(*sides))
    assert {effect.verdict for effect in found.effects} == {"none seen"}
    assert "worst observed" not in {effect.figure for effect in found.effects}
    maxima = found.maxima
    assert [one.without for one in maxima.pairs] == [90_000 + n for n in range(12)]
    assert (maxima.without, maxima.with_setting) == (90_005.5, 9_005.5)
    assert maxima.ratio == pytest.approx(0.10005, abs=1e-4)
    text = maxima_text(maxima)
    assert "90.0 us without, 9.01 us with the setting, ratio 0.10" in text
    assert text.endswith("not judged: a maximum of a run")
    assert "lower" not in text


def test_maxima_of_nothing_have_no_ratio() -> None:
    maxima = proof(document([[0] * 20] * 10, [[5] * 20] * 10)).maxima
    assert maxima.ratio is None
    assert "ratio" not in maxima_text(maxima)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_within_a_pair_does_not_matter(seed: int) -> None:
    found = proof(faster(seed=seed))
    assert all(pair.without > pair.with_setting for pair in found.effects[0].pairs)


def test_orders_are_balanced_drawn_and_repeatable() -> None:
    def orders(seed: int) -> list[bool]:
        return [bool(test.settings) for test in plan_of_pairs(8, seed).tests]

    for order in map(orders, range(5)):
        firsts, seconds = order[::2], order[1::2]
        assert sum(firsts) == 4
        assert all(a != b for a, b in zip(firsts[::2], firsts[1::2], strict=True))
        assert all(a != b for a, b in zip(firsts, seconds, strict=True))
    assert len({tuple(orders(seed)) for seed in range(20)}) > 1
    assert orders(3) == orders(3)


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
    run = faster()
    run.results[5] = msgspec.structs.replace(run.results[5], **changed)
    found = proof(run)
    assert found.pairs_counted == 11
    assert said in found.left_out[0]
    assert found.left_out[0].startswith("pair 3: ")


def test_a_setting_that_was_not_in_force_proves_nothing() -> None:
    run = faster()
    for settings_, said in (([], "dma_latency was not in force"), (SETTINGS, "was in force")):
        for result in run.results:
            result.conditions.settings = list(settings_)
        found = proof(run)
        assert (found.pairs_counted, found.effects) == (0, [])
        assert said in found.left_out[0]


def test_from_a_machine_that_was_not_put_back_on_no_pair_counts() -> None:
    run = faster()
    run.results[5].events = [Event(name="not_put_back", text="governor: Invalid argument")]
    found = proof(run)
    assert found.pairs_counted == 2
    assert found.left_out == ["pairs 3 to 12: settings not restored: hardstone shield --restore"]
    assert why_useless(run, SETTINGS) is None
    run.results[1].events = run.results[5].events
    assert "shield --restore" in why_useless(run, SETTINGS)


BOTH = ["interrupts", "timers"]


@pytest.mark.parametrize(
    ("settings", "unchanged", "counted"),
    [
        (["timers"], ["timers"], 0),
        (["timers"], [], 11),
        (["watchdog"], ["watchdog"], 0),
        (["timers"], ["watchdog"], 11),
        (BOTH, ["timers"], 11),
        (BOTH, BOTH, 0),
        (["timers"], None, 11),
    ],
)
def test_a_setting_that_found_nothing_to_change_proves_nothing(
    settings: list[str], unchanged: list[DataValue] | None, counted: int
) -> None:
    run = faster(11)
    for planned, result in zip(run.plan.tests, run.results, strict=True):
        if planned.settings:
            planned.settings[:] = settings
            result.conditions.settings = list(settings)
            data: dict[str, DataValue] = {} if unchanged is None else {"unchanged": [*unchanged]}
            result.events = [Event(name="shielded", text="CPU 1", data=data)]
    found = prove(run, "isolated-cpus", settings)
    assert found.pairs_counted == counted
    if not counted:
        assert f"{', '.join(settings)} changed nothing" in found.left_out[0]


def test_an_interrupted_run_keeps_its_pairs() -> None:
    run = faster()
    del run.results[7:]
    found = proof(run)
    assert found.pairs_counted == 3
    assert found.left_out[-1] == "pairs 4 to 12: not measured"


@pytest.mark.slow
def test_it_is_printed_within_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    sides = ([np.arange(1, 12_000) * m for m in range(101, 113)] for _ in range(2))
    print_proof(proof(document(*sides)), "CPUs sleep deeply")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "12 of 12 pairs" in out
    assert "..." not in out and "\N{HORIZONTAL ELLIPSIS}" not in out
    assert all(figure in out for figure in ("median", "p99", "p99.9", "worst observed"))
