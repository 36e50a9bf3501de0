"""show --published: a run beside what others have published. What it prints as a whole is in
golden/show.txt."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.errors import EXIT_OK
from hardstone.model import ClockCheck, Conditions, Event, Result, Series, Verdict
from hardstone.store.documents import write_document
from hardstone.store.place import Place
from tests.process.cli.conftest import Done
from tests.process.targets import sample
from tests.unit.stats import make

Hardstone = Callable[..., Done]


@pytest.fixture
def beside(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """What `show --published` says of results, each row in one line."""
    monkeypatch.setenv("COLUMNS", "300")

    def shown(*results: Result, **changed: object) -> str:
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        (place / "runs").mkdir(parents=True)
        write_document(Place(place), make.document(results=list(results), **changed))
        done = hardstone("show", "last", "--published", "--store", place)
        assert done.code == EXIT_OK
        return done.out

    return shown


Beside = Callable[..., str]


def conditions(load: str = "none", **changed: Any) -> Conditions:
    fields = {"load": load, "cpu_config": "shared", "policy": "fifo", "priority": 98}
    return Conditions(**({**fields, "realtime": True} | changed))


def labelled(name: str, *values: int, **labels: int | str) -> Series:
    return msgspec.structs.replace(make.series(values, name), labels=labels)


def response(ms: int = 10, **changed: Any) -> Result:
    fields = {"params": {"block_ns": ms * 1_000_000}, "conditions": conditions()}
    series = [labelled("time", ms * 1_000_000, kind=kind) for kind in ("add", "copy")]
    return make.result("RSP-P-FIX", series=series, **(fields | changed))


def response_under(**changed: Any) -> Result:
    return response(conditions=conditions(**changed))


def behaviour(test: str, *failed: str, events: Sequence[Event] = ()) -> Result:
    names = dict.fromkeys(["other", *failed])
    verdicts = [Verdict(name=one, passed=one not in failed, evidence="seen") for one in names]
    return make.result(
        test, series=[], verdicts=verdicts, conditions=conditions(), events=list(events)
    )


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


def ring(**changed: Any) -> Result:
    series = [labelled("switch", 1_000, 2_000, 3_000, threads=128)]
    return make.result("THR-P-SLS", series=series, conditions=conditions(**changed))


def cell(out: str, start: str, system: str = "this run, shared") -> str:
    """The figures that one system has in the first row that begins with `start`."""
    rows = re.findall(rf"^{re.escape(start)}\W+(?:none +|heavy +)?{system} +(.*?) *$", out, re.M)
    assert rows, out
    return str(rows[0])


LOWERED = "lowered_setschedparam/fifo failed (does not count for a rating)"
NOT_SEEN = Event(name="not_seen", text="-", data={"verdict": "first_slice"})
ADD, SETITIMER = "add/time", "setitimer/expiry_step"


@pytest.mark.parametrize(
    ("result", "row", "said"),
    [
        # another block, medium or policy than the published one is no figure
        (response(), ADD, "max 10 ms"),
        (
            response(params={"block_ns": 1_000_000}),
            ADD,
            "- (block 1 ms, in the study block 10 ms)",
        ),
        (response(params={}), ADD, "- (block_ns is not known, in the study block 10 ms)"),
        (inversion(100_000), "none/delay", "- (medium 100 us, in the study medium 10 ms)"),
        (inversion(10_000_000), "none/delay", "max 120 us"),
        (ring(policy="rr"), "128/switch", "- (policy rr, in the study fifo)"),
        (
            response_under(policy="other", realtime=False),
            ADD,
            "max 10 ms (not scheduled as real-time: policy other)",
        ),
        # a step that is hidden is at most the smallest value
        (resolution("nanosleep"), SETITIMER, "min 60 us"),
        (
            resolution("nanosleep", "setitimer"),
            SETITIMER,
            "min 60 us (upper bound of the step: latency and the time to arm the timer are "
            "included)",
        ),
        # vulnerable is what was inverted, and what locked up
        (
            primitives(*primitive("spin", 0, 1)),
            "spin/inverted",
            "max 1 (the larger of inverted 0 and ended_by_watchdog 1)",
        ),
        (
            primitives(*primitive("semaphore", 1, 0)),
            "semaphore/inverted",
            "max 1 (the larger of inverted 1 and ended_by_watchdog 0)",
        ),
        (
            primitives(*primitive("spin", 0, 0)),
            "spin/inverted",
            "max 0 (the larger of inverted 0 and ended_by_watchdog 0)",
        ),
        (
            primitives(*primitive("spin", 0, 0)[:1]),
            "spin/inverted",
            "- (MUT-B-INV/spin/ended_by_watchdog: no series with spin, ended_by_watchdog; "
            "there are primitive spin)",
        ),
        # a verdict that does not count fails nothing, and one that is missing was not seen
        (behaviour("THR-B-NEW", LOWERED.split(maxsplit=1)[0]), "verdicts", f"pass, but {LOWERED}"),
        (
            behaviour("THR-B-NEW", "lower", LOWERED.split(maxsplit=1)[0]),
            "verdicts",
            f"fail: lower, but {LOWERED}",
        ),
        (behaviour("THR-B-RR", events=[NOT_SEEN]), "verdicts", "pass; not seen: first_slice"),
    ],
)
def test_the_figures_of_a_run_stand_in_the_rows_of_the_study(
    beside: Beside, result: Result, row: str, said: str
) -> None:
    assert cell(beside(result), row) == said


def test_only_results_under_a_published_load_stand_beside(beside: Beside) -> None:
    out = beside(*(response_under(load=load) for load in ("none", "storm")))
    assert cell(out, ADD) == "max 10 ms"
    assert "storm" not in out.partition("RSP-P-FIX, published")[2]
    assert not re.search(r"heavy +this run", out)


@pytest.mark.parametrize(
    ("config", "settings", "said"),
    [
        ("single", [], r"single \(others online\)"),
        ("single", ["offline"], r"single \(others offline\)"),
        ("shielded", [], "shielded"),
    ],
)
def test_the_cpu_configuration_is_said_also_where_it_is_the_only_one(
    beside: Beside, config: str, settings: list[str], said: str
) -> None:
    out = beside(response_under(cpu_config=config, settings=settings))
    assert cell(out, ADD, f"this run, {said}") == "max 10 ms"


EMULATED = {"virtual.emulated": True, "virtual.hypervisor": "TCGTCGTCGTCG"}
COUNTED = EMULATED | {"virtual.time": "instructions"}


@pytest.mark.parametrize(
    ("system", "run", "said"),
    [
        (EMULATED, r"this run \(emulated\)", "- (emulated: not comparable with hardware)"),
        (COUNTED, r"this run \(instructions\)", "- (time is an instruction count: not"),
        ({"virtual.emulated": None}, r"this run \(emulated\?\)", "- (may be emulated: not"),
        ({"virtual.hypervisor": "KVMKVMKVM"}, "this run", "max 10 ms"),
    ],
)
def test_an_emulated_figure_never_stands_beside_hardware(
    beside: Beside, system: dict[str, Any], run: str, said: str
) -> None:
    out = beside(response(), behaviour("THR-B-RR", "rotates"), system=system)
    assert cell(out, ADD, f"{run}, shared").startswith(said)
    assert "fail: rotates" in out  # a behaviour is one of any system


def test_a_figure_by_a_wrong_clock_never_stands_beside_hardware(beside: Beside) -> None:
    check = ClockCheck(host_ns=10**9, target_ns=10**10, uncertainty_ns=0)
    said = "- (the target's clock ran 10 times as fast as this machine's)"
    assert cell(beside(response(), clock_check=check), ADD) == said


def test_unequal_work_is_said_with_each_figure_that_it_concerns(beside: Beside) -> None:
    done = [
        response(conditions=conditions(load), calibrated={"add_operations": count})
        for load, count in (("none", 70), ("heavy", 90))
    ]
    out = beside(*done)
    assert cell(out, ADD).startswith("max 10 ms (the amounts of work differ")
    assert cell(out, "copy/time") == "max 10 ms"


def test_work_that_was_given_is_no_calibrated_block(beside: Beside) -> None:
    for given, said in ((0, ""), (70, " (70 operations set by the request, not calibrated)")):
        params = {"block_ns": 10_000_000, "add_operations": given}
        plan = make.plan_of([sample.planned("RSP-P-FIX", params=params)])
        out = beside(response(calibrated={"add_operations": 70}), plan=plan)
        assert cell(out, ADD) == f"max 10 ms{said}"


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
    pair = make.result("SEM-P-SIG", series=series, conditions=conditions())
    note = " (on Linux this kind enters the kernel only when a thread waits)"
    for kernel, said in (("Linux", note), ("Other", "")):
        out = beside(pair, system={"kernel.name": kernel})
        assert cell(out, "unnamed/thread/signal_wait") == f"max 60 ns{said}"


def test_published_figures_are_data(hardstone: Hardstone, target: str) -> None:
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
