"""What each command prints over fixed stores and targets: the transcripts in `golden`.

A line "$ hardstone ..." is a command, in a folder that `world` fills. Below it are standard output,
standard error after "! ", and the exit code in brackets unless it is 0. For a new one write its
command; `pytest --write-golden` on this file runs all of them and writes what they print: look at
the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.cli.main import COMMANDS
from hardstone.model import RunDocument, Verdict
from hardstone.posix.analysis import TEST
from hardstone.store.documents import write_document
from hardstone.store.place import Place
from hardstone.store.store import Store
from tests import sweeps
from tests.process.cli.conftest import Done, Hardstone, facts_with
from tests.process.cli.recordings import BOOT, lines
from tests.process.cli.test_latstat import SUS, period, search_lines, step
from tests.process.cli.test_load import CPU, FOOTER, HEADER, RUNS, SEARCH
from tests.process.cli.test_posix import inventory, register
from tests.process.cli.test_several_targets import BUILT_IN, DYNAMIC, preemption
from tests.process.targets import sample
from tests.unit.comparison.compared import made_run
from tests.unit.doctor.machine import machine as fit
from tests.unit.posix import inventories
from tests.unit.simulation.tires import real_time
from tests.unit.stats import make
from tests.unit.study.made_runs import ring
from tests.unit.systems.rated_runs import (
    conditions,
    full_run,
    labelled,
    planned,
    result_of,
    results,
)

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = Path(__file__).parents[2] / "samples"
FILE_TIME = 1_795_000_000
LOADED = ("TMR-P-JIT", "CLK-P-BIN")
QUICK, SLOW = tuple(range(1000, 3000)), tuple(range(2000, 6000, 2))


def run_id(number: int) -> str:
    return f"202611{10 + number}T032200Z-{number:06x}"


def stored_runs() -> list[RunDocument]:
    """The runs of the store, oldest first: each has a name of its own."""
    rated = full_run(name="rated", run_id=run_id(1))
    result_of(rated, "THR-P-SLS").series[0] = labelled("switch", {"threads": "2"}, 1000, 300_000)
    gaps = full_run(
        name="gaps",
        run_id=run_id(2),
        results=[one for one in results() if one.test != "MSG-P-LAT"],
        system={"virtual.hypervisor": "KVM", "virtual.emulated": False},
    )
    result_of(gaps, "SEM-B-REL").verdicts += [
        Verdict(name=f"mixed/{kind}", passed=False, evidence="-") for kind in ("sysv", "futex")
    ]
    wrong = make.result(duration_ns=-5)
    wrong.series[0].min = 9
    counted = make.result("SEM-P-SIG")
    counted.series[0].count = 7
    quick = make.result("SEM-P-SIG", QUICK, conditions=conditions("none"))
    return [
        rated,
        gaps,
        full_run(
            name="loads",
            run_id=run_id(3),
            results=[*results(where=conditions("none")), *results(where=conditions("heavy"))],
            plan=planned(["none", "heavy"], ["shared"]),
        ),
        make.document(name="wrong", run_id=run_id(4), results=[wrong, counted]),
        make.document(name="quick", run_id=run_id(5), results=[quick]),
        make.document(
            name="posix",
            run_id=run_id(6),
            results=[inventories.result(inventories.events(inventories.ODD))],
        ),
        *(
            make.document(
                name=f"sweep {number}",
                run_id=run_id(6 + number),
                results=[real_time(n, missed=n // 800) for n in (400, 800, 1200, 1600)],
            )
            for number in (1, 2)
        ),
        *(
            msgspec.structs.replace(
                made_run(number).document, id=run_id(8 + number), name=f"board {number}"
            )
            for number in (1, 2)
        ),
        make.document(
            name="study",
            run_id=run_id(11),
            results=[ring(load=load) for load in ("none", "heavy")],
        ),
    ]


def targets() -> dict[str, tuple[dict[str, list[Any]], dict[str, Any]]]:
    """What each made-up target plays, and what else is odd of it."""
    signal, latency = sample.stream("SEM-P-SIG"), sample.stream("TMR-P-LAT")
    battery = {test.id: [*sample.stream(test.id)] for test in sample.register().tests}
    refused = {"status": "denied", "reason": "no right"}
    not_restored = [{"name": "not_put_back", "text": "/proc/irq/7/smp_affinity: Invalid argument"}]
    tick = {"element": "cpu", "degree": "10ms/100ms", "asked": 0.1, "reached": 0.05}
    short = {
        "load": "heavy",
        "reached": [{**tick, "unit": "share", "processes": 2}],
        "events": [{"name": "load_short", "text": "cpu: 10 % asked, 5 % reached"}, *not_restored],
    }
    hurt = fit(
        limits__can_lock=False,
        limits__memlock_bytes=65536,
        kernel__preemption_model="none",
        kernel__preemption_is_dynamic=True,
        kernel__release="6.18.44",
        cpu__smt=True,
        power__governors="powersave",
    )
    booted = facts_with({"os.boot_id": BOOT})
    return {
        "machine": (battery, {}),
        "slow": ({"SEM-P-SIG": sample.stream("SEM-P-SIG", values=SLOW)}, {}),
        "emulated": ({"SEM-P-SIG": signal}, {"facts": facts_with({"virtual.emulated": True})}),
        "denied": ({"SEM-P-SIG": sample.stream("SEM-P-SIG", **refused)}, {}),
        "gone": ({"SEM-P-SIG": [{"vanish": True}], "TMR-P-LAT": latency}, {}),
        "garbled": ({"SEM-P-SIG": ["garbage"]}, {}),
        "ordinary": (
            {"SEM-P-SIG": sample.stream("SEM-P-SIG", realtime=False, policy="other", priority=0)},
            {},
        ),
        "loaded": ({name: sample.stream(name) for name in LOADED}, {"under": [short]}),
        "fit": ({"SEM-P-SIG": signal}, {"facts": facts_with({}) | {"facts": fit()}}),
        "hurt": ({"SEM-P-SIG": signal}, {"facts": facts_with({}) | {"facts": hurt}}),
        "root": ({}, {"facts": facts_with({}) | {"facts": fit(user__effective_id=0)}}),
        "silent": ({}, {"facts": facts_with({}) | {"facts": {}}}),
        "posix": ({TEST: inventory()}, {"register": register()}),
        "preemption": preemption(),
        "lazy": preemption(DYNAMIC | {"kernel.preemption_choices": "full, lazy"}),
        "built-in": preemption(DYNAMIC | BUILT_IN),
        "no-choice": preemption(DYNAMIC | {"kernel.preemption_choices": None}),
        "recorded": ({"TMR-P-LAT": lines(seconds=600)}, {}),
        "cut": ({"TMR-P-LAT": lines(is_cut=True)}, {"facts": booted}),
        "search": (
            {SUS: search_lines(step(1000), period("timer", 7000), begin_s=100, is_cut=True)},
            {"facts": booted},
        ),
        "crossed": (
            {"TMR-P-LAT": lines(crossed_ns=2500, status="failed", reason="threshold crossed")},
            {},
        ),
    }


LOAD = (HEADER, RUNS, CPU, SEARCH, FOOTER)
LIMIT = """[[limit]]
address = "SEM-P-SIG/total/wakeup"
"""
FILES = {
    "passes.toml": LIMIT + 'statistic = "max"\nat_most = "3us"\n',
    "open.toml": LIMIT + 'statistic = "p99.9"\nat_most = "3us"\n',
    "fails.toml": LIMIT + 'statistic = "min"\nat_least = "2us"\n',
    "broken.toml": LIMIT + 'statistic = "max"\nat_most = "3us"\n' + LIMIT * 2,
}


def build(folder: Path) -> None:
    """Fills the folder in which the transcripts are made."""
    store = folder / "data" / "hardstone"
    for place in (store, folder / "empty"):
        (place / "runs").mkdir(parents=True)
    for document in stored_runs():
        write_document(Place(store), document)
    for name, (tests, changed) in targets().items():
        sample.scenario(folder, tests, **changed).rename(folder / f"{name}.json")
    sweeps.scenario(folder, 900)
    (folder / "scenario.json").rename(folder / "sweep.json")
    broken = {"test": "SIM-S-RT", "params": {"masses": "400"}, "steps": [{"exit": 70}]}
    sweeps.scenario(folder, 900, [broken])
    (folder / "scenario.json").rename(folder / "broken.json")
    for name, text in FILES.items():
        (folder / name).write_text(f'schema = "hardstone.limits/1"\n{text}')
    for name in ("cyclictest-hist.json", "cyclictest-q.stdout", "cyclictest-norights.stderr"):
        shutil.copyfile(SAMPLES / name, folder / name)
    os.utime(folder / "cyclictest-q.stdout", (FILE_TIME, FILE_TIME))
    (folder / "bin").mkdir()
    (folder / "bin" / "hardstone").write_text("")
    said = (sample.GOLDEN / "loads.json").read_text(), *map(json.dumps, LOAD)
    body = "if '--check' in sys.argv: sys.exit(0)\n"
    body += f"said = {said!r}\nlines(*(said[:1] if '--list' in sys.argv else said[1:]))\n"
    sample.executable(folder / "bin", body)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    build(folder)
    return folder


@pytest.fixture
def world(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder, on a machine, at a time and for a person that are always the same."""
    folder = tmp_path / "world"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    programs = folder / "bin"
    monkeypatch.setenv("HARDSTONE_PROBE", str(programs / "hardstone-probe"))
    places = {"PWD": folder, "XDG_DATA_HOME": folder / "data", "HARDSTONE_MEMORY_DIR": folder}
    for name, value in {**places, "COLUMNS": 80}.items():
        monkeypatch.setenv(name, str(value))
    for name in ("HARDSTONE_DEBUG", "GITHUB_STEP_SUMMARY", "MAKEFLAGS"):
        monkeypatch.delenv(name, raising=False)
    which = shutil.which
    named = {name: str(programs / name) for name in ("hardstone", "sudo", "setcap")}
    monkeypatch.setattr("sys.argv", [named["hardstone"]])
    monkeypatch.setattr(
        shutil, "which", lambda name, *how, **more: named.get(name) or which(name, *how, **more)
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    numbers = count(1)  # else runs of one second are in no order
    monkeypatch.setattr("secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    return folder


class Transcript:
    """Writes down what commands print. Each run that they store has its own ID and time: those of
    the first that is printed are written as 20270101T000000Z-000001, and so on."""

    def __init__(self, world: Path) -> None:
        self._runs = world / "data" / "hardstone" / "runs"
        self._known = self._ids()
        self._fixed = {str(world): "/world"}
        self._count = 0

    def _ids(self) -> set[str]:
        return {path.name.partition(".")[0] for path in self._runs.glob("*.json.gz")}

    def printed(self, done: Done) -> str:
        lines = [line.rstrip() for line in done.out.splitlines()]
        lines += [f"! {line}" for line in done.err.splitlines()]
        text = "".join(f"{line}\n" for line in [*lines, *([f"[{done.code}]"] if done.code else [])])
        new = {one for one in self._ids() - self._known if one in text}
        for run in sorted(new, key=text.index):
            self._count += 1
            self._fixed[run] = f"20270101T000000Z-{self._count:06x}"
            started = Store().load(run).started_utc.translate({ord("T"): " ", ord("Z"): " UTC"})
            self._fixed[started] = "2027-01-01 00:00:00 UTC"
        self._known |= new
        for own, fixed in self._fixed.items():
            text = text.replace(own, fixed)
        return text


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_they_did(
    hardstone: Hardstone, world: Path, path: Path, request: pytest.FixtureRequest
) -> None:
    text = path.read_text("utf-8")
    commands = [line for line in text.splitlines() if line.startswith("$ hardstone")]
    transcript = Transcript(world)
    found = "\n".join(
        f"{line}\n{transcript.printed(hardstone(*shlex.split(line)[2:]))}" for line in commands
    )
    if request.config.getoption("--write-golden"):
        path.write_text(found, "utf-8")
    else:
        assert found == text


def test_each_command_has_a_transcript() -> None:
    texts = [path.read_text("utf-8") for path in GOLDEN.glob("*.txt")]
    tried = {shlex.split(line)[2] for line in "\n".join(texts).splitlines() if line[:1] == "$"}
    assert set(COMMANDS) <= tried
