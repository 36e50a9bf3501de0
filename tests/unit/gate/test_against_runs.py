"""A run against baseline runs, and interleaved pairs of runs: every outcome, what does not count,
and why."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.gate import Check, GateDocument, PairedRun, check_against_runs, check_pairs
from hardstone.gate.against_run import BaselineChecks
from hardstone.gate.pair_values import INTERRUPTED
from hardstone.model import RunDocument, Series
from hardstone.published import parse_address
from hardstone.stats.two_runs import BETWEEN_TWO_RUNS
from hardstone.subjects import subjects_of
from tests.unit.gate.made import UNTRUSTED, behaviour, changed_series, claims, rate, run, spread
from tests.unit.stats import make

BASE = run(run_id="20261121T032200Z-00000b")
NOTHING = make.document(results=[])


def against(own: RunDocument, *bases: RunDocument) -> BaselineChecks:
    return check_against_runs(subjects_of(own), [subjects_of(one) for one in bases or (BASE,)])


def outcomes(own: RunDocument, *bases: RunDocument) -> dict[str, str]:
    return {one.statistic: one.outcome for one in against(own, *bases).checks}


def of_median(own: RunDocument, *bases: RunDocument) -> Check:
    return next(one for one in against(own, *bases).checks if one.statistic == "p50")


@pytest.mark.parametrize(
    ("middle", "outcome"),
    [(10_000, "PASS"), (8_000, "PASS"), (12_000, "FAIL"), (11_000, "INCONCLUSIVE")],
)
def test_a_median_that_is_beyond_its_margin(middle: float, outcome: str) -> None:
    found = of_median(run(spread(middle=middle, seed=2)))
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
    found = against(run(spread(4000, seed=2)), short)
    assert found.checks == []
    assert any("1 quantiles that the baseline is too short" in one for one in found.notes)
    assert outcomes(run(spread(4000, middle=30_000, seed=2)), short) == {"p50": "FAIL"}


def test_one_run_each_is_said_to_be_one() -> None:
    assert against(run()).notes[0] == BETWEEN_TWO_RUNS
    assert "--pairs" in BETWEEN_TWO_RUNS
    assert BETWEEN_TWO_RUNS not in against(run(), BASE, run()).notes


def test_several_baselines_must_agree() -> None:
    slow = run(spread(middle=20_000, seed=3))
    own = run(spread(middle=15_000, seed=2))
    assert (of_median(own).outcome, of_median(own, slow).outcome) == ("FAIL", "PASS")
    found = of_median(own, BASE, slow)
    assert found.outcome == "INCONCLUSIVE" and "1 FAIL, 1 PASS" in found.reason
    assert of_median(own, BASE, BASE).outcome == "FAIL"
    assert of_median(own, slow, slow).outcome == "PASS"


def test_what_differs_between_the_runs_is_told() -> None:
    assert not any("differ in" in one for one in against(run()).notes)
    system = {"kernel.name": "Linux", "kernel.release": "6.13", "power.governor": "powersave"}
    notes = against(run(system=system)).notes
    assert f"the runs differ in kernel: Linux 6.13, and {BASE.id} 6.12.0-rt" in notes
    assert f"the runs differ in governor: powersave, and {BASE.id} not known" in notes


@pytest.mark.parametrize(("middle", "outcome"), [(2e7, "PASS"), (5e6, "FAIL")])
def test_of_a_rate_less_is_worse(middle: float, outcome: str) -> None:
    found = outcomes(rate(spread(50_000, middle, 2)), rate(spread(50_000, 1e7)))
    assert found == {"p50": outcome}


def changed(**what: object) -> list[Series]:
    return [changed_series(spread(), **what)]


@pytest.mark.parametrize(
    ("own", "base", "reason"),
    [
        (NOTHING, BASE, "the run has no TMR-P-LAT"),
        (run(conditions={"load": "none"}), BASE, "the run has nothing under load heavy, shared"),
        (claims(True), BASE, "the run has no TMR-P-LAT"),
        (run(status="denied", series=[], reason="EPERM"), BASE, "denied: EPERM"),
        (run(series=changed(name="release")), BASE, "does not have this series"),
        (run(complete=False), BASE, "cut off before its end"),
        (run(), run(complete=False), "cut off before its end"),
        (run(), run(status="failed", reason="EDEADLK"), "EDEADLK"),
        (run(trust=UNTRUSTED), BASE, "untrustworthy: X"),
        (run(), run(trust=UNTRUSTED), "untrustworthy: X"),
        (run(series=changed(max=3)), BASE, "cannot be true"),
        (run(), run(series=changed(max=3)), "cannot be true"),
        (run(system={"virtual.emulated": True}), BASE, "not comparable: it is emulated"),
    ],
)
def test_what_cannot_be_compared_never_passes(
    own: RunDocument, base: RunDocument, reason: str
) -> None:
    found = against(own, base).checks
    assert found and {one.outcome for one in found} == {"INCONCLUSIVE"}
    assert all(reason in one.reason for one in found), found


@pytest.mark.parametrize(
    ("field", "name", "values", "reason"),
    [
        (
            "params",
            "interval_ns",
            (10_000, 1_000_000),
            "interval_ns 10000, in the baseline 1000000",
        ),
        ("calibrated", "total_operations", (5, 7), "operations 5, in the baseline 7"),
        # where and how long is no other work
        ("params", "uio", (1, 2), ""),
        ("params", "threshold_ns", (1, 2), ""),
        ("params", "interval_ns", (10_000, 10_000), ""),
        ("calibrated", "total_operations", (5, 5), ""),
    ],
)
def test_unlike_work_is_not_compared(
    field: str, name: str, values: tuple[int, int], reason: str
) -> None:
    found = of_median(*(run(**{field: {name: one}}) for one in values))
    assert found.outcome == ("INCONCLUSIVE" if reason else "PASS")
    assert not reason or found.reason == f"not comparable: {reason}"


def test_claims_alone_do_not_pass_for_times_that_were_not_compared() -> None:
    short = make.document(results=[*run(spread(1000)).results, behaviour(True)])
    found = against(short, short).checks
    rows = [("PASS", "SEM-B-LCK"), ("INCONCLUSIVE", "all series")]
    assert [(one.outcome, one.address) for one in found] == rows
    assert "too short" in found[1].reason
    long = make.document(results=[*run().results, behaviour(True)])
    assert {one.outcome for one in against(long, long).checks} == {"PASS"}


@pytest.mark.parametrize(
    ("own", "outcome"),
    [
        (claims(True), "PASS"),
        (claims(False), "FAIL"),
        (claims(), "INCONCLUSIVE"),
        (NOTHING, "INCONCLUSIVE"),
        (claims(True, complete=False), "INCONCLUSIVE"),
    ],
)
def test_claims_hold_as_they_did(own: RunDocument, outcome: str) -> None:
    assert outcomes(own, claims(True)) == {"claims": outcome}


def test_what_is_left_out_is_counted() -> None:
    series = [
        *changed(unit="count", name="counted"),
        *changed(derived="max - mean", name="derived"),
    ]
    series.append(make.series([1, 2, 3], "few"))
    base = make.document(results=[*run(series=series).results, behaviour(False)])
    found = against(base, base)
    assert found.checks == []
    told = "\n".join(found.notes)
    for part in ("1 series of counts", "1 derived series", "1 series with too few"):
        assert f"not compared: {part}" in told
    assert "fail in the" in told


# ---- pairs ----

SIDES = ("A: local", "B: local --load heavy")


def one(middle: float, seed: int, count: int = 2000, **changed: Any) -> PairedRun:
    return PairedRun(
        run(spread(count, middle, seed), run_id=f"20261121T032200Z-{seed:06x}", **changed)
    )


def pairs_of(
    *runs: tuple[PairedRun, PairedRun], address: str = "TMR-P-LAT", **options: Any
) -> GateDocument:
    return check_pairs(parse_address(address), list(runs), SIDES, **options)


def gated(
    factor: float = 1.0,
    pairs: int = 12,
    *,
    odd: dict[int, PairedRun] | None = None,
    count: int = 2000,
    **options: Any,
) -> GateDocument:
    """The second side is slower by `factor`; `odd` replaces the second run of a pair."""
    runs = [
        (
            one(10_000, 2 * number, count),
            (odd or {}).get(number, one(10_000 * factor, 2 * number + 1, count)),
        )
        for number in range(pairs)
    ]
    return pairs_of(*runs, **options)


def by_statistic(document: GateDocument) -> dict[str, str]:
    return {one.statistic: one.outcome for one in document.checks}


@pytest.mark.parametrize(
    ("factor", "outcome", "code"),
    [(1.0, "PASS", 0), (0.5, "PASS", 0), (1.3, "FAIL", 1), (1.1, "INCONCLUSIVE", 3)],
)
def test_a_median(factor: float, outcome: str, code: int) -> None:
    found = gated(factor, has_tails=False)
    (median,) = found.checks
    assert (median.statistic, median.outcome, found.exit_code) == ("p50", outcome, code)
    assert median.address == "TMR-P-LAT/total/wakeup" and median.found.startswith("B/A ")
    assert median.wanted == "at most 10 % higher than A" and median.condition == "12 pairs"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "has_tails", "statistics"),
    [
        (500, True, ["p50"]),
        (2000, True, ["p50", "p99"]),
        (12_000, True, ["p50", "p99", "p99.9"]),
        (12_000, False, ["p50"]),
    ],
)
def test_tails_are_judged_where_they_may_be_and_counts_allow(
    count: int, has_tails: bool, statistics: list[str]
) -> None:
    assert sorted(by_statistic(gated(count=count, has_tails=has_tails))) == statistics


@pytest.mark.parametrize(
    ("factor", "deadline_ns", "name", "outcome"),
    [
        (1.0, 12_000, "above 12 us", "PASS"),
        (1.4, 12_000, "above 12 us", "FAIL"),
        (1.0, 10**9, "above 1 s", "INCONCLUSIVE"),
    ],
)
def test_values_above_a_deadline(factor: float, deadline_ns: int, name: str, outcome: str) -> None:
    found = by_statistic(gated(factor, deadline_ns=deadline_ns, has_tails=False))
    assert found == {"p50": "PASS" if factor == 1 else "FAIL", name: outcome}


def test_the_order_of_worst_first_and_the_maxima() -> None:
    found = gated(1.3)
    assert found.checks[0].outcome == "FAIL"
    assert any("worst observed: A 50 us, B 65 us; not judged" in note for note in found.notes)


def doubtful(**changed: Any) -> PairedRun:
    return one(10_000, 99, **changed)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (PairedRun(None, "the target is gone"), "B: the target is gone"),
        (doubtful(complete=False), "B: cut off before its end"),
        (doubtful(status="denied", series=[], reason="EPERM"), "B: denied: EPERM"),
        (doubtful(trust=UNTRUSTED), "untrustworthy: X"),
        (doubtful(series=[make.series([])]), "nothing was observed"),
        (doubtful(series=[]), "nothing was observed"),
        (doubtful(series=[changed_series([1, 2], max=0)]), "untrustworthy: TMR-P-LAT wakeup"),
        (doubtful(system={"virtual.emulated": True}), "not comparable: it is emulated"),
        (doubtful(test="SEM-P-SIG"), "B: the run has no TMR-P-LAT"),
        (doubtful(series=[make.series([1, 2], "jitter")]), "different series"),
    ],
)
def test_a_pair_with_a_useless_run_does_not_count(odd: PairedRun, reason: str) -> None:
    found = gated(odd={3: odd}, has_tails=False)
    assert found.statistics[0].pairs_count == 11
    assert [reason in pair.left_out for pair in found.pairs] == [n == 3 for n in range(12)]
    assert by_statistic(found)["p50"] == "PASS"


def test_fewer_than_ten_pairs_decide_nothing() -> None:
    gone = PairedRun(None, "the target is gone")
    found = gated(3.0, odd=dict.fromkeys(range(3), gone), has_tails=False)
    assert by_statistic(found) == {"p50": "INCONCLUSIVE"}
    assert "at least 10" in found.checks[0].reason
    assert gated(3.0, odd=dict.fromkeys(range(12), gone)).exit_code == 3


def test_an_interrupted_session_decides_nothing() -> None:
    found = gated(3.0, is_cut=True)
    assert set(by_statistic(found).values()) == {"INCONCLUSIVE"}
    assert found.checks[0].reason == INTERRUPTED


def test_an_address_chooses_the_series() -> None:
    found = gated(address="TMR-P-LAT/total/wakeup")
    assert found.checks[0].address == "TMR-P-LAT/total/wakeup"
    none = gated(address="TMR-P-LAT/total/jitter")
    assert none.exit_code == 3 and "no series with" in none.pairs[0].left_out


def test_other_labels_are_told() -> None:
    other = run(series=[changed_series(spread(2000), labels={"threads": 128})])
    notes = pairs_of(*[(PairedRun(run()), PairedRun(other))] * 10).notes
    assert "A has part total, and B none" in notes and "A has threads none, and B 128" in notes


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "outcome"), [(2.0, "PASS"), (0.7, "FAIL")])
def test_of_a_rate_of_pairs_less_is_worse_and_it_has_no_deadline(
    factor: float, outcome: str
) -> None:
    middles = [(1e7, n, 1e7 * factor, n + 50) for n in range(12)]
    runs = [
        (PairedRun(rate(spread(2000, a, n))), PairedRun(rate(spread(2000, b, m))))
        for a, n, b, m in middles
    ]
    found = pairs_of(*runs, address="MSG-P-THR")
    assert by_statistic(found) == {"p50": outcome}
    assert outcome == "PASS" or found.checks[0].found.startswith("A/B 1.4")
    with pytest.raises(InputError, match="is no time"):
        pairs_of(*runs, address="MSG-P-THR", deadline_ns=5)


RARELY, ALWAYS = ([5000, *[value] * 1959, *[20_000] * 40] for value in (9080, 9085))
MISSED = [20_000] * 2000


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (RARELY, ALWAYS, "INCONCLUSIVE"),
        (ALWAYS, RARELY, "INCONCLUSIVE"),
        (RARELY, MISSED, "INCONCLUSIVE"),
        ([5000] * 1960 + [20_000] * 40, MISSED, "FAIL"),
        (MISSED, ALWAYS, "PASS"),
    ],
)
def test_a_bucket_that_holds_the_deadline_flatters_no_change_and_blames_none(
    first: list[int], second: list[int], outcome: str
) -> None:
    """The deadline of 9084 ns lies in one bucket with 9080 and 9085: one side misses 2 % and the
    other nearly all, and the buckets show the same."""
    pair = PairedRun(run(first)), PairedRun(run(second))
    found = pairs_of(*[pair] * 12, deadline_ns=9084, has_tails=False)
    assert by_statistic(found)["above 9.084 us"] == outcome
