"""Frames between host and guest: byte by byte, damaged, and as the C side writes them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.lab import guest_frames as frames
from hardstone.lab.guest_frames import Frame, FrameReader, NoFrameError, run_frame
from tests.conftest import ROOT

FROM_GUEST = (frames.READY, frames.OUTPUT, frames.ERROR, frames.TAKEN, frames.EXIT, frames.CLOCK)
MADE = st.builds(Frame, st.sampled_from(FROM_GUEST), st.binary(min_size=8, max_size=50))


@given(st.lists(MADE, max_size=5), st.integers(1, 9))
def test_frames_come_out_however_the_bytes_are_cut(sent: list[Frame], step: int) -> None:
    content = b"".join(frame.packed() for frame in sent)
    reader, came = FrameReader(), []
    for at in range(0, len(content), step):
        reader.feed(content[at : at + step])
        while (frame := reader.next()) is not None:
            came.append(frame)
    assert came == sent


def test_a_frame_is_there_with_its_last_byte_and_not_before() -> None:
    reader = FrameReader()
    packed = Frame(frames.OUTPUT, b"abc").packed()
    for at in range(len(packed) - 1):
        reader.feed(packed[at : at + 1])
        assert reader.next() is None
    reader.feed(packed[-1:])
    assert reader.next() == Frame(frames.OUTPUT, b"abc")
    assert reader.next() is None


@pytest.mark.parametrize("kind", [bytes([byte]) for byte in range(256)])
def test_only_types_of_the_guest_are_taken(kind: bytes) -> None:
    reader = FrameReader()
    reader.feed(Frame(kind, bytes(8)).packed())
    if kind in FROM_GUEST:
        assert reader.next() == Frame(kind, bytes(8))
    else:
        with pytest.raises(NoFrameError):
            reader.next()


@pytest.mark.parametrize("frame", [Frame(frames.EXIT, b"1"), Frame(frames.CLOCK, bytes(7))])
def test_a_frame_that_lacks_its_figures_is_refused(frame: Frame) -> None:
    reader = FrameReader()
    reader.feed(frame.packed())
    with pytest.raises(NoFrameError):
        reader.next()


def test_a_length_is_refused_before_its_bytes_come() -> None:
    reader = FrameReader()
    reader.feed(frames.OUTPUT + (frames.MOST_BYTES + 1).to_bytes(4, "little"))
    with pytest.raises(NoFrameError, match="65537 bytes"):
        reader.next()
    reader = FrameReader()
    reader.feed(Frame(frames.OUTPUT, bytes(frames.MOST_BYTES)).packed())
    assert reader.next() == Frame(frames.OUTPUT, bytes(frames.MOST_BYTES))


@given(st.binary(max_size=40))
def test_no_bytes_crash_the_reader(content: bytes) -> None:
    reader = FrameReader()
    reader.feed(content)
    try:
        while (frame := reader.next()) is not None:
            assert frame.type in FROM_GUEST
    except NoFrameError:
        pass


def test_words_of_a_command_end_each_with_a_0_byte() -> None:
    assert run_frame(["a b", "", "\udcff"]) == Frame(frames.RUN, b"a b\0\0\xff\0")
    assert len(run_frame(["x" * (frames.MOST_BYTES - 1)]).content) == frames.MOST_BYTES
    for words in (["a\0b"], ["x" * frames.MOST_BYTES]):
        with pytest.raises(ValueError, match="too long, or has a 0 byte"):
            run_frame(words)


def test_both_sides_have_the_same_types_version_and_limit() -> None:
    header = (ROOT / "probe/guest/frame.h").read_text()
    types = dict(re.findall(r"FRAME_(\w+) = '(\w)'", header))
    names = ("RUN", "INPUT", "INPUT_END", "SIGNAL", "CLOCK")
    names += ("READY", "OUTPUT", "ERROR", "TAKEN", "EXIT")
    ours = {name: getattr(frames, name).decode() for name in names}
    assert types == ours
    assert f"FRAME_VERSION = {frames.VERSION}," in header
    found = re.search(r"FRAME_MOST_BYTES = 1 << (\d+),", header)
    assert found is not None and 1 << int(found[1]) == frames.MOST_BYTES
