"""Run documents as no recorder writes them: some cannot be read, some can and must not steer."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.unit.stats.make import document, result, series

GOOD, BAD = "20261120T000000Z-00000a", "20261121T000000Z-00000b"
MARKUP = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1">'
STEERING = "\x1b[31m\x1b]0;t\x07\x9b2J\x00\u202egnp\u2066\u200f\r\nINJECTED\u2028x"
LARGE = {"10 000 results"}  # take a second to read
_GIGABYTES = 3 * 2**30
_LONG_VALUES = tuple(range(1_000, 3_000))


def whole(run_id: str = BAD, **changed: object) -> dict[str, Any]:
    """A sound document as Python's own types."""
    results = [
        result("TMR-P-LAT", _LONG_VALUES),
        result("THR-P-SLS", series=[series(_LONG_VALUES, "switch")]),
    ]
    made = document(run_id=run_id, name="bad run", **{"results": results, **changed})
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return found


def encoded(found: object) -> bytes:
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")


def packed(found: object) -> bytes:
    return gzip.compress(encoded(found), 1, mtime=0)


def changed(change: Callable[[dict[str, Any]], object], run_id: str = BAD) -> bytes:
    """A document with something changed in its first series."""
    found = whole(run_id)
    change(found["results"][0]["series"][0])
    return packed(found)


def put(path: Path, content: bytes | None) -> Path:
    """A file with `content`, or one of gigabytes that takes no space."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        path.write_bytes(content)
        return path
    with path.open("wb") as file:
        file.write(b'{"schema":"hardstone.run/1"')
        os.truncate(file.fileno(), _GIGABYTES)
    return path


def _buckets(series: dict[str, Any]) -> Any:
    return series["histogram"]["buckets"]


def _steer(series: dict[str, Any]) -> None:
    """The name is in the message of what is wrong."""
    series["name"] = STEERING
    _buckets(series).reverse()


# What cannot be read: one line, exit code 2. tests/process/store/test_documents.py has more.
UNREADABLE: Mapping[str, Callable[[], bytes | None]] = {
    "cut": lambda: packed(whole())[:-200],
    "gigabytes": lambda: None,
    "a steering name": lambda: changed(_steer),
    "of another id": lambda: packed(whole(run_id=GOOD)),
    "an id as a path": lambda: packed({**whole(), "id": "../../../etc/passwd"}),
}

# What can be read, and contradicts itself: shown with a mark, exit code 3.
CONTRADICTORY: Mapping[str, Callable[..., bytes]] = {
    name: lambda run_id=BAD, wrong=wrong: changed(lambda one: one.update(wrong), run_id)
    for name, wrong in {
        "counts that do not add up": {"count": 7},
        "a negative count": {"count": -3},
        "a maximum below the minimum": {"max": 1},
        "a mean beyond the maximum": {"mean": 1e18},
        "values below what is possible": {"possible_min": 10**12},
        "values longer than the measurement": {"possible_max": 1},
    }.items()
}


def _named(text: str, run_id: str = BAD) -> bytes:
    """`text` in every name, label, reason and fact."""
    found = whole(run_id)
    for one in found["results"]:
        one["reason"] = one["conditions"]["load"] = text
        one["verdicts"] = [{"name": text, "pass": False, "evidence": text}]
        one["events"] = [{"name": text, "text": text, "at_ns": 1, "data": {text: text}}]
        one["params"] = {text: text}
        for entry in one["series"]:
            entry["labels"] = {text: text}
            entry["derived"] = text
        one["series"].append({**one["series"][0], "name": text})
    claim = {"name": f"mixed/{text}", "pass": False, "evidence": text}
    found["results"].append({**found["results"][0], "test": "SEM-B-REL", "verdicts": [claim]})
    found["results"].append({**found["results"][0], "test": text})
    found["system"] = dict.fromkeys((*found["system"], "machine.cpu_model", text), text)
    found["plan"]["load"] = found["plan"]["name"] = found["plan"]["profile"] = text
    found["trust"] = {"grade": "indicative", "reasons": [text]}
    found["tool"]["version"] = text
    return packed({**found, "name": text})


def _many(count: int) -> bytes:
    """One small result, again and again."""
    one = msgspec.to_builtins(result("TMR-P-LAT", (1, 2, 3)))
    return packed(whole() | {"results": [one] * count})


# What can be read and is odd: no figure is lost, nothing steers.
ODD: Mapping[str, Callable[..., bytes]] = {
    "markup": lambda run_id=BAD: _named(MARKUP, run_id),
    "control characters and direction marks": lambda run_id=BAD: _named(STEERING, run_id),
    "long names": lambda: _named("x" * 4_000),
    "10 000 results": lambda: _many(10_000),
    "a result twice": lambda: _many(2),
    "no results": lambda: packed(whole() | {"results": []}),
    "no facts": lambda: packed(whole() | {"system": {}}),
}
