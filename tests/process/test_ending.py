"""What a command loads at its start, and that its end loses neither output nor exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.cli.main import run
from tests.conftest import ROOT
from tests.process.targets import sample
from tests.programs import ran


def test_a_long_document_arrives_whole() -> None:
    command = [sys.executable, "-m", "hardstone", "list", "published", "--json"]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert json.loads(found.stdout)


DRAWING = {"jinja2", "vl_convert", "pypdf"}
# Where a heavy library is imported: the modules of hardstone that led there, the last first.
WATCH = """
import sys, traceback
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in HEAVY:
            chain = [one for one in traceback.extract_stack() if "/hardstone/" in one.filename]
            where = [f"{one.filename.rpartition('/hardstone/')[2]}:{one.lineno}" for one in chain]
            print(name, "by", " < ".join(reversed(where)), file=sys.stderr)
sys.meta_path.insert(0, Watch())
from hardstone.cli.main import run
sys.exit(run(ARGUMENTS))
"""


def imports_of(heavy: set[str], arguments: list[str]) -> list[str]:
    """Who imports which `heavy` library while a command runs, as "numpy by a.py:3 < ..."."""
    program = WATCH.replace("HEAVY", repr(heavy)).replace("ARGUMENTS", repr(arguments))
    done = ran([sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT / "src")})
    assert done.returncode in (0, 3) and done.stdout, done.stderr
    return [line for line in done.stderr.splitlines() if line.split(" ", 1)[0] in heavy]


@pytest.fixture(scope="module")
def battery(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A target on which every test works, and the store of a run of all of them."""
    folder = tmp_path_factory.mktemp("battery")
    tests = {test.id: [*sample.stream(test.id)] for test in sample.register().tests}
    target = f"fake:{sample.scenario(folder, tests)}"
    store = str(folder / "store")
    assert run(["run", *tests, "--target", target, "--store", store, "--quiet"]) in (0, 3)
    return target, store


# Help and lists are below.
LIGHT = {
    "explain": ["explain", "KRN-P-PRE", "TMR-P-LAT", "--target", "TARGET"],
    "doctor": ["doctor", "--target", "TARGET"],
    "runs": ["runs", "--store", "STORE"],
    "show": ["show", "last", "--store", "STORE"],
    "why": ["show", "last", "--why", "--store", "STORE"],
}


@pytest.mark.parametrize("command", LIGHT)
def test_a_screen_takes_no_library_for_arrays_charts_or_pages(
    command: str, battery: tuple[str, str]
) -> None:
    named = dict(zip(("TARGET", "STORE"), battery, strict=True))
    arguments = [named.get(one, one) for one in LIGHT[command]]
    assert not imports_of({"numpy", "scipy"} | DRAWING, arguments)


def test_whoever_imports_a_library_is_named(battery: tuple[str, str]) -> None:
    found = imports_of({"numpy"}, ["show", "last", "TMR-P-LAT", "--project", "--store", battery[1]])
    assert found and "stats/projection.py" in found[0]


def loaded_by(arguments: list[str]) -> set[str]:
    """The modules that a command in an interpreter of its own has loaded at its end."""
    program = (
        "import sys\nfrom hardstone.cli.main import run\n"
        f"code = run({arguments!r})\nprint(*sorted(sys.modules), file=sys.stderr)\nsys.exit(code)"
    )
    done = ran([sys.executable, "-c", program], check=True, env={"PYTHONPATH": str(ROOT / "src")})
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_help_imports_click_and_nothing_heavy(arguments: list[str]) -> None:
    loaded = loaded_by(arguments)
    heavy = {"rich", "msgspec", "numpy", "scipy", "tomllib", "sqlite3"} | DRAWING
    assert "click" in loaded
    assert not loaded & heavy
    assert not any(name.startswith("hardstone.notebook") for name in loaded)


@pytest.mark.parametrize("form", [[], ["--json"], ["published"], ["published", "--json"]])
def test_a_list_loads_what_it_shows_and_nothing_heavy(form: list[str], tmp_path: Path) -> None:
    """Neither what plans nor what computes."""
    target = [] if "published" in form else ["--target", f"fake:{sample.scenario(tmp_path, {})}"]
    loaded = loaded_by(["list", *target, *form])
    heavy = {"numpy", "scipy", "sqlite3"} | DRAWING
    assert "msgspec" in loaded
    assert not loaded & (heavy | {"hardstone.plan.make", "hardstone.store", "hardstone.campaign"})


def test_the_local_target_loads_only_what_asks_its_probe() -> None:
    program = (
        "import sys\nfrom hardstone.targets import find_target\nfind_target('local')\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert "hardstone.targets.probe_target" in loaded
    assert not loaded & {"tempfile", "hashlib", "hardstone.lab", "hardstone.targets.host_memory"}
