"""Limits: as typed, with one line for each thing that is wrong; every outcome of every kind, and
each reason why a figure decides nothing; and limits that are made from runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.gate.against_limits import check_limits, limits_text, suggest_limits
from hardstone.gate.limits import (
    Limit,
    LimitsError,
    Value,
    parse_value,
    read_limits,
    share_text,
    typed_amount,
)
from hardstone.gate.outcome import Check, gate_document
from hardstone.model import Event, RunDocument
from hardstone.stats.run_gate import Outcome
from hardstone.systems.subjects import published_system, subjects_of
from hardstone.units import MAX_DURATION_NS
from tests.unit.gate.made import (
    ADDRESS,
    TESTS,
    UNTRUSTED,
    behaviour,
    changed_series,
    checked,
    claims,
    conditions,
    limit,
    limit_text,
    rate,
    run,
    spread,
)
from tests.unit.stats import make

# ---- as typed ----

GOOD = 'address = "TMR-P-LAT/total/wakeup"\nstatistic = "max"\nat_most = "100us"'


def problems(data: bytes) -> tuple[str, ...]:
    with pytest.raises(LimitsError) as error:
        read_limits(data, TESTS, "limits.toml")
    assert error.value.exit_code == 2
    assert [cause for cause, _ in error.value.reasons()] == list(error.value.problems)
    assert all("\n" not in one and one.isprintable() for one in error.value.problems)
    return error.value.problems


def test_all_that_a_limit_can_say() -> None:
    found = limit(
        'statistic = "p99.9"\nat_most = "1.5ms"\nload = "heavy"\ncpu_config = "shielded"\n'
        'policy = "rr"\nemulated = true'
    )
    assert (found.statistic, found.bound, found.quantile) == ("p99.9", Value(1.5e6, "ns"), 0.999)
    assert (found.load, found.cpu_config, found.policy) == ("heavy", "shielded", "rr")
    assert found.is_at_most and found.is_emulated and found.wanted == "at most 1.5 ms"
    above = limit('above = "50us"\nat_most = "1 in 10000"')
    assert (above.deadline_ns, above.bound.kind) == (50_000, "share")
    assert above.figure == "above 50 us" and above.wanted == "at most 1 in 10000"
    least = limit('statistic = "min"\nat_least = "40MB/s"')
    assert least.bound == Value(4e7, "bytes_per_s") and least.wanted == "at least 40 MB/s"
    assert limit('claims = "hold"', "sem-b-lck").wanted == "all claims hold"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("100us", Value(1e5, "ns")),
        ("2.2 us", Value(2200, "ns")),
        ("1.5kB/s", Value(1500, "bytes_per_s")),
        ("7", Value(7, "count")),
        (7, Value(7, "count")),
        ("0.1%", Value(0.001, "share")),
        ("1 in 1000", Value(0.001, "share")),
        (typed_amount(1e18, "ns", is_up=True), Value(MAX_DURATION_NS, "ns")),
        *((bad, None) for bad in ("us", "100 furlongs", "1 in 0", "101%", "-1us", "", "9" * 80)),
        *((bad, None) for bad in (True, -1, float("nan"), float("inf"), 10**400, None, [1])),
    ],
)
def test_values_have_units(raw: object, value: Value | None) -> None:
    assert parse_value(raw) == value


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (GOOD + "\nat_mots = 3", "limit 1: unknown key 'at_mots'; did you mean at_most?"),
        (GOOD.replace("LAT", "LATT"), "unknown test 'TMR-P-LATT'; did you mean TMR-P-LAT?"),
        (GOOD.replace("max", "worst"), "unknown statistic 'worst'"),
        (GOOD.replace("max", "p0"), "unknown statistic 'p0'"),
        (GOOD.replace("max", "p100"), "unknown statistic 'p100'"),
        (GOOD.replace("100us", "100 furlongs"), "at_most is '100 furlongs'; write \"100us\""),
        (GOOD.replace("at_most", "at_least"), "max needs at_most"),
        (GOOD.replace("max", "min"), "min needs at_least"),
        (GOOD + '\nat_least = "1us"', "give one of at_most"),
        (GOOD.replace('at_most = "100us"', ""), "give one of at_most"),
        (GOOD.replace('statistic = "max"', ""), "give one of statistic"),
        (GOOD + '\nabove = "1us"', "give one of statistic"),
        (GOOD.replace("100us", "1%"), "write above instead of statistic"),
        (GOOD.replace('"TMR', '"TMR//'), "not the address of a figure"),
        (GOOD.replace("address", "load"), "no address"),
        (GOOD + "\nload = 3", "load is '3'; write load as text"),
        (GOOD + '\nemulated = "yes"', "emulated is true or false"),
        ('address = "TMR-P-LAT"\nabove = "5"\nat_most = 1', "above is '5'; write a duration"),
        ('address = "TMR-P-LAT"\nabove = "5us"\nat_least = 1', "above needs at_most"),
        ('address = "TMR-P-LAT"\nabove = "5us"\nat_most = "5us"', "above needs at_most"),
        ('address = "SEM-B-LCK"\nclaims = "pass"', 'write claims = "hold"'),
        ('address = "SEM-B-LCK"\nclaims = "hold"\nat_most = 1', "does not apply to claims"),
        ('address = "SEM-B-LCK/x"\nclaims = "hold"', "claims belong to a whole test"),
        (GOOD + '\n"\\u001b[31m\\n" = 3', "unknown key"),
    ],
)
def test_a_wrong_limit_is_told_in_one_line(entry: str, told: str) -> None:
    (found,) = problems(limit_text(entry))
    assert found.startswith("limits.toml: limit 1: ") and told in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"schema = ", "at end of document"),
        (b"a = 1\n" + b".".join([b"a"] * 5_000) + b" = 1", "more than 64 parts (at line 2)"),
        (b"x = {" + b" . ".join([b'"a"'] * 5_000) + b" = 1}", "more than 64 parts (at line 1)"),
        (b"[" + b".".join([b"'a'"] * 5_000) + b"]", "more than 64 parts (at line 1)"),
        (b'schema = "hardstone.limits/1"\n[[limit]\n', "line 2"),
        (b"a = 1\n# \xff\n", "line 2 is not UTF-8"),
        (b"a = " + b"[" * 5000, "limits.toml: "),
        (b"a = 1" + b"0" * 5000, "limits.toml: "),
        (limit_text(GOOD).replace(b"limits/1", b"limits/2"), "schema is 'hardstone.limits/2'"),
        (b"[[limit]]\n" + GOOD.encode(), "there is no schema"),
        (b'schema = "hardstone.limits/1"\n', "there are no limits"),
        (b'schema = "hardstone.limits/1"\nlimit = 3\n', "there are no limits"),
        (b'schema = "hardstone.limits/1"\nlimit = []\n', "0 limits"),
        (limit_text(GOOD).replace(b"\n[[", b"\nmargin = 3\n[[", 1), "unknown key 'margin'"),
    ],
)
def test_a_broken_file_is_told_in_one_line(data: bytes, told: str) -> None:
    (found,) = problems(data)
    assert told in found


def test_an_unknown_test_among_many() -> None:
    many = [f"ABC-P-{number}" for number in range(40)]
    with pytest.raises(LimitsError, match="unknown test 'TMR-P-LAT'; see hardstone list"):
        read_limits(limit_text(GOOD), many)


def test_every_problem_is_told_at_once() -> None:
    bad = GOOD.replace("max", "worst")
    found = problems(limit_text(bad, GOOD, bad, GOOD))
    assert [one.split(": ")[1] for one in found] == ["limit 1", "limit 3", "limit 4"]
    assert "limit 4: the same as limit 2" in found[2]
    many = problems(limit_text(*[bad] * 50))
    assert len(many) == 21 and many[-1].endswith("and 30 more problems")
    others = (GOOD + '\nload = "none"', GOOD.replace("max", "p99"))
    assert len(read_limits(limit_text(GOOD, *others), TESTS)) == 3  # no repetition


@pytest.mark.slow
@given(st.integers(1, 10**15), st.booleans())
def test_a_typed_amount_is_read_again_and_never_on_the_wrong_side(value: int, is_up: bool) -> None:
    found = parse_value(typed_amount(value, "ns", is_up=is_up))
    assert found.kind == "ns"
    low, high = (value, value * 1.01 + 1) if is_up else (value * 0.99, value)
    assert low <= found.number <= high


@pytest.mark.parametrize(
    ("share", "text"), [(0.05, "5 %"), (0.001, "1 in 1000"), (1 / 33381, "1 in 33380"), (0, "0")]
)
def test_shares_as_people_say_them(share: float, text: str) -> None:
    assert share_text(share) == text


# ---- judged ----

OPEN: Outcome = "INCONCLUSIVE"
ORDER: dict[Outcome, int] = {"FAIL": 0, OPEN: 1, "PASS": 2}
WHOLE = run()
WITHIN = "the limit is inside"


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
        ('statistic = "p50"\nat_most = "10us"', OPEN, WITHIN),
        ('statistic = "p50"\nat_least = "9us"', "PASS", ""),
        ('statistic = "p50"\nat_least = "11us"', "FAIL", ""),
        ('statistic = "p50"\nat_least = "10us"', OPEN, WITHIN),
        ('statistic = "p99"\nat_most = "20us"', "PASS", ""),
        ('statistic = "p99"\nat_most = "12us"', "FAIL", ""),
        ('statistic = "p99.99"\nat_most = "1ms"', OPEN, "about 12 500 000"),
        ('statistic = "p99.999"\nat_most = "1ms"', OPEN, "too few for p99.999"),
        ('statistic = "mean"\nat_most = "11us"', "PASS", ""),
        ('statistic = "mean"\nat_most = "9us"', "FAIL", ""),
        ('statistic = "mean"\nat_most = "10.2us"', OPEN, WITHIN),
        ('above = "49us"\nat_most = 1', "PASS", "as observed"),
        ('above = "50us"\nat_most = 0', "PASS", "up to 1 in 66760 may be above"),
        ('above = "49us"\nat_most = 0', "FAIL", "single values beyond a limit are a proof"),
        ('above = "10us"\nat_most = "60%"', "PASS", ""),
        ('above = "10us"\nat_most = "40%"', "FAIL", ""),
        ('above = "10us"\nat_most = "50%"', OPEN, WITHIN),
        ('above = "50us"\nat_most = "1 in 100000"', OPEN, "values are needed"),
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
    assert found.outcome == OPEN and "inside a histogram bucket" in found.reason
    assert checked(document, 'above = "500us"\nat_most = 3').outcome == "PASS"


def test_a_rate() -> None:
    document, address = rate(spread(10_000, 5e7)), "MSG-P-THR/total/wakeup"
    for least, outcome in ((10, "PASS"), (50, "FAIL")):
        entry = f'statistic = "min"\nat_least = "{least}MB/s"'
        assert checked(document, entry, address).outcome == outcome
    with pytest.raises(InputError, match="limit 1: MSG-P-THR/total/wakeup is a rate"):
        checked(document, 'statistic = "mean"\nat_most = "10us"', address)
    with pytest.raises(InputError, match="is a rate, but the limit is a time"):
        checked(document, 'above = "10us"\nat_most = 3', address)


LOW = 'statistic = "max"\nat_most = "1ms"'  # would pass
HIGH = 'statistic = "max"\nat_most = "1us"'  # one value is a proof
CLAIMS = 'claims = "hold"'
NO_REALTIME = {"policy": "other", "priority": 0, "realtime": False}


def virtual(**facts: Any) -> RunDocument:
    named = {f"virtual.{name}": value for name, value in facts.items()}
    return run(system={"virtual.hypervisor": "kvm", **named})


@pytest.mark.parametrize(
    ("document", "reason", "is_barring"),
    [
        (run(series=[changed_series(spread(2000), max=3)]), "cannot be true", True),
        (run(trust=UNTRUSTED), "untrustworthy: X", True),
        (virtual(emulated=True), "emulated = true", True),
        (virtual(emulated=None), "may be emulated", True),
        (virtual(time="instructions"), "instruction count", True),
        (run(conditions=NO_REALTIME), "not scheduled as real-time", True),
        (run(status="failed", reason="EDEADLK"), "failed: EDEADLK", False),
        (run(status="timeout", reason=None), "timeout: no reason was given", False),
        (run(complete=False), "cut off before it ended", False),
        (run(interrupted=True), "cut off before it ended", False),
        (make.document(results=run().results, status="incomplete"), "incomplete", False),
        (make.document(results=run().results, status="interrupted"), "interrupted", False),
    ],
)
def test_a_doubtful_figure_never_passes(
    document: RunDocument, reason: str, *, is_barring: bool
) -> None:
    low, high = checked(document, LOW), checked(document, HIGH)
    assert low.outcome == OPEN and reason in low.reason
    assert high.outcome == (OPEN if is_barring else "FAIL")
    for most in ("1us", "1ms") if not is_barring else ():  # a statistic is no proof
        assert checked(document, f'statistic = "p50"\nat_most = "{most}"').outcome == OPEN


def test_another_policy_that_was_asked_for_may_pass() -> None:
    document = run(conditions=NO_REALTIME)
    document.plan = msgspec.structs.replace(document.plan, policy="other")
    assert checked(document, LOW).outcome == "PASS"


def test_a_load_that_fell_short_passes_no_limit_for_that_load() -> None:
    short = run(events=[Event(name="load_short", text="half of it")])
    asked = 'load = "heavy"'
    assert checked(short, LOW).outcome == "PASS"
    found = checked(short, f"{LOW}\n{asked}")
    assert found.outcome == OPEN and "the load was lower than requested" in found.reason
    assert checked(short, f"{HIGH}\n{asked}").outcome == "FAIL"
    assert checked(WHOLE, f"{LOW}\n{asked}").outcome == "PASS"


@pytest.mark.parametrize("fact", [{"emulated": True}, {"time": "instructions"}])
def test_an_emulated_figure_passes_a_limit_that_says_so(fact: dict[str, Any]) -> None:
    assert checked(virtual(**fact), f"{LOW}\nemulated = true").outcome == "PASS"
    assert checked(virtual(**fact), f"{HIGH}\nemulated = true").outcome == "FAIL"


@pytest.mark.parametrize(
    ("document", "outcome", "found", "reason"),
    [
        (claims(True, True), "PASS", "", ""),
        (claims(True, False), "FAIL", "1 of 2 claims hold", "claim1: seen 1"),
        (claims(), OPEN, "", ""),
        # a failed claim of an incomplete run is a finding
        (claims(True, False, complete=False), "FAIL", "", ""),
        (claims(True, complete=False), OPEN, "", "cut off before it ended"),
        (claims(status="denied", reason="EPERM"), OPEN, "", "denied: EPERM"),
        (WHOLE, OPEN, "", "the run has no SEM-B-LCK"),
    ],
)
def test_claims(document: RunDocument, outcome: Outcome, found: str, reason: str) -> None:
    one = checked(document, CLAIMS, "SEM-B-LCK")
    assert one.outcome == outcome
    assert found in one.found and reason in one.reason


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
    ],
)
def test_what_is_not_there_never_passes(
    document: RunDocument, entry: str, address: str, reason: str
) -> None:
    found = checked(document, entry, address)
    assert found.outcome == OPEN and reason in found.reason


@pytest.mark.parametrize("entry", [LOW, HIGH])
def test_fewer_threads_than_asked_for_are_another_figure(entry: str) -> None:
    series = changed_series(spread(2000), name="switch", labels={"threads": 100})
    document = run(test="THR-P-SLS", series=[series], params={"threads": [2, 128]})
    found = checked(document, entry, "THR-P-SLS/128/switch")
    assert found.outcome == OPEN and "100 threads instead of 128" in found.reason


def test_a_limit_holds_under_each_condition_or_under_the_one_it_names() -> None:
    quiet = make.result(values=[1000] * 100, conditions=conditions(load="none"))
    subjects = subjects_of(make.document(results=[quiet, *run().results]))
    text = 'statistic = "max"\nat_most = "2us"'
    everywhere = check_limits([limit(text)], subjects)
    outcomes = [("load none, shared", "PASS"), ("load heavy, shared", "FAIL")]
    assert [(one.condition, one.outcome) for one in everywhere] == outcomes
    named = limit(f'{text}\nload = "none"')
    assert [one.outcome for one in check_limits([named], subjects)] == ["PASS"]


MEAN, MAX = 'statistic = "mean"', 'statistic = "max"'
MUTEX = "MUT-P-ARN/inherit/acquire"  # of CE7: mean below 0.1 us
PREEMPTION = "THR-P-PRE/thread/preemption"  # of Linux: max above 1 ms
TICK = "CLK-P-DUR/tick"  # of QNX: mean 2.2 us
TOLD = {MUTEX: "< 100 ns", PREEMPTION: "> 1 ms", TICK: "2.2 us"}
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
        ("qnx", "SEM-B-LCK", CLAIMS, "PASS"),
        ("qnx", "CLK-B-RES", CLAIMS, OPEN),
    ],
)
def test_bounds_of_a_study_stay_bounds(
    key: str, address: str, entry: str, outcome: Outcome
) -> None:
    (asked,) = read_limits(limit_text(f'address = "{address}"\n{entry}'), OF_STUDIES)
    (found,) = check_limits([asked], [published_system(f"published:{key}")])
    assert found.outcome == outcome, found
    assert found.reason if outcome == OPEN else found.found == TOLD.get(address, found.found)


@pytest.mark.parametrize(
    ("outcomes", "outcome", "code"),
    [
        (["PASS", "PASS"], "PASS", 0),
        (["PASS", OPEN], OPEN, 3),
        (["PASS", "FAIL", OPEN], "FAIL", 1),
        ([], OPEN, 3),
    ],
)
def test_the_worst_decides_and_stands_first(
    outcomes: list[Outcome], outcome: Outcome, code: int
) -> None:
    empty = dict.fromkeys(("system", "condition", "address", "statistic", "wanted", "found"), "")
    checks = [Check(outcome=one, **empty) for one in outcomes]
    document = gate_document("limits", [], [], checks)
    assert [one.outcome for one in document.checks] == sorted(outcomes, key=ORDER.__getitem__)
    assert (document.outcome, document.exit_code) == (outcome, code)


# ---- made from runs ----


def suggested(*runs: RunDocument, margin: float = 0.25) -> tuple[str, list[Limit]]:
    """Read again, and passed by each of the runs."""
    found = suggest_limits([subjects_of(one) for one in runs], margin)
    text = limits_text(found, [one.id for one in runs], margin)
    used = [one.limit for one in found if not one.left_out]
    limits = read_limits(text.encode(), TESTS) if used else []
    assert limits == used
    for one in runs:
        assert {check.outcome for check in check_limits(limits, subjects_of(one))} <= {"PASS"}
    return text, limits


def test_what_comes_out_has_the_margin_and_its_origin() -> None:
    document = make.document(results=[*run().results, behaviour(True, True)])
    text, limits = suggested(document)
    assert [(one.statistic, one.wanted) for one in limits] == [
        ("max", "at most 62.5 us"),
        ("p50", "at most 12.7 us"),
        ("p99", "at most 20.8 us"),
        ("claims", "all claims hold"),
    ]
    where = {(one.load, one.cpu_config, one.policy) for one in limits}
    assert where == {("heavy", "shared", "fifo")}
    assert "a margin of 25 %" in text and "# observed 50 us; plus 25 %" in text
    assert document.id in text


def test_preemption_models_of_one_run_share_their_limits() -> None:
    """A limit cannot name a model, so that it holds under each: the worst of them decides."""
    runs = [
        run(spread(4000, middle=middle), conditions={"preemption": model})
        for model, middle in {"full": 10_000, "none": 10_400}.items()
    ]
    _, limits = suggested(make.document(results=[one.results[0] for one in runs]))
    wanted = [("max", "at most 65 us"), ("p50", "at most 14.5 us")]
    assert [(one.statistic, one.wanted) for one in limits] == wanted


def test_the_worst_run_decides() -> None:
    quick, slow = run(spread(2000)), run(spread(2000, middle=20_000), run_id="20261121T032200Z-b")
    text, limits = suggested(quick, slow, margin=0.5)
    assert limits[0].wanted == "at most 150 us"
    assert "# observed 100 us (worst of 2 runs); plus 50 %" in text


def test_of_a_rate_the_least_counts() -> None:
    _, limits = suggested(rate([50_000_000, 60_000_000]))
    assert [one.wanted for one in limits] == ["at least 40 MB/s"]


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([run(trust=UNTRUSTED)], "untrustworthy: X"),
        ([run(complete=False)], "cut off before it ended"),
        ([claims(True, False)], "FAIL: claim1: seen 1"),
        ([run(), make.document(results=[])], "the run has no TMR-P-LAT"),
        ([run(), run(status="denied", series=[], reason="EPERM")], "denied, EPERM"),
    ],
)
def test_a_limit_that_its_runs_do_not_pass_does_not_come_out(
    runs: list[RunDocument], told: str
) -> None:
    text, limits = suggested(*runs)
    assert limits == []
    assert "# left out: " in text and told in text


def test_emulated_figures_make_limits_that_say_so() -> None:
    text, limits = suggested(virtual(emulated=True))
    assert limits and all(one.is_emulated for one in limits)
    assert "emulated = true" in text


@pytest.mark.slow
@settings(max_examples=20)
@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_hostile_names_stay_words(load: str, label: str, name: str) -> None:
    """No line of it becomes TOML of its own."""
    series = changed_series([1000, 2000], labels={"part": label, "b": name})
    text, limits = suggested(run(series=[series], conditions={"load": load or "x"}))
    if not limits:
        read_limits(f'{text}\n[[limit]]\naddress="SEM-B-LCK"\nclaims="hold"'.encode(), TESTS)
    assert {one.load for one in limits} <= {load or "x"}


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=50), min_size=1, max_size=4),
    st.floats(0.001, 10),
)
def test_no_run_fails_a_limit_made_from_it(values: list[list[int]], margin: float) -> None:
    suggested(*(run(one) for one in values), margin=margin)
