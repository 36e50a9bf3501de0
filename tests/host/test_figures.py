"""Figures of threads, semaphores, mutexes, messages and signals whose event did not take place are
left out, and fail the result; so are those that others disturbed. What a machine limits is told
with what to raise. What is timed, to the nanosecond: tests/virtual."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import variant_build
from hardstone.model import StreamEvent, StreamSeries, StreamVerdict
from tests import machine
from tests.host.hogs import cut
from tests.running import Stream, children, has_ended, measuring, run
from tests.virtual.calls import figures, measure, measure_with_calls
from tests.waiting import soon, wait_until

pytestmark = machine.needs(machine.no_realtime())
limits = machine.needs(machine.no_prlimit())
other_user = machine.needs(machine.no_other_user())
Broken = Callable[..., Stream]

MONOTONIC = ("--clock", "monotonic")  # for what breaks where the clock is read
FOREVER = ("--samples", "0", "--duration-ns", "30s")
FEW = ("--samples", "200")
MEDIUM_NS = 10_000_000
LATER_NS = 3_000_000  # of sem_later


def params(*words: str) -> tuple[str, ...]:
    return tuple(part for word in words for part in ("-p", word))


def numbers_of(stream: Stream, verdict: str) -> list[int]:
    (one,) = [one for one in stream.of(StreamVerdict) if one.name == verdict]
    return [int(number) for number in re.findall(r"\d+", one.evidence)]


# ---- what did not take place ----

NAMED = (*params("kinds=named", "scopes=thread"), *FEW)
MUTEX = (*params("kinds=mutex"), *FEW)
INVERTED = (*params("medium_ns=1ms"), *FEW)
CONTENDED = ("SEM-P-ARC", *params("kinds=named", "waiters=4"), "--samples", "40")
PREEMPTED = ("THR-P-PRE", *params("by=timer"), "--priority", "50", *MONOTONIC)
LAT = ("MSG-P-LAT", "--samples", "300", *params("sizes_bytes=64", "scopes=thread"), *MONOTONIC)
THR = ("MSG-P-THR", "--samples", "1", *params("sizes_bytes=64", "window_ns=5ms"), *MONOTONIC)
SIGNAL = ("SIG-P-LAT", "--samples", "500")
VP = "a V or a P failed"
LOST = "messages are lost, doubled or swapped"
# The event that names it, and part of its text or of the reason.
DOUBTS: list[tuple[str, tuple[str, ...], str, str]] = [
    *(("sem_zero", (test, *NAMED), "not_handed_over", "") for test in ("SEM-P-SHF", "SEM-P-RTP")),
    ("late_wake", ("MUT-P-INV", *INVERTED, "-p", "protocols=none"), "not_the_case", ""),
    *(
        ("late_wake", ("MUT-P-ARC", *params(f"protocols={one}"), *FEW), "not_the_case", "")
        for one in ("none", "inherit")
    ),
    ("no_protocol", ("MUT-P-ARC", *params("protocols=protect"), *FEW), "not_the_case", ""),
    (
        "no_protocol",
        ("MUT-P-INV", *params("protocols=protect", "medium_ns=1ms")),
        "not_the_case",
        "",
    ),
    *(
        ("cond_fails", (test, *MUTEX, *params(f"scopes={scope}")), "", "condition variable")
        for test in ("SEM-P-RTP", "SEM-P-SHF")
        for scope in ("thread", "process")
    ),
    ("sem_later", CONTENDED, "", "did not run at once"),
    ("yield_nothing", ("THR-P-SLS", *params("threads=2,10")), "ring_out_of_order", ""),
    ("lower_at_once", ("THR-P-NEW", "--samples", "50"), "not_the_case", ""),
    ("higher_later", ("THR-P-NEW", "--samples", "50"), "not_the_case", ""),
    ("late_wake", ("THR-P-PRE", *params("by=thread"), "--samples", "500"), "not_at_once", ""),
    ("late_start", (*PREEMPTED, "--samples", "500"), "low_not_started", "whether it is preempted"),
    (
        "late_start",
        (*PREEMPTED, "--samples", "0", "--duration-ns", "100ms"),
        "low_not_started",
        "whether it is preempted",
    ),
    ("naps", (*PREEMPTED, "--samples", "500"), "nobody_to_preempt", "whether it is preempted"),
    *(
        (f"msg_{breach},on_{kind}", (*LAT, *params(f"kinds={kind}")), "not_handed_over", text)
        for breach, kinds, text in (
            ("lose", "mq sysv", "one was lost"),
            ("twice", "mq sysv", "did not answer exactly once"),
            ("corrupt", "mq sysv unix pipe", "another content"),
            ("short", "mq sysv unix", "another length"),
        )
        for kind in kinds.split()
    ),
    *(
        (f"msg_{breach},on_{kind}", (*THR, *params(f"kinds={kind}")), "not_handed_over", text)
        for breach, kinds, text in (
            ("lose", "mq sysv", LOST),
            ("twice", "mq sysv", LOST),
            ("swap", "mq sysv", LOST),
            ("corrupt", "mq sysv unix pipe", "another content"),
            ("short", "mq sysv unix", "another length"),
        )
        for kind in kinds.split()
    ),
    *(
        (
            breach,
            (*SIGNAL, *params(f"receivers={one}", f"scopes={scope}")),
            "signal_not_as_sent",
            f"{one}, {scope}",
        )
        for breach in ("sig_value", "sig_half", "sig_code")
        for one in ("handler", "sigwaitinfo")
        for scope in ("thread", "process")
    ),
]


@pytest.mark.parametrize(
    ("breach", "words", "event", "text"),
    DOUBTS,
    ids=[
        " ".join((one[0], *(word for word in one[1] if word[0] != "-"), one[3])) for one in DOUBTS
    ],
)
def test_a_figure_of_something_else_is_left_out(
    broken: Broken, breach: str, words: tuple[str, ...], event: str, text: str
) -> None:
    stream = broken(breach, *words)
    assert stream.result.status == "failed" and stream.result.remedy, stream.result
    assert not event or event in stream.events
    said = stream.events[event].text if event else ""
    assert text in f"{said} {stream.result.reason}"
    timed = {one.name: one.count for one in stream.of(StreamSeries)}
    if event in ("not_handed_over", "not_the_case") and words[0] not in ("MSG-P-LAT", "THR-P-NEW"):
        assert not any(count for name, count in timed.items() if name != "signal_wait"), timed
    if words[0] == "THR-P-PRE" and breach != "late_wake":
        assert "THR-B-PRI" not in str(stream.result.remedy)  # no lack of preemption


def test_another_waiter_than_the_highest_is_told(broken: Broken) -> None:
    def told(breach: str) -> set[str]:
        stream = broken(breach, *CONTENDED)
        assert stream.result.status == "measured", stream.result
        assert set(stream.events) <= {"not_highest_first"}
        return {one.text.partition(" times")[0] for one in stream.of(StreamEvent)}

    both = {f"named, {scope}, waiters 4: 40" for scope in ("thread", "process")}
    assert told("sem_lowest") == both
    assert told("sem_lowest,in_process") == {"named, process, waiters 4: 40"}
    assert told("sem_right") == set()


def test_a_lost_signal_ends_at_the_deadline(broken: Broken) -> None:
    """Both receivers at once: they wait for what does not come."""
    words = ("SIG-P-LAT", "--deadline-ns", "500ms")
    receivers = ("handler", "sigwaitinfo")
    with ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(broken, "sig_lost", *words, *params(f"receivers={r}")) for r in receivers
        ]
        assert [one.result().result.status for one in runs] == ["timeout", "timeout"]


def test_lost_notices_are_counted(broken: Broken) -> None:
    stream = broken("pwr_lost", "PWR-B-SIG", "--samples", "12")
    sent, handled, turns = numbers_of(stream, "delivered")
    assert (sent, handled) == (12, 10) and turns > 0  # 2 of 20, with eight of warm-up
    assert stream.series("latency").count == handled


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_a_slow_or_early_wake_up_is_the_figure(broken: Broken, test: str) -> None:
    """Of a semaphore nobody has the CPU for long: all sleep, which is what is to be measured. A
    wait for a condition may return early, as POSIX allows; the count says if it was signalled."""
    later = broken("sem_later", test, *params("kinds=named", "scopes=thread"), "--samples", "40")
    assert "idle_gap" in later.events
    early = broken("cond_early", test, *MUTEX)
    for stream, counts, least_ns in ((later, [40], LATER_NS), (early, [200, 200], 0)):
        assert stream.result.status == "measured", stream.result.reason
        timed = [one for one in stream.of(StreamSeries) if one.name in ("round_trip", "shuffle")]
        assert [one.count for one in timed] == counts
        assert all((one.min or 0) >= least_ns for one in timed), timed


@pytest.mark.parametrize("test", ["MUT-P-ARC", "MUT-P-INV"])
def test_a_late_watchdog_fails_no_figures(broken: Broken, test: str) -> None:
    words = (test, "--samples", "10", *params("protocols=none,inherit"))
    stream = broken("late_watchdog,unseen", *words)
    assert stream.result.status == "measured" and "not_the_case" not in stream.events
    assert {one.count for one in stream.of(StreamSeries)} == {10}
    assert "round_repeated" in stream.events


# ---- others take the CPU, or interfere ----


@pytest.mark.parametrize("length_ns", [32_000_000, 120_000_000])
@pytest.mark.parametrize(
    "words",
    [
        ("SEM-P-RTP", *params("kinds=unnamed")),
        ("SEM-P-RTP", *params("kinds=unnamed", "placements=two-cpus")),
        ("SEM-P-SHF", *params("kinds=unnamed", "scopes=process")),
        ("SEM-P-ARC", *params("kinds=unnamed")),
        ("MUT-P-ARC", *params("protocols=inherit")),
        ("MUT-P-INV", *params("protocols=none")),
        ("THR-P-SLS", *params("threads=2")),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else None,
)
def test_a_cut_fails_the_result(
    probe: Path, hog: Path, quick: list[str], words: tuple[str, ...], length_ns: int
) -> None:
    """What throttling does to the test's threads, a hog above them does too; it is no slow wake-up.
    The hog goes on for longer than a busy machine takes to begin measuring, and ends with the
    run."""
    options = ["--samples", "0", "--duration-ns", "2s", "--priority", "90", *quick]
    stream = cut(probe, hog, [*words, *options], [str(length_ns), "150000000", "40"])
    assert stream.result.status == "failed" and stream.result.remedy
    assert "did not get the CPU" in (stream.result.reason or "")
    assert {"throttled", "idle_gap"} & stream.events.keys() == {"throttled"}


def test_a_set_that_somebody_removes_ends_the_test(probe: Path, quick: list[str]) -> None:
    words = params("kinds=sysv", "scopes=thread")

    def is_over() -> bool:
        """One that goes between two calls is not missed: the test goes on with the next set."""
        lines = Path("/proc/sysvipc/sem").read_text().splitlines()[1:]
        for one in (line.split()[1] for line in lines):
            if last_user(one) == running.pid:
                subprocess.run(["ipcrm", "-s", one], check=False, capture_output=True)
        return running.process.poll() is not None

    with measuring(probe, "SEM-P-RTP", *words, *FOREVER, *quick) as running:
        soon(is_over)
        stream = running.rest()
    assert stream.result.status == "failed" and VP in (stream.result.reason or "")


def last_user(semaphore_set: str) -> int:
    words = ["ipcs", "-s", "-i", semaphore_set]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    row = done.stdout.splitlines()[-2:-1]
    return int(row[0].split()[-1]) if row and row[0].split()[-1:][0].isdigit() else 0


def test_a_signal_of_others_is_no_value(probe: Path, quick: list[str]) -> None:
    """Neither for the sender, nor for the receiver."""
    words = [*params("scopes=thread"), "--samples", "0", "--duration-ns", "1s", *quick]
    with measuring(probe, "SIG-P-LAT", *words) as running:
        wait_until(lambda: len(machine.thread_ids(running.pid)) >= 3)
        time.sleep(0.2)
        for number in (signal.SIGRTMIN, signal.SIGRTMIN + 1) * 20:
            os.kill(running.pid, number)
            time.sleep(0.001)
        stream = running.rest()
    assert stream.result.status == "measured", stream.result.reason
    assert "signal_not_as_sent" not in stream.events
    assert len(stream.of(StreamSeries)) == 2 and stream.sample_count > 1000


def test_a_notice_of_others_is_told(probe: Path, quick: list[str]) -> None:
    """The sender is the last of three to start, and finds a handler."""
    with measuring(probe, "PWR-B-SIG", "--samples", "1000", *quick) as running:
        # with the one that cleans up
        wait_until(lambda: len(children(running.pid)) == 3 or has_ended(running.pid))
        running.process.send_signal(signal.SIGPWR)
        stream = running.rest()
    # Two notices that come within microseconds are one.
    told = [one.data for name, one in stream.events.items() if name == "power_signal_of_others"]
    assert told == [{"count": 1}]
    assert all(stream.verdicts.values()) and stream.series("latency").count == 1000


def test_the_guard_spares_what_another_probe_is_making(probe: Path, quick: list[str]) -> None:
    """A semaphore's file that comes and goes, beside one that was left behind."""
    left, made = (Path("/dev/shm", name) for name in ("sem.hslef1", "sem.hsmad1"))

    def has_removed_it() -> bool:
        begin_s = time.monotonic()
        made.touch(0o700)
        time.sleep(0.05)
        # it looks twice, 200 ms apart, and may take what was there for long
        made.unlink(missing_ok=time.monotonic() - begin_s > 0.15)
        return begin_s > killed_s + 1.5 and not left.exists()

    try:
        with measuring(probe, "SEM-P-SIG", *params("kinds=named"), *FOREVER, *quick) as running:
            wait_until(lambda: children(running.pid))
            left.touch(0o700)
            running.process.kill()
            killed_s = time.monotonic()
            wait_until(has_removed_it)
    finally:
        left.unlink(missing_ok=True)
        made.unlink(missing_ok=True)


# ---- rights and priorities ----

ORDER = (
    *("SEM-P-RTP", "SEM-P-SHF", "SEM-B-LCK", "SEM-B-REL", "SEM-P-ARC", "MUT-B-ARC", "MUT-B-INV"),
    *("MUT-P-ARC", "MUT-P-INV", "SIG-P-LAT", "PWR-B-SIG", "THR-B-NEW", "THR-B-RR", "THR-B-PRI"),
    *("THR-P-SLS", "THR-P-PRE", "THR-P-NEW"),
)


@pytest.mark.parametrize("test", ORDER)
def test_what_means_order_is_never_measured_without_priorities(
    probe: Path, open_probe: Path, quick: list[str], test: str
) -> None:
    """Neither by time-shared threads, nor where an ordinary user is told what to grant."""
    streams = [run(probe, test, "--policy", "other", *quick)]
    if not (machine.no_other_user() or machine.no_prlimit()):
        streams.append(run(open_probe, test, *quick, prefix=machine.as_nobody()))
        assert "setcap has no effect here" in (streams[1].result.remedy or "")
    for stream in streams:
        assert stream.result.status == "denied" and stream.result.remedy
        assert (stream.sample_count, stream.verdicts) == (0, {})


@pytest.mark.parametrize(
    ("test", "priority", "said"),
    [
        *((test, "5", "needs 6 priorities") for test in ("MUT-B-ARC", "MUT-B-INV", "MUT-P-ARC")),
        *((test, "1", "priorities") for test in ("THR-B-NEW", "THR-B-PRI", "THR-P-NEW")),
    ],
)
def test_too_few_levels_for_a_scenario(
    probe: Path, quick: list[str], test: str, priority: str, said: str
) -> None:
    stream = run(probe, test, "--priority", priority, *quick)
    assert stream.result.status == "denied" and said in (stream.result.reason or "")


def test_fewer_levels_are_fewer_waiters(probe: Path, quick: list[str]) -> None:
    """Also for people. As JSON: probe/tests/test_levels.c."""
    options = [*params("kinds=unnamed", "waiters=2,128"), "--samples", "20", "--priority", "6"]
    words = [probe, "run", "SEM-P-ARC", "--text", *options, *quick]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line for line in done.stdout.splitlines() if line.startswith(("acquire", "release"))]
    assert sum(" waiters 5 " in row for row in rows) == len(rows) / 2 > 0
    assert not any(" waiters 128 " in row for row in rows)


POLICY_TESTS = [
    (("THR-P-SLS", *params("threads=10"), *FOREVER), 11),
    (("THR-P-PRE", *params("by=thread"), *FOREVER), 2),
    (("THR-B-PRI", "--samples", "9"), 3),
    (("SEM-P-ARC", *params("kinds=unnamed", "waiters=8"), *FOREVER), 9),
    (("MUT-P-ARC", *params("protocols=none"), *FOREVER), 4),
]


@pytest.mark.parametrize(("words", "least"), POLICY_TESTS, ids=[one[0][0] for one in POLICY_TESTS])
@pytest.mark.parametrize(("policy", "number"), [("rr", os.SCHED_RR), ("fifo", os.SCHED_FIFO)])
def test_the_threads_have_the_policy_of_the_result(
    probe: Path, quick: list[str], policy: str, number: int, words: tuple[str, ...], least: int
) -> None:
    seen: list[int] = []

    def have_been_seen() -> bool:
        """Beside the main one, which only supervises."""
        seen.clear()
        for thread in machine.thread_ids(running.pid)[1:]:
            with suppress(ProcessLookupError):
                seen.append(os.sched_getscheduler(thread))
        return len(seen) >= least or running.process.poll() is not None

    with measuring(probe, *words, "--policy", policy, *quick) as running:
        soon(have_been_seen)
        stream = running.stopped()
    assert len(seen) >= least
    assert seen.count(os.SCHED_OTHER) <= (words[0] == "THR-B-PRI")  # has a time-shared one
    assert set(seen) - {os.SCHED_OTHER} == {number}
    assert stream.result.conditions.policy == policy


def test_the_second_process_has_the_conditions_of_the_first(probe: Path, quick: list[str]) -> None:
    """CPU, policy, priority and locked memory, or the comparison with a thread means nothing."""
    words = (*params("kinds=unnamed", "scopes=process"), "--priority", "42", *FOREVER, *quick)
    with measuring(probe, "SEM-P-RTP", *words) as running:

        def partner() -> int:
            """Has locked memory, which it does last; the guard has none."""
            for one in children(running.pid):
                with suppress(OSError):
                    if machine.status_number(Path(f"/proc/{one}/status"), "VmLck") > 0:
                        return one
            return 0

        one = wait_until(partner)
        assert os.sched_getaffinity(one) == {machine.cpu()}
        found = os.sched_getscheduler(one), os.sched_getparam(one).sched_priority
    assert found == (os.SCHED_FIFO, 42)


# ---- across two CPUs ----

ACROSS = params("kinds=unnamed", "placements=one-cpu,two-cpus")


def cpus_of_parties(pid: int, priority: int) -> set[int]:
    """Where threads of that priority may run, of a probe and of its children."""
    found: set[int] = set()
    for process in (pid, *children(pid)):
        with suppress(OSError):
            for path in Path(f"/proc/{process}/task").iterdir():
                thread = int(path.name)
                if os.sched_getparam(thread).sched_priority == priority:
                    found |= os.sched_getaffinity(thread)
    return found


@pytest.mark.parametrize("scope", ["thread", "process"])
@pytest.mark.parametrize("placement", ["one-cpu", "two-cpus"])
def test_each_party_is_bound_to_its_cpu(
    probe: Path, quick: list[str], scope: str, placement: str
) -> None:
    other = min(machine.allowed() - {machine.cpu()}, default=None)
    if other is None:
        pytest.skip("needs a second CPU")
    words = params("kinds=unnamed", f"scopes={scope}", f"placements={placement}")
    expected = {machine.cpu()} | ({other} if placement == "two-cpus" else set())
    with measuring(probe, "SEM-P-RTP", *words, "--priority", "42", *FOREVER, *quick) as running:
        wait_until(lambda: cpus_of_parties(running.pid, 42) == expected)


def test_the_figures_of_one_cpu_are_the_same_series_as_ever(probe: Path, quick: list[str]) -> None:
    if len(machine.allowed()) < 2:
        pytest.skip("needs a second CPU")
    stream = run(probe, "SEM-P-RTP", *ACROSS, *FEW, *quick).checked()
    assert stream.result.status == "measured", stream.result.reason
    each = [(one.name, *one.labels.items(), one.count) for one in stream.of(StreamSeries)]
    assert each == [
        (name, ("kind", "unnamed"), ("scope", scope), *placement, count)
        for scope in ("thread", "process")
        for name, placement, count in (
            ("round_trip", (), 200),
            ("context_switch", (), 200),
            ("signal_wait", (), 20_000),
            ("cross_cpu_round_trip", (("placement", "two-cpus"),), 200),
        )
    ]
    other = min(machine.allowed() - {machine.cpu()})
    assert stream.events["second_cpu"].data == {"cpu": other}


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("how", ["a set of one", "single"])
def test_without_a_second_cpu_it_is_told(probe: Path, how: str, is_alone: bool) -> None:
    words = params("kinds=unnamed", "scopes=thread", "placements=two-cpus") if is_alone else ACROSS
    prefix = ["taskset", "-c", str(machine.cpu())] if how == "a set of one" else []
    single = ["--cpu-config", "single"] if how == "single" else []
    stream = run(probe, "SEM-P-RTP", *words, *FEW, *single, prefix=prefix).checked()
    if is_alone:
        assert stream.result.status == "unsupported"
        assert re.fullmatch(r"two-cpus: the test has only CPU \d+", stream.result.reason or "")
        assert "second CPU" in (stream.result.remedy or "")
        return
    assert stream.result.status == "measured", stream.result.reason
    assert stream.events["placement_unsupported"].data["placement"] == "two-cpus"
    assert {one.name for one in stream.of(StreamSeries)} == {
        *("round_trip", "context_switch", "signal_wait")
    }


# ---- limits ----


@limits
@pytest.mark.parametrize(
    ("words", "limit", "said"),
    [
        *(
            (
                (test, *params("kinds=unnamed,named"), "--samples", "20"),
                f"--nofile={n}",
                "ulimit -n",
            )
            for test, n in (("SEM-P-NEW", 5), ("SEM-P-SHF", 6), ("SEM-P-RTP", 6))
        ),
        (("SIG-P-LAT", *params("receivers=handler")), "--sigpending=0", "ulimit -i"),
        (("SIG-P-LAT", *params("receivers=sigwaitinfo")), "--sigpending=0", "ulimit -i"),
        *(
            ((test, *params("kinds=mq")), "--msgqueue=100", "ulimit -q")
            for test in ("MSG-P-LAT", "MSG-P-THR", "MSG-B-PRI")
        ),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else None,
)
def test_a_limit_of_the_kernel_is_told_with_what_to_raise(
    probe: Path, quick: list[str], words: tuple[str, ...], limit: str, said: str
) -> None:
    stream = run(probe, *words, *quick, prefix=["prlimit", limit]).checked()
    assert (stream.result.status == "denied" and stream.sample_count == 0) or "nofile" in limit
    assert said in f"{stream.result.remedy} {stream.result.command}"
    assert "kind_unsupported" not in stream.events


@limits
def test_room_for_one_queue_only_does_not_end_the_other_kinds(probe: Path) -> None:
    words = ["--samples", "5", *params("kinds=mq,pipe", "sizes_bytes=8192", "scopes=thread")]
    stream = run(probe, "MSG-P-LAT", *words, *MONOTONIC, prefix=["prlimit", "--msgqueue=20000"])
    assert stream.result.status == "denied" and "kind_denied" in stream.events
    assert [one.labels["kind"] for one in stream.of(StreamSeries) if one.count] == ["pipe"]


@pytest.mark.parametrize(
    ("breach", "event", "remedy"),
    [
        ("mq_absent", "kind_unsupported", "CONFIG_POSIX_MQUEUE"),
        ("mq_files", "kind_denied", "ulimit -q"),
        ("mq_space", "kind_denied", "queues_max"),
        ("mq_depth", "kind_denied", "msg_max"),
        ("mq_length", "kind_limited", "although the system's limit is"),
        ("sysv_absent", "kind_unsupported", "CONFIG_SYSVIPC"),
        ("sysv_space", "kind_denied", "msgmni"),
        ("sysv_length", "kind_limited", "although the system's limit is"),
        ("unix_absent", "kind_unsupported", "SOCK_SEQPACKET"),
        ("unix_length", "kind_limited", "wmem_default"),
    ],
)
def test_a_kind_that_is_limited_is_told_and_the_others_are_measured(
    broken: Broken, breach: str, event: str, remedy: str
) -> None:
    kind = breach.partition("_")[0]
    words = ("MSG-P-LAT", "--samples", "20", *params("scopes=thread", "sizes_bytes=8,1000"))
    stream = broken(breach, *words, *params(f"kinds={kind},pipe"), *MONOTONIC)
    told = stream.events[event]
    assert told.data["kind"] == kind and remedy in told.text
    # What is refused below the limit of the kernel is not to be had by raising that.
    assert remedy in str(told.data["remedy"]) or remedy.startswith("although")
    counts = {
        (one.labels["kind"], one.labels["size_bytes"])
        for one in stream.of(StreamSeries)
        if one.count
    }
    here = {(kind, 8)} if event == "kind_limited" else set()
    assert counts == {("pipe", 8), ("pipe", 1000)} | here
    is_denied = event == "kind_denied"
    assert stream.result.status == ("denied" if is_denied else "measured")
    assert not is_denied or remedy in (stream.result.remedy or "")


@pytest.mark.parametrize(
    ("test", "breach", "kinds"),
    [
        *((test, "mq_absent,sysv_absent", "mq,sysv") for test in ("MSG-P-LAT", "MSG-B-PRI")),
        ("FIO-B-ASY", "no_terminal", "pty"),
    ],
)
def test_a_system_without_any_kind_says_so(
    broken: Broken, test: str, breach: str, kinds: str
) -> None:
    stream = broken(breach, test, *params(f"kinds={kinds}"), *MONOTONIC)
    assert (stream.result.status, stream.code) == ("unsupported", 5)
    assert stream.result.remedy and not stream.verdicts and stream.sample_count == 0


@limits
@pytest.mark.parametrize(
    ("limit", "is_root"), [(f"--as={24 << 20}", True), ("--nproc=60:60", False)]
)
def test_a_limit_on_memory_or_threads_leaves_the_smaller_rings(
    open_probe: Path, quick: list[str], limit: str, is_root: bool
) -> None:
    rights = "+sys_nice,+ipc_lock"
    user = ["setpriv", f"--reuid={machine.NOBODY_ID}", f"--regid={machine.NOBODY_ID}"]
    user += ["--clear-groups", f"--inh-caps={rights}", f"--ambient-caps={rights}"]
    prefix = ["prlimit", limit, *([] if is_root else user)]
    words = (*params("threads=2,1000"), "--samples", "2000", *quick)
    stream = run(open_probe, "THR-P-SLS", *words, prefix=prefix)
    if not stream.raw or "sys_nice" in (stream.result.remedy or ""):
        pytest.skip(f"an ordinary user cannot be given rights here: {stream.stderr.strip()}")
    counts = [(one.labels["threads"], one.count) for one in stream.of(StreamSeries)]
    assert stream.result.status == "denied" and "1000 threads" in str(stream.result.reason)
    assert "ulimit -u" in (stream.result.remedy or "")
    assert "ulimit -v" in (stream.result.remedy or "")
    assert counts == [(2, 2000), (1000, 0)]


# ---- a burst of signals ----


def test_a_storm_loses_nothing(probe: Path, quick: list[str]) -> None:
    """As many as are asked for, or as the limit has room for: then it is said."""
    stream = run(probe, "SIG-B-QUE", *quick)
    assert all(stream.verdicts.values())
    for part in ("handler/thread", "handler/process", "sigwaitinfo/thread", "sigwaitinfo/process"):
        queued, delivered, bursts = numbers_of(stream, f"none_lost/{part}")
        assert queued == delivered and bursts == 2
        if not {"burst_limited", "queue_shared"} & set(stream.events):
            assert queued == 4000 + 100_000  # with those of both kinds: sig_b_que.c


def test_one_signal_has_no_order_and_a_standard_one_no_verdict(
    probe: Path, quick: list[str]
) -> None:
    words = params("burst=1", "scopes=thread", "receivers=handler")
    stream = run(probe, "SIG-B-QUE", *words, *quick)
    assert all(stream.verdicts.values()) and "none_lost/handler/thread" in stream.verdicts
    assert not {"lowest_first/handler/thread", "fifo/handler/thread"} & set(stream.verdicts)
    assert stream.events["not_seen"].data["verdict"] in ("lowest_first", "fifo")
    told = stream.events["standard_signals"].data
    assert told["sent_count"] == 3 and 1 <= told["delivered_count"] <= 3


@limits
@other_user
def test_a_low_limit_is_a_smaller_burst(open_probe: Path, quick: list[str]) -> None:
    """An ordinary user cannot raise it, and is told what to raise."""
    prefix = ["prlimit", "--sigpending=40", *machine.as_nobody()]
    stream = run(open_probe, "SIG-B-QUE", *quick, prefix=prefix)
    assert all(stream.verdicts.values())
    told = stream.events["burst_limited"]
    assert (told.data["asked_count"], told.data["limit_count"]) == (100_000, 40)
    assert 0 < told.data["burst_count"] < 40
    assert "ulimit -i" in str(told.data["command"])
    queued, delivered, _ = numbers_of(stream, "none_lost/handler/process")
    assert queued == delivered <= 40


@limits
def test_room_that_others_take_is_told(broken: Broken) -> None:
    """EAGAIN comes early, and the kernel's count says why: no claim fails."""
    words = params("burst=1900", "scopes=process")
    stream = broken("sig_others", "SIG-B-QUE", *words, prefix=["prlimit", "--sigpending=2200"])
    assert all(stream.verdicts.values())
    told = stream.events["queue_shared"].data
    assert 0 < told["accepted_count"] < told["wanted_count"] <= 1900  # others may hold some room


# ---- figures of the real kernel ----


def test_every_kind_of_message_has_its_figures(probe: Path, quick: list[str]) -> None:
    kinds = "mq,pipe,fifo,unix,sysv,ring"
    for words in (LAT, THR):
        stream = run(probe, *words, *params(f"kinds={kinds}"), *quick)
        assert stream.result.status == "measured", stream.result.reason
        counts = {(one.labels["kind"], one.count) for one in stream.of(StreamSeries)}
        assert counts == {(kind, int(words[2])) for kind in kinds.split(",")}


def test_only_the_spin_lock_is_ended_by_its_watchdog(probe: Path, quick: list[str]) -> None:
    """The others: tests/virtual/test_lock_figures.py."""
    stream = run(probe, "MUT-B-INV", *params("medium_ns=1ms", "primitives=none,spin"), *quick)
    found = {
        (one.name, str(one.labels["primitive"])): one.max
        for one in stream.checked().of(StreamSeries)
    }
    assert (found["ended_by_watchdog", "spin"], found["inverted", "spin"]) == (1, 0)
    assert (found["ended_by_watchdog", "none"], found["inverted", "none"]) == (0, 1)
    assert found["delay", "spin"] is None


# ---- MUT-B-INV, on virtual time ----

DELAYED = ("MUT-B-INV", *params("primitives=none"), "--cpu", str(machine.cpu()))


def test_a_delay_occurs_when_high_has_the_lock(shared_probe: Path, virtual_libc: Path) -> None:
    """By then the whole delay has passed, so the first one is not longer than the time of its
    occurrence; later ones follow each other by a delay at least."""
    words = (*DELAYED, *params("medium_ns=20ms"))
    stream = measure(shared_probe, virtual_libc, *words, read_ns=100)
    delay = stream.series("delay")
    values = sorted(delay.worst, key=lambda one: one.at_ns)
    assert len(values) == 5
    earlier_ns = 0
    for one in values:
        assert one.value_ns > 2 * MEDIUM_NS and one.at_ns - earlier_ns >= one.value_ns
        earlier_ns = one.at_ns


@pytest.mark.parametrize("medium_ms", [0, 200])
def test_cold_rounds_are_no_delays(
    shared_probe: Path, virtual_libc: Path, tmp_path: Path, medium_ms: int
) -> None:
    """Eight rounds that are not recorded go before the first one, and before the next after a rest:
    with 200 ms each there is one in the course of five."""
    words = (*DELAYED, *params(f"medium_ns={medium_ms}ms"), "--priority", "60")
    stream, calls = measure_with_calls(shared_probe, virtual_libc, tmp_path, *words, read_ns=300)
    request = ("lock_none", 59, False)  # by high
    requests = [one for one in calls if (one.name, one.priority, one.is_leave) == request]
    assert figures(stream)["delay", "none"][0] == 5
    assert len(requests) == 8 * (2 if medium_ms else 1) + 5


def test_a_ceiling_that_is_refused_is_denied_and_not_missing(broken: Broken) -> None:
    stream = broken("ceiling_refused", "MUT-P-ARN", "--samples", "3", "-p", "protocols=protect")
    assert stream.result.status == "denied"
    assert "protocol_denied" in stream.events and "protocol_unsupported" not in stream.events


# ---- on musl ----

ON_MUSL = {"avoided/inherit", "chain/inherit", "boost_goes/inherit"}


@pytest.fixture(scope="module")
def musl_probe() -> Path:
    if shutil.which("musl-gcc") is None:
        pytest.skip("musl-gcc is not here: apt-get install musl-tools")
    command = [sys.executable, variant_build.__file__, "--linux"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return variant_build.LINUX.probe


def test_ceilings_that_the_library_lacks_have_no_verdict_and_no_figure(
    musl_probe: Path, quick: list[str]
) -> None:
    stream = run(musl_probe, "MUT-B-ARC", *quick)
    told = stream.events["protocol_unsupported"].text
    assert told.startswith("protect: unsupported by this libc (musl)")
    assert stream.result.status == "measured"
    assert stream.verdicts == dict.fromkeys(ON_MUSL, True)
    stream = run(musl_probe, "MUT-P-INV", "--samples", "3", *quick)
    counts = {series.labels["protocol"]: series.count for series in stream.of(StreamSeries)}
    assert counts == {"none": 3, "inherit": 3, "protect": 0, "semaphore": 3}


@pytest.mark.parametrize("test", ["MUT-B-ARC", "MUT-P-ARC", "MUT-P-ARN", "MUT-P-INV"])
def test_a_test_of_ceilings_alone_is_unsupported_with_the_library_as_the_reason(
    musl_probe: Path, quick: list[str], test: str
) -> None:
    stream = run(musl_probe, test, "--samples", "3", "-p", "protocols=protect", *quick)
    assert stream.result.status == "unsupported"
    assert stream.result.reason == "unsupported by this libc (musl)"
    assert all(series.count == 0 for series in stream.of(StreamSeries))
    assert stream.verdicts == {}


def test_threads_of_the_kernel_are_found_without_the_library(musl_probe: Path) -> None:
    """musl's own functions of a process's scheduling find none."""
    stream = run(musl_probe, "THR-B-PRI", "--samples", "1", "--cpu", "0")
    (told,) = [line for line in stream.raw.splitlines() if b"system_processes" in line]
    assert b"of 0 time-shared processes" not in told
    assert b"does not report" not in told


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_mutex_and_condition_variable(musl_probe: Path, quick: list[str], test: str) -> None:
    stream = run(musl_probe, test, "--samples", "20", "-p", "kinds=mutex", *quick)
    counts = {series.count for series in stream.of(StreamSeries) if series.name != "signal_wait"}
    assert stream.result.status == "measured"
    assert counts == {20}
