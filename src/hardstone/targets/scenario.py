"""Scenario files of the fake target: what a probe sends, and how it fails.

A scenario is TOML or JSON (by the end of the file's name):

    schema = "hardstone.scenario/1"
    register = "register.json"      # a table, or a file beside the scenario
    facts = "facts.json"
    real_time = false               # true: delays are waited for
    noisy = false                   # true: a console to which others write lines too

    # as if the target's clock had been held against that of this machine; left out: it was not
    clock_check = { host_ns = 60000000000, target_ns = 60000100000, uncertainty_ns = 40000 }

    [tests.CLK-B-RES]
    steps = [
      '{"type": "header", ...}',    # a line as it is sent
      { file = "clk-b-res.jsonl" }, # the lines of a file beside the scenario
      { delay_s = 1.5 },
      { wait_stop = true },         # nothing more until the test is asked to stop
      { cut = '{"type": "ser' },    # a line without its end
      { garbage_bytes = 4000 },     # bytes that are no text
      { hang = true },              # never ends: only the deadline helps
      { vanish = true },            # the target is gone, from now on
      { exit = 2, stderr = "..." }, # the probe ends with this code
    ]

    [[under]]                       # results under conditions: each entry that matches
    test = "TMR-*"                  # globs; one that is left out matches all
    load = "heavy"
    cpu_config = "shielded"
    preemption = "none"             # the model switched to; "" where it is not switched
    params = { masses = "1000.." }  # globs, or LEAST..MOST; header and labels are as requested
    steps = [...]                   # in place of the test's own
    reached = [{ element = "cpu", ... }]          # load lines, as the probe sends them
    events = [{ name = "load_short", text = "..." }]
    settings = ["cpuset"]           # that were in force
    status = "denied"               # with reason and remedy, and nothing measured

`loads` (hardstone.loads/1) are the probe's elements of load, a table or a file; without it the
probe has none. `shield` (hardstone.shield/1) are the settings that a shield could switch. The
requested conditions are put into the result line of every stream.

Steps after `cut` at the end, `hang`, `vanish` or `exit` are not reached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from hardstone.errors import InputError
from hardstone.files import followed, read_regular
from hardstone.model import ClockCheck, Event, LoadReached, PlannedTest, Status
from hardstone.toml_text import parse_toml

SCHEMA = "hardstone.scenario/1"
_MAX_FILE_BYTES = 1 << 24
_MAX_STEPS = 100_000
_RANGE = re.compile(r"([0-9]{0,18})\.\.([0-9]{0,18})", re.ASCII)


class Step(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One action of the fake probe; exactly one field is set (stderr with exit)."""

    line: str | None = None
    file: str | None = None
    delay_s: float | None = None
    wait_stop: bool = False
    cut: str | None = None
    garbage_bytes: int | None = None
    hang: bool = False
    vanish: bool = False
    exit: int | None = None
    stderr: str = ""


class FakeTest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    steps: list[str | Step]


class Under(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What is different for tests and conditions that the globs match."""

    test: str = "*"
    load: str = "*"
    cpu_config: str = "*"
    preemption: str = "*"
    params: dict[str, str] = {}
    steps: list[str | Step] | None = None
    reached: list[LoadReached] = []
    events: list[Event] = []
    settings: list[str] = []
    status: Status | None = None
    reason: str | None = None
    remedy: str | None = None
    command: str | None = None

    def fits(self, planned: PlannedTest) -> bool:
        """Whether the globs match `planned`."""
        asked = (planned.test, planned.load, planned.cpu_config, planned.preemption or "")
        globs = (self.test, self.load, self.cpu_config, self.preemption)
        has_params = all(_fits(planned, name, wanted) for name, wanted in self.params.items())
        return has_params and all(map(fnmatchcase, asked, globs))


def single(planned: PlannedTest, name: str) -> int | str | None:
    """The value of a parameter that has one."""
    value = planned.params.get(name)
    return (value[0] if len(value) == 1 else None) if isinstance(value, list) else value


def _fits(planned: PlannedTest, name: str, wanted: str) -> bool:
    value = single(planned, name)
    limits = _RANGE.fullmatch(wanted)
    if limits is not None and isinstance(value, int):
        return int(limits[1] or 0) <= value <= int(limits[2] or value)
    return fnmatchcase(str(value), wanted)


class Scenario(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`register` and `facts`: a document, or the name of a JSON file beside."""

    schema: str
    register: dict[str, Any] | str
    facts: dict[str, Any] | str
    tests: dict[str, FakeTest] = {}
    under: list[Under] = []
    loads: dict[str, Any] | str | None = None
    shield: dict[str, Any] | str | None = None
    real_time: bool = False
    noisy: bool = False
    dump: list[str] = []
    clock_check: ClockCheck | None = None


class LoadedScenario(msgspec.Struct, kw_only=True):
    """A scenario with its files read: documents as JSON, steps of every test."""

    register: bytes
    facts: bytes
    tests: dict[str, list[Step]]
    under: list[Under]
    loads: bytes | None
    shield: bytes | None
    real_time: bool
    noisy: bool
    dump: list[str]
    clock_check: ClockCheck | None


def load_scenario(path: Path) -> LoadedScenario:
    """Reads a scenario file. InputError, with what is wrong, for anything faulty."""
    scenario = _parse(path, _read(path))
    if scenario.schema != SCHEMA:
        raise InputError(f"{path} is not a scenario", f'it must say schema = "{SCHEMA}"')
    folder = path.parent
    return LoadedScenario(
        register=_document(folder, scenario.register),
        facts=_document(folder, scenario.facts),
        tests={name: _steps(folder, test.steps) for name, test in scenario.tests.items()},
        under=[
            one
            if one.steps is None
            else msgspec.structs.replace(one, steps=list(_steps(folder, one.steps)))
            for one in scenario.under
        ],
        loads=None if scenario.loads is None else _document(folder, scenario.loads),
        shield=None if scenario.shield is None else _document(folder, scenario.shield),
        real_time=scenario.real_time,
        noisy=scenario.noisy,
        dump=scenario.dump,
        clock_check=scenario.clock_check,
    )


def _read(path: Path) -> bytes:
    try:
        return read_regular(followed(path), _MAX_FILE_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path} cannot be read: {reason}", "name a scenario file") from error


def _parse(path: Path, raw: bytes) -> Scenario:
    try:
        if path.suffix == ".toml":
            return msgspec.convert(parse_toml(raw), Scenario)
        return msgspec.json.decode(raw, type=Scenario)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        text = str(error)[:200]
        raise InputError(f"{path} is not a scenario: {text}", "see targets/scenario.py") from error


def _beside(folder: Path, name: str) -> bytes:
    if Path(name).name != name or name in ("", ".", ".."):
        raise InputError(f"'{name[:60]}' is not beside the scenario", "name a file in its folder")
    return _read(folder / name)


def _document(folder: Path, value: dict[str, Any] | str) -> bytes:
    return _beside(folder, value) if isinstance(value, str) else msgspec.json.encode(value)


def _steps(folder: Path, given: Sequence[str | Step]) -> list[Step]:
    steps: list[Step] = []
    for step in given:
        if isinstance(step, str):
            steps.append(Step(line=step))
        elif step.file is not None:
            text = _beside(folder, step.file).decode("utf-8", "surrogateescape")
            steps += [Step(line=line) for line in text.splitlines()]
        else:
            steps.append(step)
    if len(steps) > _MAX_STEPS:
        raise InputError("the scenario has too many steps", f"at most {_MAX_STEPS} for a test")
    return steps
