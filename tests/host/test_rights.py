"""Less right or less room is an answer with its remedy: no crash, no made-up figure."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import machine
from tests.process.targets.test_refusals import mounted
from tests.running import Stream, run

FEW = ["--samples", "200"]
other_user = machine.needs(machine.no_other_user())
limits = machine.needs(machine.no_prlimit())


def refused(stream: Stream, status: str, cause: str) -> None:
    """An answer with cause and remedy; it is a whole stream, without a sample."""
    assert stream.code == stream.told_code, stream.stderr
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.status == status
    assert cause in (result.reason or "")
    assert result.remedy
    assert stream.sample_count == 0


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("--cpu", "1023"), "CPU 1023 does not exist, or this process may not use it"),
        (("-p", "cpus=0,1023"), "CPU 1023 does not exist, or this process may not use it"),
        (("--priority", "100"), "priority 100 is outside 1 to 99"),
    ],
    ids=lambda one: one[1] if isinstance(one, tuple) else "",
)
def test_a_cpu_or_priority_that_is_not_there(
    probe: Path, quick: list[str], words: tuple[str, ...], cause: str
) -> None:
    refused(run(probe, "TMR-P-LAT", *FEW, *quick, *words), "denied", cause)


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed")
def test_a_cpu_that_is_not_allowed(probe: Path, quick: list[str]) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU")
    prefix = ["taskset", "-c", str(cpus[0])]
    stream = run(probe, "TMR-P-LAT", *FEW, *quick, "--cpu", str(cpus[1]), prefix=prefix)
    refused(stream, "denied", "this process may not use it")
    stream = run(probe, "CLK-B-RES", *FEW, *quick, prefix=prefix)
    assert "one_cpu" in stream.events
    assert stream.result.conditions.cpu == cpus[0]


@machine.needs(machine.no_realtime())
def test_the_highest_priority_is_told_as_a_number(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "TMR-P-LAT", *FEW, *quick, "--priority", "max")
    highest = os.sched_get_priority_max(os.SCHED_FIFO)
    assert stream.result.conditions.priority == highest
    assert "it is the highest" in stream.events["supervisor_not_above"].text


# ---- an ordinary user ----


@other_user
def test_without_right_it_measures_and_says_so(open_probe: Path, quick: list[str]) -> None:
    stream = run(open_probe, "TMR-P-LAT", *FEW, *quick, prefix=machine.as_nobody())
    assert stream.read_by_the_toolkit()[1] is None
    assert stream.result.status == "measured" and stream.sample_count >= 200
    conditions = stream.result.conditions
    assert (conditions.realtime, conditions.policy, conditions.priority) == (False, "other", 0)
    assert "bounding set" in stream.events["not_realtime"].text


@other_user
def test_an_explicit_priority_without_right_is_denied(open_probe: Path, quick: list[str]) -> None:
    options = [*FEW, *quick, "--priority", "50"]
    stream = run(open_probe, "TMR-P-LAT", *options, prefix=machine.as_nobody())
    refused(stream, "denied", "priority 50 under SCHED_FIFO was refused")
    assert "setcap has no effect here" in (stream.result.remedy or "")


@other_user
def test_a_limit_lowers_the_priority(open_probe: Path, quick: list[str]) -> None:
    prefix = ["prlimit", "--rtprio=10:10", *machine.as_nobody()[3:]]
    stream = run(open_probe, "TMR-P-LAT", *FEW, *quick, prefix=prefix)
    if not stream.raw or "not_realtime" in stream.events:
        pytest.skip(f"real-time priority by limit is not to be had here: {stream.stderr.strip()}")
    assert stream.result.conditions.realtime and stream.result.conditions.priority == 10
    assert "10 is the highest" in stream.events["priority_lowered"].text


@other_user
def test_memory_that_cannot_be_locked(open_probe: Path, quick: list[str]) -> None:
    stream = run(open_probe, "TMR-P-LAT", *FEW, *quick, prefix=machine.as_nobody(memlock_bytes=0))
    assert stream.result.status == "measured" and stream.sample_count >= 200
    assert stream.result.conditions.memory_locked is False
    assert "ulimit -l" in stream.events["memory_not_locked"].text


@other_user
def test_threads_that_cannot_be_created(open_probe: Path, quick: list[str]) -> None:
    prefix = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
    prefix += ["--bounding-set=-all", "--inh-caps=-all", "prlimit", "--nproc=1:1", "--rtprio=0:0"]
    stream = run(open_probe, "TMR-P-LAT", *FEW, *quick, prefix=prefix)
    if stream.result.status == "measured":
        pytest.skip("the limit on processes does not hold here")
    refused(stream, "denied", "no thread can be started: the user's limit (ulimit -u) is used up")


# ---- too little memory ----


@limits
@pytest.mark.parametrize("more_bytes", [50_000, 400_000, 1_000_000])
def test_too_little_memory_is_denied(probe: Path, quick: list[str], more_bytes: int) -> None:
    """Limits from just above what the program itself takes to a few records."""
    wanted = least_address_space(probe) + more_bytes
    many = ["-p", "periods_ns=1ms,2ms,3ms,4ms,5ms,6ms,7ms,8ms,9ms,10ms", *FEW, *quick]
    prefix = ["prlimit", f"--as={wanted}:{wanted}"]
    stream = run(probe, "TMR-P-JIT", *many, "--deadline-ns", "200ms", prefix=prefix)
    assert stream.code == 5, (stream.code, stream.stderr)
    assert stream.result.status == "denied", stream.result
    assert stream.result.reason and stream.result.remedy


def least_address_space(probe: Path) -> int:
    """The smallest limit under which the program starts at all."""
    page = resource.getpagesize()
    low, high = 1, 64 * 2**20 // page
    while low < high:
        middle = (low + high) // 2
        words = ["prlimit", f"--as={middle * page}", str(probe), "--version"]
        done = subprocess.run(words, capture_output=True, check=False)
        low, high = (low, middle) if done.returncode == 0 else (middle + 1, high)
    return low * page


@limits
@pytest.mark.parametrize(("stack_kib", "status"), [(512, "denied"), (513, "measured")])
def test_a_stack_that_is_too_small(
    probe: Path, quick: list[str], stack_kib: int, status: str
) -> None:
    """Or enough, also with as large an environment as the system lets through."""
    prefix = ["prlimit", f"--stack={stack_kib * 1024}:{stack_kib * 1024}"]
    variables = {"HARDSTONE_TEST_FILLER": "x" * 100_000}
    stream = run(probe, "TMR-P-LAT", *FEW, *quick, prefix=prefix, variables=variables)
    assert stream.result.status == status
    if status == "denied":
        refused(stream, "denied", f"the stack is limited to {stack_kib * 1024} bytes")


@limits
def test_no_descriptors_are_left(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "SEM-P-SIG", *FEW, *quick, prefix=["prlimit", "--nofile=3:3"])
    assert stream.code == stream.told_code
    assert stream.result.status in ("failed", "denied")
    assert "a pipe" in (stream.result.reason or "")
    assert "ulimit -n" in (stream.result.remedy or "")
    if "counter_not_used" in stream.events:
        told = stream.events["counter_not_used"].text
        assert "could not be read: Too many open files" in told


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None or os.uname().machine != "x86_64",
    reason="only root on x86-64 can hide what Linux says of the TSC, with unshare",
)
def test_absent_is_not_unreadable(probe: Path) -> None:
    """Another clock source: probe/tests/test_linux_counter.c."""
    hide = ["unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /proc/cpuinfo && exec "$@"']
    stream = run(probe, "SEM-P-SIG", "--samples", "5", prefix=[*hide, "sh"])
    if not stream.raw:
        pytest.skip(f"/proc/cpuinfo cannot be hidden: {stream.stderr.strip()}")
    assert "does not report a TSC" in stream.events["counter_not_used"].text


# ---- PRV-B-GRP: its verdicts are in test_verdicts.py ----

CALLS = {f"refused/{right}" for right in ("realtime", "memory_lock", "nice", "io_realtime")}
CAPABILITIES = {"granted/cap_sys_nice", "granted/cap_ipc_lock"}


def texts(stream: Stream, name: str) -> list[str]:
    return [event.text for event in stream.told(name)]


@other_user
def test_what_root_is_refused_as_well_is_no_answer(broken: Callable[..., Stream]) -> None:
    stream = broken("prv_own,prv_filter", "PRV-B-GRP")
    assert "refused/io_realtime" not in stream.verdicts
    told = texts(stream, "right_not_tried")
    assert any("root is refused too" in text for text in told)


@other_user
def test_root_that_cannot_become_another_user(broken: Callable[..., Stream]) -> None:
    """As in a user namespace that has one user."""
    stream = broken("prv_own,prv_stuck", "PRV-B-GRP")
    assert stream.result.status == "denied"
    assert "-p user=" in str(stream.result.remedy)
    assert stream.verdicts == {}
    assert all("becoming an ordinary user" in text for text in texts(stream, "right_not_tried"))


@other_user
def test_an_ordinary_user_answers_for_himself(open_probe: Path, quick: list[str]) -> None:
    """Nobody can grant him anything: that is said, and is no verdict."""
    prefix = machine.as_nobody()
    stream = run(open_probe, "PRV-B-GRP", *quick, prefix=prefix)
    assert all(stream.verdicts.values())
    assert set(stream.verdicts) >= CALLS | {"refused/affinity"}
    told = texts(stream, "right_not_tried")
    for name in ("granted/realtime", *CAPABILITIES):
        assert name not in stream.verdicts
        (text,) = [one for one in told if one.startswith(name)]
        assert "root" in text


@other_user
def test_process_1_may_be_the_callers_own(open_probe: Path, quick: list[str]) -> None:
    """As in a container that runs as an ordinary user."""
    space = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*space, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("unshare makes no space of processes here")
    shell = ["bash", "-c", '"$0" "$@"; exit $?']
    stream = run(open_probe, "PRV-B-GRP", *quick, prefix=[*space, *machine.as_nobody(), *shell])
    assert all(stream.verdicts.values())
    assert "refused/affinity" not in stream.verdicts
    told = texts(stream, "right_not_tried")
    assert any(text.startswith("refused/affinity: process 1 is") for text in told)


@other_user
@pytest.mark.parametrize("user", ["1", "4242", "65534"])
def test_any_user_will_do_and_the_machine_is_as_it_was(
    probe: Path, quick: list[str], user: str
) -> None:
    """Limits, nice value and affinity of who calls, and all CPUs."""

    def state() -> tuple[object, ...]:
        online = Path("/sys/devices/system/cpu/online").read_text()
        return os.nice(0), os.sched_getaffinity(0), os.sched_getscheduler(0), online

    before = state()
    stream = run(probe, "PRV-B-GRP", "-p", f"user={user}", *quick).checked()
    assert state() == before
    assert stream.result.status == "measured" and all(stream.verdicts.values())
    assert set(stream.verdicts) >= CALLS | CAPABILITIES


def test_a_command_to_type_is_printed_once(probe: Path) -> None:
    """Here, because in a PID namespace nothing of tracing would help."""
    words = ("run", "TMR-P-LAT", "-p", "parts=auto", "--samples", "5", "--text")
    done = mounted("(umount -l /sys/kernel/tracing || true) 2>/dev/null", probe, *words)
    (note,) = (line for line in done.stdout.splitlines() if "are not available" in line)
    assert note.count("mount -t tracefs") <= 1
    if "is not mounted" in note:
        assert "mount it: mount -t tracefs tracefs /sys/kernel/tracing" in note
