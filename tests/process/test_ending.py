"""What a command loads at its start, and that its end loses neither output nor exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.process.targets import sample


def test_a_long_document_arrives_whole() -> None:
    command = [sys.executable, "-m", "hardstone", "list", "published", "--json"]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert json.loads(found.stdout)


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
