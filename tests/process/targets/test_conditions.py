"""The fake target under conditions: streams that a probe could have sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import InputError, TargetError
from hardstone.model import PlannedTest, Result
from hardstone.stream import StreamReader
from hardstone.targets.base import ProbeError, RunOptions, Stop
from hardstone.targets.fake import FakeTarget
from hardstone.targets.local import local_target
from hardstone.targets.request import probe_arguments
from tests.process.targets import sample

LOAD = {
    "element": "cpu",
    "degree": "10ms/100ms",
    "asked": 0.1,
    "reached": 0.05,
    "unit": "share",
    "processes": 2,
    "counters": {"busy_ns": 5},
}
SHORT = {"name": "load_short", "text": "cpu: 10 % asked, 5 % reached"}


def play(folder: Path, planned: PlannedTest, *under: dict[str, Any]) -> Result:
    steps = sample.stream(verdicts=(("v", True, "e"),), events=("e",))
    target = FakeTarget(sample.scenario(folder, {"TMR-P-LAT": steps}, under=list(under)))
    reader = StreamReader(planned.test)
    for line in target.run(planned, RunOptions(), None, Stop()):
        reader.feed(line)
    assert reader.is_complete, reader.problem
    return reader.finish()


def test_what_was_asked_stands_in_the_result(tmp_path: Path) -> None:
    planned = sample.planned(load="heavy", cpu_config="single", settings=["governor"])
    found = play(tmp_path, planned, {"load": "heavy", "settings": ["cpuset"]})
    assert (found.conditions.load, found.conditions.cpu_config) == ("heavy", "single")
    assert found.conditions.settings == ["governor", "cpuset"]
    assert found.load == [] and len(found.series) == len(found.verdicts) == 1


def test_a_short_load_comes_where_it_fits(tmp_path: Path) -> None:
    under = {"test": "TMR-*", "load": "heavy", "reached": [LOAD], "events": [SHORT]}
    short = play(tmp_path, sample.planned(load="heavy"), under)
    assert short.load[0].reached == 0.05
    assert [event.name for event in short.events] == ["e", "load_short"]
    other = play(tmp_path, sample.planned(load="storm"), under)
    assert other.load == [] and [event.name for event in other.events] == ["e"]


def test_a_denied_shield_measures_nothing(tmp_path: Path) -> None:
    denied = {"cpu_config": "shielded", "status": "denied", "reason": "EPERM", "remedy": "root"}
    denied["command"] = "sudo hardstone run"
    found = play(tmp_path, sample.planned(cpu_config="shielded"), denied)
    assert (found.status, found.reason, found.remedy) == ("denied", "EPERM", "root")
    assert found.command == "sudo hardstone run"
    assert found.series == [] and found.verdicts == []
    assert play(tmp_path, sample.planned(), denied).status == "measured"


def test_steps_of_a_condition_take_the_place_of_the_tests_own(tmp_path: Path) -> None:
    steps = sample.stream(values=(7, 8, 9))
    found = play(tmp_path, sample.planned(load="heavy"), {"load": "heavy", "steps": steps})
    assert found.series[0].count == 3


def test_what_is_no_line_passes_as_it_is(tmp_path: Path) -> None:
    steps = ["garbage", "[1]", '{"type": 5}']
    target = FakeTarget(sample.scenario(tmp_path, {"TMR-P-LAT": steps}))
    lines = list(target.run(sample.planned(load="heavy"), RunOptions(), None, Stop()))
    assert lines == [step.encode() for step in steps]


def test_the_list_of_loads(tmp_path: Path) -> None:
    assert FakeTarget(sample.scenario(tmp_path, {})).load_list() == sample.loads()
    assert FakeTarget(sample.scenario(tmp_path, {}, loads=None)).load_list() is None


@pytest.mark.parametrize("name", ["", "Cpu", "a b", "x" * 40, "\x1b"])
def test_impossible_names_of_loads_are_refused(tmp_path: Path, name: str) -> None:
    faulty = {"schema": "hardstone.loads/2", "elements": [], "mixes": [{"name": name, "load": ""}]}
    with pytest.raises(InputError, match="invalid names"):
        FakeTarget(sample.scenario(tmp_path, {}, loads=faulty)).load_list()


@pytest.mark.parametrize("code", [2, 70])
def test_only_a_probe_that_knows_no_load_makes_none(tmp_path: Path, code: int) -> None:
    body = f"sys.stderr.write('unknown command load'); sys.exit({code})"
    target = local_target(sample.executable(tmp_path, body))
    if code == 2:
        assert target.load_list() is None
    else:
        with pytest.raises(Exception, match="exit code 70"):
            target.load_list()


def test_the_list_of_loads_is_asked_of_the_probe(tmp_path: Path) -> None:
    text = (sample.GOLDEN / "loads.json").read_text()
    body = f"assert sys.argv[1:] == ['load', '--list', '--json']\nprint({text!r})"
    assert local_target(sample.executable(tmp_path, body)).load_list() == sample.loads()


def test_the_request_names_conditions_only_where_there_are_any() -> None:
    plain = probe_arguments(sample.planned(), RunOptions(), None)
    assert not {"--load", "--cpu-config", "--settings", "--dir"} & set(plain)
    load = "stress-ng:--cpu 2; reboot"
    planned = sample.planned(
        load=load, cpu_config="shielded", settings=["cpuset", "timers"], folder="/a; reboot"
    )
    words = probe_arguments(planned, RunOptions(), None)
    for option, value in (
        ("--dir", "/a; reboot"),
        ("--load", load),
        ("--cpu-config", "shielded"),
        ("--settings", "cpuset,timers"),
    ):
        assert words[words.index(option) + 1] == value


def test_a_test_that_the_scenario_lacks(tmp_path: Path) -> None:
    target = FakeTarget(sample.scenario(tmp_path, {}))
    with pytest.raises(ProbeError, match="does not contain TMR-P-LAT"):
        list(target.run(sample.planned(), RunOptions(), None, Stop()))


def test_what_a_shield_could_switch(tmp_path: Path) -> None:
    look = sample.shield_look(governor="no such file")
    assert FakeTarget(sample.scenario(tmp_path, {})).shield_look() is None
    fake = FakeTarget(sample.scenario(tmp_path, {}, shield=look)).shield_look()
    asked = "assert sys.argv[1:] == ['shield', '--show', '--json']"
    body = f"{asked}\nlines({json.dumps(look)!r})"
    local = local_target(sample.executable(tmp_path, body)).shield_look()
    for found in (fake, local):
        assert found is not None
        there = {one.name: (one.available, one.now) for one in found.settings}
        assert there["governor"] == (False, "no such file")
        assert there["dma_latency"] == (True, "1")


def test_a_probe_from_before_shields_does_not_tell(tmp_path: Path) -> None:
    assert local_target(sample.executable(tmp_path, "sys.exit(2)")).shield_look() is None
    with pytest.raises(TargetError):
        local_target(sample.executable(tmp_path, "sys.exit(70)")).shield_look()


@pytest.mark.parametrize("look", [{"schema": "hardstone.shield/2"}, {"settings": 3}])
def test_a_look_that_is_none(tmp_path: Path, look: dict[str, Any]) -> None:
    faulty = {**sample.shield_look(), **look}
    with pytest.raises(InputError, match="list of shield settings"):
        FakeTarget(sample.scenario(tmp_path, {}, shield=faulty)).shield_look()


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"masses": "400.."}, True),
        ({"masses": "..399"}, False),
        ({"masses": "400..400"}, True),
        ({"masses": "x..y"}, False),
        ({"masses": "400", "policy": "ot*"}, True),
        ({"policy": "fifo"}, False),
        ({"threads": "1.."}, False),
    ],
)
def test_an_entry_for_parameters_answers_as_requested(
    tmp_path: Path, wanted: dict[str, str], fits: bool
) -> None:
    params: Any = {"masses": [400], "policy": ["other"]}
    steps = sample.stream(values=(7,), verdicts=(("v", True, "e"),), events=("e",))
    found = play(tmp_path, sample.planned(params=params), {"params": wanted, "steps": steps})
    assert (found.params == params, found.series[0].count == 1) == (fits, fits)
