"""However a measurement ends, what was measured is kept, and the end is told."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import termios
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.model import StreamHeader, StreamSeries
from hardstone.store.slots import SlotCopier, slot_paths
from hardstone.targets.host_memory import HostMemory
from tests import machine
from tests.running import GIVE_UP_S, Running, Stream, command, has_ended, measuring, run
from tests.waiting import wait_until

LONG = ["--duration-ns", "60s", "--samples", "0"]
SOME_COUNT = 100  # of wake-ups before the end
TESTS = ["TMR-P-LAT", "SEM-P-SIG", "CLK-P-BIN", "TMR-P-JIT", "SEM-P-RTP", "RSP-P-FIX"]

# Calibration would take all of a short deadline.
AT_ONCE = {"RSP-P-FIX": ["-p", "kinds=add", "-p", "add_operations=1000000"]}


@pytest.fixture
def backing() -> Iterator[Path]:
    folder = Path("/dev/shm")
    if not os.access(folder, os.W_OK):
        pytest.skip("there is no writable /dev/shm")
    path = folder / f"hardstone-test-{uuid.uuid4().hex}"
    yield path
    path.unlink(missing_ok=True)


def measured_and_labelled(stream: Stream) -> None:
    assert stream.code == 0
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.interrupted
    assert result.status == "measured"
    assert "stopped early" in (result.reason or "")
    assert stream.sample_count > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_what_was_measured(
    probe: Path, quick: list[str], number: signal.Signals
) -> None:
    with measuring(probe, "TMR-P-LAT", *LONG, *quick) as running:
        machine.wait_for_wakeups(running.pid, SOME_COUNT)
        measured_and_labelled(running.stopped(number))


def test_the_end_of_input_keeps_what_was_measured(probe: Path, quick: list[str]) -> None:
    with measuring(probe, "TMR-P-LAT", "--until-eof", *LONG, *quick) as running:
        machine.wait_for_wakeups(running.pid, SOME_COUNT)
        running.close_input()
        measured_and_labelled(running.rest())


def test_input_that_goes_on_ends_nothing(probe: Path, quick: list[str]) -> None:
    options = ["--until-eof", "--duration-ns", "400ms", "--samples", "0", *quick]
    with measuring(probe, "TMR-P-LAT", *options) as running:
        assert running.process.stdin is not None
        running.process.stdin.write(b"still here\n" * 100)
        running.process.stdin.flush()
        running.process.wait(timeout=GIVE_UP_S)
        stream = running.rest()
    assert stream.result.status == "measured" and not stream.result.interrupted


@pytest.mark.parametrize("test", TESTS)
def test_a_deadline_keeps_what_was_measured(probe: Path, quick: list[str], test: str) -> None:
    words = [*AT_ONCE.get(test, []), *LONG, *quick]
    stream = run(probe, test, "--deadline-ns", "600ms", *words)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.status == "timeout" and not result.interrupted
    assert "--deadline-ns" in (result.remedy or "")
    assert stream.sample_count > 0


def test_a_deadline_within_the_calibration_is_told(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "RSP-P-FIX", "--deadline-ns", "100ms", *LONG, *quick)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.status == "timeout" and stream.sample_count == 0
    assert "whetstone_operations" not in result.calibrated


@pytest.mark.parametrize("test", TESTS)
def test_a_killed_probe_leaves_its_samples(
    probe: Path, quick: list[str], backing: Path, test: str
) -> None:
    with measuring(probe, test, "--backing", str(backing), *LONG, *quick) as running:
        wait_until(lambda: dump(probe, backing, test).sample_count or has_ended(running.pid))
        running.process.kill()
        stream = running.rest()
    assert stream.of(StreamSeries) == []
    dumped = dump(probe, backing, test)
    assert isinstance(dumped.lines[0], StreamHeader)
    assert dumped.sample_count > 0
    result, problem = dumped.read_by_the_toolkit()
    assert problem is None and not result.complete
    assert result.status == "measured"
    assert (len(result.calibrated) == 3) == (test == "RSP-P-FIX")


def test_a_copy_made_at_work_is_read(
    probe: Path, quick: list[str], backing: Path, tmp_path: Path
) -> None:
    """Of a test that records all the time, so that most copies hold parts of several moments: what
    a power cut leaves. The file itself is read at work too."""
    copier = SlotCopier(HostMemory("", tmp_path), str(backing), slots := slot_paths(tmp_path, 1))
    words = ["-p", "kinds=unnamed", "-p", "scopes=thread"]
    with measuring(probe, "SEM-P-RTP", "--backing", str(backing), *words, *LONG, *quick) as running:
        wait_until(lambda: dump(probe, backing, "SEM-P-RTP").sample_count)
        for _ in range(10):
            copier.copy()
            for path in (backing, *filter(Path.exists, slots)):
                dumped = dump(probe, path, "SEM-P-RTP")
                result, problem = dumped.read_by_the_toolkit()
                assert problem is None and result.status == "measured"
        running.process.kill()


def dump(probe: Path, backing: Path, test: str) -> Stream:
    done = subprocess.run(
        [str(probe), "dump", str(backing), "--json"],
        capture_output=True,
        timeout=GIVE_UP_S,
        check=False,
    )
    return Stream(test, done.returncode, done.stdout, done.stderr.decode())


def test_a_backing_file_is_private_and_whole(probe: Path, quick: list[str], backing: Path) -> None:
    options = ["--samples", "500", "-p", "kinds=unnamed", "-p", "scopes=thread", *quick]
    stream = run(probe, "SEM-P-SIG", *options, "--backing", str(backing))
    assert backing.stat().st_mode & 0o777 == 0o600
    assert dump(probe, backing, "SEM-P-SIG").sample_count == stream.sample_count == 500


def test_a_backing_file_that_exists_is_refused(
    probe: Path, quick: list[str], backing: Path
) -> None:
    backing.write_bytes(b"mine")
    stream = run(probe, "SEM-P-SIG", "--samples", "5", "--backing", str(backing), *quick)
    assert stream.result.status == "failed" and stream.code == 3
    assert str(backing)[:60] in (stream.result.reason or "")
    assert backing.read_bytes() == b"mine"


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="only root can make a small file system, with unshare",
)
def test_a_full_file_system_is_told(probe: Path, tmp_path: Path) -> None:
    words = f"mount -t tmpfs -o size=128k tmpfs {tmp_path} && exec "
    words += f"{probe} run SEM-P-SIG --json --samples 5 --backing {tmp_path}/records"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", words], capture_output=True, check=False
    )
    if not done.stdout:
        pytest.skip(f"no small file system: {done.stderr.decode().strip()}")
    stream = Stream("SEM-P-SIG", done.returncode, done.stdout)
    assert stream.result.status == "denied"
    assert "No space left" in (stream.result.reason or "")
    assert stream.read_by_the_toolkit()[1] is None


def test_a_file_of_nobody_is_no_recording(probe: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"not a recording" * 20000)
    done = dump(probe, path, "TMR-P-LAT")
    assert (done.code, done.raw) == (2, b"")
    assert "not a record file" in done.stderr and done.stderr.count("\n") == 1


# ---- readers that go away or stop ----


def test_a_reader_that_goes_away_does_not_hang_it(probe: Path, quick: list[str]) -> None:
    options = ["--duration-ns", "300ms", "--samples", "0", *quick]
    with measuring(probe, "TMR-P-LAT", *options) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        code = running.process.wait(timeout=GIVE_UP_S)
    assert code in (70, -signal.SIGPIPE)


def test_a_full_disk_is_an_internal_error(probe: Path, quick: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(probe, "SEM-P-SIG", ["--samples", "100", *quick]),
            stdout=full,
            timeout=GIVE_UP_S,
            check=False,
        )
    assert done.returncode == 70


def test_a_stopped_reader_does_not_stop_the_machine(probe: Path, quick: list[str]) -> None:
    """More than a pipe holds, and nobody reads: while the probe waits to write, none of its
    threads may be one that others have to wait for. Its end is the last resort, a minute
    after the deadline, which is too long for here."""
    options = ["--duration-ns", "700ms", "--samples", "0", "-p", "via=syscall,vdso", *quick]
    with measuring(probe, "CLK-P-BIN", *options) as running:
        shrink(running)
        wait_until(lambda: has_ended(running.pid) or is_blocked(running))
        was_blocked = not has_ended(running.pid)
        policies = set(map(os.sched_getscheduler, machine.thread_ids(running.pid)))
        stream = running.rest()
    assert was_blocked
    assert policies == {os.SCHED_OTHER}
    assert stream.footer


def shrink(running: Running) -> None:
    assert running.process.stdout is not None
    fcntl.fcntl(running.process.stdout, getattr(fcntl, "F_SETPIPE_SZ", 1031), 4096)


def is_blocked(running: Running) -> bool:
    """The measuring thread has ended, and the other one has begun to write, which it does not do
    before, and sleeps."""
    assert running.process.stdout is not None
    is_alone = len(machine.thread_ids(running.pid)) == 1  # looked at first: then S is the write's
    unread = fcntl.ioctl(running.process.stdout, termios.FIONREAD, bytes(4))
    state = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return is_alone and any(unread) and state == "S"
