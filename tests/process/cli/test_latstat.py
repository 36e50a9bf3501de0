"""`hardstone latstat` on a target that plays a scenario: its plan, its threshold and the command of
--on-threshold, and how it and a search are resumed. Wrong usage is in golden/latstat.txt and
golden/resume.txt."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.campaign.campaign import Campaign
from hardstone.campaign.collect import RunFinished
from hardstone.cli.latstat import command
from hardstone.cli.recording import BreachCommand, PlainRecording, command_words
from hardstone.errors import EXIT_GATE, EXIT_OK, EXIT_PRIVILEGE, EXIT_USAGE
from hardstone.event_names import JOINED, THRESHOLD
from hardstone.stats.sustained import Breach
from hardstone.store.place import StoreError
from hardstone.store.store import Store
from hardstone.targets.fake import FakeTarget
from tests.process.cli.forked import Forked
from tests.process.cli.recordings import (
    SECOND_NS,
    TEST,
    Hardstone,
    cut_off,
    last,
    lines,
    play,
)
from tests.process.store.fake_probe import Here
from tests.process.targets import sample
from tests.running import has_ended
from tests.unit.stats import make
from tests.waiting import LONGEST_S, wait_until


def test_it_is_a_plan_of_one_test(hardstone: Hardstone, tmp_path: Path) -> None:
    target = play(tmp_path, lines())
    words = ("-D", "24h", "-i", "250", "-a", "0-1", "-p", "80", "-m", "--threshold", "100")
    done = hardstone("latstat", "--target", target, *words, "--dry-run", "--json")
    plan = done.document
    (test,) = plan["tests"]
    assert test["duration_ns"] == 86_400 * SECOND_NS
    given = {"interval_ns": 250_000, "threshold_ns": 100_000, "cpus": [0, 1]}
    assert test["params"] == {**given, "parts": "auto"}
    assert (plan["priority"], plan["name"], plan["watched_ns"]) == (80, "latstat", None)
    for words, seconds in (((), 600), (("-D", "0"), 30 * 86_400), (("-D", "90"), 90)):
        done = hardstone("latstat", "--target", target, *words, "--dry-run", "--json")
        assert done.document["tests"][0]["duration_ns"] == seconds * SECOND_NS


def test_samples_take_as_long_as_they_take(hardstone: Hardstone, tmp_path: Path) -> None:
    """The default length ended 300 million wake-ups after ten minutes."""
    target = play(tmp_path, lines())
    for more, seconds in (((), 300_000), (("-D", "24h"), 86_400)):
        words = ("--samples", "300000000", *more, "--dry-run")
        done = hardstone("latstat", "--target", target, *words, "--json")
        (test,) = done.document["tests"]
        assert test["expected_ns"] // SECOND_NS == seconds
        assert test["deadline_ns"] > test["expected_ns"]
    text = hardstone("latstat", "--target", target, "--samples", "300000000", "--dry-run").out
    assert "about 3 d 11 h" in " ".join(text.split())


def test_a_threshold_that_stops(hardstone: Hardstone, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    crossed = lines(crossed_ns=2500, status="failed", reason="threshold crossed")
    hook = f"sh -c 'env > {noted}; echo loud; echo loud >&2'"
    target = play(tmp_path, crossed)
    done = hardstone("latstat", "--target", target, "--threshold", "2500ns", "--on-threshold", hook)
    assert done.code == EXIT_GATE
    assert "3 us on CPU 1" in done.err and "measurement stopped" in done.err
    assert "loud" not in done.err + done.out
    variables = dict(line.split("=", 1) for line in noted.read_text().splitlines() if "=" in line)
    assert variables["HARDSTONE_VALUE_NS"] == "3000"
    assert variables["HARDSTONE_THRESHOLD_NS"] == "2500"
    assert variables["HARDSTONE_CPU"] == "1"
    assert variables["HARDSTONE_RUN"] == last().id


def test_a_threshold_at_which_it_goes_on(hardstone: Hardstone, tmp_path: Path) -> None:
    words = ("--threshold", "2500ns", "--go-on")
    target = play(tmp_path, lines(seconds=600))
    done = hardstone("latstat", "--target", target, *words)
    assert done.code == EXIT_GATE
    assert "measurement continues" in done.err
    document = last()
    assert document.plan.tests[0].params["threshold_ns"] == 0
    (event,) = [one for one in document.results[0].events if one.name == THRESHOLD]
    assert event.data["value_ns"] == 3000
    below = play(tmp_path, lines(seconds=600))
    assert hardstone("latstat", "--target", below, "--threshold", "9us", "--go-on").code == EXIT_OK


# ---- --resume ----


def test_it_goes_on_where_it_was_cut_off(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    rest = hardstone("latstat", "--resume", "--dry-run", "--json").document
    assert rest["tests"][0]["duration_ns"] == 540 * SECOND_NS
    assert last() == before and before.status == "incomplete"
    play(tmp_path, lines(begin_s=163.5, seconds=540, values=(500, 9000)))
    done = hardstone("latstat", "--resume", "--json")
    assert (done.code, done.document["id"]) == (EXIT_OK, before.id), done.err
    document = last()
    (result,) = document.results
    assert (document.status, len(Store().runs()), result.series[0].count) == ("complete", 1, 5)
    (mark,) = [one for one in result.events if one.name == JOINED]
    assert mark.data["gap_ns"] == int(3.5 * SECOND_NS)
    shown = hardstone("show", "last", "--all")
    assert shown.code == EXIT_OK and "resumed" in " ".join(shown.out.split())


def of_cpus(*counts: int, **changed: Any) -> list[str]:
    """A cut off recording of as many wake-ups on each CPU, and more of other values."""
    found = [json.loads(line) for line in lines(is_cut=True, **changed)]
    place = next(place for place, one in enumerate(found) if one["type"] == "series")
    own = found.pop(place)
    for cpu, count in enumerate(counts):
        values = [1000] * count
        for name, times in (("wakeup", 1), ("switch", 2)):
            series = msgspec.to_builtins(make.series(values * times, name))
            found.insert(place, own | series | {"labels": {"cpu": cpu}, "worst": []})
    return [json.dumps(one) for one in found]


def test_every_cpu_gets_as_many_samples_as_were_asked_for(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    target = play(tmp_path, of_cpus(5, 3))
    hardstone("latstat", "--target", target, "-q", "-a", "0-1", "--samples", "10")
    done = hardstone("latstat", "--resume", "--dry-run", "--json")
    assert done.document["tests"][0]["samples"] == 7
    play(tmp_path, of_cpus(1, 2, begin_s=20), boot="another")
    hardstone("latstat", "--resume", "-q")
    assert len(last().results) == 2
    done = hardstone("latstat", "--resume", "--dry-run", "--json")
    assert done.document["tests"][0]["samples"] == 5  # CPU 0 has 6, CPU 1 has 5


def test_one_with_nothing_left_hides_no_earlier_one(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    begun = time.time()
    while int(time.time()) <= begun:  # runs of one second are in no order
        time.sleep(0.01)
    target = play(tmp_path, lines(seconds=600, is_cut=True))
    hardstone("latstat", "--target", target, "-q", "-D", "1")
    spent = last()
    assert spent.status == "incomplete" and spent.id != before.id
    play(tmp_path, lines(begin_s=170, seconds=540))
    done = hardstone("latstat", "--resume", "-q", "--json")
    assert (done.code, done.document["id"]) == (EXIT_OK, before.id), done.err
    assert f"run {spent.id} has nothing left to record" in done.err
    done = hardstone("latstat", "--resume")
    assert (done.code, f"run {spent.id} has nothing left" in done.err) == (EXIT_USAGE, True)


def test_what_another_process_has_resumed_meanwhile_is_left(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    before = cut_off(hardstone, tmp_path)
    path = play(tmp_path, lines(begin_s=170, seconds=540))
    target = FakeTarget(Path(path.removeprefix("fake:")))
    as_it_was = msgspec.structs.replace(before, results=[])
    with pytest.raises(StoreError, match="was resumed by another process"):
        Campaign(target, Store()).run(before.plan, target.facts(), None, as_it_was)
    assert last() == before


def test_a_damaged_document_is_not_resumed(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    path = Store().path_of(before.id)
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-40])
    done = hardstone("latstat", "--resume", before.id)
    assert (done.code, "damaged" in done.err) == (EXIT_USAGE, True), done.err


def test_one_that_is_being_recorded_is_left_alone(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    store = Store()
    part = make.document(run_id="20261121T032209Z-1a2b3c", results=[])
    with store.journal(part, Here(), resumes=before.id):
        for reference in ("", before.id):
            done = hardstone("latstat", "--resume", *filter(None, [reference]))
            said = f"another process is recording run {before.id}"
            assert (done.code, said in done.err) == (EXIT_USAGE, True), done.err
    own = make.document(run_id="20261121T032208Z-1a2b3c", results=[])
    with store.journal(own, Here()):
        done = hardstone("latstat", "--resume", own.id)
        assert "another process is recording run" in done.err


# They say nothing of the recording; memory is locked with or without its option.
OF_THIS_CALL = {
    *("mlockall", "resume", "store", "output", "export_json", "export_csv"),
    *("detach", "look_s", "dry_run", "as_json", "quiet", "wait_s"),
}


def test_every_other_option_is_held_against_the_plan() -> None:
    text = (Path(__file__).parent / "golden" / "resume.txt").read_text("utf-8")
    refused = set(re.findall(r"^\$ hardstone latstat --resume (\S+).*\n! .*\n\[2\]$", text, re.M))
    assert {one.name for one in command.params if not refused & {*one.opts}} == OF_THIS_CALL


GOES_ON = ("--threshold", "9us", "--go-on")


@pytest.mark.parametrize(
    ("begun", "words"),
    [((), ("-D", "10m")), ((), ("--param", "interval_ns=1ms")), (GOES_ON, ("--go-on",))],
)
def test_options_as_it_was_begun_with_are_accepted(
    hardstone: Hardstone, tmp_path: Path, begun: tuple[str, ...], words: tuple[str, ...]
) -> None:
    cut_off(hardstone, tmp_path, *begun)
    play(tmp_path, lines(begin_s=170, seconds=540))
    done = hardstone("latstat", "--resume", "-q", *words)
    assert done.code == EXIT_OK, done.err


def test_a_part_that_is_denied_keeps_what_was_there(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    play(tmp_path, sample.stream(TEST, status="denied", reason="no right"))
    done = hardstone("latstat", "--resume", "-q")
    assert done.code == EXIT_PRIVILEGE
    assert last().results[0].series == before.results[0].series
    assert last().status == "incomplete"


def test_a_breach_counts_where_the_recording_was_cut_off(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    cut_off(hardstone, tmp_path, "--threshold", "2500ns", "--go-on")
    play(tmp_path, lines(begin_s=20, seconds=540, values=(1000,)), boot="another")
    done = hardstone("latstat", "--resume", "-q")
    assert [result.complete for result in last().results] == [False, True]
    assert done.code == EXIT_GATE, done.err


def test_what_was_begun_going_on_is_resumed_so(hardstone: Hardstone, tmp_path: Path) -> None:
    cut_off(hardstone, tmp_path, *GOES_ON)
    play(tmp_path, lines(begin_s=170, seconds=540, values=(9001,)))
    done = hardstone("latstat", "--resume", "-q", "--on-threshold", "true")
    assert done.code == EXIT_GATE
    assert last().plan.watched_ns == 9000


# ---- run --resume: a search of IRQ-S-SUS goes on from the steps that were recorded ----

SUS = "IRQ-S-SUS"


def step(period_ns: int, *, source: str = "ipi", lost: int = 0) -> dict[str, Any]:
    data = {
        "source": source,
        "period_ns": period_ns,
        "interrupts_count": 1000,
        "lost_count": lost,
        "late_count": 0,
        "merged_count": 0,
        "is_source_limited": False,
        "passed": lost == 0,
    }
    return {"type": "event", "name": "sustained_step", "text": "a step", "at_ns": 5, "data": data}


def limit(source: str = "ipi") -> dict[str, Any]:
    data = {"source": source, "why": "lost"}
    return {"type": "event", "name": "sustained_limit", "text": "a limit", "at_ns": 6, "data": data}


def period(source: str, value_ns: int) -> dict[str, Any]:
    found = next(one for one in sample.stream(SUS, values=(value_ns,)) if '"series"' in one)
    return json.loads(found) | {"name": "minimal_period", "labels": {"source": source}}


def search_lines(*more: dict[str, Any], begin_s: int, is_cut: bool = False) -> list[str]:
    found = [json.loads(line) for line in sample.stream(SUS, status="skipped", reason="none")]
    found[2:2] = more
    ending = next(one for one in found if one["type"] == "result")
    ending |= {"status": "measured", "reason": None, "duration_ns": SECOND_NS}
    ending["started_uptime_ns"] = begin_s * SECOND_NS
    kinds = [one["type"] for one in found]
    found[-1] |= {
        "lines": len(found) - 1,
        "events": kinds.count("event"),
        "series": kinds.count("series"),
    }
    return [json.dumps(one) for one in (found[:-1] if is_cut else found)]


def cut_search(hardstone: Hardstone, folder: Path, *more: dict[str, Any]) -> str:
    steps = search_lines(*more, period("timer", 7000), begin_s=100, is_cut=True)
    target = play(folder, steps, test=SUS)
    words = ("-p", "source=ipi,timer", "-p", "interrupts=1000")
    hardstone("run", SUS, "--target", target, "-q", *words)
    document = Store().load("last")
    assert document.status == "incomplete"
    return document.id


def test_only_what_is_not_known_is_tried(hardstone: Hardstone, tmp_path: Path) -> None:
    tried = (step(1000, lost=7), step(4000), limit(), step(2000, source="timer", lost=2))
    run_id = cut_search(hardstone, tmp_path, *tried)
    done = hardstone("run", "--resume", run_id, "--dry-run", "--json")
    params = done.document["tests"][0]["params"]
    assert (params["source"], params["passed_ns"], params["failed_ns"]) == (["timer"], [0], [2000])
    assert params["interrupts"] == 1000


def test_the_rest_is_joined_into_the_run(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = cut_search(hardstone, tmp_path, step(1000, lost=7), step(4000))
    rest = (step(2800), limit(), limit("timer"), period("ipi", 2800))
    play(tmp_path, search_lines(*rest, begin_s=163), test=SUS)
    done = hardstone("run", "--resume", "--json")
    assert (done.code, done.document["id"]) == (EXIT_OK, run_id), done.err
    document = Store().load(run_id)
    (result,) = document.results
    assert (document.status, len(document.parts)) == ("complete", 2)
    found = {one.labels["source"]: one for one in result.series}
    assert found["ipi"].min == found["ipi"].max == 2800
    tried = [one.data["period_ns"] for one in result.events if one.name == "sustained_step"]
    assert tried == [1000, 4000, 2800]


def test_nothing_left_is_said(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = cut_search(hardstone, tmp_path, limit(), limit("timer"))
    done = hardstone("run", "--resume", run_id)
    assert done.code == EXIT_USAGE and "has nothing left" in done.err
    assert "there is none to resume" in hardstone("run", "--resume").err


# ---- --on-threshold ----

BREACH = Breach(value_ns=3000, threshold_ns=2500, at_ns=7, cpu=None)


def started(command: str | list[str], **how: Any) -> BreachCommand:
    """A command that was begun by a breach, and is to be finished."""
    words = command_words(command) if isinstance(command, str) else command
    one = BreachCommand(words, **how)
    one.start(BREACH, "run", "local")
    return one


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sh -c 'echo why >&2; exit 3'", "sh failed with exit code 3: why"),
        ("sh -c 'kill -9 $$'", "sh was ended by signal 9"),
        ("true", ""),
    ],
)
def test_how_the_command_ended_is_told(
    capfd: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    started(command).finish()
    told = [
        line
        for line in capfd.readouterr().err.splitlines()
        if "waiting for" not in line  # a short command too takes long where others have the CPUs
    ]
    assert len(told) == bool(said) and said in "".join(told)


@pytest.mark.parametrize("command", ["sh -c 'sleep 600'", "sh -c 'yes >&2'"])
def test_a_command_that_hangs_or_never_pauses_is_ended(
    capfd: pytest.CaptureFixture[str], command: str
) -> None:
    with started(command, deadline_s=0.2) as one:
        one.start(BREACH, "run", "local")  # the first still runs
        one.finish()
    assert "sh did not end within" in capfd.readouterr().err


def test_a_command_that_went_away_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    words = command_words(str(program))
    program.unlink()
    started(words).finish()
    assert "cannot be started: No such file" in capfd.readouterr().err


def test_its_output_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    loud = "i=0; while [ $i -lt 9000 ]; do echo 0123456789abcdef >&2; i=$((i+1)); done"
    with BreachCommand(command_words(f"sh -c '{loud}; yes | head -c 200000; exit 3'")) as one:
        with monkeypatch.context() as full:
            full.setattr(tempfile, "tempdir", str(tmp_path / "full"))
            one.start(BREACH, "run", "local")
        one.finish()
    assert "sh failed with exit code 3: 0123456789abcdef" in capfd.readouterr().err


def test_what_it_left_in_the_background_goes_on_and_is_not_waited_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It has the output open, and answers when all is over."""
    ask, answer = tmp_path / "ask", tmp_path / "answer"
    for pipe in (ask, answer):
        os.mkfifo(pipe)
    command = f"sh -c '(read word < {ask}; echo $word > {answer}) & exit 3'"
    with started(command) as one:
        one.finish()
    assert "sh failed with exit code 3" in capfd.readouterr().err
    asking, answering = (os.open(pipe, os.O_RDWR) for pipe in (ask, answer))
    os.write(asking, b"there\n")
    ready, _, _ = select.select([answering], [], [], LONGEST_S)
    assert ready and os.read(answering, 6) == b"there\n"
    os.close(asking)
    os.close(answering)


def with_child(tmp_path: Path) -> tuple[list[str], Path]:
    """A command that waits for its child, and the pipe that says the numbers of both."""
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    return command_words(f"sh -c 'sleep 600 & echo $$ $! > {pids}; wait'"), pids


@pytest.mark.parametrize("error", [None, OSError, KeyboardInterrupt])
def test_it_ends_with_its_children_whatever_ends_the_recording(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], error: type[BaseException] | None
) -> None:
    command, pids = with_child(tmp_path)
    with contextlib.suppress(OSError, KeyboardInterrupt), started(command):
        shell, child = map(int, pids.read_text().split())
        if error is not None:
            raise error
    wait_until(lambda: has_ended(child), f"process {child} goes on")
    assert has_ended(shell)
    assert "sh was killed: interrupted" in capfd.readouterr().err


def test_it_ends_with_its_children_at_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command, pids = with_child(tmp_path)
    with started(command) as one:
        shell, child = map(int, pids.read_text().split())
        one.poll()
        assert not has_ended(shell)
        later_s = time.monotonic() + 61
        with monkeypatch.context() as late:
            late.setattr(time, "monotonic", lambda: later_s)
            one.poll()
    wait_until(lambda: has_ended(child), f"process {child} goes on")
    assert has_ended(shell)
    assert "sh did not end within 1 min" in capfd.readouterr().err


def test_it_reads_nothing_that_is_typed(capfd: pytest.CaptureFixture[str]) -> None:
    reads, writes = os.pipe()
    os.write(writes, b"typed\n")
    kept = os.dup(0)
    os.dup2(reads, 0)
    try:
        with started("sh -c 'read word; echo read=$word >&2; exit 3'") as one:
            one.finish()
    finally:
        os.dup2(kept, 0)
        for descriptor in (reads, writes, kept):
            os.close(descriptor)
    assert capfd.readouterr().err.endswith("exit code 3: read=\n")


@pytest.mark.parametrize("is_aborted", [False, True])
def test_who_quits_does_not_wait_for_it(
    capfd: pytest.CaptureFixture[str], *, is_aborted: bool
) -> None:
    # Who is aborted comes before the deadline, however long it takes to say so.
    deadline_s = LONGEST_S if is_aborted else 0.2
    with started("sleep 600", deadline_s=deadline_s) as one:
        PlainRecording(one).take(RunFinished("run", is_aborted))
        one.finish()
    assert ("was killed: interrupted" in capfd.readouterr().err) == is_aborted


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_is_waited_for_ends_it_and_keeps_the_summary(
    tmp_path: Path, number: signal.Signals
) -> None:
    target = play(tmp_path, lines(crossed_ns=2500, status="failed", reason="threshold crossed"))
    noted = tmp_path / "pid"
    os.mkfifo(noted)
    command = f"sh -c 'echo $$ > {noted}; exec sleep 600'"
    words = ("latstat", "--target", target, "--threshold", "2500ns", "--on-threshold", command)
    with Forked(*words) as tool:
        tool.wait_for("waiting for sh")
        pid = int(noted.read_text())
        tool.send(number)
        assert tool.wait() == EXIT_GATE, tool.err
        assert "sh was killed: interrupted" in tool.err
        assert has_ended(pid) and last().id in tool.out
