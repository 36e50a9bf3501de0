"""Writes docs/reference and share from the register, the catalogue and the commands, refreshes the
output that the documents show, and saves the register for tests without a probe.

`--check` writes nothing and fails if something is out of date; `--measure` also refreshes
blocks that need a measurement: with `--only FILE` just those of FILE, with `--matching TEXT`
those whose command has TEXT in it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import msgspec

import docs_commands
import docs_facts
import docs_man
import docs_other_tools
import docs_output
import docs_rules
import docs_tests
import picture
import tire_picture
from hardstone.catalogue import load_catalogue
from hardstone.model import Register

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
SHARE = ROOT / "share"  # as it is installed, below the prefix
BY_HAND = SHARE / "hardstone"  # what CI systems and systemd run
PICTURES = {DOCS / "images" / "report.png": "", DOCS / "images" / "figures.png": "result-1"}
TIRE = DOCS / "images" / "tire.svg"
PROBE = ROOT / "build" / "probe" / "hardstone-probe"
CHANGELOG = ROOT / "CHANGELOG.md"
BIBLIOGRAPHY = DOCS / "bibliography.md"
GOLDEN_REGISTER = ROOT / "tests" / "process" / "targets" / "golden" / "register.json"


def read_register() -> bytes:
    done = subprocess.run([PROBE, "list", "--json"], capture_output=True, check=True)
    return done.stdout


def probe_help() -> str:
    return subprocess.run([PROBE, "help"], capture_output=True, check=True, text=True).stdout


def golden_register(document: bytes) -> str:
    """The register as the probe sends it, one line per value for readable diffs."""
    return json.dumps(json.loads(document), indent=1, ensure_ascii=False) + "\n"


def generated_files() -> dict[Path, str]:
    """Text of every file that is generated as a whole, by path."""
    document, catalogue = read_register(), load_catalogue()
    register = msgspec.json.decode(document, type=Register)
    commands = docs_commands.all_commands()
    pages = {
        REFERENCE / "tests" / f"{test.id.lower()}.md": docs_tests.page(test, catalogue)
        for test in register.tests
    }
    for words, command in commands.items():
        path = REFERENCE / "commands" / docs_commands.file_name(words)
        pages[path] = docs_commands.page(words, command)
    for name, text in docs_man.files(commands, probe_help(), CHANGELOG.read_text()).items():
        pages[SHARE / name] = text
    pages[REFERENCE / "rules.md"] = docs_rules.page()
    pages[REFERENCE / "facts.md"] = docs_facts.page()
    pages[REFERENCE / "other-tools.md"] = docs_other_tools.page()
    pages[REFERENCE / "tests" / "README.md"] = docs_tests.index(register, catalogue)
    pages[REFERENCE / "commands" / "README.md"] = docs_commands.index(commands)
    pages[CHANGELOG] = docs_tests.changes(CHANGELOG.read_text(), register)
    pages[BIBLIOGRAPHY] = docs_tests.bibliography(BIBLIOGRAPHY.read_text(), register)
    pages[GOLDEN_REGISTER] = golden_register(document)
    return pages


def stale_pages(pages: dict[Path, str]) -> list[Path]:
    """Generated pages that nothing generates any more."""
    there = [*(REFERENCE / "tests").glob("*.md"), *(REFERENCE / "commands").glob("*.md")]
    there += (path for path in SHARE.rglob("*") if path.is_file() and BY_HAND not in path.parents)
    return [path for path in there if path not in pages]


def take_pictures(document: Path, home: Path) -> None:
    """Takes pictures of the report that the document's commands wrote, so that both show one run.

    Nothing for a document that shows none of them.
    """
    if not any(path.name in document.read_text() for path in PICTURES):
        return
    browser = picture.find_browser()
    for report in home.rglob("*.html"):
        if browser is None:
            print("docs/images are unchanged: there is no Chromium")
            return
        for path, at in PICTURES.items():
            picture.take(report, path, browser, at)


def draw_tire(shown_in: list[Path]) -> None:
    """The picture of the falling tire, where a document shows it."""
    if any(TIRE.name in path.read_text() for path in shown_in if path.exists()):
        TIRE.write_text(tire_picture.drawing(tire_picture.stream(PROBE)))


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), ROOT / "bench" / "README.md"]


def chosen(files: list[Path], refuse: Callable[[str], NoReturn]) -> list[Path]:
    """The documents that `files` name, all if there are none."""
    found = [path.resolve() for path in files]
    for path, given in zip(found, files, strict=True):
        if path not in documents():
            refuse(f"--only {given}: it is not a document with shown output")
    return found or documents()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--only", action="append", type=Path, default=[], metavar="FILE")
    parser.add_argument("--matching", default="", metavar="TEXT")
    arguments = parser.parse_args()
    only = chosen(arguments.only, parser.error)
    pages = generated_files()
    if arguments.measure:
        draw_tire(only)
    for path in documents():
        if path.exists() and path not in pages:
            pages[path] = docs_output.refresh(
                path.read_text(),
                measure=arguments.measure and path in only,
                matching=arguments.matching,
                afterwards=partial(take_pictures, path),
            )
            if arguments.measure:  # minutes of measuring are not lost to the next page's fault
                path.write_text(pages[path])
    changed = [
        path for path, text in pages.items() if not path.exists() or path.read_text() != text
    ]
    stale = stale_pages(pages)
    for path in [*changed, *stale]:
        print(path.relative_to(ROOT))
    if arguments.check:
        return 1 if changed or stale else 0
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path])
    for path in stale:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
