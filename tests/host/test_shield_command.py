"""COMMAND under `shield --` runs as if it had been started alone, but for its CPU and its class."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.host.shielding import (
    FOREVER,
    GIVE_UP_S,
    RESERVED,
    SHIELD_MARKS,
    Shield,
    State,
    all_is_back,
    command,
    guard_of,
    read_state,
    shielded,
)
from tests.running import children, has_ended, state_of
from tests.waiting import wait_until

pytestmark = SHIELD_MARKS

POLICIES = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR, "other": os.SCHED_OTHER}


@pytest.fixture
def before() -> State:
    return read_state()


# ---- its class, and that of what it makes ----

CLASSES = """
import json, os, subprocess, sys, threading
def me():
    task = threading.get_native_id()
    found.append((os.sched_getscheduler(task), os.sched_getparam(task).sched_priority,
                  sorted(os.sched_getaffinity(task))))
found = []
me()
thread = threading.Thread(target=me)
thread.start()
thread.join()
if len(sys.argv) == 1:
    done = subprocess.run([sys.executable, sys.argv[0], "child"], capture_output=True, check=True)
    found += json.loads(done.stdout)
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    ("options", "under", "policy", "priority"),
    [
        ([], [], "other", 0),
        (["--priority", "33"], [], "fifo", 33),
        (["--policy", "rr"], [], "rr", 50),
        (["--policy", "rr", "--priority", "99"], [], "rr", 99),
        ([], ["chrt", "-r", "7"], "rr", 7),
        (["--policy", "other"], ["chrt", "-f", "7"], "other", 0),
        (["--priority", "3"], ["chrt", "-r", "7"], "fifo", 3),
    ],
    ids=["none", "priority", "policy", "both", "inherited", "taken away", "changed"],
)
def test_the_class_of_the_command_its_threads_and_its_children(
    probe: Path,
    before: State,
    tmp_path: Path,
    options: list[str],
    under: list[str],
    policy: str,
    priority: int,
) -> None:
    if under and not shutil.which("chrt"):
        pytest.skip("chrt is not installed")
    script = tmp_path / "classes.py"
    script.write_text(CLASSES)
    line = command(probe, sys.executable, str(script))
    line[line.index("--") : line.index("--")] = options
    done = subprocess.run([*under, *line], capture_output=True, timeout=GIVE_UP_S, check=False)
    assert done.returncode == 0, done.stderr
    wanted = [POLICIES[policy], priority, [RESERVED]]
    assert json.loads(done.stdout) == [wanted] * 4
    all_is_back(before)


# ---- what it finds ----

SELF = """
import json, os, resource, signal
status = open("/proc/self/status").read().splitlines()
print(json.dumps({
    "files": {n: os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
              if os.path.exists(f"/proc/self/fd/{n}")},
    "signals": [l for l in status if l.startswith(("SigBlk", "SigIgn"))],
    "rights": [l for l in status if l.startswith(("Cap", "Uid", "Gid", "Groups", "NoNewPrivs"))],
    "environment": dict(os.environ), "folder": os.getcwd(), "umask": os.umask(0),
    "nice": os.nice(0), "group": os.getpgid(0), "session": os.getsid(0),
    "limits": [resource.getrlimit(n) for n in range(16)],
}))
"""


def as_a_shell_would() -> None:
    """In the background and under nohup: some signals ignored, one blocked, niced."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH, signal.SIGUSR1])
    os.umask(0o27)
    os.nice(3)
    os.setpgid(0, 0)


@pytest.mark.parametrize("prepare", [None, as_a_shell_would], ids=["plain", "in the background"])
def test_the_command_finds_what_it_would_alone(
    probe: Path, before: State, prepare: Callable[[], None] | None
) -> None:
    words = [sys.executable, "-c", SELF]
    found = []
    with open("/etc/hostname", "rb") as more:  # noqa: PTH123 - a descriptor that is handed down
        for line in (words, command(probe, *words)):
            done = subprocess.run(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=[more.fileno()],
                preexec_fn=prepare,
                env={"A": "b", "PATH": os.environ["PATH"]},
                timeout=GIVE_UP_S,
                check=True,
            )
            seen = json.loads(done.stdout)
            seen["files"].pop("1")  # a pipe of its own each time
            if prepare:
                seen.pop("group")
            found.append(seen)
    assert found[0] == found[1]
    all_is_back(before)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("true",), 0),
        (("sh", "-c", "exit 41"), 41),
        (("sh", "-c", "kill -SEGV $$"), 139),
        (("no-such-command-of-hardstone",), 127),
        (("/etc/passwd",), 126),
    ],
    ids=["fine", "fails", "crashes", "not there", "not executable"],
)
def test_the_exit_code_is_that_of_the_command(
    probe: Path, before: State, words: tuple[str, ...], code: int
) -> None:
    done = subprocess.run(command(probe, *words), capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    all_is_back(before)


# ---- signals ----

TELL_SIGNAL = """
import signal
numbers = set(signal.valid_signals()) - {signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
came = signal.sigwaitinfo(numbers)
print(came.si_signo, came.si_code, flush=True)
"""
PASSED_ON = ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "VTALRM", "PROF")
REAL_TIME = ("RTMIN", "RTMAX")
SI_QUEUE = -1


@pytest.mark.parametrize("name", [*PASSED_ON, *REAL_TIME])
def test_a_signal_reaches_the_command(probe: Path, before: State, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    with shielded(command(probe, sys.executable, "-c", TELL_SIGNAL)) as process:
        process.send_signal(number)
        out, _ = process.communicate(timeout=GIVE_UP_S)
    assert process.returncode == 0 and int(out.split()[0]) == number
    all_is_back(before)


def test_a_signal_with_a_value_stays_one(probe: Path, before: State) -> None:
    if not shutil.which("kill"):
        pytest.skip("kill of util-linux is not installed")
    with shielded(command(probe, sys.executable, "-c", TELL_SIGNAL)) as process:
        words = ["kill", "-q", "77", "-s", "USR2", str(process.pid)]
        if subprocess.run(words, capture_output=True, check=False).returncode != 0:
            pytest.skip("this kill sends no values")
        out, _ = process.communicate(timeout=GIVE_UP_S)
    assert out.split() == [str(int(signal.SIGUSR2)).encode(), str(SI_QUEUE).encode()]
    all_is_back(before)


def the_command(process: Shield | int) -> int:
    pid = process if isinstance(process, int) else process.pid
    (inside,) = children(pid) - {guard_of(pid)}
    return inside


def test_stop_and_go_on(probe: Path, before: State) -> None:
    """Sent to the tool alone."""
    with shielded(command(probe, *FOREVER), is_session=False) as process:
        inside = the_command(process)
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state_of(inside) == "T", "the command does not stop")
        wait_until(lambda: state_of(process.pid) == "T", "the tool does not stop")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: state_of(inside) == "S", "the command does not go on")
        wait_until(lambda: state_of(process.pid) == "S", "the tool does not go on")
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    assert process.returncode == 128 + signal.SIGTERM
    all_is_back(before)


@pytest.mark.parametrize(("is_ignored", "code"), [(False, 128 + signal.SIGHUP), (True, 41)])
def test_a_signal_that_comes_while_the_cpu_is_reserved(
    probe: Path, before: State, is_ignored: bool, code: int
) -> None:
    """Pending from the first moment on: the command is not started, unless it is ignored."""

    def prepare() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
        os.kill(os.getpid(), signal.SIGHUP)

    words = command(probe, "sh", "-c", "echo started; exit 41")
    done = subprocess.run(words, capture_output=True, preexec_fn=prepare, check=False)
    assert done.returncode == code
    assert done.stdout == (b"started\n" if is_ignored else b"")
    all_is_back(before)


# ---- the terminal ----


@contextmanager
def on_a_terminal(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The process that leads the session of the terminal, and the other side of that. Keys reach it
    also where the tests themselves were started in the background, with signals ignored."""
    pid, terminal = pty.fork()
    if pid == 0:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(words[0], list(words))  # noqa: S606
    try:
        yield pid, terminal
    finally:
        with suppress(OSError):
            os.close(terminal)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def read_until(terminal: int, what: bytes | None) -> bytes:
    """None: until the last process of the terminal has gone."""
    shown = b""
    give_up_s = time.monotonic() + GIVE_UP_S
    while what is None or what not in shown:
        left_s = max(give_up_s - time.monotonic(), 0)
        assert select.select([terminal], [], [], left_s)[0], f"no {what!r} came after {shown!r}"
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the terminal has gone
            more = b""
        if not more:
            assert what is None, f"the terminal ended without {what!r} after {shown!r}"
            break
        shown += more
    return shown


def shell_with_jobs(*lines: str) -> list[str]:
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    return ["bash", "--norc", "-m", "-c", "\n".join(lines)]


def tool_below(shell: int) -> int:
    """The shield that a shell has started."""
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in children(shell) if len(children(pid)) == 2]
        return bool(found)

    wait_until(is_there, "the shell has started no shield")
    return found[0]


def test_ctrl_c_on_the_terminal(probe: Path, before: State) -> None:
    """The key reaches all processes of the terminal; COMMAND gets it once."""
    script = "trap 'echo caught; n=$((n+1)); sleep 0.2; exit $n' INT; echo ready; read x"
    with on_a_terminal(command(probe, "sh", "-c", script)) as (pid, terminal):
        shown = read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        shown += read_until(terminal, None)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert shown.count(b"caught") == 1
    all_is_back(before)


def test_ctrl_z_and_fg(probe: Path, before: State) -> None:
    words = " ".join(command(probe, "sh", "-c", "'echo ready; read x; exit 5'"))
    lines = shell_with_jobs(words, "echo stopped $?", "fg >&2", "echo ended $?")
    with on_a_terminal(lines) as (shell, terminal):
        read_until(terminal, b"ready")
        process = tool_below(shell)
        inside = the_command(process)
        os.write(terminal, b"\x1a")
        read_until(terminal, f"stopped {128 + signal.SIGTSTP}".encode())
        # fg has come by now, or comes
        wait_until(lambda: state_of(inside) == "S", "the command does not go on")
        os.write(terminal, b"word\n")
        assert b"ended 5" in read_until(terminal, b"ended 5")
        os.waitpid(shell, 0)
    assert has_ended(inside)
    all_is_back(before)


def test_reading_in_the_background_stops_it(probe: Path, before: State) -> None:
    words = " ".join(command(probe, "sh", "-c", "'read x; exit 6'"))
    lines = shell_with_jobs(f"{words} &", "echo first", "read y", "fg >&2", "echo ended $?")
    with on_a_terminal(lines) as (shell, terminal):
        read_until(terminal, b"first")
        process = tool_below(shell)
        inside = the_command(process)
        wait_until(lambda: state_of(inside) == "T", "the command reads in the background")
        wait_until(lambda: state_of(process) == "T", "the tool is not part of the job")
        os.write(terminal, b"for the shell\n")
        wait_until(lambda: state_of(inside) == "S", "the command does not go on")
        os.write(terminal, b"for the command\n")
        assert b"ended 6" in read_until(terminal, b"ended 6")
        os.waitpid(shell, 0)
    all_is_back(before)


def test_the_terminal_goes(probe: Path, before: State) -> None:
    """Of the session of a lost connection only the leader is told, which is the tool."""
    script = "trap 'exit 9' HUP; echo ready; while :; do sleep 0.1; done"
    with on_a_terminal(command(probe, "sh", "-c", script)) as (process, terminal):
        read_until(terminal, b"ready")
        inside = the_command(process)
        os.close(terminal)
        wait_until(lambda: has_ended(inside), "the command outlives its terminal")
        _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    all_is_back(before)
