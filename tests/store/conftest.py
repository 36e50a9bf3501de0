from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.store import Store, backing


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stands for /dev/shm, and must be empty in the end."""
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(backing, "MEMORY_FOLDER", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
