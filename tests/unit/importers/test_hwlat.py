"""hwlatdetect and the tracer hwlat: older traces, reports, and what is refused."""

from __future__ import annotations

from tests.unit.importers.one_file import by_label, losses, read, refused, sample


def test_older_traces_and_lost_entries() -> None:
    line = (
        b"           <...>-1729  [001] d...   678.473449: #1      inner/outer(us):   11/12    "
        b"ts:1581527483.343962693 nmi-total:4 nmi-count:1\n"
    )
    reading = read(b"# tracer: hwlat\n# entries-in-buffer/entries-written: 1/7   #P:8\n" + line)
    assert [one.values for one in reading.series] == [[11_000], [12_000]]
    assert [event.data for event in reading.events] == [{"nmi_count": 1}]
    assert "6 of 7 entries" in "".join(loss.text for loss in reading.losses)


REPORT = b"""\
hwlatdetect:  test duration 5 seconds
   detector: tracer
   parameters:
        CPU list:          None
        Latency threshold: 10us
        Sample window:     1000000us
        Sample width:      500000us
     Non-sampling period:  500000us
        Output File:       None

Starting test
test finished
Max Latency: 15us
Samples recorded: 2
Samples exceeding threshold: 3
MTBF: 1.000 seconds
ts: 1718000000.000000001, delta:nan, inner:12, outer:15, cpu:3, count:1
ts: 1718000001.000000002, delta:1.000000, inner:11, outer:0, cpu:3, count:2
"""


def test_report() -> None:
    reading = read(REPORT)
    assert by_label(reading, "inner")[3].values == [12_000, 11_000]
    assert by_label(reading, "outer")[3].values == [15_000, 0]
    assert reading.params == {
        "threshold_ns": 10_000,
        "window_ns": 1_000_000_000,
        "width_ns": 500_000_000,
    }
    assert reading.duration_ns == 5 * 10**9
    assert [each.passed for each in reading.verdicts] == [False]
    older = REPORT.replace(b", cpu:3, count:1", b"").replace(b", cpu:3, count:2", b"")
    reading = read(older.replace(b", delta:nan", b"").replace(b", delta:1.000000", b""))
    assert [one.labels for one in reading.series] == [{}, {}] and "conditions" in losses(reading)


def test_report_of_a_quiet_machine() -> None:
    text = REPORT.partition(b"ts:")[0].replace(b"15us", b"Below threshold").replace(b"2\n", b"0\n")
    reading = read(text.replace(b"threshold: 3", b"threshold: 0"))
    assert [(one.count, one.values) for one in reading.series] == [(0, []), (0, [])]
    assert [each.passed for each in reading.verdicts] == [True]


def test_what_measured_nothing_is_refused() -> None:
    assert "it ends before its result" in refused(REPORT.partition(b"test finished")[0])
    assert "is no window" in refused(
        sample("qemu-hwlatdetect-raw.stdout").replace(b"8080/10148", b"8080")
    )
