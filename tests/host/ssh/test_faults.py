"""Faults while a run is under way: nothing measured is lost, nothing hangs, nothing stays, and what
went wrong is told within a minute.

Most of the time of each is waiting, so all of them begin at once.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.host.ssh.at_once import Cases, Outcomes
from tests.host.ssh.board import (
    RUN,
    Board,
    Controller,
    Desk,
    Done,
    assert_measured,
    ended,
    has_values,
)
from tests.host.ssh.killed import controller_killed_at_50_moments
from tests.waiting import soon, wait_until

CALIBRATED_S = 3  # a probe that is seen running calibrates its clock for a second first
TOLD_S = 60  # from the first question without an answer
FORGOTTEN_S = 150  # until a server knows that its client has gone: TCP asks ever more seldom
AT_ONCE = 20
cases = Cases()


def begun(controller: Controller, board: Board, *words: str) -> subprocess.Popen[str]:
    """A run that measures on the board without a connection."""
    process = controller.start(*(words or RUN), "--target", f"ssh://{board.name}")
    board.wait_for_job()
    wait_until(lambda: board.is_measuring() or process.poll() is not None)
    return process


def uploading(controller: Controller, board: Board) -> subprocess.Popen[str]:
    """A run whose probe is on its way."""
    controller.slow(0.02, 100_000)
    process = controller.start(*RUN, "--target", f"ssh://{board.name}")
    wait_until(lambda: any(map(board.size_bytes, board.of_runs("/hardstone-probe"))), within_s=60)
    return process


def assert_complete(done: Done, controller: Controller) -> None:
    assert done.code in (0, 3), done  # 3: too busy to be trusted
    assert_measured(*controller.runs())


def assert_collected(board: Board, controller: Controller) -> None:
    """The run that waits on the board."""
    done = controller.run("target", "collect", f"ssh://{board.name}")
    assert_complete(done, controller)
    board.wait_for_nothing_left(FORGOTTEN_S)
    controller.wait_for_nothing_left(FORGOTTEN_S)


def assert_told(done: Done, board: Board, *words: str) -> None:
    assert done.code == 4, done
    missing = [one for one in (board.name, *words) if one not in done.said]
    assert not missing, (missing, done)


def assert_usable(board: Board, controller: Controller) -> None:
    """Nothing is left, and the next run works."""
    board.wait_for_nothing_left(FORGOTTEN_S)
    controller.wait_for_nothing_left(FORGOTTEN_S)
    controller.quick()
    done = controller.run(*RUN, "--target", f"ssh://{board.name}")
    assert done.code in (0, 3), done


# ---- the link ----


@cases
def link_cut_in_deployment(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = uploading(controller, board)
        board.cut()
        assert_told(ended(process, TOLD_S), board)
        board.mend()
        assert not controller.runs()
        assert_usable(board, controller)


@cases
def link_cut_in_measurement(desk: Desk) -> None:
    """Nobody has noticed."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board, "run", "TMR-P-LAT", "-D", "4s")
        board.cut()
        wait_until(lambda: board.of_runs(".exit"))
        board.mend()
        done = ended(process, TOLD_S)
        assert_complete(done, controller)
        board.wait_for_nothing_left()


@cases
def link_cut_for_long(desk: Desk) -> None:
    """The run is collected when the link is mended."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        board.cut()
        wait_until(lambda: board.of_runs(".exit"))
        done = ended(process, TOLD_S + 10)
        assert_told(done, board, f"hardstone target collect ssh://{board.name}")
        assert not controller.run("runs").out.count("TMR-P-LAT")
        again = controller.run("target", "collect", f"ssh://{board.name}", within_s=TOLD_S)
        assert_told(again, board)
        board.mend()
        assert_collected(board, controller)


@cases
def link_cut_in_collection(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        controller.slow(0.02, 3_000)
        wait_until(lambda: board.of_runs(".exit") and board.has_agent())
        clients = set(desk.marked.named("ssh"))
        board.cut()
        wait_until(lambda: not clients & set(desk.marked.named("ssh")), "the cut is not noticed")
        controller.quick()
        board.mend()
        assert_complete(ended(process, TOLD_S), controller)
        board.wait_for_nothing_left(FORGOTTEN_S)


# ---- the server ----


@cases
def server_killed_in_deployment(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = uploading(controller, board)
        board.kill(board.sessions())
        assert_told(ended(process, TOLD_S), board)
        assert not controller.runs()
        assert_usable(board, controller)


@cases
def server_killed_in_measurement(desk: Desk) -> None:
    """And started again a while after the first question."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        board.kill(board.servers())
        wait_until(lambda: board.of_runs(".exit"))
        wait_until(lambda: any(controller.temporary.iterdir()), "the first question")
        board.start_server()
        assert_complete(ended(process, TOLD_S), controller)
        board.wait_for_nothing_left()


@cases
def server_killed_for_long(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        board.kill(board.servers())
        done = ended(process, TOLD_S + 10)
        assert_told(done, board, f"hardstone target collect ssh://{board.name}")
        board.start_server()
        assert_collected(board, controller)


@cases
def server_killed_in_collection(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        controller.slow(0.02, 3_000)
        wait_until(lambda: board.of_runs(".exit") and board.has_agent())
        controller.quick()
        board.kill(board.sessions())
        assert_complete(ended(process, TOLD_S), controller)
        board.wait_for_nothing_left()


@cases
def command_that_never_answers(desk: Desk) -> None:
    """The server starts something else."""
    with desk.board(forced="/bin/sleep 1000") as board:
        controller = desk.controller(board)
        done = controller.run(*RUN, "--target", f"ssh://{board.name}", within_s=TOLD_S)
        assert_told(done, board)
        assert not board.sessions() and not controller.runs()
        controller.wait_for_nothing_left()


# ---- the board ----


@cases
def rebooted_in_measurement(desk: Desk) -> None:
    """Told, and never taken for success."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board, "run", "TMR-P-LAT", "SEM-P-SHF", "-D", "3s")
        board.reboot()
        assert_told(ended(process, TOLD_S), board, "rebooted")
        for run in controller.runs():
            assert run.status != "complete", run
            assert all(result.status != "measured" for result in run.results), run
        done = controller.run("target", "collect")
        assert "no run is left" in done.said, done
        assert_usable(board, controller)


@cases
def rebooted_before_it_is_collected(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        process.kill()
        wait_until(lambda: board.of_runs(".exit"))
        board.reboot()
        done = controller.run("target", "collect", f"ssh://{board.name}", within_s=TOLD_S)
        assert_told(done, board, "rebooted")
        assert all(run.status != "complete" for run in controller.runs())
        assert controller.run("target", "collect").said.count("no run is left")
        assert_usable(board, controller)


@cases
def keeper_killed(desk: Desk) -> None:
    """Its test ends with it; what it recorded is told as incomplete."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board, "run", "TMR-P-LAT", "-D", "4s")
        board.kill(board.probes())
        done = ended(process, TOLD_S)
        assert done.code not in (0, 1), done
        (run,) = controller.runs()
        assert run.results[0].status != "measured", run
        assert_usable(board, controller)


@cases
def probe_killed_on_the_board(desk: Desk) -> None:
    """By whoever is there: the other tests of the run are measured."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board, "run", "TMR-P-LAT", "SEM-P-SHF", "-D", "2s")
        board.kill(board.jobs())
        done = ended(process, TOLD_S)
        assert done.code not in (0, 1), done
        (run,) = controller.runs()
        assert [has_values(one) for one in run.results][1] and run.results[0].status != "measured"
        board.wait_for_nothing_left()


@cases
def folder_full_in_measurement(desk: Desk) -> None:
    """The output of the test has no room: told, and not taken for a result."""
    with desk.board(small="/dev/shm") as board:
        controller = desk.controller(board)
        process = begun(controller, board, "run", "TMR-P-LAT", "-D", "3s")
        board.fill("/dev/shm")
        done = ended(process, TOLD_S)
        (run,) = controller.runs()
        assert run.status != "complete" or done.code, (run.results[0], done)
        assert run.results[0].status != "measured" or run.results[0].series[0].count > 0
        board.path("/dev/shm/fill").unlink()
        board.wait_for_nothing_left()


# ---- clocks ----


@cases
def clock_set_back_in_measurement(desk: Desk) -> None:
    """That of the controller, by an hour: nothing waits an hour longer."""
    with desk.board(uptime_s=5_000_000) as board:
        controller = desk.controller(board)
        clock = desk.clock()
        process = controller.start(
            "run", "TMR-P-LAT", "-D", "3s", "--target", f"ssh://{board.name}", **clock.variables
        )
        board.wait_for_job()
        clock.set(-3600)
        assert_complete(ended(process, TOLD_S), controller)
        board.wait_for_nothing_left()


@cases
def clock_set_back_before_collection(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board)
        process.kill()
        clock = desk.clock()
        clock.set(-3 * 86400)
        url = f"ssh://{board.name}"
        done = controller.run("target", "collect", url, **clock.variables)
        assert_complete(done, controller)
        board.wait_for_nothing_left()


# ---- controllers ----


@cases
def controller_killed_and_link_cut(desk: Desk) -> None:
    """As a lid that is closed: hours of latstat are collected from another folder."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board, "latstat", "-D", "8s")
        process.kill()
        board.cut()
        wait_until(lambda: board.of_runs(".exit"))
        board.mend()
        controller.place = Path("/")
        assert_collected(board, controller)
        (run,) = controller.runs()
        assert run.results[0].series[0].count > 6_000, run.results[0].series[0].count


@cases
def controller_killed_once_the_run_is_stored(desk: Desk) -> None:
    """Its journal is still there: the run is not collected twice."""
    with desk.board() as board:
        controller = desk.controller(board)
        begun(controller, board).kill()
        journals, aside = controller.home / "data/hardstone/journals", controller.home / "aside"
        shutil.copytree(journals, aside)
        assert_collected(board, controller)
        shutil.copytree(aside, journals, dirs_exist_ok=True)
        done = controller.run("target", "collect", f"ssh://{board.name}")
        assert done.code == 0 and "removed what was left of run" in done.said, done
        assert_measured(*controller.runs())
        controller.wait_for_nothing_left()


@cases
def two_controllers(desk: Desk) -> None:
    """The second one waits and says for whom; with --wait 0 it ends."""
    with desk.board() as board:
        first, second, third = (desk.controller(board) for _ in range(3))
        url = f"ssh://{board.name}"
        one = begun(first, board, "run", "TMR-P-LAT", "-D", "8s")
        two = second.start(*RUN, "--target", url)
        three = third.start(*RUN, "--target", url, "--wait", "0")
        done = ended(three, TOLD_S)
        assert_told(done, board, "another measurement has held", "pid", "hardstone", "--wait")
        assert not third.runs()
        done = ended(two, TOLD_S)
        assert_complete(done, second)
        assert f"Another hardstone measurement is running on {url} (pid" in done.said, done
        assert_complete(ended(one, TOLD_S), first)
        (long,), (short,) = first.runs(), second.runs()
        begins = [datetime.fromisoformat(run.results[0].started_utc) for run in (long, short)]
        took = timedelta(microseconds=long.results[0].duration_ns / 1000)
        assert begins[1] - begins[0] >= took - timedelta(seconds=0.5)
        board.wait_for_nothing_left()


@cases
def interrupted_and_left(desk: Desk) -> None:
    """Ctrl-C ends the test there, and its values until then are kept."""
    with desk.board() as board:
        controller = desk.controller(board)
        process = begun(controller, board, "latstat", "-D", "1h")
        time.sleep(CALIBRATED_S)
        begin_s = time.monotonic()
        process.send_signal(signal.SIGINT)
        done = ended(process, TOLD_S)
        assert done.code == 130 and time.monotonic() - begin_s < 30, done
        (run,) = controller.runs()
        assert run.status == "interrupted" and run.results[0].series[0].count > 0
        board.wait_for_nothing_left()
        assert soon(lambda: not controller.left()), controller.left()


cases(controller_killed_at_50_moments)


@pytest.mark.parametrize("name", cases.known)
def test_fault(name: str, outcomes: Outcomes) -> None:
    outcomes[name].result()
