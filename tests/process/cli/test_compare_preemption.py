"""--compare-preemption: both models in one run where they are switched, a run for each boot."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from hardstone.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    TargetError,
)
from hardstone.model import Facts, StreamSeries
from hardstone.store import Store
from hardstone.targets.base import Stop, WrongModelError
from hardstone.targets.local import LocalTransport
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.reaching import SILENT, Notices
from tests.process.cli.conftest import Done
from tests.process.targets import sample
from tests.process.targets.test_transport import playing
from tests.unit.stats import make

Hardstone = Callable[..., Done]
TEST = "KRN-P-PRE"
OFF = tuple(range(100_000, 1_100_000, 500))
ON = tuple(range(10_000, 110_000, 50))
DYNAMIC = {
    "kernel.preemption": "full (dynamic)",
    "kernel.preemption_model": "full",
    "kernel.preemption_choices": "none, voluntary, full, lazy",
    "kernel.preemption_is_dynamic": True,
}
BUILT_IN = {"kernel.preemption_choices": None, "kernel.preemption_is_dynamic": False}
FACTS = json.loads((sample.GOLDEN / "facts.json").read_text())


def stream(values: tuple[int, ...], **ending: Any) -> list[str]:
    """Of KRN-P-PRE, with one operation, and all of them."""
    lines = sample.stream(TEST, values=values, **ending)
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


def scenario(folder: Path, facts: dict[str, Any] = DYNAMIC, **changed: Any) -> str:
    """A machine with shorter sections under `full`; `off`: the steps under `none`."""
    folder.mkdir(exist_ok=True)
    off = changed.pop("off", stream(OFF))
    under = [
        {"test": TEST, "preemption": "none", "steps": off},
        {"test": TEST, "preemption": "full", "steps": stream(ON)},
    ]
    all_facts = FACTS | {"facts": FACTS["facts"] | facts}
    tests = {TEST: stream(ON), "SEM-P-SIG": sample.stream("SEM-P-SIG")}
    return f"fake:{sample.scenario(folder, tests, under=under, facts=all_facts, **changed)}"


@pytest.fixture
def compare(hardstone: Hardstone, tmp_path: Path) -> Callable[..., Done]:
    def run(target: str, *words: object) -> Done:
        tests = [word for word in words if str(word) in ("SEM-P-SIG",)] or [TEST]
        options = [word for word in words if word not in tests]
        store = ["--store", tmp_path / "store"]
        return hardstone(
            "run", *tests, "--compare-preemption", "--target", target, *store, *options
        )

    return run


def whole(done: Done) -> str:
    """The part of the output that is the table, its white space folded."""
    return " ".join(done.out[done.out.index("kernel preemption off") :].split())


def test_one_run_has_both_models_and_ends_with_the_table(
    compare: Callable[..., Done], tmp_path: Path
) -> None:
    done = compare(scenario(tmp_path))
    assert done.code == EXIT_OK, done.err
    assert "kernel preemption off (none) and on (full)" in whole(done)
    assert "HP 1987: HP-UX/RT" in whole(done) and "1127 ms 14.6 ms 77" in whole(done)
    assert "1.10 ms 110 us 10 1127 ms" in whole(done)
    assert "measured once" in whole(done)
    (entry,) = Store(tmp_path / "store").runs()
    document = Store(tmp_path / "store").load(entry.id)
    assert [one.conditions.preemption for one in document.results] == ["none", "full"]
    assert document.plan.preemption_models == ["none", "full"]
    assert "preemption none, full" in " ".join(done.out.split())


def test_show_has_the_table_again(
    compare: Callable[..., Done], hardstone: Hardstone, tmp_path: Path
) -> None:
    measured = compare(scenario(tmp_path))
    shown = hardstone("show", "last", "--all", "--store", tmp_path / "store")
    assert shown.code == EXIT_OK
    assert whole(measured) in " ".join(shown.out.split())
    assert "preemption none" in " ".join(shown.out.split())


def test_the_report_of_the_run_has_the_table(compare: Callable[..., Done], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert compare(scenario(tmp_path), "-o", page).code == EXIT_OK
    text = page.read_text()
    assert "off (none) and on (full)" in text
    assert "<td>1127 ms</td><td>14.6 ms</td><td>77</td>" in text


def test_json_is_the_run_and_a_dry_run_shows_both(
    compare: Callable[..., Done], tmp_path: Path
) -> None:
    target = scenario(tmp_path)
    planned = compare(target, "--dry-run")
    assert [line.split()[3] for line in planned.out.splitlines() if line.startswith(TEST)] == [
        "none",
        "full",
    ]
    plan = compare(target, "--dry-run", "--json").document
    assert [one["preemption"] for one in plan["tests"]] == ["none", "full"]
    assert not (tmp_path / "store").exists()
    document = compare(target, "--json").document
    assert [one["conditions"]["preemption"] for one in document["results"]] == ["none", "full"]
    assert document["plan"] == plan


def test_the_plan_names_the_command_that_makes_it_again(
    compare: Callable[..., Done], hardstone: Hardstone, tmp_path: Path
) -> None:
    plan = compare(scenario(tmp_path), "--dry-run", "--json").document
    again = hardstone(*plan["command"], "--dry-run", "--json")
    assert again.document == plan


def test_other_tests_stand_beside_themselves_without_a_table(
    compare: Callable[..., Done], tmp_path: Path
) -> None:
    done = compare(scenario(tmp_path), "SEM-P-SIG")
    assert done.code == EXIT_OK
    assert "kernel preemption off" not in done.out
    assert "preemption none" in done.out


def test_a_side_that_was_refused_is_said(compare: Callable[..., Done], tmp_path: Path) -> None:
    refused = stream((), status="denied", reason="preemption: the kernel is locked down")
    done = compare(scenario(tmp_path, off=refused))
    assert done.code == EXIT_PRIVILEGE
    assert "off: denied: preemption: the kernel is locked down" in whole(done)
    assert "110 us" in whole(done) and " 10 1127 ms" not in whole(done)


def test_somebody_switched_the_model_meanwhile(
    compare: Callable[..., Done], tmp_path: Path
) -> None:
    """The probe sees it at the end, and calls the test failed: there is no figure of that side."""
    moved = stream((), status="failed", reason="somebody switched the preemption model to lazy")
    done = compare(scenario(tmp_path, off=moved))
    assert done.code != EXIT_OK
    assert "off: failed: somebody switched the preemption model to lazy" in whole(done)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"kernel.preemption_choices": None, **{"kernel.preemption_is_dynamic": False}},
            "built in",
        ),
        ({"kernel.preemption_choices": None}, "cannot be seen"),
    ],
)
def test_a_kernel_that_cannot_be_switched_is_one_line_and_5(
    compare: Callable[..., Done], tmp_path: Path, facts: dict[str, Any], said: str
) -> None:
    done = compare(scenario(tmp_path, DYNAMIC | {"user.effective_id": 0} | facts))
    assert (done.code, done.out, len(done.told)) == (EXIT_PRIVILEGE, "", 1)
    assert said in done.err
    assert done.typed == ["hardstone run KRN-P-PRE --compare-preemption --target lab:debian"]
    assert not (tmp_path / "store").exists()


def test_a_kernel_without_none_says_what_off_is(
    compare: Callable[..., Done], tmp_path: Path
) -> None:
    done = compare(scenario(tmp_path, DYNAMIC | {"kernel.preemption_choices": "full, lazy"}))
    assert "the kernel has no model none: off is lazy" in done.err
    assert "kernel preemption off (lazy) and on (full)" in whole(done)


def test_several_targets_are_refused(hardstone: Hardstone, tmp_path: Path) -> None:
    target = ["--target", scenario(tmp_path)]
    done = hardstone("run", TEST, "--compare-preemption", *target, *target)
    assert (done.code, len(done.told), done.out) == (EXIT_USAGE, 1, "")


def test_evaluate_compares_too(hardstone: Hardstone, tmp_path: Path) -> None:
    target = ["--target", scenario(tmp_path), "--dry-run", "--json"]
    plan = hardstone("evaluate", "--compare-preemption", *target).document
    assert len(plan["tests"]) == 2 * len(sample.register().tests)


# ---- kernels of the lab ----


class Booted(LocalTransport):
    """A guest; the last word of its name is the model that it was booted with."""

    def __init__(self, name: str, probe: Path) -> None:
        super().__init__(probe)
        self.name = f"lab:{name}"


class Gone(Booted):
    def open(self, notices: Notices = SILENT) -> None:
        raise TargetError("no answer", "plug it in")


class Stopped(Booted):
    """Ctrl-C comes during the test."""

    def chunks(self, arguments: Any, limits: Any, stop: Stop, *rest: Any) -> Generator[bytes]:
        if arguments[0] == "run":
            stop.set()
        return super().chunks(arguments, limits, stop, *rest)


class Guest(ProbeTarget):
    """Says of its preemption what a kernel with these `choices` would."""

    def __init__(self, transport: Booted, choices: str) -> None:
        super().__init__(transport)
        self._choices = choices

    def facts(self) -> Facts:
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
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Boots:
    """Puts guests in place of the lab: the names of those that are booted."""

    def install(choices: str = "none, voluntary, full", **kinds: type[Booted]) -> list[str]:
        booted: list[str] = []

        def target(name: str) -> Guest:
            booted.append(name)
            model = name.rpartition("preempt=")[2].split(",")[0]
            folder = tmp_path / model
            folder.mkdir(exist_ok=True)
            probe = playing(folder, stream(ON if model == "full" else OFF))
            return Guest(kinds.get(model, Booted)(name, probe), choices)

        module = ModuleType("hardstone.targets.lab")
        module.lab_target = target  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
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
    boots(full=Gone)
    done = compare("lab:a")
    assert done.code == EXIT_UNREACHABLE
    assert len(Store(tmp_path / "store").runs()) == 1
    assert "kernel preemption off" not in done.out
    assert done.told[-1].startswith("hardstone: lab:a,preempt=full was not measured")


def test_ctrl_c_keeps_what_was_measured(
    compare: Callable[..., Done], boots: Boots, tmp_path: Path
) -> None:
    booted = boots(none=Stopped)
    done = compare("lab:a")
    assert done.code == EXIT_INTERRUPTED
    assert len(Store(tmp_path / "store").runs()) == 1
    assert not [name for name in booted if name == "a,preempt=full" and "2 of 2" in done.err]
    assert done.told[-1].endswith("was not measured: the command was interrupted")


def test_json_of_two_boots_has_both_runs(compare: Callable[..., Done], boots: Boots) -> None:
    boots()
    document = compare("lab:a", "--json").document
    assert [run["plan"]["target"] for run in document["runs"]] == [
        "lab:a,preempt=none",
        "lab:a,preempt=full",
    ]
    plans = compare("lab:a", "--json", "--dry-run").document["plans"]
    assert [plan["target"] for plan in plans] == [run["plan"]["target"] for run in document["runs"]]
