"""A run under a preemption model puts back the one that it found, whoever ends it.

The kernel's switch is a file that was made up, mounted where nobody else sees it; so is the folder
of the journal. Guests have the real one.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.host.shielding import guard_of
from tests.machine import WAIT_S, status_number, wait_for_wakeups
from tests.running import Running, Stream, command, has_ended, run
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter"))),
    reason="only root can mount where nobody else sees it, with unshare and nsenter",
)

TEST = "TMR-P-LAT"  # which goes on where others take the CPU for a while
FOREVER = ("--duration-ns", "1h", "--samples", "0")
MANY = 300  # wake-ups; a thread that waits for the first look at the counters sleeps less often
DEBUGFS = "/sys/kernel/debug"
FOUND = "none voluntary (full) lazy"
KEEPER = f"""
mount -t tmpfs debugfs {DEBUGFS} && mount -t tmpfs run /run && mkdir {DEBUGFS}/sched || exit
echo mounted
exec cat
"""


@dataclass(frozen=True)
class Machine:
    """Seen by the process `keeper`, and by who enters its mount namespace."""

    keeper: int

    @property
    def _file(self) -> Path:
        return Path("/proc", str(self.keeper), "root", DEBUGFS[1:], "sched/preempt")

    @property
    def journal(self) -> Path:
        return Path("/proc", str(self.keeper), "root/run/hardstone-shield.journal")

    @property
    def model(self) -> str:
        """The marked word, or the only one: what was written last."""
        text = self.text
        return text.partition("(")[2].partition(")")[0] or text

    @property
    def text(self) -> str:
        return self._file.read_text()

    def switch(self, text: str) -> None:
        self._file.write_text(text)

    def inside(self, words: list[str]) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self.keeper}/ns/mnt", *words]

    def run(self, probe: Path, *options: str) -> Stream:
        return run(probe, TEST, "--samples", "50", *options, prefix=self.inside([]))


@pytest.fixture
def machine() -> Iterator[Machine]:
    keeper = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", KEEPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert keeper.stdout
    try:
        if keeper.stdout.readline() != b"mounted\n":
            pytest.skip("this kernel has no debugfs to mount over")
        made = Machine(keeper.pid)
        made.switch(FOUND)
        yield made
    finally:
        keeper.communicate(timeout=WAIT_S)


@contextmanager
def started(probe: Path, machine: Machine) -> Iterator[Running]:
    """A run under `none`, past the switch: it has locked its memory. It does not end by itself,
    however late the test comes to it."""
    words = machine.inside(command(probe, TEST, (*FOREVER, "--preemption", "none")))
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        running = Running(process, TEST)
        wait_until(lambda: status_number(Path(f"/proc/{process.pid}/status"), "VmLck") > 0)
        assert machine.model == "none"
        yield running
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


def test_restore_puts_back_what_both_have_left(probe: Path, machine: Machine) -> None:
    with started(probe, machine) as running:
        guard = guard_of(running.pid)
        os.kill(guard, signal.SIGSTOP)  # it cannot see the end of its owner
        running.process.kill()
        os.kill(guard, signal.SIGKILL)
    wait_until(lambda: has_ended(guard))  # till then the journal is held, and not left behind
    text = machine.run(probe).events["not_put_back"].text
    assert "had changed the preemption model and ended without restoring" in text
    assert machine.model == "none"
    words = machine.inside([str(probe), "shield", "--restore"])
    done = subprocess.run(words, capture_output=True, timeout=WAIT_S, check=True)
    assert b"1 restored" in done.stdout + done.stderr
    assert machine.model == "full" and not machine.journal.exists()


def test_somebody_else_switches_it_meanwhile(probe: Path, machine: Machine) -> None:
    with started(probe, machine) as running:
        machine.switch("none voluntary full (lazy)")
        wait_for_wakeups(running.pid, MANY)  # without a value it would be skipped
        stream = running.stopped()
    assert stream.result.status == "failed"
    assert "the preemption model was switched to lazy" in str(stream.result.reason)
    assert "left alone" in stream.events["not_put_back"].text
    assert machine.model == "lazy" and not machine.journal.exists()


@pytest.mark.parametrize(
    ("models", "said"),
    [("(full) lazy", "no model 'none'; it offers (full) lazy"), ("", "sched/preempt")],
)
def test_what_the_kernel_does_not_offer(
    probe: Path, machine: Machine, models: str, said: str
) -> None:
    machine.switch(models)
    stream = machine.run(probe, "--preemption", "none")
    assert (stream.result.status, stream.code) == ("unsupported", 5)
    assert said in str(stream.result.reason)
    assert "--target lab:NAME" in str(stream.result.remedy)
    assert stream.result.conditions.preemption is None
    assert not machine.journal.exists()
