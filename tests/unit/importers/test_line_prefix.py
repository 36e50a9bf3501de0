"""Blanks and times that a paste or a log put before each line."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from hardstone.errors import InputError
from hardstone.importers import recognise
from hardstone.importers.line_prefix import without_prefix
from hardstone.importers.reading import Reading
from tests.unit.importers.one_file import SAMPLES, losses, sample, source

WHOLE = sample("cyclictest-q.stdout")


def read(content: bytes) -> Reading:
    return recognise.read(source(content))


def prefixed(content: bytes, prefix: bytes) -> bytes:
    return b"".join(prefix + line for line in content.splitlines(keepends=True))


STAMPS = [
    b"[   12.345678] ",
    b"<6>[   12.345678] ",
    b"[   12.345678][    T1] ",
    b"[12.345678 0.000012] ",
    b"2025-01-01T10:00:00.123456 ",
    b"2025-01-01T10:00:00.1234567Z ",
    b"2024-05-22T12:43:46.962646Z 00O ",
    b"2025-01-01 10:00:00 ",
    b"2025-01-01 10:00:00,123+02:00\t",
    b"[2025-01-01T10:00:00.123Z] ",
    b"[10:00:00.123] ",
    b"10:00:00 ",
    b"Jan  1 10:00:00 ",
    b"Jan  1 10:00:00 board cyclictest[321]: ",
]


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_time_before_each_line_is_left_out_and_said(stamp: bytes) -> None:
    found = read(prefixed(WHOLE, stamp))
    plain = read(WHOLE)
    assert replace(found, losses=plain.losses) == plain
    (loss,) = (one for one in found.losses if one.what == "time")
    assert f"'{stamp.decode().strip()}'" in loss.text


@pytest.mark.parametrize(
    "name",
    [
        "cyclictest-hist.stdout",
        "cyclictest-v.stdout",
        "cyclictest-hist.json",
        "xenomai-latency.stdout",
        "rtla/rtla-timerlat-top.stdout",
        "ptsematest.stdout",
        "jitterdebugger-stdout.stdout",
    ],
)
@pytest.mark.parametrize("prefix", [b"  ", b"\t", b"[    1.000002] "])
def test_leading_blanks_of_the_tool_itself_stay(name: str, prefix: bytes) -> None:
    found = read(prefixed(sample(name), prefix))
    plain = read(sample(name))
    assert found.series == plain.series and found.unknown == plain.unknown
    assert losses(found) - losses(plain) <= {"time"}


def test_some_lines_may_be_from_elsewhere() -> None:
    lines = prefixed(WHOLE, b"[    1.0] ").splitlines(keepends=True)
    content = b"[    1.0] booting\n" * 20 + lines[0] + b"login:\n" + b"".join(lines[1:])
    assert read(content).series == read(WHOLE).series


def test_an_indented_histogram_keeps_its_header() -> None:
    whole = sample("rtla/rtla-timerlat-hist.stdout")
    found = read(prefixed(whole, b"  "))
    assert found.format == "histogram" and found == read(whole)


def test_what_is_not_uniform_stays() -> None:
    for content in (
        b"",
        b"\n",
        b"  a\n b\nc\n",
        b"  a\n\tb\n",
        b"10:00:00 a\nb\n",
        b"\0[ 1.0] a\n",
    ):
        assert without_prefix(content) == (content, None)
    assert without_prefix(b"  a\n   b\n\n  c") == (b"a\n b\n\nc", None)


def test_no_sample_has_a_prefix() -> None:
    paths = [one for one in SAMPLES.rglob("*") if one.is_file() and one.suffix != ".md"]
    changed = {one.name for one in paths if without_prefix(one.read_bytes())[0] != one.read_bytes()}
    assert changed == {"linuxcnc-latency-histogram-2.10.txt"}


def test_another_prefix_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="'board-7> ' stands before the lines of a tool"):
        read(prefixed(WHOLE, b"board-7> "))


def test_lines_of_a_log_that_are_torn_are_refused() -> None:
    torn = prefixed(WHOLE, b"[    1.0] ").replace(b"Min:", b"Mi\n[    1.0] usb 1-1: new\nn:")
    with pytest.raises(InputError):
        read(torn)


@pytest.mark.parametrize("part", [b" ", b"\t ", b"[ ", b"[1.0] ", b" \n", b"00:00:00 "])
def test_hostile_prefixes_take_no_time(part: bytes) -> None:
    begin = time.process_time()
    without_prefix(part * (2**20 // len(part)))
    assert time.process_time() - begin < 1
