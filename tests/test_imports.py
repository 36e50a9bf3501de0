"""Who may import whom: the rule of docs/design.md, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "hardstone"
LEAVES = {"calling", "model", "errors", "units"}
ALLOWED = {
    "units": set(),
    "calling": set(),
    "errors": set(),
    "model": set(),
    "catalogue": {"units"},
    "published": LEAVES | {"stats"},
    "stats": LEAVES,
    "older": LEAVES,
    "stream": LEAVES | {"stats", "older"},
    "plan": LEAVES | {"catalogue"},
    "targets": LEAVES,
    "store": LEAVES | {"stats", "stream", "older"},
    "rating": LEAVES | {"stats", "catalogue"},
    "report": LEAVES | {"stats", "rating", "catalogue", "older"},
    "doctor": LEAVES,
    "campaign": LEAVES | {"plan", "targets", "store", "stats", "stream", "doctor"},
}
NEVER = {"published", "stats", "rating", "report", "store", "stream", "plan", "doctor"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part(path: Path) -> str:
    """First name below hardstone: the package or module that a file belongs to."""
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported_names(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def imported_parts(path: Path) -> set[str]:
    names = imported_names(ast.parse(path.read_text("utf-8")))
    parts = {name.split(".")[1] for name in names if name.startswith("hardstone.")}
    return {name for name in parts if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_part_may(path: Path) -> None:
    own = part(path)
    if own in ALLOWED:
        assert imported_parts(path) - {own} <= ALLOWED[own]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_is_pure_never_reaches_a_target(path: Path) -> None:
    if part(path) in NEVER:
        assert not imported_parts(path) & {"targets", "campaign", "cli"}


def test_only_the_command_line_joins_campaign_and_report() -> None:
    users = {part(path) for path in modules() if "campaign" in imported_parts(path)}
    assert users <= {"campaign", "cli"}


def test_no_pickle_no_eval_no_shell() -> None:
    for path in modules():
        tree = ast.parse(path.read_text("utf-8"))
        assert not imported_names(tree) & {"pickle", "marshal", "shelve"}, path
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", "")
                assert name not in {"eval", "exec"}, path
                shell = [one for one in node.keywords if one.arg == "shell"]
                assert not shell, path


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_help_imports_click_and_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom hardstone.cli.main import run\n"
        f"run({arguments!r})\nprint(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE.parent)},
    )
    loaded = set(done.stderr.split())
    heavy = {"rich", "msgspec", "numpy", "scipy", "jinja2", "vl_convert", "tomllib", "sqlite3"}
    assert "click" in loaded
    assert not loaded & heavy
