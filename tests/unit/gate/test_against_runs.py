"""A run against baseline runs, and interleaved pairs of runs: every outcome, what does not count,
and why."""

from __future__ import annotations

import cProfile
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest

from hardstone.errors import InputError
from hardstone.gate.against_run import (
    ALL,
    BaselineChecks,
    check_against_runs,
    more_runs,
    why_other_system,
)
from hardstone.gate.outcome import Check, GateDocument
from hardstone.gate.pairs import INTERRUPTED, PairedRun, check_pairs
from hardstone.model import RunDocument, Series, Tool, Worst
from hardstone.stats.run_gate import FASTEST
from hardstone.systems.published import parse_address
from hardstone.systems.subjects import subjects_of
from tests.unit.gate.made import UNTRUSTED, behaviour, changed_series, claims, rate, run, spread
from tests.unit.stats import make

COUNT = 2000


@cache
def bases(
    count: int = 10, middle: float = 10_000, boots: tuple[str, ...] = ("one",)
) -> tuple[RunDocument, ...]:
    """Runs of one system, a minute apart, that vary by 2 %; of `boots` in turn."""
    drawn = np.random.default_rng(7).normal(0, 0.02, count)
    return tuple(
        run(
            spread(COUNT, middle * float(np.exp(shift)), 100 + number),
            run_id=f"20261121T03{number:02}00Z-00000b",
            started_utc=f"2026-11-21T03:{number:02}:00Z",
            system=system(boots[number % len(boots)]),
            instrument=make.instrument(),
        )
        for number, shift in enumerate(drawn)
    )


def system(boot: str = "one", **changed: Any) -> dict[str, Any]:
    return {"kernel.name": "Linux", "kernel.release": "6.12.0-rt", "os.boot_id": boot, **changed}


def later(
    values: Sequence[int] | None = None, *, middle: float = 10_000, **changed: Any
) -> RunDocument:
    """The run that is held against the baselines: after the last of ten."""
    fields: dict[str, Any] = {"started_utc": "2026-11-21T03:10:00Z", "system": system()} | changed
    own = spread(COUNT, middle, 2) if values is None else values
    return run(own, run_id="20261121T040000Z-00000a", **fields)


NOTHING = make.document(results=[])
BASE = bases()[0]


def against(own: RunDocument, *others: RunDocument, **options: Any) -> BaselineChecks:
    held = [subjects_of(one) for one in others or bases()]
    return check_against_runs(subjects_of(own), held, **options)


def outcomes(own: RunDocument, *others: RunDocument) -> dict[str, str]:
    return {one.statistic: one.outcome for one in against(own, *others).checks}


def of_all(own: RunDocument, *others: RunDocument, **options: Any) -> Check:
    return next(one for one in against(own, *others, **options).checks if one.address == ALL)


@pytest.mark.parametrize(
    ("middle", "outcome"), [(10_000, "PASS"), (5000, "PASS"), (13_000, "FAIL"), (10_500, "PASS")]
)
def test_a_run_that_is_slower_than_one_more_of_the_system(middle: float, outcome: str) -> None:
    found = of_all(later(middle=middle))
    assert (found.outcome, found.statistic) == (outcome, FASTEST), found
    assert found.fails_from is not None and found.found_from is not None
    assert 1.1 <= found.fails_from < found.found_from < 1.3
    assert f"as in 10 runs, below x{found.fails_from:.3g}" == found.wanted
    assert outcome == "FAIL" or "would have been detected" in found.reason


def test_one_baseline_decides_nothing_and_how_to_get_more_is_said() -> None:
    found = of_all(later(middle=30_000), BASE, more="hardstone run TMR-P-LAT --repeat 10")
    assert (found.outcome, found.fails_from) == ("INCONCLUSIVE", None)
    assert found.found.startswith("x2.9") and "10 runs of this system are needed" in found.reason
    assert found.reason.endswith(": hardstone run TMR-P-LAT --repeat 10")
    assert of_all(later(middle=30_000), *bases()[:9]).outcome == "INCONCLUSIVE"


def test_a_difference_that_could_not_be_found_is_no_pass() -> None:
    found = of_all(later(), difference=0.1)
    assert found.outcome == "INCONCLUSIVE"
    assert ("only a slowdown of all values by") in found.reason and (
        "cannot detect x1.1; interleaved"
    ) in found.reason


@pytest.mark.parametrize(
    ("seconds", "apart_ns", "middle", "is_failed"),
    [
        (3, 0, 5000, True),
        (2, 0, 5000, False),  # a moment between two of them
        (0, 110_000_000, 5000, True),
        (0, 90_000_000, 5000, False),
        (0, 0, 60_000, True),
    ],
)
def test_a_series_that_was_measured_within_a_moment_does_not_fail_alone(
    seconds: int, apart_ns: int, middle: int, is_failed: bool
) -> None:
    def of(number: int, slow: int = 1) -> RunDocument:
        held = []
        for at in range(5):
            values = sorted(spread(COUNT, middle + 20 * number, number * 9 + at), reverse=True)
            values = [one * slow for one in values] if at == 1 else values
            two = zip(values, (0, apart_ns), strict=False)
            one = changed_series(
                values,
                labels={"part": str(at)},
                maxima_per_s=[values[0]] * (seconds if at == 1 else 9),
                worst=[Worst(value_ns=value, at_ns=when, index=0) for value, when in two],
            )
            held.append(one)
        return later(series=held)

    found = against(of(11, slow=9), *map(of, range(10)))
    at = "TMR-P-LAT/1/wakeup"
    outcomes = {(one.address, one.statistic): one.outcome for one in found.checks}
    assert outcomes.get((at, FASTEST)) == ("FAIL" if is_failed else None)
    assert outcomes[at, "p50"] == "INCONCLUSIVE"
    assert any("measured within 100 ms each" in one for one in found.notes) is not is_failed


def test_a_disturbed_run_does_not_fail() -> None:
    """Six of ten values are three times as long, the fastest are as ever."""
    own = spread(COUNT, 10_000, 2)
    found = against(later([*(3 * one for one in own[:1200]), *own[1200:]]))
    assert {(one.outcome, one.statistic) for one in found.checks} >= {
        ("PASS", FASTEST),
        ("INCONCLUSIVE", "p50"),
    }
    suspicious = next(one for one in found.checks if one.statistic == "p50")
    assert "disturbed" in suspicious.reason and "--pairs" in suspicious.reason


@pytest.mark.parametrize(
    ("own", "boots", "reason"),
    [
        (later(middle=20_000, system=system("two")), ("one",), "all baselines are from one boot"),
        (later(middle=20_000, system=system("two")), ("one", "three"), ""),
        (later(middle=20_000, started_utc="2026-11-21T04:09:00Z"), ("one",), ""),
        (
            later(middle=20_000, started_utc="2026-11-21T05:09:00Z"),
            ("one",),
            "within 9 min, 2 h away from the run",
        ),
        (later(middle=20_000, instrument=make.instrument(median=23)), ("one",), "took 23 ns, in"),
        (later(middle=20_000, instrument=make.instrument(median=21)), ("one",), ""),
    ],
)
def test_what_no_baseline_shows_decides_nothing(
    own: RunDocument, boots: tuple[str, ...], reason: str
) -> None:
    found = of_all(own, *bases(boots=boots))
    assert found.outcome == ("INCONCLUSIVE" if reason else "FAIL")
    assert reason in found.reason


@pytest.mark.parametrize(("stamps_ns", "outcome"), [(23, "FAIL"), (25, "INCONCLUSIVE")])
def test_a_machine_as_slow_as_in_a_baseline_is_no_excuse(stamps_ns: int, outcome: str) -> None:
    odd = msgspec.structs.replace(bases()[3], results=[*bases()[3].results])
    odd.results[0] = msgspec.structs.replace(odd.results[0], instrument=make.instrument(median=22))
    held = [*bases()[:3], odd, *bases()[4:]]
    found = of_all(later(middle=20_000, instrument=make.instrument(median=stamps_ns)), *held)
    assert found.outcome == outcome, found


def test_what_differs_between_the_runs_is_told() -> None:
    assert not any(" differs: " in one for one in against(later()).notes)
    changed = system(**{"kernel.release": "6.13", "power.governor": "powersave"})
    notes = against(later(system=changed)).notes
    assert "kernel differs: Linux 6.13 in the run, Linux 6.12.0-rt in the baselines" in notes
    assert "governor differs: powersave in the run, not known in the baselines" in notes


@pytest.mark.slow
@pytest.mark.parametrize(("middle", "outcome"), [(2e7, "PASS"), (5e6, "FAIL")])
def test_of_a_rate_less_is_worse(middle: float, outcome: str) -> None:
    held = [rate(spread(COUNT, 1e7, seed)) for seed in range(3, 13)]
    assert outcomes(rate(spread(COUNT, middle, 2)), *held)[FASTEST] == outcome


def changed(**what: object) -> list[Series]:
    return [changed_series(spread(COUNT), **what)]


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (NOTHING, "the run has no TMR-P-LAT"),
        (later(conditions={"load": "none"}), "the run has no results under load heavy, shared"),
        (claims(True), "the run has no TMR-P-LAT"),
        (later(status="denied", series=[], reason="EPERM"), "denied: EPERM"),
        (later(series=changed(name="release")), "does not have this series"),
        (later(complete=False), "cut off before it ended"),
        (later(trust=UNTRUSTED), "untrustworthy: X"),
        (later(series=changed(max=3)), "cannot be true"),
        (later(system=system(**{"virtual.emulated": True})), "no usable baseline"),
    ],
)
def test_what_cannot_be_compared_never_passes(own: RunDocument, reason: str) -> None:
    found = against(own).checks
    assert found and {one.outcome for one in found} == {"INCONCLUSIVE"}
    assert all(reason in one.reason for one in found), found


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        (run(complete=False), "cut off before it ended"),
        (run(status="failed", reason="EDEADLK"), "EDEADLK"),
        (run(trust=UNTRUSTED), "untrustworthy: X"),
        (
            run(system=system(**{"virtual.emulated": True})),
            "measured on hardware: not comparable with an emulated",
        ),
    ],
)
def test_a_useless_baseline_does_not_count(base: RunDocument, reason: str) -> None:
    found = against(later(middle=20_000), *bases(), base)
    assert any(f"{base.id} is left out" in one and reason in one for one in found.notes)
    assert found.used == [one.id for one in bases()]
    assert "FAIL" in {one.outcome for one in found.checks}


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
    own, base = (run(spread(COUNT), **{field: {name: one}}) for one in values)
    (found,) = against(own, base).checks
    assert (
        found.reason == f"not comparable: {reason}"
        if reason
        else ("1 usable baseline") in found.reason
    )


def test_claims_alone_do_not_pass_for_times_that_were_not_compared() -> None:
    short = make.document(results=[*run(spread(10)).results, behaviour(True)])
    found = against(short, short).checks
    rows = [("PASS", "SEM-B-LCK"), ("INCONCLUSIVE", ALL)]
    assert [(one.outcome, one.address) for one in found] == rows
    assert "no durations could be compared" in found[1].reason


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
    assert outcomes(own, claims(True), claims(False)) == {}  # it fails in a baseline too


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
    for part in ("1 counts, where", "1 derived series", "1 series with too few"):
        assert f"not compared: {part}" in told
    assert "also fail in a baseline" in told


def test_what_is_said_of_a_whole_run_is_found_once_for_it() -> None:
    looks = {}
    for count in (2, 20):
        series = [make.series(range(1, 30), f"s{number}") for number in range(count)]
        own, base = (
            subjects_of(run(series=series, run_id=f"20261121T04{at}000Z-00000a")) for at in (0, 1)
        )
        profile = cProfile.Profile()
        profile.runcall(check_against_runs, own, [base])
        found = {
            one.code.co_name: one for one in profile.getstats() if not isinstance(one.code, str)
        }
        looks[count] = found["trust_of"].callcount
    assert looks[20] == looks[2] > 0, "a run of a thousand series would take a minute"


def test_other_runs_of_the_system_are_those_of_the_same_plan_build_and_machine() -> None:
    base = bases()[0]
    assert why_other_system(base, bases()[1]) is None
    plan = msgspec.structs.replace(base.plan, policy="rr")
    for other, why in (
        (msgspec.structs.replace(base, plan=plan), "another plan"),
        (msgspec.structs.replace(base, system=system(**{"power.governor": "x"})), "governor"),
        (msgspec.structs.replace(base, system=system(**{"machine.board": "x"})), None),
        (
            msgspec.structs.replace(base, tool=Tool(version="1", probe_sha256="ab")),
            "another build",
        ),
    ):
        found = why_other_system(base, other)
        assert found is None if why is None else why in str(found)


def test_the_command_for_more_runs_makes_the_same_plan() -> None:
    plan = msgspec.structs.replace(BASE.plan, command=["run", "TMR-P-LAT", "--name", "a b"])
    base = msgspec.structs.replace(BASE, plan=plan)
    assert more_runs(base) == "hardstone run TMR-P-LAT --name 'a b' --repeat 10"
    assert more_runs(BASE) == "measure more of them"


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
    assert any("worst observed: A 50 us, B 65 us; no verdict" in note for note in found.notes)


def doubtful(**changed: Any) -> PairedRun:
    return one(10_000, 99, **changed)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (PairedRun(None, "the target is gone"), "B: the target is gone"),
        (doubtful(complete=False), "B: cut off before it ended"),
        (doubtful(status="denied", series=[], reason="EPERM"), "B: denied: EPERM"),
        (doubtful(trust=UNTRUSTED), "untrustworthy: X"),
        (doubtful(series=[make.series([])]), "nothing was observed"),
        (doubtful(series=[]), "nothing was observed"),
        (doubtful(series=[changed_series([1, 2], max=0)]), "untrustworthy: TMR-P-LAT wakeup"),
        (doubtful(system={"virtual.emulated": True}), "emulated: not comparable with hardware"),
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


def test_other_labels_are_told() -> None:
    other = run(series=[changed_series(spread(2000), labels={"threads": 128})])
    notes = pairs_of(*[(PairedRun(run()), PairedRun(other))] * 10).notes
    assert (
        "part is total in A and none in B" in notes and "threads is none in A and 128 in B" in notes
    )


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
    with pytest.raises(InputError, match="is not a time"):
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
