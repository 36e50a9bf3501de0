"""Whatever is killed: nothing of a load stays, no process, no file, no socket."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.host.loads import Marked, elements, events, load_command, loading
from tests.running import children
from tests.waiting import wait_until

LOAD = "cpu+disk+network+build+kernel+storm=1"
OTHERS = {"cpu", "disk", "network", "build", "kernel", "storm"}
ONE_CPU = ("--cpus", str(min(os.sched_getaffinity(0))))


def loopback_sockets(pids: dict[int, str]) -> set[str]:
    """Inodes of the sockets of these processes."""
    found = set()
    for pid in pids:
        try:
            links = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        found |= {link for link in links if link.startswith("socket:")}
    return {link.removeprefix("socket:[").removesuffix("]") for link in found}


def tcp_lines() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]


def ports_of(inodes: set[str]) -> set[str]:
    return {fields[1] for fields in tcp_lines() if fields[9] in inodes}


@pytest.mark.parametrize("victim", ["probe", "hs-load-guard", "hs-load-keeper"])
def test_a_kill_of_those_above_ends_everything(probe: Path, tmp_path: Path, victim: str) -> None:
    with loading(probe, LOAD, tmp_path, *ONE_CPU) as running:
        before = running.marked.all()
        ports = ports_of(loopback_sockets(before))
        assert len(ports) == 2
        assert any(tmp_path.iterdir())  # the folder of the element kernel
        running.kill(victim)
        others = set() if victim == "probe" else {running.process.pid}
        wait_until(lambda: set(running.marked.all()) <= others)
        wait_until(lambda: list(tmp_path.iterdir()) == [])
        assert {fields[1] for fields in tcp_lines()} & ports == set()
        if victim == "probe":
            return
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.stdin = None
        told = events(running.end())
    assert "the whole load ended" in told["load_ended_early"]
    assert "load_short" in told


@pytest.mark.parametrize("victim", ["probe", "hs-load-guard", "hs-load-keeper"])
def test_many_jobs_go_too(probe: Path, tmp_path: Path, victim: str) -> None:
    """Each of them waits for a CPU, and so do those that end them. No storm: beside others such
    processes would not come to work at all."""
    with loading(probe, "build=120", tmp_path) as running:
        wait_until(lambda: len(running.marked.all()) > 70)
        running.kill(victim)
        others = set() if victim == "probe" else {running.process.pid}
        wait_until(lambda: set(running.marked.all()) <= others)
    assert list(tmp_path.iterdir()) == []


def test_jobs_go_with_the_process_that_started_them(probe: Path, tmp_path: Path) -> None:
    with loading(probe, "build=64", tmp_path, *ONE_CPU) as running:
        maker = running.own("hs-load-build")[0]
        jobs = set(wait_until(lambda: children(maker)))
        os.kill(maker, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in {maker, *jobs}))
        told = events(running.stop())
    assert told["load_ended_early"].startswith("build: 1 of 32 processes")


@pytest.mark.parametrize("victim", ["probe", "hs-load-guard", "hs-load-keeper", "head"])
def test_groups_of_messages_go_too(probe: Path, tmp_path: Path, victim: str) -> None:
    """Most of their processes wait for another one."""
    with loading(probe, "messages=2", tmp_path) as running:
        wait_until(lambda: len(running.marked.all()) > 80)
        head = running.own("hs-load-message")[0]
        members = children(head)
        if victim == "head":
            os.kill(head, signal.SIGKILL)
            wait_until(lambda: not members & set(running.marked.all()))
            told = events(running.stop())
            assert told["load_ended_early"].startswith("messages: 1 of 2 processes")
            return
        running.kill(victim)
        others = set() if victim == "probe" else {running.process.pid}
        wait_until(lambda: set(running.marked.all()) <= others)


@pytest.mark.parametrize("element", ["cpu", "disk", "network", "build", "kernel", "storm"])
def test_a_kill_of_a_loader_leaves_the_others(probe: Path, tmp_path: Path, element: str) -> None:
    """Of the storm, which is idle, without jobs, which leave it no time to end."""
    load = LOAD.replace("+build", "") if element == "storm" else LOAD
    others = OTHERS - {element, "build"} if element == "storm" else OTHERS - {element}
    with loading(probe, load, tmp_path, *ONE_CPU) as running:
        pid = running.kill(f"hs-load-{element}")
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        left = set(running.marked.all().values())
        assert {"hs-load-guard", "hs-load-keeper"} <= left
        assert {f"hs-load-{name}" for name in others} <= left
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.stdin = None
        lines = running.end()
    told = events(lines)["load_ended_early"]
    assert told.startswith(f"{element}: 1 of ")
    assert "signal 9" in told
    assert set(elements(lines)) == others | {element}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
@pytest.mark.parametrize("victim", ["probe", "hs-load-guard", "hs-load-keeper", "stress-ng"])
def test_the_processes_of_stress_ng_go_too(probe: Path, tmp_path: Path, victim: str) -> None:
    load = "stress-ng:--cpu 2 --hdd 1 --hdd-bytes 4M"
    with loading(probe, load, tmp_path, *ONE_CPU) as running:
        names = running.marked.all
        wait_until(lambda: sum(name.startswith("stress-ng") for name in names().values()) >= 4)
        running.kill(victim)
        wait_until(lambda: not any(name.startswith("stress-ng") for name in names().values()))
        running.process.kill()
        running.marked.wait_for_none()
        wait_until(lambda: list(tmp_path.iterdir()) == [])


@pytest.fixture
def apart() -> Iterator[list[str]]:
    """Words before a command: System V objects and /dev/shm of its own, gone with the test."""
    if os.geteuid() != 0 or shutil.which("nsenter") is None or shutil.which("unshare") is None:
        pytest.skip("only root can set this apart, with unshare and nsenter")
    script = "mount -t tmpfs hardstone-test /dev/shm && echo made && exec sleep 300"
    with subprocess.Popen(
        ["unshare", "--ipc", "--mount", "sh", "-c", script], stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != b"made\n":
                pytest.skip("no name spaces can be made here")
            yield ["nsenter", "--ipc", "--mount", f"--target={holder.pid}"]
        finally:
            holder.kill()


def objects(apart: list[str]) -> list[str]:
    """Segments, semaphores and files in memory that are there: one line each."""
    script = "tail -qn +2 /proc/sysvipc/shm /proc/sysvipc/sem; ls -A /dev/shm"
    words = [*apart, "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
@pytest.mark.parametrize("victim", ["probe", "hs-load-guard", "hs-load-keeper"])
def test_what_stress_ng_makes_elsewhere_goes_too(
    probe: Path, tmp_path: Path, apart: list[str], victim: str
) -> None:
    """Only that program knows of it, so it must have time to end by itself."""
    load = "stress-ng:--shm-sysv 1 --shm 1 --sem-sysv 1"

    before = set(objects(apart))
    with loading(probe, load, tmp_path, *ONE_CPU, prefix=apart) as running:
        wait_until(lambda: len(set(objects(apart)) - before) > 3)
        running.kill(victim)
        others = set() if victim == "probe" else {running.process.pid}
        wait_until(lambda: set(running.marked.all()) <= others)
        assert set(objects(apart)) <= before


STRAY = """#!/bin/sh
setsid sh -c 'trap "" TERM HUP; for i in $(seq 200); do sleep 1; done' &
while :; do sleep 1; done
"""


@pytest.mark.parametrize("victim", ["probe", "hs-load-guard", "hs-load-keeper", "stress-ng"])
def test_those_that_nothing_ties_go_too(
    probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    """A program of that name whose child is in a session of its own and dies with nobody."""
    program = tmp_path / "stress-ng"
    program.write_text(STRAY)
    program.chmod(0o755)
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with loading(probe, "stress-ng:--stray", folder, *ONE_CPU) as running:
        wait_until(lambda: "sh" in running.marked.all().values())
        running.kill(victim)
        others = {"hs-load-guard", "hs-load-keeper", "hardstone-probe"}
        wait_until(lambda: set(running.marked.all().values()) <= others)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_report(
    probe: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with loading(probe, "cpu+kernel", tmp_path, *ONE_CPU) as running:
        running.process.send_signal(number)
        lines = running.end()
    assert set(elements(lines)) == {"cpu", "kernel"}
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_keeper_does_not_keep_it(probe: Path, tmp_path: Path) -> None:
    """SIGSTOP instead of SIGKILL: the loaders see the end themselves, for the rest there is
    the guard's patience; it need not be waited for here."""
    with loading(probe, "cpu", tmp_path, *ONE_CPU) as running:
        keeper = running.marked.wait_for("hs-load-keeper")
        os.kill(keeper, signal.SIGSTOP)
        running.process.kill()
        wait_until(lambda: running.marked.named("hs-load-cpu") == [])
        with suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGCONT)
        running.marked.wait_for_none()


def test_a_kill_of_the_toolkit_ends_it(probe: Path, tmp_path: Path, root: Path) -> None:
    marked = Marked()
    environment = {
        **marked.environment(tmp_path),
        "PYTHONPATH": str(root / "src"),
        "HARDSTONE_PROBE": str(probe),
    }
    with subprocess.Popen(
        [
            *(sys.executable, "-c", "from hardstone.cli.main import main; main()"),
            *("load", "cpu+kernel", "--json"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        marked.wait_for("hs-load-kernel")
        process.kill()
        process.communicate()
    marked.wait_for_none()
    wait_until(lambda: list(tmp_path.iterdir()) == [])


# What is there when each step of the start has been made.
STEPS = ["", "hs-load-guard", "hs-load-keeper", "hs-load-kernel"]


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_while_it_starts(probe: Path, tmp_path: Path, step: str) -> None:
    """At each step, by what is there, however long a busy machine takes to come to it."""
    marked = Marked()
    with subprocess.Popen(
        load_command(probe, "kernel+build=60", *ONE_CPU),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=marked.environment(tmp_path),
    ) as process:
        if step:
            marked.wait_for(step)
        process.kill()
    marked.wait_for_none()
    wait_until(lambda: list(tmp_path.iterdir()) == [])
