"""Nobody disturbs a board that measures, and its figures are the same as those of a local run."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.event_names import CONNECTED
from hardstone.model import RunDocument
from tests import machine
from tests.host.ssh.board import Board, Controller, assert_measured, ended
from tests.running import has_ended, lowest
from tests.waiting import wait_until

PAIRS = 4
WITHIN = 0.02
LEAST = 200  # values of a series, for a median that can be compared


@dataclass(frozen=True)
class Look:
    """What the server has done until a moment."""

    switches: int
    sessions: int


def look(board: Board) -> Look:
    return Look(board.switches(), len(board.sessions()))


def test_the_server_sleeps_while_the_board_measures(board: Board, controller: Controller) -> None:
    """Its tasks are switched not once between the first value and the last test's end, in a run of
    several tests."""
    tests = ("TMR-P-LAT", "SEM-P-SHF", "MUT-P-ARC")
    process = controller.start("run", *tests, "-D", "1500ms", "--target", f"ssh://{board.name}")
    board.wait_for_job()
    (job,) = wait_until(board.jobs)
    wait_until(lambda: board.is_measuring() or process.poll() is not None)
    before = look(board)
    assert before.sessions == 0 and len(board.of_runs(".exit")) == 0
    wait_until(lambda: len(board.of_runs(".exit")) == 2 or process.poll() is not None)
    assert look(board) == before
    done = ended(process, 60)
    assert done.code in (0, 3), done
    (run,) = controller.runs()
    assert_measured(run)
    events = {event.name for result in run.results for event in result.events}
    assert CONNECTED not in events, events
    assert has_ended(job)


def medians_ns(run: RunDocument) -> dict[str, int]:
    """The lower edge of the bucket that the middle value is in, of each series with many values."""
    found = {}
    for result in run.results:
        for series in result.series:
            rank = 0
            for index, count in series.histogram.buckets if series.count >= LEAST else ():
                rank += count
                if 2 * rank >= series.count:
                    found[f"{series.name} {series.labels}"] = lowest(index)
                    break
    return found


def test_a_figure_is_that_of_a_local_run(board: Board, controller: Controller) -> None:
    """In interleaved pairs. Others only make a switch between threads slower, so the least medians
    are compared. A wake-up from idle would not do: on a virtual machine it depends on the host, and
    differs by more between two local runs."""
    words = ("run", "SEM-P-SHF", "-D", "300ms", "--cpu", str(machine.cpu()))
    targets = ["local", f"ssh://{board.name}"]
    for number in range(PAIRS):
        for target in targets if number % 2 else reversed(targets):
            done = controller.run(*words, "--target", target, "--name", f"{number} {target}")
            assert done.code in (0, 3), done  # 3: too busy to be trusted
    runs = {run.name: run for run in controller.runs()}
    assert_measured(*runs.values())
    here, there = (
        [medians_ns(runs[f"{number} {target}"]) for number in range(PAIRS)] for target in targets
    )
    assert here[0] and all(one.keys() == here[0].keys() for one in (*here, *there))
    quotients = {
        key: min(one[key] for one in there) / min(one[key] for one in here) for key in here[0]
    }
    wrong = {key: value for key, value in quotients.items() if abs(value - 1) > WITHIN}
    assert not wrong, (wrong, len(quotients))
