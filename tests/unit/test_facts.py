"""The register of facts against whoever sends one; of source tools/lint.py judges it."""

from __future__ import annotations

import msgspec

from hardstone.doctor.derive import derive
from hardstone.facts import SUFFIXES, load_facts
from hardstone.model import Scalar
from hardstone.stats.moved import STEADY_FACTS
from tests.process.targets import sample
from tests.unit.report import sample as report_sample
from tests.unit.stats import make


def test_this_machine_sends_what_the_register_says() -> None:
    for name, value in msgspec.json.decode((sample.GOLDEN / "facts.json").read_bytes())[
        "facts"
    ].items():
        check_value(name, value)


def check_value(name: str, value: Scalar) -> None:
    kinds: dict[str, tuple[type, ...]] = {
        "text": (str,),
        "integer": (int,),
        "bool": (bool,),
        "integer or unlimited": (int, str),
    }
    fact = load_facts()[name]
    assert value is None or type(value) in kinds[fact.type], name


def test_the_doctor_derives_what_the_register_says() -> None:
    facts: dict[str, Scalar] = {
        "cpu.allowed": "0-3",
        "interrupts.quiet_cpus": "3",
        "limits.priority_max": 99,
        "limits.granted_rtprio": "@realtime=99",
        "kernel.cmdline": "quiet",
        "kernel.name": "Linux",
        "kernel.release": "6.12.1",
        "kernel.rt_runtime_us": 950000,
        "kernel.rt_period_us": 1000000,
        "power.governors": "performance, powersave",
    }
    derived = set(derive(facts, "/usr/bin/hardstone-probe")) - set(facts)
    assert derived == {name for name, fact in load_facts().items() if fact.is_derived}
    for name, value in derive(facts, "/usr/bin/hardstone-probe").items():
        check_value(name, value)


def test_a_name_shows_its_unit() -> None:
    ends = [(unit, end) for unit, end in SUFFIXES.items() if end and end[0] == "_"]
    for name, fact in load_facts().items():
        assert (fact.unit == "") == (fact.type in ("text", "bool")), name
        suffix = SUFFIXES[fact.unit] if fact.unit else ""
        assert suffix is None or name.endswith(suffix), name
        assert not any(name.endswith(end) for unit, end in ends if unit != fact.unit), name
        assert not name.endswith("_count") or fact.unit == "count", name


def test_facts_that_must_not_change_are_of_the_register() -> None:
    assert set(STEADY_FACTS) <= set(load_facts())


def test_the_register_is_in_order_and_says_what_facts_are() -> None:
    assert list(load_facts()) == sorted(load_facts())
    assert all(
        fact.meaning and fact.meaning == fact.meaning.strip() for fact in load_facts().values()
    )


def test_invented_runs_have_facts_of_the_register_only() -> None:
    """A fact that no probe sends hid that the report asked for it."""
    invented = {*report_sample.document().system, *make.document().system}
    assert invented <= set(load_facts())
