"""A target that measures nothing: its answers are in a scenario, which tests and examples write.

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
probe has none. `shield` (hardstone.shield/1) are the settings that a shield could switch.
`selftest` are the lines of the probe's self-test; without them it has none. The requested
conditions are put into the result line of every stream.

Steps after `cut` at the end, `hang`, `vanish` or `exit` are not reached.

Time is virtual unless the scenario says `real_time`: a delay takes no time but counts against the
deadline, so a test that hangs ends immediately.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from hardstone.errors import InputError, TargetError
from hardstone.files import followed, parse_toml, read_regular
from hardstone.model import (
    ClockCheck,
    Event,
    Facts,
    LoadReached,
    Loads,
    PlannedTest,
    Register,
    SelfTest,
    ShieldState,
    Status,
)
from hardstone.targets.base import (
    REBUILD,
    SILENT,
    BrokenStreamError,
    Notices,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
    no_sign,
)
from hardstone.targets.host_memory import HostMemory
from hardstone.targets.probe_target import (
    decode_facts,
    decode_loads,
    decode_register,
    decode_selftest,
    decode_shield,
)
from hardstone.units import format_span

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


class Override(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
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
    under: list[Override] = []
    loads: dict[str, Any] | str | None = None
    shield: dict[str, Any] | str | None = None
    real_time: bool = False
    noisy: bool = False
    dump: list[str] = []
    selftest: list[str] = []
    clock_check: ClockCheck | None = None


class LoadedScenario(msgspec.Struct, kw_only=True):
    """A scenario with its files read: documents as JSON, steps of every test."""

    register: bytes
    facts: bytes
    tests: dict[str, list[Step]]
    under: list[Override]
    loads: bytes | None
    shield: bytes | None
    real_time: bool
    noisy: bool
    dump: list[str]
    selftest: list[str]
    clock_check: ClockCheck | None


def _load_scenario(path: Path) -> LoadedScenario:
    """Reads a scenario file. InputError, with what is wrong, for anything faulty."""
    scenario = _parse(path, _read(path))
    if scenario.schema != SCHEMA:
        raise InputError(f"{path} is not a scenario", f'write schema = "{SCHEMA}" in it')
    folder = path.parent
    return LoadedScenario(
        register=_document(folder, scenario.register),
        facts=_document(folder, scenario.facts),
        tests={name: _loaded_steps(folder, test.steps) for name, test in scenario.tests.items()},
        under=[
            one
            if one.steps is None
            else msgspec.structs.replace(one, steps=list(_loaded_steps(folder, one.steps)))
            for one in scenario.under
        ],
        loads=None if scenario.loads is None else _document(folder, scenario.loads),
        shield=None if scenario.shield is None else _document(folder, scenario.shield),
        real_time=scenario.real_time,
        noisy=scenario.noisy,
        dump=scenario.dump,
        selftest=scenario.selftest,
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
        raise InputError(f"{path} is not a scenario: {text}", "see targets/fake.py") from error


def _read_in_folder(folder: Path, name: str) -> bytes:
    if Path(name).name != name or name in ("", ".", ".."):
        raise InputError(
            (f"'{name[:60]}' is not in the scenario's folder"), "name a file in that folder"
        )
    return _read(folder / name)


def _document(folder: Path, value: dict[str, Any] | str) -> bytes:
    return _read_in_folder(folder, value) if isinstance(value, str) else msgspec.json.encode(value)


def _loaded_steps(folder: Path, given: Sequence[str | Step]) -> list[Step]:
    steps: list[Step] = []
    for step in given:
        if isinstance(step, str):
            steps.append(Step(line=step))
        elif step.file is not None:
            text = _read_in_folder(folder, step.file).decode("utf-8", "surrogateescape")
            steps += [Step(line=line) for line in text.splitlines()]
        else:
            steps.append(step)
    if len(steps) > _MAX_STEPS:
        raise InputError("the scenario has too many steps", f"at most {_MAX_STEPS} for a test")
    return steps


_MEASURED = ("instrument", "series", "verdict", "event", "load")
Line = dict[str, Any]


def _under_conditions(
    lines: Iterable[bytes], planned: PlannedTest, found: Sequence[Override]
) -> Iterator[bytes]:
    """`lines` with what `found` has for these conditions; the footer counts it.

    Lines that are not of a stream pass as they are.
    """
    is_plain = (planned.load, planned.cpu_config) == ("none", "shared")
    if not found and is_plain and planned.preemption is None:
        yield from lines
        return
    stream = _Stream(planned, found)
    for line in lines:
        yield from stream.take(line)


class _Stream:
    def __init__(self, planned: PlannedTest, found: Sequence[Override]) -> None:
        self._planned = planned
        self._found = found
        self._ending = next((one for one in reversed(found) if one.status), None)
        self._change: Counter[str] = Counter()  # of lines, by type
        self._has_params = any(one.params for one in found)

    def take(self, raw: bytes) -> Iterator[bytes]:
        """The lines that replace the line `raw` under these conditions; none or several."""
        line = _decoded(raw)
        if line is None:
            yield raw
            return
        if self._ending is not None and line["type"] in _MEASURED:
            self._change[line["type"]] -= 1
            return
        if self._has_params:
            line = self._as_requested(line)
        if line["type"] == "result":
            for added in self._added():
                self._change[added["type"]] += 1
                yield msgspec.json.encode(added)
            line = self._result(line)
        elif line["type"] == "footer":
            line = self._footer(line)
        yield msgspec.json.encode(line)

    def _as_requested(self, line: Line) -> Line:
        if line["type"] == "header":
            return {**line, "params": self._planned.params}
        if line["type"] != "series":
            return line
        asked = {name: single(self._planned, name) for name in line.get("labels", {})}
        known = {name: value for name, value in asked.items() if value is not None}
        return {**line, "labels": {**line.get("labels", {}), **known}}

    def _added(self) -> Iterator[Line]:
        for under in self._found:
            for event in under.events:
                yield {"type": "event", **msgspec.to_builtins(event)}
            for reached in under.reached if self._ending is None else ():
                yield {"type": "load", **msgspec.to_builtins(reached)}

    def _result(self, line: Line) -> Line:
        planned = self._planned
        settings = [name for under in self._found for name in under.settings]
        conditions = {
            **line.get("conditions", {}),
            "load": planned.load,
            "cpu_config": planned.cpu_config,
            "settings": [*planned.settings, *settings],
            "preemption": planned.preemption,
        }
        if self._ending is None:
            return {**line, "conditions": conditions}
        end = self._ending
        said = {name: getattr(end, name) for name in ("status", "reason", "remedy", "command")}
        return {**line, **said, "conditions": conditions}

    def _footer(self, line: Line) -> Line:
        change = {"lines": self._change.total()}
        change |= {f"{name}s": self._change[name] for name in ("event", "verdict")}
        change["series"] = self._change["series"]
        counts = {name: line.get(name, 0) + more for name, more in change.items()}
        return {**line, **counts, "crc32": None}


def _decoded(raw: bytes) -> Line | None:
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return line if isinstance(line, dict) and isinstance(line.get("type"), str) else None


_GARBAGE = bytes(range(128, 256)) + b"\x00\x1b[31m{]"
_MAX_BYTES = 1 << 28
_POLL_S = 0.05


class FakeTarget:
    """`fake:FILE`: every answer comes from the scenario in FILE."""

    def __init__(self, path: Path) -> None:
        self.name = f"fake:{path}"
        self._path = path
        self._scenario: LoadedScenario | None = None
        self._is_gone = False

    @property
    def is_noisy(self) -> bool:
        return self._loaded().noisy

    def open(self, notices: Notices = SILENT) -> None:
        self._loaded()

    def close(self) -> None:
        """Nothing is held."""

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        return nullcontext()

    def probe_path(self) -> str | None:
        return None

    def probe_sha256(self) -> str | None:
        return None

    def probe_list(self) -> Register:
        return decode_register(self._loaded().register)

    def load_list(self) -> Loads | None:
        raw = self._loaded().loads
        return None if raw is None else decode_loads(raw)

    def shield_look(self) -> ShieldState | None:
        raw = self._loaded().shield
        return None if raw is None else decode_shield(raw)

    def selftest(self) -> SelfTest | None:
        self._check_reachable()
        lines = self._loaded().selftest
        return decode_selftest("\n".join(lines).encode()) if lines else None

    def facts(self, *, with_counter: bool = True) -> Facts:
        del with_counter  # the answer is in the file
        self._check_reachable()
        return decode_facts(self._loaded().facts)

    def clock_check(self) -> ClockCheck | None:
        self._check_reachable()
        return self._loaded().clock_check

    is_unattended = False
    is_looked_at = False
    rebuild_remedy = REBUILD

    def announce(self, planned: Sequence[PlannedTest], options: RunOptions) -> None:
        """It measures nothing, so it needs no time to do so alone."""

    def stored(self) -> None:
        """It keeps nothing."""

    def has_more(self) -> bool:
        return False

    def take_remarks(self) -> list[Event]:
        return []

    def run(
        self,
        planned: PlannedTest,
        options: RunOptions,
        backing: str | None,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        """The lines of the scenario for `planned`, at its pace."""
        self._check_reachable()
        scenario = self._loaded()
        found = [one for one in scenario.under if one.fits(planned)]
        steps = _steps(scenario, planned, found)
        player = _Player(planned.deadline_ns / 1e9, stop, on_idle, scenario.real_time)
        yield from _under_conditions(self._play(player, steps), planned, found)

    def _play(self, player: _Player, steps: Sequence[Step]) -> Iterator[bytes]:
        for step in steps:
            if step.vanish:
                self._is_gone = True
            self._check_reachable()
            if step.exit == 0:
                return
            yield from player.play(step)

    def memory(self, run_id: str, journal: Path) -> HostMemory:
        return HostMemory(run_id, journal)

    def dump(self, path: str) -> list[bytes]:
        lines = self._loaded().dump
        if not lines:
            raise ProbeError("the scenario has no dump")
        return [_encoded(line) for line in lines]

    def _loaded(self) -> LoadedScenario:
        if self._scenario is None:
            self._scenario = _load_scenario(self._path)
        return self._scenario

    def _check_reachable(self) -> None:
        if self._is_gone:
            raise TargetError("the target is gone", "check that it is still running")


def _steps(
    scenario: LoadedScenario, planned: PlannedTest, found: Sequence[Override]
) -> Sequence[Step]:
    """The steps of the last entry that has any for these conditions, else the test's own."""
    own = [one.steps for one in found if one.steps is not None]
    if own:
        return [step if isinstance(step, Step) else Step(line=step) for step in own[-1]]
    if planned.test not in scenario.tests:
        raise ProbeError(f"the scenario does not contain {planned.test}")
    return scenario.tests[planned.test]


class _Player:
    """Plays steps against one deadline, in virtual or in real time."""

    def __init__(self, deadline_s: float, stop: Stop, on_idle: OnIdle, is_real_time: bool) -> None:
        self._deadline_s = deadline_s
        self._left_s = deadline_s
        self._stop = stop
        self._on_idle = on_idle
        self._is_real_time = is_real_time
        self._sent_bytes = 0

    def play(self, step: Step) -> Iterator[bytes]:
        if step.exit:
            said = f": {step.stderr.splitlines()[0][:300]}" if step.stderr else ""
            raise ProbeError(f"the probe ended with exit code {step.exit}{said}")
        if step.hang:
            self._pass(self._left_s, until_stop=False)
        elif step.wait_stop:
            while not self._stop.is_set():
                time.sleep(_POLL_S)
                self._on_idle()
            self._check_abort()
        elif step.delay_s is not None:
            self._pass(max(0.0, step.delay_s), until_stop=True)
        for text in (step.line, step.cut):
            if text is not None:
                yield self._sent(_encoded(text))
        if step.garbage_bytes is not None:
            size = min(max(step.garbage_bytes, 0), _MAX_BYTES + 1)
            yield self._sent((_GARBAGE * (size // len(_GARBAGE) + 1))[:size])

    def _pass(self, seconds: float, *, until_stop: bool) -> None:
        end_at = time.monotonic() + seconds
        self._on_idle()
        while self._is_real_time and time.monotonic() < end_at:
            self._check_abort()
            if until_stop and self._stop.is_set():
                return
            time.sleep(_POLL_S)
            self._on_idle()
        self._left_s -= seconds
        if self._left_s <= 0:
            span = format_span(round(self._deadline_s * 1e9))
            raise ProbeTimeoutError(
                f"the probe did not end within its deadline of {span} and was ended"
            )

    def _check_abort(self) -> None:
        if self._stop.is_abort:
            raise ProbeError("ended at once, on request")

    def _sent(self, line: bytes) -> bytes:
        self._sent_bytes += len(line)
        if self._sent_bytes > _MAX_BYTES:
            most = _MAX_BYTES >> 20
            raise BrokenStreamError(
                f"the probe sent more than {most} MiB for one test and was ended"
            )
        return line


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def fake_target(path: str) -> FakeTarget:
    """The fake target of a scenario file; InputError without a file's name."""
    if not path:
        raise InputError("'fake:' needs a scenario file", "write --target fake:FILE")
    return FakeTarget(Path(path))
