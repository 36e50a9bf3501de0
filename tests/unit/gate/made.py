"""Runs for the gate, made up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from hardstone.gate import Check, Limit, check_limits, read_limits
from hardstone.model import Conditions, Result, RunDocument, Verdict
from hardstone.subjects import MeasuredRun, subjects_of
from tests.unit.stats import make

TESTS = ("TMR-P-LAT", "SEM-B-LCK", "MSG-P-THR", "THR-P-SLS")
ADDRESS = "TMR-P-LAT/total/wakeup"


def conditions(**changed: Any) -> Conditions:
    asked: dict[str, Any] = {
        "load": "heavy",
        "cpu_config": "shared",
        "policy": "fifo",
        "priority": 98,
        "realtime": True,
    }
    return Conditions(**(asked | changed))


def spread(count: int = 200_000, middle: float = 10_000, seed: int = 1) -> list[int]:
    """Latencies in ns, log-normal about `middle`; the largest is exactly five times as much."""
    return list(_drawn(count, middle, seed))


@cache
def _drawn(count: int, middle: float, seed: int) -> tuple[int, ...]:
    drawn = np.random.default_rng(seed).lognormal(np.log(middle), 0.2, count).astype(np.int64)
    values = np.minimum(drawn, int(middle * 4))
    values[0] = int(middle * 5)
    return tuple(values.tolist())


def run(values: Sequence[int] | None = None, **changed: Any) -> RunDocument:
    """A run of TMR-P-LAT; what `changed` names is of its result, or of the document."""
    own = {"test", "status", "reason", "complete", "interrupted", "verdicts", "series"}
    own |= {"params", "calibrated"}
    of_result = {name: changed.pop(name) for name in list(changed) if name in own}
    where = conditions(**changed.pop("conditions", {}))
    found = make.result(
        of_result.pop("test", "TMR-P-LAT"),
        spread() if values is None else values,
        conditions=where,
        **of_result,
    )
    return make.document(**{"results": [found], **changed})


def behaviour(*passed: bool, test: str = "SEM-B-LCK", **changed: Any) -> Result:
    verdicts = [
        Verdict(name=f"claim{number}", passed=one, evidence=f"seen {number}")
        for number, one in enumerate(passed)
    ]
    fields: dict[str, Any] = {"series": [], "verdicts": verdicts, "conditions": conditions()}
    return make.result(test, **(fields | changed))


def systems(document: RunDocument) -> list[MeasuredRun]:
    return subjects_of(document)


def limit_text(*entries: str) -> bytes:
    body = "".join(f"\n[[limit]]\n{one}\n" for one in entries)
    return f'schema = "hardstone.limits/1"\n{body}'.encode()


def limit(entry: str, address: str = ADDRESS) -> Limit:
    (found,) = read_limits(limit_text(f'address = "{address}"\n{entry}'), TESTS)
    return found


def checked(document: RunDocument, entry: str, address: str = ADDRESS) -> Check:
    (found,) = check_limits([limit(entry, address)], systems(document))
    return found
