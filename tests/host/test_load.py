"""A load on the real kernel: what its elements do, and what the machine refuses them.

Who is killed: test_leftovers.py. All that can be made
up: probe/tests/test_load_*.c.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hardstone.model import StreamLoad
from tests import machine
from tests.host.loads import (
    GIVE_UP_S,
    ONE_CPU,
    Line,
    elements,
    events,
    lines_of,
    loading,
)
from tests.host.place import Marked, Place, group_of, within
from tests.running import Stream, note_crash, run
from tests.waiting import wait_until

MIB = 1 << 20
EXIT_MISSING = 5
COUNTERS = {
    "cpu": "cpu_ns busy_ns rounds_count",
    "disk": "busy_ns writes_count written_bytes",
    "interrupt": "delivered_count",
    "network": "cpu_ns packets_count sent_bytes",
    "syscall": "cpu_ns busy_ns calls_count",
    "memory": "cpu_ns busy_ns allocations_count allocated_bytes",
    "search": "cpu_ns rounds_count files_count read_bytes",
    "storm": "",  # SCHED_IDLE: beside others it may not get a CPU
    "build": "cpu_ns jobs_count",
    "kernel": "cpu_ns rounds_count fork_count exec_count exit_count copy_count file_count map_count"
    " terminal_count socket_count pipe_count fsync_count scan_count",
    "messages": "cpu_ns socket_messages_count pipe_messages_count received_bytes",
}
UNITS = {
    **dict.fromkeys(("cpu", "disk", "syscall", "memory"), "share"),
    **dict.fromkeys(("interrupt", "network"), "per_s"),
    **dict.fromkeys(("search", "kernel"), "rounds_per_s"),
    "storm": "processes",
    "build": "jobs",
    "messages": "groups",
}
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount or make a group")
other_user = machine.needs(machine.no_other_user())
limits = machine.needs(machine.no_prlimit())
realtime = machine.needs(machine.no_realtime())


def once(
    probe: Path, load: str, folder: Path, *options: str, prefix: Sequence[str] = ()
) -> list[Line]:
    """One load for a given time: its lines."""
    marked = Marked(folder)
    done = subprocess.run(
        [*prefix, str(probe), "load", load, "--json", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIVE_UP_S,
        check=False,
        env=marked.environment,
    )
    note_crash(load, done.returncode)
    assert done.returncode == 0, done.stderr
    assert marked.all() == {}
    return lines_of(done.stdout)


def limited(lines: Sequence[Line]) -> list[str]:
    return [line["text"] for line in lines if line.get("name") == "load_limited"]


def used_bytes(folder: Path) -> int:
    facts = os.statvfs(folder)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


@pytest.fixture
def folder() -> Iterator[Path]:
    """On a disk, where the load's own choice would be too."""
    path = Path(f"/var/tmp/hardstone-test-{os.getpid()}")
    path.mkdir()
    yield path
    assert list(path.iterdir()) == []
    path.rmdir()


# ---- what they do ----


def test_every_element_counts_what_it_does(probe: Path, folder: Path) -> None:
    lines = once(probe, "heavy+storm=6+build+kernel+messages", folder, "-D", "4")
    found = elements(lines)
    assert {name: line["unit"] for name, line in found.items()} == UNITS
    for name, counters in COUNTERS.items():
        assert found[name]["processes"] == (6 if name == "storm" else 1)
        assert found[name]["reached"] > 0 or name == "storm"
        idle = [one for one in counters.split() if found[name]["counters"][one] <= 0]
        assert idle == [], name
    kinds = [line["type"] for line in lines]
    assert (lines[0]["schema"], kinds[0], kinds[-1]) == ("hardstone.load/1", "header", "footer")
    assert lines[-1]["lines"] == len(kinds) - 1
    assert set(kinds[kinds.index("load") : -1]) == {"load"}


def test_the_kernel_has_counted_it_too(probe: Path, folder: Path) -> None:
    lines = once(probe, "interrupt=2000/s+network=4000/s", folder, "-D", "500ms")
    interrupt, network = (elements(lines)[name] for name in ("interrupt", "network"))
    sent = network["counters"]["packets_count"]
    assert sent > 0 and network["counters"]["failed_count"] == 0
    # one may have been sent before the window, and been counted in it
    assert sent - 1 <= network["counters"]["seen_tcp_segments_count"] < 1.5 * sent
    delivered = interrupt["counters"]["delivered_count"]
    assert delivered > 0 and interrupt["reached"] <= 2000 * 1.1
    if "LOC:" in Path("/proc/interrupts").read_text():
        assert interrupt["counters"]["seen_timer_interrupts_count"] > 0.8 * delivered


def test_where_processes_may_run(probe: Path, folder: Path) -> None:
    """A load of the whole system on every CPU; with @cpu there is one on each."""
    allowed = os.sched_getaffinity(0)
    load = "cpu=1ms/100ms+memory=1ms/100ms@cpu+storm=3+network=10/s@cpu"
    with loading(probe, load, folder) as running:
        found = {
            name: sorted(map(sorted, map(os.sched_getaffinity, running.own(f"hs-load-{name}"))))
            for name in ("cpu", "memory", "storm", "network")
        }
    each, all_of_them = [[cpu] for cpu in sorted(allowed)], [sorted(allowed)]
    assert found == {"cpu": all_of_them, "memory": each, "storm": 3 * all_of_them, "network": each}


def test_a_job_that_is_replaced_is_none_too_few(
    shared_probe: Path, broken_libc: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes to count the time of the one that has ended."""
    monkeypatch.setenv("HARDSTONE_BROKEN", "usage_takes_long")
    monkeypatch.setenv("LD_PRELOAD", str(broken_libc))
    runs = [once(shared_probe, "build=2", folder, "-D", "300ms", *ONE_CPU) for _ in range(5)]
    found = [elements(lines)["build"] for lines in runs]
    assert {line["reached"] for line in found} == {2}
    assert sum(line["counters"]["jobs_count"] for line in found) > 0


def device_bytes(folder: Path) -> int | None:
    """Written since the start of the system, by all; None: not known."""
    number = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    queue = place / "queue"
    queue = queue if queue.exists() else place.resolve().parent / "queue"
    try:
        numbers = [int(word) for word in (place / "stat").read_text().split()]
        switches = [(queue / name).read_text().strip() for name in ("iostats", "dax")]
    except OSError:
        return None
    return numbers[6] * 512 if switches == ["1", "0"] and numbers[2] > 0 else None


def test_writes_reach_the_device(probe: Path, folder: Path) -> None:
    """The device's own account. That of the process grows when a page gets dirty, whether it is
    ever written or not."""
    before = device_bytes(folder)
    if before is None:
        pytest.skip("no block device that is counted holds this folder")
    lines = once(probe, "disk=20ms/40ms", folder, "-D", "1500ms")
    counters = elements(lines)["disk"]["counters"]
    outside = (device_bytes(folder) or 0) - before
    assert counters["written_bytes"] > 0
    least = 0.8 * (counters["written_bytes"] - 65536)  # a write may be under way
    assert least <= counters["seen_device_bytes"] <= outside
    assert "load_unseen" not in events(lines)


def test_a_load_in_memory_has_no_device(probe: Path, place: Place) -> None:
    memory = Path("/dev/shm")
    words = ("-D", "300ms", *ONE_CPU)
    lines = once(probe, "disk=20ms/40ms", memory, *words, prefix=place.prefix)
    counters = elements(lines)["disk"]["counters"]
    assert counters["written_bytes"] > 0
    assert "seen_device_bytes" not in counters and "load_unseen" not in events(lines)
    assert "is not on a disk: writes reach no device" in events(lines)["load_limited"]


@pytest.mark.parametrize("number", ["INT", "TERM", "HUP"])
def test_a_signal_ends_it_with_a_report(probe: Path, folder: Path, number: str) -> None:
    with loading(probe, "cpu+kernel", folder, *ONE_CPU) as running:
        subprocess.run(["kill", f"-{number}", str(running.process.pid)], check=True)
        assert set(elements(running.end())) == {"cpu", "kernel"}


# ---- beside a test ----


def test_run_with_load(probe: Path, folder: Path, quick: list[str]) -> None:
    """The lines of the load stand between the events and the series."""
    load = "cpu=5ms/50ms+storm=3"
    stream = run(
        probe, "CLK-P-BIN", "--load", load, "-D", "300ms", *quick, variables={"TMPDIR": str(folder)}
    )
    assert stream.code == 0, stream.result
    lines = lines_of(stream.raw)
    kinds = [line["type"] for line in lines]
    assert kinds.index("load") < kinds.index("series")
    assert "event" not in kinds[kinds.index("load") :]
    assert list(elements(lines)) == ["cpu", "storm"]
    assert stream.result.conditions.load == load
    assert stream.result.environment["load_average_1min_milli"] >= 0
    without = run(probe, "CLK-P-BIN", "--samples", "10", *quick)
    assert without.of(StreamLoad) == [] and without.result.conditions.load == "none"


@realtime
def test_the_load_of_a_real_time_run_is_ordinary(
    probe: Path, folder: Path, quick: list[str]
) -> None:
    """Whatever the probe itself was started with; and the run survives a lost loader."""
    marked = Marked(folder)
    words = ["chrt", "-f", "10", str(probe), "run", "TMR-P-LAT", "--json", "-D", "60", *quick]
    words += ["--priority", "20", "--load", "cpu+storm=2+memory@cpu", "--cpu-config", "single"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=marked.environment) as process:
        machine.wait_for_wakeups(process.pid, 200)
        for name in ("guard", "keeper"):
            assert os.sched_getscheduler(marked.wait_for(f"hs-load-{name}")) == os.SCHED_OTHER
        cpu, storm = (marked.wait_for(f"hs-load-{name}") for name in ("cpu", "storm"))
        for pid in (cpu, storm):
            assert os.sched_getaffinity(pid) == {machine.cpu()}
            assert os.getpriority(os.PRIO_PROCESS, pid) == 0 or os.geteuid() != 0
            status = Path(f"/proc/{pid}/status")
            assert machine.status_number(status, "VmLck") == 0
            assert "SigBlk:\t0000000000000000" in status.read_text()
        assert os.sched_getscheduler(cpu) == os.SCHED_OTHER
        wait_until(lambda: os.sched_getscheduler(storm) == os.SCHED_IDLE)
        os.kill(storm, 9)
        wait_until(lambda: storm not in marked.all())
        process.terminate()
        out, _ = process.communicate(timeout=GIVE_UP_S)
    stream = Stream("TMR-P-LAT", process.returncode, out)
    assert stream.result.status == "measured"
    assert "storm: 1 of 2 processes ended" in stream.events["load_ended_early"].text
    marked.wait_for_none()


@pytest.mark.parametrize("test", ["SEM-P-SIG", "POS-B-INV"])
def test_a_test_that_forks_before_the_load_works_has_its_load(probe: Path, test: str) -> None:
    """Its guard has a copy of the pipe on which the processes of the load wait."""
    stream = run(probe, test, "--samples", "2000", "--load", "disk")
    (load,) = stream.of(StreamLoad)
    assert load.processes == 1
    assert "load_not_settled" not in stream.events


# ---- what the machine refuses ----


@root_only
def test_disk_gives_back_when_others_need_the_room(probe: Path, mounted: Path) -> None:
    with loading(probe, "disk=9ms/10ms", mounted, *ONE_CPU) as running:
        wait_until(lambda: used_bytes(mounted) > MIB)
        assert list(mounted.iterdir()) == []  # its file has no name
        (mounted / "others").write_bytes(b"x" * (150 * MIB))
        wait_until(lambda: used_bytes(mounted) < 151 * MIB)
        (mounted / "others").unlink()
        wait_until(lambda: used_bytes(mounted) > 0)  # and goes on when there is room
        running.stop()
    assert used_bytes(mounted) == 0


@root_only
def test_nothing_is_written_where_there_is_no_room(probe: Path, mounted: Path) -> None:
    """Of the classes of kernel only those that take room are left out."""
    (mounted / "others").write_bytes(b"x" * (150 * MIB))
    before = used_bytes(mounted)
    lines = once(probe, "build+disk+kernel", mounted, "-D", "1", *ONE_CPU)
    counters = {name: line["counters"] for name, line in elements(lines).items()}
    kernel = counters["kernel"]
    assert (kernel["copy_count"], kernel["fsync_count"]) == (0, 0)
    assert min(kernel["file_count"], kernel["map_count"], kernel["pipe_count"]) > 0
    assert (counters["build"]["jobs_count"], counters["disk"]["writes_count"]) == (0, 0)
    for said in ("build: no files for the jobs", "too little free space", "No space left"):
        assert any(said in text for text in limited(lines)), said
    assert used_bytes(mounted) == before


@other_user
@limits
def test_no_right_to_more_processes(open_probe: Path, tmp_path: Path) -> None:
    """Probe, guard, supervisor and worker: there is no fifth."""
    user = 64321  # of nobody's: others' processes count too
    words = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]
    prefix = ["prlimit", "--nproc=4:4", "setpriv", *words, "--bounding-set=-all"]
    lines = once(open_probe, "kernel", tmp_path, "-D", "4", *ONE_CPU, prefix=prefix)
    assert any(" failed: " in text for text in limited(lines))
    assert events(lines)["load_short"].startswith("kernel: never ran: fork, exec, exit")


@root_only
def test_memory_keeps_within_its_group(probe: Path, tmp_path: Path) -> None:
    """Whatever the machine has: half of the time at work, and nobody is killed."""
    with group_of("memory", limit_in_bytes=str(16 * MIB)) as group:
        words = ("-D", "1", *ONE_CPU)
        lines = once(probe, "memory=50ms/100ms", tmp_path, *words, prefix=within(group))
        kills = (group / "memory.oom_control").read_text().splitlines()
        most = int((group / "memory.max_usage_in_bytes").read_text())
    assert elements(lines)["memory"]["counters"]["allocated_bytes"] > 64 * MIB  # in turn
    assert "load_ended_early" not in events(lines)
    assert [line for line in kills if line.startswith("oom_kill ")] == ["oom_kill 0"]
    assert most < 15 * MIB


@other_user
def test_an_ordinary_user_cannot_be_less_nice(open_probe: Path, tmp_path: Path) -> None:
    prefix = ["nice", "-n", "5", *machine.as_nobody()]
    lines = once(open_probe, "cpu", tmp_path, "-D", "300ms", *ONE_CPU, prefix=prefix)
    assert "could not be set to nice 0" in events(lines)["load_limited"]


@other_user
def test_without_any_right(open_probe: Path) -> None:
    """An ordinary user, and a folder of its own choice."""
    words = [str(open_probe), "load", "heavy+build+kernel", "-D", "3", "--json"]
    done = subprocess.run(
        [*machine.as_nobody(), *words],
        capture_output=True,
        timeout=60,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "TMPDIR"},
    )
    found = elements(lines_of(done.stdout))
    assert [name for name, line in found.items() if line["reached"] <= 0] == []


NOWHERE = """
for place in /tmp /var/tmp; do mount -t tmpfs -o ro tmpfs $place || exit 77; done
TMPDIR=/nowhere exec "$0" load disk+network+build+cpu -D 2 --json --cpus "$1"
"""
# One file of 100 bytes in the file system of its own; those of another one, and behind a link, have
# 7000.
PLACES = """
for place in /opt /lib /bin /var/lib; do
    [ -L $place ] || [ ! -d $place ] || mount -t tmpfs none $place || exit 77
done
mount -t tmpfs none /etc || exit 77
mkdir /etc/other /etc/own && mount -t tmpfs none /etc/other || exit 77
printf %0100d 1 > /etc/own/file
printf %07000d 1 > /etc/other/file
ln -s other/file /etc/link
mount -t tmpfs none /usr || exit 77
exec "$0" load search -D 300ms --json --cpus "$1"
"""


def in_places_of_its_own(probe: Path, script: str, *more: str) -> list[Line]:
    """What a load says that `script` starts with mounts of its own: $0 is a copy of the probe that
    no mount hides, $1 the CPU. `more`: options of unshare."""
    copy = Path(f"/dev/shm/hardstone-test-{os.getpid()}")
    shutil.copy(probe, copy)
    words = ["unshare", "--mount", *more, "sh", "-c", script, str(copy), str(machine.cpu())]
    try:
        done = subprocess.run(words, capture_output=True, timeout=GIVE_UP_S, check=False)
    finally:
        copy.unlink()
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 0, done.stderr
    return lines_of(done.stdout)


@root_only
def test_no_folder_and_no_network(probe: Path) -> None:
    """/tmp and /var/tmp cannot be written to, lo is down."""
    lines = in_places_of_its_own(probe, NOWHERE, "--net")
    texts = limited(lines)
    assert [text.partition(":")[0] for text in texts] == ["disk", "network", "build"]
    assert "no TCP connection over 127.0.0.1" in texts[1]
    assert elements(lines)["cpu"]["reached"] > 0
    assert elements(lines)["disk"]["processes"] == 0


@root_only
def test_search_stays_in_its_file_system(probe: Path) -> None:
    counters = elements(in_places_of_its_own(probe, PLACES))["search"]["counters"]
    assert counters["files_count"] > 10
    assert abs(counters["read_bytes"] - 100 * counters["files_count"]) <= 100  # one being read


# ---- what comes through to others ----

RIGHTS = """#!/bin/sh
cat /proc/self/status /proc/self/limits > "$HARDSTONE_TEST_OUT/found"
chrt -f 5 true && touch "$HARDSTONE_TEST_OUT/real-time"
sleep 60
"""
SYS_NICE, SYS_RESOURCE = 1 << 23, 1 << 24
INHERITED = ["setpriv", "--inh-caps=+sys_nice"]
LIMIT = ["prlimit", "--rtprio=50:50"]


def may(prefix: Sequence[str]) -> bool:
    if prefix and shutil.which(prefix[0]) is None:
        return False
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0


@realtime
@pytest.mark.parametrize("prefix", [[], INHERITED, LIMIT], ids=["plain", "inherited", "limit"])
def test_no_right_to_real_time_comes_through(
    probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: list[str]
) -> None:
    """Whatever the probe has and may hand on: a program of that name tells what it has."""
    if not may(prefix):
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
def test_no_io_priority_comes_through(probe: Path, tmp_path: Path) -> None:
    prefix = ["ionice", "-c", "1", "-n", "0"]
    if not may(prefix):
        pytest.skip("no ionice, or no right to this class")
    load = "cpu+disk+kernel+stress-ng:--hdd 1 --hdd-bytes 4M"
    with loading(probe, load, tmp_path, *ONE_CPU, prefix=prefix) as running:
        wait_until(lambda: "stress-ng-hdd" in running.marked.all().values())
        found = {
            name: subprocess.run(
                ["ionice", "-p", str(pid)], capture_output=True, text=True, check=False
            ).stdout.strip()
            for pid, name in running.marked.all().items()
        }
    assert found.pop("hardstone-probe") == "realtime: prio 0"
    assert {"hs-load-guard", "hs-load-keeper", "hs-load-disk", "stress-ng-hdd"} <= set(found)
    assert set(found.values()) - {""} == {"none: prio 0"}  # empty: a job that ended meanwhile


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("network=5/s@127.0.0.1:1", "no connection: "),
        ("stress-ng:--cpu 1", "stress-ng is not installed; choose other elements, or install it"),
    ],
)
def test_what_is_not_there_is_said_before_anything_is_measured(
    probe: Path, tmp_path: Path, quick: list[str], load: str, said: str
) -> None:
    variables = {"PATH": str(tmp_path)}
    for words in (["--check", load], [load, "-D", "9"]):
        done = subprocess.run(
            [probe, "load", *words], capture_output=True, text=True, check=False, env=variables
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (EXIT_MISSING, "", 1)
        assert said in done.stderr
    stream = run(probe, "CLK-P-BIN", "--load", load, *quick, variables=variables)
    assert (stream.code, stream.result.status) == (EXIT_MISSING, "unsupported")
    assert said.partition(";")[0] in (stream.result.reason or "")
    assert stream.result.duration_ns == 0


# ---- what it costs, by its own lines and by what the kernel counts ----

HEAVY = {**dict.fromkeys(("cpu", "disk", "syscall", "memory"), 0.1), "interrupt": 1e3}
HEAVY["network"] = 4e3
NEAR = 0.2
WINDOW_S = 2.0


def process_s(pid: int) -> float:
    """Its CPU time; the name in field 2 may hold anything."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def tcp_segments() -> int:
    lines = Path("/proc/net/snmp").read_text().splitlines()
    names, numbers = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(numbers[names.index("OutSegs")])


def test_heavy_costs_what_it_says(probe: Path, folder: Path) -> None:
    """Beside other programs a load cannot get what it asks for. That interrupts and writes are
    counted by the kernel is above."""
    cpu_count = len(os.sched_getaffinity(0))
    with loading(probe, "heavy@cpu", folder) as running:
        pids = {name: running.own(f"hs-load-{name}") for name in ("cpu", "syscall", "memory")}
        before = {pid: process_s(pid) for some in pids.values() for pid in some}
        begin_s, sent = time.monotonic(), -tcp_segments()
        time.sleep(WINDOW_S)
        used = {pid: process_s(pid) - before[pid] for pid in before}
        span_s, sent = time.monotonic() - begin_s, sent + tcp_segments()
        lines = running.stop()
    reached = elements(lines)
    assert {name: reached[name]["asked"] for name in HEAVY} == pytest.approx(HEAVY)
    assert {name: reached[name]["reached"] for name in HEAVY} == pytest.approx(HEAVY, rel=NEAR)
    assert reached["search"]["reached"] > 0
    assert not {"load_short", "load_unseen"} & set(events(lines)), events(lines)
    for name, some in pids.items():
        shares = [used[pid] / span_s for pid in some]
        assert shares == pytest.approx([HEAVY[name]] * cpu_count, rel=NEAR), name
    assert sent / span_s == pytest.approx(HEAVY["network"] * cpu_count, rel=NEAR)
