"""What no test measures: documentation, tools, support, licence, asked of a system of one's own.

The questions are those that Dedicated Systems 2012 answers for its three systems in Table 4 and in
section 3.4. Answers are a TOML file of its owner, each with evidence. They stand beside the study's
points and never count in a score.
"""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from hardstone.errors import InputError, printable
from hardstone.files import OddFileError, followed, parse_toml, read_regular, remedy_of
from hardstone.study.exhibits import Cell, LaidOut, Row, StudyView
from hardstone.study.papers import Exhibit, Paper, Quantity, paper_named

QUESTIONNAIRE_SCHEMA = "hardstone.questionnaire/1"
OWN = "own"  # the key of the answers in the cells of `questionnaire_rows`
Reply = Literal["yes", "partly", "no", "not known"]
REPLIES: tuple[Reply, ...] = get_args(Reply)

_STUDY = "dedicated-systems-2012"
_POINTS = "Table 4"
_MOST_BYTES = 65_536
_LONGEST_NAME = 120
_LONGEST_EVIDENCE = 1_000
_MOST_SHOWN = 20
_KEYS = ("answer", "evidence")


class Point(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What the study says of one of its systems, in our words, and where: Table 4 or 3.4."""

    system: str
    is_good: bool
    says: str
    place: str

    def __str__(self) -> str:
        return f"{'+' if self.is_good else '-'} {self.says}"


class Question(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A question. `evidence`: what could show its answer; `points`: what the study says."""

    id: str
    asks: str
    evidence: str
    points: list[Point] = []


@dataclass(frozen=True)
class Answered:
    """An answer. `evidence` is "" only if nothing is known."""

    reply: Reply = "not known"
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.reply}: {self.evidence}" if self.evidence else self.reply


@dataclass(frozen=True)
class Questionnaire:
    """The answers for one system, by the ID of the question; one that the file lacks is not
    known."""

    system: str
    answers: Mapping[str, Answered]


class QuestionnaireError(InputError):
    """A file that holds no answers: all that is wrong in it, each with its line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems[0])
        self.problems = problems

    def reasons(self) -> list[tuple[str, str]]:
        return [(one, "") for one in self.problems]


@cache
def load_questions() -> tuple[Question, ...]:
    """The questions, in their order."""
    folder = resources.files("hardstone.study")
    found = tomllib.loads(folder.joinpath("questionnaire.toml").read_text("utf-8"))
    return tuple(msgspec.convert(found["question"], list[Question]))


def the_study() -> Paper:
    """The study whose points stand beside the answers."""
    return paper_named(_STUDY)


def template() -> str:
    """A questionnaire to fill in, with the questions and the study's points as comments."""
    systems = the_study().study.systems
    lines = [
        "# What no test of hardstone measures, after Table 4 and section 3.4 of",
        f"# {the_study().study.reading.short}. Fill it in, then check and show it with",
        "# hardstone questionnaire FILE",
        f"# answer is one of: {', '.join(REPLIES)}. Each but the last needs evidence:",
        f"# what shows it, at most {_LONGEST_EVIDENCE} characters. No answer counts in a score.",
        "",
        f'schema = "{QUESTIONNAIRE_SCHEMA}"',
        'system = ""  # the name and version of your system',
    ]
    for question in load_questions():
        lines += ["", f"[{question.id}]", f"# {question.asks}"]
        lines += [
            f"#   {systems[point.system].name}: {point} ({point.place})"
            for point in question.points
        ]
        lines += ['answer = "not known"', f'evidence = ""  # {question.evidence}']
    return "\n".join(lines) + "\n"


def write_template(path: Path) -> bool:
    """Writes a questionnaire to fill in; False if there is a file of that name already."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError:
        return False
    except (OSError, ValueError) as error:
        raise _no_access("write", path, error) from None
    return True


def _no_access(verb: str, path: Path, error: OSError | ValueError) -> InputError:
    if not isinstance(error, OSError):  # a NUL in the name
        return InputError(
            f"cannot {verb} {printable(str(path))[:80]}: {error}", "name another file"
        )
    if isinstance(error, FileNotFoundError) and verb == "write":
        return InputError(f"there is no folder {path.parent}", "create it, or name another file")
    if isinstance(error, FileNotFoundError):
        write = f"write it: hardstone questionnaire {shlex.quote(str(path))}"
        return InputError(f"there is no file {path}", write)
    reason = error.strerror or str(error)
    return InputError(f"cannot {verb} {path}: {reason}", remedy_of(error, "name another file"))


def read_questionnaire(path: Path) -> Questionnaire:
    """The answers in the file `path`. QuestionnaireError with all that is wrong; InputError if it
    cannot be read."""
    try:
        data = read_regular(followed(path), _MOST_BYTES)
    except OddFileError as error:
        raise QuestionnaireError([f"{path}: {error.strerror}; it is no questionnaire"]) from None
    except (OSError, ValueError) as error:
        raise _no_access("read", path, error) from None
    return parse_questionnaire(data, str(path))


def parse_questionnaire(data: bytes, name: str) -> Questionnaire:
    """The answers in `data`, a file called `name` in messages. QuestionnaireError with all that is
    wrong."""
    try:
        document = parse_toml(data)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise QuestionnaireError([f"{name}: line {line} is not UTF-8"]) from None
    except (ValueError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else "it is not TOML"
        raise QuestionnaireError([f"{name}: {printable(said)[:200]}"]) from None
    problems = list(_problems(document, data.decode("utf-8")))
    if problems:
        more = len(problems) - _MOST_SHOWN
        shown = problems[:_MOST_SHOWN] + ([f"and {more} more problems"] if more > 0 else [])
        raise QuestionnaireError([f"{name}: {one}" for one in shown])
    answers = {
        question.id: Answered(found.get("answer", "not known"), found.get("evidence", "").strip())
        for question in load_questions()
        for found in (document.get(question.id, {}),)
    }
    return Questionnaire(document["system"].strip(), answers)


def questionnaire_rows(path: Path) -> tuple[Quantity, ...]:
    """The questions as rows: `cells` has the study's points by system, and the answer in the file
    `path` under OWN. Errors as `read_questionnaire`."""
    return rows_of(read_questionnaire(path))


def rows_of(found: Questionnaire) -> tuple[Quantity, ...]:
    """As `questionnaire_rows`, of answers that were read."""
    rows = []
    for question in load_questions():
        cells: dict[str, str] = {}
        for point in question.points:
            said = [cells[point.system]] if point.system in cells else []
            cells[point.system] = "; ".join([*said, str(point)])
        cells[OWN] = str(found.answers[question.id])
        rows.append(Quantity(label=question.id, cells=cells, note=question.asks))
    return tuple(rows)


def with_answers(view: StudyView, found: Questionnaire) -> StudyView:
    """`view` with the answers as an exhibit, after that of the study's own points. They are words:
    no cell is counted. InputError for another study."""
    if view.paper.name != _STUDY:
        raise InputError(
            f"--questionnaire has the questions of {_STUDY}, not of {view.paper.name}",
            "leave it out",
        )
    names = {key: one.name for key, one in view.paper.study.systems.items()}
    rows = []
    for one in rows_of(found):
        points = "; ".join(
            f"{name}: {one.cells[key]}" for key, name in names.items() if key in one.cells
        )
        nothing = tuple(Cell("not covered") for _ in view.columns)
        words = (one.cells[OWN], points)
        row = Row(one.label, words, "", "", "", None, nothing, note=one.note)
        rows.append(row)
    title = f"What no test measures, of {found.system}"
    exhibit = Exhibit(
        number="no number: questionnaire",
        title=title,
        form="table",
        headings=["answer", "the paper"],
        rows=[Quantity(label=row.label, words=list(row.words)) for row in rows],
        text=["+ and -: positive and negative points. No answer counts in a score."],
    )
    place = 1 + max(
        (at for at, one in enumerate(view.exhibits) if one.exhibit.number == _POINTS), default=-1
    )
    before, after = view.exhibits[:place], view.exhibits[place:]
    return replace(view, exhibits=(*before, LaidOut(exhibit, tuple(rows), ()), *after))


def _problems(document: Mapping[str, Any], text: str) -> Iterator[str]:
    schema = document.get("schema")
    if schema != QUESTIONNAIRE_SCHEMA:
        found = f"schema is {_quoted(schema)}" if "schema" in document else "there is no schema"
        yield f'{found}; a questionnaire has: schema = "{QUESTIONNAIRE_SCHEMA}"'
        return
    places = _Places(text)
    yield from _of_text(document.get("system"), places("", "system"), "system", _LONGEST_NAME)
    system = document.get("system")
    if isinstance(system, str) and not system.strip():
        yield f"{places('', 'system')}system is empty; write the name and version of your system"
    known = [question.id for question in load_questions()]
    for key, value in document.items():
        if key in ("schema", "system"):
            continue
        if key not in known:
            yield f"{places(key)}there is no question {_quoted(key)}; {_nearest(key, known)}"
        elif not isinstance(value, dict):
            yield f"{places('', key)}{key} is {_quoted(value)}; it has answer and evidence"
        else:
            yield from _of_answer(key, value, places)


def _of_answer(key: str, found: Mapping[str, Any], places: _Places) -> Iterator[str]:
    for name in found:
        if name not in _KEYS:
            yield f"{places(key, name)}{key} has {_quoted(name)}; {_nearest(name, _KEYS)}"
    reply, evidence = found.get("answer"), found.get("evidence", "")
    if reply not in REPLIES:
        said = f"answer is {_quoted(reply)}" if "answer" in found else "answer is missing"
        yield f"{places(key, 'answer')}{key}: {said}; write {', '.join(REPLIES[:-1])} or not known"
    wrong = list(_of_text(evidence, places(key, "evidence"), f"{key}: evidence", _LONGEST_EVIDENCE))
    yield from wrong
    if not wrong and not evidence.strip() and reply in REPLIES[:-1]:
        yield (
            f"{places(key, 'evidence')}{key}: the answer is {reply}, and there is no evidence; say "
            'what shows it, or answer "not known"'
        )


def _of_text(found: object, place: str, name: str, most: int) -> Iterator[str]:
    if found is None:
        yield f"{place}{name} is missing"
    elif not isinstance(found, str):
        yield f"{place}{name} is {_quoted(found)}; it is a text in quotes"
    elif len(found) > most:
        yield f"{place}{name} has {len(found)} characters; at most {most} are read"


def _quoted(found: object) -> str:
    text = printable(str(found))
    return f"'{text[:40]}...'" if len(text) > 40 else f"'{text}'"


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name[:60], known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


_HEAD = re.compile(r"""[ \t]*\[[ \t]*["']?([^\]"']{1,80})["']?[ \t]*\]""")
_KEY = re.compile(r"""[ \t]*["']?([\w-]{1,80})["']?[ \t]*[=.]""")
_LONG_TEXT = re.compile(r'"""|' + "'''")


class _Places:
    """The lines of parts and keys in a TOML text that was read: "line 7, ". Nothing inside a text
    of several lines is taken for one."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, str], int] = {}
        part, is_inside = "", False
        for number, line in enumerate(text.split("\n"), 1):
            if not is_inside:
                if head := _HEAD.match(line):
                    part = head[1].strip()
                    self._lines.setdefault((part, ""), number)
                elif key := _KEY.match(line):
                    self._lines.setdefault((part, key[1]), number)
            is_inside ^= len(_LONG_TEXT.findall(line)) % 2 == 1

    def __call__(self, part: str, key: str = "") -> str:
        """The line of `key` in `part`, or of `part`; "" if neither is found."""
        found = self._lines.get((part, key)) or self._lines.get((part, ""))
        found = found or self._lines.get(("", part))
        return f"line {found}, " if found else ""
