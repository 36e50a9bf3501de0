"""signaltest, cyclicdeadline, rt-migrate-test, pmqtest and its sisters, and the JSON of rt-tests:
forms that no sample has, and what is refused."""

from __future__ import annotations

import pytest

from hardstone.importers import rt_pairs, rt_tests
from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import losses, read, refused, sample, told, us

PAIRS, PAIRS_JSON = sample("pmqtest.stdout"), sample("pmqtest.json")
SEMAPHORE = sample("svsematest.json")
SIGNAL, VALUES = sample("signaltest.stdout"), sample("signaltest-l.stdout")
LINES = VALUES.splitlines(keepends=True)
DEADLINE, DEADLINE_JSON = sample("cyclicdeadline.stdout"), sample("cyclicdeadline.json")
MIGRATE = sample("rt-migrate-test.stdout")
HISTOGRAM = b"""\
Using all CPUS
# Histogram
000003 000000\t000002
000010 000007\t000000
# Min Latencies: 00010 00003
# Avg Latencies: 00034 00003
# Max Latencies: 00200 00003
# Histogram Overflows: 00001 00000
# Histogram Overflow at cycle number:
# Thread 0: 00004
# Thread 1:\x20

"""
ONE_THREAD = HISTOGRAM.replace(b"\t000002", b"").replace(b"\t000000", b"")
ONE_THREAD = ONE_THREAD.replace(b" 00003\n", b"\n").replace(b" 00000\n", b"\n")
NEVER = b"T: 0 (14560) P: 0 C:      0 Min:1000000 Act:    0 Avg:    0 Max:-1000000\n"
# The display of signaltest goes up by three lines, and prints every thread once more at its end.
SCREEN = b"0.10 0.20 0.30 1/99 4242          \n\n" + SIGNAL.splitlines(keepends=True)[0]
ROWS = b'"histogram": {"10": 300, "64": 98},'
FIGURES = DEADLINE_JSON[DEADLINE_JSON.index(b'"cycles"') : DEADLINE_JSON.index(b"57.76") + 5]
TEXTS = {
    "JSON with keys without the colon, and unknown ones": PAIRS_JSON.replace(b'e":":', b'e":')
    .replace(b'n:":', b'n":')
    .replace(b'"timeoutcount": 0', b'"timeoutcount": 3, "median": 2', 1),
    "JSON of a pair without a value": SEMAPHORE.replace(b'"min": 1', b'"min": -1')
    .replace(b'"avg": 2.69', b'"avg": -nan')
    .replace(b'"max": 163', b'"max": 0'),
    "JSON before a prompt": PAIRS_JSON + b"root@board:~# ",
    "JSON twice": PAIRS_JSON + PAIRS_JSON,
    "a pair without a value": sample("svsematest.stdout").splitlines()[0]
    + b"\n#1 -> #0 (not yet ready)\n",
    "threads that are not bound are told apart by number": PAIRS.replace(b"CPU1", b"CPU0"),
    "a live display of pairs, written over": PAIRS.replace(b"Max   31", b"Max    9")
    .replace(b"3799", b"  12")
    .replace(b"12", b"12   ")
    + b"\x1b[4A"
    + PAIRS
    + b"\x1b[6B",
    "a live display of signaltest": (SCREEN + b"\x1b[3A") * 3
    + SCREEN.replace(b"6051", b"6049")
    + SIGNAL,
    "signaltest without half of its values": b"".join(LINES[:1000] + LINES[2000:]),
    "signaltest without one value": b"".join(LINES[:1000] + LINES[1001:]),
    "signaltest with another value": VALUES.replace(b":     124:      14", b":     124:   99914"),
    "signaltest that is cut": SIGNAL[:-30],
    "JSON of signaltest": DEADLINE_JSON.replace(b'"cyclicdeadline ', b'"signaltest -p 80 ')
    .replace(b'"resolution_in_ns": 0,', b"")
    .replace(b"57.76", b'57.76, "cpu": -1'),
    "a thread that never ran": NEVER,
    "a thread that ran, with its figures": NEVER.replace(b"C:      0", b"C:      7"),
    "a histogram from 2.5 on, without rows that have no value and without totals": HISTOGRAM,
    "a line and a histogram of one thread": DEADLINE + ONE_THREAD,
    "a minimum above the mean, of which a 0 was forgotten": DEADLINE.replace(
        b"Min:     10", b"Min:    100"
    ),
    "the same in JSON": DEADLINE_JSON.replace(b'"min": 10', b'"min": 100'),
    "a minimum above the lowest bucket": HISTOGRAM.replace(
        HISTOGRAM[27:69], b"000000 000007\t000000\n000003 000000\t000002\n"
    ),
    "a histogram in JSON, of which the overflow is what it lacks to the count": (
        DEADLINE_JSON.replace(b'"cycles": 401,', ROWS + b'"cycles": 401,')
    ),
    "a histogram in JSON with more values": DEADLINE_JSON.replace(
        b'"cycles": 401,', ROWS.replace(b"98", b"980") + b'"cycles": 401,'
    ),
    "the threshold of cyclicdeadline": DEADLINE + b"# Break thread: 14696\n# Break value: 465\n",
    "rt-migrate-test failed": MIGRATE.replace(b" Passed!", b" Failed!"),
    "rt-migrate-test without tasks": MIGRATE.replace(b" Task ", b" Job "),
    "JSON of rt-migrate-test": DEADLINE_JSON.replace(
        b'"cyclicdeadline ', b'"rt-migrate-test '
    ).replace(FIGURES, b'"prio": 2, "min": 43, "avg": 16080, "max": 20142, "total": 80401'),
}


@pytest.mark.slow
def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "rt-tests.txt", {name: told(text) for name, text in TEXTS.items()})


def test_a_live_display_that_is_cut_has_the_figures_of_one_screen() -> None:
    first = (
        "#0: ID7, P80, CPU1, I300; #1: ID8, P80, CPU0, Cycles 1\n"
        "#1 -> #0, Min 12500, Cur 12500, Avg 12500, Max 12500\n"
    )
    second = (
        "\x1b[2A#0: ID7, P80, CPU1, I300; #1: ID8, P80, CPU0, Cycles 200\n"
        "#1 -> #0, Min    7, Cur   23, Avg   66, Max 12500\n"
    )
    for end in range(len(second)):
        (one,) = read((first + second[:end]).encode()).series
        assert us(one) == (1, 12_500, 12_500, 12_500), second[:end]
    assert us(read((first + second).encode()).series[0]) == (200, 7, 66, 12_500)


def test_a_sister_that_a_person_names() -> None:
    (found,) = [one for one in rt_pairs.FORMATS if one.title == "svsematest, text"]
    assert not found.recognises(sample("svsematest.stdout"))
    reading = found.read(sample("svsematest.stdout"))
    assert (reading.tool, reading.series[0].name) == ("svsematest", "semaphore")
    assert "conditions" not in losses(reading)


def test_what_is_no_json() -> None:
    """The rest is in the words of Python's library."""
    bare = PAIRS_JSON.replace(b'      "sender": {', b"      sender: {", 1)
    assert "line 19: it is no JSON from here on" in refused(bare)
    assert "it is no JSON from here on" in refused(PAIRS_JSON[:700])
    deep = PAIRS_JSON.replace(b'"num_threads": 2', b'"x": ' + b"[" * 100_000)
    assert "it is no JSON" in refused(deep)


def test_a_long_file_is_recognised_by_its_end() -> None:
    (found,) = [one for one in rt_tests.FORMATS if one.title == "signaltest, text"]
    assert found.recognises(LINES[1] * 40_000 + b"".join(LINES[2000:]))
    assert not found.recognises(LINES[1] * 40_000)
