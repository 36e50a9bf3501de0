"""hardstone import: files of other tools become runs; and such a file in place of a run. What the
command prints is in golden."""

from __future__ import annotations

import io
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNTRUSTWORTHY, EXIT_USAGE
from hardstone.model import RunDocument
from hardstone.store.store import Store
from tests.process.cli.conftest import Hardstone
from tests.process.cli.forked import Forked
from tests.process.cli.test_looking import keep
from tests.unit.stats import make
from tests.waiting import wait_until

SAMPLES = Path(__file__).parents[2] / "samples"
JSON, TEXT = SAMPLES / "cyclictest-hist.json", SAMPLES / "cyclictest-histfile.txt"
NOTHING = SAMPLES / "qemu-uname.stdout"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a file."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copyfile(JSON, folder / "c.json")
    monkeypatch.chdir(folder)
    yield folder


def stored(store: Path) -> list[RunDocument]:
    opened = Store(store)
    return [opened.load(one.id) for one in opened.runs()]


def test_each_file_becomes_a_run(hardstone: Hardstone, store: Path) -> None:
    done = hardstone("import", JSON, TEXT, "-q", "--store", store)
    assert done.code == EXIT_OK and not done.err
    first, second = stored(store)
    assert done.out.split() == [first.id, second.id]  # "last" is the last file
    assert [first.name, second.name] == ["cyclictest-hist", "cyclictest-histfile"]
    assert sum(series.count for one in (first, second) for series in one.results[0].series) == (
        2 * 15_793 + 7985 + 7975
    )


def test_the_same_file_is_stored_once(hardstone: Hardstone, store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    shutil.copyfile(JSON, copy)
    done = hardstone("import", JSON, copy, "--store", store)
    (run,) = stored(store)
    assert done.code == EXIT_OK and f"copy.json is stored already as {run.id}" in done.err
    again = hardstone("import", JSON, "--store", store, "--json")
    assert again.code == EXIT_OK and again.document["id"] == run.id
    assert len(stored(store)) == 1


def test_standard_input_is_a_file(
    hardstone: Hardstone, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.read_bytes())))
    assert hardstone("import", "-", "--store", store).code == EXIT_OK
    (run,) = stored(store)
    assert run.name == "standard input" and run.imported is not None
    assert any(loss.what == "time" for loss in run.imported.losses)


def test_json_has_one_run_or_all(hardstone: Hardstone, store: Path) -> None:
    assert hardstone("import", JSON, "--json", "--store", store).document["schema"] == (
        "hardstone.run/1"
    )
    both = hardstone("import", TEXT, NOTHING, "--json", "--store", store)
    assert both.code == EXIT_USAGE
    assert [one["name"] for one in both.document["runs"]] == ["cyclictest-histfile"]
    (refused,) = both.document["not_run"]
    assert refused["target"] == str(NOTHING) and refused["exit_code"] == EXIT_USAGE


def test_contradictions_of_a_file_are_told(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(JSON.read_text().replace('"cycles": 15793', '"cycles": 15000'))
    done = hardstone("import", wrong, "--store", store)
    assert "! TMR-P-LAT wakeup [cpu 0, part total]" in done.out and "untrustworthy" in done.out
    assert hardstone("show", "wrong", "--store", store).code == EXIT_UNTRUSTWORTHY


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_imported(store: Path) -> None:
    begin, end = os.pipe()
    with Forked("import", JSON, "-", "--store", store, before=lambda: os.dup2(begin, 0)) as child:
        wait_until(lambda: any(store.glob("runs/*.json.gz")), "the first file is not stored")
        child.send(signal.SIGINT)
        assert child.wait() == EXIT_INTERRUPTED
    os.close(begin)
    os.close(end)
    assert [one.name for one in stored(store)] == ["cyclictest-hist"]


def test_a_file_is_looked_at_without_storing_it(
    hardstone: Hardstone, store: Path, here: Path
) -> None:
    for word in ("c.json", "./c.json", str(here / "c.json")):
        document = hardstone("show", word, "--json", "--store", store).document
        assert document["imported"]["tool"] == "cyclictest"
        assert document["id"] == (word if "/" in word else "./c.json")
    assert not stored(store)


def test_a_run_goes_before_a_file_of_its_name(
    hardstone: Hardstone, store: Path, here: Path
) -> None:
    keep(store, make.document(name="c.json"))
    assert hardstone("show", "c.json", "--json", "--store", store).document["imported"] is None
    assert hardstone("show", "./c.json", "--json", "--store", store).document["imported"]


def test_a_run_document_is_a_file_too(hardstone: Hardstone, store: Path, here: Path) -> None:
    run_id = keep(store, make.document(name="own"))
    shutil.copyfile(store / "runs" / f"{run_id}.json.gz", here / "own.json.gz")
    found = hardstone("show", "./own.json.gz", "--json", "--store", here / "other").document
    assert found["id"] == run_id and found["name"] == "own"


@pytest.mark.slow
def test_files_are_compared_and_reported(hardstone: Hardstone, store: Path, here: Path) -> None:
    keep(store, make.document(name="own"))
    done = hardstone("compare", "./c.json", TEXT, "last", "--json", "--store", store)
    assert done.code == EXIT_OK
    assert [one["id"] for one in done.document["systems"]][:2] == ["./c.json", str(TEXT)]
    report = hardstone("report", "./c.json", "--store", store)
    assert report.code == EXIT_OK and (store / "reports" / "c.json.html").is_file()


def test_commands_that_change_runs_take_no_file(
    hardstone: Hardstone, store: Path, here: Path
) -> None:
    keep(store, make.document(name="own"))
    done = hardstone("runs", "remove", "c.json", "--yes", "--store", store)
    assert done.code == EXIT_USAGE and (here / "c.json").exists()
    assert len(stored(store)) == 1
