"""Documents of earlier versions as they are read today: names in texts, loads, storms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from hardstone.model import Conditions, DataValue, Event, LoadReached, Result, RunDocument
from hardstone.older.old_events import with_data
from hardstone.older.old_loads import each_cpus_degree, each_cpus_load, each_cpus_loads
from hardstone.older.old_results import result_from_second
from hardstone.older.old_storm import storm_as_measured
from hardstone.plan.condition_options import check_loads
from hardstone.plan.problems import Problems
from hardstone.store.convert import decode_document
from tests.process.targets import sample
from tests.unit.stats import make

STEP_OF_EXPIRIES = (
    "latency and the time to arm hide the step of expiries of sleep, timerfd: the step is"
)
TIMERS_STAYED = "CPU 1: timers (new ones go to other CPUs already); interrupts (3 of 26 moved)"
INTERRUPTS: dict[str, DataValue] = {"unchanged": ["interrupts"]}


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("load_short", "cpu reached 0.4 % of 1.0 % asked (42 %)", {"element": "cpu"}),
        ("load_short", "stress-ng: 4000/s asked, 2914/s reached", {"element": "stress-ng"}),
        ("not_seen", "lower/fifo: no verdict, because x: y", {"verdict": "lower/fifo"}),
        ("expiry_step_bounded", STEP_OF_EXPIRIES, {"mechanisms": ["sleep", "timerfd"]}),
        ("shielded", TIMERS_STAYED, {"unchanged": ["timers"]}),
        ("shielded", "CPU 1: interrupts (0 of 26 interrupts moved); timers (moved)", INTERRUPTS),
        ("coverage", "vdso: calls covered 84.0 %", {}),
    ],
)
def test_what_a_text_names_is_data(name: str, text: str, data: dict[str, DataValue]) -> None:
    found = with_data(Event(name=name, text=text))
    assert (found.text, found.data) == (text, data)
    assert with_data(found) == found


def test_what_to_type_leaves_the_text_and_data_that_is_there_is_left() -> None:
    text = "what a shield changed is not put back; sudo hardstone shield --restore"
    found = with_data(Event(name="not_put_back", text=text))
    assert found.text == "what a shield changed is not put back"
    assert found.data == {"command": "sudo hardstone shield --restore"}
    event = Event(name="load_short", text="cpu reached little", data={"element": "disk"})
    assert with_data(event) is event


UNKNOWN = Conditions(
    load="heavy", policy="other", priority=0, clock="monotonic", memory_locked=False, realtime=False
)


@pytest.mark.parametrize(
    ("complete", "changed", "policy", "realtime"),
    [
        (False, {}, None, None),
        (True, {}, "other", False),
        # a condition, unless all that stood for "not known" stands beside it
        (False, {"clock": "tsc", "memory_locked": True}, "other", False),
    ],
)
def test_a_result_without_an_end_never_told_how_it_was_scheduled(
    complete: bool, changed: dict[str, Any], policy: str | None, realtime: bool | None
) -> None:
    said = msgspec.structs.replace(UNKNOWN, **changed)
    old = Result(test="TMR-P-LAT", status="failed", complete=complete, conditions=said)
    found = result_from_second(old).conditions
    assert (found.load, found.policy, found.realtime) == ("heavy", policy, realtime)


@pytest.mark.parametrize(
    ("remedy", "words", "command"),
    [
        ("it has it: hardstone shield --restore", "it has it", "hardstone shield --restore"),
        (
            "grant it (setcap); type: hardstone doctor",
            "grant it (setcap); type",
            "hardstone doctor",
        ),
        ("it says: hardstone show $(id)", "it says: hardstone show $(id)", None),
        ("raise ulimit -s", "raise ulimit -s", None),
        (None, None, None),
    ],
)
def test_a_remedy_parts_with_its_command(
    remedy: str | None, words: str | None, command: str | None
) -> None:
    old = Result(test="TMR-P-LAT", status="denied", remedy=remedy)
    found = result_from_second(old)
    assert (found.remedy, found.command) == (words, command)


OLD_STORM = "heavy@cpu+storm=240 (nice 19)+build=1@cpu+kernel@cpu"


@pytest.mark.parametrize(
    ("convert", "old", "today"),
    [
        (each_cpus_load, "none", "none"),
        (each_cpus_load, "heavy", "heavy@cpu"),
        (each_cpus_load, "storm", OLD_STORM),
        (each_cpus_load, "storm=100", "storm=100 (nice 19)"),
        (each_cpus_load, "heavy+storm=100", "heavy@cpu+storm=100 (nice 19)"),
        (each_cpus_load, "cpu=10ms/100ms+search", "cpu=10ms/100ms@cpu+search@cpu"),
        (each_cpus_load, "build+kernel", "build=1@cpu+kernel@cpu"),
        (each_cpus_load, "heavy+stress-ng:--cpu 1+2", "heavy@cpu+stress-ng:--cpu 1+2"),
        (each_cpus_loads, "none,heavy,storm", f"none,heavy@cpu,{OLD_STORM}"),
        (each_cpus_loads, "stress-ng:-c 1,heavy", "stress-ng:-c 1,heavy"),
        (each_cpus_loads, "cpu+stress-ng:-c 2,--vm 1", "cpu@cpu+stress-ng:-c 2,--vm 1"),
        (partial(each_cpus_degree, "cpu"), "10ms/100ms", "10ms/100ms@cpu"),
        (partial(each_cpus_degree, "search"), "", "@cpu"),
        (partial(each_cpus_degree, "build"), "", "1@cpu"),
        (partial(each_cpus_degree, "storm"), "240", "240 (nice 19)"),
        (partial(each_cpus_degree, "stress-ng"), "--cpu 2", "--cpu 2"),
    ],
)
def test_a_load_of_before_is_one_of_each_cpu(
    convert: Callable[[str], str], old: str, today: str
) -> None:
    assert convert(old) == today


WRITTEN = "heavy+storm=240+build=1+kernel"
EACH = "heavy@cpu+storm=240@cpu+build=1@cpu+kernel@cpu"


def reached(element: str) -> LoadReached:
    return LoadReached(element=element, degree="1", asked=1, reached=1, unit="jobs", processes=1)


def storm_result(load: str, *elements: str) -> Result:
    made = make.result()
    made.conditions.load = load
    made.load = [reached(element) for element in elements]
    return made


def document(load: str, *elements: str) -> RunDocument:
    """A run under `load` and under none; the first had `elements`."""
    loads = [load, "none"]
    made = make.document(results=[storm_result(load, *elements), storm_result("none")])
    plan = make.plan_of([sample.planned(load=one) for one in loads], loads=loads)
    command = ["run", "TMR-P-JIT", "--load", load, "--name", "storm"]
    made.plan = msgspec.structs.replace(plan, load=",".join(loads), command=command)
    reasons = [f"TMR-P-JIT [{load}, shared]: short", f"TMR-P-JIT [{load}]: short"]
    made.trust = msgspec.structs.replace(made.trust, reasons=reasons)
    return made


@pytest.mark.parametrize(
    ("load", "written"),
    [
        ("storm", WRITTEN),
        ("storm@cpu", EACH),
        ("storm+stress-ng:--cpu 2,storm", f"{WRITTEN}+stress-ng:--cpu 2,storm"),
    ],
)
def test_a_storm_without_messages_is_written_out(load: str, written: str) -> None:
    found = storm_as_measured(document(load, "cpu", "storm", "build", "kernel"))
    assert [one.conditions.load for one in found.results] == [written, "none"]
    assert found.plan.loads == [test.load for test in found.plan.tests] == [written, "none"]
    assert found.plan.command == ["run", "TMR-P-JIT", "--load", written, "--name", "storm"]
    assert found.trust.reasons[0] == f"TMR-P-JIT [{written}, shared]: short"
    assert found.trust.reasons[1] == f"TMR-P-JIT [{written}]: short"
    if "stress-ng" not in load:  # the form that a plan has today
        assert check_loads([written], sample.loads(), Problems()) == [written]
    raw = msgspec.json.encode(document(load, "storm", "build"))
    assert decode_document(raw, "a run").plan.loads == [written, "none"]


@pytest.mark.parametrize(
    ("load", "elements"),
    [
        ("storm", ("cpu", "storm", "build", "kernel", "messages")),
        ("storm", ()),  # nothing was measured
        ("storm=240", ("storm",)),
        ("heavy", ("cpu",)),
        ("heavy+stress-ng:+storm", ("cpu", "stress-ng")),
    ],
)
def test_other_loads_stay(load: str, elements: tuple[str, ...]) -> None:
    made = document(load, *elements)
    assert storm_as_measured(made) is made
