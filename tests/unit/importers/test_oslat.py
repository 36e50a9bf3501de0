"""oslat: other versions and options, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

NEWER = b"""\
oslat V 2.80
        Core:\t 2 5
Counter Freq:\t 2000 2100 (MHz)
    001 (us):\t 900 800
    ...
    005 (us):\t 3 0
    006 (us):\t 0 1 (including overflows)
     Minimum:\t 0 0 (us)
     Average:\t 1.013 1.006 (us)
     Maximum:\t 4 5 (us)
     Max-Min:\t 4 5 (us)
    Duration:\t 1.000 1.001 (sec)

"""
OLD, JSON = sample("qemu-oslat-rt.stdout"), sample("oslat.json")
# 1 us, which is up to 1 us, has the name 2 us; so the mean is above all values.
ROUNDED = (
    NEWER.replace(b"2.80", b"2.50")
    .replace(b"MHz", b"Mhz")
    .replace(b"001 (us)", b"002 (us)")
    .replace(b"Minimum:\t 0 0", b"Minimum:\t 1 1")
    .replace(b"Min:\t 4 5", b"Min:\t 3 4")
)
SHORT = (
    NEWER.replace(b" 4 5 (us)", b" 0 1 (us)")
    .replace(b"\t 3 0", b"\t 0 0")
    .replace(b"\t 0 1 (inc", b"\t 0 0 (inc")
)
JSON_2_10 = JSON.replace(b"2.40", b"2.10").replace(b" -B 1", b"")
# In JSON minimum and maximum are in ns, all else in us; the mean is wrong then.
IN_NS = (
    JSON[: JSON.index(b'"min"')].replace(b"2.40", b"2.80").replace(b"-b 32 -B 1", b"-W 500")
    + b'"min": 137, "avg": 0.5, "max": 2600, "histogram": {"0.500": 90, "2.000": 9, "2.500": 1'
    + JSON[JSON.rindex(b"}\n    }") :]
)
TEXTS = {
    "output and threshold": sample("oslat-T.stdout") + sample("oslat-T.stderr"),
    "the threshold of older versions names no CPU": (
        b"oslat: Trace threshold (200 us) triggered with 221 us!\nStopping the test.\n"
    ),
    "newer versions cut their values; -q and -z; nothing is beyond the last bucket": NEWER,
    "versions that round up before they sort": ROUNDED,
    "a mean above all values is left out": SHORT,
    "version 2.1 calls itself 2.10": NEWER.replace(b"2.80", b"2.10"),
    "version 2.10 is older than 2.4": OLD.replace(b"V 2.40", b"V 2.10"),
    "JSON of 2.1, rounded up: of the bucket '2'": JSON_2_10.replace(b'"min": 1', b'"min": 2'),
    "JSON of 2.1, cut: below its bucket's name": JSON_2_10,
    "without a version": NEWER.replace(b"oslat V 2.80\n", b"oslat V 9\n"),
    "-W 500": IN_NS,
    "-W 500 with a maximum within": IN_NS.replace(b"2600", b"2400"),
    "a minimum above its bucket": OLD.replace(b"Minimum:\t 1 ", b"Minimum:\t 9 ").replace(
        b"Max-Min:\t 56286", b"Max-Min:\t 56278"
    ),
    "cut within the figures": sample("oslat.stdout")[:700],
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "oslat.txt", {name: told(text) for name, text in TEXTS.items()})
