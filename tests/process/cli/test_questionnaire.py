"""hardstone questionnaire: writes a file once, then checks and shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.study.questionnaire import load_questions, template
from tests.process.cli.conftest import Done

Hardstone = Callable[..., Done]


def test_a_new_file_is_written_and_the_next_step_told(hardstone: Hardstone, tmp_path: Path) -> None:
    path = tmp_path / "my system.toml"
    done = hardstone("questionnaire", path)
    assert (done.code, done.out) == (EXIT_OK, "")
    assert path.read_text() == template()
    assert done.typed[0].endswith(f"hardstone questionnaire '{path}'")


def test_answers_are_shown_beside_the_study(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "answers.toml"
    text = template().replace('system = ""', 'system = "Debian \\u001b[31m13"')
    start = text.index("[source]")
    asked = text[start:].replace('"not known"', '"yes"', 1).replace('""', '"kernel.org"', 1)
    path.write_text(text[:start] + asked)
    done = hardstone("questionnaire", path)
    assert (done.code, done.err) == (EXIT_OK, "")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80 and "\x1b" not in done.out
    place = lines.index("source: yes")
    assert lines[place + 1 : place + 5] == [
        "  Can you read all of its source?",
        "  kernel.org",
        "  - QNX Neutrino 6.5 (patch 2530): not all source is open (access on request)",
        "  + Linux 2.6.33.7.2-rt30: source at hand",
    ]
    assert all(f"{one.id}: " in done.out for one in load_questions())
    assert f"1 yes, 0 partly, 0 no, {len(load_questions()) - 1} not known." in done.out


def test_a_file_that_is_no_questionnaire_is_kept_and_refused(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    path = tmp_path / "other.toml"
    path.write_text("a = 1\n")
    done = hardstone("questionnaire", path)
    assert done.code == EXIT_USAGE
    assert "there is no schema" in done.err
    assert path.read_text() == "a = 1\n"


def test_every_problem_is_a_line(hardstone: Hardstone, tmp_path: Path) -> None:
    path = tmp_path / "answers.toml"
    path.write_text(template().replace('"not known"', '"perhaps"'))
    done = hardstone("questionnaire", path)
    assert done.code == EXIT_USAGE
    assert len(done.told) == 1 + len(load_questions())  # the name of the system too
    assert all("line " in line for line in done.told)
