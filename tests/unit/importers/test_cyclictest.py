"""cyclictest: forms that no sample has, what its command says, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.importers import recognise
from hardstone.importers.reading import Reading, ReadSeries
from tests.unit.importers.one_file import losses, read, sample, source

SUMMARY = "T: 0 ( 9929) P:90 I:1000 C:   4925 Min:      6 Act:   24 Avg:   51 Max:   16027\n"
HEAD = "Max CPUs = 2\nOnline CPUs = 2\nThread 0 Interval: 1500\n"


def figures(one: ReadSeries) -> tuple[object, ...]:
    return one.count, one.min, one.mean, one.max, one.overflow


def document(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sample("cyclictest-hist.json"))
    return {**found, **changed}


def as_json(**changed: Any) -> Reading:
    return read(json.dumps(document(**changed)))


def test_the_widths_of_a_summary_tell_its_unit() -> None:
    wide = SUMMARY.replace("Act:   24 Avg:   51", "Act:123456 Avg:654321")
    assert "unit" not in losses(read(wide))
    collapsed = " ".join(SUMMARY.replace("Min:      6", "Min:    600").split()) + "\n"
    assert "unit" in losses(read(collapsed))


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
    first, second = read(HISTOFALL).series
    assert figures(first) == (1, 0, 0, 0, 0) and figures(second) == (7, 0, 0, 9000, 1)
    without = "".join(HISTOFALL.splitlines(keepends=True)[:3])
    cut = read(without)
    assert len(cut.series) == 2 and cut.is_cut and cut.series[0].overflow is None
    with pytest.raises(InputError, match="row 1: the last column is not the sum"):
        read(HISTOFALL.replace("000004\t000004", "000004\t000005"))


def test_a_histogram_that_is_cut_off_has_no_overflow() -> None:
    whole = sample("cyclictest-hist.stdout")
    for size in (3000, 3004, whole.index(b"# Max")):
        reading = read(whole[:size])
        assert reading.is_cut and {one.overflow for one in reading.series} == {None}
        assert {one.max for one in reading.series} == {None}


def test_a_value_below_0_is_printed_unsigned() -> None:
    text = HISTOFALL.replace("Max Latencies: 00000 00009", f"Max Latencies: 00000 {2**64 - 3}")
    assert read(text).series[1].max == -3000


def lines(*samples: tuple[int, int]) -> str:
    return HEAD + "".join(f"{0:8d}:{cycle:8d}:{value:8d}\n" for cycle, value in samples)


def test_the_largest_of_several_values_is_no_distribution() -> None:
    reduced = read(lines((1, 30), (5, 90)))
    (series,) = reduced.series
    assert series.values is None and series.max == 90_000 and series.min is None
    assert series.count is None and "single values" in losses(reduced)
    (known,) = read(lines((0, 30), (3, 20), (5, 90), (6, 10), (9, 50))).series
    assert known.count == 10


def test_lines_that_are_missing_are_an_error() -> None:
    with pytest.raises(InputError, match="gaps or begin again"):
        read(lines((0, 5), (1, 5), (9, 5), (10, 5)))
    with pytest.raises(InputError, match="gaps or begin again"):
        read(lines((0, 5), (1, 5), (0, 5), (1, 5)))


def test_values_of_0_have_the_cycle_of_an_earlier_line() -> None:
    (series,) = read(lines((0, 5), (0, 0), (0, 0), (3, 7))).series
    assert list(series.values or ()) == [5000, 0, 0, 7000]


def test_values_that_are_not_in_the_file_are_counted() -> None:
    begun = read(lines((500, 5), (501, 6)))
    assert any("begin with cycle 500" in loss.text for loss in begun.losses)
    summary = SUMMARY.replace("   4925", "      7")
    ended = read(lines((0, 5), (1, 6)) + summary)
    assert any("The last 5 values" in loss.text for loss in ended.losses)


def test_a_time_of_day_is_no_value() -> None:
    reading = read(lines((0, 5)) + "12:34:56\n")
    assert [one.labels for one in reading.series] == [{"thread": 0}]
    assert reading.unknown == {"line 5": '"12:34:56"'}


def test_threads_of_one_cpu_are_told_apart() -> None:
    found = document()
    found["thread"]["1"]["cpu"] = 0
    found["thread"]["2"] = {**found["thread"]["1"], "cpu": 5}
    assert [one.labels for one in read(json.dumps(found)).series] == [
        {"cpu": 0, "thread": 0},
        {"cpu": 0, "thread": 1},
        {"cpu": 5},
    ]


def test_an_empty_histogram_of_json_was_not_asked_for() -> None:
    asked = document(**{"cmdline:": "cyclictest -h5 -S"})
    asked["thread"]["0"]["histogram"] = {}
    (all_above, _) = read(json.dumps(asked)).series
    assert all_above.buckets == [(4000, 0)] and all_above.overflow == 15_793


def test_a_thread_that_never_ran_has_no_figures() -> None:
    never = {"cycles": 0, "min": 1_000_000, "max": 0, "avg": "-nan", "cpu": 1, "node": -1}
    content = json.dumps(document(thread={"0": never})).replace('"-nan"', "-nan")
    (series,) = read(content).series
    assert figures(series)[:4] == (0, None, None, None)


def test_a_minimum_that_was_never_undercut_is_not_known() -> None:
    thread = {"cycles": 9, "min": 1_000_000, "max": 3_000_000, "avg": 2e6, "cpu": 0, "node": 0}
    (series,) = as_json(resolution_in_ns=1, thread={"0": thread}).series
    assert series.min is None and series.max == 3_000_000


def test_keys_with_and_without_a_colon_are_the_same() -> None:
    found = document()
    plain = {key.removesuffix(":"): value for key, value in found.items()}
    assert read(json.dumps(plain)) == read(json.dumps(found))


def test_unknown_keys_are_kept() -> None:
    found = document(extra={"a": 1})
    found["thread"]["0"]["smi"] = 7
    found["sysinfo"]["cores"] = 2
    reading = read(json.dumps(found))
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
    assert recognise.recognise(source(json.dumps(found))).title == "cyclictest, JSON"
    del found["resolution_in_ns"]
    content = json.dumps(found)
    with pytest.raises(InputError):  # nothing says that it is of cyclictest
        recognise.recognise(source(content))
    reading = recognise.read(source(content), "cyclictest")
    assert reading.series[0].min == 5000 and "unit" not in losses(reading)
    named = document(**{"cmdline:": "cyclictest -N"})
    del named["resolution_in_ns"]
    assert read(json.dumps(named)).series[0].min == 5


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
    assert read(mixed).series == read(sample("cyclictest-hist.json")).series
    with pytest.raises(InputError, match="it has 2 results"):
        read(text + "\n" + text)
    with pytest.raises(InputError, match="it is no JSON from here on"):
        read(text[:-50])


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
    reading = read(live(10, 200, 3000))
    assert [figures(one)[:4] for one in reading.series] == [
        (3000, 6000, 51_000, 3_000_000),
        (3000, 7000, 51_000, 3_000_000),
    ]
    assert reading.conditions.policy == "fifo" and not reading.unknown
    stopped = read(live(10, 200).replace("T: 0", "^CT: 0"))
    assert stopped.series[0].count == 200


def test_a_line_that_gets_shorter_leaves_no_digits() -> None:
    wide = live(10).replace("Act:   24", "Act:1234567")
    reading = read(wide + "\x1b[4A" + live(200).split("\n", 1)[1])
    assert [one.max for one in reading.series] == [200_000, 200_000]


def test_the_value_that_broke_a_run_is_its_maximum() -> None:
    """A live display does not show it any more."""
    text = live(10, 20) + "# Thread Ids: 9929 9930\n# Break thread: 9930\n# Break value: 777\n"
    reading = read(text)
    assert [one.max for one in reading.series] == [20_000, 777_000]
    assert any("live display" in loss.text for loss in reading.losses)


def test_the_value_that_broke_a_run_comes_after_the_single_values() -> None:
    ends = "# Thread Ids: 0007 0008\n# Break thread: 8\n# Break value: 777\n"
    text = lines((0, 5), (1, 6)) + f"{1:8d}:{0:8d}:{9:8d}\n{ends}"
    first, second = read(text).series
    assert list(first.values or ()) == [5000, 6000]
    assert list(second.values or ()) == [9000, 777_000] and second.count == 2
    (alone,) = read(lines((0, 5)) + "# Break thread: 8\n# Break value: 777\n").series
    assert alone.values is not None and alone.values[-1] == 777_000


def test_two_runs_in_one_file_are_refused() -> None:
    with pytest.raises(InputError, match="of another run"):
        read(SUMMARY + SUMMARY.replace("9929", "9930"))
    with pytest.raises(InputError, match="of another run"):
        read(SUMMARY + SUMMARY.replace("4925", "4924"))


def test_a_line_of_another_program_is_kept() -> None:
    reading = read("[  1.5] usb 1-1: new device\n" + SUMMARY)
    assert reading.unknown == {"line 1": '"[  1.5] usb 1-1: new device"'}


def test_spread_priorities_are_not_one_policy() -> None:
    text = live(10).replace("policy: fifo:", "policy: fifo/other:").replace("P:89", "P: 0")
    where = read(text).conditions
    assert where.policy is None and where.realtime is False


@pytest.mark.parametrize(
    "prompt", ["", "$ ", "# ", "root@board:~# ", "root@board:/tmp/a$ sudo ", "me@x ~> /usr/bin/"]
)
def test_a_command_that_was_pasted_is_read(prompt: str) -> None:
    text = f"{prompt}cyclictest -m -S -p 95 -i 250 -r -N -h 400 -q 2>&1 | tee out.txt\n{HISTOFALL}"
    reading = read(text)
    assert reading.command is not None
    assert reading.command.endswith("cyclictest -m -S -p 95 -i 250 -r -N -h 400 -q")
    where = reading.conditions
    assert (where.policy, where.priority, where.memory_locked) == ("fifo", 95, True)
    assert reading.params == {"interval_ns": 250_000} and not reading.unknown
    assert {one.name for one in reading.series} == {"wakeup-relative"}
    assert reading.series[1].max == 9 and "unit" not in losses(reading)
    assert "conditions" not in losses(reading)


def test_what_was_measured_goes_before_what_was_asked() -> None:
    reading = read("$ cyclictest -q --policy=other\n" + SUMMARY)
    assert reading.conditions.priority == 90 and reading.conditions.realtime is True
    assert reading.conditions.policy is None
    two = read("$ cyclictest -q -N\n$ cyclictest -q -r\n" + SUMMARY)
    assert two.command is None and "conditions" in losses(two)
    prose = read("cyclictests are slow\nwe ran cyclictest on it\n" + SUMMARY)
    assert prose.command is None and len(prose.unknown) == 2


def test_output_after_a_long_boot_is_recognised() -> None:
    boot = "[    0.000000] Linux version 6.12.0-rt\n" * 3000
    assert recognise.recognise(source(boot + SUMMARY)).title == "cyclictest, text"
    rows = "".join(f"{row:06d} 000000\t000001\n" for row in range(10_000))
    text = f"{boot}# Histogram\n{rows}{HISTOFALL[HISTOFALL.index('# Min') :]}{boot[:50_000]}"
    assert recognise.recognise(source(text)).title == "cyclictest, histogram"
    assert len(read(boot + SUMMARY).unknown) == 64


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
    first, second = read(NEWER).series
    assert figures(first) == (5, 1000, 1000, 1000, 0)
    assert figures(second) == (3, 7000, 7000, 900_000, 1)
    assert any("cyclicdeadline" in loss.text for loss in read(NEWER).losses)
    named = read(f"# /dev/cpu_dma_latency set to 0us\n{NEWER}")
    assert not any("cyclicdeadline" in loss.text for loss in named.losses)
    other = source(f"Using all CPUS\n{NEWER}")
    assert recognise.recognise(other).title == "cyclicdeadline, text"
    assert recognise.read(source(NEWER), "cyclicdeadline").tool == "cyclicdeadline"
