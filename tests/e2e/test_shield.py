"""A shield puts everything back, whatever was set before and however it ends.

Odd values are set by hand in all that a shield touches; then the whole state of the machine
is read, a shield is used, and the state is read again.
"""

from __future__ import annotations

import json
import os
import pty
import random
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

from tests.e2e import machine
from tests.e2e.odd import AS_IT_WAS, Odd, movable_interrupts, odd_values
from tests.e2e.running import run
from tests.e2e.shield_state import (
    JOURNAL,
    State,
    children,
    cpuset_mount,
    differences,
    guard_of,
    read_state,
    read_task,
)
from tests.e2e.shielding import (
    FOREVER,
    GIVE_UP_S,
    RESERVED,
    Shield,
    all_is_back,
    command,
    is_over,
    shielded,
    tool,
    wait_until,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can reserve a CPU"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: none can be reserved"),
    pytest.mark.usefixtures("alone"),
]


@pytest.fixture
def odd() -> Iterator[Odd]:
    with odd_values(RESERVED) as values:
        yield values


@pytest.fixture
def before(odd: Odd, probe: Path) -> Iterator[State]:
    assert not JOURNAL.exists(), f"somebody uses a shield: {JOURNAL}"
    assert {"timer_migration", "default_smp_affinity"} <= {
        path.rpartition("/")[2] for path in odd.files
    }
    yield read_state()
    if JOURNAL.exists():  # the test has failed: the machine is not to suffer from it
        subprocess.run([probe, "shield", "--restore"], check=False)


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
    first, last = done.stderr.decode().splitlines()  # no more than one line at each end
    assert f"CPU {RESERVED} is reserved; not moved: " in first
    assert "--verbose tells each one and why" in first
    assert "timers" in first and "cpuset (" in first
    assert re.search(rf"CPU {RESERVED} is given back: [1-9]\d* put back", last)
    all_is_back(before)


def test_verbose_tells_the_reasons(probe: Path, before: State) -> None:
    words = [str(probe), "shield", "--verbose", "--cpu", str(RESERVED), "--", "true"]
    done = subprocess.run(words, capture_output=True, timeout=GIVE_UP_S, check=True)
    assert b"not moved: timers: timers that were set before fire where they are" in done.stderr
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
    """Not all: one that has not fired meanwhile may not be moved again by the kernel."""
    before = served_there()
    if not before:
        pytest.skip("no interrupt that can be moved is served by that CPU")
    with shielded(command(probe, *FOREVER)) as process:
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    assert served_there() & before


def test_during_a_shield_all_others_are_elsewhere(probe: Path, odd: Odd, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        (shielded_command,) = set(children(process.pid)) - {guard_of(process.pid)}
        there = {
            key: task
            for key, task in read_state().tasks.items()
            if RESERVED in task.affinity
            and not task.is_ending
            and not (task.is_kernel and task.is_bound)
        }
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


# ---- its ends ----


@pytest.mark.parametrize("words", [command, tool], ids=["probe", "toolkit"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_to_the_tool(
    probe: Path, before: State, words: Callable[..., list[str]], number: signal.Signals
) -> None:
    line = words(*FOREVER) if words is tool else words(probe, *FOREVER)
    with shielded(line) as process:
        (inside,) = set(children(process.pid)) - {guard_of(process.pid)}
        process.send_signal(number)
        process.communicate(timeout=GIVE_UP_S)
    code = -number if number == signal.SIGKILL else 128 + number
    assert process.returncode == code
    all_is_back(before)
    wait_until(lambda: is_over(inside), "COMMAND outlives the shield")


def test_ctrl_c_on_the_terminal(probe: Path, before: State) -> None:
    """The key reaches all processes of the terminal; COMMAND gets it once."""
    script = "trap 'echo caught; n=$((n+1)); sleep 0.2; exit $n' INT; echo ready; read x"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(probe, command(probe, "sh", "-c", script))  # noqa: S606
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    with suppress(OSError):  # the terminal goes with its last process
        while more := os.read(terminal, 4096):
            shown += more
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 1
    assert shown.count(b"caught") == 1
    all_is_back(before)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("true",), 0),
        (("sh", "-c", "exit 41"), 41),
        (("sh", "-c", "kill -SEGV $$"), 139),
        (("no-such-command-of-hardstone",), 127),
        (("/etc/passwd",), 126),
        (("/etc",), 126),
    ],
    ids=["fine", "fails", "crashes", "not there", "not executable", "a folder"],
)
def test_the_exit_code_is_that_of_the_command(
    probe: Path, before: State, words: tuple[str, ...], code: int
) -> None:
    done = subprocess.run(command(probe, *words), capture_output=True, check=False)
    assert done.returncode == code, done.stderr
    all_is_back(before)


def test_the_guard_is_killed(probe: Path, before: State) -> None:
    """It is replaced at once, so that the next kill does no harm either."""
    with shielded(command(probe, *FOREVER)) as process:
        first = guard_of(process.pid)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: len(children(process.pid)) == 2, "there is no new guard")
        assert guard_of(process.pid) != first
        process.kill()
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)


def test_the_guard_is_killed_and_the_command_ends(probe: Path, before: State) -> None:
    with shielded(command(probe, "sh", "-c", "echo ready; sleep 0.5")) as process:
        os.kill(guard_of(process.pid), signal.SIGKILL)
        process.communicate(timeout=GIVE_UP_S)
    assert process.returncode == 0
    all_is_back(before)


def kill_both(process: Shield) -> None:
    """Owner and guard at one moment: nobody is left to put things back."""
    guard = guard_of(process.pid)
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=GIVE_UP_S)
    assert JOURNAL.exists()


def test_both_are_killed_and_restore_is_called(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        kill_both(process)
    assert differences(before, read_state()) != []
    shown = subprocess.run([probe, "shield", "--show", "--json"], capture_output=True, check=True)
    assert json.loads(shown.stdout)["state"] == "left behind"
    done = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
    # what is left is what the kernel has bound meanwhile
    assert done.returncode == 0 and b" left as others set them, 0 failed" in done.stderr
    all_is_back(before)
    again = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
    assert again.returncode == 0 and b"nothing is to be put back" in again.stderr


def inside(process: Shield, *words: str) -> subprocess.CompletedProcess[bytes]:
    """In the mounts that the process sees."""
    enter = ["nsenter", f"--mount=/proc/{process.pid}/ns/mnt", "--", *words]
    return subprocess.run(enter, capture_output=True, check=False, timeout=GIVE_UP_S)


@pytest.mark.skipif(not shutil.which("nsenter"), reason="nsenter is not installed")
@pytest.mark.parametrize("is_forced", [False, True], ids=["mended", "forgotten"])
def test_what_cannot_be_put_back_is_kept_and_told(
    probe: Path, before: State, is_forced: bool
) -> None:
    """/proc/irq becomes read-only for the guard and for those who come after it."""
    if not movable_interrupts():
        pytest.skip("no interrupt can be moved here")
    with subprocess.Popen(["unshare", "-m", "sleep", "60"]) as place:
        wait_until(lambda: own_mounts(place.pid), "there is no room of its own")
        words = ["nsenter", f"--mount=/proc/{place.pid}/ns/mnt", "--", *command(probe, *FOREVER)]
        with shielded(words) as process:
            guard = guard_of(process.pid)
            inside(place, "mount", "--bind", "/proc/irq", "/proc/irq")
            assert inside(place, "mount", "-o", "remount,bind,ro", "/proc/irq").returncode == 0
            process.kill()
            process.communicate(timeout=GIVE_UP_S)
            wait_until(lambda: is_over(guard), "the guard does not end")
        for _ in range(2):
            done = inside(place, str(probe), "shield", "--restore")
            assert done.returncode == 70 and b" 0 put back, " in done.stderr, done.stderr
            assert b"could not be given back to CPUs" in done.stderr
            assert b"Read-only file system" in done.stderr
        again = inside(place, *command(probe, "true"))
        assert again.returncode == 70 and b"could not be put back: " in again.stderr, again.stderr
        kinds = {line.split("\t")[0] for line in JOURNAL.read_text().splitlines()[5:]}
        assert "irq" in kinds and kinds <= {"irq", "file"}
        kept = JOURNAL.read_bytes()
        if is_forced:
            done = inside(place, str(probe), "shield", "--restore", "--forget")
            assert done.returncode == 0 and b"is dropped" in done.stderr, done.stderr
            assert not JOURNAL.exists()
            JOURNAL.touch(mode=0o600, exist_ok=False)  # for the machine's sake
            JOURNAL.write_bytes(kept)
        place.kill()
    assert subprocess.run([probe, "shield", "--restore"], check=False).returncode == 0
    all_is_back(before)


def own_mounts(pid: int) -> bool:
    return Path(f"/proc/{pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink()


def test_a_damaged_journal_can_be_dropped(probe: Path, before: State) -> None:
    JOURNAL.touch(mode=0o600, exist_ok=False)
    JOURNAL.write_text("no journal\n")
    try:
        done = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
        assert done.returncode == 2 and b"--restore --forget" in done.stderr
        words = [str(probe), "shield", "--restore", "--forget"]
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == 0 and not JOURNAL.exists()
    finally:
        JOURNAL.unlink(missing_ok=True)
    all_is_back(before)


def test_a_line_that_is_refused_stands_in_the_way_until_it_is_dropped(
    probe: Path, before: State
) -> None:
    """Of this boot, well formed, and naming what no shield changes."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    JOURNAL.touch(mode=0o600, exist_ok=False)
    JOURNAL.write_text(
        f"hardstone-shield\t1\nboot\t{boot}\nowner\t1\t1\nsince\t1\ncpus\t0\n"
        "file\t/proc/sys/kernel/panic\t1\t0\n"
    )
    try:
        for _ in range(2):
            done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
            assert done.returncode == 70 and b"is not a file that a shield" in done.stderr
        stream = run(probe, "CLK-P-BIN", *QUICK, "--cpu-config", "shielded")
        assert stream.result.status == "failed" and stream.sample_count == 0
        assert "is not a file that a shield" in (stream.result.reason or "")
        assert "--forget" in (stream.result.remedy or "")
        assert "not_put_back" in stream.events
        words = [str(probe), "shield", "--restore", "--forget"]
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == 0 and not JOURNAL.exists(), done.stderr
    finally:
        JOURNAL.unlink(missing_ok=True)
    assert subprocess.run(command(probe, "true"), check=False).returncode == 0
    all_is_back(before)


def test_both_are_killed_and_the_next_shield_restores(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        kill_both(process)
    done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
    assert done.returncode == 0
    assert b"ended without putting things back: done now" in done.stderr
    all_is_back(before)


def settings_here(probe: Path) -> set[str]:
    """Those that a shield can touch on this machine."""
    show = [str(probe), "shield", "--cpu", str(RESERVED), "--show", "--json"]
    done = subprocess.run(show, capture_output=True, check=True)
    return {one["name"] for one in json.loads(done.stdout)["settings"] if one["available"]}


def test_all_that_a_shield_changes_has_an_odd_value_here(
    probe: Path, odd: Odd, before: State
) -> None:
    """What the tests of this file rest on: the list is the probe's own, and its journal's."""
    movable = movable_interrupts()
    with shielded(command(probe, *FOREVER)) as process:
        lines = [line.split("\t") for line in JOURNAL.read_text().splitlines()[5:]]
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)
    changed: dict[str, list[list[str]]] = {}
    for kind, *fields in lines:
        changed.setdefault(kind, []).append(fields)
    assert settings_here(probe) == odd.settings
    assert changed.keys() <= {"file", "irq", "task", "mask", "heirs", "group", "control"}
    interrupts = [fields for fields in changed["irq"] if irq_file(fields[0]) in movable]
    assert {fields[0] for fields in interrupts} - {movable[AS_IT_WAS].parent.name} == {
        fields[0] for fields in interrupts if odd.files.get(str(irq_file(fields[0]))) == fields[1]
    }
    first = {
        path: old for path, old, _ in reversed(changed["file"])
    }  # a group may be widened first
    assert first.items() <= odd.files.items()
    for kind in ("task", "mask"):
        threads = {int(fields[0]): fields[2] for fields in changed.get(kind, [])}
        if odd.kernel_thread and threads:
            assert threads[odd.kernel_thread] == str(RESERVED)
    all_is_back(before)


def irq_file(number: str) -> Path:
    return Path(f"/proc/irq/{number}/smp_affinity_list")


def kill_the_tool(process: subprocess.Popen[bytes]) -> None:
    process.kill()


def kill_the_guard_too(process: subprocess.Popen[bytes]) -> None:
    """Where there is one by then."""
    process.send_signal(signal.SIGSTOP)
    for child in children(process.pid):
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    process.kill()


@pytest.mark.parametrize("kill", [kill_the_tool, kill_the_guard_too])
def test_a_kill_at_any_moment(
    probe: Path, before: State, kill: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    """Also while it applies, and while it puts back. A kill before there is a guard leaves an empty
    journal, which the next one removes."""
    moments = random.Random(4)
    for _ in range(15):
        with subprocess.Popen(command(probe, "true"), stderr=subprocess.DEVNULL) as process:
            time.sleep(moments.uniform(0, 0.06))
            kill(process)
        if kill is kill_the_guard_too:
            subprocess.run([probe, "shield", "--restore"], capture_output=True, check=True)
        wait_until(lambda: not JOURNAL.exists() or is_empty(JOURNAL), "things were not put back")
        assert differences(before, read_state()) == []
    subprocess.run([probe, "shield", "--restore"], capture_output=True, check=True)
    all_is_back(before)


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_without_cpusets(probe: Path, odd: Odd, before: State) -> None:
    """Where they are not mounted for the shield: each thread by its affinity."""
    mount = cpuset_mount()
    first = min(os.sched_getaffinity(0))
    hide = f'umount {mount[1]} && exec "$@"' if mount else 'exec "$@"'
    words = ["unshare", "-m", "sh", "-c", hide, "sh", *command(probe, *FOREVER)]
    with process_on(first) as older, shielded(words) as process:
        (inside,) = set(children(process.pid)) - {guard_of(process.pid)}
        assert os.sched_getaffinity(inside) == {RESERVED}
        assert RESERVED not in os.sched_getaffinity(odd.pinned)
        assert RESERVED not in os.sched_getaffinity(odd.busy)
        assert odd.kernel_thread == 0 or RESERVED not in os.sched_getaffinity(odd.kernel_thread)
        newer = subprocess.Popen(["sleep", "60"])  # its maker was moved
        assert RESERVED not in os.sched_getaffinity(newer.pid)
        process.terminate()
        _, errors = process.communicate(timeout=GIVE_UP_S)
        assert b"cpuset (" in errors
        assert os.sched_getaffinity(older) == {first}  # as a moved one would have had it
        assert os.sched_getaffinity(newer.pid) == os.sched_getaffinity(0)
        newer.kill()
        newer.wait()
    all_is_back(before)


@contextmanager
def process_on(cpu: int) -> Iterator[int]:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        os.sched_setaffinity(sleeper.pid, {cpu})
        yield sleeper.pid
        sleeper.kill()


def holds(members: Path, pid: int) -> bool:
    with suppress(OSError):
        return str(pid) in members.read_text().split()
    return False


def is_empty(path: Path) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_size == 0
    return False


def test_a_journal_of_an_earlier_boot_is_void(probe: Path, before: State) -> None:
    JOURNAL.touch(mode=0o600, exist_ok=False)
    JOURNAL.write_text(
        "hardstone-shield\t1\nboot\t00000000-dead\nowner\t1\t1\nsince\t1\ncpus\t0\n"
        "file\t/proc/sys/kernel/timer_migration\t1\t0\n"
    )
    done = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
    assert done.returncode == 0 and b"earlier boot" in done.stderr
    all_is_back(before)


def test_what_others_change_meanwhile_is_left_to_them(probe: Path, odd: Odd, before: State) -> None:
    """Values that are neither the shield's nor the old ones."""
    interrupts = movable_interrupts()
    if len(interrupts) <= AS_IT_WAS or not odd.kernel_thread:
        pytest.skip("too few interrupts or kernel threads can be moved here")
    interrupt, thread = interrupts[AS_IT_WAS], odd.kernel_thread
    whole = os.sched_getaffinity(0)
    with shielded(command(probe, *FOREVER)) as process:
        interrupt.write_text(str(RESERVED))
        os.sched_setaffinity(thread, whole)
        process.terminate()
        _, errors = process.communicate(timeout=GIVE_UP_S)
    try:
        assert interrupt.read_text().strip() == str(RESERVED)
        assert os.sched_getaffinity(thread) == whole
        assert f"interrupt {interrupt.parent.name} may run on CPUs {RESERVED} now" in str(errors)
        assert f"thread {thread} has the affinity" in str(errors)
    finally:
        interrupt.write_text(before.files[str(interrupt)])
        os.sched_setaffinity(thread, {RESERVED})
    all_is_back(before)


# ---- two at once, and what is refused ----


def test_the_second_is_refused(probe: Path, before: State) -> None:
    with shielded(command(probe, *FOREVER)) as process:
        done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert f"CPU {RESERVED} is reserved by process {process.pid} since 20" in line
        restore = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
        assert restore.returncode == 2 and b"which lives" in restore.stderr
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
        assert done.returncode == 70 and b"belongs to somebody else" in done.stderr
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

QUICK = ("--samples", "200", "--cpu", str(RESERVED))


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


@contextmanager
def measuring_shielded(probe: Path) -> Iterator[Shield]:
    """A run that is on its CPU and measures."""
    words = [str(probe), "run", "TMR-P-LAT", "--json", "--until-eof", "--samples", "1000000"]
    words += ["--cpu", str(RESERVED), "--cpu-config", "shielded"]
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
