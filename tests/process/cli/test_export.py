"""`hardstone export`: where it writes, what it refuses, and what it says."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hardstone.cli.export import command
from hardstone.cli.main import SUMMARIES
from hardstone.exporters.registry import EXPORTERS, Exporter, find_exporter
from hardstone.store.documents import write_document
from hardstone.store.place import Place
from tests.process.cli.conftest import Done, Hardstone
from tests.process.cli.forked import Forked
from tests.unit.stats import make

ROOT = Path(__file__).parents[3]
ONE, OTHER, WRONG = (f"202611{day}T032200Z-1a2b3c" for day in (21, 22, 23))
TABLES = {"csv", "parquet"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A run, another one under two conditions, and one that contradicts itself."""
    place = tmp_path / "store"
    place.mkdir()
    wrong = make.result("SEM-P-SIG")
    wrong.series[0].count = 9
    results = {
        ONE: [
            make.result(values=range(1000, 3000)),
            make.result("SEM-P-SIG", status="denied", series=[]),
        ],
        OTHER: [make.result(values=[5000, 6000])],
        WRONG: [make.result(), wrong],
    }
    for run_id, found in results.items():
        write_document(Place(place), make.document(run_id=run_id, name=run_id, results=found))
    return place


def export(hardstone: Hardstone, store: Path, *words: object) -> Done:
    return hardstone("export", *words, "--store", store)


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda one: one.name)
def test_each_format_is_written_to_a_file_of_its_suffix(
    hardstone: Hardstone, store: Path, tmp_path: Path, exporter: Exporter
) -> None:
    if exporter.library:
        pytest.importorskip(exporter.library, reason=f"{exporter.library} is not installed")
    output = tmp_path / f"run{exporter.suffixes[0]}"
    output.write_text("before")
    assert find_exporter(None, output) is exporter
    done = export(hardstone, store, ONE, "-o", output)
    if exporter.name == "perfetto":  # the run has no trace
        return
    assert done.code == 0 and done.out == "" and f"{exporter.name}: {output}" in done.err
    assert output.read_bytes() not in (b"before", b"")
    assert {path.name for path in tmp_path.iterdir()} == {"store", output.name}


def test_what_is_binary_goes_to_a_pipe_and_to_no_terminal(
    hardstone: Hardstone, store: Path
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    words = ("export", ONE, "--format", "parquet", "--store", store)
    done = hardstone(*words)
    assert done.code == 0 and done.out.startswith("PAR1") and done.out.endswith("PAR1")
    ours, theirs = pty.openpty()
    with Forked(*words, out=theirs) as tool:
        assert tool.wait() == 2
        assert "parquet is binary, and standard output is a terminal" in tool.err
    os.close(ours)
    os.close(theirs)


def test_a_link_is_followed_and_a_folder_refused(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    file, link = tmp_path / "file.csv", tmp_path / "link.csv"
    file.write_text("before")
    link.symlink_to(file)
    assert export(hardstone, store, ONE, "-o", link).code == 0
    assert link.is_symlink() and file.read_text().startswith("run,")
    (tmp_path / "folder.csv").mkdir()
    done = export(hardstone, store, ONE, "-o", tmp_path / "folder.csv")
    assert done.code == 2 and "is not a regular file" in done.err
    done = export(hardstone, store, ONE, "-o", tmp_path / "none" / "run.csv")
    assert done.code == 2 and "there is no folder" in done.err


def test_several_runs_are_one_table(hardstone: Hardstone, store: Path) -> None:
    done = export(hardstone, store, ONE, OTHER, "--format", "csv", "--test", "TMR-*")
    runs = [line.partition(",")[0] for line in done.out.splitlines()[1:]]
    assert list(dict.fromkeys(runs)) == [ONE, OTHER]
    for exporter in EXPORTERS:
        if not exporter.takes_several:
            done = export(hardstone, store, ONE, OTHER, "--format", exporter.name)
            assert done.code == 2 and "takes one run, and 2 are named; name one" in done.err
    assert {one.name for one in EXPORTERS if one.takes_several} >= TABLES


def test_what_a_format_cannot_say_is_told_but_not_to_the_quiet(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    output = tmp_path / "run.hist"
    done = export(hardstone, store, ONE, "-o", output)
    assert "columns, by the number of the thread: 0: TMR-P-LAT/total/wakeup" in done.err
    quiet = export(hardstone, store, ONE, "-o", output, "--quiet")
    assert quiet.code == 0 and quiet.out == quiet.err == ""


@pytest.mark.parametrize(("name", "library"), [("parquet", "pyarrow"), ("hdr", "hdrh")])
def test_a_missing_library_is_told_with_the_command_that_brings_it(
    hardstone: Hardstone, store: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    done = export(hardstone, store, ONE, "--format", name)
    assert done.code == 5 and done.out == "" and done.err.count("\n") == 1
    assert f"{name} needs the library {library}, which is not installed" in done.err
    assert f"install it: pip install 'hardstone[{name}]'" in done.err


def test_each_format_is_in_the_help_and_on_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "export-results.md").read_text()
    rows = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| `")}
    assert {f"`{one.name}`" for one in EXPORTERS} <= rows
    completed = command.params[1].shell_complete(click.Context(command), "c")
    assert [one.value for one in completed] == ["csv", "cyclictest"] and completed[0].help
    several = [one.name for one in EXPORTERS if one.takes_several]
    assert f"the format allows: {', '.join(several)}" in " ".join((command.help or "").split())
    suffixes = [suffix for one in EXPORTERS for suffix in one.suffixes]
    assert len(suffixes) == len(set(suffixes)) and "export" in SUMMARIES


def test_the_list_of_commands_loads_no_format() -> None:
    code = (
        "import sys; from hardstone.cli.main import run; run(['--help']); "
        "assert not [name for name in sys.modules if 'exporters' in name or 'pyarrow' in name]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
