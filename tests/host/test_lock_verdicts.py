"""Each claim about semaphores and mutexes fails on a libc that breaks it, and holds on the
real one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register, StreamEvent, StreamVerdict
from tests import machine
from tests.running import Stream, run

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

LCK = ("SEM-B-LCK",)
REL = ("SEM-B-REL",)
ARC = ("MUT-B-ARC",)
INV = ("MUT-B-INV", "-p", "medium_ns=1ms")
BEHAVIOURS = (LCK, REL, ARC, INV)
CONTENDED = ("SEM-P-ARC", "-p", "kinds=named", "-p", "waiters=4", "--samples", "40")

SCOPES = ("thread", "process")
KINDS = ("unnamed", "named", "sysv", "eventfd", "futex")
OBJECTS = KINDS[:-1]  # the value of a futex lies with the program: its V breaks no promise
PROMISED = ("unnamed", "named")  # by POSIX, an order of release
CLAIMS = ("blocks_at_zero", "increments", "reschedules")
ORDERS = ("ascending", "descending", "mixed", "equals")
FIFO_FAILS = ("ascending", "mixed", "equals")


def locking(
    claims: Iterable[str], kinds: Iterable[str], scopes: Iterable[str] = SCOPES
) -> set[str]:
    return {"/".join(words) for words in product(claims, kinds, scopes)}


def order(
    orders: Iterable[str], kinds: Iterable[str] = PROMISED, scopes: Iterable[str] = SCOPES
) -> set[str]:
    return {"/".join(words) for words in product(orders, kinds, scopes)}


INVERTED = {"avoided/inherit", "chain/inherit", "avoided/protect", "chain/protect"}
SPARED = {f"not_vulnerable/{one}" for one in ("inherit", "protect", "robust-inherit")}

# The verdicts that must fail, and no others: each kind and scope is judged by itself.
BREACHES = [
    ("sem_zero", LCK, locking(CLAIMS, KINDS)),
    ("sem_forked", LCK, locking(CLAIMS, KINDS, ["process"])),
    *((f"sem_zero,on_{kind}", LCK, locking(CLAIMS, [kind])) for kind in KINDS),
    ("sem_lost", LCK, locking(["increments"], OBJECTS)),
    ("sem_later", LCK, locking(["reschedules"], OBJECTS)),
    ("sem_lowest", REL, order(ORDERS)),
    *((f"sem_lowest,on_{kind}", REL, order(ORDERS, [kind])) for kind in PROMISED),
    ("sem_forked", REL, order(ORDERS, scopes=["process"])),
    *((f"sem_lowest,in_{scope}", REL, order(ORDERS, scopes=[scope])) for scope in SCOPES),
    *(
        (f"{breach},in_{scope}", REL, order(orders, scopes=[scope]))
        for breach, orders in (("sem_fifo", FIFO_FAILS), ("sem_lifo", ["equals"]))
        for scope in SCOPES
    ),
    ("sem_first", REL, order(ORDERS)),
    ("sem_fifo", REL, order(FIFO_FAILS)),
    ("sem_lifo", REL, order(["equals"])),
    ("sem_right", REL, set()),
    ("no_protocol", ARC, INVERTED | {"boost_goes/inherit"}),
    ("no_protocol", INV, SPARED),
    ("boost_stays", ARC, {"boost_goes/inherit"}),
    ("impatient", ARC, {"boost_goes/inherit"}),
    # A spin lock is ended by its watchdog, after a second: these and no others.
    (
        "mutex_spins",
        (*ARC, "-p", "protocols=inherit"),
        {"avoided/inherit", "chain/inherit"},
    ),
    (
        "mutex_spins",
        (*INV, "-p", "primitives=inherit,robust-inherit,protect"),
        {"not_vulnerable/inherit", "not_vulnerable/robust-inherit"},
    ),
]
VULNERABLE = {"none", "semaphore", "robust", "spin", "rwlock", "condition"}
LENT = VULNERABLE - {"condition"}


def run_on(
    libc: Path, probe: Path, quick: list[str], breach: str, words: tuple[str, ...]
) -> Stream:
    variables = {"HARDSTONE_BROKEN": breach, "LD_PRELOAD": str(libc)}
    return run(probe, *words, *quick, variables=variables).checked()


@pytest.fixture
def run_unbroken(
    shared_probe: Path, broken_libc: Path, quick: list[str], recorded: Callable[..., Stream]
) -> Callable[[tuple[str, ...]], Stream]:
    """On a libc that breaks nothing."""
    variables = {"HARDSTONE_BROKEN": "none", "LD_PRELOAD": str(broken_libc)}
    return lambda words: recorded(shared_probe, *words, *quick, variables=variables).checked()


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


def texts(stream: Stream, name: str) -> list[str]:
    return [event.text for event in stream.of(StreamEvent) if event.name == name]


@pytest.mark.parametrize(
    ("breach", "words", "fail"), BREACHES, ids=[f"{one[0]}-{one[1][0]}" for one in BREACHES]
)
def test_a_breach_is_seen(
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
    breach: str,
    words: tuple[str, ...],
    fail: set[str],
) -> None:
    stream = run_on(broken_libc, shared_probe, quick, breach, words)
    assert stream.result.status == "measured", stream.result
    assert failed(stream) == fail, stream.of(StreamVerdict)


@pytest.mark.parametrize("words", BEHAVIOURS, ids=lambda words: words[0])
def test_every_verdict_has_a_breach(
    run_unbroken: Callable[[tuple[str, ...]], Stream], words: tuple[str, ...]
) -> None:
    """By its full name, and all hold on a libc that breaks nothing."""
    stream = run_unbroken(words)
    assert stream.result.status == "measured", stream.result
    assert not failed(stream), stream.of(StreamVerdict)
    assert set(stream.verdicts) == {
        name for _, other, fail in BREACHES if other[0] == words[0] for name in fail
    }


def test_every_behaviour_is_broken(shared_probe: Path) -> None:
    done = subprocess.run([str(shared_probe), "list", "--json"], capture_output=True, check=True)
    tests = msgspec.json.decode(done.stdout, type=Register).tests
    families = ("SEM-B-", "MUT-B-")
    assert {words[0] for words in BEHAVIOURS} == {
        test.id for test in tests if test.id.startswith(families) and test.verdicts
    }


# ---- what nobody promises is told ----


def kinds_by_priority(stream: Stream) -> dict[str, bool]:
    """Of kinds without a promise, and scopes: whether their order was said to be by priority."""
    told = texts(stream, "release_order")
    assert all(
        ("not released by priority" in text) != ("always released by" in text) for text in told
    )
    return {text.partition(":")[0]: "not released by priority" not in text for text in told}


def by_scope(by_kind: dict[str, bool]) -> dict[str, bool]:
    return {f"{kind}, {scope}": value for kind, value in by_kind.items() for scope in SCOPES}


def test_the_order_of_release_that_nobody_promises(
    run_unbroken: Callable[[tuple[str, ...]], Stream],
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
) -> None:
    """Linux wakes a set's waiters in the order of their coming, a word's by priority, and a
    descriptor's as the kernel's version has it; on a libc that replaces them, as that does."""
    told = kinds_by_priority(run_unbroken(REL))
    by_kind = {"sysv": False, "eventfd": told["eventfd, thread"], "futex": True}
    assert told == by_scope(by_kind)
    for kind, breach, is_by_priority in (
        ("sysv", "sem_right", True),
        ("sysv", "sem_first", False),
        ("eventfd", "sem_right", True),
        ("eventfd", "sem_first", False),
    ):
        stream = run_on(broken_libc, shared_probe, quick, f"{breach},on_{kind}", REL)
        assert kinds_by_priority(stream) == by_scope({**by_kind, kind: is_by_priority})


def inversions(stream: Stream) -> dict[str, str]:
    """What was told of the mutex without a protocol, for one lock and for a chain."""
    told = texts(stream, "inversion")
    return {text.partition(": ")[0]: text.partition(": ")[2] for text in told}


def test_none_does_not_avoid_inversion(run_unbroken: Callable[[tuple[str, ...]], Stream]) -> None:
    told = inversions(run_unbroken(ARC))
    assert set(told) == {"none, one lock", "none, chain of three"}
    for text in told.values():
        assert text.startswith("priority inversion")
        assert text.index("medium made ready") < text.index("medium ran")
        assert text.index("medium ran") < text.index("low let go") < text.index("high got it")


def test_where_none_avoids_it_that_is_told(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, quick, "lends", ARC)
    told = inversions(stream)
    assert len(told) == 2 and not failed(stream)
    for text in told.values():
        assert text.startswith("no inversion")
        assert text.index("high got it") < text.index("medium ran")


def vulnerable(stream: Stream) -> dict[str, bool]:
    """The primitives of which nothing is promised: whether each is vulnerable."""
    told = {text.partition(":")[0]: True for text in texts(stream, "vulnerable")}
    spared = {text.partition(":")[0]: False for text in texts(stream, "not_vulnerable")}
    assert not told.keys() & spared.keys()
    return told | spared


def test_which_primitives_are_vulnerable(run_unbroken: Callable[[tuple[str, ...]], Stream]) -> None:
    stream = run_unbroken(INV)
    assert vulnerable(stream) == dict.fromkeys(VULNERABLE, True)
    ended = [text for text in texts(stream, "vulnerable") if "the watchdog ended it" in text]
    assert [text.partition(":")[0] for text in ended] == ["spin"]
    for text in texts(stream, "vulnerable"):
        if not text.startswith("spin"):
            assert text.index("medium ran") < text.index("high got it"), text


def test_primitives_that_lend_are_not_vulnerable(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, quick, "lends", INV)
    expected = dict.fromkeys(LENT, False) | {"condition": True}
    assert vulnerable(stream) == expected
    for text in texts(stream, "not_vulnerable"):
        assert text.index("high got it") < text.index("medium ran"), text


def test_a_spin_lock_that_sleeps_does_not_lock_up(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, quick, "spin_sleeps", INV)
    assert vulnerable(stream)["spin"]
    assert not [text for text in texts(stream, "vulnerable") if "watchdog" in text]


# ---- figures of something else ----


def test_another_waiter_than_the_highest_is_told(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, quick, "sem_lowest", CONTENDED)
    assert stream.result.status == "measured", stream.result
    told = {text.partition(" times")[0] for text in texts(stream, "not_highest_first")}
    assert told == {"named, thread, waiters 4: 40", "named, process, waiters 4: 40"}
    stream = run_on(broken_libc, shared_probe, quick, "sem_lowest,in_process", CONTENDED)
    (only,) = texts(stream, "not_highest_first")
    assert only.startswith("named, process, waiters 4: 40 times")
    stream = run_on(broken_libc, shared_probe, quick, "sem_right", CONTENDED)
    assert not stream.events


def test_a_waiter_that_is_not_run_at_once_is_no_release(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, quick, "sem_later", CONTENDED)
    assert stream.result.status == "failed"
    assert "did not run at once" in (stream.result.reason or "")
