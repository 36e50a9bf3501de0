from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.store import Store, new_run_id
from hardstone.store.place import default_root, is_run_id


def test_a_run_id_is_its_time_in_utc_and_some_chance() -> None:
    at = datetime(2026, 11, 21, 3, 22, tzinfo=UTC)
    assert re.fullmatch(r"20261121T032200Z-[0-9a-f]{6}", new_run_id(at))
    assert new_run_id(at) != new_run_id(at)
    assert new_run_id(at) < new_run_id(at + timedelta(seconds=1))
    assert is_run_id(new_run_id())


@pytest.mark.parametrize("text", ["", "last", "../etc", "20261121T032200Z-1a2b3c/..", "a\n"])
def test_what_is_no_run_id_is_never_a_file_name(text: str, store: Store) -> None:
    assert not is_run_id(text)
    with pytest.raises(InputError):
        store.path_of(text)


def test_the_default_place_is_that_of_the_desktop(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_root() == tmp_path / "hardstone"
    assert Store().path == tmp_path / "hardstone"


@pytest.mark.parametrize("value", ["", "relative"])
def test_without_a_valid_variable_it_is_below_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_root() == tmp_path / ".local/share/hardstone"


def test_a_file_in_the_way_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(InputError) as caught:
        Store(tmp_path / "store")
    assert str(tmp_path / "store") in caught.value.cause
    assert "--store DIR" in caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_file_among_the_parents_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/store: Not a directory"):
        Store(tmp_path / "file" / "store")
