"""Output of known tools that holds no figure: help, error messages, listings. It is refused with
what it is, since "unknown format" would send people looking for the wrong fault.

The texts are those of rt-tests 2.4 to 2.10, rtla of Linux 6.1 and the folder of its tracers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from hardstone.errors import printable

_HEAD_BYTES = 8192
_RT_TESTS = (
    rb"pmqtest|ptsematest|svsematest|sigwaittest|signaltest|cyclicdeadline|oslat|"
    rb"rt-migrate-test|pi_stress|ssdd|queuelat|hackbench|deadline_test|pip_stress"
)


class Refusal(NamedTuple):
    """`cause` is made of the match, and of the first line of the file."""

    pattern: re.Pattern[bytes]
    cause: Callable[[re.Match[bytes], str], str]
    remedy: str


def _rtla_help(_: re.Match[bytes], first: str) -> str:
    said = (
        "" if first.startswith(("usage", "rtla ")) else f", which says '{printable(first)[:40]}…'"
    )
    return f"it is the help text of rtla{said}: nothing was measured"


_REFUSALS = (
    Refusal(
        re.compile(rb"(?:\A|\n)(" + _RT_TESTS + rb") V [0-9.]{1,8}[ \t]*\nUsage:"),
        lambda found, _: f"it is the help text of {found[1].decode()}: nothing was measured",
        "correct the call of the tool",
    ),
    Refusal(
        re.compile(
            rb"usage: \[?rtla\]? |(?:\A|\n)rtla (?:timerlat|osnoise|hwnoise)[^\n]{0,80}\(version "
        ),
        _rtla_help,
        "correct the call of rtla",
    ),
    Refusal(
        re.compile(
            rb'hwlatdetect(?:\.py)?", line |DetectorNotAvailable|hwlat tracer not available'
        ),
        lambda *_: "hwlatdetect found no tracer hwlat: it measured nothing",
        "use a kernel with CONFIG_HWLAT_TRACER",
    ),
    Refusal(
        re.compile(
            rb"(?:\A|\n)README +set_event_notrace_pid\n(?:[^\n]{0,200}\n){1,60}?hwlat_detector "
        ),
        lambda *_: "it lists the files of the kernel's tracing folder: nothing was measured",
        "import the file 'trace' of a tracer",
    ),
    Refusal(
        re.compile(rb"(?:\A|\n)([^\n]{1,80}?)T: {0,4}\d{1,5} \( {0,8}\d{1,10}\) [PI]:"),
        lambda found, _: (
            f"'{printable(found[1].decode('utf-8', 'replace'))[:40]}' stands before "
            "the lines of a tool, and is not a time of a known form"
        ),
        "remove it from each line",
    ),
)


def refusal_of(content: bytes) -> tuple[str, str] | None:
    """What a file is that no format reads, and what to do; None: not known."""
    head = content[:_HEAD_BYTES].replace(b"\r\n", b"\n")
    lines = head.decode("utf-8", "replace").split("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    for one in _REFUSALS:
        if found := one.pattern.search(head):
            return one.cause(found, first), one.remedy
    return None
