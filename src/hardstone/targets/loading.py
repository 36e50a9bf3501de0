"""Only the load, on this machine: `hardstone-probe load` with its lines decoded."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import msgspec

from hardstone.errors import InputError, PrivilegeError, TargetError
from hardstone.model import StreamEvent, StreamLoad
from hardstone.targets.base import REBUILD, Stop
from hardstone.targets.lines import said_by_probe, split_lines
from hardstone.targets.process import Limits, ProbeProcess

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


def check_load(probe: Path, load: str, cpus: str | None) -> None:
    """InputError for a text that is no load, PrivilegeError for what is not installed."""
    command = [str(probe), "load", "--check", load, *_cpus(cpus)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"the probe {probe} does not answer", REBUILD) from error
    words = said_by_probe(done.stderr).removeprefix("hardstone-probe: ")
    cause, _, remedy = words.partition("; ")
    if done.returncode == InputError.exit_code:
        raise InputError(cause, remedy)
    if done.returncode == PrivilegeError.exit_code:
        raise PrivilegeError(cause, remedy)
    if done.returncode != 0:
        raise TargetError(f"the probe cannot check a load: {words[:200]}", REBUILD)


def load_lines(
    probe: Path,
    load: str,
    duration_ns: int | None,
    cpus: str | None,
    stop: Stop,
    on_idle: Callable[[], None] = lambda: None,
) -> Generator[AnyLine]:
    """Runs the load until its duration, or `stop`. Its lines as they come; ProbeError where the
    probe fails, InputError where a line is none."""
    command = [str(probe), "load", load, "--json", "--until-eof", *_cpus(cpus)]
    if duration_ns is not None:
        command += ["--duration-ns", str(duration_ns)]
    span_s = _YEAR_S if duration_ns is None else duration_ns / 1e9
    limits = Limits(span_s + _START_S)
    with closing(ProbeProcess(command, limits, stop).chunks(on_idle)) as chunks:
        for line in split_lines(chunks):
            yield _decode(line)


def _decode(line: bytes) -> AnyLine:
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError as error:
        text = str(error)[:120]
        raise InputError(
            f"hardstone-probe load: a line is not understood: {text}", REBUILD
        ) from error


def _cpus(cpus: str | None) -> list[str]:
    return [] if cpus is None else ["--cpus", cpus]
