"""The tools behind the doors: every check runs, skips have reasons, output is real."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

import check
import docs_output
import docs_tests
import gen_docs
import probe_checks
from hardstone.catalogue import load_catalogue
from hardstone.model import Descriptor, Register
from probe_checks import Command, Skip
from tests.host import sanitized
from tests.process.targets import sample

ROOT = Path(__file__).resolve().parents[2]
PINNED = ("clang-format", "clang-tidy")
SOURCES = ROOT / "probe/src"


def exits_with(code: int, says: str = "") -> Command:
    return [sys.executable, "-c", f"print({says!r}); raise SystemExit({code})"]


def test_a_failure_is_shown_and_stops_the_commands_that_build_on_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands = [exits_with(0, "fine"), exits_with(3, "because"), exits_with(4, "later")]
    assert not check.run_check(check.Check("example", lambda: commands))
    told = capsys.readouterr().out
    assert "because" in told
    assert "FAIL  example" in told
    assert "later" not in told


def test_words_that_nothing_takes_are_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "CHECKS", [check.Check("mypy", list)])
    monkeypatch.setattr(sys, "argv", ["check.py", "--only", "mypy", "--strictly"])
    with pytest.raises(SystemExit) as ended:
        check.main()
    assert ended.value.code == 2
    assert "--strictly is for pytest" in capsys.readouterr().err


def test_checks_that_run_at_once_show_every_failure(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [exits_with(1, "one"), exits_with(0), exits_with(1, "two")]
    assert not check.run_check(check.Check("example", lambda: commands, at_once=2))
    told = capsys.readouterr().out
    assert "one" in told
    assert "two" in told


def test_a_missing_program_is_a_failure_and_not_a_crash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not check.run_check(check.Check("example", lambda: [["/nonexistent/tool"]]))
    assert "FAIL  example" in capsys.readouterr().out


def test_a_skip_tells_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    def commands() -> list[Command]:
        raise Skip("no such tool")

    assert check.run_check(check.Check("example", commands))
    assert capsys.readouterr().out == "SKIP  example: no such tool\n"


def test_later_checks_run_after_a_failure_and_the_exit_status_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [
        check.Check("first", lambda: [exits_with(1, "because")]),
        check.Check("second", lambda: [exits_with(0)], after="first"),
    ]

    def run_pytest(arguments: Sequence[str]) -> bool:
        print("much text")
        return True

    monkeypatch.setattr(check, "CHECKS", checks)
    monkeypatch.setattr(check, "run_pytest", run_pytest)
    monkeypatch.setattr(sys, "argv", ["check.py"])
    assert check.main() == 1
    told = capsys.readouterr().out
    assert "ok    second" in told
    assert "because\nFAIL  first" in told.partition("much text")[2]  # again, where it is seen
    assert told.endswith("FAILED: first\n")


def waits_for(file: Path, code: int = 0) -> Command:
    """Ends when the file is there."""
    waits = f"import os, sys, time\nwhile not os.path.exists({str(file)!r}): time.sleep(0.01)\n"
    return [sys.executable, "-c", f"{waits}sys.exit({code})"]


@pytest.mark.parametrize("code", [0, 1])
def test_pytest_begins_when_the_probe_is_built_and_the_others_go_on_beside_it(
    tmp_path: Path, code: int
) -> None:
    built, looked = tmp_path / "built", tmp_path / "looked"
    checks = [
        check.Check(check.BUILD, lambda: [["touch", str(built)]]),
        check.Check("beside", lambda: [waits_for(looked, code)]),
    ]

    def last() -> bool:
        looked.touch()
        return built.exists()

    assert check.failed_checks(checks, last) == (["beside"] if code else [])


def test_pytest_counts_as_a_check() -> None:
    assert check.failed_checks([], lambda: False) == ["pytest"]


def test_a_check_begins_when_the_one_that_it_builds_on_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "made"
    slowly = [sys.executable, "-c", f"import time; time.sleep(0.2); open({str(file)!r}, 'w')"]
    checks = [
        check.Check("first", lambda: [slowly]),
        check.Check("second", lambda: [["test", "-e", str(file)]], after="first"),
    ]
    assert check.failed_checks(checks) == []


def test_the_quick_checks_are_some_of_all_and_each_runs_once() -> None:
    quick, whole = (check.chosen_checks([], is_quick) for is_quick in (True, False))
    assert {one.name for one in quick} - {one.name for one in whole} == {check.QUICK_TESTS}
    assert {one.after for one in [*quick, *whole]} == {"", check.BUILD}
    for chosen in (quick, whole):
        assert chosen[0].name == check.BUILD


@pytest.mark.parametrize("name", ["probe quick tests", "probe tests", "probe analysis", "pytest"])
def test_one_check_alone_is_of_the_probe_as_its_source_is_now(name: str) -> None:
    chosen = [one.name for one in check.chosen_checks([name], False)]
    assert chosen == [check.BUILD, *([name] if name != check.PYTEST else [])]


def test_one_check_that_needs_no_probe_builds_none() -> None:
    assert [one.name for one in check.chosen_checks(["mypy"], False)] == ["mypy"]
    assert [one.name for one in check.chosen_checks([check.BUILD], False)] == [check.BUILD]


INTERRUPTED = """
import os, pathlib, signal, sys, time
import check

folder = pathlib.Path(sys.argv[1])
begun = [folder / f"begun {place}" for place in range(check.LANES)]
ends = 'trap "" INT; touch "$1"; while [ ! -e "$2" ]; do sleep 0.05; done'

def runs(file):
    return check.Check(file.name, lambda: [["sh", "-c", ends, "sh", file, folder / "end"]])

def interrupted(arguments):
    while not all(file.exists() for file in begun):
        time.sleep(0.01)
    try:
        os.killpg(0, signal.SIGINT)
        signal.pause()
    finally:
        (folder / "end").touch()

later = check.Check("later", lambda: [["touch", folder / "later"]])
check.CHECKS = [*map(runs, begun), later]
check.run_pytest = interrupted
sys.argv = ["check.py"]
try:
    check.main()
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_after_ctrl_c_no_check_begins(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert (tmp_path / "end").exists() and not (tmp_path / "later").exists()


def test_an_unknown_sanitizer_is_skipped() -> None:
    with pytest.raises(Skip, match="-fsanitize=nonsense"):
        probe_checks.sanitized_tests("nonsense", "nonsense")()


def says_on_stderr(code: int, says: str) -> Command:
    return [sys.executable, "-c", f"import sys; sys.stderr.write({says!r}); sys.exit({code})"]


def test_a_report_on_standard_error_or_an_exit_code_is_a_complaint() -> None:
    assert sanitized.complaint(exits_with(0, "figures")) == ""
    assert "runtime error" in sanitized.complaint(says_on_stderr(0, "x.c:1: runtime error"))
    assert "exit code 66" in sanitized.complaint(exits_with(66))


def test_with_a_sanitizer_the_register_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_checks, "sanitizer_runner", lambda sanitizer: ["before"])
    commands = probe_checks.sanitized_tests("address", "address,undefined")()
    folder = str(probe_checks.BUILD / "probe-address")
    assert commands[-1][1:] == [
        *("-m", "tests.host.sanitized", "before"),
        f"{folder}/hardstone-probe",
    ]


def test_a_complaint_of_one_test_fails_the_register(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    register = probe_that_complains_of(tmp_path, "SEM-P-SIG")
    assert sanitized.run_all(register) == 1
    assert "SEM-P-SIG: exit code 1\nrace" in capsys.readouterr().out
    assert sanitized.run_all(probe_that_complains_of(tmp_path, "none of them")) == 0


def probe_that_complains_of(folder: Path, test: str) -> Command:
    """A stand-in with two tests, of which one may end with 1 and a word on standard error."""
    tests = [
        Descriptor(
            id=one,
            title="",
            source="",
            params=[],
            needs=[],
            series=[],
            verdicts=[],
            default_samples=1,
            default_duration_ns=0,
        )
        for one in ("SEM-P-SIG", "SEM-P-ARN")
    ]
    register = Register(schema="hardstone.register/1", probe_version="0", tests=tests)
    answers = {
        "list": msgspec.json.encode(register).decode(),
        "facts": '{"instrument": {"counter_hz": 1}}',
    }
    program = folder / "probe.py"
    program.write_text(
        "import sys\n"
        f"print({answers!r}.get(sys.argv[1], ''))\n"
        f"bad = {test!r} in sys.argv\n"
        "sys.stderr.write('race' if bad else '')\n"
        "sys.exit(1 if bad else 0)\n"
    )
    return [sys.executable, str(program)]


def test_output_replaces_what_stood_in_its_block() -> None:
    text = "a\n<!-- output: hardstone --version -->\nold\n<!-- end -->\nz\n"
    fresh = docs_output.refresh(text, measure=False)
    assert "$ hardstone --version\nhardstone " in fresh
    assert "old" not in fresh
    assert fresh.startswith("a\n")
    assert fresh.endswith("<!-- end -->\nz\n")
    assert docs_output.refresh(fresh, measure=False) == fresh


def test_measured_output_stays_unless_asked() -> None:
    text = "<!-- measured: hardstone --version -->\nold\n<!-- end -->\n"
    assert docs_output.refresh(text, measure=False) == text
    assert "old" not in docs_output.refresh(text, measure=True)


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


def test_the_changes_name_the_tests_of_the_register() -> None:
    text = "before\n<!-- tests -->\n- Tests: OLD-P-ONE.\n<!-- end -->\nafter\n"
    register = sample.register()
    fresh = docs_tests.changes(text, register)
    names = " ".join(fresh.splitlines()[2:-2]).removeprefix("- Tests: ").rstrip(".")
    assert [name.strip() for name in names.split(",")] == [test.id for test in register.tests]
    assert fresh.startswith("before\n<!-- tests -->\n- Tests: CLK")
    assert fresh.endswith(".\n<!-- end -->\nafter\n")
    assert docs_tests.changes(fresh, register) == fresh


def test_a_python_that_is_too_old_is_one_line_with_what_to_type(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    done = find_python(tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "python3 is 3.9.2: sudo apt-get install" in done.stderr


def test_no_python_at_all_is_one_line_with_what_to_type(tmp_path: Path) -> None:
    done = find_python(tmp_path)
    assert done.returncode == 1
    assert done.stderr == "setup: there is no python3: sudo apt-get install python3 python3-venv\n"


def test_a_python_without_venv_names_the_package(tmp_path: Path) -> None:
    bare = tmp_path / "python3"
    bare.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\n')
    bare.chmod(0o755)
    done = find_python(tmp_path)
    assert done.stderr.endswith(": sudo apt-get install python3-venv\n")


@pytest.mark.parametrize(
    ("user", "has_sudo", "told"),
    [
        (0, False, "apt-get install python3 python3-venv"),
        (0, True, "apt-get install python3 python3-venv"),
        (1000, True, "sudo apt-get install python3 python3-venv"),
        (1000, False, "su -c 'PATH=$PATH:/usr/sbin:/sbin apt-get install python3 python3-venv'"),
    ],
)
def test_what_installs_python_is_said_as_it_is_typed_there(
    tmp_path: Path, user: int, has_sudo: bool, told: str
) -> None:
    done = find_python(tmp_path, user=user, has_sudo=has_sudo)
    assert done.stderr == f"setup: there is no python3: {told}\n"


def find_python(
    path: Path, *, user: int = 1000, has_sudo: bool = True
) -> subprocess.CompletedProcess[str]:
    for name, body in {"id": f"echo {user}", **({"sudo": ""} if has_sudo else {})}.items():
        (path / name).write_text(f"#!/bin/sh\n{body}\n")
        (path / name).chmod(0o755)
    command = ["/bin/sh", str(ROOT / "tools/find-python.sh")]
    return subprocess.run(
        command, env={"PATH": str(path)}, capture_output=True, text=True, check=False
    )


def test_the_page_of_a_test_says_which_kinds_enter_the_kernel() -> None:
    (test,) = [one for one in sample.register().tests if one.id == "SEM-P-RTP"]
    _, _, told = docs_tests.page(test, load_catalogue()).partition("enter the kernel\n")
    assert "| always | `sysv`, `eventfd` |" in told.partition("##")[0]


def test_what_judges_the_probe_is_pinned_and_not_what_the_path_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(probe_checks, "BUILD", tmp_path)
    formatting = {words[0] for words in probe_checks.formatting()}
    analysis = {words[2] for words in probe_checks.analysis()}
    assert formatting | analysis == {str(ROOT / ".venv/bin" / name) for name in PINNED}
    lock = (ROOT / "requirements/dev.txt").read_text()
    assert all(f"\n{name}==" in lock for name in PINNED)


def test_each_source_is_analysed_in_one_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(probe_checks, "BUILD", tmp_path)
    calls = [words[words.index("-p") + 2 :] for words in probe_checks.analysis()]
    named = [file for files in calls for file in files]
    assert sorted(named) == sorted(str(one.relative_to(ROOT)) for one in SOURCES.rglob("*.c"))


def test_a_source_is_analysed_once_for_each_text_that_it_becomes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no cc here")
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
    kept = json.loads((probe_checks.distinct_builds() / "compile_commands.json").read_text())
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


# Mounts a TMPDIR where no program may run, in a mount name space of its own, then runs the words.
NOEXEC = 'mount -t tmpfs -o noexec none "$TMPDIR" && exec "$@"'


def with_noexec_tmpdir(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("mounting needs root and unshare")
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", NOEXEC, "sh", *command],
        env=os.environ | {"TMPDIR": str(folder)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_programs_are_tried_out_where_programs_may_run(tmp_path: Path) -> None:
    ask = "import probe_checks; print(probe_checks.sanitizer_runner('address'))"
    here = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT / "tools", capture_output=True, text=True, check=False
    )
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
