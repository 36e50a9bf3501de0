from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.made_up_archive import MadeUpArchive


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpArchive:
    """Debian's archive, as the made-up apt sees it."""
    made = MadeUpArchive(tmp_path / "archive")
    made.stand_in(monkeypatch)
    return made
