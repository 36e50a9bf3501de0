"""doctor: its exit codes, and a setting proved on a target that obeys it. What it prints is in
golden/doctor.txt."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.doctor.diagnose import load_rules
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    TargetError,
)
from hardstone.model import PlannedTest, SelfTest
from hardstone.store.store import Store
from hardstone.targets.base import ProbeError, ProbeExitError, ProbeTimeoutError
from hardstone.targets.fake import FakeTarget
from tests.process.cli.conftest import Done, Hardstone, Lab
from tests.process.cli.forked import Forked, interrupt
from tests.process.targets import sample
from tests.unit.doctor.machine import machine
from tests.unit.doctor.test_rules import BLOCKING, SPOILT


def fake(
    folder: Path,
    facts: dict[str, Any],
    tests: dict[str, list[Any]] | None = None,
    **changed: Any,
) -> str:
    document = json.loads((sample.GOLDEN / "facts.json").read_text()) | {"facts": facts}
    return f"fake:{sample.scenario(folder, tests or {}, facts=document, **changed)}"


SLOW, QUICK = tuple(range(5000, 6000)), tuple(range(3000, 4000))


def stub(
    folder: Path,
    lab: Lab,
    *,
    user: int = 0,
    with_setting: list[str] | None = None,
    settings: tuple[str, ...] = ("dma_latency",),
    without: tuple[str, ...] = (),
    shield: dict[str, Any] | None = None,
    has_shield: bool = True,
    unchanged: Sequence[str] | None = None,
    odd: int = 0,
    interrupted_at: int = 0,
    **changed: Any,
) -> tuple[str, list[str]]:
    """A target whose wake-ups are 2 us shorter with the setting, and what its runs were asked to
    switch. In the run of the number `odd` with the setting none is in force."""
    asked: list[str] = []
    obeyed = sample.stream(values=QUICK, settings=list(settings))
    if unchanged is not None:
        event = {"type": "event", "name": "shielded", "text": "-", "at_ns": None}
        event["data"] = {"unchanged": list(unchanged)}
        footer = json.loads(obeyed[-1])
        footer = json.dumps({**footer, "lines": footer["lines"] + 1, "events": 1})
        obeyed = [*obeyed[:2], json.dumps(event), *obeyed[2:-1], footer]

    class Obeying(FakeTarget):
        def run(self, planned: PlannedTest, *rest: object) -> Generator[bytes]:
            asked.append(",".join(planned.settings) or "none")
            found = sample.stream(values=SLOW)
            if planned.settings:
                is_odd = len(asked) - asked.count("none") == odd
                found = sample.stream(values=QUICK) if is_odd else with_setting or obeyed
            if len(asked) == interrupted_at:
                interrupt()
            yield from [f"{line}\n".encode() for line in found]

    facts = machine(*without, user__effective_id=user, cpu__allowed="0-2,5", **changed)
    look = {"shield": shield or sample.shield_look()} if has_shield else {}
    path = Path(fake(folder, facts, **look).removeprefix("fake:"))
    lab(target=lambda name: Obeying(path))
    return "lab:obeying", asked


@pytest.mark.parametrize("rule", load_rules())
def test_each_rule_that_blocks_and_no_other_exits_with_5(
    hardstone: Hardstone, tmp_path: Path, rule: str
) -> None:
    done = hardstone("doctor", "--json", "--target", fake(tmp_path, machine(**SPOILT[rule])))
    found = {one["rule"] for one in done.document["findings"] if one["state"] == "found"}
    blocking = found & BLOCKING
    assert rule in found and done.document["schema"] == "hardstone.doctor/1"
    assert done.document["counts"]["blocks"] == len(blocking)
    assert done.code == (EXIT_PRIVILEGE if blocking else EXIT_OK)
    assert (rule in BLOCKING) <= bool(blocking)


def test_a_probe_that_computes_wrongly_blocks_and_says_what(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    facts = machine("derived.selftest_count", "derived.selftest_failed")
    wrong = sample.selftest(record_moments="mean 1, directly 2")
    done = hardstone("doctor", "--target", fake(tmp_path, facts, selftest=wrong))
    assert done.code == EXIT_PRIVILEGE
    out = " ".join(done.out.split())
    assert "record_moments: mean 1, directly 2" in out
    assert "do not trust the figures of this probe" in out


def test_what_a_failed_check_says_is_cut(hardstone: Hardstone, tmp_path: Path) -> None:
    name = "n" * 100_000
    lines = [line.replace("tire_rest", name) for line in sample.selftest(tire_rest="off")]
    done = hardstone("doctor", "--json", "--target", fake(tmp_path, machine(), selftest=lines))
    (found,) = [one for one in done.document["findings"] if one["rule"] == "selftest"]
    assert found["state"] == "found"
    assert len(found["facts"]["derived.selftest_failed"]) == 2000


def left_out(name: str) -> list[str]:
    """The lines of a self-test in which checks with `name` in their line were not made."""
    return [
        line.replace('"passed":true', '"passed":true,"checked":false') if name in line else line
        for line in sample.selftest()
    ]


@pytest.mark.parametrize(
    ("lines", "state", "says"),
    [
        (sample.selftest(), "fine", "All 3 checks"),
        (left_out("tire"), "fine", "All 2 checks"),
        (left_out(""), "unknown", "it could make none of them"),
        ([], "unknown", "it is older than these checks"),
        (sample.selftest()[:-1], "unknown", "is not complete"),
        (["garbage"], "unknown", "cannot be read"),
    ],
)
def test_what_a_self_test_says_of_the_probe(
    hardstone: Hardstone, tmp_path: Path, lines: list[str], state: str, says: str
) -> None:
    facts = machine("derived.selftest_count", "derived.selftest_failed")
    done = hardstone("doctor", "--json", "--target", fake(tmp_path, facts, selftest=lines))
    (found,) = [one for one in done.document["findings"] if one["rule"] == "selftest"]
    assert (done.code, found["state"]) == (EXIT_OK, state)
    assert says in found["found"]


@pytest.mark.parametrize(
    ("cause", "code", "says"),
    [
        (ProbeExitError(70, "ouch"), EXIT_PRIVILEGE, "exit code 70: ouch"),
        (ProbeError("killed by signal 11"), EXIT_PRIVILEGE, "killed by signal 11"),
        (ProbeTimeoutError("silent"), EXIT_OK, "did not check its own code: silent"),
        (OSError("no route"), EXIT_UNREACHABLE, "no route"),
    ],
)
def test_a_probe_that_ends_in_its_self_test_blocks_and_a_silent_one_is_not_checked(
    hardstone: Hardstone, lab: Lab, tmp_path: Path, cause: Exception, code: int, says: str
) -> None:
    class Ending(FakeTarget):
        def selftest(self) -> SelfTest:
            raise TargetError(getattr(cause, "cause", str(cause)), "") from cause

    facts = machine("derived.selftest_count", "derived.selftest_failed")
    lab(target=lambda name: Ending(Path(fake(tmp_path, facts).removeprefix("fake:"))))
    done = hardstone("doctor", "--all", "--target", "lab:ending")
    assert done.code == code and says in " ".join((done.out + done.err).split())


def test_names_of_tasks_cannot_steer_the_terminal(hardstone: Hardstone, tmp_path: Path) -> None:
    facts = machine(tasks__realtime_count=1, tasks__realtime="\x1b[2J[red]x\u202e\n\nblockers (9)")
    out = hardstone("doctor", "--target", fake(tmp_path, facts)).out
    assert not {"\x1b", "\u202e"} & set(out)
    assert "[red]x" in out and "\nblockers (9)" not in out


def test_explain_needs_no_probe(hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", "/nowhere/probe")
    done = hardstone("doctor", "--explain", "smt")
    assert (done.code, "not checked" in done.out) == (EXIT_OK, True)


@pytest.fixture
def prove(hardstone: Hardstone, tmp_path: Path, lab: Lab) -> Callable[..., tuple[Done, list[str]]]:
    """What `--prove` of a rule prints on such a target, and what its runs were asked to switch."""

    def call(rule: str, *words: str, **how: Any) -> tuple[Done, list[str]]:
        target, asked = stub(tmp_path, lab, **how)
        return hardstone("doctor", "--prove", rule, "--target", target, "-q", *words), asked

    return call


Prove = Callable[..., tuple[Done, list[str]]]


def test_prove_shows_an_effect_and_stores_the_run(prove: Prove) -> None:
    done, asked = prove("idle-states", "-D", "1s")
    assert done.code == EXIT_OK, done.err
    assert "12 of 12 pairs" in done.out
    assert "median: lower with the setting, by 2 us" in done.out
    assert "worst observed: 6.00 us without, 4.00 us with the setting, ratio 0.67" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert sorted(asked) == ["dma_latency"] * 12 + ["none"] * 12
    assert all(a != b for a, b in zip(asked[::2], asked[1::2], strict=True))
    document = Store().load("last")
    assert document.name == "prove idle-states"
    in_force = [result.conditions.settings for result in document.results]
    assert in_force == [[] if one == "none" else [one] for one in asked]


def test_prove_as_json(prove: Prove) -> None:
    done, _ = prove("idle-states", "--pairs", "10", "--json")
    assert done.document["schema"] == "hardstone.proof/1"
    assert done.document["pairs_counted"] == 10
    assert {one["verdict"] for one in done.document["effects"]} == {"lower"}
    assert done.document["maxima"]["verdict"] == "not judged: a maximum of a run"
    assert done.document["notes"] == [
        "p99.9 needs 10\N{NO-BREAK SPACE}000 values, has 1\N{NO-BREAK SPACE}000"
    ]


def test_prove_without_privilege_exits_with_5_and_measures_nothing(prove: Prove) -> None:
    done, asked = prove("governor", user=1000)
    assert (done.code, asked) == (EXIT_PRIVILEGE, [])
    assert "may not switch governor" in done.err


UNMIGRATED = {"kernel__timer_migration": 0, "kernel__nohz_full_cpus": None}


@pytest.mark.parametrize(
    ("rule", "without", "changed", "said"),
    [
        ("governor", ("power.governors",), {}, "no frequency governor"),
        ("governor", (), {"power__governors": None}, "no frequency governor"),
        ("governor", (), {"power__governors": "performance"}, "the performance governor"),
        ("idle-states", ("power.dma_latency_us",), {}, "missing or cannot be opened"),
        ("idle-states", (), {"power__dma_latency_us": 0}, "already holds"),
        ("idle-states", (), {"power__idle_driver": "none"}, "no idle driver"),
        ("idle-states", (), {"power__idle_boot": "poll"}, "already poll"),
        ("watchdog", (), {}, "watchdogs are off"),
        ("timer-migration", (), UNMIGRATED, "kernel.timer_migration is already 0"),
        *(
            (rule, without, changed, said)
            for rule in ("timer-migration", "isolated-cpus")
            for without, changed, said in (
                ((), {"cpu__count": 1}, "there is only one CPU"),
                (("kernel.timer_migration",), {}, "no setting kernel.timer_migration"),
            )
        ),
        *(
            (rule, without, changed, said)
            for rule in ("interrupts-here", "interrupts-one-cpu", "interrupts-everywhere")
            for without, changed, said in (
                ((), {"cpu__count": 1}, "there is only one CPU"),
                (("interrupts.device_lines",), {}, "no device interrupt is visible"),
                ((), {"interrupts__device_lines": 0}, "no device interrupt is visible"),
                ((), {"interrupts__quiet_cpus": "3,5"}, "directed to CPU 5"),
            )
        ),
    ],
)
def test_what_cannot_change_is_not_measured(
    prove: Prove, rule: str, without: tuple[str, ...], changed: dict[str, Any], said: str
) -> None:
    done, asked = prove(rule, without=without, **changed)
    assert (done.code, asked) == (EXIT_PRIVILEGE, [])
    assert "would change nothing here" in done.err
    assert said in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("rule", "setting"),
    [
        ("governor", "governor"),
        ("idle-states", "dma_latency"),
        ("isolated-cpus", "timers"),
        ("isolated-cpus", "cpuset"),
        ("interrupts-everywhere", "interrupts"),
        ("watchdog", "watchdog"),
    ],
)
def test_what_the_shield_lacks_is_not_measured(prove: Prove, rule: str, setting: str) -> None:
    able = {"kernel__nmi_watchdog": 1, "power__governors": "powersave"}
    lacking = sample.shield_look(**{setting: "/the/file: No such\x1b[2J file"})
    done, asked = prove(rule, shield=lacking, **able)
    assert (done.code, asked) == (EXIT_PRIVILEGE, [])
    assert len(done.told) == 1 and "\x1b" not in done.err
    assert f"{setting} cannot be switched here: /the/file: No such" in done.err


SWITCHED = ("cpuset", "interrupts", "workqueues", "timers")


@pytest.mark.parametrize(
    ("rule", "how"),
    [
        ("idle-states", {"shield": sample.shield_look(governor="no such file")}),
        ("idle-states", {"has_shield": False}),
        ("governor", {"settings": ("governor",), "power__governors": "powersave"}),
        ("isolated-cpus", {"settings": SWITCHED, "unchanged": ["timers"]}),
    ],
)
def test_what_can_change_something_is_measured(
    prove: Prove, rule: str, how: dict[str, Any]
) -> None:
    done, asked = prove(rule, "--pairs", "10", **how)
    assert done.code == EXIT_OK, done.err
    assert (len(asked), asked.count("none")) == (20, 10)


@pytest.mark.parametrize(
    ("rule", "setting", "is_in_force", "words"),
    [
        ("idle-states", "dma_latency", True, "dma_latency changed nothing"),
        ("interrupts-everywhere", "interrupts", True, "interrupts changed nothing"),
        ("idle-states", "dma_latency", False, "dma_latency was not in force"),
    ],
)
def test_a_setting_that_changed_nothing_ends_the_proof_after_the_first_pair(
    prove: Prove, rule: str, setting: str, words: str, *, is_in_force: bool
) -> None:
    how = {"settings": (setting,), "unchanged": (setting,)} if is_in_force else {"settings": ()}
    done, asked = prove(rule, "--pairs", "11", **how)
    assert done.code == EXIT_UNTRUSTWORTHY, done.err
    assert len(asked) == 2
    assert f"pair 1: with the setting: {words}" in done.out
    assert f"pairs 2 to 11: not run: {words}" in done.out
    assert "no complete pair: no result" in done.out and "lower" not in done.out


def test_a_probe_that_is_refused_the_setting_exits_with_5(prove: Prove) -> None:
    denied = sample.stream(status="denied", reason="/dev/cpu_dma_latency: permission denied")
    done, _ = prove("idle-states", "--pairs", "10", user=1000, with_setting=denied)
    assert done.code == EXIT_PRIVILEGE
    assert "permission denied" in done.out
    assert "pairs 2 to 10: not run: dma_latency could not be switched" in done.out


def test_pairs_that_are_missing_exit_with_3_though_every_run_was_measured(prove: Prove) -> None:
    """The fifth run with the setting had none in force: sound as a run, no half of a pair."""
    done, _ = prove("idle-states", "--pairs", "11", odd=5)
    assert "10 of 11 pairs" in done.out
    assert "pair 5: with the setting: dma_latency was not in force" in done.out
    assert "median: lower with the setting" in done.out
    assert done.code == EXIT_UNTRUSTWORTHY
    assert all(result.status == "measured" for result in Store().load("last").results)


@pytest.mark.slow
def test_ctrl_c_keeps_the_pairs_so_far(tmp_path: Path, lab: Lab) -> None:
    """In the fifth run, of pair 3."""
    target, _ = stub(tmp_path, lab, interrupted_at=5)
    words = ("--pairs", "50", "--json", "--quiet", "--target", target)
    with Forked("doctor", "--prove", "idle-states", *words) as tool:
        assert tool.wait() == EXIT_INTERRUPTED, tool.err
        found = msgspec.json.decode(tool.out)
    assert found["pairs_counted"] == 2
    assert Store().load("last").status == "interrupted"


def test_a_run_carries_the_advice(hardstone: Hardstone, tmp_path: Path) -> None:
    tests = {"SEM-P-SIG": [*sample.stream("SEM-P-SIG")]}
    facts = machine(cpu__smt=True, memory__ksm=1, cpu__allowed="0-2,5")
    done = hardstone("run", "SEM-P-SIG", "--target", fake(tmp_path, facts, tests=tests), "--json")
    advice = done.document["advice"]
    assert "problem: CPUs share cores (smt)" in advice
    assert not any("same-pages" in line for line in advice)
    shown = hardstone("show", "last").out
    assert "CPUs share cores: " in shown.partition("what next ")[2] and "see also " in shown


def test_the_doctor_looks_at_this_machine(hardstone: Hardstone, probe: Path) -> None:
    done = hardstone("doctor", "--json")
    assert done.code in (EXIT_OK, EXIT_PRIVILEGE)
    by_rule = {one["rule"]: one for one in done.document["findings"]}
    assert by_rule["timer-resolution"]["state"] == "fine"
    assert by_rule["realtime-priority"]["state"] in ("fine", "found")
    assert (done.code == EXIT_PRIVILEGE) == (done.document["counts"]["blocks"] > 0)
