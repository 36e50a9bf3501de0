"""The pairs that `hardstone gate --pairs --json` measured, read from what it printed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from hardstone.errors import InputError
from hardstone.gate.outcome_document import GATE_SCHEMA, GateDocument, JudgedBy, Pair
from hardstone.stats.pair_gate import PairGate
from hardstone.stats.sign_flip import MOST_PAIRS
from hardstone.units import MAX_DURATION_NS

MOST_MARGIN = 100
_RUN_NAME = re.compile("gate ([AB]) ([1-9][0-9]?) of ([1-9][0-9]?)", re.ASCII)
_REMEDY = "name a file that hardstone gate --pairs --json wrote"


@dataclass(frozen=True)
class MeasuredPairs:
    """The runs of each pair, what was run as A and as B, what they were asked, and what they said
    of it."""

    pairs: list[Pair]
    sides: tuple[str, str]
    judged_by: JudgedBy
    statistics: list[PairGate]


def read_measured_pairs(data: bytes, name: str) -> MeasuredPairs:
    """Those of the document `data`, which is called `name`. InputError for anything else."""
    try:
        document = msgspec.json.decode(data, type=GateDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name} is no outcome of a gate: {error}", _REMEDY) from None
    if document.schema != GATE_SCHEMA:
        said = document.schema[:60]
        raise InputError(f"{name} has the schema '{said}', and not {GATE_SCHEMA}", _REMEDY)
    if document.kind != "pairs" or not document.pairs:
        raise InputError(f"{name} has no interleaved pairs", _REMEDY)
    if document.judged_by is None or len(document.systems) != 1 or len(document.against) != 1:
        raise InputError(f"{name} does not say what its pairs were asked", "measure them again")
    if len(document.pairs) > MOST_PAIRS:
        raise InputError(f"{name} has {len(document.pairs)} pairs, of at most {MOST_PAIRS}")
    _check(document.judged_by, name)
    sides = document.against[0], document.systems[0]
    return MeasuredPairs(document.pairs, sides, document.judged_by, document.statistics)


def run_name(side: str, number: int, pairs_count: int) -> str:
    """What the run of "A" or "B" in pair `number`, from 1, is stored as."""
    return f"gate {side} {number} of {pairs_count}"


def pairs_asked(name: str, side: str, number: int) -> int | None:
    """How many pairs were asked for when the run `name` was measured; None where it is not that of
    `side` in pair `number`."""
    found = _RUN_NAME.fullmatch(name)
    is_it = found is not None and (found[1], int(found[2])) == (side, number)
    return int(found[3]) if found is not None and is_it else None


def _check(asked: JudgedBy, name: str) -> None:
    """InputError for what --pairs cannot have been asked."""
    is_right = (
        0 < asked.alpha < 0.5
        and (asked.margin is None or 0 < asked.margin <= MOST_MARGIN)
        and (asked.deadline_ns is None or 0 < asked.deadline_ns <= MAX_DURATION_NS)
    )
    if not is_right:
        raise InputError(f"{name}: its level, margin or deadline is impossible", _REMEDY)
