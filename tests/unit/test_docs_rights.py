"""One rule says what needs root; pages that tell one to become root follow it and link to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULE = ROOT / "docs/how-to/grant-rights.md"
GENERATED = {"commands", "tests", "rules.md"}
PAGES = [
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not {path.name, path.parent.name} & GENERATED and path.name != "CHANGELOG.md"
]
AS_ROOT = re.compile(r'sudo (?:"\$\((.+?)\)"|(\S*hardstone\S*)) (\w+)')
CHANGES_THE_MACHINE = re.compile(r"--cpu-config \S*(?:single|shielded)|hardstone shield -- ")
# What the probe does alone, and what only the toolkit does.
COMMANDS = {"hardstone probe path": {"shield", "run"}}
COMMANDS["command -v hardstone"] = {"run", "doctor", "show", "report"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_that_needs_root_links_to_the_rule(page: Path) -> None:
    text = page.read_text()
    if page != RULE and (AS_ROOT.search(text) or CHANGES_THE_MACHINE.search(text)):
        assert re.search(r"grant-rights\.md#the-rule", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_root_runs_the_probe_where_it_does_the_job_alone(page: Path) -> None:
    for program, plain, command in AS_ROOT.findall(page.read_text()):
        assert not plain, f"sudo does not find {plain}"
        assert command in COMMANDS[program]
