"""The outcome of a gate as a document (`hardstone.gate/1`), as JUnit XML and as a summary for
GitHub.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from hardstone import ci_formats
from hardstone.ci_formats import (
    Case,
    LavaCase,
    Suite,
    lava_signals,
    markdown_table,
    markdown_text,
)
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


_JUNIT: dict[Outcome, Literal["passed", "failure", "error"]] = {
    "PASS": "passed",
    "FAIL": "failure",
    "INCONCLUSIVE": "error",
}


def junit_xml(document: GateDocument, started_utc: str, host: str) -> bytes:
    """One suite, one case for each check: FAIL is a failure, INCONCLUSIVE an error: neither passes.

    `started_utc` as documents have it, "2026-11-21T03:22:00Z".
    """
    runs = _runs(document)
    nothing = "nothing was checked"  # what checked nothing does not pass
    empty = Case("hardstone.hardstone", nothing, "error", "INCONCLUSIVE", nothing)
    properties = [("system", one) for one in document.systems]
    properties += [("against", one) for one in document.against]
    suite = Suite(
        f"hardstone gate {document.kind}",
        started_utc,
        host,
        [_case(check, runs) for check in document.checks] or [empty],
        properties,
        "\n".join(document.notes),
    )
    return ci_formats.junit_xml("hardstone gate", [suite])


def _runs(document: GateDocument) -> dict[str, str]:
    """What tells the systems of several apart, by `Check.system`: "run 2". A name that has the ID
    of a run would be a new one in each job, and no CI system could follow it."""
    if len(document.systems) < 2:
        return {}
    return {one.partition(" ")[0]: f"run {n}" for n, one in enumerate(document.systems, 1)}


def _case(check: Check, runs: Mapping[str, str]) -> Case:
    name = f"{check.address} {check.statistic} {check.wanted} [{check.condition}]"
    name += f" {runs[check.system]}" if check.system in runs else ""
    said = f"{check.found}; {check.wanted}: {check.reason}"
    text = f"{said}\n{check.source or check.system}"
    test = check.address.partition("/")[0]
    return Case(f"hardstone.{test}", name, _JUNIT[check.outcome], check.outcome, said, text)


_LAVA: dict[Outcome, Literal["pass", "fail", "unknown"]] = {
    "PASS": "pass",
    "FAIL": "fail",
    "INCONCLUSIVE": "unknown",
}


def lava_lines(document: GateDocument) -> list[str]:
    """A line for each check, and one for the gate, which passes only if all checks do."""
    runs = _runs(document)
    cases = []
    for one in document.checks:
        condition = "" if one.condition == "-" else one.condition
        words = [one.address, one.statistic, condition, runs.get(one.system, "")]
        name = ".".join(filter(None, words))
        cases.append(LavaCase(name, _LAVA[one.outcome], one.value, one.unit or "ratio"))
    cases.append(LavaCase(f"gate-{document.kind}", _LAVA[document.outcome]))
    return lava_signals(cases)


_MOST_ROWS = 500  # GitHub takes 1 MiB for a step
_SIGNS = {"PASS": "\N{WHITE HEAVY CHECK MARK}", "FAIL": "\N{CROSS MARK}"}
_OPEN = "\N{WHITE QUESTION MARK ORNAMENT}"
_COLUMNS = ("outcome", "figure", "found", "limit", "why")


def github_summary(document: GateDocument) -> str:
    """A heading with the outcome, a row for each check, the worst first, then the notes."""
    systems = ", ".join(map(markdown_text, document.systems))
    against = ", ".join(map(markdown_text, document.against))
    runs = _runs(document)
    lines = [
        f"## hardstone gate: {_SIGNS.get(document.outcome, _OPEN)} {document.outcome}",
        "",
        f"{systems} against {against}: {document.counts_text}.",
        "",
        *markdown_table(_COLUMNS, [_row(one, runs) for one in document.checks[:_MOST_ROWS]]),
    ]
    more = len(document.checks) - _MOST_ROWS
    if more > 0:
        lines += ["", f"{more} more checks, none worse than those above."]
    return "\n".join([*lines, "", *(f"- {markdown_text(note)}" for note in document.notes), ""])


def _row(check: Check, runs: Mapping[str, str]) -> tuple[str, ...]:
    figure = markdown_text(f"{check.address} {check.statistic}")
    sign = f"{_SIGNS.get(check.outcome, _OPEN)} {check.outcome}"
    condition = ", ".join(filter(None, (check.condition, runs.get(check.system))))
    where = f"{figure}<br>{markdown_text(condition)}"
    return sign, where, *map(markdown_text, (check.found, check.wanted, check.reason))
