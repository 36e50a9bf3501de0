"""`hardstone simulate`: sweeps on made-up targets, cut off, resumed, and what cannot be done."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.calling import stay_in
from hardstone.cli import tire
from hardstone.cli.messages import tell_error
from hardstone.cli.options import typed_options
from hardstone.cli.simulate import RealfastOptions, RealtimeOptions, command
from hardstone.cli.tire import resume
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    HardstoneError,
)
from hardstone.event_names import TIRE_PREDICTED
from hardstone.model import RunDocument
from hardstone.simulation.results import has_costs_only
from hardstone.simulation.sweep import curve_of, is_whole, masses_of, single
from hardstone.store.documents import replace_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from tests.process.cli.conftest import Done, Hardstone
from tests.process.cli.forked import Forked
from tests.running import has_ended
from tests.sweeps import held, scenario
from tests.waiting import wait_until

ONE = ("--threads", "1", "--frames", "0", "--no-fast", "--points", "12")
REALTIME = ("simulate", "realtime", "-q")


def points(document: RunDocument) -> list[tuple[object, ...]]:
    return [(curve_of(one), masses_of(one)) for one in document.results]


def check(document: RunDocument) -> None:
    """Every result is of the test of the plan at its place."""
    pairs = list(zip(document.plan.tests, document.results, strict=False))
    for planned, result in pairs:
        assert (planned.test, curve_of(planned)) == (result.test, curve_of(result))
        assert masses_of(planned) == masses_of(result)


def stopping(folder: Path, most: int, at: str, **changed: Any) -> str:
    """A target that asks for a kill, or hangs, at the size `at`."""
    slow = {"test": "SIM-S-RT", "params": {"masses": at}, "steps": [{"delay_s": 600}, *held()]}
    return scenario(folder, most, [slow], real_time=True, **changed)


@pytest.fixture
def simulate(capfd: pytest.CaptureFixture[str]) -> Hardstone:
    """`hardstone simulate` in this process, without its report, which takes seconds."""

    def call(*words: object, mode: str = "realtime") -> Done:
        capfd.readouterr()
        stay_in(None)
        context = command.commands[mode].make_context(mode, [*map(str, words)])
        kind = RealtimeOptions if mode == "realtime" else RealfastOptions
        options, given = kind(**context.params), typed_options(context) - {"resume"}
        own = command.commands[mode]
        try:
            if options.resume is None:
                code = tire.simulate(mode, options, wants_report=False)
            else:
                code = resume(mode, options.resume, options, given, own, wants_report=False)
        except HardstoneError as error:
            tell_error(error)
            code = error.exit_code
        return Done(code, *capfd.readouterr())

    return call


def test_a_sweep_is_one_run_with_a_result_for_each_point(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    target = scenario(tmp_path, 3000)
    words = ("--threads", "1,2", "--policy", "fifo,other", "--points", "10")
    done = hardstone(*REALTIME, "--target", target, *words, "--json")
    assert done.code == EXIT_OK, done.err
    document = Store().load("last")
    assert done.document["id"] == document.id and document.status == "complete"
    assert len(document.plan.tests) == len(document.results)
    check(document)
    counts = Counter(curve_of(one) for one in document.results if one.test == "SIM-S-RT")
    assert counts.pop(None) == 1  # the costs of a step
    assert len(counts) == 4 and set(counts.values()) == {10}
    (costs,) = [one for one in document.results if has_costs_only(one)]
    assert [one.name for one in costs.events].count(TIRE_PREDICTED) == 4
    first = next(one for one in document.results if curve_of(one))
    assert document.results.index(costs) < document.results.index(first)
    assert {one.id for one in document.descriptors} >= {"SIM-S-RT", "SIM-P-RF", "SEM-P-SHF"}
    (report,) = (Store().path / "reports").iterdir()
    assert report.stat().st_size > 10_000


def test_progress_names_the_point_and_the_time_left(simulate: Hardstone, tmp_path: Path) -> None:
    done = simulate("--target", scenario(tmp_path, 900), *ONE)
    told = [" ".join(line.split()) for line in done.told]
    assert told[0].startswith("hardstone: 1 curve, about ")
    assert "hardstone: 3 SIM-S-RT, for the cost model about" in " ".join(told)
    assert "hardstone: 5 SIM-S-RT 800 masses, 1 thread, fifo about" in " ".join(told)
    assert "left" in told[4]


def test_a_dry_run_shows_what_is_known(simulate: Hardstone, tmp_path: Path) -> None:
    words = ("--dry-run", "--json", "--load", "none,heavy")
    done = simulate("-q", "--target", scenario(tmp_path, 900), *words)
    tests = [one["test"] for one in done.document["tests"]]
    # of 2 CPUs: 1, 2, 4 and 6 threads, and the costs of a step; 2 loads
    assert Counter(tests) == {"THR-P-SLS": 2, "SEM-P-SHF": 2, "SIM-P-RF": 1, "SIM-S-RT": 10}
    assert done.document["sweep"]["within_ns"] == 480 * 10**9
    assert Store().runs() == []
    told = simulate("-q", "--target", scenario(tmp_path, 900), "--dry-run").out
    assert "only the first points" in told  # their time is not that of the sweep
    assert "8 min in all" in told


def test_the_command_of_the_plan_makes_it_again(
    hardstone: Hardstone, simulate: Hardstone, tmp_path: Path
) -> None:
    target = scenario(tmp_path, 900)
    words = ("--rate", "200", "--masses", "400..8000", "--solver", "barrier", "--load", "none,cpu")
    first = simulate("-q", "--target", target, *words, "--dry-run", "--json").document
    again = hardstone(*first["command"], "--dry-run", "--json").document
    assert again == first


def denied(**params: str) -> dict[str, Any]:
    words = {"status": "denied", "reason": "admission refused", "remedy": "raise the limit"}
    return {"test": "SIM-*", "params": {"masses": "1..", **params}, **words}


def test_what_is_denied_ends_its_curve_and_the_sweep_goes_on(
    simulate: Hardstone, tmp_path: Path
) -> None:
    target = scenario(tmp_path, 900, [denied(policy="deadline")])
    done = simulate("-q", "--target", target, *ONE, "--policy", "deadline,fifo")
    assert done.code == EXIT_PRIVILEGE
    assert "1 of 2 curves ended early" in done.err and "rough" not in done.err
    assert "1 thread, deadline: denied at 400 masses: admission refused" in done.err
    counts = Counter(single(one.params.get("policy")) for one in Store().load("last").results)
    assert (counts["deadline"], counts["fifo"]) == (1, 12)


def test_what_is_denied_everywhere_is_one_line(simulate: Hardstone, tmp_path: Path) -> None:
    done = simulate("-q", "--target", scenario(tmp_path, 900, [denied()]), *ONE)
    assert done.code == EXIT_PRIVILEGE
    exit_line, reason = done.told
    assert "exit code 5" in exit_line
    assert reason == "hardstone: no point was measured: denied at 400 masses: admission refused"
    results = [one for one in Store().load("last").results if curve_of(one)]
    assert [one.status for one in results if one.test == "SIM-S-RT"] == ["denied"]


def test_a_curve_that_had_no_time_is_coarse(simulate: Hardstone, tmp_path: Path) -> None:
    done = simulate("-q", "--target", scenario(tmp_path, 900), *ONE[:-2], "--points", "2")
    assert (
        "the limit is rough; allow more time" in done.err and "no miss up to 800 masses" in done.err
    )


def wait_for(sweep: Forked, count: int) -> None:
    """Until that many results are in the journal, and the next point has begun."""

    def is_there() -> bool:
        assert has_ended(sweep.pid) is False, sweep.err
        journals = (Store().path / "journals").glob("*/journal.jsonl")
        lines = b"".join(one.read_bytes() for one in journals)
        begun = lines.count(b'"kind":"begin"')
        return lines.count(b'"kind":"result"') == count and begun == count + 1

    wait_until(is_there, within_s=300)


# The opening, 400, 800, 1600, 3200, 6400 and then 2400, in the middle of which it ends.
AT, BEFORE = "2400", 8


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_is_ended_goes_on_with_what_is_left(
    hardstone: Hardstone, simulate: Hardstone, tmp_path: Path, number: int
) -> None:
    other = tmp_path / "other"  # of two runs that begin within a second none is the last
    whole = simulate("-q", "--target", scenario(tmp_path, 3000), *ONE, "--store", other)
    assert whole.code == EXIT_OK, whole.err
    wanted = Store(other).load("last")
    with Forked(*REALTIME, "--target", stopping(tmp_path, 3000, AT), *ONE) as sweep:
        wait_for(sweep, BEFORE)
        sweep.send(number)
        assert sweep.wait() == (-9 if number == signal.SIGKILL else EXIT_INTERRUPTED)
    hardstone("runs")
    cut = Store().load("last")
    assert cut.status == ("incomplete" if number == signal.SIGKILL else "interrupted")
    check(cut)
    assert len(cut.results) == len(cut.plan.tests) == BEFORE + 1
    target = scenario(tmp_path, 3000)
    done = simulate("-q", "--resume")
    assert done.code == EXIT_OK, done.err
    found = Store().load(cut.id)
    assert (found.status, len(found.parts)) == ("complete", 2)
    assert found.plan.target == target
    check(found)
    assert all(map(is_whole, found.results))
    assert Counter(points(found)) == Counter(points(wanted))
    assert found.parts[1].result == (BEFORE if is_whole(cut.results[-1]) is False else BEFORE + 1)


def test_only_a_plan_of_a_sweep_of_this_version_is_resumed_also_with_the_same_options(
    simulate: Hardstone, tmp_path: Path
) -> None:
    broken = {"test": "SIM-S-RT", "params": {"masses": "400"}, "steps": [{"exit": 70}]}
    simulate("-q", "--target", scenario(tmp_path, 3000, [broken]), *ONE)
    document = Store().load("last")
    assert document.status == "incomplete"
    scenario(tmp_path, 3000)
    whole = document.plan
    for plan, words in ((msgspec.structs.replace(whole, tests=[]), ()), (whole, ONE)):
        document.plan = plan
        replace_document(open_place(Store().path), document)
        done = simulate("-q", "--resume", document.id, *words)
        assert done.code == (EXIT_OK if plan is whole else EXIT_USAGE), done.err
        assert ("this version does not support the plan" in done.err) == (plan is not whole)
    found = Store().load(document.id)
    assert found.status == "complete" and len(found.results) == 15
    again = simulate("-q", "--resume", document.id)
    assert again.code == EXIT_USAGE and "is complete and cannot be resumed" in again.err
    assert "there is none to resume" in simulate("-q", "--resume").err


def test_time_that_is_spent_is_not_given_again(
    simulate: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that stands still: only what is stored counts."""
    monkeypatch.setattr(time, "monotonic_ns", lambda: 0)
    broken = {"test": "SIM-S-RT", "params": {"masses": AT}, "steps": [{"exit": 70}]}
    target = scenario(tmp_path, 3000, [broken])
    simulate("-q", "--target", target, *ONE, "--within", "15s")
    assert Store().load("last").status == "incomplete"
    scenario(tmp_path, 3000)
    done = simulate("-q", "--resume")
    assert done.code in (EXIT_OK, EXIT_UNTRUSTWORTHY), done.err
    assert "the limit is rough" in done.err
    assert len(Store().load("last").results) < 15


def test_a_real_fast_sweep_is_resumed_too(simulate: Hardstone, tmp_path: Path) -> None:
    broken = {"test": "SIM-P-RF", "params": {"masses": "1000.."}, "steps": [{"exit": 70}]}
    target = scenario(tmp_path, 0, [broken])
    words = ("-q", "--masses", "400,1000,2000", "--threads", "1,2", "--load", "none,heavy")
    words = (*words, "-D", "5s")
    simulate(*words, "--target", target, mode="realfast")
    cut = Store().load("last")
    assert cut.status == "incomplete"
    assert sum(map(is_whole, cut.results)) == 5  # pictures, and a size of each of four curves
    scenario(tmp_path, 0)
    done = simulate("-q", "--resume", mode="realfast")
    assert done.code == EXIT_OK, done.err
    found = Store().load(cut.id)
    assert found.status == "complete" and all(map(is_whole, found.results))
    assert len(found.results) == len(set(points(found))) == 13
    fast = [one for one in found.results if curve_of(one)]
    assert {single(one.params["simulated_s"]) for one in fast} == {5}
    check(found)
