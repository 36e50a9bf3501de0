"""The outcome of a gate as a document (`hardstone.gate/1`), as JUnit XML and as a summary for
GitHub.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal
from xml.etree import ElementTree as Tree

import msgspec

from hardstone.errors import EXIT_GATE, EXIT_OK, EXIT_UNTRUSTWORTHY
from hardstone.model import Unit
from hardstone.stats.run_gate import ALPHA, Outcome, PairGate

GATE_SCHEMA = "hardstone.gate/1"
WORST_FIRST: tuple[Outcome, ...] = ("FAIL", "INCONCLUSIVE", "PASS")
_CODES = {"FAIL": EXIT_GATE, "INCONCLUSIVE": EXIT_UNTRUSTWORTHY, "PASS": EXIT_OK}


class Check(msgspec.Struct, kw_only=True, frozen=True):
    """One figure of one system, held against one limit.

    `wanted` and `found` are words; `value`, `low` and `high` are numbers in `unit` (of a share:
    the share), null where unknown or unbounded. `reason`: why it is not PASS, or what a PASS does
    not say. `limit`: its number in the file, null for one that comes from a run. `source` names
    where the figure is from. Against baselines `value` is the ratio to them, where more is worse;
    it fails from `fails_from` on, and `found_from` or more would have been found.
    """

    outcome: Outcome
    system: str
    condition: str
    address: str
    statistic: str
    wanted: str
    found: str
    reason: str = ""
    unit: Unit | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: int | None = None
    source: str = ""
    fails_from: float | None = None
    found_from: float | None = None


class Pair(msgspec.Struct, kw_only=True, frozen=True):
    """The ids of both runs of a pair, null where one is missing. `left_out`: why it does not
    count; empty: it does."""

    first: str | None
    second: str | None
    left_out: str = ""


class JudgedBy(msgspec.Struct, kw_only=True, frozen=True):
    """What interleaved pairs were asked: the series at `address`, as it was typed; values above
    `deadline_ns` too; p99 and p99.9 too (`has_tails`); at the level `alpha` for all of them. Null
    for `margin`: that of each statistic. `is_cut`: fewer pairs were run than asked for.
    `is_chosen_later`: not what the pairs were measured for.
    """

    address: str
    deadline_ns: int | None = None
    has_tails: bool = True
    margin: float | None = None
    alpha: float = ALPHA
    is_cut: bool = False
    is_chosen_later: bool = False


class GateDocument(msgspec.Struct, kw_only=True):
    """`hardstone.gate/1`: all checks, the worst outcomes first.

    `outcome` is FAIL if any check fails, else INCONCLUSIVE if any is, or if there is none.
    `against`: the limits file, the baseline, or the second command. `baselines`: the ids of all
    runs that counted as baselines. `pairs`, `statistics` and `judged_by` are those of interleaved
    pairs.
    """

    schema: str
    kind: Literal["limits", "baseline", "pairs"]
    outcome: Outcome
    systems: list[str]
    against: list[str]
    checks: list[Check]
    pairs: list[Pair] = []
    statistics: list[PairGate] = []
    judged_by: JudgedBy | None = None
    notes: list[str] = []
    baselines: list[str] = []

    @property
    def exit_code(self) -> int:
        return _CODES[self.outcome]

    @property
    def counts_text(self) -> str:
        """How many checks have each outcome, the worst first: "1 FAIL, 3 PASS"."""
        counts = Counter(check.outcome for check in self.checks)
        found = [f"{counts[one]} {one}" for one in WORST_FIRST if counts[one]]
        return ", ".join(found) or "nothing was checked"


def gate_document(
    kind: Literal["limits", "baseline", "pairs"],
    systems: Sequence[str],
    against: Sequence[str],
    checks: Iterable[Check],
    *,
    notes: Sequence[str] = (),
    pairs: Sequence[Pair] = (),
    statistics: Sequence[PairGate] = (),
    judged_by: JudgedBy | None = None,
    baselines: Sequence[str] = (),
) -> GateDocument:
    """The document of `checks`, the worst first; without any the outcome is INCONCLUSIVE."""
    ordered = sorted(checks, key=lambda one: WORST_FIRST.index(one.outcome))
    return GateDocument(
        schema=GATE_SCHEMA,
        kind=kind,
        outcome=ordered[0].outcome if ordered else "INCONCLUSIVE",
        systems=list(systems),
        against=list(against),
        checks=ordered,
        pairs=list(pairs),
        statistics=list(statistics),
        judged_by=judged_by,
        notes=list(notes),
        baselines=list(baselines),
    )


# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2000


def junit_xml(document: GateDocument, started_utc: str, host: str) -> bytes:
    """One suite, one case for each check: FAIL is a failure, INCONCLUSIVE an error: neither passes.

    `started_utc` as documents have it, "2026-11-21T03:22:00Z".
    """
    count = len(document.checks)
    failures = sum(one.outcome == "FAIL" for one in document.checks)
    errors = sum(one.outcome == "INCONCLUSIVE" for one in document.checks)
    if not count:  # what checked nothing does not pass
        count = errors = 1
    totals = {"tests": str(count), "failures": str(failures), "errors": str(errors)}
    suite = Tree.Element(
        "testsuite",
        {
            "name": f"hardstone gate {document.kind}",
            **totals,
            "skipped": "0",
            "time": "0",
            "timestamp": _plain(started_utc).removesuffix("Z"),
            "hostname": _plain(host) or "unknown",
        },
    )
    properties = Tree.SubElement(suite, "properties")
    for name, values in (("system", document.systems), ("against", document.against)):
        for value in values:
            Tree.SubElement(properties, "property", {"name": name, "value": _plain(value)})
    for check in document.checks:
        _add_case(suite, check)
    if not document.checks:
        case = Tree.SubElement(suite, "testcase", _names("hardstone", "nothing was checked"))
        Tree.SubElement(case, "error", {"type": "INCONCLUSIVE", "message": "nothing was checked"})
    Tree.SubElement(suite, "system-out").text = _plain("\n".join(document.notes))
    Tree.SubElement(suite, "system-err")
    root = Tree.Element("testsuites", {"name": "hardstone gate", **totals, "time": "0"})
    root.append(suite)
    Tree.indent(root)
    text: bytes = Tree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_case(suite: Tree.Element, check: Check) -> None:
    name = f"{check.address} {check.statistic} {check.wanted} [{check.condition}] {check.system}"
    case = Tree.SubElement(suite, "testcase", _names(check.address.partition("/")[0], name))
    said = f"{check.found}; {check.wanted}: {check.reason}"
    if check.outcome == "PASS":
        Tree.SubElement(case, "system-out").text = _plain(said)
        return
    kind = "failure" if check.outcome == "FAIL" else "error"
    what = {"type": check.outcome, "message": _plain(said)}
    Tree.SubElement(case, kind, what).text = _plain(f"{said}\n{check.source}")


def _names(test: str, name: str) -> dict[str, str]:
    return {"classname": f"hardstone.{_plain(test)}", "name": _plain(name), "time": "0"}


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)[:_LONGEST]


_MOST_ROWS = 500  # GitHub takes 1 MiB for a step
_LONGEST_ROW = 300
_SIGNS = {"PASS": "\N{WHITE HEAVY CHECK MARK}", "FAIL": "\N{CROSS MARK}"}
_OPEN = "\N{WHITE QUESTION MARK ORNAMENT}"
# All that Markdown or HTML may read as more than itself.
_SPECIAL = re.compile(r"[^A-Za-z0-9 .,;:/=%+()'-]")


def github_summary(document: GateDocument) -> str:
    """A heading with the outcome, a row for each check, the worst first, then the notes."""
    systems = ", ".join(map(_text, document.systems))
    against = ", ".join(map(_text, document.against))
    lines = [
        f"## hardstone gate: {_SIGNS.get(document.outcome, _OPEN)} {document.outcome}",
        "",
        f"{systems} against {against}: {document.counts_text}.",
        "",
        "| outcome | figure | found | limit | why |",
        "| --- | --- | --- | --- | --- |",
        *(_row(one) for one in document.checks[:_MOST_ROWS]),
    ]
    more = len(document.checks) - _MOST_ROWS
    if more > 0:
        lines += ["", f"{more} more checks, none worse than those above."]
    return "\n".join([*lines, "", *(f"- {_text(note)}" for note in document.notes), ""])


def _row(check: Check) -> str:
    figure = f"{_text(check.address)} {_text(check.statistic)}<br>{_text(check.condition)}"
    sign = f"{_SIGNS.get(check.outcome, _OPEN)} {check.outcome}"
    cells = (sign, figure, *map(_text, (check.found, check.wanted, check.reason)))
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Untrusted text as it is: on one line, nothing in it marks up, links or mentions."""
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    line = line if len(line) <= _LONGEST_ROW else f"{line[: _LONGEST_ROW - 3]}..."
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", line).replace("://", ":&#47;&#47;")
