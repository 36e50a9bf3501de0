"""What a target is: a place where a probe runs, reached over a small protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hardstone.errors import EXIT_UNTRUSTWORTHY, EXIT_USAGE, HardstoneError
from hardstone.model import Facts, Loads, Plan, PlannedTest, Register, ShieldLook

REBUILD = "is this probe of this version? rebuild it: hardstone probe build"


class ProbeError(HardstoneError):
    """The probe answered wrongly: the test is lost, the target is still there."""

    exit_code = EXIT_UNTRUSTWORTHY


class ProbeExitError(ProbeError):
    """The probe ended with an exit code, `code`, that is not 0."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(f"the probe ended with exit code {code}{said}")
        self.code = code


class ProbeRefusedError(ProbeExitError):
    """The probe does not know what it was asked for."""


class BrokenStreamError(ProbeError):
    """What the probe sends cannot be its stream: bad input, and the probe was ended."""

    exit_code = EXIT_USAGE


class ProbeTimeoutError(BrokenStreamError):
    """The probe outlived its deadline and was ended."""


class Stop(threading.Event):
    """Asks a running test to end early and keep what it has; `abort` to end at once.

    A signal handler sets it, so the same thread must look with `is_set` and not `wait`,
    which holds a lock that `set` takes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_abort = False

    def abort(self) -> None:
        """Nothing is kept that is not here yet."""
        self.is_abort = True
        self.set()


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How the measuring threads run; None leaves it to the probe.

    `dma_latency_us`: the bound on the exit latency of idle states meanwhile; None: no bound.
    """

    cpu: int | None = None
    policy: str = "fifo"
    priority: int | None = None
    clock: str = "auto"
    seed: int = 0
    counter_hz: int | None = None
    dma_latency_us: int | None = None


def run_options(plan: Plan, facts: Facts) -> RunOptions:
    """Options of every test of `plan`, with the counter's frequency as `facts` found it."""
    clock = facts.instrument
    return RunOptions(
        cpu=plan.cpu,
        policy=plan.policy,
        priority=plan.priority,
        clock=plan.clock,
        seed=plan.seed,
        counter_hz=clock.counter_hz if clock.trusted and plan.clock == "auto" else None,
        dma_latency_us=plan.dma_latency_us,
    )


class Target(Protocol):
    """A system under test. Every call has a deadline of its own.

    Calls raise TargetError when the target cannot be reached or its probe does not
    answer, InputError when the answer is none; `run` raises ProbeError when the probe did
    wrong and the target lives.
    """

    name: str

    def open(self) -> None:
        """Reaches the target; TargetError, with what to do, where it cannot."""

    def close(self) -> None:
        """Lets go of the target; may be called twice."""

    def alone(
        self, stop: Stop, on_wait: Callable[[], None], on_unlocked: Callable[[str], None]
    ) -> AbstractContextManager[None]:
        """Holds the target for one measurement at a time; waits for another until `stop`.

        Where it cannot be held, `on_unlocked` is told why and nothing is waited for.
        """

    def probe_path(self) -> str | None:
        """Where the probe's executable is on the target, None where there is none."""

    def probe_sha256(self) -> str | None:
        """Digest of the probe's executable, None where it cannot be known."""

    def probe_list(self) -> Register:
        """The tests that the probe has."""

    def load_list(self) -> Loads | None:
        """Of what the probe can make load; None where it makes none."""

    def shield_look(self) -> ShieldLook | None:
        """What a shield could switch; None where the probe has none."""

    def facts(self) -> Facts:
        """Facts about the machine, and the instrument."""

    def run(
        self,
        planned: PlannedTest,
        options: RunOptions,
        backing: Path | None,
        stop: Stop,
        on_idle: Callable[[], None] = lambda: None,
    ) -> Generator[bytes]:
        """Runs one test: yields the lines as received, without line ends.

        A last line that was cut off is yielded as it is. `on_idle` is called now and
        then while nothing comes, as the probe is silent while it measures.
        """

    def dump(self, path: Path) -> list[bytes]:
        """The stream that a killed probe left in its backing file."""
