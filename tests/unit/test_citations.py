"""What the tree cites is in the tree."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"(?<![\w/.-])((?:\.{0,2}/)?(?:[\w.-]+/)*[\w.-]+\.md)\b(?!\.\w)")
BARE = re.compile(r"\b(?:METHOD|SPEC|LAYOUT|STYLE),? \w+")


def texts() -> dict[str, str]:
    """All text that is kept in git but stored samples and generated data, by path."""
    command = ["git", "ls-files", "*.md", "*.py", "*.c", "*.h", "*.toml", "*.build", "Makefile"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [line for line in done.stdout.splitlines() if line != "tests/unit/test_citations.py"]
    return {path: (ROOT / path).read_text() for path in paths if (ROOT / path).exists()}


def _is_own(place: Path) -> bool:
    return place.exists() and place.resolve().is_relative_to(ROOT)


def is_in_the_tree(cited: str, path: str) -> bool:
    """Counted from where it is cited, from the root, or by the name of any page of it."""
    places = [(ROOT / path).parent / cited, ROOT / cited.lstrip("/"), ROOT / "docs" / cited]
    is_name = "/" not in cited
    return any(_is_own(place) for place in places) or (is_name and cited in NAMES)


ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
SOURCE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|c|h|toml|json|build|jsonl))`")
NAMES = {path.name for path in [*ROOT.glob("*.md"), *ROOT.glob("[a-z]*/**/*.md")]}


def test_pages_that_are_named_are_in_the_tree() -> None:
    missing = {
        (path, cited)
        for path, text in texts().items()
        for cited in NAMED.findall(text)
        if not is_in_the_tree(cited, path)
    }
    assert missing == set()


def test_no_page_outside_the_tree_is_cited_by_its_bare_name() -> None:
    found = {(path, cited) for path, text in texts().items() for cited in BARE.findall(text)}
    assert found == set()


def documents() -> dict[Path, str]:
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]
    return {path: path.read_text() for path in paths}


def anchors(page: Path) -> set[str]:
    """Those of the headings of a page, as they are made on the web."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_anchors_lead_to_a_heading() -> None:
    broken = {
        (path.name, page, anchor)
        for path, text in documents().items()
        for page, anchor in ANCHOR.findall(text)
        if "//" not in page and anchor not in anchors(path.parent / page if page else path)
    }
    assert broken == set()


def test_source_files_that_documents_name_exist() -> None:
    """Their names start at the root, at probe/src, or at src/hardstone."""
    starts = [ROOT, ROOT / "probe/src", ROOT / "src/hardstone"]
    missing = {
        (path.name, named)
        for path, text in documents().items()
        for named in SOURCE.findall(text)
        if path.name not in ("CHANGELOG.md", "CONTRIBUTING.md")
        and not any((start / named).exists() for start in starts)
    }
    assert missing == set()


def test_such_citations_would_be_found() -> None:
    text = "(METHOD, Time stamps) and (SPEC section 0); see ../shared/STYLE.md and METHOD.md."
    assert BARE.findall(text) == ["METHOD, Time", "SPEC section"]
    assert NAMED.findall(text) == ["../shared/STYLE.md", "METHOD.md"]
    assert not any(is_in_the_tree(cited, "docs/design.md") for cited in NAMED.findall(text))
