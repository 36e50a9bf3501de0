"""The answer of a run: its judgement, its cause, its steps, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hardstone.catalogue import load_catalogue
from hardstone.model import Conditions, Event, Result, RunDocument, Scalar, Series, Trust
from hardstone.present.answer import answer_of, screen_rows, title_of
from tests.unit.golden import assert_as_stored
from tests.unit.stats import make, recorded

US, MS = 1000, 1_000_000
GUEST: dict[str, Scalar] = {"virtual.time": "instructions"}
CONDITIONS = {"policy": "fifo", "priority": 98, "realtime": True}


def series_of(values: tuple[int, ...], name: str, labels: dict[str, int | str]) -> Series:
    found = make.series(values, name)
    found.labels = labels
    return found


def where(load: str = "none", **changed: Any) -> Conditions:
    return Conditions(load=load, cpu_config="shared", **(CONDITIONS | changed))


def waking(worst_ns: int, count: int = 5000, load: str = "heavy", **changed: Any) -> RunDocument:
    """A run of TMR-P-LAT, and what else is `changed` of the document."""
    result = make.result(values=(5 * US,) * (count - 1) + (worst_ns,), conditions=where(load))
    return make.document(results=[result], trust=Trust(grade="full"), **changed)


def of_wake_ups() -> Iterator[tuple[str, RunDocument]]:
    # a figure that is rounded to a limit that it exceeds does not contradict its judgement
    for worst_ns in (100 * US, 100 * US + 1, MS, MS + 1, 10 * MS, 10 * MS + 1):
        for load in ("heavy", "none"):
            yield f"{worst_ns} ns, load {load}", waking(worst_ns, load=load)
    for count, worst_ns in ((1000, 50 * US), (999, 50 * US), (10, 11 * MS)):
        yield f"{worst_ns} ns of {count} values", waking(worst_ns, count)
    for count in (999, 1500):
        run = waking(50 * US)
        first, labels = run.results[0].series[0], {"part": "total"}
        first.labels = labels | {"cpu": 0}
        run.results[0].series.append(series_of((US,) * count, "wakeup", labels | {"cpu": 1}))
        yield f"{count} values on another CPU", run
    results = [
        make.result(values=(US,) * 1999 + (worst,), conditions=where(load))
        for load, worst in (("none", 20 * US), ("heavy", 2 * MS))
    ]
    other = series_of((US,) * 1999 + (3 * MS,), "wakeup", {"part": "total", "cpu": 1})
    results[1].series.append(other)
    yield "the worst of all CPUs and loads", make.document(results=results)


def not_judged() -> Iterator[tuple[str, RunDocument]]:
    untrusted = Trust(grade="untrustworthy", reasons=["clocks apart"])
    yield "untrustworthy", msgspec.structs.replace(waking(50 * MS), trust=untrusted)
    for system in (GUEST, {"virtual.emulated": True}, {"virtual.emulated": None}):
        yield f"{system}", waking(50 * MS, system=system)
    for changed in ({"realtime": False}, {"policy": "other", "realtime": None}):
        run = waking(50 * MS)
        run.results[0].conditions = where(**changed)
        yield f"{changed}", run
    run = waking(50 * MS)
    run.results[0].series[0].count = 7
    yield "a wrong figure", run
    run = waking(50 * US)
    run.results[0].status = "failed"
    yield "failed", run
    coarse = waking(50 * US)
    coarse.results[0].instrument = coarse.instrument = make.instrument()
    coarse.instrument.quantum_ns = 50 * US
    yield "a clock that cannot resolve it", coarse
    zero = waking(0)
    zero.results[0].series = [make.series((0,) * 5000)]
    yield "zero", zero


def without_wake_up() -> Iterator[tuple[str, RunDocument]]:
    trip = series_of((US,) * 20, "round_trip", {"kind": "unnamed", "scope": "thread"})
    yield "a round trip", make.document(results=[make.result("SEM-P-RTP", series=[trip])])
    one = make.result("FIO-P-STR", (US,), conditions=where())
    yield "one value", make.document(results=[one])
    rate = series_of((5000, 9000), "throughput", {})
    rate.unit = "bytes_per_s"
    yield "a throughput", make.document(results=[make.result("MSG-P-THR", series=[rate])])
    run = waking(50 * US)
    run.results[0].series, run.results[0].status = [], "denied"
    run.results.append(make.result("SEM-P-RTP", series=[trip]))
    yield "a wake-up that was denied", run
    nothing = make.result("THR-B-NEW", status="denied", series=[], reason="no right")
    yield "nothing was measured", make.document(results=[nothing])


@pytest.mark.slow
def test_a_run_has_its_answer(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, run in (*of_wake_ups(), *not_judged(), *without_wake_up()):
        found = answer_of(run)
        commands = [f"  {one.command}" for one in found.steps if one.command]
        texts[name] = "\n".join([f"{found.grade}: {found.judgement}", found.sentence, *commands])
    assert_as_stored(request, "answers.txt", texts)


def failed_with(status: str) -> Result:
    return make.result(status=status, series=[], conditions=where("heavy"))


@pytest.mark.parametrize(
    "loaded",
    [
        *map(failed_with, ("denied", "failed", "unsupported", "skipped", "timeout")),
        make.result(values=(US,) * 999, conditions=where("heavy")),
        make.result(values=(US,) * 5000, conditions=where("heavy", realtime=False)),
        make.result(values=(US,) * 5000, conditions=where("heavy", policy="other", realtime=None)),
        make.result(values=(US,) * 5000, conditions=where("not known")),
        make.result("SEM-P-SIG", (US,) * 5000, conditions=where("heavy")),
        make.result(
            values=(US,) * 5000,
            conditions=where("heavy"),
            events=[Event(name="load_short", text="-", data={"element": "cpu"})],
        ),
    ],
)
def test_a_load_that_was_not_measured_under_is_none(loaded: Result) -> None:
    run = waking(50 * US, load="none")
    run.results.append(loaded)
    assert answer_of(run).judgement == "real-time as measured, without load"


def test_a_title_names_the_machine_and_the_answer() -> None:
    run = waking(22_400_000)
    facts = {"machine.cpu_model": "AMD EPYC", "kernel.name": "Linux", "kernel.release": "6.18.4-x"}
    run.system = {**facts, "virtual.hypervisor": "KVM"}
    assert title_of(run, answer_of(run)) == "AMD EPYC VM, Linux 6.18: worst wake-up 22.4 ms"
    run.system = {}
    assert title_of(run, answer_of(run)).startswith("machine not known: worst")


# Rows


def rows_of(*results: Any, system: dict[str, Scalar] | None = None) -> dict[str, Any]:
    document = make.document(results=list(results), system=system or {})
    return {row.test: row for row in screen_rows(document)}


def switching(worst_ns: int, threads: int = 2) -> Any:
    series = series_of((US,) * 20 + (worst_ns,), "switch", {"threads": threads})
    return make.result("THR-P-SLS", series=[series])


def test_the_rows_are_the_same_whatever_was_measured() -> None:
    """What is long by construction pushes nothing off: the better a system, the smaller its
    wake-up, and the row stays."""
    names = [row.name for row in load_catalogue().first_screen]
    block = make.result("RSP-P-FIX", (10 * MS, 11 * MS))
    for results in ([], [block], [block, make.result(values=(US, 2 * US))]):
        document = make.document(results=results)
        assert [row.name for row in screen_rows(document)] == names and names[0] == "wake-up"
    rows = rows_of(
        block, make.result("IRQ-P-TLT", status="unsupported", series=[], reason="no uio")
    )
    assert rows["TMR-P-LAT"].state == "not run"
    assert rows["IRQ-P-TLT"].state == "unsupported: no uio"


@pytest.mark.parametrize(
    ("times", "mark"), [(1.0, "+"), (1.01, "="), (3.0, "="), (3.01, "-"), (30, "-"), (30.1, "--")]
)
def test_a_mark_says_how_a_row_stands_to_its_reference(times: float, mark: str) -> None:
    row = rows_of(switching(round(27_700 * times)))["THR-P-SLS"]
    assert row.reference == ("linux-rt", 27_700.0) and row.mark == mark


def test_what_was_published_under_load_is_a_reference_under_load_only() -> None:
    def woken(load: str) -> Any:
        found = make.result(values=(US, 2 * US))
        found.conditions = where(load)
        return found

    for load, wanted in (
        ("latstat", ("Solaris", 32_000.0)),
        ("heavy", ("Solaris", 32_000.0)),
        ("none", ("3 stars", 40_000.0)),
    ):
        assert rows_of(woken(load))["TMR-P-LAT"].reference == wanted
    # the worst counts: it is of the loaded half
    assert rows_of(woken("none"), woken("heavy"))["TMR-P-LAT"].reference == ("3 stars", 40_000.0)


def test_a_mark_needs_a_figure_that_can_be_true_and_values() -> None:
    few = switching(US)
    few.series = [series_of((US, US), "switch", {"threads": 2})]
    assert rows_of(few)["THR-P-SLS"].mark == "+?"
    few.series = [series_of((US, MS), "switch", {"threads": 2})]
    assert rows_of(few)["THR-P-SLS"].mark == "--"
    wrong = switching(US)
    wrong.series[0].count = 7
    assert rows_of(wrong)["THR-P-SLS"].mark == ""
    ordinary = switching(US)
    ordinary.conditions = where(realtime=False)
    assert rows_of(ordinary)["THR-P-SLS"].mark == ""


def test_what_stands_for_a_figure_has_no_reference() -> None:
    sent = series_of((US, 2 * US), "send_to_thread", {"source": "ipi"})
    row = rows_of(make.result("IRQ-P-TLT", series=[sent]))["IRQ-P-TLT"]
    assert row.figure.about == "sent by a CPU" and row.mark == "" and row.reference is None
    real = series_of((US, 3 * US), "to_thread", {"source": "external"})
    row = rows_of(make.result("IRQ-P-TLT", series=[sent, real]))["IRQ-P-TLT"]
    assert row.figure.worst_ns == 3 * US and row.reference == ("linux-rt", 29_900.0)


# What next


def test_steps_begin_with_what_must_be_put_back_and_what_is_refused() -> None:
    run = waking(50 * US)
    grant = "sudo setcap cap_sys_nice,cap_ipc_lock=ep y"
    run.advice = [f"not scheduled as real-time: no right; type: {grant}"]
    run.results[0].events = [Event(name="not_put_back", text="governor")]
    first, second = answer_of(run).steps[:2]
    assert first.command == "sudo hardstone shield --restore" and second.command == grant
    run.advice = ["not scheduled as real-time: no right; type: rm -rf /"]
    assert answer_of(run).steps[1].command == ""


def facts_of(*changed: tuple[str, Scalar]) -> dict[str, Scalar]:
    """A machine whose kernel is not preemptible and that has a hypervisor with steal time."""
    return {
        "kernel.preemption_model": "none",
        "kernel.preemption_is_dynamic": False,
        "kernel.realtime": False,
        "virtual.hypervisor": "KVMKVMKVM",
        "virtual.steal_ppm": 4000,
        **dict(changed),
    }


def test_advice_that_relieves_the_cause_comes_before_the_rest() -> None:
    found = answer_of(waking(2 * MS, system=facts_of()))
    assert found.steps[0].text.startswith("The kernel is not preemptible")
    stolen = recorded.with_cause(steal_ns=10_000_000)
    stolen.conditions = where("heavy")
    document = make.document(results=[stolen], system=facts_of(), trust=Trust(grade="full"))
    found = answer_of(document)
    assert found.cause.startswith("likely: the hypervisor took 10 ms in that second (normally 0)")
    relieving = [step.text for step in found.steps[:2]]
    assert not any(text.startswith("The kernel is not preemptible") for text in relieving)
