"""Tests use the package as others do: no name of its own is replaced, no private one is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = "hardstone"
REPLACING = {"setattr", "delattr", "setitem", "delitem", "patch"}
PRIVATE_OF_OTHERS = {"_exit", "_getframe", "_current_frames"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PRIVATE_OF_OTHERS


def root_of(node: ast.expr) -> str:
    """The name that an expression such as `store.backing.os` begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def of_the_package(tree: ast.AST) -> set[str]:
    """Names that a module has from the package."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            mine = (one for one in node.names if one.name.split(".")[0] == PACKAGE)
            names.update(one.asname or PACKAGE for one in mine)
    return names


def findings(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    theirs = of_the_package(tree)
    for node in ast.walk(tree):
        for found in finding(node, theirs):
            yield f"line {getattr(node, 'lineno', 0)}: {found}"


def finding(node: ast.AST, theirs: set[str]) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield from (f"imports {one.name}" for one in node.names if is_private(one.name))
    elif isinstance(node, ast.Attribute) and is_private(node.attr):
        if root_of(node.value) not in ("self", "cls"):
            yield f"reads {node.attr}"
    elif isinstance(node, ast.Call) and is_replacing(node, theirs):
        yield f"replaces {ast.unparse(node.args[0])}"
    elif isinstance(node, ast.Assign):
        for one in node.targets:
            if isinstance(one, ast.Attribute | ast.Subscript) and root_of(one) in theirs:
                yield f"sets {ast.unparse(one)}"


def is_replacing(call: ast.Call, theirs: set[str]) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in REPLACING or not call.args:
        return False
    what = call.args[0]
    if isinstance(what, ast.Constant):
        return str(what.value).startswith(f"{PACKAGE}.")
    return root_of(what) in theirs or isinstance(what, ast.Starred)


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS))
)
def test_a_test_goes_through_the_public_door(path: Path) -> None:
    assert list(findings(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        "from hardstone.store.locks import _WAIT_S",
        "process._process.poll()",
        "from hardstone.store import locks\nmonkeypatch.setattr(locks, 'WAIT_S', 1)",
        "import hardstone.store\nmonkeypatch.setattr(hardstone.store.files, 'write_all', full)",
        "from hardstone.targets import build\nmonkeypatch.setattr(build.shutil, 'which', none)",
        "monkeypatch.setattr('hardstone.targets.process.subprocess.Popen', fail)",
        "from hardstone.store import convert\nmonkeypatch.setitem(convert.CONVERTERS, '0', up)",
        "from hardstone.store import backing\nbacking.MEMORY_FOLDER = '/x'",
        "from hardstone.cli import main\nmain.COMMANDS['x'] = 'y'",
        "mock.patch('hardstone.cli.main.run')",
        "monkeypatch.setattr(*place, short)",
    ],
)
def test_a_way_round_the_door_is_found(text: str) -> None:
    assert len(list(findings(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "self._process.kill()",
        "monkeypatch.setattr(os, 'fsync', noted)",
        "from hardstone.store import Store\nstore = Store(path)\nstore.path.chmod(0o500)",
        "os._exit(0)",
    ],
)
def test_the_public_door_is_none(text: str) -> None:
    assert list(findings(text)) == []
