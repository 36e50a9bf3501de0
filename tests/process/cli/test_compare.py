"""`hardstone compare`: its systems, its document and its file. What it prints and what is wrong
usage is in golden/compare.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import EXIT_OK
from hardstone.model import Conditions
from hardstone.store.documents import write_document
from hardstone.store.place import Place
from tests.process.cli.conftest import Done, Hardstone
from tests.unit.comparison.compared import made_run
from tests.unit.stats import make

FIRST, SECOND, BOTH = (
    "20261125T200100Z-000001",
    "20261125T200200Z-000002",
    "20261126T010000Z-0000ff",
)
STUDY = ("published:qnx", "published:ce7", "published:linux-rt")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs under heavy load, and one under two loads and two CPU configurations."""
    folder = tmp_path_factory.mktemp("compare") / "store"
    (folder / "runs").mkdir(parents=True)
    place = Place(folder)
    for number in (1, 2):
        write_document(place, made_run(number).document)
    results = [
        make.result(
            conditions=Conditions(load=load, cpu_config=config, policy="fifo", realtime=True)
        )
        for load in ("none", "heavy")
        for config in ("shared", "shielded")
    ]
    write_document(place, make.document(run_id=BOTH, name="both", results=results))
    return folder


def labels(done: Done) -> list[str]:
    assert done.code == EXIT_OK, done.err
    return [one["label"] for one in done.document["systems"]]


def test_a_run_is_a_system_for_each_condition(hardstone: Hardstone, store: Path) -> None:
    command = ("compare", "both", "--json", "--store", store)
    assert len(labels(hardstone(*command))) == 4
    heavy = labels(hardstone(*command, "--load", "heavy"))
    assert heavy == ["both, heavy, shared", "both, heavy, shielded"]
    done = hardstone(*command, "published:qnx", "--load", "heavy", "--cpu-config", "shielded")
    assert labels(done) == ["both, heavy, shielded", "QNX Neutrino 6.5 (patch 2530)"]


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ("1", 0),
        ("3", 2),
        ("published:qnx", 1),
        (SECOND, 2),
        (SECOND[:16], 2),
        ("board 2", 2),
        ("published:q", 1),
    ],
)
def test_the_reference_has_a_number_or_a_name(
    hardstone: Hardstone, store: Path, reference: str, place: int
) -> None:
    command = ("compare", FIRST, "published:qnx", "board 2", "--json", "--store", store)
    assert hardstone(*command, "--reference", reference).document["reference"] == place


def test_a_published_system_has_the_load_of_the_reference(
    hardstone: Hardstone, store: Path
) -> None:
    def load(*more: str) -> str:
        command = ("compare", "both", "published:lynx", "--cpu-config", "shared", "--json")
        done = hardstone(*command, "--store", store, *more)
        return str(done.document["systems"][-1]["conditions"]["load"])

    assert load("--load", "none") == "none" and load("--load", "heavy") == "heavy"
    assert (load(), load("--reference", "2")) == ("none", "heavy")
    assert load("--reference", "both, heavy, shared") == "heavy"


def test_the_report_goes_where_it_was_asked(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    place = tmp_path / "c.html"
    done = hardstone("compare", FIRST, "published:qnx", "--store", store, "-o", place)
    assert done.code == EXIT_OK and done.told == [f"hardstone: comparison: {place}"]
    assert "QNX Neutrino 6.5" in place.read_text() and done.out.startswith("2 systems")
