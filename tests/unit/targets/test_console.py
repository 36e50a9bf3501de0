"""A system behind a console: whatever the line does, its output comes whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from hardstone.errors import HardstoneError, InputError, TargetError
from hardstone.model import FACTS_SCHEMA
from hardstone.targets.base import (
    Notices,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
)
from hardstone.targets.console.address import parse_console
from hardstone.targets.console.console_frames import ConsoleFrame, ConsoleReader, Passes
from hardstone.targets.console.console_target import ConsoleTarget, ConsoleTransport
from hardstone.targets.console.line import Line
from hardstone.targets.transport import Limits
from tests.process.targets import sample
from tests.unit.targets.board import BANNER, LOG, Answer, Board, Faults, frames_of

STREAM = "".join(
    f"{line}\n" for line in sample.stream("TMR-P-LAT", values=tuple(range(1000, 1300)))
).encode()
RUN = ["run", "TMR-P-LAT", "--json", "--until-eof", "-p", "interval_ns=1000000"]
REGISTER = msgspec.json.encode(sample.register()) + b"\n"
FACTS = msgspec.json.encode(sample.facts()) + b"\n"
LIMITS = Limits(60.0, expected_s=3.0)
SEEDS = 100


def answers(words: list[str]) -> Answer:
    """Of a probe that has a register, facts and one test of 3 s."""
    if words[:2] == ["list", "--json"]:
        return Answer(part_of_register(words))
    if words[0] == "facts":
        return Answer(FACTS)
    if words[0] == "run":
        return Answer(STREAM, measuring_s=3.0)
    return Answer(b"", 2, f"hardstone-probe: console has no {words[0]}; it has list\n".encode())


def part_of_register(words: list[str]) -> bytes:
    if "--from" not in words:
        return REGISTER
    register = sample.register()
    at, count = int(words[words.index("--from") + 1]), int(words[words.index("--count") + 1])
    register.of = len(register.tests)
    register.tests = register.tests[at : at + count]
    return msgspec.json.encode(register) + b"\n"


def transport(board: Board, settings: str = "console:pty:/dev/pts/9") -> ConsoleTransport:
    return ConsoleTransport(parse_console(settings), lambda _: board, clock=board.clock)


def target(board: Board, settings: str = "console:pty:/dev/pts/9") -> ConsoleTarget:
    return ConsoleTarget(transport(board, settings))


def output(board: Board, words: Sequence[str] = RUN, **how: Any) -> bytes:
    """What the command gave, whole; errors as they come."""
    got, error = attempted(board, words, **how)
    if error is not None:
        raise error
    return got


def attempted(
    board: Board, words: Sequence[str] = RUN, *, limits: Limits = LIMITS, stop: Stop | None = None
) -> tuple[bytes, HardstoneError | None]:
    """What the command gave, and why it ended early."""
    got = bytearray()
    with closing(transport(board)) as way:
        try:
            for chunk in way.chunks(list(words), limits, stop or Stop()):
                got += chunk
        except HardstoneError as error:
            return bytes(got), error
    return bytes(got), None


def refusal(board: Board, words: Sequence[str] = RUN, **how: Any) -> HardstoneError:
    got, error = attempted(board, words, **how)
    assert error is not None, "nothing failed"
    assert error.cause and error.remedy, str(error)
    assert STREAM.startswith(got)
    return error


# ---- a line without faults ----


def test_a_test_is_measured_and_the_prompt_is_back() -> None:
    board = Board(answers)
    assert output(board) == STREAM
    assert board.state == "shell" and board.is_closed


def test_nothing_is_sent_while_a_test_measures() -> None:
    board = Board(answers)
    output(board)
    sent = [at for at, data in board.written if b"console" in data]
    after = [at for at, data in board.written if at > sent[0] and data != b"\r"]
    assert after and min(after) > sent[0] + 3.0


@pytest.mark.parametrize(
    "how",
    [
        *({"prompt": one} for one in (b"uart:~$ ", b"\x1b[1;32muart:~$ \x1b[m", b"# ")),
        {"echo": False},
    ],
)
def test_prompts_are_found_with_an_echo_and_without(how: dict[str, Any]) -> None:
    assert output(Board(answers, **how)) == STREAM


def test_a_command_line_has_a_checksum_of_its_own_and_a_new_token_each_time() -> None:
    board = Board(answers)
    with closing(transport(board)) as way:
        for _ in range(3):
            assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM
    typed = [one.split() for one in board.commands if one]
    assert [one[:2] + one[4:] for one in typed] == [["hardstone", "console", *RUN]] * 3
    assert len({one[2] for one in typed}) == 3


def test_an_argument_that_a_shell_would_change_is_not_sent() -> None:
    for odd in ("$(reboot)", "a b", "a;b", "x>y", "", "`", "*", "'"):
        board = Board(answers)
        error = refusal(board, ["run", odd])
        assert isinstance(error, ProbeError) and "cannot be sent over a console" in error.cause
        assert not any(board.commands)


def test_a_recording_is_not_asked_for(tmp_path: Path) -> None:
    board = Board(answers)
    way = transport(board)
    memory = way.memory("20260101T000000Z-abcdef", tmp_path)
    path = memory.path_for(1)
    assert b"".join(way.chunks([*RUN, "--backing", path], LIMITS, Stop())) == STREAM
    assert "--backing" not in board.commands[-1]
    assert not memory.has(path) and memory.copy(path) is None


def test_a_code_and_its_message_are_those_of_the_probe() -> None:
    board = Board(lambda words: Answer(b"", 2, b"hardstone-probe: unknown test 'X'\n"))
    error = attempted(board, ["run", "X"])[1]
    assert isinstance(error, ProbeRefusedError) and "unknown test 'X'" in error.said
    board = Board(lambda words: Answer(STREAM, 3, b"not trustworthy\n", measuring_s=1.0))
    got, error = attempted(board)
    assert isinstance(error, ProbeExitError) and error.code == 3 and got == STREAM


def test_facts_and_the_register_are_read() -> None:
    with closing(target(Board(answers))) as found:
        found.open()
        assert found.facts().schema == FACTS_SCHEMA
        assert found.probe_list() == sample.register()
        assert found.clock_check() is None  # nor the rest: a console has none of these
        assert found.load_list() is None and found.shield_look() is None
        assert found.probe_path() is None and found.probe_sha256() is None


# ---- a stop ----


class StopLater(Stop):
    """Is set at a time of the board."""

    def __init__(self, board: Board, at: float, *, is_abort: bool = False) -> None:
        super().__init__()
        self.board, self.at, self.late_abort = board, at, is_abort

    def is_set(self) -> bool:
        if self.board.now >= self.at:
            self.is_abort = self.is_abort or self.late_abort
            return True
        return False


def long_test(words: list[str]) -> Answer:
    return Answer(STREAM, measuring_s=1000.0)


def test_a_stop_is_sent_and_what_was_measured_comes() -> None:
    board = Board(long_test)
    limits = Limits(2000.0, expected_s=1000.0)
    assert output(board, limits=limits, stop=StopLater(board, 20.0)) == STREAM
    assert board.now < 60.0


def test_a_stop_is_repeated_until_it_is_heard() -> None:
    board = Board(long_test, seed=5)
    stop = StopLater(board, 20.0)
    board.after(19.0, lambda: setattr(board, "faults", Faults(back=0.6)))
    limits = Limits(2000.0, expected_s=1000.0, stop_s=60.0)
    assert attempted(board, limits=limits, stop=stop)[0] == STREAM
    assert sum(data == b"s\n" for _, data in board.written) > 1


def test_an_abort_ends_at_once() -> None:
    board = Board(long_test)
    limits = Limits(2000.0, expected_s=1000.0)
    error = attempted(board, limits=limits, stop=StopLater(board, 20.0, is_abort=True))[1]
    assert isinstance(error, ProbeError)
    assert "ended at once" in error.cause and board.now < 22.0
    assert board.written[-1][1] == b"s\nq\n"


def test_a_probe_that_does_not_end_is_late() -> None:
    board = Board(long_test)
    board.hear = lambda: None  # type: ignore[method-assign]
    error = refusal(board, limits=Limits(30.0))
    assert isinstance(error, ProbeTimeoutError) and "30 s" in error.cause


# ---- faults of the line ----


def faults_of(board: Board, seed: int) -> Faults:
    """From none to more than can be mended."""
    chance = board.random
    rate = chance.choice([0.0, 1e-4, 3e-4, 1e-3, 3e-3])
    kinds = {
        kind: rate if chance.random() < 0.5 else 0.0
        for kind in ("lose", "double", "flip", "insert")
    }
    back = rate / 3 if chance.random() < 0.5 else 0.0
    return Faults(
        **kinds,
        log=chance.choice([0.0, 0.02, 0.1]),
        escape=chance.choice([0.0, 0.05]),
        back=back,
    )


@pytest.mark.slow
def test_of_100_runs_over_a_faulty_line_none_is_wrong() -> None:
    """Each is whole, byte for byte, or ends with an error, after the lines up to where it breaks.
    In every fourth the board reboots, falls silent or babbles at some time."""
    through, told = 0, []
    for seed in range(SEEDS):
        board = Board(answers, seed=seed)
        board.faults = faults_of(board, seed)
        if seed % 4 == 0:
            happens = board.random.choice([board.reboot, board.fall_silent, board.babble])
            board.after(board.random.uniform(0.0, 8.0), happens)
        words = RUN if seed % 3 else ["facts", "--json"]
        right = STREAM if seed % 3 else FACTS
        got, error = attempted(board, words)
        if error is None:
            assert got == right, seed
            through += 1
        else:
            assert right.startswith(got) and got != right, seed
            assert error.cause and error.remedy, seed
            told.append((seed, error.cause))
    assert through + len(told) == SEEDS
    assert through >= 80, told
    assert sum(seed % 4 > 0 for seed, _ in told) <= 4, told  # lines of which most are damaged


def test_a_line_that_loses_a_third_of_its_lines_is_mended_by_passes() -> None:
    board = Board(answers, faults=Faults(lose=0.003), seed=1)
    assert output(board) == STREAM
    passes = sum(data == b"a\n" for _, data in board.written)
    assert 3 <= passes <= 12


def test_a_line_that_loses_everything_is_given_up() -> None:
    board = Board(answers, faults=Faults(flip=0.05, begins_s=3.0), seed=2)
    error = refusal(board)
    assert "did not come through" in error.cause or "the last frame never came" in error.cause


def test_answers_that_change_are_never_mixed() -> None:
    """Each pass of facts is a new answer: only one that came whole in one pass counts."""
    whole = set()
    for seed in range(20):
        board = Board(answers, faults=Faults(lose=3e-4), seed=seed, is_changing=True)
        got, error = attempted(board, ["facts", "--json"])
        if error is None:
            digits = {got.replace(b"0", str(digit).encode()) for digit in range(10)}
            changed = [FACTS.replace(b"0", str(digit).encode()) for digit in range(10)]
            assert digits and got in changed
            whole.add(seed)
    assert len(whole) >= 10


# ---- what goes wrong, and what is said of it ----


Happens = Callable[[Board], object]


def having(name: str, value: Callable[[Board], object]) -> Happens:
    return lambda board: setattr(board, name, value(board))


def after_begin(seconds: float, happens: Happens) -> Happens:
    """What happens some time after the probe was started, of whose 3 s nothing comes."""

    def prepare(board: Board) -> None:
        def begun(words: list[str]) -> Answer:
            board.after(seconds, lambda: happens(board))
            return answers(words)

        board.answers = begun

    return prepare


def many_words(board: Board) -> Callable[[str], None]:
    def run(text: str) -> None:
        board.send(b"nsh: hardstone: too many arguments\n" if text else b"")
        board.send_raw(board.prompt)

    return run


def crash(board: Board) -> None:
    board.send(b"up_assert: Assertion failed at file: 1\n")
    board.back_at_prompt()


def panic(board: Board) -> None:
    board.send(b"riscv_exception: EXCEPTION: Load access fault. MCAUSE: 5\n")
    board.send(b"".join(b"dump_task: %d\n" % number for number in range(300)))
    board.after_sent(0.1, board.fall_silent)


def reboot_without_prompt(board: Board) -> None:
    board.reboot()
    board.events.clear()
    board.after(0.5, lambda: board.send(b"U-Boot 2024.01\nHit any key\n"))


def logs_for_ever(board: Board) -> None:
    board.generation += 1
    board.state = "mad"
    board.send(LOG + b"\n")
    board.after(0.1, lambda: logs_for_ever(board))


class Fault(NamedTuple):
    happens: Happens
    kind: type[HardstoneError]
    cause: str
    remedy: str


READY = having("run", lambda board: lambda text: board.send(b"Ready.\n"))
HIGH_BITS = having("damaged", lambda _: lambda data: bytes(byte | 0x80 for byte in data))
TELNET = having("damaged", lambda _: lambda data: b"\xff\xfb\x01\xff\xfb\x03")
FAULTS = {
    "silent": Fault(
        Board.fall_silent, TargetError, "comes from the port at all", "fuser /dev/pts/9"
    ),
    "wrong rate": Fault(HIGH_BITS, TargetError, "the baud rate is wrong", "baud="),
    "no prompt": Fault(
        READY, TargetError, "no prompt was found; the last line was 'Ready.'", "prompt="
    ),
    "telnet": Fault(TELNET, TargetError, "telnet", "raw"),
    "only echo": Fault(
        having("run", lambda _: lambda text: None),
        TargetError,
        "only echoes",
        "end the program",
    ),
    "not installed": Fault(
        having("program", lambda _: "other"),
        TargetError,
        "does not know the probe",
        "program=",
    ),
    "many words": Fault(
        having("run", many_words),
        ProbeError,
        "refuses the command line",
        "CONFIG_NSH_MAXARGUMENTS",
    ),
    "short lines": Fault(
        having("line_bytes", lambda _: 60),
        ProbeError,
        "damaged",
        "CONFIG_NSH_LINELEN",
    ),
    "other version": Fault(
        having("version", lambda _: b"2"),
        TargetError,
        "speaks version 2 of the console protocol",
        "this version",
    ),
    "crash": Fault(
        after_begin(1.5, crash),
        ProbeError,
        "it crashed or was ended; the last line was 'up_assert",
        "stack",
    ),
    "panic": Fault(
        after_begin(1.5, panic),
        ProbeError,
        "the system crashed: 'riscv_exception: EXCEPTION",
        "stacks",
    ),
    "reboot": Fault(after_begin(1.5, Board.reboot), ProbeError, "the board rebooted", "watchdog"),
    "reboot without prompt": Fault(
        after_begin(1.5, reboot_without_prompt), ProbeError, "the board rebooted", "watchdog"
    ),
    "dies": Fault(
        after_begin(1.5, Board.fall_silent),
        ProbeTimeoutError,
        "did not end within its deadline",
        "hangs",
    ),
    "ends in the middle": Fault(
        after_begin(3.3, Board.fall_silent),
        ProbeError,
        "stopped in the middle, and nothing came",
        "cable",
    ),
    "babbles": Fault(after_begin(1.5, Board.babble), ProbeError, "not text any more", "restart it"),
    "logs for ever": Fault(
        after_begin(1.5, logs_for_ever),
        ProbeTimeoutError,
        "lines of others came between); the last line",
        "stopped",
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_each_fault_is_told_for_what_it_is(fault: Fault) -> None:
    board = Board(answers)
    fault.happens(board)
    error = refusal(board)
    assert isinstance(error, fault.kind), error
    assert fault.cause in error.cause and fault.remedy in error.remedy, str(error)
    assert board.now < 300.0


def test_a_probe_that_still_runs_is_ended_first() -> None:
    board = Board(long_test)
    with closing(transport(board)) as way:
        chunks = way.chunks(RUN, Limits(2000.0), StopLater(board, 10.0, is_abort=True))
        with pytest.raises(ProbeError):
            list(chunks)
    board.answers = answers
    assert output(board) == STREAM


def test_what_hangs_is_ended_by_ctrl_c() -> None:
    board = Board(answers)
    board.state = "hung"
    assert output(board) == STREAM


def test_a_given_prompt_is_looked_for() -> None:
    board = Board(answers, prompt=b"12:00:01 board$ ")
    with closing(transport(board, "console:pty:/dev/pts/9,prompt=board$")) as way:
        assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM


def test_a_port_that_loses_what_is_typed_fast_is_typed_slowly() -> None:
    """As one whose receive buffer has a few bytes."""
    board = Board(answers)
    take = board.take
    board.take = lambda data: take(data[:20])  # type: ignore[method-assign]
    with closing(transport(board)) as way:
        assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM
        count = len([one for one in board.commands if one])
        assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM
    assert len([one for one in board.commands if one]) == count + 1  # the pace is kept


def test_log_lines_at_the_prompt_do_no_harm() -> None:
    board = Board(answers)

    def log() -> None:
        board.send(b"\n" + LOG + b"\n")
        board.after(7.0, log)

    board.after(0.1, log)
    for _ in range(3):
        assert output(board) == STREAM


# ---- frames ----


def frames(data: bytes) -> list[ConsoleFrame]:
    return ConsoleReader().feed(data)


def test_a_mutilated_frame_whose_json_looks_right_is_never_taken() -> None:
    """Every byte of a frame lost, doubled or flipped in each bit: the digits of a figure too."""
    right = ConsoleFrame("ab12", 7, ".", b'{"type":"series","max_ns":158000}')
    line = right.encode()
    assert frames(line) == [right]
    tried = 0
    for at in range(len(line) - 1):
        one = line[at : at + 1]
        others = [b"", one * 2, *(bytes([one[0] ^ 1 << bit]) for bit in range(8))]
        for other in others:
            found = frames(line[:at] + other + line[at + 1 :])
            assert found in ([], [right]), (at, other)
            tried += 1
    assert tried > 500


def test_lines_of_others_and_escapes_around_a_frame_are_left_out() -> None:
    right = ConsoleFrame("ab12", 7, "+", "ä".encode() * 60)
    line = right.encode().strip()
    around = (b"nsh> ", LOG, b"\x1b[31m", b"@hs:ab12 6 + 0badcafe cut")
    assert all(frames(before + line + b"\r\n") == [right] for before in around)
    assert frames(line[:30] + b"\x1b[6n" + line[30:] + b"\r\n") == [right]
    assert frames(LOG + b"\r\n" + line + line + b"\r\n\r\n") == [right, right]
    assert frames(line[:30] + LOG + b"\r\n" + line[30:] + b"\r\n") == []


def test_a_last_frame_without_its_line_end_counts_once_the_line_is_quiet() -> None:
    reader = ConsoleReader()
    last = ConsoleFrame("ab12", 7, "!", b"0 0 00000000")
    assert reader.feed(last.encode().strip()) == [] and reader.flush() == [last]
    assert reader.flush() == []


def test_a_line_that_never_ends_takes_no_memory() -> None:
    reader = ConsoleReader()
    for _ in range(100):
        assert reader.feed(b"x" * 10_000) == []
    assert len(reader.tail) <= 200


def taken(*passes: list[ConsoleFrame]) -> Passes:
    merged = Passes("ab12")
    for one in passes:
        merged.next_pass()
        for frame in one:
            merged.add(frame)
    return merged


def test_passes_are_merged_only_where_their_ends_agree() -> None:
    one = list(frames_of("ab12", Answer(b"1111\n" * 9)))
    other = list(frames_of("ab12", Answer(b"2222\n" * 9)))
    assert taken(one[:4] + one[5:], one[2:6]).whole() is not None
    assert taken(one[:4] + one[5:], other[:4] + other[5:]).whole() is None
    assert taken(one[:4] + one[5:], other[4:5]).whole() is None
    assert taken(one[:4] + one[5:], other[4:5], one).whole() is not None
    assert taken(one[:-1]).whole() is None
    assert taken(one[1:]).missing() == (1, len(one))


def test_a_whole_set_of_frames_that_is_not_what_the_last_says_is_dropped() -> None:
    right = list(frames_of("ab12", Answer(b"1111\n" * 9)))
    wrong = [*right[:4], ConsoleFrame("ab12", 4, ".", b"9999"), *right[5:]]
    merged = taken(wrong)
    assert merged.whole() is None
    for frame in right:
        merged.add(frame)
    found = merged.whole()
    assert found is not None and found.output == b"1111\n" * 9


def test_frames_of_another_command_are_left_out() -> None:
    merged = taken(list(frames_of("ffff", Answer(b"1\n"))))
    assert not merged.is_begun and merged.whole() is None and merged.strangers_count > 0


# ---- slow lines ----


def test_a_slow_line_takes_the_time_that_it_takes() -> None:
    """300 baud: the output alone takes longer than the command's deadline."""
    board = Board(answers, bytes_per_s=30.0)
    steps: list[str] = []
    way = transport(board)
    way.open(Notices(step=steps.append))
    assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM
    assert board.now > 2 * LIMITS.deadline_s
    assert any("receiving," in step and "KB" in step for step in steps)


def test_a_register_comes_in_parts_over_a_slow_line() -> None:
    board = Board(answers, bytes_per_s=960.0)
    with closing(target(board)) as found:
        found.open()
        assert found.probe_list() == sample.register()
    asked = [one.partition(" list ")[2] for one in board.commands if " list " in one]
    assert asked[0] == "--json --from 0 --count 4" and len(asked) >= 1


@pytest.mark.slow
def test_a_register_that_does_not_come_whole_comes_in_parts() -> None:
    """As where a log line comes every moment: 4 tests get through between two of them."""
    board = Board(answers, seed=3)

    def noisy(words: list[str]) -> Answer:
        board.faults = Faults() if "--from" in words else Faults(flip=0.02)
        return answers(words)

    board.answers = noisy
    with closing(target(board)) as found:
        found.open()
        assert found.probe_list() == sample.register()


def test_a_register_in_parts_that_has_too_few_tests_is_refused() -> None:
    def short(words: list[str]) -> Answer:
        register = msgspec.json.decode(part_of_register(words), type=type(sample.register()))
        register.of = 99
        register.tests = [] if register.tests == [] else register.tests
        return Answer(msgspec.json.encode(register) + b"\\n")

    with closing(target(Board(short, bytes_per_s=960.0))) as found, pytest.raises(InputError):
        found.probe_list()


def test_a_line_that_is_given_back_is_closed_and_opened_again() -> None:
    opened: list[Line] = []
    board = Board(answers)

    def opener(settings: object) -> Line:
        opened.append(board)
        return board

    way = ConsoleTransport(parse_console("console:/dev/ttyUSB0"), opener, clock=board.clock)
    way.close()
    way.open()
    way.close()
    way.open()
    assert len(opened) == 2


def test_a_guest_that_answers_no_more_is_booted_again(tmp_path: Path) -> None:
    image = tmp_path / "image"
    boards = [Board(answers), Board(answers)]
    left = iter(boards)
    settings = parse_console(f"console:qemu:{image}")
    warned: list[str] = []
    way = ConsoleTransport(settings, lambda _: next(left), clock=lambda: sum(b.now for b in boards))
    way.open(Notices(warn=warned.append))
    boards[0].fall_silent()
    assert b"".join(way.chunks(RUN, LIMITS, Stop())) == STREAM
    assert boards[0].is_closed
    assert len(warned) == 1 and "booting the guest again" in warned[0]


def test_run_options_pass_a_shell() -> None:
    board = Board(answers)
    with closing(target(board)) as found:
        options = RunOptions(cpu=0, priority=80, counter_hz=62_500_000, dma_latency_us=0)
        lines = list(found.run(sample.planned(), options, "/nowhere/1.rec", Stop()))
    assert b"".join(line + b"\n" for line in lines) == STREAM


def test_the_banner_of_a_boot_is_no_prompt() -> None:
    board = Board(answers)
    board.send(BANNER)
    board.after(0.5, board.back_at_prompt)
    assert output(board) == STREAM
