"""The fake target: plays what a scenario says, and refuses what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import InputError, TargetError
from hardstone.targets.base import ProbeError, ProbeTimeoutError, RunOptions, Stop, Target
from hardstone.targets.fake import FakeTarget
from hardstone.targets.local import local_target
from tests.process.targets import sample


def play(folder: Path, *steps: Any, stop: Stop | None = None, **changed: Any) -> list[bytes]:
    target = FakeTarget(sample.scenario(folder, {"TMR-P-LAT": list(steps)}, **changed))
    return list(target.run(sample.planned(), RunOptions(), None, stop or Stop()))


def test_both_targets_keep_the_protocol(tmp_path: Path) -> None:
    targets: list[Target] = [local_target(), FakeTarget(tmp_path / "s.toml")]
    assert [target.name.partition(":")[0] for target in targets] == ["local", "fake"]


def test_register_and_facts_of_the_scenario(tmp_path: Path) -> None:
    target = FakeTarget(sample.scenario(tmp_path, {}))
    target.open()
    assert target.probe_list() == sample.register()
    assert target.facts() == sample.facts()
    assert target.probe_sha256() is None
    target.close()


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


def test_garbage(tmp_path: Path) -> None:
    (line,) = play(tmp_path, {"garbage_bytes": 5000})
    assert len(line) == 5000
    with pytest.raises(UnicodeDecodeError):
        line.decode()


def test_delays_pass_in_virtual_time(tmp_path: Path) -> None:
    assert play(tmp_path, {"delay_s": 50}, "late") == [b"late"]


@pytest.mark.parametrize("step", [{"hang": True}, {"delay_s": 61}, {"delay_s": 1e12}])
def test_what_outlives_the_deadline_is_ended(tmp_path: Path, step: dict[str, Any]) -> None:
    with pytest.raises(ProbeTimeoutError, match="deadline of 1 min"):
        play(tmp_path, step)


def test_exit_codes(tmp_path: Path) -> None:
    assert play(tmp_path, "one", {"exit": 0}, "never") == [b"one"]
    with pytest.raises(ProbeError, match="exit code 70: disk full"):
        play(tmp_path, {"exit": 70, "stderr": "disk full\nmore"})


def test_a_flood(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="more than 256 MiB"):
        play(tmp_path, {"garbage_bytes": 1 << 40})


def test_a_target_that_vanishes_stays_away(tmp_path: Path) -> None:
    target = FakeTarget(sample.scenario(tmp_path, {"TMR-P-LAT": ["one", {"vanish": True}]}))
    lines = target.run(sample.planned(), RunOptions(), None, Stop())
    assert next(lines) == b"one"
    with pytest.raises(TargetError, match="gone"):
        next(lines)
    with pytest.raises(TargetError, match="gone"):
        target.facts()


def test_waiting_for_stop(tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    assert play(tmp_path, {"wait_stop": True}, "kept", stop=stop) == [b"kept"]


def test_real_time_delays_end_with_stop(tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    assert play(tmp_path, {"delay_s": 30}, "kept", stop=stop, real_time=True) == [b"kept"]


def test_a_test_that_the_scenario_lacks(tmp_path: Path) -> None:
    target = FakeTarget(sample.scenario(tmp_path, {}))
    with pytest.raises(ProbeError, match="does not contain TMR-P-LAT"):
        list(target.run(sample.planned(), RunOptions(), None, Stop()))


def test_a_dump(tmp_path: Path) -> None:
    assert FakeTarget(sample.scenario(tmp_path, {}, dump=["x"])).dump(str(tmp_path)) == [b"x"]
    with pytest.raises(ProbeError):
        FakeTarget(sample.scenario(tmp_path, {})).dump(str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "null",
        "[" * 100_000,
        '{"schema": "other/1", "register": {}, "facts": {}}',
        json.dumps({"schema": "hardstone.scenario/1", "register": {}, "facts": {}, "x": 1}),
    ],
)
def test_what_is_no_scenario(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(InputError, match="scenario"):
        FakeTarget(path).open()


@pytest.mark.parametrize("name", ["s.json", "s.toml"])
def test_a_scenario_that_is_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\x00\xfe")
    with pytest.raises(InputError, match="not a scenario"):
        FakeTarget(tmp_path / name).open()


def test_a_scenario_that_is_missing_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            FakeTarget(path).open()


def test_a_scenario_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with path.open("wb") as file:
        file.truncate(1 << 25)
    with pytest.raises(InputError, match="too large"):
        FakeTarget(path).open()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", ""])
def test_a_scenario_reads_only_beside_itself(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not beside the scenario"):
        FakeTarget(sample.scenario(tmp_path, {}, facts=name)).open()
