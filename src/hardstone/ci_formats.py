"""What CI systems read: JUnit XML, Markdown of GitHub and GitLab, signals of LAVA.

Names and texts are of others: nothing in them marks up, links, mentions or ends a signal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as Tree

# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2000


@dataclass(frozen=True)
class Case:
    """One test case. `outcome` is that of JUnit: an error is a case that could not be decided.
    `message` is one line, `text` the whole; of a case that passed only `text` is written."""

    classname: str
    name: str
    outcome: Literal["passed", "failure", "error", "skipped"]
    kind: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Suite:
    """Cases that were run together. `started_utc` is as documents have it, "2026-11-21T03:22:00Z";
    `properties` may repeat a name."""

    name: str
    started_utc: str
    host: str
    cases: Sequence[Case]
    properties: Sequence[tuple[str, str]] = ()
    output: str = ""


def junit_xml(name: str, suites: Sequence[Suite]) -> bytes:
    """The suites as JUnit XML, in UTF-8."""
    root = Tree.Element("testsuites", {"name": _plain(name)})
    totals: Counter[str] = Counter()
    seconds = 0.0
    for one in suites:
        counts = Counter(str(case.outcome) for case in one.cases)
        totals += counts
        took = sum(case.seconds for case in one.cases)
        seconds += took
        root.append(_suite(one, counts, took))
    for key, value in _totals(totals, seconds).items():
        root.set(key, value)
    Tree.indent(root)
    text: bytes = Tree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(one: Suite, counts: Counter[str], seconds: float) -> Tree.Element:
    suite = Tree.Element(
        "testsuite",
        {
            "name": _plain(one.name),
            **_totals(counts, seconds),
            "skipped": str(counts["skipped"]),
            "timestamp": _plain(one.started_utc).removesuffix("Z"),
            "hostname": _plain(one.host) or "unknown",
        },
    )
    properties = Tree.SubElement(suite, "properties")
    for name, value in one.properties:
        Tree.SubElement(properties, "property", {"name": _plain(name), "value": _plain(value)})
    for case in one.cases:
        _add(suite, case)
    Tree.SubElement(suite, "system-out").text = _plain(one.output)
    Tree.SubElement(suite, "system-err")
    return suite


def _totals(counts: Mapping[str, int], seconds: float) -> dict[str, str]:
    return {
        "tests": str(sum(counts.values())),
        "failures": str(counts.get("failure", 0)),
        "errors": str(counts.get("error", 0)),
        "time": f"{seconds:.10g}",
    }


def _add(suite: Tree.Element, one: Case) -> None:
    names = {"classname": _plain(one.classname), "name": _plain(one.name)}
    case = Tree.SubElement(suite, "testcase", {**names, "time": f"{one.seconds:.10g}"})
    if one.outcome == "passed":
        if one.text:
            Tree.SubElement(case, "system-out").text = _plain(one.text)
        return
    what = {"message": _plain(one.message)}
    if one.outcome != "skipped":
        what = {"type": _plain(one.kind), **what}
    Tree.SubElement(case, one.outcome, what).text = _plain(one.text)


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)[:_LONGEST]


_LONGEST_CELL = 300
# All that Markdown or HTML may read as more than itself.
_SPECIAL = re.compile(r"[^A-Za-z0-9 .,;:/=%+()'-]")


def markdown_text(text: str) -> str:
    """Foreign text for Markdown, on one line of at most 300 characters before escapes."""
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    line = line if len(line) <= _LONGEST_CELL else f"{line[: _LONGEST_CELL - 3]}..."
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line).replace("://", ":&#47;&#47;")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table. Cells are Markdown: foreign text goes through `markdown_text`."""
    lines = [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]


_NOT_OF_ID = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_ID = 200


@dataclass(frozen=True)
class LavaCase:
    """One test case of LAVA; `measurement` in `units`, None: it has none."""

    name: str
    result: Literal["pass", "fail", "skip", "unknown"]
    measurement: float | None = None
    units: str = ""


def lava_signals(cases: Iterable[LavaCase]) -> list[str]:
    """The lines by which LAVA's dispatcher counts test cases, as `lava-test-case` prints them.

    Its reader splits at spaces and at "=", and ends at ">": names have other characters only. Of
    equal names the second gets ".2".
    """
    seen: Counter[str] = Counter()
    lines = []
    for one in cases:
        name = _NOT_OF_ID.sub("-", one.name).strip("-")[:_LONGEST_ID] or "hardstone"
        seen[name] += 1
        name += f".{seen[name]}" if seen[name] > 1 else ""
        found = ""
        if one.measurement is not None:
            found = f" UNITS={one.units} MEASUREMENT={one.measurement:.10g}"
        lines.append(f"<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={name} RESULT={one.result}{found}>")
    return lines
