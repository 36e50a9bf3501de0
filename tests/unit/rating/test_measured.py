"""Runs: which series stand for a criterion, what keeps a rating from being the full one."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.event_names import SHORT
from hardstone.model import (
    Conditions,
    Descriptor,
    Event,
    ParamSpec,
    ParamValue,
    PlannedTest,
    RunDocument,
    Trust,
    Verdict,
)
from hardstone.rating import CategoryRating, Rating, rate_run, special_attention
from hardstone.stats.sustained import STEP
from hardstone.subjects import subjects_of
from tests.unit.rating.rated_runs import (
    conditions,
    full_run,
    labelled,
    planned,
    result_of,
    results,
)
from tests.unit.stats import make


def rating_of(document: RunDocument) -> Rating:
    return rate_run(document)[0][1]


def category(document: RunDocument, name: str) -> CategoryRating:
    return next(one for one in rating_of(document).categories if one.category == name)


def test_a_full_run_has_the_full_rating() -> None:
    rating = rating_of(full_run())
    assert (rating.overall, rating.is_at_most, rating.rated_as) == (5.0, False, [])
    assert rating.configuration == "out of the box" and rating.caps == []


def cut(document: RunDocument) -> None:
    document.results[0].interrupted = True


def failed(document: RunDocument) -> None:
    result_of(document, "MSG-P-LAT").status = "timeout"


def unfinished(document: RunDocument) -> None:
    document.status = "incomplete"


def emulated(document: RunDocument) -> None:
    document.system["virtual.emulated"] = True


def counted(document: RunDocument) -> None:
    document.system["virtual.time"] = "instructions"


def not_known(document: RunDocument) -> None:
    document.system["virtual.emulated"] = None


def virtual(document: RunDocument) -> None:
    document.system |= {"virtual.emulated": False, "virtual.hypervisor": "KVM"}


def time_shared(document: RunDocument) -> None:
    result_of(document, "TMR-P-LAT").conditions = msgspec.structs.replace(
        conditions(), realtime=False
    )


def untrusted(document: RunDocument) -> None:
    document.trust = Trust(grade="untrustworthy", reasons=["throttled"])


def load_short(document: RunDocument) -> None:
    event = Event(name=SHORT[0], text="disk reached 0 %", data={})
    document.results[0].events.append(event)


def quick(document: RunDocument) -> None:
    document.plan = planned(["heavy"], ["shared"], profile="quick")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cut, "incomplete"),
        (failed, "incomplete"),
        (unfinished, "incomplete"),
        (emulated, "emulated"),
        (counted, "virtual time"),
        (not_known, "perhaps emulated"),
        (virtual, "virtual machine"),
        (time_shared, "not scheduled as real-time"),
        (untrusted, "untrustworthy"),
        (load_short, "the load fell short"),
        (quick, "shorter than standard"),
    ],
)
def test_what_keeps_a_rating_from_being_the_full_one(change: object, said: str) -> None:
    document = full_run()
    change(document)  # type: ignore[operator]
    assert rating_of(document).rated_as == [said]


def test_a_run_without_load_is_rated_as_such() -> None:
    where = conditions(load="none")
    document = full_run(results=results(where=where), plan=planned(["none"], ["shared"]))
    assert rating_of(document).rated_as == ["without load"]


@pytest.mark.parametrize("load", ["cpu=1ms/100ms", "storm", "stress-ng:--cpu 1+heavy", "heavyish"])
def test_a_lighter_load_is_rated_as_such(load: str) -> None:
    where = conditions(load=load)
    document = full_run(results=results(where=where), plan=planned([load], ["shared"]))
    assert rating_of(document).rated_as == ["a load other than heavy"]


@pytest.mark.parametrize("load", ["heavy", "heavy@cpu", "heavy+storm", "heavy+stress-ng:--io 1"])
def test_more_than_the_usual_load_is_no_other(load: str) -> None:
    where = conditions(load=load)
    document = full_run(results=results(where=where), plan=planned([load], ["shared"]))
    assert rating_of(document).rated_as == []


def with_params(test: str, defaults: dict[str, list[int | str]], **asked: ParamValue) -> Rating:
    """A full run in which `test` was asked for with the parameters `asked`."""
    specs = [
        ParamSpec(name=name, unit="ns", default=default, is_list=len(default) > 1, about="")
        for name, default in defaults.items()
    ]
    descriptor = Descriptor(
        id=test,
        title=test,
        source="",
        params=specs,
        needs=[],
        series=[],
        verdicts=[],
        default_samples=0,
        default_duration_ns=10**10,
    )
    one = PlannedTest(
        test=test,
        params=dict(asked),
        samples=0,
        duration_ns=10**12,
        deadline_ns=0,
        expected_ns=0,
        load="heavy",
    )
    plan = planned(["heavy"], ["shared"], tests=[one])
    return rating_of(full_run(plan=plan, descriptors=[descriptor]))


@pytest.mark.parametrize(
    ("test", "defaults", "asked"),
    [
        ("TMR-P-LAT", {"interval_ns": [1_000_000]}, {"interval_ns": 10_000}),
        ("SIM-S-RT", {"step_ns": [10_000_000]}, {"step_ns": 10_000_000_000}),
        ("RSP-P-FIX", {"add_operations": [0]}, {"add_operations": 1}),
        ("IRQ-P-LAT", {"source": ["ipi", "timer", "external"]}, {"source": ["ipi"]}),
        ("SIG-B-QUE", {"burst": [100_000]}, {"burst": 1}),
    ],
)
def test_parameters_that_could_flatter_are_told(
    test: str, defaults: dict[str, list[int | str]], asked: dict[str, ParamValue]
) -> None:
    assert with_params(test, defaults, **asked).rated_as == [f"parameters changed: {test}"]


@pytest.mark.parametrize(
    ("test", "defaults", "asked"),
    [
        ("TMR-P-LAT", {"interval_ns": [1_000_000]}, {"interval_ns": 1_000_000}),
        ("TMR-P-LAT", {"cpus": []}, {"cpus": [0, 1]}),
        ("IRQ-P-LAT", {"uio": [-1]}, {"uio": 3}),
        ("THR-P-SLS", {"threads": [2, 10]}, {"threads": [2, 4, 10]}),
        ("FIO-P-SYN", {"size_bytes": [4096]}, {"size_bytes": 1}),  # not rated
    ],
)
def test_other_parameters_are_not(
    test: str, defaults: dict[str, list[int | str]], asked: dict[str, ParamValue]
) -> None:
    assert with_params(test, defaults, **asked).rated_as == []


def one_option(option: str) -> RunDocument:
    return full_run(system={"kernel.cmdline": f"quiet {option} mitigations=auto"})


@pytest.mark.parametrize("option", ["isolcpus=1", "nohz_full=1", "rcu_nocbs=1", "irqaffinity=0"])
def test_boot_options_are_special_attention(option: str) -> None:
    rating = rating_of(one_option(option))
    assert (rating.configuration, rating.overall) == ("special attention", 3.0)
    assert rating.next_half == "configuration: out of the box"


def test_throttling_switched_off_is_special_attention() -> None:
    assert rating_of(full_run(system={"kernel.rt_runtime_us": -1})).overall == 3.0
    assert rating_of(full_run(system={"kernel.rt_runtime_us": 950_000})).overall == 5.0


@pytest.mark.parametrize("option", ["noisolcpus=1", "splash", "cpuidle_haltpoll.force=1"])
def test_other_boot_options_are_none(option: str) -> None:
    assert rating_of(one_option(option)).configuration == "out of the box"


@pytest.mark.parametrize(
    "where",
    [
        conditions(cpu_config="shielded"),
        conditions(cpu_config="single"),
        msgspec.structs.replace(conditions(), dma_latency_us=0),
        msgspec.structs.replace(conditions(), preemption="full"),
    ],
)
def test_a_reserved_cpu_is_special_attention(where: Conditions) -> None:
    plan = planned(["heavy"], [where.cpu_config or ""])
    (run,) = subjects_of(full_run(results=results(where=where), plan=plan))
    assert len(special_attention(run)) == 1


def test_the_headline_is_under_load_in_the_first_configuration() -> None:
    slow = results(lambda one: (3_000_000, 3_000_000), conditions("heavy", "shielded"))
    document = full_run(
        results=[
            *results(where=conditions("none", "shared")),
            *results(lambda one: (100_000, 100_000), conditions("heavy", "shared")),
            *results(lambda one: (300_000, 300_000), conditions("heavier", "shared")),
            *slow,
        ],
        plan=planned(["none", "heavy", "heavier"], ["shared", "shielded"]),
    )
    found = [(run.condition.load, run.condition.cpu_config) for run, _ in rate_run(document)]
    assert found == [
        ("heavier", "shared"),
        ("heavy", "shared"),
        ("none", "shared"),
        ("heavy", "shielded"),
    ]


def test_other_sources_of_interrupts_stand_in_for_a_device() -> None:
    document = full_run()
    latency = result_of(document, "IRQ-P-LAT")
    assert category(document, "interrupts").figures[0].instead == ""
    latency.series = [
        labelled("delivery", {"source": "ipi"}, 40_000, 40_000),
        labelled("delivery", {"source": "timer"}, 60_000, 60_000),
    ]
    found = category(document, "interrupts")
    assert found.decisive is not None and not found.is_at_most
    assert found.decisive.address == "IRQ-P-LAT/timer/delivery"  # the worse of them
    assert "in place of a device" in found.decisive.instead
    latency.series = latency.series[:1]
    assert category(document, "interrupts").figures[0].address == "IRQ-P-LAT/ipi/delivery"


def search(*steps: tuple[int, int]) -> list[Event]:
    """Steps of IRQ-S-SUS: period and interrupts that were lost."""
    return [
        Event(
            name=STEP,
            text="-",
            data={
                "source": "ipi",
                "period_ns": period_ns,
                "interrupts_count": 1000,
                "lost_count": lost,
                "late_count": 0,
                "merged_count": 0,
                "is_source_limited": False,
                "passed": lost == 0,
            },
        )
        for period_ns, lost in steps
    ]


def test_a_search_that_no_period_passed_is_no_gap() -> None:
    """Else a system that loses interrupts at every rate would have the best score."""
    document = full_run()
    result = result_of(document, "IRQ-S-SUS")
    result.series = [labelled("minimal_period", {"source": "ipi"})]
    result.events = search((50_000, 7), (100_000, 3))
    found = category(document, "interrupts")
    assert found.decisive is not None and found.decisive.amount.above == 100_000
    assert found.is_at_most and (found.score or 5) < 3.5
    result_of(document, "IRQ-P-LAT").series = [labelled("delivery", {"source": "ipi"}, 1000, 10**9)]
    found = category(document, "interrupts")
    assert found.decisive is not None and found.decisive.address == "IRQ-P-LAT/ipi/delivery"
    assert not found.is_at_most  # the lowest score is reached, whatever the bound stands for
    result.events = search((50_000, 7), (100_000, 0))  # it was sustained, and the value is gone
    found = category(document, "interrupts")
    assert found.is_at_most and any("IRQ-S-SUS" in text for text in found.missing)


def test_without_a_tick_all_gaps_are_rated() -> None:
    document = full_run()
    result = result_of(document, "CLK-P-DUR")
    result.series = [labelled("tick", {}), labelled("gap", {}, 40_000, 50_000)]
    found = category(document, "clock")
    assert found.decisive is not None and found.decisive.amount.value == 50_000
    assert found.decisive.instead
    result.series = [labelled("tick", {}), labelled("gap", {})]
    found = category(document, "clock")
    assert found.stars == 5.0 and found.decisive is not None
    assert found.decisive.amount.notes == ("no gap was seen",)
    result.series = []
    assert category(document, "clock").stars is None


def test_the_worst_of_several_cpus_is_rated() -> None:
    document = full_run()
    result = result_of(document, "TMR-P-LAT")
    result.series = [
        labelled("wakeup", {"part": "total", "cpu": str(cpu)}, 1000, 1000 + cpu * 30_000)
        for cpu in range(3)
    ]
    found = category(document, "timers")
    assert found.decisive is not None and found.decisive.address == "TMR-P-LAT/total/2/wakeup"


def test_threads_and_processes_that_take_one_way_stand_for_both() -> None:
    document = full_run()
    result = result_of(document, "SEM-P-ARN")
    names = [("acquire", 400), ("release", 400)]
    result.series = [labelled(n, {"kind": "unnamed", "scope": "both"}, v) for n, v in names]
    assert category(document, "semaphores").missing == []


def test_fewer_waiters_than_asked_for_are_rated_where_the_system_has_no_more() -> None:
    document = full_run()
    result = result_of(document, "SEM-P-ARC")
    result.params["waiters"] = [1, 128]
    labels = {"kind": "unnamed", "scope": "thread", "waiters": "97"}
    result.series = [labelled(name, labels, 90_000) for name in ("acquire", "release")]
    found = category(document, "semaphores")
    assert found.decisive is not None and "/97/" in found.decisive.address
    result.params["waiters"] = [97]  # asked for: not a shortened 128
    assert category(document, "semaphores").stars is None


def test_a_contradictory_figure_is_missing() -> None:
    document = full_run()
    result_of(document, "CLK-P-DUR").series[0].max = 1
    found = category(document, "clock")
    assert found.stars is None
    assert rating_of(document).overall is None and "untrustworthy" in rating_of(document).rated_as


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [("denied", "no right", "no right"), ("unsupported", "none here", "none here")],
)
def test_what_was_not_measured_says_why(status: str, reason: str, said: str) -> None:
    lacking = make.result("MSG-P-LAT", series=[], status=status, reason=reason)
    others = [one for one in results() if one.test not in ("MSG-P-LAT", "SIG-B-QUE")]
    found = category(full_run(results=[*others, lacking]), "messages")
    assert found.is_at_most and any(said in text for text in found.missing)
    assert "SIG-B-QUE: not run" in found.missing


def test_a_failed_claim_of_a_run_is_named() -> None:
    document = full_run()
    failing = Verdict(name="mixed/sysv/process", passed=False, evidence="order 1 3 2")
    result_of(document, "SEM-B-REL").verdicts.append(failing)
    found = category(document, "semaphores")
    assert (found.stars, found.failed) == (2.0, ["SEM-B-REL mixed/sysv/process"])
    assert rating_of(document).overall == 3.0


def test_a_step_that_missed_its_deadline_is_named() -> None:
    document = full_run()
    result = result_of(document, "SIM-S-RT")
    result.series = [
        labelled("lateness", {"masses": "400", "threads": str(n), "solver": "semaphore"}, *late)
        for n, late in ((1, ()), (2, (5_000,)))
    ]
    found = category(document, "application")
    assert found.stars == 2.0 and found.score == 2.0
    assert found.failed_here == ["SIM-S-RT/400/2/semaphore/lateness: a step missed its deadline"]
    assert found.next_half.startswith("not again SIM-S-RT/400/2/semaphore/lateness")


def test_a_simulation_that_did_not_run_is_missing() -> None:
    """No late step was recorded either, which says nothing."""
    document = full_run()
    result_of(document, "SIM-S-RT").status = "failed"
    assert category(document, "application").stars is None


def test_a_run_of_another_test_is_not_rated() -> None:
    rating = rating_of(make.document(results=[make.result("FIO-P-STR")]))
    assert rating.overall is None and all(one.stars is None for one in rating.categories)


def test_an_empty_run_is_not_rated() -> None:
    ((_, rating),) = rate_run(make.document(results=[]))
    assert rating.overall is None and rating.is_at_most


def test_thousands_of_failed_claims_stay_a_line() -> None:
    document = full_run()
    result_of(document, "SEM-B-REL").verdicts += [
        Verdict(name=f"mixed/{'x' * 100}{number}", passed=False, evidence="-")
        for number in range(5_000)
    ]
    found = category(document, "semaphores")
    assert len(found.failed) == 5_000 and len(found.next_half) < 1000
    assert "and 4997 more must hold" in found.next_half


@pytest.mark.slow
def test_a_reason_that_lists_every_series_is_cut() -> None:
    document = full_run()
    result = result_of(document, "MSG-P-LAT")
    result.series = [
        labelled("latency", {"kind": f"kind {number}", "scope": "thread"}, 1000)
        for number in range(500)
    ]
    assert max(map(len, category(document, "messages").missing)) < 300
