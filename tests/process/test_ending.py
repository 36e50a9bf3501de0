"""What a command loads at its start, and that its end loses neither output nor exit code."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.collector import collector_paused
from tests.conftest import ROOT
from tests.process.targets import sample

CALLS = {
    "plain": "",
    "thread": "threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
    "files": "import tempfile; atexit.register(print, 'late')",
}
ENDING = """
import atexit, sys, threading, time
from hardstone.__main__ import _end_at_once
{call}
atexit.register(print, "taken apart")
print("said")
_end_at_once({code})
"""


def ended(call: str, code: object = 3, **streams: object) -> subprocess.CompletedProcess[str]:
    program = ENDING.format(call=CALLS[call], code=repr(code))
    # Unbuffered, nothing would be left to flush.
    env = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    given = {"env": env} | {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([sys.executable, "-c", program], text=True, check=False, **given)  # type: ignore[call-overload, no-any-return]


def test_what_was_said_arrives_and_the_code_is_kept() -> None:
    found = ended("plain")
    assert (found.stdout, found.returncode) == ("said\n", 3)


@pytest.mark.parametrize("call", ["thread", "files"])
def test_what_has_an_end_is_ended(call: str) -> None:
    assert "late" in ended(call).stdout


def test_a_code_that_is_a_text_is_left_to_python() -> None:
    assert "taken apart" in ended("plain", "a reason").stdout


def test_a_full_disk_is_left_to_python() -> None:
    with Path("/dev/full").open("w") as full:
        found = ended("plain", 0, stdout=full)
    assert found.returncode != 0


def test_a_long_document_arrives_whole() -> None:
    command = [sys.executable, "-m", "hardstone", "list", "published", "--json"]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert json.loads(found.stdout)


PROGRAM = """
import gc
from hardstone.collector import end_with_objects, keep


class Run:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print(self.name, "gone")


def is_searched(name):
    return any(type(one) is Run and one.name == name for one in gc.get_objects())


"""


def said(program: str) -> list[str]:
    """What the program says, one line each, until its interpreter has ended."""
    command = [sys.executable, "-c", PROGRAM + program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        (
            'run = Run("first")\nassert is_searched("first")\nkeep(run)\ndel run\ngc.collect()\n'
            'assert not is_searched("first")',
            ["end", "first gone"],
        ),
        # a command keeps its own, and not those of the one before
        (
            'keep(Run("first"))\nprint("second command")\nkeep(Run("second"))',
            ["second command", "first gone", "end", "second gone"],
        ),
        # what was kept is left to the system, also after another search
        ('keep(Run("first"))\nend_with_objects()\ngc.collect()', ["end"]),
        # where nothing was kept nothing is left
        (
            'run = Run("first")\nend_with_objects()\nassert gc.get_freeze_count() == 0',
            ["end", "first gone"],
        ),
    ],
)
def test_objects_that_are_kept_are_left_to_the_system(program: str, lines: list[str]) -> None:
    assert said(f'{program}\nprint("end")\n') == lines


def test_the_last_searches_go_through_nothing() -> None:
    program = 'keep(Run("first"))\nlater = Run("later")\nassert is_searched("later")\n'
    program += 'end_with_objects()\nassert not is_searched("later")\n'
    assert "first gone" not in said(program)


def test_a_command_that_ends_so_prints_all_and_keeps_its_exit_code() -> None:
    program = 'import sys\nkeep(Run("first"))\nend_with_objects()\nprint("said")\nsys.exit(3)\n'
    command = [sys.executable, "-c", PROGRAM + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "said\n")


@pytest.fixture
def is_on() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.usefixtures("is_on")
def test_the_search_goes_on_after_a_pause_or_an_error_and_stays_off_if_it_was() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()  # the outer pause holds
    assert gc.isenabled()
    with pytest.raises(ValueError, match="odd"), collector_paused():
        raise ValueError("odd")
    assert gc.isenabled()
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()


def loaded_by(arguments: list[str]) -> set[str]:
    """The modules that a command in an interpreter of its own has loaded at its end."""
    program = (
        "import sys\nfrom hardstone.cli.main import run\n"
        f"code = run({arguments!r})\nprint(*sorted(sys.modules), file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    return set(done.stderr.split())


DRAWING = {"jinja2", "vl_convert", "pypdf"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_help_imports_click_and_nothing_heavy(arguments: list[str]) -> None:
    loaded = loaded_by(arguments)
    heavy = {"rich", "msgspec", "numpy", "scipy", "tomllib", "sqlite3"} | DRAWING
    assert "click" in loaded
    assert not loaded & heavy
    assert not any(name.startswith("hardstone.notebook") for name in loaded)


@pytest.mark.parametrize("form", [[], ["--json"], ["published"], ["published", "--json"]])
def test_a_list_loads_what_it_shows_and_nothing_heavy(form: list[str], tmp_path: Path) -> None:
    """In a pipe: neither a console nor a table of rich, nor what plans or computes."""
    target = [] if "published" in form else ["--target", f"fake:{sample.scenario(tmp_path, {})}"]
    loaded = loaded_by(["list", *target, *form])
    heavy = {"rich.console", "rich.table", "rich.text", "numpy", "scipy", "sqlite3"} | DRAWING
    assert "msgspec" in loaded
    assert not loaded & (heavy | {"hardstone.plan", "hardstone.store", "hardstone.campaign"})


def test_the_local_target_loads_only_what_asks_its_probe() -> None:
    program = (
        "import sys\nfrom hardstone.targets import find_target\nfind_target('local')\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert "hardstone.targets.probe_target" in loaded
    assert not loaded & {"tempfile", "hashlib", "hardstone.lab", "hardstone.targets.host_memory"}
