"""POS-B-INV finds what a libc claims and does not do; each real call has a lie that it sees.

A lie is told by a libc that is put before the real one. What the real one answers on this machine
is looked at first: only what works there can be broken."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.model import Event, StreamEvent, StreamVerdict
from hardstone.posix.analysis import inventory_of, posix_data
from tests import machine
from tests.running import Stream, command, preloaded, run
from tests.unit.posix import inventories
from tests.virtual.calls import DAY_NS
from tests.waiting import soon

TEST = "POS-B-INV"
Lying = Callable[..., Stream]
limits = machine.needs(machine.no_prlimit())
other_user = machine.needs(machine.no_other_user())

# The options whose call must not work, by breach; breaches of one option are in different runs.
LIES: list[dict[str, tuple[str, ...]]] = [
    {
        "signals_single": ("realtime_signals",),
        "semaphores_open": ("semaphores",),
        "queue_loses": ("message_passing",),
        "memory_apart": ("shared_memory_objects", "mapped_files"),
        "lock_nothing": ("memlock",),
        "range_nothing": ("memlock_range",),
        "protect_nothing": ("memory_protection",),
        "sync_dropped": ("synchronized_io",),
        "fsync_nothing": ("fsync",),
        "aio_nothing": ("asynchronous_io",),
        "aio_unordered": ("prioritized_io",),
        "spawn_other": ("spawn",),
        "barrier_open": ("barriers",),
        "readers_open": ("reader_writer_locks",),
        "spin_open": ("spin_locks",),
        "clock_of_wall": ("cputime",),
        "stack_ignored": ("thread_attr_stackaddr", "xsi_threads_ext"),
        "stack_size_ignored": ("thread_attr_stacksize",),
        "policy_nothing": ("priority_scheduling",),
        "clock_ignored": ("clock_selection",),
        "allocate_nothing": ("advisory_info",),
        "mutex_open": ("mutexes", "thread_process_shared"),
        "files_open": ("file_locking",),
        "regexp_wrong": ("regexp",),
    },
    {
        "timers_early": ("timers",),
        "signals_bare": ("realtime_signals",),
        "queue_unordered": ("message_passing",),
        "barrier_no_serial": ("barriers",),
        "protocol_nothing": ("thread_prio_inherit", "thread_prio_protect"),
        "thread_policy_nothing": ("thread_priority_scheduling",),
        "signal_nothing": ("condition_variables",),
    },
    {
        "timers_silent": ("timers",),
        "semaphores_lose": ("semaphores", "thread_prio_inherit"),  # its call waits at semaphores
    },
]
NO_CALL_HANGS = ("--deadline-ns", str(DAY_NS), "-p", "limit_ns=60s")
# Each claims what only some calls tell: a call that is not one of an option is no claim.
UNCLAIMED = {"condition_variables", "xsi_threads_ext", "mutexes", "file_locking"}


def answers(stream: Stream) -> dict[str, tuple[str, str, str]]:
    """Of each option: what headers, sysconf and call say."""
    assert stream.code == 0, stream.stderr
    assert stream.result.status == "measured", stream.result.reason
    found: dict[str, tuple[str, str, str]] = {}
    for event in stream.told("posix_options"):
        for key, value in event.data.items():
            if key != "part":
                headers, sysconf, call = str(value).split()
                assert key not in found
                found[key] = (headers, sysconf, call)
    return found


def whys(stream: Stream) -> dict[str, str]:
    told = stream.told("posix_option_why")
    return {str(event.data["option"]): str(event.data["why"]) for event in told}


def evidence(stream: Stream, name: str) -> str:
    (text,) = [one.evidence for one in stream.of(StreamVerdict) if one.name == name]
    return text


def reached(stream: Stream) -> dict[str, int]:
    found: dict[str, int] = {}
    for event in stream.told("posix_limits"):
        found |= {key: int(str(value)) for key, value in event.data.items()}
    return found


@pytest.fixture(scope="module")
def lying(shared_probe: Path, broken_libc: Path) -> Lying:
    """No limit of a call passes, but for one that hangs."""

    def lying(*breaches: str) -> Stream:
        variables = {"HARDSTONE_BROKEN": ",".join(("patient", *breaches))}
        variables["LD_PRELOAD"] = preloaded(broken_libc)
        return run(shared_probe, TEST, *NO_CALL_HANGS, variables=variables)

    return lying


@pytest.fixture(scope="module")
def honest(lying: Lying) -> Stream:
    return lying()


def working(stream: Stream) -> set[str]:
    return {key for key, (_, _, call) in answers(stream).items() if call == "works"}


@pytest.mark.parametrize("lies", LIES, ids=["some", "others", "losses"])
def test_each_lie_is_seen_by_the_call_of_its_option_and_by_no_other(
    lying: Lying, honest: Stream, lies: dict[str, tuple[str, ...]]
) -> None:
    stream = lying(*lies)
    expected = {option for options in lies.values() for option in options} & working(honest)
    assert working(honest) - working(stream) == expected
    assert not stream.verdicts["claims_are_true"]
    text = evidence(stream, "claims_are_true").partition(" claims are false: ")[2]
    told = {one.partition(":")[0] for one in text.split("; ")} - {"..."}
    assert told & expected
    partly = {key for key, (_, _, call) in answers(stream).items() if call == "partly"}
    assert set(whys(stream)) >= expected
    assert not (UNCLAIMED | partly) & told


@pytest.fixture(scope="module")
def lied(lying: Lying) -> Stream:
    """Of what sysconf and the scheduler say, and of what can be reached."""
    return lying("claims", "denies", "levels", "low_limits", "few_timers")


def test_a_claim_of_sysconf_that_no_call_keeps_fails_and_is_named(
    lied: Stream, honest: Stream
) -> None:
    """What it denies and works is told apart."""
    found = answers(lied)
    assert found["timers"] == (answers(honest)["timers"][0], "none", "works")
    assert honest.verdicts["claims_are_true"]
    assert not lied.verdicts["claims_are_true"]
    for option in ("typed_memory_objects", "sporadic_server", "trace"):
        if answers(honest)[option][2] == "missing":
            assert found[option][1:] == ("200809", "missing")
            assert option in evidence(lied, "claims_are_true")


def test_the_verdict_is_on_every_claim(honest: Stream) -> None:
    """A path that has a value of 0 has the option, sysconf says no with it."""
    told = {key: (headers, sysconf) for key, (headers, sysconf, _) in answers(honest).items()}
    paths = {"chown_restricted", "no_trunc", "vdisable"}
    claims = {key for key in told if {*told[key]} - {"none", "unknown", "-1", "0"}}
    claims |= {key for key in paths if told[key][1].isdecimal()}
    assert f"none of the {len(claims)} options" in evidence(honest, "claims_are_true")


def test_limits_below_the_minimum_fail_by_what_is_told_and_by_what_is_reached(lied: Stream) -> None:
    """So do too few priorities."""
    assert not lied.verdicts["priorities_32/fifo"] and not lied.verdicts["priorities_32/rr"]
    assert reached(lied)["priorities_fifo_count"] == 16
    told = evidence(lied, "limits_at_least_posix_minimum")
    assert not lied.verdicts["limits_at_least_posix_minimum"]
    assert "TIMER_MAX is 3, POSIX requires 32 (timer_create: 3 of 32" in told
    assert "RTSIG_MAX is 4, POSIX requires 8" in told
    assert "stream_max" not in told
    base = evidence(lied, "base_limits_at_least_posix_minimum")
    assert "STREAM_MAX is 7, POSIX requires 8" in base
    assert reached(lied)["timer_max"] == 3


def test_what_is_refused_is_denied_and_fails_no_claim(lying: Lying) -> None:
    stream = lying("refused")
    assert answers(stream)["memlock"][2] == "denied"
    assert "ulimit -l" in whys(stream)["memlock"]
    assert stream.verdicts["claims_are_true"], evidence(stream, "claims_are_true")
    assert "memlock" in evidence(stream, "claims_are_true")
    minimal = stream.told("posix_profile")[0]
    assert "memlock" in str(minimal.data["missing"]).split(",")
    assert int(str(minimal.data["denied_count"])) >= 1


@other_user
def test_a_user_without_rights_is_denied_and_no_claim_fails(open_probe: Path) -> None:
    stream = run(open_probe, TEST, *NO_CALL_HANGS, prefix=machine.as_nobody())
    found = answers(stream)
    for option in ("priority_scheduling", "thread_priority_scheduling", "thread_prio_inherit"):
        assert found[option][2] == "denied"
    assert found["timers"][2] == "works"
    assert stream.verdicts["claims_are_true"]
    assert "priorities_32/fifo" not in stream.verdicts  # none could be set


def test_a_call_that_hangs_or_ends_its_process_is_told(lying: Lying) -> None:
    stream = lying("timeout_hangs", "ends_process")
    told = whys(stream)
    assert "not finished after 60000 ms" in told["timeouts"]
    assert "ended its process" in told["reader_writer_locks"]
    assert not stream.verdicts["claims_are_true"]
    assert answers(stream)["clock_selection"][2] == "works"  # the calls after it were made


def test_priorities_that_cannot_be_set_fail(lying: Lying, honest: Stream) -> None:
    if "each of them was set" not in evidence(honest, "priorities_32/fifo"):
        pytest.skip("no real-time priorities here")
    stream = lying("stuck")
    assert not stream.verdicts["priorities_32/fifo"]
    assert "0 is reported" in evidence(stream, "priorities_32/fifo")


@other_user
def test_priorities_that_could_not_be_tried_hold_nothing(probe: Path) -> None:
    stream = run(probe, TEST, "--policy", "other", prefix=machine.as_nobody())
    assert reached(stream)["priorities_fifo_count"] >= 32
    assert not {name for name in stream.verdicts if name.startswith("priorities_32")}


@limits
def test_a_limit_of_the_user_is_no_fault_of_the_system(probe: Path) -> None:
    stream = run(probe, TEST, *NO_CALL_HANGS, prefix=["prlimit", "--sigpending=20:20"])
    assert stream.verdicts["limits_at_least_posix_minimum"]
    told = evidence(stream, "limits_at_least_posix_minimum")
    assert "kept lower by limits of this user: sigqueue_max: sigqueue: " in told
    assert "raise ulimit -i" in told


@limits
def test_a_limit_of_queues_is_denied_and_says_what_to_raise(probe: Path) -> None:
    stream = run(probe, TEST, *NO_CALL_HANGS, prefix=["prlimit", "--msgqueue=0:0"])
    assert answers(stream)["message_passing"][2] == "denied"
    assert "ulimit -q" in whys(stream)["message_passing"]
    assert stream.verdicts["claims_are_true"]


def test_every_option_is_known_to_the_toolkit_in_the_same_part(honest: Stream) -> None:
    events = [Event(name=one.name, text=one.text, data=one.data) for one in honest.of(StreamEvent)]
    found = inventory_of(inventories.result(events))
    assert found.problems == []
    parts = {part: [one.name for one in options] for part, options in found.parts().items()}
    assert parts == {part: one.options for part, one in posix_data().parts.items()}
    assert {one.name for one in found.profiles} == {"PSE51", "PSE52", "PSE53", "PSE54"}
    assert len(found.clocks) == 4 and found.named_only
    assert all(one.value for one in found.limits)


# ---- beside what was not written by us ----

SPELLED = {"page_size": "PAGESIZE", "thread_stack_min": "PTHREAD_STACK_MIN"}


def getconf() -> dict[str, str]:
    """`getconf -a`: a program of the C library asks for the same names."""
    try:
        done = subprocess.run(["getconf", "-a"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no getconf -a here")
    rows = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    return {row[0]: row[1].strip() if len(row) > 1 else "" for row in rows if row}


def test_sysconf_says_what_getconf_says(honest: Stream) -> None:
    theirs, compared = getconf(), 0
    for option, (_, sysconf, _) in answers(honest).items():
        name = f"_POSIX_{option.upper()}"
        if name in theirs and sysconf != "unknown":
            assert (theirs[name] or "none").replace("undefined", "none") == sysconf, name
            compared += 1
    for limit, value in reached(honest).items():
        name = SPELLED.get(limit, limit.upper())
        for spelled in (name, f"PTHREAD_{name.removeprefix('THREAD_')}", f"_POSIX_{name}"):
            text = theirs.get(spelled, "")
            if text.lstrip("-").isdigit() and not spelled.startswith("_POSIX_"):
                assert int(text) == value, spelled
                compared += 1
                break
    assert compared > 30


# ---- endings ----


MOMENTS = (
    *("mkdir", "fork nth=1", "fork nth=2", "fork nth=9", "mq_open", "sem_open", "shm_open"),
    *("open64 2&O_TMPFILE", "mkfifo", "symlink"),
)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_after_a_call_that_leaves_something_leaves_nothing(
    shared_probe: Path,
    broken_libc: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    """Processes and objects in memory: tests/conftest.py looks for them after each test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HARDSTONE_SCRIPT", f"{moment} kill")
    words = command(shared_probe, TEST, NO_CALL_HANGS)
    with monkeypatch.context() as with_libc:
        with_libc.setenv("LD_PRELOAD", preloaded(broken_libc))
        probe = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    assert probe.wait() == -signal.SIGKILL
    assert soon(lambda: not list(tmp_path.iterdir())), list(tmp_path.iterdir())


def test_who_is_stopped_is_bound_to_its_parent_before(lying: Lying) -> None:
    """Else it stays stopped if the probe is killed in that moment, and with it what cleans up."""
    stream = lying("bound_late")
    assert answers(stream)["job_control"][2] == "works"


def test_an_end_leaves_nothing(
    probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run(probe, TEST, *NO_CALL_HANGS).code == 0
    assert list(tmp_path.iterdir()) == []


def test_without_a_scratch_folder_files_are_untried(probe: Path) -> None:
    """No folder is writable: that is no fault of the system."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can have a read-only /tmp of its own, with unshare")
    script = (
        "for f in /tmp /var/tmp; do mount --bind $f $f && mount -o remount,bind,ro $f || exit 77; "
        'done; exec "$0" run POS-B-INV --json -p limit_ns=60s'
    )
    words = ["unshare", "--mount", "sh", "-c", script, str(probe)]
    done = subprocess.run(
        words,
        capture_output=True,
        check=False,
        timeout=300,
        env={"PATH": os.environ["PATH"], "TMPDIR": "/nowhere"},
    )
    if done.returncode == 77:
        pytest.skip("no file systems of its own here")
    stream = Stream(TEST, done.returncode, done.stdout, done.stderr.decode())
    found = answers(stream)
    assert found["mapped_files"][2] == "untried"
    assert stream.verdicts["claims_are_true"]
    assert "mapped_files" in evidence(stream, "claims_are_true")
