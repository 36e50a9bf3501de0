"""The layout of a study: which cell stands where, of which kind, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from hardstone.event_names import TIRE_TESTS
from hardstone.model import ClockCheck, Event, Result, RunDocument, Series, Trust
from hardstone.study.exhibits import KINDS, Cell, StudyView
from hardstone.study.layout import IN_THE_TEXT, in_one_unit, lay_out
from hardstone.study.papers import load_papers, paper_named
from hardstone.systems.published import all_figures, is_of_kernel_time, value_of
from hardstone.systems.subjects import Amount, amount_of
from hardstone.wording import format_value
from tests.process.targets import sample
from tests.unit.kernel.blocked import kernel_result
from tests.unit.simulation.tires import real_fast, real_time, sweep, whole_sweep
from tests.unit.stats import make
from tests.unit.study.made_runs import (
    COUNTED,
    DEDICATED,
    EMULATED,
    GARRE,
    HP,
    LATSTAT,
    LINUX,
    OBENLAND,
    behaviour,
    cell_at,
    conditions,
    labelled,
    response,
    ring,
    rows_at,
    run,
    view_of,
)
from tests.unit.systems import rated_runs

ADD = "RSP-P-FIX/add/time"
STUDY_OF = {one.key: one.name for one in load_papers().values()}


NO_12 = "no simulation with policy fifo, 12 threads, a step of 10 ms"
RUN, OTHER_RUN = "20261121T030100Z-000001", "20261121T030200Z-000002"

# What the paper has


@pytest.mark.parametrize("paper", STUDY_OF.values())
def test_every_published_figure_has_its_cell(paper: str) -> None:
    view = view_of(paper)
    shown = {
        (row.cells[place].amount, view.columns[place].id)
        for one in view.exhibits
        for row in one.rows
        for place in one.columns
        if row.cells[place].kind == "published"
    }
    numbers = [
        one
        for one in all_figures()
        if STUDY_OF[one.study] == paper and one.system and one.statistic
    ]
    assert numbers
    for one in numbers:
        assert (amount_of(one), f"published:{one.system}") in shown, one


@pytest.mark.parametrize(
    ("paper", "address", "load", "statistic", "system", "kind", "text"),
    [
        (OBENLAND, ADD, "heavy", "max", "solaris-2proc", "published", "11\xa0236.5 ms"),
        (OBENLAND, ADD, "none", "max", "lynx", "published", "9.9 ms"),
        (OBENLAND, "RSP-P-FIX/whetstone/time", "none", "max", "lynx", "lost", ""),
        (DEDICATED, "SEM-P-NEW/unnamed/thread/used/create", "", "mean", "linux-rt", "published",
         "< 0.1 us"),
        (DEDICATED, "IRQ-S-SUS/external/minimal_period", "", "min", "qnx", "published", "15 us"),
        (DEDICATED, "SEM-B-LCK", "", "", "ce7", "published", "passed"),
        (HP, "KRN-P-PRE/all/dispatch", "", "time_90", "hpux-off", "published", "40 ms"),
        (HP, "CLK-B-RES/setitimer/expiry_step", "", "min", "hpux-on", "published", "10 ms"),
        (GARRE, "THR-P-PRE/thread/preemption", "", "max", "linux", "published",
         "> 1\xa0000\xa0000 ns"),
        (GARRE, "SEM-P-SHF/unnamed/thread/shuffle", "", "max", "xenomai", "not covered", ""),
        (GARRE, "SEM-P-SHF/mutex/thread/shuffle", "", "max", "xenomai", "published", "1282 ns"),
        (LATSTAT, "TMR-P-LAT/total/wakeup", "latstat", "p99.9999", "solaris-latstat", "published",
         "13 us"),
        (LATSTAT, "TMR-P-LAT/dispatch/wakeup", "latstat", "max", "solaris-latstat", "lost", ""),
    ],
)  # fmt: skip
def test_a_published_cell_is_as_the_paper_prints_it(
    paper: str, address: str, load: str, statistic: str, system: str, kind: str, text: str
) -> None:
    view = view_of(paper)
    (place,) = [n for n, one in enumerate(view.columns) if one.id == f"published:{system}"]
    cell = rows_at(view, address, load, statistic)[0].cells[place]
    assert (cell.kind, cell.text) == (kind, text)
    assert (cell.kind == "published") == (not cell.reason)


def test_exhibits_stand_in_the_order_of_the_paper_and_figures_of_none_come_last() -> None:
    paper = paper_named(OBENLAND)
    assert [one.exhibit.number for one in view_of(OBENLAND).exhibits][: len(paper.exhibits)] == [
        one.number for one in paper.exhibits
    ]
    bare = replace(paper, exhibits=())
    (last,) = lay_out(bare, []).exhibits
    assert last.exhibit.number == IN_THE_TEXT
    assert {row.address for row in last.rows} == {
        str(one.address) for one in all_figures() if one.study == paper.key
    }


def test_the_systems_of_an_exhibit_are_those_that_it_covers_and_all_that_were_measured() -> None:
    view = view_of(GARRE, run(ring(threads=2)))
    columns = {one.exhibit.number: one.columns for one in view.exhibits}
    names = {
        number: [view.columns[one].short for one in found] for number, found in columns.items()
    }
    assert names["Table 2"] == ["linux", "linux-2.6.38", "this machine, shared"]
    assert names["Figure 8"] == ["linux"]  # no test measures its rows
    assert names["Figure 3"] == []


def test_cells_that_a_figure_draws_or_a_table_repeats_count_once() -> None:
    view = view_of(DEDICATED)
    drawn = sum(len(one.rows) * len(one.columns) for one in view.exhibits if one.exhibit.plots)
    whole = sum(len(one.rows) * len(one.columns) for one in view.exhibits)
    assert drawn and sum(view.counts().values()) == whole - drawn
    repeated = view_of(GARRE)
    tables = [one for one in repeated.exhibits if one.exhibit.number in ("Table 1", "Table 2")]
    published = sum(
        row.cells[place].kind == "published"
        for one in tables
        for row in one.rows
        for place in one.columns
    )
    only = replace(repeated, exhibits=tuple(tables))
    assert only.counts()["published"] == published - 3


def test_only_tests_keeps_their_rows() -> None:
    view = view_of(GARRE, only_tests=["THR-P-PRE"])
    assert [one.exhibit.number for one in view.exhibits] == ["Table 1", "Table 2"]
    assert {row.address for one in view.exhibits for row in one.rows} == {
        "THR-P-PRE/thread/preemption"
    }
    assert view_of(GARRE, only_tests=["TMR-B-EDGE"]).exhibits == ()
    assert view_of(GARRE, only_tests=["MUT-B-INV"]).count_notes == []
    # Words of an exhibit that has no other test stay with it.
    first, _ = view_of(OBENLAND, only_tests=["TMR-P-JIT"]).exhibits[-2:]
    assert first.exhibit.number == "Figure 6a" and first.rows[0].cells[0].text == "< 200 us, low"


# What a run has, cell by cell


def inversion(medium_ns: int) -> Result:
    series = [labelled("delay", 120_000, protocol="none")]
    params = {"medium_ns": medium_ns}
    return make.result("MUT-P-INV", series=series, params=params, conditions=conditions())


def resolution(*mechanisms: str) -> Result:
    bounded = Event(name="expiry_step_bounded", text="-", data={"mechanisms": list(mechanisms)})
    series = [labelled("expiry_step", 60_000, mechanism="setitimer")]
    return make.result("CLK-B-RES", series=series, conditions=conditions(), events=[bounded])


def primitive(name: str, inverted: int, ended: int) -> list[Series]:
    one = labelled("inverted", *[inverted] * 3, primitive=name)
    other = labelled("ended_by_watchdog", *[ended] * 3, primitive=name)
    return [msgspec.structs.replace(found, unit="count") for found in (one, other)]


def primitives(*series: Series) -> Result:
    return make.result("MUT-B-INV", series=list(series), conditions=conditions())


def switches(**values: int) -> Result:
    found = [
        labelled("context_switch", value, kind=kind, scope="thread")
        for kind, value in values.items()
    ]
    return make.result("SEM-P-RTP", series=found, conditions=conditions())


def impossible() -> Result:
    found = response()
    found.series[0].min = 11_000_000
    return found


SWITCH = "SEM-P-RTP/unnamed/thread/context_switch"
PAIR = make.result(
    "SEM-P-SIG",
    series=[labelled("signal_wait", 60, kind="unnamed", scope="thread")],
    conditions=conditions(),
)
SIGNAL_WAIT, BLOCKING = "SEM-P-SIG/unnamed/thread/signal_wait", "CLK-P-BIN/syscall/blocking"
IN_LAB = make.plan_of([], target="lab:debian,preempt=full", loads=["none"])
BELOW = "the minimum 11000000 is above the maximum 10000000"
FUTEX = "on Linux this kind enters the kernel only when a thread waits"
HOT = Trust(grade="untrustworthy", reasons=["the CPU was too hot"])
OTHER: dict[str, Any] = {"system": {"kernel.name": "Other"}}
NOT_SEEN = Event(name="not_seen", text="-", data={"verdict": "first_slice"})
UNCOUNTED = "lowered_setschedparam/fifo"
INVERSION, SPIN, SEMAPHORE = (
    "MUT-P-INV/none/delay",
    "MUT-B-INV/spin/inverted",
    "MUT-B-INV/semaphore/inverted",
)
SETITIMER = "CLK-B-RES/setitimer/expiry_step"


@pytest.mark.parametrize(
    ("paper", "done", "address", "kind", "text", "reason", "notes"),
    [
        (OBENLAND, response(), ADD, "measured", "10 ms", "", ()),
        # another block, medium or policy than the published one: shown, and not comparable
        (OBENLAND, response(1, params={"block_ns": 1_000_000}), ADD, "not comparable", "1 ms",
         "block 1 ms, in the study block 10 ms", ()),
        (OBENLAND, response(params={}), ADD, "not comparable", "10 ms",
         "block_ns is not known, in the study block 10 ms", ()),
        (OBENLAND, inversion(100_000), INVERSION, "not comparable", "120 us",
         "medium 100 us, in the study medium 10 ms", ()),
        (OBENLAND, inversion(10_000_000), INVERSION, "measured", "120 us", "", ()),
        (DEDICATED, ring(policy="rr"), "THR-P-SLS/128/switch", "not comparable", "2 us",
         "policy rr, in the study fifo", ()),
        (OBENLAND, response(conditions=conditions(policy="other", realtime=False)), ADD,
         "not comparable", "10 ms", "not scheduled as real-time: policy other", ()),
        # lost in the paper, and measured all the same, with the parameters of its test
        (OBENLAND,
         response(series=[labelled("time", 7, kind="whetstone")], params={"block_ns": 5}),
         "RSP-P-FIX/whetstone/time", "not comparable", "7 ns",
         "block 5 ns, in the study block 10 ms", ()),
        # a step that is hidden is at most the smallest value
        (HP, resolution("nanosleep"), SETITIMER, "measured", "0.06 ms", "", ()),
        (HP, resolution("nanosleep", "setitimer"), SETITIMER, "measured", "0.06 ms", "",
         ("upper bound of the step: latency and the time to arm the timer are included",)),
        # vulnerable is what was inverted, and what locked up
        (GARRE, primitives(*primitive("spin", 0, 1)), SPIN, "measured",
         "vulnerable (3 of 3 rounds)", "",
         ("the larger of inverted 0 of 3 and ended_by_watchdog 3 of 3",)),
        (GARRE, primitives(*primitive("semaphore", 1, 0)), SEMAPHORE, "measured",
         "vulnerable (3 of 3 rounds)", "",
         ("the larger of inverted 3 of 3 and ended_by_watchdog 0 of 3",)),
        (GARRE, primitives(*primitive("spin", 0, 0)), SPIN, "measured",
         "not vulnerable (0 of 3 rounds)", "",
         ("the larger of inverted 0 of 3 and ended_by_watchdog 0 of 3",)),
        (GARRE, primitives(*primitive("spin", 0, 0)[:1]), SPIN, "not measured", "",
         "MUT-B-INV/spin/ended_by_watchdog: no series with spin, ended_by_watchdog; there are "
         "primitive spin", ()),
        # a verdict that does not count fails nothing, and one that is missing was not seen
        (DEDICATED, behaviour("THR-B-NEW"), "THR-B-NEW", "measured", "pass", "", ()),
        (DEDICATED, behaviour("THR-B-NEW", UNCOUNTED), "THR-B-NEW", "measured", "pass", "",
         (f"{UNCOUNTED} failed, but does not count for a rating",)),
        (DEDICATED, behaviour("THR-B-NEW", "lower", UNCOUNTED), "THR-B-NEW", "measured",
         "fail: lower", "", (f"{UNCOUNTED} failed, but does not count for a rating",)),
        (DEDICATED, behaviour("THR-B-RR", events=[NOT_SEEN]), "THR-B-RR", "measured", "pass", "",
         ("not seen: first_slice",)),
        # cut off, impossible or untrustworthy
        (OBENLAND, response(complete=False), ADD, "not comparable", "10 ms",
         "cut off before it ended", ()),
        (OBENLAND, response(interrupted=True), ADD, "not comparable", "10 ms",
         "cut off before it ended", ()),
        (OBENLAND, response(status="timeout", reason="over 10 s"), ADD, "not comparable", "10 ms",
         "timeout: over 10 s", ()),
        (OBENLAND, impossible(), ADD, "not comparable", "10 ms",
         "not trustworthy: RSP-P-FIX time [kind add]: " + "; it cannot be true: ".join([BELOW] * 2),
         ()),
        (OBENLAND, run(response(), trust=HOT), ADD, "not comparable", "10 ms",
         "not trustworthy: the CPU was too hot", ()),
        # a kind that does not enter the kernel, and a pair that stays out of it
        (OBENLAND, switches(unnamed=5_000), SWITCH, "not comparable", "5 us",
         FUTEX, ()),
        (OBENLAND, run(switches(unnamed=5_000, sysv=7_000), **OTHER), SWITCH, "measured", "5 us",
         "", ()),
        (OBENLAND, PAIR, SIGNAL_WAIT, "measured", "60 ns", "", (FUTEX,)),
        (OBENLAND, run(PAIR, **OTHER), SIGNAL_WAIT, "measured", "60 ns", "", ()),
        (DEDICATED,
         make.result("SEM-P-ARC", params={"waiters": [128]}, conditions=conditions(),
                     series=[labelled("acquire", 500, kind="unnamed", scope="thread", waiters=97)]),
         "SEM-P-ARC/unnamed/thread/128/acquire", "measured", "0.5 us", "",
         ("97 waiters instead of 128",)),
        # no figure, and why
        (DEDICATED, ring(threads=3), "THR-P-SLS/2/switch", "not measured", "",
         "no series with 2; there are threads 3", ()),
        (LATSTAT, make.result(values=range(100), conditions=conditions("latstat")),
         "TMR-P-LAT/total/wakeup", "measured", "0.0495 us", "", ()),
        (DEDICATED,
         make.result("SEM-B-LCK", series=[], status="unsupported", reason="no sem_t",
                     conditions=conditions()),
         "SEM-B-LCK", "not measured", "", "unsupported: no sem_t", ()),
        (OBENLAND, run(response(), plan=IN_LAB), BLOCKING, "not measured", "",
         "not run; type: hardstone run CLK-P-BIN --target lab:debian,preempt=full", ()),
        (OBENLAND,
         make.result("RSP-P-FIX", series=[], status="denied", reason="no right", remedy="ask root",
                     conditions=conditions()),
         ADD, "not measured", "", "denied: no right; ask root", ()),
    ],
)  # fmt: skip
def test_the_cell_of_a_run(
    paper: str, done: Result | RunDocument, address: str, kind: str, text: str, reason: str,
    notes: tuple[str, ...],
) -> None:  # fmt: skip
    cell = cell_at(view_of(paper, run(done) if isinstance(done, Result) else done), address)
    assert (cell.kind, cell.text, cell.notes) == (kind, text, notes)
    assert cell.reason == reason


def test_what_was_not_run_says_what_to_type() -> None:
    view = view_of(OBENLAND, run(response(conditions=conditions(cpu_config="shielded"))))
    for load, typed in (("none", ""), ("heavy", " --load heavy")):
        cell = cell_at(view, "CLK-P-BIN/syscall/blocking", load)
        wanted = f"not run; type: hardstone run CLK-P-BIN{typed} --cpu-config shielded"
        assert (cell.kind, cell.text, cell.reason) == ("not measured", "", wanted)


def test_a_quantile_that_the_run_is_too_short_for_says_what_it_needs() -> None:
    view = view_of(LATSTAT, run(make.result(conditions=conditions("latstat"))))
    cell = cell_at(view, "TMR-P-LAT/total/wakeup", statistic="p99.9999")
    assert cell.kind == "not measured" and cell.reason.startswith(
        "the 99.9999 % quantile needs 10\xa0000\xa0000 values; the run has 3"
    )


def test_unequal_work_is_not_comparable_and_given_work_is_noted() -> None:
    done = [
        response(conditions=conditions(load), calibrated={"add_operations": count})
        for load, count in (("none", 70), ("heavy", 90))
    ]
    view = view_of(OBENLAND, run(*done))
    assert cell_at(view, ADD).reason.startswith("the amounts of work differ")
    assert cell_at(view, "RSP-P-FIX/copy/time").kind == "measured"
    for given, notes in ((0, ()), (70, ("70 operations set by the request, not calibrated",))):
        params = {"block_ns": 10_000_000, "add_operations": given}
        plan = make.plan_of([sample.planned("RSP-P-FIX", params=params)])
        one = run(response(calibrated={"add_operations": 70}), plan=plan)
        assert cell_at(view_of(OBENLAND, one), ADD).notes == notes


def test_a_kind_that_enters_the_kernel_stands_for_one_that_does_not() -> None:
    done = switches(unnamed=5_000, sysv=7_000, eventfd=9_000)
    cell = cell_at(view_of(OBENLAND, run(done)), SWITCH)
    assert (cell.kind, cell.text) == ("measured", "7 us")
    assert "sysv/thread" in cell.source
    (note,) = cell.notes
    assert "of kind sysv; unnamed 5 us is not comparable" in note and "eventfd 9 us" in note


def test_interrupts_of_another_source_stand_in_for_those_of_a_device_and_are_not_compared() -> None:
    timer = labelled("delivery", 900, 4_000, source="ipi", cpu=0)
    latency = make.result("IRQ-P-LAT", series=[timer], conditions=conditions())
    cell = cell_at(view_of(DEDICATED, run(latency)), "IRQ-P-LAT/external/latency", "", "max")
    assert (cell.kind, cell.text) == ("not comparable", "4 us")
    assert cell.reason == "delivery of interrupts from another CPU, not from a device"
    device = labelled("latency", 300, source="external", cpu=0)
    both = make.result("IRQ-P-LAT", series=[timer, device], conditions=conditions())
    cell = cell_at(view_of(DEDICATED, run(both)), "IRQ-P-LAT/external/latency", "", "max")
    assert (cell.kind, cell.text) == ("measured", "0.3 us")


@pytest.mark.parametrize(
    ("changed", "mark", "reason"),
    [
        ({"system": EMULATED}, "emulated", "emulated: not comparable with hardware"),
        ({"system": COUNTED}, "counts instructions",
         "time is an instruction count: not comparable with hardware"),
        ({"system": {"virtual.emulated": None}}, "may be emulated",
         "may be emulated: not comparable with hardware"),
        ({"clock_check": ClockCheck(host_ns=10**9, target_ns=10**10, uncertainty_ns=0)}, "",
         "the target's clock ran 10 times as fast as this machine's"),
        ({"system": {"virtual.hypervisor": "KVMKVMKVM"}}, "", ""),
    ],
)  # fmt: skip
def test_times_of_another_kind_are_shown_and_not_compared_and_behaviours_are(
    changed: Mapping[str, Any], mark: str, reason: str
) -> None:
    done = run(response(), behaviour("THR-B-RR", "rotates"), **changed)
    view = view_of(OBENLAND, done)
    ((_, column),) = view.own
    assert (column.mark, column.apart) == (mark, reason)
    cell = cell_at(view, ADD)
    assert (cell.text, cell.reason) == ("10 ms", reason)
    assert cell.kind == ("not comparable" if reason else "measured")
    cell = cell_at(view_of(DEDICATED, done), "THR-B-RR")
    assert (cell.kind, cell.text) == ("measured", "fail: rotates")


@pytest.mark.slow
def test_lengths_of_kernel_sections_have_their_interval() -> None:
    view = view_of(HP, run(msgspec.structs.replace(kernel_result(), conditions=conditions())))
    cell = cell_at(view, "KRN-P-PRE/all/dispatch", statistic="time_90")
    assert cell.kind == "measured" and re.fullmatch(r"(< )?[\d.]+ [num]?s", cell.text)
    assert re.fullmatch(r"interval .+ to .+", cell.notes[0])
    assert cell.amount is not None and cell.amount.statistic == "time_90"
    short = msgspec.structs.replace(kernel_result(count=300), conditions=conditions())
    cell = cell_at(view_of(HP, run(short)), "KRN-P-PRE/all/dispatch", statistic="time_99")
    assert cell.kind == "not measured"
    assert "the 99 % length needs 1\xa0053 values; the run has 900" in cell.reason


def kernel_under(model: str, count: int = 4_000) -> Result:
    """Its paths are shorter with preemption."""
    found = kernel_result(count=count, is_short=model == "full")
    return msgspec.structs.replace(found, conditions=conditions(preemption=model))


@pytest.mark.slow
def test_what_preemption_improves_stands_beside_hps() -> None:
    both = run(kernel_under("none"), kernel_under("full"))
    view = view_of(HP, both)
    (table,) = [one for one in view.exhibits if one.exhibit.number == "Table 3"]
    places = [place for place, _ in view.own]
    found = {
        row.statistic: row.cells for row in table.rows if row.label.startswith("improvement: ")
    }
    words = [row.words for row in table.rows if row.label.startswith("improvement: ")]
    assert words == [("28 times",), ("37 times",), ("77 times",)]
    for cells in found.values():
        off, on = (cells[place] for place in places)
        assert off.kind == "not covered" and on.kind == "measured"
        assert float(on.text.removesuffix(" times").lstrip("> ")) > 1
    # One model says nothing of it, nor do two machines.
    for view in (
        view_of(HP, run(kernel_under("none"))),
        view_of(
            HP,
            run(kernel_under("none")),
            run(kernel_under("full"), number=2, system=LINUX | {"cpu.count": 7}),
        ),
    ):
        labels = [row.label for one in view.exhibits for row in one.rows]
        assert not any(one.startswith("improvement: ") for one in labels)


def test_an_improvement_that_few_values_forbid_says_what_it_needs() -> None:
    view = view_of(HP, run(kernel_under("none", 300), kernel_under("full", 300)))
    (cells,) = [
        row.cells
        for one in view.exhibits
        for row in one.rows
        if row.label.startswith("improvement: 99")
    ]
    on = cells[view.own[1][0]]
    assert on.kind == "not measured" and "needs" in on.reason


def test_sizes_of_the_tire_come_from_all_points_of_a_load() -> None:
    view = view_of(GARRE, whole_sweep(["none"]))
    cell = cell_at(view, "SIM-S-RT/missed", statistic="most without a miss")
    assert cell.kind == "measured" and cell.text.startswith("12\xa0000 (fifo, 1")
    cell = cell_at(view, "SIM-S-RT/12/missed", statistic="most without a miss")
    assert (cell.kind, cell.reason) == ("not measured", NO_12)
    emulated = view_of(GARRE, msgspec.structs.replace(whole_sweep(["none"]), system=EMULATED))
    cell = cell_at(emulated, "SIM-S-RT/missed", statistic="most without a miss")
    assert cell.kind == "not comparable" and cell.text.startswith("12\xa0000 (fifo, 1")


def test_a_curve_of_the_tire_says_what_held_or_how_long_it_took() -> None:
    held = sweep(real_time(400, 1), real_time(800, 1, missed=1))
    cell = cell_at(view_of(GARRE, held), "SIM-S-RT/1/fifo/missed")
    assert cell.text == "none missed to 400 masses, missed from 800 masses"
    fast = view_of(GARRE, sweep(*(real_fast(n, 6) for n in (400, 1200))))
    cell = cell_at(fast, "SIM-P-RF/6/fifo/total_time")
    assert cell.kind == "measured" and "with 400 masses" in cell.text
    assert "with 1\xa0200 masses" in cell.text
    for address, said in (
        ("SIM-P-RF/1/fifo/total_time", "policy fifo, 1 thread"),
        ("SIM-P-RF/6/other/total_time", "policy other, 6 threads"),
    ):
        reason = f"no simulation with {said}, a step of 10 ms"
        assert cell_at(fast, address).reason == reason


def total_cell(*documents: RunDocument) -> Cell:
    return cell_at(view_of(GARRE, *documents), "SIM-P-RF/6/fifo/total_time")


def timed(run_id: str, *results: Result) -> RunDocument:
    return make.document(run_id=run_id, results=list(results))


def of_length(seconds: int, **changed: Any) -> Result:
    params = {"masses": [400], "threads": [6], "step_ns": 10_000_000, "simulated_s": seconds}
    return real_fast(400, 6, params=params | changed)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (of_length(1), "1 s simulated, in the study 60 s"),
        (of_length(60, step_ns=1_000_000), "step 1 ms, in the study 10 ms"),
        (real_fast(400, 6, solver="barrier"), "solver barrier, in the study semaphore"),
    ],
)
def test_a_total_time_of_another_simulation_is_not_compared(other: Result, reason: str) -> None:
    alone = total_cell(timed(RUN, other))
    assert (alone.kind, alone.reason) == ("not comparable", reason) and alone.text
    # One of the simulation of the study goes before it, whichever run is later.
    whole = timed(OTHER_RUN, real_fast(400, 6, totals=[30_500_000]))
    for order in ((timed(RUN, other), whole), (whole, timed(RUN, other))):
        cell = total_cell(*order)
        assert (cell.kind, cell.text) == ("measured", "30.5 ms with 400 masses")
        assert cell.source.startswith(OTHER_RUN)


def test_a_total_time_is_of_the_run_with_the_most_repeats() -> None:
    few = timed(RUN, real_fast(400, 6, totals=[1_000_000]))
    many = timed(OTHER_RUN, real_fast(400, 6, totals=[3_000_000, 5_000_000]))
    assert total_cell(few, many).text == "4 ms with 400 masses"


def test_a_map_of_one_policy_has_no_figures_of_another() -> None:
    """Figure 10 is of Linux under SCHED_OTHER; a run under SCHED_FIFO says nothing of it."""
    fifo = view_of(GARRE, sweep(real_time(400, 1, missed=1)))
    cell = cell_at(fifo, "SIM-S-RT/1/missed")
    assert cell.kind == "not measured"
    assert cell.reason == "no simulation with policy other, 1 thread, a step of 10 ms"
    other = view_of(GARRE, sweep(real_time(400, 1, missed=1, policy="other")))
    assert cell_at(other, "SIM-S-RT/1/missed").text == "400 (other, 1 thread)"


def test_a_miss_of_any_run_counts_for_the_size() -> None:
    held, missed = timed(RUN, real_time(400, 2)), timed(OTHER_RUN, real_time(400, 2, missed=1))
    for order in ((held, missed), (missed, held)):
        assert cell_at(view_of(GARRE, *order), "SIM-S-RT/missed").text == "none (fifo, 2 threads)"


@pytest.mark.parametrize(
    ("results", "kind", "text"),
    [
        ([behaviour("THR-B-PRI"), make.result("FIO-P-PRI", conditions=conditions())],
         "measured", "THR-B-PRI pass; FIO-P-PRI measured"),
        ([behaviour("THR-B-PRI", "levels"), behaviour("FIO-P-PRI")], "measured",
         "THR-B-PRI fail: levels; FIO-P-PRI pass"),
        ([behaviour("THR-B-PRI"), behaviour("FIO-P-PRI")], "measured", "pass"),
        ([behaviour("THR-B-PRI")], "measured", "THR-B-PRI pass"),
        ([behaviour("MEM-B-LCK")], "not measured", ""),
    ],
)  # fmt: skip
def test_a_row_of_words_has_what_its_tests_say(
    results: Sequence[Result], kind: str, text: str
) -> None:
    view = view_of(HP, run(*results))
    (table,) = [one for one in view.exhibits if one.exhibit.number == "Table 2"]
    row = next(one for one in table.rows if one.label.startswith("priority preemptive"))
    cell = row.cells[view.own[0][0]]
    assert (cell.kind, cell.text) == (kind, text)
    lacking = [one for one in ("THR-B-PRI", "FIO-P-PRI") if one not in {r.test for r in results}]
    said = f"{cell.reason} {' '.join(cell.notes)}"
    assert all(f"{one}: not run; type: hardstone run {one}" in said for one in lacking)


# Columns


def titles(*documents: RunDocument) -> list[str]:
    return [one.title for _, one in view_of(OBENLAND, *documents).own]


def test_cpu_configurations_are_columns_in_the_order_of_the_paper() -> None:
    configs = ("shielded", "shared", "single")
    found = [response(conditions=conditions(cpu_config=one)) for one in configs]
    assert titles(run(*found)) == [
        "this machine, shared",
        "this machine, single (others online)",
        "this machine, shielded",
    ]
    offline = response(conditions=conditions(cpu_config="single", settings=["offline"]))
    assert titles(run(offline)) == ["this machine, single (others offline)"]


def test_loads_are_rows_and_no_columns() -> None:
    done = run(
        *(
            response(ms, conditions=conditions(load))
            for load, ms in (("none", 10), ("heavy", 12), ("storm", 14))
        )
    )
    view = view_of(OBENLAND, done)
    assert [one.title for _, one in view.own] == ["this machine, shared"]
    assert [cell_at(view, ADD, load).text for load in ("none", "heavy")] == ["10 ms", "12 ms"]
    assert not rows_at(view, ADD, "storm")


@pytest.mark.parametrize(
    ("loads", "note"),
    [
        (("none",), ()),
        (("heavy", "none"), ("under load none",)),
        (("storm", "heavy"), ("under load storm",)),
        (("heavy",), ("under load heavy",)),
    ],
)
def test_a_row_without_a_load_takes_none_else_the_first(
    loads: Sequence[str], note: tuple[str, ...]
) -> None:
    view = view_of(DEDICATED, run(*(ring(load=load) for load in loads)))
    cell = cell_at(view, "THR-P-SLS/128/switch")
    assert (cell.kind, cell.notes) == ("measured", note)


def test_of_several_runs_the_largest_of_all_values_is_the_worst() -> None:
    worst, last = run(response(12), ring(), number=1), run(response(11), number=2)
    for order in ((worst, last), (last, worst)):
        view = view_of(OBENLAND, *order)
        ((_, column),) = view.own
        assert column.id == f"{last.id} {worst.id}"
        cell = cell_at(view, ADD)
        note = f"of run {worst.id}: the largest of 2 values, with those of {last.id}"
        assert (cell.text, cell.notes) == ("12 ms", (note,))
        assert cell.source.startswith(worst.id)
    cell = cell_at(view_of(DEDICATED, worst, last), "THR-P-SLS/128/switch")
    assert (cell.text, cell.notes) == ("2 us", (f"of run {worst.id}",))
    assert cell_at(view_of(OBENLAND, worst), ADD).notes == ()


def test_of_several_runs_a_mean_is_that_of_the_most_values_and_a_step_the_smallest() -> None:
    def switches(*values: int) -> Result:
        series = [labelled("switch", *values, threads=128)]
        return make.result("THR-P-SLS", series=series, conditions=conditions())

    long, last = run(switches(4_000, 6_000)), run(switches(1_000), number=2)
    cell = cell_at(view_of(DEDICATED, long, last), "THR-P-SLS/128/switch", statistic="mean")
    note = f"of run {long.id}: 2 of 3 values, the most of a run"
    assert (cell.text, cell.notes) == ("5 us", (note,))
    fine = make.result(
        "CLK-B-RES", series=[labelled("expiry_step", 40_000, mechanism="setitimer")],
        conditions=conditions(),
    )  # fmt: skip
    cell = cell_at(view_of(HP, run(fine), run(resolution(), number=2)), SETITIMER)
    assert cell.text == "0.04 ms" and "the smallest of 2 values" in cell.notes[0]


def test_a_claim_that_failed_in_any_run_has_failed() -> None:
    first, last = run(behaviour("SEM-B-LCK", "lower")), run(behaviour("SEM-B-LCK"), number=2)
    cell = cell_at(view_of(DEDICATED, first, last), "SEM-B-LCK")
    assert cell.text == "fail: lower" and f"passed in {last.id}" in cell.notes


def test_a_larger_figure_that_may_not_be_compared_is_named() -> None:
    cut = run(response(30, complete=False), number=2)
    cell = cell_at(view_of(OBENLAND, run(response(11)), cut), ADD)
    assert (cell.kind, cell.text) == ("measured", "11 ms")
    (note,) = [one for one in cell.notes if "not comparable" in one]
    assert note == f"30 ms in run {cut.id}, not comparable: cut off before it ended"


def test_a_figure_that_may_be_compared_goes_before_a_later_one_that_may_not() -> None:
    fair = run(response(11), number=1)
    later = run(response(12, params={"block_ns": 1}), number=2)
    view = view_of(OBENLAND, fair, later)
    cell = cell_at(view, ADD)
    assert (cell.kind, cell.text) == ("measured", "11 ms")


@pytest.mark.parametrize(
    "changed",
    [
        {"kernel.release": "6.13.0"},
        {"kernel.cmdline": "preempt=full"},
        {"machine.node": "two"},
        {"machine.cpu_model": "Another"},
        {"kernel.hz": 1000},
        EMULATED,
    ],
)
def test_another_kernel_machine_or_boot_line_is_another_column(changed: Mapping[str, Any]) -> None:
    one, other = run(response(), number=1), run(response(), number=2, system=LINUX | changed)
    names = titles(one, other)
    assert len(set(names)) == 2
    target = msgspec.structs.replace(one.plan, target="lab:debian")
    assert titles(one, run(response(), number=2, plan=target)) == [
        "this machine",
        "debian",
    ]


def test_preemption_models_are_columns() -> None:
    found = [
        response(conditions=conditions(preemption=model)) for model in ("none", "voluntary", "full")
    ]
    assert titles(run(*found)) == [
        f"this machine, preemption {model}" for model in ("none", "voluntary", "full")
    ]


# All figures of a long run


def battery(load: str) -> list[Result]:
    """A series, each with values of its own, for every address of every paper."""
    series: dict[str, list[Series]] = {}
    params: dict[str, dict[str, Any]] = {}
    addresses = {str(one.address): one for one in all_figures() if one.address.parts}
    for number, one in enumerate(addresses.values(), 1):
        test = one.address.test
        labels: dict[str, int | str] = {**one.address.labels}
        labels |= {f"label{n}": text for n, text in enumerate(one.address.parts[:-1])}
        known = [found for found in series.get(test, ()) if found.labels == labels]
        if any(found.name == one.address.parts[-1] for found in known):
            continue
        values = [1_000_000 * number, 1_000_003 * number, 1_500_000 * number + len(load)]
        unit = {"MB/s": "bytes_per_s", "masses": "count", None: "count"}.get(one.unit, "ns")
        made = msgspec.structs.replace(
            make.series(values, one.address.parts[-1]), labels=labels, unit=unit
        )
        series.setdefault(test, []).append(made)
        params.setdefault(test, {}).update(one.params)
    return [
        make.result(test, series=found, params=params[test], conditions=conditions(load))
        for test, found in series.items()
        if test not in TIRE_TESTS
    ]


SCALES = {"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}


def shown_value(cell: Cell, unit: str) -> float:
    """What a cell says, in the unit of its series."""
    text = cell.text.replace("\xa0", "")
    if "vulnerable" in text or unit == "count":
        return cell.amount.value if cell.amount and cell.amount.value is not None else 0.0
    number, name = text.split(" ")
    return float(number) * SCALES[name]


LOADS = ("none", "heavy", "latstat")


@pytest.mark.parametrize("paper", STUDY_OF.values())
def test_every_measured_cell_has_the_value_of_its_series(paper: str) -> None:
    results = [one for load in LOADS for one in battery(load)]
    done = run(*results, system={"kernel.name": "Other"})
    view = view_of(paper, done)
    by_address = {
        (one.conditions.load, "/".join([one.test, *map(str, found.labels.values()), found.name])):
        found for one in results for found in one.series
    }  # fmt: skip
    seen = 0
    for one in view.exhibits:
        for row in one.rows:
            cell = row.cells[view.own[0][0]]
            if cell.amount is None or is_of_kernel_time(row.statistic):
                continue
            identity, address, statistic = cell.source.split(" ")
            assert identity == done.id and statistic == (row.statistic or "max")
            assert sorted(address.split("/")) == sorted(row.address.split("/"))
            series = by_address[row.load or "none", address]
            wanted = value_of(series, statistic)
            assert cell.amount.value == wanted
            assert shown_value(cell, series.unit) == pytest.approx(wanted, rel=0.006)
            seen += 1
    assert seen >= {LATSTAT: 2, HP: 3, GARRE: 6}.get(paper, 20)


@pytest.mark.parametrize(
    ("texts", "own", "shown"),
    [
        # in the unit of most published figures
        (["46.2 MB/s", "41 MB/s"], [("bytes_per_s", 2_490_000_000)], ["2490 MB/s"]),
        (["12\xa0060 ns", "1422 ns"], [("ns", 144_000)], ["144\xa0000 ns"]),
        (["10 ms"], [("ns", 60_000), ("ns", 12_400_000)], ["0.06 ms", "12.4 ms"]),
        # without one, in that of the largest
        ([], [("ns", 800), ("ns", 1_500)], ["0.8 us", "1.50 us"]),
        # what would lose its digits keeps its own
        (["40 ms"], [("ns", 600)], ["600 ns"]),
        ([], [("count", 5)], ["5"]),
    ],
)
def test_a_row_has_one_unit(texts: list[str], own: list[Any], shown: list[str]) -> None:
    old = [
        Cell(
            "published", text, amount=Amount("ns" if text[-2] != "/" else "bytes_per_s", "max", "")
        )
        for text in texts
    ]
    new = [
        Cell("measured", format_value(value, unit), amount=Amount(unit, "max", "", value=value))
        for unit, value in own
    ]
    assert [one.text for one in in_one_unit([*old, *new])] == [*texts, *shown]


def test_stars_of_a_run_stand_beside_those_of_the_paper() -> None:
    """The fewest of its runs; where no run has any, why."""
    view = view_of(DEDICATED, run(ring()))
    (row,) = [row for one in view.exhibits for row in one.rows if row.label == "stars"]
    cell = row.cells[view.own[0][0]]
    assert cell.kind == "not measured"
    assert cell.reason.startswith("no run has an overall rating: no worst figure is known of")
    assert "type: hardstone evaluate" in cell.reason
    fast = rated_runs.full_run()
    slow = rated_runs.results(lambda one: (rated_runs.BLOCK_NS if one.reading else 90_000,) * 2)
    slow_run = msgspec.structs.replace(fast, id=OTHER_RUN, results=slow)
    alone, both = view_of(DEDICATED, fast), view_of(DEDICATED, fast, slow_run)

    def stars(view: StudyView) -> Cell:
        (row,) = [row for one in view.exhibits for row in one.rows if row.label == "stars"]
        return row.cells[view.own[0][0]]

    assert stars(alone).kind == "measured" and stars(alone).source == f"{fast.id} stars"
    assert float(stars(both).text.split()[-1]) < float(stars(alone).text.split()[-1])
    assert stars(both).source == f"{OTHER_RUN} stars"


# Whoever wrote the document


def test_names_of_a_document_are_cut_and_without_control_characters() -> None:
    odd = "\x1b[31m[bold]" + "x" * 500
    plan = make.plan_of([], target=odd)
    facts = LINUX | {"machine.cpu_model": odd, "kernel.release": odd}
    done = run(response(conditions=conditions(odd, cpu_config=odd)), plan=plan, system=facts)
    view = view_of(OBENLAND, done, run(response(), number=2, system=facts))
    for _, column in view.own:
        assert len(column.title) < 200 and "\x1b" not in column.title + column.about
    for one in view.exhibits:
        for row in one.rows:
            for _, cell in zip(KINDS, row.cells, strict=False):
                assert isinstance(cell, Cell) and "\x1b" not in cell.text
