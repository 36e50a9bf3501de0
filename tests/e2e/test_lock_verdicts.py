"""Each claim about semaphores and mutexes fails on a libc that breaks it, and holds on the
real one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register, StreamVerdict
from tests.e2e import machine
from tests.e2e.running import Stream, run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime())),
    pytest.mark.usefixtures("alone"),
]

LCK = ("SEM-B-LCK", "-p", "kinds=named", "-p", "scopes=thread")
REL = ("SEM-B-REL", "-p", "kinds=named")
ARC = ("MUT-B-ARC",)
INV = ("MUT-B-INV", "-p", "medium_ns=1ms")
ATTEMPTS = 3


def locking(*claims: str) -> set[str]:
    return {f"{claim}/named/thread" for claim in claims}


def order(*orders: str) -> set[str]:
    return {f"{one}/named" for one in orders}


INVERTED = {"avoided/inherit", "chain/inherit", "avoided/protect", "chain/protect"}
VULNERABLE = {f"not_vulnerable/{one}" for one in ("inherit", "protect", "robust-inherit")}

# The verdicts that must fail, and no others.
BREACHES = [
    ("sem_zero", LCK, locking("blocks_at_zero", "increments", "reschedules")),
    ("sem_lost", LCK, locking("increments")),
    ("sem_later", LCK, locking("reschedules")),
    ("sem_lowest", REL, order("ascending", "descending", "mixed", "equals")),
    ("sem_fifo", REL, order("ascending", "mixed", "equals")),
    ("sem_lifo", REL, order("equals")),
    ("no_protocol", ARC, INVERTED | {"boost_goes/inherit"}),
    ("no_protocol", INV, VULNERABLE),
    ("boost_stays", ARC, {"boost_goes/inherit"}),
]


def run_on(libc: Path, probe: Path, breach: str, words: tuple[str, ...]) -> Stream:
    """A run that other work on the machine cut into is made again, as its result asks."""
    variables = {"HARDSTONE_BROKEN": breach, "LD_PRELOAD": str(libc)}
    for _ in range(ATTEMPTS):
        stream = run(probe, *words, "--cpu", str(machine.cpu()), variables=variables)
        assert stream.code == 0, stream.stderr
        if "throttled" not in stream.events:
            break
    assert stream.result.status == "measured", stream.result
    return stream


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


@pytest.mark.parametrize(
    ("breach", "words", "fail"), BREACHES, ids=[f"{one[0]}-{one[1][0]}" for one in BREACHES]
)
def test_a_breach_is_seen(
    shared_probe: Path, broken_libc: Path, breach: str, words: tuple[str, ...], fail: set[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, breach, words)
    assert failed(stream) == fail, stream.of(StreamVerdict)


@pytest.mark.parametrize("words", [LCK, REL, ARC, INV], ids=lambda words: words[0])
def test_a_libc_that_breaks_nothing_passes(
    shared_probe: Path, broken_libc: Path, words: tuple[str, ...]
) -> None:
    stream = run_on(broken_libc, shared_probe, "none", words)
    assert stream.verdicts and not failed(stream), stream.of(StreamVerdict)


def test_every_claim_has_a_breach(shared_probe: Path) -> None:
    done = subprocess.run([str(shared_probe), "list", "--json"], capture_output=True, check=True)
    tests = msgspec.json.decode(done.stdout, type=Register).tests
    broken = {words[0] for _, words, _ in BREACHES}
    claims = {one.name for test in tests if test.id in broken for one in test.verdicts}
    assert claims == {name.partition("/")[0] for _, _, fail in BREACHES for name in fail}
    assert broken == {
        test.id for test in tests if test.id.startswith(("SEM-B-", "MUT-B-")) and test.verdicts
    }
