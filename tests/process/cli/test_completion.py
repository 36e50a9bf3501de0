"""Completion in real shells, and the manual pages."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import docs_man
from docs_commands import all_commands
from hardstone.catalogue import load_catalogue
from hardstone.cli import completion
from hardstone.cli.completion import SHELLS
from hardstone.cli.main import COMMANDS, hardstone
from tests.conftest import ROOT
from tests.programs import needed, ran

SHARE = ROOT / "share"
PAGES = sorted((SHARE / "man/man1").glob("*.1"))
RUNS = ["20260101T000000Z-00000a", "20260102T000000Z-00000b"]
# What bash does at Tab, for words that are given one after another.
TAB = """
source "$1"; shift
for line in "$@"; do
    COMP_WORDS=($line); [ "${line% }" = "$line" ] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _hardstone_completion hardstone
    echo "$line|${COMPREPLY[*]}"
done
"""


@pytest.fixture
def world(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has `hardstone`, and a store with two runs."""
    program = tmp_path / "hardstone"
    source, python = shlex.quote(str(ROOT / "src")), shlex.quote(sys.executable)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {python} -m hardstone "$@"\n')
    program.chmod(0o755)
    runs = tmp_path / "data/hardstone/runs"
    runs.mkdir(parents=True)
    for run in RUNS:
        (runs / f"{run}.json.gz").touch()
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "XDG_DATA_HOME": str(tmp_path / "data")}


@pytest.mark.slow
def test_bash_completes_a_command_an_option_a_test_and_a_run(world: dict[str, str]) -> None:
    lines = ["hardstone ev", "hardstone run --pol", "hardstone run tmr-p-l", "hardstone show "]
    lines += ["hardstone run --profile s"]
    script = str(SHARE / docs_man.SCRIPTS["bash"])
    done = ran([needed("bash"), "--norc", "-c", TAB, "bash", script, *lines], env=world, check=True)
    offered = ["evaluate", "--policy", "TMR-P-LAT", " ".join(["last", *RUNS[::-1]])]
    offered += ["standard soak"]
    assert done.stdout.splitlines() == [
        f"{line}|{words}" for line, words in zip(lines, offered, strict=True)
    ]
    assert "complete" not in done.stderr


@pytest.mark.slow
def test_fish_completes_a_command_with_what_it_does(world: dict[str, str]) -> None:
    script = shlex.quote(str(SHARE / docs_man.SCRIPTS["fish"]))
    ask = f'source {script}; complete -C "hardstone evalu"'
    done = ran([needed("fish"), "--no-config", "-c", ask], env=world, check=True)
    assert done.stdout == "evaluate\tRun all tests, store the run, and write an HTML report.\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_parses_in_its_shell(shell: str) -> None:
    script = SHARE / docs_man.SCRIPTS[shell]
    assert completion.script(shell).strip() == script.read_text().strip()
    subprocess.run([needed(shell), "-n", script], capture_output=True, check=True)


def test_completing_a_word_loads_neither_the_catalogue_nor_the_store() -> None:
    """Start-up is what a person waits for at each Tab."""
    program = (
        "import sys\nfrom hardstone.cli.main import hardstone\n"
        "try: hardstone.main(prog_name='hardstone', standalone_mode=False)\n"
        "except SystemExit: print(*sorted(sys.modules))\n"
    )
    words = {"hardstone ev": "evaluate", "hardstone run tmr-p-l": "TMR-P-LAT"}
    for line, offered in words.items():
        done = ran(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "src"),
                "_HARDSTONE_COMPLETE": "bash_complete",
                "COMP_WORDS": line,
                "COMP_CWORD": str(line.count(" ")),
            },
            check=True,
        )
        *found, modules = done.stdout.splitlines()
        assert found == [f"plain,{offered}"]
        loaded = {"numpy", "rich", "hardstone.catalogue", "hardstone.store"} & set(modules.split())
        assert loaded == set()
        assert ("hardstone.cli.run" in modules.split()) == ("run" in line)


def test_each_test_is_offered_and_a_store_that_is_missing_is_no_error(tmp_path: Path) -> None:
    command = click.Command("run")
    context = click.Context(command)
    context.params["store"] = tmp_path / "missing"
    argument = click.Argument(["tests"])
    offered = {one.value for one in completion.tests(context, argument, "")}
    assert offered == set(load_catalogue().ids())
    assert [one.value for one in completion.runs(context, argument, "")] == ["last"]
    assert [one.type for one in completion.runs(context, argument, "./x")] == ["file"]


def test_each_command_has_a_page_and_each_page_a_command() -> None:
    names = ["hardstone", *("-".join(("hardstone", *words)) for words in all_commands())]
    assert sorted(names) == sorted(page.stem for page in PAGES)
    assert set(COMMANDS) <= {name.removeprefix("hardstone-") for name in names}
    text = (SHARE / "man/man1/hardstone.1").read_text()
    assert re.findall(r"^\\fB(\d+)\\fR$", text, re.MULTILINE) == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "70",
        "130",
    ]


def test_the_pages_have_no_error_for_groff_and_mandoc() -> None:
    done = ran([needed("groff"), "-mandoc", "-ww", "-z", "-Tutf8", *PAGES], check=True)
    assert done.stderr == ""


def test_the_pages_have_no_warning_for_mandoc_but_that_of_a_version_to_come() -> None:
    done = ran([needed("mandoc"), "-T", "lint", "-W", "warning", *PAGES])
    told = [one for one in done.stdout.splitlines() if "missing date" not in one]
    assert told == []


def test_a_text_of_the_help_is_printed_as_it_is(tmp_path: Path) -> None:
    """What looks like a request, an escape or a hyphen."""

    @click.command("odd", help=".so /etc/passwd\n\n'quoted' back\\slash --option ~ ^ `x`")
    def odd() -> None:
        pass

    page = tmp_path / "odd.1"
    text = docs_man.files({("odd",): odd}, "", "")["man/man1/hardstone-odd.1"]
    page.write_text(text)
    done = ran([needed("groff"), "-mandoc", "-Tascii", "-P-c", page], check=True)
    assert "'quoted' back\\slash --option ~ ^ `x`" in done.stdout
    assert ".so /etc/passwd" in done.stdout and "root:" not in done.stdout


def test_the_command_prints_the_script_that_is_installed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert hardstone.main(["completion", "zsh"], prog_name="hardstone", standalone_mode=False) == 0
    script = SHARE / docs_man.SCRIPTS["zsh"]
    assert capsys.readouterr().out.strip() == script.read_text().strip()
