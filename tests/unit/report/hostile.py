"""A run in which every text tries to become code."""

from __future__ import annotations

from typing import Any

import msgspec

from hardstone.model import Descriptor, RunDocument
from tests.unit.report.sample import SPECS, document

ATTACKS = (
    "</script><script>window.hit=1;alert(1)</script>",
    '<img src=x onerror="window.hit=1;alert(1)">',
    '"onload="window.hit=1" onmouseover=\'alert(1)\' x="',
    "<!--<script>\u2028alert(1)//</style><style>*{display:none}</style>",
    "{{7*7}}{% raw %}javascript:alert(1)",
    "'}]};alert(1);//\\u003c/script>\u202egnp.exe\x00\x1b[31m",
)
KEPT = {
    *("schema", "id", "status", "grade", "layout", "unit", "policy", "finished_utc"),
    *("started_utc", "profile"),
}


def _poison(value: Any, key: str, at: list[int]) -> Any:
    if isinstance(value, str) and key not in KEPT:
        at[0] += 1
        return f"{value[:12]}{ATTACKS[at[0] % len(ATTACKS)]}"
    if isinstance(value, list):
        return [_poison(one, key, at) for one in value]
    if isinstance(value, dict):
        names_are_data = key in ("system", "labels", "params", "environment")
        return {
            (_poison(name, "", at) if names_are_data else name): _poison(one, name, at)
            for name, one in value.items()
        }
    return value


def hostile_document() -> RunDocument:
    """The sample run with an attack in each of its names, reasons, labels and facts."""
    plain = msgspec.to_builtins(document(count=2_000, realtime=False))
    poisoned = _poison({**plain, "rating": {"stars": "3"}}, "", [0])
    return msgspec.convert(poisoned, RunDocument)


def hostile_lookup(_test: str) -> Descriptor | None:
    """A descriptor whose every text is an attack, for any test."""
    plain = msgspec.to_builtins(SPECS["TMR-P-LAT"])
    for number, one in enumerate(plain["series"]):
        one["name"] = ("wakeup", "jitter")[number]
    texts = msgspec.to_builtins(_poison(plain, "", [0]))
    return msgspec.convert({**texts, "series": texts["series"]}, Descriptor)
