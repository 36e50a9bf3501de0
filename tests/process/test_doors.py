"""What a newcomer relies on: doors, pins, documents, and nothing private in the tree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import hardstone

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PLACES = re.compile(r"/(?:root|home/(?!me\b|you\b)[a-z]|Users/[A-Z]|work/[a-z])")
REGISTRIES = re.compile(r"(?:pypi|pythonhosted|registry|proxy|mirror)[\w.-]*\.(?:org|com|io|net)\b")
SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:ghp|glpat|xox[bp]|AKIA)[A-Za-z0-9_-]{12,}"
    r"|(?i:\b(?:password|api_?key|secret_?key|token)\s*=\s*['\"][^'\"]{8,}['\"])"
)
TEXT_LIMIT_BYTES = 2_000_000


def tracked_texts() -> list[tuple[str, str]]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: the list of files comes from git")
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    texts = []
    for name in filter(None, done.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path.stat().st_size < TEXT_LIMIT_BYTES:
            data = path.read_bytes()
            if b"\0" not in data:
                texts.append((name, data.decode(errors="replace")))
    return texts


def findings(pattern: re.Pattern[str], allowed: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{name}: {match[0]}"
        for name, text in tracked_texts()
        if not name.startswith(("tests/process/test_doors.py", *allowed))
        for match in pattern.finditer(text)
    ]


def test_no_place_of_somebodys_machine_is_in_the_tree() -> None:
    assert findings(PLACES) == []


def test_no_registry_is_named() -> None:
    assert findings(REGISTRIES) == []


def test_no_secret_is_in_the_tree() -> None:
    assert findings(SECRETS) == []


@pytest.mark.parametrize("pattern", [PLACES, REGISTRIES, SECRETS])
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str]) -> None:
    bad = {
        PLACES.pattern: "see /home/anna/x",
        REGISTRIES.pattern: "files.pythonhosted.org",
        SECRETS.pattern: 'token = "abcdefgh1234"',
    }
    assert pattern.search(bad[pattern.pattern])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_dependency_is_pinned_with_hashes_and_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert "--index" not in text
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[a-z0-9-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(), re.MULTILINE))


def test_the_locks_agree() -> None:
    dev, run = pins(ROOT / "requirements/dev.txt"), pins(ROOT / "requirements/run.txt")
    assert run.items() <= dev.items()


def test_the_isolated_build_uses_the_pinned_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    requires = dict(one.split("==") for one in project["build-system"]["requires"])
    assert requires.items() <= pins(ROOT / "requirements/run.txt").items()


def test_every_make_target_that_documents_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / ".ci/run"]
    named = {
        target
        for path in documents
        for target in re.findall(r"(?:`|^ *|\$ )make ([a-z]+(?:-[a-z]+)*)", path.read_text(), re.MULTILINE)
    }
    assert {"setup", "evaluate", "test"} <= named
    assert named <= targets


def test_make_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    told = set(re.findall(r'@echo "make ([a-z-]+) ', makefile))
    assert told == set(phony[1].split()) - {"help"}


def test_the_changelog_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## {re.escape(hardstone.__version__)}\b", text, re.MULTILINE)
