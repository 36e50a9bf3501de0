"""Damage: of bytes, and of JSON by what its parts mean. The same generator gives the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

NUMBERS: list[Any] = [
    *(
        0,
        -1,
        1,
        2,
        -5,
        255,
        2**31,
        2**53 + 1,
        2**62,
        2**63 - 1,
        2**63,
        -(2**63),
        -(2**63) - 1,
        2**64,
    ),
    *(10**30, -(10**30), 0.5, -0.0, 1e308, -1e308, 5e-324, 3.15576e18),
]
TEXTS = [
    *(
        "",
        " ",
        "\x00",
        "\x1b[31m\x1b]0;t\x07",
        "\u202egnp",
        "a\nb\r\nc",
        "\u2028",
        "\ufeff",
        "\x9b2J",
    ),
    *(
        "<script>alert(1)</script>",
        "{{ 1 }}",
        "[bold]x[/bold]",
        "../../etc/passwd",
        "%s%n",
        "'\"`$(x)",
    ),
    *(
        "9" * 5000,
        "x" * 70_000,
        "\U0001f600" * 300,
        "1677-01-01T00:00:00Z",
        "log-linear/99",
        "none",
    ),
]
_KEY = re.compile(rb'"(\w{1,40})":')
_MOST_STEPS = 4
_MOST_BYTES = 20_000_000  # that one step makes
Value = Any
_Step = Callable[[Random, Value], Value]


def damaged_bytes(rng: Random, raw: bytes) -> bytes:
    """`raw` with some bytes changed, put in, taken out, said twice or cut off."""
    data = bytearray(raw)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data) + 1)
        span = rng.choice((1, 1, 1, 2, 16, 200))
        match rng.randrange(6):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at:at] = rng.randbytes(span)
            case 2:
                del data[at : at + span]
            case 3:
                data[at:at] = data[at : at + span] * rng.choice((1, 2, 50))
            case 4:
                data[at : at + 1] = rng.choice(
                    (b"[", b"]", b"{", b"}", b'"', b",", b"\\", b"-", b"\n")
                )
            case _ if rng.random() < 0.2:
                del data[at:]
    return bytes(data)


def damaged_json(rng: Random, raw: bytes) -> bytes:
    """`raw`, an object, with some of its parts changed into what they cannot be.

    In half of all cases types and keys stay as they are, so that more than the first check
    sees it.
    """
    value = msgspec.json.decode(raw)
    steps = _GENTLE if rng.random() < 0.5 else _STEPS
    for _ in range(rng.randint(1, _MOST_STEPS)):
        _change(rng, value, steps)
    try:
        made = encoded(value)
    except MemoryError:  # what was repeated holds what was repeated
        return raw
    return _with_second_key(rng, made) if rng.random() < 0.1 else made


def encoded(value: Value) -> bytes:
    """JSON, of numbers of any size too."""
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _change(rng: Random, value: Value, steps: list[_Step]) -> None:
    """Walks down at random and changes what it comes to."""
    here = value
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        inner = [key for key in keys if isinstance(here[key], dict | list) and here[key]]
        if inner and rng.random() < 0.8:
            here = here[rng.choice(inner)]
            continue
        key = rng.choice(keys)
        below = here[key]
        if isinstance(here, dict) and steps is _STEPS and rng.random() < 0.15:
            del here[key]
        elif isinstance(here, dict) and steps is _STEPS and rng.random() < 0.05:
            here[rng.choice(TEXTS)] = here.pop(key)
        else:
            here[key] = rng.choice(steps)(rng, below)
        return


def _extreme(rng: Random, value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _other_type(rng, value)
    return rng.choice((*NUMBERS, -value, value + 1, value - 1, value * 1000, float(value)))


def _text(rng: Random, _value: Value) -> Value:
    return rng.choice(TEXTS)


def _other_type(rng: Random, value: Value) -> Value:
    return rng.choice((None, True, 0, 1.5, "x", [], {}, [value], {"x": value}))


def _repeated(rng: Random, value: Value) -> Value:
    times = rng.choice((2, 3, 10, 100))
    if isinstance(value, list):
        times = min(times, max(_MOST_BYTES // len(encoded(value)), 1))
        return (value * times)[:20_000]
    return value * times if isinstance(value, str) and len(value) < 1000 else _extreme(rng, value)


def _nested(rng: Random, value: Value) -> Value:
    for _ in range(rng.choice((1, 10, 150))):  # deeper ones cannot be written as JSON
        value = [value] if rng.random() < 0.5 else {"x": value}
    return value


def _shuffled(rng: Random, value: Value) -> Value:
    return rng.sample(value, len(value)) if isinstance(value, list) else _alike(rng, value)


def _alike(rng: Random, value: Value) -> Value:
    """Another value of the same type."""
    if isinstance(value, bool) or value is None:
        return value if value is None else not value
    if isinstance(value, int):
        return rng.choice((*_FITTING, -value, value + 1, value - 1, value // 2))
    if isinstance(value, float):
        return rng.choice((*_FITTING, -value, value * 1e6, 1e308, 5e-324))
    if isinstance(value, str):
        return rng.choice(TEXTS)
    return _repeated(rng, value) if isinstance(value, list) else value


_FITTING = [one for one in NUMBERS if isinstance(one, int) and -(2**63) <= one < 2**63]
_GENTLE: list[_Step] = [_alike, _alike, _shuffled]
_STEPS: list[_Step] = [
    _extreme,
    _extreme,
    _extreme,
    _text,
    _other_type,
    _repeated,
    _nested,
    _shuffled,
]


def _with_second_key(rng: Random, raw: bytes) -> bytes:
    found = list(_KEY.finditer(raw))
    if not found:
        return raw
    one = rng.choice(found)
    value = encoded(rng.choice((*NUMBERS, *TEXTS, None, [], {})))
    return raw[: one.start()] + one.group() + value + b"," + raw[one.start() :]
