"""What a target's files hold, as the probe sends it: texts by the name of their source.

They come from a target, which is not trusted. raw_facts.py and virtual.py read facts from them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping

from hardstone.model import Scalar, Source

Found = Iterator[tuple[str, Scalar]]
Known = Mapping[str, Scalar]

MOST_BYTES = 60_000  # of a text: sources.c sends no more
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
# A hostile target could claim so many that a list of them fills the memory.
_MOST_CPUS = 65_536


def cpus_of(text: object) -> list[int]:
    """CPUs of a list such as "0-3,6", ascending; empty for anything else."""
    found: set[int] = set()
    claimed = 0
    for part in str(text).split(",") if isinstance(text, str) else ():
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return []
        first, last = int(match[1]), int(match[2] or match[1])
        claimed += last - first
        if claimed > _MOST_CPUS:
            return []
        found.update(range(first, last + 1))
    return sorted(found)


class Raw:
    """Sources by name. A text is read as the kernel's small files are: up to the first 0, without
    white space at its end."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._bytes = {one.source: bytes_of(one) for one in sources}

    def __contains__(self, source: str) -> bool:
        return source in self._bytes

    def data(self, source: str) -> bytes | None:
        """What the source holds; None: nothing that was read."""
        return self._bytes.get(source)

    def any(self, source: str) -> str | None:
        """The text; None: there is none."""
        data = self._bytes.get(source)
        if data is None:
            return None
        text = data[:MOST_BYTES].partition(b"\0")[0]
        return text.decode("utf-8", "replace").rstrip("\n ")

    def text(self, source: str) -> str | None:
        """The text; None: there is none, or it is empty."""
        return self.any(source) or None

    def number(self, source: str) -> int | None:
        """The number that the text begins with, of 64 bits."""
        return number_of(self.any(source))

    def each(self, source: str) -> dict[int, str]:
        """The text of each CPU's file, of lines "0-3 TEXT" whose CPUs ascend."""
        texts: dict[int, str] = {}
        last = -1
        for line in lines_of(self.any(source)):
            row, _, text = line.partition(" ")
            cpus = cpus_of(row)
            if not cpus or cpus[0] <= last:
                break
            texts.update(dict.fromkeys(cpus, text.rstrip()))
            last = cpus[-1]
        return texts

    def each_number(self, source: str) -> dict[int, int]:
        """The number of each CPU's file, of those that begin with one."""
        found = {cpu: number_of(text) for cpu, text in self.each(source).items()}
        return {cpu: number for cpu, number in found.items() if number is not None}

    def below(self, folder: str) -> dict[str, str]:
        """Texts of the files below a folder, by the rest of their path, in the order of those."""
        start = f"{folder}/"
        rest = sorted(one.removeprefix(start) for one in self._bytes if one.startswith(start))
        return {one: text for one in rest if (text := self.text(start + one)) is not None}

    def cpuinfo(self, name: str) -> str | None:
        """Value of the first line "NAME : value" of /proc/cpuinfo."""
        for line in lines_of(self.any("/proc/cpuinfo")):
            key, colon, value = line.partition(":")
            if colon and key.startswith((f"{name}\t", f"{name} ")):
                return value.lstrip(" ")
        return None

    def boot_option(self, name: str) -> str | None:
        """Value of the last "NAME=VALUE" of the boot line, "" of a bare NAME; what follows "--" is
        for init."""
        found = None
        for word in re.split(r"[ \t]+", self.any("/proc/cmdline") or ""):
            if word == "--":
                break
            key, _, value = word.partition("=")
            found = value if key == name else found
        return found

    def online(self) -> list[int]:
        """The CPUs that are online; empty: not known."""
        return cpus_of(self.text("/sys/devices/system/cpu/online"))


def bytes_of(source: Source) -> bytes | None:
    if source.text is not None:
        return source.text.encode("utf-8", "replace")
    if source.base64 is None:
        return None
    try:
        return base64.b64decode(source.base64, validate=True)
    except (binascii.Error, ValueError):
        return None


def number_of(text: str | None) -> int | None:
    match = re.match(r"\s*([+-]?\d{1,20})", text or "", re.ASCII)
    number = int(match[1]) if match else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def lines_of(text: str | None) -> list[str]:
    """The lines of a text; the last may be empty. splitlines() also splits at a form feed and at
    other characters that are part of a line: the rest of a comment would be read as a line."""
    return (text or "").split("\n")
