"""list, explain, runs, show, report, probe: what is data, and what depends on the store and on the
terminal. What they print is in golden."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pypdf import PdfReader
from rich.cells import cell_len

from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE, EXIT_UNREACHABLE, EXIT_UNTRUSTWORTHY
from hardstone.formula import FORMULA
from hardstone.model import RunDocument, Verdict
from hardstone.stats.contradictions import TITLE, told
from hardstone.store import Store
from hardstone.store.documents import write_document
from hardstone.store.place import Place, open_place
from hardstone.subjects import published_ids
from hardstone.terminal.variants import variants_text, warm_up_text
from tests.process.cli.conftest import Done
from tests.process.store.fake_probe import Here
from tests.process.targets import sample
from tests.unit.rating.rated_runs import full_run, labelled, result_of, results
from tests.unit.report.hostile import ATTACKS
from tests.unit.stats import make
from tests.unit.stats.tires import real_time

Hardstone = Callable[..., Done]


def is_narrow(text: str) -> bool:
    return max(len(line) for line in text.splitlines()) <= 80


def test_list_as_json(hardstone: Hardstone, target: str) -> None:
    rows = hardstone("list", "--target", target, "--json").document
    assert [row["id"] for row in rows] == load_catalogue().ids()
    assert {row["kind"] for row in rows} == {"behaviour", "timing", "sustained"}


def test_explain_as_json(hardstone: Hardstone, target: str) -> None:
    found = hardstone("explain", "TMR-*", "--target", target, "--json").document
    assert [one["id"] for one in found] == ["TMR-P-JIT", "TMR-B-EDGE", "TMR-P-LAT"]
    assert found[2]["profiles"]["quick"]["duration_ns"] == 8_000_000_000
    assert [spec["label"] for spec in found[0]["params"]] == ["period_ns", "mechanism"]
    assert found[2]["concurrent"]


def test_explain_says_all_there_is(hardstone: Hardstone, target: str) -> None:
    done = hardstone("explain", "*", "--target", target)
    assert done.code == EXIT_OK and is_narrow(done.out)
    known = load_catalogue().ids()
    _, *pages = re.split(rf"^(?=(?:{'|'.join(known)}) \S)", done.out, flags=re.MULTILINE)
    assert [page.split()[0] for page in pages] == known
    for test, page in zip(known, pages, strict=True):
        flat = " ".join(page.split())
        descriptor = next(one for one in sample.register().tests if one.id == test)
        entry = load_catalogue().entry(test)
        expected = [descriptor.title, descriptor.source, entry.about, entry.distorts]
        expected += [text for series in descriptor.series for text in (series.begin, series.end)]
        expected += [verdict.claim for verdict in descriptor.verdicts]
        expected += [spec.about for spec in descriptor.params]
        expected += [variants_text(descriptor), warm_up_text(descriptor), *entry.uncounted.values()]
        for text in expected:
            assert " ".join(text.split()) in flat, test


def stored(place: Path, name: str = "evening", **changed: Any) -> str:
    document = make.document(name=name, **changed)
    journal = Store(place).journal(document, Here())
    journal.finish(document)
    journal.close()
    return document.id


def test_a_store_whose_only_run_is_damaged_is_not_empty(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    damaged = Store(tmp_path).path_of(stored(tmp_path))
    damaged.unlink()
    damaged.write_bytes(b"damaged")
    assert (
        hardstone("runs", "--store", tmp_path).out
        == "none of the stored runs is readable (1 found)\n"
    )
    assert hardstone("runs", "--store", tmp_path, "--json").document == []


@pytest.mark.parametrize(
    "target",
    [
        "lab:debian-rt-arm64@6.12,cpus=4,memory=2G,preempt=full,deterministic",
        "lab:a-kernel-of-our-own-with-a-long-name,append=isolcpus=1 nohz_full=1",
    ],
)
def test_runs_name_each_target_but_this_machine(
    hardstone: Hardstone, tmp_path: Path, target: str
) -> None:
    stored(tmp_path)
    assert "target" not in hardstone("runs", "--store", tmp_path).out
    stored(tmp_path, run_id="20261121T042200Z-1a2b3d", plan=make.plan_of([], target=target))
    done = hardstone("runs", "--store", tmp_path)
    _, _, _, *there = done.out.splitlines()
    assert is_narrow(done.out) and "local" not in done.out
    assert there[0].split()[1] == "evening"
    assert "".join("".join(there[1:]).split()) == target.replace(" ", "")
    listed = hardstone("runs", "--store", tmp_path, "--json").document
    assert [entry["target"] for entry in listed] == ["local", target]


@pytest.mark.parametrize("reference", ["last", "evening", "20261121T032200Z-1a2b3c", "20261121T"])
def test_show(hardstone: Hardstone, tmp_path: Path, reference: str) -> None:
    run_id = stored(tmp_path)
    done = hardstone("show", reference, "--store", tmp_path)
    assert done.code == EXIT_OK
    assert run_id in done.out and "TMR-P-LAT" in done.out


def test_show_as_json_is_the_document(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = stored(tmp_path)
    assert hardstone("show", "last", "--store", tmp_path, "--json").document["id"] == run_id


def test_report(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = stored(tmp_path)
    place = tmp_path / "r.html"
    assert hardstone("report", "last", "--store", tmp_path, "-o", place).code == EXIT_OK
    assert run_id in place.read_text()
    done = hardstone("report", "last", "--store", tmp_path)
    assert str(tmp_path / "reports" / f"{run_id}.html") in done.err


def test_probe_path(hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample.executable(tmp_path, "pass")
    monkeypatch.setenv("HARDSTONE_PROBE", str(path))
    assert hardstone("probe", "path").out == f"{path.resolve()}\n"


def test_probe_path_without_a_probe(hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", "/nowhere")
    assert hardstone("probe", "path").code == EXIT_UNREACHABLE


def source_of_a_probe(root: Path, code: str) -> None:
    (root / "probe" / "src" / "port" / "posix").mkdir(parents=True)
    (root / "probe" / "src" / "main.c").write_text(code)
    (root / "probe" / "src" / "port" / "posix" / "calls.c").write_text("typedef int nothing;\n")


@pytest.fixture
def copied(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a copy of the package in `tmp_path`, with nothing on the path."""
    package = tmp_path / "src" / "hardstone"
    shutil.copytree(root / "src" / "hardstone", package, ignore=shutil.ignore_patterns("_probe"))
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\nPATH={shlex.quote(os.environ["PATH"])} exec cc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.delenv("HARDSTONE_PROBE", raising=False)

    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        paths = {"PYTHONPATH": str(package.parent), "PATH": str(tmp_path / "empty")}
        return subprocess.run(
            [sys.executable, "-m", "hardstone", *words],
            env={**os.environ, **paths, "CC": str(compiler), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


Copied = Callable[..., subprocess.CompletedProcess[str]]


def test_probe_build_with_the_compiler_alone(copied: Copied, tmp_path: Path) -> None:
    source_of_a_probe(tmp_path, "int main(void) { return 0; }\n")
    done = copied("probe", "build")
    assert done.returncode == EXIT_OK, done.stderr
    assert done.stdout.strip() == str(tmp_path / "build" / "probe" / "hardstone-probe")
    assert Path(done.stdout.strip()).exists()


def test_probe_build_shows_the_words_of_the_compiler(copied: Copied, tmp_path: Path) -> None:
    source_of_a_probe(tmp_path, "int main(void) { return nonsense; }\n")
    done = copied("probe", "build")
    assert done.returncode == EXIT_UNREACHABLE
    assert "nonsense" in done.stderr


def test_probe_build_without_a_compiler(copied: Copied, tmp_path: Path) -> None:
    source_of_a_probe(tmp_path, "")
    done = copied("probe", "build", CC="no-such-compiler")
    assert done.returncode == EXIT_PRIVILEGE
    assert "no C compiler 'no-such-compiler'" in done.stderr


def test_a_package_without_source_and_probe(copied: Copied) -> None:
    assert "not contain the source of the probe" in copied("probe", "build").stderr
    done = copied("probe", "path")
    assert done.returncode == EXIT_UNREACHABLE
    assert done.stderr.endswith("hardstone probe build\n")


def test_a_run_is_shown_on_a_machine_without_a_probe(
    hardstone: Hardstone, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = hardstone("run", "TMR-P-LAT", "THR-B-RR", "--target", target, "--store", tmp_path / "s")
    assert done.code == EXIT_OK
    monkeypatch.setenv("HARDSTONE_PROBE", "/nowhere/hardstone-probe")
    known = {one.id: one for one in sample.register().tests}
    place = tmp_path / "r.html"
    assert hardstone("report", "last", "--store", tmp_path / "s", "-o", place).code == EXIT_OK
    page = place.read_text("utf-8")
    assert known["TMR-P-LAT"].title in page and known["TMR-P-LAT"].series[0].begin in page
    for more in ([], ["--all"], ["TMR-*"]):
        shown = hardstone("show", "last", *more, "--store", tmp_path / "s")
        assert shown.code == EXIT_OK and "TMR-P-LAT" in shown.out


def test_some_tests_of_a_run_are_shown_whole(hardstone: Hardstone, target: str) -> None:
    hardstone("run", "TMR-P-LAT", "SEM-P-SIG", "MUT-P-ARC", "--target", target)
    shown = hardstone("show", "last", "mut-*", "SEM-P-SIG")
    assert shown.code == EXIT_OK
    assert "MUT-P-ARC" in shown.out and "SEM-P-SIG" in shown.out
    assert "TMR-P-LAT" not in shown.out.partition("worst")[2]


# ---- stars ----

RUN_ID = "20261120T000000Z-000001"


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[RunDocument], list[str]]:
    """Stores a run; the options that find it."""

    def store(document: RunDocument) -> list[str]:
        write_document(open_place(Store(tmp_path / "store").path), document)
        return ["--store", str(tmp_path / "store")]

    return store


Keep = Callable[[RunDocument], list[str]]


def slow_switch() -> RunDocument:
    document = full_run(run_id=RUN_ID)
    result_of(document, "THR-P-SLS").series[0] = labelled("switch", {"threads": "2"}, 1000, 300_000)
    return document


def words(text: str) -> str:
    return " ".join(text.split())


def assert_narrow(text: str) -> None:
    wide = [line for line in text.splitlines() if cell_len(line.rstrip()) > 80]
    assert [line for line in wide if "hardstone " not in line] == []


def test_why_names_failed_behaviours_and_gaps(hardstone: Hardstone, keep: Keep) -> None:
    document = full_run(results=[one for one in results() if one.test != "MSG-P-LAT"])
    claims = result_of(document, "SEM-B-REL").verdicts
    claims += [Verdict(name=f"mixed/{k}", passed=False, evidence="-") for k in ("sysv", "futex")]
    text = words(hardstone("show", "last", "--why", *keep(document)).out)
    assert "fails SEM-B-REL mixed (sysv, futex), so at most 2" in text
    assert "missing worst of MSG-P-LAT/mq/64/thread/latency: not run" in text
    assert "messages \u2605\u2605\u2605\u2605\u2605 at most 5" in text


def test_lists_have_stars_as_data(hardstone: Hardstone, keep: Keep) -> None:
    virtual = full_run(system={"virtual.hypervisor": "KVM", "virtual.emulated": False})
    keep(msgspec.structs.replace(virtual, id="20261122T000000Z-000003"))
    store = keep(msgspec.structs.replace(full_run(results=results()[:3]), id=RUN_ID))
    entries = hardstone("runs", "--json", *store).document
    found = [(one["stars"], one["rated_as"]) for one in entries]
    assert found == [(None, ""), (5.0, "virtual machine")]
    rows = hardstone("list", "published", "--json").document
    assert {row["id"]: row["study_stars"] for row in rows}["published:linux-rt"] == 3.0
    assert all(row["study"] and row["year"] and row["figure_count"] for row in rows)


def test_why_as_json_has_every_figure_with_its_source(hardstone: Hardstone, keep: Keep) -> None:
    document = hardstone("show", "last", "--why", "--json", *keep(slow_switch())).document
    assert document["formula"] == FORMULA and len(document["systems"]) == 1
    (system,) = document["systems"]
    assert (system["id"], system["rating"]["overall"]) == (RUN_ID, 3.5)
    figures = [one for part in system["rating"]["categories"] for one in part["figures"]]
    assert len(figures) > 40 and all(RUN_ID in one["amount"]["source"] for one in figures)


@pytest.mark.parametrize("key", published_ids())
def test_why_of_a_published_system(hardstone: Hardstone, key: str) -> None:
    done = hardstone("show", f"published:{key}", "--why")
    assert done.code == 0 and done.out.startswith(f"published:{key} ")
    assert_narrow(done.out)
    document = hardstone("show", f"published:{key}", "--why", "--json").document
    assert document["systems"][0]["conditions"]["study"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_names_do_nothing_to_a_terminal(
    hardstone: Hardstone, keep: Keep, attack: str
) -> None:
    document = full_run(name=attack[:200])
    claim = Verdict(name=f"mixed/{attack}"[:4000], passed=False, evidence=attack)
    result_of(document, "SEM-B-REL").verdicts.append(claim)
    store = keep(document)
    for call in (("show", "last", "--why"), ("show", "last"), ("runs",)):
        done = hardstone(*call, *store)
        assert done.code == 0
        assert not any(ord(one) < 32 and one != "\n" for one in done.out), call


# ---- widths ----

BROKEN = re.compile(r"\b[A-Z]{3}-(?:[A-Z]-)?(?![A-Za-z-])")
WIDTHS = ("1", "20", "40", "60", "200")
LOOKS = (
    ["list"],
    ["explain", "SEM-P-RTP"],
    ["runs"],
    ["show", "last"],
    ["run", "*", "--dry-run", "--load", "none,heavy"],
)


@pytest.fixture
def with_run(hardstone: Hardstone, target: str, tmp_path: Path) -> list[str]:
    """Options of commands that look at a stored run of two conditions."""
    store = ["--store", str(tmp_path / "a store")]
    done = hardstone("run", "TMR-P-LAT", "SEM-P-RTP", "TMR-B-EDGE", "--target", target, *store)
    assert done.code in (0, 3)
    return store


@pytest.mark.parametrize("width", WIDTHS)
def test_ids_stay_whole_at_any_width(
    hardstone: Hardstone,
    target: str,
    with_run: list[str],
    monkeypatch: pytest.MonkeyPatch,
    width: str,
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    for look in LOOKS:
        where = with_run if look[0] in ("runs", "show") else ["--target", target]
        done = hardstone(*look, *where)
        assert done.code == 0 and done.out.strip(), look
        assert BROKEN.findall(done.out) == [], (look, done.out)


def words_of(text: str) -> list[str]:
    return sorted(re.sub(r"[\s─]+", " ", text).split())


def test_narrow_terminals_hide_nothing(
    hardstone: Hardstone, with_run: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {}
    for width in ("40", "60", "200"):
        monkeypatch.setenv("COLUMNS", width)
        shown[width] = words_of(hardstone("runs", *with_run).out)
    assert shown["40"] == shown["60"] == shown["200"]


@pytest.mark.parametrize("width", ["0", "-5", "abc", ""])
def test_a_width_that_is_none_is_the_usual_one(
    hardstone: Hardstone, target: str, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    usual = hardstone("list", "--target", target).out
    monkeypatch.setenv("COLUMNS", width)
    assert hardstone("list", "--target", target).out == usual


# ---- contradictory figures ----

Change = Callable[[RunDocument], None]


def _count(document: RunDocument) -> None:
    document.results[0].series[0].count = 7


def _extremes(document: RunDocument) -> None:
    document.results[0].series[0].min = 9


def _duration(document: RunDocument) -> None:
    document.results[0].duration_ns = -5


def _pair(document: RunDocument) -> None:
    assert document.instrument is not None
    document.instrument.pair.median = 1000


CASES: list[tuple[Change, str]] = [
    (
        _count,
        "TMR-P-LAT wakeup [part total]: the histogram holds 3 values but the count is 7",
    ),
    (_extremes, "TMR-P-LAT wakeup [part total]: the minimum 9 is above the maximum 3"),
    (_duration, "TMR-P-LAT: a duration of -5 ns is negative"),
    (
        _pair,
        "instrument: minimum, median, 99 % and maximum of the time-stamp pairs do not ascend",
    ),
]


def _stored(document: RunDocument, store: Path) -> str:
    write_document(open_place(store), document)
    return document.id


def _flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("change", "said"), CASES, ids=[case[0].__name__ for case in CASES])
def test_show_and_report_say_the_same(
    hardstone: Hardstone, tmp_path: Path, change: Change, said: str
) -> None:
    document = make.document()
    change(document)
    assert told(document) == [said]
    run_id = _stored(document, tmp_path / "store")
    shown = hardstone("show", run_id, "--store", str(tmp_path / "store"))
    assert shown.code == EXIT_UNTRUSTWORTHY
    head = _flat(shown.out)
    assert head.startswith(f"{TITLE} {said}")
    assert "trust untrustworthy" in head
    page = tmp_path / "page.html"
    done = hardstone("report", run_id, "--store", str(tmp_path / "store"), "-o", str(page))
    assert done.code == EXIT_UNTRUSTWORTHY
    assert TITLE in page.read_text() and said in page.read_text()
    for quiet in (("show", run_id, "--json"), ("report", run_id, "-o", str(page))):
        told_there = hardstone(*quiet, "--store", str(tmp_path / "store"))
        assert said in told_there.err and told_there.code == EXIT_UNTRUSTWORTHY
    (row,) = hardstone("runs", "--json", "--store", str(tmp_path / "store")).document
    assert row["grade"] == "untrustworthy"


def test_a_clock_that_was_set_back_contradicts_no_figure(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    run_id = _stored(make.document(finished_utc="2026-11-21T03:21:00Z"), tmp_path)
    assert hardstone("show", run_id, "--store", str(tmp_path)).code == EXIT_OK


def test_one_of_several_conditions_is_marked(hardstone: Hardstone, tmp_path: Path) -> None:
    document = make.document()
    whole, other = make.result(), make.result()
    other.conditions = msgspec.structs.replace(other.conditions, load="none")
    other.series[0].max = 2
    document.results = [whole, other]
    run_id = _stored(document, tmp_path)
    shown = hardstone("show", run_id, "--store", str(tmp_path))
    assert shown.code == EXIT_UNTRUSTWORTHY
    assert "3 ns " in shown.out and "2 ns!" in shown.out


def test_many_are_counted(tmp_path: Path) -> None:
    document = make.document(results=[make.result(duration_ns=-1) for _ in range(50)])
    lines = told(document)
    assert len(lines) == 21
    assert lines[-1] == "and 30 more"


# ---- reports ----


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


def test_files_are_written_beside_the_report(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    folder, page = tmp_path / "charts", tmp_path / "r.html"
    done = hardstone("report", "last", "--store", store, "-o", page, "--files", folder)
    assert done.code == EXIT_OK and page.exists()
    found = list(folder.iterdir())
    assert f"charts: {len(found)} files in {folder}" in done.err
    assert {".svg", ".png", ".csv"} == {one.suffix for one in found}
