"""Names of targets behind a console: `console:PORT[,KEY=VALUE...]`.

PORT is a serial port's path, or `pty:PATH`, `tcp:HOST:PORT`, `labgrid:PLACE`, `qemu:IMAGE`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hardstone.errors import InputError, printable

SCHEME = "console:"
DEFAULT_BAUD = 115200
BAUDS = (300, 4_000_000)
MEMORY_MIB = (128, 4096)  # of an emulated machine
FLOWS = ("none", "rtscts", "xonxoff")
FORMS = (
    "write console:/dev/PORT, console:pty:PATH, console:tcp:HOST:PORT, console:labgrid:PLACE or "
    "console:qemu:IMAGE, then ,KEY=VALUE"
)
_MOST_CHARACTERS = 400
_PATH = re.compile(r"/[A-Za-z0-9_.,:+@%#=/-]{1,250}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9._-]+)?\]")
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_PLACE = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9_.:/@-]{0,99}", re.ASCII)
# A word that no shell changes, and no option.
_PROGRAM = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./-]{0,100}", re.ASCII)
_WORD = re.compile(r"[a-z0-9][a-z0-9_.-]{0,40}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ConsoleSettings:
    """A console and how it is used. `name` is what `--target` took.

    `kind`: "serial", "pty", "tcp", "labgrid" or "qemu". `place`: the path, host, place or image.
    `baud`: of the serial line; None where it is not known, or there is none. `program`: what starts
    the probe at the shell's prompt. `prompt`: the end of the prompt; None: found out. `machine`,
    `time` and `memory` (in MiB): of an emulator.
    """

    name: str
    kind: str
    place: str
    port: int | None = None
    baud: int | None = None
    flow: str = "none"
    program: str = "hardstone"
    prompt: str | None = None
    machine: str | None = None
    time: str | None = None
    memory: int | None = None

    @property
    def url(self) -> str:
        """The text that means these settings: console:PORT[,KEY=VALUE...]"""
        own = "" if self.kind == "serial" else f"{self.kind}:"
        port = "" if self.port is None else f":{self.port}"
        defaults = {"baud": _default_baud(self.kind), "flow": "none", "program": "hardstone"}
        given = ((key, getattr(self, key)) for key in _KEYS)
        rest = [f",{key}={value}" for key, value in given if value not in (None, defaults.get(key))]
        return f"{SCHEME}{own}{self.place}{port}{''.join(rest)}"


def parse_console(text: str) -> ConsoleSettings:
    """The settings that `text`, with `console:`, means; InputError for anything else."""
    if not text.startswith(SCHEME) or len(text) > _MOST_CHARACTERS:
        raise InputError(f"'{printable(text)[:80]}' is not the name of a console", FORMS)
    place, *pairs = text.removeprefix(SCHEME).split(",")
    kind, _, rest = place.partition(":")
    if place.startswith("/"):
        kind, rest = "serial", place
    if kind not in _PLACES:
        raise InputError(f"'{printable(text)[:80]}' names no kind of console", FORMS)
    found = _PLACES[kind](rest)
    return ConsoleSettings(name=text, kind=kind, **found, **_options(kind, pairs))


def _default_baud(kind: str) -> int | None:
    return DEFAULT_BAUD if kind == "serial" else None


def _path(text: str) -> dict[str, Any]:
    if not _PATH.fullmatch(text) or ".." in text.split("/"):
        raise InputError(
            f"'{printable(text)[:80]}' is not the path of a device or a file",
            "give the absolute path, without .. and without spaces: ls /dev/serial/by-id",
        )
    return {"place": text}


def _host_port(text: str) -> dict[str, Any]:
    host, colon, port = text.rpartition(":")
    if not colon or not _HOST.fullmatch(host):
        raise InputError(
            f"'{printable(text)[:80]}' is not HOST:PORT",
            "write console:tcp:HOST:PORT, an IPv6 address in brackets",
        )
    if not _NUMBER.fullmatch(port) or not 0 < int(port) < 65536:
        raise InputError(f"'{printable(port)[:20]}' is not a TCP port", "give 1 to 65535")
    return {"place": host, "port": int(port)}


def _labgrid_place(text: str) -> dict[str, Any]:
    if not _PLACE.fullmatch(text):
        raise InputError(
            f"'{printable(text)[:80]}' is not the name of a labgrid place",
            "see the names: labgrid-client places",
        )
    return {"place": text}


_PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "serial": _path,
    "pty": _path,
    "tcp": _host_port,
    "labgrid": _labgrid_place,
    "qemu": _path,
}


def _options(kind: str, pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"baud": _default_baud(kind)}
    given: set[str] = set()
    for pair in pairs:
        key, equals, value = pair.partition("=")
        known = [one for one, (_, kinds) in _KEYS.items() if kind in kinds]
        if not equals or key not in known:
            raise InputError(
                f"'{printable(pair)[:60]}' is no setting of a console of this kind",
                f"write KEY=VALUE; known: {', '.join(known)}",
            )
        if key in given:
            raise InputError(f"the console's {key} is given twice", "leave one of them out")
        given.add(key)
        found[key] = _KEYS[key][0](value)
    return found


def _baud(text: str) -> int:
    least, most = BAUDS
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise InputError(
            f"'{printable(text)[:20]}' is not a baud rate",
            f"give {least} to {most}, such as baud=115200",
        )
    return int(text)


def _memory_mib(text: str) -> int:
    least, most = MEMORY_MIB
    if not _NUMBER.fullmatch(text) or not least <= int(text) <= most:
        raise InputError(
            f"'{printable(text)[:20]}' is not a size in MiB",
            f"give {least} to {most}, such as memory=256",
        )
    return int(text)


def _flow(text: str) -> str:
    if text not in FLOWS:
        raise InputError(
            f"'{printable(text)[:20]}' is not a kind of flow control", f"known: {', '.join(FLOWS)}"
        )
    return text


def _program(text: str) -> str:
    if not _PROGRAM.fullmatch(text):
        raise InputError(
            f"'{printable(text)[:60]}' cannot be the name of the program on the target",
            "use letters, digits and . _ / -, as in program=/usr/bin/hardstone-probe",
        )
    return text


def _prompt(text: str) -> str:
    if not text.strip() or len(text) > 60 or not text.isprintable():
        raise InputError(
            f"'{printable(text)[:60]}' cannot be the end of a prompt",
            "give 1 to 60 characters that print, as in prompt=nsh>",
        )
    return text.strip()


def _word(text: str) -> str:
    if not _WORD.fullmatch(text):
        raise InputError(
            f"'{printable(text)[:40]}' is not the name of a machine or a kind of time",
            "use lower-case letters, digits and . _ -",
        )
    return text


_ALL = ("serial", "pty", "tcp", "labgrid", "qemu")
_KEYS: dict[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "baud": (_baud, ("serial", "pty", "tcp", "labgrid")),
    "flow": (_flow, ("serial",)),
    "program": (_program, _ALL),
    "prompt": (_prompt, _ALL),
    "machine": (_word, ("qemu",)),
    "time": (_word, ("qemu",)),
    "memory": (_memory_mib, ("qemu",)),
}
