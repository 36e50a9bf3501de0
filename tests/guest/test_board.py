"""A board that an arm64 guest plays: measured over SSH from end to end, rebooted in the middle of a
run, and with nothing of a run left on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from bench.board_guest import ARCH, Board
from hardstone.errors import EXIT_OK, EXIT_UNREACHABLE, EXIT_UNTRUSTWORTHY, HardstoneError
from hardstone.lab.lab_folder import lab_folder
from hardstone.model import RunDocument
from hardstone.targets.build import probe_for
from tests.waiting import wait_until

pytestmark = pytest.mark.wall_clock

# Folders that a run may write into, and the programs that run; the kernel's threads have none.
LISTED = (
    "find /dev/shm /run /tmp ~ /dev/mqueue /var | sort; "
    "for one in /proc/[0-9]*/exe; do readlink $one; done | sort -u"
)
LOCK = "/run/lock/hardstone-measuring.lock"  # that of all runs; it stays


@pytest.fixture(scope="module")
def lab() -> Path:
    """Of the person who runs the tests: no test has its own home yet. It has kernel and probe."""
    return lab_folder()


@pytest.fixture(scope="module")
def board() -> Iterator[Board]:
    try:
        probe_for(ARCH)
        one = Board()
    except HardstoneError as error:
        pytest.skip(f"no board can be had here: {error}")
    with one:
        yield one


@pytest.fixture
def calls(board: Board, lab: Path, tmp_path: Path) -> Mapping[str, str]:
    """The environment of a command whose ssh knows the board and its key."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F "{board.ssh_config}" "$@"\n')
    ssh.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{ssh.parent}:{os.environ['PATH']}",
        "HARDSTONE_LAB_DIR": str(lab),
    }


def hardstone(calls: Mapping[str, str], *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "hardstone", *words],
        env=calls,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def seen(board: Board) -> list[str]:
    """What is on the board but for its way in."""
    said = subprocess.run(board.ssh(LISTED), capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if line != LOCK and "dropbear" not in line]


def test_a_board_of_another_architecture_is_measured_and_left_as_it_was(
    board: Board, calls: Mapping[str, str]
) -> None:
    before = seen(board)
    command = hardstone(calls, "run", "TMR-P-LAT", "--samples", "200", "--target", board.url)
    _, said = command.communicate()
    assert command.returncode in (EXIT_OK, EXIT_UNTRUSTWORTHY), said.decode()
    shown, _ = hardstone(calls, "show", "last", "--json").communicate()
    document = msgspec.json.decode(shown, type=RunDocument)
    facts = document.system
    assert facts["machine.arch"] == ARCH
    assert facts["machine.cpu_model"] == "Cortex-A57"
    assert facts["os.name"] == "Board of the lab (busybox)"
    assert facts["virtual.emulated"] is True
    assert (document.tool.libc or "").startswith(("musl", "glibc "))
    [result] = document.results
    assert (result.test, result.status) == ("TMR-P-LAT", "measured")
    assert seen(board) == before


def test_a_board_whose_time_of_day_is_set_back_in_a_run(
    board: Board, calls: Mapping[str, str]
) -> None:
    """The probe, its keeper and the toolkit measure with clocks that nobody sets."""
    before = seen(board)
    year = "date +%Y"
    command = hardstone(calls, "run", "TMR-P-LAT", "-D", "10s", "--target", board.url)
    wait_until(lambda: any(line.endswith(".begun") for line in seen(board)))
    subprocess.run(board.ssh("date -s 2020-01-01"), check=True, stdout=subprocess.DEVNULL)
    _, said = command.communicate()
    now = subprocess.run(board.ssh(year), capture_output=True, text=True, check=True).stdout
    assert now.strip() == "2020"  # nobody has set it again
    assert command.returncode in (EXIT_OK, EXIT_UNTRUSTWORTHY), said.decode()
    shown, _ = hardstone(calls, "show", "last", "--json").communicate()
    document = msgspec.json.decode(shown, type=RunDocument)
    [result] = document.results
    assert (document.status, result.status) == ("complete", "measured")
    assert 9_000_000_000 < result.duration_ns < 30_000_000_000
    check = document.clock_check
    assert check is not None and abs(check.target_ns - check.host_ns) < 5_000_000_000
    assert seen(board) == before


def test_a_board_that_boots_again_in_a_run_is_no_success(
    board: Board, calls: Mapping[str, str]
) -> None:
    command = hardstone(calls, "run", "TMR-P-LAT", "-D", "20s", "--target", board.url)
    wait_until(lambda: any(line.endswith(".begun") for line in seen(board)))
    board.reset()
    _, said = command.communicate()
    assert command.returncode == EXIT_UNREACHABLE, said.decode()
    assert b"booted" in said, said.decode()
    board.wait()
    assert not any("hardstone" in line for line in seen(board))
