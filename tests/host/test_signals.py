"""Each claim about signals fails on a libc that breaks it, and holds on the real one."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries, StreamVerdict
from tests import machine
from tests.running import Stream, children, has_ended, measuring, run
from tests.waiting import wait_until

realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))
limits = pytest.mark.skipif(machine.no_prlimit() is not None, reason=str(machine.no_prlimit()))

RECEIVERS = ("handler", "sigwaitinfo")
SCOPES = ("thread", "process")
CLAIMS = ("blocked", "pending", "none_lost", "lowest_first", "fifo", "value", "limit", "intact")
BURST = 3000
MIXED = 4000  # sig_b_que.c

# The claims that must fail, and no others. What changes a signal changes one that was queued when
# the limit was reached, too.
BREACHES = [
    ("none", set()),
    ("sig_lost", {"none_lost", "intact"}),
    ("sig_twice", {"none_lost", "fifo", "intact"}),
    ("sig_swapped", {"fifo", "intact"}),
    ("sig_value", {"value", "intact"}),
    ("sig_half", {"value", "intact"}),
    ("sig_code", {"value", "intact"}),
    ("sig_blocked", {"blocked", "pending"}),
    ("sig_unseen", {"pending"}),
    ("sig_highest", {"lowest_first", "intact"}),
    ("sig_early", {"limit"}),
    ("sig_no_eagain", {"limit", "intact"}),
    ("sig_other", {"limit"}),
    ("sig_drop", {"intact"}),
]
# Where blocked signals come at once, nothing is queued: whether the limit is kept is not seen.
UNSEEN = {"sig_blocked": {"limit", "intact"}}


def on(libc: Path, breach: str) -> dict[str, str]:
    return {"LD_PRELOAD": str(libc), "HARDSTONE_BROKEN": breach}


def failing(stream: Stream) -> set[str]:
    assert stream.result.status == "measured", stream.result.reason
    return {name for name, passed in stream.verdicts.items() if not passed}


def everywhere(claims: Iterable[str]) -> set[str]:
    return {"/".join(one) for one in product(claims, RECEIVERS, SCOPES)}


def count_in(stream: Stream, claim: str) -> list[int]:
    (verdict,) = [one for one in stream.of(StreamVerdict) if one.name == claim]
    return [int(number) for number in re.findall(r"\d+", verdict.evidence)]


@pytest.mark.parametrize(("breach", "claims"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path, broken_signals: Path, quick: list[str], breach: str, claims: set[str]
) -> None:
    """By both receivers, in both scopes."""
    words = ("SIG-B-QUE", "-p", f"burst={BURST}", *quick)
    unseen = UNSEEN.get(breach, set())
    stream = run(shared_probe, *words, variables=on(broken_signals, breach))
    found = {one for one in failing(stream) if one.partition("/")[0] not in unseen}
    assert found == everywhere(claims)


def test_a_storm_loses_nothing(probe: Path, quick: list[str]) -> None:
    """As many as are asked for, or as the limit has room for: then it is said."""
    stream = run(probe, "SIG-B-QUE", *quick)
    assert failing(stream) == set()
    assert set(stream.verdicts) == everywhere(CLAIMS)
    for one in RECEIVERS:
        for scope in SCOPES:
            queued, delivered, bursts = count_in(stream, f"none_lost/{one}/{scope}")
            assert queued == delivered and bursts == 2
            if "burst_limited" not in stream.events and "queue_shared" not in stream.events:
                assert queued == MIXED + 100_000


def test_a_standard_signal_is_told_and_not_judged(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "SIG-B-QUE", "-p", "burst=10", "-p", "receivers=handler", *quick)
    told = stream.events["standard_signals"].data
    assert told["sent_count"] == 3 and 1 <= told["delivered_count"] <= 3


# ---- limits ----


@limits
@pytest.mark.skipif(machine.no_other_user() is not None, reason=str(machine.no_other_user()))
@pytest.mark.parametrize("limit", [40, 500])
def test_a_low_limit_is_a_smaller_burst(open_probe: Path, quick: list[str], limit: int) -> None:
    """An ordinary user cannot raise it, and is told what to raise."""
    prefix = ["prlimit", f"--sigpending={limit}", *machine.as_nobody()]
    stream = run(open_probe, "SIG-B-QUE", *quick, prefix=prefix)
    assert failing(stream) == set()
    told = stream.events["burst_limited"]
    assert (told.data["asked_count"], told.data["limit_count"]) == (100_000, limit)
    assert 0 < told.data["burst_count"] < limit
    assert "ulimit -i" in str(told.data["command"])
    queued, delivered, _ = count_in(stream, "none_lost/handler/process")
    assert queued == delivered <= limit


def test_of_no_signal_there_is_one_verdict(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    """Nothing was lost, or changed, of nothing; that it was refused below the limit is seen."""
    stream = run(shared_probe, "SIG-B-QUE", *quick, variables=on(broken_signals, "sig_none"))
    assert stream.verdicts == dict.fromkeys(everywhere(["limit"]), False)
    not_seen = [one for one in stream.of(StreamEvent) if one.name == "not_seen"]
    assert {one.data["verdict"] for one in not_seen} == {"none_lost", "intact"}


@limits
def test_room_that_others_take_is_told(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    """EAGAIN comes early, and the kernel's count says why: no claim fails."""
    words = ("SIG-B-QUE", "-p", "burst=1900", "-p", "scopes=process", *quick)
    prefix = ["prlimit", "--sigpending=2200"]
    libc = on(broken_signals, "sig_others")
    stream = run(shared_probe, *words, prefix=prefix, variables=libc)
    assert failing(stream) == set()
    told = stream.events["queue_shared"].data
    assert 0 < told["accepted_count"] < told["wanted_count"] <= 1900  # others may hold some room


def test_one_signal_has_no_order(probe: Path, quick: list[str]) -> None:
    words = ("SIG-B-QUE", "-p", "burst=1", "-p", "scopes=thread", "-p", "receivers=handler")
    stream = run(probe, *words, *quick)
    assert failing(stream) == set() and "none_lost/handler/thread" in stream.verdicts
    assert not {"lowest_first/handler/thread", "fifo/handler/thread"} & set(stream.verdicts)
    told = [one.data["verdict"] for one in stream.of(StreamEvent) if one.name == "not_seen"]
    assert told == ["lowest_first", "fifo"]


def test_a_limit_that_no_burst_has_met_has_no_verdict(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    """Signals of others leave the queue: 64 beyond the limit that was set are no more beyond it."""
    words = ("SIG-B-QUE", "-p", "burst=10", "-p", "scopes=process", "-p", "receivers=handler")
    libc = on(broken_signals, "sig_leave")
    stream = run(shared_probe, *words, *quick, variables=libc)
    assert failing(stream) == set()
    assert "limit/handler/process" not in stream.verdicts
    assert "intact/handler/process" in stream.verdicts
    assert "limit_not_reached" in stream.events


@limits
@realtime
@pytest.mark.parametrize("receiver", RECEIVERS)
def test_no_room_is_denied(probe: Path, quick: list[str], receiver: str) -> None:
    prefix = ["prlimit", "--sigpending=0"]
    stream = run(probe, "SIG-P-LAT", "-p", f"receivers={receiver}", *quick, prefix=prefix)
    assert stream.result.status == "denied" and stream.code == 5
    assert "limit on queued signals" in str(stream.result.reason)
    assert "ulimit -i" in str(stream.result.command)
    assert stream.sample_count == 0


# ---- latency ----


@realtime
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("receiver", RECEIVERS)
@pytest.mark.parametrize("breach", ["sig_value", "sig_half", "sig_code"])
def test_a_latency_of_another_signal_is_none(
    shared_probe: Path,
    broken_signals: Path,
    quick: list[str],
    breach: str,
    receiver: str,
    scope: str,
) -> None:
    words = ("SIG-P-LAT", "-p", f"receivers={receiver}", "-p", f"scopes={scope}")
    stream = run(
        shared_probe, *words, "--samples", "500", *quick, variables=on(broken_signals, breach)
    )
    assert stream.result.status == "failed"
    assert "SIG-B-QUE" in str(stream.result.remedy)
    assert f"{receiver}, {scope}" in stream.events["signal_not_as_sent"].text


@realtime
def test_a_lost_signal_ends_at_the_deadline(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    """Both receivers at once: they wait for what does not come."""

    def stream(receiver: str) -> Stream:
        words = ("SIG-P-LAT", "-p", f"receivers={receiver}", "--deadline-ns", "500ms")
        return run(shared_probe, *words, *quick, variables=on(broken_signals, "sig_lost"))

    with ThreadPoolExecutor() as pool:
        ends = [one.result.status for one in pool.map(stream, RECEIVERS)]
    assert ends == ["timeout"] * len(RECEIVERS)


@realtime
def test_a_signal_of_others_is_no_value(probe: Path, quick: list[str]) -> None:
    """Neither for the sender, nor for the receiver."""
    words = ["-p", "scopes=thread", "--samples", "0", "--duration-ns", "1s", *quick]
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


# ---- the power fails ----


@realtime
@pytest.mark.parametrize(
    ("breach", "fail"),
    [
        ("none", set()),
        ("pwr_lost", {"delivered", "within_bound"}),
        ("pwr_late", {"within_bound"}),
    ],
)
def test_a_breach_of_the_notice_is_seen(
    shared_probe: Path, broken_signals: Path, quick: list[str], breach: str, fail: set[str]
) -> None:
    words = ("PWR-B-SIG", "--samples", "12", *quick)
    assert failing(run(shared_probe, *words, variables=on(broken_signals, breach))) == fail


@realtime
def test_a_notice_on_an_idle_cpu_shows_no_bound(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    words = ("PWR-B-SIG", "--samples", "100", *quick)
    stream = run(shared_probe, *words, variables=on(broken_signals, "pwr_idle"))
    assert "delivered" in stream.verdicts
    assert stream.verdicts.get("within_bound") is not True  # false where the host was late
    assert ("within_bound" in stream.verdicts) != ("not_seen" in stream.events)


@realtime
def test_lost_notices_are_counted(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    words = ("PWR-B-SIG", "--samples", "12", *quick)
    stream = run(shared_probe, *words, variables=on(broken_signals, "pwr_lost"))
    sent, handled, turns = count_in(stream, "delivered")
    assert (sent, handled) == (12, 10) and turns > 0  # 2 of 20, with eight of warm-up
    assert stream.series("latency").count == handled


@realtime
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
    assert failing(stream) == set()
    assert stream.series("latency").count == 1000
