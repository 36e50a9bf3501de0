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
    ("old", "new", "cause"),
    [
        ("<rteval ", '<!DOCTYPE rteval [<!ENTITY a "b">]>\n<rteval ', "it has a DOCTYPE"),
        ("</rteval>", "", "line 132: no valid XML"),
        ('index="4" value="55"', 'index="4" value="56"', "CPU core 2 has 400 samples, but 401"),
        ('index="4" value="55"', 'index="4" value="-5"', "value of bucket 4 of CPU core 2 is '-5'"),
        ('index="4" value="55"', 'index="2" value="55"', "the buckets of CPU core 2 are not in"),
        ("<samples>400<", "<samples>4e2<", "samples of CPU core 2 is '4e2', no count"),
        ('<minimum unit="us">3<', '<minimum unit="ms">3<', "minimum of CPU core 3 is in 'ms'"),
        ('<minimum unit="us">3<', '<minimum unit="us">4<', "the buckets of CPU core 3 go beyond"),
        ('<core id="3"', '<core id="2"', "a CPU is in it twice"),
        ('<core id="3"', '<core id="three"', "'three' is no CPU"),
        ('encoding="UTF-8"', 'encoding="utf-9"', "no valid XML"),
        ("<cyclictest ", "<hwlatdetect ", "line 131: no valid XML"),
        ("    <Profile", "<a>" * 40 + "<Profile", "elements are nested more than 32 deep"),
    ],
)
def test_broken_xml(old: str, new: str, cause: str) -> None:
    assert old in SUMMARY
    refusal = refused(SUMMARY.replace(old, new))
    assert cause.partition(": ")[2] in refusal if cause.startswith("line") else cause in refusal


def test_no_latency_test_and_two() -> None:
    only = SUMMARY.replace("cyclictest command", "sysstat command").replace(
        "/cyclictest", "/sysstat"
    )
    assert "no latency test" in refused(only)
    begin, end = SUMMARY.index("    <cyclictest"), SUMMARY.index("    </Profile>")
    assert "more than one latency test" in refused(SUMMARY[:end] + SUMMARY[begin:])


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("Samples:           59476", "Samples:           59 476", "has no number of samples"),
        ("Samples:           59476", "Samples:           many", "Samples is 'many', no count"),
        ("Max:               1887us", "Max:               1887ms", "is no Max in us"),
        ("Max:               1887us", "Max:               2us", "are not in order"),
        ("CPU core 1 ", "CPU core x ", "names no CPU"),
        ("CPU core 1 ", "CPU core 0 ", "a CPU is in it twice"),
    ],
)
def test_broken_text(old: str, new: str, cause: str) -> None:
    assert cause in refused(REPORT.replace(old, new))
    assert "a second report" in refused(REPORT * 2)
