"""signaltest, cyclicdeadline, rt-migrate-test, pmqtest and its sisters, and the JSON of rt-tests:
forms that no sample has, and what is refused."""

from __future__ import annotations

from hardstone.importers import rt_pairs, rt_tests
from tests.unit.importers.one_file import losses, read, refused, sample, us

# ---- pmqtest and its sisters ----


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


def test_keys_without_the_colon_and_unknown_ones() -> None:
    text = sample("pmqtest.json").replace(b'e:":', b'e":').replace(b'n:":', b'n":')
    text = text.replace(b'"timeoutcount": 0', b'"timeoutcount": 3, "median": 2', 1)
    reading = read(text)
    assert reading.version == "2.40" and reading.series[0].count == 3799
    assert reading.unknown == {"thread.0.receiver.median": "2"}
    assert reading.events[0].data == {"pair_0_count": 3}


def test_a_pair_without_a_value() -> None:
    text = sample("svsematest.json").replace(b'"min": 1', b'"min": -1')
    reading = read(text.replace(b'"avg": 2.69', b'"avg": -nan').replace(b'"max": 163', b'"max": 0'))
    assert us(reading.series[0]) == (0, None, None, None)
    text = sample("svsematest.stdout").splitlines()[0] + b"\n#1 -> #0 (not yet ready)\n"
    assert read(text).series[0].count == 0


def test_signaltest_live_display() -> None:
    """It goes up by three lines, and prints every thread once more at its end."""
    text = sample("signaltest.stdout")
    live = b"0.10 0.20 0.30 1/99 4242          \n\n" + text.splitlines(keepends=True)[0]
    reading = read((live + b"\x1b[3A") * 3 + live.replace(b"6051", b"6049") + text)
    assert [one.count for one in reading.series] == [6051, 6050] and not reading.unknown


def test_threads_that_are_not_bound_are_told_apart_by_number() -> None:
    text = sample("pmqtest.stdout").replace(b"CPU1", b"CPU0")
    assert [one.labels for one in read(text).series] == [{"thread": 0}, {"thread": 1}]


def test_live_display() -> None:
    """Each time it goes up by its lines and writes over them."""
    text = sample("pmqtest.stdout")
    first = (
        text.replace(b"Max   31", b"Max    9").replace(b"3799", b"  12").replace(b"12", b"12   ")
    )
    live = first + b"\x1b[4A" + text + b"\x1b[6B"
    assert [us(one) for one in read(live).series] == [(3799, 1, 3, 31), (2622, 1, 3, 48)]


def test_json_that_is_cut_or_double_is_refused() -> None:
    text = sample("pmqtest.json")
    assert "it is no JSON from here on" in refused(text[:700])
    bare = text.replace(b'      "sender": {', b"      sender: {", 1)
    assert "line 19: it is no JSON from here on" in refused(bare)
    assert refused(text + text) == "it has 2 results"
    assert read(text + b"root@board:~# ").unknown == {"text after it": '"root@board:~#"'}
    deep = text.replace(b'"num_threads": 2', b'"x": ' + b"[" * 100_000)
    assert "it is no JSON" in refused(deep)


# ---- signaltest ----


def test_signaltest_of_which_not_all_values_are_there() -> None:
    lines = sample("signaltest-l.stdout").splitlines(keepends=True)
    reading = read(b"".join(lines[:1000] + lines[2000:]))
    assert reading.series[0].values is None and us(reading.series[0]) == (2000, 9, 31, 5584)
    assert "999 of 2000" in reading.losses[-1].text
    assert "value '1001' where number 1000" in refused(b"".join(lines[:1000] + lines[1001:]))
    assert "do not make the figures" in refused(
        b"".join(lines).replace(b":     124:      14", b":     124:   99914")
    )


def test_a_long_file_is_recognised_by_its_end() -> None:
    lines = sample("signaltest-l.stdout").splitlines(keepends=True)
    (found,) = [one for one in rt_tests.FORMATS if one.title == "signaltest, text"]
    assert found.recognises(lines[1] * 40_000 + b"".join(lines[2000:]))
    assert not found.recognises(lines[1] * 40_000)


def test_signaltest_json() -> None:
    text = sample("cyclicdeadline.json").replace(b'"cyclicdeadline ', b'"signaltest -p 80 ')
    text = text.replace(b'"resolution_in_ns": 0,', b"").replace(b"57.76", b'57.76, "cpu": -1')
    reading = read(text)
    assert reading.tool == "signaltest" and not reading.unknown
    assert (reading.conditions.policy, reading.conditions.priority) == ("fifo", 80)
    assert [(one.labels, us(one)) for one in reading.series] == [
        ({"thread": 0}, (401, 10, 57.76, 465))
    ]


def test_a_thread_that_never_ran() -> None:
    text = b"T: 0 (14560) P: 0 C:      0 Min:1000000 Act:    0 Avg:    0 Max:-1000000\n"
    reading = read(text)
    assert us(reading.series[0]) == (0, None, None, None)
    assert reading.conditions.policy == "other"
    assert "line 1: the minimum" in refused(text.replace(b"C:      0", b"C:      7"))
    assert "is no line of a thread" in refused(sample("signaltest.stdout")[:-30])


# ---- cyclicdeadline ----


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


def test_histogram_of_cyclicdeadline() -> None:
    """From 2.5 on; rows without a value are left out, and there is no line of totals."""
    reading = read(HISTOGRAM)
    first, second = reading.series
    assert (reading.tool, reading.format) == ("cyclicdeadline", "histogram")
    assert us(first) == (8, 10, 34, 200) and us(second) == (2, 3, 3, 3)
    assert (first.buckets, first.overflow) == ([(10_000, 7)], 1)
    assert (second.buckets, second.overflow) == ([(3000, 2)], 0)
    live = sample("cyclicdeadline.stdout") + HISTOGRAM.replace(b"\t000002", b"").replace(
        b"\t000000", b""
    ).replace(b" 00003\n", b"\n").replace(b" 00000\n", b"\n")
    assert [us(one) for one in read(live).series] == [(8, 10, 34, 200)]


def test_a_minimum_of_zero_that_was_forgotten() -> None:
    """The printed one is above the mean, or above the lowest bucket: it is none."""
    text = sample("cyclicdeadline.stdout").replace(b"Min:     10", b"Min:    100")
    assert us(read(text).series[0]) == (401, None, 57, 465)
    json = sample("cyclicdeadline.json").replace(b'"min": 10', b'"min": 100')
    assert us(read(json).series[0]) == (401, None, 57.76, 465)
    rows = b"000000 000007\t000000\n000003 000000\t000002\n"
    first, _ = read(HISTOGRAM.replace(HISTOGRAM[27:69], rows)).series
    assert us(first) == (8, None, 34, 200) and first.buckets == [(0, 7)]


def test_histogram_in_json() -> None:
    """It has no overflow: that is what it lacks to the count."""
    text = sample("cyclicdeadline.json")
    rows = b'"histogram": {"10": 300, "64": 98},'
    reading = read(text.replace(b'"cycles": 401,', rows + b'"cycles": 401,'))
    (one,) = reading.series
    assert one.buckets == [(10_000, 300), (64_000, 98)] and one.overflow == 3
    assert one.bucket_width_ns == 1000
    more = rows.replace(b"98", b"980")
    assert "879 more values" in refused(text.replace(b'"cycles": 401,', more + b'"cycles": 401,'))


def test_threshold_of_cyclicdeadline() -> None:
    text = sample("cyclicdeadline.stdout") + b"# Break thread: 14696\n# Break value: 465\n"
    (verdict,) = read(text).verdicts
    assert not verdict.passed and "465 us" in verdict.evidence


# ---- rt-migrate-test ----


def test_migrate_that_failed() -> None:
    failed = read(sample("rt-migrate-test.stdout").replace(b" Passed!", b" Failed!"))
    assert [one.passed for one in failed.verdicts] == [False]
    early = refused(sample("rt-migrate-test.stdout").replace(b" Task ", b" Job "))
    assert early == "it ends before the figures of its tasks"


def test_migrate_json() -> None:
    text = sample("cyclicdeadline.json").replace(b'"cyclicdeadline ', b'"rt-migrate-test ')
    old = text[text.index(b'"cycles"') : text.index(b"57.76") + 5]
    text = text.replace(old, b'"prio": 2, "min": 43, "avg": 16080, "max": 20142, "total": 80401')
    reading = read(text)
    assert us(reading.series[0]) == (None, 43, 16080, 20142)
    assert reading.unknown == {"resolution_in_ns": "0"}
