"""evaluate and run on several targets, and with --compare-preemption: one run where the model is
switched, a run for each boot of the lab. The tables are in golden/run.txt."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.errors import (
    EXIT_GATE,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    WORST_FIRST,
    TargetError,
    worst_code,
)
from hardstone.model import TARGETS_SCHEMA, Facts, StreamSeries
from hardstone.store.store import Store
from hardstone.targets.base import SILENT, Notices, Stop, WrongModelError
from hardstone.targets.local import LocalTransport
from hardstone.targets.probe_target import ProbeTarget
from tests.conftest import ROOT
from tests.process.cli.conftest import Done, Hardstone, Lab, facts_with, validate
from tests.process.targets import sample
from tests.process.targets.test_transport import playing
from tests.unit.stats import make

Make = Callable[..., str]
TEST = "SEM-P-SIG"


@pytest.fixture
def fake(tmp_path: Path) -> Make:
    """A fake target in a folder called `name`; `steps` are those of its test."""

    def play(name: str, steps: list[Any] | None = None, **changed: Any) -> str:
        folder = tmp_path / name
        folder.mkdir()
        return f"fake:{sample.scenario(folder, {TEST: steps or sample.stream(TEST)}, **changed)}"

    return play


@pytest.fixture
def measure(hardstone: Hardstone, tmp_path: Path) -> Callable[..., Done]:
    def run(*targets: str, options: tuple[object, ...] = ()) -> Done:
        named = [word for target in targets for word in ("--target", target)]
        return hardstone("run", TEST, *named, "--store", tmp_path / "store", *options)

    return run


def stored(tmp_path: Path) -> list[str]:
    """The targets of the stored runs, in the order of measuring."""
    store = Store(tmp_path / "store")
    return [store.load(one.id).plan.target for one in reversed(store.runs())]


def test_json_is_one_document_of_all_runs(
    measure: Callable[..., Done], fake: Make, tmp_path: Path
) -> None:
    names = [fake("a"), fake("b"), f"fake:{tmp_path / 'nowhere.json'}"]
    done = measure(*names, options=("--json",))
    assert [run["plan"]["target"] for run in done.document["runs"]] == names[:2]
    assert {run["schema"] for run in done.document["runs"]} == {"hardstone.run/1"}
    (missing,) = done.document["not_run"]
    assert (missing["target"], missing["exit_code"]) == (names[2], EXIT_USAGE)
    assert "cannot be read" in missing["reason"]
    assert done.document["schema"] == TARGETS_SCHEMA
    validate(done.document)


class Gone(LocalTransport):
    """Not there. `lab:interrupted`: Ctrl-C comes while it is waited for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = f"lab:{name}"

    def open(self, notices: Notices = SILENT) -> None:
        if self.name == "lab:interrupted":
            raise KeyboardInterrupt
        raise TargetError("no answer\x1b", "plug it in")


@pytest.mark.parametrize("place", [0, 1])
def test_a_target_that_is_not_there_keeps_no_other_from_it(
    measure: Callable[..., Done], fake: Make, tmp_path: Path, lab: Lab, place: int
) -> None:
    """One run alone has no table: golden/run.txt has the table of several."""
    lab(Gone)
    names = [fake("a"), fake("b")]
    names[place] = "lab:gone"
    done = measure(*names)
    assert (done.code, "test, series" in done.out) == (EXIT_UNREACHABLE, False)
    assert stored(tmp_path) == [name for name in names if name != "lab:gone"]
    assert done.told[-1] == "hardstone: lab:gone was not measured: no answer\\x1b; plug it in"


def test_a_request_that_only_a_later_target_refuses(
    measure: Callable[..., Done], fake: Make, tmp_path: Path
) -> None:
    facts = facts_with({"cpu.allowed": "0", "cpu.online": "0", "cpu.count": 1})
    names = [fake("a"), fake("b", facts=facts), fake("c")]
    done = measure(*names, options=("--cpu", "2"))
    assert done.code == EXIT_USAGE
    assert set(stored(tmp_path)) == {names[0], names[2]}
    assert done.told[-1].startswith(f"hardstone: {names[1]} was not measured: ")


def test_evaluate_writes_a_report_of_each(hardstone: Hardstone, fake: Make, tmp_path: Path) -> None:
    targets = ["--target", fake("a"), "--target", fake("b")]
    hardstone("evaluate", *targets, "--store", tmp_path / "store")
    assert len(list((tmp_path / "store" / "reports").glob("*.html"))) == 2


def test_a_target_twice_shows_how_well_it_repeats(
    measure: Callable[..., Done], fake: Make, tmp_path: Path
) -> None:
    name = fake("a")
    done = measure(name, name, options=("--quiet",))
    assert (done.code, done.err) == (EXIT_OK, "")
    assert stored(tmp_path) == [name, name]
    assert "#1" in done.out and "#2" in done.out and " x1.0" in done.out


def test_a_dry_run_shows_each_plan(
    measure: Callable[..., Done], fake: Make, tmp_path: Path, lab: Lab
) -> None:
    lab(Gone)
    names = [fake("a"), "lab:gone", fake("c")]
    done = measure(*names, options=("--dry-run",))
    assert done.code == EXIT_UNREACHABLE
    told = "".join(done.out.split())  # a long name is folded
    assert [name in told for name in names] == [True, False, True]
    done = measure(*names, options=("--dry-run", "--json"))
    assert [plan["target"] for plan in done.document["plans"]] == [names[0], names[2]]
    assert [one["target"] for one in done.document["not_run"]] == [names[1]]
    assert not (tmp_path / "store").exists()


def test_ctrl_c_between_two_targets_ends_the_whole(
    measure: Callable[..., Done], fake: Make, tmp_path: Path, lab: Lab
) -> None:
    lab(Gone)
    names = [fake("a"), "lab:interrupted", fake("c")]
    done = measure(*names)
    assert done.code == EXIT_INTERRUPTED
    assert stored(tmp_path) == [names[0]]
    assert [line for line in done.told if "was not measured" in line] == [
        f"hardstone: {name} was not measured: the command was interrupted" for name in names[1:]
    ]


class Stopped(LocalTransport):
    """Ctrl-C comes during the test."""

    def chunks(self, arguments: Any, limits: Any, stop: Stop, *rest: Any) -> Generator[bytes]:
        if arguments[0] == "run":
            stop.set()
        return super().chunks(arguments, limits, stop, *rest)


def test_ctrl_c_during_a_run_ends_the_whole(
    measure: Callable[..., Done], fake: Make, tmp_path: Path, lab: Lab
) -> None:
    probe = playing(tmp_path, sample.stream(TEST))
    lab(lambda name: Stopped(probe))
    done = measure("lab:stopped", fake("b"))
    assert done.code == EXIT_INTERRUPTED
    assert len(stored(tmp_path)) == 1
    assert done.told[-1].endswith("was not measured: the command was interrupted")


@pytest.mark.parametrize(
    ("codes", "worst"),
    [
        ([], EXIT_OK),
        ([EXIT_OK, EXIT_UNTRUSTWORTHY], EXIT_UNTRUSTWORTHY),
        ([EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY], EXIT_PRIVILEGE),
        ([EXIT_GATE, EXIT_PRIVILEGE], EXIT_GATE),
        ([EXIT_USAGE, EXIT_GATE], EXIT_USAGE),
        ([EXIT_USAGE, EXIT_UNREACHABLE], EXIT_UNREACHABLE),
        ([EXIT_UNREACHABLE, EXIT_INTERRUPTED], EXIT_INTERRUPTED),
        ([EXIT_INTERRUPTED, EXIT_INTERNAL], EXIT_INTERNAL),
    ],
)
def test_the_order_of_the_codes(codes: list[int], worst: int) -> None:
    assert worst_code(codes) == worst_code(codes[::-1]) == worst


def test_the_order_is_in_the_documents() -> None:
    told = (ROOT / "docs/how-to/compare-targets.md").read_text()
    assert ", ".join(map(str, WORST_FIRST)) in told


# ---- --compare-preemption ----

PREEMPTION = "KRN-P-PRE"
OFF = tuple(range(100_000, 1_100_000, 500))
ON = tuple(range(10_000, 110_000, 50))
DYNAMIC = {
    "kernel.preemption": "full (dynamic)",
    "kernel.preemption_model": "full",
    "kernel.preemption_choices": "none, voluntary, full, lazy",
    "kernel.preemption_is_dynamic": True,
}
BUILT_IN = {"kernel.preemption_choices": None, "kernel.preemption_is_dynamic": False}


def sections(values: tuple[int, ...], **ending: Any) -> list[str]:
    """Of KRN-P-PRE, with one operation, and all of them."""
    lines = sample.stream(PREEMPTION, values=values, **ending)
    if ending:
        return lines
    place = next(at for at, line in enumerate(lines) if '"type":"series"' in line)
    fields = msgspec.structs.asdict(make.series(values, "dispatch"))
    shown = [
        msgspec.json.encode(StreamSeries(**(fields | {"labels": {"operation": name}}))).decode()
        for name in ("fork", "all")
    ]
    footer = json.loads(lines[-1]) | {"lines": len(lines), "series": 2}
    return [*lines[:place], *shown, *lines[place + 1 : -1], json.dumps(footer)]


def preemption(
    facts: dict[str, Any] = DYNAMIC, off: list[str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tests of a machine with shorter sections under `full`, and what else there is of it;
    `off`: the steps under `none`."""
    under = [
        {"test": PREEMPTION, "preemption": "none", "steps": off or sections(OFF)},
        {"test": PREEMPTION, "preemption": "full", "steps": sections(ON)},
    ]
    tests = {PREEMPTION: sections(ON), "SEM-P-SIG": sample.stream("SEM-P-SIG")}
    return tests, {"under": under, "facts": facts_with(facts)}


def switching(folder: Path, facts: dict[str, Any] = DYNAMIC, off: list[str] | None = None) -> str:
    tests, changed = preemption(facts, off)
    return f"fake:{sample.scenario(folder, tests, **changed)}"


@pytest.fixture
def compare(hardstone: Hardstone, tmp_path: Path) -> Callable[..., Done]:
    def run(target: str, *options: object, test: str = PREEMPTION) -> Done:
        words = ("--target", target, "--store", tmp_path / "store", *options)
        return hardstone("run", test, "--compare-preemption", *words)

    return run


def whole(done: Done) -> str:
    """The part of the output that is the table, its white space folded."""
    return " ".join(done.out[done.out.index("kernel preemption off") :].split())


def test_one_run_has_both_models_and_ends_with_the_table(
    compare: Callable[..., Done], hardstone: Hardstone, tmp_path: Path
) -> None:
    done = compare(switching(tmp_path))
    assert done.code == EXIT_OK, done.err
    (entry,) = Store(tmp_path / "store").runs()
    document = Store(tmp_path / "store").load(entry.id)
    assert [one.conditions.preemption for one in document.results] == ["none", "full"]
    assert document.plan.preemption_models == ["none", "full"]
    shown = hardstone("show", "last", "--all", "--store", tmp_path / "store")
    assert whole(done) in " ".join(shown.out.split())


def test_json_is_the_run_and_a_dry_run_its_plan_with_its_command(
    compare: Callable[..., Done], hardstone: Hardstone, tmp_path: Path
) -> None:
    target = switching(tmp_path)
    planned = compare(target, "--dry-run").out.splitlines()
    models = [line.split()[3] for line in planned if line.startswith(PREEMPTION)]
    plan = compare(target, "--dry-run", "--json").document
    assert [one["preemption"] for one in plan["tests"]] == models == ["none", "full"]
    assert hardstone(*plan["command"], "--dry-run", "--json").document == plan
    assert not (tmp_path / "store").exists()
    document = compare(target, "--json").document
    assert [one["conditions"]["preemption"] for one in document["results"]] == ["none", "full"]
    assert document["plan"] == plan


def test_other_tests_stand_beside_themselves_without_a_table(
    compare: Callable[..., Done], tmp_path: Path
) -> None:
    done = compare(switching(tmp_path), test="SEM-P-SIG")
    assert done.code == EXIT_OK
    assert "kernel preemption off" not in done.out
    assert "preemption none" in done.out


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("denied", "preemption: the kernel is locked down", EXIT_PRIVILEGE),
        # the probe sees it at the end
        ("failed", "the preemption model was switched to lazy from outside", EXIT_UNTRUSTWORTHY),
    ],
)
def test_a_side_that_has_no_figure_is_said(
    compare: Callable[..., Done], tmp_path: Path, status: str, reason: str, code: int
) -> None:
    done = compare(switching(tmp_path, off=sections((), status=status, reason=reason)))
    assert done.code == code
    assert f"off: {status}: {reason}" in whole(done)
    assert "110 us" in whole(done) and " 10 1127 ms" not in whole(done)


def test_evaluate_compares_too(hardstone: Hardstone, tmp_path: Path) -> None:
    target = ["--target", switching(tmp_path), "--dry-run", "--json"]
    plan = hardstone("evaluate", "--compare-preemption", *target).document
    assert len(plan["tests"]) == 2 * len(sample.register().tests)


# ---- kernels of the lab ----


class Booted(LocalTransport):
    """A guest; the last word of its name is the model that it was booted with."""

    def __init__(self, name: str, probe: Path) -> None:
        super().__init__(probe)
        self.name = f"lab:{name}"


class Away(Booted):
    def open(self, notices: Notices = SILENT) -> None:
        raise TargetError("no answer", "plug it in")


class Guest(ProbeTarget):
    """Says of its preemption what a kernel with these `choices` would."""

    def __init__(self, transport: Booted, choices: str) -> None:
        super().__init__(transport)
        self._choices = choices

    def facts(self, *, with_counter: bool = True) -> Facts:
        found = super().facts()
        asked = self.name.rpartition("preempt=")[2].split(",")[0]
        has_it = asked in self._choices.split(", ")
        model = asked if has_it else self._choices.split(", ")[0]
        found.facts |= {
            "kernel.preemption": f"{model} (dynamic)",
            "kernel.preemption_model": model,
            "kernel.preemption_choices": self._choices,
            "kernel.preemption_is_dynamic": ", " in self._choices,
            "kernel.cmdline": f"quiet preempt={asked}",
        }
        if not has_it:
            raise WrongModelError(f"{self.name}: {model}, not {asked}", "", found.facts)
        return found


Boots = Callable[..., list[str]]


@pytest.fixture
def boots(tmp_path: Path, lab: Lab) -> Boots:
    """Puts guests in place of the lab: the names of those that are booted."""

    def install(choices: str = "none, voluntary, full", **kinds: type[Booted]) -> list[str]:
        booted: list[str] = []

        def target(name: str) -> Guest:
            booted.append(name)
            model = name.rpartition("preempt=")[2].split(",")[0]
            folder = tmp_path / model
            folder.mkdir(exist_ok=True)
            probe = playing(folder, sections(ON if model == "full" else OFF))
            return Guest(kinds.get(model, Booted)(name, probe), choices)

        lab(target=target)
        return booted

    return install


def test_a_kernel_of_the_lab_is_booted_with_each(
    compare: Callable[..., Done], boots: Boots, tmp_path: Path
) -> None:
    booted = boots()
    done = compare("lab:a,deterministic")
    assert done.code == EXIT_OK, done.err
    names = ["a,preempt=none,deterministic", "a,preempt=full,deterministic"]
    assert list(dict.fromkeys(booted)) == names
    store = Store(tmp_path / "store")
    stored = {store.load(one.id).plan.target for one in store.runs()}
    assert stored == {f"lab:{name}" for name in names}
    assert "kernel preemption off (none (dynamic)) and on (full (dynamic))" in whole(done)
    assert "1.10 ms 110 us 10 1127 ms" in whole(done)
    assert "differs: kernel.cmdline" not in whole(done)


def test_a_kernel_without_none_is_booted_with_what_it_has(
    compare: Callable[..., Done], boots: Boots
) -> None:
    booted = boots("full, lazy")
    done = compare("lab:a")
    assert done.code == EXIT_OK, done.err
    assert "the kernel has no model none: off is lazy" in done.err
    assert booted[-2:] == ["a,preempt=lazy", "a,preempt=full"]
    assert "kernel preemption off (lazy (dynamic))" in whole(done)


def test_a_kernel_with_one_model_is_one_line_and_5(
    compare: Callable[..., Done], boots: Boots, tmp_path: Path
) -> None:
    boots("voluntary")
    done = compare("lab:a", "-q")
    assert (done.code, done.out, len(done.told)) == (EXIT_PRIVILEGE, "", 1)
    assert "is built in (voluntary" in done.err
    assert not (tmp_path / "store").exists()


def test_a_model_in_the_name_is_refused(compare: Callable[..., Done], boots: Boots) -> None:
    booted = boots()
    for target, more in (("lab:a,preempt=full", ()), ("lab:a", ("--preempt", "none"))):
        done = compare(target, *more)
        assert (done.code, len(done.told), done.out) == (EXIT_USAGE, 1, "")
        assert "leave preempt out" in done.err
    assert booted == []


def test_a_boot_that_fails_keeps_the_other(
    compare: Callable[..., Done], boots: Boots, tmp_path: Path
) -> None:
    boots(full=Away)
    done = compare("lab:a")
    assert done.code == EXIT_UNREACHABLE
    assert len(Store(tmp_path / "store").runs()) == 1
    assert "kernel preemption off" not in done.out
    assert done.told[-1].startswith("hardstone: lab:a,preempt=full was not measured")


def test_json_of_two_boots_has_both_runs(compare: Callable[..., Done], boots: Boots) -> None:
    boots()
    document = compare("lab:a", "--json").document
    assert [run["plan"]["target"] for run in document["runs"]] == [
        "lab:a,preempt=none",
        "lab:a,preempt=full",
    ]
    plans = compare("lab:a", "--json", "--dry-run").document["plans"]
    assert [plan["target"] for plan in plans] == [run["plan"]["target"] for run in document["runs"]]
