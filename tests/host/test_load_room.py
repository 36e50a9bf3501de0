"""A load leaves room to others: memory within its control group, and what stress-ng takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests import machine
from tests.host.loads import (
    elements,
    events,
    load_in_places_of_its_own,
    loading,
    once,
    used_bytes,
)
from tests.waiting import wait_until

MIB = 2**20
CPU = str(machine.cpu())
MEMORY = Path("/sys/fs/cgroup/memory")


@pytest.fixture(params=[16, 64])
def small_group(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A group of so many MiB of the memory controller, version 1, below the own one."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = [line.split(":", 2)[2] for line in lines if line.split(":")[1] == "memory"]
    if os.geteuid() != 0 or not own:
        pytest.skip("only root can make a memory group, of version 1")
    group = MEMORY / own[0].lstrip("/") / f"hardstone-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no memory group can be made here: {error}")
    try:
        (group / "memory.limit_in_bytes").write_text(str(request.param * MIB))
        with suppress(OSError):  # no such file without swap accounting
            (group / "memory.memsw.limit_in_bytes").write_text(str(request.param * MIB))
        yield group
    finally:
        wait_until(lambda: (group / "cgroup.procs").read_text() == "")
        group.rmdir()


def test_memory_keeps_within_its_group(probe: Path, small_group: Path, tmp_path: Path) -> None:
    """Whatever the machine has: half of the time at work, and nobody is killed."""
    prefix = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(small_group)]
    words = ("-D", "1", "--cpus", CPU)
    lines = once(probe, "memory=50ms/100ms", tmp_path, *words, prefix=prefix)
    assert elements(lines)["memory"]["counters"]["allocated_bytes"] > 64 * MIB  # in turn
    assert "load_ended_early" not in events(lines)
    kills = (small_group / "memory.oom_control").read_text().splitlines()
    assert [line for line in kills if line.startswith("oom_kill ")] == ["oom_kill 0"]
    assert int((small_group / "memory.max_usage_in_bytes").read_text()) < 15 * MIB


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_stress_ng_does_not_fill_a_disk(probe: Path, mounted: Path) -> None:
    """Eight files, each within the limit of a file, are too much together."""
    load = "stress-ng:--hdd 8 --hdd-bytes 900m"
    with loading(probe, load, mounted, "--cpus", CPU) as running:
        # how full it was is told below
        wait_until(lambda: running.have_all_ended() and used_bytes(mounted) == 0)
        told = running.stop()
    texts = [line["text"] for line in told if line.get("name", "").startswith("load_")]
    assert any("stress-ng: was ended because too little free space" in text for text in texts)
    assert any("stress-ng: 1 of 1 processes ended" in text for text in texts)
    assert list(mounted.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_kernel_and_build_write_nothing_where_there_is_no_room(probe: Path, mounted: Path) -> None:
    """Of the classes of kernel only those that take room are left out."""
    (mounted / "others").write_bytes(b"x" * (150 * MIB))
    before = used_bytes(mounted)
    lines = once(probe, "build+kernel", mounted, "-D", "1", "--cpus", CPU)
    kernel = elements(lines)["kernel"]["counters"]
    assert (kernel["copy_count"], kernel["fsync_count"]) == (0, 0)
    assert min(kernel["file_count"], kernel["map_count"], kernel["pipe_count"]) > 0
    assert elements(lines)["build"]["counters"]["jobs_count"] == 0
    limits = [line["text"] for line in lines if line.get("name") == "load_limited"]
    assert any(text.startswith("build: no files for the jobs") for text in limits)
    assert any("failed: No space left" in text for text in limits)
    assert used_bytes(mounted) == before


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


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="only root can hide folders, with unshare",
)
def test_search_stays_in_its_file_system(probe: Path) -> None:
    """Where all folders are made up there is one file of 100 bytes in the one of its own; those
    of another file system and behind a link have 7000."""
    lines = load_in_places_of_its_own(probe, PLACES, CPU)
    counters = elements(lines)["search"]["counters"]
    assert counters["files_count"] > 10
    assert abs(counters["read_bytes"] - 100 * counters["files_count"]) <= 100  # one being read
