"""`hardstone report`: PDF by the name of the file, and limits of the reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader

from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.store.documents import write_document
from hardstone.store.place import Place
from tests.process.cli.conftest import Done
from tests.unit.stats import make
from tests.unit.stats.tires import real_time

Hardstone = Callable[..., Done]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a run of TMR-P-LAT, and one before it of another test."""
    folder = tmp_path / "store"
    (folder / "runs").mkdir(parents=True)
    place = Place(folder)
    other = make.result("SEM-P-SIG", series=[make.series([1, 2])])
    write_document(place, make.document(run_id="20261120T032200Z-1a2b3c", results=[other]))
    latency = make.result(series=[make.series([10_000, 20_000, 300_000, 2_000_000])])
    write_document(place, make.document(results=[latency]))
    return folder


def test_a_name_that_ends_in_pdf_gets_pdf(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    place = tmp_path / "r.PDF"
    assert hardstone("report", "last", "--store", store, "-o", place).code == EXIT_OK
    assert "TMR-P-LAT" in PdfReader(place).pages[0].extract_text()


@pytest.mark.parametrize("name", ["r.html", "r.pdf"])
def test_limits_are_those_of_the_reader(
    hardstone: Hardstone, store: Path, tmp_path: Path, name: str
) -> None:
    limits = ("--limit", "150", "--limit", "1ms")
    place = tmp_path / name
    done = hardstone("report", "last", "--store", store, "-o", place, *limits)
    assert done.code == EXIT_OK
    if name.endswith("pdf"):
        text = " ".join(page.extract_text() for page in PdfReader(place).pages)
    else:
        text = place.read_text()
    assert "Above 150 us" in text and "Above 1 ms" in text and "Above 10 ms" not in text


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (["--limit", "soon"], "is not a duration"),
        (["--limit", "0"], "above zero"),
        ([one for n in range(1, 20) for one in ("--limit", str(n))], "at most 12"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(
    hardstone: Hardstone, store: Path, limits: list[str], words: str
) -> None:
    done = hardstone("report", "last", "--store", store, *limits)
    assert done.code == EXIT_USAGE and words in done.err


def test_a_run_without_latency_has_no_limits(hardstone: Hardstone, store: Path) -> None:
    done = hardstone("report", "20261120", "--store", store, "--limit", "5")
    assert done.code == EXIT_USAGE
    assert "the run has none" in done.err


def test_two_sweeps_stand_beside_each_other(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    for number in (1, 2):
        found = [real_time(n, missed=n // 800) for n in (400, 800, 1200, 1600)]
        run_id = f"2026112{number}T052200Z-1a2b3c"
        name = f"sweep{number}"
        write_document(Place(store), make.document(run_id=run_id, name=name, results=found))
    place = tmp_path / "r.html"
    asked = ("report", "sweep1", "--beside", "sweep2", "--store", store, "-o", place)
    assert hardstone(*asked).code == EXIT_OK
    assert "sweep1, fifo and sweep2, fifo" in place.read_text()
    done = hardstone("report", "sweep1", "--beside", "20260", "--store", store)
    assert done.code == EXIT_USAGE
    done = hardstone("report", "sweep1", "--beside", "20261120", "--store", store)
    assert done.code == EXIT_USAGE
    assert "20261120T032200Z-1a2b3c has none" in done.err


def test_files_are_written_beside_the_report(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    folder, page = tmp_path / "charts", tmp_path / "r.html"
    done = hardstone("report", "last", "--store", store, "-o", page, "--files", folder)
    assert done.code == EXIT_OK and page.exists()
    found = list(folder.iterdir())
    assert f"charts: {len(found)} files in {folder}" in done.err
    assert {".svg", ".png", ".csv"} == {one.suffix for one in found}


def test_a_folder_with_other_files_gets_no_charts(hardstone: Hardstone, store: Path) -> None:
    done = hardstone("report", "last", "--store", store, "-o", store / "r.html", "--files", store)
    assert done.code == EXIT_USAGE and "has other files" in done.err
    assert not {".svg", ".png", ".csv"} & {one.suffix for one in store.iterdir()}
