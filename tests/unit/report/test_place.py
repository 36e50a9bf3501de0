"""Where a report may be written: never in the place of anything but a regular file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hardstone.cli.report_file import default_report, write_report
from hardstone.errors import EXIT_USAGE, InputError
from hardstone.model import RunDocument
from hardstone.report import write_html
from tests.unit.report import sample


@pytest.fixture(scope="module")
def small() -> RunDocument:
    document = sample.document(count=200)
    document.results = document.results[:2]
    return document


def write(document: RunDocument, path: Path) -> None:
    write_html(document, path, bundle=lambda: None)


def check_refused(document: RunDocument, path: Path) -> None:
    with pytest.raises(InputError, match="not a regular file") as caught:
        write(document, path)
    assert caught.value.exit_code == EXIT_USAGE
    assert "-o" in caught.value.remedy


def test_a_special_file_is_refused_and_stays(tmp_path: Path, small: RunDocument) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    check_refused(small, fifo)
    assert stat.S_ISFIFO(fifo.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [fifo]


def test_a_link_to_a_special_file_is_refused_and_stays(tmp_path: Path, small: RunDocument) -> None:
    fifo, link = tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to("fifo")
    check_refused(small, link)
    assert link.is_symlink()
    assert stat.S_ISFIFO(fifo.lstat().st_mode)


def test_a_pipe_without_a_path_is_refused(small: RunDocument) -> None:
    reader, writer = os.pipe()
    try:
        check_refused(small, Path(f"/proc/self/fd/{writer}"))
    finally:
        os.close(reader)
        os.close(writer)


def test_a_folder_is_refused(tmp_path: Path, small: RunDocument) -> None:
    (tmp_path / "folder").mkdir()
    check_refused(small, tmp_path / "folder")


def test_what_becomes_special_while_the_page_is_made_stays(
    tmp_path: Path, small: RunDocument
) -> None:
    path = tmp_path / "report.html"

    def meanwhile() -> None:
        os.mkfifo(path)

    with pytest.raises(InputError, match="not a regular file"):
        write_html(small, path, bundle=meanwhile)
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_ISFIFO(path.lstat().st_mode)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_written_through(tmp_path: Path, small: RunDocument, is_there: bool) -> None:
    (tmp_path / "other").mkdir()
    target, link, second = tmp_path / "other" / "real", tmp_path / "link", tmp_path / "second"
    if is_there:
        target.write_text("old")
    link.symlink_to("other/real")
    second.symlink_to(link)
    write(small, second)
    assert second.is_symlink() and link.is_symlink() and not target.is_symlink()
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert [one.name for one in (tmp_path / "other").iterdir()] == ["real"]


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
    assert path == tmp_path / "store" / "reports" / "run.html"
    assert path.is_file()


def test_a_default_place_that_cannot_be_made_is_said_on_writing(
    tmp_path: Path, small: RunDocument
) -> None:
    (tmp_path / "store").write_text("")
    path = default_report(tmp_path / "store", "run")
    with pytest.raises(InputError):
        write_report(small, path, None)
