"""What is fed to each door: real ones, damaged ones and made-up ones, by seed and number."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from bench.fuzz.mutate import NUMBERS, TEXTS, damaged_bytes, damaged_json, encoded
from bench.fuzz.samples import damaged_sample

GOLDEN = Path(__file__).parents[2] / "schema" / "golden"
RUN_ID = "20261121T032200Z-1a2b3c"
STREAM_TEST = "TMR-P-LAT"
KINDS = ("document", "stream", "journal", "import")


def generator_of(seed: int, kind: str, number: int) -> Random:
    """Everything about an input follows from these three."""
    return Random(f"{seed} {kind} {number}")  # noqa: S311


def input_of(seed: int, kind: str, number: int) -> bytes:
    """The bytes of one input."""
    return _MAKERS[kind](generator_of(seed, kind, number))


@cache
def _documents() -> list[bytes]:
    """Golden ones and shorter ones, which damage hits where it matters more often."""
    whole = [path.read_bytes() for path in sorted(GOLDEN.glob("run-*.json"))]
    return [*whole, *(encoded(_short(msgspec.json.decode(raw))) for raw in whole for _ in range(3))]


def _short(document: Any) -> Any:
    document["id"] = RUN_ID
    for result in document["results"]:
        for series in result["series"][:2]:
            series["histogram"]["buckets"] = series["histogram"]["buckets"][:12]
            held = sum(count for _, count in series["histogram"]["buckets"])
            series["count"] = held + series["histogram"].get("overflow", 0)
            series["worst"], series["maxima_per_s"] = series["worst"][:2], []
        del result["series"][2:]
    return document


@cache
def _streams() -> list[list[bytes]]:
    found = [path.read_bytes().splitlines() for path in sorted(GOLDEN.glob("stream-*.jsonl"))]
    of_test = [lines for lines in found if STREAM_TEST.encode() in lines[0]]
    return of_test


def _document(rng: Random) -> bytes:
    chance = rng.random()
    if chance < 0.004:
        return rng.choice(_large())()
    raw = rng.choice(_documents())
    if chance < 0.03:
        raw = _made_up(rng)
    elif chance < 0.85:
        raw = damaged_json(rng, raw)
    elif chance < 0.99:
        raw = damaged_bytes(rng, raw)
    if rng.random() < 0.2:
        raw = gzip.compress(raw, 1, mtime=0)
        return damaged_bytes(rng, raw) if rng.random() < 0.5 else raw
    return raw


@cache
def _large() -> list[Callable[[], bytes]]:
    """What is small on disk or quickly written, and large once it is read."""
    short = _short(msgspec.json.decode((GOLDEN / "run-1.json").read_bytes()))
    blanks = gzip.compress(b" " * 200_000_000, 9, mtime=0)
    members = gzip.compress(b"", 1, mtime=0) * 100_000
    return [
        lambda: blanks,
        lambda: members,
        lambda: b" " * 70_000_000,
        lambda: b'{"schema":' + b"[" * 1_000_000,
        lambda: gzip.compress(b'{"schema":"hardstone.run/1","x":[' + b"1," * 7_000_000, 1, mtime=0),
        lambda: gzip.compress(b'{"schema":"hardstone.run/1","x":[' + b"{}," * 600_000, 1, mtime=0),
        lambda: encoded({**short, "name": "x" * 10_000_000}),
        lambda: _with_series(short, 1_000),
        lambda: _with_series(short, 20_000),
    ]


def _with_series(short: Any, count: int) -> bytes:
    result = short["results"][0]
    series = [{**result["series"][0], "name": f"series_{number}"} for number in range(count)]
    return encoded({**short, "results": [{**result, "series": series}]})


def _made_up(rng: Random, depth: int = 0) -> bytes:
    return encoded(_any_value(rng, depth))


def _any_value(rng: Random, depth: int) -> Any:
    kind = rng.randrange(6 if depth < 5 else 4)
    if kind < 2:
        return rng.choice(NUMBERS)
    if kind < 4:
        return rng.choice((*TEXTS, None, True, "hardstone.run/1", "hardstone.run/1"))
    values = [_any_value(rng, depth + 1) for _ in range(rng.randrange(6))]
    if kind == 4:
        return values
    names = ("schema", "id", "results", "plan", "trust", "series", "type", "x", "system")
    return {rng.choice(names): value for value in values}


def _stream(rng: Random) -> bytes:
    lines = list(rng.choice(_streams()))
    chance = rng.random()
    if chance < 0.003:
        return _flood(rng, lines)
    if chance < 0.45:
        at = rng.randrange(len(lines))
        lines[at] = damaged_json(rng, lines[at])
    elif chance < 0.6:
        lines = rng.choices(lines, k=rng.randrange(20))
    elif chance < 0.7:
        lines.insert(rng.randrange(len(lines) + 1), _made_up(rng))
    raw = b"\n".join(lines)
    return damaged_bytes(rng, raw) if chance > 0.65 else raw


def _flood(rng: Random, lines: list[bytes]) -> bytes:
    """A probe that does not end: lines of one kind, empty ones, one long one."""
    header, series = lines[0], msgspec.json.decode(lines[3])
    if rng.random() < 0.5:
        short = {**series, "count": 0, "min": None, "mean": None, "stddev": None, "max": None}
        short |= {"histogram": {"layout": "log-linear/7", "buckets": []}, "worst": []}
        short["maxima_per_s"] = []
        many = [encoded({**short, "name": f"s{number}"}) for number in range(20_000)]
    else:
        event = b'{"type":"event","name":"e","text":"t"}'
        many = rng.choice(([b""] * 300_000, [event] * 20_000, [b"x" * 20_000_000]))
    return b"\n".join([header, *many])


@cache
def _journals() -> list[list[bytes]]:
    found = []
    for raw in _documents():
        document = msgspec.json.decode(raw)
        results, document["results"], document["id"] = document["results"], [], RUN_ID
        lines = [encoded({"kind": "run", "document": document})]
        for number, result in enumerate(results, 1):
            begin = {"kind": "begin", "test": result["test"], "number": number, "backing": "/none"}
            lines += [encoded(begin), encoded({"kind": "result", "result": result})]
        begin = {"kind": "begin", "test": STREAM_TEST, "number": 9, "backing": "/none/9.rec"}
        said = [{"kind": "line", "test": STREAM_TEST, "raw": one} for one in _streams()[0][:-2]]
        found.append([*lines, encoded(begin), *(msgspec.json.encode(one) for one in said)])
    return found


def _journal(rng: Random) -> bytes:
    lines = list(rng.choice(_journals()))
    chance = rng.random()
    if chance < 0.6:
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(lines))
            lines[at] = damaged_json(rng, lines[at]) if lines[at].startswith(b"{") else b""
    elif chance < 0.8:
        lines = [lines[0], *rng.choices(lines, k=rng.randrange(30))]
    raw = b"\n".join(lines) + b"\n"
    if chance > 0.995:
        return raw + rng.choice((b"\n" * 1_000_000, b"\0" * 5_000_000))
    return damaged_bytes(rng, raw) if chance > 0.7 else raw


_MAKERS: dict[str, Callable[[Random], bytes]] = {
    "document": _document,
    "stream": _stream,
    "journal": _journal,
    "import": damaged_sample,
}
