"""pi_stress, ssdd, hackbench, queuelat, deadline_test: what they judge, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

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
HACKBENCH, SSDD = sample("hackbench.stdout"), sample("ssdd-v.stdout")
PI_STRESS = sample("pi_stress.json")
TEXTS = {
    "pi_stress, a deadlock": (
        b"Starting PI Stress Test\nWATCHDOG triggered: group 1 is deadlocked!\n"
    ),
    "pi_stress, a code": PI_STRESS.replace(b'"return_code": 0', b'"return_code": 1'),
    "pi_stress, a broken total": sample("pi_stress.stdout").replace(b"448611", b"4486x1"),
    "pi_stress, a missing key": PI_STRESS.replace(b"inversion", b"inversions"),
    "ssdd that failed": SSDD.replace(b"EXITING, no error", b"EXITING, ERROR: step", 1).replace(
        b"All tests PASSED.", b"One or more tests FAILED."
    ),
    "ssdd that is cut": SSDD[:-20],
    "several runs of hackbench": HACKBENCH + HACKBENCH.replace(b"0.806", b"0.9"),
    "hackbench with different settings": HACKBENCH + sample("hackbench-pt.stdout"),
    "hackbench without a time": HACKBENCH.replace(b"Time:", b"Tim"),
    "hackbench with a broken time": HACKBENCH.replace(b"0.806", b"0.8x6"),
    "an older hackbench": b"Running with 10*40 (== 400) tasks.\nTime: 1.234\n",
    "hackbench that is cut": HACKBENCH + HACKBENCH.partition(b"Time:")[0],
    "hackbench that was stopped": b"Signal 2 caught, longjmp'ing out!\n" + HACKBENCH,
    # The table with fill rates is that of the calibration.
    "queuelat: for '...' each bucket has as many as the next row, 5 of 100 and of 200": QUEUELAT,
    "queuelat that was late": QUEUELAT.replace(
        b"\n[0 - 99] = 0\n",
        b"\nqueue length exceeded:  queue_size=401 max_queue_len=400\n[0 - 99] = 0\n",
    ),
    "queuelat with values above": QUEUELAT.replace(
        b"[70000 - END] = 0\n\n", b"[69900 - 69999] = 0\n[70000 - END] = 2\n\n"
    ),
    "deadline_test": sample("deadline_test.stdout") + DEADLINE,
    "deadline_test that was late": DEADLINE.replace(b"deadlines  = 0", b"deadlines  = 5"),
    "deadline_test that is cut": DEADLINE.replace(b"nr_periods", b"nr"),
    "deadline_test with a broken time": DEADLINE.replace(b"4321us", b"x 4321us"),
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "rt-stress.txt", {name: told(text) for name, text in TEXTS.items()})
