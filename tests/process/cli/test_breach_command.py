"""The command of --on-threshold: how it is started, told of, and ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from hardstone.campaign import RunFinished
from hardstone.cli.breach_command import BreachCommand, command_words
from hardstone.cli.recording_told import PlainRecording
from hardstone.errors import EXIT_GATE, InputError
from hardstone.stats.watched import Breach
from tests.process.cli.recordings import last, lines, play
from tests.running import has_ended
from tests.waiting import wait_until

BREACH = Breach(value_ns=3000, threshold_ns=2500, at_ns=7, cpu=None)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sh -c 'echo why >&2; exit 3'", "sh failed with exit code 3: why"),
        ("sh -c 'kill -9 $$'", "sh was ended by signal 9"),
        ("true", ""),
    ],
)
def test_how_the_command_ended_is_told(
    capfd: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    one = BreachCommand(command_words(command))
    one.start(BREACH, "run", "local")
    one.finish()
    told = [
        line
        for line in capfd.readouterr().err.splitlines()
        if "waiting for" not in line  # a short command too takes long where others have the CPUs
    ]
    assert len(told) == bool(said) and said in "".join(told)


def test_a_command_that_hangs_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    one = BreachCommand(command_words("sleep 600"), deadline_s=0.2)
    one.start(BREACH, "run", "local")
    one.start(BREACH, "run", "local")  # the first still runs
    one.finish()
    assert "sleep did not end within" in capfd.readouterr().err


def test_a_command_that_went_away_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    one = BreachCommand(command_words(str(program)))
    program.unlink()
    one.start(BREACH, "run", "local")
    one.finish()
    assert "cannot be started: No such file" in capfd.readouterr().err


def test_its_output_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    loud = "i=0; while [ $i -lt 9000 ]; do echo 0123456789abcdef >&2; i=$((i+1)); done"
    with BreachCommand(command_words(f"sh -c '{loud}; yes | head -c 200000; exit 3'")) as one:
        with monkeypatch.context() as full:
            full.setattr(tempfile, "tempdir", str(tmp_path / "full"))
            one.start(BREACH, "run", "local")
        one.finish()
    assert "sh failed with exit code 3: 0123456789abcdef" in capfd.readouterr().err


def test_what_never_pauses_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    with BreachCommand(command_words("sh -c 'yes >&2'"), deadline_s=0.2) as one:
        one.start(BREACH, "run", "local")
        one.finish()
    assert "sh did not end within" in capfd.readouterr().err


def test_what_it_left_in_the_background_goes_on_and_is_not_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It has the output open, and answers when all is over."""
    ask, answer = tmp_path / "ask", tmp_path / "answer"
    for pipe in (ask, answer):
        os.mkfifo(pipe)
    command = f"sh -c '(read word < {ask}; echo $word > {answer}) & exit 3'"
    with BreachCommand(command_words(command)) as one:
        one.start(BREACH, "run", "local")
        one.finish()
    assert "sh failed with exit code 3" in capfd.readouterr().err
    asking, answering = (os.open(pipe, os.O_RDWR) for pipe in (ask, answer))
    os.write(asking, b"there\n")
    ready, _, _ = select.select([answering], [], [], 60)
    assert ready and os.read(answering, 6) == b"there\n"
    os.close(asking)
    os.close(answering)


def with_child(tmp_path: Path) -> tuple[list[str], Path]:
    """A command that waits for its child, and the pipe that says the numbers of both."""
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    return command_words(f"sh -c 'sleep 600 & echo $$ $! > {pids}; wait'"), pids


@pytest.mark.parametrize("error", [None, OSError, KeyboardInterrupt])
def test_it_ends_with_its_children_whatever_ends_the_recording(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], error: type[BaseException] | None
) -> None:
    command, pids = with_child(tmp_path)
    with contextlib.suppress(OSError, KeyboardInterrupt), BreachCommand(command) as one:
        one.start(BREACH, "run", "local")
        shell, child = map(int, pids.read_text().split())
        if error is not None:
            raise error
    wait_until(lambda: has_ended(child), f"process {child} goes on")
    assert has_ended(shell)
    assert "sh was ended: interrupted" in capfd.readouterr().err


def test_it_ends_with_its_children_at_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command, pids = with_child(tmp_path)
    with BreachCommand(command) as one:
        one.start(BREACH, "run", "local")
        shell, child = map(int, pids.read_text().split())
        one.poll()
        assert not has_ended(shell)
        later_s = time.monotonic() + 61
        with monkeypatch.context() as late:
            late.setattr(time, "monotonic", lambda: later_s)
            one.poll()
    wait_until(lambda: has_ended(child), f"process {child} goes on")
    assert has_ended(shell)
    assert "sh did not end within 1 min" in capfd.readouterr().err


def test_it_reads_nothing_that_is_typed(capfd: pytest.CaptureFixture[str]) -> None:
    reads, writes = os.pipe()
    os.write(writes, b"typed\n")
    kept = os.dup(0)
    os.dup2(reads, 0)
    try:
        with BreachCommand(command_words("sh -c 'read word; echo read=$word >&2; exit 3'")) as one:
            one.start(BREACH, "run", "local")
            one.finish()
    finally:
        os.dup2(kept, 0)
        for descriptor in (reads, writes, kept):
            os.close(descriptor)
    assert capfd.readouterr().err.endswith("exit code 3: read=\n")


@pytest.mark.parametrize("is_aborted", [False, True])
def test_who_quits_does_not_wait_for_it(
    capfd: pytest.CaptureFixture[str], *, is_aborted: bool
) -> None:
    # Who is aborted comes before the deadline, however long it takes to say so.
    deadline_s = 60.0 if is_aborted else 0.2
    with BreachCommand(command_words("sleep 600"), deadline_s) as one:
        one.start(BREACH, "run", "local")
        PlainRecording(one).take(RunFinished("run", is_aborted))
        one.finish()
    assert ("was ended: interrupted" in capfd.readouterr().err) == is_aborted


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_is_waited_for_ends_it_and_keeps_the_summary(
    root: Path, tmp_path: Path, number: signal.Signals
) -> None:
    target = play(tmp_path, lines(crossed_ns=2500, status="failed", reason="threshold crossed"))
    noted = tmp_path / "pid"
    os.mkfifo(noted)
    command = f"sh -c 'echo $$ > {noted}; exec sleep 600'"
    words = ("latstat", "--target", target, "--threshold", "2500ns", "--on-threshold", command)
    process = subprocess.Popen(
        [sys.executable, "-c", "from hardstone.cli.main import main; main()", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    assert process.stderr is not None
    told = []
    while "waiting for sh" not in (line := process.stderr.readline()):
        told.append(line)
        assert line, "".join(told)
    pid = int(noted.read_text())
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == EXIT_GATE, err
    assert "sh was ended: interrupted" in err
    assert has_ended(pid)
    assert last().id in out + "".join(told)


@pytest.mark.parametrize("words", ["", "'", "no-such-program"])
def test_words_that_are_no_command(words: str) -> None:
    with pytest.raises(InputError):
        command_words(words)
