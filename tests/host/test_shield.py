"""A shield puts everything back, whatever was set before and however it ends.

Odd values are set by hand in all that a shield touches; then the whole state of the machine
is read, a shield is used, and the state is read again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests import machine
from tests.host.odd import Odd, movable_interrupts
from tests.host.shield_state import (
    JOURNAL,
    LATENCY,
    State,
    Task,
    cpuset_mount,
    differences,
    guard_of,
    read_state,
    read_task,
)
from tests.host.shielding import (
    FOREVER,
    GIVE_UP_S,
    QUICK,
    RESERVED,
    SHIELD_MARKS,
    Shield,
    all_is_back,
    command,
    holds,
    shielded,
)
from tests.running import children, rate_of_counter, run
from tests.waiting import wait_until

pytestmark = SHIELD_MARKS

# ---- that it does something ----

LOOK = """
import json, os, sys, time
def counts(files):
    lines = {l.split(":")[0].strip(): l.split() for l in open("/proc/interrupts")}
    return {f: int(lines[f][1 + int(sys.argv[1])]) for f in files if f in lines}
interrupts = sys.argv[3].split(",") if sys.argv[3] else []
first = counts(interrupts)
places = set()
for _ in range(20):
    places.add(int(open(f"/proc/{sys.argv[2]}/stat").read().rpartition(")")[2].split()[36]))
    time.sleep(0.01)
last = counts(interrupts)
print(json.dumps({
    "cpus": sorted(os.sched_getaffinity(0)), "policy": os.sched_getscheduler(0),
    "priority": os.sched_getparam(0).sched_priority, "places": sorted(places),
    "more": max([last[f] - first[f] for f in last], default=0),
}))
sys.exit(7)
"""


def test_the_cpu_is_reserved_and_everything_is_put_back(
    probe: Path, odd: Odd, before: State
) -> None:
    interrupts = ",".join(path.parent.name for path in movable_interrupts())
    busy = Path(f"/proc/{odd.busy}/task/{odd.busy}")
    wait_until(lambda: read_task(busy)[1].processor == RESERVED, "the busy process is elsewhere")
    words = [str(probe), "shield", "--cpu", str(RESERVED), "--policy", "rr", "--priority", "7"]
    words += ["--", sys.executable, "-c", LOOK, str(RESERVED), str(odd.busy), interrupts]
    done = subprocess.run(words, capture_output=True, timeout=GIVE_UP_S, check=False)
    assert done.returncode == 7, done.stderr
    seen = json.loads(done.stdout)
    assert seen["cpus"] == [RESERVED]
    assert (seen["policy"], seen["priority"]) == (os.SCHED_RR, 7)
    assert RESERVED not in seen["places"]
    assert seen["more"] <= 1  # a kind that moves when it fires comes once more
    first, *between, last = done.stderr.decode().splitlines()  # one line at each end
    assert all("left alone" in line for line in between)  # what the kernel has bound meanwhile
    assert f"CPU {RESERVED} is reserved; not moved: " in first
    assert "--verbose lists each one and why" in first
    assert "cpuset (" in first or machine.no_kernel_threads()
    assert "timers" not in first and "workqueues" not in first  # nothing of them was found to stay
    assert re.search(rf"CPU {RESERVED} is given back: [1-9]\d* restored", last)
    all_is_back(before)


@pytest.mark.skipif(bool(machine.no_kernel_threads()), reason=str(machine.no_kernel_threads()))
def test_verbose_tells_the_reasons(probe: Path, before: State) -> None:
    words = [str(probe), "shield", "--verbose", "--cpu", str(RESERVED), "--", "true"]
    done = subprocess.run(words, capture_output=True, timeout=GIVE_UP_S, check=True)
    assert b"timers (those of other CPUs stay there" in done.stderr or (
        b"timers (its own go to other CPUs" in done.stderr
    )
    assert b"bound to it by the kernel" in done.stderr
    assert f"CPU {RESERVED}: cpuset (".encode() in done.stderr
    all_is_back(before)


def served_there() -> set[str]:
    """Interrupts that may be moved, and that the reserved CPU serves now."""
    found = set()
    for path in movable_interrupts():
        with suppress(OSError):
            served = (path.parent / "effective_affinity_list").read_text().strip()
            if served == str(RESERVED):
                found.add(path.parent.name)
    return found


def test_interrupts_go_back_to_the_cpu_that_served_them(probe: Path) -> None:
    """Not all, and not at once: many kinds are moved by the kernel when they next fire."""
    before = served_there()
    if not before:
        pytest.skip("no interrupt that can be moved is served by that CPU")
    with shielded(command(probe, *FOREVER)) as process:
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    wait_until(lambda: served_there() & before, f"none of {before} is served there again")


def movable_there() -> dict[tuple[int, int], Task]:
    """Threads that may run on the reserved CPU and could be kept off it."""
    return {
        key: task
        for key, task in read_state().tasks.items()
        if RESERVED in task.affinity
        and not task.is_ending
        and not (task.is_kernel and task.is_bound)
    }


def test_during_a_shield_all_others_are_elsewhere(probe: Path, odd: Odd, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        (shielded_command,) = children(process.pid) - {guard_of(process.pid)}
        first = movable_there()
        time.sleep(0.01)  # a thread of the kernel that is just made is not bound yet
        there = {key: task for key, task in movable_there().items() if key in first}
        assert set(there) == {key for key in there if key[0] == shielded_command}, there
        for path in movable_interrupts():
            assert str(RESERVED) not in path.read_text().strip().split(","), path
        assert differences(before, read_state()) != []
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)
    assert odd.kernel_thread == 0 or os.sched_getaffinity(odd.kernel_thread) == {RESERVED}


def test_a_group_that_is_made_meanwhile_does_not_get_the_cpu(probe: Path, before: State) -> None:
    mount = cpuset_mount()
    if mount is None or mount[0] != "v1":
        pytest.skip("no cpusets of version 1")
    group = mount[1] / f"hardstone-test-{os.getpid()}"
    with shielded(command(probe, *FOREVER)) as process:
        group.mkdir()
        try:
            with pytest.raises(OSError, match="Invalid argument"):
                (group / "cpuset.cpus").write_text(f"0-{RESERVED}")
        finally:
            group.rmdir()
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)


# ---- two at once, and what is refused ----


def test_the_second_is_refused(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert f"CPU {RESERVED} is reserved by process {process.pid} since 20" in line
        restore = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
        assert restore.returncode == 2 and b"which still runs" in restore.stderr
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)


def test_a_link_in_the_place_of_the_journal(probe: Path, before: State, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    JOURNAL.symlink_to(victim)
    try:
        done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
        assert done.returncode == 70 and b"it is a link" in done.stderr
        assert victim.read_text() == "mine\n"
    finally:
        JOURNAL.unlink()
    all_is_back(before)


def test_a_journal_of_somebody_else(probe: Path, before: State) -> None:
    JOURNAL.touch(mode=0o600, exist_ok=False)
    os.chown(JOURNAL, machine.NOBODY_ID, machine.NOBODY_ID)
    try:
        done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
        assert done.returncode == 70 and b"another user owns it" in done.stderr
    finally:
        JOURNAL.unlink()
    all_is_back(before)


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        (["--cpu", "1023", "--", "true"], 2, "CPU 1023 does not exist"),
        (["--cpus", "0-1023", "--", "true"], 2, "does not exist"),
        (["--priority", "5", "--policy", "other", "--", "true"], 2, "--priority is one of"),
        (["--priority", "0", "--", "true"], 2, "--priority 0: from 1 to 99"),
        (["--priority", "100", "--policy", "rr", "--", "true"], 2, "--priority 100: from 1 to"),
        (["true"], 2, "write -- before the command"),
        ([], 2, "shield wants one of"),
    ],
    ids=["no such CPU", "too many", "priority", "too low", "too high", "no --", "nothing"],
)
def test_wrong_usage(probe: Path, words: list[str], code: int, cause: str) -> None:
    done = subprocess.run([probe, "shield", *words], capture_output=True, check=False)
    assert done.returncode == code
    (line,) = done.stderr.decode().splitlines()
    assert cause in line


def test_all_cpus_cannot_be_reserved(probe: Path) -> None:
    every = Path("/sys/devices/system/cpu/online").read_text().strip()
    words = [str(probe), "shield", "--cpus", every, "--", "true"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 5 and b"no CPU would be left" in done.stderr


@pytest.mark.skipif(machine.no_other_user() is not None, reason=str(machine.no_other_user()))
def test_without_right(open_probe: Path) -> None:
    words = [*machine.as_nobody(), *command(open_probe, "true")]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 5
    (line,) = done.stderr.decode().splitlines()
    assert "run it as root" in line


# ---- runs ----


def test_a_shielded_run(probe: Path, before: State) -> None:
    stream = run(probe, "TMR-P-LAT", *QUICK, "--cpu-config", "shielded")
    assert stream.result.status == "measured", stream.result
    assert stream.read_by_the_toolkit()[1] is None
    conditions = json.loads(stream.raw.splitlines()[-2])["conditions"]
    assert conditions["cpu_config"] == "shielded"
    assert {"cpuset", "interrupts", "workqueues"} <= set(conditions["settings"])
    assert f"CPU {RESERVED}: cpuset" in stream.events["shielded"].text
    assert "not_moved" in stream.events
    all_is_back(before)


@pytest.mark.parametrize("setting", ["dma_latency", "interrupts", "cpuset"])
def test_one_setting_alone(probe: Path, before: State, setting: str) -> None:
    stream = run(probe, "CLK-P-BIN", *QUICK, "--settings", setting)
    if stream.result.status == "unsupported":
        pytest.skip(stream.result.reason or "")
    conditions = json.loads(stream.raw.splitlines()[-2])["conditions"]
    assert (conditions["cpu_config"], conditions["settings"]) == ("shared", [setting])
    all_is_back(before)


READ_ONLY_RUN = 'mount --bind /run /run && mount -o remount,bind,ro /run && exec "$@"'


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
@pytest.mark.skipif(not Path(LATENCY).exists(), reason=f"no {LATENCY}")
def test_the_latency_request_alone_needs_no_journal(probe: Path, before: State) -> None:
    """Whoever may open the device needs no more: the kernel itself takes the request back."""
    look = ["od", "-An", "-td4", "-N4", LATENCY]
    for setting, code in (("dma_latency", 0), ("dma_latency,timers", 5)):
        words = [str(probe), "shield", "--cpu", str(RESERVED), "--settings", setting, "--", *look]
        prefix = ["unshare", "-m", "sh", "-c", READ_ONLY_RUN, "sh"]
        done = subprocess.run([*prefix, *words], capture_output=True, check=False)
        assert done.returncode == code, done.stderr
        assert done.stdout.split() == ([b"0"] if code == 0 else [])
        assert not JOURNAL.exists()
        all_is_back(before)  # which reads the request that holds
    stream = run(probe, "CLK-P-BIN", *QUICK, "--settings", "dma_latency", prefix=prefix)
    assert stream.result.status == "measured", stream.result
    all_is_back(before)


def test_the_latency_request_alone_on_a_cpu_that_is_reserved(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        words = [str(probe), "shield", "--cpu", str(RESERVED), "--settings", "dma_latency"]
        done = subprocess.run([*words, "--", "true"], capture_output=True, check=False)
        assert done.returncode == 2
        assert f"is reserved by process {process.pid}".encode() in done.stderr
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)


@contextmanager
def measuring_shielded(probe: Path) -> Iterator[Shield]:
    """A run that is on its CPU and measures."""
    words = [str(probe), "run", "TMR-P-LAT", "--json", "--until-eof", "--samples", "1000000"]
    words += [*rate_of_counter(), "--cpu", str(RESERVED), "--cpu-config", "shielded"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            mount = cpuset_mount()
            if mount is not None:
                members = mount[1] / "hardstone-reserved" / "cgroup.procs"
                wait_until(partial(holds, members, process.pid), "the probe is not on its CPU")
            machine.wait_for_wakeups(process.pid, 20)
            yield process
        finally:
            process.kill()


def test_a_shielded_run_whose_guard_is_killed(probe: Path, before: State) -> None:
    with measuring_shielded(probe) as process:
        os.kill(guard_of(process.pid), signal.SIGKILL)
        process.terminate()
        out, _ = process.communicate(timeout=GIVE_UP_S)
    assert process.returncode == 0 and b'"footer"' in out
    all_is_back(before)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
def test_a_shielded_run_that_is_ended(
    probe: Path, before: State, number: signal.Signals | None
) -> None:
    """None: whoever asked for it has gone, and with it the other end of standard input."""
    with measuring_shielded(probe) as process:
        if number is None:
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
        else:
            process.send_signal(number)
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)


def test_a_second_cpu_is_refused_under_single_and_shielded(probe: Path) -> None:
    other = min(os.sched_getaffinity(0))
    for config in ("single", "shielded"):
        options = [*QUICK, "--cpu-config", config, "-p", f"cpus={RESERVED},{other}"]
        stream = run(probe, "TMR-P-LAT", *options)
        assert stream.result.status == "unsupported"
        assert f"not on CPU {other}" in (stream.result.reason or "")


@pytest.mark.skipif(machine.no_other_user() is not None, reason=str(machine.no_other_user()))
def test_a_shielded_run_without_right_is_denied(open_probe: Path) -> None:
    options = [*QUICK, "--cpu-config", "shielded"]
    stream = run(open_probe, "TMR-P-LAT", *options, prefix=machine.as_nobody())
    assert stream.result.status == "denied" and stream.sample_count == 0
    assert "root" in (stream.result.remedy or "")
