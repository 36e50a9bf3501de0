"""rtla's timerlat and osnoise: forms of other versions and options, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

HIST = sample("rtla/rtla-timerlat-hist.stdout")
TRACE = sample("rtla/rtla-timerlat-auto-trace.stdout").partition(b"# tracer:")
NO_INDEX = sample("rtla/rtla-timerlat-hist-withzeros-noindex.stdout").splitlines(keepends=True)
OSNOISE_TOP = sample("rtla/rtla-osnoise-top.stdout")
NEWER = b"""\
# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   1 00:00:02
Index   IRQ-001   Thr-001   Usr-001   IRQ-010   Thr-010   Usr-010
0             9         2         0         7         0         0
5             1         7         9         0         0         0
15            0         1         1         1         0         0
over:         0         0         1         2         0         0
count:       10        10        11        10         0         0
min:          1         3         5         0         -         -
avg:          2         5         7        12         -         -
max:          6        16        99       400         -         -
ALL:        IRQ       Thr       Usr
count:       20        10        11
min:          0         3         5
avg:          7         5         7
max:        400        16        99
12 (0.58%) osnoise events missed, results might not be accurate
rtla timerlat hit stop tracing
## CPU 10 hit stop tracing, analyzing it ##
  IRQ handler delay:\t\t                \t     2.00 us (0.50 %)
  IRQ latency:\t\t\t\t\t\t   399.92 us
  Blocking thread:
\t                 swapper/10:0
------------------------------------------------------------------------
  IRQ latency:\t\t\t\t\t   399.92 us (100%)

Max timerlat IRQ latency from idle: 2.10 us in cpu 1
  Saving trace to timerlat_trace.txt
"""
USER_TOP = b"""\
                                     Timer Latency
  0 00:00:09   |          IRQ Timer Latency (ns)        |         Thread Timer Latency (ns)      \
|    Ret user Timer Latency (ns)
CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max \
|      cur       min       avg       max
  3 #9000      |     1182       550      1351     24113 |     1939      1113      3563     34680 \
|     2939      2113      4563     35680
 12 #8999      |     1182       550      1351     24113 |        -         -         -         - \
|        -         -         -         -
---------------|----------------------------------------|---------------------------------------\
-|---------------------------------------
ALL #17999  e0 |                550      1351     24113 |               1113      3563     34680 \
|               2113      4563     35680
"""
OSNOISE = b"""\
# RTLA osnoise histogram
# Time unit is microseconds (us)
# Duration:   0 00:01:00
Index   CPU-000   CPU-001
0           430       434
10          402       103
over:         2         0
count:      834       537
min:          0         0
avg:       5.22      1.92
max:         90        10
"""
OSNOISE_TRACE = b"""\
# tracer: osnoise
#
#           TASK-PID      CPU# ||||   TIMESTAMP    IN US
           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18      \
0   1007     18      1
           <...>-859     [000] ....    82.637220: 1000000        170  99.98300      11     18      \
0   1007     18      1
"""
# Rows 0, 100 and 300 of buckets of 50 allow 100: each still has all its values.
WIDE = HIST.partition(b"Index")[0] + (
    b"Index   IRQ-000\n0 9\n100 3\n300 1\nover: 0\ncount: 13\nmin: 2\navg: 50\nmax: 310\n"
)
NO_NOISE = b"Index\nover: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n"


def without_index(text: bytes) -> bytes:
    text = text.partition(b"12 (0")[0].replace(b"Index", b"").replace(b"ALL:", b"    ")
    for name in (b"over: ", b"count:", b"min:  ", b"avg:  ", b"max:  ", b"0     ", b"5     "):
        text = text.replace(b"\n" + name, b"\n")
    return text.replace(b"\n15    ", b"\n")


TEXTS = {
    "without index and summary, whose counts are the last line": b"".join(NO_INDEX[:-4]),
    "without index, cut within the summary": b"".join(NO_INDEX[:-1]),
    "user threads, rows of all CPUs, lost events and the analysis of what stopped it": NEWER,
    "the same without index": without_index(NEWER),
    "a value above the rows, of which nothing is counted": NEWER.replace(
        b"max:          6", b"max:        116"
    ),
    "another sum of counts": NEWER.replace(b"count:       20", b"count:       21"),
    "cut before the overflow": HIST.partition(b"over:")[0],
    "cut before the mean": HIST.partition(b"avg:")[0],
    "cut within a number": HIST[:400],
    "cut within a row": HIST[:396],
    "cut before the rows": HIST[:90],
    "twice": HIST + HIST,
    "a width of which the rows show a multiple": WIDE,
    "one row, which shows no width": WIDE.replace(b"100 3\n300 1\n", b"")
    .replace(b"13", b"9")
    .replace(b"310", b"49")
    .replace(b"avg: 50", b"avg: 40"),
    "top with user threads": USER_TOP,
    "top without a row": sample("rtla/rtla-timerlat-top.stdout")[:300],
    "hwnoise": OSNOISE_TOP.replace(b"Operating System Noise", b"Hardware-related Noise")
    .replace(b"673            0          145", b"")
    .replace(b"659            0          151", b""),
    "osnoise hist, whose values are the lower ends of buckets of 10 us": OSNOISE,
    "osnoise hist without noise": OSNOISE.partition(b"Index")[0] + NO_NOISE,
    "--aa-only: the value that ended the run is the largest of its CPU": NEWER[
        NEWER.index(b"rtla timerlat hit") :
    ],
    "a trace alone": TRACE[1] + TRACE[2],
    "a broken trace": TRACE[1] + TRACE[2].replace(b"953700 ns", b"95x ns"),
    "a trace of osnoise alone": OSNOISE_TRACE,
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "rtla.txt", {name: told(text) for name, text in TEXTS.items()})
