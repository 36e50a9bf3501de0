from __future__ import annotations

import pytest
from msgspec import structs

from hardstone.model import (
    ClockCheck,
    Conditions,
    DataValue,
    Event,
    Moved,
    Plan,
    RunDocument,
    Scalar,
    Skew,
    Verdict,
)
from hardstone.stats.trust import RULES, grade_run
from tests.unit.stats import make


def _skewed(*, consistent: bool) -> RunDocument:
    instrument = make.instrument()
    instrument.skew = [
        Skew(cpu_a=0, cpu_b=1, offset_ns=900, bound_ns=50, consistent=consistent),
    ]
    return make.document(instrument=instrument)


def _broken() -> RunDocument:
    document = make.document()
    document.results[0].series[0].count += 1
    return document


def _broken_pair() -> RunDocument:
    document = make.document()
    assert document.instrument is not None
    document.instrument.pair.max = 1
    return document


def _plan(**changed: str) -> Plan:
    return Plan(**({"name": "n", "profile": "standard", "target": "local"} | changed), tests=[])  # type: ignore[arg-type]


def _counted(name: str) -> RunDocument:
    return make.document(results=[make.result(environment={name: 1})])


def _throttled(*tests: str) -> RunDocument:
    events = [Event(name="throttled", text="the kernel stopped real-time tasks")]
    return make.document(results=[make.result(test, events=events) for test in tests])


def _told(name: str) -> RunDocument:
    return make.document(results=[make.result(events=[Event(name=name, text="how it was")])])


def _worked(*operations: int) -> RunDocument:
    results = [make.result("RSP-P-FIX", calibrated={"add_operations": one}) for one in operations]
    return make.document(results=results)


def _clocked(target_s: int, uncertain_s: int) -> RunDocument:
    second_ns = 1_000_000_000
    return make.document(
        clock_check=ClockCheck(
            host_ns=60 * second_ns,
            target_ns=target_s * second_ns,
            uncertainty_ns=uncertain_s * second_ns,
        )
    )


def _instrument(clock: str) -> RunDocument:
    return make.document(instrument=make.instrument(clock=clock, trusted=False))


UNPRIVILEGED = Conditions(load="heavy", cpu_config="shared", policy="other", realtime=False)


def _unprivileged(status: str) -> RunDocument:
    return make.document(results=[make.result(status=status, conditions=UNPRIVILEGED)])


MOVED = [Moved(fact="cpu.governor", before="performance", after="powersave")]


def parts_seen(matched: int, *, not_slept: int) -> Event:
    data: dict[str, DataValue] = {
        "sample_count": 1000,
        "matched_count": matched,
        "not_slept_count": not_slept,
    }
    return Event(name="parts_seen", text="", data=data)


def by_timerlat(matched: int) -> Event:
    event = parts_seen(matched, not_slept=0)
    event.data["source"] = "timerlat"
    return event


RESUMED = Event(name="joined", text="resumed", data={"gap_ns": 65_000_000_000})
NO_LOAD = Conditions(load="none", policy="fifo", realtime=True)

CASES = [
    ("untrustworthy", "pairs do not ascend", _broken_pair()),
    ("untrustworthy", "settings not restored after TMR-P-LAT", _told("not_put_back")),
    ("untrustworthy", "throttling", _throttled("TMR-P-LAT")),
    ("untrustworthy", "unequal work, so the times are not comparable: RSP-P-FIX",
     _worked(700, 700, 699)),
    ("untrustworthy", "the conditions differed from the request", _told("conditions_differ")),
    ("untrustworthy", "the counter failed its checks", _instrument("tsc")),
    ("untrustworthy", "CPUs 0 and 1 disagree", _skewed(consistent=False)),
    ("untrustworthy", "ran 10 times as fast as this machine's", _clocked(600, 0)),
    ("indicative", "could not be held against this machine's", _clocked(60, 1)),
    ("untrustworthy", "the count is 4", _broken()),
    ("indicative", "virtual machine (kvm)", make.document(system={"virtual.hypervisor": "kvm"})),
    ("indicative", "emulated", make.document(system={"virtual.emulated": True})),
    ("indicative", "virtual time: each instruction takes the same time",
     make.document(system={"virtual.time": "instructions"})),
    ("indicative", "the load fell short", _told("load_short")),
    ("indicative", "the load fell short", _told("load_unseen")),
    ("indicative", "the load fell short", _told("load_ended_early")),
    ("indicative", "steal time", _counted("steal_ns")),
    ("indicative", "because of heat", _counted("thermal_throttled_count")),
    ("indicative", "not scheduled as real-time: TMR-P-LAT", _unprivileged("measured")),
    ("indicative", "not trusted", _instrument("monotonic")),
    ("indicative", "cpu.governor", make.document(environment_moved=MOVED)),
    ("indicative", "clock was set back", make.document(finished_utc="2026-11-21T03:21:59Z")),
    ("indicative", "the run is interrupted", make.document(status="interrupted")),
    (
        "indicative",
        "TMR-P-LAT was resumed: 1 min 5 s of gaps",
        make.document(results=[make.result(events=[RESUMED])]),
    ),
    (
        "indicative",
        "1 totals are missing, and so may be the worst one: TMR-P-LAT",
        make.document(results=[make.result(events=[by_timerlat(999)])]),
    ),
    ("indicative", "more events than fit, some are not known: TMR-P-LAT", _told("events_dropped")),
    ("indicative", "synchronisation means nothing: TMR-P-LAT", _told("file_in_memory")),
    ("indicative", "files on a network file system", _told("file_on_network")),
    (
        "indicative",
        "the parts of many wake-ups were not seen: TMR-P-LAT",
        make.document(results=[make.result(events=[parts_seen(980, not_slept=0)])]),
    ),
    ("indicative", "incomplete: TMR-P-LAT", make.document(results=[make.result(complete=False)])),
    ("indicative", "shorter than standard", make.document(plan=_plan(profile="quick"))),
    ("indicative", "no load", make.document(results=[make.result(conditions=NO_LOAD)])),
    (
        "indicative",
        "load or scheduling is not known: TMR-P-LAT",
        make.document(results=[make.result(conditions=Conditions())]),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("grade", "said", "document"), CASES, ids=[case[1] for case in CASES])
def test_each_cause_lowers_the_grade_with_its_reason(
    grade: str, said: str, document: RunDocument
) -> None:
    trust = grade_run(document)
    assert trust.grade == grade
    assert len(trust.reasons) == 1
    assert said in trust.reasons[0]


def test_wake_ups_that_did_not_sleep_have_no_parts() -> None:
    document = make.document(results=[make.result(events=[parts_seen(700, not_slept=300)])])
    assert grade_run(document).grade == "full"


def test_timerlat_that_saw_all_of_them_lowers_nothing() -> None:
    document = make.document(results=[make.result(events=[by_timerlat(1000)])])
    assert grade_run(document).grade == "full"


def test_every_rule_has_a_case() -> None:
    fired = {rule for _, _, document in CASES for rule in RULES if rule.claim(document)}
    assert fired == set(RULES)


def test_a_guest_that_may_be_emulated() -> None:
    facts: dict[str, Scalar] = {"virtual.hypervisor": "QEMU virt", "virtual.emulated": None}
    reasons = grade_run(make.document(system=facts)).reasons
    assert reasons[0].startswith("virtual machine (QEMU virt)") and "is not known" in reasons[0]


@pytest.mark.parametrize(
    "facts", [{"virtual.emulated": None}, {"virtual.time": None, "virtual.emulated": False}]
)
def test_what_cannot_exclude_emulation_is_not_blamed(facts: dict[str, Scalar]) -> None:
    assert grade_run(make.document(system=facts)).grade == "full"


def test_an_emulator_is_known_by_its_name_too() -> None:
    reasons = grade_run(make.document(system={"virtual.hypervisor": "TCGTCGTCGTCG"})).reasons
    assert "emulated" in reasons[0] and reasons[1].startswith("virtual machine")


def test_what_the_times_are_comes_before_what_hinders_them() -> None:
    facts: dict[str, Scalar] = {"virtual.emulated": True, "virtual.hypervisor": "TCGTCGTCGTCG"}
    reasons = grade_run(make.document(system=facts | {"virtual.time": "instructions"})).reasons
    starts = ("virtual time", "the processor is emulated", "virtual machine")
    assert all(map(str.startswith, reasons, starts))


@pytest.mark.parametrize(
    ("target", "facts", "is_told"),
    [
        ("local", {}, False),
        ("lab:debian", {}, True),
        ("lab:debian", {"virtual.time": "instructions"}, False),
    ],
)
def test_a_guest_whose_clock_was_never_read_is_told(
    target: str, facts: dict[str, Scalar], is_told: bool
) -> None:
    document = make.document(system=facts, clock_check=None)
    document.plan = structs.replace(document.plan, target=target)
    reasons = grade_run(document).reasons
    assert ("the target's clock was not held against this machine's" in reasons) == is_told


def test_a_sound_run_is_trusted_in_full() -> None:
    assert grade_run(make.document()).grade == "full"
    assert grade_run(_skewed(consistent=True)).reasons == []


def test_the_gravest_reason_stands_first() -> None:
    trust = grade_run(
        make.document(
            system={"virtual.hypervisor": "kvm"},
            results=_throttled("TMR-P-LAT").results,
        )
    )
    assert trust.grade == "untrustworthy"
    assert "throttling" in trust.reasons[0] and "kvm" in trust.reasons[1]


def test_equal_work_and_unlike_requests_are_fine() -> None:
    assert grade_run(_worked(700, 700)).reasons == []
    document = _worked(700, 70)
    document.results[1].params = {"block_ns": 1_000_000}
    assert grade_run(document).reasons == []
    document.results[1].params = {"add_operations": 70}
    assert "unequal" in grade_run(document).reasons[0]


def test_throttling_is_known_by_its_event_and_names_the_tests() -> None:
    document = _throttled("SEM-P-SIG", "TMR-P-LAT")
    document.results.append(make.result("CLK-P-BIN", events=[Event(name="stall", text="late")]))
    assert grade_run(document).reasons == [
        "SEM-P-SIG, TMR-P-LAT lost CPU time (throttling or preemption)"
    ]


def test_a_clock_that_was_asked_for_is_no_reason() -> None:
    instrument = make.instrument(clock="monotonic", trusted=False)
    assert (
        grade_run(make.document(instrument=instrument, plan=_plan(clock="monotonic"))).grade
        == "full"
    )


@pytest.mark.parametrize("status", ["measured", "failed", "timeout"])
def test_what_ran_without_realtime_counts_however_it_ended(status: str) -> None:
    assert grade_run(_unprivileged(status)).reasons == ["not scheduled as real-time: TMR-P-LAT"]


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_what_failed_before_it_measured_says_nothing_about_scheduling(status: str) -> None:
    result = make.result(status=status, series=[], conditions=UNPRIVILEGED)
    assert grade_run(make.document(results=[result])).grade == "full"
    result.series = [make.series([])]
    assert grade_run(make.document(results=[result])).grade == "full"
    result.verdicts = [Verdict(name="order", passed=True, evidence="3 of 3")]
    assert grade_run(make.document(results=[result])).grade == "indicative"


def test_a_test_that_did_not_run_says_nothing_about_scheduling() -> None:
    assert grade_run(_unprivileged("denied")).grade == "full"


def _stolen(*spans_ns: int) -> list[str]:
    results = [
        make.result(test=f"SEM-P-{n}", environment={"steal_ns": span})
        for n, span in enumerate(spans_ns)
    ]
    return grade_run(make.document(results=results)).reasons


def test_many_tests_are_counted_and_not_listed() -> None:
    (reason,) = _stolen(*[10_000_000] * 9)
    assert reason.startswith("steal time during SEM-P-0, SEM-P-1, SEM-P-2 and 6 more")


def test_the_time_that_was_taken_away_is_said_in_all() -> None:
    ticks = "counted in kernel ticks"
    assert _stolen(10_000_000, 0, 1_230_000_000) == [
        f"steal time during SEM-P-0, SEM-P-2: 1240 ms in total, {ticks}"
    ]
    assert _stolen(1)[0].endswith(f": less than 1 ms in total, {ticks}")


def test_results_of_one_test_are_told_apart_by_their_conditions() -> None:
    short = [Event(name="load_short", text="too little")]
    document = make.document(results=[make.result(), make.result(events=short)])
    document.results[0].conditions.cpu_config = "shielded"
    (reason,) = grade_run(document).reasons
    assert reason.endswith("during TMR-P-LAT [shared]")
