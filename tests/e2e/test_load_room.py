"""A load leaves room to others: memory within its control group, and what stress-ng takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e import machine
from tests.e2e.loads import elements, events, loading, once, used_bytes, wait_until

pytestmark = pytest.mark.e2e

MIB = 2**20
CPU = str(machine.cpu())
ABOVE = {"hs-load-guard", "hs-load-keeper", "hardstone-probe"}
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
        assert wait_until(lambda: used_bytes(mounted) > MIB)
        wait_until(lambda: running.marked.named("stress-ng") == [] and used_bytes(mounted) == 0)
        assert set(running.marked.all().values()) <= ABOVE
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.stdin = None
        told = running.end()
    texts = [line["text"] for line in told if line.get("name", "").startswith("load_")]
    assert any("stress-ng: was ended since too little free space" in text for text in texts)
    assert any("stress-ng: 1 of 1 processes ended" in text for text in texts)
    assert list(mounted.iterdir()) == []
