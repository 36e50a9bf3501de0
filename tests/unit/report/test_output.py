"""Where a report may be written, and what is kept from one report to the next."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.cli.report import default_report, write_report
from hardstone.comparison.page import write_compare
from hardstone.comparison.sheet import write_compare_pdf
from hardstone.errors import EXIT_USAGE, InputError
from hardstone.model import RunDocument
from hardstone.report import page_frame
from hardstone.report.page import write_html
from hardstone.report.page_frame import own_cache
from hardstone.report.pdf import write_pdf
from tests.unit.comparison.compared import two_systems
from tests.unit.report import sample
from tests.unit.report.media import Sketches, no_descriptor
from tests.unit.stats import make


@pytest.fixture(scope="module")
def small() -> RunDocument:
    document = sample.document(count=200)
    document.results = document.results[:2]
    return document


# Never in the place of anything but a regular file


def folder(place: Path) -> Path:
    (place / "folder").mkdir()
    return place / "folder"


def fifo(place: Path) -> Path:
    os.mkfifo(place / "fifo")
    return place / "fifo"


def link_to_fifo(place: Path) -> Path:
    fifo(place)
    (place / "link").symlink_to("fifo")
    return place / "link"


@pytest.mark.parametrize("made", [folder, fifo, link_to_fifo])
def test_what_is_no_regular_file_is_refused_and_stays(
    tmp_path: Path, small: RunDocument, made: Callable[[Path], Path]
) -> None:
    path = made(tmp_path)
    before = {one: one.lstat().st_mode for one in tmp_path.iterdir()}
    check_refused(small, path)
    assert {one: one.lstat().st_mode for one in tmp_path.iterdir()} == before


def check_refused(document: RunDocument, path: Path) -> None:
    with pytest.raises(InputError, match="not a regular file") as caught:
        write_html(document, path, bundle=lambda: None)
    assert caught.value.exit_code == EXIT_USAGE and "-o" in caught.value.remedy


def test_a_pipe_without_a_path_is_refused(small: RunDocument) -> None:
    reader, writer = os.pipe()
    try:
        check_refused(small, Path(f"/proc/self/fd/{writer}"))
    finally:
        os.close(reader)
        os.close(writer)


def test_what_becomes_special_while_the_page_is_made_stays(
    tmp_path: Path, small: RunDocument
) -> None:
    path = tmp_path / "report.html"
    with pytest.raises(InputError, match="not a regular file"):
        write_html(small, path, bundle=lambda: os.mkfifo(path))
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_ISFIFO(path.lstat().st_mode)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_written_through(tmp_path: Path, small: RunDocument, is_there: bool) -> None:
    target, link, second = folder(tmp_path) / "real", tmp_path / "link", tmp_path / "second"
    if is_there:
        target.write_text("old")
    link.symlink_to("folder/real")
    second.symlink_to(link)
    write_html(small, second, bundle=lambda: None)
    assert second.is_symlink() and link.is_symlink() and not target.is_symlink()
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert [one.name for one in target.parent.iterdir()] == ["real"]


WRITERS: dict[str, Callable[[Path], None]] = {
    "page": lambda path: write_html(make.document(), path, bundle=lambda: None, drawer=Sketches()),
    "paper": lambda path: write_pdf(make.document(), path, no_descriptor, drawer=Sketches()),
    "comparison": lambda path: write_compare(two_systems(), path, bundle=lambda: None),
    "comparison on paper": lambda path: write_compare_pdf(two_systems(), path, drawer=Sketches()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    path = tmp_path / "report"
    path.write_text("before")
    WRITERS[name](path)
    assert path.read_bytes()[:5] in (b"<!doc", b"%PDF-")
    with pytest.raises(InputError, match="not a regular file"):
        WRITERS[name](tmp_path)
    with pytest.raises((InputError, OSError)):
        WRITERS[name](tmp_path / "missing" / "report")
    assert [one.name for one in tmp_path.iterdir()] == ["report"]


def test_links_in_a_ring_are_refused(tmp_path: Path, small: RunDocument) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError):
        write_report(small, tmp_path / "a", None)
    assert (tmp_path / "a").is_symlink()


def test_a_named_place_without_a_folder_is_refused(tmp_path: Path, small: RunDocument) -> None:
    path = tmp_path / "no" / "such" / "report.html"
    with pytest.raises(InputError, match="there is no folder") as caught:
        write_report(small, path, None)
    assert caught.value.remedy == f"mkdir -p {path.parent}"
    assert caught.value.exit_code == EXIT_USAGE
    assert list(tmp_path.iterdir()) == []


def test_the_place_that_nobody_named_is_made(tmp_path: Path, small: RunDocument) -> None:
    path = default_report(tmp_path / "store", "run")
    write_report(small, path, None)
    assert path == tmp_path / "store" / "reports" / "run.html" and path.is_file()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        write_report(small, default_report(tmp_path / "file", "run"), None)


# Kept scripts


class Build:
    """Builds a script that is long enough to be believed, and counts how often."""

    count = 0

    def __call__(self) -> str:
        self.count += 1
        return "x" * 200_000


def test_the_scripts_are_built_once(tmp_path: Path) -> None:
    build = Build()
    first = page_frame.load_bundle(tmp_path / "cache", build)
    assert page_frame.load_bundle(tmp_path / "cache", build) == first
    assert build.count == 1 and len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("harm", ["truncate", "change", "empty"])
def test_kept_scripts_that_were_changed_are_built_again(tmp_path: Path, harm: str) -> None:
    build = Build()
    page_frame.load_bundle(tmp_path, build)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    path.write_bytes({"truncate": data[:-5], "change": data[:-1] + b"y", "empty": b""}[harm])
    assert page_frame.load_bundle(tmp_path, build) == "x" * 200_000
    assert build.count == 2 and path.read_bytes() == data


def test_a_cache_or_a_script_that_cannot_be_made_costs_only_time_or_motion(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    build = Build()
    assert page_frame.load_bundle(tmp_path / "file" / "cache", build) and build.count == 1
    assert page_frame.load_bundle(tmp_path, lambda: None) is None


def test_the_cache_is_where_the_desktop_keeps_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/me")
    assert own_cache() == Path("/var/cache/me/hardstone")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert own_cache() == Path("/home/me/.cache/hardstone")
