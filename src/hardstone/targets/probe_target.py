"""A target that runs the probe's commands over a transport: requests, answers, and load alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TypeVar

import msgspec

from hardstone.errors import (
    EXIT_PRIVILEGE,
    EXIT_UNTRUSTWORTHY,
    InputError,
    PrivilegeError,
    TargetError,
)
from hardstone.hosts import with_addresses
from hardstone.memory import Memory
from hardstone.model import (
    FACTS_SCHEMA,
    LOADS_SCHEMA,
    REGISTER_SCHEMA,
    SELFTEST_SCHEMA,
    SHIELD_SCHEMA,
    ClockCheck,
    Event,
    Facts,
    Loads,
    PlannedTest,
    Register,
    SelfCheck,
    SelfTest,
    ShieldState,
    StreamEvent,
    StreamLoad,
)
from hardstone.raw_facts import with_raw_facts
from hardstone.targets.base import (
    REBUILD,
    SILENT,
    SILENT_REMEDY,
    BrokenStreamError,
    Notices,
    OnIdle,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
    no_sign,
)
from hardstone.targets.transport import (
    Informed,
    Limits,
    Transport,
    Unattended,
    collect,
    split_lines,
)


def probe_arguments(planned: PlannedTest, options: RunOptions, backing: str | None) -> list[str]:
    """Arguments of `hardstone-probe` that run `planned`; never for a shell."""
    arguments = ["run", planned.test, "--json", "--until-eof"]
    for name, value in planned.params.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if text:
            arguments += ["-p", f"{name}={text}"]
    if planned.samples or planned.duration_ns:  # else the test takes as long as it takes
        arguments += ["--samples", str(planned.samples)]
        arguments += ["--duration-ns", str(planned.duration_ns)]
    arguments += _conditions(planned, options.addresses)
    arguments += ["--deadline-ns", str(planned.deadline_ns)]
    arguments += ["--policy", options.policy, "--clock", options.clock]
    arguments += ["--seed", str(options.seed)]
    arguments += _optional("--cpu", options.cpu)
    arguments += _optional("--priority", options.priority)
    arguments += _optional("--counter-hz", options.counter_hz)
    arguments += _optional("--dma-latency-us", options.dma_latency_us)
    arguments += ["--trace"] if options.trace else []
    return arguments + ([] if backing is None else ["--backing", backing])


def _conditions(planned: PlannedTest, addresses: Mapping[str, str]) -> list[str]:
    """What is not the probe's default, so that one without load takes all the rest."""
    arguments = []
    if planned.load != "none":
        arguments += ["--load", with_addresses(planned.load, addresses)]
    if planned.cpu_config != "shared":
        arguments += ["--cpu-config", planned.cpu_config]
    if planned.settings:
        arguments += ["--settings", ",".join(planned.settings)]
    if planned.preemption is not None:
        arguments += ["--preemption", planned.preemption]
    if planned.folder is not None:
        arguments += ["--dir", planned.folder]
    return arguments


def _optional(option: str, value: int | None) -> list[str]:
    return [] if value is None else [option, str(value)]


_MAX_TESTS = 1000
_MAX_LOADS = 100
_LOAD_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}", re.ASCII)
_TEST_ID = re.compile(r"[A-Z0-9]{2,8}(-[A-Z0-9]{1,12}){1,3}", re.ASCII)
_REMEDY = "use the probe of this version of hardstone: hardstone probe build"

_Document = TypeVar("_Document", Register, Facts, Loads, ShieldState)


def decode_register(raw: bytes) -> Register:
    """The register in `raw`; InputError for anything else."""
    register = _decode(raw, Register, REGISTER_SCHEMA, "list of tests")
    ids = [test.id for test in register.tests]
    faulty = [test for test in ids if not _TEST_ID.fullmatch(test)]
    if faulty or len(ids) > _MAX_TESTS or len(set(ids)) != len(ids):
        raise InputError("the probe's list of tests contains invalid test IDs", _REMEDY)
    return register


def decode_loads(raw: bytes) -> Loads:
    """The elements and mixes of load in `raw`; InputError for anything else."""
    loads = _decode(raw, Loads, LOADS_SCHEMA, "list of loads")
    for names in ([one.name for one in loads.elements], [one.name for one in loads.mixes]):
        faulty = [name for name in names if not _LOAD_NAME.fullmatch(name)]
        if faulty or len(names) > _MAX_LOADS or len(set(names)) != len(names):
            raise InputError("the probe's list of loads contains invalid names", _REMEDY)
    return loads


def decode_shield(raw: bytes) -> ShieldState:
    """The settings that a shield could switch, in `raw`; InputError for anything else."""
    return _decode(raw, ShieldState, SHIELD_SCHEMA, "list of shield settings")


def decode_facts(raw: bytes) -> Facts:
    """The facts in `raw`, those too that are read from sources; InputError for anything else."""
    return with_raw_facts(_decode(raw, Facts, FACTS_SCHEMA, "facts"))


class _SelfTestHeader(msgspec.Struct, kw_only=True, tag_field="type", tag="header"):
    schema: str
    probe_version: str


class _SelfTestCheck(SelfCheck, kw_only=True, tag_field="type", tag="check"):
    """One check, as it is sent."""


class _SelfTestFooter(msgspec.Struct, kw_only=True, tag_field="type", tag="footer"):
    checks: int
    failed: int


_SelfTestLine = _SelfTestHeader | _SelfTestCheck | _SelfTestFooter
_selftest_decoder: msgspec.json.Decoder[_SelfTestLine] = msgspec.json.Decoder(_SelfTestLine)


def decode_selftest(raw: bytes) -> SelfTest:
    """What the probe's self-test found, from its lines; InputError for anything else."""
    try:
        lines = [_selftest_decoder.decode(line) for line in raw.splitlines() if line.strip()]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = str(error)[:160]
        raise InputError(f"the probe's self-test cannot be read: {text}", _REMEDY) from error
    header, footer = (lines[0], lines[-1]) if lines else (None, None)
    checks = [one for one in lines if isinstance(one, _SelfTestCheck)]
    failed = sum(not one.passed for one in checks)
    if not isinstance(header, _SelfTestHeader) or header.schema != SELFTEST_SCHEMA:
        raise InputError(
            (f"the probe's self-test does not have the schema '{SELFTEST_SCHEMA}'"), _REMEDY
        )
    if not isinstance(footer, _SelfTestFooter) or len(checks) != len(lines) - 2:
        raise InputError("the probe's self-test is not complete", _REMEDY)
    if not checks or (footer.checks, footer.failed) != (len(checks), failed):
        raise InputError("the probe's self-test does not count its checks", _REMEDY)
    found = [
        SelfCheck(name=o.name, passed=o.passed, checked=o.checked, claim=o.claim, why=o.why)
        for o in checks
    ]
    return SelfTest(schema=header.schema, probe_version=header.probe_version, checks=found)


def _decode(raw: bytes, kind: type[_Document], schema: str, what: str) -> _Document:
    try:
        document = msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = str(error)[:160]
        raise InputError(f"the probe's {what} cannot be read: {text}", _REMEDY) from error
    if document.schema != schema:
        found = document.schema[:40]
        raise InputError(f"the probe's {what} has the schema '{found}', not '{schema}'", _REMEDY)
    return document


_LIST_S = 15.0
_FACTS_S = 60.0
_SELFTEST_S = 60.0
_DUMP_S = 60.0
_DUMP_BYTES = 1 << 27
_ANSWER_BYTES = 1 << 24
# The tool's clock begins before the probe's, which starts, locks its memory and finds the rate of
# its counter (35 ms of CPU and 1 s here); after its deadline it waits 3 s for the test.
_DEADLINE_GRACE_S = 10.0
_DRAIN_S = 60.0
# The probe ends with these after a result that says why not everything was measured.
_RESULT_CODES = (EXIT_UNTRUSTWORTHY, EXIT_PRIVILEGE)
_FOOTER = b'{"type":"footer"'


class ProbeTarget:
    """Knows the commands of the probe; `transport` knows how they reach it.

    `limits` replace those that each command of the probe has by default.
    """

    rebuild_remedy = REBUILD
    """What to do where the probe there seems to be another one."""

    def __init__(self, transport: Transport, *, limits: Limits | None = None) -> None:
        self.name = transport.name
        self.is_noisy = transport.is_noisy
        self._transport = transport
        self._limits = limits
        self._notices = SILENT

    def open(self, notices: Notices = SILENT) -> None:
        self._notices = notices
        if notices.leaves and not self.is_unattended:
            raise InputError(
                f"--detach: {self.name} measures only while hardstone runs",
                "leave it out, or name a target that SSH reaches: --target ssh://[USER@]HOST",
            )
        self._transport.open(notices)

    def close(self) -> None:
        self._transport.close()

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        return self._transport.alone(stop, on_wait, on_unlocked, wait_s)

    def probe_path(self) -> str | None:
        return self._transport.probe_path()

    def probe_sha256(self) -> str | None:
        return self._transport.probe_sha256()

    def probe_list(self) -> Register:
        return decode_register(self._ask(["list", "--json"], _LIST_S))

    def load_list(self) -> Loads | None:
        raw = self._ask_newer(["load", "--list", "--json"])
        return None if raw is None else decode_loads(raw)

    def shield_look(self) -> ShieldState | None:
        raw = self._ask_newer(["shield", "--show", "--json"])
        return None if raw is None else decode_shield(raw)

    def selftest(self) -> SelfTest | None:
        try:
            raw = self._output(["selftest", "--json"], _SELFTEST_S)
        except TargetError as error:
            if isinstance(error.__cause__, ProbeRefusedError):
                return None
            raise
        # Of a console others write lines too.
        lines = [line for line in raw.splitlines() if line.startswith(b'{"type":')]
        return decode_selftest(b"\n".join(lines) if self.is_noisy else raw)

    def facts(self, *, with_counter: bool = True) -> Facts:
        clock = [] if with_counter else ["--clock", "monotonic"]
        found = decode_facts(self._ask(["facts", "--json", *clock], _FACTS_S))
        if isinstance(self._transport, Informed):
            found.facts.update(self._transport.own_facts())
        return found

    def clock_check(self) -> ClockCheck | None:
        return self._transport.clock_check()

    @property
    def is_unattended(self) -> bool:
        return isinstance(self._transport, Unattended)

    @property
    def is_looked_at(self) -> bool:
        return self.is_unattended and self._notices.look_s is not None

    def announce(self, planned: Sequence[PlannedTest], options: RunOptions) -> None:
        if isinstance(self._transport, Unattended):
            self._transport.announce(
                [(probe_arguments(one, options, None), self._run_limits(one)) for one in planned]
            )

    def stored(self) -> None:
        if isinstance(self._transport, Unattended):
            self._transport.stored()

    def has_more(self) -> bool:
        return isinstance(self._transport, Unattended) and self._transport.has_more()

    def take_remarks(self) -> list[Event]:
        if isinstance(self._transport, Unattended):
            return self._transport.take_remarks()
        return []

    def _run_limits(self, planned: PlannedTest) -> Limits:
        return self._limits or Limits(
            planned.deadline_ns / 1e9 + _DEADLINE_GRACE_S,
            expected_s=planned.expected_ns / 1e9,
            drain_s=_DRAIN_S,
        )

    def run(
        self,
        planned: PlannedTest,
        options: RunOptions,
        backing: str | None,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        arguments = probe_arguments(planned, options, backing)
        limits = self._run_limits(planned)
        is_ended = False
        with closing(self._transport.chunks(arguments, limits, stop, on_idle)) as chunks:
            try:
                for line in split_lines(chunks):
                    is_ended = line.startswith(_FOOTER) or (is_ended and self.is_noisy)
                    yield line
            except ProbeExitError as error:
                if error.code not in _RESULT_CODES or not is_ended:
                    raise

    def memory(self, run_id: str, journal: Path) -> Memory:
        return self._transport.memory(run_id, journal)

    def dump(self, path: str) -> list[bytes]:
        output = collect(self._transport, ["dump", path, "--json"], _DUMP_S, _DUMP_BYTES)
        return list(split_lines([output]))

    def _ask_newer(self, arguments: list[str]) -> bytes | None:
        """None from an older probe, which has no such command."""
        try:
            return self._ask(arguments, _LIST_S)
        except TargetError as error:
            if isinstance(error.__cause__, ProbeRefusedError):
                return None
            raise

    def _ask(self, arguments: list[str], deadline_s: float) -> bytes:
        """A command whose answer is one document."""
        output = self._output(arguments, deadline_s)
        if not self.is_noisy:
            return output
        # Each document of the probe is one line among those of the console.
        documents = [line for line in output.splitlines() if line.startswith(b"{")]
        return documents[-1] if documents else output

    def _output(self, arguments: list[str], deadline_s: float) -> bytes:
        if self._limits:
            deadline_s = self._limits.deadline_s

        def on_idle(said: str = "") -> None:
            if said:
                self._notices.warn(f"hardstone-probe {arguments[0]}: {said}")

        try:
            return self._collected(arguments, deadline_s, on_idle)
        except ProbeTimeoutError as error:
            cause = f"hardstone-probe {arguments[0]}: {error.cause}"
            raise TargetError(cause, error.remedy) from error
        except BrokenStreamError as error:
            cause = f"hardstone-probe {arguments[0]}: {error.cause}"
            raise InputError(cause, self.rebuild_remedy) from error
        except ProbeError as error:
            # With this code a command that measures nothing ends at a deadline of its own.
            is_late = isinstance(error, ProbeExitError) and error.code == EXIT_UNTRUSTWORTHY
            remedy = SILENT_REMEDY if is_late else self.rebuild_remedy
            raise TargetError(
                f"hardstone-probe {arguments[0]}: {error.cause}", error.remedy or remedy
            ) from error

    def _collected(self, arguments: list[str], deadline_s: float, on_idle: OnIdle) -> bytes:
        """Also the output of a command that ends with the code of a result, if it has its end."""
        limits = Limits(deadline_s, stop_s=1.0, end_s=1.0, most_bytes=_ANSWER_BYTES)
        parts = []
        try:
            for chunk in self._transport.chunks(arguments, limits, Stop(), on_idle):
                parts.append(chunk)
        except ProbeExitError as error:
            if error.code != EXIT_UNTRUSTWORTHY or _FOOTER not in b"".join(parts):
                raise
        return b"".join(parts)


SCHEMA = "hardstone.load/1"
_CHECK_S = 15.0
_START_S = 300.0  # a load of thousands of processes on a slow machine
_YEAR_S = 366 * 86400.0


class LoadHeader(msgspec.Struct, kw_only=True, tag_field="type", tag="header"):
    schema: str
    probe_version: str
    load: str
    started_utc_ns: int


class LoadFooter(msgspec.Struct, kw_only=True, tag_field="type", tag="footer"):
    lines: int


AnyLine = LoadHeader | StreamEvent | StreamLoad | LoadFooter
_decoder: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


def check_load(transport: Transport, load: str, cpus: str | None) -> None:
    """InputError where `load` is not a load, PrivilegeError where it needs what is missing."""
    try:
        collect(transport, ["load", "--check", load, *_cpus(cpus)], _CHECK_S)
    except ProbeExitError as error:
        words = error.said.removeprefix("hardstone-probe: ")
        cause, _, remedy = words.partition("; ")
        for kind in (InputError, PrivilegeError):
            if error.code == kind.exit_code:
                raise kind(cause, remedy) from None
        raise TargetError(f"the probe cannot check a load: {words[:200]}", REBUILD) from error
    except ProbeError as error:
        raise TargetError(f"the probe cannot check a load: {error.cause}", REBUILD) from error


def load_lines(
    transport: Transport,
    load: str,
    duration_ns: int | None,
    cpus: str | None,
    stop: Stop,
    on_idle: OnIdle = no_sign,
) -> Generator[AnyLine]:
    """Runs the load for its duration or until `stop`; yields its lines as they come.

    ProbeError where the probe fails, InputError for a line that cannot be decoded.
    """
    arguments = ["load", load, "--json", "--until-eof", *_cpus(cpus)]
    if duration_ns is not None:
        arguments += ["--duration-ns", str(duration_ns)]
    span_s = _YEAR_S if duration_ns is None else duration_ns / 1e9
    limits = Limits(span_s + _START_S)
    with closing(transport.chunks(arguments, limits, stop, on_idle)) as chunks:
        for line in split_lines(chunks):
            try:
                yield _decoder.decode(line)
            except msgspec.DecodeError as error:
                raise InputError(
                    f"hardstone-probe load: a line cannot be decoded: {str(error)[:120]}", REBUILD
                ) from error


def _cpus(cpus: str | None) -> list[str]:
    return [] if cpus is None else ["--cpus", cpus]
