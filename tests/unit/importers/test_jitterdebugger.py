"""jitterdebugger: figures taken from each file by hand, its other versions, and what is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.importers import jitterdebugger
from hardstone.importers.imported import Added, document_of
from hardstone.importers.reading import ReadSeries
from hardstone.importers.recognise import SourceFile
from hardstone.model import Series
from tests.unit.importers.one_file import losses, read, refused

SAMPLES = Path(__file__).parents[2] / "samples"
RESULTS = SAMPLES / "jd-out" / "results.json"
RAW = SAMPLES / "jd-out" / "samples.raw"
LINE = "T: 0 (19697) A: 3 C:      4985 Min:         5 Avg:   25.61 Max:      1770 \x1b[K\n"
RECORD = struct.Struct("<IqqQ")


def figures(one: ReadSeries) -> tuple[int | None, int | None, float | None, int | None]:
    return one.count, one.min, one.mean, one.max


def changed(**changes: Any) -> bytes:
    """results.json with changes of CPU 0; None leaves a key out."""
    document = json.loads(RESULTS.read_bytes())
    entry = {**document["cpu"]["0"], **changes}
    document["cpu"]["0"] = {key: value for key, value in entry.items() if value is not None}
    return json.dumps(document).encode()


def test_results_with_values_beyond_the_histogram() -> None:
    reading = read(RESULTS.read_bytes())
    first, second = reading.series
    assert figures(first) == (4985, 5000, 25610.0, 1_770_000)
    assert figures(second) == (4972, 6000, 28170.0, 1_452_000)
    assert (first.labels, second.labels) == ({"cpu": 0}, {"cpu": 1})
    assert (first.overflow, second.overflow) == (3, 4)  # 4985 - 4982, 4972 - 4968
    assert first.buckets is not None
    assert first.buckets[:2] == [(5000, 2), (6000, 2)]
    # The last bucket of the tool shows where the three values are: at 1 ms and above.
    assert first.buckets[-2:] == [(794_000, 1), (999_000, 0)]
    assert (first.bucket_width_ns, first.step_ns) == (1000, 1000)
    assert reading.facts == {
        "kernel.name": "Linux",
        "machine.node": "vm",
        "kernel.release": "6.18.44-fc-v657",
        "kernel.version": "#1 SMP PREEMPT_DYNAMIC @0",
        "machine.arch": "x86_64",
        "cpu.count": 2,
    }
    assert not reading.unknown and not reading.losses and not reading.is_cut
    assert reading.conditions.dma_latency_us == 0 and reading.conditions.memory_locked


def test_results_of_a_run_that_broke_off() -> None:
    first, second = read((SAMPLES / "jd-break" / "results.json").read_bytes()).series
    assert figures(first) == (44, 12_000, 24_800.0, 54_000)
    assert figures(second) == (43, 11_000, 31_600.0, 187_000)
    assert (first.overflow, second.overflow) == (0, 0)
    assert second.buckets is not None and second.buckets[-1] == (187_000, 1)


def test_text_that_has_the_results_too() -> None:
    reading = read((SAMPLES / "qemu-jitterdebugger-rt.stdout").read_bytes())
    first, second = reading.series
    assert figures(first) == (3821, 37_000, 2_336_500.0, 33_525_000)
    assert figures(second) == (3685, 36_000, 2_349_620.0, 23_111_000)
    assert (first.overflow, second.overflow) == (1663, 1742)
    assert reading.facts["kernel.release"] == "6.1.0-56-rt-amd64"
    assert "unit" not in losses(reading)  # the JSON says it


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("b", [(44, 12_000, 24_800.0, 54_000), (43, 11_000, 31_600.0, 187_000)]),
        ("dir", [(4985, 5000, 25_610.0, 1_770_000), (4972, 6000, 28_170.0, 1_452_000)]),
        ("stdout", [(3995, 7000, 27_500.0, 1_220_000), (3990, 10_000, 32_700.0, 3_030_000)]),
    ],
)
def test_text(name: str, expected: list[tuple[int, int, float, int]]) -> None:
    reading = read((SAMPLES / f"jitterdebugger-{name}.stdout").read_bytes())
    assert [figures(one) for one in reading.series] == expected
    assert [one.labels for one in reading.series] == [{"cpu": 0}, {"cpu": 1}]
    assert all(one.buckets is None and one.values is None for one in reading.series)
    assert not reading.losses  # in ns they would be too short


def test_text_in_ns() -> None:
    reading = read((SAMPLES / "jitterdebugger-N.stdout").read_bytes())
    assert [figures(one) for one in reading.series] == [
        (2, 93_093, 102_921.5, 112_750),
        (2, 55_892, 75_000.5, 94_109),
    ]
    (loss,) = reading.losses
    assert loss.what == "unit" and "no wake-up would have taken less than 55 ms" in loss.text


@pytest.mark.parametrize(("unit", "least"), [(None, 700_000), ("us", 700_000), ("ns", 700)])
def test_text_of_either_unit(unit: str | None, least: int) -> None:
    text = "T: 0 (1) A: 0 C: 9 Min:       700 Avg: 900.00 Max:      1100 \n"
    assert imported_in(text, unit).min == least


def test_values_that_fit_both_units_need_a_person() -> None:
    text = "T: 0 (1) A: 0 C: 9 Min:      1700 Avg:1900.00 Max:      2100 \n"
    with pytest.raises(InputError, match=r"shortest wake-up is 1700 ns, .*, or 1700 us") as caught:
        imported_in(text, None)
    assert "--unit ns" in str(caught.value.remedy)


@pytest.mark.parametrize(("unit", "least"), [("us", 1_700_000), ("ns", 1700)])
def test_the_unit_that_a_person_names_wins(unit: str | None, least: int) -> None:
    text = "T: 0 (1) A: 0 C: 9 Min:      1700 Avg:1900.00 Max:      2100 \n"
    one = imported_in(text, unit)
    assert (one.min, one.max) == (least, least // 17 * 21)


def imported_in(text: str, unit: str | None) -> Series:
    content = text.encode()
    source = SourceFile(name="t", content=content, sha256="", size_bytes=len(content))
    run = document_of(read(content), source, "id", Added(unit=unit))
    return run.results[0].series[0]


def test_live_text_that_is_cut_in_a_line() -> None:
    reading = read((SAMPLES / "jitterdebugger-v.stdout").read_bytes())
    first, second = reading.series
    assert figures(first) == (1804, 7000, 41_620.0, 1_885_000)
    assert figures(second) == (1704, 11_000, 40_260.0, 1_542_000)  # of the screen before
    assert reading.is_cut


def test_text_that_is_cut_in_its_maximum() -> None:
    cut = LINE.encode() + LINE[: LINE.index("1770") + 2].encode()
    reading = read(cut)
    assert figures(reading.series[0]) == (4985, 5000, 25_610.0, 1_770_000)
    assert reading.is_cut
    whole = LINE[: LINE.index("1770") + 4].encode()
    assert not read(whole).is_cut


def test_the_break_names_unit_and_cpu_of_text() -> None:
    hit = "Thread 19697 on CPU 0 hit 1770 ns latency\n"
    reading = read((LINE + hit).encode())
    assert figures(reading.series[0]) == (4985, 5, 25.61, 1770)
    assert reading.series[0].labels == {"cpu": 3}
    assert not reading.losses
    assert reading.events[0].data == {"thread": 0, "value_ns": 1770}


def test_samples() -> None:
    reading = read(RAW.read_bytes())
    first, second = reading.series
    assert first.values is not None and second.values is not None
    assert (len(first.values), len(second.values)) == (4983, 4970)  # 278,684 bytes / 28
    assert first.values[:3] == [28_000, 18_000, 20_000]  # 0x1c, 0x12, 0x14 in the file
    assert (max(first.values), max(second.values)) == (1_770_000, 1_452_000)
    assert [one.value_ns for one in first.worst[:2]] == [1_770_000, 1_566_000]
    assert first.values[first.worst[0].index] == 1_770_000
    assert len(first.maxima_per_s) == 5 and max(filter(None, first.maxima_per_s)) == 1_770_000
    # Their times show the unit and the interval of 1 ms.
    assert reading.params == {"interval_ns": 1_000_000}
    assert losses(reading) == {"values", "conditions"}
    assert [one.labels for one in reading.series] == [{"thread": 0}, {"thread": 1}]


def samples(unit_ns: int, *, count: int = 40, late: int = 5) -> bytes:
    """Samples of a thread with an interval of 500 us, in units of `unit_ns`."""
    found = b""
    for number in range(count):
        late_ns = 12_345 + number * 1717 % (1 + late * 999)
        at_ns = 1_000_000_000_000_123 + number * 500_000 + late_ns
        found += RECORD.pack(0, at_ns // 10**9, at_ns % 10**9, late_ns // unit_ns)
    return found


@pytest.mark.parametrize("unit_ns", [1, 1000])
def test_samples_show_their_unit(unit_ns: int) -> None:
    reading = read(samples(unit_ns))
    values = reading.series[0].values
    assert values is not None and values[0] == 12_345 // unit_ns * unit_ns
    assert reading.params == {"interval_ns": 500_000}
    assert "unit" not in losses(reading)


def test_samples_that_do_not_show_their_unit() -> None:
    for content in (samples(1000, count=5), samples(1000, late=0)):
        reading = read(content)
        assert reading.series[0].step_ns == 1000
        assert "unit" in losses(reading)


def test_samples_that_fit_no_unit() -> None:
    rows = [RECORD.unpack(samples(1000)[at : at + 28]) for at in range(0, 40 * 28, 28)]
    odd = b"".join(RECORD.pack(t, s, ns, value * 7 % 1009) for t, s, ns, value in rows)
    assert refused(odd) == "its times and values do not fit together in us, nor in ns"


def test_samples_of_a_cut_file() -> None:
    reading = read(samples(1000)[:-3])
    assert reading.is_cut
    assert reading.series[0].values is not None and len(reading.series[0].values) == 39


def test_samples_of_a_system_with_short_time() -> None:
    short = struct.Struct("<IiiQ")
    rows = [RECORD.unpack(samples(1000)[at : at + 28]) for at in range(0, 40 * 28, 28)]
    packed = b"".join(short.pack(*row) for row in rows)
    assert read(packed).series[0].values == read(samples(1000)).series[0].values


def test_samples_as_csv() -> None:
    text = "0;1114.936950838;9\n1;1114.936951000;4\n0;1114.937950838;3\n0;1114.9389"
    reading = read(text.encode())
    assert [one.values for one in reading.series] == [[9000, 3000], [4000]]
    assert reading.is_cut and "unit" in losses(reading)
    assert (
        refused(b"0;1.000000009;9\n0;1.000000010;-1\n") == "line 2: '0;1.000000010;-1' is no sample"
    )


def test_damaged_samples_are_refused() -> None:
    content = samples(1000, count=200)
    bad = content[: 150 * 28] + RECORD.pack(0, 5, 2 * 10**9, 9) + content[151 * 28 :]
    assert refused(bad) == "record 151: it is no sample"
    doubled = content[: 150 * 28] + content[149 * 28 :]
    assert refused(doubled) == "record 151: its time is not after that of the one before"


@pytest.mark.parametrize("content", [b"", b"T: 0", bytes(280), b"a" * 280, b"\xff" * 280, b"{}"])
def test_what_is_not_recognised(content: bytes) -> None:
    assert not any(one.recognises(content) for one in jitterdebugger.FORMATS)


def test_results_before_version_3_are_in_us() -> None:
    document = json.loads(RESULTS.read_bytes())
    del document["version"], document["sysinfo"]
    reading = read(json.dumps(document).encode())
    assert reading.series[0].min == 5000
    # Without the number of CPUs, what it calls CPU is the number of the thread.
    assert reading.series[0].labels == {"thread": 0}
    assert losses(reading) == {"conditions"}


def test_results_in_ns() -> None:
    entry = {"histogram": {"900": 1, "999999": 2}, "count": 4, "min": 900, "max": 1_000_400}
    document = {
        "version": 3,
        "sysinfo": {"cpus_online": 4, "resolution_in_ns": 1, "colour": "red"},
        "cpu": {"0": {**entry, "avg": 750_324.50}},
    }
    reading = read(json.dumps(document).encode())
    (one,) = reading.series
    assert figures(one) == (4, 900, 750_324.5, 1_000_400)
    assert one.buckets == [(900, 1), (999_999, 2)] and one.overflow == 1
    assert one.labels == {"thread": 0}  # one thread, four CPUs
    assert reading.unknown == {"sysinfo.colour": '"red"'}


def test_a_thread_that_never_ran() -> None:
    text = RESULTS.read_text().replace('"avg": 25.61', '"avg": -nan')
    document = json.loads(text.replace("-nan", "null"))
    document["cpu"]["0"] |= {"histogram": {}, "count": 0, "min": 2**64 - 1, "max": 0}
    content = json.dumps(document).replace('"avg": null', '"avg": -nan').encode()
    assert figures(read(content).series[0]) == (0, None, None, None)


def test_results_without_a_count_have_an_unknown_overflow() -> None:
    one = read(changed(count=None)).series[0]
    assert (one.count, one.overflow) == (None, None)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"count": 4981}, "cpu.0: 4982 values in its histogram, but a count of 4981"),
        ({"count": -1}, "cpu.0: '-1' is not a count"),
        ({"count": 2**70}, f"cpu.0: '{2**70}' is not a count"),
        ({"max": 900}, "cpu.0: 3 of its values are not in its histogram, but its maximum of 900"),
        ({"min": 4}, "cpu.0: a minimum of 4, but its histogram begins at 5"),
        ({"min": 2000, "max": 1770}, "cpu.0: a minimum of 2000 above the maximum of 1770"),
        ({"count": 4982, "max": 1770}, "cpu.0: a maximum of 1770, but its histogram ends at 794"),
        ({"avg": 24.0}, "cpu.0: a mean of 24.0 does not fit its histogram"),
        ({"avg": "x"}, "cpu.0.avg: 'x' is not a number"),
        ({"histogram": {"5": "many"}}, "cpu.0.histogram.5: 'many' is not a count"),
        ({"histogram": {"-5": 1}}, "cpu.0.histogram: '-5' is not a count"),
        ({"histogram": []}, "cpu.0.histogram: '[]' is no object"),
    ],
)
def test_results_that_contradict_themselves(changes: dict[str, Any], cause: str) -> None:
    assert refused(changed(**changes)).startswith(cause)


def test_broken_results_are_refused() -> None:
    content = RESULTS.read_bytes()
    assert refused(content[:2000]).startswith("line 111, column 9: no JSON")
    assert refused(content.replace(b'_in_ns": 1000', b'_in_ns": 10')).endswith(
        "10 is neither 1 nor 1000"
    )
    assert "the unit is not known" in refused(content.replace(b"resolution_in_ns", b"resolution"))
    double = content.replace(b'"6": 2,', b'"5": 2,', 1)
    assert refused(double) == "'5' stands twice in one object"
    assert refused(b'{"cpu": {"0": {"histogram": ' + b"[" * 100_000).startswith("no JSON: too many")


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("Max:      1770", "Max:        20", "line 1: a mean of 25.61 is not from 5 to 20"),
        ("Avg:   25.61", "Avg:    -nan", "line 1: '-nan' is not a number"),
        ("Min:", "Mix:", "line 1: 'T: 0 (19697) A: 3 C:      4985 Mix:     …'"),
    ],
)
def test_broken_text_is_refused(old: str, new: str, cause: str) -> None:
    content = (LINE.replace(old, new) + LINE.replace("T: 0", "T: 1") + "\n").encode()
    assert refused(content).startswith(cause)


def test_text_of_two_runs_is_refused() -> None:
    again = LINE.replace("19697", "19698")
    assert refused((LINE + LINE + again).encode()) == "line 3: a second run begins"


def test_a_thread_without_values_in_text() -> None:
    line = (
        LINE.replace("4985", "   0")
        .replace("25.61", " -nan")
        .replace("Min:         5", f"Min:{2**64 - 1}")
    )
    assert figures(read((line + LINE.replace("T: 0", "T: 1")).encode()).series[0]) == (
        0,
        None,
        None,
        None,
    )
