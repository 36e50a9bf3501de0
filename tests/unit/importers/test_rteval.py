"""rteval's summary.xml and text report: files that are not as the samples, and what is refused."""

from __future__ import annotations

import pytest

from hardstone.systems.moments import load_moments
from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import refused, sample, told

SUMMARY = sample("made/rteval-summary.xml").decode()
REPORT = sample("made/rteval-3.1.txt").decode()
HEAD, REST = SUMMARY.split("      <system ")
LAST = SUMMARY[SUMMARY.index("      <timestamps>") :]
FIRST, SECOND = SUMMARY.index("    <cyclictest"), SUMMARY.index("    </Profile>")
STOPPED = (
    '<abort_report reason="breaktrace"><breaktrace latency_threshold="50" measured_latency="61"/>'
    "</abort_report>"
)
TEXTS = {
    # cyclictest found it, but it is in no bucket: nobody knows how many there were
    "a maximum beyond the buckets": SUMMARY.replace(
        '<maximum unit="us">19<', '<maximum unit="us">3500<'
    ),
    "old versions dropped what was beyond the buckets": SUMMARY.replace(
        '<rteval version="3.7">', '<rteval version="3.2">'
    ),
    "one value has no mean": REPORT.replace(
        "Samples:           59476", "Samples:           1"
    ).replace("Mean:              7.0us", "Mean:              0.0us"),
    "no loads": SUMMARY.replace('<Profile loads="1"', '<Profile loads="0"'),
    "two reports": REPORT * 2,
    "figures that were left out": HEAD + LAST,
    "figures that were left out at a threshold": HEAD + STOPPED + LAST,
    "a threshold beside figures": f"{HEAD}{STOPPED}      <system {REST}",
    "no latency test": SUMMARY.replace("cyclictest command", "sysstat command").replace(
        "/cyclictest", "/sysstat"
    ),
    "two latency tests": SUMMARY[:SECOND] + SUMMARY[FIRST:],
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "rteval.txt", {name: told(text) for name, text in TEXTS.items()})


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


def test_a_sum_of_three_latencies_differs_from_each() -> None:
    assert load_moments()["rteval"].series["timerlat-sum"].differs
