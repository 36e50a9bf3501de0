"""A module of the toolkit has a name of its own, so that the name alone says where a thing is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hardstone.cli.main import COMMANDS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hardstone"
# Named by their commands, which may be called as what they print: `hardstone show`, `runs`.
OF_COMMANDS = {f"cli/{module}.py" for module in COMMANDS.values()}


def modules() -> list[str]:
    """Paths below the package, but for commands and `__init__`."""
    paths = (str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py")))
    return [path for path in paths if path not in OF_COMMANDS and not Path(path).match("__*__.py")]


def plurals(name: str) -> set[str]:
    return {f"{name}s", f"{name}es", f"{name.removesuffix('y')}ies"}


def test_no_two_modules_have_the_same_name() -> None:
    found = Counter(Path(path).stem for path in modules())
    assert {name for name, count in found.items() if count > 1} == set()


def test_no_module_is_called_as_the_plural_of_another() -> None:
    names = {Path(path).stem for path in modules()}
    assert {name: plurals(name) & names for name in names if plurals(name) & names} == {}


def test_commands_are_modules() -> None:
    assert all((SOURCE / path).is_file() for path in OF_COMMANDS)
