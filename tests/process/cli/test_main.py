"""The door: every error is a line and an exit code, messages hold untrusted text, and codes have a
meaning."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from hardstone import __version__
from hardstone.cli import doctor, gate, latstat, main, posix, run, shield, simulate
from hardstone.cli.main import COMMANDS, SUMMARIES, command_of
from hardstone.cli.measure import folder_problems, own_folder, typed_folder
from hardstone.cli.messages import message_lines, tell, tell_code, visible
from hardstone.cli.options import MeasureOptions
from hardstone.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    PrivilegeError,
)
from hardstone.model import Scalar
from hardstone.targets.local import local_target
from hardstone.targets.transport import Limits
from tests.process.cli.conftest import Hardstone
from tests.process.store.faults import make_read_only, mounted
from tests.programs import ran
from tests.unit.stats import make
from tests.waiting import LONGEST_S


def test_the_version(hardstone: Hardstone) -> None:
    assert hardstone("--version").out == f"hardstone {__version__}\n"


def test_without_a_command_the_help_is_a_usage_error(hardstone: Hardstone) -> None:
    done = hardstone()
    assert done.code == EXIT_USAGE
    assert done.out == "" and "evaluate" in done.err


class Failing(tuple[str, ...]):
    """Arguments that raise when the command reads them."""

    error: BaseException

    def __iter__(self) -> Iterator[str]:
        raise self.error


def failing(error: BaseException) -> Failing:
    arguments = Failing()
    arguments.error = error
    return arguments


def test_an_internal_error_is_one_line_and_who_debugs_sees_where(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARDSTONE_DEBUG", raising=False)
    assert main.run(failing(RuntimeError("oh\x1b[2J"))) == EXIT_INTERNAL == 70
    assert capfd.readouterr().err == (
        "hardstone: internal error: RuntimeError: oh\\x1b[2J; "
        "HARDSTONE_DEBUG=1 shows the traceback\n"
    )
    monkeypatch.setenv("HARDSTONE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="oh"):
        main.run(failing(RuntimeError("oh")))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), EXIT_INTERRUPTED, "interrupted"),
        (click.Abort(), EXIT_INTERRUPTED, "interrupted"),
        (PrivilegeError("not allowed", "ask"), EXIT_PRIVILEGE, "not allowed; ask"),
    ],
)
def test_an_error_of_our_own_has_its_exit_code(
    capfd: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert main.run(failing(error)) == code
    assert capfd.readouterr().err == f"hardstone: {said}\n"


def test_short_memory_is_no_internal_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library below numpy would end the process with 1, a crossed threshold."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.delenv("HARDSTONE_DEBUG", raising=False)
    with pytest.raises(PrivilegeError, match="limited to 97 MiB"):
        main.check_memory(97 << 20)
    main.check_memory(1 << 30)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert main.run(failing(MemoryError())) == EXIT_PRIVILEGE
    said = capfd.readouterr().err
    assert "too little memory" in said and "hardstone runs" in said


def test_the_package_is_run_as_the_command_is(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "hardstone", "run", "--no-such-option"]
    done = ran(words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (EXIT_USAGE, "")
    assert done.stderr.endswith("hardstone run --help\n")


@pytest.mark.parametrize("is_linked", [False, True])
def test_the_script_of_a_copied_clone_does_not_run_the_original(
    tmp_path: Path, is_linked: bool
) -> None:
    script = tmp_path / "a copy" / ".venv" / "bin" / "hardstone"
    script.parent.mkdir(parents=True)
    (tmp_path / "a copy" / ".venv" / "pyvenv.cfg").touch()
    script.write_text(f"#!{sys.executable}\nfrom hardstone.__main__ import main\nmain()\n")
    script.chmod(0o755)
    link = tmp_path / "hardstone"
    link.symlink_to(script)
    done = ran([link if is_linked else script, "list"])
    assert (done.returncode, done.stdout) == (2, "")
    told, typed = done.stderr.splitlines()
    assert told.startswith(
        f"hardstone: {tmp_path}/a copy/.venv is a copy and would run the code of "
    )
    assert typed == f"    make -C '{tmp_path}/a copy' setup"


# ---- messages ----

NASTY = "a\nhardstone: all is well\r\x1b[2J\u202e\u2028b\x9b1m"


def test_untrusted_text_makes_no_line_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    assert visible("500\N{NO-BREAK SPACE}000") == "500\N{NO-BREAK SPACE}000"
    assert visible(NASTY) == ("a\\nhardstone: all is well\\r\\x1b[2J\\u202e\\u2028b\\x9b1m")
    tell(f"series {NASTY} is odd", f"hardstone show '{NASTY}'")
    told, typed = capfd.readouterr().err.splitlines()
    assert told.startswith("hardstone: series a\\nhardstone") and told.isprintable()
    assert typed.startswith("    ") and typed.isprintable()


def test_what_a_text_ends_in_is_typed_only_if_it_is_a_plain_command_of_ours() -> None:
    for text in ("x; sudo rm -rf /", "x: hardstone run $(reboot)", "hardstone show x"):
        assert message_lines(text) == [f"hardstone: {text}"]
    told, typed = message_lines("odd; rebuild it: hardstone probe build")
    assert told == "hardstone: odd; rebuild it:"
    assert typed.endswith("hardstone probe build")


def test_a_store_that_cannot_be_written_advises_no_mkdir(
    hardstone: Hardstone, tmp_path: Path, target: str
) -> None:
    with mounted(tmp_path, "tmpfs"):
        store = tmp_path / "store"
        assert hardstone("run", "SEM-P-SIG", "--target", target, "--store", store).code == 0
        make_read_only(tmp_path)
        done = hardstone("report", "last", "--store", store)
    assert done.code == EXIT_USAGE and "mkdir" not in done.err
    assert "its file system is read-only; name a file elsewhere with -o FILE" in done.err


# ---- what exit codes mean ----

ORDINARY: dict[str, Scalar] = {
    "user.effective_id": 1000,
    "limits.can_realtime": False,
    "limits.realtime_cause": "capability",
    "user.can_use_setcap": True,
}
DENIED = make.document(
    results=[make.result("TMR-P-LAT"), make.result("SEM-P-ARC", status="denied", series=[])]
)


def told(
    capfd: pytest.CaptureFixture[str], probe: Path, code: int = EXIT_PRIVILEGE, **facts: Scalar
) -> list[str]:
    named = {name.replace("__", "."): value for name, value in facts.items()}
    tell_code(code, DENIED, {**ORDINARY, **named}, local_target(probe, limits=Limits(LONGEST_S)))
    return capfd.readouterr().err.splitlines()


@pytest.fixture
def own_probe(tmp_path: Path, probe: Path) -> Path:
    return Path(shutil.copy(probe, tmp_path / "hardstone-probe"))


def test_an_ordinary_user_is_given_one_way(
    capfd: pytest.CaptureFixture[str], own_probe: Path
) -> None:
    line, *typed = told(capfd, own_probe)
    assert "exit code 5: 1 of 2 measurements was denied" in line
    assert "setcap cap_sys_nice,cap_ipc_lock=ep " in typed[-1]
    assert typed[-1].rstrip("'").endswith("/hardstone-probe")


@pytest.mark.parametrize(
    "facts",
    [
        {"limits__realtime_cause": "group_budget"},
        {"limits__realtime_cause": "user_namespace"},
        {"limits__realtime_cause": "thread_limit"},
        {"limits__can_realtime": True},
        {"user__can_use_setcap": False},
        {"user__can_use_setcap": None},
    ],
)
def test_where_capabilities_would_not_help_the_doctor_is_asked(
    capfd: pytest.CaptureFixture[str], own_probe: Path, facts: dict[str, Scalar]
) -> None:
    line, typed = told(capfd, own_probe, **facts)
    assert "exit code 5" in line
    assert typed.endswith("hardstone doctor")


def test_a_run_that_is_not_whole_says_what_3_means(
    capfd: pytest.CaptureFixture[str], own_probe: Path
) -> None:
    (line,) = told(capfd, own_probe, EXIT_UNTRUSTWORTHY)
    assert line == "hardstone: exit code 3: 1 of 2 measurements was not completed (1 denied)"
    assert told(capfd, own_probe, EXIT_OK) == []


# ---- --dir ----


def problem(folder: object, target: str = "local") -> str:
    (said,) = folder_problems(MeasureOptions(folder=str(folder)), target)
    return said


def test_the_default_is_the_store_on_this_machine_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert own_folder(MeasureOptions(store=None), "local") == str(tmp_path / "hardstone")
    assert own_folder(MeasureOptions(store=tmp_path / "other"), "local") == str(tmp_path / "other")
    assert own_folder(MeasureOptions(store=None), "lab:debian") is None
    long = Path("/" + "n" * 200)
    assert own_folder(MeasureOptions(store=long), "local") is None


def test_a_typed_folder_is_made_absolute_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    assert typed_folder(MeasureOptions(folder="sub"), "local") == str(tmp_path / "sub")
    assert typed_folder(MeasureOptions(folder="/x"), "lab:debian") == "/x"
    assert folder_problems(MeasureOptions(folder="sub"), "local") == []
    assert folder_problems(MeasureOptions(folder="/not/here"), "lab:debian") == []
    assert folder_problems(MeasureOptions(), "local") == []


def test_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "No such file" in problem(tmp_path / "missing")
    assert "is not a folder" in problem(tmp_path / "file")
    assert "longer than 180" in problem(tmp_path / ("n" * 190))
    assert "Not a directory" in problem(tmp_path / "file" / "x")
    assert "absolute" in problem("there", "lab:debian")
    for odd in ("", " ", "a\nb"):
        assert "empty or not printable" in problem(odd)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert "cannot be written" in problem(tmp_path)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_does(name: str) -> None:
    first, _, _ = inspect.cleandoc(command_of(name).help or "").partition("\n\n")
    assert list(SUMMARIES) == list(COMMANDS) and SUMMARIES[name] == " ".join(first.split())


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (run.evaluate, MeasureOptions),
        (latstat.command, latstat.LatstatOptions),
        (simulate.realtime, simulate.RealtimeOptions),
        (simulate.realfast, simulate.RealfastOptions),
        (doctor.command, doctor.DoctorOptions),
        (posix.command, posix.PosixOptions),
        (gate.command, gate.GateOptions),
        (shield.command, shield.ShieldOptions),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_options_that_nobody_typed_are_those_of_the_command_line(
    command: click.Command, kind: type[Any]
) -> None:
    """`hardstone posix` measures with the defaults of the dataclass, and a person with click's."""
    params = command.make_context("x", []).params
    assert kind(**{name: params[name] for name in params if name not in ("run", "words")}) == kind()
