"""Runs: which series stand for a criterion, what keeps a rating from being the full one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from hardstone.event_names import SHORT
from hardstone.model import (
    Conditions,
    Event,
    ParamValue,
    RunDocument,
    Trust,
    Verdict,
    Window,
)
from hardstone.present.stars_text import run_stars_lines
from hardstone.systems.criteria import special_attention
from hardstone.systems.rating import CategoryRating, Rating, rate_run
from hardstone.systems.subjects import subjects_of
from tests.process.targets import sample
from tests.unit.stats import make
from tests.unit.systems.rated_runs import (
    conditions,
    full_run,
    labelled,
    planned,
    result_of,
    results,
    search,
)


def rating_of(document: RunDocument) -> Rating:
    return rate_run(document)[0][1]


def category(document: RunDocument, name: str) -> CategoryRating:
    return next(one for one in rating_of(document).categories if one.category == name)


def test_a_full_run_has_the_full_rating() -> None:
    rating = rating_of(full_run())
    assert (rating.overall, rating.is_at_most, rating.rated_as) == (5.0, False, [])
    assert rating.configuration == "out of the box" and rating.caps == []


def facts(**changed: object) -> Callable[[RunDocument], None]:
    named = {f"virtual.{name}": value for name, value in changed.items()}
    return lambda document: document.system.update(named)


def fields(**changed: object) -> Callable[[RunDocument], None]:
    return lambda document: [setattr(document, name, value) for name, value in changed.items()]


def of_result(test: str, **changed: object) -> Callable[[RunDocument], None]:
    def change(document: RunDocument) -> None:
        for name, value in changed.items():
            setattr(result_of(document, test), name, value)

    return change


TIME_SHARED = msgspec.structs.replace(conditions(), realtime=False)
SHORT_LOAD = [Event(name=SHORT[0], text="disk reached 0 %", data={})]
QUICK = planned(["heavy"], ["shared"], profile="quick")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_result("CLK-B-RES", status="timeout"), "incomplete"),
        (fields(status="incomplete"), "incomplete"),
        (facts(emulated=True), "emulated"),
        (facts(time="instructions"), "virtual time"),
        (facts(emulated=None), "may be emulated"),
        (facts(emulated=False, hypervisor="KVM"), "virtual machine"),
        (of_result("TMR-P-LAT", conditions=TIME_SHARED), "not scheduled as real-time"),
        (fields(trust=Trust(grade="untrustworthy", reasons=["throttled"])), "untrustworthy"),
        (of_result("TMR-P-LAT", events=SHORT_LOAD), "the load was lower than requested"),
    ],
)
def test_what_keeps_a_rating_from_being_the_full_one(
    change: Callable[[RunDocument], None], said: str
) -> None:
    document = full_run()
    change(document)
    assert rating_of(document).rated_as == [said]


@pytest.mark.parametrize(
    ("change", "said", "stars"),
    [
        (
            of_result("TMR-P-LAT", interrupted=True),
            ["incomplete", "too few values: timers"],
            ("timers", 1.0, 5.0),
        ),
        (
            of_result("TMR-P-LAT", status="failed", reason="CPU 1 was taken"),
            ["incomplete", "too few values: timers"],
            ("timers", 1.0, 5.0),
        ),
        (
            fields(plan=QUICK),
            ["shorter than standard", "too few values"],
            ("clock", 0.0, 5.0),
        ),
        (
            of_result("IRQ-S-SUS", events=search("external", (31_000, 0), interrupts=300)),
            ["too few values: interrupts"],
            ("interrupts", 1.5, 5.0),
        ),
    ],
)
def test_fewer_values_than_stated_give_a_range(
    change: Callable[[RunDocument], None], said: list[str], stars: tuple[str, float, float]
) -> None:
    """More values can only raise a worst: few bound the stars from above, nothing from below."""
    document = full_run()
    change(document)
    rating = rating_of(document)
    assert rating.rated_as == said
    found = category(document, stars[0])
    assert (found.lowest_stars, found.stars) == stars[1:]
    assert rating.lowest is not None and rating.lowest <= stars[1] + 1.5 < rating.overall


OTHER = ["a load other than heavy"]


@pytest.mark.parametrize(
    ("load", "rated_as"),
    [
        ("none", ["without load"]),
        *(
            (load, OTHER)
            for load in ("cpu=1ms/100ms", "storm", "stress-ng:--cpu 1+heavy", "heavyish")
        ),
        # more than the usual load is no other
        *((load, []) for load in ("heavy", "heavy@cpu", "heavy+storm", "heavy+stress-ng:--io 1")),
    ],
)
def test_a_lighter_load_is_rated_as_such(load: str, rated_as: list[str]) -> None:
    measured = results(where=conditions(load=load))
    document = full_run(results=measured, plan=planned([load], ["shared"]))
    assert rating_of(document).rated_as == rated_as


@pytest.mark.parametrize(
    ("test", "name", "asked", "is_told"),
    [
        ("TMR-P-LAT", "interval_ns", 10_000, True),
        ("SIM-S-RT", "step_ns", 10_000_000_000, False),  # not rated
        ("RSP-P-FIX", "add_operations", 1, True),
        ("IRQ-P-LAT", "source", ["ipi"], True),
        ("SIG-B-QUE", "burst", 1, True),
        ("TMR-P-LAT", "interval_ns", 1_000_000, False),
        ("TMR-P-LAT", "cpus", [0, 1], False),
        ("IRQ-P-LAT", "uio", 3, False),
        ("THR-P-SLS", "threads", [2, 4, 10, 128, 1000], False),
        ("FIO-P-SYN", "size_bytes", 1, False),  # not rated
    ],
)
def test_parameters_that_could_flatter_are_told(
    test: str, name: str, asked: ParamValue, is_told: bool
) -> None:
    register = sample.register().tests
    assert name in {spec.name for one in register if one.id == test for spec in one.params}
    one = sample.planned(test, params={name: asked}, duration_ns=10**12, load="heavy")
    plan = planned(["heavy"], ["shared"], tests=[one])
    found = rating_of(full_run(plan=plan, descriptors=register)).rated_as
    assert [text for text in found if "parameters" in text] == (
        [f"parameters changed: {test}"] if is_told else []
    )


def booted(option: str) -> dict[str, object]:
    return {"kernel.cmdline": f"quiet {option} mitigations=auto"}


SPECIAL = ("isolcpus=1", "nohz_full=1", "rcu_nocbs=1", "irqaffinity=0")
USUAL = ("noisolcpus=1", "splash", "cpuidle_haltpoll.force=1")


@pytest.mark.parametrize(
    ("system", "overall"),
    [
        *((booted(option), 3.0) for option in SPECIAL),
        *((booted(option), 5.0) for option in USUAL),
        ({"kernel.rt_runtime_us": -1}, 3.0),
        ({"kernel.rt_runtime_us": 950_000}, 5.0),
    ],
)
def test_boot_options_and_no_throttling_are_special_attention(
    system: dict[str, object], overall: float
) -> None:
    rating = rating_of(full_run(system=system))
    assert rating.overall == overall
    if overall < 5:
        assert rating.configuration == "special attention"
        assert rating.next_half == "configuration: out of the box"


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
    measured = results(where=conditions("none", "shared"))
    for load, config, ns in (
        ("heavy", "shared", 100_000),
        ("heavier", "shared", 300_000),
        ("heavy", "shielded", 3_000_000),
    ):
        measured += results(lambda one, ns=ns: (ns, ns), conditions(load, config))
    plan = planned(["none", "heavy", "heavier"], ["shared", "shielded"])
    found = rate_run(full_run(results=measured, plan=plan))
    assert [(run.condition.load, run.condition.cpu_config) for run, _ in found] == [
        ("heavier", "shared"),
        ("heavy", "shared"),
        ("none", "shared"),
        ("heavy", "shielded"),
    ]


STAND_INS = (
    ("IRQ-P-LAT", "delivery"),
    ("IRQ-P-DLT", "service"),
    ("IRQ-P-TLT", "send_to_thread"),
    ("IRQ-S-SUS", "minimal_period"),
)


def test_of_a_stand_in_for_a_device_no_star_follows() -> None:
    """Deliveries by another CPU are another interval: a device's may be anything."""
    document = full_run()
    for test, series in STAND_INS:
        result = result_of(document, test)
        result.series = [
            labelled(series, {"source": source}, ns, ns)
            for source, ns in (("ipi", 4_000), ("timer", 6_000))
        ]
        if test == "IRQ-S-SUS":
            result.events = search("ipi", (4_000, 0), interrupts=300)
    rating, found = rating_of(document), category(document, "interrupts")
    assert found.stars is None and found.decisive is None
    assert {one.why_range for one in found.figures} == {one.instead for one in found.figures}
    assert found.figures[0].address == "IRQ-P-LAT/timer/delivery"  # the worse of them is shown
    assert "instead of a device" in found.figures[0].instead
    assert rating.rated_as == ["stand-ins: interrupts"]
    assert (rating.lowest, rating.overall) == (1.5, 5.0)


def test_one_figure_of_a_device_is_an_upper_end() -> None:
    document = full_run()
    latency = result_of(document, "IRQ-P-LAT")
    latency.series = [labelled("delivery", {"source": "ipi"}, 900_000)]
    found = category(document, "interrupts")
    assert (found.lowest_stars, found.stars) == (1.0, 5.0)
    latency.series.append(labelled("latency", {"source": "external"}, 1000, 40_000))
    found = category(document, "interrupts")
    assert found.lowest_stars is None and found.stars < 4


def test_a_search_that_no_period_passed_is_no_gap() -> None:
    """Else a system that loses interrupts at every rate would have the best score."""
    document = full_run()
    result = result_of(document, "IRQ-S-SUS")
    result.series = [labelled("minimal_period", {"source": "external"})]
    result.events = search("external", (50_000, 7), (100_000, 3))
    found = category(document, "interrupts")
    assert found.decisive.amount.above == 100_000
    assert found.is_at_most and found.score < 3.5
    labels = {"source": "external"}
    result_of(document, "IRQ-P-LAT").series = [labelled("latency", labels, 1000, 10**9)]
    found = category(document, "interrupts")
    assert found.decisive.address == "IRQ-P-LAT/external/latency"
    assert not found.is_at_most  # the lowest score is reached, whatever the bound stands for
    result.events = search("external", (50_000, 7), (100_000, 0))  # sustained, the value is gone
    found = category(document, "interrupts")
    assert found.is_at_most and any("IRQ-S-SUS" in text for text in found.missing)


def test_without_a_tick_all_gaps_are_rated() -> None:
    document = full_run()
    result = result_of(document, "CLK-P-DUR")
    result.series = [labelled("tick", {}), labelled("gap", {}, 40_000, 50_000)]
    decisive = category(document, "clock").decisive
    assert decisive.amount.value == 50_000 and decisive.instead
    result.series = [labelled("tick", {}), labelled("gap", {})]
    assert category(document, "clock").stars is None  # nothing was watched
    result.windows = [Window(begin_ns=0, end_ns=10_000_000, distance_ns=[], length_ns=[])]
    found = category(document, "clock")
    assert found.stars == 5.0
    assert found.decisive.amount.notes == ("no gap was seen",)
    result.series = []
    assert category(document, "clock").stars is None


def test_the_worst_of_several_cpus_is_rated() -> None:
    document = full_run()
    result_of(document, "TMR-P-LAT").series = [
        labelled("wakeup", {"part": "total", "cpu": str(cpu)}, 1000, 1000 + cpu * 30_000)
        for cpu in range(3)
    ]
    assert category(document, "timers").decisive.address == "TMR-P-LAT/total/2/wakeup"


def test_threads_and_processes_that_take_one_way_stand_for_both() -> None:
    document = full_run()
    labels = {"kind": "unnamed", "scope": "both"}
    result_of(document, "SEM-P-ARN").series = [
        labelled(name, labels, 400) for name in ("acquire", "release")
    ]
    assert category(document, "semaphores").missing == []


def test_fewer_waiters_than_asked_for_are_rated_where_the_system_has_no_more() -> None:
    document = full_run()
    result = result_of(document, "SEM-P-ARC")
    result.params["waiters"] = [1, 128]
    labels = {"kind": "unnamed", "scope": "thread", "waiters": "97"}
    result.series = [labelled(name, labels, 90_000) for name in ("acquire", "release")]
    assert "/97/" in category(document, "semaphores").decisive.address
    result.params["waiters"] = [97]  # asked for: not a shortened 128
    assert category(document, "semaphores").stars is None


def test_a_contradictory_figure_is_missing() -> None:
    document = full_run()
    result_of(document, "CLK-P-DUR").series[0].max = 1
    assert category(document, "clock").stars is None
    rating = rating_of(document)
    assert rating.overall is None and "untrustworthy" in rating.rated_as


@pytest.mark.parametrize("cpus", [1, 2])
def test_early_wakeups_earn_no_star(cpus: int) -> None:
    """Nor do those of the other CPU, which came after their release."""
    document = full_run()
    result_of(document, "TMR-P-LAT").series = [
        labelled("wakeup", {"part": "total", "cpu": str(cpu)}, *values)
        for cpu, values in enumerate([(-10_000_000, -5_000), (3_000, 4_000)][:cpus])
    ]
    found = category(document, "timers")
    assert any("TMR-P-LAT/total/wakeup: cannot be true" in text for text in found.missing)
    assert "untrustworthy" in rating_of(document).rated_as
    result_of(document, "TMR-P-JIT").series = []
    assert category(document, "timers").stars is None


def test_one_impossible_series_takes_the_stars_of_its_test() -> None:
    """A timer that is early by one mechanism: the others of the test had the same clock."""
    document = full_run()
    sound = category(document, "timers")
    assert any("TMR-P-JIT" in one.address for one in sound.figures)
    early = labelled("jitter", {"mechanism": "nanosleep", "period": "7ms"}, -235_000_000, -5_000)
    result_of(document, "TMR-P-JIT").series.append(early)
    found = category(document, "timers")
    assert not any("TMR-P-JIT" in one.address for one in found.figures)
    assert any("TMR-P-JIT" in text and "cannot be true" in text for text in found.missing)


@pytest.mark.parametrize(
    ("status", "reason"), [("denied", "no right"), ("unsupported", "none here")]
)
def test_what_was_not_measured_says_why(status: str, reason: str) -> None:
    lacking = make.result("MSG-P-LAT", series=[], status=status, reason=reason)
    others = [one for one in results() if one.test not in ("MSG-P-LAT", "SIG-B-QUE")]
    found = category(full_run(results=[*others, lacking]), "messages")
    assert found.is_at_most and any(reason in text for text in found.missing)
    assert "SIG-B-QUE: not run" in found.missing


def test_a_failed_claim_of_a_run_is_named_and_thousands_stay_a_line() -> None:
    document = full_run()
    verdicts = result_of(document, "SEM-B-REL").verdicts
    verdicts.append(Verdict(name="mixed/sysv/process", passed=False, evidence="order 1 3 2"))
    found = category(document, "semaphores")
    assert (found.stars, found.failed) == (2.0, ["SEM-B-REL mixed/sysv/process"])
    assert rating_of(document).overall == 3.0
    verdicts += [Verdict(name=f"{'x' * 100}{n}", passed=False, evidence="-") for n in range(4_999)]
    found = category(document, "semaphores")
    assert len(found.failed) == 5_000 and len(found.next_half) < 1000
    assert "and 4997 more must hold" in found.next_half


def test_one_size_of_the_simulation_gives_no_star() -> None:
    """A step of 13 us at 400 masses is no answer to which size is the largest that is held."""
    document = full_run()
    labels = {"masses": "400", "threads": "1", "solver": "semaphore"}
    document.results.append(make.result("SIM-S-RT", series=[labelled("lateness", labels, 13_000)]))
    found = category(document, "application")
    assert (found.stars, found.figures, found.is_at_most) == (None, [], False)
    assert "hardstone simulate searches it" in found.why_no_stars
    assert rating_of(document).overall == 5.0


@pytest.mark.slow
def test_a_reason_that_lists_every_series_is_cut() -> None:
    document = full_run()
    result_of(document, "MSG-P-LAT").series = [
        labelled("latency", {"kind": f"kind {number}", "scope": "thread"}, 1000)
        for number in range(500)
    ]
    assert max(map(len, category(document, "messages").missing)) < 300


@pytest.mark.parametrize(
    ("median_ns", "load", "is_rated"),
    [
        (4_750_000, "heavy", False),  # 6.75 ms in place of 10 would be 5 stars
        (9_890_000, "heavy", False),  # 1 % of the block is worth a star
        (9_910_000, "heavy", True),
        (14_000_000, "heavy", True),  # what the load takes counts
        (14_000_000, "none", False),
    ],
)
def test_a_block_whose_median_is_far_from_its_length_has_no_score(
    median_ns: int, load: str, *, is_rated: bool
) -> None:
    document = full_run()
    result = result_of(document, "RSP-P-FIX")
    for one in document.results:
        one.conditions.load = load
    worst_ns = median_ns + 2_000_000
    for count in (9, 40):
        result.series = [labelled("time", {"kind": "add"}, *[median_ns] * count, worst_ns)]
        found = category(document, "determinism")
        own = [one for one in found.figures if one.address == "RSP-P-FIX/add/time"]
        assert bool(own) is is_rated
        missing = [one for one in found.missing if "RSP-P-FIX/add" in one]
        assert all("in the median" in one for one in missing) and bool(missing) is not is_rated


def test_instructions_have_no_stars() -> None:
    document = full_run(system={"virtual.time": "instructions"})
    rating = rating_of(document)
    assert rating.overall is None and "instructions" in rating.why_none
    assert all(one.stars is None and one.why_no_stars for one in rating.categories)
    assert run_stars_lines(document) == [f"none: {rating.why_none}"]
    assert rating_of(full_run()).overall == 5.0
