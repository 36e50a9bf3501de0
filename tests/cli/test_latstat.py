"""`hardstone latstat` on a target that plays a scenario: thresholds, resume, what is told."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from hardstone.campaign import Campaign, RunFinished
from hardstone.catalogue import load_catalogue
from hardstone.cli.breach_command import BreachCommand, command_words
from hardstone.cli.latstat import command
from hardstone.cli.recording_told import LiveRecording, PlainRecording
from hardstone.errors import (
    EXIT_GATE,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_USAGE,
    InputError,
)
from hardstone.event_names import JOINED, LOOKED, NEW_PART, THRESHOLD
from hardstone.memory import Memory
from hardstone.model import RunDocument
from hardstone.plan import Request, make_plan
from hardstone.stats.watched import Breach
from hardstone.store import Store, StoreError
from hardstone.targets.fake import FakeTarget
from hardstone.targets.host_memory import HostMemory
from tests.cli.conftest import Done
from tests.stats import make
from tests.store.fake_probe import Here
from tests.targets import sample

Hardstone = Callable[..., Done]
TEST = "TMR-P-LAT"
SECOND_NS = 1_000_000_000
BOOT = "0b1f7d3e-boot"


def lines(
    *,
    begin_s: float = 100,
    seconds: int = 60,
    values: tuple[int, ...] = (1000, 2000, 3000),
    is_cut: bool = False,
    crossed_ns: int | None = None,
    **result: Any,
) -> list[str]:
    """A recording of `seconds` that began `begin_s` after boot."""
    found = [json.loads(line) for line in sample.stream(TEST, values=values)]
    series = next(one for one in found if one["type"] == "series")
    series["worst"] = [{"value_ns": max(values), "at_ns": 5 * SECOND_NS, "index": len(values) - 1}]
    ending = next(one for one in found if one["type"] == "result")
    ending |= {"duration_ns": seconds * SECOND_NS, "started_uptime_ns": int(begin_s * SECOND_NS)}
    ending |= result
    if crossed_ns is not None:
        data = {"value_ns": max(values), "threshold_ns": crossed_ns, "cpu": 1}
        event = {"type": "event", "name": THRESHOLD, "text": "above", "at_ns": 7, "data": data}
        found.insert(1, event)
        found[-1] |= {"events": 1, "lines": found[-1]["lines"] + 1}
    return [json.dumps(one) for one in (found[:-1] if is_cut else found)]


def play(folder: Path, steps: list[Any], *, boot: str = BOOT, **changed: Any) -> str:
    """A target of always the same name, which plays `steps`."""
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"]["os.boot_id"] = boot
    return f"fake:{sample.scenario(folder, {TEST: steps}, facts=facts, **changed)}"


def last() -> RunDocument:
    return Store().load("last")


def cut_off(hardstone: Hardstone, folder: Path, *options: str) -> RunDocument:
    """A recording of 1 of 10 minutes."""
    target = play(folder, lines(is_cut=True))
    hardstone("latstat", "--target", target, "-q", *options)
    return last()


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


@pytest.mark.parametrize(
    ("words", "seconds"), [((), 600), (("-D", "0"), 30 * 86_400), (("-D", "90"), 90)]
)
def test_how_long_it_takes(
    hardstone: Hardstone, tmp_path: Path, words: tuple[str, ...], seconds: int
) -> None:
    done = hardstone("latstat", "--target", play(tmp_path, lines()), *words, "--dry-run", "--json")
    assert done.document["tests"][0]["duration_ns"] == seconds * SECOND_NS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--go-on"], "--go-on needs a threshold"),
        (["--on-threshold", "true"], "--on-threshold needs a threshold"),
        (["--threshold", "1ms", "--on-threshold", "no-such-program x"], "there is no program"),
        (["--threshold", "1ms", "--on-threshold", "'"], "No closing quotation"),
        (["--threshold", "1ms", "--on-threshold", " "], "there is no command"),
        (["-a", "0-"], "is not a list of CPUs"),
        (["-a", "0,99"], "CPU 99 is not available"),
        (["--load", "none,heavy"], "under one load in one CPU configuration, not 2"),
        (["--threshold", "soon"], "is not a duration"),
        (["--threshold", "soon", "--go-on"], "is not a duration"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(
    hardstone: Hardstone, tmp_path: Path, words: list[str], said: str
) -> None:
    done = hardstone("latstat", "--target", play(tmp_path, lines()), *words)
    assert (done.code, said in done.err) == (EXIT_USAGE, True), done.err
    assert Store().runs() == []


def test_it_goes_on_where_it_was_cut_off(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    assert before.status == "incomplete"
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


def test_only_the_rest_is_recorded(hardstone: Hardstone, tmp_path: Path) -> None:
    cut_off(hardstone, tmp_path)
    done = hardstone("latstat", "--resume", "--dry-run", "--json")
    assert done.document["tests"][0]["duration_ns"] == 540 * SECOND_NS
    assert last().status == "incomplete"


def test_after_a_reboot_it_is_a_new_part(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    play(tmp_path, lines(begin_s=20, seconds=540), boot="another")
    done = hardstone("latstat", "--resume", "-q")
    document = last()
    assert (done.code, document.id) == (EXIT_OK, before.id)
    assert [result.series[0].count for result in document.results] == [3, 3]
    (mark,) = [one for one in document.results[1].events if one.name == NEW_PART]
    assert mark.data["reason"] == "the machine was rebooted"
    assert hardstone("show", "last").code == EXIT_OK
    assert hardstone("report", "last", "-o", tmp_path / "report.html").code == EXIT_OK


def test_what_cannot_be_resumed_is_told(hardstone: Hardstone, tmp_path: Path) -> None:
    done = hardstone("latstat", "--resume")
    assert (done.code, "no recording was cut off" in done.err) == (EXIT_USAGE, True)
    target = play(tmp_path, lines(seconds=600))
    hardstone("latstat", "--target", target, "-q")
    done = hardstone("latstat", "--resume", last().id)
    assert (done.code, "is complete: nothing is left" in done.err) == (EXIT_USAGE, True)
    other = sample.scenario(tmp_path, {"SEM-P-SIG": ["garbage"]})
    hardstone("run", "SEM-P-SIG", "--target", f"fake:{other}", "-q", "--name", "other")
    done = hardstone("latstat", "--resume", "other")
    assert (done.code, f"is no recording of {TEST} alone" in done.err) == (EXIT_USAGE, True)
    assert hardstone("latstat", "--resume", "nothing").code == EXIT_USAGE


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
    assert f"of run {spent.id} nothing is left to record" in done.err
    done = hardstone("latstat", "--resume")
    assert (done.code, f"of run {spent.id} nothing is left" in done.err) == (EXIT_USAGE, True)


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
            said = f"run {before.id} is recorded by another process now"
            assert (done.code, said in done.err) == (EXIT_USAGE, True), done.err
    own = make.document(run_id="20261121T032208Z-1a2b3c", results=[])
    with store.journal(own, Here()):
        done = hardstone("latstat", "--resume", own.id)
        assert "recorded by another process now" in done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-D", "11m"], EXIT_USAGE),
        (["-D", "10m"], EXIT_OK),
        (["-i", "500"], EXIT_USAGE),
        (["-a", "0"], EXIT_USAGE),
        (["--load", "heavy"], EXIT_USAGE),
        (["-p", "max"], EXIT_USAGE),
        (["--threshold", "1ms"], EXIT_USAGE),
        (["--param", "interval_ns=1ms"], EXIT_OK),
        (["--param", "interval_ns=2ms"], EXIT_USAGE),
        (["--target", "local"], EXIT_USAGE),
        (["--on-threshold", "true"], EXIT_USAGE),
    ],
)
def test_options_agree_with_those_it_was_begun_with(
    hardstone: Hardstone, tmp_path: Path, words: list[str], code: int
) -> None:
    cut_off(hardstone, tmp_path)
    play(tmp_path, lines(begin_s=170, seconds=540))
    done = hardstone("latstat", "--resume", "-q", *words)
    assert done.code == code, done.err


OTHER_VALUES: dict[str, tuple[str, ...]] = {
    "duration": ("11m",),
    "interval": ("500",),
    "samples": ("7",),
    "cpu": ("0",),
    "priority": ("max",),
    "threshold": ("1ms",),
    "go_on": (),
    "on_threshold": ("true",),
    "parts": ("none",),
    "params": ("interval_ns=2ms",),
    "policy": ("rr",),
    "clock": ("monotonic",),
    "load": ("heavy",),
    "cpu_config": ("single",),
    "seed": ("5",),
    "dma_latency": ("0",),
    "trace": (),
    "name": ("other",),
    "target": ("local",),
    "lab_cpus": ("2",),
    "lab_memory": ("2G",),
    "lab_preempt": ("full",),
    "lab_accel": ("tcg",),
    "lab_deterministic": (),
    "lab_append": ("quiet",),
}
# They say nothing of the recording; memory is locked with or without its option.
OF_THIS_CALL = {"mlockall", "resume", "store", "output", "dry_run", "as_json", "quiet"}


def test_every_option_is_held_against_the_plan() -> None:
    assert {one.name for one in command.params} == OTHER_VALUES.keys() | OF_THIS_CALL


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_no_option_is_silently_ignored(hardstone: Hardstone, tmp_path: Path, name: str) -> None:
    before = cut_off(hardstone, tmp_path)
    play(tmp_path, lines(begin_s=170, seconds=540))
    (option,) = [one.opts[-1] for one in command.params if one.name == name]
    done = hardstone("latstat", "--resume", "-q", option, *OTHER_VALUES[name])
    assert (done.code, last()) == (EXIT_USAGE, before), done.err
    reasons = ("was begun with", "is of the target", "is for kernels of the lab", "needs a thresh")
    assert any(one in done.err for one in reasons), done.err


def test_what_was_begun_going_on_may_be_said_again(hardstone: Hardstone, tmp_path: Path) -> None:
    cut_off(hardstone, tmp_path, "--threshold", "9us", "--go-on")
    play(tmp_path, lines(begin_s=170, seconds=540))
    done = hardstone("latstat", "--resume", "-q", "--go-on")
    assert done.code == EXIT_OK, done.err


def test_a_part_that_is_denied_keeps_what_was_there(hardstone: Hardstone, tmp_path: Path) -> None:
    before = cut_off(hardstone, tmp_path)
    play(tmp_path, sample.stream(TEST, status="denied", reason="no right"))
    done = hardstone("latstat", "--resume", "-q")
    assert done.code == EXIT_PRIVILEGE
    assert last().results[0].series == before.results[0].series
    assert last().status == "incomplete"


def test_a_threshold_that_stops(hardstone: Hardstone, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    crossed = lines(crossed_ns=2500, status="failed", reason="threshold crossed")
    hook = f"sh -c 'env > {noted}; echo loud; echo loud >&2'"
    target = play(tmp_path, crossed)
    done = hardstone("latstat", "--target", target, "--threshold", "2500ns", "--on-threshold", hook)
    assert done.code == EXIT_GATE
    assert "3 us on CPU 1" in done.err and "measuring stopped" in done.err
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
    assert "measuring goes on" in done.err
    document = last()
    assert document.plan.tests[0].params["threshold_ns"] == 0
    (event,) = [one for one in document.results[0].events if one.name == THRESHOLD]
    assert event.data["value_ns"] == 3000
    below = play(tmp_path, lines(seconds=600))
    assert hardstone("latstat", "--target", below, "--threshold", "9us", "--go-on").code == EXIT_OK


def test_a_breach_counts_where_the_recording_was_cut_off(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    cut_off(hardstone, tmp_path, "--threshold", "2500ns", "--go-on")
    play(tmp_path, lines(begin_s=20, seconds=540, values=(1000,)), boot="another")
    done = hardstone("latstat", "--resume", "-q")
    assert [result.complete for result in last().results] == [False, True]
    assert done.code == EXIT_GATE, done.err


def test_what_was_begun_going_on_is_resumed_so(hardstone: Hardstone, tmp_path: Path) -> None:
    cut_off(hardstone, tmp_path, "--threshold", "9us", "--go-on")
    play(tmp_path, lines(begin_s=170, seconds=540, values=(9001,)))
    done = hardstone("latstat", "--resume", "-q", "--on-threshold", "true")
    assert done.code == EXIT_GATE
    assert last().plan.watched_ns == 9000


BREACH = Breach(value_ns=3000, threshold_ns=2500, at_ns=7, cpu=None)


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
    one = BreachCommand(command_words(command))
    one.start(BREACH, "run", "local")
    one.finish()
    err = capfd.readouterr().err
    assert said in err and bool(err) == bool(said)


def test_a_command_that_hangs_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    one = BreachCommand(command_words("sleep 600"), deadline_s=0.2)
    begin = time.monotonic()
    one.start(BREACH, "run", "local")
    one.start(BREACH, "run", "local")  # the first still runs
    one.finish()
    assert time.monotonic() - begin < 300
    assert "sleep did not end within" in capfd.readouterr().err


def test_a_command_that_went_away_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    one = BreachCommand(command_words(str(program)))
    program.unlink()
    one.start(BREACH, "run", "local")
    one.finish()
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


def test_what_never_pauses_is_ended(capfd: pytest.CaptureFixture[str]) -> None:
    with BreachCommand(command_words("sh -c 'yes >&2'"), deadline_s=0.2) as one:
        one.start(BREACH, "run", "local")
        one.finish()
    assert "sh did not end within" in capfd.readouterr().err


def test_a_child_that_keeps_its_output_open_is_not_waited_for(
    capfd: pytest.CaptureFixture[str],
) -> None:
    one = BreachCommand(command_words("sh -c 'sleep 600 & echo $! >&2; exit 3'"))
    begin = time.monotonic()
    one.start(BREACH, "run", "local")
    one.finish()
    os.kill(int(capfd.readouterr().err.split()[-1]), signal.SIGKILL)
    assert time.monotonic() - begin < 300


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("error", [None, OSError, KeyboardInterrupt])
def test_it_ends_with_its_children_whatever_ends_the_recording(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], error: type[BaseException] | None
) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    command = command_words(f"sh -c 'sleep 600 & echo $$ $! > {pids}; wait'")
    with contextlib.suppress(OSError, KeyboardInterrupt), BreachCommand(command) as one:
        one.start(BREACH, "run", "local")
        shell, child = map(int, pids.read_text().split())
        if error is not None:
            raise error
    while not is_gone(child):  # the child of one that was killed ends a moment later
        time.sleep(0.01)
    assert is_gone(shell)
    assert "sh was ended: interrupted" in capfd.readouterr().err


@pytest.mark.parametrize("is_aborted", [False, True])
def test_who_quits_does_not_wait_for_it(
    capfd: pytest.CaptureFixture[str], *, is_aborted: bool
) -> None:
    with BreachCommand(command_words("sleep 600"), deadline_s=0.2) as one:
        one.start(BREACH, "run", "local")
        PlainRecording(one).take(RunFinished("run", is_aborted))
        one.finish()
    assert ("was ended: interrupted" in capfd.readouterr().err) == is_aborted


@pytest.mark.slow
def test_ctrl_c_while_it_is_waited_for_keeps_the_summary(root: Path, tmp_path: Path) -> None:
    target = play(tmp_path, lines(crossed_ns=2500, status="failed", reason="threshold crossed"))
    words = ("latstat", "--target", target, "--threshold", "2500ns", "--on-threshold", "sleep 600")
    process = subprocess.Popen(
        [sys.executable, "-c", "from hardstone.cli.main import main; main()", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    assert process.stderr is not None
    told = []
    while "waiting for sleep" not in (line := process.stderr.readline()):
        told.append(line)
        assert line, "".join(told)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == EXIT_GATE, err
    assert "sleep was ended: interrupted" in err
    assert last().id in out + "".join(told)


@pytest.mark.parametrize("words", ["", "'", "no-such-program"])
def test_words_that_are_no_command(words: str) -> None:
    with pytest.raises(InputError):
        command_words(words)


class Recorded(FakeTarget):
    """Leaves a recording, as a probe does while it measures."""

    def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
        Path(backing).write_bytes(b"recorded")
        yield from super().run(planned, options, backing, stop, on_idle)


class Guarded(Recorded):
    """A copy of whose memory would disturb."""

    def memory(self, run_id: str, journal: Path) -> Memory:
        return NoCopy(run_id, journal)


class NoCopy(HostMemory):
    def copy(self, path: str) -> None:
        return None


def viewed(folder: Path, reporter: Any, kind: type[FakeTarget] = Recorded, **dump: Any) -> Any:
    """The outcome of a recording of 2.5 seconds."""
    steps = [{"delay_s": 2.5}, *lines()]
    path = play(folder, steps, real_time=True, dump=lines(is_cut=True, **dump))
    target = kind(Path(path.removeprefix("fake:")))
    request = Request(tests=(TEST,), duration="10m", watched="2500ns")
    plan = make_plan(request, target.probe_list(), load_catalogue())
    with reporter as telling:
        return Campaign(target, Store(folder / "store"), telling.take).run(plan, target.facts())


def test_the_live_view_shows_the_distribution(tmp_path: Path) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system=None)
    values = (900, *[1500] * 90, 12_000)
    outcome = viewed(tmp_path, LiveRecording(None, console), values=values)
    text = written.getvalue()
    for said in ("elapsed", "left", "wake-ups", "12 us", "1 us", "10 us", "\N{FULL BLOCK}"):
        assert said in text, said
    assert max(len(line) for line in text.splitlines() if "\x1b" not in line) <= 80
    assert "is above 2.50 us; measuring goes on" in text
    (event,) = [one for one in outcome.document.results[0].events if one.name == LOOKED]
    assert int(event.data["looks_count"]) >= 1 and int(event.data["cost_ns"]) > 0


def test_on_a_pipe_a_line_says_how_far_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    viewed(tmp_path, PlainRecording(None))
    err = capfd.readouterr().err
    assert "3 wake-ups, worst 3 us at 5 s" in err
    assert err.count("wake-ups") == 1  # the next line would come ten seconds later


def test_where_a_copy_would_disturb_there_is_no_view(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = viewed(tmp_path, PlainRecording(None), Guarded)
    err = capfd.readouterr().err
    assert err.count("there is no view of the recording: a copy would disturb") == 1
    assert outcome.document.results[0].series[0].count == 3
    assert "is above 2.50 us" in err  # of the result
