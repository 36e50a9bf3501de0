"""The checks of the C side, and what they need and do not find."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import gen_docs
import lab_kernels
import probe_checks
import variant_build
from hardstone.lab.kernels import KernelFiles, add_kernel
from lint_c import circle
from probe_checks import Command, Skip
from tests.conftest import ROOT
from tests.host import sanitized
from tests.process.targets import sample
from tests.programs import needed, ran, script

PINNED = ("clang-format", "clang-tidy")
SOURCES = ROOT / "probe/src"


def test_an_unknown_sanitizer_is_skipped() -> None:
    with pytest.raises(Skip, match="-fsanitize=nonsense"):
        probe_checks.sanitizer_runner("nonsense")


def test_without_the_sanitizer_the_tests_run_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "address"
    monkeypatch.setattr(probe_checks, "ADDRESS", folder)
    monkeypatch.setattr(probe_checks, "SANITIZERS", {folder: "nonsense"})
    set_up, tests = probe_checks.address_tests()
    assert "setup" in set_up and not any("b_sanitize" in word for word in set_up)
    assert tests[:4] == ["meson", "test", "-C", str(folder)]
    assert "-fsanitize=nonsense" in capsys.readouterr().out


def test_a_build_is_configured_anew_only_for_other_options(tmp_path: Path) -> None:
    folder = tmp_path / "one"

    def set_up(option: str, compiler: str = "cc") -> bool:
        done = bool(variant_build.set_up(folder, [option], compiler))
        folder.mkdir(exist_ok=True)
        (folder / "build.ninja").touch()
        return done

    assert set_up("-Da=1") and not set_up("-Da=1")
    assert set_up("-Da=2") and set_up("-Da=2", "other-cc") and not set_up("-Da=2", "other-cc")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("true", ""),
        ("echo 'x.c:1: runtime error' >&2", "SEM-P-SIG: x.c:1: runtime error"),
        ("echo race >&2; exit 66", "SEM-P-SIG: exit code 66\nrace"),
    ],
)
def test_a_report_on_standard_error_or_an_exit_code_of_one_test_fails_the_register(
    probe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, said: str
) -> None:
    """Of a stand-in; that of the build is asked for the rate of its counter."""
    stand_in = script(tmp_path / "probe", f'[ "$2" = SEM-P-SIG ] || exit 0\n{body}')
    assert sanitized.run_all([str(stand_in)]) == bool(said)
    told = capsys.readouterr().out
    assert said in told and told.endswith(f" tests, {int(bool(said))} with a complaint\n")


def test_with_a_sanitizer_the_register_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_checks, "sanitizer_runner", lambda sanitizer: ["before"])
    commands = probe_checks.address_register()
    folder = str(probe_checks.BUILD / "probe-address")
    assert commands[-1][1:] == [
        *("-m", "tests.host.sanitized", "before"),
        f"{folder}/hardstone-probe",
    ]


def test_the_golden_register_is_written_from_what_the_probe_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = gen_docs.GOLDEN_REGISTER.read_text()
    told = json.loads(golden)
    told["tests"][0] |= {"title": "Zeit μs", "sample_ns": 7}
    monkeypatch.setattr(gen_docs, "PROBE", sample.executable(tmp_path, f"lines({golden!r})"))
    assert gen_docs.generated_files()[gen_docs.GOLDEN_REGISTER] == golden
    line = json.dumps(told, ensure_ascii=False)
    sample.executable(tmp_path, f"lines({line!r})")
    written = gen_docs.generated_files()[gen_docs.GOLDEN_REGISTER]
    assert json.loads(written) == told
    assert written.count("\n") == golden.count("\n")


def test_what_judges_the_probe_is_pinned_and_not_what_the_path_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(probe_checks, "BUILD", tmp_path)
    formatting = {words[0] for words in probe_checks.formatting()}
    analysis = {words[0] for words in probe_checks.analysis_all()}
    assert formatting | analysis == {str(ROOT / ".venv/bin" / name) for name in PINNED}
    lock = (ROOT / "requirements/dev.txt").read_text()
    assert all(f"\n{name}==" in lock for name in PINNED)


def test_each_source_is_analysed_in_one_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(probe_checks, "BUILD", tmp_path)
    assert analysed(probe_checks.analysis_all()) == {
        str(one.relative_to(ROOT)): 1 for one in here(SOURCES.rglob("*.c"))
    }


def analysed(commands: Sequence[Command]) -> Counter[str]:
    return Counter(file for words in commands for file in words[words.index("-p") + 2 :])


def test_what_has_changed_is_analysed_and_what_includes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(probe_checks, "BUILD", tmp_path)
    changed = {SOURCES / "run/supervise.h", SOURCES / "main.c", ROOT / "README.md"}
    monkeypatch.setattr(probe_checks, "changed_files", lambda: changed)
    found = set(analysed(probe_checks.analysis_changed()))
    assert {"probe/src/main.c", "probe/src/run/supervise.c"} < found
    assert "probe/src/base/text.c" not in found
    monkeypatch.setattr(probe_checks, "changed_files", lambda: {ROOT / "README.md"})
    assert probe_checks.analysis_changed() == []
    monkeypatch.setattr(probe_checks, "changed_files", lambda: None)
    assert probe_checks.analysis_changed() == probe_checks.analysis_all()


def test_files_differ_from_where_the_branch_began_or_from_a_day_ago(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed("git")
    monkeypatch.setattr(probe_checks, "ROOT", tmp_path)
    assert probe_checks.changed_files() is None  # a tarball
    hours = iter(range(0, 1000, 20))

    def git(*words: str) -> None:
        date = f"2020-01-{1 + (hour := next(hours)) // 24:02}T{hour % 24:02}:00:00Z"
        dates = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(
            ["git", *who, *words],
            cwd=tmp_path,
            env=os.environ | dates,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def commit(name: str) -> None:
        (tmp_path / name).touch()
        git("add", name)
        git("commit", "-q", "-m", name)

    git("init", "-q", "-b", "main")
    for name in ("first", "second", "third"):
        commit(name)
    (tmp_path / "new").touch()
    names = {file.name for file in probe_checks.changed_files() or ()}
    assert names == {"third", "new"}
    git("checkout", "-q", "-b", "topic", "--track", "main")
    for name in ("fourth", "fifth", "sixth"):
        commit(name)
    names = {file.name for file in probe_checks.changed_files() or ()}
    assert names == {"fourth", "fifth", "sixth", "new"}


def test_a_source_is_analysed_once_for_each_text_that_it_becomes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed("cc")
    monkeypatch.setattr(probe_checks, "BUILD", tmp_path)
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "same.c").write_text("int x;\n")
    (folder / "sizes.c").write_text("enum { SIZE = HS_STACK_BYTES };\n")
    (folder / "other.c").write_text("#if HS_HAS_FORK\nint fork(void);\n#endif\n")
    (folder / "broken.c").write_text('#include "nowhere.h"\n')
    builds = [
        {
            "directory": str(tmp_path),
            "command": f"cc -DHS_HAS_FORK={fork} -DHS_STACK_BYTES={fork} -MD -o x.o -c {file}",
            "file": f"{tmp_path}/src/{file}",
        }
        for fork in (1, 0)
        for file in ("same.c", "sizes.c", "other.c", "broken.c")
    ]
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe/compile_commands.json").write_text(json.dumps(builds))
    found = probe_checks.distinct_builds(set(folder.iterdir())) / "compile_commands.json"
    kept = json.loads(found.read_text())
    assert kept == [*builds[:4], *builds[6:]]
    assert not (tmp_path / "x.d").exists()


def test_what_a_source_includes_and_its_other_macros_tell_its_texts_apart(tmp_path: Path) -> None:
    (tmp_path / "kinds.h").write_text("#if HS_HAS_FORK\nint fork(void);\n#endif\n")
    (tmp_path / "through.h").write_text('#include "kinds.h"\n')
    (tmp_path / "open.c").write_text('# include "through.h"\n')
    (tmp_path / "sized.c").write_text("enum { SIZE = HS_ROWS };\n")

    def text(file: str, macro: str) -> bytes:
        command = f"cc {macro} -DHS_STACK_BYTES={len(macro)} -o x.o -c {file}"
        build = {"directory": str(tmp_path), "command": command, "file": str(tmp_path / file)}
        return probe_checks.text_of(build)

    assert text("open.c", "-DHS_HAS_FORK=1") != text("open.c", "-DHS_HAS_FORK=0")
    assert text("sized.c", "-DHS_HAS_FORK=1") == text("sized.c", "-DHS_HAS_FORK=0 -DHS_HAS_AIO=0")
    assert text("sized.c", "-DHS_ROWS=1") != text("sized.c", "-DHS_ROWS=2")
    assert text("sized.c", "-DHS_CPUS=1") == text("sized.c", "-DHS_CPUS=2")


# uint32_t is unsigned long on 32-bit systems with newlib or NuttX.
LONG_TYPES = """
#include <inttypes.h>
#undef PRId32
#undef PRIu32
#undef PRIx32
#define PRId32 "ld"
#define PRIu32 "lu"
#define PRIx32 "lx"
#define int32_t long
#define uint32_t unsigned long
"""


def complaints(folder: Path, files: Iterable[Path]) -> str:
    """Of the compiler, about formats of the files where uint32_t is long."""
    needed("cc")
    (folder / "types.h").write_text(LONG_TYPES)
    options = ["-std=c11", "-D_GNU_SOURCE", f"-I{SOURCES}", "-Werror=format", "-fsyntax-only"]
    command = ["cc", *options, "-include", str(folder / "types.h"), *map(str, files)]
    done = ran(command)
    return done.stderr if done.returncode else ""


def here(files: Iterable[Path]) -> list[Path]:
    """Those that are compiled here, not the ports to other systems."""
    ports = {"posix", sys.platform}
    return [
        one for one in files if one.parent.parent != SOURCES / "port" or one.parent.name in ports
    ]


@pytest.mark.full
def test_formats_hold_where_uint32_is_long(tmp_path: Path) -> None:
    files = here(SOURCES.rglob("*.c"))
    assert len(files) > 100
    assert complaints(tmp_path, files) == ""


def test_formats_of_what_has_changed_hold_where_uint32_is_long(tmp_path: Path) -> None:
    changed = here(probe_checks.changed_files() or set())
    files = [
        one for one in changed if one.suffix == ".c" and one.exists() and SOURCES in one.parents
    ]
    assert not files or complaints(tmp_path, files) == ""
    wrong = tmp_path / "wrong.c"
    wrong.write_text(
        '#include <stdio.h>\nvoid tell(uint32_t n);\nvoid tell(uint32_t n) { printf("%u", n); }\n'
    )
    assert "format" in complaints(tmp_path, [wrong])


# Mounts a TMPDIR where no program may run, in a mount name space of its own, then runs the words.
NOEXEC = 'mount -t tmpfs -o noexec none "$TMPDIR" && exec "$@"'


def with_noexec_tmpdir(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("mounting needs root and unshare")
    return ran(
        ["unshare", "--mount", "sh", "-c", NOEXEC, "sh", *command],
        env=os.environ | {"TMPDIR": str(folder)},
        cwd=ROOT,
    )


def test_programs_are_tried_out_where_programs_may_run(tmp_path: Path) -> None:
    ask = "import probe_checks; print(probe_checks.sanitizer_runner('address'))"
    here = ran([sys.executable, "-c", ask], cwd=ROOT / "tools")
    path = f"import sys; sys.path.insert(0, 'tools'); {ask}"
    there = with_noexec_tmpdir(tmp_path, sys.executable, "-c", path)
    assert (there.returncode, there.stdout) == (here.returncode, here.stdout), there.stderr


def test_checks_get_a_folder_for_temporary_files_where_programs_may_run(tmp_path: Path) -> None:
    ask = (
        "import sys; sys.path.insert(0, 'tools')\n"
        "import os, pathlib, shutil, subprocess, check\n"
        "check.leave_noexec_tmpdir()\n"
        "import tempfile; folder = tempfile.mkdtemp()\n"
        "program = pathlib.Path(folder, 'program')\n"
        "program.write_text('#!/bin/sh\\necho ran')\n"
        "program.chmod(0o755)\n"
        "subprocess.run([program], check=True)\n"
        "shutil.rmtree(folder)\n"
    )
    done = with_noexec_tmpdir(tmp_path, sys.executable, "-c", ask)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("ran\n")
    assert f"no program may run in {tmp_path} (noexec)" in done.stdout


EMULATORS = ("qemu-system-x86_64", "qemu-system-aarch64")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs; it has none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add_emulators(programs: Path) -> None:
    for name in EMULATORS:
        script(programs / name)


def test_the_skip_says_what_to_install_or_why_nothing_was_fetched(programs: Path) -> None:
    with pytest.raises(Skip, match=r"debian is not booted: .*qemu-system-x86"):
        lab_kernels.fetch(1)()
    add_emulators(programs)
    with pytest.raises(Skip, match=r"debian cannot be fetched: .*apt"):
        lab_kernels.fetch(1)()


def test_a_kernel_that_is_there_is_not_fetched_again(programs: Path) -> None:
    add_emulators(programs)
    (name,) = lab_kernels.NAMES[:1]
    files = KernelFiles(
        arch="x86_64", release="6.1", image=b"image", busybox=b"busybox", config=None, drivers=()
    )
    add_kernel(name, files)
    assert lab_kernels.fetch(1)() == []


def test_all_kernels_that_are_missing_are_named(programs: Path) -> None:
    with pytest.raises(Skip) as skipped:
        lab_kernels.fetch(len(lab_kernels.STANDARD))()
    assert [name for name in lab_kernels.NAMES if f"{name} is not" not in str(skipped.value)] == []


DEFINED = set("TDRBVW")


@pytest.fixture
def symbols(probe: Path) -> list[tuple[str, str, str]]:
    """(object file, kind, name) of all that the probe is linked from."""
    archive = probe.parent / "libprobe.a"
    if shutil.which("nm") is None or not archive.exists():
        pytest.skip("nm, or the library that the probe is linked from, is not here")
    told = ran(["nm", "-A", archive], check=True)
    rows = [line.rsplit(":", 1) for line in told.stdout.splitlines() if ":" in line]
    return [(place.split(":")[-1], rest.split()[-2], rest.split()[-1]) for place, rest in rows]


def room(file: str) -> str:
    """Of src_family_timer_tmr_p_lat.c.o: family/timer. A port and base/ are one layer, the register
    is above all families."""
    words = file.rpartition("/")[2].removeprefix("src_").split("_")
    if words[0] == "family" and len(words) > 2:
        return f"family/{words[1]}"
    return "base" if words[0] == "port" else words[0]


def calls(symbols: list[tuple[str, str, str]]) -> dict[str, set[str]]:
    """Which rooms define what a room uses, itself left out."""
    homes = {name: room(file) for file, kind, name in symbols if kind in DEFINED}
    used: dict[str, set[str]] = defaultdict(set)
    for file, kind, name in symbols:
        if kind == "U" and homes.get(name, room(file)) != room(file):
            used[room(file)].add(homes[name])
    return used


@pytest.mark.slow
def test_no_two_rooms_call_each_other(symbols: list[tuple[str, str, str]]) -> None:
    used = calls(symbols)
    assert len(used) > 20
    assert circle(used) == []


def test_two_rooms_that_call_each_other_are_found() -> None:
    kept = [("src_run_a.c.o", "T", "one"), ("src_load_b.c.o", "T", "two")]
    symbols = [*kept, ("src_run_x.c.o", "U", "two"), ("src_load_a.c.o", "U", "one")]
    assert circle(calls(symbols)) == ["load", "run", "load"]
    assert circle(calls([*kept, ("src_run_b.c.o", "U", "one"), symbols[2]])) == []
