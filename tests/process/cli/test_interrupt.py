"""Ctrl-C and SIGTERM, on a real process with a real child."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hardstone.errors import EXIT_INTERRUPTED
from hardstone.model import RunDocument
from hardstone.store import Store
from tests.process.targets import sample

pytestmark = pytest.mark.slow

STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def probe(tmp_path: Path, *, measuring: str) -> Path:
    """A probe that has register and facts, and does `measuring` when it runs a test."""
    register, facts = (
        json.dumps(json.loads((sample.GOLDEN / f"{name}.json").read_text()))
        for name in ("register", "facts")
    )
    streams = {test: sample.stream(test) for test in ("SEM-P-SIG", "SEM-P-RTP")}
    body = (
        f"answers = {{'list': {register!r}, 'facts': {facts!r}}}\n"
        f"streams = {streams!r}\n"
        "if sys.argv[1] in answers:\n    lines(answers[sys.argv[1]]); sys.exit(0)\n"
        f"open({str(tmp_path / 'measuring')!r}, 'w').write(str(os.getpid()))\n"
    )
    return sample.executable(tmp_path, body + measuring)


@contextmanager
def running(tmp_path: Path, root: Path, path: Path) -> Iterator[subprocess.Popen[str]]:
    """`hardstone run` of two tests, once the probe measures the first."""
    os.mkfifo(tmp_path / "measuring")
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from hardstone.cli.main import main; main()"),
            *("run", "SEM-P-SIG", "SEM-P-RTP", "--store", str(tmp_path / "store"), "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "HARDSTONE_PROBE": str(path)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def measuring_pid(tmp_path: Path) -> int:
    """Waits until the probe measures: a pipe with a name has a writer then."""
    return int((tmp_path / "measuring").read_text())


def finish(process: subprocess.Popen[str], tmp_path: Path) -> tuple[RunDocument, str]:
    out, err = process.communicate()
    assert process.returncode == EXIT_INTERRUPTED, err
    document = Store(tmp_path / "store").load("last")
    assert json.loads(out)["id"] == document.id
    return document, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_keeps_what_was_measured(
    tmp_path: Path, root: Path, number: signal.Signals
) -> None:
    path = probe(tmp_path, measuring="sys.stdin.read(); lines(*streams[sys.argv[2]])")
    with running(tmp_path, root, path) as process:
        measuring_pid(tmp_path)
        process.send_signal(number)
        document, _ = finish(process, tmp_path)
    first, second = document.results
    assert document.status == "interrupted"
    assert (first.status, first.complete, first.series[0].count) == ("measured", True, 2000)
    assert (second.status, second.reason) == ("skipped", "not run: the run was interrupted")


def test_the_second_ends_at_once(tmp_path: Path, root: Path) -> None:
    path = probe(tmp_path, measuring=STUBBORN + "sys.stdin.read(); time.sleep(600)")
    with running(tmp_path, root, path) as process:
        pid = measuring_pid(tmp_path)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        while "Press Ctrl-C again to quit now" not in (line := process.stderr.readline()):
            assert line, "it ended without saying so"
        process.send_signal(signal.SIGINT)
        document, _ = finish(process, tmp_path)
    first, second = document.results
    assert document.status == "interrupted"
    assert (first.status, first.reason) == ("failed", "ended at once, on request")
    assert second.status == "skipped"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_killed_tool_is_recovered_by_the_next_command(tmp_path: Path, root: Path) -> None:
    path = probe(tmp_path, measuring="sys.stdin.read(); lines(*streams[sys.argv[2]])")
    with running(tmp_path, root, path) as process:
        measuring_pid(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from hardstone.cli.main import main; main()"),
            *("runs", "--store", str(tmp_path / "store"), "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "HARDSTONE_PROBE": str(path)},
    )
    (entry,) = json.loads(done.stdout)
    assert entry["status"] == "incomplete"
    assert f"recovered {entry['id']}" in done.stderr
