"""Hooks of MkDocs for the site of the documents: its pages, their order, and their anchors.

Each page is known by its path in the repository, so a relative link leads to the same page on the
site. Files that pages link to and that are no pages (a licence, a schema) are on the site too.
MkDocs loads this file by the line `hooks` of mkdocs.yml, in an environment without hardstone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
INDEX = "docs/README.md"
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
# Sections of the navigation, in this order, by folder or page.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Start": ("README.md", "docs/tutorial.md", INDEX),
    "How to": ("docs/how-to",),
    "Reference": (
        "docs/reference",
        "docs/findings",
        "docs/glossary.md",
        "docs/bibliography.md",
        "schema",
    ),
    "Method": ("docs/method.md", "docs/method"),
    "Design": ("docs/design.md", "docs/decisions", "bench/README.md"),
    "Project": ("CHANGELOG.md", "SUPPORTED_PLATFORMS.md", "CONTRIBUTING.md"),
}
FOLDERS = {
    "docs/reference/commands": "Commands",
    "docs/reference/tests": "Tests",
    "docs/findings": "Findings",
    "docs/decisions": "Decisions",
    "schema": "Formats",
}


def links_of(path: str) -> Iterator[str]:
    """Paths in the repository that a page links to."""
    for link in LINK.findall((ROOT / path).read_text("utf-8")):
        yield normpath(join(dirname(path), link))


def in_reading_order(paths: Iterable[str]) -> list[str]:
    """As the index of the documents names them; an index page of a folder leads."""
    named = {path: place for place, path in enumerate(links_of(INDEX))}
    return sorted(
        paths, key=lambda path: (not path.endswith("README.md"), named.get(path, len(named)), path)
    )


def navigation() -> list[dict[str, Any]]:
    return [{title: list(entries(places))} for title, places in SECTIONS.items()]


def entries(places: Iterable[str]) -> Iterator[Any]:
    for place in places:
        if place.endswith(".md"):
            yield place
            continue
        pages = in_reading_order(f"{place}/{one.name}" for one in (ROOT / place).glob("*.md"))
        inner = sorted(one.name for one in (ROOT / place).iterdir() if one.is_dir())
        inner = [name for name in inner if any((ROOT / place / name).glob("*.md"))]
        found = [*entries(f"{place}/{name}" for name in inner), *pages]
        yield from [{FOLDERS[place]: found}] if place in FOLDERS else found


def flat(nav: Iterable[Any]) -> Iterator[str]:
    for one in nav:
        if isinstance(one, str):
            yield one
        else:
            for inside in one.values():
                yield from flat(inside)


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as the repository's pages on the web have it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation()
    config.mdx_configs["toc"]["slugify"] = slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    pages = list(flat(config.nav or []))
    linked = {path for page in pages for path in links_of(page) if (ROOT / path).is_file()}
    # A page that no section has is a warning of MkDocs, and with that an error.
    docs = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    found = Files([file for file in files if not file.src_uri.endswith(".md") and is_asset(file)])
    for path in sorted({*pages, *linked, *docs}):
        file = File.generated(config, path, abs_src_path=str(ROOT / path))
        if "." not in Path(path).name:
            file.dest_uri = f"{path}.txt"  # a browser shows it
        found.append(file)
    return found


def is_asset(file: File) -> bool:
    """Whether the theme has it; what pages show is found by their links."""
    return file.src_dir is None or Path(file.src_dir) != ROOT / "docs"


ITEM = re.compile(r"( *)([-*+]|\d+\.) +")
FENCE = re.compile(r" *(```+|~~~+)")
INDENT = 4  # of what belongs to an item of a list, for MkDocs' Markdown


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Moves what belongs to an item of a list, which CommonMark lets begin where the text of the
    item begins, to where MkDocs' Markdown looks for it."""
    lines: list[str] = []
    begins: list[int] = []  # of the text of the items that the line is in
    fence = ""
    is_parted = False  # a blank line is in the item
    for line in markdown.split("\n"):
        indent = len(line) - len(line.lstrip())
        if line.strip() and not fence:
            while begins and indent < begins[-1]:
                begins.pop()
        item = None if fence else ITEM.match(line)
        if item and is_parted and lines[-1]:
            lines.append("")  # else the item would be a line of the paragraph above
        is_parted = not line.strip() or (is_parted and bool(begins) and not item)
        begin = begins[-1] if begins else 0
        lines.append(" " * (INDENT * len(begins)) + line[min(begin, indent) :] if line else "")
        if found := FENCE.match(line):
            fence = "" if found[1] == fence else fence or found[1]
        elif item:
            begins.append(item.end())
    return "\n".join(lines)
