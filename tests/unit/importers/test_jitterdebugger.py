"""jitterdebugger: its units and other versions, and what is refused."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.importers import jitterdebugger
from hardstone.importers.reading import ReadSeries
from tests.unit.importers.one_file import SAMPLES, imported, losses, read, refused

RESULTS = SAMPLES / "jd-out" / "results.json"
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


@pytest.mark.parametrize(("unit", "least"), [(None, 700_000), ("us", 700_000), ("ns", 700)])
def test_text_of_either_unit(unit: str | None, least: int) -> None:
    text = "T: 0 (1) A: 0 C: 9 Min:       700 Avg: 900.00 Max:      1100 \n"
    assert imported(text, unit)[0].min == least


def test_values_that_fit_both_units_need_a_person() -> None:
    text = "T: 0 (1) A: 0 C: 9 Min:      1700 Avg:1900.00 Max:      2100 \n"
    with pytest.raises(InputError, match=r"shortest wake-up is 1700 ns, .*, or 1700 us") as caught:
        imported(text, None)[0]
    assert "--unit ns" in str(caught.value.remedy)


@pytest.mark.parametrize(("unit", "least"), [("us", 1_700_000), ("ns", 1700)])
def test_the_unit_that_a_person_names_wins(unit: str | None, least: int) -> None:
    text = "T: 0 (1) A: 0 C: 9 Min:      1700 Avg:1900.00 Max:      2100 \n"
    one = imported(text, unit)[0]
    assert (one.min, one.max) == (least, least // 17 * 21)


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
