"""oslat: other versions and options, and what is refused."""

from __future__ import annotations

from tests.unit.importers.one_file import losses, read, refused, sample, us


def test_stopped_by_its_threshold() -> None:
    """It prints nothing but the value, which is the largest of its CPU."""
    both = read(sample("oslat-T.stdout") + sample("oslat-T.stderr"))
    assert (both.version, both.series[0].max) == ("2.40", 221_000)
    older = b"oslat: Trace threshold (200 us) triggered with 221 us!\nStopping the test.\n"
    assert read(older).series[0].labels == {}


NEWER = b"""\
oslat V 2.80
        Core:\t 2 5
Counter Freq:\t 2000 2100 (MHz)
    001 (us):\t 900 800
    ...
    005 (us):\t 3 0
    006 (us):\t 0 1 (including overflows)
     Minimum:\t 0 0 (us)
     Average:\t 1.013 1.006 (us)
     Maximum:\t 4 5 (us)
     Max-Min:\t 4 5 (us)
    Duration:\t 1.000 1.001 (sec)

"""


def test_newer_versions_cut_their_values() -> None:
    """Of several CPUs, with -q and -z. The last bucket has nothing beyond it here."""
    reading = read(NEWER)
    first, second = reading.series
    assert [one.labels for one in reading.series] == [{"cpu": 2}, {"cpu": 5}]
    assert us(first) == (903, 0, 1.013, 4) and us(second) == (801, 0, 1.006, 5)
    assert (first.buckets, first.overflow) == ([(0, 900), (4000, 3)], 0)
    assert (second.buckets, second.overflow) == ([(0, 800), (5000, 1)], 0)
    assert first.step_ns == 1000 and "resolution" not in losses(reading)
    assert reading.duration_ns == 1_001_000_000


def test_versions_that_round_up_before_they_sort() -> None:
    """1 us, which is up to 1 us, has the name 2 us; so the mean is above all values."""
    text = NEWER.replace(b"2.80", b"2.50").replace(b"MHz", b"Mhz").replace(b"001 (us)", b"002 (us)")
    text = text.replace(b"Minimum:\t 0 0", b"Minimum:\t 1 1").replace(b"Min:\t 4 5", b"Min:\t 3 4")
    first, second = read(text).series
    assert first.buckets == [(1, 900), (3001, 3)] and second.buckets == [(1, 800), (4001, 1)]
    assert (first.min, first.mean, first.max) == (1000, None, 4000)
    assert "mean" in losses(read(text))


def test_a_mean_above_all_values_is_left_out() -> None:
    text = NEWER.replace(b" 4 5 (us)", b" 0 1 (us)").replace(b"\t 3 0", b"\t 0 0")
    text = text.replace(b"\t 0 1 (inc", b"\t 0 0 (inc")
    first, second = read(text).series
    assert (first.mean, first.max) == (None, 0) and (second.mean, second.max) == (None, 1000)


def test_version_2_1_calls_itself_2_10() -> None:
    new = NEWER.replace(b"2.80", b"2.10")
    assert read(new).series[0].step_ns == 1000
    old = sample("qemu-oslat-rt.stdout").replace(b"V 2.40", b"V 2.10")
    assert read(old).series == read(sample("qemu-oslat-rt.stdout")).series
    json = sample("oslat.json").replace(b"2.40", b"2.10").replace(b" -B 1", b"")
    (one,) = read(json.replace(b'"min": 1', b'"min": 2')).series  # rounded up: of the bucket "2"
    assert one.buckets is not None and one.buckets[0] == (1001, 222_521_833)
    (one,) = read(json.replace(b'"min": 1,', b'"min": 1,')).series  # cut: below its bucket's name
    assert one.buckets is not None and one.buckets[0] == (1000, 222_521_833)


def test_without_a_version() -> None:
    reading = read(NEWER.replace(b"oslat V 2.80\n", b"oslat V 9\n"))
    assert "version" in losses(reading)


def test_widths_in_nanoseconds() -> None:
    """-W 500: in JSON minimum and maximum are in ns, all else in us; the mean is wrong then."""
    text = sample("oslat.json").replace(b"2.40", b"2.80").replace(b"-b 32 -B 1", b"-W 500")
    old = text[text.index(b'"min"') : text.rindex(b"}\n    }")]
    rows = b'"min": 137, "avg": 0.5, "max": 2600, "histogram": {"0.500": 90, "2.000": 9, "2.500": 1'
    reading = read(text.replace(old, rows))
    (one,) = reading.series
    assert (one.count, one.min, one.max, one.mean) == (100, 137, 2600, None)
    assert (one.buckets, one.bucket_width_ns, one.overflow) == ([(0, 90), (1500, 9)], 500, 1)
    assert one.step_ns == 1 and "mean" in losses(reading)
    within = read(text.replace(old, rows.replace(b"2600", b"2400"))).series[0]
    assert (within.mean, within.overflow) == (500, 0)


def test_a_minimum_above_its_bucket_is_refused() -> None:
    text = sample("qemu-oslat-rt.stdout").replace(b"Minimum:\t 1 ", b"Minimum:\t 9 ")
    text = text.replace(b"Max-Min:\t 56286", b"Max-Min:\t 56278")
    assert "the minimum 9000 ns is above its lowest bucket" in refused(text)
    assert "within its figures" in refused(sample("oslat.stdout")[:700])
