"""Damaged files of other tools: those of tests/samples, and what could pass for one."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from bench.fuzz.mutate import TEXTS, damaged_bytes, damaged_json

SAMPLES = Path(__file__).parents[2] / "tests" / "samples"
_MOST_BYTES = 16_384  # damage hits where it matters more often in a short one
_FLOOD_BYTES = 4_000_000
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_NUMBERS = [
    *(b"0", b"-1", b"1", b"2", b"999", b"1000000", b"4294967296", b"9223372036854775807"),
    *(b"9223372036854775808", b"18446744073709551615", b"-9223372036854775809", b"1e308"),
    *(b"1e-5", b"-0.000", b"0.5", b"nan", b"inf", b"0x10", b"1_000", b"9" * 40, b"1" * 5000),
    *("\u0663".encode(), "\u00b2".encode(), b"+5", b"007", b"", b"1.", b".5"),
]
_INSERTED = [
    *(b"\0", b"\r", b"\n", b"\x1b[2J", b"\x1b[A", b"\xff\xfe", b"\xef\xbb\xbf", b"^C", b"\x80"),
    *(b"|", b":", b"#", b",", b"<", b"&", b"{", b"[" * 3000, b"<a>" * 3000, b" " * 5000),
]
_Step = Callable[[Random, bytes], bytes]


@cache
def samples() -> tuple[bytes, ...]:
    """Every sample, whole where it is short."""
    files = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
    return tuple(_shortened(path.read_bytes()) for path in files if path.name != "README.md")


def _shortened(raw: bytes) -> bytes:
    if len(raw) <= _MOST_BYTES:
        return raw
    if raw.lstrip()[:1] in (b"{", b"<"):
        return raw
    if b"\0" in raw[:4096]:  # records of 28 bytes
        return raw[: 28 * 200]
    half = _MOST_BYTES // 2
    begin, end = raw[:half], raw[-half:]
    return begin[: begin.rfind(b"\n") + 1] + end[end.find(b"\n") + 1 :]


def damaged_sample(rng: Random) -> bytes:
    """One sample with some damage; a few are whole, floods, packed, or of nothing at all."""
    raw = rng.choice(samples())
    chance = rng.random()
    if chance < 0.02:
        return rng.randbytes(rng.choice((0, 1, 40, 4000)))
    if chance < 0.023:
        return _flood(rng, raw)
    if chance < 0.04:
        return raw
    if chance < 0.4 and raw.lstrip().startswith(b"{"):
        raw = _of_json(rng, raw)
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
            raw = rng.choice(_STEPS)(rng, raw)
    return gzip.compress(raw, 1, mtime=0) if rng.random() < 0.02 else raw


def _of_json(rng: Random, raw: bytes) -> bytes:
    try:
        return damaged_json(rng, raw)
    except msgspec.DecodeError:  # it holds more than JSON
        return damaged_bytes(rng, raw)


def _flood(rng: Random, raw: bytes) -> bytes:
    """Many times the same: a line, or all of it."""
    lines = raw.splitlines(keepends=True) or [b"\n"]
    at = rng.randrange(len(lines))
    repeated = rng.choice((lines[at], raw or b"\n", rng.choice(_INSERTED)))
    middle = repeated * min(_FLOOD_BYTES // len(repeated), 200_000)
    return b"".join(lines[: at + 1]) + middle + b"".join(lines[at + 1 :])


def _cut(rng: Random, raw: bytes) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] if rng.random() < 0.7 else raw[at:]


def _of_lines(rng: Random, raw: bytes) -> bytes:
    """A line left out, doubled, moved, swapped with another, or taken from another sample."""
    lines = raw.splitlines(keepends=True)
    if len(lines) < 2:
        return raw
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[one]
        case 1:
            lines.insert(two, lines[one])
        case 2:
            lines[one], lines[two] = lines[two], lines[one]
        case 3:
            lines[one : one + rng.randrange(30)] = []
        case _:
            other = rng.choice(samples()).splitlines(keepends=True) or [b"\n"]
            lines.insert(one, rng.choice(other))
    return b"".join(lines)


def _number(rng: Random, raw: bytes) -> bytes:
    """Another number in place of one, mostly of the same kind."""
    found = list(_NUMBER.finditer(raw))
    if not found:
        return raw
    one, other = rng.choice(found), rng.choice(found)
    match rng.randrange(4):
        case 0:
            number = rng.choice(_NUMBERS)
        case 1:
            number = other.group()
        case 2:
            at = rng.randrange(len(one.group()))
            digit = rng.choice(b"0123456789-.")
            number = one.group()[:at] + bytes([digit]) + one.group()[at + 1 :]
        case _:
            number = one.group() + rng.choice((b"0", b"000", b"9", b".5"))
    return raw[: one.start()] + number + raw[one.end() :]


def _insert(rng: Random, raw: bytes) -> bytes:
    at = rng.randrange(len(raw) + 1)
    text = rng.choice(TEXTS).encode("utf-8", "replace")
    return raw[:at] + (rng.choice(_INSERTED) if rng.random() < 0.7 else text) + raw[at:]


_STEPS: list[_Step] = [_cut, _of_lines, _of_lines, _number, _number, _number, _insert]
_STEPS.append(damaged_bytes)
