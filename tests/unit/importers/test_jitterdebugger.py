"""jitterdebugger: its units and other versions, and what is refused."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.importers import jitterdebugger
from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import imported, read, refused, sample, told

RESULTS = sample("jd-out/results.json").decode()
LINE = "T: 0 (19697) A: 3 C:      4985 Min:         5 Avg:   25.61 Max:      1770 \x1b[K\n"
RECORD, SHORT = struct.Struct("<IqqQ"), struct.Struct("<IiiQ")


def changed(**changes: Any) -> str:
    """results.json with changes of CPU 0; None leaves a key out."""
    document = json.loads(RESULTS)
    entry = {**document["cpu"]["0"], **changes}
    document["cpu"]["0"] = {key: value for key, value in entry.items() if value is not None}
    return json.dumps(document).replace('"-nan"', "-nan")


def samples(unit_ns: int, *, count: int = 40, late: int = 5) -> bytes:
    """Samples of a thread with an interval of 500 us, in units of `unit_ns`."""
    found = b""
    for number in range(count):
        late_ns = 12_345 + number * 1717 % (1 + late * 999)
        at_ns = 1_000_000_000_000_123 + number * 500_000 + late_ns
        found += RECORD.pack(0, at_ns // 10**9, at_ns % 10**9, late_ns // unit_ns)
    return found


def two_lines(old: str, new: str) -> str:
    return LINE.replace(old, new) + LINE.replace("T: 0", "T: 1") + "\n"


SAMPLES, MANY = samples(1000), samples(1000, count=200)
ROWS = list(RECORD.iter_unpack(SAMPLES))
OLD = json.loads(RESULTS)
del OLD["version"], OLD["sysinfo"]
IN_NS = {
    "version": 3,
    "sysinfo": {"cpus_online": 4, "resolution_in_ns": 1, "colour": "red"},
    "cpu": {
        "0": {
            "histogram": {"900": 1, "999999": 2},
            **{"count": 4, "min": 900, "max": 1_000_400, "avg": 750_324.50},
        }
    },
}
TEXTS: dict[str, bytes | str] = {
    "text that is cut in its maximum": LINE + LINE[: LINE.index("1770") + 2],
    "text that is cut after its maximum": LINE[: LINE.index("1770") + 4],
    "the break names unit and CPU": LINE + "Thread 19697 on CPU 0 hit 1770 ns latency\n",
    "a maximum below the mean": two_lines("Max:      1770", "Max:        20"),
    "a mean of no values": two_lines("Avg:   25.61", "Avg:    -nan"),
    "a broken line": two_lines("Min:", "Mix:"),
    "two runs": LINE + LINE + LINE.replace("19697", "19698"),
    "a thread without values": LINE.replace("4985", "   0")
    .replace("25.61", " -nan")
    .replace("Min:         5", f"Min:{2**64 - 1}")
    + LINE.replace("T: 0", "T: 1"),
    "samples in ns": samples(1),
    "samples in us": SAMPLES,
    "few samples do not show their unit": samples(1000, count=5),
    "samples of one value do not show their unit": samples(1000, late=0),
    "samples that fit no unit": b"".join(RECORD.pack(*row, n * 7 % 1009) for *row, n in ROWS),
    "samples of a cut file": SAMPLES[:-3],
    "samples of a system with short time": b"".join(SHORT.pack(*row) for row in ROWS),
    "a sample with too many ns": MANY[: 150 * 28]
    + RECORD.pack(0, 5, 2 * 10**9, 9)
    + MANY[151 * 28 :],
    "a sample twice": MANY[: 150 * 28] + MANY[149 * 28 :],
    "samples as CSV": "0;1114.936950838;9\n1;1114.936951000;4\n0;1114.937950838;3\n0;1114.9389",
    "a negative sample as CSV": "0;1.000000009;9\n0;1.000000010;-1\n",
    # Without the number of CPUs, what it calls CPU is the number of the thread.
    "results before version 3 are in us": json.dumps(OLD),
    "results in ns, of one thread and four CPUs": json.dumps(IN_NS),
    "results of a thread that never ran": changed(
        histogram={}, count=0, min=2**64 - 1, max=0, avg="-nan"
    ),
    "results without a count have an unknown overflow": changed(count=None),
    "fewer than in the histogram": changed(count=4981),
    "a negative count": changed(count=-1),
    "a large count": changed(count=2**70),
    "more than in the histogram, and a maximum within": changed(max=900),
    "a minimum below the histogram": changed(min=4),
    "a minimum above the maximum": changed(min=2000, max=1770),
    "a maximum above the histogram": changed(count=4982, max=1770),
    "a mean that does not fit": changed(avg=24.0),
    "a mean that is no number": changed(avg="x"),
    "a bucket with a text": changed(histogram={"5": "many"}),
    "a negative bucket": changed(histogram={"-5": 1}),
    "a histogram that is none": changed(histogram=[]),
    "another resolution": RESULTS.replace('_in_ns": 1000', '_in_ns": 10'),
    "no resolution": RESULTS.replace("resolution_in_ns", "resolution"),
    "a bucket twice": RESULTS.replace('"6": 2,', '"5": 2,', 1),
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(
        request, "jitterdebugger.txt", {name: told(text) for name, text in TEXTS.items()}
    )


def test_samples_of_a_system_with_short_time_are_the_same() -> None:
    short = read(TEXTS["samples of a system with short time"])
    assert short.series[0].values == read(SAMPLES).series[0].values


def test_what_is_no_json() -> None:
    """The rest is in the words of Python's library."""
    assert refused(RESULTS[:2000]).startswith("line 111, column 9: no JSON")
    assert refused('{"cpu": {"0": {"histogram": ' + "[" * 100_000).startswith("no JSON: too many")


@pytest.mark.parametrize(
    ("shortest", "unit", "least"),
    [
        *((700, None, 700_000), (700, "us", 700_000), (700, "ns", 700)),
        *((1700, "us", 1_700_000), (1700, "ns", 1700)),
    ],
)
def test_text_of_either_unit(shortest: int, unit: str | None, least: int) -> None:
    """What a person names wins."""
    (one,) = imported(line_from(shortest), unit)
    assert (one.min, one.max) == (least, least + 400 * (least // shortest))


def line_from(shortest: int) -> str:
    return f"T: 0 (1) A: 0 C: 9 Min: {shortest} Avg: {shortest + 200}.00 Max: {shortest + 400} \n"


def test_values_that_fit_both_units_need_a_person() -> None:
    with pytest.raises(InputError, match=r"shortest wake-up is 1700 ns, .*, or 1700 us") as caught:
        imported(line_from(1700))
    assert "--unit ns" in str(caught.value.remedy)


@pytest.mark.parametrize("content", [b"", b"T: 0", bytes(280), b"a" * 280, b"\xff" * 280, b"{}"])
def test_what_is_not_recognised(content: bytes) -> None:
    assert not any(one.recognises(content) for one in jitterdebugger.FORMATS)
