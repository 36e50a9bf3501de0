"""Reads numbers as typed: whole numbers, durations, sizes, CPU lists."""

from __future__ import annotations

import re

from hardstone.plan.problems import Problems, quote
from hardstone.units import parse_duration_ns

MAX_SAMPLES = 10**12
MAX_SEED = 2**63 - 1
MAX_LATENCY_US = 2_000_000_000  # what the kernel has where nobody asks for less
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,12})([kmg]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_SIZE_UNIT = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_CPU_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", re.ASCII)
_MAX_CPUS = 1 << 16


def whole_number(text: str, name: str, low: int, high: int, problems: Problems) -> int | None:
    """Whole number from `low` to `high`; None, with a problem noted, for anything else."""
    digits = text.strip()
    if not _WHOLE.fullmatch(digits):
        problems.add(f"{name}: {quote(text)} is not a whole number", f"give {low} to {high}")
        return None
    value = int(digits)
    if not low <= value <= high:
        problems.add(f"{name}: {value} is out of range", f"give {low} to {high}")
        return None
    return value


def duration_ns(text: str, name: str, bare: str, problems: Problems) -> int | None:
    """Duration above zero in ns; None, with a problem noted, for anything else."""
    try:
        return parse_duration_ns(text, bare=bare)
    except ValueError as error:
        is_form = "write" in str(error)
        cause = f"{name}: {quote(text)} is not a duration" if is_form else f"{name}: {error}"
        problems.add(cause, f"give for example 30s, 5m, 24h, 250us or a bare number of {bare}")
        return None


def size_bytes(text: str, name: str, problems: Problems) -> int | None:
    """Size such as 4096, 4k or 1M (powers of 1024) in bytes; None, with a problem noted, else."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        problems.add(f"{name}: {quote(text)} is not a size", "give bytes, or 4k, 1M, 2G")
        return None
    return int(match[1]) * _SIZE_UNIT[match[2].lower()]


def parse_cpu_list(text: str) -> set[int]:
    """CPUs of a list such as "0-3,6". Raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _CPU_RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{quote(text)} is not a list of CPUs")
        first = int(match[1])
        last = int(match[2] or first)
        if last < first:
            raise ValueError(f"{quote(text)} counts down: write {last}-{first}")
        if last - first > _MAX_CPUS:
            raise ValueError(f"{quote(text)} has too many CPUs")
        cpus.update(range(first, last + 1))
    return cpus
