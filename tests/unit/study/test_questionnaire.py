"""The questionnaire: its questions cover the study's points, a file of answers is checked line by
line, and nothing of it reaches a score."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.study.papers import paper_named
from hardstone.study.questionnaire import (
    OWN,
    QUESTIONNAIRE_SCHEMA,
    QuestionnaireError,
    load_questions,
    parse_questionnaire,
    questionnaire_rows,
    read_questionnaire,
    template,
    write_template,
)
from hardstone.systems import rating

HEAD = f'schema = "{QUESTIONNAIRE_SCHEMA}"\nsystem = "Debian 13, 6.12-rt"\n'
EMPTY = "system is empty; write the name and version of your system"


def problems(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(QuestionnaireError) as caught:
        parse_questionnaire(data, "answers.toml")
    assert all(one.startswith("answers.toml: ") for one in caught.value.problems)
    return [one.removeprefix("answers.toml: ") for one in caught.value.problems]


def answered(*lines: str) -> str:
    return HEAD + "\n".join(lines) + "\n"


def points_of_table_4() -> set[tuple[str, bool, str]]:
    rows = paper_named("dedicated-systems-2012").exhibit("Table 4").rows
    return {
        (row.systems[0], is_good, says)
        for row in rows
        for is_good, text in zip((True, False), row.words, strict=True)
        for says in text.split("; ")
    }


def test_every_point_of_table_4_stands_at_a_question() -> None:
    points = [one for question in load_questions() for one in question.points]
    of_table = {(one.system, one.is_good, one.says) for one in points if one.place == "Table 4"}
    assert of_table == points_of_table_4()
    assert {one.place for one in points} == {"Table 4", "3.4"}


def test_what_section_3_4_says_stands_at_questions_too() -> None:
    (text,) = paper_named("dedicated-systems-2012").exhibit("Table 4").text
    of_text = [one for asked in load_questions() for one in asked.points if one.place == "3.4"]
    assert len(of_text) == 5
    for one in of_text:
        assert all(word in text for word in one.says.split()), one.says


def test_questions_have_names_that_toml_takes_bare() -> None:
    ids = [one.id for one in load_questions()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", one) for one in ids)
    assert all(one.asks.endswith("?") and one.evidence for one in load_questions())


def test_the_template_asks_everything_and_needs_only_a_name() -> None:
    text = template()
    for question in load_questions():
        assert f"[{question.id}]\n# {question.asks}\n" in text
        assert all(f"{one} ({one.place})" in text for one in question.points)
    assert max(map(len, text.splitlines())) <= 120
    line = text.splitlines().index('system = ""  # the name and version of your system') + 1
    assert problems(text) == [f"line {line}, {EMPTY}"]
    named = text.replace('system = ""', 'system = "mine"')
    found = parse_questionnaire(named.encode(), "x")
    assert found.system == "mine"
    assert {one.reply for one in found.answers.values()} == {"not known"}


def test_answers_are_read_and_missing_ones_are_not_known() -> None:
    text = answered(
        "[source]", 'answer = "yes"', 'evidence = " kernel.org "', "[tools]", 'answer = "not known"'
    )
    found = parse_questionnaire(text.encode(), "x")
    assert str(found.answers["source"]) == "yes: kernel.org"
    assert str(found.answers["tools"]) == str(found.answers["support"]) == "not known"
    assert len(found.answers) == len(load_questions())


@pytest.mark.parametrize("reply", ["yes", "partly", "no"])
@pytest.mark.parametrize("evidence", ["", 'evidence = ""', 'evidence = "  \\n "'])
def test_an_answer_without_evidence_is_refused(reply: str, evidence: str) -> None:
    (told,) = problems(answered("[source]", f'answer = "{reply}"', evidence))
    line = 5 if evidence else 3
    assert told == (
        f"line {line}, source: the answer is {reply}, and there is no evidence; say what shows "
        'it, or answer "not known"'
    )


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            ["[source]", 'answer = "maybe"', 'evidence = "x"'],
            "line 4, source: answer is 'maybe'; write yes, partly, no or not known",
        ),
        (
            ["[source]", "answer = true", 'evidence = "x"'],
            "line 4, source: answer is 'True'; write yes, partly, no or not known",
        ),
        (
            ["[source]", 'evidence = "x"'],
            "line 3, source: answer is missing; write yes, partly, no or not known",
        ),
        (
            ["[source]", 'answer = "yes"', "evidence = 3"],
            "line 5, source: evidence is '3'; it is a text in quotes",
        ),
        (
            ["[source]", 'answer = "yes"', f'evidence = "{"x" * 1001}"'],
            "line 5, source: evidence has 1001 characters; at most 1000 are read",
        ),
        (
            ["[source]", 'answer = "not known"', 'because = "x"'],
            "line 5, source has 'because'; there are answer, evidence",
        ),
        (
            ["[source]", 'answer = "yes"', 'evidance = "x"', 'evidence = "y"'],
            "line 5, source has 'evidance'; did you mean evidence?",
        ),
        (["[sources]", 'answer = "no"'], "line 3, there is no question 'sources'; did you mean"),
        (["source = 3"], "line 3, source is '3'; it has answer and evidence"),
        (["[[source]]", 'answer = "no"'], "source is '[{'answer': 'no'}]'; it has answer and"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(lines: list[str], told: str) -> None:
    (found,) = problems(answered(*lines))
    assert found.startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", f'there is no schema; a questionnaire has: schema = "{QUESTIONNAIRE_SCHEMA}"'),
        ('schema = "hardstone.limits/1"', "schema is 'hardstone.limits/1'; a questionnaire has"),
        (f'schema = "{QUESTIONNAIRE_SCHEMA}"', "system is missing"),
        (f'schema = "{QUESTIONNAIRE_SCHEMA}"\nsystem = " "', f"line 2, {EMPTY}"),
        (f'schema = "{QUESTIONNAIRE_SCHEMA}"\nsystem = 1', "line 2, system is '1'; it is a text"),
        (
            f'schema = "{QUESTIONNAIRE_SCHEMA}"\nsystem = "{"x" * 121}"',
            "line 2, system has 121 characters; at most 120 are read",
        ),
        ("schema = ", "Invalid value (at end of document)"),
        ("[source\n", "Expected ']' at the end of a table declaration (at line 1, column 8)"),
        (b"a = 1\n\xff", "line 2 is not UTF-8"),
        ("[" * 5000, ""),
        ("a." * 100 + "b = 1", "a key with more than 64 parts (at line 1)"),
    ],
)
def test_what_is_no_questionnaire_is_refused(text: str | bytes, told: str) -> None:
    assert problems(text)[0].startswith(told)


def test_all_problems_are_told_at_once_but_never_endless() -> None:
    wrong = [line for one in load_questions() for line in (f"[{one.id}]", 'answer = "x"')]
    assert len(problems(answered(*wrong))) == len(load_questions())
    unknown = [f"[q{number}]" for number in range(40)]
    found = problems(answered(*unknown))
    assert (len(found), found[-1]) == (21, "and 20 more problems")


def test_lines_inside_a_text_are_no_parts() -> None:
    text = answered(
        "[tools]", 'answer = "yes"', 'evidence = """', "[source]", "answer = 1", '"""',
        "[source]", 'answer = "often"',
    )  # fmt: skip
    assert problems(text)[0].startswith("line 10, source: answer is 'often'")


def test_hostile_text_in_a_message_does_not_steer_a_terminal() -> None:
    (told,) = problems(answered('["\\u001b[31m\\u202e"]'))
    assert told.isprintable()


def test_a_file_is_written_once_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert write_template(path)
    assert path.read_text() == template()
    path.write_text("mine")
    assert not write_template(path)
    assert path.read_text() == "mine"


def test_a_link_to_nothing_is_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "link.toml"
    path.symlink_to(tmp_path / "elsewhere")
    assert not write_template(path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["none/new.toml", "a\0b", "x" * 300])
def test_what_cannot_be_written_is_an_error_of_the_user(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"cannot write|there is no folder"):
        write_template(tmp_path / name)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuestionnaireError, match="a folder"):
        read_questionnaire(tmp_path)
    with pytest.raises(QuestionnaireError, match="a device"):
        read_questionnaire(Path("/dev/zero"))
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 70_000)
    with pytest.raises(QuestionnaireError, match="larger than"):
        read_questionnaire(large)
    with pytest.raises(InputError, match="there is no file"):
        read_questionnaire(tmp_path / "gone.toml")


def test_rows_have_the_points_of_the_study_and_the_own_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.toml"
    path.write_text(answered("[target-setup]", 'answer = "partly"', 'evidence = "two days"'))
    rows = {row.label: row for row in questionnaire_rows(path)}
    assert list(rows) == [one.id for one in load_questions()]
    assert rows["target-setup"].cells == {
        "ce7": "+ a target is set up easily from templates",
        "linux-rt": "+ a demonstration is quick; - a target from scratch is hard",
        OWN: "partly: two days",
    }
    assert rows["target-setup"].note.endswith("?")
    assert rows["support"].cells[OWN] == "not known"


def test_no_answer_counts_in_a_score() -> None:
    """The formula does not know that there are answers."""
    assert rating.__file__
    assert "questionnaire" not in Path(rating.__file__).read_text("utf-8")
    assert "No answer counts in a score." in template()
