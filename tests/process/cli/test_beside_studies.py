"""explain and show --published: what others have published, and a run beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.model import ClockCheck, Conditions, Event, Result, Series, Trust, Verdict
from hardstone.store import Store
from tests.process.cli.conftest import Done
from tests.process.store.fake_probe import Here
from tests.process.targets import sample
from tests.unit.stats import make

Hardstone = Callable[..., Done]


def is_narrow(text: str) -> bool:
    return max(len(line) for line in text.splitlines()) <= 80


def test_explain_shows_the_published_figures_of_the_test_itself(
    hardstone: Hardstone, target: str
) -> None:
    out = " ".join(hardstone("explain", "SEM-P-SIG", "--target", target).out.split())
    assert "published: Obenland 2000: The Use of POSIX in Real-time Systems" in out
    assert "worst below 35 us" in out and "context_switch" not in out
    out = hardstone("explain", "THR-P-SLS", "--target", target).out
    assert re.search(r"128/switch +Linux 2.6.33.7.2-rt30 +mean 1.7, max 34.6 us", out)
    assert "2/switch" in out
    assert "published" not in hardstone("explain", "TMR-B-EDGE", "--target", target).out


def test_explain_gives_published_figures_as_data(hardstone: Hardstone, target: str) -> None:
    (found,) = hardstone("explain", "RSP-P-FIX", "--target", target, "--json").document
    assert len(found["published"]) == 16
    assert found["published"][1] == {
        "table": "obenland-2000/response_worst_case",
        "system": "lynx",
        "address": "RSP-P-FIX/add/time",
        "conditions": {"load": "heavy"},
        "statistic": "max",
        "unit": "ms",
        "value": 9.9,
    }


def test_explain_says_what_the_highest_priority_changes(hardstone: Hardstone, target: str) -> None:
    out = " ".join(hardstone("explain", "TMR-P-LAT", "--target", target).out.split())
    assert "maximum priority less one" in out and "--priority max" in out
    assert "stop class (migration, lockup watchdog) preempt either" in out


def keep(place: Path, *results: Result, **changed: object) -> None:
    document = make.document(results=list(results), **changed)
    journal = Store(place).journal(document, Here())
    journal.finish(document)
    journal.close()


@pytest.fixture
def beside(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """What `show --published` says of results, each row in one line."""
    monkeypatch.setenv("COLUMNS", "300")

    def shown(*results: Result, **changed: object) -> str:
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        keep(place, *results, **changed)
        done = hardstone("show", "last", "--published", "--store", place)
        assert done.code == EXIT_OK
        return done.out

    return shown


def conditions(load: str = "none", **changed: Any) -> Conditions:
    fields = {
        "load": load,
        "cpu_config": "shared",
        "policy": "fifo",
        "priority": 98,
        "realtime": True,
    }
    return Conditions(**(fields | changed))


def labelled(name: str, *values: int, **labels: int | str) -> Series:
    found = make.series(values, name)
    found.labels = labels
    return found


def response(ms: int = 10, **changed: Any) -> Result:
    fields = {"params": {"block_ns": ms * 1_000_000}, "conditions": conditions()}
    series = [labelled("time", ms * 1_000_000, kind=kind) for kind in ("add", "copy")]
    return make.result("RSP-P-FIX", series=series, **(fields | changed))


def behaviour(test: str, *failed: str, events: Sequence[Event] = ()) -> Result:
    names = dict.fromkeys(["other", *failed])
    verdicts = [Verdict(name=one, passed=one not in failed, evidence="seen") for one in names]
    return make.result(
        test, series=[], verdicts=verdicts, conditions=conditions(), events=list(events)
    )


def cell(out: str, start: str, system: str = "this run, shared") -> str:
    """The figures that one system has in the first row that begins with `start`."""
    rows = re.findall(rf"^{re.escape(start)}\W+(?:none +|heavy +)?{system} +(.*?) *$", out, re.M)
    assert rows, out
    return str(rows[0])


def ring(load: str, config: str = "shared") -> Result:
    series = make.series([1_000, 2_000, 3_000], "switch")
    series.labels = {"threads": 128}
    where = conditions(load, cpu_config=config)
    return make.result("THR-P-SLS", series=[series], conditions=where)


def test_show_beside_the_published_figures(hardstone: Hardstone, tmp_path: Path) -> None:
    keep(tmp_path, ring("none"), ring("heavy"))
    done = hardstone("show", "last", "--published", "--store", tmp_path)
    assert done.code == EXIT_OK and is_narrow(done.out)
    assert re.search(r"128/switch +heavy +this run, shared +mean 2 us, max 3 us", done.out)
    assert re.search(r"128/switch +- +Linux 2.6.33.7.2-rt30 +mean 1.7, max 34.6 us", done.out)
    assert "no series with 2" in done.out
    assert "Advantech" in done.out and "load: not published" in done.out


Beside = Callable[..., str]


def test_the_head_says_how_the_run_was_made_and_how_far_to_trust_it(beside: Beside) -> None:
    trust = Trust(grade="untrustworthy", reasons=["the CPU was not given to RSP-P-FIX"])
    out = beside(response(conditions=conditions(priority=50)), trust=trust)
    head = out.partition("RSP-P-FIX, published")[0]
    assert "policy fifo 50" in head and "load none" in head
    assert "trust: untrustworthy" in head and "the CPU was not given to RSP-P-FIX" in head


def test_only_results_under_a_published_load_stand_beside(beside: Beside) -> None:
    out = beside(*(response(conditions=conditions(load)) for load in ("none", "storm")))
    assert cell(out, "add/time") == "max 10 ms"
    assert re.search(r"add/time +heavy +Solaris 8, 2 CPUs +max 11236.5 ms", out)
    assert "storm" not in out.partition("RSP-P-FIX, published")[2]
    assert not re.search(r"heavy +this run", out)


@pytest.mark.parametrize(
    ("config", "settings", "said"),
    [
        ("shared", [], "shared"),
        ("single", [], r"single \(others online\)"),
        ("single", ["offline"], r"single \(others offline\)"),
        ("shielded", [], "shielded"),
    ],
)
def test_the_cpu_configuration_is_said_also_where_it_is_the_only_one(
    beside: Beside, config: str, settings: list[str], said: str
) -> None:
    where = conditions(cpu_config=config, settings=settings)
    assert cell(beside(response(conditions=where)), "add/time", f"this run, {said}") == "max 10 ms"


@pytest.mark.parametrize(
    ("used", "said"),
    [
        ({"block_ns": 1_000_000}, "- (block 1 ms, in the study block 10 ms)"),
        ({}, "- (block_ns is not known, in the study block 10 ms)"),
    ],
)
def test_another_block_than_the_published_one_is_no_figure(
    beside: Beside, used: dict[str, int], said: str
) -> None:
    assert cell(beside(response(params=used)), "add/time") == said


EMULATED = {"virtual.emulated": True, "virtual.hypervisor": "TCGTCGTCGTCG"}
COUNTED = EMULATED | {"virtual.time": "instructions"}


@pytest.mark.parametrize(
    ("system", "run", "said"),
    [
        (EMULATED, r"this run \(emulated\)", "- (emulated: not beside figures of hardware)"),
        (COUNTED, r"this run \(instructions\)", "- (time counts instructions: not beside"),
        ({"virtual.emulated": None}, r"this run \(emulated\?\)", "- (perhaps emulated: not"),
        ({"virtual.hypervisor": "KVMKVMKVM"}, "this run", "max 10 ms"),
    ],
)
def test_an_emulated_figure_never_stands_beside_hardware(
    beside: Beside, system: dict[str, Any], run: str, said: str
) -> None:
    out = beside(response(), system=system)
    assert cell(out, "add/time", f"{run}, shared").startswith(said)


def test_behaviours_of_an_emulated_system_stand_beside_those_of_the_studies(
    beside: Beside,
) -> None:
    out = beside(behaviour("THR-B-RR", "rotates"), system=EMULATED)
    assert "this run (emulated), shared" in out and "fail: rotates" in out


def test_a_figure_by_a_wrong_clock_never_stands_beside_hardware(beside: Beside) -> None:
    check = ClockCheck(host_ns=10**9, target_ns=10**10, uncertainty_ns=0)
    said = "- (the target's clock ran 10 times as fast as this machine's)"
    assert cell(beside(response(), clock_check=check), "add/time") == said


def test_another_medium_than_the_published_one_is_no_figure(beside: Beside) -> None:
    series = [labelled("delay", 120_000, protocol="none")]
    for medium_ns, said in ((100_000, "- (medium 100 us, in"), (10_000_000, "max 120 us")):
        result = make.result(
            "MUT-P-INV",
            series=series,
            params={"medium_ns": medium_ns},
            conditions=conditions(),
        )
        assert cell(beside(result), "none/delay").startswith(said)


def test_unequal_work_is_said_with_each_figure_that_it_concerns(beside: Beside) -> None:
    done = [
        response(conditions=conditions(load), calibrated={"add_operations": count})
        for load, count in (("none", 70), ("heavy", 90))
    ]
    out = beside(*done)
    assert cell(out, "add/time").startswith("max 10 ms (unequal work")
    assert cell(out, "copy/time") == "max 10 ms"


@pytest.mark.parametrize(
    ("given", "said"),
    [(0, "max 10 ms"), (70, "max 10 ms (70 operations set by the request, not calibrated)")],
)
def test_work_that_was_given_is_no_calibrated_block(beside: Beside, given: int, said: str) -> None:
    params = {"block_ns": 10_000_000, "add_operations": given}
    plan = make.plan_of([sample.planned("RSP-P-FIX", params=params)])
    out = beside(response(calibrated={"add_operations": 70}), plan=plan)
    assert cell(out, "add/time") == said


def test_another_policy_than_the_published_one_is_said(beside: Beside) -> None:
    result = ring("none")
    result.conditions = conditions(policy="rr")
    assert cell(beside(result), "128/switch") == "- (policy rr, in the study fifo)"


def test_what_was_not_scheduled_as_real_time_says_so(beside: Beside) -> None:
    result = response(conditions=conditions(policy="other", realtime=False))
    said = cell(beside(result), "add/time")
    assert said == "max 10 ms (not scheduled as real-time: policy other)"


def test_a_step_that_is_hidden_is_at_most_the_smallest_value(beside: Beside) -> None:
    for named, is_bound in ((["nanosleep", "setitimer"], True), (["nanosleep", "timerfd"], False)):
        result = make.result(
            "CLK-B-RES",
            series=[labelled("expiry_step", 60_000, mechanism="setitimer")],
            conditions=conditions(),
            events=[Event(name="expiry_step_bounded", text="-", data={"mechanisms": named})],
        )
        said = cell(beside(result), "setitimer/expiry_step")
        assert said.startswith("min 60 us") and ("upper bound of the step" in said) == is_bound


def test_a_verdict_that_does_not_count_fails_nothing(beside: Beside) -> None:
    said = cell(beside(behaviour("THR-B-NEW", "lowered_setschedparam/fifo")), "verdicts")
    lowered = "lowered_setschedparam/fifo failed (does not count for a rating)"
    assert said == f"pass, but {lowered}"
    said = cell(beside(behaviour("THR-B-NEW", "lower", "lowered_setschedparam/fifo")), "verdicts")
    assert said == f"fail: lower, but {lowered}"


def test_a_verdict_that_is_missing_was_not_seen(beside: Beside) -> None:
    event = Event(name="not_seen", text="-", data={"verdict": "first_slice"})
    assert cell(beside(behaviour("THR-B-RR", events=[event])), "verdicts") == (
        "pass; not seen: first_slice"
    )


def test_why_no_system_was_vulnerable_with_semaphores(hardstone: Hardstone, target: str) -> None:
    out = " ".join(hardstone("explain", "MUT-B-INV", "--target", target).out.split())
    told = out.partition("published: Garre et al. 2014")[2]
    assert "compare Xenomai's result with a mutex" in told
    assert "For the other systems the study gives no reason" in told


def test_only_kinds_that_enter_the_kernel_stand_beside_the_context_switch(beside: Beside) -> None:
    found = [
        labelled("context_switch", value, kind=kind, scope="thread")
        for kind, value in (("unnamed", 5_000), ("sysv", 7_000))
    ]
    result = make.result("SEM-P-RTP", series=found, conditions=conditions())
    for name, shown, left_out in (("Linux", 7, 5), ("Other", 5, 7)):
        out = beside(result, system={"kernel.name": name})
        assert f"max {shown} us" in out and f"max {left_out} us" not in out
        assert ("not comparable" in out) == (name == "Linux")


def test_a_pair_that_stays_out_of_the_kernel_is_shown_with_a_note(beside: Beside) -> None:
    series = [labelled("signal_wait", 60, kind="unnamed", scope="thread")]
    result = make.result("SEM-P-SIG", series=series, conditions=conditions())
    address = "unnamed/thread/signal_wait"
    said = cell(beside(result, system={"kernel.name": "Linux"}), address)
    assert said == "max 60 ns (on Linux this kind enters the kernel only when a thread waits)"
    assert cell(beside(result, system={"kernel.name": "Other"}), address) == "max 60 ns"


def test_show_beside_nothing(hardstone: Hardstone, tmp_path: Path) -> None:
    keep(tmp_path, make.result("TMR-B-EDGE"))
    done = hardstone("show", "last", "--published", "--store", tmp_path)
    assert done.code == EXIT_USAGE
    assert "no test of this run has published figures" in done.err
    done = hardstone("show", "last", "--published", "--json", "--store", tmp_path)
    assert done.code == EXIT_USAGE and "give --json alone" in done.err
