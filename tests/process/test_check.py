"""What `make test` rests on: every check runs, costs are told, skips have reasons."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import check
import probe_checks
from check import Check, Outcome, Stage
from probe_checks import Command, Skip
from tests.conftest import ISOLATED, ROOT, all_objects
from tests.programs import ran


def exits_with(code: int, says: str = "") -> Command:
    return [sys.executable, "-c", f"print({says!r}); raise SystemExit({code})"]


def door(*checks: Check, lanes: int = 2, **budget_s: float) -> int:
    return check.run_door([Stage(checks, lanes)], is_anew=False, budget_s=budget_s)


@pytest.fixture(autouse=True)
def the_machine_is_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding out takes half a second of CPU for each door."""
    monkeypatch.setattr(check, "reference_s", lambda: check.REFERENCE_S)


def breaks() -> list[Command]:
    raise KeyError("no such folder")


@pytest.mark.parametrize(
    ("commands", "at_once", "shown"),
    [
        ([exits_with(0, "fine"), exits_with(3, "because"), exits_with(4, "later")], 1, ["because"]),
        ([exits_with(1, "one"), exits_with(0), exits_with(1, "two")], 2, ["one", "two"]),
        ([["/nonexistent/tool"]], 1, ["/nonexistent/tool"]),
        (None, 1, ["KeyError: 'no such folder'"]),
    ],
)
def test_a_failure_is_shown_and_ends_only_what_builds_on_it(
    commands: list[Command] | None,
    at_once: int,
    shown: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    touched = tmp_path / "touched"
    beside = Check("beside", lambda: [["touch", str(touched)]])
    given = breaks if commands is None else lambda: commands
    assert door(Check("example", given, at_once=at_once), beside, lanes=1) == 1
    told = capsys.readouterr().out
    assert all(one in told for one in shown) and "later" not in told
    assert told.endswith("FAILED: example\n") and touched.exists()


def test_a_skip_tells_its_reason_and_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    def commands() -> list[Command]:
        raise Skip("no such tool")

    assert door(Check("example", commands)) == 0
    assert "SKIP  example: no such tool\n" in capsys.readouterr().out


def test_a_check_begins_when_the_one_that_it_builds_on_has_ended(tmp_path: Path) -> None:
    """Whatever lane is free: the second is first in the list."""
    file = tmp_path / "made"
    slowly = [sys.executable, "-c", f"import time; time.sleep(0.2); open({str(file)!r}, 'w')"]
    second = Check("second", lambda: [["test", "-e", str(file)]], after=("first",))
    assert door(second, Check("first", lambda: [slowly])) == 0


def test_what_builds_on_a_failure_does_not_run_and_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    touched = tmp_path / "touched"
    second = Check("second", lambda: [["touch", str(touched)]], after=("first",))
    assert door(Check("first", lambda: [exits_with(1)]), second) == 1
    assert "second: not run, first failed" in capsys.readouterr().out
    assert not touched.exists()


def test_the_cpu_time_of_a_check_is_that_of_all_its_processes() -> None:
    burn = "import time\nwhile time.process_time() < 0.1: pass"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    outcome = Outcome(Check("example", lambda: []))
    check.run_command([sys.executable, "-c", inner], outcome)
    assert outcome.cpu_s >= 0.1


def test_more_cpu_than_the_budget_fails_and_a_slower_machine_has_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = Check("example", lambda: [[sys.executable, "-c", ""]])
    assert door(example, example=0.0001) == 1
    assert "raise tools/budget.toml" in capsys.readouterr().out
    assert door(Check("example", lambda: [exits_with(0)]), example=1000.0) == 0
    outcome = Outcome(example, cpu_s=15)
    assert check.over_budget([outcome], {"example": 10}, slower=1.0)
    assert not check.over_budget([outcome], {"example": 10}, slower=1.6)
    assert not check.over_budget([outcome], {}, slower=1.0)


def test_every_budget_is_that_of_a_check() -> None:
    for name, budget_s in tomllib.loads(check.BUDGET.read_text()).items():
        checks = {one.name for stage in check.DOORS[name] for one in stage.checks}
        assert budget_s.keys() == checks - {one for one in checks if one.startswith("lab kernel")}


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ("..\n3 failed, 12 passed in 4.05s\n", {"failed": 3, "passed": 12}),
        ("= 12 passed, 2 skipped in 61.05s (0:01:01) =\n", {"passed": 12, "skipped": 2}),
        ("1 passed, 1 error in 0.1s\n", {"passed": 1, "failed": 1}),
        ("5 passed, 1 inconclusive in 0.1s\n", {"passed": 5, "inconclusive": 1}),
        ("no tests ran in 0.10s\n", {}),
        ("1 passed in 1.00s\nand more\n2 passed in 1.0s\n", {"passed": 2}),
    ],
)
def test_the_closing_line_of_pytest_is_counted(said: str, counts: dict[str, int]) -> None:
    outcome = Outcome(Check("example", lambda: []))
    check.count_tests(said, outcome)
    assert outcome.counts == Counter(counts)


def test_the_closing_line_of_a_door_sums_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\ndef test_one(): pass\ndef test_two(): pytest.skip('no such thing')\n"
    )
    words = ["-c", "/dev/null", "--rootdir", str(tmp_path), "-q", "-ra", str(tmp_path)]
    real = Check("real", lambda: [[sys.executable, "-m", "pytest", *words]])
    made_up = Check("made up", lambda: [[*exits_with(0, "2 passed in 0.1s"), "pytest"]])
    assert door(real, made_up) == 0
    told = capsys.readouterr().out
    assert "\ntests: 3 passed, 0 failed, 1 skipped\n" in told
    assert "no such thing" in told


@pytest.mark.parametrize(("other", "code"), [("1 passed", 0), ("1 skipped", 0), ("", 1)])
def test_a_choice_that_no_test_fits_is_an_error(
    other: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder may have none, but not all of them."""
    monkeypatch.setattr(check, "_FOR_PYTEST", ["-k", "tpyo"])
    none = [*exits_with(check.NO_TEST_CHOSEN, "3 deselected in 0.10s"), "pytest"]
    some = [*exits_with(0, f"{other}, 2 deselected in 0.10s"), "pytest"]
    checks = [Check("none", lambda: [none]), *([Check("some", lambda: [some])] if other else [])]
    assert door(*checks) == code
    assert ("no test is chosen by -k tpyo" in capsys.readouterr().out) == bool(code)


def test_an_unchanged_probe_is_not_tested_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    count = ["sh", "-c", f"echo run >> {runs}"]
    for digest, expected in (("a", 1), ("a", 1), ("b", 2)):
        example = Check(
            "example",
            lambda: [count],
            passed=tmp_path / "build" / "passed",
            digest=lambda digest=digest: digest,
        )
        assert door(example) == 0
        assert len(runs.read_text().splitlines()) == expected
    assert "the probe is as it was when this passed" in capsys.readouterr().out
    assert check.run_door([Stage([example])], is_anew=True, budget_s={}) == 0
    assert len(runs.read_text().splitlines()) == 3
    failed = Check("example", lambda: [exits_with(1)], passed=tmp_path / "passed")
    assert door(failed) == door(failed) == 1


def test_other_flags_and_rights_are_another_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was skipped, or built without a sanitizer, is not what will be run."""
    monkeypatch.setattr(probe_checks, "PINNED", tmp_path)  # without Meson, which takes 0.2 s
    monkeypatch.setattr(probe_checks, "runs_sanitized", lambda: False)
    found = {probe_checks.digest()}
    monkeypatch.setenv("CFLAGS", "-DOTHER")
    found.add(probe_checks.digest())
    monkeypatch.setattr(probe_checks.os, "geteuid", lambda: 4711)
    found.add(probe_checks.digest())
    monkeypatch.setattr(probe_checks, "runs_sanitized", lambda: True)
    found.add(probe_checks.digest())
    monkeypatch.setattr(probe_checks, "capabilities", lambda: "CapEff:\t0000000000000001")
    found.add(probe_checks.digest())
    monkeypatch.setattr(probe_checks.os, "sched_getaffinity", lambda _: {4711})
    found.add(probe_checks.digest())
    assert len(found) == 6


def test_the_analysis_depends_on_where_the_branch_began(monkeypatch: pytest.MonkeyPatch) -> None:
    before = probe_checks.analysis_digest()
    monkeypatch.setattr(probe_checks, "base_commit", lambda: "another")
    assert probe_checks.analysis_digest() != before


TIMED = """
import time
import pytest

runs = []

def burn():
    end_s = time.process_time() + 0.9  # also on a machine that is four times as slow
    while time.process_time() < end_s:
        pass

def test_that_is_cheap():
    pass

def test_that_is_dear():
    burn()

@pytest.mark.slow
def test_that_says_so():
    burn()

def test_that_is_dear_once():
    runs.append(1)
    if len(runs) == 1:
        burn()
"""


def test_a_quick_test_is_cheap_or_says_that_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "test_timed.py").write_text(TIMED)
    words = ["-m", "pytest", "-q", "--quick", "-p", "tests.conftest", "-c", ROOT / "pyproject.toml"]
    found = subprocess.run(
        [sys.executable, *words, tmp_path],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "1 failed, 3 passed" in found.stdout, found.stdout + found.stderr
    assert "FAILED test_timed.py::test_that_is_dear - took " in found.stdout


def test_one_check_runs_with_what_it_builds_on() -> None:
    (stage,) = check.chosen_stages(check.DOORS["test"], ["virtual"])
    assert [one.name for one in stage.checks] == [check.BUILD, "probe variant", "virtual"]
    (stage,) = check.chosen_stages(check.DOORS["test"], ["mypy"])
    assert [one.name for one in stage.checks] == ["mypy"]


@pytest.mark.parametrize("name", check.DOORS)
def test_a_door_names_each_check_once_and_runs_what_it_builds_on(name: str) -> None:
    for stage in check.DOORS[name]:
        names = [one.name for one in stage.checks]
        assert len(names) == len(set(names))
        assert {before for one in stage.checks for before in one.after} <= set(names)


def folders_of(name: str) -> set[str]:
    """Folders of tests that calls of pytest of a door collect."""
    calls = [
        one.commands
        for stage in check.DOORS[name]
        for one in stage.checks
        if one.commands.__qualname__.partition(".")[0] in ("pytest_call", "isolated")
    ]
    with check.folders_removed():
        words = {word for commands in calls for word in commands()[0]}
    return {word.split("/")[1] for word in words if word.startswith("tests/")}


def test_every_folder_of_tests_is_run_by_the_gate_or_the_hosts_door() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    assert folders_of("test") == folders - {"host"}
    assert folders_of("host") == {"host", "guest"}
    assert folders_of("full") == folders


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", "nonsense"], "the available checks are"),
        (["tests/unit"], ".venv/bin/python -m pytest tests/unit"),
    ],
)
def test_wrong_usage_says_what_to_type(words: list[str], told: str) -> None:
    done = ran([sys.executable, ROOT / "tools/check.py", *words], cwd=ROOT)
    assert done.returncode == 2
    assert told in done.stderr


INTERRUPTED = """
import os, pathlib, signal, sys, threading, time
import check

folder = pathlib.Path(sys.argv[1])
before = check.isolation() if sys.argv[3] == "isolated" else []
begun = [folder / f"begun {place}" for place in range(2)]
waits = 'trap "touch \\'$2\\'; exit 1" INT TERM; touch "$1"; while :; do sleep 0.05; done'

def runs(file):
    end = file.with_name(file.name.replace("begun", "end"))
    call = [*before, "sh", "-c", waits, "sh", str(file), str(end)]
    return check.Check(file.name, lambda: [call])

def interrupt(by):
    while not all(file.exists() for file in begun):
        time.sleep(0.01)
    os.killpg(0, signal.SIGINT) if by == "INT" else os.kill(os.getpid(), signal.SIGTERM)

later = check.Check("later", lambda: [["touch", str(folder / "later")]])
check.DOORS["test"] = [check.Stage([*map(runs, begun), later], 2)]
threading.Thread(target=interrupt, args=[sys.argv[2]]).start()
sys.argv = ["check.py"]
try:
    check.main()
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(
    ("by", "where", "ends"),
    [
        ("INT", "", {"end 0", "end 1"}),
        ("TERM", "", {"end 0", "end 1"}),
        ("TERM", "isolated", set()),
    ],
)
def test_after_ctrl_c_no_check_begins_and_those_that_run_end(
    by: str, where: str, ends: set[str], tmp_path: Path
) -> None:
    """Ctrl-C reaches the whole group; SIGTERM only the one that ends the others. What has a name
    space of its own does not hear it, and is killed."""
    if where and not check.isolation():
        pytest.skip("no name spaces here")
    done = ran(
        [sys.executable, "-c", INTERRUPTED, tmp_path, by, where],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        start_new_session=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (130, "")
    assert {path.name for path in tmp_path.iterdir()} == {"begun 0", "begun 1", *ends}
    # One that the signal ended before it reached the caller is told as any that fails.
    told = [line for line in done.stdout.splitlines() if line.startswith(("ok", "FAIL"))]
    assert all(line.startswith(("FAIL  begun 0 ", "FAIL  begun 1 ")) for line in told)


def test_what_starts_while_the_others_are_ended_is_ended_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever ends them may not know it yet."""
    interrupted, start = threading.Event(), subprocess.Popen

    def start_and_interrupt(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = start(*words, **options)
        interrupted.set()
        return process

    monkeypatch.setattr(check, "_INTERRUPTED", interrupted)
    monkeypatch.setattr(subprocess, "Popen", start_and_interrupt)
    outcome = Outcome(Check("example", lambda: []))
    check.run_command(["sleep", "600"], outcome)
    assert len(outcome.failures) == 1


def test_a_check_whose_source_cannot_be_read_fails_and_no_other() -> None:
    def vanished() -> str:
        raise FileNotFoundError("probe/gone.c")

    one = Check("example", lambda: [], passed=Path("passed"), digest=vanished)
    outcomes = check.Lanes(check.Stage([one, Check("other", lambda: [])]), is_anew=False).run()
    assert {one.check.name: bool(one.failures) for one in outcomes} == {
        "example": True,
        "other": False,
    }


LEAVES = """
import re, subprocess
from tests.conftest import all_objects
before = all_objects()
subprocess.Popen(["sleep", "60"])
open("/dev/shm/left", "w")
open("/mnt/left", "w")
subprocess.run(["ipcmk", "--queue"], check=True, stdout=subprocess.DEVNULL)
print(sorted(re.sub("[0-9]+", "N", one) for one in all_objects() - before))
"""


def test_what_a_test_leaves_behind_is_found() -> None:
    if ISOLATED not in os.environ:
        pytest.skip("only in name spaces of its own: make test ARGS='--only process'")
    command = [*check.isolation(), sys.executable, "-c", LEAVES]
    done = ran(command, cwd=ROOT, check=True)
    # The name of the process may still be that of the one that started it.
    *others, process, shared = ast.literal_eval(done.stdout)
    assert others == ["System V msg N", "message queue left"]
    assert process.startswith("process N ") and shared == "shared memory left"


def test_nobody_else_is_in_a_name_space_of_its_own() -> None:
    if ISOLATED not in os.environ:
        pytest.skip("only in name spaces of its own: make test ARGS='--only process'")
    assert not {one for one in all_objects() if "kthreadd" in one or "systemd" in one}
    assert Path("/proc/1/comm").read_text() == "sh\n"
