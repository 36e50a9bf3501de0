"""Each rule bears out, contradicts and leaves open; and what none of them may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from hardstone.catalogue import load_catalogue
from hardstone.model import Result, RunDocument, Scalar, Trust
from hardstone.study.conclusions import COMPARING, JUDGING, answers_of
from hardstone.study.exhibits import Column, StudyView
from hardstone.study.papers import Conclusion, load_papers
from tests.changed_copy import replace
from tests.unit.kernel import blocked
from tests.unit.simulation import tires
from tests.unit.study.made_views import (
    COUNTED,
    EMULATED,
    MS,
    US,
    answer,
    answers,
    around,
    column,
    result,
    run,
    short_of_load,
    system,
    values,
)
from tests.unit.systems import rated_runs

Case = Callable[[], Sequence[Column]]


def blocks(worst: int, load: str = "heavy", cpu_config: str = "shared", number: int = 60) -> Result:
    """Blocks of 10 ms of which the last took `worst`."""
    series = [
        values("time", [10 * MS] * (number - 1) + [worst], kind=kind) for kind in ("add", "copy")
    ]
    return result("RSP-P-FIX", *series, load=load, cpu_config=cpu_config)


def timers(worst: int, load: str = "none", number: int = 400, **where: str) -> Result:
    labels: dict[str, int | str] = {"period_ns": 10 * MS, "mechanism": "timer-handler"}
    own = values("jitter", [20 * US] * (number - 1) + [worst], **labels)
    return result("TMR-P-JIT", own, load=load, **where)


def overhead(load: str, factor: float = 1.0, number: int = 20_000) -> list[Result]:
    def own(name: str, middle: int, **labels: int | str):  # type: ignore[no-untyped-def]
        return values(name, around(round(middle * factor), number), **labels)

    trips = [
        own("round_trip", 5000, kind="unnamed", scope=scope) for scope in ("thread", "process")
    ]
    signals = own("latency", 4500, receiver="handler", scope="process")
    found = [result("SEM-P-RTP", *trips, load=load), result("SIG-P-LAT", signals, load=load)]
    on_time = [blocks(10 * MS), timers(100 * US, load="heavy")] if load == "heavy" else []
    return [*found, *on_time]


def inversions(plain: int, inheriting: int, number: int = 15, **changed: Any) -> Result:
    """Rounds of which so many were delayed by the medium thread's 10 ms."""
    series = [
        values("delay", [10 * MS] * late + [20 * US] * (number - late), protocol=protocol)
        for protocol, late in (("none", plain), ("inherit", inheriting))
    ]
    return result("MUT-P-INV", *series, **({"load": "heavy"} | changed))


def kinds(test: str, name: str, scope: str = "thread", **middles: int) -> Result:
    """A series for each kind, around its value."""
    return result(
        test, *(values(name, around(one), kind=kind, scope=scope) for kind, one in middles.items())
    )


def trips(thread: int, process: int, number: int = 20_000) -> Result:
    found = {"thread": thread, "process": process}
    series = [
        values("round_trip", around(one, number), kind="unnamed", scope=scope)
        for scope, one in found.items()
    ]
    return result("SEM-P-RTP", *series)


def clock(resolution: int, trip: int, **facts: Scalar) -> Column:
    claimed = values("claimed", [resolution], clock="CLOCK_MONOTONIC")
    return system(
        result("CLK-B-RES", claimed), trips(trip, trip), title=str(facts or "first"), **facts
    )


def messages(latency: int, rates: Sequence[int], **facts: Scalar) -> Column:
    own = values("latency", around(latency), kind="mq", scope="thread", size_bytes=1)
    rate = values("throughput", rates, unit="bytes_per_s", kind="mq", scope="thread")
    return system(result("MSG-P-LAT", own), result("MSG-P-THR", rate), **facts)


OTHER: dict[str, Scalar] = {"kernel__release": "5.0"}


def switches(
    many: int, worst: int, tick: int = 20 * US, ticks: int = 100, hit: int = 20, between: int = 0
) -> list[Result]:
    """So many switches, in the longest ring, were delayed by the worst; among 10 threads by
    `between`, if it is given."""
    few = values("switch", around(1000), threads=2)
    middle = values("switch", [*around(1200), *([between] * hit if between else [])], threads=10)
    more = values("switch", [*around(many), *[worst] * hit], threads=1000)
    own = values("tick", [10 * US] * (ticks - 1) + [tick])
    return [result("THR-P-SLS", few, middle, more), result("CLK-P-DUR", own)]


def contended(release: int, worst: int, test: str = "SEM-P-ARC", hit: int = 20) -> list[Result]:
    labels: dict[str, int | str] = {"kind": "unnamed", "scope": "thread", "waiters": 97}
    series = [
        values("acquire", around(2000), **labels),
        values("release", [*around(release), *[worst] * hit], **labels),
        values("release", [900 * US], **(labels | {"waiters": 1})),
    ]
    return [result(test, *series), result("CLK-P-DUR", values("tick", [10 * US] * 99 + [20 * US]))]


def contended_mutex(release: int, number: int = 20_000) -> Result:
    series = [
        values("acquire", around(2000, number), protocol="inherit"),
        values("release", around(release, number), protocol="inherit"),
        values("release", around(1500, number), protocol="none"),
    ]
    return result("MUT-P-ARC", *series)


def uncontended(light: int, number: int = 20_000) -> Result:
    middles = {"unnamed": light, "sysv": 450, "eventfd": 340}
    series = [
        values(
            name, around(one, number), kind=kind, scope="thread" if kind == "unnamed" else "both"
        )
        for kind, one in middles.items()
        for name in ("acquire", "release")
    ]
    return result("SEM-P-ARN", *series)


def rated(worst_ns: int = 1000, *, load: str = "heavy", **facts: Scalar) -> Column:
    """A run with every rated figure; each worst as given, but blocks take their length."""

    def each(one: Any) -> tuple[int, int]:
        return (10 * MS, 10 * MS) if one.reading else (worst_ns, worst_ns)

    found = rated_runs.results(each, rated_runs.conditions(load))
    known = {name.replace("__", "."): value for name, value in facts.items()}
    return column(run(*found, facts=known))


def shielded_rated(worst_ns: int, **facts: Scalar) -> Column:
    found = rated_runs.results(
        lambda one: (10 * MS,) * 2 if one.reading else (worst_ns,) * 2,
        rated_runs.conditions(cpu_config="shielded"),
    )
    return column(run(*found, facts={name.replace("__", "."): v for name, v in facts.items()}))


def kernel(longest: dict[str, float], number: int = 4_000, **changed: Any) -> Result:
    """KRN-P-PRE whose operations are blocked for a mean time in ns."""
    rng = np.random.default_rng(7)
    found = {
        name: blocked.System(lambda rng, n, mean=mean: rng.exponential(mean, n), rng).latencies(
            rng, number
        )
        for name, mean in longest.items()
    }
    reference = blocked.idle(rng, number)
    one = blocked.result(found, dict.fromkeys(found, 0.95), reference=reference)
    where = replace(one.conditions, load="none", preemption=changed.get("model"))
    return msgspec.structs.replace(one, conditions=where)


def by_model(both: RunDocument) -> list[Column]:
    """A run that switched the model, laid out as two columns."""
    return [
        replace(
            column(both),
            title=model,
            subjects=tuple(s for s in column(both).subjects if s.condition.preemption == model),
        )
        for model in ("none", "full")
    ]


def models(off: dict[str, float], on: dict[str, float], **facts: Scalar) -> list[Column]:
    return by_model(run(kernel(off, model="none"), kernel(on, model="full"), facts=dict(facts)))


SLOW = {"fork": 3_000_000.0, "map": 300_000.0}
QUICK = {"fork": 30_000.0, "map": 3_000.0}
PATHS_OF_1987 = {"copy": 9e5, "fork": 3e6, "exec": 3e5, "map": 2e4, "terminal": 1e4}
OTHER_PATHS = {"map": 9e6, "open": 3e6, "stat": 9e5, "copy": 2e4, "fork": 1e4, "exec": 5e3}


def wakeups(
    middle: int, worst: int, number: int, load: str = "latstat", cpu_config: str = "shielded"
) -> Result:
    """So many values, the last of them the worst; from a histogram, as there may be millions."""
    found = values("wakeup", [middle, worst], part="total", cpu=0)
    (low, _), (high, count) = found.histogram.buckets
    found.histogram.buckets[:] = [(low, number - 1), (high, count)]
    found.count, found.stddev = number, 10.0
    found.mean = (middle * (number - 1) + worst) / number
    return result("TMR-P-LAT", found, load=load, cpu_config=cpu_config)


SIZES = (400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3600, 4000)


def tire(
    totals: dict[str, float] | None = None,
    missed: dict[str, Callable[[int, int], int]] | None = None,
    threads: Sequence[int] = (2,),
    swing: dict[str, float] | None = None,
    sizes: Sequence[int] = SIZES,
) -> list[Result]:
    """A sweep: by policy the time for a mass, its change at every second size, the misses."""
    found = []
    for policy, each in (totals or {}).items():
        for number, masses in enumerate(sizes):
            changed = 1 + (swing or {}).get(policy, 0.0) * (number % 2) * (1 + number / 100)
            total = round(masses * each * changed)
            found += [
                tires.real_fast(masses, count, totals=[total], policy=policy) for count in threads
            ]
    for policy, misses in (missed or {}).items():
        found += [
            tires.real_time(masses, count, missed=misses(masses, count), policy=policy)
            for masses in sizes
            for count in threads
        ]
    return found


def above(limit: int) -> Callable[[int, int], int]:
    return lambda masses, threads: masses // 100 if masses > limit else 0


def scattered(masses: int, threads: int) -> int:
    return 5 if masses in (800, 1600, 3200) else 0


def inverted(semaphore: int, spin: int, number: int = 5, locked: int = 0) -> Result:
    found = {"semaphore": semaphore, "spin": spin}
    series = [
        values("inverted", [1] * late + [0] * (number - late), unit="count", primitive=name)
        for name, late in found.items()
    ]
    ended = values("ended_by_watchdog", [locked], unit="count", primitive="spin")
    return result("MUT-B-INV", *series, ended)


def preemptions(worst: int, number: int = 1000) -> Result:
    return result("THR-P-PRE", values("preemption", [*around(2000, number), worst], by="thread"))


def points(*results: Result, **facts: Scalar) -> Column:
    return system(*results, **facts)


RESERVED = {"cpu_config": "shielded"}
# By conclusion: systems that bear it out (None: none can), that contradict it, that leave it open.
CALM = blocks(10 * MS, load="none")
CASES: dict[str, tuple[Case | None, Case, Case]] = {
    "both-suit": (
        lambda: [system(blocks(10 * MS), timers(150 * US))],
        lambda: [system(blocks(10 * MS, **RESERVED), timers(250 * US, **RESERVED))],
        lambda: [system(blocks(10 * MS), timers(250 * US))],
    ),
    "low-overhead": (
        lambda: [system(*overhead("none"), *overhead("heavy", 1.02))],
        lambda: [system(*overhead("none"), *overhead("heavy", 1.3))],
        lambda: [system(*overhead("none", number=100), *overhead("heavy", number=100))],
    ),
    "standard-unsuitable": (
        lambda: [system(CALM, blocks(25 * MS))],
        lambda: [system(blocks(10_900_000))],
        lambda: [system(CALM, blocks(15 * MS))],
    ),
    "reserved-cpu": (
        lambda: [system(blocks(10_900_000, **RESERVED)), system(blocks(40 * MS))],
        lambda: [system(blocks(11_200_000, **RESERVED))],
        lambda: [system(blocks(10 * MS))],
    ),
    "resolution-and-priorities": (
        lambda: [clock(1, 5000), clock(4 * MS, 10_000, **OTHER)],
        lambda: [clock(1, 5000), clock(2, 50_000, **OTHER)],
        lambda: [clock(1, 5000)],
    ),
    "latency-against-throughput": (
        lambda: [messages(3000, [10, 11, 12, 13]), messages(6000, [20, 21, 22, 23], **OTHER)],
        lambda: [messages(3000, [20, 21, 22, 23]), messages(6000, [10, 11, 12, 13], **OTHER)],
        lambda: [messages(3000, [10, 11, 12, 22]), messages(6000, [20, 21, 22, 23], **OTHER)],
    ),
    "inheritance": (
        lambda: [system(inversions(15, 0))],
        lambda: [system(inversions(15, 15))],
        lambda: [system(inversions(4, 0, number=4))],
    ),
    "named-slower": (
        lambda: [system(kinds("SEM-P-SIG", "signal_wait", unnamed=300, named=900))],
        lambda: [system(kinds("SEM-P-SIG", "signal_wait", unnamed=300, named=300))],
        lambda: [system(kinds("SEM-P-SIG", "signal_wait", unnamed=300))],
    ),
    "primitives-equal": (
        lambda: [system(kinds("SEM-P-RTP", "round_trip", unnamed=5000, named=5400, mutex=5600))],
        lambda: [system(kinds("SEM-P-RTP", "round_trip", unnamed=5000, named=5400, mutex=9000))],
        lambda: [system(kinds("SEM-P-RTP", "round_trip", unnamed=5000, named=5400))],
    ),
    "processes-switch": (
        lambda: [system(trips(5300, 5000))],
        lambda: [system(trips(5000, 5300))],
        lambda: [system(trips(5000, 5000))],
    ),
    "out-of-the-box": (
        lambda: [rated(1000)],
        lambda: [rated(5 * MS)],
        lambda: [rated(1000, load="none")],
    ),
    "linux-if-configured": (
        lambda: [shielded_rated(1000, kernel__realtime=True)],
        lambda: [shielded_rated(5 * MS, kernel__realtime=True)],
        lambda: [shielded_rated(1000)],
    ),
    "switch-by-cache-and-tick": (
        lambda: [system(*switches(1500, 20 * US))],
        lambda: [system(*switches(1500, 50 * US))],
        lambda: [system(*switches(1500, 5 * US))],
    ),
    "semaphore-release-grows": (
        lambda: [system(*contended(3000, 200 * US))],
        lambda: [system(*contended(3000, 15 * US))],
        lambda: [system(*contended(3000, 5 * US))],
    ),
    "mutex-release-grows": (
        lambda: [system(contended_mutex(2500))],
        lambda: [system(contended_mutex(1800))],
        lambda: [system(contended_mutex(2500, number=100))],
    ),
    "semaphore-without-kernel": (
        lambda: [system(uncontended(30))],
        lambda: [system(uncontended(460))],
        lambda: [system(uncontended(30, number=100))],
    ),
    "preemption-shortens": (
        lambda: models(SLOW, QUICK),
        lambda: models(QUICK, SLOW),
        lambda: models(SLOW, SLOW),
    ),
    "worst-over-50": (
        lambda: models({"fork": 9.0 * MS, "map": 300_000.0}, QUICK),
        lambda: models(SLOW, SLOW),
        lambda: [system(kernel(SLOW))],
    ),
    "longest-paths": (
        lambda: models(PATHS_OF_1987, {"copy": 3_000.0, "terminal": 90_000.0}),
        lambda: models(OTHER_PATHS, {"copy": 3_000.0, "terminal": 90_000.0}),
        lambda: [system(kernel(PATHS_OF_1987))],
    ),
    "mean-and-worst": (
        lambda: [system(wakeups(4000, 30 * US, 4_000_000))],
        lambda: [system(wakeups(4000, 40 * US, 4_000_000))],
        lambda: [system(wakeups(4000, 30 * US, 100_000))],
    ),
    "tail": (
        lambda: [system(wakeups(4000, 12 * US, 300_000_000))],
        lambda: [system(wakeups(20 * US, 30 * US, 100_000))],
        lambda: [system(wakeups(4000, 12 * US, 1_000_000))],
    ),
    "hard-real-time": (
        lambda: [system(wakeups(9000, 40 * US, 100_000))],
        lambda: [system(wakeups(11_000, 40 * US, 100_000))],
        lambda: [system(wakeups(9000, 40 * US, 100_000, load="heavy"))],
    ),
    "challenges-linux": (
        None,
        lambda: [system(wakeups(3000, 20 * US, 4_000_000, load="none"))],
        lambda: [system(wakeups(6000, 20 * US, 4_000_000, load="none"))],
    ),
    "linux-real-fast": (
        lambda: [points(*tire({"fifo": 6_000_000, "other": 5_000_000}))],
        lambda: [points(*tire({"fifo": 5_000_000, "other": 6_000_000}))],
        lambda: [points(*tire({"fifo": 6_000_000, "other": 5_000_000}, sizes=SIZES[:3]))],
    ),
    "xenomai-hard-and-soft": (
        lambda: [points(*tire(missed={"fifo": above(3600), "other": above(800)}))],
        lambda: [points(*tire(missed={"fifo": above(800), "other": above(3600)}))],
        lambda: [points(*tire(missed={"fifo": above(800), "other": above(800)}))],
    ),
    "policy-alone": (
        lambda: [
            points(*tire({"fifo": 6_000_000})),
            points(*tire({"fifo": 5_000_000}), **OTHER),
        ],
        lambda: [
            points(*tire({"fifo": 6_000_000}, {"fifo": above(2000)})),
            points(
                *tire({"fifo": 6_010_000}, {"fifo": above(2000)}, swing={"fifo": -0.003}), **OTHER
            ),
        ],
        lambda: [points(*tire({"fifo": 6_000_000, "other": 5_000_000}))],
    ),
    "sharp-edge": (
        lambda: [points(*tire(missed={"fifo": above(2000), "other": scattered}))],
        lambda: [points(*tire(missed={"fifo": scattered, "other": scattered}))],
        lambda: [points(*tire(missed={"fifo": above(2000)}))],
    ),
    "many-threads": (
        lambda: [points(*tire(missed={"fifo": scattered, "other": scattered}, threads=[8]))],
        lambda: [points(*tire(missed={"fifo": above(2000), "other": scattered}, threads=[8]))],
        lambda: [points(*tire(missed={"fifo": scattered, "other": scattered}, threads=[4]))],
    ),
    "lock-waits": (
        lambda: [points(*tire({"fifo": 6e6, "other": 5e6}, threads=(2, 4), swing={"fifo": 0.2}))],
        lambda: [points(*tire({"fifo": 6e6, "other": 5e6}, threads=(2, 4), swing={"other": 0.2}))],
        lambda: [points(*tire({"fifo": 6e6, "other": 5e6}, threads=(2,), swing={"fifo": 0.2}))],
    ),
    "inversion": (
        lambda: [system(inverted(0, 5))],
        lambda: [system(inverted(1, 5))],
        lambda: [system(inverted(0, 5, number=4))],
    ),
    "linux-preemption": (
        lambda: [system(preemptions(1_200_000))],
        lambda: [system(preemptions(900_000))],
        lambda: [system(preemptions(900_000, number=10))],
    ),
}


def of(conclusion: str, place: int = 0) -> Sequence[Column]:
    case = CASES[conclusion][place]
    assert case is not None
    return case()


DECISIONS = ("borne out", "not borne out", "not decided")


def is_command_or_words(needed: str) -> bool:
    """What begins with the name of the program can be typed as it is: the screen shows it so."""
    is_command = needed.startswith("hardstone ")
    return bool(needed) and not (is_command and any(one in needed for one in (", ", "; ", " or ")))


# Of a universal claim only a counter-example decides: no case bears it out.
EACH = [
    (name, wanted, case)
    for name, cases in CASES.items()
    for wanted, case in zip(DECISIONS, cases, strict=True)
    if case is not None
]


@pytest.mark.parametrize(("conclusion", "wanted", "case"), EACH)
def test_a_rule_can_say_all_three(conclusion: str, wanted: str, case: Case) -> None:
    found = answers(conclusion, *case())
    assert [one.decision for one in found] == [wanted], found
    (only,) = found
    assert only.text.endswith(".")
    if wanted == "not decided":
        assert is_command_or_words(only.needed)
    else:
        assert only.evidence
        assert not only.needed


def test_every_conclusion_has_one_rule_and_every_rule_a_conclusion() -> None:
    ids = [one.id for paper in load_papers().values() for one in paper.conclusions]
    assert len(ids) == len(set(ids))
    assert set(ids) == {*JUDGING, *COMPARING} == set(CASES)
    assert not set(JUDGING) & set(COMPARING)
    for paper in load_papers().values():
        assert all(load_catalogue().entry(test) for c in paper.conclusions for test in c.tests)


def test_without_a_measured_system_there_is_no_answer() -> None:
    published = Column(id="published:lynx", title="LynxOS", short="lynx", is_published=True)
    for paper in load_papers().values():
        assert answers_of(StudyView(paper, (published,), ())) == ()


def test_a_system_that_measured_nothing_of_a_paper_decides_nothing() -> None:
    empty = system(result("TMR-B-EDGE"))
    for paper in load_papers().values():
        found = answers_of(StudyView(paper, (empty,), ()))
        assert {one.conclusion.id for one in found} == {one.id for one in paper.conclusions}
        assert {one.decision for one in found} == {"not decided"}
        assert all(is_command_or_words(one.needed) and one.text for one in found)


def test_a_conclusion_without_a_rule_says_so() -> None:
    paper = load_papers()["hp-1987"]
    one = Conclusion(id="new", says="-", place="-")
    (found,) = answers_of(StudyView(replace(paper, conclusions=[one]), (rated(),), ()))
    assert found.decision == "not decided"
    assert "No figure" in found.text


def test_each_system_has_its_answer_and_the_answers_are_in_the_order_of_the_paper() -> None:
    first, second = system(preemptions(900_000), title="a"), system(preemptions(2 * MS), title="b")
    found = answers("linux-preemption", first, second)
    assert [(one.column, one.decision) for one in found] == [
        ("a", "not borne out"),
        ("b", "borne out"),
    ]
    paper = load_papers()["garre-2014"]
    order = [one.conclusion.id for one in answers_of(StudyView(paper, (first,), ()))]
    assert order == [one.id for one in paper.conclusions]


def unsound(one: Result, **changed: Any) -> Result:
    return msgspec.structs.replace(one, **changed)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"status": "failed", "reason": "no clock"}, "failed: no clock"),
        ({"complete": False}, "cut off"),
        ({"interrupted": True}, "cut off"),
    ],
)
def test_a_failed_or_cut_off_result_decides_nothing(changed: dict[str, Any], why: str) -> None:
    for made in (preemptions(2 * MS), preemptions(900_000)):
        found = answer("linux-preemption", system(unsound(made, **changed)))
        assert found.decision == "not decided"
        assert why in found.text


def test_a_contradictory_figure_is_not_used() -> None:
    made = preemptions(2 * MS)
    made.series[0].possible_max = MS
    found = answer("linux-preemption", system(made))
    assert found.decision == "not decided"
    assert "not trustworthy" in found.text
    assert "above the 1 ms of the measurement" in found.text
    # One sound run beside it decides alone.
    beside = column(run(made), run(preemptions(900_000)))
    assert answer("linux-preemption", beside).decision == "not borne out"


def test_contradictory_kernel_time_is_not_used() -> None:
    both = models(SLOW, QUICK)
    for one in both:
        for subject in one.subjects:
            for own in subject.results:
                own.series[1].possible_max = 1
    assert answer("preemption-shortens", *both).decision == "not decided"


def test_without_real_time_scheduling_nothing_is_used() -> None:
    made = preemptions(2 * MS)
    made.conditions.realtime = False
    found = answer("linux-preemption", system(made))
    assert found.decision == "not decided"
    assert "without real-time scheduling" in found.text


def test_an_untrustworthy_run_is_not_used() -> None:
    trust = Trust(grade="untrustworthy", reasons=["the counters of CPUs 0 and 1 disagree"])
    found = answer("linux-preemption", column(run(preemptions(2 * MS), trust=trust)))
    assert found.decision == "not decided"
    assert "not trustworthy" in found.text


def test_a_decision_says_that_its_run_is_indicative_only_without_the_reason() -> None:
    trust = Trust(grade="indicative", reasons=["virtual machine (KVM); more"])
    for worst in (2 * MS, 900_000):
        found = answer("linux-preemption", column(run(preemptions(worst), trust=trust)))
        assert found.text.endswith(". Indicative only.")
    few = column(run(preemptions(900_000, number=5), trust=trust))
    assert "Indicative" not in answer("linux-preemption", few).text


PUBLISHED_TIMES = (
    *("both-suit", "out-of-the-box", "linux-if-configured", "mean-and-worst", "tail"),
    *("hard-real-time", "challenges-linux", "linux-preemption"),
)


@pytest.mark.parametrize("facts", [COUNTED, EMULATED])
@pytest.mark.parametrize("conclusion", PUBLISHED_TIMES)
def test_times_of_an_emulator_are_not_held_against_published_ones(
    conclusion: str, facts: dict[str, Scalar]
) -> None:
    for case in filter(None, CASES[conclusion][:2]):
        columns = [with_facts(one, facts) for one in case()]
        assert [one.decision for one in answers(conclusion, *columns)] == ["not decided"]


def with_facts(one: Column, facts: dict[str, Scalar]) -> Column:
    for subject in one.subjects:
        subject.document.system.update(facts)
    return one


def test_the_layout_may_say_that_times_are_apart() -> None:
    apart = replace(system(preemptions(2 * MS)), apart="another clock")
    found = answer("linux-preemption", apart)
    assert found.decision == "not decided"
    assert "another clock" in found.text


@pytest.mark.parametrize("conclusion", ["preemption-shortens", "worst-over-50", "inheritance"])
def test_counted_instructions_divide_within_one_system(conclusion: str) -> None:
    columns = [with_facts(one, COUNTED) for one in of(conclusion)]
    assert answer(conclusion, *columns).decision == "borne out"


@pytest.mark.parametrize(
    ("conclusion", "place"),
    [("low-overhead", 0), ("reserved-cpu", 0), ("standard-unsuitable", 1), ("processes-switch", 1)],
)
def test_where_instructions_are_counted_no_cache_is_no_merit(conclusion: str, place: int) -> None:
    columns = [with_facts(one, COUNTED) for one in of(conclusion, place)]
    found = answer(conclusion, *columns)
    assert found.decision == "not decided"
    assert "caches and memory take no time" in found.text
    emulated = [with_facts(one, EMULATED) for one in of(conclusion, place)]
    assert answer(conclusion, *emulated).decision == "not decided"


def test_where_no_caches_are_the_order_of_switches_says_nothing_of_them() -> None:
    counted = with_facts(system(*switches(1000, 5 * US)), COUNTED)
    assert answer("switch-by-cache-and-tick", counted).decision == "not decided"


def test_two_kinds_of_time_are_never_divided() -> None:
    off, on = models(SLOW, QUICK)
    real = column(run(kernel(QUICK, model="full")), title="full")
    counted = with_facts(off, COUNTED)
    found = answers("preemption-shortens", counted, with_facts(real, {"virtual.hypervisor": "TCG"}))
    assert {one.decision for one in found} == {"not decided"}
    assert on.title == "full"
    first, second = messages(3000, [10, 11, 12, 13]), messages(6000, [20, 21, 22, 23], **OTHER)
    trade = answer("latency-against-throughput", first, with_facts(second, COUNTED))
    assert trade.decision == "not decided"
    assert "cannot be compared" in trade.text


@pytest.mark.parametrize(
    ("conclusion", "columns"),
    [
        ("standard-unsuitable", lambda: system(short_of_load(blocks(10_900_000)))),
        ("reserved-cpu", lambda: system(short_of_load(blocks(10_900_000, **RESERVED)))),
        ("mean-and-worst", lambda: system(short_of_load(wakeups(4000, 30 * US, 4_000_000)))),
        (
            "low-overhead",
            lambda: system(*overhead("none"), *map(short_of_load, overhead("heavy", 1.02))),
        ),
    ],
)
def test_what_holds_under_less_load_than_requested_decides_nothing(
    conclusion: str, columns: Callable[[], Column]
) -> None:
    found = answer(conclusion, columns())
    assert found.decision == "not decided"
    assert "the load was lower than requested" in found.text


def test_what_fails_under_less_load_than_requested_is_a_fact() -> None:
    assert answer("reserved-cpu", system(short_of_load(blocks(40 * MS, **RESERVED)))).decision == (
        "not borne out"
    )


@pytest.mark.parametrize(
    ("conclusion", "columns"),
    [
        ("standard-unsuitable", lambda: system(blocks(25 * MS, load="none"))),
        ("reserved-cpu", lambda: system(blocks(11_200_000, load="none", **RESERVED))),
        ("low-overhead", lambda: system(*overhead("heavy", 1.3))),
        ("challenges-linux", lambda: system(wakeups(6000, 20 * US, 4_000_000))),
    ],
)
def test_one_load_alone_is_not_taken_for_another(
    conclusion: str, columns: Callable[[], Column]
) -> None:
    assert answer(conclusion, columns()).decision == "not decided"


def test_the_limit_itself_is_kept() -> None:
    """Equal to the limit is within it; the next value is beyond."""
    assert answer("linux-preemption", system(preemptions(MS))).decision == "not borne out"
    beyond = answer("linux-preemption", system(preemptions(MS + 2000)))
    assert beyond.decision == "borne out"
    assert "1 of 1" in beyond.text


def test_a_bucket_that_holds_the_limit_counts_at_least_the_worst() -> None:
    """Its values may be on either side; only the worst is known exactly."""
    made = values("preemption", [*around(2000, 100), MS - 50, MS + 400], by="thread")
    found = answer("linux-preemption", system(result("THR-P-PRE", made)))
    assert found.decision == "borne out"
    assert "1 to 2 of 102 values above 1 ms" in found.text


def test_twenty_values_within_a_limit_are_needed() -> None:
    assert answer("linux-preemption", system(preemptions(900_000, 18))).decision == "not decided"
    assert answer("linux-preemption", system(preemptions(900_000, 19))).decision == "not borne out"


def test_another_kernel_than_linux_says_nothing_about_linux() -> None:
    for conclusion in ("linux-preemption", "mutex-release-grows", "challenges-linux"):
        for case in filter(None, CASES[conclusion][:2]):
            found = answer(conclusion, *(with_facts(one, {"kernel.name": "QNX"}) for one in case()))
            assert found.decision == "not decided"
            assert "about Linux" in found.text


def test_a_real_time_kernel_does_not_answer_for_linux_without_the_patch() -> None:
    assert answer("linux-preemption", system(preemptions(900_000), kernel__realtime=True)).text == (
        "This kernel has PREEMPT_RT."
    )


def test_a_system_with_a_reserved_cpu_is_no_standard_one() -> None:
    found = answer("standard-unsuitable", system(blocks(25 * MS, **RESERVED)))
    assert found.decision == "not decided"
    assert found.column == ""


def test_the_reserved_cpu_stands_beside_the_same_machine_only() -> None:
    reserved = system(blocks(10 * MS, **RESERVED), title="reserved")
    same = system(blocks(40 * MS), title="standard")
    other = system(blocks(40 * MS), title="other", machine__cpu_model="other")
    assert "40" in answer("reserved-cpu", reserved, same).text
    assert answer("reserved-cpu", reserved, same).column == "reserved and standard"
    assert answer("reserved-cpu", reserved, other).column == "reserved"


def test_a_block_of_another_length_than_calibrated_is_left_out() -> None:
    quick = result("RSP-P-FIX", values("time", [8 * MS] * 60, kind="add"), load="heavy", **RESERVED)
    assert answer("reserved-cpu", system(quick)).decision == "not decided"
    for conclusion, where in (("reserved-cpu", "shielded"), ("standard-unsuitable", "shared")):
        series = [*quick.series, values("time", [10 * MS] * 60, kind="copy")]
        made = result("RSP-P-FIX", *series, load="heavy", cpu_config=where)
        found = answer(conclusion, system(made))
        assert found.decision == "not decided"
        assert "Left out" in found.text
        assert "add" in found.text
    slow = result("RSP-P-FIX", quick.series[0], *blocks(40 * MS).series[1:], load="heavy")
    late = system(CALM, slow)
    assert answer("standard-unsuitable", late).decision == "borne out"


def test_a_timer_that_misses_its_next_release_is_unsuitable() -> None:
    on_time = timers(100_000, load="none")
    made = system(on_time, blocks(10 * MS), timers(10_200_000, load="heavy"))
    assert answer("standard-unsuitable", made).decision == "borne out"
    in_between = system(blocks(10 * MS), timers(5 * MS, load="heavy"))
    assert answer("standard-unsuitable", in_between).decision == "not decided"


def test_one_kind_of_block_that_is_late_is_enough() -> None:
    late, good = (
        values("time", [10 * MS] * 59 + [worst], kind=kind)
        for kind, worst in (("copy", 40 * MS), ("add", 10 * MS))
    )
    reserved = system(result("RSP-P-FIX", good, late, load="heavy", **RESERVED))
    assert answer("reserved-cpu", reserved).decision == "not borne out"
    standard = system(CALM, result("RSP-P-FIX", good, late, load="heavy"))
    assert answer("standard-unsuitable", standard).decision == "borne out"


def test_load_is_no_cause_of_what_is_late_without_it() -> None:
    found = answer("standard-unsuitable", system(blocks(12 * MS, load="none"), blocks(25 * MS)))
    assert (found.decision, "not only load" in found.text) == ("not decided", True)
    alone = answer("standard-unsuitable", system(blocks(25 * MS)))
    assert (alone.decision, "--load none,heavy" in alone.needed) == ("not decided", True)
    early, late = (
        timers(worst, load=load) for worst, load in ((3 * MS, "none"), (11 * MS, "heavy"))
    )
    found = answer("standard-unsuitable", system(CALM, blocks(10 * MS), early, late))
    assert (found.decision, "timers of 10" in found.text) == ("not decided", True)


def test_systems_that_say_the_same_have_one_answer() -> None:
    first, second = (system(CALM, blocks(15 * MS), title=title) for title in ("first", "second"))
    (found,) = answers("both-suit", first, second)
    assert found.column == "first and second"
    opened = answers("semaphore-without-kernel", first, second)
    assert [one.column for one in opened] == ["first and second"]
    late = system(CALM, blocks(40 * MS), title="late")
    found_apart = answers("standard-unsuitable", first, late, second)
    assert [one.column for one in found_apart] == ["first", "late", "second"]


def test_a_few_blocks_of_one_kind_leave_it_open() -> None:
    few = values("time", [10 * MS] * 19, kind="add")
    many = values("time", [10 * MS] * 60, kind="copy")
    for conclusion, where in (("reserved-cpu", "shielded"), ("standard-unsuitable", "shared")):
        made = result("RSP-P-FIX", few, many, load="heavy", cpu_config=where)
        assert answer(conclusion, system(made)).decision == "not decided"


def test_one_test_that_load_slows_is_enough() -> None:
    slow = overhead("heavy", 1.02)
    slow[1] = overhead("heavy", 1.3)[1]
    assert answer("low-overhead", system(*overhead("none"), *slow)).decision == "not borne out"


def late_once(found: list[Result], place: int, worst: int) -> list[Result]:
    """One more value of a test took so long; its median stays."""
    one = found[place].series[-1]
    found[place].series[-1] = values(one.name, [*around(5000), worst], **one.labels)
    return found


@pytest.mark.parametrize("place", [0, 1])
def test_equal_medians_are_not_deterministic_where_one_value_takes_600_ms(place: int) -> None:
    loaded = late_once(overhead("heavy", 1.02), place, 600 * MS)
    found = answer("low-overhead", system(*late_once(overhead("none"), place, 20 * US), *loaded))
    assert found.decision == "not borne out"
    assert "1 of 20" in found.text
    kept = late_once(overhead("heavy", 1.02), place, 900 * US)
    calm = late_once(overhead("none"), place, 20 * US)
    assert answer("low-overhead", system(*calm, *kept)).decision == "borne out"


@pytest.mark.parametrize(
    ("place", "late"), [(2, blocks(12 * MS)), (3, timers(2 * MS, load="heavy"))]
)
def test_a_late_block_or_timer_is_not_deterministic(place: int, late: Result) -> None:
    loaded = overhead("heavy", 1.02)
    loaded[place] = late
    assert answer("low-overhead", system(*overhead("none"), *loaded)).decision == "not borne out"
    del loaded[place]
    assert answer("low-overhead", system(*overhead("none"), *loaded)).decision == "not decided"


def test_inheritance_of_one_protocol_under_load_is_taken_from_the_other_load() -> None:
    alone = result("MUT-P-INV", inversions(15, 0).series[0], load="heavy")
    made = system(alone, inversions(15, 0, load="none"))
    assert answer("inheritance", made).decision == "borne out"


def test_one_configuration_that_suits_is_enough() -> None:
    good = system(blocks(10 * MS, **RESERVED), timers(150 * US, **RESERVED), title="reserved")
    bad = system(blocks(40 * MS), timers(250 * US), title="standard")
    found = answer("both-suit", bad, good)
    assert (found.decision, found.column) == ("borne out", "reserved")


def test_both_alike_contradict_inheritance_and_six_rounds_are_needed() -> None:
    assert answer("inheritance", system(inversions(0, 0))).decision == "not borne out"
    assert answer("inheritance", system(inversions(0, 15))).decision == "not borne out"
    assert answer("inheritance", system(inversions(6, 0, number=6))).decision == "borne out"
    assert answer("inheritance", system(inversions(5, 0, number=5))).decision == "not decided"
    assert answer("inheritance", system(inversions(8, 4))).decision == "not decided"
    assert answer("inheritance", system(inversions(6, 3, number=6))).decision == "not decided"
    assert answer("inheritance", system(inversions(3, 6, number=6))).decision == "not decided"


def test_inheritance_under_heavy_load_goes_before_that_without() -> None:
    calm = inversions(15, 15, load="none")
    assert answer("inheritance", system(calm)).decision == "not borne out"
    assert answer("inheritance", system(calm, inversions(15, 0))).decision == "borne out"


def test_a_medium_thread_with_other_work_has_another_limit() -> None:
    longer = inversions(15, 0, params={"medium_ns": 40 * MS})
    assert answer("inheritance", system(longer)).decision == "not borne out"


def test_near_the_cost_of_the_clock_the_ratio_says_less() -> None:
    """A median of 30 to 50 ns, over one of 30, is less than twice; without the 20 ns of the clock
    that are in both it may be three times."""
    plain = values("signal_wait", around(30), kind="unnamed", scope="thread")
    named = values("signal_wait", [30] * 10_000 + [50] * 10_001, kind="named", scope="both")
    near = system(result("SEM-P-SIG", plain, named))
    assert answer("named-slower", near).decision == "not decided"
    plain = values("signal_wait", around(300), kind="unnamed", scope="thread")
    named = values("signal_wait", [300] * 10_000 + [500] * 10_001, kind="named", scope="both")
    assert answer("named-slower", system(result("SEM-P-SIG", plain, named))).decision == (
        "not borne out"
    )


def test_equal_medians_decide_no_order() -> None:
    assert answer("processes-switch", system(trips(5000, 5000))).decision == "not decided"
    assert answer("processes-switch", system(trips(5000, 5300, number=100))).decision == (
        "not decided"
    )


def test_runs_that_differ_decide_nothing_and_ten_that_agree_are_the_unit() -> None:
    contrary = column(run(trips(5000, 5300)), run(trips(5300, 5000)))
    assert answer("processes-switch", contrary).decision == "not decided"
    alike = column(*(run(trips(5000, 5300)) for _ in range(10)))
    found = answer("processes-switch", alike)
    assert found.decision == "not borne out"
    assert "95 %" in found.text
    assert "in 10 runs" in found.text


def test_other_parameters_are_not_divided() -> None:
    calm, loaded = overhead("none"), overhead("heavy", 1.3)
    for one in loaded:
        one.params = {"medium_ns": 2}
    for one in calm:
        one.params = {"medium_ns": 1}
    found = answer("low-overhead", system(*calm, *loaded))
    assert found.decision == "not decided"
    assert "parameter" in found.text


def test_one_missing_test_leaves_low_overhead_open() -> None:
    found = system(*overhead("none")[:1], *overhead("heavy", 1.02)[:1])
    assert answer("low-overhead", found).decision == "not decided"
    slower = system(*overhead("none")[:1], *overhead("heavy", 1.3)[:1])
    assert answer("low-overhead", slower).decision == "not borne out"


def test_the_tick_is_that_of_the_same_load() -> None:
    found = switches(1500, 50 * US)
    found[1].conditions.load = "heavy"
    made = answer("switch-by-cache-and-tick", system(*found))
    assert made.decision == "not decided"
    assert "Too few ticks" in made.text
    few = switches(1500, 50 * US, ticks=19)
    assert answer("switch-by-cache-and-tick", system(*few)).decision == "not decided"


def test_the_same_average_contradicts_the_rise() -> None:
    assert answer("switch-by-cache-and-tick", system(*switches(1000, 20 * US))).decision == (
        "not borne out"
    )


def test_the_longest_switch_is_that_of_all_numbers_of_threads() -> None:
    made = switches(1500, 15 * US, between=50 * US, ticks=1000)
    found = answer("switch-by-cache-and-tick", system(*made))
    assert found.decision == "not borne out"
    assert "worst observed 50" in found.text


def test_one_switch_longer_than_few_ticks_decides_nothing() -> None:
    """Of as few ticks one may be as long; of a thousand none was."""
    one = system(*switches(1500, 50 * US, hit=1))
    assert answer("switch-by-cache-and-tick", one).decision == "not decided"
    one = system(*switches(1500, 50 * US, hit=1, ticks=1000))
    assert answer("switch-by-cache-and-tick", one).decision == "not borne out"
    few = system(*switches(1500, 15 * US, hit=19))
    assert answer("switch-by-cache-and-tick", few).decision == "not decided"


def test_one_release_longer_than_few_ticks_decides_nothing() -> None:
    assert answer(
        "semaphore-release-grows", system(*contended(3000, 200 * US, hit=1))
    ).decision == ("not decided")


def test_ticks_of_all_runs_bound_a_switch() -> None:
    """The shortest tick of all, and the longest."""
    short, long = (run(*switches(1500, 5 * US, tick=one)) for one in (11 * US, 60 * US))
    worst = run(*switches(1500, 50 * US)[:1])
    found = answer("switch-by-cache-and-tick", column(short, long, worst))
    assert found.decision == "borne out"
    assert "ticks took 10 to 60 us" in found.text


def test_a_few_rates_of_one_system_decide_no_trade() -> None:
    few, many = messages(3000, [10, 11]), messages(6000, [20, 21, 22, 23], **OTHER)
    assert answer("latency-against-throughput", few, many).decision == "not decided"
    assert answer("latency-against-throughput", many, few).decision == "not decided"


def test_unknown_priorities_leave_the_largest_difference_open() -> None:
    unknown = clock(4 * MS, 10_000, limits__priority_max=None, **OTHER)
    found = answer("resolution-and-priorities", clock(1, 5000), unknown)
    assert found.decision == "not decided"
    assert "an unknown number of priorities" in found.text


def test_stars_that_missing_figures_could_lower_decide_nothing_good() -> None:
    found = rated_runs.results(where=rated_runs.conditions())
    missing = [one for one in found if one.test != "SEM-P-ARC"]
    assert answer("out-of-the-box", column(run(*missing))).decision == "not decided"


def test_of_several_runs_the_fewest_stars_decide() -> None:
    good, bad = rated(1000), rated(5 * MS)
    both = replace(good, subjects=(*good.subjects, *bad.subjects))
    assert answer("out-of-the-box", both).decision == "not borne out"
    reversed_order = replace(good, subjects=(*bad.subjects, *good.subjects))
    assert answer("out-of-the-box", reversed_order).decision == "not borne out"


def test_a_rating_without_load_does_not_stand_for_one_under_load() -> None:
    calm, loaded = rated(5 * MS, load="none"), rated(1000)
    both = replace(calm, subjects=(*calm.subjects, *loaded.subjects))
    assert answer("out-of-the-box", both).decision == "borne out"


def test_one_kind_that_does_not_enter_the_kernel_contradicts() -> None:
    made = uncontended(30)
    made.series[2] = values("acquire", around(20), kind="sysv", scope="both")
    assert answer("semaphore-without-kernel", system(made)).decision == "not borne out"


def test_a_configured_system_is_not_out_of_the_box() -> None:
    found = answer("out-of-the-box", shielded_rated(1000))
    assert found.decision == "not decided"
    assert found.column == ""


def test_one_preemption_model_or_another_machine_is_no_pair() -> None:
    off, on = models(SLOW, QUICK)
    assert answer("preemption-shortens", off).decision == "not decided"
    elsewhere = replace(on, subjects=tuple(on.subjects))
    moved = column(run(kernel(QUICK, model="full"), facts={"machine.cpu_model": "other"}))
    assert answer("preemption-shortens", off, moved).decision == "not decided"
    assert answer("preemption-shortens", off, elsewhere).decision == "borne out"


def test_sections_too_short_to_be_measured_bound_the_improvement() -> None:
    short = {"fork": 600.0, "map": 600.0}
    found = answer("preemption-shortens", *models(SLOW, short))
    assert found.decision == "borne out"
    assert "> " in found.text
    assert answer("preemption-shortens", *models(short, SLOW)).decision == "not borne out"
    assert answer("preemption-shortens", *models(short, short)).decision == "not decided"


def test_another_parameter_of_the_kernel_test_is_no_pair() -> None:
    off, on = models(SLOW, QUICK)
    for subject in on.subjects:
        for one in subject.results:
            one.params = {"mean_interval_ns": 400_000}
    found = answer("preemption-shortens", off, on)
    assert found.decision == "not decided"
    assert "parameter" in found.text


def with_late_release(found: Result, longest: int) -> Result:
    """One release of all, and of its operation, took so long."""
    for place in (1, -1):
        one = found.series[place]
        changed = values(one.name, [one.max or 0, longest])
        one.histogram.buckets[:] = sorted(
            [*one.histogram.buckets, (changed.histogram.buckets[-1][0], 1)]
        )
        one.count, one.max = one.count + 1, longest
    return found


def test_one_late_release_does_not_make_the_longest_fifty_times_longer() -> None:
    """The maxima differ by over 50 times, but a share of 1 in 8 000 is not above none of 8 000."""
    both = run(
        with_late_release(kernel(QUICK, model="none"), 900 * MS), kernel(QUICK, model="full")
    )
    found = answer("worst-over-50", *by_model(both))
    assert found.decision == "not decided"
    assert "1 of 8" in found.text


def test_one_late_release_does_not_make_the_longest_longer() -> None:
    """Both lengths are shorter with preemption; of the longest only one release says so."""
    slow = with_late_release(kernel({"fork": 3e5, "map": 3e4}, model="none"), 900 * MS)
    quick = {"fork": 30_000.0, "map": 3_000.0}
    late = with_late_release(kernel(quick, model="full"), 800 * MS)
    found = answer("preemption-shortens", *by_model(run(slow, late)))
    assert found.decision == "not decided"
    sound = run(slow, kernel(quick, model="full"))
    assert answer("preemption-shortens", *by_model(sound)).decision == "borne out"


def test_unlike_numbers_of_releases_are_compared_by_their_shares() -> None:
    slow = {"fork": 9.0 * MS, "map": 3e5}
    both = run(kernel(slow, 4_000, model="none"), kernel(QUICK, 1_000, model="full"))
    assert answer("worst-over-50", *by_model(both)).decision == "borne out"
    few = run(kernel(slow, 4_000, model="none"), kernel(QUICK, 3, model="full"))
    assert answer("worst-over-50", *by_model(few)).decision == "not decided"


TERMINAL = {"copy": 3_000.0, "terminal": 90_000.0}


def test_one_of_three_paths_among_the_longest_three_leaves_it_open() -> None:
    alone = {"copy": 9e6, "map": 1.5e6, "open": 3e5, "fork": 2e4, "exec": 1e4}
    found = answer("longest-paths", *models(alone, TERMINAL))
    assert found.decision == "not decided"
    assert "copy, map, open" in found.text
    two = {"copy": 9e6, "map": 1.5e6, "exec": 3e5, "fork": 2e4, "stat": 1e4}
    assert answer("longest-paths", *models(two, TERMINAL)).decision == "borne out"
    unmeasured = {"map": 9e6, "open": 3e6, "stat": 9e5, "copy": 2e4}
    assert answer("longest-paths", *models(unmeasured, TERMINAL)).decision == "not decided"


def test_paths_that_share_a_rank_with_too_many_leave_it_open() -> None:
    alike = dict.fromkeys(("copy", "fork", "exec", "map", "open"), 9e5)
    assert answer("longest-paths", *models(alike, TERMINAL)).decision == "not decided"


def test_paths_of_both_kinds_in_the_first_rank_decide_nothing() -> None:
    off = {"copy": 900_000.0, "map": 900_000.0}
    found = answer("longest-paths", *models(off, {"terminal": 90_000.0, "copy": 3_000.0}))
    assert found.decision == "not decided"


LATSTAT = ("mean-and-worst", "tail", "hard-real-time")


@pytest.mark.parametrize("conclusion", LATSTAT)
@pytest.mark.parametrize("where", [{"load": "none"}, {"load": "kernel"}, {"cpu_config": "shared"}])
def test_other_conditions_than_the_paper_s_decide_nothing(
    conclusion: str, where: dict[str, str]
) -> None:
    for made in (wakeups(4000, 12 * US, 300_000_000, **where), wakeups(40_000, MS, 9_000, **where)):
        found = answer(conclusion, system(made))
        assert found.decision == "not decided"
        assert where.get("load", "latstat") in found.text
        assert where.get("cpu_config", "shielded") in found.text
        assert found.needed == "hardstone latstat --load latstat --cpu-config shielded"


def test_means_of_two_loads_are_not_one() -> None:
    own = wakeups(4000, 30 * US, 4_000_000)
    more = wakeups(20_000, 30 * US, 4_000_000, load="latstat+timers")
    calm = wakeups(40_000, MS, 9_000, load="none")
    assert answer("mean-and-worst", system(own, more, calm)).decision == "borne out"
    assert answer("mean-and-worst", system(more, calm)).decision == "not decided"


@pytest.mark.parametrize("worst", [20 * US, 40 * US])
@pytest.mark.parametrize("mean", [3800, 6000, 45_000])
def test_a_slow_linux_does_not_bear_out_what_is_said_of_any(mean: int, worst: int) -> None:
    found = answer("challenges-linux", system(wakeups(mean, worst, 4_000_000, load="none")))
    assert found.decision == "not decided"
    few = answer("challenges-linux", system(wakeups(3000, 20 * US, 100_000, load="none")))
    assert (few.decision, few.needed.partition(":")[0]) == ("not decided", "more values")


def test_a_mean_of_four_and_a_half_is_not_four() -> None:
    assert answer("mean-and-worst", system(wakeups(4400, 30 * US, 4_000_000))).decision == (
        "borne out"
    )
    assert answer("mean-and-worst", system(wakeups(4600, 30 * US, 4_000_000))).decision == (
        "not borne out"
    )


def test_the_means_of_several_runs_span_the_interval() -> None:
    quick, slow = (run(wakeups(one, 30 * US, 4_000_000)) for one in (3000, 11_000))
    for made in (column(quick, slow), column(slow, quick)):
        assert answer("hard-real-time", made).decision == "not decided"
        assert answer("mean-and-worst", made).decision == "not decided"


def test_a_single_value_in_the_tail_says_little() -> None:
    found = answer("tail", system(wakeups(4000, 20 * US, 8_000)))
    assert found.decision == "not decided"
    assert "per million" in found.text


def test_one_policy_or_a_refused_one_is_no_comparison() -> None:
    assert answer("linux-real-fast", points(*tire({"fifo": 6e6}))).decision == "not decided"
    refused = tire({"fifo": 6e6, "other": 5e6})
    for one in refused:
        one.conditions.realtime = False
    assert answer("linux-real-fast", points(*refused)).decision == "not decided"


def test_contrary_runs_of_the_tire_decide_nothing() -> None:
    first = run(*tire({"fifo": 6e6, "other": 5e6}))
    second = run(*tire({"fifo": 5e6, "other": 6e6}))
    found = answer("linux-real-fast", column(first, second))
    assert found.decision == "not decided"
    assert "contradict each other" in found.needed


def test_one_kernel_twice_is_not_two_kernels() -> None:
    made = [points(*tire({"fifo": 6e6})), points(*tire({"fifo": 5e6}))]
    assert answer("policy-alone", *made).decision == "not decided"
    elsewhere = points(*tire({"fifo": 5e6}), machine__cpu_model="other", **OTHER)
    assert answer("policy-alone", made[0], elsewhere).decision == "not decided"


def test_kernels_that_missed_nothing_are_not_equal() -> None:
    made = tire({"fifo": 6e6}, {"fifo": above(9000)})
    other = tire({"fifo": 6_010_000}, {"fifo": above(9000)}, swing={"fifo": -0.003})
    found = answer("policy-alone", points(*made), points(*other, **OTHER))
    assert found.decision == "not decided"


def test_kernels_that_miss_differently_explain_more_than_the_policy() -> None:
    made = tire(missed={"fifo": above(800)}), tire(missed={"fifo": above(3600)})
    found = answer("policy-alone", points(*made[0]), points(*made[1], **OTHER))
    assert found.decision == "borne out"


def test_a_difference_under_one_policy_is_enough() -> None:
    first = points(*tire({"fifo": 6e6, "other": 5e6}))
    second = points(*tire({"fifo": 6e6, "other": 4e6}), **OTHER)
    assert answer("policy-alone", first, second).decision == "borne out"


def test_total_times_alone_do_not_make_kernels_equal() -> None:
    first = points(*tire({"fifo": 6e6}))
    second = points(*tire({"fifo": 6_010_000}, swing={"fifo": -0.003}), **OTHER)
    assert answer("policy-alone", first, second).decision == "not decided"


def test_an_edge_needs_two_sizes_that_missed() -> None:
    once = points(*tire(missed={"fifo": above(3600), "other": scattered}))
    assert answer("sharp-edge", once).decision == "not decided"
    twice = points(*tire(missed={"fifo": above(3200), "other": scattered}))
    assert answer("sharp-edge", twice).decision == "borne out"


def test_threads_per_core_count_cores_and_not_their_halves() -> None:
    found = tire(missed={"fifo": above(2000), "other": scattered}, threads=[4])
    assert answer("sharp-edge", points(*found)).decision == "borne out"
    assert answer("sharp-edge", points(*found, cpu__smt=True)).decision == "not decided"


def test_two_parts_that_lack_the_same_say_it_once() -> None:
    assert answer("inversion", system(preemptions(MS))).text == "MUT-B-INV was not run."


def test_a_spin_lock_that_locked_up_is_vulnerable() -> None:
    assert answer("inversion", system(inverted(0, 0, locked=1))).decision == "borne out"
    assert answer("inversion", system(inverted(0, 0))).decision == "not borne out"


def test_names_of_a_target_reach_no_terminal_unescaped() -> None:
    made = preemptions(2 * MS)
    found = answer("linux-preemption", system(made, title="a\x1b[31mb"))
    assert "\x1b" not in found.column
    odd = answer("reserved-cpu", system(blocks(40 * MS, load="heavy+\x1b[31m", **RESERVED)))
    assert odd.decision == "not borne out"
    assert not any("\x1b" in text for text in (odd.text, *odd.evidence))


def test_the_evidence_names_figure_run_and_count() -> None:
    made = run(preemptions(2 * MS))
    (line,) = answer("linux-preemption", column(made)).evidence
    assert line == (
        "THR-P-PRE/thread/preemption: worst observed 2 ms of 1\N{NO-BREAK SPACE}001 values under "
        f"load none ({made.id})"
    )


def on_target(one: Column, target: str) -> Column:
    for subject in one.subjects:
        document = subject.document
        document.plan = msgspec.structs.replace(document.plan, target=target)
    return one


def test_what_to_measure_names_the_target_that_was_measured() -> None:
    found = answer("inversion", on_target(system(preemptions(MS)), "lab:debian"))
    assert found.needed == "hardstone run --target lab:debian MUT-B-INV"
    tire_less = answer("sharp-edge", on_target(system(preemptions(MS)), "lab:x"))
    assert "hardstone simulate realtime --target lab:x --policy" in tire_less.needed
    assert "--target" not in answer("inversion", system(preemptions(MS))).needed
    reserved = on_target(system(blocks(10 * MS)), "lab:debian")
    assert "--target lab:debian" in answer("reserved-cpu", reserved).needed
    elsewhere = answer("reserved-cpu", reserved, system(blocks(10 * MS)))
    assert "--target" not in elsewhere.needed
    second = answer("resolution-and-priorities", on_target(clock(1, 5000), "lab:debian"))
    assert "--target" not in second.needed
    hostile = answer("inversion", on_target(system(preemptions(MS)), "lab:\x1b[31m; reboot"))
    assert "\x1b" not in hostile.needed
    assert "; reboot'" in hostile.needed


def test_what_to_measure_names_the_cpu_configuration_that_was_measured() -> None:
    reserved = answer("inversion", system(blocks(10 * MS, **RESERVED)))
    assert reserved.needed == "hardstone run --cpu-config shielded MUT-B-INV"
    own = answer("mean-and-worst", system(timers(US, **RESERVED)))
    assert own.needed.count("--cpu-config") <= 1
    both = answer("reserved-cpu", system(blocks(10 * MS, cpu_config="single")))
    assert both.needed.endswith("--cpu-config shared,shielded")


def test_only_another_kind_of_time_asks_for_hardware() -> None:
    apart = replace(system(preemptions(2 * MS)), apart="not trustworthy: the clock stood still")
    assert answer("linux-preemption", apart).needed == "a run without this problem"
    emulated = with_facts(system(preemptions(2 * MS)), EMULATED)
    assert answer("linux-preemption", emulated).needed == "a run on hardware"


def test_several_steps_are_needed_one_command_at_a_time() -> None:
    found = answer("low-overhead", system(*overhead("none")))
    assert found.needed.startswith("first of 3 steps: more values: hardstone run SEM-P-RTP")
    assert found.needed.count("hardstone") == 1
