"""Xenomai's latency and EVL's latmus: figures taken from each file by hand, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.importers import xenomai
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.systems.moments import load_moments

SAMPLES = Path(__file__).parents[2] / "samples"
LATENCY = SAMPLES / "xenomai-latency.stdout"
MADE = SAMPLES / "made"


def _read(path: Path) -> tuple[Reading, ReadSeries]:
    reading = _read_bytes(path.read_bytes())
    (series,) = reading.series
    return reading, series


def _read_bytes(content: bytes) -> Reading:
    (found,) = [one for one in xenomai.FORMATS if one.recognises(content)]
    return found.read(content)


def _refusal(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        xenomai.read(content)
    assert "\n" not in str(caught.value)
    return caught.value.cause


def _losses(reading: Reading) -> list[str]:
    return sorted({loss.what for loss in reading.losses})


def test_rows_and_summary() -> None:
    reading, series = _read(LATENCY)
    assert (reading.tool, reading.format) == ("xenomai-latency", "text")
    assert (series.name, series.min, series.mean, series.max) == ("user", 4374, 6187.0, 49833)
    assert list(series.maxima_per_s) == [49833, 33958, 31166]
    assert series.count == 3000 and "count" in _losses(reading)  # 3 rows of 1 s / 1 ms
    assert series.buckets is None and series.values is None
    assert reading.params == {"interval_ns": 1_000_000}
    assert (reading.conditions.policy, reading.conditions.priority) == ("fifo", 99)
    assert reading.duration_ns == 4_000_000_000 and not reading.is_cut


def test_without_the_summary_there_is_no_mean() -> None:
    text = LATENCY.read_bytes().partition(b"^C")[0]
    reading = _read_bytes(text)
    (series,) = reading.series
    assert (series.min, series.mean, series.max) == (4374, None, 49833)
    assert reading.is_cut


def test_rows_that_are_missing_give_no_count() -> None:
    lines = LATENCY.read_bytes().splitlines(keepends=True)
    for missing in (6, 7, 8):
        (series,) = _read_bytes(b"".join(lines[:missing] + lines[missing + 1 :])).series
        assert (series.count, list(series.maxima_per_s)) == (None, [])


def test_totals_count_the_last_second_too() -> None:
    reading, series = _read(MADE / "xenomai-latency-stats.stdout")
    assert (series.count, series.min, series.mean, series.max) == (599_984, 1154, 3078.0, 87_379)
    texts = [loss.text for loss in reading.losses]
    assert any("59 whole seconds; 9984 of the 599984 values" in text for text in texts)
    assert series.maxima_per_s == ()  # 56 rows of 59
    assert reading.unknown["HSS.avg"] == '["2.428", "1.112"]'


def test_histogram_of_absolute_values() -> None:
    reading, series = _read(MADE / "xenomai-latency-hist.stdout")
    assert (series.min, series.max, series.count) == (-1204, 61907, 437)
    # Buckets 0 and 1 may hold negative values, and bucket 39, of 40, all that is larger.
    assert (series.underflow, series.overflow) == (3 + 34, 2)
    assert series.buckets is not None and series.bucket_width_ns == 1000
    assert series.buckets[:3] == [(2000, 135), (3000, 79), (4000, 57)]
    assert series.buckets[-1] == (20_000, 1)
    assert sum(count for _, count in series.buckets) == 437 - 37 - 2
    assert reading.is_cut  # 4 s of 60
    data = {event.name: event.data for event in reading.events}
    assert data == {"overruns": {"overruns_count": 1}, "mode_switches": {"switches_count": 2}}
    assert {"bucket width", "distribution", "overflow", "extremes"} <= set(_losses(reading))


def test_buckets_that_cannot_be_of_a_microsecond() -> None:
    """With -B 100 the indices are ten times those of the figures."""
    content = (MADE / "xenomai-latency-hist.stdout").read_bytes()
    content = content.replace(b"|  39 - 40 |", b"| 390 -391 |")
    (series,) = _read_bytes(content).series
    assert series.buckets is None and series.count == 437


def test_a_histogram_without_its_totals_is_not_used() -> None:
    content = (MADE / "xenomai-latency-hist.stdout").read_bytes()
    reading = _read_bytes(content.partition(b"HSD|    avg|   9")[0])
    (series,) = reading.series
    assert (series.buckets, series.underflow, series.overflow) == (None, 0, 0)
    assert reading.is_cut and "distribution" in _losses(reading)


def test_timer_handler_with_negative_latencies() -> None:
    reading, series = _read(MADE / "xenomai-latency-irq.stdout")
    assert (series.name, series.min, series.mean, series.max) == ("irq", -2951, -1516.0, 5962)
    assert series.count == 300 and list(series.maxima_per_s) == [5962, 1312, 4581]
    assert (reading.conditions.policy, reading.conditions.priority) == (None, None)


def test_plot_of_latency() -> None:
    reading, series = _read(MADE / "xenomai-latency-kernel.gnuplot")
    assert (reading.format, series.name) == ("plot", "kernel")
    assert (series.min, series.mean, series.max) == (2107, 4879.0, 19136)
    assert series.buckets is not None and series.bucket_width_ns == 500
    assert series.buckets[:2] == [(2000, 39), (2500, 41)]  # the plot has 1 more in each
    assert series.buckets[-1] == (19_000, 1) and series.count == 300
    assert reading.version == "Xenomai/cobalt v3.2.4" and reading.conditions.priority == 80
    assert reading.facts == {
        "kernel.name": "Linux",
        "kernel.release": "5.15.133-xeno",
        "kernel.version": "#1 SMP PREEMPT Mon Jun 3 10:00:00 UTC 2024",
        "kernel.cmdline": "console=ttyS0,115200 isolcpus=1",
        "machine.node": "board",
    }
    _, text = _read(MADE / "xenomai-latency-kernel.stdout")
    assert (text.min, text.mean, text.max, text.count) == (2107, 4879.0, 19136, 300)


def test_text_of_latmus() -> None:
    reading, series = _read(MADE / "latmus.stdout")
    assert (reading.tool, series.name, series.labels) == ("latmus", "user", {"cpu": 1})
    assert (series.min, series.mean, series.max) == (1182, 1316.0, 3899)
    assert list(series.maxima_per_s) == [2476, 3899, 2486, 2510, 2457, 2418, 2375, 2418]
    assert series.count is None  # the last second may have been cut
    assert (reading.conditions.cpu, reading.conditions.priority) == (1, 90)


def test_plot_of_latmus() -> None:
    reading, series = _read(MADE / "latmus-plot.txt")
    assert (series.min, series.mean, series.max) == (205, 3097.0, 25510)
    assert series.count == 71_598 and (series.underflow, series.overflow) == (0, 0)
    assert series.buckets is not None
    assert (len(series.buckets), series.buckets[1]) == (26, (1000, 25561))
    assert reading.duration_ns == 72_000_000_000
    assert reading.version == "evl.0 -- #a3ceb80 (2020-01-22 11:57:11 +0100)"
    assert reading.facts["kernel.release"] == "5.5.0-rc7+"
    assert reading.facts["kernel.clocksource"] == "tsc"
    assert str(reading.facts["kernel.cmdline"]).endswith("isolcpus=1 evl.oob_cpus=1")
    assert reading.unknown["clock gravity"] == '"2000i 3500k 3500u"'
    assert reading.conditions.dma_latency_us is None  # the line on C-states proves nothing


def test_plot_with_outliers_and_negative_latencies() -> None:
    reading, series = _read(MADE / "latmus-outliers.stdout")
    assert (series.count, series.min, series.max) == (1000, -912, 14542)
    assert (series.underflow, series.overflow) == (475, 20)
    assert series.buckets == [
        *[(1000, 222), (2000, 139), (3000, 67), (4000, 40), (5000, 19), (6000, 18)]
    ]
    assert list(series.maxima_per_s) == [9630, 9594, 14542, 13250, 9459]
    assert reading.format == "text"
    data = {event.name: event.data for event in reading.events}
    assert data == {"not_isolated": {"cpu": 3}, "peak": {"peak_s": 3}}


@pytest.mark.parametrize("kept", [b"25 1\n", b"\n24 1"])
def test_a_plot_of_latmus_that_ends_early(kept: bytes) -> None:
    content = (MADE / "latmus-plot.txt").read_bytes().partition(kept)[0] + b"\n"
    reading = _read_bytes(content)
    (series,) = reading.series
    assert series.buckets is None and reading.is_cut


def test_buckets_that_do_not_hold_the_count() -> None:
    content = (MADE / "latmus-outliers.stdout").read_bytes().replace(b"3 67", b"3 68")
    (series,) = _read_bytes(content).series
    assert (series.buckets, series.count) == (None, 1000)


def test_no_values() -> None:
    content = LATENCY.read_bytes().splitlines(keepends=True)
    rule = b"RTS|  10000.000|      0.000| -10000.000|       0|     0|    00:00:00/00:00:00\n"
    (series,) = _read_bytes(b"".join(content[:4]) + rule).series
    assert (series.count, series.min, series.max) == (0, None, None)


def test_what_the_tools_judge() -> None:
    more = b"\nMaximum latency exceeded:      49.833 > 30\n"
    (verdict,) = _read_bytes(LATENCY.read_bytes() + more).verdicts
    assert not verdict.passed and "49.833 > 30" in verdict.evidence
    warned = b"*** WARNING: unexpected switches to in-band mode detected,\n"
    (verdict,) = _read_bytes((MADE / "latmus.stdout").read_bytes() + warned).verdicts
    assert not verdict.passed and "in-band" in verdict.evidence


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (b"RTD|      4.416|", b"RTD|      4,416|", "line 8: no row of a second: 'RTD|"),
        (b"RTD|      4.416|", b"RTD|     44.416|", "line 8: minimum, mean and maximum are not"),
        (b"|     0|      4.416|", b"|     0|      4.417|", "line 8: beyond the best and worst"),
        (b"RTS|      4.374|", b"RTS|      4.375|", "line 9: beyond the extremes of the summary"),
        (
            b"RTS|      4.374|      6.187|",
            b"RTS|      4.374|     66.187|",
            "of the summary are not",
        ),
        (b"00:00:04\n", b"00:00\n", "line 11: no summary: 'RTS|"),
        (b"in microseconds", b"in nanoseconds", "line 3: not in microseconds"),
        (b"(periodic user-mode task,", b"(a task,", "line 5: no header of a page"),
        (
            b"(periodic user-mode task, 1000",
            b"(periodic user-mode task, 100",
            "line 5: 100 after 1",
        ),
    ],
)
def test_broken_text(old: bytes, new: bytes, cause: str) -> None:
    content = LATENCY.read_bytes()
    content = content if content.endswith(b"\n") else content + b"\n"
    assert old in content
    assert cause in _refusal(content.replace(old, new))


def test_the_page_says_what_is_measured_too() -> None:
    content = LATENCY.read_bytes().replace(b"== Test mode: periodic user-mode task\n", b"")
    assert xenomai.read(content).series[0].name == "user"


def test_two_runs_and_no_header() -> None:
    content = LATENCY.read_bytes() + b"\n"
    assert "a second run begins" in _refusal(content * 2)
    rows = b"\n".join(content.splitlines()[6:])
    assert "no header" in _refusal(rows)
    assert "not read" in _refusal(b"# libevl version: evl.0.51\n# context: net\n")
    assert "tuned the timer" in _refusal(b"== latmus started for core tuning, period=1000\n")


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
    content = (MADE / "xenomai-latency-kernel.gnuplot").read_bytes().replace(old, new)
    reading = _read_bytes(content)
    (series,) = reading.series
    assert ((series.min, series.max), series.count) == (extremes, 300)
    assert "extremes" in _losses(reading)


def test_a_histogram_of_negative_values_only_is_none() -> None:
    content = (MADE / "xenomai-latency-kernel.gnuplot").read_bytes()
    content = content.replace(b"       2.107|      4.879|", b"     -19.607|      4.879|")
    (series,) = _read_bytes(content).series
    assert (series.buckets, series.count, series.min) == (None, 300, -19607)


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (b"19.5 1\n", b"", "no begin or no end"),
        (b"19.5 1\n", b"19.6 1\n", "not equally wide"),
        (b"2.75 42\n", b"2.8 42\n", "bucket 2 of the plot is not where it should be"),
        (b"2.75 42\n", b"2.75 0\n", "bucket 2 of the plot is not where it should be"),
        (b"2.75 42\n", b"2.75 x\n", "line 10: no bucket"),
    ],
)
def test_broken_plot_of_latency(old: bytes, new: bytes, cause: str) -> None:
    content = (MADE / "xenomai-latency-kernel.gnuplot").read_bytes()
    assert old in content
    assert cause in _refusal(content.replace(old, new))
