"""The probe names what refuses it: each situation is made on this kernel, and asked of `facts`."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from hardstone.doctor.diagnose import diagnose, realtime_refusal
from hardstone.errors import EXIT_PRIVILEGE, EXIT_UNREACHABLE, EXIT_UNTRUSTWORTHY
from hardstone.model import StreamEvent, StreamSeries
from hardstone.targets.probe_target import decode_facts
from tests import machine, refusing
from tests.conftest import ROOT
from tests.running import run
from tests.situations import REAL_TIME, check, situations
from tests.waiting import wait_until

GROUPS = Path("/sys/fs/cgroup/cpu")
# The kernel counts processes of a user in all name spaces, also those of another run of this test.
USER_ID = 100_000 + uuid4().int % 1_000_000_000
USER = ["setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups"]
as_user = machine.needs(machine.no_other_user())
filtered = machine.needs(refusing.here())


def changed(mounts: str) -> list[str]:
    """Starts a command where mounts are changed, for it alone."""
    script = f'mount --make-rprivate / && {mounts} && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, "sh"]


def refuse(*calls: str) -> list[str]:
    return [sys.executable, str(ROOT / "tests/refusing.py"), *calls, "--"]


def cause_and_step(probe: Path, prefix: Sequence[str]) -> tuple[object, str]:
    """What the probe names, and the first thing that the doctor says about it."""
    done = subprocess.run([*prefix, probe, "facts", "--json"], capture_output=True, check=False)
    if not done.stdout:
        pytest.skip(f"not to be made here: {done.stderr.decode()[-200:]}")
    facts = decode_facts(done.stdout).facts
    refusal = realtime_refusal(facts, str(probe))
    step = refusal.steps[0] if refusal else None
    said = f"{step.command or ''}{step.words or ''}" if step else ""
    return facts.get("limits.realtime_cause"), said


@pytest.fixture
def open_to_all(tmp_path_factory: pytest.TempPathFactory, probe: Path) -> Iterator[Path]:
    folder = Path("/tmp") / f"hardstone-{uuid4().hex}"
    folder.mkdir()
    folder.chmod(0o755)
    yield Path(shutil.copy(probe, folder / "hardstone-probe"))
    shutil.rmtree(folder)


@filtered
@pytest.mark.parametrize(
    ("calls", "cause", "step"),
    [
        (["mlockall=EPERM"], None, ""),  # a filter that refuses something else
        (["clone3=EPERM"], "thread_filter", "knows clone3"),
        (["mmap=ENOMEM"], "thread_memory", "ulimit -v"),  # no room for a stack
        (["sched_setscheduler=EPERM"], "filter", "allow sched_setscheduler there"),
        (["sched_setscheduler=ENOSYS"], "filter", "allow sched_setscheduler there"),
    ],
)
def test_a_filter_of_system_calls(probe: Path, calls: list[str], cause: str, step: str) -> None:
    found, said = cause_and_step(probe, refuse(*calls))
    if found in ("capability", "confined", "user_namespace", "group_budget"):
        pytest.skip("no right to real-time scheduling here")
    assert found == cause
    assert step in said and "setcap" not in said


@filtered
@pytest.mark.parametrize("policy", ["fifo", "other"])
def test_a_run_without_threads_says_why(probe: Path, quick: list[str], policy: str) -> None:
    words = ["--samples", "5", *quick, "--policy", policy]
    result = run(probe, "TMR-P-LAT", *words, prefix=refuse("clone3=EPERM")).result
    assert result.status == "denied"
    assert "answers clone3 with EPERM" in (result.reason or "")
    assert "a filter that knows clone3" in (result.remedy or "")


@filtered
@pytest.mark.parametrize("call", ["sched_setaffinity", "sched_setscheduler"])
def test_a_call_that_needs_no_right_is_refused_by_a_filter(
    probe: Path, quick: list[str], call: str
) -> None:
    words = ["--samples", "5", *quick, "--policy", "other"]
    result = run(probe, "TMR-P-LAT", *words, prefix=refuse(f"{call}=EPERM")).result
    assert result.status == "denied"
    assert f"a system call filter (seccomp) refuses {call}" in (result.reason or "")
    assert f"allow {call} there" in (result.remedy or "")


@filtered
@pytest.mark.parametrize(("error", "status"), [("EPERM", "denied"), ("ENOSYS", "unsupported")])
def test_a_ring_that_may_not_yield_says_so(
    probe: Path, quick: list[str], error: str, status: str
) -> None:
    words = ["--samples", "5", *quick]
    result = run(probe, "THR-P-SLS", *words, prefix=refuse(f"sched_yield={error}")).result
    assert result.status == status
    assert (result.reason or "").startswith("sched_yield: ")
    assert "allow it in the system call filter" in (result.remedy or "")


@filtered
def test_locked_memory_is_refused_by_a_filter(probe: Path) -> None:
    prefix = refuse("mlockall=EPERM")
    done = subprocess.run([*prefix, probe, "facts", "--json"], capture_output=True, check=True)
    facts = decode_facts(done.stdout).facts
    assert facts["limits.lock_cause"] == "filter"
    (found,) = [one for one in diagnose(facts).findings if one.rule == "memory-lock"]
    assert ["allow mlockall there" in one.words for one in found.steps] == [True]
    stream = run(probe, "CLK-P-BIN", "--samples", "5", prefix=prefix)
    assert "allow mlockall there" in stream.events["memory_not_locked"].text
    assert "ulimit" not in stream.events["memory_not_locked"].text
    result = run(probe, "MEM-B-LCK", "--samples", "5", prefix=prefix).result
    assert "allow mlockall there" in (result.remedy or "") and "ulimit" not in str(result.remedy)


@as_user
@pytest.mark.parametrize(
    ("prefix", "cause", "step"),
    [
        (USER, "capability", "setcap cap_sys_nice"),
        (["prlimit", "--nproc=1:1", *USER], "thread_limit", "raise that limit"),
        ([*USER, "--no-new-privs"], "confined", "grants the rights"),
        ([*USER, "--bounding-set=-sys_nice"], "confined", "grants the rights"),
        ([*USER, "unshare", "-Ur"], "user_namespace", "outside the user namespace"),
        ([*USER, "unshare", "-U"], "user_namespace", "outside the user namespace"),
        ([*changed("mount -t tmpfs none /proc"), *USER], "no_proc", "mount -t proc proc /proc"),
    ],
    ids=[
        *("user", "ulimit -u", "no_new_privs", "bounding set", "unshare -r", "unshare -U"),
        "no /proc",
    ],
)
def test_an_ordinary_user(open_to_all: Path, prefix: list[str], cause: str, step: str) -> None:
    found, said = cause_and_step(open_to_all, prefix)
    if cause == "confined":
        step = step if "container" not in said else "start the container with --cap-add"
    assert found == cause
    assert step in said
    assert ("setcap cap" in said) == (cause == "capability")


@pytest.fixture
def no_budget() -> Iterator[Path]:
    group = GROUPS / f"hardstone-{uuid4().hex}"
    try:
        group.mkdir()
        (group / "cpu.rt_runtime_us").write_text("0")
    except OSError:
        pytest.skip("no control groups with real-time budgets")
    yield group
    group.rmdir()


def test_a_control_group_without_budget(probe: Path, no_budget: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can change groups")
    into = ["sh", "-c", f'echo $$ > {no_budget}/tasks; exec "$@"', "sh"]
    found, said = cause_and_step(probe, into)
    assert found == "group_budget"
    above = (no_budget.parent / "cpu.rt_runtime_us").read_text().strip()
    assert said == f"echo {above} | tee {no_budget}/cpu.rt_runtime_us"
    read_only = changed(f"mount -o remount,bind,ro {GROUPS}")
    found, said = cause_and_step(probe, [*into, *read_only])
    assert found == "group_budget"
    assert "start the container with a budget" in said and "tee" not in said
    hidden = changed(f"umount -l {GROUPS}")
    filtered = [] if refusing.here() else refuse("mlockall=EPERM")
    found, said = cause_and_step(probe, [*into, *hidden, *filtered])
    assert found == "hidden"  # not the filter, which every container has
    assert "root control group" in said


# ---- other refusals, each with what helps ----


def limited(probe: Path, limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", str(probe), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_load_without_a_process_is_no_load(probe: Path) -> None:
    """The guard needs more descriptors than that, and was taken for killed."""
    alone = limited(probe, "-n 8", "load", "cpu", "-D", "1s")
    assert alone.returncode == EXIT_PRIVILEGE
    assert "none of its processes could be started: Too many open files" in alone.stderr
    assert "ulimit -n" in alone.stderr and "killed" not in alone.stderr
    beside = limited(probe, "-n 8", "run", "CLK-P-BIN", "--samples", "5", "--load", "cpu", "--text")
    assert beside.returncode == EXIT_PRIVILEGE
    assert "denied: load: none of its processes could be started" in beside.stdout


def test_the_cpus_that_there_are_are_named(probe: Path) -> None:
    one = str(machine.cpu())
    done = subprocess.run(
        ["taskset", "-c", one, probe, "load", "cpu", "--cpus", "1023"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"CPU 1023 does not exist, or this process may not use it: it may use {one};" in (
        done.stderr
    )
    stream = run(probe, "CLK-P-BIN", "--samples", "5", prefix=["taskset", "-c", one])
    assert "allow it a second one (taskset, cpuset)" in stream.events["not_watched"].text


def mounted(change: str, probe: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*changed(change), str(probe), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()[-80:]}")
    return done


def test_without_sys_a_shield_says_what_it_misses(probe: Path) -> None:
    done = mounted("umount -l /sys", probe, "shield", "--cpu", "0", "--", "true")
    assert done.returncode == EXIT_PRIVILEGE
    assert "/sys/devices/system/cpu/online cannot be read" in done.stderr
    assert "mount -t sysfs sysfs /sys" in done.stderr and "use a port" not in done.stderr


def test_shared_memory_that_is_read_only(probe: Path) -> None:
    words = ("run", "MEM-B-LCK", "--samples", "5", "--text")
    done = mounted("mount -t tmpfs -o ro none /dev/shm", probe, *words)
    assert "Read-only file system" in done.stdout
    assert "-> it is mounted read-only: mount it writable" in done.stdout
    assert "free some shared memory" not in done.stdout
    # neither was tried
    assert "memory not locked" not in done.stdout and "NOT SCHEDULED" not in done.stdout


@pytest.mark.parametrize("test", ["MEM-B-LCK", "SEM-P-RTP", "MSG-P-LAT"])
def test_shared_memory_without_room_is_an_error_and_no_signal(probe: Path, test: str) -> None:
    words = ("run", test, "--samples", "5", "--text")
    done = mounted("mount -t tmpfs -o size=4k none /dev/shm", probe, *words)
    assert "No space left on device" in done.stdout, done.stderr
    assert "free some shared memory" in done.stdout
    assert done.returncode == EXIT_PRIVILEGE


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which("prlimit") is None,
    reason="only root can give rights up",
)
def test_a_user_locks_memory_within_the_usual_limit(probe: Path) -> None:
    """What is tried to find why real-time scheduling is refused leaves no 8 MiB of stack behind."""
    within = ["prlimit", f"--memlock={8 << 20}:{8 << 20}", "--rtprio=0:0"]
    prefix = [*within, "setpriv", "--bounding-set=-ipc_lock,-sys_nice"]
    stream = run(probe, "TMR-P-LAT", "--samples", "5", prefix=prefix)
    assert stream.result.conditions.realtime is False
    assert stream.result.conditions.memory_locked


# ---- the tool itself, where the same is refused to it ----


def tool(
    prefix: Sequence[str], folder: Path, *words: object, lock: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A measurement with a lock of its own, unless the usual one is meant."""
    command = [sys.executable, "-m", "hardstone", "run", "CLK-P-BIN", "--samples", "5"]
    environment = {**os.environ, **({"HARDSTONE_LOCK_FILE": str(lock)} if lock else {})}
    return subprocess.run(
        [*prefix, *command, "--store", folder, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@filtered
def test_where_no_thread_starts_numpy_does_not_end_the_run(tmp_path: Path) -> None:
    """OpenBLAS sends the program SIGINT when it may not start its threads."""
    done = tool(refuse("clone3=EPERM"), tmp_path, lock=tmp_path / "lock")
    assert done.returncode == EXIT_PRIVILEGE, done.stderr
    assert "thread can be started" in done.stdout
    assert "interrupted" not in done.stderr and "OpenBLAS" not in done.stderr


@filtered
def test_where_sleeping_is_refused_the_lock_is_waited_for(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        prefix = refuse("clock_nanosleep=EPERM", "nanosleep=EPERM")
        done = tool(prefix, tmp_path / "store", "--wait", "300ms", lock=lock)
    assert done.returncode == EXIT_UNREACHABLE, done.stderr
    assert "Another hardstone measurement is running on this machine (pid " in done.stderr
    assert "cannot be taken" not in done.stderr


def test_a_root_that_is_read_only_has_no_folder_for_the_lock(tmp_path: Path) -> None:
    mounts = f"mount -o remount,bind,ro / && mount -t tmpfs none {tmp_path}"
    done = tool(changed(mounts), tmp_path)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()[-80:]}")
    assert "internal error" not in done.stderr
    assert "CLK-P-BIN" in done.stdout


@pytest.mark.parametrize("heading", [one for one in situations() if one not in REAL_TIME])
def test_it_is_said_as_the_page_of_containers_quotes_it(heading: str, tmp_path: Path) -> None:
    check(heading, tmp_path)


# ---- nothing hangs, nothing stays ----


@filtered
@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_where_sleeping_is_refused_nothing_spins(probe: Path, error: str) -> None:
    prefix = refuse(f"clock_nanosleep={error}", f"nanosleep={error}")
    done = subprocess.run([*prefix, probe, "facts", "--json"], capture_output=True, check=True)
    assert b"could not be calibrated: nanosleep: " in done.stdout
    stream = run(probe, "TMR-P-LAT", "--samples", "5", prefix=prefix)
    assert stream.code == EXIT_PRIVILEGE
    assert (stream.result.reason or "").startswith("clock_nanosleep: ")
    assert "let this process sleep" in (stream.result.remedy or "")
    done = subprocess.run([*prefix, probe, "load", "cpu"], capture_output=True, check=False)
    assert done.returncode == EXIT_PRIVILEGE and b"clock_nanosleep: " in done.stderr


@filtered
def test_a_timer_that_never_expires_is_named_and_the_others_are_measured(probe: Path) -> None:
    words = (
        "-p",
        "mechanisms=timer-sigwaitinfo,timer-handler,nanosleep",
        "-p",
        "periods_ns=1ms",
        "-D",
        "200ms",
    )
    stream = run(probe, "TMR-P-JIT", *words, prefix=refuse("timer_settime=0"))
    assert stream.result.status == "measured"
    told = [one for one in stream.of(StreamEvent) if one.name == "mechanism_unsupported"]
    assert len(told) == 2
    assert {one.data["error"] for one in told} == {"it is set without an error, and never expires"}
    jitters = [one for one in stream.of(StreamSeries) if one.name == "jitter"]
    counts = {one.labels["mechanism"]: one.count for one in jitters}
    assert counts["nanosleep"] > 0 and not counts["timer-handler"]


@filtered
def test_a_timer_that_is_refused_has_no_verdict(probe: Path) -> None:
    words = ("-p", "mechanisms=timer-sigwaitinfo", "-D", "200ms")
    stream = run(probe, "TMR-B-EDGE", *words, prefix=refuse("timer_settime=EPERM"))
    assert not stream.verdicts
    assert stream.events["mechanism_unsupported"].data["error"] == "Operation not permitted"
    assert stream.result.status != "measured"


@filtered
def test_the_text_of_the_probe_says_what_cannot_be_true(probe: Path) -> None:
    words = [probe, "run", "TMR-P-LAT", "--samples", "50", "--text"]
    for prefix, is_wrong in ((refuse("clock_nanosleep=0", "nanosleep=0"), True), ([], False)):
        done = subprocess.run([*prefix, *words], capture_output=True, text=True, check=True)
        assert ("CANNOT BE TRUE  wakeup total" in done.stdout) is is_wrong
        assert ("do not use it" in done.stdout) is is_wrong


def catches(pid: int, number: signal.Signals) -> bool:
    line = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return line is not None and int(line[1], 16) >> (number - 1) & 1 == 1


def test_facts_have_a_deadline(probe: Path) -> None:
    with subprocess.Popen([probe, "facts"], stdout=-1, stderr=-1, text=True) as process:
        wait_until(lambda: catches(process.pid, signal.SIGALRM), "no deadline")
        process.send_signal(signal.SIGALRM)  # it has passed
        _, said = process.communicate()
    assert process.returncode == EXIT_UNTRUSTWORTHY
    assert "ended after 45 s because a system call did not return" in said


STARTS = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
child.wait()
"""


def test_a_probe_ends_with_who_started_it_also_while_its_input_is_open(probe: Path) -> None:
    # Of a test that goes on when something of a higher priority takes the CPU.
    words = [probe, "run", "TMR-P-LAT", "-D", "1h", "--policy", "other", "--until-eof"]
    command = [sys.executable, "-c", STARTS, *map(str, words)]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as parent:
        child = int((parent.stdout or sys.stdin.buffer).readline())
        wait_until(lambda: catches(child, signal.SIGTERM), "it does not measure")
        parent.kill()
        parent.wait()
        wait_until(lambda: not is_alive(child), "the probe stays")


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
