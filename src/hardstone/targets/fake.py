"""A target that plays a scenario: for tests, and for work without a machine to measure.

Time is virtual unless the scenario says `real_time`: a delay takes no time but counts against the
deadline, so a test that hangs ends immediately.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from hardstone.errors import InputError, TargetError
from hardstone.model import ClockCheck, Facts, Loads, PlannedTest, Register, ShieldLook
from hardstone.targets.base import (
    BrokenStreamError,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
    no_sign,
)
from hardstone.targets.decode import decode_facts, decode_loads, decode_register, decode_shield
from hardstone.targets.fake_conditions import under_conditions
from hardstone.targets.host_memory import HostMemory
from hardstone.targets.reaching import SILENT, Notices
from hardstone.targets.scenario import LoadedScenario, Step, Under, load_scenario
from hardstone.units import format_span

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

    def shield_look(self) -> ShieldLook | None:
        raw = self._loaded().shield
        return None if raw is None else decode_shield(raw)

    def facts(self) -> Facts:
        self._check_reachable()
        return decode_facts(self._loaded().facts)

    def clock_check(self) -> ClockCheck | None:
        self._check_reachable()
        return self._loaded().clock_check

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
        yield from under_conditions(self._play(player, steps), planned, found)

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
            self._scenario = load_scenario(self._path)
        return self._scenario

    def _check_reachable(self) -> None:
        if self._is_gone:
            raise TargetError("the target is gone", "check that it is still running")


def _steps(
    scenario: LoadedScenario, planned: PlannedTest, found: Sequence[Under]
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
