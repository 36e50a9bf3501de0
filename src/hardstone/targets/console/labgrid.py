"""The console of a place of labgrid: its client says where it is.

`labgrid-client env` writes the resources of an acquired place for programs, as YAML.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence

from hardstone.errors import InputError, TargetError, printable
from hardstone.targets.console.address import ConsoleSettings
from hardstone.targets.console.line import Line, open_tcp
from hardstone.targets.console.serial_port import open_rfc2217

_CLIENT = "labgrid-client"
_CLIENT_S = 30.0
_MOST_BYTES = 1 << 20
_RESOURCE = re.compile(r"^(\s*)- NetworkSerialPort:\s*$", re.MULTILINE)
_FIELD = re.compile(r"\s+(host|port|speed|protocol|name):\s*['\"]?([^'\"]{1,253}?)['\"]?\s*")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|[0-9A-Fa-f:.]{2,45}")
Ask = Callable[[Sequence[str]], str]


def open_labgrid(settings: ConsoleSettings) -> Line:
    """The console of a place, which must be acquired. TargetError where it cannot be reached."""
    host, port, speed, protocol = network_port(settings.place)
    baud = settings.baud or speed
    if protocol == "raw":
        return open_tcp(host, port, baud)
    return open_rfc2217(host, port, baud)


def network_port(place: str, ask: Ask | None = None) -> tuple[str, int, int, str]:
    """Host, port, baud rate and protocol ("rfc2217" or "raw") of the first serial port of a
    place."""
    text = (ask or _asked)([_CLIENT, "-p", place, "env"])
    match = _RESOURCE.search(text)
    if match is None:
        raise TargetError(
            f"the labgrid place {place} has no NetworkSerialPort",
            f"see what it has: labgrid-client -p {place} show",
        )
    found = {"speed": "115200", "protocol": "rfc2217"}
    for line in text[match.end() :].lstrip("\n").splitlines():
        if not line.startswith(match[1] + "    "):
            break
        if (one := _FIELD.fullmatch(line)) is not None:
            found[one[1]] = one[2]
    host, port, speed = found.get("host", ""), found.get("port", ""), found["speed"]
    is_right = _HOST.fullmatch(host) and port.isascii() and port.isdigit() and len(port) < 6
    if not is_right or not (speed.isascii() and speed.isdigit() and len(speed) < 8):
        raise TargetError(
            f"the labgrid place {place} does not say where its serial port is",
            f"see what it has: labgrid-client -p {place} show",
        )
    return host, int(port), int(speed), found["protocol"]


def _asked(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, timeout=_CLIENT_S, check=False)
    except FileNotFoundError:
        raise InputError(
            "labgrid's client is not installed", "install it: pipx install labgrid"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        why = "no answer" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise TargetError(
            f"labgrid-client cannot be asked: {why}", "check LG_COORDINATOR and the network"
        ) from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        why = printable(said[-1])[:200] if said else f"exit code {done.returncode}"
        raise TargetError(
            f"labgrid-client refuses: {why}",
            f"acquire the place: labgrid-client -p {words[2]} acquire",
        )
    return done.stdout[:_MOST_BYTES].decode("utf-8", "replace")
