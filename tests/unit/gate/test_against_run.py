"""A run against baseline runs: every outcome, and what is not compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from hardstone.gate import Check, check_against_runs
from hardstone.gate.against_run import BaselineChecks
from hardstone.model import RunDocument, Series, Trust
from hardstone.stats.two_runs import BETWEEN_TWO_RUNS
from tests.unit.gate.made import behaviour, run, spread, systems
from tests.unit.stats import make

BASE = run(run_id="20261121T032200Z-00000b")


def against(own: RunDocument, *bases: RunDocument) -> BaselineChecks:
    return check_against_runs(systems(own), [systems(one) for one in bases or (BASE,)])


def outcomes(own: RunDocument, *bases: RunDocument) -> dict[str, str]:
    return {one.statistic: one.outcome for one in against(own, *bases).checks}


def of(own: RunDocument, statistic: str, *bases: RunDocument) -> Check:
    return next(one for one in against(own, *bases).checks if one.statistic == statistic)


@pytest.mark.parametrize(
    ("middle", "outcome"),
    [(10_000, "PASS"), (8_000, "PASS"), (12_000, "FAIL"), (11_000, "INCONCLUSIVE")],
)
def test_a_median_that_is_beyond_its_margin(middle: float, outcome: str) -> None:
    found = of(run(spread(middle=middle, seed=2)), "p50")
    assert found.outcome == outcome, found
    assert found.wanted == f"at most 10 % above {BASE.id}" and found.found.startswith("x")


@pytest.mark.slow
def test_quantiles_have_margins_of_their_own() -> None:
    base = run(spread(800_000))
    found = outcomes(run(spread(800_000, middle=11_500, seed=2)), base)
    assert (found["p50"], found["p99"]) == ("FAIL", "PASS")
    assert outcomes(run(spread(800_000, middle=14_000, seed=2)), base)["p99"] == "FAIL"


def test_what_the_baseline_does_not_bound_is_told_unless_it_is_clear() -> None:
    short = run(spread(4000))
    same, worse = run(spread(4000, seed=2)), run(spread(4000, middle=30_000, seed=2))
    found = against(same, short)
    assert found.checks == []
    assert any("1 quantiles that the baseline is too short" in one for one in found.notes)
    assert outcomes(worse, short) == {"p50": "FAIL"}


@pytest.mark.slow
def test_one_run_each_is_said_to_be_one() -> None:
    assert against(run()).notes[0] == BETWEEN_TWO_RUNS
    assert "--pairs" in BETWEEN_TWO_RUNS
    assert BETWEEN_TWO_RUNS not in against(run(), BASE, run()).notes


@pytest.mark.slow
def test_several_baselines_must_agree() -> None:
    slow = run(spread(middle=20_000, seed=3))
    own = run(spread(middle=15_000, seed=2))
    assert (of(own, "p50").outcome, of(own, "p50", slow).outcome) == ("FAIL", "PASS")
    found = of(own, "p50", BASE, slow)
    assert found.outcome == "INCONCLUSIVE" and "1 FAIL, 1 PASS" in found.reason
    assert of(own, "p50", BASE, BASE).outcome == "FAIL"
    assert of(own, "p50", slow, slow).outcome == "PASS"


def test_what_differs_between_the_runs_is_told() -> None:
    assert not any("differ in" in one for one in against(run()).notes)
    own = run(
        system={"kernel.name": "Linux", "kernel.release": "6.13", "power.governor": "powersave"}
    )
    notes = against(own).notes
    assert f"the runs differ in kernel: Linux 6.13, and {BASE.id} 6.12.0-rt" in notes
    assert f"the runs differ in governor: powersave, and {BASE.id} not known" in notes


def rate(middle: float, seed: int) -> RunDocument:
    series = msgspec.structs.replace(make.series(spread(50_000, middle, seed)), unit="bytes_per_s")
    return run(test="MSG-P-THR", series=[series])


@pytest.mark.slow
def test_of_a_rate_less_is_worse() -> None:
    base = rate(1e7, 1)
    assert outcomes(rate(2e7, 2), base) == {"p50": "PASS"}
    assert outcomes(rate(5e6, 2), base) == {"p50": "FAIL"}


def changed(**what: object) -> Sequence[Series]:
    return [msgspec.structs.replace(make.series(spread()), **what)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "base", "reason"),
    [
        (make.document(results=[]), BASE, "the run has no TMR-P-LAT"),
        (run(conditions={"load": "none"}), BASE, "the run has nothing under load heavy, shared"),
        (make.document(results=[behaviour(True)]), BASE, "the run has no TMR-P-LAT"),
        (run(status="denied", series=[], reason="EPERM"), BASE, "denied: EPERM"),
        (run(series=changed(name="release")), BASE, "does not have this series"),
        (run(complete=False), BASE, "cut off before its end"),
        (run(), run(complete=False), "cut off before its end"),
        (run(), run(status="failed", reason="EDEADLK"), "EDEADLK"),
        (run(trust=Trust(grade="untrustworthy", reasons=["X"])), BASE, "untrustworthy: X"),
        (run(), run(trust=Trust(grade="untrustworthy", reasons=["X"])), "untrustworthy: X"),
        (run(series=changed(max=3)), BASE, "contradicts"),
        (run(), run(series=changed(max=3)), "contradicts"),
        (run(system={"virtual.emulated": True}), BASE, "not comparable: it is emulated"),
    ],
)
def test_what_cannot_be_compared_never_passes(
    own: RunDocument, base: RunDocument, reason: str
) -> None:
    found = against(own, base).checks
    assert found and {one.outcome for one in found} == {"INCONCLUSIVE"}
    assert all(reason in one.reason for one in found), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "base", "reason"),
    [
        (
            {"params": {"interval_ns": 10_000}},
            {"params": {"interval_ns": 1_000_000}},
            "not comparable: interval_ns 10000, in the baseline 1000000",
        ),
        (
            {"calibrated": {"total_operations": 5}},
            {"calibrated": {"total_operations": 7}},
            "not comparable: operations 5, in the baseline 7",
        ),
    ],
)
def test_unlike_work_is_not_compared(own: Any, base: Any, reason: str) -> None:
    found = of(run(**own), "p50", run(**base))
    assert (found.outcome, found.reason) == ("INCONCLUSIVE", reason)
    assert of(run(**own), "p50", run(**own)).outcome == "PASS"


@pytest.mark.parametrize("name", ["uio", "threshold_ns"])
def test_where_and_how_long_is_no_other_work(name: str) -> None:
    own, base = run(params={name: 1}), run(params={name: 2})
    assert of(own, "p50", base).outcome == "PASS"


def test_claims_alone_do_not_pass_for_times_that_were_not_compared() -> None:
    short = make.document(results=[*run(spread(1000)).results, behaviour(True)])
    found = against(short, short).checks
    assert [(one.outcome, one.address) for one in found] == [
        ("PASS", "SEM-B-LCK"),
        ("INCONCLUSIVE", "all series"),
    ]
    assert "too short" in found[1].reason
    long = make.document(results=[*run().results, behaviour(True)])
    assert {one.outcome for one in against(long, long).checks} == {"PASS"}


def with_claims(*passed: bool, **changed: object) -> RunDocument:
    return make.document(results=[behaviour(*passed, **changed)])


@pytest.mark.parametrize(
    ("own", "base", "outcome"),
    [
        (with_claims(True), with_claims(True), "PASS"),
        (with_claims(False), with_claims(True), "FAIL"),
        (with_claims(), with_claims(True), "INCONCLUSIVE"),
        (make.document(results=[]), with_claims(True), "INCONCLUSIVE"),
        (with_claims(True, complete=False), with_claims(True), "INCONCLUSIVE"),
    ],
)
def test_claims_hold_as_they_did(own: RunDocument, base: RunDocument, outcome: str) -> None:
    assert outcomes(own, base) == {"claims": outcome}


@pytest.mark.slow
def test_what_is_left_out_is_counted() -> None:
    series = [
        *changed(unit="count", name="counted"),
        *changed(derived="max - mean", name="derived"),
        msgspec.structs.replace(make.series([1, 2, 3]), name="few"),
    ]
    base = make.document(results=[*run(series=series).results, behaviour(False)])
    found = against(base, base)
    assert found.checks == []
    told = "\n".join(found.notes)
    for part in ("1 series of counts", "1 derived series", "1 series with too few", "fail in the"):
        assert f"not compared: {part}" in told or part in told
