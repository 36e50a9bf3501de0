"""KRN-P-PRE leaves no process and no file, however it ends: both carry the name of its folder."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests import machine
from tests.running import Running, measuring, measuring_thread
from tests.waiting import soon

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

TEST = "KRN-P-PRE"
LONG = ["-p", "operation=file,exec,copy,all", "--samples", "0", "--duration-ns", "30s"]
MOMENTS = 5


def with_folder(folder: Path) -> set[int]:
    """Processes that were started with this folder for their files."""
    word = f"TMPDIR={folder}".encode()
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if word in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
        except OSError:
            continue
    return found - {os.getpid()}


def shared_names(pid: int) -> list[Path]:
    return list(Path("/dev/shm").glob(f"hardstone-{pid}-*"))


def busy_process(running: Running) -> int:
    """The child of the probe that is time-shared and bound to one CPU."""
    measuring_thread(running.pid)
    for path in Path(f"/proc/{running.pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            if len(os.sched_getaffinity(child)) == 1:
                return child
    raise AssertionError("no busy process")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_kill_leaves_nothing(probe: Path, folder: Path, quick: list[str]) -> None:
    moments = random.Random(4)
    for _ in range(MOMENTS):
        with measuring(probe, TEST, *LONG, *quick) as running:
            measuring_thread(running.pid)
            time.sleep(moments.uniform(0, 0.3))
            assert len(with_folder(folder)) >= 2
            os.kill(running.pid, signal.SIGKILL)
            running.process.wait()
        assert soon(lambda: not with_folder(folder))
        assert soon(lambda: not list(folder.iterdir()))
        assert not shared_names(running.pid)


def test_a_kill_of_all_is_cleaned_up_by_the_next_run(
    probe: Path, folder: Path, quick: list[str]
) -> None:
    with measuring(probe, TEST, *LONG, *quick) as running:
        busy_process(running)
        for pid in with_folder(folder):
            with suppress(ProcessLookupError):  # it ends with the one before it
                os.kill(pid, signal.SIGKILL)
        running.process.wait()
    assert soon(lambda: not with_folder(folder))
    words = ["-p", "operation=file", "--samples", "20", *quick]
    with measuring(probe, TEST, *words) as running:
        assert running.rest().result.status == "measured"
    assert not list(folder.iterdir())


def test_a_stop_leaves_nothing(probe: Path, folder: Path, quick: list[str]) -> None:
    with measuring(probe, TEST, *LONG, *quick) as running:
        busy_process(running)
        stream = running.stopped()
    assert stream.result.status == "measured"
    assert not with_folder(folder)
    assert not list(folder.iterdir())


def test_a_killed_process_fails_the_test(probe: Path, folder: Path, quick: list[str]) -> None:
    with measuring(probe, TEST, *LONG, *quick) as running:
        os.kill(busy_process(running), signal.SIGKILL)
        stream = running.rest()
    assert (stream.result.status, stream.code) == ("failed", 3)
    assert "process that does the operations" in (stream.result.reason or "")
    assert not with_folder(folder)
    assert not list(folder.iterdir())
