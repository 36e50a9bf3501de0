"""Consoles that deceive, lose the one frame that matters, or never end: what is sent to them, how
long it takes, and what is said of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import HardstoneError, InputError, TargetError
from hardstone.targets.base import (
    BrokenStreamError,
    Notices,
    ProbeError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
)
from hardstone.targets.console.console_command import NotHeardError
from hardstone.targets.console.console_frames import ConsoleFrame, Passes
from hardstone.targets.local import LocalTransport
from hardstone.targets.transport import Limits
from tests.process.targets import sample
from tests.unit.targets.board import Answer, Board, Faults, frames_of
from tests.unit.targets.test_console import (
    FACTS,
    LIMITS,
    RUN,
    STREAM,
    answers,
    attempted,
    output,
    refusal,
    target,
    transport,
)

LETTERS = (b"s\n", b"q\n", b"a\n", b"s\nq\n", b"s\na\n", b"\x03")
LONG = Limits(300.0, expected_s=60.0)


def runs_of(board: Board) -> list[str]:
    return [one for one in board.commands if " run " in one]


def letters_to(board: Board) -> list[bytes]:
    return [data for _, data in board.written if data in LETTERS]


class Lying(Board):
    """Its probe sends the frames that `lie` makes of the right ones, in each pass."""

    lie: Callable[[list[ConsoleFrame]], list[ConsoleFrame]]

    def begin(self, token: str, answer: Answer, wait_s: float) -> None:
        self.wait_s = wait_s
        right = list(frames_of(token, answer, self.version))

        def send() -> None:
            self.state = "sending"
            self.send(b"\n")
            self.send_frames(self.lie(right))

        self.repeat = send
        send()


def lying(lie: Callable[[list[ConsoleFrame]], list[ConsoleFrame]]) -> Lying:
    board = Lying(answers)
    board.lie = lie
    return board


# ---- what others write ----

HARMLESS = (
    b"[   12.345678] app: PANIC button pressed",
    b"watchdog: Kernel panic handler is ready",
    b"audit: login: root on ttyS0",
    b"env: U-Boot 2024.01 found in flash",
    b"net: EXCEPTION table loaded, FATAL ERROR counter 0",
    b"up_assert is enabled",
)


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_line_ends_no_run(line: bytes) -> None:
    board = Board(lambda words: Answer(STREAM, measuring_s=20.0))
    board.after(5.0, lambda: board.send(line + b"\n"))
    assert output(board) == STREAM


@pytest.mark.parametrize(
    "line",
    [
        b"[    0.120000] [CPU0] dump_assert_info: Current Version: NuttX  12.4.0",
        b"up_assert: Assertion failed at file: 1",
        b"[   12.345678] Kernel panic - not syncing: Fatal exception",
        b"---[ end Kernel panic - not syncing: Fatal exception ]---",
    ],
)
def test_a_crash_that_is_sure_ends_a_run_at_once(line: bytes) -> None:
    board = Board(lambda words: Answer(STREAM, measuring_s=200.0))
    board.after(5.0, lambda: board.send(line + b"\n"))
    error = refusal(board, limits=Limits(400.0, expected_s=200.0))
    assert "the system crashed" in error.cause and board.now < 20.0


# ---- once begun, never measured again ----


def of_wrong_size(frames: list[ConsoleFrame]) -> list[ConsoleFrame]:
    """The last frame has the right checksum, and not the right count of bytes."""
    last = frames[-1]
    code, size, check = last.payload.split()
    payload = b"%s %d %s" % (code, int(size) + 1, check)
    return [*frames[:-1], ConsoleFrame(last.token, last.number, last.kind, payload)]


def of_wrong_sum(frames: list[ConsoleFrame]) -> list[ConsoleFrame]:
    last = frames[-1]
    payload = last.payload[:-8] + b"12345678"
    return [*frames[:-1], ConsoleFrame(last.token, last.number, last.kind, payload)]


@pytest.mark.parametrize("lie", [of_wrong_size, of_wrong_sum])
def test_an_output_that_never_matches_its_checksum_is_told_and_not_measured_again(lie: Any) -> None:
    board = lying(lie)
    error = refusal(board)
    assert isinstance(error, ProbeError)
    assert "does not match its own checksum, in 5 attempts" in error.cause
    assert len(runs_of(board)) == 1


def lost(data: bytes) -> bytes:
    return b""


def damaged(data: bytes) -> bytes:
    return data.replace(b" ^ ", b" v ").replace(b"1\n", b"2\n")


@pytest.mark.parametrize("change", [lost, damaged])
@pytest.mark.parametrize("measuring_s", [60.0, 100.0])
def test_a_test_whose_first_frame_is_lost_is_neither_disturbed_nor_lost(
    change: Callable[[bytes], bytes], measuring_s: float
) -> None:
    """Also one that takes longer than expected."""
    board = Board(lambda words: Answer(STREAM, measuring_s=measuring_s))
    send, count = board.send_raw, itertools.count()

    def send_raw(data: bytes) -> None:
        send(change(data) if b"@hs" in data and next(count) == 0 else data)

    board.send_raw = send_raw  # type: ignore[method-assign]
    assert output(board, limits=LONG) == STREAM
    typed = [at for at, data in board.written if b"console" in data]
    assert len(typed) == 1
    between = [d for at, d in board.written if typed[0] < at < measuring_s and d != b"\r"]
    assert between == []


def test_a_test_of_which_nothing_came_through_is_not_measured_again() -> None:
    """The prompt is back after all that time: it has measured."""
    board = Board(lambda words: Answer(STREAM, measuring_s=60.0))
    send = board.send_raw
    board.send_raw = lambda data: send(b"" if b"@hs" in data else data)  # type: ignore[method-assign]
    error = attempted(board, limits=LONG)[1]
    assert isinstance(error, ProbeError) and "the shell is back" in error.cause
    assert len(runs_of(board)) == 1


def test_an_answer_that_takes_long_to_find_is_waited_for() -> None:
    """As facts do, which find the rate of a counter."""
    board = Board(lambda words: Answer(FACTS, measuring_s=25.0))
    assert output(board, ["facts", "--json"]) == FACTS
    board = Board(lambda words: Answer(FACTS, measuring_s=8.0))
    assert output(board, ["facts", "--json"]) == FACTS
    assert b"a\n" not in letters_to(board)


# ---- bounds ----


def test_frames_that_alternate_are_ended_soon() -> None:
    passes = Passes("abcd")
    with pytest.raises(ValueError, match="more than 64"):
        for number in range(1000):
            passes.add(ConsoleFrame("abcd", 5 - (number & 1), "+", b"%d" % number))


def one_more_each_pass() -> Callable[[list[ConsoleFrame]], list[ConsoleFrame]]:
    """Each pass brings a frame that is new, and never the last."""
    counts = itertools.count(1)

    def lie(frames: list[ConsoleFrame]) -> list[ConsoleFrame]:
        return [frames[0], ConsoleFrame(frames[0].token, next(counts), "+", b"x")]

    return lie


def test_passes_that_bring_ever_more_are_ended() -> None:
    board = lying(one_more_each_pass())
    error = refusal(board, limits=Limits(1e6, expected_s=3.0))
    assert "did not come through whole in 40 attempts" in error.cause


class Dripping(Lying):
    """A frame each 1.5 s, for ever."""

    def begin(self, token: str, answer: Answer, wait_s: float) -> None:
        numbers = itertools.count(1)
        self.state = "sending"

        def drip() -> None:
            self.send(ConsoleFrame(token, next(numbers), "+", b"").encode())
            self.after(1.5, drip)

        drip()


@pytest.mark.parametrize("words", [RUN, ["list", "--json"]])
def test_frames_that_never_end_do_not_move_the_deadline(words: list[str]) -> None:
    board = Dripping(answers)
    error = attempted(board, words, limits=Limits(15.0, expected_s=3.0, drain_s=60.0))[1]
    assert isinstance(error, ProbeTimeoutError) and board.now < 120.0


@pytest.mark.parametrize("number", [1 << 20, 9_999_999])
def test_a_frame_beyond_all_bounds_is_refused_without_a_wrong_advice(number: int) -> None:
    board = lying(lambda frames: [ConsoleFrame(frames[0].token, number, ".", b"x")])
    error = refusal(board, ["list", "--json"])
    assert isinstance(error, BrokenStreamError) and "1048576 frames" in error.cause
    board = lying(lambda frames: [ConsoleFrame(frames[0].token, number, ".", b"x")])
    with closing(target(board)) as found, pytest.raises(HardstoneError) as caught:
        found.facts()
    assert "hardstone probe build" not in caught.value.remedy


def test_a_register_of_too_many_tests_is_refused() -> None:
    import msgspec

    def endless(words: list[str]) -> Answer:
        register = sample.register()
        register.of = 1001
        at = int(words[words.index("--from") + 1])
        for number, one in enumerate(register.tests):
            one.id = f"TST-P-{at + number}"
        return Answer(msgspec.json.encode(register) + b"\n")

    board = Board(endless, bytes_per_s=960.0)
    with closing(target(board)) as found, pytest.raises(InputError, match="not complete"):
        found.probe_list()
    assert len([one for one in board.commands if " list " in one]) == 1


@pytest.mark.parametrize("line", [b"blah blah\r\n", b"@hs: garbage\r\n"])
def test_a_port_that_never_falls_silent_is_told_soon(line: bytes) -> None:
    board = Board(answers)
    board.state = "mad"

    def write() -> None:
        board.send_raw(line)
        board.after(0.1, write)

    write()
    error = refusal(board)
    assert "the port never falls silent" in error.cause and " bytes in " in error.cause
    assert "dmesg -n 1" in error.remedy and board.now < 60.0


# ---- what is typed where no probe is ----


def test_a_login_gets_no_letters_and_is_told_at_once() -> None:
    board = Board(answers, prompt=b"board login: ")
    error = refusal(board)
    assert isinstance(error, TargetError)
    assert "asks for a login" in error.cause and "log in" in error.remedy
    assert letters_to(board) == [] and board.now < 5.0
    assert [data for _, data in board.written] == [b"\r", b"\r"]


def test_a_shell_whose_prompt_counts_is_found() -> None:
    class Counting(Board):
        count = 0

        def send_raw(self, data: bytes) -> None:
            if data == self.prompt:
                self.count += 1
                data = b"12:00:%02d [%d] $ " % (self.count % 60, self.count)
            super().send_raw(data)

    board = Counting(answers)
    with closing(transport(board)) as way:
        for _ in range(2):
            assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM
    assert set(letters_to(board)) == {b"q\n"} and board.state == "shell"


def test_a_shell_whose_prompt_is_not_found_gets_no_letters() -> None:
    board = Board(answers)
    prompts = itertools.cycle([b"alpha$ ", b"beta$ ", b"gamma$ "])
    board.run = lambda text: board.send_raw(next(prompts))  # type: ignore[method-assign]
    assert "no prompt was found" in refusal(board).cause
    assert letters_to(board) == []


def test_a_port_that_is_only_opened_gets_no_letters() -> None:
    board = Board(answers)
    with closing(transport(board)) as way:
        way.open()
    assert letters_to(board) == [] and board.is_closed


def test_stale_input_is_read_before_a_command() -> None:
    """What came in the meantime says nothing about the command."""
    board = Board(answers)
    run = board.run
    board.run = lambda text: run("")  # type: ignore[method-assign]
    with closing(transport(board)) as way:
        way.open()
        board.received += b"\r\nnsh: other: command not found\r\nnsh> "
        with pytest.raises(TargetError) as caught:
            list(way.chunks(RUN, LIMITS, Stop()))
    assert "the probe said nothing" in caught.value.cause


def test_the_first_error_is_the_one_that_is_told() -> None:
    """The second attempt finds no prompt: that is no reason."""
    board = Board(answers)
    board.line_bytes = 60
    run = board.run

    def once(text: str) -> None:
        run(text)
        if text:
            board.after(8.0, board.fall_silent)

    board.run = once  # type: ignore[method-assign]
    board.wait = lambda: None  # type: ignore[method-assign]
    error = refusal(board)
    assert isinstance(error, NotHeardError) and "damaged" in error.cause


# ---- one at a time, and what it took ----


def test_a_second_command_waits_before_it_opens_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also under another name of it; not one on another port, nor on this machine."""
    monkeypatch.setenv("HARDSTONE_LOCK_FILE", str(tmp_path / "lock"))
    device, link = tmp_path / "ttyUSB0", tmp_path / "by-id"
    device.touch()
    link.symlink_to(device)
    first = transport(Board(answers), f"console:{device}")
    board = Board(answers)
    second = transport(board, f"console:{link},baud=9600")
    first.open()
    with held(first):
        warned: list[str] = []
        with pytest.raises(TargetError, match="another measurement has held"):
            second.open(Notices(warn=warned.append, wait_s=0.0))
        assert f"Another hardstone measurement is running on console:{link}" in warned[0]
        assert board.written == []
        with pytest.raises(TargetError):
            second.open()  # nobody would see why it waits
        with held(transport(Board(answers))), held(LocalTransport()):
            pass
    first.close()
    second.open()
    assert board.written != []
    second.close()


def held(way: Any) -> AbstractContextManager[None]:
    """Its own lock is no other one's."""
    found: AbstractContextManager[None] = way.alone(Stop(), print, print, 0.0)
    return found


def test_what_it_took_to_bring_an_output_through_is_an_event() -> None:
    def measured(board: Board) -> Iterator[Any]:
        with closing(target(board)) as found:
            list(found.run(sample.planned(), RunOptions(), None, Stop()))
            yield from found.take_remarks()
            assert found.take_remarks() == []

    assert list(measured(Board(answers))) == []
    (event,) = measured(Board(answers, faults=Faults(lose=0.003), seed=1))
    assert event.name == "console_repeated" and event.data["passes_count"] > 2
    assert event.data["damaged_count"] > 0
    assert f"sent {event.data['passes_count']} times" in event.text
