"""A controller that is killed -9 at 50 moments of a run, and what `target collect` finds: every run
is complete or told, nothing measured is lost, nothing stays on the board or here."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from threading import Semaphore

from hardstone.stats.identity import series_problem
from tests.host.ssh.board import Board, Controller, Desk, Done, has_values
from tests.waiting import soon

KILLS = 50
SEED = 43
AT_ONCE = Semaphore(8)  # most of a run is waiting
GONE_S = 100  # a keeper without work, and a server whose client has gone
TESTS = ("TMR-P-LAT", "SEM-P-SHF")
STAGES = ("deployment", "start", "measurement", "collection")
Look = Callable[[], object]


def begins(board: Board) -> dict[str, Look]:
    """When each stage has been reached."""
    return {
        "deployment": lambda: True,
        "start": board.probes,
        "measurement": lambda: board.of_runs(".begun"),
        "collection": lambda: len(board.of_runs(".exit")) == len(TESTS),
    }


@dataclass(frozen=True)
class Killed:
    """What was there when the controller was killed, and what came of it."""

    stage: str
    after_s: float
    begun: set[int]  # numbers of tests
    done: Done
    problems: list[str]


def started(board: Board, controller: Controller) -> subprocess.Popen[str]:
    return controller.start("run", *TESTS, "-D", "300ms", "--target", f"ssh://{board.name}")


def lengths_s(desk: Desk) -> dict[str, float]:
    """Of each stage, of a run that nobody kills."""
    with desk.board() as board:
        process = started(board, desk.controller(board))
        reached = []
        for look in begins(board).values():
            soon(lambda look=look: look() or process.poll() is not None)  # type: ignore[misc]
            reached.append(time.monotonic())
        process.wait(60)
        reached.append(time.monotonic())
    return dict(zip(STAGES, (end - begin for begin, end in pairwise(reached)), strict=True))


def killed(desk: Desk, stage: str, after_s: float, *, is_group: bool) -> Killed:
    with ExitStack() as stack:
        with AT_ONCE:
            board = stack.enter_context(desk.board())
            controller = desk.controller(board)
            begun = kill_at(board, controller, stage, after_s, is_group=is_group)
            done = controller.run("target", "collect", within_s=90)
            problems = found(controller, begun, done)
        # A board that its controller has forgotten before anything ran there cleans up by itself:
        # a keeper after a minute. What was copied and never started is found by the next login.
        if not soon(lambda: not board.left(), GONE_S):
            controller.run("target", "check", f"ssh://{board.name}")
            board.wait_for_sessions_to_end()
        problems += [f"left: {one}" for one in sorted(board.left())]
    return Killed(stage, after_s, begun, done, problems)


def kill_at(
    board: Board, controller: Controller, stage: str, after_s: float, *, is_group: bool
) -> set[int]:
    """Gives the numbers of the tests that had begun."""
    process = started(board, controller)
    look = begins(board)[stage]
    soon(lambda: look() or process.poll() is not None, 60)
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_s)
    begun = {int(one.rpartition("/")[2].split(".")[0]) for one in board.of_runs(".begun")}
    if is_group:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()
    return begun


def found(controller: Controller, begun: set[int], done: Done) -> list[str]:
    """What is wrong with the runs in the store."""
    problems = []
    if done.code not in (0, 3):  # 3: too busy to be trusted
        problems.append(f"collect ended with exit code {done.code}")
    runs = controller.runs()
    if len(runs) != 1:
        return problems + (["a run is lost"] if runs or begun else [])
    (run,) = runs
    if run.status == "incomplete" and not (begun or run.results):
        return problems  # its journal was begun, and nothing was sent yet
    for number, test in enumerate(TESTS, 1):
        results = [one for one in run.results if one.test == test]
        if len(results) != 1:
            problems.append(f"{test} has {len(results)} results")
        elif number in begun and not has_values(results[0]):
            problems.append(f"{test} had begun, and is {results[0].status}: {results[0].reason}")
        elif results[0].status != "measured" and not results[0].reason:
            problems.append(f"{test} is {results[0].status} without a reason")
        problems += filter(None, (series_problem(s) for one in results for s in one.series))
    if run.status == "complete" and not all(map(has_values, run.results)):
        problems.append("the run is complete")
    return problems


def controller_killed_at_50_moments(desk: Desk) -> None:
    length_s = lengths_s(desk)
    draw = random.Random(SEED)
    moments = []
    for number in range(KILLS):
        stage = STAGES[number % len(STAGES)]
        moments.append((stage, draw.uniform(0, length_s[stage]), draw.random() < 0.5))
    # A board that waits for its controller to come back waits long: these come first.
    moments.sort(key=lambda moment: ("start", "deployment").count(moment[0]), reverse=True)
    with ThreadPoolExecutor(KILLS) as pool:
        futures = [
            pool.submit(killed, desk, stage, after_s, is_group=is_group)
            for stage, after_s, is_group in moments
        ]
        ended = [future.result() for future in futures]
    wrong = [one for one in ended if one.problems]
    assert not wrong, "\n".join(map(str, wrong))
    assert any(one.begun for one in ended) and any(not one.begun for one in ended)
    assert soon(lambda: not desk.marked.all(), GONE_S), desk.marked.all()
