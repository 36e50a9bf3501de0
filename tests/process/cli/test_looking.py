"""list, explain, runs, show, report, probe."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE, EXIT_UNREACHABLE, EXIT_USAGE
from hardstone.store import Store
from hardstone.terminal.variants import variants_text, warm_up_text
from tests.process.cli.conftest import Done
from tests.process.store.fake_probe import Here
from tests.process.targets import sample
from tests.unit.stats import make

Hardstone = Callable[..., Done]


def is_narrow(text: str) -> bool:
    return max(len(line) for line in text.splitlines()) <= 80


def test_list_has_every_test(hardstone: Hardstone, target: str) -> None:
    done = hardstone("list", "--target", target)
    assert done.code == EXIT_OK
    assert all(test in done.out for test in load_catalogue().ids())
    assert is_narrow(done.out)


def test_list_as_json(hardstone: Hardstone, target: str) -> None:
    rows = hardstone("list", "--target", target, "--json").document
    assert [row["id"] for row in rows] == load_catalogue().ids()
    assert {row["kind"] for row in rows} == {"behaviour", "timing", "sustained"}


@pytest.mark.parametrize("test", load_catalogue().ids())
def test_explain_says_all_there_is(hardstone: Hardstone, target: str, test: str) -> None:
    done = hardstone("explain", test.lower(), "--target", target)
    assert done.code == EXIT_OK
    assert is_narrow(done.out)
    flat = " ".join(done.out.split())
    descriptor = next(one for one in sample.register().tests if one.id == test)
    entry = load_catalogue().entry(test)
    expected = [descriptor.title, descriptor.source, entry.about, entry.distorts]
    expected += [text for series in descriptor.series for text in (series.begin, series.end)]
    expected += [verdict.claim for verdict in descriptor.verdicts]
    expected += [spec.about for spec in descriptor.params]
    expected += [variants_text(descriptor), warm_up_text(descriptor), *entry.uncounted.values()]
    for text in expected:
        assert " ".join(text.split()) in flat


def test_explain_as_json(hardstone: Hardstone, target: str) -> None:
    found = hardstone("explain", "TMR-*", "--target", target, "--json").document
    assert [one["id"] for one in found] == ["TMR-P-JIT", "TMR-B-EDGE", "TMR-P-LAT"]
    assert found[2]["profiles"]["quick"]["duration_ns"] == 8_000_000_000
    assert [spec["label"] for spec in found[0]["params"]] == ["period_ns", "mechanism"]
    assert found[2]["concurrent"]


def test_explain_says_which_kinds_enter_the_kernel(hardstone: Hardstone, target: str) -> None:
    out = " ".join(hardstone("explain", "SEM-P-RTP", "--target", target).out.split())
    assert "always: sysv, eventfd when somebody waits: unnamed, named, futex, mutex" in out
    (found,) = hardstone("explain", "SEM-P-RTP", "--target", target, "--json").document
    assert {kind for kind, when in found["enters_kernel"].items() if when == "always"} == {
        "sysv",
        "eventfd",
    }
    assert "enter the kernel" not in hardstone("explain", "TMR-P-LAT", "--target", target).out


def test_explain_says_how_long_a_test_takes_that_has_no_counts(
    hardstone: Hardstone, target: str
) -> None:
    out = hardstone("explain", "MUT-B-INV", "TMR-P-LAT", "--target", target).out
    assert "quick: until it is done, about 2 s" in out
    assert "quick: 8 s" in out


def test_explain_names_the_nearest_test(hardstone: Hardstone, target: str) -> None:
    done = hardstone("explain", "TMR-P-LATT", "nothing-*", "--target", target)
    assert done.code == EXIT_USAGE
    assert "did you mean TMR-P-LAT?" in done.err
    assert len(done.told) == 2


def stored(place: Path, name: str = "evening", **changed: Any) -> str:
    document = make.document(name=name, **changed)
    journal = Store(place).journal(document, Here())
    journal.finish(document)
    journal.close()
    return document.id


def test_runs_of_an_empty_store(hardstone: Hardstone, tmp_path: Path) -> None:
    assert "no runs yet" in hardstone("runs", "--store", tmp_path).out


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


@pytest.mark.parametrize("name", ["", " "])
def test_a_store_without_a_name_is_refused(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = hardstone("runs", "--store", name)
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1 and "name of the folder is empty" in done.err
    assert list(tmp_path.iterdir()) == []


def test_runs(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = stored(tmp_path)
    done = hardstone("runs", "--store", tmp_path)
    assert run_id in done.out and "evening" in done.out and is_narrow(done.out)
    (entry,) = hardstone("runs", "--store", tmp_path, "--json").document
    assert entry["id"] == run_id


@pytest.mark.parametrize(
    "target",
    [
        "lab:debian",
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


def test_a_damaged_run_is_named_and_hides_no_other(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = stored(tmp_path)
    damaged = tmp_path / "runs" / "20200101T000000Z-000000.json.gz"
    damaged.write_bytes(b"\x1f\x8bnonsense")
    done = hardstone("runs", "--store", tmp_path)
    assert run_id in done.out
    assert "20200101T000000Z-000000 cannot be read" in done.err


@pytest.mark.parametrize("reference", ["last", "evening", "20261121T032200Z-1a2b3c", "20261121T"])
def test_show(hardstone: Hardstone, tmp_path: Path, reference: str) -> None:
    run_id = stored(tmp_path)
    done = hardstone("show", reference, "--store", tmp_path)
    assert done.code == EXIT_OK
    assert run_id in done.out and "TMR-P-LAT" in done.out


def test_show_as_json_is_the_document(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = stored(tmp_path)
    assert hardstone("show", "last", "--store", tmp_path, "--json").document["id"] == run_id


def test_show_what_there_is_not(hardstone: Hardstone, tmp_path: Path) -> None:
    stored(tmp_path)
    done = hardstone("show", "evning", "--store", tmp_path)
    assert done.code == EXIT_USAGE
    assert "did you mean evening" in done.err


def test_report(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = stored(tmp_path)
    place = tmp_path / "r.html"
    assert hardstone("report", "last", "--store", tmp_path, "-o", place).code == EXIT_OK
    assert run_id in place.read_text()
    done = hardstone("report", "last", "--store", tmp_path)
    assert str(tmp_path / "reports" / f"{run_id}.html") in done.err


def test_report_into_a_place_that_cannot_be(hardstone: Hardstone, tmp_path: Path) -> None:
    stored(tmp_path)
    (tmp_path / "file").write_text("")
    done = hardstone("report", "last", "--store", tmp_path, "-o", tmp_path / "file" / "r.html")
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1


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
    wrong = hardstone("show", "last", "THR-*")
    assert wrong.code == EXIT_USAGE and "the run has no test 'THR-*'" in wrong.err
