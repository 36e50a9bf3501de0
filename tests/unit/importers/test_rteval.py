"""rteval's summary.xml and text report: figures taken by hand, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.importers import rteval
from hardstone.importers.reading import Reading
from hardstone.systems.moments import load_moments

MADE = Path(__file__).parents[2] / "samples" / "made"
SUMMARY = (MADE / "rteval-summary.xml").read_text("utf-8")
REPORT = (MADE / "rteval-3.1.txt").read_text("utf-8")


def _read(text: str) -> Reading:
    content = text.encode()
    (found,) = [one for one in rteval.FORMATS if one.recognises(content)]
    return found.read(content)


def _refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        _read(text)
    assert "\n" not in str(caught.value)
    return caught.value.cause


def _losses(reading: Reading) -> dict[str, str]:
    return {loss.what: loss.text for loss in reading.losses}


def test_summary_of_cyclictest() -> None:
    reading = _read(SUMMARY)
    first, second = reading.series
    assert (first.name, first.labels, second.labels) == ("wakeup", {"cpu": 2}, {"cpu": 3})
    assert (first.count, first.min, first.max, first.mean) == (400, 2000, 16_000, 4410.0)
    assert first.stddev == pytest.approx(2907.409943825197)
    assert first.buckets is not None
    assert first.buckets[:2] == [(2000, 128), (3000, 80)] and first.buckets[-1] == (16_000, 2)
    assert (second.count, second.min, second.max) == (399, 3000, 19_000)
    assert (first.step_ns, first.bucket_width_ns, first.overflow) == (1000, 1000, 0)
    assert reading.command == "cyclictest -i100 -qmu -h 3500 -p95 -t2 -a2-3"
    assert reading.params == {"interval_ns": 100_000} and reading.version == "3.7"
    assert reading.duration_ns == 60_002_103_000


def test_machine_and_load() -> None:
    reading = _read(SUMMARY)
    assert reading.facts == {
        "kernel.name": "Linux",
        "kernel.release": "6.6.14-rt21",
        "kernel.preemption": "rt",
        "kernel.realtime": True,
        "kernel.clocksource": "tsc",
        "kernel.clocksources": "tsc hpet acpi_pm",
        "kernel.cmdline": "BOOT_IMAGE=/vmlinuz-6.6.14-rt21 root=/dev/sda2 isolcpus=2,3 "
        "nohz_full=2,3",
        "machine.node": "board",
        "machine.arch": "x86_64",
        "machine.product": "Board 4",
        "os.name": "Fedora release 39 (Thirty Nine)",
        "cpu.count": 4,
    }
    conditions = reading.conditions
    assert conditions.load == "rteval: kcompile, hackbench"
    assert (conditions.policy, conditions.priority, conditions.cpu) == ("fifo", 95, None)
    assert conditions.memory_locked
    assert _read(SUMMARY.replace('<Profile loads="1"', '<Profile loads="0"')).conditions.load == (
        "none"
    )


def test_what_rteval_computed_is_kept_and_not_shown_as_a_figure() -> None:
    unknown = _read(SUMMARY).unknown
    assert unknown["system.median_us"] == '"4"' and unknown["CPU core 3.mode_us"] == '"3"'
    assert unknown["run_info.annotate"] == '"nightly & quick"'


def test_timerlat_is_a_sum_of_three_latencies() -> None:
    reading = _read((MADE / "rteval-timerlat.xml").read_text("utf-8"))
    first, _ = reading.series
    assert (first.name, first.count, first.min, first.max) == ("timerlat-sum", 240, 1000, 23_000)
    assert first.overflow is None and "added into one" in _losses(reading)["distribution"]
    moments = load_moments()["rteval"].series["timerlat-sum"]
    assert moments.test == "rteval" and moments.differs


def test_a_maximum_beyond_the_buckets() -> None:
    """cyclictest found it, but the value is in no bucket: nobody knows how many there were."""
    reading = _read(SUMMARY.replace('<maximum unit="us">19<', '<maximum unit="us">3500<'))
    assert reading.series[1].max == 3_500_000 and reading.series[1].overflow is None
    assert reading.series[0].overflow == 0


def test_old_versions_dropped_what_was_beyond_the_buckets() -> None:
    reading = _read(SUMMARY.replace('<rteval version="3.7">', '<rteval version="3.2">'))
    assert [one.overflow for one in reading.series] == [None, None]
    assert "larger values" in _losses(reading)["extremes"]


def test_one_value_has_no_mean() -> None:
    text = REPORT.replace("Samples:           59476", "Samples:           1").replace(
        "Mean:              7.0us", "Mean:              0.0us"
    )
    first, _ = _read(text).series
    assert (first.count, first.mean, first.stddev) == (1, None, None)


def test_text_report() -> None:
    reading = _read(REPORT)
    first, second = reading.series
    assert (reading.format, reading.version) == ("text", "3.1")
    assert (first.labels, first.count, first.min, first.max) == (
        *({"cpu": 0}, 59_476, 3000, 1_887_000),
    )
    assert (first.mean, first.stddev) == (7000.0, 33_000.0)
    assert (second.count, second.max, second.buckets) == (59_531, 1_861_000, None)
    assert reading.command == "cyclictest  -qmu -h 2000 -p95 -t -a"
    assert reading.conditions.load == "rteval: kcompile, hackbench"
    assert reading.facts["kernel.release"] == "5.16.20-200.fc35.x86_64"
    assert reading.facts["kernel.realtime"] is False and "kernel.preemption" not in reading.facts
    losses = _losses(reading)
    assert losses["values"].startswith(
        "The system has 476376 values, but the CPUs in the file have"
    )
    assert {"distribution", "extremes", "time"} <= set(losses)
    assert reading.unknown["CPU core 1.median_us"] == '"0"'  # as rteval 3.1 computed it


def test_figures_that_were_left_out() -> None:
    begin, end = SUMMARY.index("      <system "), SUMMARY.index("      <timestamps>")
    assert "beyond its histogram" in _refusal(SUMMARY[:begin] + SUMMARY[end:])
    stopped = (
        '<abort_report reason="breaktrace"><breaktrace latency_threshold="50" '
        'measured_latency="61"/></abort_report>'
    )
    assert "stopped at its threshold" in _refusal(SUMMARY[:begin] + stopped + SUMMARY[end:])
    reading = _read(SUMMARY[:begin] + stopped + SUMMARY[begin:])
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
    refusal = _refusal(SUMMARY.replace(old, new))
    assert cause.partition(": ")[2] in refusal if cause.startswith("line") else cause in refusal


def test_no_latency_test_and_two() -> None:
    only = SUMMARY.replace("cyclictest command", "sysstat command").replace(
        "/cyclictest", "/sysstat"
    )
    assert "no latency test" in _refusal(only)
    begin, end = SUMMARY.index("    <cyclictest"), SUMMARY.index("    </Profile>")
    assert "more than one latency test" in _refusal(SUMMARY[:end] + SUMMARY[begin:])


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
    assert cause in _refusal(REPORT.replace(old, new))
    assert "a second report" in _refusal(REPORT * 2)
