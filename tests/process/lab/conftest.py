from __future__ import annotations

from pathlib import Path

import pytest

from tests.process.lab.made_up_archive import MadeUpArchive
from tests.process.lab.made_up_lab import MadeUpLab


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpArchive:
    """Debian's archive, as the made-up apt sees it."""
    made = MadeUpArchive(tmp_path / "archive")
    made.stand_in(monkeypatch)
    return made


@pytest.fixture
def made_up_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpLab:
    """A lab whose QEMU boots nothing."""
    made = MadeUpLab(tmp_path / "made-up-lab")
    made.stand_in(monkeypatch)
    return made
