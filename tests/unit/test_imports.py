"""Which room may import which: the rule of docs/design.md, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.process.targets import sample

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hardstone"
LEAVES = {"model", "errors", "units", "event_names"}
# Every module and folder below the package; what is not listed may not be there.
ALLOWED: dict[str, set[str]] = {
    "__init__": {"notebook"},
    "units": set(),
    "calling": set(),
    "collector": set(),
    "errors": set(),
    "files": set(),
    "memory": set(),
    "event_names": set(),
    "model": set(),
    "catalogue": {"errors", "units"},
    "expected_time": {"model", "catalogue"},
    "facts": set(),
    "formula": set(),
    "stats": LEAVES | {"catalogue", "expected_time"},
    "older": LEAVES | {"calling"},
    "stream": LEAVES | {"stats", "older"},
    "published": LEAVES | {"stats"},
    "subjects": LEAVES | {"stats", "published"},
    "rating": LEAVES | {"stats", "catalogue", "formula", "published", "subjects"},
    "plan": LEAVES | {"catalogue", "expected_time"},
    "doctor": LEAVES,
    "gate": LEAVES | {"stats", "published", "subjects"},
    "schema": {"model", "doctor", "stats", "gate", "present"},
    "present": LEAVES
    | {"stats", "catalogue", "calling", "formula", "older", "published", "subjects", "rating"},
    "report": LEAVES
    | {"calling", "facts", "files", "stats", "catalogue", "present", "subjects", "rating"},
    "store": LEAVES
    | {"collector", "files", "formula", "memory", "stats", "stream", "older", "rating"},
    "lab": LEAVES | {"files"},
    "targets": LEAVES | {"files", "memory", "lab"},
    "campaign": LEAVES | {"calling", "plan", "targets", "store", "stats", "stream", "doctor"},
}
# What lays out for a terminal may look into whatever it lays out.
LAID_OUT = {"catalogue", "doctor", "plan", "present", "published", "stats", "store"}
LAID_OUT |= {"subjects", "rating", "gate"}
ALLOWED["terminal"] = LEAVES | {"calling"} | LAID_OUT
ALLOWED["cli"] = set(ALLOWED) - {"__init__", "schema"}
# What people import: no command does.
ALLOWED["notebook"] = LEAVES | {"stats", "store", "subjects", "rating", "present"}
ALLOWED["__main__"] = {"cli"}
# What runs on a target, or starts what does.
RUNNING = {"targets", "campaign", "cli", "lab"}
# Libraries that only lay out or compute, and the rooms that do so.
LIBRARIES = {
    "click": {"cli"},
    "rich": {"cli", "terminal"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "vl_convert": {"report"},
    "pypdf": {"report"},
    "numpy": {"stats", "report", "notebook"},
    "scipy": {"stats"},
}


@cache
def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.AST:
    return ast.parse(path.read_text("utf-8"))


def part(path: Path) -> str:
    """First name below hardstone: the package or module that a file belongs to."""
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


@cache
def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def imported_parts(path: Path) -> set[str]:
    names = imported_names(path)
    parts = {name.split(".")[1] for name in names if name.startswith("hardstone.")}
    return {name for name in parts if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


def test_every_room_has_a_rule() -> None:
    rooms = {part(path) for path in modules()}
    assert set(ALLOWED) == rooms


def test_the_rule_makes_no_circle() -> None:
    TopologicalSorter(ALLOWED).prepare()  # CycleError names the rooms


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_part_may(path: Path) -> None:
    assert imported_parts(path) - {part(path)} <= ALLOWED[part(path)]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_used_where_it_belongs(library: str) -> None:
    users = {
        part(path)
        for path in modules()
        if library in {name.split(".")[0] for name in imported_names(path)}
    }
    assert users and users <= LIBRARIES[library]


def reached(room: str) -> set[str]:
    """Every room that `room` may import, or that these may."""
    return ALLOWED[room].union(*map(reached, ALLOWED[room]))


@pytest.mark.parametrize("room", sorted(set(ALLOWED) - RUNNING - {"__main__"}))
def test_what_is_pure_never_reaches_a_target(room: str) -> None:
    assert not reached(room) & RUNNING


def test_only_the_command_line_joins_campaign_and_report() -> None:
    users = {part(path) for path in modules() if "campaign" in imported_parts(path)}
    assert users <= {"campaign", "cli"}


def test_no_pickle_no_eval_no_shell() -> None:
    for path in modules():
        assert not imported_names(path) & {"pickle", "marshal", "shelve"}, path
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", "")
                assert name not in {"eval", "exec"}, path
                shell = [one for one in node.keywords if one.arg == "shell"]
                assert not shell, path


def test_nothing_loads_what_takes_half_of_every_command() -> None:
    """scipy.stats: each command that opens the store would load it, whatever it does."""
    users = [path for path in modules() if {"scipy.stats"} & imported_names(path)]
    assert users == []


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
        env={"PYTHONPATH": str(SOURCE.parent)},
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


def test_scipy_is_loaded_by_what_computes_with_it() -> None:
    """It takes 0.2 s: a function that needs it imports it, so that no other command waits."""
    users = [
        path
        for path in modules()
        for node in getattr(tree_of(path), "body", [])
        if isinstance(node, ast.Import | ast.ImportFrom)
        and "scipy" in ast.unparse(node).split()[1].split(".")
    ]
    assert users == []
