"""Which format a file has, files that have none, and the text of a terminal."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.importers import recognise
from hardstone.importers.recognise import (
    all_formats,
    read_source,
    text_of,
    tool_title,
    tools,
)
from hardstone.systems.moments import load_moments
from tests.unit.importers.one_file import SAMPLES, refused, source

SUMMARY = (SAMPLES / "cyclictest-q.stdout").read_bytes()


def test_no_format_recognises_the_begin_of_anything() -> None:
    for content in (b"", b"\0" * 4096, b"{}", b"\xff\xfe", b"# Histogram\n", b"T: 0", b"<xml>"):
        assert [one.title for one in all_formats() if one.recognises(content)] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b" \r\n\n", "it is empty"),
        (b"<!DOCTYPE html><html>", "it is an HTML page"),
        (b"\xef\xbb\xbf\n<html lang=en>", "it is an HTML page"),
        (b"\x7fELF\0\0\0", "it is a binary file"),
        (b'{"schema": "hardstone.run/1", "id": "x"}', "it is a run of hardstone already"),
        (b'{"schema":"hardstone.gate/1"}', r"it is a document of hardstone \(hardstone.gate/1\)"),
        (b"hello", "none of the formats"),
    ],
)
def test_what_else_a_file_is_is_said(content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        recognise.recognise(source(content))


def test_help_of_other_tools() -> None:
    text = b"WARN: odd\npmqtest V 2.40\nUsage:\npmqtest <options>\n\nFunction: test queues\n"
    assert refused(text) == "it is the help text of pmqtest: nothing was measured"
    assert "of oslat" in refused(b"oslat V 2.40\nUsage:\noslat <options>\n\nThis is an OS latency")
    rtla = b"rtla osnoise hist: a per-cpu histogram of the OS noise (version 6.9)\n\n  usage: rtla"
    assert refused(rtla) == "it is the help text of rtla: nothing was measured"


def test_a_tool_can_be_forced() -> None:
    bare = b"       0:       0:      21\n       0:       1:      22\n"
    reading = recognise.read(source(bare), "cyclictest")
    assert reading.tool == "cyclictest" and reading.series[0].count == 2
    with pytest.raises(InputError, match=r"files of 'top' are not read"):
        recognise.read(source(bare), "top")
    with pytest.raises(InputError, match="none of the formats of cyclictest"):
        recognise.read(source(b"hello"), "cyclictest")


def test_an_error_names_the_file_and_the_format() -> None:
    torn = SUMMARY + b"T: 0 ( 9929) nothing\n"
    with pytest.raises(InputError, match=r"^file \(cyclictest, text\): line 4: "):
        recognise.read(source(torn))


def test_tools_have_the_titles_of_their_moments() -> None:
    known = {name for one in load_moments().values() for name in (one.title, one.package)}
    assert [tool for tool in tools() if not known.issuperset(tool.split("/"))] == []
    assert all(tool_title(one) in tools() for one in all_formats())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\r\nb\n", "a\nb\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        ("\N{GREEK SMALL LETTER MU}s\n".encode("utf-16"), "\N{GREEK SMALL LETTER MU}s\n"),
        (b"\xff a", "\N{REPLACEMENT CHARACTER} a"),
        (b"10 %\r20 %\n", "20 %\n"),
        (b"long\rab", "abng"),
        (b"long\rab\n", "ab\n"),
        (b"Max: 435\rMax: 7", "Max: 7\N{HORIZONTAL ELLIPSIS}35"),  # the end is not known
        (b"Max: 435\x1b[3D7\x1b[1B", "Max: 7\N{HORIZONTAL ELLIPSIS}35\n"),
        (b"Max: 435\x1b[3D7\n", "Max: 7\n"),
        (b"Max: 435\rMax: 7\x1b[K", "Max: 7"),
        (b"Max: 435\rMax: 7\rMax: 8\n", "Max: 8\n"),
        (b"12\b\b34", "34"),
        (b"long\r\r\nab\n", "long\nab\n"),
        (b"a\nMax: 16027\n\x1b[1AMax: 7\n", "a\nMax: 7\n"),
        (b"keep\n\x1b[1A\nb", "keep\nb"),
        (b"ab\bc", "ac"),
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"1\n2\n\x1b[2A3\n4\n", "3\n4\n"),
        (b"1\nab\x1b[1Ac\n", "1 c\nab"),
        (b"abc\rx\x1b[K", "x"),
        (b"abc\x1b[1K\rx", "x"),
        (b"abc\x1b[2Kx", "   x"),
        (b"a\nb\nc\x1b[2A\x1b[Jd\n\n", "ad\n\n"),
        (b"Max: 16027\n\x1b[1AMax: 7\x1b[4B", "Max: 16027\n"),  # cut within an update
        (b"a\nb\n\x1b[2Ac\nd\n\x1b[2A\x1b[4B", "c\nd\n"),
        (b"old\n\x1b[2J\x1b[Hnew", "new"),
        (b"old\n\x1bcnew", "new"),
        (b"1\n2\n\x1b[1;1H3", "3\n2\n"),
        (b"1\n2\n\x1b[1Fx\x1b[1Ey", "1\nx\ny"),
        (b"\x1b]0;title\x07a\x1b(Bb", "ab"),
        (b"a\x1b[3Cb\x1b[2Dc\x1b[1Gd", "d  cb"),
    ],
)
def test_text_is_what_a_terminal_shows_in_the_end(content: bytes, text: str) -> None:
    assert text_of(content) == text


def _figures(content: bytes) -> set[tuple[object, ...]]:
    """All figures of a file; none where it is refused."""
    try:
        series = recognise.read(source(content)).series
    except InputError:
        return set()
    return {
        (one.name, *one.labels.items(), name, getattr(one, name))
        for one in series
        for name in ("count", "min", "mean", "max")
        if getattr(one, name) is not None
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "cyclictest-q.stdout",
        "cyclictest-histfile.txt",
        "signaltest.stdout",
        "pmqtest.stdout",
        "ptsematest-live.stdout",
        "queuelat.stdout",
        "rtla/rtla-timerlat-top.stdout",
    ],
)
def test_a_file_that_is_cut_within_a_number_has_no_wrong_digits(name: str) -> None:
    content = (SAMPLES / name).read_bytes()[-8000:]
    begin = max(0, len(content) - 250)
    ends = [at + 1 for at, byte in enumerate(content) if at >= begin - 250 and byte == ord("\n")]
    right = set().union(*(_figures(content[:end]) for end in ends))
    assert right
    for end in range(begin, len(content)):
        assert _figures(content[:end]) <= right, content[:end][-80:]


def test_a_last_number_that_is_padded_is_whole() -> None:
    assert recognise.read(source(SUMMARY.rstrip(b"\n"))) == recognise.read(source(SUMMARY))
    pair = (SAMPLES / "pmqtest.stdout").read_bytes()
    assert recognise.read(source(pair.rstrip(b"\n"))) == recognise.read(source(pair))


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b"\x1b[999999B" * 2000,
        b"\x1b[999999Cx" * 10_000,
        b"x\r" * 50_000,
        b"\x1b[" * 50_000,
        b"\r" * 100_000,
        b"\x1b]" * 50_000,
        b"ab\n\x1b[9A" * 10_000,
        b"\x1b[99;99H" * 10_000,
        b"\x1b[" + b"9" * 100_000 + b"A",
    ],
)
def test_a_hostile_display_takes_neither_memory_nor_time(content: bytes) -> None:
    begin = time.process_time()
    assert len(text_of(content)) < 10_000_000
    assert time.process_time() - begin < 2


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "a.txt"
    place.write_bytes(SUMMARY)
    os.utime(place, (1_795_000_000, 1_795_000_000))
    found = read_source(place)
    assert found.content == SUMMARY and found.size_bytes == len(SUMMARY)
    assert (found.name, found.changed_utc) == ("a.txt", "2026-11-18T11:06:40Z")
    link = tmp_path / "link"
    link.symlink_to(place)
    assert read_source(link).content == SUMMARY and read_source(link).name == "link"


def test_a_file_may_be_compressed(tmp_path: Path) -> None:
    place = tmp_path / "a.txt.gz"
    packed = gzip.compress(SUMMARY[:50]) + gzip.compress(SUMMARY[50:]) + b"\0" * 10
    place.write_bytes(packed)
    found = read_source(place)
    assert found.content == SUMMARY and found.size_bytes == len(packed)
    for damaged, said in ((packed[:30], "cut short"), (packed[:10] + b"\xff" * 40, "damaged")):
        place.write_bytes(damaged)
        with pytest.raises(InputError, match=said):
            read_source(place)


def test_sizes_are_limited_while_reading(tmp_path: Path) -> None:
    place = tmp_path / "large"
    for content, said in (
        (b"x" * 1001, "larger than 1000 bytes"),
        (gzip.compress(b"x" * 1001), "bytes unpacked"),
        (gzip.compress(b"x" * 600) + gzip.compress(b"x" * 600), "bytes unpacked"),
    ):
        place.write_bytes(content)
        with pytest.raises(InputError, match=said):
            read_source(place, 1000)
    with (tmp_path / "pipe").open("wb") as file:
        file.write(b"x" * 1001)
    with (tmp_path / "pipe").open("rb") as file, pytest.raises(InputError, match="more than"):
        recognise.source_of(file, "standard input", None, 1000)
    place.write_bytes(gzip.compress(b"") * 65)
    with pytest.raises(InputError, match="gzip members"):
        read_source(place)


def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, said in (
        (tmp_path, "it is a folder"),
        (tmp_path / "pipe", "it is a pipe"),
        (tmp_path / "none", "No such file"),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(InputError, match=said) as error:
            read_source(place)
        assert "\n" not in str(error.value)
