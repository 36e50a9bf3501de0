"""A shield on the real kernel: what it does, and that everything comes back, whatever was set
before and however it ends. Settings, groups and journals one by one: probe/tests/test_shield_*.c.

Odd values are set by hand in all that a shield touches; then the whole state of the machine is
read, a shield is used, and the state is read again.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from hardstone.errors import remedy_text
from hardstone.model import StreamInterval
from tests import machine
from tests.host.odd import Odd, movable_interrupts, odd_values
from tests.host.shielding import (
    FOREVER,
    GIVE_UP_S,
    JOURNAL,
    LATENCY,
    QUICK,
    RESERVED,
    SHIELD_MARKS,
    Shield,
    State,
    Task,
    all_is_back,
    assert_same,
    command,
    cpuset_mount,
    differences,
    guard_of,
    journal_lines,
    kill_both,
    read_state,
    read_task,
    shielded,
    wait_for_moment,
)
from tests.running import (
    Running,
    Stream,
    children,
    has_ended,
    measuring_thread,
    note_crash,
    rate_of_counter,
    run,
)
from tests.waiting import wait_until

pytestmark = SHIELD_MARKS
other_user = machine.needs(machine.no_other_user())
with_unshare = pytest.mark.skipif(
    not all(map(shutil.which, ("unshare", "nsenter"))), reason="no unshare or nsenter"
)


def called(*words: object, **given: object) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(  # type: ignore[call-overload]
        [str(word) for word in words], capture_output=True, timeout=GIVE_UP_S, check=False, **given
    )
    note_crash(str(words[0]), done.returncode)
    return done


def ended(process: Shield, number: int = signal.SIGTERM) -> bytes:
    """What it says in the end."""
    process.send_signal(number)
    return process.communicate(timeout=GIVE_UP_S)[1] or b""


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
    """Each setting that a shield can touch has an odd value: so far all these tests reach."""
    shown = json.loads(called(probe, "shield", "--cpu", RESERVED, "--show", "--json").stdout)
    assert {one["name"] for one in shown["settings"] if one["available"]} == odd.settings
    interrupts = ",".join(path.parent.name for path in movable_interrupts())
    busy = Path(f"/proc/{odd.busy}/task/{odd.busy}")
    wait_until(lambda: read_task(busy)[1].processor == RESERVED, "the busy process is elsewhere")
    options = ("--cpu", RESERVED, "--policy", "rr", "--priority", "7", "--")
    look = (sys.executable, "-c", LOOK, RESERVED, odd.busy, interrupts)
    done = called(probe, "shield", *options, *look)
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


@machine.needs(machine.no_kernel_threads())
def test_verbose_tells_the_reasons(probe: Path, before: State) -> None:
    done = called(probe, "shield", "--verbose", "--cpu", RESERVED, "--", "true")
    assert b"timers (timers of other CPUs stay there" in done.stderr or (
        b"timers (its own timers move to other CPUs" in done.stderr
    )
    assert b"that the kernel has bound to one CPU" in done.stderr
    assert f"CPU {RESERVED}: cpuset (".encode() in done.stderr
    all_is_back(before)


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
    mount = cpuset_mount()
    with shielded(command(probe, *FOREVER)) as process:
        (shielded_command,) = children(process.pid) - {guard_of(process.pid)}
        first = movable_there()
        time.sleep(0.01)  # a thread of the kernel that is just made is not bound yet
        there = {key: task for key, task in movable_there().items() if key in first}
        assert set(there) == {key for key in there if key[0] == shielded_command}, there
        for path in movable_interrupts():
            assert str(RESERVED) not in path.read_text().strip().split(","), path
        assert differences(before, read_state()) != []
        if mount is not None and mount[0] == "v1":  # nor does a new group get the CPU
            group = mount[1] / f"hardstone-test-{os.getpid()}"
            group.mkdir()
            try:
                with pytest.raises(OSError, match="Invalid argument"):
                    (group / "cpuset.cpus").write_text(f"0-{RESERVED}")
            finally:
                group.rmdir()
        ended(process)
    all_is_back(before)
    assert odd.kernel_thread == 0 or os.sched_getaffinity(odd.kernel_thread) == {RESERVED}


SET_THEM = """
import time
from tests.host.odd import odd_values
with odd_values(int(__import__("sys").argv[1])) as odd:
    print(odd.busy, odd.grouped, odd.pinned, flush=True)
    time.sleep(60)
"""


def test_odd_values_come_back_also_when_the_tests_are_killed(root: Path) -> None:
    before = read_state()
    with odd_values(RESERVED):
        assert differences(before, read_state()) != []
    assert_same(before)
    words = [sys.executable, "-c", SET_THEM, str(RESERVED)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=root) as tests:
        assert tests.stdout is not None
        started = [int(word) for word in tests.stdout.readline().split()]
        assert differences(before, read_state()) != []
        tests.kill()
    wait_until(lambda: all(map(has_ended, started)), "its processes go on")
    wait_until(lambda: differences(before, read_state()) == [], "odd values are left")
    mount = cpuset_mount()
    assert mount is None or not list(mount[1].glob("hardstone-odd-*"))


# ---- what is refused ----


def test_the_second_is_refused(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        for more in ((), ("--settings", "dma_latency")):
            done = called(probe, "shield", "--cpu", RESERVED, *more, "--", "true")
            assert done.returncode == 2
            (line,) = done.stderr.decode().splitlines()
            assert f"CPU {RESERVED} is reserved by process {process.pid} since 20" in line
        restore = called(probe, "shield", "--restore")
        assert restore.returncode == 2 and b"and still runs" in restore.stderr
        ended(process)
    all_is_back(before)


HEAD = r"hardstone-shield\t1\nboot\t{boot}\nowner\t1\t1\nsince\t1\ncpus\t0\n"
PLAIN = "umask 077; printf '{text}' > $journal"
PANIC = PLAIN.format(text=HEAD + r"file\t/proc/sys/kernel/panic\t1\t0\n")
JOURNALS = {
    "a link": ("ln -s /etc/passwd $journal", "-- true", 70, "it is a link"),
    "another user's": (
        "install -m 600 -o 65534 /dev/null $journal",
        "-- true",
        70,
        "another user owns it",
    ),
    "damaged": (PLAIN.format(text="none"), "--restore", 2, "--restore --forget"),
    "damaged, forgotten": (PLAIN.format(text="none"), "--restore --forget", 0, "is deleted"),
    "of an earlier boot": (
        PLAIN.format(text=HEAD.format(boot="00000000-dead") + r"irq\t1\t0\t1\t1\n"),
        "--restore",
        0,
        "earlier boot",
    ),
    "with a file that no shield changes": (PANIC, "-- true", 70, "is not a file that a shield"),
    "the same, forgotten": (PANIC, "--restore --forget", 0, "is deleted"),
    "none": ("true", "--restore", 0, "there is nothing to restore"),
}


def where_the_journal_is(script: str) -> list[str]:
    """Before a command, which has a /run of its own."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    script = script.replace("{boot}", boot)
    script = f'journal={JOURNAL}; mount -t tmpfs none /run || exit; {script}; exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


@with_unshare
@pytest.mark.parametrize("case", JOURNALS)
def test_a_journal_that_is_found(probe: Path, case: str) -> None:
    script, words, code, said = JOURNALS[case]
    done = called(*where_the_journal_is(script), probe, "shield", *words.split())
    assert (done.returncode, said in done.stderr.decode()) == (code, True), done.stderr


def test_a_cpu_that_is_not_there_and_all_cpus(probe: Path) -> None:
    every = Path("/sys/devices/system/cpu/online").read_text().strip()
    for words, code, said in (
        (("--cpu", "1023"), 2, b"CPU 1023 does not exist"),
        (("--cpus", every), 5, b"no CPU would be left"),
    ):
        done = called(probe, "shield", *words, "--", "true")
        assert done.returncode == code and said in done.stderr
        assert done.stderr.count(b"\n") == 1


@other_user
def test_without_right(open_probe: Path) -> None:
    done = called(*machine.as_nobody(), *command(open_probe, "true"))
    assert done.returncode == 5
    (line,) = done.stderr.decode().splitlines()
    assert "run it as root" in line
    options = [*QUICK, "--cpu-config", "shielded"]
    stream = run(open_probe, "TMR-P-LAT", *options, prefix=machine.as_nobody())
    assert stream.result.status == "denied" and stream.sample_count == 0
    assert "root" in (stream.result.remedy or "")


@contextmanager
def exclusive(cpu: int) -> Iterator[Path]:
    mount = cpuset_mount()
    if mount is None or mount[0] != "v1":
        pytest.skip("no cpusets of version 1")
    group = mount[1] / f"hardstone-exclusive-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpuset.mems").write_text((mount[1] / "cpuset.mems").read_text())
        (group / "cpuset.cpus").write_text(str(cpu))
        try:
            (group / "cpuset.cpu_exclusive").write_text("1")
        except OSError:
            pytest.skip("groups of this machine share that CPU")
        yield group
    finally:
        group.rmdir()


@pytest.mark.parametrize(
    ("cpu", "said"),
    [
        (RESERVED, "has the CPU to itself"),
        (min(os.sched_getaffinity(0)), "has the only CPUs left for other tasks to itself"),
    ],
)
def test_a_cpu_that_somebody_has_to_himself(probe: Path, cpu: int, said: str) -> None:
    """Without the odd values, which have a group with that CPU."""
    if len(os.sched_getaffinity(0)) != 2:
        pytest.skip("with more CPUs some are left")
    before = read_state()
    with exclusive(cpu) as group:
        done = called(*command(probe, "true"))
        assert done.returncode == 5, done.stderr
        (line,) = done.stderr.decode().splitlines()
        assert f"cpuset: {group} {said}" in line
        assert "choose another one with --cpu" in line or cpu != RESERVED
        assert (group / "cpuset.cpus").read_text().strip() == str(cpu)
        stream = run(probe, "TMR-P-LAT", *QUICK, "--cpu-config", "shielded")
        assert stream.result.status == "denied" and str(group) in (stream.result.reason or "")
    all_is_back(before)


# ---- whoever ends it ----


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_to_the_shield(probe: Path, before: State, number: signal.Signals) -> None:
    """`hardstone shield` becomes the probe: tests/process/cli/test_shield.py."""
    with shielded(command(probe, *FOREVER)) as process:
        (inside,) = children(process.pid) - {guard_of(process.pid)}
        ended(process, number)
    code = -number if number == signal.SIGKILL else 128 + number
    assert process.returncode == code
    all_is_back(before)
    wait_until(lambda: has_ended(inside), "COMMAND outlives the shield")


def has_another(owner: int, guard: int) -> bool:
    """The one that was killed is a child until it is reaped."""
    return guard not in children(owner) and len(children(owner)) == 2


def test_the_guard_is_killed(probe: Path, before: State) -> None:
    """It is replaced at once, so that the next kill does no harm either."""
    with shielded(command(probe, *FOREVER)) as process:
        first = guard_of(process.pid)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: has_another(process.pid, first), "there is no new guard")
        ended(process, signal.SIGKILL)
    all_is_back(before)


def test_the_guard_is_killed_and_the_command_ends(probe: Path, before: State) -> None:
    script = "trap 'exit 0' USR1; echo ready; while :; do sleep 0.1; done"
    with shielded(command(probe, "sh", "-c", script)) as process:
        os.kill(guard_of(process.pid), signal.SIGKILL)
        ended(process, signal.SIGUSR1)
    assert process.returncode == 0
    all_is_back(before)


@pytest.mark.parametrize("is_restore", [False, True], ids=["the next shield", "restore"])
def test_a_guard_at_its_work_is_waited_for(probe: Path, before: State, is_restore: bool) -> None:
    """Its owner has gone, it still holds the journal: stopped here, so that it takes its time."""
    with shielded(command(probe, *FOREVER)) as process:
        guard = guard_of(process.pid)
        os.kill(guard, signal.SIGSTOP)
        try:
            process.kill()
            process.wait(timeout=GIVE_UP_S)
            words = [str(probe), "shield", "--restore"] if is_restore else command(probe, "true")
            second = subprocess.Popen(words, stderr=subprocess.PIPE)
            with pytest.raises(subprocess.TimeoutExpired):
                second.wait(timeout=0.4)
        finally:
            os.kill(guard, signal.SIGCONT)  # also where the test fails: it puts things back
            wait_until(lambda: has_ended(guard), "the guard does not end")
        _, errors = second.communicate(timeout=GIVE_UP_S)
        assert second.returncode == 0, errors
    all_is_back(before)


def test_both_are_killed_and_restore_is_called(probe: Path, before: State) -> None:
    """Meanwhile whoever is kept off the CPU is told of the shield: this process was moved."""
    with shielded(command(probe, *FOREVER)) as process:
        beside = denied(probe, RESERVED)
        kill_both(process)
    assert differences(before, read_state()) != []
    shown = json.loads(called(probe, "shield", "--show", "--json").stdout)
    assert shown["state"] == "left behind"
    left = denied(probe, RESERVED)
    done = called(probe, "shield", "--restore")
    # what is left is what the kernel has bound meanwhile
    said = b" changed by others since and left alone, 0 failed"
    assert done.returncode == 0 and said in done.stderr, done.stderr
    all_is_back(before)
    assert all("a shield has reserved it" in text for text in beside), beside
    assert all("hardstone shield --restore" in text for text in left), left
    elsewhere = denied(probe, 1023)
    assert not any("shield" in text for text in elsewhere), elsewhere


def denied(probe: Path, cpu: int) -> list[str]:
    """What each command that is asked for `cpu` says of it."""
    words = [("CLK-P-BIN", "--cpu", str(cpu)), ("TMR-P-LAT", "-p", f"cpus={cpu}")]
    streams = [run(probe, *one, "--samples", "200") for one in words]
    for stream in streams:
        assert stream.result.status == "denied" and stream.sample_count == 0
        assert f"CPU {cpu} " in (stream.result.reason or "")
    done = called(probe, "load", "cpu", "--cpus", cpu, "--duration-ns", "1ms")
    assert done.returncode == 2 and f"CPU {cpu} " in done.stderr.decode()
    said = [remedy_text(stream.result.remedy, stream.result.command) for stream in streams]
    return [*said, done.stderr.decode()]


def test_both_are_killed_and_the_next_shield_restores(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        kill_both(process)
    done = called(*command(probe, "true"))
    assert done.returncode == 0
    assert b"ended without restoring them; restored now" in done.stderr
    all_is_back(before)


def kill_the_tool(process: Shield) -> None:
    process.kill()


def kill_the_guard_too(process: Shield) -> None:
    """Where there is one by then."""
    process.send_signal(signal.SIGSTOP)
    for child in children(process.pid):
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    process.kill()


# By what the journal holds: nothing, its head, the first changes, most of them.
JOURNAL_MOMENTS = [-1, 0, 1, 5, 6, 8, 16, 40]
BACK_MOMENTS_S = [0, 0.002, 0.006]  # after COMMAND, while it puts back


@pytest.mark.parametrize("kill", [kill_the_tool, kill_the_guard_too])
def test_a_kill_at_any_moment(probe: Path, before: State, kill: Callable[[Shield], None]) -> None:
    """While it applies, and while it puts back. A kill before there is a guard leaves an empty
    journal, which the next one removes. Between any two changes: probe/tests/test_shield_*.c."""

    def check(process: Shield) -> None:
        kill(process)
        process.wait(GIVE_UP_S)
        if kill is kill_the_guard_too:
            called(probe, "shield", "--restore")
        wait_until(lambda: journal_lines() <= 0, "things were not put back")
        assert_same(before)

    for count in JOURNAL_MOMENTS:
        with subprocess.Popen(command(probe, "true"), stderr=subprocess.DEVNULL) as process:
            wait_for_moment(process, partial(has_lines, count))
            check(process)
    for after_s in BACK_MOMENTS_S:
        with shielded(command(probe, "echo", "ready")) as process:
            time.sleep(after_s)
            check(process)
    called(probe, "shield", "--restore")
    all_is_back(before)


def has_lines(count: int) -> bool:
    return journal_lines() >= count


# ---- what cannot be put back ----

READ_ONLY = "mount --bind {0} {0} && mount -o remount,bind,ro {0} && "


@with_unshare
def test_what_cannot_be_put_back_is_kept_and_told(probe: Path, before: State) -> None:
    """/proc/irq becomes read-only for the guard and for those who come after it."""
    if not movable_interrupts():
        pytest.skip("no interrupt can be moved here")
    with subprocess.Popen(["unshare", "-m", "sleep", "60"]) as place:
        mounts = Path(f"/proc/{place.pid}/ns/mnt")
        wait_until(lambda: mounts.readlink() != Path("/proc/self/ns/mnt").readlink())
        inside = ["nsenter", f"--mount={mounts}", "--"]
        with shielded([*inside, *command(probe, *FOREVER)]) as process:
            guard = guard_of(process.pid)
            done = called(*inside, "sh", "-c", READ_ONLY.format("/proc/irq") + "true")
            assert done.returncode == 0, done.stderr
            ended(process, signal.SIGKILL)
            wait_until(lambda: has_ended(guard), "the guard does not end")
        for _ in range(2):
            done = called(*inside, probe, "shield", "--restore")
            assert done.returncode == 70 and b" 0 restored, " in done.stderr, done.stderr
            assert b"could not be restored to CPUs" in done.stderr
            assert b"Read-only file system" in done.stderr
        again = called(*inside, *command(probe, "true"))
        assert again.returncode == 70 and b"could not be restored: " in again.stderr, again.stderr
        kinds = {line.split("\t")[0] for line in JOURNAL.read_text().splitlines()[5:]}
        assert "irq" in kinds and kinds <= {"irq", "file"}
        place.kill()
    assert called(probe, "shield", "--restore").returncode == 0
    all_is_back(before)


@with_unshare
@pytest.mark.parametrize(("ending", "code"), [("true", 70), ("exit 41", 41)])
def test_the_exit_code_when_not_all_could_be_put_back(
    probe: Path, before: State, ending: str, code: int
) -> None:
    """COMMAND itself makes /proc/irq read-only for the shield. Its own failure goes first."""
    if not movable_interrupts():
        pytest.skip("no interrupt can be moved here")
    script = READ_ONLY.format("/proc/irq") + ending
    try:
        done = called("unshare", "-m", *command(probe, "sh", "-c", script))
        assert b"is not fully given back: " in done.stderr, done.stderr
        assert JOURNAL.exists()
        assert done.returncode == code, done.stderr
    finally:
        called(probe, "shield", "--restore")
    all_is_back(before)


def test_a_run_that_fails_with_a_shield_tells_what_it_left(
    broken: Callable[..., Stream], probe: Path, before: State
) -> None:
    """Nothing can be opened any more once the load works: neither to go on nor to put back."""
    words = ("SEM-P-NEW", "-p", "kinds=named", "--cpu-config", "shielded", "--load", "cpu")
    stream = broken("files", *words, *QUICK)
    assert stream.result.status == "denied"
    assert "Too many open files" in (stream.result.reason or "")
    left = [event.text for event in stream.told("not_put_back")]
    assert any("Too many open files" in text for text in left), left
    assert not any("damaged" in text for text in left), left
    done = called(probe, "shield", "--restore")
    assert done.returncode == 0 and b" 0 failed" in done.stderr, done.stderr
    all_is_back(before)


# ---- runs ----


def test_a_shielded_run(probe: Path, before: State) -> None:
    stream = run(probe, "TMR-P-LAT", *QUICK, "--cpu-config", "shielded")
    assert stream.result.status == "measured", stream.result
    assert stream.read_by_the_toolkit()[1] is None
    conditions = stream.result.conditions
    assert conditions.cpu_config == "shielded"
    assert {"cpuset", "interrupts", "workqueues"} <= set(conditions.settings)
    assert f"CPU {RESERVED}: cpuset" in stream.events["shielded"].text
    assert "not_moved" in stream.events
    # it has no file to look into
    assert "hardstone run reads them from outside" in stream.events["not_watched"].text
    all_is_back(before)


@pytest.mark.parametrize("setting", ["dma_latency", "interrupts", "cpuset"])
def test_one_setting_alone(probe: Path, before: State, setting: str) -> None:
    stream = run(probe, "CLK-P-BIN", *QUICK, "--settings", setting)
    if stream.result.status == "unsupported":
        pytest.skip(stream.result.reason or "")
    conditions = stream.result.conditions
    assert (conditions.cpu_config, conditions.settings) == ("shared", [setting])
    all_is_back(before)


@with_unshare
@pytest.mark.skipif(not Path(LATENCY).exists(), reason=f"no {LATENCY}")
def test_the_latency_request_alone_needs_no_journal(probe: Path, before: State) -> None:
    """Whoever may open the device needs no more: the kernel itself takes the request back."""
    prefix = ["unshare", "-m", "sh", "-c", READ_ONLY.format("/run") + 'exec "$@"', "sh"]
    look = ("od", "-An", "-td4", "-N4", LATENCY)
    for setting, code in (("dma_latency", 0), ("dma_latency,timers", 5)):
        words = (probe, "shield", "--cpu", RESERVED, "--settings", setting, "--", *look)
        done = called(*prefix, *words)
        assert done.returncode == code, done.stderr
        assert done.stdout.split() == ([b"0"] if code == 0 else [])
        all_is_back(before)  # which reads the request that holds
    stream = run(probe, "CLK-P-BIN", *QUICK, "--settings", "dma_latency", prefix=prefix)
    assert stream.result.status == "measured", stream.result
    all_is_back(before)


def test_a_second_cpu_is_refused_under_single_and_shielded(probe: Path) -> None:
    other = min(os.sched_getaffinity(0))
    for config in ("single", "shielded"):
        options = [*QUICK, "--cpu-config", config, "-p", f"cpus={RESERVED},{other}"]
        stream = run(probe, "TMR-P-LAT", *options)
        assert stream.result.status == "unsupported"
        assert f"not on CPU {other}" in (stream.result.reason or "")


LOOKED_AT = ("-p", "interval_ns=1ms", "--samples", "0", "--cpu-config", "shielded")


@contextmanager
def measuring_shielded(probe: Path, records: Path) -> Iterator[Running]:
    """A run that is on its CPU and measures, while another process reads the counters."""
    words = [str(probe), "run", "TMR-P-LAT", "--json", "--until-eof", *LOOKED_AT, "-D", "60s"]
    words += [*rate_of_counter(), "--cpu", str(RESERVED), "--backing", str(records)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            running = Running(process, "TMR-P-LAT")
            measuring_thread(running.pid)
            yield running
        finally:
            process.kill()


def looker_of(running: Running) -> int:
    """Waits until it looks: then it may run everywhere but on the reserved CPU."""
    guard = guard_of(running.pid)

    def looker() -> list[int]:
        others = children(running.pid) - {guard}
        return [one for one in others if RESERVED not in os.sched_getaffinity(one)]

    return wait_until(looker, "no process looks")[0]


@pytest.mark.parametrize("end", ["kill", "SIGTERM", "end of input", "kill of the guard"])
def test_a_shielded_run_that_is_ended(probe: Path, before: State, tmp_path: Path, end: str) -> None:
    with measuring_shielded(probe, tmp_path / "records") as running:
        looker = looker_of(running)
        if end == "kill of the guard":
            os.kill(guard_of(running.pid), signal.SIGKILL)
        if end == "end of input":
            running.close_input()
        else:
            running.process.send_signal(signal.SIGKILL if end == "kill" else signal.SIGTERM)
        out, _ = running.process.communicate(timeout=GIVE_UP_S)
    assert end == "kill" or (running.process.returncode, b'"footer"' in out) == (0, True)
    wait_until(lambda: has_ended(looker), "the process that looks is still there")
    all_is_back(before)


def test_a_looker_that_is_killed_is_told(probe: Path, tmp_path: Path) -> None:
    with measuring_shielded(probe, tmp_path / "records") as running:
        os.kill(looker_of(running), signal.SIGKILL)
        stream = running.stopped()
    assert "the watching process has ended" in stream.events["not_watched"].text
    assert stream.series("wakeup").count > 0


def test_counters_of_a_shielded_run(probe: Path, tmp_path: Path) -> None:
    """The process that looks reads its own copy of the probe's memory, which faults."""
    words = (*LOOKED_AT, "--cpu", str(RESERVED), "--backing", str(tmp_path / "records"))
    stream = run(probe, "TMR-P-LAT", *words, "--duration-ns", "2500ms")
    assert "not_watched" not in stream.events, stream.events
    seconds = [one for one in stream.of(StreamInterval) if not one.whole]
    assert {one.cpu for one in seconds} == {RESERVED}
    (whole,) = [one.counters for one in stream.of(StreamInterval) if one.whole]
    usage = stream.result.environment
    assert whole["interrupts_count"] > 0 and whole["minor_faults_count"] == 0
    assert usage["minor_faults_count"] == usage["major_faults_count"] == 0
    assert usage["migrations_count"] == whole["migrations_count"]
