"""Host addresses, HOST:PORT or [IPV6]:PORT: untrusted text, checked and normalised."""

from __future__ import annotations

import ipaddress
import re

_MAX_HOST = 120
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,32}", re.ASCII)
_MOST_PORT = 65535


def read_address(text: str) -> str | None:
    """`text` in one form: "[::1]:7" for "[0::1]:007", "target:7" for "Target:7"; None if faulty."""
    host, colon, port = text.rpartition(":")
    found = _bracketed(host) if host.startswith("[") else _named(host)
    is_port = _PORT.fullmatch(port) is not None and 1 <= int(port) <= _MOST_PORT
    return f"{found}:{int(port)}" if colon and found and is_port else None


def _named(host: str) -> str | None:
    is_name = len(host) <= _MAX_HOST and _NAME.fullmatch(host) is not None
    return host.lower() if is_name else None


def _bracketed(host: str) -> str | None:
    """An IPv6 address, with its zone after % if it has one."""
    if not host.endswith("]") or len(host) > _MAX_HOST:
        return None
    number, percent, zone = host[1:-1].partition("%")
    try:
        address = ipaddress.IPv6Address(number)
    except ValueError:
        return None
    if percent and not _ZONE.fullmatch(zone):
        return None
    return f"[{address.compressed}{percent}{zone}]"
