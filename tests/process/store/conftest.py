from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.store.store import Store
from tests.process.store.faults import SmallDisk, mounted


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stands for /dev/shm, and must be empty in the end."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Room for a run, and little more."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with mounted(folder, "tmpfs", "size=6m"):
        yield SmallDisk(folder)
