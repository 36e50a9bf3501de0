"""The answer of a run: its judgement, its cause, its steps, and its rows."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.catalogue import load_catalogue
from hardstone.model import Conditions, Event, Result, RunDocument, Scalar, Series, Trust
from hardstone.present.answer import answer_of, other_rows, screen_rows, title_of
from hardstone.units import format_count
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


@pytest.mark.parametrize(
    ("worst_ns", "grade", "words"),
    [
        (100 * US, "good", "real-time as measured"),
        (100 * US + 1, "fair", "real-time as measured for periods of 10 ms and longer"),
        (MS, "fair", "real-time as measured for periods of 10 ms and longer"),
        (MS + 1, "poor", "soft real-time as measured"),
        (10 * MS, "poor", "soft real-time as measured"),
        (10 * MS + 1, "bad", "not real-time as measured"),
    ],
)
def test_the_judgement_follows_from_the_worst_wake_up(
    worst_ns: int, grade: str, words: str
) -> None:
    found = answer_of(waking(worst_ns))
    said = words if grade == "bad" else f"{words}, load heavy"
    assert (found.grade, found.judgement) == (grade, said)
    assert found.sentence.endswith(f"(median 5.00 us, {format_count(5000)} values): {said}")
    # a figure that is rounded to a limit that it exceeds does not contradict its judgement
    assert ("just above" in found.sentence) is (worst_ns % 10 == 1)
    idle = answer_of(waking(worst_ns, load="none"))
    assert idle.judgement == (words if grade == "bad" else f"{words}, without load")
    commands = [one.command for one in idle.steps]
    assert ("hardstone run TMR-P-LAT --load heavy" in commands) is (grade != "bad")


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


def test_few_values_prove_what_is_late_and_nothing_else() -> None:
    assert answer_of(waking(50 * US, 1000)).grade == "good"
    few = answer_of(waking(50 * US, 999))
    assert few.judgement == f"not judged: fewer than {format_count(1000)} values"
    assert few.grade == "unjudged"
    assert answer_of(waking(11 * MS, 10)).grade == "bad"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"trust": Trust(grade="untrustworthy", reasons=["clocks apart"])}, "clocks apart"),
        ({"system": GUEST}, "time counts instructions"),
        ({"system": {"virtual.emulated": True}}, "emulated"),
        ({"system": {"virtual.emulated": None}}, "may be emulated"),
    ],
)
def test_what_may_not_be_judged_says_why(changed: dict[str, Any], why: str) -> None:
    run = waking(50 * MS)
    for name, value in changed.items():
        setattr(run, name, value)
    found = answer_of(run)
    assert found.grade == "unjudged" and "not judged" in found.sentence and why in found.sentence


def test_an_ordinary_thread_and_a_wrong_figure_are_not_judged() -> None:
    run = waking(50 * MS)
    run.results[0].conditions = where(realtime=False)
    assert "not scheduled as real-time" in answer_of(run).judgement
    run = waking(50 * MS)
    run.results[0].series[0].count = 7
    assert "cannot be true" in answer_of(run).judgement


def test_a_failed_test_and_a_value_that_the_clock_cannot_resolve_are_not_judged() -> None:
    run = waking(50 * US)
    run.results[0].status = "failed"
    assert answer_of(run).judgement == "not judged: TMR-P-LAT failed"
    assert "not scheduled" in answer_of(policy_other()).judgement
    coarse = waking(50 * US)
    coarse.results[0].instrument = coarse.instrument = make.instrument()
    coarse.instrument.quantum_ns = 50 * US
    assert answer_of(coarse).judgement == "not judged: the clock cannot resolve it"
    zero = waking(0)
    zero.results[0].series = [make.series((0,) * 5000)]
    assert answer_of(zero).judgement == "not judged: the clock cannot resolve it"


def policy_other() -> RunDocument:
    run = waking(50 * MS)
    run.results[0].conditions = where(policy="other", realtime=None)
    return run


def test_each_cpu_needs_its_values_and_all_are_counted() -> None:
    run = waking(50 * US)
    other = series_of((US,) * 999, "wakeup", {"part": "total", "cpu": 1})
    run.results[0].series.append(other)
    found = answer_of(run)
    assert found.judgement == f"not judged: fewer than {format_count(1000)} values on each CPU"
    run.results[0].series[1] = series_of((US,) * 1500, "wakeup", {"part": "total", "cpu": 1})
    assert f"{format_count(6500)} values): real-time as measured" in answer_of(run).sentence


def test_the_worst_of_all_cpus_and_loads_is_judged() -> None:
    results = [
        make.result(values=(US,) * 1999 + (worst,), conditions=where(load))
        for load, worst in (("none", 20 * US), ("heavy", 2 * MS))
    ]
    other = series_of((US,) * 1999 + (3 * MS,), "wakeup", {"part": "total", "cpu": 1})
    results[1].series.append(other)
    found = answer_of(make.document(results=results, trust=Trust(grade="full")))
    assert found.grade == "poor" and found.figure is not None and found.figure.series is other
    assert found.sentence.startswith("Worst wake-up 3 ms on CPU 1 under load heavy (")
    assert found.sentence.endswith("soft real-time as measured")


def test_a_run_without_a_wake_up_says_so_and_has_its_first_row() -> None:
    trip = series_of((US,) * 20, "round_trip", {"kind": "unnamed", "scope": "thread"})
    found = answer_of(make.document(results=[make.result("SEM-P-RTP", series=[trip])]))
    assert found.grade == "unjudged" and found.sentence.startswith("Worst round trip 1 us")
    assert found.sentence.endswith("; wake-up latency was not measured")
    one = answer_of(make.document(results=[make.result("FIO-P-STR", (US,), conditions=where())]))
    assert "(median 1 us, 1 value)" in one.sentence
    rate = series_of((5000, 9000), "throughput", {})
    rate.unit = "bytes_per_s"
    found = answer_of(make.document(results=[make.result("MSG-P-THR", series=[rate])]))
    assert found.sentence == "No time was measured; MSG-P-THR throughput: worst 5 kB/s"
    run = waking(50 * US)
    run.results[0].series, run.results[0].status = [], "denied"
    run.results.append(make.result("SEM-P-RTP", series=[trip]))
    assert answer_of(run).sentence.endswith("; wake-up latency denied")
    nothing = make.result("THR-B-NEW", status="denied", series=[], reason="no right")
    found = answer_of(make.document(results=[nothing]))
    assert found.sentence == "Nothing was measured: THR-B-NEW denied: no right"


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


def test_a_reference_is_of_the_same_labels_and_of_hardware() -> None:
    assert rows_of(switching(US, 10))["THR-P-SLS"].reference == ("linux-rt", 24_200.0)
    assert rows_of(switching(US, 7))["THR-P-SLS"].reference == ("3 stars", 40_000.0)
    assert rows_of(switching(US), system=GUEST)["THR-P-SLS"].reference is None


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


def test_other_rows_have_the_series_that_no_row_shows() -> None:
    derived = make.series((9, 9), "sum")
    derived.derived = "a + b"
    result = make.result(
        "MUT-P-INV",
        series=[
            series_of((1, 2), "delay", {"protocol": "none"}),
            series_of((1, 3), "delay", {"protocol": "inherit"}),
            derived,
        ],
    )
    document = make.document(results=[result])
    found = other_rows(document, screen_rows(document))
    assert [row.name for row in found] == ["delay, none"]


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
