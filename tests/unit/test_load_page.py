"""docs/reference/load.md says of every element what the probe says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "load.md"
EVENTS = ("load_short", "load_unseen", "load_ended_early", "load_limited", "load_not_settled")


@pytest.fixture
def loads(probe: Path) -> Any:
    done = subprocess.run([probe, "load", "--list", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def rows() -> dict[str, list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].strip("`").partition(":")[0]: row for row in cells}


def test_every_element_has_its_row_and_every_row_its_element(loads: Any) -> None:
    elements = {element["name"] for element in loads["elements"]}
    assert set(rows()) == elements | set(EVENTS)


def test_the_default_degrees_are_those_of_the_probe(loads: Any) -> None:
    for element in loads["elements"]:
        said = rows()[element["name"]][2].strip("`")
        expected = element["default"] or ("options" if element["degree"] else "none")
        assert said == expected


def test_the_mixes_are_those_of_the_probe(loads: Any) -> None:
    mixes = {mix["name"]: mix["load"] for mix in loads["mixes"]}
    assert mixes["storm"] in PAGE.read_text()
    elements = [element["name"] for element in loads["elements"]]
    heavy = [term.partition("=")[0] for term in mixes["heavy"].split("+")]
    assert heavy == elements[: elements.index("search") + 1]
