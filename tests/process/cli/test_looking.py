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

import msgspec
import pytest
from pypdf import PdfReader
from rich.cells import cell_len

from hardstone.catalogue import load_catalogue
from hardstone.errors import (
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
)
from hardstone.model import FORMULA, RunDocument
from hardstone.stats.consistency import contradiction_messages
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from hardstone.systems.subjects import published_ids
from hardstone.terminal.explain import variants_text, warm_up_text
from tests.conftest import ROOT
from tests.process.cli.conftest import Hardstone
from tests.process.targets import sample
from tests.programs import ran
from tests.unit.simulation.tires import real_time
from tests.unit.stats import make
from tests.unit.systems.rated_runs import full_run, labelled, result_of, results


def keep(store: Path, document: RunDocument) -> str:
    """Puts the run into the store, which it makes; its ID."""
    write_document(open_place(store), document)
    return document.id


def is_narrow(text: str) -> bool:
    """But for what is to be typed."""
    lines = [line.rstrip() for line in text.splitlines() if "hardstone " not in line]
    return max(map(cell_len, lines)) <= 80


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


def test_published_figures_are_data(hardstone: Hardstone, target: str) -> None:
    (found,) = hardstone("explain", "RSP-P-FIX", "--target", target, "--json").document
    assert len(found["published"]) == 16
    assert found["published"][1] == {
        "table": "obenland-2000/response_worst_case",
        "system": "lynx",
        "address": "RSP-P-FIX/add/time",
        "conditions": {"load": "heavy"},
        "statistic": "max",
        "unit": "ms",
        "value": 9.9,
    }


def test_explain_names_what_is_lost_of_a_table(hardstone: Hardstone, target: str) -> None:
    out = hardstone("explain", "RSP-P-FIX", "--target", target).out
    assert "lost (whetstone): the columns of Whetstone are missing in our copy" in out


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


@pytest.mark.parametrize(
    ("words", "tests"),
    [
        (["cyclictest"], {"TMR-P-LAT"}),
        (["context", "switch"], {"THR-P-SLS"}),
        (["Rhealstone"], {"THR-P-SLS", "THR-P-PRE", "SEM-P-SHF", "IRQ-P-LAT", "MUT-P-INV"}),
    ],
)
def test_explain_finds_tests_by_what_people_call_them(
    hardstone: Hardstone, target: str, words: list[str], tests: set[str]
) -> None:
    """How several are listed is in golden/explain.txt."""
    found = hardstone("explain", *words, "--target", target, "--json").document
    assert tests <= {one["id"] for one in found}
    if len(tests) == 1:
        assert [one["id"] for one in found] == [*tests]
        done = hardstone("explain", *words, "--target", target)
        assert (done.code, done.out.startswith(f"{found[0]['id']} ")) == (EXIT_OK, True)


def test_a_store_whose_only_run_is_damaged_is_not_empty(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    damaged = Store(tmp_path).path_of(keep(tmp_path, make.document()))
    damaged.unlink()
    damaged.write_bytes(b"damaged")
    out = hardstone("runs", "--store", tmp_path).out
    assert out == "none of the stored runs is readable (1 found)\n"
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
    keep(tmp_path, make.document(name="evening"))
    assert "target" not in hardstone("runs", "--store", tmp_path).out
    plan = make.plan_of([], target=target)
    keep(tmp_path, make.document(name="evening", run_id="20261121T042200Z-1a2b3d", plan=plan))
    done = hardstone("runs", "--store", tmp_path)
    _, _, _, _, *there = done.out.splitlines()
    assert is_narrow(done.out) and "local" not in done.out
    name = slice(done.out.splitlines()[0].index("name, machine"), None)
    assert there[0].split()[-1] == "evening"
    column = "".join("".join(line[name] for line in there[1:]).split())
    assert column == target.replace(" ", "") + "6.12.0-rt"
    listed = hardstone("runs", "--store", tmp_path, "--json").document
    assert [entry["target"] for entry in listed] == ["local", target]


def test_runs_say_what_was_not_measured_as_the_run_itself_does(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    lacking = [make.result("SEM-P-SIG", status="failed"), make.result("THR-P-SLS", status="denied")]
    run_id = keep(tmp_path, make.document(results=[make.result(), *lacking]))
    shown = hardstone("show", run_id, "--store", tmp_path)
    listed = hardstone("runs", "--store", tmp_path)
    assert "1 failed, 1 denied of 3" in shown.out
    head, _, *rows = listed.out.splitlines()
    column = slice(0, head.index("date"))
    text = " ".join(" ".join(row[column].split()) for row in rows)
    assert text == f"{run_id} 1 failed, 1 denied of 3 tests"
    assert is_narrow(listed.out)


def test_probe_path(hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample.executable(tmp_path, "pass")
    monkeypatch.setenv("HARDSTONE_PROBE", str(path))
    assert hardstone("probe", "path").out == f"{path.resolve()}\n"


def source_of_a_probe(root: Path, code: str) -> None:
    for port in ("posix", "linux"):
        (root / "probe" / "src" / "port" / port).mkdir(parents=True)
        (root / "probe" / "src" / "port" / port / "own.c").write_text("typedef int nothing;\n")
    (root / "probe" / "src" / "main.c").write_text(code)
    shutil.copy(ROOT / "probe" / "build.sh", root / "probe")
    (root / "probe" / "src" / "port" / "posix" / "calls.c").write_text("typedef int nothing;\n")


@pytest.fixture
def copied(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a copy of the package in `tmp_path`, with a shell's tools on the path and no other
    program, Meson for one."""
    package = tmp_path / "src" / "hardstone"
    shutil.copytree(root / "src" / "hardstone", package, ignore=shutil.ignore_patterns("_probe"))
    compiler = tmp_path / "compiler"
    compiler.write_text(f'#!/bin/sh\nPATH={shlex.quote(os.environ["PATH"])} exec cc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.delenv("HARDSTONE_PROBE", raising=False)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "dirname", "find", "getconf", "grep", "mkdir", "mv", "rm", "sed", "sort"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name in ("sh", "tail", "tr"):
        (tools / name).symlink_to(str(shutil.which(name)))

    def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        paths = {"PYTHONPATH": str(package.parent), "PATH": str(tools)}
        return ran(
            [sys.executable, "-m", "hardstone", *words],
            env={**os.environ, **paths, "CC": str(compiler), **environment},
        )

    return call


Copied = Callable[..., subprocess.CompletedProcess[str]]


def test_probe_build_takes_the_compiler_alone_and_shows_its_words(
    copied: Copied, tmp_path: Path
) -> None:
    source_of_a_probe(tmp_path, "int main(void) { return nonsense; }\n")
    done = copied("probe", "build")
    assert done.returncode == EXIT_UNREACHABLE and "nonsense" in done.stderr
    done = copied("probe", "build", CC="no-such-compiler")
    assert done.returncode == EXIT_PRIVILEGE
    assert "no C compiler 'no-such-compiler'" in done.stderr
    (tmp_path / "probe" / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    done = copied("probe", "build")
    assert done.returncode == EXIT_OK, done.stderr
    built = tmp_path / "build" / "probe" / "hardstone-probe"
    assert done.stdout == f"{built}\n" and built.exists()


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
    drawn = hardstone("report", "last", "--store", tmp_path / "s")
    (place,) = (tmp_path / "s" / "reports").iterdir()
    assert drawn.code == EXIT_OK and str(place) in drawn.err
    page = place.read_text("utf-8")
    assert known["TMR-P-LAT"].title in page and known["TMR-P-LAT"].series[0].begin in page
    for more in ([], ["--all"], ["TMR-*"]):
        shown = hardstone("show", "last", *more, "--store", tmp_path / "s")
        assert shown.code == EXIT_OK and "TMR-P-LAT" in shown.out


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_lists_have_stars_as_data(hardstone: Hardstone, tmp_path: Path) -> None:
    virtual = full_run(system={"virtual.hypervisor": "KVM", "virtual.emulated": False})
    keep(tmp_path, msgspec.structs.replace(virtual, id="20261122T000000Z-000003"))
    keep(tmp_path, full_run(results=results()[:3]))
    entries = hardstone("runs", "--json", "--store", tmp_path).document
    found = [(one["stars"], one["rated_as"]) for one in entries]
    assert found == [(None, ""), (5.0, "virtual machine")]
    rows = hardstone("list", "published", "--json").document
    assert {row["id"]: row["study_stars"] for row in rows}["published:linux-rt"] == 3.0
    assert all(row["study"] and row["year"] and row["figure_count"] for row in rows)


def test_why_as_json_has_every_figure_with_its_source(hardstone: Hardstone, tmp_path: Path) -> None:
    slow = full_run()
    result_of(slow, "THR-P-SLS").series[0] = labelled("switch", {"threads": "2"}, 1000, 300_000)
    run_id = keep(tmp_path, slow)
    document = hardstone("show", "last", "--why", "--json", "--store", tmp_path).document
    assert document["formula"] == FORMULA and len(document["systems"]) == 1
    (system,) = document["systems"]
    assert (system["id"], system["rating"]["overall"]) == (run_id, 3.5)
    figures = [one for part in system["rating"]["categories"] for one in part["figures"]]
    assert len(figures) > 40 and all(run_id in one["amount"]["source"] for one in figures)


@pytest.mark.parametrize("key", published_ids())
def test_why_of_a_published_system(hardstone: Hardstone, key: str) -> None:
    done = hardstone("show", f"published:{key}", "--why")
    assert done.code == 0 and done.out.startswith(f"published:{key} ") and is_narrow(done.out)
    document = hardstone("show", f"published:{key}", "--why", "--json").document
    assert document["systems"][0]["conditions"]["study"]


BROKEN = re.compile(r"\b[A-Z]{3}-(?:[A-Z]-)?(?![A-Za-z*-])")


def test_at_any_width_ids_stay_whole_and_a_list_hides_nothing(
    hardstone: Hardstone, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ["--store", str(tmp_path / "a store")]
    done = hardstone("run", "TMR-P-LAT", "SEM-P-RTP", "TMR-B-EDGE", "--target", target, *store)
    assert done.code in (0, 3)
    on_target = [["list"], ["explain", "SEM-P-RTP"], ["run", "*", "--dry-run", "--load=none,heavy"]]
    looks = [[*look, "--target", target] for look in on_target]
    listed = []
    for width in (1, 20, 40, 60, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        for look in (*looks, ["show", "last", *store], ["runs", *store]):
            done = hardstone(*look)
            assert done.code == 0 and done.out.strip(), look
            assert BROKEN.findall(done.out) == [], (width, look, done.out)
        listed.append(sorted(re.sub(r"[\s─]+", " ", done.out).split()))
    assert listed[2] == listed[3] == listed[4]


def test_a_width_that_is_none_is_the_usual_one(
    hardstone: Hardstone, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = hardstone("list", "--target", target).out
    for width in ("0", "-5", "abc", ""):
        monkeypatch.setenv("COLUMNS", width)
        assert hardstone("list", "--target", target).out == usual, width


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a run of TMR-P-LAT, and one before it of another test."""
    other = make.result("SEM-P-SIG", series=[make.series([1, 2])])
    keep(tmp_path / "store", make.document(run_id="20261120T032200Z-1a2b3c", results=[other]))
    latency = make.result(series=[make.series([10_000, 20_000, 300_000, 2_000_000])])
    keep(tmp_path / "store", make.document(results=[latency]))
    return tmp_path / "store"


@pytest.mark.parametrize("name", ["r.html", "r.PDF"])
def test_limits_are_those_of_the_reader(
    hardstone: Hardstone, store: Path, tmp_path: Path, name: str
) -> None:
    limits = ("--limit", "150", "--limit", "1ms")
    place = tmp_path / name
    done = hardstone("report", "last", "--store", store, "-o", place, *limits)
    assert done.code == EXIT_OK
    if name == "r.PDF":
        pages = [page.extract_text() for page in PdfReader(place).pages]
        assert "Worst wake-up 2 ms" in pages[0].replace("\n", " ")
        text = " ".join(pages)
    else:
        text = place.read_text()
    assert "Above 150 us" in text and "Above 1 ms" in text and "Above 10 ms" not in text


def test_two_sweeps_stand_beside_each_other(
    hardstone: Hardstone, store: Path, tmp_path: Path
) -> None:
    found = [real_time(n, missed=n // 800) for n in (400, 800, 1200, 1600)]
    for number in (1, 2):
        run_id = f"2026112{number}T052200Z-1a2b3c"
        keep(store, make.document(run_id=run_id, name=f"sweep{number}", results=found))
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


def test_of_many_contradictions_the_rest_is_counted() -> None:
    found = contradiction_messages(
        make.document(results=[make.result(duration_ns=-1) for _ in range(50)])
    )
    assert (len(found), found[-1]) == (21, "and 30 more")


def test_a_report_is_a_picture_or_a_badge_where_that_is_asked_for(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    keep(store, make.document(results=[make.result("TMR-P-LAT")]))
    picture, badge = tmp_path / "run.png", tmp_path / "run.svg"
    assert hardstone("report", "last", "-o", picture, "--store", store).code == EXIT_OK
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert hardstone("report", "last", "-o", badge, "--badge", "--store", store).code == EXIT_OK
    assert "real-time: worst wake-up" in badge.read_text()
    done = hardstone("report", "last", "--badge", "--store", store)
    (kept,) = (store / "reports").iterdir()
    assert (done.code, kept.read_text()) == (EXIT_OK, badge.read_text())
    wrong = hardstone("report", "last", "-o", tmp_path / "run.gif", "--store", store)
    assert wrong.code == EXIT_USAGE and ".html, .htm, .pdf, .png, .svg" in wrong.err
    assert (
        hardstone("report", "last", "-o", picture, "--badge", "--store", store).code == EXIT_USAGE
    )
