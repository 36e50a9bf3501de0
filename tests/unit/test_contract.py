"""Files that were valid once stay valid, lose nothing on the way through, and have their schema."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone import model, schema
from hardstone.catalogue import PROFILES, load_catalogue
from hardstone.model import Result, Series
from hardstone.plan.make import Request, make_plan
from hardstone.stats.consistency import clocks_apart
from hardstone.stats.identity import series_problem
from hardstone.stats.noise import with_noise
from hardstone.stats.trust import grade_run
from hardstone.store.documents import read_document
from hardstone.stream import StreamReader
from tests.process.targets import sample

GOLDEN = schema.FOLDER / "golden"
STREAMS = sorted(GOLDEN.glob("stream-*.jsonl"))
RUNS = sorted(GOLDEN.glob("run-*.json"))
REGISTERS = [*sorted(GOLDEN.glob("register-1*.json")), sample.GOLDEN / "register.json"]


def _name(path: Path) -> str:
    return path.stem


def _validator(kind: str) -> Draft202012Validator:
    path = schema.FOLDER / schema.file_name(kind)
    return Draft202012Validator(msgspec.json.decode(path.read_bytes()))


def _kept(old: Any, new: Any) -> bool:
    """Whether `new` holds all of `old`: fields may have been added, nothing else."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(k in new and _kept(v, new[k]) for k, v in old.items())
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_kept, old, new))
    return type(old) is type(new) and bool(old == new)


def _read(path: Path) -> StreamReader:
    lines = path.read_bytes().splitlines(keepends=True)
    reader = StreamReader(msgspec.json.decode(lines[0])["test"])
    for line in lines:
        reader.feed(line)
    return reader


@pytest.mark.slow
@pytest.mark.parametrize("path", STREAMS, ids=_name)
def test_each_golden_stream_is_valid_is_read_in_full_and_comes_back_as_it_was(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    validator = _validator(msgspec.json.decode(lines[0])["schema"])
    for line in lines:
        validator.validate(msgspec.json.decode(line))
        again = msgspec.json.encode(msgspec.json.decode(line, type=model.StreamLine))
        assert _kept(msgspec.json.decode(line), msgspec.json.decode(again))
    reader = _read(path)
    assert reader.is_complete and reader.finish().complete, reader.problem
    assert all(series_problem(series) is None for series in reader.finish().series)


@pytest.mark.slow
@pytest.mark.parametrize("path", RUNS, ids=_name)
def test_each_golden_run_is_valid_and_comes_back_as_it_was(path: Path) -> None:
    golden = msgspec.json.decode(path.read_bytes())
    _validator(golden["schema"]).validate(golden)
    again = msgspec.json.encode(read_document(path))
    assert _kept(golden, msgspec.json.decode(again))


@pytest.mark.parametrize("path", REGISTERS, ids=_name)
def test_each_golden_register_is_valid_and_comes_back_as_it_was(path: Path) -> None:
    golden = msgspec.json.decode(path.read_bytes())
    _validator(model.REGISTER_SCHEMA).validate(golden)
    again = msgspec.json.encode(msgspec.json.decode(path.read_bytes(), type=model.Register))
    assert _kept(golden, msgspec.json.decode(again))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_register_that_says_no_times_is_planned(profile: str) -> None:
    document = (GOLDEN / "register-1-without-times.json").read_bytes()
    register = msgspec.json.decode(document, type=model.Register)
    tests = make_plan(Request(profile=profile), register, load_catalogue()).tests
    assert {test.test for test in tests} == {test.id for test in register.tests}
    assert all(test.deadline_ns > test.expected_ns >= test.duration_ns for test in tests)


def _received(result: Result) -> Result:
    """Without what the toolkit found in the windows, which another version of it may change."""
    series = result.series if not result.windows else [_named(result, "gap")]
    return msgspec.structs.replace(result, noise=[], series=series)


def _named(result: Result, name: str) -> Series:
    (one,) = [one for one in result.series if one.name == name]
    return one


def test_a_golden_run_with_windows_can_be_analysed_again() -> None:
    (result,) = read_document(GOLDEN / "run-1-noise.json").results
    again = with_noise(result)
    assert [one.name for one in again.series] == ["gap", "tick", "other"]
    assert again.noise[0].tick_period_ns == pytest.approx(4e6, rel=1e-5)
    assert _named(again, "tick").count > 150


def test_the_golden_runs_hold_what_the_streams_say() -> None:
    assert len(STREAMS) >= 5
    held = [_received(result) for path in RUNS for result in read_document(path).results]
    for path in STREAMS:
        assert _received(_read(path).finish()) in held


@pytest.mark.slow
def test_the_clock_of_a_guest_is_held_against_the_host_where_it_keeps_time() -> None:
    held = read_document(GOLDEN / "run-1-emulated.json").clock_check
    assert held is not None and held.host_ns > 0 and clocks_apart(held) is None
    assert read_document(GOLDEN / "run-1-instructions.json").clock_check is None


# Runs of 6 s under the profile `standard`, graded when its name decided and not the length.
NAMED_STANDARD = ("run-1-conditions", "run-1-loads")


@pytest.mark.parametrize("path", RUNS, ids=_name)
def test_each_golden_run_is_graded_as_it_was(path: Path) -> None:
    run = read_document(path)
    again = grade_run(run)  # which cuts names of loads that are long today
    if _name(path) in NAMED_STANDARD:
        assert again.reasons.pop() == "run shorter than standard"
    assert (again.grade, len(again.reasons)) == (run.trust.grade, len(run.trust.reasons))


SCHEMA_FILES = sorted(schema.FOLDER.glob("*.schema.json"))
FORMATS = ("RUN", "TARGETS", "STREAM", "REGISTER", "FACTS")


@pytest.mark.slow
def test_the_files_are_those_of_the_model_and_each_has_its_history() -> None:
    assert schema.outdated(schema.FOLDER) == []
    assert {path.name for path in SCHEMA_FILES} == set(schema.schema_texts())
    headings = re.findall(r"^## (\S+)$", (schema.FOLDER / "HISTORY.md").read_text("utf-8"), re.M)
    assert set(headings) >= {getattr(model, f"{name}_SCHEMA") for name in FORMATS}


@pytest.mark.slow
@pytest.mark.parametrize("path", SCHEMA_FILES, ids=lambda path: path.name)
def test_each_file_is_a_valid_schema(path: Path) -> None:
    Draft202012Validator.check_schema(msgspec.json.decode(path.read_bytes()))


@pytest.mark.slow
def test_the_text_does_not_depend_on_the_order_of_hashes() -> None:
    words = [sys.executable, "-m", "hardstone.schema", "--check"]
    own = {"PYTHONHASHSEED": "12345", "PYTHONPATH": str(Path(schema.__file__).parents[1])}
    env = os.environ | own
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_check_names_what_is_out_of_date_and_write_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert schema.main(["--check", "--folder", str(tmp_path)]) == 1
    assert "hardstone.run-1.schema.json" in capsys.readouterr().err
    assert schema.main(["--write", "--folder", str(tmp_path)]) == 0
    assert schema.main(["--check", "--folder", str(tmp_path)]) == 0
    (tmp_path / "hardstone.run-1.schema.json").write_text("{}")
    assert schema.outdated(tmp_path) == ["hardstone.run-1.schema.json"]
