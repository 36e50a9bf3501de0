"""Only the load: `hardstone-probe load` with its lines decoded."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import msgspec

from hardstone.errors import InputError, PrivilegeError, TargetError
from hardstone.model import StreamEvent, StreamLoad
from hardstone.targets.base import REBUILD, OnIdle, ProbeError, ProbeExitError, Stop, no_sign
from hardstone.targets.lines import split_lines
from hardstone.targets.transport import Limits, Transport, collect

SCHEMA = "hardstone.load/2"
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
