"""A scenario's stream under the load and CPU configuration of a planned test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from hardstone.model import PlannedTest
from hardstone.targets.scenario import Under, single

_MEASURED = ("instrument", "series", "verdict", "event", "load")
Line = dict[str, Any]


def under_conditions(
    lines: Iterable[bytes], planned: PlannedTest, found: Sequence[Under]
) -> Iterator[bytes]:
    """`lines` with what `found` has for these conditions; the footer counts it.

    Lines that are not of a stream pass as they are.
    """
    is_plain = (planned.load, planned.cpu_config) == ("none", "shared")
    if not found and is_plain and planned.preemption is None:
        yield from lines
        return
    stream = _Stream(planned, found)
    for line in lines:
        yield from stream.take(line)


class _Stream:
    def __init__(self, planned: PlannedTest, found: Sequence[Under]) -> None:
        self._planned = planned
        self._found = found
        self._ending = next((one for one in reversed(found) if one.status), None)
        self._change: Counter[str] = Counter()  # of lines, by type
        self._has_params = any(one.params for one in found)

    def take(self, raw: bytes) -> Iterator[bytes]:
        """The lines that replace the line `raw` under these conditions; none or several."""
        line = _decoded(raw)
        if line is None:
            yield raw
            return
        if self._ending is not None and line["type"] in _MEASURED:
            self._change[line["type"]] -= 1
            return
        if self._has_params:
            line = self._as_requested(line)
        if line["type"] == "result":
            for added in self._added():
                self._change[added["type"]] += 1
                yield msgspec.json.encode(added)
            line = self._result(line)
        elif line["type"] == "footer":
            line = self._footer(line)
        yield msgspec.json.encode(line)

    def _as_requested(self, line: Line) -> Line:
        if line["type"] == "header":
            return {**line, "params": self._planned.params}
        if line["type"] != "series":
            return line
        asked = {name: single(self._planned, name) for name in line.get("labels", {})}
        known = {name: value for name, value in asked.items() if value is not None}
        return {**line, "labels": {**line.get("labels", {}), **known}}

    def _added(self) -> Iterator[Line]:
        for under in self._found:
            for event in under.events:
                yield {"type": "event", **msgspec.to_builtins(event)}
            for reached in under.reached if self._ending is None else ():
                yield {"type": "load", **msgspec.to_builtins(reached)}

    def _result(self, line: Line) -> Line:
        planned = self._planned
        settings = [name for under in self._found for name in under.settings]
        conditions = {
            **line.get("conditions", {}),
            "load": planned.load,
            "cpu_config": planned.cpu_config,
            "settings": [*planned.settings, *settings],
            "preemption": planned.preemption,
        }
        if self._ending is None:
            return {**line, "conditions": conditions}
        end = self._ending
        said = {name: getattr(end, name) for name in ("status", "reason", "remedy", "command")}
        return {**line, **said, "conditions": conditions}

    def _footer(self, line: Line) -> Line:
        change = {"lines": self._change.total()}
        change |= {f"{name}s": self._change[name] for name in ("event", "verdict")}
        change["series"] = self._change["series"]
        counts = {name: line.get(name, 0) + more for name, more in change.items()}
        return {**line, **counts, "crc32": None}


def _decoded(raw: bytes) -> Line | None:
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return line if isinstance(line, dict) and isinstance(line.get("type"), str) else None
