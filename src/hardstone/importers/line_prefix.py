"""What a paste or a log put before each line of a tool's output: the same blanks, or a time.

The forms of the time are those of the kernel's log (also with the caller, and as grabserial has
it), ISO 8601 as LAVA, GitHub, GitLab (with its "00O") and Jenkins write it, tio, and syslog.
"""

from __future__ import annotations

import re

_HEAD_BYTES = 65_536
_LEAST_SHARE = 0.9  # of the lines: others may have come from elsewhere
_CLOCK = rb"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_STAMP = re.compile(
    rb"^(?:"
    rb"(?:<\d{1,3}>)?\[ {0,12}\d{1,10}\.\d{1,9}(?: {1,12}\d{1,10}\.\d{1,9})?\]"
    rb"(?:\[ {0,8}[CT]\d{1,10}\])?"
    rb"|\[" + _CLOCK + rb"\]"
    rb"|" + _CLOCK + rb"(?: \d\d[OE])?"
    rb"|[A-Z][a-z]{2} [ \d]\d " + _CLOCK + rb"(?: [\w.-]{1,64} [\w./-]{1,64}\[\d{1,10}\]:)?"
    rb")(?:[ \t]|(?=\r?$))",
    re.MULTILINE,
)


def without_prefix(content: bytes) -> tuple[bytes, str | None]:
    """The lines as the tool wrote them; and the time that was before the first of those that had
    one, None: there was none. A binary file is left as it is."""
    if b"\0" in content[:_HEAD_BYTES]:
        return content, None
    first = _first_stamp(content)
    if first is None:
        return _without_indentation(content), None
    return _without_indentation(_STAMP.sub(b"", content)), first


def _first_stamp(content: bytes) -> str | None:
    head = content[:_HEAD_BYTES]
    if len(head) < len(content):
        head = head[: head.rfind(b"\n") + 1]
    found = _STAMP.findall(head)
    lines = sum(1 for line in head.split(b"\n") if line.strip())
    if not found or len(found) < _LEAST_SHARE * lines:
        return None
    return bytes(found[0]).decode("ascii", "replace").strip()


def _without_indentation(content: bytes) -> bytes:
    """Without the blanks that all lines begin with. What only some have belongs to the tool."""
    common: bytes | None = None
    for found in re.finditer(rb"^([ \t]*)[^ \t\r\n]", content, re.MULTILINE):
        blanks = found[1]
        if common is None or common.startswith(blanks):
            common = blanks
        elif not blanks.startswith(common):
            return content  # blanks and tabs in turn
        if not common:
            return content
    return (
        re.sub(rb"^" + re.escape(common), b"", content, flags=re.MULTILINE) if common else content
    )
