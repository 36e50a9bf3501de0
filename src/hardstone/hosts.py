"""Hosts that a load names: their addresses, which the toolkit looks up and the probe gets.

A name is looked up on this machine, for a target on another one too.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping

from hardstone.errors import InputError

# "@HOST:PORT" of a term, as plan/params.py writes it; what follows stress-ng: is its own. An IPv6
# address is in brackets.
_HOST = re.compile(r"(?<=@)([a-z0-9][a-z0-9._-]*)(?=:[0-9]{1,5}(?:@cpu)?(?:\+|$))", re.ASCII)
_FOREIGN = "stress-ng:"


def names_in(load: str) -> Iterator[str]:
    """The hosts that `load` gives by name."""
    for match in _HOST.finditer(load.partition(_FOREIGN)[0]):
        if not _is_address(match[1]):
            yield match[1]


def addresses_of(
    loads: Iterable[str], known: Mapping[str, str] | None = None, patience_s: float = 10.0
) -> dict[str, str]:
    """The address of each name in `loads`, IPv6 in brackets; those that are `known` stay, of which
    a stored plan may hold anything.

    InputError where a name has no address, or none is found within `patience_s`.
    """
    names = sorted({name for load in loads for name in names_in(load)})
    found = {name: one for name, one in (known or {}).items() if one == _written(one.strip("[]"))}
    return {name: found.get(name) or _address(name, patience_s) for name in names}


def with_addresses(load: str, addresses: Mapping[str, str]) -> str:
    """`load` with the address in the place of each name that has one."""
    own, foreign, options = load.partition(_FOREIGN)
    return _HOST.sub(lambda match: addresses.get(match[1], match[1]), own) + foreign + options


def _written(text: str) -> str | None:
    """An address as the probe gets it: IPv6 in brackets, none of a link only, whose name is
    another on another machine. None for anything else."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if address.version == 4:
        return str(address)
    return None if address.is_link_local or "%" in text else f"[{address.compressed}]"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _address(name: str, patience_s: float) -> str:
    """Of several the first of IPv4, else the first of IPv6."""
    found = [one for text in _looked_up(name, patience_s) if (one := _written(text))]
    if not found:
        raise _unknown(name, "it has no address")
    return next((one for one in found if not one.startswith("[")), found[0])


def _looked_up(name: str, patience_s: float) -> list[str]:
    """What the system's name services say. A thread asks them: they may be silent for long, and
    Ctrl-C has to reach the one that waits."""
    answers: list[list[str] | OSError] = []

    def ask() -> None:
        try:
            rows = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError as error:
            answers.append(error)
        except UnicodeError as error:  # a part of more than 63 characters
            answers.append(OSError(str(error)))
        else:
            answers.append([str(row[4][0]) for row in rows])

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(patience_s)
    answer = (
        answers[0] if answers else TimeoutError(f"there was no answer within {patience_s:.2g} s")
    )
    if isinstance(answer, OSError):
        raise _unknown(name, answer.strerror or str(answer))
    return answer


def _unknown(name: str, why: str) -> InputError:
    return InputError(
        f"--load: the host '{name}' cannot be looked up on this machine: {why}",
        "correct the name, or give the address: network=4000/s@192.0.2.1:7, or @[2001:db8::1]:7",
    )
