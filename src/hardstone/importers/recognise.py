"""Which tool a file is from, by its content; the file itself, read with limits; its text as a
terminal showed it.

A module of this room has `FORMATS`. `MODULES` has the modules in the order in which they are asked;
on one file at most one format of all may say yes.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import BinaryIO

from hardstone.errors import InputError, printable
from hardstone.files import OddFileError, followed, open_regular
from hardstone.importers.line_prefix import without_prefix
from hardstone.importers.reading import Format, Reading
from hardstone.importers.refusals import refusal_of
from hardstone.model import Loss
from hardstone.systems.moments import load_moments

MODULES = (
    "cyclictest",  # one a line, by alphabet
    "cyclictest_json",
    "hwlat",
    "jitterdebugger",
    "linuxcnc",
    "oslat",
    "perf_bench",
    "ros2",
    "rt_pairs",
    "rt_stress",
    "rt_tests",
    "rteval",
    "rtla",
    "stress_ng",
    "xenomai",
    "zephyr",
)
MOST_BYTES = 64 * 2**20
_MOST_MEMBERS = 64
_CHUNK_BYTES = 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_HEAD_BYTES = 4096
_NUMBER_OF_NOTHING = re.compile(rb"[0-9]{1001}")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A file as it was read. `content` is unpacked; `sha256` and `size_bytes` are those of the file
    as it is. `changed_utc`: when it was last changed; None: nobody knows, as of standard input.
    """

    name: str
    content: bytes
    sha256: str
    size_bytes: int
    changed_utc: str | None = None


def read_source(path: Path, most_bytes: int = MOST_BYTES) -> SourceFile:
    """A file that a person named, plain or compressed by gzip; links are followed. InputError."""
    shown = printable(str(path))
    try:
        # What lies behind a link is named, so that nobody is told to move the link away.
        with open_regular(followed(path), most_bytes) as file:
            changed = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
            return source_of(file, path.name, changed.strftime(_TIME), most_bytes)
    except OddFileError as error:
        remedy = f"pipe its content in: hardstone import - < {shown}"
        if followed(path).is_dir():
            remedy = "name the files in it"
        raise InputError(f"{shown} cannot be read: {error.strerror}", remedy) from None
    except OSError as error:
        remedy = "check its name and its rights"
        raise InputError(f"{shown} cannot be read: {error.strerror}", remedy) from None
    except (ValueError, OverflowError):  # NUL in the name; a time beyond the calendar
        raise InputError(f"{shown} cannot be read", "check its name and its date") from None


def source_of(
    file: BinaryIO, name: str, changed_utc: str | None = None, most_bytes: int = MOST_BYTES
) -> SourceFile:
    """All that `file` has, up to the limit. InputError beyond it, and where it is damaged."""
    raw = bytearray()
    while chunk := file.read(_CHUNK_BYTES):
        raw += chunk
        if len(raw) > most_bytes:
            raise InputError(f"{printable(name)} has more than {most_bytes} bytes", _SMALLER)
    content = bytes(raw)
    digest = hashlib.sha256(content).hexdigest()
    if content.startswith(_GZIP_MAGIC):
        content = _unpacked(content, printable(name), most_bytes)
    return SourceFile(
        name=name,
        content=content,
        sha256=digest,
        size_bytes=len(raw),
        changed_utc=changed_utc,
    )


_SMALLER = "import the tool's summary or histogram instead of single values"


def _unpacked(packed: bytes, name: str, most_bytes: int) -> bytes:
    content = bytearray()
    try:
        for _ in range(_MOST_MEMBERS):
            member = zlib.decompressobj(wbits=31)
            content += member.decompress(packed, most_bytes + 1 - len(content))
            if len(content) > most_bytes:
                raise InputError(f"{name} has more than {most_bytes} bytes unpacked", _SMALLER)
            if not member.eof:
                raise InputError(f"{name} is cut short within its gzip data", "copy it again")
            packed = member.unused_data.lstrip(b"\0")
            if not packed:
                return bytes(content)
    except zlib.error:
        raise InputError(f"{name} has damaged gzip data", "copy it again") from None
    raise InputError(f"{name} has more than {_MOST_MEMBERS} gzip members", "unpack it first")


@cache
def all_formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are asked."""
    modules = (importlib.import_module(f"hardstone.importers.{name}") for name in MODULES)
    return tuple(one for module in modules for one in module.FORMATS)


def tool_title(one: Format) -> str:
    """The tool of a format: its title up to the comma, "cyclictest" of "cyclictest, JSON"."""
    return one.title.partition(",")[0]


def tools() -> list[str]:
    """The tools whose files are read, by title."""
    return list(dict.fromkeys(map(tool_title, all_formats())))


def recognise(source: SourceFile, tool: str | None = None) -> Format:
    """The format of a file, by its content.

    `tool`: that of this tool, by key or title, also where its begin is not as usual: then the first
    format that reads it. InputError, in one line, with what the file is instead where that is
    known.
    """
    source = replace(source, content=without_prefix(source.content)[0])
    asked = all_formats() if tool is None else _of_tool(tool)
    if tool is not None:
        _check_no_other(source, asked)
    found = next((one for one in asked if one.recognises(source.content)), None)
    if found is None and tool is not None:
        found = _first_that_reads(asked, source.content)
    if found is not None:
        return found
    name = printable(source.name)
    what = _what_else(source.content)
    if what is not None:
        raise InputError(f"{name}: {what[0]}", what[1])
    if tool is not None:
        cause = f"{name} has none of the formats of {tool_title(asked[0])}"
        raise InputError(cause, "leave out --tool, or name the tool that wrote it")
    raise InputError(
        f"{name} has none of the formats that are read",
        "import what the tool wrote, or name the tool with --tool; to list all: "
        "hardstone list tools",
    )


def read(source: SourceFile, tool: str | None = None) -> Reading:
    """What a file holds. InputError names the file, and the place in it."""
    content, time = without_prefix(source.content)
    source = replace(source, content=content)
    found = recognise(source, tool)
    if _NUMBER_OF_NOTHING.search(source.content):  # Python refuses to read it, wherever it stands
        cause = f"{printable(source.name)} ({found.title}): a number has more than 1000 digits"
        raise InputError(cause, "import the file as the tool wrote it")
    try:
        reading = found.read(content)
    except InputError as error:
        cause = printable(f"{source.name} ({found.title}): {error.cause}")
        remedy = error.remedy or "import the file as the tool wrote it"
        raise InputError(cause, remedy) from None
    if time is None:
        return reading
    text = f"A time stands before each line of the file, such as '{time}': it was not read."
    return replace(reading, losses=[*reading.losses, Loss(what="time", text=text)])


def _of_tool(tool: str) -> list[Format]:
    moments = load_moments()
    titles = {tool, *(one.title for key, one in moments.items() if key == tool)}
    found = [one for one in all_formats() if tool_title(one) in titles]
    if not found:
        raise InputError(
            f"files of '{printable(tool)[:40]}' are not read", f"choose from {', '.join(tools())}"
        )
    return found


def _check_no_other(source: SourceFile, asked: Sequence[Format]) -> None:
    """InputError for a file that names another tool than that of `asked`: reading it as one of that
    would give figures of nothing."""
    head = source.content[:_HEAD_BYTES]
    for one in all_formats():
        title = tool_title(one)
        is_other = title not in map(tool_title, asked) and title.encode() in head
        if is_other and one.recognises(source.content):
            cause = f"{printable(source.name)} is of {title}, and says so"
            raise InputError(cause, "leave out --tool")


def _first_that_reads(formats: Sequence[Format], content: bytes) -> Format | None:
    for one in formats:
        try:
            one.read(content)
        except InputError:
            continue
        return one
    return None


def _what_else(content: bytes) -> tuple[str, str] | None:
    """What a file is that no format reads, and what to do; None: not known."""
    if not content.strip():
        return "it is empty", "was the tool ended before it wrote?"
    head = content[:_HEAD_BYTES]
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "it is an HTML page", "import the file that the tool itself wrote"
    if b"\0" in head:
        return "it is a binary file of no known tool", "import the text or JSON of the tool"
    schema = _schema_of(content)
    if is_own_run(content):
        return (
            "it is a run of hardstone already",
            "look at it where it is: hardstone show ./FILE",
        )
    if schema.startswith("hardstone."):
        return f"it is a document of hardstone ({schema})", "import files of other tools only"
    return refusal_of(content)


def is_own_run(content: bytes) -> bool:
    """Whether it is a run document of hardstone."""
    return _schema_of(content).startswith("hardstone.run/")


def _schema_of(content: bytes) -> str:
    found = re.match(rb'\s*\{\s*"schema"\s*:\s*("[^"\\]{1,80}")', content[:_HEAD_BYTES])
    if found is None:
        return ""
    return printable(str(json.loads(found[1].decode("utf-8", "replace"))))


_ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROL = re.compile(
    r"\x1b\[(?P<args>[0-9;?]{0,32})(?P<code>[@-~])"
    r"|\x1b\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)"  # the title of a window
    r"|\x1b(?P<plain>[ -/]{0,4}[0-~])"
    r"|(?P<char>[\r\b\n\x0b\x0c])"
    r"|[\x00-\x08\x0e-\x1f\x7f]"
)
_SEAM = re.compile(r"[0-9]{2}")
TORN = "\N{HORIZONTAL ELLIPSIS}"
_MOST_COLUMNS = 1024
_MOST_ROWS = 512


def text_of(content: bytes) -> str:
    r"""The text of a file as a terminal shows it in the end: UTF-8 (damaged bytes are replaced),
    lines that end with "\n", and what a live display wrote over is gone, whole lines of it.

    Each parser of text begins with it.
    """
    encoding = next((name for mark, name in _ENCODINGS if content.startswith(mark)), "utf-8")
    text = re.sub(r"(?<!\r)\r+\n", "\n", content.decode(encoding, "replace"))
    if not re.search("[\x1b\r\b]", text):
        return text
    return _Screen().show(_without_torn_update(text))


_TO_ROW_ABOVE = re.compile(r"\x1b\[([0-9]{1,4})A")


def _without_torn_update(text: str) -> str:
    """The text without the last update of a live display where the file ends in its middle: its
    rows, and the digits of its last row, would be mixed with those of the update before."""
    last = text.rfind("\x1b[", 0, max(text.rfind("A"), 0))
    while last >= 0 and (up := _TO_ROW_ABOVE.match(text, last)) is None:
        last = text.rfind("\x1b[", 0, last)
    if last < 0 or up is None or text.count("\n", up.end()) >= int(up[1]):
        return text
    return text[:last]


class _Screen:
    """A terminal without a last line: rows, and where the next character goes."""

    def __init__(self) -> None:
        self._rows: list[str] = [""]
        self._row = self._column = 0
        self._is_written = False
        self._codes: dict[str, Callable[[int, str], None]] = {
            "A": lambda count, _: self._move(-count),
            "F": self._to_line_before,
            "B": lambda count, _: self._move(count),
            "E": self._to_line_after,
            "C": lambda count, _: self._to(self._column + count),
            "D": lambda count, _: self._to(self._column - count),
            "G": lambda count, _: self._to(count - 1),
            "H": self._to_place,
            "f": self._to_place,
            "J": self._erase_rows,
            "K": self._erase_row,
        }

    def show(self, text: str) -> str:
        """All that is on the screen after `text`."""
        at = 0
        for found in _CONTROL.finditer(text):
            self._write(text[at : found.start()])
            self._obey(found)
            at = found.end()
        self._write(text[at:])
        self._leave()
        return "\n".join(row.rstrip() for row in self._rows)

    def _write(self, text: str) -> None:
        if not text:
            return
        row = self._rows[self._row]
        if self._column == len(row):  # also a line of any length
            self._rows[self._row] = row + text if row else text
        elif self._column < _MOST_COLUMNS:
            before = row[: self._column].ljust(self._column)
            self._rows[self._row] = before + text + row[self._column + len(text) :]
        self._column += len(text)
        self._is_written = True

    def _obey(self, found: re.Match[str]) -> None:
        if found["char"] is not None:
            self._obey_character(found["char"])
        elif found["code"] is not None and found["code"] in self._codes:
            number = found["args"].partition(";")[0]
            count = min(int(number), _MOST_COLUMNS) if number.isdigit() else 1
            self._codes[found["code"]](count, found["args"])
        elif found["plain"] == "c":
            self._clear()

    def _obey_character(self, char: str) -> None:
        if char == "\r":
            self._to(0)
        elif char == "\b":
            self._to(self._column - 1)
        else:
            self._feed()

    def _move(self, rows: int) -> None:
        """Codes that move the cursor make few rows: no display is higher."""
        self._leave()
        self._is_written = False
        most = max(len(self._rows), _MOST_ROWS) - 1
        self._row = max(0, min(self._row + rows, most))
        self._rows.extend([""] * (self._row + 1 - len(self._rows)))

    def _feed(self) -> None:
        """Ends the row here: what a longer line left on the right belongs to that line. A terminal
        would show the last digits of both."""
        if self._is_written and self._column:
            self._rows[self._row] = self._rows[self._row][: self._column]
        self._is_written = False
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append("")

    def _leave(self) -> None:
        """The cursor goes elsewhere. Where a number was written over a longer one, what remains of
        that is no part of it, and where it ends is not known."""
        row = self._rows[self._row]
        if self._is_written and _SEAM.match(row, max(self._column - 1, 0)):
            self._rows[self._row] = row[: self._column] + TORN + row[self._column :]

    def _to(self, column: int) -> None:
        self._leave()
        self._is_written = False
        self._column = max(0, min(column, _MOST_COLUMNS))

    def _to_line_before(self, count: int, _: str) -> None:
        self._move(-count)
        self._column = 0

    def _to_line_after(self, count: int, _: str) -> None:
        self._move(count)
        self._column = 0

    def _to_place(self, row: int, arguments: str) -> None:
        column = arguments.partition(";")[2]
        self._move(max(row, 1) - 1 - self._row)
        self._to((int(column) if column.isdigit() else 1) - 1)

    def _erase_rows(self, how: int, arguments: str) -> None:
        if arguments in ("", "0"):
            self._rows[self._row] = self._rows[self._row][: self._column]
            del self._rows[self._row + 1 :]
        elif how >= 2:  # the whole screen: what comes next is shown from its top
            self._clear()

    def _erase_row(self, _: int, arguments: str) -> None:
        row = self._rows[self._row]
        if arguments in ("", "0"):
            self._rows[self._row] = row[: self._column]
        elif arguments == "1":
            self._rows[self._row] = row[self._column + 1 :].rjust(len(row))
        else:
            self._rows[self._row] = ""

    def _clear(self) -> None:
        self._rows = [""]
        self._row = self._column = 0


_LONG_BLANK = re.compile(r"[ \t]{257,}")
# As printf pads them: cyclictest, signaltest and cyclicdeadline; pmqtest and its sisters.
_IS_WHOLE = re.compile(r"Max: [ 0-9]{7}|Max  [ 0-9]{3}")


def lines_of(content: bytes) -> Iterator[tuple[int, str]]:
    """The lines of `text_of`, each with its number from 1 on, as errors name it.

    A file that ends with a digit may have lost more of them. Unless blanks show that the number is
    whole, the last line ends with TORN, so that no pattern takes it for one.

    No line has more than 256 blanks in a row: the time of a pattern with some `\\s*` would grow
    with the square of their number.
    """
    whole = _LONG_BLANK.sub(" " * 256, text_of(content))
    if re.search(r"[0-9]\.?\Z", whole[-2:]) and not _ends_whole(whole):
        whole += TORN
    text = io.StringIO(whole, newline="\n")
    return enumerate((line.rstrip("\n") for line in text), start=1)


def _ends_whole(text: str) -> bool:
    last = text[text.rfind("\n") + 1 :]
    return _IS_WHOLE.fullmatch(last, max(last.rfind("Max"), 0)) is not None
