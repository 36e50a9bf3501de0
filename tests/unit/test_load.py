"""What the toolkit takes for a load is one to the probe, and docs/reference/load.md has each."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import msgspec
import pytest

from hardstone import hosts
from hardstone.model import Loads
from hardstone.plan.params import Problems, read_mix
from tests.conftest import ROOT
from tests.unit.test_plan_loads import FORMS, NO_LOADS

# Both refuse these, each in its words.
MORE_FAULTY = """
cpu=99us/1ms cpu=1s/11s cpu=1ms/999us network=100001/s network=-1/s network@host:7 network=5/s@:7
network=5/s@h: network=5/s@h:65536 network=5/s@h:7@h:7 network=5/s@/dev/uio1 storm=5001 build=0
storm=99999999999999999999 storm=3@host:7 build=5001 build=1/s messages=251 @cpu cpu@host:7
cpu@/dev/uio1 interrupt@/dev/uio1 interrupt=5/s@ interrupt=5/s@/dev/uio interrupt=5/s@/dev/uio256
interrupt=5/s@/dev/uio01 interrupt=5/s@/dev/../uio1 interrupt=5/s@h:7 interrupt=5/s@/dev/uio1@cpu
interrupt=5/s@/dev/uio1/x
"""
FAULTY = [*(load for load, _ in NO_LOADS), "network=5/s@ho st:7", *MORE_FAULTY.split()]
# Each limit of a degree, from within.
LIMITS = [
    *("cpu=100us/1ms", "cpu=1ms/1ms", "disk=10s/10s", "memory=100us/10s", "syscall=1ms/1s"),
    *("network=1/s", "network=100000/s", "interrupt=100000/s", "storm=1", "storm=5000"),
    *("build=1", "build=5000", "build=5000@cpu", "search@cpu", "heavy@cpu", "storm@cpu", "latstat"),
    *("messages=1", "messages=250", "messages@cpu"),
]


@pytest.fixture(scope="module")
def known(probe: Path) -> Loads:
    done = subprocess.run([probe, "load", "--list", "--json"], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Loads)


def refusal(probe: Path, load: str) -> str:
    """What the probe has against `load`; nothing where it takes it for one."""
    done = subprocess.run(
        [probe, "load", "--check", load], capture_output=True, text=True, check=False
    )
    # 5: stress-ng is not installed, which the text of a load cannot help
    assert done.returncode in (0, 2, 5), done.stderr
    return done.stderr if done.returncode == 2 else ""


def form(load: str, known: Loads) -> str | None:
    problems = Problems()
    text = read_mix(load, known, problems).text()
    return text if problems.is_empty else None


@pytest.mark.parametrize("load", [*(one for pair in FORMS for one in pair), *LIMITS])
def test_the_form_of_a_load_is_a_load_to_the_probe(probe: Path, known: Loads, load: str) -> None:
    if load == "none":
        return  # stands for no load at all, to both
    found = form(load, known)
    assert found is not None
    sent = hosts.with_addresses(found, dict.fromkeys(hosts.names_in(found), "192.0.2.1"))
    assert refusal(probe, sent) == ""
    assert load not in LIMITS or refusal(probe, load) == ""  # as typed


@pytest.mark.parametrize("load", FAULTY)
def test_both_refuse_what_is_no_load(probe: Path, known: Loads, load: str) -> None:
    assert form(load, known) is None and refusal(probe, load) != ""


@pytest.mark.slow
def test_the_probe_does_as_much_for_both_texts(probe: Path, known: Loads) -> None:
    """By what its own stream says: as typed, and in the one form."""
    asked = []
    for load in ("search+cpu=010ms/100ms", form("search+cpu=0.01s/0.1s", known) or ""):
        command = [probe, "load", load, "--duration-ns", "200000000", "--json"]
        done = subprocess.run(command, capture_output=True, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        asked.append({one["element"]: one["asked"] for one in lines if one["type"] == "load"})
    assert asked[0] == asked[1] == {"cpu": 0.1, "search": None}


PAGE = ROOT / "docs" / "reference" / "load.md"
EVENTS = ("load_short", "load_unseen", "load_ended_early", "load_limited", "load_not_settled")


def test_the_page_has_each_element_with_its_default_degree_and_the_mixes(known: Loads) -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = {row[0].strip("`").partition(":")[0]: row for row in cells}
    elements = [element.name for element in known.elements]
    assert set(rows) == {*elements, *EVENTS}
    for element in known.elements:
        default = element.default or ("options" if element.degree else "none")
        assert rows[element.name][2].strip("`") == default, element.name
    mixes = {mix.name: mix.load for mix in known.mixes}
    assert mixes["storm"] in PAGE.read_text()
    heavy = [term.partition("=")[0] for term in mixes["heavy"].split("+")]
    assert heavy == elements[: elements.index("search") + 1]
