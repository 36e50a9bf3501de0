"""Plan: pure, whole, and every problem of a request at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_PRIVILEGE, EXIT_USAGE, PrivilegeError
from hardstone.model import Plan
from hardstone.plan.make import Request, make_plan, rest_of
from hardstone.plan.params import PlanError, nearest, parse_cpu_list
from hardstone.preemption.tables import booted_models, switched_models
from hardstone.present.overview import run_command
from tests.process.targets import sample

REGISTER = sample.register()
FACTS = sample.facts().facts
LOADS = sample.loads()
CATALOGUE = load_catalogue()


def plan(**request: object) -> Plan:
    return make_plan(Request(**request), REGISTER, CATALOGUE, FACTS, LOADS)  # type: ignore[arg-type]


def problems(**request: object) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        plan(**request)
    assert caught.value.exit_code == EXIT_USAGE
    assert all("\n" not in line and "; " in line for line in caught.value.problems)
    return caught.value.problems


def ids(found: Plan) -> list[str]:
    return [test.test for test in found.tests]


def test_tests_are_in_catalogue_order_however_they_are_named() -> None:
    assert ids(plan()) == CATALOGUE.ids()
    found = plan(tests=("sem-p-rtp", "TMR-*", "SEM-P-?[IT]?", "Tmr-P-Lat"))
    assert ids(found) == ["SEM-P-RTP", "TMR-P-JIT", "TMR-B-EDGE", "TMR-P-LAT", "SEM-P-SIG"]


@pytest.mark.parametrize(
    ("test", "asked", "samples", "duration_ns", "interval_ns"),
    [
        ("TMR-P-LAT", {}, 0, 8_000_000_000, 1_000_000),
        # a figure of the user replaces both limits of the profile
        ("TMR-P-LAT", {"samples": "500"}, 500, 0, 1_000_000),
        ("RSP-P-FIX", {"duration": "2m"}, 0, 120_000_000_000, None),
        # bare durations are seconds, bare intervals us
        ("TMR-P-LAT", {"duration": "300", "interval": "250"}, 0, 300_000_000_000, 250_000),
    ],
)
def test_limits_are_those_of_the_user_or_of_the_profile(
    test: str, asked: dict[str, str], samples: int, duration_ns: int, interval_ns: int | None
) -> None:
    (found,) = plan(tests=(test,), **asked).tests
    assert (found.samples, found.duration_ns) == (samples, duration_ns)
    assert found.params.get("interval_ns") == interval_ns
    assert found.deadline_ns > found.expected_ns > found.duration_ns


@pytest.mark.parametrize(
    ("test", "pair", "value"),
    [
        ("TMR-P-JIT", "periods_ns=1ms,10ms", [1_000_000, 10_000_000]),
        ("TMR-P-JIT", "periods_ns=2000000", [2_000_000]),
        ("TMR-P-JIT", "periods_ns=1ms,1ms", [1_000_000]),
        ("TMR-P-JIT", "mechanisms=timerfd", ["timerfd"]),
        ("IRQ-S-SUS", "passed_ns=300,0,0,300", [300, 0, 0, 300]),  # makes no variants
    ],
)
def test_parameters(test: str, pair: str, value: object) -> None:
    (found,) = plan(tests=(test,), params=(pair,)).tests
    assert found.params[pair.partition("=")[0]] == value


SECOND_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("test", "params", "samples", "least_s", "most_s"),
    [
        ("TMR-P-LAT", ("interval_ns=10s",), 100, 1000, 1010),
        ("TMR-P-LAT", ("interval_ns=10us",), 100_000, 1, 2),
        ("RSP-P-FIX", ("block_ns=100ms", "kinds=add,copy"), 100, 26, 32),
        ("TMR-P-JIT", ("periods_ns=1s,3s", "mechanisms=timerfd"), 50, 200, 202),
        ("MUT-P-INV", ("medium_ns=500ms", "protocols=none"), 100, 60, 80),
        ("MUT-P-INV", ("medium_ns=0", "protocols=none"), 100, 0, 1),
        ("MUT-B-INV", ("medium_ns=500ms",), 100, 25, 40),
    ],
)
def test_a_parameter_that_takes_time_is_planned(
    test: str, params: tuple[str, ...], samples: int, least_s: int, most_s: int
) -> None:
    (found,) = plan(tests=(test,), params=params, samples=str(samples)).tests
    assert least_s * SECOND_NS <= found.expected_ns <= most_s * SECOND_NS
    assert found.deadline_ns >= found.expected_ns + 60 * SECOND_NS


@pytest.mark.parametrize(
    ("is_recording", "params", "parts"),
    [(True, (), "auto"), (True, ("parts=none",), "none"), (False, (), "none")],
)
def test_a_recording_shows_the_parts_where_it_can(
    is_recording: bool, params: tuple[str, ...], parts: str
) -> None:
    (found,) = plan(tests=("TMR-P-LAT",), is_recording=is_recording, params=params).tests
    assert found.params["parts"] == parts


def test_only_tests_of_files_have_a_folder() -> None:
    found = plan(tests=("FIO-P-SYN", "CLK-P-BIN"), default_folder="/a b")
    assert {test.test: test.folder for test in found.tests} == {
        "FIO-P-SYN": "/a b",
        "CLK-P-BIN": None,
    }
    assert "--dir" not in found.command  # it is the default of this machine
    typed = plan(tests=("FIO-P-SYN",), folder="/a b", default_folder="/c")
    assert typed.command[typed.command.index("--dir") + 1] == "/a b"


def test_machine_and_conditions() -> None:
    found = plan(cpu="5", priority="90", policy="rr", clock="monotonic", seed="7", name="mine")
    assert found.dma_latency_us is None
    assert plan(dma_latency="0").dma_latency_us == 0
    assert (found.cpu, found.priority, found.policy) == (5, 90, "rr")
    assert (found.clock, found.seed, found.name) == ("monotonic", 7, "mine")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"tests": ("TMR-P-LATT",)}, "did you mean TMR-P-LAT?"),
        ({"tests": ("QQQ-*",)}, "no test matches 'QQQ-*'"),
        ({"tests": ("",)}, "unknown test ''"),
        ({"tests": ()}, "no test was named"),
        ({"tests": ("A" * 5000,)}, "unknown test"),
        ({"tests": ("\x1b[31mTMR",)}, "'?[31mTMR'"),
        ({"profile": "slow"}, "unknown profile 'slow'"),
        ({"params": ("intervall_ns=1ms",)}, "did you mean interval_ns?"),
        ({"params": ("interval_ns",)}, "has no value"),
        ({"params": ("=3",)}, "has no value"),
        ({"params": ("interval_ns=1ms", "interval_ns=2ms")}, "given twice"),
        ({"params": ("interval_ns=1ms,2ms",)}, "takes one value"),
        ({"params": ("interval_ns=1ns",)}, "out of limits"),
        ({"params": ("interval_ns=300d",)}, "out of limits"),
        ({"params": ("interval_ns=",)}, "not a duration"),
        ({"params": ("interval_ns=1.5",)}, "not a whole number"),
        ({"params": ("periods_ns=1ms,",)}, "not a duration"),
        ({"params": ("periods_ns=" + "1ms," * 20 + "1ms",)}, "at most 16"),
        ({"params": ("mechanisms=timerdf",), "tests": ("TMR-P-JIT",)}, "did you mean timerfd?"),
        ({"params": ("cpus=3",)}, "CPU 3 is not available here"),
        ({"params": ("cpus=-1",)}, "out of range"),
        ({"samples": "0"}, "out of range"),
        ({"samples": "9" * 30}, "not a whole number"),
        ({"samples": str(10**13)}, "out of range"),
        ({"samples": ""}, "not a whole number"),
        ({"samples": "٣"}, "not a whole number"),
        ({"samples": str(10**12), "tests": ("TMR-P-LAT",)}, "would take about"),
        ({"duration": "0"}, "above zero"),
        ({"duration": "9" * 40}, "too long"),
        ({"duration": "5 parsecs"}, "not a duration"),
        ({"interval": "0"}, "above zero"),
        ({"interval": "100", "tests": ("CLK-P-BIN",)}, "no chosen test has an interval"),
        ({"interval": "100", "params": ("interval_ns=1ms",)}, "both given"),
        ({"tests": ("CLK-P-BIN",), "folder": "/a"}, "--dir: no chosen test uses files; leave it"),
        ({"cpu": "3"}, "give one of '0-2,5'"),
        ({"cpu": "-1"}, "out of range"),
        ({"cpu": "one"}, "not a whole number"),
        ({"priority": "0"}, "give 1 to 99"),
        ({"priority": "100"}, "give 1 to 99"),
        ({"priority": "high"}, "not a whole number"),
        ({"priority": "max", "policy": "other"}, "policy other has no priority"),
        ({"seed": "-1"}, "out of range"),
        ({"dma_latency": "2000000001"}, "out of range"),
        ({"dma_latency": "5us"}, "not a whole number"),
        ({"name": "x" * 200}, "too long or not printable"),
        ({"name": "a\x1b[2J"}, "too long or not printable"),
    ],
)
def test_a_bad_input_is_named(request_: dict[str, object], words: str) -> None:
    found = problems(**request_)
    assert len(found) == 1, found
    assert words in found[0]
    assert found[0].isprintable()


def test_all_problems_come_in_one_go() -> None:
    found = problems(
        tests=("TMR-P-LAT", "TMR-P-LATT", "QQQ-*"),
        params=("nonsense=1", "interval_ns=1ns"),
        samples="-1",
        duration="nan",
        cpu="64",
        priority="100",
        seed="x",
    )
    assert len(found) == 9


@pytest.mark.parametrize(("policy", "highest"), [("fifo", 99), ("rr", 31)])
def test_the_highest_priority_is_planned_as_a_number(policy: str, highest: int) -> None:
    facts = {**FACTS, "limits.priority_max": highest}
    request = Request(priority="max", policy=policy)
    assert make_plan(request, REGISTER, CATALOGUE, facts).priority == highest


def test_an_unknown_machine_is_not_guessed() -> None:
    with pytest.raises(PlanError, match="does not report its highest priority"):
        make_plan(Request(priority="max"), REGISTER, CATALOGUE)
    found = make_plan(Request(cpu="900", priority="200"), REGISTER, CATALOGUE)
    assert (found.cpu, found.priority) == (900, 200)
    faulty = {"cpu.allowed": "0-4294967295"}
    assert make_plan(Request(cpu="1"), REGISTER, CATALOGUE, faulty).cpu == 1


def test_an_isolated_cpu_may_be_named() -> None:
    facts = {**FACTS, "kernel.isolated_cpus": "3-4"}
    assert make_plan(Request(cpu="3"), REGISTER, CATALOGUE, facts).cpu == 3
    with pytest.raises(PlanError, match="CPU 6 is not available here"):
        make_plan(Request(cpu="6"), REGISTER, CATALOGUE, facts)


def test_a_test_that_the_probe_lacks() -> None:
    small = msgspec.structs.replace(REGISTER, tests=REGISTER.tests[:1])
    with pytest.raises(PlanError, match="the probe has no test 'TMR-P-LAT'"):
        make_plan(Request(tests=("TMR-P-LAT",)), small, CATALOGUE)


TEXTS = st.none() | st.text(max_size=12) | st.integers(-9, 10**6).map(str)
REQUESTS = st.builds(
    Request,
    tests=st.lists(st.sampled_from(["*", "TMR-*", "clk-b-res", "x", ""]), max_size=4).map(tuple),
    samples=TEXTS,
    duration=TEXTS,
    interval=TEXTS,
    cpu=TEXTS,
    priority=TEXTS,
    policy=st.sampled_from(["fifo", "rr", "other"]),
    params=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    seed=st.text(max_size=5) | st.just("0"),
    name=st.text(max_size=10),
)


def outcome(request: Request) -> bytes | tuple[str, ...]:
    try:
        return msgspec.json.encode(make_plan(request, REGISTER, CATALOGUE, FACTS))
    except PlanError as error:
        return error.problems


@pytest.mark.slow
@given(REQUESTS)
@example(Request(priority="0\x1f", seed="7\x1c"))
def test_whatever_is_typed_gives_the_same_plan_or_lines_each_time(request: Request) -> None:
    before = msgspec.json.encode([REGISTER, FACTS])
    assert outcome(request) == outcome(request)
    assert msgspec.json.encode([REGISTER, FACTS]) == before
    found = outcome(request)
    if isinstance(found, bytes):
        assert msgspec.json.decode(found, type=Plan).tests
    else:
        assert found and all(line.isprintable() for line in found)


@pytest.mark.parametrize(
    ("test", "duration", "is_emulated", "deadline_s"),
    [
        ("TMR-P-LAT", "2s", False, 15.625),  # 2.5 s are expected
        ("TMR-P-LAT", "100ms", False, 11.35),
        ("TMR-P-LAT", "8h", False, 36_060.625),  # a quarter, and a minute
        ("TMR-P-LAT", "2s", True, 63.125),
        ("TMR-P-LAT", "2s", None, 63.125),  # it may be
        ("FIO-P-STR", "2s", False, 62.75),  # writes its files first
    ],
)
def test_a_deadline_is_in_proportion(
    test: str, duration: str, is_emulated: bool | None, deadline_s: float
) -> None:
    facts = {**FACTS, "virtual.emulated": is_emulated}
    (found,) = make_plan(
        Request(tests=(test,), duration=duration), REGISTER, CATALOGUE, facts
    ).tests
    assert found.deadline_ns == deadline_s * SECOND_NS


@pytest.mark.parametrize(
    ("asked", "recorded", "left"),
    [
        ({"duration": "10m"}, (60, 0), (540, 0)),
        ({"duration": "10m"}, (0, 0), (600, 0)),
        ({"duration": "10m"}, (599, 0), (1, 0)),
        ({"duration": "10m"}, (599.5, 0), None),
        ({"samples": "1000"}, (60, 400), (0, 600)),
        ({"samples": "1000"}, (60, 999), (0, 1)),
        ({"samples": "1000"}, (60, 1000), None),
        ({"duration": "10m", "samples": "1000"}, (60, 400), (540, 600)),
        ({"duration": "10m", "samples": "1000"}, (60, 1000), None),
        ({"duration": "10m", "samples": "1000"}, (600, 400), None),
    ],
)
def test_what_is_left_of_a_recording(
    asked: dict[str, str], recorded: tuple[float, int], left: tuple[int, int] | None
) -> None:
    """In seconds and samples; none where either is spent."""
    rest = rest_of(plan(tests=("TMR-P-LAT",), **asked), round(recorded[0] * SECOND_NS), recorded[1])
    found = None if rest is None else (rest.tests[0].duration_ns, rest.tests[0].samples)
    assert found == (None if left is None else (left[0] * SECOND_NS, left[1]))


@pytest.mark.parametrize(
    ("expected_s", "measured_s", "left_s"),
    [(602, 0, 602), (602, 60, 542), (602, 10**6, 1), (0, 9, 0)],
)
def test_the_rest_of_a_recording_is_expected_to_take_the_rest_of_its_time(
    expected_s: int, measured_s: int, left_s: int
) -> None:
    """At least a second, where recording took longer than was expected of its samples."""
    whole = plan(tests=("TMR-P-LAT",), samples="1000", name="mine")
    whole.tests[0] = msgspec.structs.replace(
        whole.tests[0],
        expected_ns=expected_s * SECOND_NS,
        deadline_ns=(expected_s + 100) * SECOND_NS,
    )
    rest = rest_of(whole, measured_s * SECOND_NS, 1)
    assert rest is not None
    assert rest.tests[0].expected_ns == left_s * SECOND_NS
    assert rest.tests[0].deadline_ns == (left_s + 100) * SECOND_NS
    assert (rest.name, rest.tests[0].params) == ("mine", whole.tests[0].params)


def test_names_that_are_left_out_are_counted() -> None:
    names = [f"name-{letter}" for letter in "abcdefghijk"]
    assert nearest("q", names[:8]) == f"choose from {', '.join(names[:8])}"
    assert nearest("q", names) == f"choose from {', '.join(names[:8])} and 3 more"


CHOICES = "kernel.preemption_choices"
DYNAMIC = "kernel.preemption_is_dynamic"
UNSEEN = {DYNAMIC: True, "kernel.preemption": "dynamic\x1b"}


@pytest.mark.parametrize(
    ("choices", "models"),
    [
        ("none, voluntary, full", ("none", "full")),
        ("none, voluntary, full, lazy", ("none", "full")),
        ("full, lazy", ("lazy", "full")),
        ("full, lazy, laziest", ("laziest", "full")),
        ("none, voluntary", ("none", "voluntary")),
    ],
)
def test_off_is_the_least_preemptible_model(choices: str, models: tuple[str, str]) -> None:
    found = switched_models({CHOICES: choices})
    assert found[:2] == models
    assert (found.off == "none") is ("the kernel has no model none" not in found.remark)
    assert (found.on == "full") is ("the kernel has no model full" not in found.remark)


def test_a_boot_chooses_among_what_the_lab_knows() -> None:
    facts = {CHOICES: "full, lazy, laziest", "kernel.realtime": True}
    found = booted_models(facts, ("none", "voluntary", "full", "lazy"))
    assert found[:2] == ("lazy", "full")
    assert "off is lazy" in found.remark and "PREEMPT_RT" in found.remark


IN_LAB = "run KRN-P-PRE --compare-preemption --target lab:debian"


def hidden_from_root(debugfs: str, **more: object) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in more.items()}
    return UNSEEN | {"user.effective_id": 0, "kernel.debugfs": debugfs} | named


@pytest.mark.parametrize(
    ("facts", "said", "remedy"),
    [
        ({DYNAMIC: False, "kernel.preemption": "voluntary"}, "is built in (voluntary)", IN_LAB),
        ({CHOICES: "full", DYNAMIC: False, "kernel.preemption": "full"}, "in (full)", IN_LAB),
        ({CHOICES: "tepid, eager", "kernel.preemption": "eager"}, "is built in (eager)", IN_LAB),
        ({}, "does not report its preemption model", IN_LAB),
        (UNSEEN | {"user.effective_id": 1000}, "run it as root", IN_LAB),
        (UNSEEN | {"user.effective_id": 0},
         "cannot be seen (dynamic?): debugfs is missing, or the kernel is locked down", IN_LAB),
        (hidden_from_root("not mounted"), "debugfs is not mounted",
         "mount -t debugfs debugfs /sys/kernel/debug"),
        (hidden_from_root("none"), "has no debugfs", IN_LAB),
        (hidden_from_root("refused"), "neither shows nor switches it, even for root", IN_LAB),
        (hidden_from_root("mounted"), "has no sched/preempt", IN_LAB),
        (hidden_from_root("not mounted", virtual__container="docker", user__cap_sys_admin=False),
         "a container may not mount it: start the container with", ""),
    ],
)  # fmt: skip
def test_why_a_kernel_is_not_switched(facts: dict[str, Any], said: str, remedy: str) -> None:
    with pytest.raises(PrivilegeError) as caught:
        switched_models(facts)
    assert said in str(caught.value) and caught.value.exit_code == EXIT_PRIVILEGE
    assert "\n" not in str(caught.value)
    assert caught.value.remedy.endswith(remedy)


def test_a_list_of_cpus_that_counts_down_is_no_list() -> None:
    assert parse_cpu_list("0-1,3") == {0, 1, 3}
    with pytest.raises(ValueError, match="'1-0' is in descending order: write 0-1"):
        parse_cpu_list("1-0")


def test_each_condition_is_measured_under_both_one_after_the_other() -> None:
    request: dict[str, Any] = {"tests": ("TMR-P-LAT", "SEM-P-SIG")}
    request["cpu_config"] = ("shared,shielded",)
    both, once = plan(**request, preemption_models=("none", "full")), plan(**request)
    assert [one.preemption for one in both.tests] == ["none", "full"] * len(once.tests)
    places = [(one.test, one.cpu_config) for one in both.tests]
    assert places[::2] == places[1::2] == [(one.test, one.cpu_config) for one in once.tests]
    assert both.preemption_models == ["none", "full"]
    assert {one.preemption for one in once.tests} == {None}
    commands = [run_command(one) for one in (both, once)]
    assert ["--compare-preemption" in one for one in commands] == [True, False]
