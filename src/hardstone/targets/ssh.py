"""A system that SSH reaches as a target.

Short commands run beside an agent, over the connection. Tests are jobs of the agent's keeper, a
process there that outlives every connection: they are sent, the connection is closed, and their
output is collected once the expected time has passed. probe/src/agent/ is the other side.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import msgspec

from hardstone import frames
from hardstone.errors import HardstoneError, TargetError, printable
from hardstone.event_names import CONNECTED
from hardstone.files import pause, read_regular, replace_file
from hardstone.frames import PeerLostError
from hardstone.memory import LEFT_NAME
from hardstone.model import ClockCheck, Event, Scalar
from hardstone.targets.agent import ANSWER_S, Agent, Reading, now_ns
from hardstone.targets.alone import WAITS, held_too_long, holder_of
from hardstone.targets.base import (
    SILENT,
    LeftAloneError,
    Notices,
    NotSentError,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    Stop,
    TargetAwayError,
    no_sign,
)
from hardstone.targets.build import probe_for
from hardstone.targets.deploy import (
    ProbeOf,
    Session,
    agent_line,
    boot_of,
    deploy,
    measured_by,
    remove,
)
from hardstone.targets.find import PROBE
from hardstone.targets.framed import FramedCommand, call
from hardstone.targets.host_memory import HostMemory
from hardstone.targets.named import SshSettings
from hardstone.targets.openssh import OpenSsh, UnreachableError, refused_sudo
from hardstone.targets.transport import Limits, Watch
from hardstone.units import format_span

_SESSION_BYTES = 1 << 16
_POLL_S = 0.2
_WAIT_MS = 3000
LOCKS = ("/run/lock/hardstone-measuring.lock", "/tmp/hardstone-measuring.lock")  # noqa: S108
_PROC_BYTES = 1 << 22
_UNRECORDED = 9000  # numbers of jobs go up to 9999
_MOST_TRIES = 5
_CODE = re.compile(r"-?[0-9]{1,5}", re.ASCII)
_ENDED = ("ended", "lost", "dropped")


@dataclass(frozen=True)
class Patience:
    """Times in s. `away_s`: how long a target is tried that does not answer, so that it is told
    within a minute; `again_s`: between two tries; `busy_s`: between two looks at a target on which
    somebody measures. `attached_s`: how long a late job is waited for with a connection. `start_s`,
    `job_s`: what a run of jobs, and each of them, takes beside the expected time; `late`: a share
    of that."""

    away_s: float = 30.0
    again_s: float = 2.0
    busy_s: float = 30.0
    attached_s: float = 20.0
    start_s: float = 1.0
    job_s: float = 0.2
    late: float = 0.02


PATIENCE = Patience()


class RunLostError(TargetError):
    """The target answers, and does not have any more what a run left there."""


class SshMemory(HostMemory):
    """The recordings of a run are on the target; a spare of the run is here.

    The journal gets a file that says where on the target the run is, so that it can be collected.
    """

    def __init__(self, run_id: str, journal: Path, transport: SshTransport) -> None:
        super().__init__(run_id, journal)
        self._transport = transport
        self._session_path = journal / LEFT_NAME

    def path_for(self, number: int) -> str:
        session = self._transport.session()
        if not self._session_path.exists():
            replace_file(self._session_path, msgspec.json.encode(session), 0o600, is_durable=True)
        return f"{session.folder}/{number}.rec"

    def has(self, path: str) -> bool:
        return self._transport.is_of_session(path)

    def copy(self, path: str) -> Iterator[bytes] | None:
        del path
        return None  # a copy would be a connection, twice a second

    def direct(self, path: str) -> str | None:
        return path if self._transport.may_look() else None

    def drop(self, path: str) -> None:
        """The keeper removes what is not needed; the rest goes with the folder."""

    def remove(self) -> None:
        """The run is stored: from now on the target itself removes what is there, should nobody
        come to do that. Until here the journal says where it is."""
        self._transport.drop_stored()
        super().remove()


def stored_session(journal: Path) -> Session | None:
    """Where a run that is left on a target is; None for a run of another target."""
    try:
        content = read_regular(journal / LEFT_NAME, _SESSION_BYTES)
        return msgspec.json.decode(content, type=Session)
    except (OSError, msgspec.DecodeError):
        return None


@dataclass(frozen=True)
class _State:
    """What became of a job: queued, running, ended, lost or dropped; its exit code."""

    name: str
    detail: str


class SshTransport:
    """The way to `settings`. With `session`, the run that is there is collected and none begun."""

    is_noisy = False

    def __init__(
        self,
        settings: SshSettings,
        *,
        session: Session | None = None,
        client: OpenSsh | None = None,
        probe_of: ProbeOf = probe_for,
        patience: Patience = PATIENCE,
        locks: Sequence[str] = LOCKS,
        clock: Callable[[], float] = lambda: now_ns() / 1e9,
    ) -> None:
        self.name = settings.name
        self._settings = settings
        self._ssh = client or OpenSsh(settings)
        self._probe_of = probe_of
        self._patience = patience
        self._locks = locks
        self._clock = clock
        self._session = session
        self._collects = session is not None
        self._looked_at = time.monotonic()
        self._agent: Agent | None = None
        self._notices = SILENT
        self._readings: list[Reading] = []
        self._ahead: list[tuple[list[str], Limits]] = []
        self._sent: dict[int, list[str]] = {}
        self._taken: list[int] = []
        self._shift = 0  # of the numbers of jobs, since one was asked for otherwise than announced
        self._states: dict[int, _State] = {}
        self._expected_s: dict[int, float] = {}
        self._due = 0.0
        self._is_kept = self._collects
        self._is_stopped = False
        self._stop_until = 0.0
        self._visits: Counter[int] = Counter()  # connections while a job ran, by its number
        self._seen: set[int] = set()  # jobs that ran since this connection was made
        self._last = 0  # the job whose output was given last
        self._stop = Stop()
        self._is_rebooted = False

    # ---- the connection ----

    def open(self, notices: Notices = SILENT) -> None:
        self._notices = notices
        if self._session is None:
            self._wait_until_free()
        self._connect()
        if self._collects:
            self._check_boot()
        self._read_clock()

    def _wait_until_free(self) -> None:
        """While somebody measures there, nothing is copied and nothing runs: a login is
        disturbance enough. TargetError after the longest wait."""
        begun = time.monotonic()
        is_told = False
        while True:
            self._ssh.connect()
            who = measured_by(self._ssh, secrets.token_hex(6), self._locks)
            if who is None:
                return
            self._ssh.close()
            if not is_told:
                is_told = True
                self._notices.warn(
                    f"Another hardstone measurement is running on {self.name}{who}; {WAITS}."
                )
            wait_s = self._notices.wait_s
            if wait_s is not None and time.monotonic() - begun >= wait_s:
                raise held_too_long(self._locks[0], who, wait_s)
            pause(self._patience.busy_s if wait_s is None else min(self._patience.busy_s, wait_s))

    def session(self) -> Session:
        """Where the files on the target are; connects first where there is none yet."""
        if self._session is None:
            self._connect()
        if self._session is None:
            raise AssertionError("a connection makes a session")
        return self._session

    def is_of_session(self, path: str) -> bool:
        """Whether a path is in the folder on the target; asks nobody."""
        return self._session is not None and path.startswith(f"{self._session.folder}/")

    def close(self) -> None:
        """Removes what is on the target, unless it is to be collected later."""
        session = self._session
        if session is not None and not self._is_kept and not self._is_removed(session):
            self._notices.warn(
                f"the folder {session.folder} on {self.name} could not be removed; when it "
                f"answers: {self._ssh.typed()} rm -r {session.folder}"
            )
        self._session = None
        self._disconnect()

    def _is_removed(self, session: Session) -> bool:
        try:
            if self._connected().ask(frames.BYE, [])[:1] != ["failed"]:
                return True
        except HardstoneError:
            pass  # also where no agent starts, the folder may be removed
        try:
            return remove(self._ssh, session.folder, session.word)
        except HardstoneError:  # what says where it is was changed
            return False

    def stored(self) -> None:
        self._is_kept = False

    def drop_stored(self) -> None:
        """Removes the files of jobs, where that takes no new connection."""
        if self._agent is not None:
            with contextlib.suppress(HardstoneError):
                self._drop_taken(no_sign)

    def _connect(self, timeout_s: float | None = None) -> None:
        """A connection and an agent; TargetError where there is none, with what to do. A person is
        asked only where the time is not limited."""
        if self._agent is not None and self._agent.has_unread:
            self._disconnect()  # the rest would be taken for the next answer
        if self._agent is not None:
            return
        self._ssh.connect(timeout_s, may_ask=timeout_s is None)
        if self._session is None:
            self._session = deploy(self._ssh, self._settings, self._notices.step, self._probe_of)
        process = self._ssh.start(agent_line(self._session))
        try:
            self._agent = Agent(process, self._session.word, self.name)
        except PeerLostError as error:
            self._explain(error)
            raise

    def _connected(self) -> Agent:
        self._connect()
        if self._agent is None:
            raise AssertionError("a connection has an agent")
        return self._agent

    def _explain(self, error: PeerLostError) -> None:
        """Raises what is known about an agent that does not start."""
        session = self.session()
        said = error.cause.removeprefix(f"{self.name}: ")
        if session.is_root and "sudo" in said:
            raise refused_sudo(self._settings, error.cause, session.folder) from error
        if not self._ssh.is_alive():
            self._disconnect()
            raise UnreachableError(error.cause, "", is_final=False) from error
        boot_id, is_there = boot_of(self._ssh, session)
        if boot_id != session.boot_id:
            raise self._rebooted() from error
        if not is_there:
            raise RunLostError(
                f"{self.name}: the folder {session.folder} is gone, and with it what was measured",
                "look at what removes files there; for an account that is not root: "
                "loginctl enable-linger",
            ) from error

    def _rebooted(self) -> RunLostError:
        return RunLostError(
            f"{self.name} was rebooted while it measured; what was not collected is lost",
            "look at its log for the reason (journalctl -b -1, or its console)",
        )

    def _disconnect(self) -> None:
        agent, self._agent = self._agent, None
        self._seen.clear()
        if agent is not None:
            agent.close()
        self._ssh.close()

    def _reconnect(self, on_idle: OnIdle) -> None:
        """Tries for a while; TargetAwayError says that the run can be collected later."""
        until = time.monotonic() + self._patience.away_s
        while True:
            try:
                self._connect(max(self._patience.again_s, until - time.monotonic()))
                self._check_boot()
            except (UnreachableError, PeerLostError) as error:
                self._disconnect()
                is_final = isinstance(error, UnreachableError) and error.is_final
                is_final = is_final or self._stop.is_abort
                if is_final or time.monotonic() >= until:
                    raise self._away(error.cause) from error
                on_idle("")
                pause(self._patience.again_s)
            else:
                return

    def _check_boot(self) -> None:
        session = self.session()
        if self._agent is None or session.boot_id == "-":
            return
        found = b"".join(self._agent.fetch("/proc/sys/kernel/random/boot_id", 0, 100))
        # What ended before, and is on a disk, is there.
        self._is_rebooted = found.decode("ascii", "replace").strip() != session.boot_id

    def _away(self, cause: str) -> TargetAwayError:
        return TargetAwayError(
            f"{cause}; what it measures is kept there",
            f"collect it when it answers again: hardstone target collect {self.name}",
        )

    def _left(self) -> TargetAwayError:
        return TargetAwayError(
            f"{self.name} still measures, and is left alone",
            f"collect it later: hardstone target collect {self.name}",
        )

    def _asked(
        self, kind: bytes, words: Sequence[str], on_idle: OnIdle, wait_s: float = 0.0
    ) -> list[str]:
        """An answer, over a new connection where the old one is lost: each question may be asked
        again."""
        for _ in range(_MOST_TRIES):
            if self._agent is None:
                self._reconnect(on_idle)
            agent = self._connected()
            try:
                return agent.ask(kind, words, ANSWER_S + wait_s)
            except PeerLostError as error:
                lost = error
                self._disconnect()
            if self._stop.is_abort:
                break
        raise self._away(lost.cause)

    def _read_clock(self) -> None:
        if self._agent is not None:
            self._readings.append(self._agent.clock())

    # ---- what every transport does ----

    @contextmanager
    def _locked(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None,
    ) -> Iterator[None]:
        if not self._collects:
            self._lock(stop.is_set, on_wait, on_unlocked, wait_s)
        yield
        if self._agent is not None and not self._collects:
            with contextlib.suppress(PeerLostError, ProbeError):
                self._agent.ask(frames.UNLOCK, [])

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """The keeper holds the lock that a measurement on the machine itself takes."""
        return self._locked(stop, on_wait, on_unlocked, wait_s)

    def _lock(
        self,
        is_stopped: Callable[[], bool],
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None,
    ) -> None:
        begun = time.monotonic()
        is_told = False
        while True:
            state, *words = self._asked(frames.LOCK, self._locks, no_sign) or [""]
            if state == "locked":
                if words[:1] != list(self._locks[:1]):
                    on_unlocked(
                        f"the lock {self._locks[0]} cannot be taken on {self.name}; hardstone "
                        "waits only for measurements that use another one"
                    )
                return
            if state != "held" or not words:
                why = printable(" ".join(words))
                on_unlocked(f"the lock on {self.name} cannot be taken: {why}")
                return
            who = holder_of(words[0], self._proc_file)
            if not is_told:
                is_told = True
                on_wait(f"Another hardstone measurement is running on {self.name}{who}; {WAITS}.")
            if wait_s is not None and time.monotonic() - begun >= wait_s:
                raise held_too_long(words[1] if len(words) > 1 else "the lock", who, wait_s)
            if is_stopped():
                return
            pause(self._patience.again_s)

    def _proc_file(self, path: str) -> bytes:
        """A file of /proc on the target; OSError."""
        if self._agent is None:
            raise OSError
        return b"".join(self._agent.fetch(f"/proc/{path}", 0, _PROC_BYTES))

    def probe_path(self) -> str | None:
        return None  # it goes with the run

    def probe_sha256(self) -> str | None:
        return self.session().sha256 or None

    def memory(self, run_id: str, journal: Path) -> SshMemory:
        return SshMemory(run_id, journal, self)

    def clock_check(self) -> ClockCheck | None:
        self._connect()
        self._read_clock()
        first, last = self._readings[0], self._readings[-1]
        if first is last:
            return None
        return ClockCheck(
            host_ns=last.before_ns - first.before_ns,
            target_ns=last.target_ns - first.target_ns,
            uncertainty_ns=sum(one.after_ns - one.before_ns for one in (first, last)),
        )

    def call(
        self, arguments: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        agent = self._connected()
        words = [f"{self.session().folder}/{PROBE}", *arguments]
        return call(agent, words, stdin, stdout, stderr, agent.keep_alive)

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        if arguments[:1] == ["run"]:
            yield from self._job(list(arguments), limits, stop, on_idle)
            return
        agent = self._connected()

        def alive(said: str = "") -> None:
            agent.keep_alive()
            on_idle(said)

        words = [f"{self.session().folder}/{PROBE}", *arguments]
        yield from FramedCommand(agent, words, limits, stop).chunks(alive)

    # ---- jobs ----

    def own_facts(self) -> dict[str, Scalar]:
        session = self.session()
        return {"target.url": session.url, "target.libc": session.libc or None}

    def announce(self, requests: Sequence[tuple[list[str], Limits]]) -> None:
        self._ahead = list(requests)

    def has_more(self) -> bool:
        return self._collects or any(number not in self._taken for number in self._sent)

    def take_remarks(self) -> list[Event]:
        visits = self._visits.pop(self._last, 0)
        if not visits:
            return []
        times = "once" if visits == 1 else f"{visits} times"
        text = f"hardstone connected to the target {times} while it measured"
        return [Event(name=CONNECTED, text=text, data={"connections_count": visits})]

    def may_look(self) -> bool:
        """Whether somebody wants to see what is recorded, and it is time."""
        if self._notices.look_s is None or self._since_look_s() < self._notices.look_s:
            return False
        self._looked_at = time.monotonic()
        self._visits[self._last] += 1
        return True

    def _since_look_s(self) -> float:
        return time.monotonic() - self._looked_at

    def _job(
        self, arguments: list[str], limits: Limits, stop: Stop, on_idle: OnIdle
    ) -> Generator[bytes]:
        self._stop = stop
        if self._agent is not None and self._agent.has_unread:
            self._disconnect()
        found = _number_of(arguments)
        number = max([_UNRECORDED, *self._sent]) + 1 if found is None else found + self._shift
        if not self._collects and self._sent.get(number) != arguments:
            number = self._send(number, arguments, limits, on_idle)
        self._expected_s.setdefault(number, limits.expected_s or 0.0)
        self._last = number
        state = self._wait(number, limits, stop, on_idle)
        if state is None or state.name == "dropped":
            raise NotSentError("it was not begun on the target")
        self._taken.append(number)
        yield from self._output(number, state, limits, stop, on_idle)

    def _send(self, number: int, arguments: list[str], limits: Limits, on_idle: OnIdle) -> int:
        """Sends the job and those that were announced, and leaves the target alone; the number that
        the job has there."""
        if any(one >= number for one in self._sent):  # the request is another one than announced
            for order in ("stop", "kill"):
                self._asked(frames.STOP, [order], on_idle)
            last = max(self._sent)
            self._shift += last + 1 - number  # a number is used once
            self._sent = {one: words for one, words in self._sent.items() if one < number}
            number = last + 1
        self._drop_taken(on_idle)
        self._lock(self._stop.is_set, on_idle, lambda why: None, self._notices.wait_s)
        if self._stop.is_set():
            raise NotSentError("stopped before it was sent to the target")
        folder = self.session().folder
        jobs = [(number, arguments, limits)]
        for place, (words, own) in enumerate(self._ahead, number + 1):
            backing = f"{folder}/{place - self._shift}.rec"
            jobs.append((place, [*words, "--backing", backing], own))
        self._ahead = []
        for place, words, own in jobs:
            deadline_ms = round((own.deadline_s + own.end_s) * 1000)
            asked = [str(place), str(deadline_ms), *self._kept_in_memory(words)]
            state, *why = self._asked(frames.JOB, asked, on_idle) or [""]
            known = states_of(self._asked(frames.QUERY, [], on_idle)) if state != "queued" else {}
            if state != "queued" and known.get(place, _State("dropped", "")).name == "dropped":
                raise ProbeError(f"the target refuses the test: {printable(' '.join(why))[:200]}")
            self._sent[place] = words
            self._is_kept = True  # until it is stored: whatever ends this program
        self._disconnect()
        expected_s = sum(own.expected_s or 0.0 for _, _, own in jobs)
        given = self._patience
        alone_s = expected_s * (1 + given.late) + given.start_s + given.job_s * len(jobs)
        self._due = self._clock() + alone_s
        self._is_stopped = False
        self._states = {}
        self._expected_s = {place: own.expected_s or 0.0 for place, _, own in jobs}
        return number

    def _kept_in_memory(self, words: list[str]) -> list[str]:
        """Without a recording where that would wait for a disk."""
        if self.session().is_in_memory or "--backing" not in words:
            return words
        at = words.index("--backing")
        return words[:at] + words[at + 2 :]

    def _drop_taken(self, on_idle: OnIdle) -> None:
        """What was collected is stored by now."""
        for number in [one for one in self._taken if one in self._sent or self._collects]:
            names = [f"{number}.{kind}" for kind in ("out", "err", "exit", "begun", "rec")]
            self._asked(frames.DROP, names, on_idle)
            self._sent.pop(number, None)

    def _wait(self, number: int, limits: Limits, stop: Stop, on_idle: OnIdle) -> _State | None:
        """Until the job has ended; None for one that was never sent."""
        late_at = None if self._agent is None else time.monotonic() + self._patience.attached_s
        while True:
            known = self._states.get(number)
            if known is not None and known.name in _ENDED:
                return known
            if stop.is_abort:
                self._kill(on_idle)
                raise ProbeError("ended at once, on request")
            if self._agent is None or known is None:
                self._look(number, stop, on_idle)
                late_at = time.monotonic() + self._patience.attached_s
                if number not in self._states:
                    return None
                continue
            if self._is_rebooted:
                raise self._rebooted()
            if stop.is_set():
                self._ask_to_stop(limits, stop, on_idle)
            elif late_at is not None and time.monotonic() >= late_at:
                self._due = self._clock() + max(30.0, 0.1 * (limits.expected_s or 0.0))
                self._disconnect()
                continue
            on_idle("")
            asked = [str(number), str(_WAIT_MS)]
            self._see(self._asked(frames.WAIT, asked, on_idle, _WAIT_MS / 1000))
            if number not in self._states:
                return None

    def _look(self, number: int, stop: Stop, on_idle: OnIdle) -> None:
        """Asks for the states of the jobs once their time has passed. A target that takes longer
        is left alone again, for as long as the rest should take: also where `number` has ended,
        since its output would be fetched while the next one measures."""
        while True:
            if self._agent is None:
                self._wait_alone(stop, on_idle)
                self._reconnect(on_idle)
            self._see(self._asked(frames.QUERY, [], on_idle))
            rest = [one for one, state in self._states.items() if state.name not in _ENDED]
            rest_s = sum(self._expected_s.get(one, 0.0) for one in rest)
            if rest_s <= self._patience.attached_s or stop.is_set() or number not in self._states:
                return
            self._due = self._clock() + rest_s
            self._disconnect()

    def _wait_alone(self, stop: Stop, on_idle: OnIdle) -> None:
        """The target has no connection meanwhile."""
        if self._notices.leaves:
            left = format_span(max(0, round((self._due - self._clock()) * 1e9)))
            raise LeftAloneError(
                f"{self.name} measures alone, for about {left}",
                f"collect it then: hardstone target collect {self.name}",
            )
        while self._clock() < self._due and not stop.is_set():
            on_idle("")
            if self._agent is not None:  # somebody has looked at the running test
                self._disconnect()
            pause(_POLL_S)
        if stop.is_left or (self._collects and stop.is_set()):
            raise self._left()

    def _see(self, answer: Sequence[str]) -> None:
        """Takes the states of the jobs. The one that runs now, or comes next, has a connection for
        company: that is counted once for each connection, unless it was asked to stop."""
        self._states = states_of(answer)
        going = [one for one, state in self._states.items() if state.name not in _ENDED]
        running = [one for one in going if self._states[one].name == "running"] or going[:1]
        for one in running:
            if one not in self._seen and not self._stop.is_set():
                self._seen.add(one)
                self._visits[one] += 1

    def _ask_to_stop(self, limits: Limits, stop: Stop, on_idle: OnIdle) -> None:
        if self._collects or stop.is_left:
            raise self._left()
        if not self._is_stopped:
            self._is_stopped = True
            self._stop_until = time.monotonic() + limits.stop_s
            self._asked(frames.STOP, ["stop"], on_idle)
        elif time.monotonic() >= self._stop_until:
            self._asked(frames.STOP, ["kill"], on_idle)

    def _kill(self, on_idle: OnIdle) -> None:
        with contextlib.suppress(HardstoneError):
            self._connect()
            for order in ("stop", "kill"):  # after a kill alone the next one would begin
                self._asked(frames.STOP, [order], on_idle)

    def _output(
        self, number: int, state: _State, limits: Limits, stop: Stop, on_idle: OnIdle
    ) -> Generator[bytes]:
        """What the job wrote; ProbeError as for a probe here."""
        watch = Watch(limits, Stop())
        try:
            for chunk in self._file(f"{number}.out", limits.most_bytes + 1, on_idle):
                yield watch.take_output(chunk)
            for chunk in self._file(f"{number}.err", 1 << 14, on_idle):
                watch.take_error(chunk)
        except OSError as error:
            raise ProbeError(f"its output cannot be read: {error.strerror or error}") from error
        if state.name == "lost":
            raise ProbeError("the keeper on the target was ended while the test ran")
        detail = state.detail.partition(" ")[0]
        code = int(detail) if _CODE.fullmatch(detail) else -1
        if code in (-15, -9) and not stop.is_set():
            span = format_span(round(limits.deadline_s * 1e9))
            raise ProbeTimeoutError(f"the probe was ended on the target, after at most {span}")
        watch.check_end(code)

    def _file(self, name: str, most_bytes: int, on_idle: OnIdle) -> Generator[bytes]:
        """A file of the folder, also over several connections."""
        offset = tries = 0
        while True:
            if self._agent is None:
                self._reconnect(on_idle)
            agent = self._connected()
            before = offset
            try:
                for chunk in agent.fetch(name, offset, most_bytes - offset):
                    offset += len(chunk)
                    yield chunk
            except PeerLostError as error:
                self._disconnect()
                tries = 0 if offset > before else tries + 1
                if tries == _MOST_TRIES or self._stop.is_abort:
                    raise self._away(error.cause) from error
            else:
                return


def _number_of(arguments: Sequence[str]) -> int | None:
    """The number of the job from the name of its recording."""
    if "--backing" not in arguments:
        return None
    name = arguments[list(arguments).index("--backing") + 1].rpartition("/")[2]
    stem = name.removesuffix(".rec")
    return int(stem) if stem.isascii() and stem.isdigit() and len(stem) < 5 else None


def states_of(words: Sequence[str]) -> dict[int, _State]:
    """The jobs in an answer, after "keeper" and its PID, or "none"."""
    rest = list(words[2 if words[:1] == ["keeper"] else 1 :])
    jobs = zip(rest[0::3], rest[1::3], rest[2::3], strict=False)
    return {
        int(number): _State(name, detail)
        for number, name, detail in jobs
        if _CODE.fullmatch(number)
    }


def collected(settings: SshSettings, session: Session) -> SshTransport:
    """The way to a run that was left on a target."""
    return SshTransport(replace(settings, sudo=session.is_root), session=session)
