"""The probe's source as a tree of rooms: the table of docs/design.md, and who includes what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', re.MULTILINE)
MARKED = re.compile(r"`([^`]+)`")
FOLDER = re.compile(r"\b[A-Z]+\b")  # in a room's name: any folder may stand there
EVERY_HEADER = "every header"


@dataclass(frozen=True)
class Room:
    """A row of the table."""

    name: str
    doors: list[str]  # names of headers, or EVERY_HEADER alone
    may_include: list[str]  # rooms, which means their doors, and single headers

    def own_name(self, file: str) -> str | None:
        """Of `file` in family/FAMILY/: family/timer/. None where it is not in this room."""
        pattern = FOLDER.sub("[a-z0-9_]+", self.name)
        found = re.match(pattern if self.name.endswith("/") else f"{pattern}$", file)
        return found[0] if found else None

    def has_door(self, header: str) -> bool:
        return header.endswith(".h") and (EVERY_HEADER in self.doors or header in self.doors)


def read_rooms(document: str) -> list[Room]:
    """The rooms of a document, the narrowest first: the one of a file is the first that has it."""
    lines = document.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("| room |")) + 2
    end = next(i for i, line in enumerate(lines) if i >= begin and not line.startswith("|"))
    rooms = [read_row(line) for line in lines[begin:end]]
    return sorted(rooms, key=lambda one: (-len(one.name.split("/")), bool(FOLDER.search(one.name))))


def read_row(line: str) -> Room:
    name, _, doors, may_include = (cell.strip() for cell in line.strip("|").split("|"))
    told = [EVERY_HEADER] if doors == EVERY_HEADER else MARKED.findall(doors)
    return Room(name.strip("`"), told, MARKED.findall(may_include))


def files(source: Path) -> list[str]:
    found = [*source.rglob("*.c"), *source.rglob("*.h")]
    return sorted(path.relative_to(source).as_posix() for path in found)


def includes(source: Path, file: str) -> list[str]:
    return INCLUDE.findall((source / file).read_text())


def unit(source: Path, file: str) -> str:
    """A .c and its .h are one. A header without a .c is a part of the file whose name it extends:
    record/arena_layout.h of record/arena."""
    stem = file.rpartition(".")[0]
    shorter = stem
    while not (source / f"{shorter}.c").exists():
        shorter = shorter.rpartition("_")[0]
        if shorter.rpartition("/")[2] == "":
            return stem
    return shorter


def include_edges(source: Path) -> dict[str, set[str]]:
    """Which files a file includes, itself left out."""
    edges: dict[str, set[str]] = {}
    for file in files(source):
        own = unit(source, file)
        there = {unit(source, included) for included in includes(source, file)}
        edges.setdefault(own, set()).update(there - {own})
    return edges
