"""rteval's summary.xml and text report: files that are not as the samples, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.importers.one_file import read, refused, sample

SUMMARY = sample("made/rteval-summary.xml").decode()
REPORT = sample("made/rteval-3.1.txt").decode()


def test_a_maximum_beyond_the_buckets() -> None:
    """cyclictest found it, but the value is in no bucket: nobody knows how many there were."""
    reading = read(SUMMARY.replace('<maximum unit="us">19<', '<maximum unit="us">3500<'))
    assert reading.series[1].max == 3_500_000 and reading.series[1].overflow is None
    assert reading.series[0].overflow == 0


def test_old_versions_dropped_what_was_beyond_the_buckets() -> None:
    reading = read(SUMMARY.replace('<rteval version="3.7">', '<rteval version="3.2">'))
    assert [one.overflow for one in reading.series] == [None, None]
    assert any("larger values" in one.text for one in reading.losses if one.what == "extremes")


def test_one_value_has_no_mean() -> None:
    text = REPORT.replace("Samples:           59476", "Samples:           1").replace(
        "Mean:              7.0us", "Mean:              0.0us"
    )
    first, _ = read(text).series
    assert (first.count, first.mean, first.stddev) == (1, None, None)


def test_two_reports_in_one_file() -> None:
    assert "a second report" in refused(REPORT * 2)


def test_figures_that_were_left_out() -> None:
    begin, end = SUMMARY.index("      <system "), SUMMARY.index("      <timestamps>")
    assert "beyond its histogram" in refused(SUMMARY[:begin] + SUMMARY[end:])
    stopped = (
        '<abort_report reason="breaktrace"><breaktrace latency_threshold="50" '
        'measured_latency="61"/></abort_report>'
    )
    assert "stopped at its threshold" in refused(SUMMARY[:begin] + stopped + SUMMARY[end:])
    reading = read(SUMMARY[:begin] + stopped + SUMMARY[begin:])
    (verdict,) = reading.verdicts
    assert reading.is_cut and not verdict.passed and verdict.evidence.startswith("61 us")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</rteval>", ""),
        ('encoding="UTF-8"', 'encoding="utf-9"'),
        ("<cyclictest ", "<hwlatdetect "),
    ],
)
def test_what_is_no_xml(old: str, new: str) -> None:
    """The rest is in the words of Python's library."""
    assert "no valid XML: " in refused(SUMMARY.replace(old, new))


def test_no_latency_test_and_two() -> None:
    only = SUMMARY.replace("cyclictest command", "sysstat command").replace(
        "/cyclictest", "/sysstat"
    )
    assert "no latency test" in refused(only)
    begin, end = SUMMARY.index("    <cyclictest"), SUMMARY.index("    </Profile>")
    assert "more than one latency test" in refused(SUMMARY[:end] + SUMMARY[begin:])
