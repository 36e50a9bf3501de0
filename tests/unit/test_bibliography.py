"""Every source that the tree cites is in the bibliography, with what of it is here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

import docs_tests
from hardstone.doctor import load_rules
from hardstone.model import Register

ROOT = Path(__file__).resolve().parents[2]
BIBLIOGRAPHY = (ROOT / "docs/bibliography.md").read_text()
REGISTER = ROOT / "tests/process/targets/golden/register.json"
TESTS = json.loads(REGISTER.read_text())["tests"]
SHORT = "### [O] A study\n\n- **Tests**: MUT-P-OLD,\n  MUT-P-TOO.\n- **Also here**: more.\n"
KEY = re.compile(r"(?<![\w\])])\[([A-Z])\](?![(\[])")
TEST_ID = re.compile(r"\b[A-Z]{3}-[A-Z]-[A-Z]+\b")


def studies() -> dict[str, str]:
    """The section of each study, in one line, by its key."""
    sections = re.split(r"^##+ ", BIBLIOGRAPHY, flags=re.MULTILINE)
    found = [(KEY.match(one), " ".join(one.split())) for one in sections]
    return {match[1]: text for match, text in found if match}


def test_each_study_names_just_the_tests_that_it_is_the_source_of() -> None:
    sources: dict[str, set[str]] = {}
    for test in TESTS:
        for key in KEY.findall(test["source"]):
            sources.setdefault(key, set()).add(test["id"])
    assert {key: set(TEST_ID.findall(text)) for key, text in studies().items()} == sources


def test_the_lists_of_tests_are_written_from_the_register() -> None:
    register = msgspec.json.decode(REGISTER.read_bytes(), type=Register)
    assert docs_tests.bibliography(BIBLIOGRAPHY, register) == BIBLIOGRAPHY
    fewer = msgspec.structs.replace(register, tests=register.tests[:1])
    assert TEST_ID.findall(docs_tests.bibliography(SHORT, fewer)) == [register.tests[0].id]


def test_keys_in_documents_are_those_of_studies() -> None:
    written = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("schema/*.md")]
    # In the help of a command [N] is a value that may be left out.
    documents = [path for path in written if path.parent.name != "commands"]
    used = {key for path in documents for key in KEY.findall(path.read_text())}
    assert used == set(studies())


def test_every_published_study_is_there_with_title_and_authors() -> None:
    published = json.loads((ROOT / "src/hardstone/published/published.json").read_text())
    text = " ".join(BIBLIOGRAPHY.split())
    for study in published["studies"].values():
        assert study["title"] in text
        assert study.get("author", "") in text


def test_sources_of_the_doctor_are_there() -> None:
    """Such as "Doughty et al. 1987, table 2": one of the authors of a study of that year."""
    sources = [rule.brings.source for rule in load_rules().values() if rule.brings]
    cited = [re.match(r"(\w+)(?: et al\.)? (\d{4})\b", source) for source in sources if source]
    known = [match for match in cited if match]
    assert known
    for match in known:
        assert any(match[1] in text and match[2] in text for text in studies().values()), match[0]
