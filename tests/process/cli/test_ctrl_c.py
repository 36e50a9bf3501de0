"""Ctrl-C, once and several times, at moments of the tool's life that a test can choose."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.errors import EXIT_INTERRUPTED
from hardstone.store import Store
from tests.process.targets import sample

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
atexit.register(lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range({count})])
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
ENTRY = "from hardstone.__main__ import main; main()"


def start(
    tmp_path: Path, root: Path, site: str, *arguments: str, probe: Path | None = None
) -> subprocess.CompletedProcess[str]:
    folder = tmp_path / "site"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(site)
    named = {} if probe is None else {"HARDSTONE_PROBE": str(probe)}
    memory = tmp_path / "memory"  # a run that is ended at once leaves its recording there
    memory.mkdir(exist_ok=True)
    named["HARDSTONE_MEMORY_DIR"] = str(memory)
    return subprocess.run(
        [sys.executable, "-c", ENTRY, *arguments],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{root / 'src'}", **named},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "name",
    [
        "hardstone.cli.main",  # start-up
        "click",
        "hardstone.cli.runs",  # the command is known
        "hardstone.cli.open_store",  # it runs
        "hardstone.terminal.runs",  # it prints
    ],
)
def test_at_start_up_it_is_130_in_one_line(
    tmp_path: Path, root: Path, name: str, count: int
) -> None:
    site = AT_IMPORT.format(name=name, count=count)
    done = start(tmp_path, root, site, "runs", "--store", str(tmp_path / "store"))
    assert done.returncode == EXIT_INTERRUPTED, done.stderr
    assert done.stderr.endswith("hardstone: interrupted\n")
    assert "Traceback" not in done.stderr and done.stderr.count("interrupted") == 1


@pytest.mark.parametrize("count", [1, 2])
def test_when_all_is_said_the_exit_code_stands(tmp_path: Path, root: Path, count: int) -> None:
    done = start(tmp_path, root, AT_EXIT.format(count=count), "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hardstone ")


def test_what_a_finalizer_swallows_still_ends_it(tmp_path: Path, root: Path) -> None:
    done = start(tmp_path, root, IN_FINALIZER, "runs", "--store", str(tmp_path / "store"))
    assert done.returncode == EXIT_INTERRUPTED, done.stderr
    assert done.stderr.strip() == "hardstone: interrupted"


def test_a_ctrl_c_that_is_ignored_stays_so(tmp_path: Path, root: Path) -> None:
    site = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    site += AT_IMPORT.format(name="hardstone.cli.open_store", count=2)
    done = start(tmp_path, root, site, "runs", "--store", str(tmp_path / "store"))
    assert done.returncode == 0, done.stderr


def signalling_probe(tmp_path: Path, moment: str, count: int) -> Path:
    """A probe that sends SIGINT to the toolkit when it is asked for `moment`, while that is there:
    who adopts the probe then has done nothing."""
    register, facts = (
        json.dumps(json.loads((sample.GOLDEN / f"{name}.json").read_text()))
        for name in ("register", "facts")
    )
    body = (
        f"answers = {{'list': {register!r}, 'facts': {facts!r}}}\n"
        f"if sys.argv[1] == {moment!r} and not os.path.exists({str(tmp_path / 'sent')!r}):\n"
        f"    open({str(tmp_path / 'sent')!r}, 'w').close()\n"
        "    tool = os.getppid()\n"
        f"    for _ in range({count}):\n"
        "        if os.getppid() == tool: os.kill(tool, 2)\n"
        "        time.sleep(0.05)\n"
        "if sys.argv[1] in answers:\n    lines(answers[sys.argv[1]]); sys.exit(0)\n"
        f"lines(*{sample.stream('SEM-P-SIG')!r})\n"
    )
    return sample.executable(tmp_path, body)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("moment", ["list", "facts", "run"])
def test_while_the_probe_is_asked_it_is_130_without_a_traceback(
    tmp_path: Path, root: Path, moment: str, count: int
) -> None:
    path = signalling_probe(tmp_path, moment, count)
    store = tmp_path / "store"
    done = start(
        tmp_path, root, "", "run", "SEM-P-SIG", "--store", str(store), "--quiet", probe=path
    )
    assert done.returncode == EXIT_INTERRUPTED, done.stderr
    assert "Traceback" not in done.stderr and "KeyboardInterrupt" not in done.stderr
    if moment == "run" and count == 1:
        assert Store(store).load("last").results[0].series != []
    if moment == "run" and count == 2:  # the second ends it at once: what came before it stays
        result = Store(store).load("last").results[0]
        assert result.series != [] or result.reason == "ended at once, on request"


WHILE_STORING = """
import os, signal, sys
import sqlite3
real = os.fsync
def fsync(descriptor):
    path = os.readlink(f"/proc/self/fd/{descriptor}")
    if "/runs" in path and not getattr(fsync, "was", False):
        fsync.was = True
        os.kill(os.getpid(), signal.SIGINT)
    return real(descriptor)
os.fsync = fsync
"""


def test_while_the_run_is_stored_it_is_kept_and_130(tmp_path: Path, root: Path) -> None:
    path = signalling_probe(tmp_path, "never", 0)
    store = tmp_path / "store"
    done = start(
        tmp_path, root, WHILE_STORING, "run", "SEM-P-SIG", "--store", str(store), probe=path
    )
    assert done.returncode == EXIT_INTERRUPTED, done.stderr
    assert "Traceback" not in done.stderr
    document = Store(store).load("last")
    assert document.results[0].series[0].count == 2000


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
    root: Path, number: signal.Signals, before: str, said: str, *, is_ended: bool
) -> None:
    default = f"signal.signal({int(number)}, signal.SIG_DFL)"
    program = TERMINATED.format(
        before=f"{default}\n{before.format(number=int(number))}",
        send=f"os.kill(os.getpid(), {int(number)})",
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (said, -number if is_ended else 0)
