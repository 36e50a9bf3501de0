"""What a gate found: hardstone.gate/1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from hardstone.errors import EXIT_GATE, EXIT_OK, EXIT_UNTRUSTWORTHY
from hardstone.model import Unit
from hardstone.stats.pair_gate import ALPHA, Outcome, PairGate

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
    """The document of `checks`, sorted by outcome."""
    ordered = sorted(checks, key=lambda one: WORST_FIRST.index(one.outcome))
    return GateDocument(
        schema=GATE_SCHEMA,
        kind=kind,
        outcome=worst_outcome(one.outcome for one in ordered),
        systems=list(systems),
        against=list(against),
        checks=ordered,
        pairs=list(pairs),
        statistics=list(statistics),
        judged_by=judged_by,
        notes=list(notes),
        baselines=list(baselines),
    )


def worst_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """FAIL before INCONCLUSIVE before PASS; nothing checked is INCONCLUSIVE."""
    found = set(outcomes) or {"INCONCLUSIVE"}
    return next(one for one in WORST_FIRST if one in found)
