"""A shield puts everything back however it ends: signals, kills, journals left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from hardstone.errors import remedy_text
from hardstone.model import StreamEvent
from tests.host.odd import AS_IT_WAS, Odd, movable_interrupts
from tests.host.shield_state import (
    JOURNAL,
    State,
    cpuset_mount,
    differences,
    guard_of,
    read_state,
)
from tests.host.shielding import (
    FOREVER,
    GIVE_UP_S,
    QUICK,
    RESERVED,
    SHIELD_MARKS,
    Shield,
    all_is_back,
    assert_same,
    command,
    journal_lines,
    kill_both,
    on_a_terminal,
    read_until,
    shielded,
    tool,
    wait_for_moment,
)
from tests.running import children, has_ended, run
from tests.waiting import wait_until

pytestmark = SHIELD_MARKS


@pytest.mark.parametrize("words", [command, tool], ids=["probe", "toolkit"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_to_the_tool(
    probe: Path, before: State, words: Callable[..., list[str]], number: signal.Signals
) -> None:
    line = words(*FOREVER) if words is tool else words(probe, *FOREVER)
    with shielded(line) as process:
        (inside,) = children(process.pid) - {guard_of(process.pid)}
        process.send_signal(number)
        process.communicate(timeout=GIVE_UP_S)
    code = -number if number == signal.SIGKILL else 128 + number
    assert process.returncode == code
    all_is_back(before)
    wait_until(lambda: has_ended(inside), "COMMAND outlives the shield")


def test_ctrl_c_on_the_terminal(probe: Path, before: State) -> None:
    """The key reaches all processes of the terminal; COMMAND gets it once."""
    script = "trap 'echo caught; n=$((n+1)); sleep 0.2; exit $n' INT; echo ready; read x"
    with on_a_terminal(command(probe, "sh", "-c", script)) as (pid, terminal):
        shown = read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        shown += read_until(terminal, None)
        _, status = os.waitpid(pid, 0)
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


def has_another(owner: int, guard: int) -> bool:
    """The one that was killed is a child until it is reaped."""
    return guard not in children(owner) and len(children(owner)) == 2


def test_the_guard_is_killed(probe: Path, before: State) -> None:
    """It is replaced at once, so that the next kill does no harm either."""
    with shielded(command(probe, *FOREVER)) as process:
        first = guard_of(process.pid)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: has_another(process.pid, first), "there is no new guard")
        process.kill()
        process.communicate(timeout=GIVE_UP_S)
    all_is_back(before)


def test_the_guard_is_killed_and_the_command_ends(probe: Path, before: State) -> None:
    script = "trap 'exit 0' USR1; echo ready; while :; do sleep 0.1; done"
    with shielded(command(probe, "sh", "-c", script)) as process:
        os.kill(guard_of(process.pid), signal.SIGKILL)
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=GIVE_UP_S)
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
    with shielded(command(probe, *FOREVER)) as process:
        kill_both(process)
    assert differences(before, read_state()) != []
    shown = subprocess.run([probe, "shield", "--show", "--json"], capture_output=True, check=True)
    assert json.loads(shown.stdout)["state"] == "left behind"
    done = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
    # what is left is what the kernel has bound meanwhile
    assert (
        done.returncode == 0 and b" changed by others since and left alone, 0 failed" in done.stderr
    )
    all_is_back(before)
    again = subprocess.run([probe, "shield", "--restore"], capture_output=True, check=False)
    assert again.returncode == 0 and b"there is nothing to restore" in again.stderr


def test_who_is_kept_off_the_cpu_is_told_of_the_shield(probe: Path, before: State) -> None:
    """This process is among those that were moved; also when nobody is left to move them back."""
    with shielded(command(probe, *FOREVER)) as process:
        beside = denied(probe, RESERVED)
        kill_both(process)
    after = denied(probe, RESERVED)
    subprocess.run([probe, "shield", "--restore"], check=True)
    assert all("a shield has reserved it" in text for text in beside), beside
    assert all("hardstone shield --restore" in text for text in after), after
    all_is_back(before)
    elsewhere = denied(probe, 1023)
    assert not any("shield" in text for text in elsewhere), elsewhere


def denied(probe: Path, cpu: int) -> list[str]:
    """What each command that is asked for `cpu` says of it."""
    words = [("CLK-P-BIN", "--cpu", str(cpu)), ("TMR-P-LAT", "-p", f"cpus={cpu}")]
    streams = [run(probe, *one, "--samples", "200") for one in words]
    for stream in streams:
        assert stream.result.status == "denied" and stream.sample_count == 0
        assert f"CPU {cpu} " in (stream.result.reason or "")
    load = [str(probe), "load", "cpu", "--cpus", str(cpu), "--duration-ns", "1ms"]
    done = subprocess.run(load, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"CPU {cpu} " in done.stderr
    said = [remedy_text(stream.result.remedy, stream.result.command) for stream in streams]
    return [*said, done.stderr]


def test_a_run_that_fails_with_a_shield_tells_what_it_left(
    shared_probe: Path, broken_libc: Path, before: State
) -> None:
    """Nothing can be opened any more once the load works: neither to go on nor to put back."""
    words = ("SEM-P-NEW", "-p", "kinds=named", "--cpu-config", "shielded", "--load", "cpu")
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": "files"}
    stream = run(shared_probe, *words, *QUICK, variables=libc)
    assert stream.result.status == "denied"
    assert "Too many open files" in (stream.result.reason or "")
    left = [event.text for event in stream.of(StreamEvent) if event.name == "not_put_back"]
    assert any("Too many open files" in text for text in left), left
    assert not any("damaged" in text for text in left), left
    done = subprocess.run([shared_probe, "shield", "--restore"], capture_output=True, check=False)
    assert done.returncode == 0 and b" 0 failed" in done.stderr, done.stderr
    all_is_back(before)


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
            wait_until(lambda: has_ended(guard), "the guard does not end")
        for _ in range(2):
            done = inside(place, str(probe), "shield", "--restore")
            assert done.returncode == 70 and b" 0 restored, " in done.stderr, done.stderr
            assert b"could not be restored to CPUs" in done.stderr
            assert b"Read-only file system" in done.stderr
        again = inside(place, *command(probe, "true"))
        assert again.returncode == 70 and b"could not be restored: " in again.stderr, again.stderr
        kinds = {line.split("\t")[0] for line in JOURNAL.read_text().splitlines()[5:]}
        assert "irq" in kinds and kinds <= {"irq", "file"}
        kept = JOURNAL.read_bytes()
        if is_forced:
            done = inside(place, str(probe), "shield", "--restore", "--forget")
            assert done.returncode == 0 and b"is deleted" in done.stderr, done.stderr
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
    assert b"ended without restoring them: restored now" in done.stderr
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


# By what the journal holds: nothing, its head, the first changes, most of them.
JOURNAL_MOMENTS = [-1, 0, 1, 5, 6, 8, 16, 40]
BACK_MOMENTS_S = [0, 0.002, 0.006]  # after COMMAND, while it puts back


@pytest.mark.parametrize("kill", [kill_the_tool, kill_the_guard_too])
def test_a_kill_at_any_moment(
    probe: Path, before: State, kill: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    """While it applies, and while it puts back. A kill before there is a guard leaves an empty
    journal, which the next one removes. Between any two changes: probe/tests/test_shield_*.c."""

    def check(process: Shield) -> None:
        kill(process)
        process.wait(GIVE_UP_S)
        if kill is kill_the_guard_too:
            subprocess.run([probe, "shield", "--restore"], capture_output=True, check=True)
        wait_until(lambda: not JOURNAL.exists() or is_empty(JOURNAL), "things were not put back")
        assert_same(before)

    for count in JOURNAL_MOMENTS:
        with subprocess.Popen(command(probe, "true"), stderr=subprocess.DEVNULL) as process:
            wait_for_moment(process, partial(has_lines, count))
            check(process)
    for after_s in BACK_MOMENTS_S:
        with shielded(command(probe, "echo", "ready")) as process:
            time.sleep(after_s)
            check(process)
    subprocess.run([probe, "shield", "--restore"], capture_output=True, check=True)
    all_is_back(before)


def has_lines(count: int) -> bool:
    return journal_lines() >= count


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_without_cpusets(probe: Path, odd: Odd, before: State) -> None:
    """Where they are not mounted for the shield: each thread by its affinity."""
    mount = cpuset_mount()
    first = min(os.sched_getaffinity(0))
    hide = f'umount {mount[1]} && exec "$@"' if mount else 'exec "$@"'
    words = ["unshare", "-m", "sh", "-c", hide, "sh", *command(probe, *FOREVER)]
    with process_on(first) as older, shielded(words) as process:
        (inside,) = children(process.pid) - {guard_of(process.pid)}
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


def _may_run(interrupt: Path, cpu: int) -> bool:
    parts = (part.partition("-") for part in interrupt.read_text().split(","))
    return any(int(first) <= cpu <= int(last or first) for first, _, last in parts)


def test_what_others_change_meanwhile_is_left_to_them(probe: Path, odd: Odd, before: State) -> None:
    """Values that are neither the shield's nor the old ones."""
    interrupts = movable_interrupts()
    if len(interrupts) <= AS_IT_WAS or not odd.kernel_thread:
        pytest.skip("too few interrupts or kernel threads can be moved here")
    if not _may_run(interrupts[AS_IT_WAS], RESERVED):
        pytest.skip("that interrupt may not run on the reserved CPU, so that nothing moves it")
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
        assert f"interrupt {interrupt.parent.name} has the affinity {RESERVED} now" in str(errors)
        assert f"thread {thread} has the affinity" in str(errors)
    finally:
        interrupt.write_text(before.files[str(interrupt)])
        os.sched_setaffinity(thread, {RESERVED})
    all_is_back(before)
