"""pi_stress, ssdd, hackbench, queuelat, deadline_test: what they judge, and
what is refused."""

from __future__ import annotations

from tests.unit.importers.one_file import by_label, read, refused, sample, us


def test_deadlock_of_pi_stress() -> None:
    text = b"Starting PI Stress Test\nWATCHDOG triggered: group 1 is deadlocked!\n"
    reading = read(text)
    assert not reading.series
    assert [each.passed for each in reading.verdicts] == [False]
    json = sample("pi_stress.json").replace(b'"return_code": 0', b'"return_code": 1')
    assert [each.passed for each in read(json).verdicts] == [False]
    assert "'4486x1' is not a count" in refused(
        sample("pi_stress.stdout").replace(b"448611", b"4486x1")
    )
    assert "the JSON.inversion: it is missing" in refused(
        sample("pi_stress.json").replace(b"inversion", b"inversions")
    )


def test_ssdd_that_failed() -> None:
    text = sample("ssdd-v.stdout").replace(b"EXITING, no error", b"EXITING, ERROR: step", 1)
    text = text.replace(b"All tests PASSED.", b"One or more tests FAILED.")
    (verdict,) = read(text).verdicts
    assert not verdict.passed and "forktest#1/19760: EXITING, ERROR: step" in verdict.evidence
    assert read(text).params == {"forks": 4, "steps": 2000}
    assert "before the verdict" in refused(sample("ssdd-v.stdout")[:-20])


def test_several_runs_of_hackbench() -> None:
    text = sample("hackbench.stdout")
    reading = read(text + text.replace(b"0.806", b"0.9"))
    assert reading.series[0].values == [806_000_000, 900_000_000]
    assert "different settings" in refused(text + sample("hackbench-pt.stdout"))
    assert "no line 'Time:'" in refused(text.replace(b"Time:", b"Tim"))
    assert "line 3: '0.8x6' is not a number" in refused(text.replace(b"0.806", b"0.8x6"))
    old = read(b"Running with 10*40 (== 400) tasks.\nTime: 1.234\n")
    assert old.series[0].values == [1_234_000_000] and old.params["tasks"] == 400
    cut = read(text + text.partition(b"Time:")[0])
    assert cut.is_cut and cut.series[0].count == 1
    assert read(b"Signal 2 caught, longjmp'ing out!\n" + text).is_cut


QUEUELAT = b"""\
max_queue_len = 400
[0 - 99] = 7  packetfillrates=[0 - 0]
...
[70000 - END] = 0
default_n=25000 nr_packets_drain_per_block=200
[0 - 99] = 0
...
[300 - 399] = 5
[400 - 499] = 9
...
[70000 - END] = 0

 ----------------\x20
Min loop processing time: [100 - 199] = 5
Max loop processing time: [400 - 499] = 9
Avg loop processing time: 374
"""


def test_queuelat_leaves_out_buckets_that_are_equal() -> None:
    """For "..." each bucket has as many values as the next row: 100 and 200 have five each. The
    table with fill rates is that of the calibration."""
    reading = read(QUEUELAT)
    (one,) = reading.series
    assert one.buckets == [(100, 5), (200, 5), (300, 5), (400, 9)]
    assert (one.count, one.mean, one.overflow) == (24, 374.0, 0)
    assert not reading.is_cut and [each.passed for each in reading.verdicts] == [True]
    late = QUEUELAT.replace(
        b"\n[0 - 99] = 0\n",
        b"\nqueue length exceeded:  queue_size=401 max_queue_len=400\n[0 - 99] = 0\n",
    )
    assert [each.passed for each in read(late).verdicts] == [False]
    over = QUEUELAT.replace(b"[70000 - END] = 0\n\n", b"[69900 - 69999] = 0\n[70000 - END] = 2\n\n")
    assert read(over).series[0].overflow == 2


DEADLINE = b"""
[2211]
missed deadlines  = 0
missed periods    = 2
Total adjustments = 12 us
# adjustments = 3 avg: 4 us
deadline   : 10000 us
runtime    : 5000 us
nr_periods : 998
max_time: 4321us\tmin_time: 4100us\tavg_time: 4150us
ctx switches vol:998 nonvol:3 migration:0
highest prime: 8011

"""


def test_deadline_test() -> None:
    reading = read(sample("deadline_test.stdout") + DEADLINE)
    assert {name: us(one) for name, one in by_label(reading, "work", "thread").items()} == {
        0: (998, 4100, 4150, 4321)
    }
    assert [one.values for one in reading.series[1:]] == [[0], [2]]
    assert [each.passed for each in reading.verdicts] == [True]
    late = read(DEADLINE.replace(b"deadlines  = 0", b"deadlines  = 5"))
    assert [each.passed for each in late.verdicts] == [False]
    assert "thread 0: it ends before 'nr_periods'" in refused(
        DEADLINE.replace(b"nr_periods", b"nr")
    )
    assert "line 10: 'max_time: x" in refused(DEADLINE.replace(b"4321us", b"x 4321us"))
