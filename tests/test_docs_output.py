"""Pasted output is cut to the lines that the text speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

import docs_output

LINES = ["head", "", "test A", "a 1", "", "test B", "b 1", "b 2", "", "end"]


@pytest.mark.parametrize(
    ("addresses", "shown"),
    [
        (" /test/", ["...", "test A", "...", "test B", "..."]),
        (" /^test B/../^$/", ["...", "test B", "b 1", "b 2", "", "..."]),
        (" /head/ /^end$/", ["head", "...", "end"]),
        (" /a 1/../a 1/", ["...", "a 1", "..."]),
        ("", []),
    ],
)
def test_chosen_lines_are_kept_and_gaps_are_marked(addresses: str, shown: list[str]) -> None:
    assert docs_output.kept(LINES, addresses) == shown


@pytest.mark.parametrize("addresses", [" /nothing/", " /head/../nothing/", " test", " /head/ x"])
def test_an_address_without_a_line_is_an_error(addresses: str) -> None:
    with pytest.raises(ValueError, match=r"any more|no addresses"):
        docs_output.kept(LINES, addresses)


def test_a_choice_stays_when_output_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_output, "run", lambda command, home: "\n".join(LINES))
    old = "<!-- output: x -->\n<!-- shown: /head/ -->\n```text\nold\n```\n<!-- end -->\n"
    new = docs_output.refresh(old, measure=False)
    assert new == old.replace("old", "$ x\nhead\n...")
    assert docs_output.refresh(new, measure=False) == new


def test_measured_blocks_are_left_alone_unless_asked() -> None:
    text = "<!-- measured: x -->\n<!-- shown: /head/ -->\n```text\nold\n```\n<!-- end -->\n"
    seen: list[Path] = []
    assert docs_output.refresh(text, measure=False, afterwards=seen.append) == text
    assert len(seen) == 1
