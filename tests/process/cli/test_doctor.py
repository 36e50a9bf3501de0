"""doctor: what it prints, how it exits, and a setting proved with a probe that obeys it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.doctor import load_rules
from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
)
from hardstone.store import Store
from tests.conftest import ROOT
from tests.process.cli.conftest import Done
from tests.process.targets import sample
from tests.unit.doctor.machine import machine
from tests.unit.doctor.test_rules import LEVELS, SPOILT

Hardstone = Callable[..., Done]

# A probe that does what it is told with --settings, from the files beside it.
STUB = """
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
def send(name):
    with open(os.path.join(folder, name)) as file:
        sys.stdout.write(file.read())
if sys.argv[1] in ("list", "facts", "load", "shield"):
    send(sys.argv[1] + ".json")
else:
    is_with = "--settings" in sys.argv
    with open(os.path.join(folder, "calls"), "a") as file:
        file.write(sys.argv[sys.argv.index("--settings") + 1] if is_with else "none")
        file.write("\\n")
    with open(os.path.join(folder, "calls")) as file:
        calls = file.read()
    if os.environ.get("STUB_STOPS_AT") == str(len(calls.split())):
        open(os.path.join(folder, "stops"), "w").close()
        sys.stdin.read()
    odd = "odd-%d.jsonl" % calls.count("dma_latency")
    is_odd = is_with and os.path.exists(os.path.join(folder, odd))
    send(odd if is_odd else "with.jsonl" if is_with else "without.jsonl")
"""


def fake(folder: Path, facts: dict[str, Any]) -> str:
    document = json.loads((sample.GOLDEN / "facts.json").read_text())
    return f"fake:{sample.scenario(folder, {}, facts={**document, 'facts': facts})}"


def stub(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    user: int = 0,
    with_setting: list[str] | None = None,
    settings: tuple[str, ...] = ("dma_latency",),
    without: tuple[str, ...] = (),
    unavailable: dict[str, str] | None = None,
    unchanged: Sequence[str] | None = None,
    **changed: Any,
) -> Path:
    """A probe whose wake-ups are 2 us shorter with the setting."""
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"] = machine(*without, user__effective_id=user, cpu__allowed="0-2,5", **changed)
    (folder / "facts.json").write_text(json.dumps(facts))
    (folder / "list.json").write_text((sample.GOLDEN / "register.json").read_text())
    (folder / "load.json").write_text((sample.GOLDEN / "loads.json").read_text())
    look = sample.shield_look(**(unavailable or {}))
    (folder / "shield.json").write_text(json.dumps(look))
    slow, quick = tuple(range(5000, 6000)), tuple(range(3000, 4000))
    ordinary = sample.stream(values=slow)
    obeyed = sample.stream(values=quick, settings=list(settings))
    (folder / "without.jsonl").write_text("\n".join(ordinary) + "\n")
    if unchanged is not None:
        event = {"type": "event", "name": "shielded", "text": "-", "at_ns": None}
        event["data"] = {"unchanged": list(unchanged)}
        footer = json.loads(obeyed[-1])
        footer = json.dumps({**footer, "lines": footer["lines"] + 1, "events": 1})
        obeyed = [*obeyed[:2], json.dumps(event), *obeyed[2:-1], footer]
    (folder / "with.jsonl").write_text("\n".join(with_setting or obeyed) + "\n")
    path = sample.executable(folder, STUB)
    monkeypatch.setenv("HARDSTONE_PROBE", str(path))
    return folder / "calls"


def test_a_fit_machine_exits_with_0(hardstone: Hardstone, tmp_path: Path) -> None:
    done = hardstone("doctor", "--target", fake(tmp_path, machine()))
    assert done.code == EXIT_OK, done.err
    rules = len(load_rules())
    assert f"0 block, 0 hurt, 0 notes, {rules} fine, 0 unknown" in done.out


def test_what_blocks_exits_with_5(hardstone: Hardstone, tmp_path: Path) -> None:
    facts = machine(limits__can_lock=False, limits__memlock_bytes=65536)
    done = hardstone("doctor", "--target", fake(tmp_path, facts))
    assert done.code == EXIT_PRIVILEGE
    assert "Memory cannot be locked [memory-lock]" in done.out
    command = done.out.partition("memlock unlimited")[2].splitlines()[0]
    assert " anna | " in command and "tee " in command
    assert "undo" in done.out


@pytest.mark.parametrize("rule", load_rules())
def test_each_rule_that_blocks_and_no_other_exits_with_5(
    hardstone: Hardstone, tmp_path: Path, rule: str
) -> None:
    done = hardstone("doctor", "--json", "--target", fake(tmp_path, machine(**SPOILT[rule])))
    found = {one["rule"] for one in done.document["findings"] if one["state"] == "found"}
    blocking = found & set(LEVELS["blocks"])
    assert rule in found
    assert done.document["counts"]["blocks"] == len(blocking)
    assert done.code == (EXIT_PRIVILEGE if blocking else EXIT_OK)
    assert (rule in LEVELS["blocks"]) <= bool(blocking)


def test_what_is_history_is_not_what_a_change_brings(hardstone: Hardstone, tmp_path: Path) -> None:
    facts = machine(kernel__preemption_model="voluntary", kernel__release="6.18.44")
    target = fake(tmp_path, facts)
    for done in (
        hardstone("doctor", "--target", target),
        hardstone("doctor", "--explain", "preemption", "--target", target),
    ):
        lines = [line.split() for line in done.out.splitlines()]
        assert ["brings", "unknown"] in lines
        assert any(line[:2] == ["history", "HP-UX"] for line in lines)


def test_a_system_that_tells_nothing_is_unknown_and_not_fine(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    done = hardstone("doctor", "--all", "--target", fake(tmp_path, {}))
    assert done.code == EXIT_OK
    assert f"0 fine, {len(load_rules())} unknown" in done.out


def test_all_shows_what_is_fine(hardstone: Hardstone, tmp_path: Path) -> None:
    target = fake(tmp_path, machine())
    assert "huge-pages" not in hardstone("doctor", "--target", target).out
    assert "huge-pages" in hardstone("doctor", "--all", "--target", target).out


def test_text_fits_80_columns_but_commands_stay_whole(hardstone: Hardstone, tmp_path: Path) -> None:
    facts = machine(
        kernel__preemption_model="none", kernel__preemption_is_dynamic=True, cpu__smt=True
    )
    out = hardstone("doctor", "--target", fake(tmp_path, facts)).out
    assert "\x1b" not in out
    long = [line for line in out.splitlines() if len(line) > 80]
    *commands, last = long
    assert all(line.startswith(" " * 12) for line in commands)
    assert "doctor --all --target fake:" in last
    assert any("echo full > /sys/kernel/debug/sched/preempt'" in line for line in long)


def test_names_of_tasks_cannot_steer_the_terminal(hardstone: Hardstone, tmp_path: Path) -> None:
    facts = machine(tasks__realtime_count=1, tasks__realtime="\x1b[2J[red]x\u202e\n\nblocks (9)")
    out = hardstone("doctor", "--target", fake(tmp_path, facts)).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]x" in out
    assert "\nblocks (9)" not in out


def test_json_is_one_document(hardstone: Hardstone, tmp_path: Path) -> None:
    facts = machine(memory__ksm=1)
    done = hardstone("doctor", "--json", "--target", fake(tmp_path, facts))
    assert done.document["schema"] == "hardstone.doctor/1"
    found = [one for one in done.document["findings"] if one["state"] == "found"]
    assert [one["rule"] for one in found] == ["same-pages"]
    assert found[0]["facts"] == {"memory.ksm": 1}


def test_explain_says_what_it_looks_at(hardstone: Hardstone, tmp_path: Path) -> None:
    target = fake(tmp_path, machine(power__governors="powersave"))
    done = hardstone("doctor", "--explain", "governor", "--target", target)
    assert done.code == EXIT_OK
    assert "found: Governor: powersave" in done.out
    assert "--prove governor" in done.out
    as_json = hardstone("doctor", "--explain", "smt", "--json", "--target", target).document
    assert as_json["finding"]["state"] == "fine"


def test_explain_needs_no_probe(hardstone: Hardstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", "/nowhere/probe")
    done = hardstone("doctor", "--explain", "smt")
    assert (done.code, "not checked" in done.out) == (EXIT_OK, True)


@pytest.mark.parametrize("option", ["--explain", "--prove"])
def test_an_unknown_rule_gives_the_nearest(
    hardstone: Hardstone, tmp_path: Path, option: str
) -> None:
    done = hardstone("doctor", option, "governer", "--target", fake(tmp_path, {}))
    assert done.code == EXIT_USAGE
    assert "did you mean governor?" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prove", "smt"], "cannot be switched for a measurement"),
        (["--prove", "governor", "--pairs", "0"], "--pairs"),
        (["--prove", "governor", "--pairs", "9999999999"], "--pairs"),
        (["--prove", "governor", "--pairs", "x"], "'x' is not a number of pairs; give 10 to 500"),
        (
            ["--prove", "governor", "--pairs", "9"],
            "a verdict needs at least 10 pairs; give at least 10",
        ),
        (["--prove", "governor", "--duration", "-1"], "--duration"),
        (["--prove", "governor", "--test", "NO-P-SUCH"], "NO-P-SUCH"),
        (["--prove", "governor", "--test", "TMR-*"], "one test"),
        (["--prove", "governor", "--load", "none,heavy"], "one load"),
        (["--prove", "governor", "--load", "hevy"], "did you mean heavy?"),
        (
            ["--prove", "governor", "--test", "SEM-B-LCK"],
            "SEM-B-LCK tests behaviour and times nothing",
        ),
        (["--prove", "governor", "--explain", "smt"], "both given"),
        (["--pairs", "3"], "--pairs needs --prove"),
        (["--seed", "3"], "--seed needs --prove"),
    ],
)
def test_wrong_usage_is_told(
    hardstone: Hardstone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    calls = stub(tmp_path, monkeypatch)
    done = hardstone("doctor", *arguments)
    assert done.code == EXIT_USAGE, done.err
    assert said in done.err
    assert not calls.exists()


def test_prove_names_the_rules_that_can(hardstone: Hardstone) -> None:
    err = hardstone("doctor", "--prove", "hypervisor").err
    named = err.partition("these can: ")[2].strip().split(", ")
    assert named == [rule for rule, one in load_rules().items() if one.settings]


def test_prove_shows_an_effect_and_stores_the_run(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = stub(tmp_path, monkeypatch)
    place = tmp_path / "store"
    done = hardstone("doctor", "--prove", "idle-states", "--store", place, "-D", "1s", "--quiet")
    assert done.code in (EXIT_OK, EXIT_UNTRUSTWORTHY), done.err
    assert "12 of 12 pairs" in done.out
    assert "median: lower with the setting, by 2 us" in done.out
    assert "worst observed: 6.00 us without, 4.00 us with the setting, ratio 0.67" in done.out
    assert "not judged: a maximum of a run" in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 80
    order = calls.read_text().split()
    assert sorted(order) == ["dma_latency"] * 12 + ["none"] * 12
    assert all(a != b for a, b in zip(order[::2], order[1::2], strict=True))
    document = Store(place).load("last")
    assert document.name == "prove idle-states"
    in_force = [result.conditions.settings for result in document.results]
    assert in_force == [[] if one == "none" else [one] for one in order]


def test_prove_as_json(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(tmp_path, monkeypatch)
    done = hardstone("doctor", "--prove", "idle-states", "--pairs", "10", "--json", "--quiet")
    assert done.document["schema"] == "hardstone.proof/1"
    assert done.document["pairs_counted"] == 10
    assert {one["verdict"] for one in done.document["effects"]} == {"lower"}
    assert done.document["maxima"]["verdict"] == "not judged: a maximum of a run"
    assert done.document["notes"] == []


def test_prove_without_privilege_exits_with_5_and_measures_nothing(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = stub(tmp_path, monkeypatch, user=1000)
    done = hardstone("doctor", "--prove", "governor")
    assert (done.code, calls.exists()) == (EXIT_PRIVILEGE, False)
    assert "may not switch governor" in done.err


@pytest.mark.parametrize(
    ("rule", "without", "changed", "said"),
    [
        ("governor", ("power.governors",), {}, "no frequency governor"),
        ("governor", (), {"power__governors": None}, "no frequency governor"),
        (
            "governor",
            (),
            {"power__governors": "performance"},
            "already has the governor performance",
        ),
        ("idle-states", ("power.dma_latency_us",), {}, "missing or cannot be opened"),
        ("idle-states", (), {"power__dma_latency_us": 0}, "already holds"),
        ("idle-states", (), {"power__idle_driver": "none"}, "no idle driver"),
        ("idle-states", (), {"power__idle_boot": "poll"}, "already poll"),
        ("watchdog", (), {}, "watchdogs are off"),
        ("timer-migration", (), {"cpu__count": 1}, "there is only one CPU"),
        ("timer-migration", ("kernel.timer_migration",), {}, "no setting kernel.timer_migration"),
        (
            "timer-migration",
            (),
            {"kernel__timer_migration": 0, "kernel__nohz_full_cpus": None},
            "kernel.timer_migration is already 0",
        ),
        ("isolated-cpus", (), {"cpu__count": 1}, "there is only one CPU"),
        ("isolated-cpus", ("kernel.timer_migration",), {}, "no setting kernel.timer_migration"),
        *(
            one
            for rule in ("interrupts-here", "interrupts-one-cpu", "interrupts-everywhere")
            for one in (
                (rule, (), {"cpu__count": 1}, "there is only one CPU"),
                (rule, ("interrupts.device_lines",), {}, "no device interrupt is visible"),
                (rule, (), {"interrupts__device_lines": 0}, "no device interrupt is visible"),
                (rule, (), {"interrupts__quiet_cpus": "3,5"}, "directed to CPU 5"),
            )
        ),
    ],
)
def test_what_cannot_change_is_not_measured(
    hardstone: Hardstone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    without: tuple[str, ...],
    changed: dict[str, Any],
    said: str,
) -> None:
    calls = stub(tmp_path, monkeypatch, without=without, **changed)
    done = hardstone("doctor", "--prove", rule)
    assert (done.code, calls.exists()) == (EXIT_PRIVILEGE, False)
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
def test_what_the_shield_lacks_is_not_measured(
    hardstone: Hardstone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    setting: str,
) -> None:
    able = {"kernel__nmi_watchdog": 1, "power__governors": "powersave"}
    lacking = {setting: "/the/file: No such\x1b[2J file"}
    calls = stub(tmp_path, monkeypatch, unavailable=lacking, **able)
    done = hardstone("doctor", "--prove", rule)
    assert (done.code, calls.exists()) == (EXIT_PRIVILEGE, False)
    assert len(done.told) == 1 and "\x1b" not in done.err
    assert f"{setting} cannot be switched here: /the/file: No such" in done.err


def test_a_lack_of_another_setting_is_no_obstacle(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = stub(tmp_path, monkeypatch, unavailable={"governor": "no such file"})
    hardstone("doctor", "--prove", "idle-states", "--pairs", "10", "--quiet")
    assert sorted(calls.read_text().split()) == ["dma_latency"] * 10 + ["none"] * 10


def test_a_probe_that_has_no_look_at_shields_is_measured_all_the_same(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = stub(tmp_path, monkeypatch)
    path = tmp_path / "hardstone-probe"
    path.write_text(
        path.read_text()
        .replace('"load", "shield"', '"load"')
        .replace(
            "else:\n    is_with",
            'elif sys.argv[1] == "shield":\n    sys.exit(2)\nelse:\n    is_with',
        )
    )
    hardstone("doctor", "--prove", "idle-states", "--pairs", "10", "--quiet")
    assert sorted(calls.read_text().split()) == ["dma_latency"] * 10 + ["none"] * 10


@pytest.mark.parametrize(
    ("rule", "settings", "unchanged", "words"),
    [
        (
            "idle-states",
            ("dma_latency",),
            ("dma_latency",),
            "dma_latency found nothing to change",
        ),
        (
            "interrupts-everywhere",
            ("interrupts",),
            ("interrupts",),
            "interrupts found nothing to change",
        ),
        ("idle-states", (), None, "dma_latency was not in force"),
    ],
)
def test_a_setting_that_changed_nothing_ends_the_proof_after_the_first_pair(
    hardstone: Hardstone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rule: str,
    settings: tuple[str, ...],
    unchanged: tuple[str, ...] | None,
    words: str,
) -> None:
    calls = stub(tmp_path, monkeypatch, settings=settings, unchanged=unchanged)
    done = hardstone("doctor", "--prove", rule, "--pairs", "11", "--quiet")
    assert done.code == EXIT_UNTRUSTWORTHY, done.err
    assert len(calls.read_text().split()) == 2
    assert f"pair 1: with the setting: {words}" in done.out
    assert f"pairs 2 to 11: not run: {words}" in done.out
    assert "no complete pair: no result" in done.out


def test_one_setting_of_several_that_changed_something_is_an_effect(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("cpuset", "interrupts", "workqueues", "timers")
    calls = stub(tmp_path, monkeypatch, settings=settings, unchanged=["timers"])
    hardstone("doctor", "--prove", "isolated-cpus", "--pairs", "10", "--quiet")
    assert len(calls.read_text().split()) == 20


def test_a_governor_that_can_change_is_measured(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = stub(tmp_path, monkeypatch, settings=("governor",), power__governors="powersave")
    done = hardstone("doctor", "--prove", "governor", "--pairs", "10", "--quiet")
    assert done.code in (EXIT_OK, EXIT_UNTRUSTWORTHY), done.err
    assert sorted(calls.read_text().split()) == ["governor"] * 10 + ["none"] * 10


def test_a_probe_that_is_refused_the_setting_exits_with_5(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = sample.stream(status="denied", reason="/dev/cpu_dma_latency: permission denied")
    stub(tmp_path, monkeypatch, user=1000, with_setting=denied)
    done = hardstone("doctor", "--prove", "idle-states", "--pairs", "10", "--quiet")
    assert done.code == EXIT_PRIVILEGE
    assert "permission denied" in done.out
    assert "pairs 2 to 10: not run: dma_latency could not be switched" in done.out


def test_a_setting_that_was_not_applied_is_no_proof(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(tmp_path, monkeypatch, settings=())
    done = hardstone("doctor", "--prove", "idle-states", "--pairs", "10", "--quiet")
    assert done.code == EXIT_UNTRUSTWORTHY
    assert "dma_latency was not in force" in done.out
    assert "lower" not in done.out


def test_pairs_that_are_missing_exit_with_3_though_every_run_was_measured(
    hardstone: Hardstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fifth run with the setting had none in force: sound as a run, no half of a pair."""
    stub(tmp_path, monkeypatch)
    arguments = ("doctor", "--prove", "idle-states", "--pairs", "11", "--quiet")
    assert hardstone(*arguments).code == EXIT_OK
    (tmp_path / "calls").unlink()
    values = tuple(range(3000, 4000))
    (tmp_path / "odd-5.jsonl").write_text("\n".join(sample.stream(values=values)) + "\n")
    done = hardstone(*arguments)
    assert "10 of 11 pairs" in done.out
    assert "pair 5: with the setting: dma_latency was not in force" in done.out
    assert "median: lower with the setting" in done.out
    assert done.code == EXIT_UNTRUSTWORTHY
    assert all(result.status == "measured" for result in Store().load("last").results)


@pytest.mark.slow
def test_ctrl_c_keeps_the_pairs_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the fifth run, of pair 3; a pipe with a name waits for its writer."""
    stub(tmp_path, monkeypatch)
    os.mkfifo(tmp_path / "stops")
    command = [sys.executable, "-c", "from hardstone.cli.main import main; main()"]
    arguments = ["doctor", "--prove", "idle-states", "--pairs", "50", "--json", "--quiet"]
    environment = {**os.environ, "STUB_STOPS_AT": "5", "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [*command, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    (tmp_path / "stops").read_text()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == EXIT_INTERRUPTED, err
    found = msgspec.json.decode(out)
    assert found["pairs_counted"] == 2
    assert Store().load("last").status == "interrupted"


def test_a_run_carries_the_advice(hardstone: Hardstone, tmp_path: Path) -> None:
    document = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts = {**document, "facts": machine(cpu__smt=True, memory__ksm=1, cpu__allowed="0-2,5")}
    tests = {"SEM-P-SIG": [*sample.stream("SEM-P-SIG")]}
    target = f"fake:{sample.scenario(tmp_path, tests, facts=facts)}"
    done = hardstone("run", "SEM-P-SIG", "--target", target, "--json")
    advice = done.document["advice"]
    assert "hurts: CPUs share cores (smt)" in advice
    assert not any("same-pages" in line for line in advice)
    shown = hardstone("show", "last").out
    assert "hurts: CPUs share cores (smt)" in shown
    assert "what to type" in shown
    assert any(line.split()[-1:] == ["doctor"] for line in shown.splitlines())


def test_the_doctor_looks_at_this_machine(hardstone: Hardstone, probe: Path) -> None:
    done = hardstone("doctor", "--json")
    assert done.code in (EXIT_OK, EXIT_PRIVILEGE)
    by_rule = {one["rule"]: one for one in done.document["findings"]}
    assert by_rule["timer-resolution"]["state"] == "fine"
    assert by_rule["realtime-priority"]["state"] in ("fine", "found")
    assert (done.code == EXIT_PRIVILEGE) == (done.document["counts"]["blocks"] > 0)
