"""The page for users of other tools has all their options, and only ones that exist here."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click
import pytest

from hardstone.cli.main import hardstone

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/coming-from-other-tools.md").read_text()
TOOLS = tomllib.loads((ROOT / "tests/options_of_other_tools.toml").read_text())
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
CODE = re.compile(r"`([^`]+)`")


def rows(tool: str) -> list[list[str]]:
    """The cells of the table of options below the heading of `tool`."""
    section = PAGE.split(f"\n## {tool}\n")[1].split("\n## ")[0]
    return [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `-")]


def options_here() -> set[str]:
    """Every option of the command line."""
    context = click.Context(hardstone)
    commands = [hardstone.get_command(context, name) for name in hardstone.list_commands(context)]
    params = [param for command in [hardstone, *filter(None, commands)] for param in command.params]
    return {name for param in params for name in param.opts} | {"-h", "--help", "--version"}


@pytest.mark.parametrize("tool", TOOLS)
def test_each_option_of_a_tool_has_its_row(tool: str) -> None:
    told = [option for row in rows(tool) for option in OPTION.findall(row[0])]
    assert sorted(told) == sorted(TOOLS[tool]["options"].split())


@pytest.mark.parametrize("tool", TOOLS)
def test_what_stands_beside_them_exists(tool: str) -> None:
    code = [code.split("stress-ng:")[0] for row in rows(tool) for code in CODE.findall(row[1])]
    used = {option for one in code for option in OPTION.findall(one)}
    assert used - options_here() == set()
    register = json.loads((ROOT / "tests/process/targets/golden/register.json").read_text())
    known = {param["name"] for test in register["tests"] for param in test["params"]}
    assert {name for one in code for name in re.findall(r"-p (\w+)=", one)} - known == set()
