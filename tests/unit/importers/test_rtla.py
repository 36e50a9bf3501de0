"""rtla's timerlat and osnoise: forms of other versions and options, and what is refused."""

from __future__ import annotations

from hardstone.importers.reading import ReadSeries
from tests.unit.importers.one_file import by_label, losses, read, refused, sample, us

HIST = "rtla/rtla-timerlat-hist.stdout"


def _rows(one: ReadSeries) -> dict[int, int]:
    """The buckets in us."""
    return {low // 1000: number for low, number in one.buckets or ()}


# ---- timerlat hist ----


def test_without_index() -> None:
    """Whether there is a summary follows from its counts; a bucket has no name."""
    lines = sample("rtla/rtla-timerlat-hist-withzeros-noindex.stdout").splitlines(keepends=True)
    without = read(b"".join(lines[:-4]))
    assert us(by_label(without, "thread")[0]) == (499, None, None, None)
    assert "values" in losses(without)
    assert refused(b"".join(lines[:-1])) == "it ends within its summary: rtla was stopped"


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


def test_newer_histogram() -> None:
    """With user threads, rows of all CPUs, lost events and the analysis of what stopped it."""
    reading = read(NEWER)
    irq, user = by_label(reading, "irq"), by_label(reading, "user")
    assert us(irq[1]) == (10, 1, 2, 6) and us(irq[10]) == (10, 0, 12, 400)
    assert us(user[1]) == (11, 5, 7, 99) and us(user[10]) == (0, None, None, None)
    assert (_rows(user[1]), user[1].overflow) == ({5: 9, 15: 1}, 1)
    assert reading.duration_ns == (86_400 + 2) * 10**9
    assert "12 (0.58%)" in "".join(loss.text for loss in reading.losses if loss.what == "values")
    assert reading.verdicts[0].evidence == "rtla hit stop tracing; CPU 10: irq 399.92 us"
    assert [event.text for event in reading.events][:2] == [
        "## CPU 10 hit stop tracing, analyzing it ##",
        "IRQ handler delay: 2.00 us (0.50 %)",
    ]
    assert not reading.unknown


def test_newer_histogram_without_index() -> None:
    text = NEWER.partition(b"12 (0")[0].replace(b"Index", b"").replace(b"ALL:", b"    ")
    for name in (b"over: ", b"count:", b"min:  ", b"avg:  ", b"max:  ", b"0     ", b"5     "):
        text = text.replace(b"\n" + name, b"\n")
    text = text.replace(b"\n15    ", b"\n")
    assert [us(one) for one in read(text).series] == [us(one) for one in read(NEWER).series]


def test_a_value_above_the_rows_of_which_nothing_is_counted_is_refused() -> None:
    """Only the histogram without anything above it bounds its maximum."""
    text = NEWER.replace(b"max:          6", b"max:        116")
    assert "column 1: the maximum 116000 ns is above its buckets" in refused(text)
    assert "but the columns have [20, 10, 11]" in refused(
        NEWER.replace(b"count:       20", b"count:       21")
    )


def test_a_file_that_ends_early() -> None:
    text = sample(HIST)
    reading = read(text.partition(b"over:")[0])
    one = by_label(reading, "irq")[0]
    assert reading.is_cut and (one.count, one.max, one.overflow) == (779, None, None)
    assert "overflow" in losses(reading)
    without = read(text.partition(b"avg:")[0])
    assert us(by_label(without, "irq")[0]) == (799, 17, None, None)
    assert "'6…' is not a count" in refused(text[:400])  # it may have lost digits
    assert "figures for 4 columns" in refused(text[:396])
    assert "rtla was stopped" in refused(text[:90])
    assert "a second histogram" in refused(text + text)


def test_the_width_may_be_a_multiple() -> None:
    """Rows 0, 100 and 300 of buckets of 50 allow 100: each still has all its values."""
    rows = b"0 9\n100 3\n300 1\nover: 0\ncount: 13\nmin: 2\navg: 50\nmax: 310\n"
    text = sample(HIST).partition(b"Index")[0] + b"Index   IRQ-000\n" + rows
    (one,) = read(text).series
    assert one.bucket_width_ns == 100_000
    alone = text.replace(b"100 3\n300 1\n", b"").replace(b"13", b"9").replace(b"310", b"49")
    reading = read(alone.replace(b"avg: 50", b"avg: 40"))
    assert reading.series[0].buckets is None and "bucket width" in losses(reading)


# ---- timerlat top ----


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


def test_top_of_user_threads() -> None:
    reading = read(USER_TOP)
    user = by_label(reading, "user")
    assert (user[3].min, user[3].mean, user[3].max) == (2113, 4563, 35_680)
    assert user[12].count == 0 and by_label(reading, "irq")[12].count == 8999
    assert (reading.series[0].step_ns, reading.duration_ns) == (1, 9 * 10**9)
    assert not reading.unknown


def test_top_without_a_row_is_refused() -> None:
    assert "no row of a CPU" in refused(sample("rtla/rtla-timerlat-top.stdout")[:300])


# ---- osnoise ----


def test_hwnoise_top() -> None:
    text = sample("rtla/rtla-osnoise-top.stdout")
    text = text.replace(b"Operating System Noise", b"Hardware-related Noise")
    text = text.replace(b"673            0          145", b"").replace(
        b"659            0          151", b""
    )
    reading = read(text)
    assert [one.name for one in reading.series][:2] == ["hwnoise", "hwnoise-per-period"]
    assert reading.events[1].data["hw_count"] == 2108 and "irq_count" not in reading.events[1].data


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


def test_osnoise_histogram() -> None:
    """A value is the lower end of its bucket, here of 10 us."""
    reading = read(OSNOISE)
    first, second = reading.series
    assert us(first) == (834, 0, 5.22, 90) and us(second) == (537, 0, 1.92, 10)
    assert (first.buckets, first.overflow) == ([(0, 430), (10_000, 402)], 2)
    assert first.step_ns == first.bucket_width_ns == 10_000
    assert "extremes" in losses(reading)


def test_osnoise_histogram_without_noise() -> None:
    head = OSNOISE.partition(b"Index")[0] + b"Index\n"
    (one,) = read(head + b"over: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n").series
    assert (one.name, one.count, one.labels) == ("noise", 0, {})


# ---- analysis and trace alone ----


def test_analysis_alone() -> None:
    """--aa-only: the value that ended the run is the largest of its CPU."""
    reading = read(NEWER[NEWER.index(b"rtla timerlat hit") :])
    (one,) = reading.series
    assert (one.name, one.labels, one.count, one.max) == ("irq", {"cpu": 10}, None, 399_920)
    assert [each.passed for each in reading.verdicts] == [False]


def test_trace_alone() -> None:
    text = sample("rtla/rtla-timerlat-auto-trace.stdout")
    reading = read(text[text.index(b"# tracer:") :])
    assert {(one.name, one.labels["cpu"]): one.values for one in reading.series} == {
        ("irq", 0): [953_700],
        ("thread", 0): [1_224_230],
    }
    assert "values" in losses(reading) and reading.series[0].step_ns == 1
    broken = text[text.index(b"# tracer:") :].replace(b"953700 ns", b"95x ns")
    assert "'95x' is not a count" in refused(broken)


def test_trace_of_osnoise_alone() -> None:
    text = (
        b"# tracer: osnoise\n#\n#           TASK-PID      CPU# ||||   TIMESTAMP    IN US\n"
        b"           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9"
        b"     18      0   1007     18      1\n"
        b"           <...>-859     [000] ....    82.637220: 1000000        170  99.98300      11"
        b"     18      0   1007     18      1\n"
    )
    reading = read(text)
    assert by_label(reading, "noise-per-period")[0].values == [190_000, 170_000]
    assert (by_label(reading, "noise")[0].count, by_label(reading, "noise")[0].max) == (
        None,
        11_000,
    )
