"""Each element does what it says, and the stream says what it did."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hardstone.model import StreamLoad
from tests import machine
from tests.host.loads import Marked, RunningLoad, elements, events, lines_of, loading, once
from tests.running import children, run
from tests.waiting import wait_until

COUNTERS = {
    "cpu": ["cpu_ns", "busy_ns", "rounds_count"],
    "disk": ["busy_ns", "writes_count", "written_bytes"],
    "interrupt": ["delivered_count"],
    "network": ["cpu_ns", "packets_count", "sent_bytes"],
    "syscall": ["cpu_ns", "busy_ns", "calls_count"],
    "memory": ["cpu_ns", "busy_ns", "allocations_count", "allocated_bytes"],
    "search": ["cpu_ns", "rounds_count", "files_count", "read_bytes"],
    "storm": ["cpu_ns", "rounds_count"],
    "build": ["cpu_ns", "jobs_count"],
    "kernel": [
        *("cpu_ns", "rounds_count", "fork_count", "exec_count", "exit_count", "copy_count"),
        *("file_count", "map_count", "terminal_count", "socket_count", "pipe_count"),
        *("fsync_count", "scan_count"),
    ],
    "messages": ["cpu_ns", "socket_messages_count", "pipe_messages_count", "received_bytes"],
}
UNITS = {
    **dict.fromkeys(("cpu", "disk", "syscall", "memory"), "share"),
    **dict.fromkeys(("interrupt", "network"), "per_s"),
    **dict.fromkeys(("search", "kernel"), "rounds_per_s"),
    "storm": "processes",
    "build": "jobs",
    "messages": "groups",
}
LOOKS = 5
SURELY_A_ROUND_NS = 6_000_000  # of six processes of the storm, whose rounds take 0.1 ms each


@pytest.fixture
def folder() -> Any:
    """On a disk, where the load's own choice would be too."""
    path = Path(f"/var/tmp/hardstone-test-{os.getpid()}")
    path.mkdir()
    yield path
    assert list(path.iterdir()) == []
    path.rmdir()


@pytest.fixture
def storm_lines(probe: Path, kept: Callable[[str, Callable[[], Any]], Any]) -> Any:
    def lines() -> Any:
        path = Path(f"/var/tmp/hardstone-test-storm-{os.getpid()}")
        path.mkdir()
        try:
            return once(probe, "heavy+storm=6+build+kernel+messages", path, "-D", "4")
        finally:
            path.rmdir()  # refuses when there is something in it

    found = kept("storm", lines)
    assert elements(found)["build"]["reached"] > 0  # a job runs at each moment
    return found


def idle(lines: Any, element: str) -> list[str]:
    """What this element did not count, and that it reached nothing."""
    line = elements(lines)[element]
    names = [name for name in COUNTERS[element] if line["counters"][name] <= 0]
    return [*names, "reached"] if line["reached"] <= 0 else names


@pytest.mark.parametrize("element", COUNTERS)
def test_every_element_counts_what_it_does(storm_lines: Any, element: str) -> None:
    line = elements(storm_lines)[element]
    assert line["unit"] == UNITS[element]
    assert line["processes"] == (6 if element == "storm" else 1)
    if element == "storm" and line["reached"] == 0:
        assert any(one.get("name") == "load_short" for one in storm_lines)
    missing = idle(storm_lines, element)
    has_no_cpu = element == "storm" and line["counters"]["cpu_ns"] < SURELY_A_ROUND_NS
    if has_no_cpu and "rounds_count" in missing:  # SCHED_IDLE, beside others
        return
    assert missing == []


def test_a_group_of_messages_is_on_the_cpus_of_its_head(probe: Path, folder: Path) -> None:
    """Ordinary processes, with no descriptor but the channels of each."""
    cpu = machine.cpu()
    with loading(probe, "messages", folder, "--cpus", str(cpu)) as running:
        group = wait_until(lambda: whole_group(running))
        for pid in group:
            assert os.sched_getaffinity(pid) == {cpu}
            assert os.sched_getscheduler(pid) == os.SCHED_OTHER
            assert os.getpriority(os.PRIO_PROCESS, pid) == 0
        own = [0, *[1] * 20, *[20] * 20]
        # one that has not had the CPU yet has all of them
        wait_until(lambda: sorted(map(channels, group)) == own, "not the channels of each alone")
        running.stop()


def channels(pid: int) -> int:
    held = [path.resolve().name for path in Path(f"/proc/{pid}/fd").iterdir()]
    return sum(name.startswith(("socket:", "pipe:")) for name in held)


def whole_group(running: RunningLoad) -> list[int]:
    """The head of the group and its members; none while there are fewer than 40."""
    head = running.own("hs-load-message")[0]  # the kernel keeps 15 characters
    members = children(head)
    return [head, *members] if len(members) == 40 else []


def test_a_load_of_the_whole_system_may_run_on_every_cpu(probe: Path, folder: Path) -> None:
    """With @cpu there is one on each."""
    allowed = os.sched_getaffinity(0)
    load = "cpu=1ms/100ms+memory=1ms/100ms@cpu+storm=3+network=10/s@cpu"
    with loading(probe, load, folder) as running:
        found = {
            name: sorted(map(sorted, map(os.sched_getaffinity, running.own(f"hs-load-{name}"))))
            for name in ("cpu", "memory", "storm", "network")
        }
    each = [[cpu] for cpu in sorted(allowed)]
    assert found == {
        "cpu": [sorted(allowed)],
        "memory": each,
        "storm": [sorted(allowed)] * 3,
        "network": each,
    }


def test_jobs_are_many_at_once(probe: Path, folder: Path) -> None:
    """As the process table has them: a job that has ended is replaced by the next."""
    with loading(probe, "build=16", folder) as running:
        makers = running.own("hs-load-build")
        assert len(makers) == 8
        with_both: set[int] = set()

        def has_each_had_both() -> bool:
            counts = {pid: len(children(pid)) for pid in makers}
            assert max(counts.values()) <= 2
            with_both.update(pid for pid, count in counts.items() if count == 2)
            return with_both == set(makers)

        wait_until(has_each_had_both)


def test_a_job_that_is_replaced_is_none_too_few(
    shared_probe: Path, broken_libc: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes to count the time of the one that has ended."""
    monkeypatch.setenv("HARDSTONE_BROKEN", "usage_takes_long")
    monkeypatch.setenv("LD_PRELOAD", str(broken_libc))
    replaced = 0
    for _ in range(LOOKS):
        lines = once(shared_probe, "build=2", folder, "-D", "300ms", "--cpus", str(machine.cpu()))
        assert elements(lines)["build"]["reached"] == 2
        replaced += elements(lines)["build"]["counters"]["jobs_count"]
    assert replaced > 0


def test_the_lines_have_an_order_and_an_end(storm_lines: Any) -> None:
    kinds = [line["type"] for line in storm_lines]
    assert kinds[0] == "header"
    assert kinds[-1] == "footer"
    assert storm_lines[-1]["lines"] == len(kinds) - 1
    assert storm_lines[0]["schema"] == "hardstone.load/2"
    first_load = kinds.index("load")
    assert set(kinds[first_load:-1]) == {"load"}


def test_storm_is_alive(storm_lines: Any) -> None:
    storm = elements(storm_lines)["storm"]
    assert (storm["asked"], storm["processes"]) == (6, 6)
    told = [line["text"] for line in storm_lines if line.get("name") == "load_short"]
    is_told = any(text.startswith("storm reached") for text in told)
    assert 0 <= storm["reached"] <= 6  # beside others they may not get a CPU in the window
    assert is_told == (storm["reached"] < 0.8 * 6)


@pytest.mark.parametrize(
    ("element", "degree"), [("cpu", "5ms/50ms"), ("syscall", "20ms/100ms"), ("memory", "5ms/50ms")]
)
def test_the_share_of_cpu_time_is_kept(
    probe: Path, folder: Path, element: str, degree: str
) -> None:
    """Never more than asked, but for a piece at each end of the window."""
    asked = {"5ms/50ms": 0.1, "20ms/100ms": 0.2}[degree]
    lines = once(probe, f"{element}={degree}", folder, "-D", "1")
    line = elements(lines)[element]
    assert line["asked"] == pytest.approx(asked)
    assert 0.9 < line["reached"] / asked <= 1.1
    assert "load_short" not in events(lines)


def test_interrupts_are_in_the_counters_of_the_kernel(probe: Path, folder: Path) -> None:
    line = elements(once(probe, "interrupt=2000/s", folder, "-D", "500ms"))["interrupt"]
    counters = line["counters"]
    if "seen_timer_interrupts_count" not in counters:
        pytest.skip("the kernel does not tell timer interrupts apart here")
    assert counters["delivered_count"] > 0
    assert line["reached"] <= 2000 * 1.1
    assert counters["seen_timer_interrupts_count"] > 0.8 * counters["delivered_count"]


def test_packets_are_in_the_counters_of_the_kernel(probe: Path, folder: Path) -> None:
    lines = once(probe, "network=4000/s", folder, "-D", "500ms")
    counters = elements(lines)["network"]["counters"]
    assert counters["packets_count"] > 0
    # one may have been sent before the window, and been counted in it
    assert counters["seen_tcp_segments_count"] >= counters["packets_count"] - 1
    assert counters["seen_tcp_segments_count"] < 1.5 * counters["packets_count"]
    assert counters["failed_count"] == 0


BLOCK_BYTES = 65536


def test_writes_reach_the_device(probe: Path, folder: Path) -> None:
    """The device's own account. That of the process grows when a page gets dirty, whether it is
    ever written or not."""
    before = device_bytes(folder)
    if before is None:
        pytest.skip("no block device that is counted holds this folder")
    lines = once(probe, "disk=20ms/40ms", folder, "-D", "1500ms")
    line = elements(lines)["disk"]
    counters = line["counters"]
    outside = (device_bytes(folder) or 0) - before
    enough = 0.8 * (counters["written_bytes"] - line["processes"] * BLOCK_BYTES)
    assert counters["written_bytes"] > 0
    assert enough <= counters["seen_device_bytes"] <= outside
    assert "load_unseen" not in events(lines)


def test_a_load_in_memory_has_no_device(probe: Path) -> None:
    place = Path("/dev/shm")
    if device_bytes(place) is not None or not os.access(place, os.W_OK):
        pytest.skip("there is no /dev/shm in memory")
    lines = once(probe, "disk=20ms/40ms", place, "-D", "300ms")
    counters = elements(lines)["disk"]["counters"]
    assert counters["written_bytes"] > 0
    assert "seen_device_bytes" not in counters
    assert "load_unseen" not in events(lines)


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


def first_cpu() -> int:
    return min(os.sched_getaffinity(0))


def status(pid: int, name: str) -> str:
    found = re.search(rf"^{name}:\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("prefix", [["chrt", "-f", "10"], ["chrt", "-r", "5"], ["nice", "-n", "5"]])
def test_loaders_are_ordinary_processes(probe: Path, folder: Path, prefix: list[str]) -> None:
    """Whatever the probe itself was started with."""
    if not may(prefix):
        pytest.skip(f"no right to {' '.join(prefix)}")
    cpu = first_cpu()
    words = [*prefix, "env"]
    load = "cpu+storm=2+memory@cpu"
    with loading(probe, load, folder, "--cpus", str(cpu), prefix=words) as running:
        check_ordinary(running.marked, cpu, is_root=os.geteuid() == 0)


def check_ordinary(marked: Marked, cpu: int, *, is_root: bool) -> None:
    for name in ("guard", "keeper"):
        assert os.sched_getscheduler(marked.wait_for(f"hs-load-{name}")) == os.SCHED_OTHER
    for name in ("cpu", "storm"):
        pid = marked.wait_for(f"hs-load-{name}")
        assert os.sched_getaffinity(pid) == {cpu}
        if is_root:  # others may only be nicer
            assert os.getpriority(os.PRIO_PROCESS, pid) == 0
        assert int(status(pid, "SigBlk"), 16) == 0
        assert status(pid, "VmLck") == "0 kB"
    assert os.sched_getscheduler(marked.wait_for("hs-load-cpu")) == os.SCHED_OTHER
    storm = marked.wait_for("hs-load-storm")
    wait_until(lambda: os.sched_getscheduler(storm) == os.SCHED_IDLE)


@pytest.mark.skipif(machine.no_realtime() is not None, reason=machine.no_realtime() or "")
def test_the_load_of_a_real_time_run_is_ordinary(
    probe: Path, folder: Path, quick: list[str]
) -> None:
    marked = Marked()
    run = [str(probe), "run", "TMR-P-LAT", "--policy", "fifo", "--priority", "20", "-D", "60"]
    load = ["--load", "cpu+storm=2+memory@cpu", "--cpu-config", "single", "--json"]
    with subprocess.Popen(
        ["chrt", "-f", "10", *run, *load, *quick],
        stdout=subprocess.PIPE,
        env=marked.environment(folder),
    ) as process:
        marked.wait_for("hs-load-cpu")
        cpu = int(quick[quick.index("--cpu") + 1])
        wait_until(lambda: SCHED_FIFO_20 in policies(process.pid))  # it measures
        check_ordinary(marked, cpu, is_root=os.geteuid() == 0)
        machine.wait_for_wakeups(process.pid, 200)
        process.terminate()
        out, _ = process.communicate(timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-2]["status"] == "measured"
    marked.wait_for_none()


SCHED_FIFO_20 = (os.SCHED_FIFO, 20)


def policies(pid: int) -> set[tuple[int, int]]:
    found = set()
    for path in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            thread = int(path.name)
            found.add((os.sched_getscheduler(thread), os.sched_getparam(thread).sched_priority))
    return found


def may(prefix: list[str]) -> bool:
    if shutil.which(prefix[0]) is None:
        return False
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0


def test_run_with_load(probe: Path, folder: Path, quick: list[str]) -> None:
    """The lines of the load stand between the events and the series."""
    words = ["--load", "cpu=5ms/50ms+storm=3", "-D", "300ms", *quick]
    stream = run(probe, "CLK-P-BIN", *words, variables={"TMPDIR": str(folder)})
    assert stream.code == 0, stream.result
    lines = lines_of(stream.raw)
    kinds = [line["type"] for line in lines]
    assert kinds.index("load") < kinds.index("series")
    assert "event" not in kinds[kinds.index("load") :]
    assert list(elements(lines)) == ["cpu", "storm"]
    result = lines[-2]
    assert result["conditions"]["load"] == "cpu=5ms/50ms+storm=3"
    assert result["environment"]["load_average_1min_milli"] >= 0
    assert lines[-1]["lines"] == len(lines) - 1


def test_run_without_load_says_none(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "CLK-P-BIN", "--samples", "10", *quick)
    assert stream.code == 0, stream.result
    lines = lines_of(stream.raw)
    assert elements(lines) == {}
    assert lines[-2]["conditions"]["load"] == "none"


def test_a_measurement_survives_a_lost_loader(probe: Path, folder: Path, quick: list[str]) -> None:
    marked = Marked()
    with subprocess.Popen(
        [str(probe), "run", "TMR-P-LAT", "--load", "cpu+storm=2", "--json", "-D", "60", *quick],
        stdout=subprocess.PIPE,
        env=marked.environment(folder),
    ) as process:
        os.kill(marked.wait_for("hs-load-storm"), 9)
        machine.wait_for_wakeups(process.pid, 200)
        process.terminate()
        out, _ = process.communicate(timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-2]["status"] == "measured"
    assert "storm: 1 of 2 processes ended" in events(lines)["load_ended_early"]
    assert "load_short" in events(lines)
    marked.wait_for_none()


@pytest.mark.parametrize("test", ["SEM-P-SIG", "POS-B-INV"])
def test_a_test_that_forks_before_the_load_works_has_its_load(probe: Path, test: str) -> None:
    """Its guard has a copy of the pipe on which the processes of the load wait."""
    stream = run(probe, test, "--samples", "2000", "--load", "disk")
    (load,) = stream.of(StreamLoad)
    assert load.processes == 1
    assert "load_not_settled" not in stream.events
