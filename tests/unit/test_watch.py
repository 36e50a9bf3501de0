"""How long a command of the probe is waited for, and what is said of its silence: on a clock that
is made up, and with files of a kernel that are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.targets.base import ProbeTimeoutError, Stop
from hardstone.targets.local import HaltCheck
from hardstone.targets.transport import Halt, Limits, Watch

SIGSTOP = Halt("(state T: SIGSTOP, or a debugger)", "continue it with kill -CONT 7")


class Course:
    """A command that is looked at twice a second, as by a process; `halt` is what is seen of it."""

    def __init__(self, **limits: float) -> None:
        self.now = 1000.0
        self.halt: Halt | None = None
        self.halts_seen = 0
        self.said: list[str] = []
        self.ended_at: float | None = None
        self._watch = Watch(Limits(**limits), Stop(), self._look, lambda: self.now)  # type: ignore[arg-type]

    def _look(self) -> Halt | None:
        self.halts_seen += 1
        return self.halt

    def _end(self) -> None:
        self.ended_at = self.now - 1000.0

    def until(self, second: float) -> str:
        """Silence until then; what was said last."""
        while self.now < 1000.0 + second:
            self.now += 0.5
            self._watch.look(lambda: None, self._end)
            if said := self._watch.said():
                self.said.append(said)
        return self.said[-1] if self.said else ""

    def output(self) -> None:
        self._watch.take_output(b"x")


def test_a_silent_probe_is_ended_at_its_deadline_and_told_before() -> None:
    course = Course(deadline_s=24.5, expected_s=2.0, end_s=5.0)
    assert course.until(7.0) == ""
    said = course.until(24.0)
    assert said.startswith("the probe has been silent for 8 s, and was expected to take about 2 s")
    assert "the run waits for it until " in said
    with pytest.raises(ProbeTimeoutError, match="did not end within its deadline of 24 s"):
        course.until(60.0)
    assert (course.ended_at, len(course.said)) == (24.5, 1)


def test_a_probe_that_still_sends_is_not_ended() -> None:
    course = Course(deadline_s=20.0, drain_s=60.0)
    for second in range(15, 75, 5):
        course.until(second)
        course.output()
    assert course.ended_at is None
    with pytest.raises(ProbeTimeoutError):
        course.until(100.0)
    assert course.ended_at == 80.0  # no trickle holds it longer


def test_what_is_sent_at_the_begin_moves_nothing() -> None:
    course = Course(deadline_s=20.0, drain_s=60.0)
    course.output()
    course.until(20.0)
    assert course.ended_at == 20.0


def test_a_stopped_probe_is_told_once_and_waited_for() -> None:
    course = Course(deadline_s=20.0, expected_s=2.0, halted_s=30.0)
    course.until(1.0)
    course.halt = SIGSTOP
    said = course.until(31.5)
    assert course.said == [said] and course.ended_at is None
    assert said.startswith(f"the probe is stopped {SIGSTOP.cause}; {SIGSTOP.remedy}; the run waits")
    with pytest.raises(ProbeTimeoutError, match=r"was stopped \(state T.* for 36 s and was ended"):
        course.until(60.0)
    assert course.ended_at == 32.0


def test_a_long_recording_keeps_its_deadline_while_it_is_stopped() -> None:
    course = Course(deadline_s=1000.0, halted_s=30.0)
    course.halt = SIGSTOP
    course.until(999.5)
    assert course.ended_at is None
    course.until(1000.0)
    assert course.ended_at == 1000.0


def test_the_time_of_a_stop_does_not_count() -> None:
    """What was granted for a person does not stay, and the silence is not told."""
    course = Course(deadline_s=20.0, expected_s=4.0, halted_s=30.0, end_s=0.5)
    course.until(1.0)
    course.halt = SIGSTOP
    course.until(26.0)
    course.halt = None
    assert course.until(27.0) == "the probe continues; it was stopped for about 26 s"
    assert course.until(35.0) == course.said[1]
    with pytest.raises(ProbeTimeoutError):
        course.until(60.0)
    assert course.ended_at == 46.0


def test_nobody_looks_more_than_once_a_second() -> None:
    course = Course(deadline_s=100.0)
    course.until(50.0)
    assert course.halts_seen == 50


def test_a_stop_of_the_tool_counts_for_neither() -> None:
    course = Course(deadline_s=20.0, expected_s=1.0)
    course.until(5.0)
    course.now += 3600.0
    course.until(3600.0 + 6.0)
    assert (course.ended_at, course.said) == (None, [])


# ---- who has stopped it ----

STAT = "7 (a probe) T) {} 1 7 7 0 -1"
MOUNTS = (
    "25 20 0:22 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "26 20 0:23 {root} {place}/freezer rw,nosuid - cgroup cgroup rw,freezer\n"
    "27 20 0:24 {root} {place}/unified rw - cgroup2 cgroup2 rw\n"
)


class Kernel:
    """The files of one process and its groups."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.proc = folder / "proc"
        self.write("proc/7/stat", STAT.format("S"))
        self.write("proc/7/cgroup", "0::/\n")
        self.write("proc/self/mountinfo", MOUNTS.format(root="/", place=folder))
        self.runs = 0
        self.run()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self) -> None:
        self.runs += 1
        self.write("proc/7/task/7/schedstat", "5 5 5\n")
        self.write("proc/7/task/8/schedstat", f"{self.runs} 5 5\n")

    def why(self) -> Halt | None:
        look = HaltCheck(7, self.proc)
        assert look.why() is None  # one look alone says nothing
        return look.why()


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_a_signal_and_a_debugger(kernel: Kernel) -> None:
    assert kernel.why() is None
    kernel.write("proc/7/stat", STAT.format("T"))
    assert kernel.why() == Halt(SIGSTOP.cause, "continue it with kill -CONT 7")
    kernel.write("proc/7/stat", STAT.format("t"))
    kernel.write("proc/7/status", "Name:\tx\nTracerPid:\t42\nUid:\t0\n")
    assert kernel.why() == Halt(
        "(state t: by a debugger with PID 42)", ("continue it in the debugger")
    )


def test_what_runs_is_not_stopped_and_its_state_is_not_read(kernel: Kernel) -> None:
    look = HaltCheck(7, kernel.proc)
    kernel.write("proc/7/stat", STAT.format("T"))  # as it is now, between two looks
    for _ in range(3):
        kernel.run()
        assert look.why() is None
    assert look.why() is not None


def v1(kernel: Kernel, group: str) -> None:
    kernel.write(f"freezer{group}/freezer.state", "FROZEN\n")


def v2(kernel: Kernel, group: str) -> None:
    kernel.write(f"unified{group}/cgroup.events", "populated 1\nfrozen 1\n")


@pytest.mark.parametrize(
    ("freeze", "line", "own", "remedy"),
    [
        (v1, "3:freezer:", "freezer.self_freezing", "echo THAWED > {}/freezer{}/freezer.state"),
        (v2, "0::", "cgroup.freeze", "echo 0 > {}/unified{}/cgroup.freeze"),
    ],
)
@pytest.mark.parametrize("asked", ["/a/b", "/a"])
def test_a_frozen_group_or_one_above_it(
    kernel: Kernel,
    freeze: Callable[[Kernel, str], None],
    line: str,
    own: str,
    remedy: str,
    asked: str,
) -> None:
    kernel.write("proc/7/cgroup", f"4:cpu:/x\n{line}/a/b\n")
    assert kernel.why() is None
    freeze(kernel, "/a/b")
    place = "freezer" if freeze is v1 else "unified"
    kernel.write(f"{place}{asked}/{own}", "1\n")
    assert kernel.why() == Halt(
        f"(its control group {asked} is frozen)",
        f"thaw it with {remedy.format(kernel.folder, asked)}",
    )


def test_a_group_of_a_container(kernel: Kernel) -> None:
    """What is mounted is a part of the hierarchy; a group outside of it cannot be seen."""
    kernel.write("proc/self/mountinfo", MOUNTS.format(root="/docker/c1", place=kernel.folder))
    v1(kernel, "/x")
    for path in ("/docker/c1/x", "/docker/c12/x", "/../x"):
        kernel.write("proc/7/cgroup", f"3:freezer:{path}\n")
        found = kernel.why()
        assert (found is not None) == (path == "/docker/c1/x")
    kernel.write("proc/self/mountinfo", MOUNTS.format(root="/", place=kernel.folder))
    kernel.write("proc/7/cgroup", "3:freezer:/x\n")
    assert kernel.why() is not None


def test_without_files_nothing_is_claimed(tmp_path: Path) -> None:
    look = HaltCheck(7, tmp_path)
    assert (look.why(), look.why()) == (None, None)
