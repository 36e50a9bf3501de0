"""FIO-P-SYN, -PRE, -STR and -PRI: what they claim of a device, what they say of the place of their
files, what they do where space, rights or the file system are not as they should be."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from tests import machine
from tests.running import Running, Stream, measuring, measuring_thread, run
from tests.waiting import soon, wait_until

pytestmark = machine.needs(machine.no_realtime())

SYN, PRE, STR, PRI = TESTS = ("FIO-P-SYN", "FIO-P-PRE", "FIO-P-STR", "FIO-P-PRI")
FEW = ["--samples", "60"]
LONG = ["--samples", "0", "--duration-ns", "30s"]
MIB = 1 << 20
SYNCHRONISED = {"o_dsync", "o_sync", "fdatasync"}
REACH = "writes_reach_device"
Broken = Callable[..., Stream]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of the user, for the files of a test."""
    made = tmp_path / "files of a test"
    made.mkdir()
    return made


@pytest.fixture
def on_broken(broken: Broken, folder: Path) -> Broken:
    """On a libc that breaks something, with the files in `folder`."""

    def run_on(breach: str, test: str, *words: str) -> Stream:
        stream = broken(breach, test, "--dir", str(folder), *words)
        assert not list(folder.iterdir())
        return stream

    return run_on


def data(stream: Stream, event: str) -> dict[str, dict[str, object]]:
    """Data of each event of that name, by mode."""
    return {str(one.data.get("mode", "")): dict(one.data) for one in stream.told(event)}


def counts(stream: Stream, name: str) -> dict[str, int]:
    return {str(series.labels["mode"]): series.count for series in stream.named(name)}


# ---- what they measure ----


def test_every_mode_has_its_values_and_its_place(
    probe: Path, quick: list[str], folder: Path
) -> None:
    stream = run(probe, SYN, *FEW, "--dir", str(folder), *quick)
    assert stream.result.status == "measured", stream.result.reason
    assert counts(stream, "write") == dict.fromkeys(("buffered", *SYNCHRONISED), 60)
    assert counts(stream, "rest") == counts(stream, "write")
    assert stream.events["file_place"].data["folder"] == str(folder)
    assert not list(folder.iterdir())


def test_each_file_and_stream_is_counted(probe: Path, quick: list[str], folder: Path) -> None:
    words = ["--dir", str(folder), *quick]
    size = ["-p", "size_bytes=65536", "-p", f"file_bytes={MIB}"]
    pre = run(probe, PRE, *FEW, *size, *words)
    # two of warm-up and 60 of 64 KiB: three whole files of 1 MiB, and one that is begun
    told = data(pre, "file_extents") or data(pre, "file_extents_not_read")
    assert set(told) == {"appended", "preallocated"}
    assert {one.get("files_count", 3) for one in told.values()} == {3}
    stream = run(probe, STR, *FEW, *size, *words)
    assert counts(stream, "write")["buffered"] == 60
    # the one that the number of writes cuts is no value beside whole ones
    assert counts(stream, "total")["buffered"] == 3
    assert data(stream, "streamed")["buffered"]["bytes"] == 60 * 65536
    windows = {mode: told["windows_count"] for mode, told in data(stream, "streamed").items()}
    assert windows == counts(stream, "throughput")  # none, unless the host was slow
    assert "two_gb_ns" not in data(stream, "streamed")["buffered"]
    assert not list(folder.iterdir())


def test_the_rest_before_a_stream_is_no_part_of_its_time(probe: Path, folder: Path) -> None:
    words = ["--samples", "256", "--duration-ns", "600ms", "--dir", str(folder)]
    stream = run(probe, STR, *words)
    written, told = counts(stream, "write"), data(stream, "streamed")
    for mode in set(told) & {"buffered", "direct"}:
        assert written[mode] == 256 or int(str(told[mode]["total_ns"])) >= 280_000_000
        assert "pauses of the test" in stream.events["streamed"].text


def test_the_writer_wrote_beside_each_reader_but_one(
    probe: Path, quick: list[str], folder: Path
) -> None:
    """Half a second each."""
    words = ["--samples", "0", "--duration-ns", "2s", "--dir", str(folder), *quick]

    stream = run(probe, PRI, *words)
    assert stream.result.status == "measured", stream.result.reason
    ran = data(stream, "writer_ran")
    assert {"time_shared", "rt_cpu"} <= set(ran) <= {"time_shared", "rt_cpu", "rt_io"}
    idle = [mode for mode, one in ran.items() if int(str(one["written_bytes"])) < MIB]
    unread = [mode for mode, count in counts(stream, "read").items() if count == 0]
    assert (idle, unread) == ([], [])


@pytest.mark.skipif(shutil.which("ionice") is None, reason="ionice is not installed")
def test_the_writer_never_has_the_readers_io_priority(
    probe: Path, quick: list[str], folder: Path
) -> None:
    """A process inherits it, and has it for a moment: the writer of rt_io is started by a reader
    that has it already."""
    with measuring(probe, PRI, "-p", "mode=rt_io", *LONG, "--dir", str(folder), *quick) as running:
        reader = measuring_thread(running.pid)
        if "realtime" not in io_priority(reader):
            pytest.skip("no real-time I/O priority here")
        children = Path(f"/proc/{running.pid}/task/{reader}/children").read_text().split()
        assert soon(lambda: set(map(io_priority, map(int, children))) == {"best-effort: prio 4"})
        running.stopped()


def io_priority(pid: int) -> str:
    return subprocess.run(
        ["ionice", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()


# ---- claims, on a device whose count is made up ----


@pytest.mark.parametrize(
    ("breach", "missing"),
    [
        ("none", set()),
        ("sync_dropped", {"o_dsync", "o_sync"}),
        ("fdatasync_nothing", {"fdatasync"}),
        ("sync_dropped,fdatasync_nothing", SYNCHRONISED),
    ],
)
def test_a_write_that_is_not_synchronised_is_seen(
    on_broken: Broken, breach: str, missing: set[str]
) -> None:
    stream = on_broken(f"made_up_device,{breach}", SYN, *FEW)
    assert stream.result.status == "measured", stream.result.reason
    if not stream.events["file_place"].data["direct"]:
        pytest.skip("no direct I/O here, to try the count of the device with")
    assert stream.verdicts == {f"{REACH}/{mode}": mode not in missing for mode in SYNCHRONISED}
    told = data(stream, "device_counted")
    assert {mode: one["unseen_count"] for mode, one in told.items()} == {
        mode: told[mode]["writes_count"] if mode in missing else 0 for mode in SYNCHRONISED
    }


def test_allocation_that_does_nothing_is_seen(on_broken: Broken) -> None:
    assert on_broken("none", PRE, *FEW).verdicts in ({"preallocated_has_space": True}, {})
    stream = on_broken("allocates_nothing", PRE, *FEW)
    assert stream.verdicts == {"preallocated_has_space": False}


# What is missing; the mode that cannot be measured then, and the event that says so.
MISSING = [
    ("no_direct", SYN, None, "synchronised_not_checked", "no direct I/O"),
    ("no_direct", STR, "direct", "direct_unsupported", ""),
    ("no_direct", PRI, None, "read_may_be_cached", ""),
    ("no_allocation", PRE, "preallocated", "preallocation_unsupported", ""),
]


@pytest.mark.parametrize(("breach", "test", "mode", "event", "text"), MISSING)
def test_what_is_missing_is_told_and_the_rest_is_measured(
    on_broken: Broken,
    breach: str,
    test: str,
    mode: str | None,
    event: str,
    text: str,
) -> None:
    stream = on_broken(breach, test, *FEW)
    assert stream.result.status == "measured" and stream.verdicts == {}
    assert event in stream.events and text in stream.events[event].text
    found = counts(stream, "read" if test == PRI else "write")
    assert {name for name, count in found.items() if count < 60} == {mode} - {None}
    if mode is not None:
        single = on_broken(breach, test, "-p", f"mode={mode}", *FEW)
        assert (single.result.status, single.code) == ("unsupported", 5)


@pytest.mark.parametrize("breach", ["io_priority_refused", "io_priority_kept"])
def test_an_io_priority_that_was_not_set_has_no_values(on_broken: Broken, breach: str) -> None:
    stream = on_broken(breach, PRI, "-p", "mode=rt_io", *FEW)
    assert (stream.result.status, stream.code) == ("unsupported", 5)
    assert stream.events["io_priority_refused"].data["mode"] == "rt_io"


# ---- bad conditions ----

FAULTS = {
    "full": ("failed", "No space left", "free space"),
    "over_quota": ("denied", "quota", "raise the quota"),
    "broken_disk": ("failed", "Input/output error", "kernel's log"),
    "read_only": ("denied", "Read-only", "mount the file system for writing"),
    "little_space": ("failed", "too little space", "free space"),
    "short_writes": ("failed", "less than requested", "ulimit -f"),
}


@pytest.mark.parametrize(
    ("test", "breach"), [*product([SYN], FAULTS), (PRE, "full"), (STR, "full")]
)
def test_a_fault_ends_in_one_clear_status(on_broken: Broken, test: str, breach: str) -> None:
    stream = on_broken(breach, test, "-p", "size_bytes=4096", "--samples", "200")
    status, reason, remedy = FAULTS[breach]
    assert stream.result.status == status
    assert reason in (stream.result.reason or "")
    assert remedy in (stream.result.remedy or "")
    assert stream.verdicts == {}


@machine.needs(machine.no_prlimit())
@pytest.mark.parametrize("test", TESTS)
def test_a_limit_on_file_sizes_is_told(
    probe: Path, quick: list[str], folder: Path, test: str
) -> None:
    words = ["--dir", str(folder), *FEW, *quick]
    stream = run(probe, test, *words, prefix=["prlimit", f"--fsize={MIB}"])
    assert (stream.result.status, stream.code) == ("denied", 5)
    assert "File too large" in (stream.result.reason or "")
    assert "ulimit -f" in (stream.result.remedy or "")


@pytest.mark.parametrize("test", TESTS)
def test_space_that_becomes_short_stops_it(on_broken: Broken, test: str) -> None:
    stream = on_broken("space_goes", test, *LONG)
    assert stream.result.status == "failed"
    assert "ran short of space" in (stream.result.reason or "")


@pytest.mark.parametrize("test", TESTS)
def test_files_without_names_are_not_needed(on_broken: Broken, test: str) -> None:
    """Nothing of them is left: `on_broken` looks."""
    stream = on_broken("no_anonymous", test, *FEW)
    assert stream.result.status in ("measured", "failed"), stream.result.reason
    assert sum(counts(stream, "read" if test == PRI else "write").values()) >= 60


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("missing", "failed", "No such file"),
        ("file", "failed", "Not a directory"),
        ("n" * 190, "failed", "name too long"),
        ("/proc", "failed", "the kernel's own"),
    ],
)
def test_a_folder_that_is_none_is_told(
    probe: Path, folder: Path, name: str, status: str, reason: str
) -> None:
    (folder / "file").touch()
    stream = run(probe, SYN, "--dir", str(folder / name), *FEW)
    assert (stream.result.status, stream.code) == (status, 3)
    assert reason in (stream.result.reason or "")
    assert "--dir" in (stream.result.remedy or "")


@machine.needs(machine.no_other_user())
def test_a_folder_that_cannot_be_written_is_denied(probe: Path, folder: Path) -> None:
    folder.chmod(0o555)
    for part in folder.parents:
        if part.stat().st_uid == os.getuid() and part.name.startswith(("pytest", "test", "popen")):
            part.chmod(0o755)
    words = ["--dir", str(folder), "--policy", "other", *FEW]
    stream = run(probe, SYN, *words, prefix=machine.as_nobody())
    assert (stream.result.status, stream.code) == ("denied", 5)
    assert "Permission denied" in (stream.result.reason or "")


def test_a_small_file_system_in_memory_is_said_and_never_filled(
    probe: Path, quick: list[str], mounted: Path
) -> None:
    words = ["--dir", str(mounted), *quick]
    stream = run(probe, SYN, *FEW, *words)
    assert "figures of synchronisation mean nothing" in stream.events["file_in_memory"].text
    assert "in memory" in stream.events["synchronised_not_checked"].text
    assert "file_flush" not in stream.events
    with measuring(probe, STR, *LONG, *words) as running:
        lowest = watch_space(running, mounted)
        stream = running.stopped()
    assert stream.result.status == "measured"
    assert lowest >= 256 * MIB
    assert int(str(data(stream, "streamed")["buffered"]["bytes"])) > 0


def watch_space(running: Running, place: Path) -> int:
    """The least that was free in a second of measuring."""
    measuring_for = time.monotonic() + 1
    lowest = 1 << 60
    while time.monotonic() < measuring_for and running.process.poll() is None:
        facts = os.statvfs(place)
        lowest = min(lowest, facts.f_bavail * facts.f_frsize)
        time.sleep(0.002)
    return lowest


def test_the_load_writes_to_the_same_folder(probe: Path, quick: list[str], folder: Path) -> None:
    def files() -> set[str]:
        """Open files of all processes in the folder, with or without names."""
        found = set()
        for path in Path("/proc").glob("[0-9]*/fd/*"):
            with suppress(OSError):  # it has ended meanwhile
                found.add(str(path.readlink()))
        return {one for one in found if one.startswith(f"{folder}/")}

    words = ["--load", "disk=10ms/100ms", "--dir", str(folder), *quick]
    with measuring(probe, SYN, *LONG, *words) as running:
        measuring_thread(running.pid)  # the preparation opens files too, for a moment
        wait_until(lambda: len(files()) >= 2)
        running.stopped()
    assert not list(folder.iterdir())
