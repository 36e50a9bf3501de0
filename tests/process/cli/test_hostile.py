"""Every command that reads runs, on documents and stores that are damaged, contradict themselves or
are hostile."""

from __future__ import annotations

import os
import tempfile
import unicodedata
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

import hardstone as package
from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY, EXIT_USAGE
from hardstone.store.documents import encode_document
from tests.process.cli.bad_documents import (
    BAD,
    CONTRADICTORY,
    GOOD,
    LARGE,
    ODD,
    UNREADABLE,
    packed,
    put,
    whole,
)
from tests.process.cli.conftest import Done, Hardstone
from tests.process.store import odd
from tests.process.store.test_disk import nobody
from tests.unit.stats.make import document, result, series

BEFORE = b"what was there before"
VALUES = tuple(range(900, 2_900))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one sound run."""
    results = [
        result("TMR-P-LAT", VALUES),
        result("THR-P-SLS", series=[series(VALUES, "switch")]),
    ]
    good = encode_document(document(run_id=GOOD, name="good run", results=results))
    put(tmp_path / "store" / "runs" / f"{GOOD}.json.gz", good)
    return tmp_path / "store"


def bad(store: Path, content: bytes | None) -> Path:
    return put(store / "runs" / f"{BAD}.json.gz", content)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with a file that a command is asked to replace."""
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("page.html", "page.pdf", "limits.toml"):
        (folder / name).write_bytes(BEFORE)
    return folder


def commands(out: Path) -> dict[str, list[object]]:
    return {
        "compare": ["compare", GOOD, BAD],
        "compare, page": ["compare", GOOD, BAD, "-o", out / "page.html"],
        "compare, PDF": ["compare", BAD, "published:qnx", "-o", out / "page.pdf"],
        "compare, files": ["compare", GOOD, BAD, "--files", out / "files"],
        "compare, JSON": ["compare", BAD, "published:qnx", "--json"],
        "gate": ["gate", BAD, "--baseline", GOOD],
        "gate, baseline": ["gate", GOOD, "--baseline", BAD],
        "gate, suggest": ["gate", BAD, "--suggest", "-o", out / "limits.toml"],
        "show": ["show", BAD],
        "show, why": ["show", BAD, "--why"],
        "report": ["report", BAD, "-o", out / "page.html"],
        "export, CSV": ["export", BAD, "--format", "csv"],
        "export, metrics": ["export", BAD, "--format", "openmetrics"],
        "export, log": ["export", BAD, "--format", "hdr"],
        "export, cyclictest": ["export", BAD, "--format", "cyclictest", "--test", "TMR-P-LAT"],
    }


DRAWING = {"compare, page", "compare, PDF", "compare, files", "report"}  # for some seconds


def quick_commands(kind: str, out: Path) -> dict[str, list[object]]:
    """Of what can be read: those that draw nothing, and the pages for one of each kind."""
    left_out = DRAWING - ({"compare, page", "report"} if kind in DRAWN else set())
    found = commands(out)
    names = {"compare", "show"} if kind in LARGE else found.keys() - left_out
    return {name: found[name] for name in names}


DRAWN = {"markup", "counts that do not add up"}


def check_words(done: Done) -> None:
    """Nothing internal, and nothing that steers a terminal, in what was printed."""
    assert "internal error" not in done.err and "Traceback" not in done.err, done.err
    for text in (done.out, done.err):
        kinds = {char: unicodedata.category(char) for char in set(text) - {"\n"}}
        assert not [char for char, kind in kinds.items() if kind in ("Cc", "Cf", "Cs")]
        assert not any(line.startswith("INJECTED") for line in text.splitlines())


def kept(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_is_one_line_and_nothing_is_written(
    hardstone: Hardstone, store: Path, out: Path, kind: str
) -> None:
    bad(store, UNREADABLE[kind]())
    before = kept(out)
    for name, words in commands(out).items():
        done = hardstone(*words, "--store", store)
        assert done.code == EXIT_USAGE, (name, done.err)
        assert done.out == "" and len(done.told) == 1, (name, done.err)
        assert BAD in done.told[0], name
        check_words(done)
        assert kept(out) == before, name
    done = hardstone("runs", "--store", store)  # a list goes on without it
    assert done.code == EXIT_OK and len(done.told) == 1
    assert f"{BAD} cannot be read" in done.told[0] and "good run" in done.out
    check_words(done)


@pytest.mark.parametrize("kind", CONTRADICTORY)
def test_what_contradicts_itself_is_shown_with_a_mark_and_exit_3(
    hardstone: Hardstone, store: Path, out: Path, kind: str
) -> None:
    bad(store, CONTRADICTORY[kind]())
    for name, words in quick_commands(kind, out).items():
        done = hardstone(*words, "--store", store)
        assert done.code == EXIT_UNTRUSTWORTHY, (name, done.code, done.err)
        assert "TMR-P-LAT" in done.err or name.startswith("gate"), (name, done.err)
        check_words(done)
    if kind in DRAWN:
        assert "cannot be true" in (out / "page.html").read_text()
    assert not [name for name in kept(out) if name.endswith(".tmp")]


@pytest.mark.parametrize("kind", ODD)
def test_odd_names_and_counts_steer_nothing(
    hardstone: Hardstone, store: Path, out: Path, kind: str
) -> None:
    bad(store, ODD[kind]())
    for name, words in quick_commands(kind, out).items():
        done = hardstone(*words, "--store", store)
        allowed = {EXIT_OK, EXIT_USAGE, EXIT_UNTRUSTWORTHY, *([1] if "gate" in name else [])}
        assert done.code in allowed, (name, done.code, done.err)
        assert done.code != EXIT_USAGE or len(done.told) == 1, (name, done.err)
        check_words(done)
    assert not [name for name in kept(out) if name.endswith(".tmp")]
    check_words(hardstone("runs", "--store", store))


@pytest.mark.parametrize("kind", [one for one in ODD if one not in LARGE])
def test_python_shows_odd_runs_without_steering(store: Path, kind: str) -> None:
    bad(store, ODD[kind]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = package.load(BAD, store)
    compared = package.compare(run.systems[0], "published:qnx")
    pages = [html_of(run), html_of(compared)]
    words = [repr(run), repr(compared)]
    for test in run.tests:
        words += [repr(run.test(test, nth=0)), *map(repr, run.test(test, nth=0).all_series)]
    for text in (*pages, *words):
        check_words(Done(0, text, ""))
    assert not any("<script" in page or "<img" in page for page in pages)


def html_of(one: object) -> str:
    """What a notebook asks for."""
    name = "_repr_html_"
    found: str = getattr(one, name)()
    return found


@pytest.mark.slow
def test_the_good_run_passes_where_the_bad_ones_do_not(
    hardstone: Hardstone, store: Path, out: Path
) -> None:
    """Each command does its work on the document that all bad ones are made of."""
    bad(store, packed(whole()))
    for name, words in commands(out).items():
        done = hardstone(*words, "--store", store)
        # one run against another decides about no system
        fine = {EXIT_OK, 1, EXIT_UNTRUSTWORTHY} if name.startswith("gate") else {EXIT_OK}
        assert done.code in fine, (name, done.code, done.err)
        check_words(done)
    assert all(content != BEFORE for content in kept(out).values())


# ---- a store with one odd member ----

COMMANDS = {
    "runs": ["runs"],
    "show last": ["show", "last"],
    "show old": ["show", odd.OLD],
    "run": ["run", "SEM-P-SIG", "--quiet"],
}
# The whole of it, members by kinds by commands, is some minutes: here each member meets
# the kinds that have done harm, and every command.
KINDS = ("pipe", "link-to-itself", "link-to-foreign")


@pytest.fixture(autouse=True)
def no_other_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests leave in memory-backed storage is not of these stores."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


def words(command: str, place: Path, target: str) -> list[str]:
    where = ["--target", target] if command == "run" else []
    return [*COMMANDS[command], *where, "--store", str(place)]


@pytest.mark.parametrize("name", ["ssh:nobody@nowhere", "fake:/no/scenario.json", "", "\\u001b"])
def test_a_run_of_a_target_that_is_unknown_by_now_is_recovered(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Its finished results are in the journal; what its memory holds is out of reach."""
    place = odd.build(tmp_path)
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "memory"))
    journal = place / "journals" / odd.CUT / "journal.jsonl"
    text = journal.read_text()
    assert '"target":"local","is_noisy":false' in text
    journal.write_text(
        text.replace('"target":"local","is_noisy":false', f'"target":"{name}","is_noisy":true')
    )
    done = hardstone("runs", "--store", place)
    assert done.code == 0 and "internal error" not in done.err and "\x1b" not in done.err
    assert odd.CUT in done.out
    assert not (place / "journals" / odd.CUT).exists()


@pytest.mark.parametrize("member", odd.MEMBERS)
def test_a_broken_member_costs_itself(
    hardstone: Hardstone,
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    member: str,
) -> None:
    for number, kind in enumerate(KINDS):
        root = tmp_path / f"{number}"
        place = odd.build(root)
        monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(root / "memory"))
        odd.put(root, member, kind)
        for command in COMMANDS:
            done = hardstone(*words(command, place, target))
            said = f"{command}, {kind}: {done.err}"
            assert done.code == odd.expected_code(member, kind, command), said
            assert len(set(done.err.splitlines())) == done.err.count("\n") <= 4, said
            assert "internal error" not in done.err and "\x1b" not in done.err, said
        assert odd.is_foreign_whole(root), kind


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("store/index.sqlite", "it is a pipe, not a file; move it away"),
        ("store/journals.lock", "it is a pipe, not a file; move it away"),
        (f"store/journals/{odd.CUT}", "it is a pipe, not a folder; move it away"),
        (f"store/journals/{odd.CUT}/lock", "it is a pipe, not a file; move it away"),
        (f"store/journals/{odd.CUT}/journal.jsonl", "it is a pipe, not a file"),
        (f"store/runs/{odd.OLD}.json.gz", "it is a pipe, not a file; move it away"),
        ("store/journals", "Not a directory; move the file that is in the way"),
    ],
)
def test_it_is_told_in_one_line(
    hardstone: Hardstone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    member: str,
    said: str,
) -> None:
    place = odd.build(tmp_path / "root")
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path / "root/memory"))
    hardstone("runs", "--store", place)  # what was cut off is recovered: only the odd is left
    if "journals/" in member:
        (place / "runs" / f"{odd.CUT}.json.gz").unlink()
        odd.cut_off(place, tmp_path / f"root/memory/hardstone-{odd.CUT}-abcdefgh")
    odd.put(tmp_path / "root", member, "pipe")
    done = hardstone("runs", "--store", place)
    (line,) = done.err.splitlines()
    assert said in line and str(place) in line
    assert odd.NEW in done.out


def test_a_report_replaces_a_link_and_not_where_it_leads(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    place = odd.build(tmp_path / "root")
    report = odd.put(tmp_path / "root", f"store/reports/{odd.NEW}.html", "link-to-foreign")
    assert hardstone("report", odd.NEW, "--store", place).code == 0
    assert odd.is_foreign_whole(tmp_path / "root")
    assert not report.is_symlink() and b"<html" in report.read_bytes()


def test_what_may_not_be_read_costs_itself(
    hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user that permissions are for: in a folder of its own, since tmp_path is closed."""
    looks = ("runs", "show last", "show old")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        for number, member in enumerate(("store/warm", *odd.MEMBERS)):
            root = Path(folder, str(number))
            monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(root / "memory"))
            with nobody() if number else nullcontext():  # the first imports what may be closed
                place = odd.build(root)
                if not os.path.lexists(root / member):
                    odd.put(root, member, "garbage")
                (root / member).chmod(0)
                for command in looks:
                    done = hardstone(*words(command, place, ""))
                    said = f"{command}, {member}: {done.err}"
                    assert done.code == odd.expected_code(member, "closed", command), said
                    assert "internal error" not in done.err, said
