"""`hardstone latstat --resume`: which recording goes on, with which options, and to what."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.campaign import Campaign
from hardstone.cli.latstat import command
from hardstone.errors import EXIT_GATE, EXIT_OK, EXIT_PRIVILEGE, EXIT_USAGE
from hardstone.event_names import JOINED, NEW_PART
from hardstone.store import Store, StoreError
from hardstone.targets.fake import FakeTarget
from tests.process.cli.recordings import SECOND_NS, TEST, Hardstone, cut_off, last, lines, play
from tests.process.store.fake_probe import Here
from tests.process.targets import sample
from tests.unit.stats import make


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
    "lab_device": ("edu",),
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
