"""Whatever is run, whoever is killed and when: nothing of it is left. No process, no System V or
POSIX object, no file, no trace, no control group, no queued signal.

The kernel's settings and the CPUs of a shield: test_shield.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM, SIGVTALRM

import pytest

from tests import machine
from tests.host.loads import ONE_CPU, events, load_command, loading
from tests.host.place import Place
from tests.process.targets import sample
from tests.running import Running, children, has_ended, measuring_thread
from tests.waiting import soon, wait_until

pytestmark = machine.needs(machine.no_realtime())

HERE = ("--clock", "monotonic", "--cpu", str(machine.cpu()))
LONG = (*HERE, "--samples", "1000000000", "--deadline-ns", "60s")
GONE_S = 60  # only a failure waits so long
MIB = 1 << 20


def nothing_is_left(place: Place) -> None:
    assert soon(lambda: not place.left(), GONE_S), place.left()


# ---- test x moment x signal ----

Words = tuple[str, ...]
Moment = Callable[[Place, Running, str, Words], None]
End = tuple[Moment, signal.Signals]


def at_once(place: Place, running: Running, test: str, words: Words) -> None:
    """When the header is there: in the middle of what it prepares."""


def after(seconds: float) -> Moment:
    """From where its helpers are there, and its files are in use."""

    def moment(place: Place, running: Running, test: str, words: Words) -> None:
        count = helper_count(test, words)
        soon(lambda: len(children(running.pid)) >= count or has_ended(running.pid))
        try:
            if test.startswith(("FIO-P-", "KRN-P-")):
                measuring_thread(running.pid)
            assert len(children(running.pid)) >= count or test in BRIEF
        except AssertionError:
            if not has_ended(running.pid):
                raise  # who has ended is judged by what it said
        time.sleep(seconds)

    return moment


def when_traced(place: Place, running: Running, test: str, words: Words) -> None:
    count = trace_count(words)
    soon(lambda: place.is_traced(running.pid, count) or has_ended(running.pid))
    assert place.is_traced(running.pid, count) or has_ended(running.pid)


def trace_count(words: Words) -> int:
    return len({"--trace", "parts=tracepoints"} & set(words))


def helper_count(test: str, words: Words) -> int:
    """The children of a probe at work, with its guard."""
    if test in HELPER_COUNTS:
        return HELPER_COUNTS[test]
    if "scopes=process" in words:
        return 2
    return 1 if test.startswith(("SEM-P-", "MSG-P-", "SIG-")) else 0


HELPER_COUNTS = {"PWR-B-SIG": 3, "MEM-B-LCK": 4, "KRN-P-PRE": 2, "PRV-B-GRP": 1}
# They end by themselves at once, before some of the signals: one of these has to meet them.
BRIEF = {"SEM-B-LCK", "SEM-B-REL", "MUT-B-ARC", "MSG-B-PRI", "PRV-B-GRP", "FIO-B-ASY"}
SOON, AT_WORK, LATER = map(after, (0.01, 0.05, 0.2))
FEW: tuple[End, ...] = ((at_once, SIGKILL), (AT_WORK, SIGKILL), (AT_WORK, SIGTERM))
MANY = (*FEW, (SOON, SIGKILL), (LATER, SIGKILL), (AT_WORK, SIGINT))
EARLY = tuple((after(at_s), SIGKILL) for at_s in (0, 0.003, 0.006, 0.01, 0.02, 0.03))
TRACED = ((at_once, SIGKILL), *((when_traced, one) for one in (SIGKILL, SIGTERM, SIGVTALRM)))
TRACES: list[Words] = [
    ("--trace",),
    ("-p", "parts=tracepoints"),
    ("--trace", "-p", "parts=tracepoints"),
]
BETWEEN = ("-p", "scopes=process")
SMALL = ("-p", "sizes_bytes=64")
SYSV = ("-p", "kinds=sysv")


def kind(name: str) -> tuple[str, str]:
    return ("-p", f"kinds={name}")


# Beside each test of the register as it is by default. Whole seconds go into a large file.
DEFAULTS = {"FIO-P-STR": ("-p", f"file_bytes={16 * MIB}"), "MEM-B-LCK": ("-p", f"size_bytes={MIB}")}
CASES = [
    ("SEM-P-RTP", (*SYSV, *BETWEEN), MANY),
    ("SEM-P-SHF", (*kind("named"), *BETWEEN), MANY),
    ("SEM-P-ARC", (*SYSV, *BETWEEN, "-p", "waiters=128", "--priority", "90"), MANY),
    ("SEM-P-ARC", (*kind("named"), *BETWEEN, "-p", "waiters=8"), MANY),
    ("SEM-P-NEW", kind("named"), 3 * MANY),  # a name is there for a moment in each round
    ("SEM-P-NEW", SYSV, 3 * MANY),
    *(
        (test, (*kind(name), *BETWEEN, *SMALL), FEW)
        for test in ("MSG-P-LAT", "MSG-P-THR")
        for name in ("mq", "pipe", "fifo", "unix", "sysv", "ring")
    ),
    ("MSG-B-PRI", kind("mq"), (*EARLY, *MANY)),
    ("MSG-B-PRI", SYSV, (*EARLY, *MANY)),
    *(
        (test, (*BETWEEN, "-p", f"receivers={name}"), FEW)
        for test in ("SIG-P-LAT", "SIG-B-QUE")
        for name in ("handler", "sigwaitinfo")
    ),
    ("PRV-B-GRP", (), (*EARLY, *MANY)),  # an ordinary user does not die with its parent by itself
    ("FIO-B-ASY", kind("fifo"), (*EARLY, *MANY)),
    ("KRN-P-PRE", ("-p", "operation=file,exec,copy,all"), MANY),
    ("MEM-B-LCK", DEFAULTS["MEM-B-LCK"], MANY),
    *(("TMR-P-LAT", words, TRACED) for words in TRACES),
]


TESTS = [one.id for one in sample.register().tests]


def name(test: str, words: tuple[str, ...]) -> str:
    return " ".join((test, *(word for word in words if word != "-p")))


ALL_CASES = [*((test, DEFAULTS.get(test, ()), FEW) for test in TESTS), *CASES]


@pytest.mark.parametrize(
    ("test", "words", "ends"),
    ALL_CASES,
    ids=[name(*one[:2]) for one in ALL_CASES],
)
def test_nothing_is_left(
    probe: Path,
    place: Place,
    test: str,
    words: tuple[str, ...],
    ends: tuple[End, ...],
) -> None:
    if trace_count(words) and place.no_traces:
        pytest.skip(place.no_traces)
    met = [is_met(probe, place, test, words, *end) for end in ends]
    assert any(met) if test in BRIEF else all(met), met


def is_met(
    probe: Path, place: Place, test: str, words: Words, moment: Moment, number: signal.Signals
) -> bool:
    """Whether the signal has ended the test: not where it had ended by itself, for a reason."""
    with place.measuring(probe, test, *LONG, *words) as running:
        assert running.has_begun
        moment(place, running, test, words)
        if number in (SIGKILL, SIGVTALRM):
            running.process.send_signal(number)
            running.process.wait(GONE_S)
            stream = running.rest()
            is_ended_by_it = stream.code == -number
        else:
            stream = running.stopped(number)
            is_at_its_end = test in BRIEF and stream.code == -number  # it is no longer heard
            is_ended_by_it = is_at_its_end or stream.checked().result.interrupted
        if test in BRIEF and not is_ended_by_it:
            assert stream.checked().result.status == "measured", stream.raw[-300:]
    nothing_is_left(place)
    return is_ended_by_it


@pytest.mark.parametrize("words", TRACES, ids=" ".join)
def test_a_traced_run_that_ends_by_itself_leaves_nothing(
    probe: Path, place: Place, words: Words
) -> None:
    if place.no_traces:
        pytest.skip(place.no_traces)
    some = ("--samples", "0", "--duration-ns", "50ms")
    with place.measuring(probe, "TMR-P-LAT", *HERE, *some, *words) as running:
        assert running.rest().checked().result.status == "measured"
        assert not place.left()  # at once


# ---- helpers that are killed ----


def guard_and_helpers(running: Running) -> tuple[int, list[int]] | None:
    """Its children: the guard, which leads a session of its own, and the others. None until that
    session is there, for until then the guard looks like a helper."""
    session = {}
    for child in sorted(children(running.pid)):
        with suppress(ProcessLookupError):
            session[child] = os.getsid(child)
    guards = [child for child in session if session[child] == child]
    return (guards[0], [child for child in session if child not in guards]) if guards else None


def guard(running: Running) -> int:
    return wait_until(lambda: guard_and_helpers(running))[0]


def last_helper(running: Running) -> int:
    def helpers() -> list[int]:
        found = guard_and_helpers(running)
        return found[1] if found else []

    return wait_until(helpers)[-1]


def at_its_start(_: Running, __: int) -> None:
    """Also between its start and the first look at it."""


def has_measured(running: Running, _: int) -> None:
    machine.wait_for_wakeups(running.pid, 300)


def after_a_pause(running: Running, helper: int) -> None:
    """Which is no reason of its own."""
    time.sleep(0.05)
    os.kill(helper, signal.SIGSTOP)
    time.sleep(0.15)


def has_written(_: Running, helper: int) -> None:
    """A MiB, which takes an ordinary process a while."""

    def count() -> int:
        with suppress(OSError):
            text = Path(f"/proc/{helper}/io").read_text()
            return int(text.partition("wchar:")[2].split()[0])
        return MIB

    wait_until(lambda: count() >= MIB)


PARTY = "the process of the second party ended early"
HELPERS: list[tuple[str, tuple[str, ...], Callable[[Running, int], None], str]] = [
    *(
        ("SEM-P-RTP", (*kind(one), *BETWEEN), has_measured, PARTY)
        for one in ("unnamed", "named", "sysv", "eventfd", "futex", "mutex")
    ),
    ("SEM-P-RTP", (*kind("unnamed"), *BETWEEN), at_its_start, PARTY),
    ("SEM-P-SHF", (*kind("unnamed"), *BETWEEN), has_measured, PARTY),
    *(
        (
            "SEM-P-ARC",
            (*kind("unnamed"), *BETWEEN, "-p", "waiters=8"),
            moment,
            "waiters ended early",
        )
        for moment in (at_its_start, after_a_pause)
    ),
    *(
        ("MSG-P-LAT", (*kind(one), *BETWEEN, *SMALL), has_measured, PARTY)
        for one in ("mq", "pipe", "fifo", "unix", "sysv", "ring")
    ),
    *(
        (test, (*BETWEEN, "-p", f"receivers={one}"), at_its_start, "ended early")
        for test in ("SIG-P-LAT", "SIG-B-QUE")
        for one in ("handler", "sigwaitinfo")
    ),
    ("PWR-B-SIG", (), at_its_start, "ended early"),
    ("KRN-P-PRE", ("-p", "operation=all"), has_measured, "process that performs the operations"),
    ("FIO-P-PRI", ("-p", "mode=rt_cpu"), has_written, "background writer"),
]


@pytest.mark.parametrize(
    ("test", "words", "moment", "reason"),
    HELPERS,
    ids=[f"{name(*one[:2])} {one[2].__name__}" for one in HELPERS],
)
def test_who_waits_for_a_killed_helper_gives_up(
    probe: Path,
    place: Place,
    test: str,
    words: tuple[str, ...],
    moment: Callable[[Running, int], None],
    reason: str,
) -> None:
    """At once, not at the deadline; what was measured is kept."""
    with place.measuring(probe, test, *LONG, *words) as running:
        victim = last_helper(running)
        moment(running, victim)
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(victim, SIGKILL)
        stream = running.rest()
    assert (stream.result.status, stream.code) == ("failed", 3), stream.result
    assert reason in str(stream.result.reason)
    assert reason != PARTY or "find out what kills processes" in str(stream.result.remedy)
    assert stream.sample_count > 0 or moment is not has_measured
    nothing_is_left(place)


def test_a_killed_guard_costs_no_result(probe: Path, place: Place) -> None:
    """The probe says to a pipe that nobody reads that all is removed."""
    with place.measuring(probe, "SEM-P-NEW", *LONG, *kind("named")) as running:
        os.kill(guard(running), SIGKILL)
        stream = running.stopped()
    assert stream.code == stream.told_code
    assert stream.result.interrupted and stream.footer.series > 0
    nothing_is_left(place)


@pytest.mark.parametrize(
    ("test", "count", "next_words"),
    [("KRN-P-PRE", 3, ("--samples", "20")), ("MEM-B-LCK", 5, ("--samples", "1024"))],
)
def test_a_kill_of_all_is_cleaned_up_by_the_next_run(
    probe: Path, place: Place, test: str, count: int, next_words: tuple[str, ...]
) -> None:
    words = {"KRN-P-PRE": ("-p", "operation=file"), **DEFAULTS}[test]
    with place.measuring(probe, test, *LONG, *words) as running:
        wait_until(lambda: len(place.marked.all()) >= count)
        for pid in place.marked.all():
            with suppress(ProcessLookupError):  # it ends with the one before it
                os.kill(pid, SIGKILL)
        running.process.wait()
    place.marked.wait_for_none()
    with place.measuring(probe, test, *HERE, *words, *next_words) as running:
        assert running.rest().result.status == "measured"
    nothing_is_left(place)


@pytest.mark.parametrize(
    ("breach", "test", "words"),
    [
        ("mq_stays", "MSG-P-LAT", (*kind("mq"), "-p", "scopes=thread")),
        ("fifo_stays", "MSG-P-LAT", (*kind("fifo"), "-p", "scopes=thread")),
        ("fifo_stays,read_blocks", "FIO-B-ASY", kind("fifo")),
        ("no_anonymous", "FIO-P-SYN", ()),
    ],
)
def test_a_kill_between_making_a_name_and_removing_it(
    shared_probe: Path,
    broken_libc: Path,
    place: Place,
    breach: str,
    test: str,
    words: tuple[str, ...],
) -> None:
    """It is there for a moment only; on this libc it stays."""
    variables = {"HARDSTONE_BROKEN": breach, "LD_PRELOAD": str(broken_libc)}
    with place.measuring(shared_probe, test, *LONG, *words, **variables) as running:
        wait_until(lambda: any("process" not in one for one in place.left()))
        running.process.kill()
        assert running.process.wait(GONE_S) == -SIGKILL
    nothing_is_left(place)


@pytest.mark.parametrize("test", ["MSG-P-LAT", "MSG-B-PRI", "FIO-P-SYN"])
def test_two_probes_at_once_do_not_meet(probe: Path, place: Place, test: str) -> None:
    """On two CPUs with the same seed: both have all their figures."""
    words = ("--clock", "monotonic", "--samples", "300", "--seed", "7")
    cpus = sorted(machine.allowed())[:2]
    with ExitStack() as stack:
        both = [
            stack.enter_context(place.measuring(probe, test, *words, "--cpu", str(cpu)))
            for cpu in cpus
        ]
        streams = [running.rest() for running in both]
    for stream in streams:
        assert stream.result.status == "measured", stream.result
        assert not set(stream.events) & {"kind_denied", "kind_unsupported", "not_handed_over"}
        assert all(stream.verdicts.values())
    nothing_is_left(place)


# ---- loads ----

ABOVE = ("probe", "hs-load-guard", "hs-load-keeper")
ELEMENTS = "cpu+disk+network+build+kernel+storm=1"
STRAY = """#!/bin/sh
setsid sh -c 'trap "" TERM HUP; for i in $(seq 200); do sleep 1; done' &
while :; do sleep 1; done
"""
CHILDREN_OF_A_PROGRAM = "stress-ng:--cpu 2 --hdd 1 --hdd-bytes 4M"
STRAY_LOAD = "stress-ng:--stray"
# How many there are at work, of processes and of objects in memory, with the probe and the two
# that supervise.
LOADS = {
    ELEMENTS: 9,
    "build=120": 70,  # each waits for a CPU, and so do those that end them
    "messages=2": 80,
    CHILDREN_OF_A_PROGRAM: 7,
    "stress-ng:--shm-sysv 1 --shm 1 --sem-sysv 1": 10,  # only that program knows of its objects
    STRAY_LOAD: 5,  # a program of that name, with a child in a session of its own
}


@pytest.fixture
def stray(tmp_path: Path) -> str:
    """A PATH."""
    program = tmp_path / "stress-ng"
    program.write_text(STRAY)
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("load", "victim"),
    [*product(LOADS, ABOVE), (CHILDREN_OF_A_PROGRAM, "stress-ng"), (STRAY_LOAD, "stress-ng")],
)
def test_a_kill_above_ends_the_whole_load(
    probe: Path,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    stray: str,
    load: str,
    victim: str,
) -> None:
    if load == STRAY_LOAD:
        monkeypatch.setenv("PATH", stray)
    elif "stress-ng" in load and shutil.which("stress-ng") is None:
        pytest.skip("stress-ng is not installed")
    with loading(probe, load, place.folder, *ONE_CPU, prefix=place.prefix) as running:
        wait_until(lambda: len(running.marked.all()) + len(place.objects()) >= LOADS[load])
        running.kill(victim)
        if victim in ABOVE:
            others = {running.process.pid} - {running.process.pid if victim == "probe" else 0}
            wait_until(lambda: set(running.marked.all()) <= others)
            nothing_is_left(place)
            if others:
                assert "the whole load ended" in events(running.stop())["load_ended_early"]
        else:
            wait_until(lambda: set(running.marked.all().values()) <= {"hardstone-probe", *ABOVE})
    nothing_is_left(place)


@pytest.mark.parametrize(
    ("load", "element"),
    [("build=64", "build"), ("messages=2", "messages"), (ELEMENTS, "build")],
)
def test_a_killed_worker_takes_what_it_started_and_leaves_the_others(
    probe: Path, place: Place, load: str, element: str
) -> None:
    worker = f"hs-load-{element}"[:15]  # the kernel keeps so many characters
    with loading(probe, load, place.folder, *ONE_CPU) as running:
        (victim, *others) = running.own(worker)
        theirs = {victim, *wait_until(lambda: children(victim))}
        os.kill(victim, SIGKILL)
        wait_until(lambda: not theirs & set(running.marked.all()))
        names = set(running.marked.all().values())
        assert {"hs-load-guard", "hs-load-keeper"} <= names
        assert set(others) <= set(running.own(worker))
        lines = running.stop()
    told = events(lines)["load_ended_early"]
    assert told.startswith(f"{element}: 1 of {len(others) + 1} processes") and "signal 9" in told
    nothing_is_left(place)


# What is there when each step of the start has been made.
@pytest.mark.parametrize("step", ["", "hs-load-guard", "hs-load-keeper", "hs-load-kernel"])
def test_a_kill_of_a_load_that_starts(probe: Path, place: Place, step: str) -> None:
    """By what is there, however long a busy machine takes to come to it."""
    with subprocess.Popen(
        [*place.prefix, *load_command(probe, "kernel+build=60", *ONE_CPU)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=place.marked.environment,
    ) as process:
        if step:
            place.marked.wait_for(step)
        process.kill()
    nothing_is_left(place)


def test_a_kill_of_the_toolkit_ends_its_load(probe: Path, place: Place, root: Path) -> None:
    own = {"PYTHONPATH": str(root / "src"), "HARDSTONE_PROBE": str(probe)}
    with subprocess.Popen(
        [sys.executable, "-m", "hardstone", "load", "cpu+kernel", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**place.marked.environment, **own},
    ) as process:
        place.marked.wait_for("hs-load-kernel")
        process.kill()
        process.communicate()
    nothing_is_left(place)
