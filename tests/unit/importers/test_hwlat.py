"""hwlatdetect and the tracer hwlat: older traces, reports, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

REPORT = b"""\
hwlatdetect:  test duration 5 seconds
   detector: tracer
   parameters:
        CPU list:          None
        Latency threshold: 10us
        Sample window:     1000000us
        Sample width:      500000us
     Non-sampling period:  500000us
        Output File:       None

Starting test
test finished
Max Latency: 15us
Samples recorded: 2
Samples exceeding threshold: 3
MTBF: 1.000 seconds
ts: 1718000000.000000001, delta:nan, inner:12, outer:15, cpu:3, count:1
ts: 1718000001.000000002, delta:1.000000, inner:11, outer:0, cpu:3, count:2
"""
QUIET = (
    REPORT.partition(b"ts:")[0]
    .replace(b"15us", b"Below threshold")
    .replace(b"2\n", b"0\n")
    .replace(b"threshold: 3", b"threshold: 0")
)
OLDER = REPORT.replace(b"delta:nan, ", b"").replace(b"delta:1.000000, ", b"")
OLDER_TRACE = b"""\
# tracer: hwlat
# entries-in-buffer/entries-written: 1/7   #P:8
           <...>-1729  [001] d...   678.473449: #1      inner/outer(us):   11/12    \
ts:1581527483.343962693 nmi-total:4 nmi-count:1
"""
RAW = sample("qemu-hwlatdetect-raw.stdout")
TEXTS = {
    "a report": REPORT,
    "an older report": OLDER.replace(b", cpu:3, count:1", b"").replace(b", cpu:3, count:2", b""),
    "a report of a quiet machine": QUIET,
    "a report that is cut": REPORT.partition(b"test finished")[0],
    "an older trace with lost entries": OLDER_TRACE,
    "a window with one value": RAW.replace(b"8080/10148", b"8080"),
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "hwlat.txt", {name: told(text) for name, text in TEXTS.items()})
