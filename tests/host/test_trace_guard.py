"""A trace ends with its run, whoever ends that: in the kernel's own tracefs, mounted where nobody
else sees it, so that no other run removes what is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from hardstone.model import StreamTrace
from tests.machine import WAIT_S, cpu
from tests.running import Stream, command, run
from tests.waiting import wait_until


def has_thread_ids_of_the_kernel() -> bool:
    """Whether this is the first PID namespace, whose name is the same in every kernel."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink()) == "pid:[4026531836]"
    return False


pytestmark = [
    pytest.mark.skipif(
        not has_thread_ids_of_the_kernel(),
        reason="the kernel's events have other thread ids than those of this PID namespace",
    ),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter"))),
        reason="only root can mount where nobody else sees it, with unshare and nsenter",
    ),
]

TEST = "TMR-P-LAT"
MARK = "HARDSTONE_TEST_OF_TRACES"
PLACE = "/sys/kernel/tracing"
KEEPER = f"""
mount -t tracefs tracefs {PLACE} || exit
mkdir {PLACE}/instances/test-$$ && rmdir {PLACE}/instances/test-$$ || exit
echo mounted
exec cat
"""
TRACED = [("--trace",), ("-p", "parts=tracepoints"), ("--trace", "-p", "parts=tracepoints")]


@dataclass(frozen=True)
class Tracefs:
    """Mounted for the process `keeper`, and for who enters its mount namespace."""

    keeper: int

    def instances(self, pid: int) -> list[Path]:
        instances = Path("/proc", str(self.keeper), "root", PLACE[1:], "instances")
        return list(instances.glob(f"hardstone-{pid}-*"))

    def is_recording(self, pid: int, count: int) -> bool:
        with suppress(OSError):
            states = [(one / "tracing_on").read_text() for one in self.instances(pid)]
            return states == ["1\n"] * count
        return False


@dataclass(frozen=True)
class Probe:
    """A run that is traced. All of its processes have `mark` in their environment."""

    process: subprocess.Popen[bytes]
    mark: str

    def processes(self) -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self.mark.encode() in path.read_bytes():
                    found.append(path.parent.name)
        return found

    def rest(self) -> Stream:
        out, _ = self.process.communicate(timeout=WAIT_S)
        return Stream(TEST, self.process.returncode, out)


@pytest.fixture(scope="module")
def tracefs() -> Iterator[Tracefs]:
    words = ["unshare", "--mount", "sh", "-c", KEEPER]
    keeper = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert keeper.stdout
    try:
        if keeper.stdout.readline() != b"mounted\n":
            pytest.skip("this kernel has no tracefs, or lets nobody mount it")
        yield Tracefs(keeper.pid)
    finally:
        keeper.communicate(timeout=WAIT_S)


@contextmanager
def started(probe: Path, tracefs: Tracefs, duration: str, *words: str) -> Iterator[Probe]:
    mark = uuid4().hex
    options = ("--duration-ns", duration, "--samples", "0", "--cpu", str(cpu()), *words)
    process = subprocess.Popen(
        ["nsenter", f"--mount=/proc/{tracefs.keeper}/ns/mnt", *command(probe, TEST, options)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, MARK: mark},
    )
    try:
        yield Probe(process, mark)
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


def name(value: object) -> str:
    return "-".join(value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("words", TRACED, ids=name)
def test_the_end_of_a_run_leaves_nothing(
    probe: Path, tracefs: Tracefs, words: tuple[str, ...]
) -> None:
    with started(probe, tracefs, "50ms", *words) as running:
        stream = running.rest()
        assert stream.result.status == "measured"
        assert running.processes() == []
        assert tracefs.instances(running.process.pid) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGVTALRM], ids=["kill", "last resort"])
@pytest.mark.parametrize("words", TRACED, ids=name)
def test_what_a_killed_run_has_traced_goes_by_itself(
    probe: Path, tracefs: Tracefs, words: tuple[str, ...], number: signal.Signals
) -> None:
    count = sum(word != "-p" for word in words)
    with started(probe, tracefs, "1h", *words) as running:
        pid = running.process.pid
        wait_until(lambda: tracefs.is_recording(pid, count))
        running.process.send_signal(number)
        assert running.process.wait(WAIT_S) == -number
        wait_until(lambda: not tracefs.instances(pid))
        wait_until(lambda: not running.processes())


def test_a_breach_has_its_excerpt_and_nobody_is_blamed(probe: Path, tracefs: Tracefs) -> None:
    with started(probe, tracefs, "1h", "--trace", "-p", "threshold_ns=1") as running:
        stream = running.rest()
    assert stream.result.status == "failed"
    value_ns = stream.events["threshold_crossed"].data["value_ns"]
    (trace,) = [one for one in stream.of(StreamTrace) if one.value_ns == value_ns]
    assert any(line.endswith("the value ends") for line in trace.lines)
    assert not {"trace_switched_off", "trace_not_read"} & set(stream.events)


@pytest.mark.parametrize("words", TRACED[:2], ids=name)
def test_ids_of_another_namespace_are_not_taken(probe: Path, words: tuple[str, ...]) -> None:
    prefix = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace of its own can be had here")
    options = ("--duration-ns", "50ms", "--samples", "0", "--cpu", str(cpu()))
    stream = run(probe, TEST, *options, *words, prefix=prefix)
    assert stream.result.status == "unsupported"
    assert "PID namespace" in (stream.result.reason or "")
