"""The grade of a run: every cause that lowers it, with its reason; among them the clock of the
target, and a run that is shorter than `standard`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from hardstone.catalogue import load_catalogue
from hardstone.model import (
    ChangedFact,
    ClockCheck,
    Conditions,
    DataValue,
    Descriptor,
    Event,
    Loss,
    ParamValue,
    Plan,
    PlannedTest,
    RunDocument,
    Scalar,
    Skew,
    Stopped,
    Verdict,
    Window,
)
from hardstone.plan.make import Request, make_plan
from hardstone.present.notices import deviations
from hardstone.present.overview import stands_out
from hardstone.stats.consistency import clocks_apart, clocks_not_held, trust_of
from hardstone.stats.noise import with_noise
from hardstone.stats.trust import INDICATIVE, UNTRUSTWORTHY, grade_run
from tests import imported
from tests.process.targets import sample
from tests.unit.stats import make

MINUTE_NS = 60_000_000_000


def _watched(span_ns: int) -> list[Window]:
    return [Window(begin_ns=0, end_ns=span_ns, distance_ns=[], length_ns=[])]


def of(**result: object) -> RunDocument:
    return make.document(results=[make.result(**result)])


def on(**facts: Scalar) -> RunDocument:
    return make.document(system={name.replace("__", "."): value for name, value in facts.items()})


def told(name: str, *tests: str) -> RunDocument:
    event = Event(name=name, text="how it was")
    tests = tests or ("TMR-P-LAT",)
    return make.document(results=[make.result(test, events=[event]) for test in tests])


def skewed(*, consistent: bool) -> RunDocument:
    instrument = make.instrument()
    skew = Skew(cpu_a=0, cpu_b=1, offset_ns=900, bound_ns=50, consistent=consistent)
    instrument.skew = [skew]
    return make.document(instrument=instrument)


def broken() -> RunDocument:
    document = make.document()
    document.results[0].series[0].count += 1
    return document


def broken_pair() -> RunDocument:
    document = make.document()
    document.instrument.pair.max = 1
    return document


def worked(*operations: int, **params_of_last: ParamValue) -> RunDocument:
    results = [make.result("RSP-P-FIX", calibrated={"add_operations": one}) for one in operations]
    results[-1].params = params_of_last
    return make.document(results=results)


def in_lab(document: RunDocument) -> RunDocument:
    """A guest whose clock was never read."""
    return structs.replace(document, plan=make.plan_of([], target="lab:debian"), clock_check=None)


def clock(ratio: float, uncertainty_ns: int = 0, host_ns: int = MINUTE_NS) -> ClockCheck:
    target_ns = round(host_ns * ratio)
    return ClockCheck(host_ns=host_ns, target_ns=target_ns, uncertainty_ns=uncertainty_ns)


def untrusted(clock: str) -> RunDocument:
    return make.document(instrument=make.instrument(clock=clock, trusted=False))


def blocks(
    *took_ns: int, load: str = "none", params: int = 0, planned: int = 0, block_ns: object = 10**7
) -> RunDocument:
    """Blocks of 10 ms, whose operations a request gave or the run found."""
    series = structs.replace(make.series(took_ns, "time"), labels={"kind": "add"})
    asked = PlannedTest(
        test="RSP-P-FIX",
        params={"add_operations": planned},
        samples=0,
        duration_ns=0,
        deadline_ns=0,
        expected_ns=0,
    )
    result = make.result(
        "RSP-P-FIX",
        series=[series],
        params={"add_operations": params, "block_ns": block_ns},
        calibrated={"add_operations": 70},
        conditions=Conditions(load=load, policy="fifo", realtime=True),
    )
    loaded = make.result("RSP-P-FIX", series=[], status="skipped")
    return make.document(results=[result, loaded], plan=make.plan_of([asked]))


UNPRIVILEGED = Conditions(load="heavy", cpu_config="shared", policy="other", realtime=False)
NO_LOAD = Conditions(load="none", policy="fifo", realtime=True)
MOVED = [ChangedFact(fact="cpu.governor", before="performance", after="powersave")]
RESUMED = Event(name="joined", text="resumed", data={"gap_ns": 65_000_000_000})


def accounted(early: int) -> RunDocument:
    data: dict[str, DataValue] = {"source": "timer", "seen_count": 1000, "early_count": early}
    data["earliest_ns"] = 9890
    return of(events=[Event(name="interrupts_accounted", at_ns=None, text="of 1000", data=data)])


def parts_seen(matched: int, not_slept: int = 0, **data: DataValue) -> RunDocument:
    data |= {"sample_count": 1000, "matched_count": matched, "not_slept_count": not_slept}
    return of(events=[Event(name="parts_seen", text="", data=data)])


def stopped(
    *stops: tuple[int, int | None], apart: tuple[int, int] | None = (1, 2_540_000_000)
) -> RunDocument:
    """Each stop with what is known of its length, and its end; values that were kept apart."""
    result = make.result()
    result.events = [
        Event(name="stopped", text="", at_ns=at_ns, data={"least_ns": least_ns})
        for least_ns, at_ns in stops
    ]
    if apart is not None:
        result.series[0].stopped = Stopped(count=apart[0], worst=apart[1])
    return make.document(results=[result])


def stolen(*spans_ns: int) -> RunDocument:
    environments = [{"steal_ns": span} for span in spans_ns]
    return make.document(
        results=[make.result(f"SEM-P-{n}", environment=one) for n, one in enumerate(environments)]
    )


def throttled(policy: str) -> RunDocument:
    conditions = Conditions(load="heavy", policy=policy)
    return of(environment={"throttled_ns": 6_800_000_000}, conditions=conditions)


OVERFLOWED = [Loss(what="overflow", text="the file does not count what is above 20 us")]

CASES = [
    ("untrustworthy", "pairs do not ascend", broken_pair()),
    ("untrustworthy", "settings not restored after TMR-P-LAT", told("not_put_back")),
    ("untrustworthy", "throttling", told("throttled")),
    ("untrustworthy", "the amounts of work differ, so the times are not comparable: RSP-P-FIX",
     worked(700, 700, 699)),
    ("untrustworthy", "the amounts of work differ", worked(700, 70, add_operations=70)),
    ("untrustworthy", "the conditions differed from the request", told("conditions_differ")),
    ("untrustworthy", "the counter failed its checks", untrusted("tsc")),
    ("untrustworthy", "CPUs 0 and 1 disagree", skewed(consistent=False)),
    ("untrustworthy", "ran 10 times as fast as this machine's",
     make.document(clock_check=clock(10))),
    ("indicative", "could not be checked against this machine's",
     make.document(clock_check=clock(1, 1_000_000_000))),
    ("indicative", "the target's clock was not checked against this machine's",
     in_lab(make.document())),
    ("untrustworthy", "the count is 4", broken()),
    ("indicative", "virtual machine (kvm)", on(virtual__hypervisor="kvm")),
    ("indicative", "emulated", on(virtual__emulated=True)),
    ("indicative", "virtual time: each instruction takes the same time",
     on(virtual__time="instructions")),
    ("indicative", "without load the median block took 21.0 ms (add), calibrated to 10 ms",
     blocks(9_990_000, 21_000_000, 21_000_000)),
    ("untrustworthy", "the figures include values from while the program was stopped: TMR-P-LAT",
     told("stops_mixed")),
    ("indicative", "the program was stopped for 2.54 s or more until 12.3 s (TMR-P-LAT): set "
     "aside: 1 of wakeup (worst 2.54 s)", stopped((2_540_000_000, 12_300_000_000))),
    ("indicative", "the program was stopped 2 times for 1 h or more (TMR-P-LAT): set aside: 2 of "
     "wakeup", stopped((1, 5), (3_600_000_000_000, 9), apart=(2, 7))),
    ("indicative", "the program was stopped (TMR-P-LAT): no value was affected",
     stopped((0, None), apart=None)),
    ("indicative", (
        "stops of the program cannot be detected and would look like latencies: TMR-P-LAT"
    ),
     told("stops_not_watched")),
    ("indicative", "the load was lower than requested", told("load_short")),
    ("indicative", "the load was lower than requested", told("load_unseen")),
    ("indicative", "the load was lower than requested", told("load_ended_early")),
    ("indicative", "the hypervisor took", of(environment={"steal_ns": 1})),
    ("indicative", "a CPU quota stopped the control group during TMR-P-LAT: 6800 ms in total",
     throttled("other")),
    ("indicative", "because of heat", of(environment={"thermal_throttled_count": 1})),
    ("indicative", "not scheduled as real-time: TMR-P-LAT", of(conditions=UNPRIVILEGED)),
    ("indicative", "not trusted", untrusted("monotonic")),
    ("indicative", "cpu.governor", make.document(environment_moved=MOVED)),
    ("indicative", "clock was set back", make.document(finished_utc="2026-11-21T03:21:59Z")),
    ("indicative", "the run is interrupted", make.document(status="interrupted")),
    ("indicative", (
        "TMR-P-LAT was resumed: nothing was recorded for 1 min 5 s"
    ), of(events=[RESUMED])),
    ("indicative", "1 totals are missing, perhaps including the worst one: TMR-P-LAT",
     parts_seen(999, source="timerlat")),
    ("indicative", "interrupts arrived before they were due, by up to 9.89 us", accounted(11)),
    ("indicative", "more events than fit, some are lost: TMR-P-LAT", told("events_dropped")),
    ("indicative", "connected to the target while it measured: TMR-P-LAT", told("connected")),
    ("indicative", "synchronisation means nothing: TMR-P-LAT", told("file_in_memory")),
    ("indicative", "the files were on a network file system", told("file_on_network")),
    ("indicative", "the parts of many wake-ups were not seen: TMR-P-LAT", parts_seen(980)),
    ("indicative", "incomplete: TMR-P-LAT", of(complete=False)),
    ("indicative", "shorter than standard", make.document(plan=make.plan_of([], profile="quick"))),
    ("indicative", "no load", of(conditions=NO_LOAD)),
    ("indicative", "the load or the scheduling is unknown: TMR-P-LAT", of(conditions=Conditions())),
    ("indicative", "read from a file of cyclictest 2.40: hardstone did not measure it",
     imported.imported_run(result=make.result())),
    ("indicative", "did not measure it; values above the range of its histogram",
     imported.imported_run(result=make.result(), losses=OVERFLOWED)),
]  # fmt: skip


def test_figures_of_a_file_that_contradict_each_other_are_no_better_than_own_ones() -> None:
    wrong = imported.imported_result(imported.bare(mean=99_000.0))
    trust = grade_run(imported.imported_run(result=wrong))
    assert trust.grade == "untrustworthy"
    assert "the mean 99000 is not between minimum and maximum" in trust.reasons[0]
    assert any(one.startswith("read from a file") for one in trust.reasons)


def test_a_stop_counts_as_time_without_load() -> None:
    short = Event(name="load_short", text="-", at_ns=None)
    stopped = Event(name="stopped", text="-", at_ns=None, data={"least_ns": 5})
    for events, is_said in (([short], False), ([short, stopped], True)):
        reasons = grade_run(of(events=events)).reasons
        assert (
            any("(its share includes the time of the stop: TMR-P-LAT" in one for one in reasons)
            is is_said
        )


def test_one_early_interrupt_of_a_hundred_is_the_clocks_of_two_cpus() -> None:
    assert not grade_run(accounted(10)).reasons


@pytest.mark.parametrize(("grade", "said", "document"), CASES, ids=[case[1] for case in CASES])
def test_each_cause_lowers_the_grade_with_its_reason(
    grade: str, said: str, document: RunDocument
) -> None:
    trust = grade_run(document)
    (reason,) = trust.reasons
    assert trust.grade == grade and said in reason


def test_every_claim_has_a_case() -> None:
    claims = {*UNTRUSTWORTHY, *INDICATIVE}
    assert {claim for _, _, document in CASES for claim in claims if claim(document)} == claims


@pytest.mark.parametrize(
    "document",
    [
        make.document(),
        told("stall"),
        skewed(consistent=True),
        parts_seen(700, not_slept=300),
        parts_seen(1000, source="timerlat"),
        on(virtual__emulated=None),  # what cannot exclude emulation is not blamed
        on(virtual__time=None, virtual__emulated=False),
        worked(700, 700),
        worked(700, 70, block_ns=1_000_000),  # another request
        make.document(clock_check=clock(1)),
        make.document(clock_check=None),
        # a clock that was asked for is no reason
        structs.replace(untrusted("monotonic"), plan=make.plan_of([], clock="monotonic")),
        throttled("fifo"),  # a quota stops no real-time thread
        # what did not run, or failed before it measured, says nothing about scheduling
        of(status="denied", conditions=UNPRIVILEGED),
        of(status="failed", series=[], conditions=UNPRIVILEGED),
        of(status="timeout", series=[make.series([])], conditions=UNPRIVILEGED),
    ],
)
def test_a_sound_run_is_trusted_in_full(document: RunDocument) -> None:
    trust = grade_run(document)
    assert (trust.grade, trust.reasons) == ("full", [])


@pytest.mark.parametrize(
    ("document", "starts"),
    [
        (on(virtual__hypervisor="QEMU virt", virtual__emulated=None),
         ["virtual machine (QEMU virt); its processor may be emulated"]),
        # an emulator is known by its name too
        (on(virtual__hypervisor="TCGTCGTCGTCG"), ["the processor is emulated", "virtual machine"]),
        # what the times are comes before what hinders them
        (on(virtual__emulated=True, virtual__hypervisor="TCGTCGTCGTCG",
            virtual__time="instructions"),
         ["virtual time", "the processor is emulated", "virtual machine"]),
        # the gravest stands first
        (structs.replace(told("throttled"), system={"virtual.hypervisor": "kvm"}),
         ["TMR-P-LAT lost CPU time (throttling or preemption)", "virtual machine (kvm)"]),
        (in_lab(on(virtual__time="instructions")), ["virtual time"]),  # no clock of the host
        (told("throttled", "SEM-P-SIG", "TMR-P-LAT"),
         ["SEM-P-SIG, TMR-P-LAT lost CPU time (throttling or preemption)"]),
        *((of(status=status, conditions=UNPRIVILEGED), ["not scheduled as real-time: TMR-P-LAT"])
          for status in ("measured", "failed", "timeout")),
        (of(status="failed", series=[], conditions=UNPRIVILEGED,
            verdicts=[Verdict(name="order", passed=True, evidence="3 of 3")]),
         ["not scheduled as real-time: TMR-P-LAT"]),
        (stolen(*[10_000_000] * 9), ["the hypervisor took 90 ms across 9 tests"]),
        (stolen(10_000_000, 0, 1_230_000_000),
         ["the hypervisor took 1.24 s during SEM-P-0, SEM-P-2"]),
        (stolen(1), ["the hypervisor took less than 1 ms during SEM-P-0"]),
    ],
)  # fmt: skip
def test_reasons_name_tests_and_figures_the_gravest_first(
    document: RunDocument, starts: list[str]
) -> None:
    reasons = grade_run(document).reasons
    assert len(reasons) == len(starts)
    assert all(map(str.startswith, reasons, starts)), reasons


@pytest.mark.parametrize(
    ("changed", "is_said"),
    [
        ({"series": []}, True),
        ({"series": [make.series([])]}, True),
        ({"series": [make.series([])], "windows": _watched(9_999_999)}, True),
        ({"series": [make.series([])], "windows": _watched(10_000_000)}, False),
        ({"series": [], "verdicts": [Verdict(name="a", passed=False, evidence="-")]}, False),
        ({"series": [make.series([5])]}, False),
        ({"series": [], "status": "skipped"}, False),
    ],
)
def test_measured_without_an_observation_is_untrustworthy(
    changed: dict[str, object], is_said: bool
) -> None:
    run = make.document(results=[make.result(**changed)])
    said = "TMR-P-LAT: measured without a value or a verdict: nothing was observed"
    assert (said in trust_of(run).reasons) == is_said
    assert (trust_of(run).grade == "untrustworthy") == is_said
    noise = with_noise(run.results[0]).noise
    assert bool(noise) == (bool(run.results[0].windows) and not is_said)


def test_results_of_one_test_are_told_apart_by_their_conditions() -> None:
    document = make.document(results=[make.result(), *told("load_short").results])
    document.results[0].conditions.cpu_config = "shielded"
    (reason,) = grade_run(document).reasons
    assert reason.endswith("during TMR-P-LAT [shared]")


# ---- the clock of the target beside that of this machine ----

MOST = 2**63 - 1


@pytest.mark.parametrize("ratio", [1.0, 1.009, 0.991, 1.01, 0.99])
def test_clocks_within_one_percent_agree(ratio: float) -> None:
    one = clock(ratio, 1_000_000)
    assert (clocks_apart(one), clocks_not_held(one)) == (None, None)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (clock(1.011), "ran 1.011 times as fast"),
        (clock(0.989), "ran 0.989 times as fast"),
        (clock(10.15), "ran 10.15 times as fast as this machine's"),
        (clock(0.1), "ran 0.1 times as fast"),
        (clock(0.001), "ran 0.001 times as fast"),
        (clock(1e-6), "ran less than 0.001 times as fast"),
        (clock(12_345_678.0), "ran 12\N{NO-BREAK SPACE}345\N{NO-BREAK SPACE}678 times as fast"),
        (clock(0), "the target's clock stood still"),
        (clock(-1), "the target's clock went back"),
        (clock(10, 2_000_000_000), "10 times"),  # in spite of a long round trip
    ],
)
def test_clocks_apart_are_told_in_figures(one: ClockCheck, said: str) -> None:
    assert said in clocks_apart(one)
    assert clocks_not_held(one) is None


@pytest.mark.parametrize(("uncertainty_ns", "is_apart"), [(4, True), (5, False)])
def test_the_uncertainty_counts_for_the_target(uncertainty_ns: int, is_apart: bool) -> None:
    target_ns = MINUTE_NS + MINUTE_NS // 100 + 5
    one = ClockCheck(host_ns=MINUTE_NS, target_ns=target_ns, uncertainty_ns=uncertainty_ns)
    assert bool(clocks_apart(one)) == is_apart


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (clock(1.0, 700_000_000), "the uncertainty is 700 ms in 60 s"),
        (clock(1.0, 0, host_ns=0), "the uncertainty is 0 ns in 0 ns"),
        (clock(1.0, 5_000, host_ns=0), "the uncertainty is 5 us in 0 ns"),
        (clock(10, 0, host_ns=-7), "in 0 ns"),
    ],
)
def test_a_span_that_proves_nothing(one: ClockCheck, said: str) -> None:
    assert clocks_apart(one) is None
    assert said in clocks_not_held(one)


@pytest.mark.parametrize("host_ns", [-MOST, 0, 1, MOST])
@pytest.mark.parametrize("target_ns", [-MOST, 0, 1, MOST])
@pytest.mark.parametrize("uncertainty_ns", [-MOST, 0, 1, MOST])
def test_no_figure_is_too_large(host_ns: int, target_ns: int, uncertainty_ns: int) -> None:
    one = ClockCheck(host_ns=host_ns, target_ns=target_ns, uncertainty_ns=uncertainty_ns)
    reasons = [clocks_apart(one), clocks_not_held(one)]
    assert None in reasons
    assert all(len(text) < 150 for text in reasons if text is not None)


# ---- shorter than standard: by lengths, else by the profile's name ----

SHORTER = "run shorter than standard"
LONG_NS = 110_000_000_000  # of TMR-P-LAT under `standard`
INT64 = 2**63
DESCRIPTORS = sample.register().tests


def reasons(plan: Plan, *, descriptors: list[Descriptor] = DESCRIPTORS) -> list[str]:
    """Of a run that has no other reason."""
    return grade_run(make.document(plan=plan, descriptors=descriptors)).reasons


def asked(*tests: str, profile: str = "standard", **typed: str) -> list[str]:
    """Reasons of the run that a command line asks for."""
    wanted = Request(tests=tests, profile=profile, **typed)
    return reasons(make_plan(wanted, sample.register(), load_catalogue()))


def planned(test: str, samples: int, duration_ns: int, *, profile: str = "standard") -> Plan:
    one = sample.planned(test, samples=samples, duration_ns=duration_ns)
    return make.plan_of([one], profile=profile)


@pytest.mark.parametrize("test", [*load_catalogue().ids(), "*"])
def test_every_test_and_the_battery_are_as_long_as_their_profile(test: str) -> None:
    is_longer = True
    if test != "*":
        profiles = load_catalogue().entry(test).profiles
        is_longer = profiles["quick"] != profiles["standard"]
    assert asked(test, profile="quick") == ([SHORTER] if is_longer else [])
    assert asked(test, profile="standard") == asked(test, profile="soak") == []


@pytest.mark.parametrize(
    ("test", "typed", "is_short"),
    [
        ("TMR-P-LAT", {"duration": "0.1"}, True),
        ("TMR-P-LAT", {"duration": "109.999s"}, True),
        ("TMR-P-LAT", {"duration": "110s"}, False),
        ("RSP-P-FIX", {"samples": "799"}, True),
        ("RSP-P-FIX", {"samples": "800"}, False),
        ("TMR-P-LAT", {"duration": "10m", "samples": "5"}, True),
        ("TMR-P-LAT", {"duration": "1s", "samples": "1000000"}, True),
        ("RSP-P-FIX", {"duration": "1s", "samples": "1000"}, True),
        ("RSP-P-FIX", {"duration": "10h", "samples": "1000"}, False),
    ],
)
def test_a_length_that_was_typed_decides_and_not_the_profile(
    test: str, typed: dict[str, str], is_short: bool
) -> None:
    for profile in ("quick", "standard", "soak"):
        assert asked(test, profile=profile, **typed) == ([SHORTER] if is_short else [])


@pytest.mark.parametrize(
    ("test", "typed", "is_short"),
    [
        ("TMR-P-LAT", {"samples": "109999", "interval": "1000"}, True),
        ("TMR-P-LAT", {"samples": "110000", "interval": "1000"}, False),
        ("TMR-P-LAT", {"samples": "110000", "interval": "100"}, True),
        ("SEM-P-ARN", {"duration": "0.1"}, True),
        ("SEM-P-ARN", {"duration": "1h"}, False),
        # it ignores durations: its samples are the probe's default
        ("THR-B-NEW", {"duration": "1h"}, True),
        ("THR-B-NEW", {"duration": "1h", "samples": "40", "profile": "quick"}, False),
        # it runs until it is done
        ("MUT-B-ARC", {"profile": "quick"}, False),
        ("MUT-B-ARC", {"profile": "quick", "duration": "0.1"}, False),
        ("MUT-B-ARC", {"profile": "quick", "samples": "1"}, False),
    ],
)
def test_samples_and_durations_are_compared_by_the_expected_time(
    test: str, typed: dict[str, str], is_short: bool
) -> None:
    assert asked(test, **typed) == ([SHORTER] if is_short else [])


@pytest.mark.parametrize(
    ("duration", "said"), [("1m", [f"{SHORTER}: TMR-P-LAT"]), ("1s", [SHORTER]), ("4m", [])]
)
def test_tests_are_named_where_others_are_long_enough(duration: str, said: list[str]) -> None:
    battery = ("TMR-P-LAT", "CLK-P-BIN", "MUT-B-ARC")
    assert asked(*battery, profile="quick", duration=duration) == said


def test_many_short_tests_are_counted_and_each_is_named_once() -> None:
    mixed = [sample.planned("RSP-P-FIX", samples=1000, duration_ns=0)]
    mixed += [
        sample.planned(test, samples=1, duration_ns=0, cpu_config=config)
        for test in ("SEM-P-NEW", "SEM-P-ARN", "SEM-P-ARC", "SEM-P-SIG", "MUT-P-INV")
        for config in ("shared", "single")
    ]
    said = f"{SHORTER}: SEM-P-NEW, SEM-P-ARN, SEM-P-ARC and 2 more"
    assert reasons(make.plan_of(mixed)) == [said]


@pytest.mark.parametrize("lengths_ns", [(1, LONG_NS), (LONG_NS, 1)])
def test_a_test_is_short_if_it_is_so_under_one_condition(lengths_ns: tuple[int, int]) -> None:
    lengths = [sample.planned("TMR-P-LAT", duration_ns=one) for one in lengths_ns]
    long_enough = sample.planned("CLK-P-BIN", duration_ns=LONG_NS)
    assert reasons(make.plan_of([*lengths, long_enough])) == [f"{SHORTER}: TMR-P-LAT"]


@pytest.mark.parametrize(
    ("profile", "said"),
    [("quick", [SHORTER]), ("standard", []), ("soak", []), ("", []), ("unheard", [])],
)
def test_the_name_decides_where_no_length_is_known_or_comparable(
    profile: str, said: list[str]
) -> None:
    assert reasons(make.plan_of([], profile=profile)) == said
    for one in (("NEW-P-ONE", 1, 0), ("", 0, 1)):
        assert reasons(planned(*one, profile=profile)) == said
    for one in (("TMR-P-LAT", 10, 0), ("SEM-P-ARN", 0, LONG_NS), ("THR-B-NEW", 0, LONG_NS)):
        assert reasons(planned(*one, profile=profile), descriptors=[]) == said
    for samples, duration_ns, found in ((0, 1, [SHORTER]), (1, 1, [SHORTER]), (0, LONG_NS, [])):
        plan = planned("TMR-P-LAT", samples, duration_ns, profile=profile)
        assert reasons(plan, descriptors=[]) == found


@pytest.mark.parametrize(
    ("test", "samples", "duration_ns", "is_short"),
    [
        ("RSP-P-FIX", -1, 0, True),
        ("RSP-P-FIX", INT64 - 1, 0, False),
        ("TMR-P-LAT", 0, -1, True),
        ("TMR-P-LAT", -INT64, 0, True),
        ("TMR-P-LAT", 0, 0, False),
        ("SEM-P-ARN", 0, -INT64, True),
        ("MUT-B-ARC", -1, -1, False),
    ],
)
def test_lengths_that_no_plan_has_are_compared_all_the_same(
    test: str, samples: int, duration_ns: int, is_short: bool
) -> None:
    assert reasons(planned(test, samples, duration_ns)) == ([SHORTER] if is_short else [])


WHOLE = st.integers(-INT64, INT64 - 1)
PARAMS = ["interval_ns", "periods_ns", "kinds", "scopes", "cpus"]
PLANNED = st.builds(
    PlannedTest,
    test=st.one_of(st.sampled_from(load_catalogue().ids()), st.text(max_size=9)),
    params=st.dictionaries(
        st.sampled_from(PARAMS), st.one_of(WHOLE, st.text(max_size=5), st.lists(WHOLE, max_size=3))
    ),
    samples=WHOLE,
    duration_ns=WHOLE,
    deadline_ns=WHOLE,
    expected_ns=WHOLE,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(PLANNED, max_size=5), st.sampled_from(["quick", "standard", ""]), st.booleans())
def test_no_plan_breaks_the_grade(
    tests: list[PlannedTest], profile: str, has_descriptors: bool
) -> None:
    plan = make.plan_of(tests, profile=profile)
    found = reasons(plan, descriptors=DESCRIPTORS if has_descriptors else [])
    assert len(found) <= 1 and all(one.startswith(SHORTER) for one in found)


MS = 1_000_000


@pytest.mark.parametrize(
    ("document", "is_told"),
    [
        (blocks(*[11 * MS - 10_000] * 9, 80 * MS), False),  # to 10 % a quiet system may be off
        (blocks(*[11 * MS + 20_000] * 9), True),
        (blocks(*[9 * MS + 10_000] * 9), False),
        (blocks(*[8 * MS + 900_000] * 9), True),  # the calibration was what was disturbed
        (blocks(*[10 * MS] * 5, *[90 * MS] * 4), False),  # the median, not the mean
        (blocks(21 * MS, load="heavy"), False),  # that is what load does
        (blocks(21 * MS, params=70), True),  # carried from another result of the run
        (blocks(21 * MS, params=70, planned=70), False),  # a block of other work
        (blocks(21 * MS, block_ns="10ms"), False),
        (blocks(), False),
    ],
)
def test_the_unloaded_median_is_held_against_the_calibrated_block(
    document: RunDocument, is_told: bool
) -> None:
    reasons = [one for one in grade_run(document).reasons if "median block" in one]
    assert bool(reasons) == is_told
    notices = [one for one in deviations(document) if one.kind == "block"]
    assert [one.who.partition(",")[0] for one in notices] == ["RSP-P-FIX"] * is_told
    assert all("the CPU was busy" in one.text for one in notices)
    assert any("median block" in one.text for one in stands_out(document)) == is_told
