"""FIO-P-SYN, -PRE, -STR and -PRI: where their files and those of their load are, and that nothing
of them is left."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests import machine
from tests.host.test_lock_leftovers import state_of
from tests.running import has_ended, measuring, measuring_thread, run
from tests.waiting import soon, wait_until

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

SYN, PRE, STR, PRI = TESTS = ("FIO-P-SYN", "FIO-P-PRE", "FIO-P-STR", "FIO-P-PRI")
FEW = ["--samples", "60"]
LONG = ["--samples", "0", "--duration-ns", "30s"]
MOMENTS = 3
MIB = 1 << 20
SMALL = {STR: ["-p", f"file_bytes={16 * MIB}"]}  # else it writes 2 GiB before it measures


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files of a test"
    made.mkdir()
    return made


def with_words(folder: Path) -> set[int]:
    """Processes whose command line names the folder."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(folder) in (path / "cmdline").read_bytes().split(b"\0"):
                found.add(int(path.name))
        except OSError:
            continue
    return found


def files_in(folder: Path) -> set[str]:
    """Open files of all processes in the folder, with or without names."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            for path in (process / "fd").iterdir():
                with suppress(OSError):
                    found.add(str(path.readlink()))
    return {where for where in found if where.startswith(f"{folder}/")}


def test_the_load_writes_to_the_same_folder(probe: Path, quick: list[str], folder: Path) -> None:
    words = ["--load", "disk=10ms/100ms", "--dir", str(folder), *quick]
    with measuring(probe, SYN, *LONG, *words) as running:
        measuring_thread(running.pid)  # the preparation opens files too, for a moment
        assert soon(lambda: len(files_in(folder)) >= 2), state_of(running)
        running.stopped()
    assert not list(folder.iterdir())


@pytest.mark.parametrize("test", TESTS)
def test_a_kill_leaves_nothing(probe: Path, quick: list[str], folder: Path, test: str) -> None:
    for number in range(MOMENTS):
        words = [*LONG, *SMALL.get(test, []), "--dir", str(folder), *quick]
        with measuring(probe, test, *words) as running:
            measuring_thread(running.pid)
            time.sleep(0.1 * number)
            os.kill(running.pid, signal.SIGKILL)
            running.process.wait()
        assert soon(lambda: not with_words(folder))
        assert soon(lambda: not list(folder.iterdir()))
        assert not list(Path("/dev/shm").glob(f"hardstone-{running.pid}-*"))


def test_a_kill_leaves_nothing_where_files_have_names(
    shared_probe: Path,
    broken_libc: Path,
    folder: Path,
    quick: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HARDSTONE_BROKEN", "no_anonymous")
    monkeypatch.setenv("LD_PRELOAD", str(broken_libc))
    with measuring(shared_probe, SYN, *LONG, "--dir", str(folder), *quick) as running:
        measuring_thread(running.pid)
        assert [path.name.split("-")[0] for path in folder.iterdir()] == ["hardstone"]
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
    assert soon(lambda: not list(folder.iterdir()))


def test_two_of_them_do_not_meet(probe: Path, quick: list[str], folder: Path) -> None:
    words = ["--seed", "1", "--dir", str(folder), *quick]
    with measuring(probe, SYN, *LONG, *words) as running:
        measuring_thread(running.pid)
        second = run(probe, SYN, *FEW, *words)
        first = running.stopped()
    for stream in (first, second):
        assert stream.result.status == "measured", stream.result.reason


def test_a_killed_writer_fails_the_test(probe: Path, quick: list[str], folder: Path) -> None:
    words = ["-p", "mode=rt_cpu", *LONG, "--dir", str(folder), *quick]
    with measuring(probe, PRI, *words) as running:
        measuring_thread(running.pid)
        writer = wait_until(lambda: writer_of(running.pid, folder))
        if writer > 0:
            os.kill(writer, signal.SIGKILL)
        stream = running.rest()
    assert (stream.result.status, stream.code) == ("failed", 3)
    assert "background writer" in (stream.result.reason or "")


def writer_of(probe: int, folder: Path) -> int:
    """The child that has written, which takes an ordinary process a while; 0: none yet; -1: the
    probe has ended, as one does from which others take the CPU."""
    if has_ended(probe):
        return -1
    for pid in with_words(folder) - {probe}:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/io").read_text()
            if int(text.partition("wchar:")[2].split()[0]) >= MIB:
                return pid
    return 0
