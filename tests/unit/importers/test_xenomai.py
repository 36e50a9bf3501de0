"""Xenomai's latency and EVL's latmus: files that are not as the samples, and what is refused."""

from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.importers import xenomai
from hardstone.importers.reading import ReadSeries
from hardstone.systems.moments import load_moments
from tests.unit.importers.one_file import losses, read, refused, sample

LATENCY = sample("xenomai-latency.stdout")


def only(content: bytes | str) -> ReadSeries:
    (series,) = read(content).series
    return series


def test_without_the_summary_there_is_no_mean() -> None:
    text = LATENCY.partition(b"^C")[0]
    reading = read(text)
    (series,) = reading.series
    assert (series.min, series.mean, series.max) == (4374, None, 49833)
    assert reading.is_cut


def test_rows_that_are_missing_give_no_count() -> None:
    lines = LATENCY.splitlines(keepends=True)
    for missing in (6, 7, 8):
        series = only(b"".join(lines[:missing] + lines[missing + 1 :]))
        assert (series.count, list(series.maxima_per_s)) == (None, [])


def test_buckets_that_cannot_be_of_a_microsecond() -> None:
    """With -B 100 the indices are ten times those of the figures."""
    content = sample("made/xenomai-latency-hist.stdout")
    content = content.replace(b"|  39 - 40 |", b"| 390 -391 |")
    series = only(content)
    assert series.buckets is None and series.count == 437


def test_a_histogram_without_its_totals_is_not_used() -> None:
    content = sample("made/xenomai-latency-hist.stdout")
    reading = read(content.partition(b"HSD|    avg|   9")[0])
    (series,) = reading.series
    assert (series.buckets, series.underflow, series.overflow) == (None, 0, 0)
    assert reading.is_cut and "distribution" in losses(reading)


@pytest.mark.parametrize("kept", [b"25 1\n", b"\n24 1"])
def test_a_plot_of_latmus_that_ends_early(kept: bytes) -> None:
    content = sample("made/latmus-plot.txt").partition(kept)[0] + b"\n"
    reading = read(content)
    (series,) = reading.series
    assert series.buckets is None and reading.is_cut


def test_buckets_that_do_not_hold_the_count() -> None:
    content = sample("made/latmus-outliers.stdout").replace(b"3 67", b"3 68")
    series = only(content)
    assert (series.buckets, series.count) == (None, 1000)


def test_no_values() -> None:
    content = LATENCY.splitlines(keepends=True)
    rule = b"RTS|  10000.000|      0.000| -10000.000|       0|     0|    00:00:00/00:00:00\n"
    series = only(b"".join(content[:4]) + rule)
    assert (series.count, series.min, series.max) == (0, None, None)


def test_what_the_tools_judge() -> None:
    more = b"\nMaximum latency exceeded:      49.833 > 30\n"
    (verdict,) = read(LATENCY + more).verdicts
    assert not verdict.passed and "49.833 > 30" in verdict.evidence
    warned = b"*** WARNING: unexpected switches to in-band mode detected,\n"
    (verdict,) = read(sample("made/latmus.stdout") + warned).verdicts
    assert not verdict.passed and "in-band" in verdict.evidence


def test_the_page_says_what_is_measured_too() -> None:
    content = LATENCY.replace(b"== Test mode: periodic user-mode task\n", b"")
    assert read(content).series[0].name == "user"


def test_two_runs_and_no_header() -> None:
    content = LATENCY + b"\n"
    assert "a second run begins" in refused(content * 2)
    rows = b"\n".join(content.splitlines()[6:])
    assert "no header" in refused(rows)
    assert "not read" in refused(b"# libevl version: evl.0.51\n# context: net\n")
    with pytest.raises(InputError, match="tuned the timer"):
        xenomai.read(b"== latmus started for core tuning, period=1000\n")


def test_every_series_has_its_moments() -> None:
    moments = load_moments()
    assert set(moments["xenomai-latency"].series) == {"user", "kernel", "irq"}
    assert set(moments["latmus"].series) == {
        *("user", "kernel", "irq", "sirq", "oob-gpio", "inband-gpio")
    }


@pytest.mark.parametrize(
    ("old", "new", "extremes"),
    [(b"19.136", b"18.136", (2107, None)), (b" 2.107", b" 2.607", (None, 19136))],
)
def test_a_histogram_that_goes_beyond_the_extremes(
    old: bytes, new: bytes, extremes: tuple[int | None, int | None]
) -> None:
    """It has the values of the last, unfinished second, which no extreme of latency has."""
    content = sample("made/xenomai-latency-kernel.gnuplot").replace(old, new)
    reading = read(content)
    (series,) = reading.series
    assert ((series.min, series.max), series.count) == (extremes, 300)
    assert "extremes" in losses(reading)


def test_a_histogram_of_negative_values_only_is_none() -> None:
    content = sample("made/xenomai-latency-kernel.gnuplot")
    content = content.replace(b"       2.107|      4.879|", b"     -19.607|      4.879|")
    series = only(content)
    assert (series.buckets, series.count, series.min) == (None, 300, -19607)
