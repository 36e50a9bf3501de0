"""Commands that are killed at moments that cover their whole life: nothing that was recorded is
lost, nothing is left, the machine's settings are as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.kernels import find_kernel
from hardstone.lab.lab_folder import lab_folder
from hardstone.lab.qemu import emulator
from hardstone.model import RunDocument
from hardstone.stats.identity import series_problem
from hardstone.store.store import Store
from tests import machine
from tests.conftest import ROOT
from tests.host.place import Place, dumped
from tests.host.shielding import JOURNAL, RESERVED, SHIELD_MARKS, State, assert_same
from tests.waiting import soon, wait_until

pytestmark = [*SHIELD_MARKS, machine.needs(machine.no_realtime())]

KERNELS = lab_folder()  # read before each test gets a home of its own
GIVE_UP_S = 120
SIZES = ("--threads", "1", "--masses", "400", "-D", "100ms", "--frames", "0", "--no-fast")
STORING = {
    "run": ("run", "SEM-P-RTP", "TMR-P-LAT", "MSG-P-THR", "-D", "300ms"),
    "latstat": ("latstat", "-D", "1s"),
    "single": ("run", "TMR-P-LAT", "-D", "300ms", "--cpu-config", "single"),
    "simulate": ("simulate", "realtime", *SIZES),
    "lab": ("run", "TMR-P-LAT", "SEM-P-RTP", "-D", "1s", "--target", "lab:debian"),
}
OTHERS = {
    "shield": ("shield", "--cpu", str(RESERVED), "--", "sleep", "0.5"),
    "load": ("load", "heavy", "-D", "1s"),
}


class Killed:
    """A command, each time in a process group of its own."""

    def __init__(self, name: str, probe: Path, place: Place, folder: Path) -> None:
        self._probe, self._place = probe, place
        self.is_storing = name in STORING
        self.store, self.memory = folder / "store", folder / "memory"
        self.memory.mkdir()
        self._said = folder / "said"
        words = (*STORING[name], "--store", str(self.store)) if self.is_storing else OTHERS[name]
        self._words = [*place.prefix, sys.executable, "-m", "hardstone", *words]
        names = {
            "HARDSTONE_PROBE": str(probe),
            "HARDSTONE_MEMORY_DIR": str(self.memory),
            "HARDSTONE_LAB_DIR": str(KERNELS),
            "PYTHONPATH": f"{ROOT}/src",
        }
        self._env = {**place.marked.environment, **names}

    def start(self) -> subprocess.Popen[bytes]:
        with self._said.open("wb") as said:
            return subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self._env,
                start_new_session=True,
            )

    def whole_s(self) -> float:
        """How long it takes when nobody kills it."""
        begin_s = time.monotonic()
        process = self.start()
        try:
            # 3: too busy to be trusted
            assert process.wait(GIVE_UP_S) in (0, 3), self._said.read_text()
        finally:
            process.kill()
        return time.monotonic() - begin_s

    def killed_after(self, delay_s: float, *, is_whole_group: bool) -> int:
        """How many values its recordings had just before."""
        process = self.start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay_s)
        count = sum(self._count_in(path) for path in self.memory.glob("*/*.rec"))
        with suppress(ProcessLookupError):
            if is_whole_group:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        return count

    def _count_in(self, recording: Path) -> int:
        with suppress(ValueError):  # one that has gone meanwhile, or has no test yet
            return dumped(self._probe, recording, "").sample_count
        return 0

    def recovered(self) -> list[RunDocument]:
        """What the next command finds of those that were killed, and of all others."""
        words = [*self._place.prefix, sys.executable, "-m", "hardstone", "runs", "--store"]
        done = subprocess.run(
            [*words, str(self.store)], env=self._env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        store = Store(self.store)
        return [store.load(entry.id) for entry in store.runs()]


@pytest.fixture
def killed(
    request: pytest.FixtureRequest,
    probe: Path,
    place: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Killed:
    if request.param == "lab":
        monkeypatch.setenv("HARDSTONE_LAB_DIR", str(KERNELS))
        try:
            find_kernel("debian")
            emulator("x86_64")
        except HardstoneError as error:
            pytest.skip(str(error))
    return Killed(request.param, probe, place, tmp_path)


@pytest.mark.parametrize("killed", [*STORING, *OTHERS], indirect=True)
def test_nothing_is_lost_and_nothing_is_left(
    killed: Killed, place: Place, before: State, request: pytest.FixtureRequest
) -> None:
    kill_count = request.config.getoption("--kills")
    whole_s = killed.whole_s()
    stored = {run.id: value_count(run) for run in killed.recovered()}
    has_recorded = False
    for number in range(kill_count):
        delay_s = whole_s * (number + 0.5) / kill_count
        count = killed.killed_after(delay_s, is_whole_group=number % 2 == 1)
        has_recorded = has_recorded or count > 0
        assert soon(lambda: not place.left(), GIVE_UP_S), (number, place.left())
        wait_until(lambda: not JOURNAL.exists(), "the shield's journal is still there")
        assert_same(before)
        runs = {run.id: run for run in killed.recovered()}
        assert {name: value_count(runs[name]) for name in stored} == stored, number
        found = [run for name, run in runs.items() if name not in stored]
        assert sum(map(value_count, found)) >= count, (number, count)
        for run in found:
            broken = [series_problem(one) for result in run.results for one in result.series]
            assert not any(broken), (number, broken)
        assert soon(lambda: not list(killed.memory.iterdir())), list(killed.memory.iterdir())
        stored = {name: value_count(run) for name, run in runs.items()}
    assert has_recorded == killed.is_storing


def value_count(run: RunDocument) -> int:
    return sum(series.count for result in run.results for series in result.series)
