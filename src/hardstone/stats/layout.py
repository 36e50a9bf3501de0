"""The layout "log-linear/B": which values share a bucket.

With e = max(floor(log2 v) - B, 0) a value v has the index e * 2**B + (v >> e).
Values below 2**(B+1) have a bucket of their own; above, a bucket is at most
2**-B of its value wide, and the indices go on without a gap. The layout is the
one that HdrHistogram made known, counted from the first bucket.
"""

from __future__ import annotations

from functools import lru_cache

from hardstone.errors import InputError

DEFAULT_BITS = 10
DEFAULT_LAYOUT = f"log-linear/{DEFAULT_BITS}"
MAX_VALUE = 2**63 - 1
_MAX_BITS = 20
_PREFIX = "log-linear/"


@lru_cache(maxsize=64)
def parse_layout(layout: str) -> int:
    """Sub-bucket bits B of a layout name; InputError for a layout that is not known."""
    bits = layout.removeprefix(_PREFIX)
    if layout.startswith(_PREFIX) and bits.isascii() and bits.isdigit() and len(bits) <= 2:
        count = int(bits)
        if 1 <= count <= _MAX_BITS:
            return count
    raise InputError(
        f"histogram layout {layout[:40]!r} is not known",
        f"this version reads {_PREFIX}1 to {_PREFIX}{_MAX_BITS}: upgrade hardstone",
    )


def index_of(value: int, bits: int = DEFAULT_BITS) -> int:
    """Index of the bucket that holds `value`, 0 to MAX_VALUE."""
    if not 0 <= value <= MAX_VALUE:
        raise ValueError(f"{value} has no bucket: 0 to {MAX_VALUE}")
    shift = max(value.bit_length() - 1 - bits, 0)
    return (shift << bits) + (value >> shift)


def edges_of(index: int, bits: int = DEFAULT_BITS) -> tuple[int, int]:
    """Lowest and highest value, both inclusive, of the bucket `index`."""
    if index < 0:
        raise ValueError(f"{index} is not the index of a bucket")
    shift = max((index >> bits) - 1, 0)
    base = index - (shift << bits)
    return base << shift, ((base + 1) << shift) - 1


def last_index(bits: int = DEFAULT_BITS) -> int:
    """Index of the last bucket that a value can have."""
    return index_of(MAX_VALUE, bits)
