"""The command that a plan holds, read by the command line itself, makes the same plan."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.cli.latstat import LatstatOptions, plan_options
from hardstone.cli.main import command_of
from hardstone.model import Plan
from hardstone.plan.make import Request, make_plan
from hardstone.plan.params import PlanError
from hardstone.present.overview import run_command
from hardstone.store.store import Store
from tests.process.cli.conftest import Hardstone, Lab
from tests.process.cli.test_doctor import stub
from tests.process.targets import sample

REGISTER, FACTS, LOADS = sample.register(), sample.facts().facts, sample.loads()
HOSTILE = "$(reboot); `id` \"'\\ -x"

# Each is a command line; every option is in one of them at least.
TYPED = [
    ["evaluate", "--profile", "standard", "--seed", "7", "--name", HOSTILE],
    ["run", "sem-*", "TMR-P-?IT", "tmr-p-jit"],
    [
        "run",
        "TMR-P-LAT",
        "--samples",
        " +0500 ",
        "-D",
        "1.5m",
        "-i",
        "1.5ms",
        "--clock",
        "monotonic",
    ],
    ["run", "TMR-P-LAT", "--policy", "rr", "--priority", "17", "-a", "1", "--name", "-D 5"],
    ["run", "SEM-P-RTP", "-p", "kinds=unnamed, futex", "-p", " scopes =process,thread"],
    ["run", "TMR-P-JIT", "--load", "none, heavy", "--load", "cpu=0.01s/0.1s+search@cpu"],
    ["run", "TMR-P-JIT", "--load", "none,stress-ng:--class cpu,memory  --temp-path /a"],
    ["run", "TMR-P-JIT", "--load", f"search+stress-ng:--temp-path {HOSTILE} --cpu 2,--vm 1"],
    ["run", "TMR-P-JIT", "--load", "network=4000/s@[0:0::1]:01,storm=7"],
    ["run", "TMR-P-JIT", "--dma-latency", " 007 ", "--trace", "--cpu-config", "single, shared"],
    ["run", "FIO-P-SYN", "--dir", "/"],
    ["latstat", "-D", "0", "-i", "250", "-a", "0-1", "-p", "max", "--threshold", "100"],
    ["latstat", "-D", "24h", "-a", "1", "--threshold", "1.5ms", "--go-on", "--name", HOSTILE],
    ["latstat", "--samples", "500", "--param", "interval_ns=2ms", "--load", "heavy"],
]


@pytest.mark.parametrize("words", TYPED, ids=" ".join)
def test_a_plan_names_the_command_that_makes_it_again(
    hardstone: Hardstone, target: str, words: list[str]
) -> None:
    first = hardstone(*words, "--target", target, "--dry-run", "--json")
    assert first.code == 0, first.err
    again = hardstone(*first.document["command"], "--dry-run", "--json")
    assert again.document == first.document


def test_the_command_lines_above_hold_every_option_of_a_plan() -> None:
    no_options = {"target", "settings", "preemption_models", "default_folder"}
    fields = {field.name for field in dataclasses.fields(Request)} - no_options
    asked = [request_of(words) for words in TYPED]
    assert {
        name for name in fields for one in asked if getattr(one, name) != getattr(Request(), name)
    } == fields


def request_of(words: list[str]) -> Request:
    """What the command line takes `words` for."""
    command = command_of(words[0])
    given_ = command.make_context(words[0], list(words[1:])).params
    if words[0] == "latstat":
        asked = plan_options(LatstatOptions(**given_))
        given_ = dataclasses.asdict(asked) | {"tests": ("TMR-P-LAT",)}
    tests = given_.get("tests", ("*",))
    names = {field.name for field in dataclasses.fields(Request)} & set(given_) - {"tests"}
    fields = {name: given_[name] for name in names}
    (fields["target"],) = given_["target"]  # a plan is of one
    return Request(tests=tests, **fields)


def plan_of(request: Request) -> Plan:
    return make_plan(request, REGISTER, load_catalogue(), FACTS, LOADS)


ODD = st.text(alphabet="ab,=+ -'\"$`;@é", max_size=8)
REQUESTS = st.builds(
    Request,
    tests=st.sampled_from([("SIG-*",), ("TMR-*",), ("tmr-p-lat", "SEM-P-RTP"), (" CLK-* ",)]),
    name=ODD,
    profile=st.sampled_from(["quick", "standard", "soak"]),
    target=ODD,
    load=st.lists(
        st.sampled_from(["none", "heavy,storm", "cpu=0.01s/0.1s", "search+cpu@cpu", "latstat"])
        | ODD.map("stress-ng:--x {}".format)
        | ODD.map("build=2+stress-ng:--class cpu,memory {}".format),
        min_size=1,
        max_size=3,
    ).map(tuple),
    cpu_config=st.sampled_from([("shared",), ("single, shared",), ("shielded", "single")]),
    cpu=st.sampled_from([None, "0", " +1"]),
    policy=st.sampled_from(["fifo", "rr", "other"]),
    priority=st.sampled_from([None, "0", "5", "max"]),
    clock=st.sampled_from(["auto", "monotonic"]),
    samples=st.sampled_from([None, "1", "007"]),
    duration=st.sampled_from([None, "5", "0.25 s", "1 h", "100000001ns"]),
    interval=st.sampled_from([None, "250", "0.5ms"]),
    params=st.sampled_from([(), ("kinds=futex , unnamed",), (" interval_ns = 1ms",)]),
    seed=st.integers(0, 2**63 - 1).map(str),
    dma_latency=st.none() | st.integers(0, 2_000_000_000).map(str),
)


@given(REQUESTS)
def test_whatever_can_be_planned_has_its_command(request_: Request) -> None:
    try:
        plan = plan_of(request_)
    except PlanError:
        return
    assert plan_of(request_of(plan.command)) == plan


def test_no_command_line_applies_settings_to_every_test() -> None:
    assert plan_of(Request(tests=("TMR-P-LAT",), settings=("dma_latency",))).command == []


def test_a_proof_names_its_own_command(hardstone: Hardstone, tmp_path: Path, lab: Lab) -> None:
    target, _ = stub(tmp_path, lab)
    asked = ("--pairs", "10", "-D", "0.5", "--test", "tmr-p-lat", "--load", "cpu=0.01s/0.1s")
    first, second = tmp_path / "one", tmp_path / "two"
    where = ("--target", target, "--store", first, "--quiet")
    hardstone("doctor", "--prove", "IDLE-states", *asked, "--seed", "5", *where)
    plan = Store(first).load("last").plan
    assert plan.command[:3] == ["doctor", "--prove", "idle-states"]
    assert run_command(plan).startswith("hardstone doctor --prove idle-states --pairs 10 ")
    hardstone(*plan.command, "--store", second, "--quiet")
    assert Store(second).load("last").plan == plan
