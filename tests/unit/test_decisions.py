"""Decision records: one topic each, short, all of one form, and all in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DECISIONS = Path(__file__).resolve().parents[2] / "docs/decisions"
RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))
MOST_LINES = 60


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_short_and_has_its_parts(record: Path) -> None:
    lines = record.read_text().splitlines()
    assert len(lines) < MOST_LINES
    headings = [line for line in lines if line.startswith("#")]
    assert headings[1:] == ["## Context", "## Decision", "## Consequences"]
    assert headings[0].startswith(f"# {record.name[:4]}: ")


def test_the_index_has_every_record_in_order_with_its_title() -> None:
    index = re.findall(r"^- \[(\d+)\]\((.+)\) (.+)$", (DECISIONS / "README.md").read_text(), re.M)
    titles = [record.read_text().splitlines()[0].split(": ", 1)[1] for record in RECORDS]
    told = [(path.name[:4], path.name, title) for path, title in zip(RECORDS, titles, strict=True)]
    assert index == told


def test_numbers_go_up_without_a_gap() -> None:
    numbers = [int(record.name[:4]) for record in RECORDS]
    assert numbers == list(range(1, len(RECORDS) + 1))


def test_design_stays_short_and_names_every_room_of_the_toolkit() -> None:
    page = (DECISIONS.parent / "design.md").read_text()
    assert len(page.splitlines()) < 200
    table = page.split("\n## The toolkit\n")[1].split("\n## ")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)(?:/|\.py)`", line)}
    package = DECISIONS.parent.parent / "src/hardstone"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    modules = {path.stem for path in package.glob("*.py") if not path.stem.startswith("_")}
    assert (rooms | modules) - named == set()
