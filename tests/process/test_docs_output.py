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
    monkeypatch.setattr(docs_output, "run", lambda *asked: "\n".join(LINES))
    old = "<!-- output: x -->\n<!-- shown: /head/ -->\n```text\nold\n```\n<!-- end -->\n"
    new = docs_output.refresh(old, measure=False)
    assert new == old.replace("old", "$ x\nhead\n...")
    assert docs_output.refresh(new, measure=False) == new


def test_measured_blocks_are_left_alone_unless_asked() -> None:
    text = "<!-- measured: x -->\n<!-- shown: /head/ -->\n```text\nold\n```\n<!-- end -->\n"
    seen: list[Path] = []
    assert docs_output.refresh(text, measure=False, afterwards=seen.append) == text
    assert len(seen) == 1


LAB = "<!-- measured: hardstone run X --target lab:{} -->\n<!-- fails -->\nold\n<!-- end -->\n"


def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: str) -> None:
    """A hardstone in whose lab are `kernels`, and whose targets cannot be reached."""
    path = tmp_path / "hardstone"
    path.write_text(
        f"#!/bin/sh\ncase $1 in lab) echo '{kernels}' ;; *) echo gone; exit 4 ;; esac\n"
    )
    path.chmod(0o755)
    monkeypatch.setitem(docs_output.PROGRAMS, "hardstone", path)


@pytest.mark.parametrize(
    ("kernels", "said"),
    [
        ("[]", "debian-rt is not in the lab: hardstone lab get debian-rt"),
        ('[{"name": "debian-rt", "has_emulator": false, "arch": "x86_64"}]', "no QEMU for x86_64"),
    ],
)
def test_a_block_without_its_guest_is_kept_and_the_reason_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kernels: str,
    said: str,
) -> None:
    program(tmp_path, monkeypatch, kernels)
    text = LAB.format("debian-rt,preempt=full")
    assert docs_output.refresh(text, measure=True) == text
    assert said in capsys.readouterr().out


def test_a_block_shows_a_target_that_cannot_be_reached_only_where_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, '[{"name": "debian", "has_emulator": true}]')
    text = LAB.format("debian")
    fresh = docs_output.refresh(text, measure=True)
    assert "<!-- fails -->\n```text\n$ hardstone run X --target lab:debian\ngone\n```" in fresh
    with pytest.raises(RuntimeError, match="ended with 4"):
        docs_output.refresh(text.replace("<!-- fails -->\n", ""), measure=True)


def test_only_the_blocks_asked_for_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, '[{"name": "debian", "has_emulator": true}]')
    text = LAB.format("debian")
    assert docs_output.refresh(text, measure=True, matching="lab:other") == text
    assert docs_output.refresh(text, measure=True, matching="lab:debian") != text
