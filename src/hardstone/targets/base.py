"""A target as the rest of the toolkit sees it, and words for the time that reaching one takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from hardstone.errors import (
    EXIT_OK,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    HardstoneError,
    InputError,
    TargetError,
)
from hardstone.memory import Recorder
from hardstone.model import (
    ClockCheck,
    Event,
    Facts,
    Instrument,
    Loads,
    Plan,
    PlannedTest,
    Register,
    Scalar,
    SelfTest,
    ShieldState,
)


def _nothing(text: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class Notices:
    """`step` is called with what begins now and takes seconds, `warn` with what went otherwise
    than it should. `wait_s`: the longest wait for another measurement of the machine, where that is
    needed to reach the target; None: until it has ended. Of a target that measures without a
    connection: `leaves`, whether it is left alone once it has all tests, and `look_s`, how often a
    running test may be looked at; None: never."""

    step: Callable[[str], None] = _nothing
    warn: Callable[[str], None] = _nothing
    wait_s: float | None = None
    leaves: bool = False
    look_s: float | None = None


SILENT = Notices()
REBUILD = "the probe may be of another version; rebuild it: hardstone probe build"
SILENT_REMEDY = (
    "the target hangs or is busy, or the probe is stopped: end other work there, continue "
    "stopped processes, and try again"
)
QUIET = "other programs write to the target's console; silence them (dmesg -n 1) and run it again"


class WrongModelError(InputError):
    """The kernel of a target is under another preemption model than asked for; `facts` has what it
    offers."""

    def __init__(self, cause: str, remedy: str, facts: Mapping[str, Scalar]) -> None:
        super().__init__(cause, remedy)
        self.facts = facts


class TargetAwayError(TargetError):
    """The target does not answer now, or is left alone on request. What it measures goes on there,
    and can be collected later."""


class LeftAloneError(TargetAwayError):
    """The target measures alone, as was asked for."""

    exit_code = EXIT_OK


class ProbeError(HardstoneError):
    """The probe failed: the test is lost, the target can still be reached."""

    exit_code = EXIT_UNTRUSTWORTHY


class NotSentError(ProbeError):
    """The test never began on the target: it was not sent, or a stop came before its turn."""


class ProbeExitError(ProbeError):
    """The probe ended with the exit code `code`, not 0, and wrote `said` to standard error."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(f"the probe ended with exit code {code}{said and f': {said}'}")
        self.code = code
        self.said = said


class ProbeRefusedError(ProbeExitError):
    """The probe does not know the command or an option."""


class BrokenStreamError(ProbeError):
    """The probe sent what is not a stream, and was ended: bad input."""

    exit_code = EXIT_USAGE


class ProbeTimeoutError(ProbeError):
    """The probe did not end before its deadline, and was ended: it hangs, is stopped, or gets no
    CPU. A new build changes nothing about that."""

    exit_code = EXIT_UNREACHABLE

    def __init__(self, cause: str) -> None:
        super().__init__(cause, SILENT_REMEDY)


class OnIdle(Protocol):
    """Called now and then while a command is silent; `said`: what a person should know of that."""

    def __call__(self, said: str = "") -> None: ...


def no_sign(said: str = "") -> None:
    """Nobody waits."""


class Stop(threading.Event):
    """Asks a running test to end early and keep its results; `abort` asks to end at once.

    A signal handler sets it. The same thread must therefore poll `is_set`: `wait` holds a lock
    that `set` takes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_abort = False
        self.is_left = False

    def leave(self) -> None:
        """This program ends; a target that measures without a connection goes on."""
        self.is_left = True
        self.set()

    def abort(self) -> None:
        """What has not arrived yet is lost."""
        self.is_abort = True
        self.set()


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How the measuring threads run; None leaves it to the probe.

    `dma_latency_us`: the bound on the exit latency of idle states meanwhile; None: no bound.
    `trace`: the kernel's events around each worst value are kept. `addresses`: of the hosts that a
    load names.
    """

    cpu: int | None = None
    policy: str = "fifo"
    priority: int | None = None
    clock: str = "auto"
    seed: int = 0
    counter_hz: int | None = None
    dma_latency_us: int | None = None
    trace: bool = False
    addresses: Mapping[str, str] = field(default_factory=dict)


def run_options(plan: Plan, clock: Instrument | None) -> RunOptions:
    """Options of every test of `plan`, with the frequency of the counter `clock`."""
    is_counted = clock is not None and clock.trusted and plan.clock == "auto"
    return RunOptions(
        cpu=plan.cpu,
        policy=plan.policy,
        priority=plan.priority,
        clock=plan.clock,
        seed=plan.seed,
        counter_hz=clock.counter_hz if is_counted and clock is not None else None,
        dma_latency_us=plan.dma_latency_us,
        trace=plan.trace,
        addresses=plan.addresses,
    )


class Target(Recorder, Protocol):
    """A system under test. Every call has a deadline of its own. `name` is what `--target` takes.

    Calls raise TargetError when the target cannot be reached or its probe does not answer, and
    InputError when the answer cannot be decoded. `run` raises ProbeError when the probe fails.
    """

    def open(self, notices: Notices = SILENT) -> None:
        """Reaches the target; TargetError with the remedy where that fails."""

    def close(self) -> None:
        """Lets go of the target; may be called twice, and never fails."""

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """Locks the target for one measurement; waits for another one until `stop`.

        `on_wait` is called once with who holds the lock. TargetError after `wait_s`, if given.
        If it cannot be locked, `on_unlocked` is called with the reason, and there is no wait.
        """

    def probe_path(self) -> str | None:
        """Path of the probe's executable on the target, None where it is not a file."""

    def probe_sha256(self) -> str | None:
        """Digest of the probe's executable, None where it cannot be read."""

    def probe_list(self) -> Register:
        """The tests that the probe has."""

    def load_list(self) -> Loads | None:
        """The elements of load that the probe has; None from a probe without load."""

    def shield_look(self) -> ShieldState | None:
        """The settings that a shield could switch; None from a probe without shields."""

    def selftest(self) -> SelfTest | None:
        """Whether the probe computes rightly there; None from a probe without a self-test."""

    def facts(self, *, with_counter: bool = True) -> Facts:
        """Facts about the machine, and the instrument. The calibration of the counter takes a
        second: `with_counter` false leaves it out."""

    def clock_check(self) -> ClockCheck | None:
        """The target's clock and that of this machine between `open` and now.

        None where there is no second clock that keeps time. The figures are untrusted, but each
        fits into 64 bits.
        """

    @property
    def is_unattended(self) -> bool:
        """Whether it measures without a connection."""

    @property
    def rebuild_remedy(self) -> str:
        """What to do where the probe there seems to be of another version."""

    @property
    def is_looked_at(self) -> bool:
        """Whether a running test is looked at, though it measures without a connection."""

    def announce(self, planned: Sequence[PlannedTest], options: RunOptions) -> None:
        """The tests that are run after the next one, as far as their requests are known. A target
        that measures without a connection runs them all at once; for others it means nothing."""

    def stored(self) -> None:
        """All that was collected is stored here: on the target it may be removed."""

    def has_more(self) -> bool:
        """Whether it has measured, or still measures, tests that were announced."""

    def take_remarks(self) -> list[Event]:
        """What happened to the test that ran last which its stream cannot say; each once."""

    def run(
        self,
        planned: PlannedTest,
        options: RunOptions,
        backing: str | None,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        """Runs one test: yields the lines as received, without line ends.

        A last line that was cut is yielded as it is. The probe records at the path `backing` on
        the target. `on_idle` is called now and then while nothing comes: the probe is silent
        while it measures.
        """
