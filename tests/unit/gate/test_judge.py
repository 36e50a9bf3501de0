"""Every outcome of every kind of limit, and each reason why a figure decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.gate import Check, check_limits, gate_document, read_limits
from hardstone.gate.judge import judge_series
from hardstone.model import Event, RunDocument, Series, Trust
from hardstone.stats.pair_gate import Outcome
from hardstone.subjects import published_system
from tests.unit.gate.made import (
    ADDRESS,
    behaviour,
    checked,
    conditions,
    limit,
    limit_text,
    run,
    spread,
    systems,
)
from tests.unit.stats import make

ORDER: dict[Outcome, int] = {"FAIL": 0, "INCONCLUSIVE": 1, "PASS": 2}
WHOLE = run()


@pytest.mark.parametrize(
    ("entry", "outcome", "told"),
    [
        # the largest is 50 us, the median 10 us, p99 about 16 us
        ('statistic = "max"\nat_most = "50us"', "PASS", "up to 1 in 66760 may be above"),
        ('statistic = "max"\nat_most = "49999ns"', "FAIL", "one value beyond a limit is a proof"),
        ('statistic = "min"\nat_least = "1us"', "PASS", "up to 1 in 66760 may be below"),
        ('statistic = "min"\nat_least = "9us"', "FAIL", "one value beyond a limit is a proof"),
        ('statistic = "p50"\nat_most = "11us"', "PASS", ""),
        ('statistic = "p50"\nat_most = "9us"', "FAIL", ""),
        ('statistic = "p50"\nat_most = "10us"', "INCONCLUSIVE", "the limit lies within"),
        ('statistic = "p50"\nat_least = "9us"', "PASS", ""),
        ('statistic = "p50"\nat_least = "11us"', "FAIL", ""),
        ('statistic = "p50"\nat_least = "10us"', "INCONCLUSIVE", "the limit lies within"),
        ('statistic = "p99"\nat_most = "20us"', "PASS", ""),
        ('statistic = "p99"\nat_most = "12us"', "FAIL", ""),
        ('statistic = "p99.99"\nat_most = "1ms"', "INCONCLUSIVE", "about 12 500 000"),
        ('statistic = "p99.999"\nat_most = "1ms"', "INCONCLUSIVE", "too few for p99.999"),
        ('statistic = "mean"\nat_most = "11us"', "PASS", ""),
        ('statistic = "mean"\nat_most = "9us"', "FAIL", ""),
        ('statistic = "mean"\nat_most = "10.2us"', "INCONCLUSIVE", "the limit lies within"),
        ('above = "49us"\nat_most = 1', "PASS", "as observed"),
        ('above = "50us"\nat_most = 0', "PASS", "up to 1 in 66760 may be above"),
        ('above = "49us"\nat_most = 0', "FAIL", "single values beyond a limit are a proof"),
        ('above = "10us"\nat_most = "60%"', "PASS", ""),
        ('above = "10us"\nat_most = "40%"', "FAIL", ""),
        ('above = "10us"\nat_most = "50%"', "INCONCLUSIVE", "the limit lies within"),
        ('above = "50us"\nat_most = "1 in 100000"', "INCONCLUSIVE", "with none above it takes"),
        ('above = "50us"\nat_most = "1 in 100"', "PASS", ""),
    ],
)
def test_each_outcome_of_each_kind(entry: str, outcome: Outcome, told: str) -> None:
    found = checked(WHOLE, entry)
    assert (found.outcome, told in found.reason) == (outcome, True), found
    assert found.limit == 1 and found.address == ADDRESS and found.condition == "load heavy, shared"


def test_a_count_within_a_bucket_is_not_decided() -> None:
    """Only the histogram knows, and the deadline lies within one of its buckets."""
    document = run([10_000] * 1000 + [1_000_000, 1_000_100, 2_000_000])
    found = checked(document, 'above = "1000050ns"\nat_most = 1')
    assert found.outcome == "INCONCLUSIVE" and "within a bucket" in found.reason
    assert checked(document, 'above = "500us"\nat_most = 3').outcome == "PASS"


@pytest.mark.parametrize(
    ("verdicts", "outcome"), [((True, True), "PASS"), ((True, False), "FAIL"), ((), "INCONCLUSIVE")]
)
def test_claims(verdicts: tuple[bool, ...], outcome: Outcome) -> None:
    found = checked(make.document(results=[behaviour(*verdicts)]), 'claims = "hold"', "SEM-B-LCK")
    assert found.outcome == outcome
    if outcome == "FAIL":
        assert (found.found, found.reason) == ("1 of 2 claims hold", "claim1: seen 1")


def test_a_rate() -> None:
    rate = msgspec.structs.replace(make.series(spread(10_000, 5e7)), unit="bytes_per_s")
    document = run(test="MSG-P-THR", series=[rate])
    address = "MSG-P-THR/total/wakeup"
    assert checked(document, 'statistic = "min"\nat_least = "10MB/s"', address).outcome == "PASS"
    assert checked(document, 'statistic = "min"\nat_least = "50MB/s"', address).outcome == "FAIL"
    with pytest.raises(InputError, match="limit 1: MSG-P-THR/total/wakeup is a rate"):
        checked(document, 'statistic = "mean"\nat_most = "10us"', address)
    with pytest.raises(InputError, match="is a rate, and the limit a time"):
        checked(document, 'above = "10us"\nat_most = 3', address)


# ---- reasons for INCONCLUSIVE ----

LOW = 'statistic = "max"\nat_most = "1ms"'  # would pass
HIGH = 'statistic = "max"\nat_most = "1us"'  # one value is a proof
CLAIMS = 'claims = "hold"'
NO_REALTIME = {"policy": "other", "priority": 0, "realtime": False}


def contradicting() -> RunDocument:
    broken = msgspec.structs.replace(make.series(spread(2000)), max=3)
    return run(series=[broken])


def load_short() -> RunDocument:
    document = run()
    document.results[0].events = [Event(name="load_short", text="half of it")]
    return document


def emulated(**facts: Any) -> RunDocument:
    return run(system={"virtual.hypervisor": "kvm", **facts})


def test_another_policy_that_was_asked_for_may_pass() -> None:
    document = run(conditions=NO_REALTIME)
    document.plan = msgspec.structs.replace(document.plan, policy="other")
    assert checked(document, LOW).outcome == "PASS"


@pytest.mark.parametrize(
    ("make_run", "reason", "is_barring"),
    [
        (contradicting, "contradict", True),
        (lambda: run(trust=Trust(grade="untrustworthy", reasons=["X"])), "untrustworthy: X", True),
        (lambda: emulated(**{"virtual.emulated": True}), "emulated = true", True),
        (lambda: emulated(**{"virtual.emulated": None}), "may be emulated", True),
        (lambda: emulated(**{"virtual.time": "instructions"}), "counts instructions", True),
        (lambda: run(conditions=NO_REALTIME), "not scheduled as real-time", True),
        (lambda: run(status="failed", reason="EDEADLK"), "failed: EDEADLK", False),
        (lambda: run(status="timeout", reason=None), "timeout: no reason was given", False),
        (lambda: run(complete=False), "cut off before its end", False),
        (lambda: run(interrupted=True), "cut off before its end", False),
        (lambda: make.document(results=run().results, status="incomplete"), "incomplete", False),
        (lambda: make.document(results=run().results, status="interrupted"), "interrupted", False),
    ],
)
def test_a_doubtful_figure_never_passes(
    make_run: Callable[[], RunDocument], reason: str, *, is_barring: bool
) -> None:
    document = make_run()
    low, high = checked(document, LOW), checked(document, HIGH)
    assert low.outcome == "INCONCLUSIVE" and reason in low.reason
    assert high.outcome == ("INCONCLUSIVE" if is_barring else "FAIL")
    if not is_barring:  # a statistic is no proof
        assert checked(document, 'statistic = "p50"\nat_most = "1us"').outcome == "INCONCLUSIVE"
        assert checked(document, 'statistic = "p50"\nat_most = "1ms"').outcome == "INCONCLUSIVE"


@pytest.mark.slow
def test_a_load_that_fell_short_passes_no_limit_for_that_load() -> None:
    asked = 'load = "heavy"'
    assert checked(load_short(), LOW).outcome == "PASS"
    found = checked(load_short(), f"{LOW}\n{asked}")
    assert found.outcome == "INCONCLUSIVE" and "the load fell short" in found.reason
    assert checked(load_short(), f"{HIGH}\n{asked}").outcome == "FAIL"
    assert checked(run(), f"{LOW}\n{asked}").outcome == "PASS"


@pytest.mark.parametrize("fact", [{"virtual.emulated": True}, {"virtual.time": "instructions"}])
def test_an_emulated_figure_passes_a_limit_that_says_so(fact: dict[str, Any]) -> None:
    assert checked(emulated(**fact), f"{LOW}\nemulated = true").outcome == "PASS"
    assert checked(emulated(**fact), f"{HIGH}\nemulated = true").outcome == "FAIL"


@pytest.mark.parametrize(
    ("document", "entry", "address", "reason"),
    [
        (make.document(results=[]), LOW, ADDRESS, "the run has no TMR-P-LAT"),
        (WHOLE, LOW, "TMR-P-LAT/total/jitter", "no series with"),
        (WHOLE, LOW, "TMR-P-LAT/handler/wakeup", "no series with handler"),
        (run(status="denied", series=[], reason="EPERM"), LOW, ADDRESS, "denied, EPERM"),
        (run(status="unsupported", series=[], reason="no tracefs"), LOW, ADDRESS, "no tracefs"),
        (run(status="skipped", series=[]), LOW, ADDRESS, "skipped"),
        (run([]), LOW, ADDRESS, "no values"),
        (WHOLE, f'{LOW}\nload = "storm"', ADDRESS, "no TMR-P-LAT under load storm"),
        (WHOLE, f'{LOW}\ncpu_config = "shielded"', ADDRESS, "CPU configuration shielded"),
        (WHOLE, f'{LOW}\npolicy = "rr"', ADDRESS, "under policy rr"),
        (WHOLE, CLAIMS, "SEM-B-LCK", "the run has no SEM-B-LCK"),
        (
            make.document(results=[behaviour(status="denied", reason="EPERM")]),
            CLAIMS,
            "SEM-B-LCK",
            "denied: EPERM",
        ),
        (
            make.document(results=[behaviour(True, complete=False)]),
            CLAIMS,
            "SEM-B-LCK",
            "cut off before its end",
        ),
    ],
)
def test_what_is_not_there_never_passes(
    document: RunDocument, entry: str, address: str, reason: str
) -> None:
    found = checked(document, entry, address)
    assert found.outcome == "INCONCLUSIVE" and reason in found.reason


def test_a_failed_claim_of_an_incomplete_run_is_a_finding() -> None:
    document = make.document(results=[behaviour(True, False, complete=False)])
    assert checked(document, CLAIMS, "SEM-B-LCK").outcome == "FAIL"


def test_fewer_threads_than_asked_for_are_another_figure() -> None:
    series = msgspec.structs.replace(make.series(spread(2000), "switch"), labels={"threads": 100})
    document = run(test="THR-P-SLS", series=[series])
    document.results[0].params = {"threads": [2, 128]}
    address = "THR-P-SLS/128/switch"
    for entry in (LOW, HIGH):
        found = checked(document, entry, address)
        assert found.outcome == "INCONCLUSIVE" and "100 threads instead of 128" in found.reason


def test_a_limit_holds_under_each_condition_or_under_the_one_it_names() -> None:
    quiet = make.result(values=[1000] * 100, conditions=conditions(load="none"))
    document = make.document(results=[quiet, *run().results])
    everywhere = check_limits([limit('statistic = "max"\nat_most = "2us"')], systems(document))
    assert [(one.condition, one.outcome) for one in everywhere] == [
        ("load none, shared", "PASS"),
        ("load heavy, shared", "FAIL"),
    ]
    named = limit('statistic = "max"\nat_most = "2us"\nload = "none"')
    assert [one.outcome for one in check_limits([named], systems(document))] == ["PASS"]


# ---- published systems ----


MEAN, MAX = 'statistic = "mean"', 'statistic = "max"'
MUTEX = "MUT-P-ARN/inherit/acquire"  # of CE7: mean below 0.1 us
PREEMPTION = "THR-P-PRE/thread/preemption"  # of Linux: max above 1 ms
TICK = "CLK-P-DUR/tick"  # of QNX: mean 2.2 us
OPEN: Outcome = "INCONCLUSIVE"
OF_STUDIES = ("MUT-P-ARN", "THR-P-PRE", "CLK-P-DUR", "TMR-P-LAT", "SEM-B-LCK", "CLK-B-RES")


@pytest.mark.parametrize(
    ("key", "address", "entry", "outcome"),
    [
        ("ce7", MUTEX, f'{MEAN}\nat_most = "1us"', "PASS"),
        ("ce7", MUTEX, f'{MEAN}\nat_most = "100ns"', "PASS"),
        ("ce7", MUTEX, f'{MEAN}\nat_most = "50ns"', OPEN),
        ("ce7", MUTEX, f'{MEAN}\nat_least = "50ns"', OPEN),
        ("ce7", MUTEX, f'{MEAN}\nat_least = "100ns"', "FAIL"),
        ("linux", PREEMPTION, f'{MAX}\nat_most = "1ms"', "FAIL"),
        ("linux", PREEMPTION, f'{MAX}\nat_most = "2ms"', OPEN),
        ("qnx", TICK, f'{MEAN}\nat_most = "2.2us"', "PASS"),
        ("qnx", TICK, f'{MEAN}\nat_most = "2199ns"', "FAIL"),
        ("qnx", TICK, 'statistic = "p99"\nat_most = "9s"', OPEN),
        ("qnx", TICK, 'above = "9s"\nat_most = 0', OPEN),
        ("qnx", "TMR-P-LAT/total/wakeup", f'{MAX}\nat_most = "9s"', OPEN),
        ("qnx", TICK, f'{MEAN}\nat_most = "9s"\npolicy = "rr"', OPEN),
        ("qnx", TICK, f'{MEAN}\nat_most = "9s"\nload = "x"', OPEN),
        ("qnx", "SEM-B-LCK", 'claims = "hold"', "PASS"),
        ("qnx", "CLK-B-RES", 'claims = "hold"', OPEN),
    ],
)
def test_bounds_of_a_study_stay_bounds(
    key: str, address: str, entry: str, outcome: Outcome
) -> None:
    (asked,) = read_limits(limit_text(f'address = "{address}"\n{entry}'), OF_STUDIES)
    (found,) = check_limits([asked], [published_system(f"published:{key}")])
    assert found.outcome == outcome, found
    assert outcome != OPEN or found.reason


# ---- all of them ----


def outcome_of(*outcomes: Outcome) -> tuple[Outcome, int]:
    checks = [
        Check(outcome=one, system="", condition="", address="", statistic="", wanted="", found="")
        for one in outcomes
    ]
    document = gate_document("limits", [], [], checks)
    assert [one.outcome for one in document.checks] == sorted(outcomes, key=ORDER.__getitem__)
    return document.outcome, document.exit_code


def test_the_worst_decides() -> None:
    assert outcome_of("PASS", "PASS") == ("PASS", 0)
    assert outcome_of("PASS", "INCONCLUSIVE") == ("INCONCLUSIVE", 3)
    assert outcome_of("PASS", "FAIL", "INCONCLUSIVE") == ("FAIL", 1)
    assert outcome_of() == ("INCONCLUSIVE", 3)


SHORT = make.series(spread(5000))


def at_most(series: Series, statistic: str, text: str) -> int:
    return ORDER[judge_series(limit(f"{statistic}\nat_most = {text}"), series).outcome]


@pytest.mark.slow
@given(
    st.sampled_from(["max", "mean", "p50", "p99", "p99.9"]),
    st.integers(1, 60_000),
    st.integers(0, 60_000),
)
def test_a_tighter_limit_never_passes_what_a_wider_one_did_not(
    statistic: str, tight: int, more: int
) -> None:
    kind = f'statistic = "{statistic}"'
    wide = at_most(SHORT, kind, f'"{tight + more}ns"')
    assert at_most(SHORT, kind, f'"{tight}ns"') <= wide


@pytest.mark.slow
@given(
    st.integers(1, 60_000),
    st.integers(0, 60_000),
    st.integers(0, 5000),
    st.integers(0, 5000),
    st.sampled_from(["count", "share"]),
)
def test_neither_do_a_tighter_deadline_and_a_smaller_share(
    deadline: int, later: int, count: int, more: int, kind: str
) -> None:
    def text(number: int) -> str:
        return f'"{min(number, 5000) / 50}%"' if kind == "share" else str(number)

    wide = at_most(SHORT, f'above = "{deadline + later}ns"', text(count + more))
    assert at_most(SHORT, f'above = "{deadline}ns"', text(count + more)) <= wide
    assert at_most(SHORT, f'above = "{deadline + later}ns"', text(count)) <= wide


@pytest.mark.slow
@given(st.sampled_from(["min", "mean", "p50", "p99"]), st.integers(1, 60_000), st.integers(0, 9999))
def test_at_least_is_as_monotone(statistic: str, tight: int, less: int) -> None:
    def at_least(number: int) -> int:
        entry = f'statistic = "{statistic}"\nat_least = "{max(number, 1)}ns"'
        return ORDER[judge_series(limit(entry), SHORT).outcome]

    assert at_least(tight) <= at_least(tight - less)
