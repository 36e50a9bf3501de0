"""What is wrong in a file is said with its place: one change each of files that are read."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import refused, sample
from tests.unit.importers.test_cyclictest import HISTOFALL
from tests.unit.importers.test_hwlat import REPORT
from tests.unit.importers.test_rt_stress import QUEUELAT
from tests.unit.importers.test_rt_tests import HISTOGRAM

MADE_UP = {
    "histogram of cyclictest": HISTOFALL,
    "report of hwlatdetect": REPORT.decode(),
    "table of queuelat": QUEUELAT.decode(),
    "histogram of cyclicdeadline": HISTOGRAM.decode(),
}
# The file: what stands there, where it is first, and what would make the file wrong.
CHANGES = {
    "rtla/rtla-timerlat-hist.stdout": [
        ("50          246", "50          245"),
        ("50          246", "50          -46"),
        ("50          246", "50          2 6"),
        ("50          246", "50          ٢٤٦"),
        ("50          246", "50 99999999999999999999"),
        ("\n100  ", "\n50   "),
        ("   Thr-001", "   Thr-000"),
        ("   Thr-001", "   Foo-001"),
        ("   Thr-001", ""),
        ("max:       9443", "max:         43"),
        ("max:       9443", "max:       2000"),
        ("min:         17", "min:        417"),
        ("min:         17", "min:          -"),
        ("avg:        426", "avg:       426.x"),
        ("over:        20", "count:       20"),
        ("max:       9443", "max:"),
    ],
    "rtla/rtla-timerlat-top.stdout": [
        ("  0 #600 ", "  0 #6x0 "),
        ("        29       299", "         9       2 9"),
        ("      29       299      8288", "    9929       299      8288"),
        ("      29       299      8288", "       -       299      8288"),
        ("  1 #599", "  0 #599"),
        ("  0 #600       |", "  0 #600       "),
    ],
    "rtla/rtla-osnoise-top.stdout": [
        ("0          145", "145"),
        ("19743", "1974x"),
        ("      303489        19743", "      303489       319743"),
        ("  1 #6", "  0 #6"),
    ],
    "pmqtest.json": [
        ('"min": 1', '"min": 99'),
        ('"avg": 2.96', '"avg": 2960'),
        ('"samples": 3799', '"samples": -3799'),
        ('"samples": 3799', '"samples": 3.5'),
        ('"samples": 3799', '"samples": true'),
        ('"max": 31', '"max": 99999999999999999999'),
        ('"max": 31', '"maximum": 31'),
        ('"num_threads": 2', '"num_threads": 3'),
        ('"1": {', '"0": {'),
        ('"1": {', '"\u0661": {'),
        ('"thread": {', '"thread": 7, "x": {'),
        ('"receiver": {', '"receiver": [], "x": {'),
    ],
    "pmqtest.stdout": [
        ("Max   31", "Max   -31"),
        ("Max   31", "Max   3 1"),
        ("Cycles 3799", "Cycles 37x9"),
        ("Cycles 3799", "Cycles ٣٧"),
        ("#3 -> #2, Min    1, Cur    3, Avg    3, Max   48\n", ""),
        ("Min    1, Cur    3, Avg    3, Max   48", "Min    1, Cur"),
    ],
    "histogram of cyclicdeadline": [
        ("000010 0", "000001 0"),
        ("000007\t000000", "000007"),
        ("000007\t000000", "000007\tx"),
        ("Avg Latencies: 00034 00003", "Avg Latencies: 00034"),
        ("00200 00003\n", "00009 00003\n"),
    ],
    "rt-migrate-test.stdout": [
        ("   4:    20142", "   6:    20142"),
        ("   Max: 115 us", "   Max: 11x us"),
        ("   Max: 115 us", "   Max: 116 us"),
        ("   Max: 115 us\n", ""),
    ],
    "oslat.stdout": [
        ("50054 (us)", "50053 (us)"),
        (" 2685", " 26x85"),
        (" 2685", " -2685"),
        (" 2685", " ٢"),
        (" 2685", " 2685 1"),
        (" 2685", " 99999999999999999999"),
        ("    003 (us):", "    002 (us):"),
        ("Core:\t 1", "Core:\t 1 1"),
        ("    Duration:\t 9.998 (sec)\n", ""),
        ("     Minimum:\t 1 (us)\n", ""),
    ],
    "oslat.json": [
        ('"3": 2685', '"3": -2685'),
        ('"3": 2685', '"x": 2685'),
        ('"3": 2685', '"2": 2685'),
        ('"histogram": {', '"histogram": 5, "x": {'),
        ('"cpu": 1', '"cpu": null'),
        ('"avg": 2.0', '"avg": 1e300, "x": 2.0'),
    ],
    "report of hwlatdetect": [
        ("inner:12", "inner:-12"),
        ("inner:12", "inner:1x"),
        ("Max Latency: 15us", "Max Latency: 14us"),
        ("recorded: 2", "recorded: 3"),
        ("15us", "Below threshold"),
        (", inner:11, outer:0", ", inner:11"),
    ],
    "xenomai-latency.stdout": [
        ("RTD|      4.416|", "RTD|      4,416|"),
        ("RTD|      4.416|", "RTD|     44.416|"),
        ("|     0|      4.416|", "|     0|      4.417|"),
        ("RTS|      4.374|", "RTS|      4.375|"),
        ("RTS|      4.374|      6.187|", "RTS|      4.374|     66.187|"),
        ("00:00:04\n", "00:00\n"),
        ("in microseconds", "in nanoseconds"),
        ("(periodic user-mode task,", "(a task,"),
        ("(periodic user-mode task, 1000", "(periodic user-mode task, 100"),
    ],
    "made/xenomai-latency-kernel.gnuplot": [
        ("19.5 1\n", ""),
        ("19.5 1\n", "19.6 1\n"),
        ("2.75 42\n", "2.8 42\n"),
        ("2.75 42\n", "2.75 0\n"),
        ("2.75 42\n", "2.75 x\n"),
    ],
    "made/ros2-performance_test.csv": [
        ("latency_max (ms)", "latency_max"),
        ("received,", "got,"),
        ("0.4105", "0.0705"),
        ("0.1033", "0.9033"),
        ("0.4105", "inf"),
        ("\t998,", "\t-998,"),
        ("\t998,", "\tmany,"),
        ("3.000702", "1.9"),
        ("0.0698,", "0.0698,9,"),
        ("T_experiment", "T"),
    ],
    "perf-sched-pipe.stdout": [
        ("Executed 20000", "Executed 2000"),
        ("15.121950", "151.21950"),
        ("66129", "6612"),
        ("15.121950", "15.12.1"),
        ("Executed 20000", "Executed 1000000000000000000000000000000"),
    ],
    "made/stress-ng-cyclic-dist.stderr": [
        ("1000 samples", "998 samples"),
        ("max: 2604251", "max: 2404251"),
        ("mean: 6266.33", "mean: 1.5"),
        ("mean: 6266.33", "mean: nan"),
        ("       20000", "       25000"),
        ("       30000", "       50000"),
        ("(10000 ns", "(0 ns"),
        ("1000 samples", "1000000000000000000000000000000 samples"),
    ],
    "table of queuelat": [
        ("[400 - 499]", "[200 - 299]"),
        ("[400 - 499]", "[410 - 499]"),
        ("[400 - 499] = 9", "[400 - 499] = 9.5"),
        ("[400 - 499]", "[500 - 599]"),
        ("Avg loop", "Avg"),
    ],
    "zephyr-latency_measure.stdout": [
        ("2741 ns", "-2741 ns"),
        ("2741 ns", "10000000000000000000000000 ns"),
    ],
    "made/rteval-summary.xml": [
        ("<rteval ", '<!DOCTYPE rteval [<!ENTITY a "b">]>\n<rteval '),
        ('index="4" value="55"', 'index="4" value="56"'),
        ('index="4" value="55"', 'index="4" value="-5"'),
        ('index="4" value="55"', 'index="2" value="55"'),
        ("<samples>400<", "<samples>4e2<"),
        ('<minimum unit="us">3<', '<minimum unit="ms">3<'),
        ('<minimum unit="us">3<', '<minimum unit="us">4<'),
        ('<core id="3"', '<core id="2"'),
        ('<core id="3"', '<core id="three"'),
        (
            "    <Profile",
            "<a>" * 40 + "<Profile",
        ),
    ],
    "made/rteval-3.1.txt": [
        ("Samples:           59476", "Samples:           59 476"),
        ("Samples:           59476", "Samples:           many"),
        ("Max:               1887us", "Max:               1887ms"),
        ("Max:               1887us", "Max:               2us"),
        ("CPU core 1 ", "CPU core x "),
        ("CPU core 1 ", "CPU core 0 "),
    ],
    "histogram of cyclictest": [
        ("000001 000000\t", "000001 00x000\t"),
        ("000001 000000\t000004\t", "000001 "),
        ("000001 ", "000000 "),
        ("# Min Latencies: 00000 00000", "# Min Latencies: 00000"),
        ("Overflows: 00000 00001 00001", "Overflows: 00000"),
        ("# Max Latencies: 00000", "# Max Latencies: x"),
    ],
    "made/linuxcnc-latency-histogram.txt": [
        ("min:  -4.100", "min:   9.100"),
        ("sdev:   0.900", "sdev:  90.000"),
        ("max:   5.300 uS", "max:   5.300 ms"),
    ],
    "made/linuxcnc-latency-test.txt": [
        ("9075", "9075 1"),
        ("1004512", "1904512"),
        (" 9511", "-9511"),
    ],
}


def test_each_change_is_refused_with_its_place(request: pytest.FixtureRequest) -> None:
    told = {}
    for name, changes in CHANGES.items():
        text = MADE_UP[name] if name in MADE_UP else sample(name).decode()
        for old, new in changes:
            assert old in text, (name, old)
            told[f"{name}: {old!r} -> {new!r}"] = refused(text.replace(old, new, 1))
    assert_as_stored(request, "refusals.txt", told)
