"""Every claim about behaviour fails on a libc that breaks it, and no other does; all hold on the
real one.

Timers, and clocks that do not move, break on virtual time: nothing is waited for, and nothing that
happens on the machine can change what is found.
"""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamVerdict
from tests import machine
from tests.process.targets import sample
from tests.running import Stream, run

pytestmark = machine.needs(machine.no_realtime())

SCOPES = ("thread", "process")
MONOTONIC = ("--clock", "monotonic")  # for what breaks where the clock is read
OnLibc = Callable[..., Stream]


def names(claims: str, *parts: Iterable[str]) -> set[str]:
    """Of each claim with each of the parts."""
    return {"/".join(words) for words in product(claims.split(), *parts)}


# ---- what breaks which verdicts ----

KINDS = ("unnamed", "named", "sysv", "eventfd", "futex")
OBJECTS = KINDS[:-1]  # the value of a futex lies with the program: its V breaks no promise
PROMISED = ("unnamed", "named")  # by POSIX, an order of release
ORDERS = "ascending descending mixed equals"
FIFO_FAILS = "ascending mixed equals"
LOCKING = "blocks_at_zero increments reschedules"
LCK, REL, ARC = ("SEM-B-LCK",), ("SEM-B-REL",), ("MUT-B-ARC",)
INV = ("MUT-B-INV", "-p", "medium_ns=1ms")

NEW = ("THR-B-NEW", "--samples", "3")
PRI = ("THR-B-PRI", "--samples", "1")
RR = ("THR-B-RR", "--samples", "6", *MONOTONIC)
TWO = (*RR, "-p", "threads=2")  # leaves room for long slices in a burst
# Linux puts a thread that lowers itself at the head whatever the call; sched(7) says so.
NOT_ON_LINUX = {"lowered_setschedparam/fifo", "lowered_setschedparam/rr"}
POLICIES = ("fifo", "rr")
CALLS = {f"system_calls/{kind}" for kind in ("copy", "map", "fork", "scan", "wait")}

QUE = ("SIG-B-QUE", "-p", "burst=3000")
PWR = ("PWR-B-SIG", "--samples", "12")
RECEIVERS = ("handler", "sigwaitinfo")
GRP = ("PRV-B-GRP",)
RIGHTS = ("realtime", "memory_lock", "nice")
GRANTS = names("granted", RIGHTS)
CAPABILITIES = names("granted", ("cap_sys_nice", "cap_ipc_lock"))

MSG = ("MSG-B-PRI", *MONOTONIC)
QUEUES = ("mq", "sysv")
WAITERS = "receivers senders"

ASY = ("FIO-B-ASY",)
CHANNELS = ("pipe", "fifo", "socket", "pty")
AIO, RING = ("aio",), ("io_uring",)

POSIX_TIMERS = ("timer-handler", "timer-sigwaitinfo")
TIMERS = (*POSIX_TIMERS, "timerfd", "setitimer")
COUNTED = names("overrun_count", (*POSIX_TIMERS, "timerfd"))
EDGE = ("TMR-B-EDGE", *MONOTONIC)
RES = ("CLK-B-RES", "--samples", "20000", *MONOTONIC)


def signals(claims: str) -> set[str]:
    """By both receivers, in both scopes."""
    return names(claims, RECEIVERS, SCOPES)


def waiters(claims: str = WAITERS, scopes: Iterable[str] = SCOPES) -> set[str]:
    return names(claims, ["mq"], scopes)


def edge(*mechanisms: str) -> tuple[str, ...]:
    return (*EDGE, "-p", f"mechanisms={','.join(mechanisms)}")


# The verdicts that must fail, and no others: each kind and scope is judged by itself.
BREACHES: list[tuple[str, tuple[str, ...], set[str]]] = [
    ("sem_zero", LCK, names(LOCKING, KINDS, SCOPES)),
    ("sem_forked", LCK, names(LOCKING, KINDS, ["process"])),
    *((f"sem_zero,on_{kind}", LCK, names(LOCKING, [kind], SCOPES)) for kind in KINDS),
    ("sem_lost", LCK, names("increments", OBJECTS, SCOPES)),
    ("sem_later", LCK, names("reschedules", OBJECTS, SCOPES)),
    ("sem_lowest", REL, names(ORDERS, PROMISED, SCOPES)),
    *((f"sem_lowest,on_{kind}", REL, names(ORDERS, [kind], SCOPES)) for kind in PROMISED),
    *((f"sem_lowest,in_{scope}", REL, names(ORDERS, PROMISED, [scope])) for scope in SCOPES),
    ("sem_forked", REL, names(ORDERS, PROMISED, ["process"])),
    ("sem_first", REL, names(ORDERS, PROMISED, SCOPES)),
    ("sem_fifo", REL, names(FIFO_FAILS, PROMISED, SCOPES)),
    ("sem_lifo", REL, names("equals", PROMISED, SCOPES)),
    ("sem_right", REL, set()),
    ("no_protocol", ARC, names("avoided chain", ["inherit", "protect"]) | {"boost_goes/inherit"}),
    ("no_protocol", INV, names("not_vulnerable", ["inherit", "protect", "robust-inherit"])),
    ("boost_stays", ARC, {"boost_goes/inherit"}),
    ("impatient", ARC, {"boost_goes/inherit"}),
    # A spin lock is ended by its watchdog, after a second: these and no others.
    ("mutex_spins", (*ARC, "-p", "protocols=inherit"), names("avoided chain", ["inherit"])),
    (
        "mutex_spins",
        (*INV, "-p", "primitives=inherit,robust-inherit,protect"),
        names("not_vulnerable", ["inherit", "robust-inherit"]),
    ),
    ("equal_at_once", NEW, names("equal yield", POLICIES) | NOT_ON_LINUX),
    ("lower_at_once", NEW, names("lower", POLICIES) | NOT_ON_LINUX),
    ("higher_later", NEW, names("higher", POLICIES) | NOT_ON_LINUX),
    ("yield_nothing", NEW, names("yield", POLICIES) | NOT_ON_LINUX),
    ("setschedprio_tail", NEW, names("lowered_setschedprio", POLICIES) | NOT_ON_LINUX),
    ("setschedparam_tail", NEW, set()),
    ("rr_is_fifo", RR, {"rotates", "fair"}),
    ("rr_interval", RR, {"slice_length"}),
    ("rr_unfair", RR, {"fair", "slice_length"}),
    ("rr_little", RR, {"fair"}),
    ("rr_first_short", RR, {"first_slice"}),
    ("rr_first_long", TWO, {"first_slice"}),
    ("two_levels", PRI, {"ready_order", "preempts", "levels"}),
    ("one_pair", PRI, {"ready_order", "preempts"}),
    ("few_levels", PRI, {"levels"}),
    ("late_wake", PRI, {"preempts", "levels", "long_use", "time_shared"}),
    ("late_wake_rare", PRI, {"time_shared"}),
    ("degrade", PRI, {"long_use"}),
    ("late_beside_child", PRI, CALLS),
    # What changes a signal changes one that was queued when the limit was reached, too.
    ("sig_lost", QUE, signals("none_lost intact")),
    ("sig_twice", QUE, signals("none_lost fifo intact")),
    ("sig_swapped", QUE, signals("fifo intact")),
    ("sig_value", QUE, signals("value intact")),
    ("sig_half", QUE, signals("value intact")),
    ("sig_code", QUE, signals("value intact")),
    ("sig_blocked", QUE, signals("blocked pending")),
    ("sig_unseen", QUE, signals("pending")),
    ("sig_highest", QUE, signals("lowest_first intact")),
    ("sig_early", QUE, signals("limit")),
    ("sig_no_eagain", QUE, signals("limit intact")),
    ("sig_other", QUE, signals("limit")),
    ("sig_drop", QUE, signals("intact")),
    ("pwr_lost", PWR, {"delivered", "within_bound"}),
    ("pwr_late", PWR, {"within_bound"}),
    # Limits are the library's: not every root may raise one.
    ("prv_own", GRP, set()),
    (
        "prv_own,prv_realtime",
        GRP,
        {"refused/realtime", "granted/cap_ipc_lock"} | GRANTS,
    ),
    (
        "prv_own,prv_lock",
        GRP,
        {"refused/memory_lock", "granted/cap_sys_nice"} | GRANTS - {"granted/nice"},
    ),
    ("prv_own,prv_nice", GRP, {"refused/nice", "granted/nice"}),
    ("prv_own,prv_io", GRP, {"refused/io_realtime"}),
    ("prv_own,prv_affinity", GRP, {"refused/affinity"}),
    ("prv_own,prv_open", GRP, {"refused/offline", "refused/cpuset"}),
    ("prv_one_more", GRP, GRANTS),
    ("prv_one_less", GRP, GRANTS),
    ("prv_nothing", GRP, {"refused/memory_lock"} | GRANTS | CAPABILITIES),
    ("prv_own,prv_sys_admin", GRP, CAPABILITIES),
    # Waiters are told apart by their messages: what harms these is seen there too.
    ("msg_swap", MSG, names("age_order", QUEUES) | waiters("senders")),
    ("msg_swap,on_sysv", MSG, names("age_order", ["sysv"])),
    ("msg_flat", MSG, names("priority_order", QUEUES)),
    ("msg_flat,on_mq", MSG, names("priority_order", ["mq"])),
    ("msg_lose", MSG, names("intact", QUEUES) | waiters()),
    ("msg_lose,on_sysv", MSG, names("intact", ["sysv"])),
    ("msg_twice", MSG, names("intact", QUEUES) | waiters()),
    ("msg_corrupt", MSG, names("intact", QUEUES)),
    ("msg_short", MSG, names("intact", QUEUES) | waiters("receivers")),
    ("msg_relabel", MSG, names("intact", QUEUES)),
    ("msg_lowest", MSG, waiters()),
    *((f"msg_lowest,in_{scope}", MSG, waiters(scopes=[scope])) for scope in SCOPES),
    ("msg_fifo", MSG, waiters()),
    ("msg_lifo", MSG, waiters()),
    ("msg_early", MSG, names("timeout", ["mq"])),
    ("msg_error", MSG, names("nonblocking", QUEUES)),
    ("msg_right", MSG, set()),
    ("read_blocks", ASY, names("empty_read", CHANNELS)),
    ("read_fills", ASY, names("empty_read partial_read", CHANNELS)),
    ("write_blocks", ASY, names("full_write select poll", CHANNELS)),
    ("write_loses", ASY, names("full_write", CHANNELS)),
    ("fionread_off", ASY, names("fionread", CHANNELS)),
    ("select_early", ASY, names("select", CHANNELS)),
    ("select_never", ASY, names("select", CHANNELS)),
    ("poll_early", ASY, names("poll", CHANNELS)),
    ("poll_never", ASY, names("poll", CHANNELS)),
    ("sigio_lost", ASY, names("sigio", CHANNELS)),
    ("sigio_early", ASY, names("sigio", CHANNELS)),
    ("aio_blocks", ASY, names("overlap progress suspend cancel", AIO)),
    ("suspend_early", ASY, names("suspend", AIO)),
    ("aio_lost", ASY, names("file_transfer", AIO)),
    ("lio_lost", ASY, names("list", AIO)),
    ("cancel_lies", ASY, names("cancel", AIO)),
    ("pread_wrong", ASY, names("file_transfer list", AIO) | names("file_transfer", RING)),
    ("ring_blocks", ASY, names("overlap cancel", RING)),
    ("ring_keeps", ASY, names("cancel", RING)),
    (
        "early",
        edge("nanosleep", *TIMERS),
        names("never_early", ["nanosleep", *TIMERS])
        | {"never_early_relative/nanosleep"}
        | COUNTED,  # one more than has passed
    ),
    ("drift", edge(*TIMERS), names("interval_exact", TIMERS) | COUNTED),
    ("overrun", edge(*POSIX_TIMERS, "timerfd"), COUNTED),
    ("twice", edge(*TIMERS), names("one_shot_once", TIMERS)),
    ("disarm", edge(*TIMERS), names("disarm_works", TIMERS)),
]
# Where blocked signals come at once, nothing is queued: whether the limit is kept is not seen.
UNSEEN = {"sig_blocked": signals("limit intact")}
# Verdicts that a system may lack what they need for.
MAY_BE_MISSING = {GRP[0], ASY[0]}
BEHAVIOURS = (LCK, REL, ARC, INV, NEW, RR, PRI, QUE, PWR, GRP, MSG, ASY, EDGE)
# Given only where one of the system's processes was ready; probe/tests/test_system_threads.c.
SELDOM = {"system_processes"}
NEVER = {"interval_exact/nanosleep"}  # nobody but the caller has an interval there
# Breaches of clocks are below. Of files: test_files.py; of memory: test_memory_lock.py; of the
# simulation: test_tire.py; of POSIX: tests/virtual.
ELSEWHERE = {
    "CLK-B-RES",
    "FIO-P-SYN",
    "FIO-P-PRE",
    "MEM-B-LCK",
    "SIM-S-RT",
    "POS-B-INV",
}


@pytest.fixture
def on_libc(broken: OnLibc, broken_libc: Path, virtual_libc: Path) -> OnLibc:
    def run_on(breach: str, words: tuple[str, ...], **variables: str) -> Stream:
        if words[0] == EDGE[0] or "HARDSTONE_READ_NS" in variables:
            variables["LD_PRELOAD"] = f"{broken_libc}:{virtual_libc}"
        if words[0] == GRP[0] and (reason := machine.no_other_user()) is not None:
            pytest.skip(reason)
        stream = broken(breach, *words, **{"HARDSTONE_READ_NS": "1000", **variables})
        assert stream.result.status == "measured", stream.result
        return stream

    return run_on


@pytest.fixture
def unbroken(on_libc: OnLibc, kept: OnLibc) -> OnLibc:
    """On a libc that breaks nothing, once for all who ask."""

    def run_on(words: tuple[str, ...]) -> Stream:
        breach = "prv_own" if words == GRP else "none"
        return kept(("unbroken", words), lambda: on_libc(breach, words))

    return run_on


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


def kinds_of(fail: set[str]) -> tuple[str, ...]:
    kinds = (*CHANNELS, *AIO, *RING)
    return ("-p", f"kinds={','.join(one for one in kinds if any(one in name for name in fail))}")


@pytest.mark.parametrize(
    ("breach", "words", "fail"), BREACHES, ids=[f"{one[1][0]}-{one[0]}" for one in BREACHES]
)
def test_a_breach_is_seen(
    on_libc: OnLibc, breach: str, words: tuple[str, ...], fail: set[str]
) -> None:
    more = kinds_of(fail) if words == ASY else ()
    stream = on_libc(breach, (*words, *more))
    seen = fail & set(stream.verdicts) if words[0] in MAY_BE_MISSING else fail
    assert failed(stream) - UNSEEN.get(breach, set()) == seen, stream.of(StreamVerdict)
    assert seen or not fail or words[0] in MAY_BE_MISSING


@pytest.mark.parametrize("words", BEHAVIOURS, ids=lambda words: words[0])
def test_every_verdict_holds_and_has_a_breach(unbroken: OnLibc, words: tuple[str, ...]) -> None:
    """By its full name: one of several instances that fails says nothing of the others."""
    broken = {name for _, other, fail in BREACHES if other[0] == words[0] for name in fail}
    stream = unbroken(words)
    missing = broken - set(stream.verdicts)
    assert not missing or words[0] in MAY_BE_MISSING, missing
    assert set(stream.verdicts) - SELDOM - NEVER <= broken
    if words[0] == GRP[0]:
        told = {text.partition(": ")[0] for text in texts(stream, "right_not_tried")}
        assert missing == told <= {"refused/offline", "refused/cpuset", "refused/io_realtime"}
    if words[0] == ASY[0]:
        told = {event.data["kind"] for event in stream.of(StreamEvent)}
        assert {name.partition("/")[2] for name in missing} <= told
    known = NOT_ON_LINUX if platform.system() == "Linux" and words == NEW else set()
    assert failed(stream) == known, stream.of(StreamVerdict)


def test_every_claim_of_the_register_has_a_breach() -> None:
    broken = defaultdict(set)
    for _, words, fail in BREACHES:
        broken[words[0]] |= {name.partition("/")[0] for name in fail} | SELDOM
    for test in sample.register().tests:
        claims = {one.name for one in test.verdicts}
        assert claims <= broken[test.id] or test.id in ELSEWHERE, test.id


def test_the_real_libc_keeps_its_word(shared_probe: Path, quick: list[str]) -> None:
    """That nothing stands in for: of timers, what test_register.py leaves out. A process for each
    mechanism, at once: most of the time each waits."""
    runs = [(EDGE[0], "-p", f"mechanisms={one}", *quick) for one in TIMERS]
    with ThreadPoolExecutor() as pool:
        streams = list(pool.map(lambda words: run(shared_probe, *words), runs))
    assert all(stream.verdicts and not failed(stream) for stream in streams)


# ---- clocks ----

STILL = {f"monotonic/{name}" for name in ("MONOTONIC", "THREAD_CPUTIME_ID", "MONOTONIC_RAW")}


def two_cpus() -> bool:
    """An odd CPU is the one that the broken libc sets back."""
    return {cpu % 2 for cpu in os.sched_getaffinity(0)} == {0, 1}


@pytest.mark.parametrize(
    ("breach", "fail"),
    [
        ("back", {"monotonic/MONOTONIC", "monotonic_across_cpus/MONOTONIC"}),
        ("back_cpu", {"monotonic_across_cpus/MONOTONIC"}),
    ],
)
def test_a_clock_that_goes_back_is_seen(on_libc: OnLibc, breach: str, fail: set[str]) -> None:
    if not two_cpus():
        pytest.skip("one CPU: nothing to compare across CPUs")
    assert fail <= failed(on_libc(breach, RES))


def test_a_clock_that_stands_still_never_passes(on_libc: OnLibc) -> None:
    """As many readings as are made in a second, of 10 ms each twenty thousandth."""
    stream = on_libc("still", RES, HARDSTONE_READ_NS="10000000")
    told = [
        verdict for verdict in stream.of(StreamVerdict) if ("does not advance") in verdict.evidence
    ]
    assert {verdict.name for verdict in told} == STILL - {"monotonic/MONOTONIC"}
    assert not any(verdict.passed for verdict in told)
    assert "monotonic_across_cpus/MONOTONIC_RAW" not in stream.verdicts
    assert "CLOCK_TAI does not advance" in stream.events["clock_stands_still"].text


def test_a_clock_that_cannot_be_read_or_compared_has_no_verdict(
    on_libc: OnLibc,
) -> None:
    stream = on_libc("absent", RES)
    assert "CLOCK_PROCESS_CPUTIME_ID" in stream.events["clock_unsupported"].text
    assert "monotonic/PROCESS_CPUTIME_ID" not in stream.verdicts
    assert "monotonic/THREAD_CPUTIME_ID" in stream.verdicts
    if two_cpus():  # equal readings compare none
        stream = on_libc("stops", RES)
        assert "CLOCK_BOOTTIME" in stream.events["clock_stands_still"].text
        assert "monotonic_across_cpus/BOOTTIME" not in stream.verdicts
        assert stream.verdicts["monotonic/BOOTTIME"]


def test_a_stall_of_many_periods_is_no_drift(on_libc: OnLibc) -> None:
    """One late wait serves all expirations of a hundred periods: these have no lateness."""
    late = ",".join(["0"] * 15 + ["250000000"])
    stream = on_libc("none", edge(*TIMERS), HARDSTONE_LATE_NS=late)
    exact = {name for name in stream.verdicts if name.startswith("interval_exact/")}
    assert exact == names("interval_exact", TIMERS) and not exact & failed(stream)


# ---- what nobody promises is told ----

VULNERABLE = {"none", "semaphore", "robust", "spin", "rwlock", "condition"}


def texts(stream: Stream, name: str) -> list[str]:
    return [event.text for event in stream.told(name)]


def kinds_by_priority(stream: Stream) -> dict[str, bool]:
    """Of kinds without a promise, and scopes: whether their order was said to be by priority."""
    told = texts(stream, "release_order")
    assert all(
        ("not released by priority" in text) != ("always released by" in text) for text in told
    )
    return {text.partition(":")[0]: "not released by priority" not in text for text in told}


def by_scope(by_kind: dict[str, bool]) -> dict[str, bool]:
    return {f"{kind}, {scope}": value for kind, value in by_kind.items() for scope in SCOPES}


def test_the_order_of_release_that_nobody_promises(unbroken: OnLibc, on_libc: OnLibc) -> None:
    """Linux wakes a set's waiters in the order of their coming, a word's by priority, and a
    descriptor's as the kernel's version has it; on a libc that replaces them, as that does."""
    told = kinds_by_priority(unbroken(REL))
    by_kind = {"sysv": False, "eventfd": told["eventfd, thread"], "futex": True}
    assert told == by_scope(by_kind)
    for kind, (breach, is_so) in product(
        ("sysv", "eventfd"), (("sem_right", True), ("sem_first", False))
    ):
        stream = on_libc(f"{breach},on_{kind}", REL)
        assert kinds_by_priority(stream) == by_scope({**by_kind, kind: is_so})


def in_order(text: str, *steps: str) -> bool:
    places = [text.index(step) for step in steps]
    return places == sorted(places)


def inversions(stream: Stream) -> dict[str, str]:
    """What was told of the mutex without a protocol, for one lock and for a chain."""
    told = texts(stream, "inversion")
    found = {text.partition(": ")[0]: text.partition(": ")[2] for text in told}
    assert set(found) == {"none, one lock", "none, chain of three"}
    return found


def test_whether_none_avoids_inversion_is_told(unbroken: OnLibc, on_libc: OnLibc) -> None:
    for text in inversions(unbroken(ARC)).values():
        assert text.startswith("priority inversion")
        assert in_order(text, "medium made ready", "medium ran", "low let go", "high got it")
    lends = on_libc("lends", ARC)
    assert not failed(lends)
    for text in inversions(lends).values():
        assert text.startswith("no inversion") and in_order(text, "high got it", "medium ran")


def vulnerable(stream: Stream) -> dict[str, bool]:
    """The primitives of which nothing is promised: whether each is vulnerable."""
    told = {text.partition(":")[0]: True for text in texts(stream, "vulnerable")}
    spared = {text.partition(":")[0]: False for text in texts(stream, "not_vulnerable")}
    assert not told.keys() & spared.keys()
    return told | spared


def test_which_primitives_are_vulnerable_is_told(unbroken: OnLibc, on_libc: OnLibc) -> None:
    stream = unbroken(INV)
    assert vulnerable(stream) == dict.fromkeys(VULNERABLE, True)
    for text in texts(stream, "vulnerable"):
        is_spin = text.startswith("spin")
        assert ("the watchdog ended it" in text) == is_spin
        assert is_spin or in_order(text, "medium ran", "high got it"), text
    lends = on_libc("lends", INV)
    assert vulnerable(lends) == dict.fromkeys(VULNERABLE, False) | {"condition": True}
    for text in texts(lends, "not_vulnerable"):
        assert in_order(text, "high got it", "medium ran"), text
    sleeps = on_libc("spin_sleeps", INV)  # it does not lock up
    assert vulnerable(sleeps)["spin"]
    assert not [text for text in texts(sleeps, "vulnerable") if "watchdog" in text]


# ---- what is missing, or not seen ----


@pytest.mark.parametrize(
    ("breach", "kind", "reason"),
    [
        ("no_terminal", "pty", "No such file"),
        ("no_aio", "aio", "not implemented"),
        ("no_ring", "io_uring", "kernel has none"),
        ("ring_denied", "io_uring", "a system call filter"),
    ],
)
def test_a_kind_that_is_missing_is_told(
    on_libc: OnLibc, breach: str, kind: str, reason: str
) -> None:
    stream = on_libc(breach, (*ASY, "-p", f"kinds=pipe,{kind}"))
    assert stream.events["kind_unsupported"].data["kind"] == kind
    assert reason in str(stream.events["kind_unsupported"].data["error"])
    assert {name.partition("/")[2] for name in stream.verdicts} == {"pipe"}


def test_a_request_that_is_said_to_be_complete_too_early(on_libc: OnLibc) -> None:
    """What else fails then depends on when it is carried out."""
    assert "progress/aio" in failed(on_libc("aio_early", (*ASY, "-p", "kinds=aio")))


def test_of_no_signal_there_is_one_verdict(on_libc: OnLibc) -> None:
    """Nothing was lost, or changed, of nothing; that it was refused below the limit is seen."""
    stream = on_libc("sig_none", QUE[:1])
    assert stream.verdicts == dict.fromkeys(signals("limit"), False)
    not_seen = stream.told("not_seen")
    assert {one.data["verdict"] for one in not_seen} == {"none_lost", "intact"}


def test_a_limit_that_no_burst_has_met_has_no_verdict(on_libc: OnLibc) -> None:
    """Signals of others leave the queue: 64 beyond the limit that was set are no more beyond it."""
    words = ("SIG-B-QUE", "-p", "burst=10", "-p", "scopes=process", "-p", "receivers=handler")
    stream = on_libc("sig_leave", words)
    assert failed(stream) == set()
    assert "limit/handler/process" not in stream.verdicts
    assert "intact/handler/process" in stream.verdicts
    assert "limit_not_reached" in stream.events


@pytest.mark.parametrize("receiver", ["handler", "sigwaitinfo"])
@pytest.mark.parametrize("place", ["burst", "limit"])
def test_a_stop_before_signals_are_taken_is_no_loss(
    on_libc: OnLibc, place: str, receiver: str
) -> None:
    """The second round is cut: what it sent and did not take is not counted."""
    words = (*QUE, "--samples", "3", "-p", "scopes=process", "-p", f"receivers={receiver}")
    round_count = 3000 + 1000 + 1  # with those up to the limit, and the one that is refused
    nth = round_count + {"burst": 500, "limit": 3500}[place]
    stream = on_libc("none", words, HARDSTONE_SCRIPT=f"sigqueue nth={nth} stop")
    assert stream.result.interrupted
    assert failed(stream) == set()
    (none_lost,) = [one for one in stream.of(StreamVerdict) if one.name.startswith("none_lost")]
    assert "in 1 bursts" in none_lost.evidence or place == "limit"


def test_a_notice_on_an_idle_cpu_shows_no_bound(on_libc: OnLibc) -> None:
    stream = on_libc("pwr_idle", ("PWR-B-SIG", "--samples", "100"))
    assert "delivered" in stream.verdicts
    assert stream.verdicts.get("within_bound") is not True  # false where the host was late
    assert ("within_bound" in stream.verdicts) != ("not_seen" in stream.events)


# ---- a host that is late, or takes the CPU, is no breach ----

WATCHDOG = "late_watchdog,unseen"  # by a host of which the guest sees nothing


@pytest.mark.parametrize(
    ("breach", "words"),
    [(WATCHDOG, (*ARC, "-p", "protocols=inherit")), ("late_patience,unseen", ARC), (WATCHDOG, INV)],
)
def test_a_late_host_fails_no_verdict(on_libc: OnLibc, breach: str, words: tuple[str, ...]) -> None:
    stream = on_libc(breach, words)
    assert not failed(stream), str(stream.of(StreamVerdict))
    assert stream.verdicts and "round_repeated" in stream.events
    assert {
        text.partition(":")[0] for text in texts(stream, "vulnerable") if "watchdog" in text
    } <= {"spin"}


@pytest.mark.parametrize("words", [ARC, INV], ids=lambda words: words[0])
def test_rounds_without_the_cpu_leave_no_verdict(broken: OnLibc, words: tuple[str, ...]) -> None:
    """Of a libc that breaks its promises, in whose every round the CPU is taken: whether it is
    the one or the other that spoils the order is not known."""
    stream = broken("taken,no_protocol", *words)
    assert not failed(stream), str(stream.of(StreamVerdict))
    assert stream.result.status == "failed"
    assert "no verdict" in (stream.result.reason or "") and stream.result.remedy
