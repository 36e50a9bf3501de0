"""The documents are complete, their links lead somewhere, and what is generated is new."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import msgspec
import pytest

import docs_output
from hardstone.cli.main import hardstone
from hardstone.model import Register
from hardstone.present.key_figures import LIMIT_OF_MAXIMA
from hardstone.stats.trust import grade_run
from tests.unit.stats.test_trust import CASES as TRUST_CASES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def command_names() -> set[str]:
    return set(hardstone.list_commands(click.Context(hardstone)))


def register(probe: Path) -> Register:
    done = subprocess.run([probe, "list", "--json"], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Register)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    broken = [
        link for link in LINK.findall(document.read_text()) if not (document.parent / link).exists()
    ]
    assert broken == []


def test_every_document_is_reachable_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        document = waiting.pop().resolve()
        if document not in reached and document.suffix == ".md" and document.exists():
            reached.add(document)
            links = LINK.findall(document.read_text())
            waiting += [document.parent / link for link in links]
    assert {path.resolve() for path in DOCS.rglob("*.md")} - reached == set()


def test_every_command_has_its_page() -> None:
    pages = {path.stem for path in (DOCS / "reference/commands").glob("*.md")}
    assert command_names() - pages == set()


def test_every_test_has_its_page_and_every_page_its_test(probe: Path) -> None:
    pages = {path.stem for path in (DOCS / "reference/tests").glob("*.md")} - {"README"}
    assert pages == {test.id.lower() for test in register(probe).tests}


def test_commands_in_documents_exist() -> None:
    fences = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    shown = re.compile(r"(?:^(?:\$ )?|`)hardstone ([a-z]+)", re.MULTILINE)
    for document in DOCUMENTS:
        text = document.read_text()
        code = "\n".join([*fences.findall(text), *re.findall(r"`hardstone [^`]+`", text)])
        assert set(shown.findall(code)) - command_names() == set(), document


def test_the_changes_name_every_test(probe: Path) -> None:
    told = set(re.findall(r"\b[A-Z]{3}-[A-Z]-[A-Z]+\b", (ROOT / "CHANGELOG.md").read_text()))
    assert told == {test.id for test in register(probe).tests}


ONE = r"[A-Z]{3}-[A-Z]-[A-Z]+(?: \[[^\]]+\])?"


def reason_patterns() -> list[re.Pattern[str]]:
    """What the rules of trust say now, with any figures, tests and names in it."""
    said = {reason for _, _, document in TRUST_CASES for reason in grade_run(document).reasons}
    loose = (
        (r"[A-Z]{3}\\-[A-Z]\\-[A-Z]+", rf"{ONE}(?:, {ONE})*(?: and \d+ more)?"),
        (r"\\\(kvm\\\)", r"\\(\\w+\\)"),
        (r"less\\ than\\ 1\\ ms|[0-9]+\\ ms", r"(?:less than [0-9]+|[0-9]+) ms"),
    )
    patterns = []
    for reason in said:
        pattern = re.escape(reason)
        for old, new in loose:
            pattern = re.sub(old, lambda _, new=new: new.replace("\\\\", "\\"), pattern)
        patterns.append(re.compile(pattern))
    return patterns


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_measured_output_is_worded_as_it_is_today(document: Path) -> None:
    """Its figures differ from run to run, so that it is not made anew by every check."""
    patterns = reason_patterns()
    for kind, command, block in docs_output.BLOCK.findall(document.read_text()):
        if kind != "measured":
            continue
        for section in re.findall(r"^trust: \w+\n((?: +\S.*\n)*)", block, re.MULTILINE):
            rest = " ".join(section.split())
            for pattern in patterns:
                rest = pattern.sub("", rest, count=1)
            assert rest.strip() == "", f"{command}: make docs ARGS=--measure"
        if "worst observed:" in block:
            assert LIMIT_OF_MAXIMA in " ".join(block.split()), (
                f"{command}: make docs ARGS=--measure"
            )


def test_generated_documents_are_up_to_date(probe: Path) -> None:
    command = [sys.executable, "tools/gen_docs.py", "--check"]
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"make docs\n{done.stdout}{done.stderr}"
