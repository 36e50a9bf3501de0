"""Tables of the older studies with a row for each run, and kernel time beside HP's."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, Trust
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_view import PlainTable
from hardstone.published import load_studies
from hardstone.subjects import Subject
from tests.unit.present.made_systems import QNX, labelled, run_with
from tests.unit.stats.blocked import kernel_result
from tests.unit.stats.make import result

EMULATED = {"virtual.hypervisor": "TCG", "virtual.emulated": True, "kernel.name": "Linux"}


def table(anchor: str, *subjects: Subject) -> PlainTable:
    (found,) = [one for one in compare_view(list(subjects)).tables if one.anchor == anchor]
    return found


def worst_cases(**changed: object) -> Subject:
    results = [
        result("THR-P-SLS", series=[labelled([500, 1500], "switch", threads=2)]),
        result("THR-P-PRE", series=[labelled([600, 2500], "preemption", by="thread")]),
        result(
            "SEM-P-SHF", series=[labelled([7, 3500], "shuffle", kind="unnamed", scope="thread")]
        ),
    ]
    return run_with(*results, name="mine", **changed)


def test_worst_cases_are_those_of_the_study_with_ours_below() -> None:
    rows = {row[0]: row[2:] for row in table("worst-cases", worst_cases(), QNX).rows}
    assert rows["RTAI 3.9.1 (Linux 2.6.38)"] == ["12.06 us", "14.855 us", "12.986 us"]
    assert rows["Xenomai 2.6.2.1 (Linux 3.5.7)"] == ["1.422 us", "2.922 us", "1.282 us"]
    assert rows["Linux 3.5.7"][1] == "> 1 ms"
    assert rows["mine"] == ["1.50 us", "2.50 us", "3.50 us"] and len(rows) == 6


def test_an_emulated_run_has_the_reason_in_place_of_figures() -> None:
    rows = {row[0]: row[2:] for row in table("worst-cases", worst_cases(system=EMULATED), QNX).rows}
    assert rows["mine"] == ["emulated: not beside figures of hardware", "-", "-"]


UNTRUSTED = Trust(grade="untrustworthy", reasons=["throttled"])


def test_a_run_that_is_not_trustworthy_has_the_reason_in_place_of_figures() -> None:
    rows = {row[0]: row[2:] for row in table("worst-cases", worst_cases(trust=UNTRUSTED), QNX).rows}
    assert rows["mine"] == ["not trustworthy: throttled", "-", "-"]


def test_a_figure_without_real_time_scheduling_says_so_beside_a_study() -> None:
    one = result(
        "THR-P-SLS",
        series=[labelled([500, 1500], "switch", threads=2)],
        conditions=Conditions(load="heavy", cpu_config="shared", policy="other", realtime=False),
    )
    rows = {row[0]: row[2:] for row in table("worst-cases", run_with(one, name="mine"), QNX).rows}
    assert rows["mine"][0] == "1.50 us (not comparable: measured without real-time scheduling)"


def test_a_run_without_such_tests_has_no_row() -> None:
    assert len(table("worst-cases", run_with(result()), QNX).rows) == 5


def test_context_switches_are_those_of_the_study() -> None:
    switches = [
        labelled([2000, 4000], "context_switch", kind=kind, scope="thread")
        for kind in ("unnamed", "sysv")
    ]
    run = run_with(result("SEM-P-RTP", series=switches), name="mine")
    found = table("context-switches", run, QNX)
    rows = {(row[0], row[1]): row[2:] for row in found.rows}
    assert rows["LynxOS 3.0.1", "none"] == ["20.1 us", "42.2 us", "24.2 us", "47.2 us"]
    assert rows["Solaris 8, 2 CPUs", "heavy"][3] == "639.191 ms"
    assert rows["mine, sysv", "heavy"] == ["3 us", "4 us", "-", "-"]
    assert ("mine, unnamed", "heavy") not in rows
    assert len(rows) == 9


def test_message_queues_are_those_of_the_study() -> None:
    said = load_studies()["obenland-2000"].tables["message_queue"]["rows"]
    rows = {row[0]: row[2:] for row in table("message-queues", QNX, run_with(result())).rows}
    assert rows["LynxOS 3.0.1"] == [
        *("30.5 us", "50.1 us", "35.9 us", "57.7 us"),
        *("51.6 MB/s", "46.2 MB/s", "50 MB/s", "45.9 MB/s"),
    ]
    assert len(rows) == len(said)


def test_the_ladder_has_what_is_known_and_says_what_is_not() -> None:
    known = run_with(
        result(),
        name="known",
        system={"limits.priority_min": 1, "limits.priority_max": 99, "kernel.hz": 250},
    )
    unknown = run_with(result(), name="unknown", system={})
    rows = {row[0]: row[1:] for row in table("priorities", known, unknown).rows}
    assert rows["LynxOS 3.0.1"] == ["256", "not known", "100 Hz", "-"]
    assert rows["Solaris 8, 2 CPUs"][1].startswith("interrupt 160 to 169, real-time 100 to 159")
    assert rows["known"] == ["99", "real-time (SCHED_FIFO) 1 to 99", "250 Hz", "not known"]
    assert rows["unknown"] == ["not known"] * 4


def kernel_run(
    model: str, *, is_short: bool = False, system: object = None, **changed: object
) -> Subject:
    facts = {"kernel.preemption": model} | dict(system or {})  # type: ignore[call-overload]
    return run_with(
        kernel_result(2 if is_short else 1, is_short=is_short),
        name=model,
        system=facts,
        **changed,
    )


@pytest.mark.slow
def test_kernel_time_stands_beside_hps_with_the_improvement() -> None:
    found = table("kernel-preemption", kernel_run("none"), kernel_run("full", is_short=True), QNX)
    rows = [(row[0], row[1]) for row in found.rows]
    assert rows[:3] == [("HP 1987", "off"), ("HP 1987", "on"), ("HP 1987, improvement", "off / on")]
    assert found.rows[0][2:] == ["40 ms", "129 ms", "1127 ms"]
    assert found.rows[2][2:] == ["28", "37", "77"]
    assert rows[3:] == [
        ("none", "none"),
        ("full", "full"),
        ("full, improvement", "reference / system"),
    ]
    assert 10 < float(found.rows[-1][3].split(" ")[0]) < 60


def test_times_of_different_kinds_have_no_improvement() -> None:
    emulated = kernel_run("full", is_short=True, system=EMULATED)
    found = table("kernel-preemption", kernel_run("none"), emulated)
    assert found.rows[-1][2:] == ["-", "-", "-"]
    assert any("different kinds" in one for one in found.notes)
    assert "(emulated)" in found.rows[4][0]


def test_what_is_not_trustworthy_is_divided_by_nothing() -> None:
    fair, bad = kernel_run("none"), kernel_run("full", is_short=True, trust=UNTRUSTED)
    for pair in ((fair, bad), (bad, fair)):
        found = table("kernel-preemption", *pair)
        assert found.rows[-1][2:] == ["-", "-", "-"]
        assert any("no improvement is given: not trustworthy" in one for one in found.notes)
        assert [row[1] for row in found.rows if row[0] == "full"] == [
            "full; not trustworthy: throttled"
        ]


def test_without_kernel_time_there_is_no_such_table() -> None:
    anchors = [one.anchor for one in compare_view([QNX, run_with(result())]).tables]
    assert anchors == ["context-switches", "message-queues", "worst-cases", "priorities"]
