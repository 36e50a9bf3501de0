"""cyclictest: each form of its output, with figures that were taken from the files by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.importers.recognise import SourceFile, read, recognise

SAMPLES = Path(__file__).parents[2] / "samples"
SUMMARY = "T: 0 ( 9929) P:90 I:1000 C:   4925 Min:      6 Act:   24 Avg:   51 Max:   16027\n"
HEAD = "Max CPUs = 2\nOnline CPUs = 2\nThread 0 Interval: 1500\n"


def source(content: str | bytes, name: str = "file") -> SourceFile:
    data = content.encode() if isinstance(content, str) else content
    return SourceFile(name=name, content=data, sha256="", size_bytes=len(data))


def sample(name: str) -> Reading:
    return read(source((SAMPLES / name).read_bytes(), name))


def figures(one: ReadSeries) -> tuple[object, ...]:
    return one.count, one.min, one.mean, one.max, one.overflow


def losses(reading: Reading) -> set[str]:
    return {loss.what for loss in reading.losses}


def document(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLES / "cyclictest-hist.json").read_text())
    return {**found, **changed}


def as_json(**changed: Any) -> Reading:
    return read(source(json.dumps(document(**changed))))


SUMMARIES = {
    "cyclictest-q.stdout": [(4925, 6000, 51_000, 16_027_000), (3334, 9000, 24_000, 339_000)],
    "cyclictest-json.stdout": [(9944, 5000, 19_000, 4_896_000), (4987, 6000, 20_000, 1_976_000)],
    "cyclictest-nsecs.stdout": [(2929, 5695, 48_700, 7_763_042)],
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_has_no_distribution(name: str) -> None:
    reading = sample(name)
    assert [figures(one)[:4] for one in reading.series] == SUMMARIES[name]
    assert all(one.buckets is None and one.values is None for one in reading.series)
    assert [one.labels for one in reading.series] == [{"thread": n} for n in (0, 1)][
        : len(reading.series)
    ]
    assert reading.conditions.dma_latency_us == 0
    assert reading.conditions.priority == 90 and reading.conditions.realtime is True
    assert reading.conditions.policy is None  # fifo or rr
    assert {"mean", "conditions"} <= losses(reading) and "unit" not in losses(reading)


def test_the_widths_of_a_summary_tell_its_unit() -> None:
    assert sample("cyclictest-nsecs.stdout").series[0].step_ns == 1
    assert sample("cyclictest-q.stdout").series[0].step_ns == 1000
    wide = SUMMARY.replace("Act:   24 Avg:   51", "Act:123456 Avg:654321")
    assert "unit" not in losses(read(source(wide)))
    collapsed = " ".join(SUMMARY.replace("Min:      6", "Min:    600").split()) + "\n"
    assert "unit" in losses(read(source(collapsed)))


def test_threads_of_a_summary_have_their_own_intervals() -> None:
    params = sample("cyclictest-q.stdout").params
    assert params == {"interval_ns": 1_000_000, "intervals_us": "1000,1500"}


HISTOGRAMS = {
    "cyclictest-hist.stdout": (
        (15_769 + 24, 5000, 21_000, 10_975_000, 24),
        (15_759 + 34, 6000, 24_000, 11_070_000, 34),
    ),
    "cyclictest-hist-overflow.stdout": (
        (7259 + 740, 5000, 14_000, 906_000, 740),
        (7349 + 646, 4000, 14_000, 350_000, 646),
    ),
    "cyclictest-histfile.txt": (
        (7976 + 9, 4000, 14_000, 2_667_000, 9),
        (7970 + 5, 4000, 13_000, 2_187_000, 5),
    ),
    "qemu-cyclictest-rt.stdout": (
        (2750 + 1033, 47_000, 570_000, 15_375_000, 1033),
        (2305 + 1204, 46_000, 680_000, 16_745_000, 1204),
    ),
    "cyclictest-ns2.stdout": ((1986 + 12, 9000, 32_000, 2_225_000, 12),),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_a_histogram_counts_what_is_above_it(name: str) -> None:
    reading = sample(name)
    assert tuple(figures(one) for one in reading.series) == HISTOGRAMS[name]
    assert not reading.is_cut and "unit" not in losses(reading)  # ns would be too short
    for one in reading.series:
        assert one.buckets is not None and one.bucket_width_ns == one.step_ns == 1000
        assert sum(count for _, count in one.buckets) + (one.overflow or 0) == one.count


def test_rows_of_a_histogram_are_its_buckets() -> None:
    first, second = sample("cyclictest-hist-overflow.stdout").series
    assert first.buckets is not None and second.buckets is not None
    assert first.buckets[:3] == [(5000, 9), (6000, 225), (7000, 514)]
    assert second.buckets[0] == (4000, 17) and second.buckets[-1] == (19_000, 87)


def test_cycles_above_the_histogram_are_kept() -> None:
    first, second = sample("cyclictest-hist-overflow.stdout").events
    assert first.data["overflow_count"] == 740 and second.data["overflow_count"] == 646
    assert first.data["cycles"][:4] == [4, 5, 7, 8]  # type: ignore[index]


def test_an_empty_last_row_says_where_the_overflow_begins() -> None:
    for one in sample("cyclictest-hist.stdout").series:
        assert one.buckets is not None and one.buckets[-1] == (399_000, 0)
    for one in sample("cyclictest-hist.json").series:
        assert one.buckets is not None and one.buckets[-1] == (399_000, 0)


HISTOFALL = """# Histogram
000000 000001\t000002\t000003
000001 000000\t000004\t000004
# Total: 000000001 000000006 000000007
# Min Latencies: 00000 00000
# Avg Latencies: 00000 00000
# Max Latencies: 00000 00009 00009
# Histogram Overflows: 00000 00001 00001
"""


def test_the_sum_of_histofall_is_no_thread() -> None:
    first, second = read(source(HISTOFALL)).series
    assert figures(first) == (1, 0, 0, 0, 0) and figures(second) == (7, 0, 0, 9000, 1)
    without = "".join(HISTOFALL.splitlines(keepends=True)[:3])
    cut = read(source(without))
    assert len(cut.series) == 2 and cut.is_cut and cut.series[0].overflow is None
    with pytest.raises(InputError, match="row 1: the last column is not the sum"):
        read(source(HISTOFALL.replace("000004\t000004", "000004\t000005")))


def test_a_histogram_that_is_cut_off_has_no_overflow() -> None:
    whole = (SAMPLES / "cyclictest-hist.stdout").read_bytes()
    for size in (3000, 3004, whole.index(b"# Max")):
        reading = read(source(whole[:size]))
        assert reading.is_cut and {one.overflow for one in reading.series} == {None}
        assert {one.max for one in reading.series} == {None}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("000001 000000\t", "000001 00x000\t", "line 3: .* is not a row"),
        ("000001 000000\t000004\t", "000001 ", "line 3: .* is not a row"),
        ("000001 ", "000000 ", "line 3: .* more than one histogram"),
        ("# Min Latencies: 00000 00000", "# Min Latencies: 00000", "minima of 1 threads"),
        ("Overflows: 00000 00001 00001", "Overflows: 00000", "1 figures of 2 threads"),
        ("# Max Latencies: 00000", "# Max Latencies: x", "is not as cyclictest prints it"),
    ],
)
def test_a_broken_histogram_names_its_line(old: str, new: str, problem: str) -> None:
    assert old in HISTOFALL
    with pytest.raises(InputError, match=problem):
        read(source(HISTOFALL.replace(old, new)))


def test_a_value_below_0_is_printed_unsigned() -> None:
    text = HISTOFALL.replace("Max Latencies: 00000 00009", f"Max Latencies: 00000 {2**64 - 3}")
    assert read(source(text)).series[1].max == -3000


def test_single_values_of_one_and_of_two_threads() -> None:
    one = sample("cyclictest-v.stdout").series
    assert [len(series.values or ()) for series in one] == [2000]
    assert list(one[0].values or ())[:4] == [24_000, 20_000, 22_000, 25_000]
    assert max(one[0].values or ()) == 2_899_000
    first, second = sample("cyclictest-v-2threads.stdout").series
    assert (first.count, second.count) == (500, 336)
    assert sum(first.values or ()) == 10_823_000 and max(second.values or ()) == 781_000
    assert first.labels == {"thread": 0} and second.labels == {"thread": 1}


def lines(*samples: tuple[int, int]) -> str:
    return HEAD + "".join(f"{0:8d}:{cycle:8d}:{value:8d}\n" for cycle, value in samples)


def test_the_largest_of_several_values_is_no_distribution() -> None:
    reduced = read(source(lines((1, 30), (5, 90))))
    (series,) = reduced.series
    assert series.values is None and series.max == 90_000 and series.min is None
    assert series.count is None and "single values" in losses(reduced)
    (known,) = read(source(lines((0, 30), (3, 20), (5, 90), (6, 10), (9, 50)))).series
    assert known.count == 10


def test_lines_that_are_missing_are_an_error() -> None:
    with pytest.raises(InputError, match="gaps or begin again"):
        read(source(lines((0, 5), (1, 5), (9, 5), (10, 5))))
    with pytest.raises(InputError, match="gaps or begin again"):
        read(source(lines((0, 5), (1, 5), (0, 5), (1, 5))))


def test_values_of_0_have_the_cycle_of_an_earlier_line() -> None:
    (series,) = read(source(lines((0, 5), (0, 0), (0, 0), (3, 7)))).series
    assert list(series.values or ()) == [5000, 0, 0, 7000]


def test_values_that_are_not_in_the_file_are_counted() -> None:
    begun = read(source(lines((500, 5), (501, 6))))
    assert any("begin with cycle 500" in loss.text for loss in begun.losses)
    summary = SUMMARY.replace("   4925", "      7")
    ended = read(source(lines((0, 5), (1, 6)) + summary))
    assert any("The last 5 values" in loss.text for loss in ended.losses)


def test_a_time_of_day_is_no_value() -> None:
    reading = read(source(lines((0, 5)) + "12:34:56\n"))
    assert [one.labels for one in reading.series] == [{"thread": 0}]
    assert reading.unknown == {"line 5": '"12:34:56"'}


def test_json_has_the_command_the_machine_and_the_time() -> None:
    reading = sample("cyclictest-hist.json")
    assert reading.version == "2.40" and reading.started_utc == "2026-11-21T01:40:39Z"
    assert reading.duration_ns == 8_000_000_000
    assert reading.params == {"interval_ns": 500_000}
    where = reading.conditions
    assert (where.policy, where.priority, where.clock) == ("fifo", 90, "monotonic")
    assert where.memory_locked is True
    assert reading.facts["kernel.release"] == "6.18.44-fc-v657"
    assert reading.facts["kernel.realtime"] is False
    assert not reading.losses and not reading.unknown


def test_json_has_its_overflow_as_a_difference() -> None:
    first, second = sample("cyclictest-hist.json").series
    assert figures(first) == (15_793, 5000, 21_580.0, 10_975_000, 24)
    assert figures(second) == (15_793, 6000, 24_380.0, 11_070_000, 34)
    assert first.labels == {"cpu": 0} and second.labels == {"cpu": 1}
    assert first.buckets is not None and first.buckets[:2] == [(5000, 40), (6000, 305)]


def test_threads_of_one_cpu_are_told_apart() -> None:
    found = document()
    found["thread"]["1"]["cpu"] = 0
    found["thread"]["2"] = {**found["thread"]["1"], "cpu": 5}
    assert [one.labels for one in read(source(json.dumps(found))).series] == [
        {"cpu": 0, "thread": 0},
        {"cpu": 0, "thread": 1},
        {"cpu": 5},
    ]


def test_json_in_ns_is_exact() -> None:
    (series,) = sample("cyclictest-ns.json").series
    assert figures(series) == (2999, 5387, 18_517.19, 1_835_692, 38)
    assert series.step_ns == series.bucket_width_ns == 1
    assert series.buckets is not None and series.buckets[0] == (5387, 1)


def test_an_empty_histogram_of_json_was_not_asked_for() -> None:
    first, _ = sample("cyclictest-S.json").series
    assert first.buckets is None and first.count == 9944 and first.max == 4_896_000
    assert sample("cyclictest-S.json").params["intervals_us"] == "500,1000"
    asked = document(**{"cmdline:": "cyclictest -h5 -S"})
    asked["thread"]["0"]["histogram"] = {}
    (all_above, _) = read(source(json.dumps(asked))).series
    assert all_above.buckets == [(4000, 0)] and all_above.overflow == 15_793


def test_a_thread_that_never_ran_has_no_figures() -> None:
    text = sample("cyclictest-tracemark.stdout")
    assert figures(text.series[0])[:4] == (13, 6000, 29_000, 141_000)
    assert figures(text.series[1])[:4] == (0, None, None, None)
    never = {"cycles": 0, "min": 1_000_000, "max": 0, "avg": "-nan", "cpu": 1, "node": -1}
    content = json.dumps(document(thread={"0": never})).replace('"-nan"', "-nan")
    (series,) = read(source(content)).series
    assert figures(series)[:4] == (0, None, None, None)


def test_a_stop_by_a_limit_is_an_event() -> None:
    (event,) = sample("cyclictest-tracemark.stdout").events
    assert event.data == {"value_ns": 141_000, "thread_id": 10_905}


def test_a_minimum_that_was_never_undercut_is_not_known() -> None:
    thread = {"cycles": 9, "min": 1_000_000, "max": 3_000_000, "avg": 2e6, "cpu": 0, "node": 0}
    (series,) = as_json(resolution_in_ns=1, thread={"0": thread}).series
    assert series.min is None and series.max == 3_000_000


def test_keys_with_and_without_a_colon_are_the_same() -> None:
    found = document()
    plain = {key.removesuffix(":"): value for key, value in found.items()}
    assert read(source(json.dumps(plain))) == read(source(json.dumps(found)))


def test_unknown_keys_are_kept() -> None:
    found = document(extra={"a": 1})
    found["thread"]["0"]["smi"] = 7
    found["sysinfo"]["cores"] = 2
    reading = read(source(json.dumps(found)))
    assert reading.unknown == {"extra": '{"a":1}', "thread.0.smi": "7", "sysinfo.cores": "2"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cyclictest", ("other", 0, False, "monotonic")),
        ("cyclictest -p 80", ("fifo", 80, True, "monotonic")),
        ("/usr/bin/cyclictest -mSp95 -c1", ("fifo", 95, True, "realtime")),
        ("cyclictest --policy=rr --priority 7", ("rr", 7, True, "monotonic")),
        ("cyclictest --policy rr -t4", ("rr", 3, True, "monotonic")),
        ("cyclictest --policy=batch", ("batch", 0, False, "monotonic")),
    ],
)
def test_the_command_tells_the_scheduling(command: str, expected: tuple[object, ...]) -> None:
    where = as_json(**{"cmdline:": command}).conditions
    assert (where.policy, where.priority, where.realtime, where.clock) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cyclictest -S", "1000,1500"),
        ("cyclictest -S -d0 -i 250", None),
        ("cyclictest -d 100 -i250", "250,350"),
        ("cyclictest -S -H 400", None),
    ],
)
def test_the_command_tells_the_intervals(command: str, expected: str | None) -> None:
    assert as_json(**{"cmdline:": command}).params.get("intervals_us") == expected


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cyclictest -r", "wakeup-relative"),
        ("cyclictest --system", "wakeup-relative"),
        ("cyclictest -x", "wakeup-signal"),
        ("cyclictest -x -r", "wakeup-signal"),
        ("cyclictest -xs", "wakeup-signal"),
        ("cyclictest -q --resolution", "wakeup"),
    ],
)
def test_the_command_tells_what_is_measured(command: str, name: str) -> None:
    assert {one.name for one in as_json(**{"cmdline:": command}).series} == {name}


def test_without_unit_or_command_microseconds_are_assumed() -> None:
    found = document()
    del found["cmdline:"]
    assert recognise(source(json.dumps(found))).title == "cyclictest, JSON"
    del found["resolution_in_ns"]
    content = json.dumps(found)
    with pytest.raises(InputError):  # nothing says that it is of cyclictest
        recognise(source(content))
    reading = read(source(content), "cyclictest")
    assert reading.series[0].min == 5000 and "unit" not in losses(reading)
    named = document(**{"cmdline:": "cyclictest -N"})
    del named["resolution_in_ns"]
    assert read(source(json.dumps(named))).series[0].min == 5


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"thread": {}}, "thread: 0 threads"),
        ({"thread": {"0": 7}}, "thread.0: it is not an object"),
        ({"thread": {"0": {"cycles": -1}}}, "thread.0.cycles: -1 is not a count"),
        ({"thread": {"0": {"cycles": 1, "min": 1.5}}}, "thread.0.min: '1.5' is not a whole number"),
        ({"thread": {"0": {"cycles": 1, "avg": "x"}}}, "thread.0.avg: 'x' is not a mean"),
        ({"thread": {"0": {"cycles": 1, "histogram": {"x": 1}}}}, "thread.0: 'x' is not a count"),
        ({"thread": {"0": {"cycles": 1, "histogram": 5}}}, "histogram: it is not an object"),
        ({"thread": {"0": {"cycles": 1, "histogram": {"1": -1}}}}, "-1 is not a count"),
        ({"resolution_in_ns": 5}, "resolution_in_ns: '5' is not 0 or 1"),
    ],
)
def test_broken_json_is_refused_in_one_line(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem) as error:
        as_json(**change)
    assert "\n" not in str(error.value)


def test_json_is_found_among_lines_of_the_tool() -> None:
    text = json.dumps(document(), indent=2)
    mixed = f"# /dev/cpu_dma_latency set to 0us\n{SUMMARY}{text}\n# Thread Ids: 7\n"
    assert read(source(mixed)).series == sample("cyclictest-hist.json").series
    with pytest.raises(InputError, match="it has 2 results"):
        read(source(text + "\n" + text))
    with pytest.raises(InputError, match="it is no JSON from here on"):
        read(source(text[:-50]))


def live(*counts: int) -> str:
    """The display of two threads, which moves the cursor up after each time but the last."""
    screens = [
        f"policy: fifo: loadavg: 0.00 0.01 0.05 1/110 9999          \n\n"
        f"T: 0 ( 9929) P:90 I:1000 C:{count:7d} Min:      6 Act:   24 Avg:   51 Max: {count:7d}\n"
        f"T: 1 ( 9930) P:89 I:1500 C:{count:7d} Min:      7 Act:   24 Avg:   51 Max: {count:7d}\n"
        for count in counts
    ]
    return "# /dev/cpu_dma_latency set to 0us\n" + "\x1b[4A".join(screens)


def test_a_live_display_counts_as_it_ended() -> None:
    reading = read(source(live(10, 200, 3000)))
    assert [figures(one)[:4] for one in reading.series] == [
        (3000, 6000, 51_000, 3_000_000),
        (3000, 7000, 51_000, 3_000_000),
    ]
    assert reading.conditions.policy == "fifo" and not reading.unknown
    stopped = read(source(live(10, 200).replace("T: 0", "^CT: 0")))
    assert stopped.series[0].count == 200


def test_a_line_that_gets_shorter_leaves_no_digits() -> None:
    wide = live(10).replace("Act:   24", "Act:1234567")
    reading = read(source(wide + "\x1b[4A" + live(200).split("\n", 1)[1]))
    assert [one.max for one in reading.series] == [200_000, 200_000]


def test_the_value_that_broke_a_run_is_its_maximum() -> None:
    """A live display does not show it any more."""
    text = live(10, 20) + "# Thread Ids: 9929 9930\n# Break thread: 9930\n# Break value: 777\n"
    reading = read(source(text))
    assert [one.max for one in reading.series] == [20_000, 777_000]
    assert any("live display" in loss.text for loss in reading.losses)
    assert "count" not in losses(sample("cyclictest-tracemark.stdout"))


def test_the_value_that_broke_a_run_comes_after_the_single_values() -> None:
    ends = "# Thread Ids: 0007 0008\n# Break thread: 8\n# Break value: 777\n"
    text = lines((0, 5), (1, 6)) + f"{1:8d}:{0:8d}:{9:8d}\n{ends}"
    first, second = read(source(text)).series
    assert list(first.values or ()) == [5000, 6000]
    assert list(second.values or ()) == [9000, 777_000] and second.count == 2
    (alone,) = read(source(lines((0, 5)) + "# Break thread: 8\n# Break value: 777\n")).series
    assert alone.values is not None and alone.values[-1] == 777_000
    assert "single values" in losses(sample("cyclictest-v.stdout"))


def test_two_runs_in_one_file_are_refused() -> None:
    with pytest.raises(InputError, match="of another run"):
        read(source(SUMMARY + SUMMARY.replace("9929", "9930")))
    with pytest.raises(InputError, match="of another run"):
        read(source(SUMMARY + SUMMARY.replace("4925", "4924")))


def test_a_line_of_another_program_is_kept() -> None:
    reading = read(source("[  1.5] usb 1-1: new device\n" + SUMMARY))
    assert reading.unknown == {"line 1": '"[  1.5] usb 1-1: new device"'}


def test_spread_priorities_are_not_one_policy() -> None:
    text = live(10).replace("policy: fifo:", "policy: fifo/other:").replace("P:89", "P: 0")
    where = read(source(text)).conditions
    assert where.policy is None and where.realtime is False


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cyclictest-help.stdout", "help text"),
        ("cyclictest-norights.stderr", "refused real-time scheduling"),
        ("cyclictest-histfile.stdout", "figures are in another file"),
        ("cyclictest-smi.stdout", "figures are in another file"),
        ("cyclictest-smi.stderr", "messages of the tool only"),
        ("cyclictest-ns2.stderr", "messages of the tool only"),
        ("cyclictest-tracemark.stderr", "messages of the tool only"),
    ],
)
def test_a_run_that_measured_nothing_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sample(name)


@pytest.mark.parametrize(
    "prompt", ["", "$ ", "# ", "root@board:~# ", "root@board:/tmp/a$ sudo ", "me@x ~> /usr/bin/"]
)
def test_a_command_that_was_pasted_is_read(prompt: str) -> None:
    text = f"{prompt}cyclictest -m -S -p 95 -i 250 -r -N -h 400 -q 2>&1 | tee out.txt\n{HISTOFALL}"
    reading = read(source(text))
    assert reading.command is not None
    assert reading.command.endswith("cyclictest -m -S -p 95 -i 250 -r -N -h 400 -q")
    where = reading.conditions
    assert (where.policy, where.priority, where.memory_locked) == ("fifo", 95, True)
    assert reading.params == {"interval_ns": 250_000} and not reading.unknown
    assert {one.name for one in reading.series} == {"wakeup-relative"}
    assert reading.series[1].max == 9 and "unit" not in losses(reading)
    assert "conditions" not in losses(reading)


def test_what_was_measured_goes_before_what_was_asked() -> None:
    reading = read(source("$ cyclictest -q --policy=other\n" + SUMMARY))
    assert reading.conditions.priority == 90 and reading.conditions.realtime is True
    assert reading.conditions.policy is None
    two = read(source("$ cyclictest -q -N\n$ cyclictest -q -r\n" + SUMMARY))
    assert two.command is None and "conditions" in losses(two)
    prose = read(source("cyclictests are slow\nwe ran cyclictest on it\n" + SUMMARY))
    assert prose.command is None and len(prose.unknown) == 2


def test_output_after_a_long_boot_is_recognised() -> None:
    boot = "[    0.000000] Linux version 6.12.0-rt\n" * 3000
    assert recognise(source(boot + SUMMARY)).title == "cyclictest, text"
    rows = "".join(f"{row:06d} 000000\t000001\n" for row in range(10_000))
    text = f"{boot}# Histogram\n{rows}{HISTOFALL[HISTOFALL.index('# Min') :]}{boot[:50_000]}"
    assert recognise(source(text)).title == "cyclictest, histogram"
    assert len(read(source(boot + SUMMARY)).unknown) == 64


NEWER = """# Histogram
000001 000005\t000000
000007 000000\t000002
# Min Latencies: 00001 00007
# Avg Latencies: 00001 00007
# Max Latencies: 00001 00900
# Histogram Overflows: 00000 00001
# Histogram Overflow at cycle number:
# Thread 0:\x20
# Thread 1: 00002

"""


def test_a_histogram_of_newer_versions_has_no_totals() -> None:
    first, second = read(source(NEWER)).series
    assert figures(first) == (5, 1000, 1000, 1000, 0)
    assert figures(second) == (3, 7000, 7000, 900_000, 1)
    assert any("cyclicdeadline" in loss.text for loss in read(source(NEWER)).losses)
    named = read(source(f"# /dev/cpu_dma_latency set to 0us\n{NEWER}"))
    assert not any("cyclicdeadline" in loss.text for loss in named.losses)
    other = source(f"Using all CPUS\n{NEWER}")
    assert recognise(other).title == "cyclicdeadline, text"
    assert read(source(NEWER), "cyclicdeadline").tool == "cyclicdeadline"
