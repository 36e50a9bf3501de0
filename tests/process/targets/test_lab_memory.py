"""The recording of a guest: memory that is larger than what the probe keeps in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hardstone.errors import TargetError
from hardstone.targets.find import find_probe
from hardstone.targets.lab import LabMemory

BYTES = 1 << 26


@pytest.fixture
def probe() -> Path:
    try:
        return find_probe()
    except TargetError as error:
        pytest.skip(str(error))


def record(probe: Path, backing: str) -> subprocess.CompletedProcess[bytes]:
    arguments = ["run", "CLK-B-RES", "--samples", "1000", "--json", "--backing", backing]
    return subprocess.run([probe, *arguments], capture_output=True, timeout=120, check=False)


def test_memory_that_is_there_is_recorded_into_and_read_back(tmp_path: Path, probe: Path) -> None:
    path = tmp_path / "recording"
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate(BYTES)
    sent = record(probe, f"memory:{path}").stdout
    assert path.stat().st_size == BYTES
    dumped = subprocess.run([probe, "dump", path], capture_output=True, timeout=60, check=True)
    series = [line for line in sent.splitlines() if line.startswith(b'{"type":"series"')]
    assert series
    assert set(series) <= set(dumped.stdout.splitlines())


def test_a_copy_has_what_the_probe_keeps_and_no_more(tmp_path: Path) -> None:
    run, journal = "20260101T000000Z-abcdef", tmp_path / "store" / "journals" / "run"
    journal.mkdir(parents=True)
    memory = LabMemory(run, journal)
    path = Path(memory.path_for(1))
    kept = b"\1" * 8 + (100_000).to_bytes(8, "little") + bytes(range(256)) * 500
    path.write_bytes(kept)
    copied = memory.copy(str(path))
    assert copied is not None
    assert b"".join(copied) == kept[:100_000]
    path.write_bytes(bytes(BYTES))
    empty = memory.copy(str(path))
    assert empty is not None
    assert b"".join(empty) == b""
    memory.remove()


@pytest.mark.parametrize("is_there", [True, False])
def test_memory_that_is_too_small_or_missing_is_told(
    tmp_path: Path, probe: Path, is_there: bool
) -> None:
    path = tmp_path / "recording"
    if is_there:
        path.write_bytes(bytes(4096))
    done = record(probe, f"memory:{path}")
    assert done.returncode == 3
    reason = "File too large" if is_there else "No such file"
    assert reason.encode() in done.stdout + done.stderr
    assert path.exists() == is_there
