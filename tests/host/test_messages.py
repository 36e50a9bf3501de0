"""Each claim about messages fails on a libc that breaks it, and holds on the real one; no figure is
given of a channel that loses, doubles, swaps or damages messages; limits are told with what to
raise."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register, StreamSeries, StreamVerdict
from tests import machine
from tests.running import Stream, run

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

PRI = ("MSG-B-PRI",)
SCOPES = ("thread", "process")
QUEUES = ("mq", "sysv")
WAITERS = ("receivers", "senders")


def of(claims: Iterable[str], kinds: Iterable[str] = QUEUES) -> set[str]:
    return {"/".join(words) for words in product(claims, kinds)}


def waiters(claims: Iterable[str] = WAITERS, scopes: Iterable[str] = SCOPES) -> set[str]:
    return {"/".join(words) for words in product(claims, ["mq"], scopes)}


# The verdicts that must fail, and no others. Waiters are told apart by their messages: what harms
# these is seen there too.
BREACHES = [
    ("msg_swap", of(["age_order"]) | waiters(["senders"])),
    ("msg_swap,on_sysv", of(["age_order"], ["sysv"])),
    ("msg_flat", of(["priority_order"])),
    ("msg_flat,on_mq", of(["priority_order"], ["mq"])),
    ("msg_lose", of(["intact"]) | waiters()),
    ("msg_lose,on_sysv", of(["intact"], ["sysv"])),
    ("msg_twice", of(["intact"]) | waiters()),
    ("msg_corrupt", of(["intact"])),
    ("msg_short", of(["intact"]) | waiters(["receivers"])),
    ("msg_relabel", of(["intact"])),
    ("msg_lowest", waiters()),
    ("msg_lowest,in_thread", waiters(scopes=["thread"])),
    ("msg_lowest,in_process", waiters(scopes=["process"])),
    ("msg_fifo", waiters()),
    ("msg_lifo", waiters()),
    ("msg_early", of(["timeout"], ["mq"])),
    ("msg_error", of(["nonblocking"])),
]

LAT = ("MSG-P-LAT", "--samples", "300", "-p", "sizes_bytes=64", "-p", "scopes=thread")
THR = ("MSG-P-THR", "--samples", "1", "-p", "sizes_bytes=64", "-p", "window_ns=5ms")
LOST = "one was lost"
TWICE = "did not answer exactly once"
CONTENT = "another content"
LENGTH = "another length"
NUMBER = "messages are lost, doubled or swapped"
REFUSED = [
    ("msg_lose,on_mq", LAT, "mq", LOST),
    ("msg_lose,on_sysv", LAT, "sysv", LOST),
    ("msg_twice,on_mq", LAT, "mq", TWICE),
    ("msg_twice,on_sysv", LAT, "sysv", TWICE),
    *((f"msg_corrupt,on_{kind}", LAT, kind, CONTENT) for kind in ("mq", "sysv", "unix", "pipe")),
    *((f"msg_short,on_{kind}", LAT, kind, LENGTH) for kind in ("mq", "sysv", "unix")),
    *((f"msg_{what},on_mq", THR, "mq", NUMBER) for what in ("lose", "twice", "swap")),
    *((f"msg_{what},on_sysv", THR, "sysv", NUMBER) for what in ("lose", "twice", "swap")),
    *((f"msg_corrupt,on_{kind}", THR, kind, CONTENT) for kind in ("mq", "sysv", "unix", "pipe")),
    *((f"msg_short,on_{kind}", THR, kind, LENGTH) for kind in ("mq", "sysv", "unix")),
]

LIMITS = [
    ("mq_absent", "mq", "kind_unsupported", "CONFIG_POSIX_MQUEUE"),
    ("mq_files", "mq", "kind_denied", "ulimit -q"),
    ("mq_space", "mq", "kind_denied", "queues_max"),
    ("mq_depth", "mq", "kind_denied", "msg_max"),
    ("mq_length", "mq", "kind_limited", "msgsize_max"),
    ("sysv_absent", "sysv", "kind_unsupported", "CONFIG_SYSVIPC"),
    ("sysv_space", "sysv", "kind_denied", "msgmni"),
    ("sysv_length", "sysv", "kind_limited", "msgmax"),
    ("unix_absent", "unix", "kind_unsupported", "SOCK_SEQPACKET"),
    ("unix_length", "unix", "kind_limited", "wmem_default"),
]


def run_on(libc: Path | str, probe: Path, breach: str, words: tuple[str, ...]) -> Stream:
    variables = {"HARDSTONE_BROKEN": breach, "LD_PRELOAD": str(libc)}
    options = ["--clock", "monotonic", "--cpu", str(machine.cpu())]
    return run(probe, *words, *options, variables=variables).checked()


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


@pytest.mark.parametrize(("breach", "fail"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path, broken_libc: Path, breach: str, fail: set[str]
) -> None:
    stream = run_on(broken_libc, shared_probe, breach, PRI)
    assert stream.result.status == "measured"
    assert failed(stream) == fail, stream.of(StreamVerdict)


@pytest.mark.parametrize("breach", ["", "msg_right"])
def test_queues_keep_their_word(shared_probe: Path, broken_libc: Path, breach: str) -> None:
    stream = run_on(broken_libc if breach else "", shared_probe, breach, PRI)
    claims = {name.partition("/")[0] for _, fail in BREACHES for name in fail}
    assert failed(stream) == set(), stream.of(StreamVerdict)
    assert {name.partition("/")[0] for name in stream.verdicts} == claims


def test_every_claim_has_a_breach(shared_probe: Path) -> None:
    done = subprocess.run([str(shared_probe), "list", "--json"], capture_output=True, check=True)
    tests = msgspec.json.decode(done.stdout, type=Register).tests
    (claims,) = [{one.name for one in test.verdicts} for test in tests if test.id == PRI[0]]
    assert claims == {name.partition("/")[0] for _, fail in BREACHES for name in fail}


@pytest.mark.parametrize(
    ("breach", "words", "kind", "why"), REFUSED, ids=[f"{one[1][0]}-{one[0]}" for one in REFUSED]
)
def test_a_broken_channel_has_no_figures(
    shared_probe: Path,
    broken_libc: Path,
    breach: str,
    words: tuple[str, ...],
    kind: str,
    why: str,
) -> None:
    stream = run_on(broken_libc, shared_probe, breach, (*words, "-p", f"kinds={kind}"))
    assert stream.result.status == "failed" and why in (stream.result.reason or "")
    assert why in stream.events["not_handed_over"].text
    if words is THR:
        assert stream.sample_count == 0


@pytest.mark.parametrize("words", [LAT, THR], ids=[LAT[0], THR[0]])
def test_every_kind_has_its_figures(shared_probe: Path, words: tuple[str, ...]) -> None:
    kinds = "mq,pipe,fifo,unix,sysv,ring"
    stream = run_on("", shared_probe, "", (*words, "-p", f"kinds={kinds}"))
    assert stream.result.status == "measured", stream.result.reason
    counts = {(one.labels["kind"], one.count) for one in stream.of(StreamSeries)}
    assert counts == {(kind, int(words[2])) for kind in kinds.split(",")}


@pytest.mark.parametrize(("breach", "kind", "event", "remedy"), LIMITS, ids=[o[0] for o in LIMITS])
def test_a_limit_is_told_with_what_to_raise(
    shared_probe: Path, broken_libc: Path, breach: str, kind: str, event: str, remedy: str
) -> None:
    """And the others are measured."""
    words = ("MSG-P-LAT", "--samples", "20", "-p", "scopes=thread", "-p", "sizes_bytes=8,1000")
    stream = run_on(broken_libc, shared_probe, breach, (*words, "-p", f"kinds={kind},pipe"))
    told = stream.events[event]
    assert told.data["kind"] == kind and remedy in str(told.data["remedy"]) and remedy in told.text
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


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not installed")
@pytest.mark.parametrize("test", ["MSG-P-LAT", "MSG-P-THR", "MSG-B-PRI"])
def test_the_limit_of_memory_for_queues_is_told(probe: Path, test: str) -> None:
    """The kernel's own: it holds for root too."""
    words = ["--samples", "1", "-p", "kinds=mq", "--clock", "monotonic"]
    stream = run(probe, test, *words, prefix=["prlimit", "--msgqueue=100"])
    assert stream.result.status == "denied" and "ulimit -q" in (stream.result.remedy or "")
    assert "ulimit -q" in str(stream.events["kind_denied"].data["remedy"])


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="prlimit is not installed")
def test_room_for_one_queue_only_does_not_end_the_other_kinds(probe: Path) -> None:
    words = ["--samples", "5", "-p", "kinds=mq,pipe", "-p", "sizes_bytes=8192"]
    words += ["-p", "scopes=thread", "--clock", "monotonic"]
    stream = run(probe, "MSG-P-LAT", *words, prefix=["prlimit", "--msgqueue=20000"])
    assert stream.result.status == "denied" and "kind_denied" in stream.events
    assert [one.labels["kind"] for one in stream.of(StreamSeries) if one.count] == ["pipe"]


@pytest.mark.parametrize("test", ["MSG-P-LAT", "MSG-P-THR", "MSG-B-PRI"])
def test_a_system_without_queues_says_so(shared_probe: Path, broken_libc: Path, test: str) -> None:
    words = (test, "--samples", "1", "-p", "kinds=mq,sysv")
    stream = run_on(broken_libc, shared_probe, "mq_absent,sysv_absent", words)
    assert stream.result.status == "unsupported"
    assert stream.result.remedy and not stream.verdicts and stream.sample_count == 0
