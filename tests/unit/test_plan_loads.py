"""Plan of loads and CPU configurations: every combination, every problem, in words."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.model import LoadMix, Loads, Plan, PlannedTest
from hardstone.plan.make import Request, make_plan
from hardstone.plan.params import PlanError, Problems, check_loads, split_loads
from tests.process.targets import sample

REGISTER, FACTS, LOADS = sample.register(), sample.facts().facts, sample.loads()
CATALOGUE = load_catalogue()
TESTS = ("TMR-P-JIT", "CLK-P-BIN")


def plan(known: Loads | None = LOADS, **request: object) -> Plan:
    asked = Request(**{"tests": TESTS, **request})  # type: ignore[arg-type]
    return make_plan(asked, REGISTER, CATALOGUE, FACTS, known)


def problems(known: Loads | None = LOADS, **request: object) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        plan(known, **request)
    return caught.value.problems


def cell(test: PlannedTest) -> tuple[str, str, str]:
    return test.test, test.load, test.cpu_config


def test_every_combination_test_by_test_then_load_by_load() -> None:
    found = plan(load=("none,heavy", "search"), cpu_config=("shared,shielded",))
    assert [cell(test) for test in found.tests] == [
        (test, load, config)
        for test in TESTS
        for load in ("none", "heavy", "search")
        for config in ("shared", "shielded")
    ]
    assert found.loads == ["none", "heavy", "search"]
    assert found.cpu_configs == ["shared", "shielded"]
    assert (found.load, found.cpu_config) == ("none,heavy,search", "shared,shielded")
    once = plan(settings=("dma_latency",))
    assert [cell(test) for test in once.tests] == [(test, "none", "shared") for test in TESTS]
    assert (once.load, once.cpu_config) == ("none", "shared")
    assert [test.settings for test in once.tests] == [["dma_latency"]] * 2


def test_what_a_condition_takes_to_set_up_is_planned() -> None:
    plain, heavy, storm = plan(tests=("CLK-P-BIN",), load=("none,heavy,storm",)).tests
    (shielded,) = plan(tests=("CLK-P-BIN",), cpu_config=("shielded",)).tests
    assert plain.expected_ns < heavy.expected_ns < storm.expected_ns
    assert plain.expected_ns < shielded.expected_ns
    for test in (heavy, storm, shielded):
        assert test.deadline_ns - test.expected_ns > plain.deadline_ns - plain.expected_ns
        assert (test.samples, test.duration_ns) == (plain.samples, plain.duration_ns)


def test_taking_cpus_offline_takes_longer_the_more_there_are() -> None:
    def under(config: str, cpus: int) -> PlannedTest:
        request = Request(tests=("CLK-P-BIN",), cpu_config=(config,))
        facts = FACTS | {"cpu.count": cpus}
        return make_plan(request, REGISTER, CATALOGUE, facts, LOADS).tests[0]

    small, large = under("single", 2), under("single", 64)
    assert under("shielded", 64).expected_ns < small.expected_ns < large.expected_ns
    assert large.deadline_ns - small.deadline_ns > large.expected_ns - small.expected_ns


@pytest.mark.parametrize(
    ("given_", "loads"),
    [
        (("none",), ["none"]),
        (("none, heavy",), ["none", "heavy"]),
        (("none", "heavy"), ["none", "heavy"]),
        (("stress-ng:--cpu 2,--vm 1",), ["stress-ng:--cpu 2,--vm 1"]),
        (("none,stress-ng:--cpu 2, 3",), ["none", "stress-ng:--cpu 2, 3"]),
        (("heavy,search+stress-ng:-c 1",), ["heavy", "search+stress-ng:-c 1"]),
    ],
)
def test_lists_are_split_and_options_of_stress_ng_are_not(
    given_: tuple[str, ...], loads: list[str]
) -> None:
    assert split_loads(given_) == loads


HEAVY = (
    "cpu=10ms/100ms+disk=10ms/100ms+interrupt=1000/s+network=4000/s+syscall=10ms/100ms"
    "+memory=10ms/100ms+search"
)

# What is typed, and the one form that all texts of the same load have.
FORMS = [
    ("none", "none"),
    ("heavy", "heavy"),
    (HEAVY, "heavy"),
    ("search+memory+syscall+network+interrupt+disk+cpu", "heavy"),
    (f"build+{HEAVY}", "heavy+build=1"),
    ("storm", "storm"),
    ("messages+kernel+build+storm=240+heavy", "storm"),
    (f"{HEAVY}+storm=0240+build+kernel+messages=1", "storm"),
    ("kernel+build+storm=240+heavy", "heavy+storm=240+build=1+kernel"),
    ("messages@cpu+storm=3", "storm=3+messages=1@cpu"),
    ("storm=100", "storm=100"),
    ("storm=240", "storm=240"),
    ("storm=100+heavy", "heavy+storm=100"),
    ("search+network=4000/s+cpu=10ms/100ms", "cpu=10ms/100ms+network=4000/s+search"),
    ("cpu", "cpu=10ms/100ms"),
    ("cpu=0.01s/0.1s", "cpu=10ms/100ms"),
    ("cpu=10000us/100000000ns", "cpu=10ms/100ms"),
    ("cpu=10 MS/100 ms", "cpu=10ms/100ms"),
    ("cpu=1.5ms/1s", "cpu=1500us/1s"),
    ("cpu=100001ns/1ms", "cpu=100001ns/1ms"),
    ("cpu=1s/10s", "cpu=1s/10s"),
    ("cpu=20ms/200ms", "cpu=20ms/200ms"),
    ("network", "network=4000/s"),
    ("network=004000/s", "network=4000/s"),
    ("kernel+build+search", "search+build=1+kernel"),
    ("heavy@cpu", "heavy@cpu"),
    ("+".join(f"{term}@cpu" for term in HEAVY.split("+")), "heavy@cpu"),
    ("search@cpu+" + HEAVY.removesuffix("+search"), HEAVY + "@cpu"),
    ("storm@cpu", "storm@cpu"),
    ("messages@cpu+kernel@cpu+build=1@cpu+storm=240@cpu+heavy@cpu", "storm@cpu"),
    ("cpu@cpu", "cpu=10ms/100ms@cpu"),
    ("cpu=0.01s/0.1s@cpu+search@cpu", "cpu=10ms/100ms@cpu+search@cpu"),
    ("latstat", "latstat"),
    ("build=3400+storm=240", "latstat"),
    (f"latstat+{HEAVY}", "heavy+latstat"),
    ("storm=7@cpu", "storm=7@cpu"),
    ("network@cpu", "network=4000/s@cpu"),
    ("network=4000/s@LocalHost:001", "network=4000/s@localhost:1"),
    ("network=4000/s@[0:0::1]:1@cpu", "network=4000/s@[::1]:1@cpu"),
    ("network=10/s@127.0.0.1:1", "network=10/s@127.0.0.1:1"),
    ("interrupt=010/s@/dev/uio0", "interrupt=10/s@/dev/uio0"),
    ("search+interrupt=100/s@/dev/uio255", "interrupt=100/s@/dev/uio255+search"),
    ("interrupt=1000/s", "interrupt=1000/s"),
    ("stress-ng:  --cpu 2   --vm 1 ", "stress-ng:--cpu 2 --vm 1"),
    ("search+cpu+stress-ng:--matrix 0", "cpu=10ms/100ms+search+stress-ng:--matrix 0"),
]


def one_form(load: str) -> str:
    found = Problems()
    (form,) = check_loads((load,), LOADS, found)
    found.raise_if_any()
    return form


@pytest.mark.parametrize(("load", "form"), FORMS)
def test_equal_loads_have_one_form(load: str, form: str) -> None:
    assert one_form(load) == one_form(form) == form


def test_the_forms_are_what_is_planned_and_unlike_degrees_have_unlike_ones() -> None:
    found = plan(load=("cpu=0.01s/0.1s", "search+disk"))
    assert found.loads == ["cpu=10ms/100ms", "disk=10ms/100ms+search"]
    assert found.load == ",".join(found.loads)
    assert {test.load for test in found.tests} == set(found.loads)
    loads = "cpu=10ms/100ms,cpu=20ms/200ms,cpu=10ms/101ms,storm,storm=240,none"
    assert plan(load=(loads,)).loads == loads.split(",")


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        (("cpu=10ms/100ms", "none", "cpu=0.01s/0.1s"), "'cpu=10ms/100ms' and 'cpu=0.01s/0.1s' are"),
        (("disk+cpu,cpu+disk",), "'disk+cpu' and 'cpu+disk' are the same; give one of them"),
        (("heavy", HEAVY), "'heavy' and 'cpu=10ms/100ms+disk=10ms/100ms+interr...' are the same"),
        (("storm,heavy+build+kernel+messages+storm=240",), "are the same"),
        (("stress-ng:--cpu 1", "stress-ng: --cpu  1"), "are the same"),
        (("heavy,heavy",), "--load: 'heavy' is given twice; give it once"),
        (("heavy,heavy,heavy",), "--load: 'heavy' is given twice; give it once"),
        (("none,none",), "--load: 'none' is given twice; give it once"),
    ],
)
def test_one_load_is_asked_for_once(loads: tuple[str, ...], said: str) -> None:
    (found,) = problems(load=loads)
    assert said in found


@pytest.mark.parametrize(
    ("load", "taken"),
    [
        ("stress-ng:--cpu 1,heavy", "heavy"),
        ("stress-ng:--cpu 1, none", "none"),
        ("stress-ng:--cpu 1,cpu=10ms/100ms+search", "cpu=10ms/100ms+search"),
        ("heavy+stress-ng:--cpu 1,storm=3,hevy", "storm=3"),
        ("stress-ng:--cpu 1,stress-ng:--vm 2", "stress-ng:--vm 2"),
        ("none,stress-ng:--cpu 1,heavy", "heavy"),
        ("stress-ng:--seq 1 --class cpu,heavy", "heavy"),
        ("stress-ng:--cpu 2,memory", "memory"),
    ],
)
def test_a_load_behind_options_of_stress_ng_is_not_taken_for_one(load: str, taken: str) -> None:
    (found,) = problems(load=(load,))
    assert found == (
        f"--load: everything after stress-ng: is passed to it, including '{taken}'; put "
        f"'{taken}' before stress-ng:, or write a stress-ng option there"
    )


@pytest.mark.parametrize(
    "load",
    [
        "stress-ng:--class cpu,memory --seq 1",
        "stress-ng:--seq 1 --class cpu,memory",
        "stress-ng:--class memory,vm,network,os --seq 1 --timeout 5",
        "stress-ng:--cpu 2, --vm 1",
        "stress-ng:--taskset 0,2-3",
        "stress-ng:--vm-method heavy",
        "stress-ng:--cpu 1,",
    ],
)
def test_commas_within_options_of_stress_ng_stay(load: str) -> None:
    assert one_form(load) == load


def test_a_probe_with_endless_mixes_is_no_endless_work() -> None:
    mixes = [LoadMix(name=f"m{n}", load="+".join([f"m{n + 1}"] * 30)) for n in range(9)]
    known = msgspec.structs.replace(LOADS, mixes=[*mixes, LoadMix(name="m9", load="cpu")])
    (found,) = [line for line in problems(known, load=("m0",)) if "terms" in line]
    assert "more than 64 terms" in found
    for terms in (64, 65):
        lines = problems(load=("+".join(["cpu"] * terms),))
        assert any("more than 64 terms" in line for line in lines) == (terms > 64)


NO_LOADS = [
    ("", "a name is empty"),
    ("none,", "a name is empty"),
    ("heavy,none,heavy", "'heavy' is given twice"),
    ("hevy", "did you mean heavy?"),
    ("Heavy", "did you mean heavy?"),
    ("netwrok=5/s", "did you mean network?"),
    ("heavy=3", "heavy is a mix and has no degree"),
    ("heavy+none", "none cannot be part of a mix"),
    ("heavy+cpu=1ms/10ms", "cpu is given twice"),
    ("storm+storm=3", "storm is given twice"),
    ("cpu++search", "a part of a mix is empty"),
    ("+cpu", "a part of a mix is empty"),
    ("search=4", "search has no degree"),
    ("cpu=", "not have the form BUSY/PERIOD"),
    ("cpu=10ms", "not have the form BUSY/PERIOD"),
    ("cpu=10/100", "not have the form BUSY/PERIOD"),
    ("cpu=0ms/100ms", "not have the form BUSY/PERIOD"),
    ("cpu=-1ms/100ms", "not have the form BUSY/PERIOD"),
    ("cpu=nanms/1s", "not have the form BUSY/PERIOD"),
    ("cpu=200ms/100ms", "busy time is out of limits"),
    ("cpu=1us/1ms", "busy time is out of limits"),
    ("cpu=1us/1us", "period is out of limits"),
    ("cpu=1s/1h", "period is out of limits"),
    ("network=4000", "not have the form N/s"),
    ("network=0/s", "out of limits; give 1/s to 100000/s"),
    ("network=1e3/s", "not have the form N/s"),
    ("network=٣/s", "not have the form N/s"),
    ("storm=0", "out of limits; give 1 to 5000"),
    ("storm=99999", "out of limits"),
    ("storm=" + "9" * 400, "not have the form N"),
    ("stress-ng:", "no options"),
    ("stress-ng:  ", "no options"),
    ("none@cpu", "none cannot be part of a mix"),
    ("cpu@cpu@cpu", "unknown"),
    ("network=5/s@host", "does not name a host and port"),
    ("network=5/s@host:0", "does not name a host and port"),
    ("network=5/s@::1:7", "does not name a host and port"),
    ("network=5/s@[host]:7", "does not name a host and port"),
    ("network=5/s@-host:7", "does not name a host and port"),
    ("network=5/s@$(reboot):7", "does not name a host and port"),
    ("storm=5@host:7", "not have the form N"),
    ("cpu\x1b[2J", "not printable"),
    ("cpu" * 300, "too long"),
    ("$(reboot)", "unknown '$(reboot)'"),
]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        *(({"load": (load,)}, words) for load, words in NO_LOADS),
        ({"load": (",".join(f"storm={n}" for n in range(1, 18)),)}, "17 loads"),
        ({"cpu_config": ("",)}, "a name is empty"),
        ({"cpu_config": ("shared,shared",)}, "given twice"),
        ({"cpu_config": ("sheilded",)}, "did you mean shielded?"),
        ({"cpu_config": ("\x1b",)}, "unknown '?'"),
    ],
)
def test_what_is_no_condition_is_named_in_one_line(
    asked: dict[str, tuple[str, ...]], words: str
) -> None:
    (found,) = problems(**asked)
    assert words in found and found.isprintable() and len(found) < 200


def test_all_problems_of_loads_come_with_the_others() -> None:
    found = problems(
        tests=("TMR-P-JITT",),
        load=("hevy,cpu=5", "search=1"),
        cpu_config=("shared,shielde,shared",),
        samples="0",
    )
    expected = ("TMR-P-JIT?", "heavy?", "form BUSY/PERIOD", "no degree", "shielded?", "--samples")
    assert len(found) == 7
    for words in (*expected, "'shared' is given twice"):
        assert any(words in line for line in found), words


def test_a_probe_without_load_runs_none_and_nothing_else() -> None:
    assert plan(None).loads == ["none"]
    (found,) = problems(None, load=("none,heavy",))
    assert "the probe supports no load" in found and "hardstone probe build" in found


def test_a_load_takes_as_long_to_start_as_it_has_processes_and_cpus() -> None:
    group, processes = plan(tests=("CLK-P-BIN",), load=("messages=3,storm=123",)).tests
    assert group.expected_ns == processes.expected_ns
    of_all, of_each = plan(tests=("CLK-P-BIN",), load=("storm=50,storm=50@cpu",)).tests
    assert FACTS["cpu.allowed"] == "0-2,5"
    assert of_each.expected_ns - of_all.expected_ns == 3 * 50 * 20_000_000


TEXTS = st.lists(
    st.sampled_from(["cpu", "=", "/", "+", ",", "10ms", "1s", "heavy", "storm", "none", "4000/s"])
    | st.text(max_size=4),
    max_size=8,
).map("".join)


@pytest.mark.slow
@given(TEXTS, TEXTS)
def test_whatever_is_typed_is_a_plan_or_lines(load: str, config: str) -> None:
    try:
        found = plan(load=(load,), cpu_config=(config,))
    except PlanError as error:
        assert error.problems and all(line.isprintable() for line in error.problems)
    else:
        assert len(found.tests) == len(TESTS) * len(found.loads) * len(found.cpu_configs)
        assert len(set(found.loads)) == len(found.loads)
        assert [one_form(one) for one in found.loads] == found.loads
