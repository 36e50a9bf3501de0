"""`single` takes the other CPUs offline, and brings all of them back, however it ends. Refusals and
journals one by one: probe/tests/test_shield_offline.c."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import machine
from tests.host.odd import Odd
from tests.host.odd_keeper import Keeper
from tests.host.shielding import (
    GIVE_UP_S,
    JOURNAL,
    RESERVED,
    SHIELD_MARKS,
    Shield,
    State,
    all_is_back,
    journal_lines,
    kill_both,
    wait_for_moment,
)
from tests.running import Stream, command, run
from tests.waiting import wait_until

STAYS = min(os.sched_getaffinity(0))
OTHERS = sorted(os.sched_getaffinity(0) - {STAYS})
HEAD_LINES = 5  # of a journal, before its first change
SINGLE = ("--cpu-config", "single", "--cpu", str(STAYS))
FEW = ("SEM-P-SIG", "--samples", "200")


def online(cpu: int) -> Path:
    return Path(f"/sys/devices/system/cpu/cpu{cpu}/online")


pytestmark = [
    *SHIELD_MARKS,
    pytest.mark.skipif(
        not all(os.access(online(cpu), os.W_OK) for cpu in OTHERS),
        reason="not every other CPU can be taken offline here",
    ),
    pytest.mark.usefixtures("come_back"),
]


@pytest.fixture
def come_back() -> Iterator[None]:
    """Also where a test fails, or is killed."""
    keeper = Keeper()
    with ExitStack() as stack:
        stack.callback(keeper.dismiss)
        for cpu in OTHERS:
            stack.enter_context(keeper.undoing("write", str(online(cpu)), "1"))
            stack.callback(online(cpu).write_text, "1")
        yield


def are_online() -> set[int]:
    return {STAYS} | {cpu for cpu in OTHERS if online(cpu).read_text().strip() == "1"}


@contextmanager
def measuring(probe: Path) -> Iterator[Shield]:
    """A run that measures while the other CPUs are offline."""
    words = command(probe, "TMR-P-LAT", ["--samples", "1000000", *SINGLE])
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            wait_until(lambda: are_online() == {STAYS}, "the other CPUs stay online")
            machine.wait_for_wakeups(process.pid, 20)
            yield process
        finally:
            process.kill()


def settings(stream: Stream) -> list[str]:
    assert stream.result.status == "measured", stream.result
    assert stream.result.conditions is not None
    return stream.result.conditions.settings


def test_the_others_go_offline_and_all_comes_back(probe: Path, odd: Odd, before: State) -> None:
    assert odd.pinned and odd.grouped
    with measuring(probe) as process:
        process.terminate()
        out, _ = process.communicate(timeout=GIVE_UP_S)
    stream = Stream("TMR-P-LAT", process.returncode, out)
    assert settings(stream) == ["offline"]
    assert "offline" in stream.events and "not_put_back" not in stream.events
    all_is_back(before)


MOMENTS: dict[str, Callable[[], bool]] = {
    "at its start": lambda: True,
    "an empty journal": lambda: journal_lines() >= 0,
    "a journal, and no change": lambda: journal_lines() > HEAD_LINES,
    "offline": lambda: are_online() == {STAYS},
}


def test_killed_at_any_moment(probe: Path, quick: list[str], before: State) -> None:
    """Its guard brings them back. Killed before there is one it leaves an empty journal, which the
    next one removes."""
    words = [str(probe), "run", "TMR-P-LAT", "--json", "--samples", "1000000", *quick]
    for has_come in MOMENTS.values():
        with subprocess.Popen([*words, "--cpu-config", "single"], stdout=subprocess.DEVNULL) as run:
            wait_for_moment(run, has_come)
            run.kill()
        wait_until(lambda: journal_lines() <= 0, "things were not put back")
        subprocess.run([probe, "shield", "--restore"], check=True, capture_output=True)
        all_is_back(before)


def test_killed_with_its_guard(probe: Path, before: State) -> None:
    """Whoever runs next is told; what it then restores, and when: probe/tests/test_single.c."""
    with measuring(probe) as process:
        kill_both(process)
    assert are_online() == {STAYS}
    told = run(probe, *FEW, "--cpu-config", "shared")
    assert told.events["not_put_back"].data["command"] == "hardstone shield --restore"
    stream = run(probe, *FEW, "--cpu-config", "single")
    assert stream.result.status == "measured"
    assert "restored_before" in stream.events
    all_is_back(before)


def test_a_cpu_that_was_offline_before_stays_so(probe: Path) -> None:
    """The only ones that are left are the measuring CPU, and those that are taken offline."""
    online(RESERVED).write_text("0")
    assert settings(run(probe, *FEW, *SINGLE)) == ["offline"]
    assert are_online() == {STAYS, *OTHERS} - {RESERVED}
    assert not JOURNAL.exists()


@pytest.mark.skipif(online(STAYS).exists(), reason="every CPU can be taken offline here")
def test_a_cpu_that_cannot_go_offline_is_said(probe: Path) -> None:
    stream = run(probe, *FEW, "--cpu-config", "single", "--cpu", str(RESERVED))
    assert settings(stream) == []
    text = stream.events["not_offline"].text
    assert f"CPU {STAYS}: the kernel cannot take it offline" in text
    assert f"run on CPU {RESERVED} only" in text
