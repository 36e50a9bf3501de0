"""The fake target: plays what a scenario says, under conditions too, and refuses what is none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import HardstoneError, InputError, TargetError
from hardstone.model import PlannedTest, Result
from hardstone.stream import StreamReader
from hardstone.targets.base import ProbeError, ProbeTimeoutError, RunOptions, Stop, Target
from hardstone.targets.fake import FakeTarget
from hardstone.targets.local import local_target
from hardstone.targets.probe_target import probe_arguments
from hardstone.targets.transport import Limits
from tests.process.targets import sample
from tests.waiting import LONGEST_S

PATIENT = Limits(LONGEST_S)


def fake(folder: Path, *steps: Any, **changed: Any) -> FakeTarget:
    return FakeTarget(sample.scenario(folder, {"TMR-P-LAT": list(steps)}, **changed))


def play(folder: Path, *steps: Any, stop: Stop | None = None, **changed: Any) -> list[bytes]:
    target = fake(folder, *steps, **changed)
    return list(target.run(sample.planned(), RunOptions(), None, stop or Stop()))


def test_documents_of_the_scenario(tmp_path: Path) -> None:
    target = fake(tmp_path, dump=["x"])
    targets: list[Target] = [local_target(), target]
    assert [one.name.partition(":")[0] for one in targets] == ["local", "fake"]
    target.open()
    assert target.probe_list() == sample.register()
    assert target.facts() == sample.facts()
    assert target.load_list() == sample.loads()
    assert target.dump(str(tmp_path)) == [b"x"]
    assert target.probe_sha256() is None
    target.close()
    with pytest.raises(ProbeError):
        fake(tmp_path).dump(str(tmp_path))


def test_documents_and_lines_from_files_beside(tmp_path: Path) -> None:
    for name in ("register", "facts"):
        text = (sample.GOLDEN / f"{name}.json").read_text()
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "lat.jsonl").write_text("one\ntwo\n")
    (tmp_path / "s.toml").write_text(
        'schema = "hardstone.scenario/1"\nregister = "register.json"\nfacts = "facts.json"\n'
        "[tests.TMR-P-LAT]\nsteps = ['zero', { file = 'lat.jsonl' }, { cut = 'thr' }]\n"
    )
    target = FakeTarget(tmp_path / "s.toml")
    assert target.probe_list() == sample.register()
    lines = target.run(sample.planned(), RunOptions(), None, Stop())
    assert list(lines) == [b"zero", b"one", b"two", b"thr"]


@pytest.mark.parametrize(
    ("steps", "changed", "lines"),
    [
        ([{"delay_s": 50}, "late"], {}, [b"late"]),  # in virtual time
        (["one", {"exit": 0}, "never"], {}, [b"one"]),
        ([{"wait_stop": True}, "kept"], {}, [b"kept"]),
        ([{"delay_s": 30}, "kept"], {"real_time": True}, [b"kept"]),
        (["garbage", "[1]", '{"type": 5}'], {}, [b"garbage", b"[1]", b'{"type": 5}']),
    ],
)
def test_steps(tmp_path: Path, steps: list[Any], changed: Any, lines: list[bytes]) -> None:
    """Those that wait, or take real time, end with a stop."""
    stop = Stop()
    if "kept" in steps:
        stop.set()
    assert play(tmp_path, *steps, stop=stop, **changed) == lines


@pytest.mark.parametrize(
    ("step", "kind", "words"),
    [
        ({"hang": True}, ProbeTimeoutError, "deadline of 1 min"),
        ({"delay_s": 61}, ProbeTimeoutError, "deadline of 1 min"),
        ({"delay_s": 1e12}, ProbeTimeoutError, "deadline of 1 min"),
        ({"exit": 70, "stderr": "disk full\nmore"}, ProbeError, "exit code 70: disk full"),
        ({"garbage_bytes": 1 << 40}, ProbeError, "more than 256 MiB"),
    ],
)
def test_steps_that_end_a_test(
    tmp_path: Path, step: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        play(tmp_path, step)
    (line,) = play(tmp_path, {"garbage_bytes": 5000})
    assert len(line) == 5000
    with pytest.raises(UnicodeDecodeError):
        line.decode()


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "missing", "a flood"])
def test_what_is_no_scenario_file_is_said_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "link"
    place = {"a device": Path("/dev/zero"), "a folder": tmp_path}.get(kind, tmp_path / "odd")
    path.symlink_to(place)
    if kind == "a pipe":
        os.mkfifo(place)
    if kind == "a flood":
        with place.open("wb") as file:
            file.truncate(1 << 40)
    words = {"missing": "No such file", "a flood": "larger than 16777216 bytes"}.get(kind, kind)
    with pytest.raises(InputError, match=words):
        FakeTarget(path).probe_list()


def test_a_target_that_vanishes_stays_away(tmp_path: Path) -> None:
    target = fake(tmp_path, "one", {"vanish": True})
    with pytest.raises(ProbeError, match="does not contain SEM-P-SIG"):
        list(target.run(sample.planned("SEM-P-SIG"), RunOptions(), None, Stop()))
    lines = target.run(sample.planned(), RunOptions(), None, Stop())
    assert next(lines) == b"one"
    with pytest.raises(TargetError, match="gone"):
        next(lines)
    with pytest.raises(TargetError, match="gone"):
        target.facts()


# What is no scenario


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        *(
            ("s.json", text.encode(), "scenario")
            for text in (
                "",
                "{",
                "[1]",
                "null",
                "[" * 100_000,
                '{"schema": "other/1", "register": {}, "facts": {}}',
                '{"schema": "hardstone.scenario/1", "register": {}, "facts": {}, "x": 1}',
            )
        ),
        ("s.json", b"\xff\x00\xfe", "not a scenario"),
        ("s.toml", b"\xff\x00\xfe", "not a scenario"),
    ],
    ids=range(9),
)
def test_what_is_no_scenario(tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        FakeTarget(tmp_path / name).open()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", ""])
def test_a_scenario_reads_only_beside_itself(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not in the scenario's folder"):
        fake(tmp_path, facts=name).open()


# Conditions: streams that a probe could have sent

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


def under(folder: Path, planned: PlannedTest, *entries: dict[str, Any]) -> Result:
    steps = sample.stream(verdicts=(("v", True, "e"),), events=("e",))
    reader = StreamReader(planned.test)
    for line in fake(folder, *steps, under=list(entries)).run(planned, RunOptions(), None, Stop()):
        reader.feed(line)
    assert reader.is_complete, reader.problem
    return reader.finish()


def test_what_was_asked_stands_in_the_result(tmp_path: Path) -> None:
    planned = sample.planned(load="heavy", cpu_config="single", settings=["governor"])
    found = under(tmp_path, planned, {"load": "heavy", "settings": ["cpuset"]})
    assert (found.conditions.load, found.conditions.cpu_config) == ("heavy", "single")
    assert found.conditions.settings == ["governor", "cpuset"]
    assert found.load == [] and len(found.series) == len(found.verdicts) == 1
    steps = {"load": "heavy", "steps": sample.stream(values=(7, 8, 9))}  # not those of the test
    assert under(tmp_path, planned, steps).series[0].count == 3


def test_a_short_load_comes_where_it_fits(tmp_path: Path) -> None:
    entry = {"test": "TMR-*", "load": "heavy", "reached": [LOAD], "events": [SHORT]}
    short = under(tmp_path, sample.planned(load="heavy"), entry)
    assert short.load[0].reached == 0.05
    assert [event.name for event in short.events] == ["e", "load_short"]
    other = under(tmp_path, sample.planned(load="storm"), entry)
    assert other.load == [] and [event.name for event in other.events] == ["e"]


def test_a_denied_shield_measures_nothing(tmp_path: Path) -> None:
    denied = {"cpu_config": "shielded", "status": "denied", "reason": "EPERM", "remedy": "root"}
    denied["command"] = "sudo hardstone run"
    found = under(tmp_path, sample.planned(cpu_config="shielded"), denied)
    assert (found.status, found.reason, found.remedy) == ("denied", "EPERM", "root")
    assert found.command == "sudo hardstone run"
    assert found.series == [] and found.verdicts == []
    assert under(tmp_path, sample.planned(), denied).status == "measured"


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
    found = under(tmp_path, sample.planned(params=params), {"params": wanted, "steps": steps})
    assert (found.params == params, found.series[0].count == 1) == (fits, fits)


def test_the_request_names_conditions_only_where_there_are_any() -> None:
    plain = probe_arguments(sample.planned(), RunOptions(), None)
    assert not {"--load", "--cpu-config", "--settings", "--dir"} & set(plain)
    asked = {"load": "stress-ng:--cpu 2; reboot", "cpu_config": "shielded", "folder": "/a; reboot"}
    words = probe_arguments(
        sample.planned(**asked, settings=["cpuset", "timers"]), RunOptions(), None
    )
    values = [*asked.values(), "cpuset,timers"]
    found = [
        words[words.index(one) + 1] for one in ("--load", "--cpu-config", "--dir", "--settings")
    ]
    assert found == values


# Loads and shields, which a probe tells too


def named(name: str) -> dict[str, Any]:
    return {"schema": "hardstone.loads/1", "elements": [], "mixes": [{"name": name, "load": ""}]}


def local(folder: Path, body: str) -> Target:
    return local_target(sample.executable(folder, body), limits=PATIENT)


@pytest.mark.parametrize(
    ("ask", "document", "words"),
    [
        ("load_list", (sample.GOLDEN / "loads.json").read_text(), ["load", "--list", "--json"]),
        ("shield_look", json.dumps(sample.shield_look()), ["shield", "--show", "--json"]),
    ],
)
def test_a_probe_from_before_them_does_not_tell(
    tmp_path: Path, ask: str, document: str, words: list[str]
) -> None:
    found = getattr(local(tmp_path, f"assert sys.argv[1:] == {words}\nlines({document!r})"), ask)()
    assert found == getattr(fake(tmp_path, shield=sample.shield_look()), ask)() is not None
    assert getattr(fake(tmp_path, loads=None), ask)() is None
    assert getattr(local(tmp_path, "sys.exit(2)"), ask)() is None
    with pytest.raises(HardstoneError, match="exit code 70"):
        getattr(local(tmp_path, "sys.exit(70)"), ask)()


def test_a_self_test_is_read_whether_it_failed_or_not(tmp_path: Path) -> None:
    for failed, code in (({}, 0), ({"record_moments": "mean 1, directly 2"}, 3)):
        sent = sample.selftest(**failed)
        body = f"assert sys.argv[1:] == ['selftest', '--json']\nlines(*{sent})\nsys.exit({code})"
        found = local(tmp_path, body).selftest()
        assert found == fake(tmp_path, selftest=sent).selftest()
        assert found is not None and len(found.checks) == 3
        assert {one.name: one.why for one in found.checks if not one.passed} == failed


def test_a_probe_without_a_self_test_and_one_that_ends_in_it(tmp_path: Path) -> None:
    assert fake(tmp_path).selftest() is None
    assert local(tmp_path, "sys.exit(2)").selftest() is None
    cut = sample.selftest()[:-1]
    for code in (3, 70):
        with pytest.raises(TargetError, match=f"exit code {code}"):
            local(tmp_path, f"lines(*{cut})\nsys.exit({code})").selftest()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[1:], "have the schema 'hardstone.selftest/1'"),
        (
            lambda lines: [lines[0].replace("selftest/1", "selftest/2"), *lines[1:]],
            "does not have",
        ),
        (lambda lines: lines[:-1], "not complete"),
        (lambda lines: [*lines, lines[-1]], "not complete"),
        (lambda lines: [lines[0], *lines[2:]], "does not count"),
        (lambda lines: [lines[0], lines[-1]], "does not count"),
        (lambda lines: [*lines[:-1], lines[-1].replace(":0", ":1")], "does not count"),
        (lambda lines: [*lines[:2], "{", *lines[2:]], "cannot be read"),
        (lambda lines: [*lines[:2], '{"type": "check"}', *lines[2:]], "cannot be read"),
    ],
)
def test_what_is_no_self_test(
    tmp_path: Path, change: Callable[[list[str]], list[str]], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        fake(tmp_path, selftest=change(sample.selftest())).selftest()


@pytest.mark.parametrize(
    ("ask", "faulty", "words"),
    [
        *(("load_list", named(name), "invalid names") for name in ("", "Cpu", "a b", "x" * 40)),
        ("load_list", named("\x1b"), "invalid names"),
        ("shield_look", {"schema": "hardstone.shield/2"}, "list of shield settings"),
        ("shield_look", {"settings": 3}, "list of shield settings"),
    ],
    ids=range(7),
)
def test_what_is_no_list_of_loads_or_settings(
    tmp_path: Path, ask: str, faulty: dict[str, Any], words: str
) -> None:
    shield = ask == "shield_look"
    changed = {"shield": sample.shield_look() | faulty} if shield else {"loads": faulty}
    with pytest.raises(InputError, match=words):
        getattr(fake(tmp_path, **changed), ask)()
