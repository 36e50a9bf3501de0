"""Xenomai's latency and EVL's latmus: files that are not as the samples, and what is refused."""

from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.importers import xenomai
from hardstone.systems.moments import load_moments
from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

LATENCY = sample("xenomai-latency.stdout")
LINES = LATENCY.splitlines(keepends=True)
HIST = sample("made/xenomai-latency-hist.stdout")
PLOT = sample("made/xenomai-latency-kernel.gnuplot")
LATMUS, OUTLIERS = sample("made/latmus-plot.txt"), sample("made/latmus-outliers.stdout")
NOTHING = b"RTS|  10000.000|      0.000| -10000.000|       0|     0|    00:00:00/00:00:00\n"
TEXTS = {
    "without the summary there is no mean": LATENCY.partition(b"^C")[0],
    **{
        f"without row {one - 5} there is no count": b"".join(LINES[:one] + LINES[one + 1 :])
        for one in (6, 7, 8)
    },
    # With -B 100 the indices are ten times those of the figures.
    "buckets that cannot be of a microsecond": HIST.replace(b"|  39 - 40 |", b"| 390 -391 |"),
    "a histogram without its totals is not used": HIST.partition(b"HSD|    avg|   9")[0],
    "a plot of latmus that is cut before its last bucket": LATMUS.partition(b"25 1\n")[0] + b"\n",
    "a plot of latmus that is cut before two": LATMUS.partition(b"\n24 1")[0] + b"\n",
    "buckets that do not hold the count": OUTLIERS.replace(b"3 67", b"3 68"),
    "no values": b"".join(LINES[:4]) + NOTHING,
    "a limit was exceeded": LATENCY + b"\nMaximum latency exceeded:      49.833 > 30\n",
    "latmus left the mode": sample("made/latmus.stdout")
    + b"*** WARNING: unexpected switches to in-band mode detected,\n",
    "the page says what is measured too": LATENCY.replace(
        b"== Test mode: periodic user-mode task\n", b""
    ),
    "two runs": (LATENCY + b"\n") * 2,
    "no header": b"".join(LINES[6:]),
    "latmus of something else": b"# libevl version: evl.0.51\n# context: net\n",
    # The histogram has the values of the last, unfinished second, which no extreme has.
    "a histogram beyond the maximum": PLOT.replace(b"19.136", b"18.136"),
    "a histogram beyond the minimum": PLOT.replace(b" 2.107", b" 2.607"),
    "a histogram of negative values only": PLOT.replace(
        b"       2.107|      4.879|", b"     -19.607|      4.879|"
    ),
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "xenomai.txt", {name: told(text) for name, text in TEXTS.items()})


def test_latmus_that_tuned_the_timer() -> None:
    with pytest.raises(InputError, match="tuned the timer"):
        xenomai.read(b"== latmus started for core tuning, period=1000\n")


def test_every_series_has_its_moments() -> None:
    moments = load_moments()
    assert set(moments["xenomai-latency"].series) == {"user", "kernel", "irq"}
    assert set(moments["latmus"].series) == {
        *("user", "kernel", "irq", "sirq", "oob-gpio", "inband-gpio")
    }
