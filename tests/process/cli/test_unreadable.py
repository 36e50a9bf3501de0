"""Messages and output that cannot be written: measuring goes on, and the exit code is true."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from hardstone.model import RunDocument
from hardstone.store import Store
from tests.process.cli.test_interrupt import measuring_pid, probe

pytestmark = pytest.mark.slow

PROGRAM = [sys.executable, "-c", "from hardstone.cli.main import main; main()"]
TESTS = ("SEM-P-SIG", "TMR-P-LAT")
FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.is_char_device(), reason="there is no /dev/full")


@contextmanager
def writer(name: str) -> Iterator[int]:
    """Something that cannot be written: a full device, or a pipe that nobody reads."""
    if name == "full":
        if not FULL.is_char_device():
            pytest.skip("there is no /dev/full")
        descriptor = os.open(FULL, os.O_WRONLY)
    else:
        read, descriptor = os.pipe()
        os.close(read)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def call(root: Path, *words: object, shell: str = "", **streams: Any) -> Any:
    command = [*PROGRAM, *(str(word) for word in words)]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    environment.pop("HARDSTONE_DEBUG", None)
    return subprocess.run(command, check=False, env=environment, **streams)


def whole(place: Path) -> RunDocument:
    """The one run of a store, which has every result."""
    document = Store(place).load("last")
    assert document.status == "complete"
    assert [(one.test, one.status) for one in document.results] == [
        (test, "measured") for test in TESTS
    ]
    return document


@pytest.mark.parametrize("quiet", [[], ["--quiet"]], ids=["plain", "quiet"])
@pytest.mark.parametrize("name", ["full", "pipe"])
def test_messages_that_nobody_reads_end_no_measurement(
    root: Path, target: str, tmp_path: Path, name: str, quiet: list[str]
) -> None:
    words = ["run", *TESTS, "--target", target, "--store", tmp_path / "s", "--json", *quiet]
    with writer(name) as descriptor:
        done = call(root, *words, stdout=subprocess.PIPE, stderr=descriptor)
    assert done.returncode == EXIT_OK
    assert json.loads(done.stdout)["id"] == whole(tmp_path / "s").id


def test_a_reader_of_both_streams_that_leaves(root: Path, target: str, tmp_path: Path) -> None:
    with writer("pipe") as descriptor:
        words = ["run", *TESTS, "--target", target, "--store", tmp_path / "s"]
        done = call(root, *words, stdout=descriptor, stderr=descriptor)
    assert done.returncode == EXIT_OK
    whole(tmp_path / "s")


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["summary", "json"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("full", "standard output cannot be written: No space left on device"),
        ("pipe", "the reader of the output left"),
    ],
)
def test_a_summary_that_cannot_be_written_is_said(
    root: Path, target: str, tmp_path: Path, form: list[str], name: str, problem: str
) -> None:
    with writer(name) as descriptor:
        words = ["run", *TESTS, "--target", target, "--store", tmp_path / "s", *form]
        done = call(root, *words, stdout=descriptor, stderr=subprocess.PIPE)
    said = done.stderr.decode()
    assert done.returncode == (EXIT_OK if name == "pipe" else EXIT_USAGE)
    assert problem in said
    assert f"stored as {whole(tmp_path / 's').id}" in said
    assert "internal error" not in said


@pytest.mark.parametrize("words", [["list", "--json"], ["list"], ["--help"], ["evaluate", "-h"]])
def test_output_that_cannot_be_written_is_one_line(
    root: Path, target: str, words: list[str]
) -> None:
    where = ["--target", target] if words[0] == "list" else []
    with writer("full") as descriptor:
        done = call(root, *words, *where, stdout=descriptor, stderr=subprocess.PIPE)
    assert done.returncode == EXIT_USAGE
    assert done.stderr == (
        b"hardstone: standard output cannot be written: No space left on device; "
        b"redirect it elsewhere\n"
    )


@pytest.mark.parametrize("shell", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(root: Path, target: str, tmp_path: Path, shell: str) -> None:
    words = ["run", *TESTS, "--target", target, "--store", tmp_path / "s"]
    done = call(root, *words, shell=shell, capture_output=True)
    assert done.returncode == EXIT_OK, done.stderr
    name = whole(tmp_path / "s").id.encode()
    assert (">&-" in shell.split()) == (name not in done.stdout)
    assert ("2>&-" in shell) == (b"hardstone: 2 of 2" not in done.stderr)
    assert (">&-" in shell.split()) == (done.stdout == b"")


@pytest.mark.parametrize("hears", [True, False], ids=["hangup", "nohup"])
def test_a_terminal_that_goes_away(root: Path, tmp_path: Path, hears: bool) -> None:
    """Closed while a test runs: with its hang-up an interrupt, without nothing at all."""
    body = (
        f"open({str(tmp_path / 'go')!r}).read()\n"
        "time.sleep(2.5)\nlines(*streams[sys.argv[2]])\n"  # more than two ticks of the live line
    )
    path = probe(tmp_path, measuring=body)
    for name in ("measuring", "go"):
        os.mkfifo(tmp_path / name)
    master, slave = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "HARDSTONE_PROBE": str(path)}
    environment["TERM"] = "xterm"
    take = "import fcntl, os, signal, termios; os.setsid(); fcntl.ioctl(2, termios.TIOCSCTTY, 0)\n"
    heard = f"signal.signal(signal.SIGHUP, signal.SIG_{'DFL' if hears else 'IGN'})\n"
    program = take + heard + "from hardstone.cli.main import main; main()"
    words = ["run", "SEM-P-SIG", "--store", str(tmp_path / "s"), "--json"]
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=slave,
            env=environment,
        )
        try:
            os.close(slave)
            measuring_pid(tmp_path)
            os.close(master)
            (tmp_path / "go").write_text("")
            code = process.wait()
        finally:
            process.kill()
            process.wait()
    document = Store(tmp_path / "s").load("last")
    assert json.loads((tmp_path / "out").read_bytes())["id"] == document.id
    assert document.results[0].status == "measured"
    assert code == (EXIT_INTERRUPTED if hears else EXIT_OK)


def test_a_stream_that_was_closed_in_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hardstone.cli.messages import tell

    with closing((tmp_path / "log").open("w")) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
    tell("nobody reads this")
