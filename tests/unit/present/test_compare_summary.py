"""The decisive rows."""

from __future__ import annotations

from hardstone.present.compare_build import compare_view
from hardstone.present.compare_summary import group_of
from hardstone.subjects import Amount, MeasuredRun, Subject, published_system
from tests.unit.present.made_systems import (
    CE7,
    LINUX_RT,
    QNX,
    labelled,
    run_with,
    spread,
    switching,
)
from tests.unit.stats.make import result


def addresses(*subjects: Subject) -> list[str]:
    return [one.address for one in compare_view(list(subjects)).decisive]


def test_of_the_study_they_are_those_of_its_summary() -> None:
    assert addresses(QNX, CE7, LINUX_RT) == [
        "CLK-P-DUR/tick",
        "THR-P-SLS/1000/switch",
        "IRQ-S-SUS/external/minimal_period",
        "SEM-P-ARN/unnamed/thread/acquire",
        "SEM-P-ARN/unnamed/thread/release",
        "SEM-P-ARC/unnamed/thread/128/acquire",
        "SEM-P-ARC/unnamed/thread/128/release",
        "MUT-P-ARN/inherit/acquire",
        "MUT-P-ARN/inherit/release",
        "MUT-P-ARC/inherit/acquire",
        "MUT-P-ARC/inherit/release",
    ]


def test_the_most_threads_that_two_systems_have() -> None:
    assert "THR-P-SLS/2/switch" in addresses(switching(spread(500)), QNX)
    alone = addresses(switching(spread(500), 17), switching(spread(500), 23))
    assert alone == ["THR-P-SLS/23/switch"]  # nothing is shared: the most of any


def latencies(*worst_by_cpu: int) -> MeasuredRun:
    found = [
        labelled([1000, 2000, worst], "wakeup", part="total", cpu=cpu)
        for cpu, worst in enumerate(worst_by_cpu)
    ]
    return run_with(result(series=found))


def test_of_wake_up_latency_the_worst_cpu_of_each_system() -> None:
    view = compare_view([latencies(5_000, 90_000), latencies(7_000)])
    (row,) = [one for one in view.decisive if group_of(one) == "wakeup"]
    worst = [one.worst.value for one in row.cells if isinstance(one.worst, Amount)]
    assert worst == [90_000, 7_000]
    assert row.cells[0].notes == ("CPU 1, the worst of 2",) and row.cells[1].notes == ()


def test_a_published_latency_stands_beside_it() -> None:
    view = compare_view([latencies(5_000, 90_000), published_system("solaris-latstat")])
    (row,) = [one for one in view.decisive if group_of(one) == "wakeup"]
    assert isinstance(row.cells[1].worst, Amount) and row.cells[1].worst.value == 32_000


def test_unnamed_semaphores_between_threads_are_taken() -> None:
    found = [
        labelled(spread(100), name, kind=kind, scope=scope)
        for kind in ("named", "unnamed")
        for scope in ("process", "thread")
        for name in ("acquire", "release")
    ]
    runs = [run_with(result("SEM-P-ARN", series=found)) for _ in range(2)]
    assert addresses(*runs) == [
        "SEM-P-ARN/unnamed/thread/acquire",
        "SEM-P-ARN/unnamed/thread/release",
    ]


def test_systems_without_decisive_series_have_none() -> None:
    other = result("SEM-P-SIG", series=[labelled([1, 2], "signal_wait")])
    assert addresses(run_with(other), run_with(other)) == []
