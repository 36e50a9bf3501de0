"""Ctrl-C, SIGTERM and SIGHUP, once and several times, at moments that a test can choose; and
streams that cannot be written. Measuring goes on or ends as it should; the exit code is true."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hardstone.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from hardstone.model import RunDocument
from hardstone.store.store import Store
from tests.process.cli.forked import Forked
from tests.process.targets import sample
from tests.programs import ran

pytestmark = pytest.mark.slow

# Sends SIGINT to itself when a module is looked for: how fast the machine is does not matter.
AT_IMPORT = """
import os, signal, sys, threading

class Moment:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            for _ in range({count}):
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Moment())
"""
AT_EXIT = """
import atexit, os, signal
atexit.register(lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range(2)])
"""
IN_FINALIZER = """
import os, signal, sys

class Moment:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "hardstone.store":
            Moment()

sys.meta_path.insert(0, Finder())
"""
IGNORED = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
TOLD_AND_ENDED = (EXIT_INTERRUPTED, "hardstone: interrupted\n")


def start(folder: Path, root: Path, site: str, *words: str) -> tuple[int, str]:
    """The exit code and the messages of a new Python that begins with `site`."""
    (folder / "sitecustomize.py").write_text(site)
    done = ran(
        [sys.executable, "-c", "from hardstone.__main__ import main; main()", *words],
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{root / 'src'}",
            "HARDSTONE_MEMORY_DIR": str(folder),
        },
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "name",
    [
        "hardstone.cli.main",  # start-up
        "click",
        "hardstone.cli.runs",  # the command is known
        "hardstone.cli.open_store",  # it runs
        "hardstone.terminal.console",  # it prints
    ],
)
def test_at_start_up_it_is_130_in_one_line(
    tmp_path: Path, root: Path, name: str, count: int
) -> None:
    code, err = start(tmp_path, root, AT_IMPORT.format(name=name, count=count), "runs")
    assert (code, err.lstrip("\n")) == TOLD_AND_ENDED


@pytest.mark.parametrize(
    ("site", "word", "ended"),
    [
        (AT_EXIT, "--version", (0, "")),  # when all is said the exit code stands
        (IN_FINALIZER, "runs", TOLD_AND_ENDED),  # what a finalizer swallows still ends it
        # one that is ignored stays so
        (IGNORED + AT_IMPORT.format(name="hardstone.cli.open_store", count=2), "runs", (0, "")),
    ],
    ids=["at exit", "in a finalizer", "ignored"],
)
def test_at_odd_moments(
    tmp_path: Path, root: Path, site: str, word: str, ended: tuple[int, str]
) -> None:
    assert start(tmp_path, root, site, word) == ended


TERMINATED = """
import os, signal
from hardstone.cli.ctrl_c import unwind_on_termination
{before}
try:
    with unwind_on_termination():
        try:
            {send}
        finally:
            {send}
            print("ended", flush=True)
except KeyboardInterrupt:
    print("unwound", flush=True)
{send}
print("went on", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("before", "said", "is_ended"),
    [
        # The first unwinds, the second is ignored meanwhile, the third ends the process.
        ("", "ended\nunwound\n", True),
        ("signal.signal({number}, signal.SIG_IGN)", "ended\nwent on\n", False),
    ],
)
def test_where_a_termination_unwinds_it_does_so_once(
    number: signal.Signals, before: str, said: str, *, is_ended: bool
) -> None:
    default = f"signal.signal({int(number)}, signal.SIG_DFL)"
    program = TERMINATED.format(
        before=f"{default}\n{before.format(number=int(number))}",
        send=f"os.kill(os.getpid(), {int(number)})",
    )
    done = ran([sys.executable, "-c", program])
    assert (done.stdout, done.returncode) == (said, -number if is_ended else 0)


# ---- while the probe works ----

TESTS = ("SEM-P-SIG", "SEM-P-RTP")
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
MEASURES = "sys.stdin.read(); lines(*streams[sys.argv[2]])"


def probe(folder: Path, *, measuring: str, first: str = "") -> Path:
    """A probe that has register and facts, does `first`, and `measuring` when it runs a test."""
    answers = {
        word: json.dumps(json.loads((sample.GOLDEN / f"{name}.json").read_text()))
        for word, name in (("list", "register"), ("facts", "facts"))
    }
    streams = {test: sample.stream(test) for test in TESTS}
    body = (
        f"answers = {answers!r}\n"
        f"streams = {streams!r}\n{first}"
        "if sys.argv[1] in answers:\n    lines(answers[sys.argv[1]]); sys.exit(0)\n"
    )
    return sample.executable(folder, body + measuring)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Forked]:
    """Starts `hardstone run` of both tests with such a probe."""
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path))

    def call(path: Path, *words: str, **how: Callable[[], object]) -> Forked:
        monkeypatch.setenv("HARDSTONE_PROBE", str(path))
        return Forked("run", *TESTS, "--json", *words, **how)

    return call


Run = Callable[..., Forked]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("moment", ["list", "facts", "run"])
def test_while_the_probe_is_asked_it_is_130_without_a_traceback(
    run: Run, tmp_path: Path, moment: str, count: int
) -> None:
    """The probe signals while it has its parent: who adopts it then has done nothing."""
    sent = str(tmp_path / "sent")
    signals = (
        f"if sys.argv[1] == {moment!r} and not os.path.exists({sent!r}):\n"
        f"    open({sent!r}, 'w').close()\n"
        "    tool = os.getppid()\n"
        f"    for _ in range({count}):\n"
        "        if os.getppid() == tool: os.kill(tool, 2)\n"
        "        time.sleep(0.05)\n"
    )
    path = probe(tmp_path, measuring="lines(*streams[sys.argv[2]])", first=signals)
    with run(path, "--quiet") as tool:
        assert tool.wait() == EXIT_INTERRUPTED, tool.err
        assert "Traceback" not in tool.err and "KeyboardInterrupt" not in tool.err
    if moment == "run" and count <= 2:  # the second ends it at once: what came before it stays
        result = Store().load("last").results[0]
        is_at_once = count == 2 and result.reason == "ended at once, on request"
        assert result.series != [] or is_at_once


def interrupt_while_storing() -> None:
    """At the first file of a run that is put on the disk."""
    real, sent = os.fsync, []

    def fsync(descriptor: int) -> None:
        if "/runs" in str(Path(f"/proc/self/fd/{descriptor}").readlink()) and not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        real(descriptor)

    os.fsync = fsync


def test_while_the_run_is_stored_it_is_kept_and_130(run: Run, tmp_path: Path) -> None:
    path = probe(tmp_path, measuring="lines(*streams[sys.argv[2]])")
    with run(path, before=interrupt_while_storing) as tool:
        assert tool.wait() == EXIT_INTERRUPTED, tool.err
        assert "Traceback" not in tool.err
    assert [one.series[0].count for one in Store().load("last").results] == [2000, 2000]


def with_mark(folder: Path) -> str:
    """What tells `measuring_pid` that the probe measures."""
    os.mkfifo(folder / "measuring")
    return f"open({str(folder / 'measuring')!r}, 'w').write(str(os.getpid()))\n"


def measuring_pid(folder: Path) -> int:
    """Waits until the probe measures: a pipe with a name has a writer then."""
    return int((folder / "measuring").read_text())


def finish(tool: Forked) -> RunDocument:
    assert tool.wait() == EXIT_INTERRUPTED, tool.err
    document = Store().load("last")
    assert json.loads(tool.out)["id"] == document.id and document.status == "interrupted"
    return document


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_keeps_what_was_measured(
    run: Run, tmp_path: Path, number: signal.Signals
) -> None:
    with run(probe(tmp_path, measuring=with_mark(tmp_path) + MEASURES)) as tool:
        measuring_pid(tmp_path)
        tool.send(number)
        first, second = finish(tool).results
    assert (first.status, first.complete, first.series[0].count) == ("measured", True, 2000)
    assert (second.status, second.reason) == ("skipped", "not run: the run was interrupted")


def test_the_second_ends_at_once(run: Run, tmp_path: Path) -> None:
    hangs = with_mark(tmp_path) + STUBBORN + "sys.stdin.read(); time.sleep(600)"
    with run(probe(tmp_path, measuring=hangs)) as tool:
        pid = measuring_pid(tmp_path)
        tool.send(signal.SIGINT)
        tool.wait_for("Press Ctrl-C again to quit now")
        tool.send(signal.SIGINT)
        first, second = finish(tool).results
    assert (first.status, first.reason) == ("failed", "ended at once, on request")
    assert second.status == "skipped"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# ---- streams that cannot be written ----

BOTH = ("SEM-P-SIG", "TMR-P-LAT")
FULL = Path("/dev/full")


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


def whole() -> RunDocument:
    """The one run of the store, which has every result."""
    document = Store().load("last")
    assert document.status == "complete"
    assert [(one.test, one.status) for one in document.results] == [
        (test, "measured") for test in BOTH
    ]
    return document


@pytest.fixture
def measured(target: str) -> Callable[..., Forked]:
    return lambda *words, **how: Forked("run", *BOTH, "--target", target, *words, **how)


@pytest.mark.parametrize("quiet", [[], ["--quiet"]], ids=["plain", "quiet"])
@pytest.mark.parametrize("name", ["full", "pipe"])
def test_messages_that_nobody_reads_end_no_measurement(
    measured: Run, name: str, quiet: list[str]
) -> None:
    with writer(name) as descriptor, measured("--json", *quiet, err=descriptor) as tool:
        assert tool.wait() == EXIT_OK
        assert json.loads(tool.out)["id"] == whole().id


def test_a_reader_of_both_streams_that_leaves(measured: Run) -> None:
    with writer("pipe") as descriptor, measured(out=descriptor, err=descriptor) as tool:
        assert tool.wait() == EXIT_OK
    whole()


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["summary", "json"])
@pytest.mark.parametrize(
    ("name", "said"),
    [("full", ["standard output cannot be written: No space left on device"]), ("pipe", [])],
)
def test_a_summary_that_cannot_be_written_is_said_and_a_closed_pipe_is_not(
    measured: Run, form: list[str], name: str, said: list[str]
) -> None:
    with writer(name) as descriptor, measured(*form, out=descriptor) as tool:
        assert tool.wait() == (EXIT_OK if name == "pipe" else EXIT_USAGE)
        last = [line for line in tool.err.splitlines() if " about " not in line]
        told = [f"hardstone: {line}" for line in [*said, f"stored as {whole().id}:"]]
        assert last == [*told, f"    {last[-1].strip()}"]


@pytest.mark.parametrize("words", [["list", "--json"], ["list"], ["--help"], ["evaluate", "-h"]])
def test_output_that_cannot_be_written_is_one_line(target: str, words: list[str]) -> None:
    where = ["--target", target] if words[0] == "list" else []
    with writer("full") as descriptor, Forked(*words, *where, out=descriptor) as tool:
        assert tool.wait() == EXIT_USAGE
        assert tool.err == (
            "hardstone: standard output cannot be written: No space left on device; "
            "redirect it elsewhere\n"
        )


@pytest.mark.parametrize("closed", [[1], [2], [0, 1, 2]])
def test_streams_that_are_closed(measured: Run, closed: list[int]) -> None:
    def close() -> None:
        """As Python finds them when it starts."""
        for number in closed:
            os.close(number)
            setattr(sys, ("stdin", "stdout", "stderr")[number], None)

    with measured(before=close) as tool:
        assert tool.wait() == EXIT_OK, tool.err
        name = whole().id
        assert (1 in closed) == (tool.out == "") == (name not in tool.out)
        assert (2 in closed) == ("hardstone: 2 of 2" not in tool.err)


def test_a_program_of_which_all_streams_are_closed(target: str) -> None:
    words = [sys.executable, "-m", "hardstone", "run", *BOTH, "--target", target]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words], check=False)
    assert done.returncode == EXIT_OK
    whole()


@pytest.mark.parametrize("hears", [True, False], ids=["hangup", "nohup"])
def test_a_terminal_that_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, hears: bool
) -> None:
    """Closed while a test runs: with its hang-up an interrupt, without nothing at all."""
    body = (
        f"{with_mark(tmp_path)}open({str(tmp_path / 'go')!r}).read()\n"
        "time.sleep(2.5)\nlines(*streams[sys.argv[2]])\n"  # more than two ticks of the live line
    )
    os.mkfifo(tmp_path / "go")
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe(tmp_path, measuring=body)))
    monkeypatch.setenv("TERM", "xterm")
    master, slave = pty.openpty()

    def take() -> None:
        os.close(master)
        os.setsid()
        fcntl.ioctl(2, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL if hears else signal.SIG_IGN)

    with Forked("run", "SEM-P-SIG", "--json", err=slave, before=take) as tool:
        os.close(slave)
        measuring_pid(tmp_path)
        os.close(master)
        (tmp_path / "go").write_text("")
        assert tool.wait() == (EXIT_INTERRUPTED if hears else EXIT_OK)
        document = Store().load("last")
        assert json.loads(tool.out)["id"] == document.id
    assert document.results[0].status == "measured"


def test_a_stream_that_was_closed_in_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from hardstone.cli.messages import tell

    with closing((tmp_path / "log").open("w")) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
    tell("nobody reads this")
