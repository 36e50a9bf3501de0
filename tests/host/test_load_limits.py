"""What a load may not do, and what it says where the machine does not let it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests import machine
from tests.host.loads import (
    GIVE_UP_S,
    Marked,
    elements,
    events,
    lines_of,
    load_in_places_of_its_own,
    loading,
    once,
    used_bytes,
)
from tests.waiting import wait_until

MIB = 2**20
CPU = str(min(os.sched_getaffinity(0)))
ONE_CPU = ("--cpus", CPU)
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")


@root_only
def test_disk_keeps_its_quota(probe: Path, mounted: Path) -> None:
    """64 MiB for each process, and at most half of what may be written in all."""
    with loading(probe, "disk=9ms/10ms", mounted, "--cpus", CPU) as running:
        wait_until(lambda: used_bytes(mounted) > 0)
        seen = 0
        until_s = time.monotonic() + 1
        while time.monotonic() < until_s:
            seen = max(seen, used_bytes(mounted))
            time.sleep(0.01)
        assert seen <= 64 * MIB + MIB
        assert list(mounted.iterdir()) == []  # it has no name
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.stdin = None
        lines = running.end()
    assert elements(lines)["disk"]["counters"]["written_bytes"] > 0
    assert "is not on a disk" in events(lines)["load_limited"]
    assert used_bytes(mounted) == 0


@root_only
def test_disk_gives_back_when_others_need_the_room(probe: Path, mounted: Path) -> None:
    with loading(probe, "disk=9ms/10ms", mounted, "--cpus", CPU):
        wait_until(lambda: used_bytes(mounted) > MIB)
        (mounted / "others").write_bytes(b"x" * (150 * MIB))
        wait_until(lambda: used_bytes(mounted) < 151 * MIB)
        (mounted / "others").unlink()
        wait_until(lambda: used_bytes(mounted) > 0)  # and goes on when there is room


@root_only
def test_disk_writes_nothing_where_there_is_no_room(probe: Path, mounted: Path) -> None:
    (mounted / "others").write_bytes(b"x" * (150 * MIB))
    lines = once(probe, "disk", mounted, "-D", "300ms", "--cpus", CPU)
    assert elements(lines)["disk"]["counters"]["writes_count"] == 0
    told = events(lines)
    assert "too little free space" in told["load_limited"]
    assert told["load_short"] == "disk reached 0.0 % of the time (requested: 10.0 %)"


@pytest.mark.skipif(machine.no_other_user() is not None, reason=machine.no_other_user() or "")
@pytest.mark.skipif(machine.no_prlimit() is not None, reason=machine.no_prlimit() or "")
def test_no_right_to_more_processes(open_probe: Path, tmp_path: Path) -> None:
    """The guard starts, and not all of the storm: no crash, and said."""
    user = 64321  # of nobody's: others' processes count too
    words = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]
    prefix = ["prlimit", "--nproc=12:12", "setpriv", *words, "--bounding-set=-all"]
    lines = once(open_probe, "storm=60", tmp_path, "-D", "300ms", "--cpus", CPU, prefix=prefix)
    storm = elements(lines)["storm"]
    assert 0 < storm["reached"] < 12
    told = [line["text"] for line in lines if line.get("name") == "load_limited"]
    assert any("of 60 are started: the user's limit (ulimit -u)" in text for text in told)
    assert "load_short" in events(lines)


@pytest.fixture
def few_processes() -> Iterator[list[str]]:
    """Words before a command: at most 80 processes, in a control group of its own."""
    mount = Path("/sys/fs/cgroup/pids")
    mount = mount if mount.is_dir() else Path("/sys/fs/cgroup")
    group = mount / f"hardstone-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "pids.max").write_text("80")
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no group that limits processes can be made here: {error}")
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    finally:
        wait_until(lambda: (group / "cgroup.procs").read_text() == "")
        group.rmdir()


def test_a_group_with_few_processes_gets_few(
    probe: Path, tmp_path: Path, few_processes: list[str]
) -> None:
    """And keeps some for others: none is refused."""
    load = "storm=100+build=300"
    lines = once(probe, load, tmp_path, "-D", "2", "--cpus", CPU, prefix=few_processes)
    told = [line["text"] for line in lines if line.get("name") == "load_limited"]
    assert len(told) == 2
    assert all("pids.max of a control group leaves room for" in text for text in told)
    for name, asked in (("storm", 100), ("build", 300)):
        line = elements(lines)[name]
        assert line["asked"] == asked
        assert line["reached"] < 80
    assert elements(lines)["build"]["reached"] > 0  # the storm is SCHED_IDLE: not beside others
    assert elements(lines)["build"]["counters"]["failed_count"] == 0


def test_without_descriptors_messages_are_refused(probe: Path, tmp_path: Path) -> None:
    prefix = ["sh", "-c", 'ulimit -n 24 && exec "$@"', "sh"]
    lines = once(probe, "messages", tmp_path, "-D", "300ms", "--cpus", CPU, prefix=prefix)
    assert elements(lines)["messages"]["reached"] == 0
    assert "no channels for the messages of a group" in events(lines)["load_limited"]


def test_a_group_of_messages_needs_room(
    probe: Path, tmp_path: Path, few_processes: list[str]
) -> None:
    """It is started as a whole, or not at all."""
    lines = once(probe, "messages=4", tmp_path, "-D", "1", "--cpus", CPU, prefix=few_processes)
    line = elements(lines)["messages"]
    assert (line["asked"], line["processes"]) == (4, 1)
    assert line["counters"]["failed_count"] == 0
    told = [one["text"] for one in lines if one.get("name") == "load_limited"]
    assert any("messages: 1 of 4 are started: pids.max" in text for text in told)


@pytest.mark.skipif(machine.no_other_user() is not None, reason=machine.no_other_user() or "")
@pytest.mark.skipif(machine.no_prlimit() is not None, reason=machine.no_prlimit() or "")
def test_a_kernel_load_that_cannot_fork(open_probe: Path, tmp_path: Path) -> None:
    """Probe, guard, keeper and loader are four: there is no fifth."""
    user = 64322
    words = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]
    prefix = ["prlimit", "--nproc=4:4", "setpriv", *words, "--bounding-set=-all"]
    for seconds in ("1", "4", "16"):  # each round waits for a disk that others write to
        lines = once(open_probe, "kernel", tmp_path, "-D", seconds, "--cpus", CPU, prefix=prefix)
        counters = elements(lines)["kernel"]["counters"]
        if counters["rounds_count"] >= 2:
            break
    assert counters["rounds_count"] >= 2
    assert counters["pipe_count"] > 0
    told = events(lines)
    assert told["load_short"] == "kernel: never ran: fork, exec, exit"
    assert " failed: " in told["load_limited"]


@pytest.mark.skipif(machine.no_other_user() is not None, reason=machine.no_other_user() or "")
def test_an_ordinary_user_cannot_be_less_nice(open_probe: Path, tmp_path: Path) -> None:
    """Niceness is not given back to whoever has no right to it: that is told."""
    prefix = ["nice", "-n", "5", *machine.as_nobody()]
    told = events(once(open_probe, "cpu", tmp_path, "-D", "300ms", "--cpus", CPU, prefix=prefix))
    assert "could not be set to nice 0" in told["load_limited"]


@pytest.mark.skipif(machine.no_other_user() is not None, reason=machine.no_other_user() or "")
def test_without_any_right(open_probe: Path) -> None:
    """An ordinary user, and a folder of its own choice."""

    done = subprocess.run(
        [*machine.as_nobody(), str(open_probe), "load", "heavy+build+kernel", "-D", "3", "--json"],
        capture_output=True,
        timeout=60,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "TMPDIR"},
    )
    lines = elements(lines_of(done.stdout))
    assert lines["build"]["reached"] > 0  # a job runs at each moment
    assert {name for name, line in lines.items() if line["reached"] <= 0} == set()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="only root can hide folders and the loopback interface, with unshare",
)
def test_no_folder_and_no_network(probe: Path) -> None:
    """In a place of its own: /tmp and /var/tmp cannot be written to, lo is down."""
    script = """
    for place in /tmp /var/tmp; do mount -t tmpfs -o ro tmpfs $place || exit 77; done
    TMPDIR=/nowhere exec "$0" load disk+network+build+cpu -D 2 --json --cpus "$1"
    """
    lines = load_in_places_of_its_own(probe, script, CPU, "--net")
    limits = [line["text"] for line in lines if line.get("name") == "load_limited"]
    assert [text.partition(":")[0] for text in limits] == ["disk", "network", "build"]
    assert "no TCP connection over 127.0.0.1" in limits[1]
    assert elements(lines)["cpu"]["reached"] > 0
    assert elements(lines)["disk"]["processes"] == 0


def test_stress_ng_that_is_not_there(probe: Path, tmp_path: Path) -> None:
    words = [str(probe), "load", "stress-ng:--cpu 1", "-D", "300ms"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 5
    assert done.stderr.count("\n") == 1
    assert "stress-ng is not installed; choose other elements, or install it" in done.stderr


REAL_TIME = {os.SCHED_FIFO, os.SCHED_RR, 6}  # 6: SCHED_DEADLINE
WATCH_S = 0.5


def policies_of(pid: int) -> set[int]:
    """Of all threads of a process, as far as they are still there."""
    found = set()
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.add(os.sched_getscheduler(int(path.name)))
    return found


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
@pytest.mark.skipif(machine.no_realtime() is not None, reason=machine.no_realtime() or "")
@pytest.mark.parametrize(
    ("options", "goes_on"),
    [("--cpu 1 --sched fifo --sched-prio 10", False), ("--cpu 1 --cyclic 1", True)],
)
def test_stress_ng_is_never_real_time(
    probe: Path, tmp_path: Path, options: str, goes_on: bool
) -> None:
    """It tries, by an option or in a stressor of its own; looked at from outside."""
    seen: dict[str, set[int]] = {}

    def has_ended_or_been_watched() -> bool:
        for pid, name in running.marked.all().items():
            seen.setdefault(name, set()).update(policies_of(pid))
        if not goes_on:  # one that ends at once may not have been seen
            return running.have_all_ended()
        is_seen = any(name.startswith("stress-ng") for name in seen)
        return is_seen and time.monotonic() > watched_s

    with loading(probe, f"stress-ng:{options}", tmp_path, *ONE_CPU) as running:
        watched_s = time.monotonic() + WATCH_S
        wait_until(has_ended_or_been_watched)
        told = events(running.stop())
    assert {name: kinds & REAL_TIME for name, kinds in seen.items() if kinds & REAL_TIME} == {}
    assert ("load_ended_early" not in told) == goes_on


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
@pytest.mark.parametrize("io_class", ["1", "2", "3"])
def test_no_io_priority_comes_through(probe: Path, tmp_path: Path, io_class: str) -> None:
    """Whatever the probe has: real-time, another level, or idle."""
    prefix = ["ionice", "-c", io_class, *(() if io_class == "3" else ("-n", "0"))]
    if shutil.which("ionice") is None or subprocess.run([*prefix, "true"], check=False).returncode:
        pytest.skip("no ionice, or no right to this class")
    load = "cpu+disk+kernel+stress-ng:--hdd 1 --hdd-bytes 4M"
    with loading(probe, load, tmp_path, *ONE_CPU, prefix=prefix) as running:
        wait_until(lambda: "stress-ng-hdd" in running.marked.all().values())
        found = {}
        for pid, name in running.marked.all().items():
            words = ["ionice", "-p", str(pid)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            found[name] = done.stdout.strip()
    assert found.pop("hardstone-probe") != "none: prio 0"
    assert {"hs-load-guard", "hs-load-keeper", "hs-load-disk", "stress-ng-hdd"} <= set(found)
    assert set(found.values()) - {""} == {"none: prio 0"}  # empty: a job that ended meanwhile


RIGHTS = """#!/bin/sh
cat /proc/self/status /proc/self/limits > "$HARDSTONE_TEST_OUT/found"
chrt -f 5 true && touch "$HARDSTONE_TEST_OUT/real-time"
sleep 60
"""
SYS_NICE, SYS_RESOURCE = 1 << 23, 1 << 24
INHERITED = ["setpriv", "--inh-caps=+sys_nice"]
LIMIT = ["prlimit", "--rtprio=50:50"]


@pytest.mark.skipif(machine.no_realtime() is not None, reason=machine.no_realtime() or "")
@pytest.mark.parametrize("prefix", [[], INHERITED, LIMIT], ids=["plain", "inherited", "limit"])
def test_no_right_to_real_time_comes_through(
    probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: list[str]
) -> None:
    """Whatever the probe has and may hand on: a program of that name tells what it has."""
    if prefix and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"no right to {' '.join(prefix)}")
    program = tmp_path / "stress-ng"
    program.write_text(RIGHTS)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HARDSTONE_TEST_OUT", str(tmp_path))
    with loading(probe, "stress-ng:--tell", tmp_path, *ONE_CPU, prefix=prefix) as running:
        wait_until(lambda: "sleep" in running.marked.all().values())
    found = (tmp_path / "found").read_text()
    sets = re.findall(r"^Cap(?:Inh|Prm|Eff|Bnd|Amb):\s+(\w+)", found, re.MULTILINE)
    assert len(sets) == 5
    assert [caps for caps in sets if int(caps, 16) & (SYS_NICE | SYS_RESOURCE)] == []
    assert re.search(r"^Max realtime priority +0 +0 ", found, re.MULTILINE) is not None
    assert not (tmp_path / "real-time").exists()


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_stress_ng_with_wrong_options(probe: Path, tmp_path: Path) -> None:
    with loading(probe, "stress-ng:--no-such-option 1", tmp_path) as running:
        wait_until(running.have_all_ended)
        told = events(running.stop())
    assert "stress-ng: 1 of 1 processes ended" in told["load_ended_early"]
    assert "load_short" in told


EXIT_MISSING = 5


def test_run_with_stress_ng_that_is_not_there(
    probe: Path, tmp_path: Path, quick: list[str]
) -> None:
    words = [str(probe), "run", "CLK-P-BIN", "--json", "--load", "stress-ng:--cpu 1", *quick]
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, check=False, env=environment)
    result = lines_of(done.stdout)[-2]
    assert done.returncode == EXIT_MISSING
    assert result["status"] == "unsupported"
    assert "not installed" in result["reason"]


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("cpuu", "did you mean cpu?"),
        ("cpu=10/100", "write cpu=10ms/100ms"),
        ("cpu=20ms/10ms", "from 100us to the period"),
        ("cpu=0ms/10ms", "from 100us to the period"),
        ("disk=-1ms/10ms", "write disk=10ms/100ms"),
        ("network=0/s", "from 1/s to 100000/s"),
        ("network=-5/s", "from 1/s to 100000/s"),
        ("network=4000", "write network=4000/s"),
        ("storm=0", "from 1 to 5000"),
        ("storm=1000000000", "from 1 to 5000"),
        ("storm=99999999999999999999", "from 1 to 5000"),
        ("search=3", "takes no degree"),
        ("heavy=3", "takes no degree"),
        ("build=5001", "from 1 to 5000"),
        ("network=5/s@host", "names no host and port"),
        ("network=5/s@$(reboot):7", "names no host and port"),
        ("cpu@cpu@cpu", "there is no element"),
        ("heavy+cpu=50ms/100ms", "cpu is there twice"),
        ("heavy+storm", "is there twice"),
        ("none+cpu", "none cannot be combined"),
        ("cpu++disk", "a term is empty"),
        ("", "a term is empty"),
        ("stress-ng", "takes options"),
        ("stress-ng:", "without options"),
        ("cpu\n", "control character"),
        ("stress-ng:--hdd 1 --ionice-class rt", "may not use a real-time I/O priority"),
        ("stress-ng:--ionice-class=realtime --hdd 1", "may not use a real-time I/O priority"),
        ("stress-ng:--ioprio 1", "may not use a real-time I/O priority"),
        ("cpu+stress-ng:--ionice-cl  rt", "may not use a real-time I/O priority"),
    ],
)
def test_wrong_texts(probe: Path, load: str, words: str) -> None:
    for command in (["load", load], ["load", "--check", load]):
        done = subprocess.run(
            [str(probe), *command], capture_output=True, text=True, timeout=GIVE_UP_S, check=False
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


WITH_STRESS_NG = (
    "cpu=1ms/2ms+stress-ng:--cpu 2 -t 3",
    "stress-ng:--hdd 1 --ionice-class besteffort --ionice-level 7",
    "stress-ng:--ionice-class",
    "stress-ng:--cpu 1 --ioprio-ops 5",
)


def test_a_right_text_checks(probe: Path) -> None:
    for load in ("none", "heavy", "storm", "heavy+storm=100", *WITH_STRESS_NG):
        words = [str(probe), "load", "--check", load]
        is_here = "stress-ng" not in load or shutil.which("stress-ng")
        wanted = 0 if is_here else EXIT_MISSING
        assert subprocess.run(words, capture_output=True, check=False).returncode == wanted


def test_wrong_cpus(probe: Path) -> None:
    for cpus in ("1023", "x", "2-1", "0,", "-1", "99999999"):
        words = [str(probe), "load", "cpu", "-D", "1", "--cpus", cpus]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_marks_are_seen() -> None:
    """The tests above look for processes by a mark; one that is there must be found."""
    marked = Marked()
    with subprocess.Popen(["sleep", "60"], env=marked.environment(Path("/"))) as process:
        wait_until(lambda: "sleep" in marked.all().values())
        process.kill()
    assert marked.all() == {}
