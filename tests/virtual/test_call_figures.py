"""What the tests of semaphores, mutexes, threads and signals time, on a libc whose calls cost known
times: each value is the sum of the calls between its two moments, and of nothing else."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import pytest

from tests import machine
from tests.process.targets import sample
from tests.running import Stream
from tests.virtual.calls import (
    COST,
    READ_NS,
    Call,
    Cost,
    figures,
    in_words,
    measure,
    measure_with_calls,
)

pytestmark = machine.needs(machine.no_realtime())

Measured = Callable[..., Stream]
Called = Callable[..., list[Call]]

SAMPLES = 50
BURN_NS = 20_011  # of reading the clock: each ns of it is one read
SCOPES = ("thread", "process")
POST, WAIT, TIMED = COST["sem_post"], COST["sem_wait"], COST["sem_timedwait"]
# Values at the start of a variant that are not recorded.
WARM_UP = {one.id: one.warm_up_samples for one in sample.register().tests}
CREATE, CANCEL, JOIN = COST["pthread_create"], COST["pthread_cancel"], COST["pthread_join"]
SENT_NS = COST["sigqueue"].whole + COST["sigwaitinfo"].enter + READ_NS
FREE = Cost(0, 0, 0)  # an integer that nobody waits for: no call

# V and P of each kind where nobody waits, and where somebody does.
ALONE = {
    "unnamed": (POST, WAIT),
    "named": (POST, WAIT),
    "sysv": (COST["semop_signal"], COST["semop_wait"]),
    "eventfd": (COST["write"], COST["read"]),
    "futex": (FREE, FREE),
}
CONTENDED = {**ALONE, "futex": (COST["futex_wake"], COST["futex_wait"])}

# A mutex in one thread; between two, with a condition variable in it.
PAIRS = {**ALONE, "mutex": (COST["unlock_none"], COST["lock_none"])}
LOCK, UNLOCK = COST["lock_none"], COST["unlock_none"]
SIGNAL, AWAIT = COST["cond_signal"], COST["cond_wait"]
GIVE = Cost(LOCK.whole + SIGNAL.whole + UNLOCK.whole, 0, 0)
TAKE = Cost(LOCK.whole + AWAIT.enter, AWAIT.leave + UNLOCK.whole, AWAIT.blocked)
HANDED = {**CONTENDED, "mutex": (GIVE, TAKE)}


# The forms that are measured where nobody waits: what is the same for both is measured once.
FORMS = dict.fromkeys(ALONE, ("both",)) | {"unnamed": SCOPES, "mutex": SCOPES}


@pytest.fixture
def measured(shared_probe: Path, virtual_libc: Path) -> Measured:
    def measured(*words: str, **told: str | int) -> Stream:
        stream = measure(shared_probe, virtual_libc, *words, **told)
        assert stream.result.status == "measured", stream.result.reason
        return stream

    return measured


@pytest.fixture
def called(shared_probe: Path, virtual_libc: Path, tmp_path: Path) -> Called:
    """All calls that were made, in their order."""

    def called(*words: str) -> list[Call]:
        stream, calls = measure_with_calls(shared_probe, virtual_libc, tmp_path, *words)
        assert stream.result.status == "measured", stream.result.reason
        return calls

    return called


def constant(count: int, values: dict[tuple[str, ...], int]) -> dict[tuple[str, ...], list[int]]:
    return {key: [count, value, value] for key, value in values.items()}


PROTOCOLS = ("none", "inherit", "protect")


def lock(protocol: str) -> Cost:
    return COST[f"lock_{protocol}"]


def unlock(protocol: str) -> Cost:
    return COST[f"unlock_{protocol}"]


def pair_ns(kind: str) -> int:
    """What SEM-P-SIG measures of a kind."""
    signal, wait = PAIRS[kind]
    return signal.whole + wait.whole + READ_NS


MADE = {
    "unnamed": (("sem_init",), ("sem_destroy",)),
    "named": (("sem_open",), ("sem_close", "sem_unlink")),
    "sysv": (("semget", "semctl"), ("semctl",)),
    "eventfd": (("eventfd",), ("close",)),
}
SHARED_NS = READ_NS + COST["sem_init_shared"].whole
# Of tests whose values are all the same.
FIGURES = {
    "SEM-P-NEW": {
        (step, case, kind, scope): READ_NS + sum(COST[name].whole for name in names)
        for kind, steps in MADE.items()
        for scope in FORMS[kind]
        for case in ("unused", "used")
        for step, names in zip(("create", "delete"), steps, strict=True)
    }
    | {("create", case, "unnamed", "process"): SHARED_NS for case in ("unused", "used")},
    "SEM-P-ARN": {
        (name, kind, scope): call.whole + READ_NS
        for kind, (signal, wait) in ALONE.items()
        for scope in FORMS[kind]
        for name, call in (("acquire", wait), ("release", signal))
    },
    "SEM-P-SIG": {
        ("signal_wait", kind, scope): pair_ns(kind) for kind in PAIRS for scope in FORMS[kind]
    },
    "SEM-P-SHF": {
        ("shuffle", kind, scope): signal.whole + wait.enter + wait.woken + READ_NS
        for kind, (signal, wait) in HANDED.items()
        for scope in SCOPES
    },
    "MUT-P-ARN": {
        (name, protocol): call(protocol).whole + READ_NS
        for name, call in (("acquire", lock), ("release", unlock))
        for protocol in PROTOCOLS
    },
    "THR-P-NEW": {
        ("create", "never-run"): CREATE.whole + READ_NS,
        ("delete", "never-run"): CANCEL.whole + JOIN.whole + READ_NS,
        ("create", "run-and-terminate"): CREATE.enter + READ_NS,
        ("delete", "run-and-terminate"): JOIN.whole + READ_NS,
        ("create", "run-and-block"): CREATE.enter + READ_NS,
        # it lowered itself and has still to come back from that, and to block
        ("delete", "run-and-block"): CANCEL.whole
        + JOIN.whole
        + READ_NS
        + COST["pthread_setschedprio"].leave
        + WAIT.enter,
    },
    # The sender's call and its wait as far as it blocks, and the receiver's way out of its own
    # wait: a handler's stamp comes before that. The answer is no part of it.
    "SIG-P-LAT": {
        ("latency", receiver, scope): SENT_NS + more_ns
        for receiver, more_ns in (("handler", 0), ("sigwaitinfo", COST["sigwaitinfo"].woken))
        for scope in SCOPES
    },
}


@pytest.mark.parametrize("test", FIGURES)
def test_each_value_is_the_sum_of_its_calls(measured: Measured, test: str) -> None:
    stream = measured(test, "--samples", str(SAMPLES))
    assert figures(stream) == constant(SAMPLES, FIGURES[test])


@pytest.mark.parametrize(
    ("kind", "first", "last", "between"),
    [
        ("unnamed", "sem_init", "sem_destroy", ["sem_post", "sem_wait"]),
        ("named", "sem_open", "sem_close", ["sem_post", "sem_wait"]),
        ("sysv", "semget", "semctl", ["semop_signal", "semop_wait"]),
        ("eventfd", "eventfd", "close", ["write", "read"]),
    ],
)
def test_used_means_used(
    called: Called, kind: str, first: str, last: str, between: list[str]
) -> None:
    """In half of the lives a V and a P, in the order of the cases; nothing in the others. Each case
    begins with a look whether the kind is here and with lives that are not recorded."""
    calls = called("SEM-P-NEW", "--samples", "10", "-p", f"kinds={kind}", "-p", "scopes=thread")
    begun = [one for one in calls if not one.is_leave]
    uses = [use_of(begun[i + 1 :], kind, last) for i, one in enumerate(begun) if one.name == first]
    before = 1 + WARM_UP["SEM-P-NEW"]
    assert uses[-10:] == [between] * 10
    assert uses[-20 - before : -10 - before] == [[]] * 10


def use_of(calls: list[Call], kind: str, last: str) -> list[str]:
    """Names of the calls up to the one that undoes; setting a set's value is part of making."""
    names = [one.name for one in calls]
    names = names[1:] if kind == "sysv" else names
    return names[: names.index(last)]


@pytest.mark.parametrize(
    ("test", "kind", "made", "used"),
    [
        ("SEM-P-ARN", "unnamed", "sem_init", ("sem_post", "sem_wait")),
        ("SEM-P-SIG", "unnamed", "sem_init", ("sem_post", "sem_wait")),
        ("SEM-P-SIG", "mutex", "mutex_init", ("unlock_none", "lock_none")),
    ],
)
def test_shared_is_made_for_processes(
    called: Called, test: str, kind: str, made: str, used: tuple[str, ...]
) -> None:
    """What is timed was made for several processes in the one scope, and not in the other."""
    for scope, maker in (("thread", made), ("process", f"{made}_shared")):
        words = (test, "--samples", "20", "-p", f"kinds={kind}", "-p", f"scopes={scope}")
        calls = called(*words)
        uses = [one for one in calls if one.name in used and not one.is_leave]
        place = max({one.object for one in uses}, key=[one.object for one in uses].count)
        makers = {one.name for one in calls if one.object == place} & {made, f"{made}_shared"}
        assert makers == {maker}


def trip_ns(kind: str) -> int:
    signal, wait = HANDED[kind]
    return 2 * (signal.whole + wait.enter + wait.woken) + READ_NS


def test_round_trips(measured: Measured) -> None:
    """Two signals and two waits that block; the switch is what the half has more than a pair
    that does not block, which is what SEM-P-SIG measures, and is taken here too."""
    stream = measured("SEM-P-RTP", "--samples", str(SAMPLES))
    expected, alone = {}, {}
    for kind, scope in product(HANDED, SCOPES):
        expected["round_trip", kind, scope] = trip_ns(kind)
        expected["context_switch", kind, scope] = trip_ns(kind) // 2 - pair_ns(kind)
        alone["signal_wait", kind, scope] = pair_ns(kind)
    got = figures(stream)
    assert {key: got.pop(key)[1:] for key in alone} == {
        key: [value, value] for key, value in alone.items()
    }
    assert got == constant(SAMPLES, expected)


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
@pytest.mark.parametrize(("scope", "mark"), [("thread", ""), ("process", "_shared")])
def test_a_mutex_between_two_is_made_for_their_scope(
    called: Called, test: str, scope: str, mark: str
) -> None:
    """The condition variable and the mutex, one of each for each direction."""
    calls = called(test, "--samples", "20", "-p", "kinds=mutex", "-p", f"scopes={scope}")
    waited = {one.object for one in calls if one.name == "cond_wait"}
    assert len(waited) == 2
    for place in waited:
        made = {one.name for one in calls if one.object == place and one.name.startswith("cond_i")}
        assert made == {f"cond_init{mark}"}
    made = {one.name for one in calls if one.name.startswith("mutex_init")}
    assert made == {f"mutex_init{mark}"}


def test_contention(measured: Measured) -> None:
    """Acquire: P up to the blocking, then the creator's return from opening the gate. Release:
    V up to where it runs the waiter, and the waiter's return from P."""
    stream = measured("SEM-P-ARC", "--samples", "60", "-p", "waiters=1,5,30")
    expected = {}
    for kind, (signal, wait) in CONTENDED.items():
        for waiters in ("1", "5", "30"):
            for scope in SCOPES:
                one = kind, scope, waiters
                expected["acquire", *one] = wait.enter + POST.leave + READ_NS
                expected["release", *one] = signal.enter + wait.woken + READ_NS
    assert figures(stream) == constant(60, expected)
    assert set(stream.events) <= {"stacks_not_locked"}  # of 30 waiters


@pytest.mark.parametrize("kind", CONTENDED)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("waiters", [2, 20])
def test_who_waits(called: Called, kind: str, scope: str, waiters: int) -> None:
    """In each round so many threads block, each of a priority of its own and above the
    creator, the highest first; and then each is woken, the highest first."""
    words = ("SEM-P-ARC", "-p", f"kinds={kind}", "-p", f"waiters={waiters}", "--priority", "60")
    words += ("-p", f"scopes={scope}")
    calls = called(*words, "--samples", str(3 * waiters))
    names = {"sysv": "semop_wait", "eventfd": "read", "futex": "futex_wait"}
    name = names.get(kind, "sem_wait")
    makers = {one.thread for one in calls if one.name == "pthread_create"}
    creators = {one.thread for one in calls if one.priority == 60 - waiters}
    assert len(creators) == 1 and (creators <= makers) == (scope == "thread")
    not_waiters = makers | creators
    others = [one for one in calls if one.name == name and one.thread not in not_waiters]
    place = most_shared(others)
    waits = [one for one in others if one.object == place]
    asked = [one.priority for one in waits if not one.is_leave]
    order = list(range(60, 60 - waiters, -1))
    assert asked == order * (WARM_UP["SEM-P-ARC"] + 3)
    rounds = [waits[i : i + 2 * waiters] for i in range(0, len(waits), 2 * waiters)]
    for one in rounds:
        assert [call.is_leave for call in one] == [False] * waiters + [True] * waiters
        assert [call.priority for call in one] == order * 2
    assert creator_priorities(calls, kind, place) == {60 - waiters}


def most_shared(calls: list[Call]) -> str:
    """The object with the most users; each gate has one."""
    users: dict[str, set[int]] = {}
    for one in calls:
        users.setdefault(one.object, set()).add(one.thread)
    return max(users, key=lambda place: len(users[place]))


def creator_priorities(calls: list[Call], kind: str, place: str) -> set[int]:
    signals = {"sysv": "semop_signal", "eventfd": "write", "futex": "futex_wake"}
    name = signals.get(kind, "sem_post")
    woke = [
        one
        for one, other in pairwise(calls)
        if (one.name, one.object, one.is_leave) == (name, place, False)
        and one.thread != other.thread
    ]
    return {one.priority for one in woke}


# ---- mutexes ----


def test_locking_with_contention(measured: Measured) -> None:
    """Acquire: high's request up to the blocking, then low's return from opening its gate.
    Release: low's unlock up to where it runs high, and high's return from its request; with
    protect high's coming from its gate and its whole request."""
    stream = measured("MUT-P-ARC", "--samples", str(SAMPLES))
    expected = constant(
        SAMPLES,
        {
            ("acquire", "none"): lock("none").enter + POST.leave + READ_NS,
            ("release", "none"): unlock("none").enter + lock("none").woken + READ_NS,
            ("acquire", "inherit"): lock("inherit").enter + POST.leave + READ_NS,
            ("release", "inherit"): unlock("inherit").enter + lock("inherit").woken + READ_NS,
            ("release", "protect"): unlock("protect").enter
            + WAIT.woken
            + lock("protect").whole
            + 2 * READ_NS,
        },
    )
    assert figures(stream) == {**expected, ("acquire", "protect"): [0, 0, 0]}
    assert list(stream.events) == ["no_contention"]
    assert "protect" in stream.events["no_contention"].text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_medium_is_made_ready_before_the_release(called: Called, protocol: str) -> None:
    """By low, in every round: its gate is opened before low's unlock; it runs before that
    with `none`, and after high is done with the others."""
    calls = called("MUT-P-ARC", "-p", f"protocols={protocol}", "--samples", "8", "--priority", "60")
    low, medium, high = 57, 58, 59  # of the threads: the priority at which they rest
    threads = threads_at_rest(calls, (low, medium, high))
    asked = [i for i, one in enumerate(calls) if is_enter(one, f"lock_{protocol}", threads[high])]
    let_go = [i for i, one in enumerate(calls) if is_enter(one, f"unlock_{protocol}", threads[low])]
    done = [i for i, one in enumerate(calls) if is_enter(one, f"unlock_{protocol}", threads[high])]
    ran = [
        i
        for i, one in enumerate(calls)
        if one.thread == threads[medium] and one.name == "sem_wait" and one.is_leave
    ]
    opened = [i for i, one in enumerate(calls) if opens(calls, i, threads[low], threads[medium])]
    rounds = list(zip(asked, let_go, done, ran[-len(asked) - 1 : -1], opened, strict=False))
    assert len(asked) >= 8 and len(opened) >= len(asked)
    for request, release, end, run, ready in rounds[:8]:
        assert ready < release
        if protocol == "none":
            assert request < ready < run < release < end
        elif protocol == "inherit":
            assert request < ready < release < end < run
        else:
            assert ready < release < request < end < run


def is_enter(call: Call, name: str, thread: int) -> bool:
    return call.name == name and call.thread == thread and not call.is_leave


def threads_at_rest(calls: list[Call], priorities: tuple[int, ...]) -> dict[int, int]:
    """By the priority of their last wait at a gate."""
    rests = {one.thread: one.priority for one in calls if one.name == "sem_wait"}
    found = {priority: thread for thread, priority in rests.items()}
    return {priority: found[priority] for priority in priorities}


def opens(calls: list[Call], place: int, by: int, whom: int) -> bool:
    """Whether this call is a sem_post by one thread to the gate at which the other rests."""
    call = calls[place]
    gates = {one.object for one in calls if one.thread == whom and one.name == "sem_wait"}
    return is_enter(call, "sem_post", by) and call.object in gates


def test_delay_by_inversion(measured: Measured) -> None:
    """From low's having it to high's: what they do in between, and, where priorities are
    inverted, what medium does and burns."""
    stream = measured("MUT-P-INV", "--samples", "10", "-p", f"medium_ns={BURN_NS}")
    # low opens two gates and reads the clock twice; high reads it twice
    both = 2 * POST.whole + 4 * READ_NS
    # medium wakes, burns, tells its end to the director, who goes back to wait, and rests
    end = POST.whole + TIMED.whole + READ_NS
    medium = WAIT.woken + READ_NS + BURN_NS + end + WAIT.enter
    waited = WAIT.woken  # of high for its gate
    expected = {}
    for protocol in ("none", "inherit", "semaphore"):
        take, give = (WAIT, POST) if protocol == "semaphore" else (lock(protocol), unlock(protocol))
        delay = both + waited + take.enter + give.enter + take.woken
        expected["delay", protocol] = delay + (0 if protocol == "inherit" else medium)
    expected["delay", "protect"] = both + waited + unlock("protect").enter + lock("protect").whole
    assert figures(stream) == constant(10, expected)


def test_the_table_of_primitives(measured: Measured) -> None:
    """The same delay for each primitive, with what is written to the log in between. The spin lock,
    which its watchdog ends in real time: tests/host/test_figures.py."""
    primitives = "none,inherit,protect,semaphore,robust,robust-inherit,rwlock,condition"
    words = ("-p", f"medium_ns={BURN_NS}", "-p", f"primitives={primitives}")
    stream = measured("MUT-B-INV", *words)
    both = 2 * POST.whole + 4 * READ_NS + WAIT.woken
    end = POST.whole + TIMED.whole + READ_NS
    medium = WAIT.woken + READ_NS + BURN_NS + end + WAIT.enter + READ_NS
    # locked, asked, blocked, ran, made ready, let go, and medium's own; a ceiling blocks nobody
    notes = 6 * READ_NS
    calls = {
        "none": lock("none").enter + unlock("none").enter + lock("none").woken + medium,
        "inherit": lock("inherit").enter + unlock("inherit").enter + lock("inherit").woken,
        "protect": unlock("protect").enter + lock("protect").whole - READ_NS,
        "semaphore": WAIT.enter + POST.enter + WAIT.woken + medium,
        "rwlock": medium,  # its calls cost nothing here
        "condition": 2 * (lock("none").whole + unlock("none").whole)
        + (AWAIT.enter + SIGNAL.enter + AWAIT.woken)
        + medium,
    }
    calls |= {"robust": calls["none"], "robust-inherit": calls["inherit"]}
    spared = {"inherit", "protect", "robust-inherit"}
    got = figures(stream)
    for name, ns in calls.items():
        assert got["delay", name] == [5, both + notes + ns, both + notes + ns], name
        assert got["inverted", name][1:] == [name not in spared] * 2, name
        assert got["ended_by_watchdog", name][1:] == [0, 0], name


# ---- threads ----

RINGS = (2, 10, 33)
RING_SAMPLES = 200
SLOW_READ_NS = 10  # where a thread reads the clock until a time: a tenth of the readings
YIELD = COST["sched_yield"]


def test_a_switch_is_one_yield(measured: Measured) -> None:
    """Its beginning in one thread and its end in the next: no wake-up, no lap that begins."""
    rings = ",".join(map(str, RINGS))
    stream = measured("THR-P-SLS", "-p", f"threads={rings}", "--samples", str(RING_SAMPLES))
    value = YIELD.whole + READ_NS
    assert figures(stream) == {("switch", str(n)): [RING_SAMPLES, value, value] for n in RINGS}


def test_rings_are_those_asked_for(called: Called) -> None:
    """One after the other in one run: each label's turns are made by so many threads, which come
    in one order at one priority."""
    calls = called("THR-P-SLS", "-p", "threads=2,7,5", "--samples", "100")
    yields = [one for one in calls if one.name == "sched_yield" and not one.is_leave]
    turns = [one.thread for one in yields]
    assert len({one.priority for one in yields}) == 1
    counts: list[int] = []
    while turns:
        size = 1 + next((i for i, one in enumerate(turns[1:]) if one == turns[0]), 0)
        whole = next((i for i, one in enumerate(turns) if one != turns[i % size]), len(turns))
        counts.append(size)
        turns = turns[whole:]
    assert [one for i, one in enumerate(counts) if i == 0 or one != counts[i - 1]] == [2, 7, 5]


def test_a_preemption_is_a_wake_up(measured: Measured) -> None:
    words = ("THR-P-PRE", "--samples", "100")
    stream = measured(*words, read_ns=SLOW_READ_NS)
    by_thread = POST.enter + WAIT.woken + SLOW_READ_NS
    assert set(figures(stream)) == {("preemption", "thread"), ("preemption", "timer")}
    assert figures(stream)["preemption", "thread"] == [100, by_thread, by_thread]
    assert_by_timer(figures(stream)["preemption", "timer"])
    assert not stream.events


def assert_by_timer(figure: list[int]) -> None:
    """Low reads the clock until the time has come, which the last reading may be beyond."""
    count, least, most = figure
    wake_up = COST["clock_nanosleep"].leave
    assert count == 100
    assert wake_up + SLOW_READ_NS <= least <= most < wake_up + 2 * SLOW_READ_NS


def test_who_has_not_started_is_not_preempted(measured: Measured) -> None:
    """Low comes out of its sem_wait after the first expiry of each chunk."""
    slow = {**COST, "sem_wait": Cost(WAIT.enter, 200_000, WAIT.blocked)}
    words = ("THR-P-PRE", "-p", "by=timer", "--samples", "100")
    costs = in_words(slow, SLOW_READ_NS)
    stream = measured(*words, HARDSTONE_COSTS=costs)
    assert set(figures(stream)) == {("preemption", "timer")}
    assert_by_timer(figures(stream)["preemption", "timer"])
    assert set(stream.events) == {"low_not_started"}


def test_who_is_preempted(called: Called) -> None:
    """The wakers are one thread, one below the woken one."""
    calls = called("THR-P-PRE", "-p", "by=thread", "--samples", "64", "--priority", "50")
    pairs = Counter(pairs_of(calls))
    assert pairs[(49, 50)] >= 64


def pairs_of(calls: list[Call]) -> list[tuple[int, int]]:
    """Priorities of who called sem_post, and of who came out of sem_wait by it at once."""
    return [
        (one.priority, other.priority)
        for one, other in pairwise(calls)
        if one.name == "sem_post" and not one.is_leave and one.thread != other.thread
        if other.name == "sem_wait" and other.is_leave and other.object == one.object
    ]


def test_the_first_cancellation_loads_the_unwinder(measured: Measured) -> None:
    """From a file that is not in memory, so that the creator blocks; nobody may take it for a
    thread that ran although it should never run."""
    for file in (*Path("/lib").glob("libgcc_s.so.1"), *Path("/lib").glob("*/libgcc_s.so.1")):
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    stream = measured("THR-P-NEW", "-p", "cases=never-run", "--samples", "50")
    assert "not_the_case" not in stream.events
