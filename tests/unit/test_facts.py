"""The register of facts against everything that sends or names one."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from hardstone.doctor.derive import derive
from hardstone.facts import SUFFIXES, load_facts
from hardstone.model import Scalar
from hardstone.stats.moved import STEADY_FACTS
from tests.process.targets import sample
from tests.unit.report import sample as report_sample
from tests.unit.stats import make

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "probe/src/port").rglob("*.c"), ROOT / "probe/src/command/facts.c"]
READERS = ["doctor", "campaign", "cli", "plan", "report", "summary", "terminal", "present", "stats"]
_SENT = re.compile(
    r"(?:sink->(text|number|truth)\(sink->context|(text|number|list|limit)_fact\(sink),"
    r'\s*"([a-z]+\.[a-z_]+)"(, NULL)?'
)
_TYPES = {
    "text": {"text"},
    "list": {"text"},
    "number": {"integer"},
    "truth": {"bool"},
    "limit": {"integer", "text"},
}
_REGISTER_TYPES = {frozenset({"integer", "text"}): "integer or unlimited"}
GROUPS = {name.partition(".")[0] for name in load_facts()}
_NAMED = re.compile(rf'["{{]((?:{"|".join(sorted(GROUPS))})\.[a-z_]+)["}}]')
# Files of the kernel that are named as facts are.
# Settings of Linux, and a field of a kernel in the lab.
NOT_FACTS = {"cpu.rt_runtime_us", "kernel.sched_rt_runtime_us", "kernel.arch"}


def _sent() -> dict[str, tuple[str, str]]:
    """Type and sender of each fact in the probe's source."""
    types: dict[str, set[str]] = {}
    sender: dict[str, str] = {}
    for path in SOURCES:
        for direct, helper, name, null in _SENT.findall(path.read_text()):
            types.setdefault(name, set()).update(set() if null else _TYPES[direct or helper])
            sender[name] = (
                "probe" if path.name == "facts.c" and "command" in path.parts else "linux"
            )
    found = {name: _REGISTER_TYPES.get(frozenset(of), "".join(of)) for name, of in types.items()}
    return {name: (type_, sender[name]) for name, type_ in found.items()}


def test_the_probe_sends_what_the_register_says() -> None:
    told = {
        name: (fact.type, fact.sender) for name, fact in load_facts().items() if not fact.is_derived
    }
    assert len(told) > 90
    assert _sent() == told


def test_every_name_that_the_probe_sends_is_seen() -> None:
    """Nothing is sent in a way that the test above overlooks."""
    loose = {
        name
        for path in SOURCES
        for name in re.findall(r'sink[\w>,\s-]*"([a-z]+\.[a-z_]+)"', path.read_text())
    }
    assert loose == set(_sent())


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


def test_the_toolkit_names_facts_of_the_register_only() -> None:
    files = [path for room in READERS for path in (ROOT / "src/hardstone" / room).rglob("*")]
    named = {
        name
        for path in files
        if path.suffix in (".py", ".toml", ".html")
        for name in _NAMED.findall(path.read_text())
    }
    assert len(named) > 60
    assert named - NOT_FACTS - set(load_facts()) == set()
    assert set(STEADY_FACTS) <= named


@pytest.mark.parametrize("name", load_facts())
def test_a_name_shows_its_unit(name: str) -> None:
    fact = load_facts()[name]
    assert (fact.unit == "") == (fact.type in ("text", "bool"))
    suffix = SUFFIXES[fact.unit] if fact.unit else ""
    assert suffix is None or name.endswith(suffix)
    others = [end for unit, end in SUFFIXES.items() if end and end[0] == "_" and unit != fact.unit]
    assert not any(name.endswith(end) for end in others)
    assert not name.endswith("_count") or fact.unit == "count"


def test_the_register_is_in_order_and_says_what_facts_are() -> None:
    assert list(load_facts()) == sorted(load_facts())
    assert all(
        fact.meaning and fact.meaning == fact.meaning.strip() for fact in load_facts().values()
    )


def test_invented_runs_have_facts_of_the_register_only() -> None:
    """A fact that no probe sends hid that the report asked for it."""
    invented = {*report_sample.document().system, *make.document().system}
    assert invented <= set(load_facts())
