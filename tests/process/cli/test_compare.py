"""`hardstone compare`: what is typed, what is written, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY, EXIT_USAGE
from hardstone.model import Conditions
from hardstone.schema import schema_texts
from hardstone.store.documents import write_document
from hardstone.store.place import Place
from tests.process.cli.conftest import Done
from tests.unit.present.compared import made_run
from tests.unit.stats import make

Hardstone = Callable[..., Done]
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


def test_a_run_beside_published_systems(hardstone: Hardstone, store: Path) -> None:
    done = hardstone("compare", FIRST, *STUDY, "--store", store)
    assert done.code == EXIT_OK and done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "4 systems; 1 is the reference: board 1" and len(lines) <= 37
    assert "QNX Neutrino 6.5" in done.out and "<=5" in done.out


def test_published_systems_alone(hardstone: Hardstone, store: Path) -> None:
    assert hardstone("compare", *STUDY, "--store", store).code == EXIT_OK


def test_a_run_is_a_system_for_each_condition(hardstone: Hardstone, store: Path) -> None:
    command = ("compare", "both", "--json", "--store", store)
    assert len(labels(hardstone(*command))) == 4
    heavy = labels(hardstone(*command, "--load", "heavy"))
    assert heavy == ["both, heavy, shared", "both, heavy, shielded"]
    done = hardstone(*command, "published:qnx", "--load", "heavy", "--cpu-config", "shielded")
    assert labels(done) == ["both, heavy, shielded", "QNX Neutrino 6.5 (patch 2530)"]


def test_the_json_document_is_as_its_schema_says(hardstone: Hardstone, store: Path) -> None:
    done = hardstone("compare", FIRST, SECOND, *STUDY, "--json", "--store", store)
    text = schema_texts()["hardstone.comparison-1.schema.json"]
    Draft202012Validator(msgspec.json.decode(text)).validate(done.document)
    assert done.document["reference"] == 0


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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([FIRST], "a comparison needs at least two systems"),
        ([FIRST, "published:vxworks"], "no study has a system 'vxworks'"),
        ([FIRST, "nobody"], "nobody"),
        ([FIRST, "board 1"], f"run {FIRST} is named twice"),
        (["published:qnx", "published:qnx"], "is named twice"),
        ([FIRST, SECOND, "--reference", "0"], "no system '0'"),
        ([FIRST, SECOND, "--reference", "3"], "no system '3'"),
        ([FIRST, SECOND, "--reference", ""], "no system ''"),
        ([FIRST, SECOND, "--reference", "2026"], "no system '2026'"),
        (["both", "--load", "storm"], f"run {BOTH} has nothing under load storm"),
        (["both", "--cpu-config", "single"], "nothing under CPU configuration single"),
        ([FIRST, SECOND, "--json", "-o", "x.html"], "--json prints the comparison"),
        ([], "Missing argument 'SYSTEM...'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    hardstone: Hardstone, store: Path, words: list[str], told: str
) -> None:
    done = hardstone("compare", *words, "--store", store)
    assert done.code == EXIT_USAGE and done.out == ""
    assert len(done.told) == 1 and told in done.told[0]


def test_too_many_systems_are_refused_with_what_to_do(hardstone: Hardstone, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for number in range(1, 22):
        write_document(Place(tmp_path), made_run(number).document)
    runs = [f"board {number}" for number in range(1, 22)]
    done = hardstone("compare", *runs, "--store", tmp_path)
    assert done.code == EXIT_USAGE and "--load" in done.err
    done = hardstone("compare", *runs[:20], "--store", tmp_path)
    assert done.code == EXIT_OK and len(done.out.splitlines()) <= 37


def test_figures_that_contradict_each_other_end_with_3(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    wrong = make.series([1, 2, 3])
    wrong.count = 9
    write_document(Place(tmp_path), make.document(results=[make.result(series=[wrong])]))
    done = hardstone("compare", "last", "published:qnx", "--store", tmp_path)
    assert done.code == EXIT_UNTRUSTWORTHY
    assert "not trustworthy" in done.out and "contradict" in done.err


def test_the_report_goes_where_it_was_asked(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    place = tmp_path / "c.html"
    done = hardstone("compare", FIRST, "published:qnx", "--store", store, "-o", place)
    assert done.code == EXIT_OK and done.told == [f"hardstone: comparison: {place}"]
    assert "QNX Neutrino 6.5" in place.read_text() and done.out.startswith("2 systems")


def test_a_report_that_cannot_be_written_is_said_before_anything_is_drawn(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    done = hardstone("compare", FIRST, SECOND, "--store", store, "-o", tmp_path / "no" / "c.html")
    assert done.code == EXIT_USAGE and "there is no folder" in done.err and done.out == ""
