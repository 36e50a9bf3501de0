"""The plugin for noise in tests/host: what is run again, what fails, and what is a witness."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Conditions, StreamEvent, StreamResult
from tests.host.noise import KERNEL_THREAD, TICK_S, Machine, Noise
from tests.running import STOLEN_NS, Stream

pytest_plugins = ["pytester"]

WITNESS = "the host stole 0.5 s"
Ended = tuple[pytest.RunResult, int]


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Callable[..., Ended]:
    """Runs a module of tests; `noisy` has a witness for each attempt, in turn. Gives its result,
    and how many attempts there were."""

    def run(module: str, noisy: list[bool], folder: str = "") -> Ended:
        attempts = iter(noisy)
        count = 0

        def watch() -> Callable[[], list[str]]:
            nonlocal count
            count += 1
            found = [WITNESS] if next(attempts) else []
            return lambda: found

        pytester.makepyfile(f"{HEAD}\n{module}")
        noise = Noise(pytester.path / folder, watch)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", plugins=[noise]), count

    return run


HEAD = """
import pytest
calls = []

@pytest.fixture(scope="session")
def recorded():
    calls.append("set up")
    yield len(calls)
    calls.append("torn down")
"""
SECOND = "def test_it(recorded):\n    assert recorded > 1, 'so early'"
NEVER = "def test_it(recorded):\n    assert not recorded, 'never'"
FINE = "@pytest.mark.parametrize('n', range({}))\ndef test_fine(n):\n    pass\n"


MISTYPED = "def test_it(mistyped):\n    pass"
CRASHED = """
from tests.running import Stream, noted

def test_it():
    assert noted(Stream("TMR-P-LAT", -11, b"")).code == 0, "crashed"
"""
CRASHED_IN_A_SHELL = """
from tests.running import note_crash

def test_it():
    note_crash("cpu", 128 + 11)
    assert 0, "crashed"
"""
LOADS = """
from tests.host.test_load import once

def test_it(tmp_path):
    probe = tmp_path / "probe"
    probe.write_text("#!/bin/sh\\nkill -SEGV $$")
    probe.chmod(0o755)
    once(probe, "cpu", tmp_path)
"""
MISCALLED = "def test_it():\n    (lambda: 1)(2)"
HANGS = """
import subprocess

def test_it():
    subprocess.run(["sleep", "60"], timeout=0.01)
"""
HANGS_AND_MORE = """
import subprocess

def test_it():
    try:
        subprocess.run(["sleep", "60"], timeout=0.01)
    finally:
        assert 0, "something else"
"""
AGAIN = f"*::test_it: passed in attempt 2, after *so early* ({WITNESS})"
LOST = "*failed without a witness in attempt 2*"


@pytest.mark.parametrize(
    ("module", "noisy", "folder", "outcome", "count", "line"),
    [
        # fixtures of every scope are set up anew
        (SECOND, [True, False], "", "passed", 2, AGAIN),
        (SECOND, [False], "", "failed", 1, ""),
        (SECOND, [True], "host", "failed", 0, ""),  # a test elsewhere
        (MISTYPED, [True], "", "errors", 1, ""),
        (NEVER, [True, False], "", "failed", 2, LOST),
        (CRASHED, [True], "", "failed", 1, ""),
        (CRASHED_IN_A_SHELL, [True], "", "failed", 1, ""),
        (LOADS, [True], "", "failed", 1, ""),
        (MISCALLED, [True], "", "failed", 1, ""),
        (HANGS, [True], "", "failed", 1, ""),
        (HANGS_AND_MORE, [True], "", "failed", 1, ""),
        (FINE.format(1), [True], "", "passed", 1, ""),
    ],
)
def test_only_a_failure_with_a_witness_is_run_again(
    suite: Callable[..., Ended],
    module: str,
    noisy: list[bool],
    folder: str,
    outcome: str,
    count: int,
    line: str,
) -> None:
    result, attempts = suite(module, noisy, folder=folder)
    result.assert_outcomes(**{outcome: 1})
    assert (result.ret, attempts) == (int(outcome != "passed"), count)
    if line:
        result.stdout.fnmatch_lines([line])
    if outcome == "passed" and count == 1:
        result.stdout.no_fnmatch_line("*repeated*")


@pytest.mark.parametrize(
    "module",
    [
        NEVER,
        "@pytest.fixture\ndef broken():\n    assert 0, 'never'\ndef test_it(broken):\n    pass",
        "@pytest.fixture\ndef late():\n    yield\n    assert 0, 'never'\n"
        "def test_it(late):\n    pass",
    ],
    ids=["call", "setup", "teardown"],
)
def test_what_fails_three_times_with_a_witness_is_inconclusive(
    suite: Callable[..., Ended], module: str
) -> None:
    result, count = suite(module, [True] * 3)
    assert (result.ret, count) == (0, 3)
    result.stdout.fnmatch_lines(["*inconclusive: 1 of 1*", f"*::test_it: *never* ({WITNESS})"])
    assert result.parseoutcomes()["inconclusive"] == 1
    assert "failed" not in result.parseoutcomes() and "errors" not in result.parseoutcomes()


@pytest.mark.parametrize(("fine", "code"), [(38, 0), (37, 1)])
def test_more_than_one_in_twenty_that_are_inconclusive_fail_the_session(
    suite: Callable[..., Ended], fine: int, code: int
) -> None:
    module = f"{NEVER}\n{NEVER.replace('test_it', 'test_other')}\n{FINE.format(fine)}"
    result, _ = suite(module, [True] * 6 + [False] * fine)
    assert result.ret == code
    assert result.parseoutcomes() == {"passed": fine, "inconclusive": 2}
    assert ("this machine is too noisy" in result.stdout.str()) == bool(code)


# ---- witnesses ----


class MadeUp:
    """A folder like /proc: of init 1, a shell 10 with this process 20 and its child 30, a build 40
    with a compiler 50, and a kernel thread 60."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.machine = Machine(folder, mark="MARK=1", own_pid=20)
        (folder / "pressure").mkdir()
        self.stolen(0)
        self.waited(cpu_us=0, io_us=0)
        for pid, parent in ((1, 0), (10, 1), (20, 10), (30, 20), (40, 1), (50, 40), (60, 0)):
            self.process(pid, parent, flags=KERNEL_THREAD if pid == 60 else 0)

    def stolen(self, ticks: int) -> None:
        (self.folder / "stat").write_text(f"cpu  9 9 9 9 9 9 9 {ticks} 0 0\ncpu0 9\n")

    def waited(self, cpu_us: int, io_us: int) -> None:
        for name, total in (("cpu", cpu_us), ("io", io_us)):
            text = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"
            (self.folder / "pressure" / name).write_text(text)

    def process(
        self,
        pid: int,
        parent: int,
        ticks: int = 0,
        of_children: int = 0,
        flags: int = 0,
        moved: int = 0,
        environment: bytes = b"",
    ) -> None:
        place = self.folder / str(pid)
        place.mkdir(exist_ok=True)
        fields = ["S", parent, 0, 0, 0, 0, flags, 0, 0, 0, 0, ticks, 0, of_children, 0]
        fields += [0, 0, 0, 0, pid]
        (place / "stat").write_text(f"{pid} (a name) {' '.join(map(str, fields))}\n")
        (place / "io").write_text(f"read_bytes: {moved}\nwrite_bytes: 0\n")
        (place / "environ").write_bytes(environment)


@pytest.fixture
def made_up(tmp_path: Path) -> MadeUp:
    return MadeUp(tmp_path)


def test_nothing_is_no_witness_and_stolen_time_is(made_up: MadeUp) -> None:
    witnesses = made_up.machine.watch()
    assert witnesses() == []
    made_up.stolen(5)
    (said,) = witnesses()
    assert said.startswith(f"the host stole {5 * TICK_S:.3f} s in ")


LONG_US = 10_000_000
CHANGES: list[tuple[str, Callable[[MadeUp], None], bool]] = [
    ("a build", lambda made: made.process(40, 1, ticks=50), True),
    ("what a build has waited for", lambda made: made.process(40, 1, of_children=50), True),
    ("a compiler of a build", lambda made: made.process(50, 40, ticks=50), True),
    ("one that is new", lambda made: made.process(70, 1, ticks=50), True),
    ("the shell", lambda made: made.process(10, 1, ticks=50), True),
    ("this process", lambda made: made.process(20, 10, ticks=50), False),
    ("a child of this process", lambda made: made.process(30, 20, ticks=50), False),
    ("what init has waited for", lambda made: made.process(1, 0, of_children=50), False),
    ("a kernel thread", lambda made: made.process(60, 0, ticks=50, flags=KERNEL_THREAD), False),
    (
        "an orphan of ours",
        lambda made: made.process(70, 1, ticks=50, environment=b"A=1\0MARK=1\0"),
        False,
    ),
    ("a tick of a daemon", lambda made: made.process(40, 1, ticks=1), False),
]


@pytest.mark.parametrize(
    ("change", "is_witness"), [one[1:] for one in CHANGES], ids=[one[0] for one in CHANGES]
)
def test_cpu_time_of_others_is_a_witness(
    made_up: MadeUp, change: Callable[[MadeUp], None], is_witness: bool
) -> None:
    witnesses = made_up.machine.watch()
    made_up.waited(cpu_us=LONG_US, io_us=0)
    change(made_up)
    assert bool(witnesses()) == is_witness


def test_cpu_time_of_others_is_none_if_it_is_counted_that_nobody_waited(made_up: MadeUp) -> None:
    for count in (0, 1):
        witnesses = made_up.machine.watch()
        made_up.process(40, 1, ticks=50 * (count + 1))
        assert len(witnesses()) == count
        for path in (made_up.folder / "pressure").iterdir():
            path.unlink()


@pytest.mark.parametrize(
    ("moved", "io_us", "is_witness"),
    [
        (1 << 21, LONG_US, True),
        (1 << 10, LONG_US, False),
        (1 << 21, 0, False),
    ],
)
def test_a_disk_that_others_use_is_a_witness(
    made_up: MadeUp, moved: int, io_us: int, is_witness: bool
) -> None:
    witnesses = made_up.machine.watch()
    made_up.process(40, 1, moved=moved)
    made_up.process(30, 20, moved=1 << 30)
    made_up.waited(cpu_us=0, io_us=io_us)
    assert bool(witnesses()) == is_witness


def test_this_machine_can_be_watched() -> None:
    machine = Machine()
    assert os.getpid() in machine.processes()
    assert isinstance(machine.watch()(), list)


def stream(code: int, *events: str, status: str = "failed", steal_ns: int = 0) -> Stream:
    lines: list[object] = [StreamEvent(name=name, at_ns=0, data={}, text="said") for name in events]
    if status:
        lines.append(
            StreamResult(
                status=status,  # type: ignore[arg-type]
                reason=None,
                remedy=None,
                interrupted=False,
                duration_ns=1,
                conditions=Conditions(),
                environment={"steal_ns": steal_ns},
            )
        )
    return Stream("TMR-P-LAT", code, b"\n".join(map(msgspec.json.encode, lines)))


@pytest.mark.parametrize(
    ("found", "is_witness"),
    [
        (stream(3, "throttled"), True),
        (stream(0, "idle_gap", status="measured", steal_ns=STOLEN_NS), True),
        (stream(0, "idle_gap", status="measured", steal_ns=STOLEN_NS - 1), False),
        (stream(0, status="measured"), False),
        (stream(-11, "throttled"), False),
        (stream(0, "throttled"), False),
        (stream(-6, "throttled", status=""), False),
        (stream(99, "idle_gap", status="measured", steal_ns=STOLEN_NS), False),
    ],
)
def test_a_run_that_crashes_or_ends_otherwise_than_it_says_has_no_witness(
    found: Stream, is_witness: bool
) -> None:
    assert bool(found.witness) == is_witness
