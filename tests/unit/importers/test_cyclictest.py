"""cyclictest: forms that no sample has, what its command says, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.importers import recognise
from hardstone.importers.reading import Reading
from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import losses, read, refused, sample, source, told

SUMMARY = "T: 0 ( 9929) P:90 I:1000 C:   4925 Min:      6 Act:   24 Avg:   51 Max:   16027\n"
HEAD = "Max CPUs = 2\nOnline CPUs = 2\nThread 0 Interval: 1500\n"
WHOLE = sample("cyclictest-hist.stdout")


def document(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sample("cyclictest-hist.json"))
    return {**found, **changed}


def json_of(change: dict[str, Any]) -> str:
    return json.dumps(document(**change)).replace('"-nan"', "-nan")


def as_json(**changed: Any) -> Reading:
    return read(json_of(changed))


def thread(**figures: object) -> dict[str, Any]:
    return {"thread": {"0": figures}}


HISTOFALL = """# Histogram
000000 000001\t000002\t000003
000001 000000\t000004\t000004
# Total: 000000001 000000006 000000007
# Min Latencies: 00000 00000
# Avg Latencies: 00000 00000
# Max Latencies: 00000 00009 00009
# Histogram Overflows: 00000 00001 00001
"""


def lines(*samples: tuple[int, int]) -> str:
    return HEAD + "".join(f"{0:8d}:{cycle:8d}:{value:8d}\n" for cycle, value in samples)


def live(*counts: int) -> str:
    """The display of two threads, which moves the cursor up after each time but the last."""
    screens = [
        f"policy: fifo: loadavg: 0.00 0.01 0.05 1/110 9999          \n\n"
        f"T: 0 ( 9929) P:90 I:1000 C:{count:7d} Min:      6 Act:   24 Avg:   51 Max: {count:7d}\n"
        f"T: 1 ( 9930) P:89 I:1500 C:{count:7d} Min:      7 Act:   24 Avg:   51 Max: {count:7d}\n"
        for count in counts
    ]
    return "# /dev/cpu_dma_latency set to 0us\n" + "\x1b[4A".join(screens)


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
ENDS = "# Thread Ids: 0007 0008\n# Break thread: 8\n# Break value: 777\n"
FOUND = document()
FOUND["thread"]["0"]["smi"], FOUND["sysinfo"]["cores"] = 7, 2
THREE = document()
THREE["thread"]["1"]["cpu"] = 0
THREE["thread"]["2"] = {**THREE["thread"]["1"], "cpu": 5}
ABOVE = document(**{"cmdline:": "cyclictest -h5 -S"})
ABOVE["thread"]["0"]["histogram"] = {}
NANOSECONDS = document(**{"cmdline:": "cyclictest -N"})
del NANOSECONDS["resolution_in_ns"]
NEVER = {"cycles": 0, "min": 1_000_000, "max": 0, "avg": "-nan", "cpu": 1, "node": -1}
SLOW = {"cycles": 9, "min": 1_000_000, "max": 3_000_000, "avg": 2e6, "cpu": 0, "node": 0}
TEXTS: dict[str, bytes | str] = {
    "widths above those of us": SUMMARY.replace("Act:   24 Avg:   51", "Act:123456 Avg:654321"),
    "no widths": " ".join(SUMMARY.replace("Min:      6", "Min:    600").split()) + "\n",
    "the sum of --histofall is no thread": HISTOFALL,
    "--histofall that is cut": "".join(HISTOFALL.splitlines(keepends=True)[:3]),
    "--histofall with another sum": HISTOFALL.replace("000004\t000004", "000004\t000005"),
    "a value below 0 is printed unsigned": HISTOFALL.replace(
        "Max Latencies: 00000 00009", f"Max Latencies: 00000 {2**64 - 3}"
    ),
    "a histogram that is cut in a row": WHOLE[:3000],
    "a histogram that is cut in a number": WHOLE[:3004],
    "a histogram that is cut in its ends": WHOLE[: WHOLE.index(b"# Max")],
    "a histogram of newer versions has no totals": NEWER,
    "the same, which is not of cyclicdeadline": f"# /dev/cpu_dma_latency set to 0us\n{NEWER}",
    "the same of cyclicdeadline": f"Using all CPUS\n{NEWER}",
    "the largest of several values is no distribution": lines((1, 30), (5, 90)),
    "the largest of several, whose count is known": lines(
        (0, 30), (3, 20), (5, 90), (6, 10), (9, 50)
    ),
    "a gap": lines((0, 5), (1, 5), (9, 5), (10, 5)),
    "values that begin again": lines((0, 5), (1, 5), (0, 5), (1, 5)),
    "values of 0 have the cycle of an earlier line": lines((0, 5), (0, 0), (0, 0), (3, 7)),
    "the first values are missing": lines((500, 5), (501, 6)),
    "the last values are missing": lines((0, 5), (1, 6)) + SUMMARY.replace("   4925", "      7"),
    "a time of day is no value": lines((0, 5)) + "12:34:56\n",
    "a value that broke the run, after those of two threads": lines((0, 5), (1, 6))
    + f"{1:8d}:{0:8d}:{9:8d}\n{ENDS}",
    "a value that broke the run of one thread": lines((0, 5)) + ENDS.partition("\n")[2],
    "a live display counts as it ended": live(10, 200, 3000),
    "a live display that was stopped": live(10, 200).replace("T: 0", "^CT: 0"),
    "a line that gets shorter leaves no digits": live(10).replace("Act:   24", "Act:1234567")
    + "\x1b[4A"
    + live(200).split("\n", 1)[1],
    "a live display does not show the value that broke the run": live(10, 20)
    + "# Thread Ids: 9929 9930\n# Break thread: 9930\n# Break value: 777\n",
    "spread priorities are not one policy": live(10)
    .replace("policy: fifo:", "policy: fifo/other:")
    .replace("P:89", "P: 0"),
    "two runs": SUMMARY + SUMMARY.replace("9929", "9930"),
    "a run that goes back": SUMMARY + SUMMARY.replace("4925", "4924"),
    "a line of another program": "[  1.5] usb 1-1: new device\n" + SUMMARY,
    "what was measured goes before what was asked": "$ cyclictest -q --policy=other\n" + SUMMARY,
    "two commands": "$ cyclictest -q -N\n$ cyclictest -q -r\n" + SUMMARY,
    "prose": "cyclictests are slow\nwe ran cyclictest on it\n" + SUMMARY,
    "JSON with three threads, two on one CPU": json.dumps(THREE),
    "JSON with unknown keys": json.dumps(FOUND | {"extra": {"a": 1}}),
    "JSON with an empty histogram that was asked for": json.dumps(ABOVE),
    "JSON with -N, and no resolution": json.dumps(NANOSECONDS),
    "JSON of a thread that never ran": json_of(thread(**NEVER)),
    "JSON with a minimum that was never undercut": json_of(
        {"resolution_in_ns": 1} | thread(**SLOW)
    ),
    "JSON twice": json.dumps(FOUND) + "\n" + json.dumps(FOUND),
    "JSON without threads": json_of({"thread": {}}),
    "JSON with a number for a thread": json_of({"thread": {"0": 7}}),
    "JSON with a negative count": json_of(thread(cycles=-1)),
    "JSON with a broken minimum": json_of(thread(cycles=1, min=1.5)),
    "JSON with a broken mean": json_of(thread(cycles=1, avg="x")),
    "JSON with a broken bucket": json_of(thread(cycles=1, histogram={"x": 1})),
    "JSON with a number for a histogram": json_of(thread(cycles=1, histogram=5)),
    "JSON with a negative bucket": json_of(thread(cycles=1, histogram={"1": -1})),
    "JSON with a broken resolution": json_of({"resolution_in_ns": 5}),
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "cyclictest.txt", {name: told(text) for name, text in TEXTS.items()})


def test_keys_with_and_without_a_colon_are_the_same() -> None:
    found = document()
    plain = {key.removesuffix(":"): value for key, value in found.items()}
    assert read(json.dumps(plain)) == read(json.dumps(found))


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


def test_json_is_found_among_lines_of_the_tool() -> None:
    text = json.dumps(document(), indent=2)
    mixed = f"# /dev/cpu_dma_latency set to 0us\n{SUMMARY}{text}\n# Thread Ids: 7\n"
    assert read(mixed).series == read(sample("cyclictest-hist.json")).series
    assert "it is no JSON from here on" in refused(text[:-50])


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


def test_output_after_a_long_boot_is_recognised() -> None:
    boot = "[    0.000000] Linux version 6.12.0-rt\n" * 3000
    assert recognise.recognise(source(boot + SUMMARY)).title == "cyclictest, text"
    rows = "".join(f"{row:06d} 000000\t000001\n" for row in range(10_000))
    text = f"{boot}# Histogram\n{rows}{HISTOFALL[HISTOFALL.index('# Min') :]}{boot[:50_000]}"
    assert recognise.recognise(source(text)).title == "cyclictest, histogram"
    assert len(read(boot + SUMMARY).unknown) == 64


def test_a_tool_that_is_named() -> None:
    assert recognise.read(source(NEWER), "cyclicdeadline").tool == "cyclicdeadline"
