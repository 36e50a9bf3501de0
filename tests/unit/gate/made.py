"""Runs for the gate, made up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
import numpy as np

from hardstone.gate.against_limits import check_limits
from hardstone.gate.limits import Limit, read_limits
from hardstone.gate.outcome import Check
from hardstone.model import Conditions, Result, RunDocument, Series, Trust, Verdict
from hardstone.systems.subjects import subjects_of
from tests.unit.stats import make

TESTS = ("TMR-P-LAT", "SEM-B-LCK", "MSG-P-THR", "THR-P-SLS")
ADDRESS = "TMR-P-LAT/total/wakeup"
UNTRUSTED = Trust(grade="untrustworthy", reasons=["X"])


def conditions(**changed: Any) -> Conditions:
    asked = {"load": "heavy", "cpu_config": "shared", "policy": "fifo", "priority": 98}
    return Conditions(**{**asked, "realtime": True, **changed})


@cache
def spread(count: int = 200_000, middle: float = 10_000, seed: int = 1) -> tuple[int, ...]:
    """Latencies in ns, log-normal about `middle`; the largest is exactly five times as much."""
    drawn = np.random.default_rng(seed).lognormal(np.log(middle), 0.2, count).astype(np.int64)
    values = np.minimum(drawn, int(middle * 4))
    values[0] = int(middle * 5)
    return tuple(values.tolist())


def changed_series(values: Sequence[int], **changed: Any) -> Series:
    return msgspec.structs.replace(make.series(values), **changed)


def run(values: Sequence[int] | None = None, **changed: Any) -> RunDocument:
    """A run of TMR-P-LAT; what `changed` names is of its result, or of the document."""
    own = {"test", "status", "reason", "complete", "interrupted", "verdicts", "series"}
    own |= {"params", "calibrated", "events", "instrument"}
    of_result = {name: changed.pop(name) for name in list(changed) if name in own}
    found = make.result(
        of_result.pop("test", "TMR-P-LAT"),
        spread() if values is None else values,
        conditions=conditions(**changed.pop("conditions", {})),
        **of_result,
    )
    return make.document(**{"results": [found], **changed})


def rate(values: Sequence[int]) -> RunDocument:
    return run(test="MSG-P-THR", series=[changed_series(values, unit="bytes_per_s")])


def behaviour(*passed: bool, test: str = "SEM-B-LCK", **changed: Any) -> Result:
    verdicts = [
        Verdict(name=f"claim{number}", passed=one, evidence=f"seen {number}")
        for number, one in enumerate(passed)
    ]
    fields: dict[str, Any] = {"series": [], "verdicts": verdicts, "conditions": conditions()}
    return make.result(test, **(fields | changed))


def claims(*passed: bool, **changed: Any) -> RunDocument:
    return make.document(results=[behaviour(*passed, **changed)])


def limit_text(*entries: str) -> bytes:
    body = "".join(f"\n[[limit]]\n{one}\n" for one in entries)
    return f'schema = "hardstone.limits/1"\n{body}'.encode()


def limit(entry: str, address: str = ADDRESS) -> Limit:
    (found,) = read_limits(limit_text(f'address = "{address}"\n{entry}'), TESTS)
    return found


def checked(document: RunDocument, entry: str, address: str = ADDRESS) -> Check:
    (found,) = check_limits([limit(entry, address)], subjects_of(document))
    return found
