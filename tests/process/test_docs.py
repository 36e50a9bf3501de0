"""What tools write into the documents is new, cut as asked, and worded as it is today."""

from __future__ import annotations

import contextlib
import doctest
import gzip
import io
import os
import re
import sys
import traceback
from pathlib import Path

import msgspec
import pytest

import docs_other_tools
import docs_output
import docs_tests
import hardstone
from hardstone.catalogue import load_catalogue
from hardstone.errors import HardstoneError
from hardstone.importers.recognise import all_formats, tool_title
from hardstone.model import Register
from hardstone.present import answer
from hardstone.present.overview import LIMIT_OF_MAXIMA
from hardstone.stats.trust import grade_run
from hardstone.store.place import default_root
from hardstone.systems.moments import OWN, load_moments
from hardstone.units import format_count, format_ns
from tests.conftest import ROOT
from tests.programs import ran, script
from tests.unit.stats.test_trust import CASES as TRUST_CASES

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
    body = f"case $1 in lab) echo '{kernels}' ;; *) echo gone; exit 4 ;; esac"
    path = script(tmp_path / "hardstone", body)
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
    assert docs_output.refresh(text, measure=True, matching="lab:other") == text
    assert docs_output.refresh(text, measure=True, matching="lab:debian") == fresh
    with pytest.raises(RuntimeError, match="ended with 4"):
        docs_output.refresh(text.replace("<!-- fails -->\n", ""), measure=True)


def test_a_block_can_read_files_of_other_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script(tmp_path / "hardstone", "head -c 18 $2")
    monkeypatch.setitem(docs_output.PROGRAMS, "hardstone", path)
    text = "<!-- output: hardstone show samples/xenomai-latency.stdout -->\n<!-- end -->\n"
    assert "== Sampling period" in docs_output.refresh(text, measure=False)


def test_the_page_of_other_tools_has_each_figure_and_each_tool_whose_files_are_read() -> None:
    page = docs_other_tools.page()
    for tool in load_moments().values():
        assert tool.package == OWN or f"\n## {tool.title}\n" in page
        assert all(one.end in page for one in tool.series.values() if tool.package != OWN)
    assert {tool_title(one) for one in all_formats()} - {"rt-tests"} <= {
        line.removeprefix("## ") for line in page.splitlines()
    }
    row = next(line for line in page.splitlines() if line.startswith("| `timerlat-sum` |"))
    assert "| no: it counts three latencies" in row


def test_the_source_of_a_test_is_a_link_to_its_study() -> None:
    golden = ROOT / "tests" / "process" / "targets" / "golden" / "register.json"
    register = msgspec.json.decode(golden.read_bytes(), type=Register)
    test = next(one for one in register.tests if one.id == "TMR-P-LAT")
    page = docs_tests.page(test, load_catalogue())
    study = f"../../{docs_tests.BIBLIOGRAPHY.name}#l-latstat-2007"
    assert f"Source: [[L]]({study}) latstat, Solaris" in page


def sources() -> str:
    """All texts of the toolkit in one line, literals joined as Python joins them."""
    folder = ROOT / "src" / "hardstone"
    found = [path for kind in ("*.py", "*.j2", "*.toml") for path in sorted(folder.rglob(kind))]
    text = " ".join(path.read_text("utf-8") for path in found)
    return re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*f?"', "", text))


def test_the_page_about_the_report_quotes_what_is_printed() -> None:
    page = (ROOT / "docs" / "how-to" / "read-the-report.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+?) \| ", page, re.MULTILINE)
    quoted = [words for row in rows for words in re.findall(r"`([^`]+)`", row)]
    pieces = [piece.strip() for words in quoted for piece in words.split("...") if piece.strip()]
    text = sources()
    assert len(pieces) > 12
    assert [piece for piece in pieces if piece not in text] == []


def test_users_of_rtla_are_told_of_the_parts_of_a_wake_up() -> None:
    golden = ROOT / "tests" / "process" / "targets" / "golden" / "register.json"
    register = msgspec.json.decode(golden.read_bytes(), type=Register)
    test = next(one for one in register.tests if one.id == "TMR-P-LAT")
    parts = {one.fixed["part"] for one in test.series if "part" in one.fixed} - {"total"}
    page = (ROOT / "docs" / "how-to" / "coming-from-other-tools.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if "[`rtla timerlat`]" in line)
    assert parts and all(part in row for part in parts), row


def test_the_page_of_the_answer_has_its_thresholds_and_marks() -> None:
    page = (ROOT / "docs" / "method" / "answer.md").read_text("utf-8")
    least = ""
    for most, _, words in answer.JUDGEMENTS:
        limit = format_ns(most)
        assert f"| {least}at most {limit} | {words} |" in page
        least = f"above {limit}, "
    assert f"| above {format_ns(answer.JUDGEMENTS[-1][0])} | not real-time as measured |" in page
    least_values = format_count(answer.LEAST_VALUES).replace("\N{NO-BREAK SPACE}", " ")
    assert f"fewer than {least_values} values" in page
    assert set(re.findall(r"^\| `([+=-]+)` \|", page, re.MULTILINE)) == {"+", "=", "-", "--"}


DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ONE_TEST = r"[A-Z]{3}-[A-Z]-[A-Z]+(?: \[[^\]]+\])?"


def reason_patterns() -> list[re.Pattern[str]]:
    """What the rules of trust say now, with any figures, tests and names in it."""
    said = {reason for _, _, document in TRUST_CASES for reason in grade_run(document).reasons}
    loose = (
        (r"[A-Z]{3}\\-[A-Z]\\-[A-Z]+", rf"{ONE_TEST}(?:, {ONE_TEST})*(?: and \d+ more)?"),
        (r"\\\(kvm\\\)", r"\\(\\w+\\)"),
        (r"less\\ than\\ 1\\ ms|[0-9]+\\ ms", r"(?:less than [0-9]+|[0-9]+) ms"),
    )
    patterns = []
    for reason in said:
        pattern = re.escape(reason)
        for old, new in loose:
            pattern = re.sub(old, lambda _, new=new: new.replace("\\\\", "\\"), pattern)
        patterns.append(re.compile(pattern))
    return patterns


def test_measured_output_is_worded_as_it_is_today() -> None:
    """Its figures differ from run to run, so that it is not made anew by every check."""
    patterns = reason_patterns()
    blocks = [one for path in DOCUMENTS for one in docs_output.BLOCK.findall(path.read_text())]
    measured = [(command, block) for kind, command, block in blocks if kind == "measured"]
    assert measured
    for command, block in measured:
        for section in re.findall(r"^trust: \w+\n((?: +\S.*\n)*)", block, re.MULTILINE):
            rest = " ".join(section.split())
            for pattern in patterns:
                rest = pattern.sub("", rest, count=1)
            assert rest.strip() == "", f"{command}: make docs ARGS=--measure"
        if "worst observed: the " in block:
            assert LIMIT_OF_MAXIMA in " ".join(block.split()), (
                f"{command}: make docs ARGS=--measure"
            )


@pytest.mark.slow
def test_generated_documents_are_up_to_date(probe: Path) -> None:
    command = [sys.executable, "tools/gen_docs.py", "--check"]
    done = ran(command, cwd=ROOT, env=dict(os.environ))
    assert done.returncode == 0, f"make docs\n{done.stdout}{done.stderr}"


PAGE = ROOT / "docs" / "reference" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS = ("run-1-conditions", "run-1-troubled")  # the last one is "last"


def examples(text: str) -> list[doctest.Example]:
    blocks = BLOCK.findall(text)
    return [one for block in blocks for one in doctest.DocTestParser().get_examples(block)]


@pytest.fixture
def stored(own_home: Path) -> Path:
    """The store of the page, at its default place."""
    runs = default_root() / "runs"
    runs.mkdir(parents=True)
    for name in RUNS:
        path = ROOT / "schema" / "golden" / f"{name}.json"
        run = hardstone.load(path)
        (runs / f"{run.id}.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    return runs


def shown(source: str, names: dict[str, object]) -> str:
    """What Python's prompt shows: the value of an expression, or the last line of an error."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            code = compile(source, "<page>", "single")
            exec(code, names)  # noqa: S102  the page is ours
        except HardstoneError as error:
            print("".join(traceback.format_exception_only(error)), end="")
    return out.getvalue()


def test_every_example_shows_what_the_page_says(stored: Path) -> None:
    names: dict[str, object] = {}
    found = examples(PAGE.read_text("utf-8"))
    assert len(found) > 40
    for one in found:
        assert shown(one.source, names) == one.want, one.source
