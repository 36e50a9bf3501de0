from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hardstone.errors import InputError, TargetError
from hardstone.memory import Memory, Recorder
from hardstone.model import RUN_SCHEMA, Result, RunDocument
from hardstone.store import Journal, Store
from hardstone.store.place import open_place
from hardstone.store.rebuild import ENDED
from hardstone.targets.host_memory import HostMemory
from tests.process.store.fake_probe import Here, Recording, dump, recorded, recover, stream
from tests.process.store.test_journal import journal_of, planned, wait_for
from tests.process.targets import sample
from tests.unit.stats import make

TEST = "TMR-P-LAT"
GOLDEN = Path(__file__).parent / "golden"


def left_behind(
    store: Store, *, lines: Sequence[bytes] = (), recorded: int | None = None
) -> RunDocument:
    """A run whose tool went away during TEST, after SEM-P-SIG was finished."""
    document = planned()
    journal = store.journal(document, Here())
    journal.result(make.result("SEM-P-SIG"))
    path = Path(journal.backing_file(TEST))
    if recorded is not None:
        Recording(path, TEST).record(recorded)
    for line in lines:
        journal.stream_line(TEST, line)
    journal.close()
    return document


def recovered(store: Store, document: RunDocument) -> Result:
    """The result of TEST after recovering, with all that must hold in every case."""
    assert recover(store, dump) == [document.id]
    found = store.load(document.id)
    assert found.status == "incomplete"
    assert found.results[0] == make.result("SEM-P-SIG")
    assert found.trust.grade != "full"
    assert list((store.path / "journals").iterdir()) == []
    assert recover(store, dump) == []
    assert len(found.results) == 2
    return found.results[1]


def test_the_test_that_ran_is_taken_from_its_recording(store: Store) -> None:
    result = recovered(store, left_behind(store, recorded=40))
    assert (result.test, result.status, result.complete) == (TEST, "measured", False)
    assert result.reason == ENDED
    assert result.series[0].count == 40


def test_a_recording_without_samples_is_no_measurement(store: Store) -> None:
    result = recovered(store, left_behind(store, recorded=0))
    assert (result.status, result.reason) == ("failed", ENDED)


def test_a_test_of_which_nothing_is_left_is_named(store: Store) -> None:
    result = recovered(store, left_behind(store))
    assert (result.test, result.status, result.complete) == (TEST, "failed", False)
    assert result.reason is not None and result.reason.startswith(ENDED)


def test_a_stream_that_had_come_whole_is_a_whole_result(store: Store) -> None:
    result = recovered(store, left_behind(store, lines=stream(TEST, 9), recorded=9))
    assert (result.complete, result.status, result.reason) == (True, "measured", None)


def test_a_part_of_a_stream_serves_where_there_is_no_recording(store: Store) -> None:
    result = recovered(store, left_behind(store, lines=stream(TEST, 9)[:2]))
    assert (result.complete, result.status, result.reason) == (False, "measured", ENDED)
    assert result.series[0].count == 9


def test_a_dump_that_fails_costs_nothing_else(store: Store) -> None:
    document = left_behind(store, recorded=40)

    def fail(path: Path) -> list[bytes]:
        raise subprocess.TimeoutExpired("hardstone-probe", 1)

    assert recover(store, fail) == [document.id]
    assert store.load(document.id).results[0] == make.result("SEM-P-SIG")


def with_slots(store: Store, contents: dict[str, int | None]) -> RunDocument:
    """Copies of recordings with that many samples; None is one that cannot be read."""
    document = left_behind(store)
    folder = journal_of(store, document).parent
    for slot, count in contents.items():
        if count is None:
            (folder / slot).write_bytes(b"torn")
        else:
            Recording(folder / slot, TEST).record(count)
    return document


@pytest.mark.parametrize("order", [(30, 31), (31, 30)])
def test_after_a_power_cut_the_newest_copy_serves(store: Store, order: tuple[int, int]) -> None:
    document = with_slots(store, {"slot-1-a": order[0], "slot-1-b": order[1]})
    assert recovered(store, document).series[0].count == 31


@pytest.mark.parametrize("torn", ["slot-1-a", "slot-1-b"])
def test_a_copy_that_cannot_be_read_gives_way_to_the_other(store: Store, torn: str) -> None:
    document = with_slots(store, {"slot-1-a": 30, "slot-1-b": 30} | {torn: None})
    assert recovered(store, document).series[0].count == 30


def test_a_copy_that_a_power_cut_tore_gives_way_though_it_holds_more(store: Store) -> None:
    document = with_slots(store, {"slot-1-a": 30, "slot-1-b": 31})
    folder = journal_of(store, document).parent
    for slot in ("slot-1-a", "slot-1-b"):
        checksum = zlib.crc32((folder / "slot-1-a").read_bytes())
        (folder / f"{slot}.sum").write_text(f"{checksum:08x}\n")
    assert recovered(store, document).series[0].count == 30


def test_samples_of_a_damaged_recording_are_better_than_none(store: Store) -> None:
    document = left_behind(store, recorded=5, lines=stream(TEST, 5)[:1])

    def damaged(path: Path) -> list[bytes]:
        return [*stream(TEST, 5)[:2], b"garbage"]

    recover(store, damaged)
    result = store.load(document.id).results[1]
    assert (result.status, result.series[0].count) == ("measured", 5)
    assert result.reason is not None and result.reason.startswith(f"{ENDED}; line 3: not JSON")


def test_the_last_line_of_a_journal_may_be_cut(store: Store) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        for number in range(3):
            journal.result(make.result(f"SEM-P-{number}"))
    path = journal_of(store, document)
    path.write_bytes(path.read_bytes()[:-30])
    assert recover(store, dump) == [document.id]
    assert [result.test for result in store.load("last").results] == ["SEM-P-0", "SEM-P-1"]


def test_every_cut_of_a_journal_keeps_what_is_before_it(store: Store) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        for number in range(3):
            journal.result(make.result(f"SEM-P-{number}"))
    whole = journal_of(store, document).read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(0, len(whole), 37):
        journal_of(store, document).parent.mkdir(exist_ok=True)
        journal_of(store, document).write_bytes(whole[:cut])
        found = recover(store, dump)
        complete = sum(end - 1 <= cut for end in ends)
        assert found == ([document.id] if complete else [])
        if complete:
            assert len(store.load(document.id).results) == complete - 1
            store.path_of(document.id).unlink()


def test_an_old_journal_keeps_the_meaning_of_its_loads(store: Store) -> None:
    """Results that were finished, and the plan, from before "@cpu"."""
    document = planned()
    document.schema = "hardstone.run/1"
    journal = store.journal(document, Here())
    journal.result(make.result("SEM-P-SIG"))
    journal.close()
    assert make.result("SEM-P-SIG").conditions.load == "heavy"
    assert recover(store, dump) == [document.id]
    found = store.load(document.id)
    assert found.schema == RUN_SCHEMA
    assert found.results[0].conditions.load == "heavy@cpu"
    assert (document.plan.load, found.plan.load) == ("heavy", "heavy@cpu")


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_journal_from_before_targets_had_memory(
    store: Store, memory: Path, is_recorded: bool
) -> None:
    """It names no target: its recording is in the memory of this machine."""
    run_id = "20261122T101112Z-0a1b2c"
    backing = memory / f"hardstone-{run_id}-ua4ogw7v" / "1.rec"
    backing.parent.mkdir()
    if is_recorded:
        Recording(backing, TEST).record(40)
    folder = store.path / "journals" / run_id
    folder.mkdir(parents=True)
    old = (GOLDEN / "journal-before-memory.jsonl").read_text()
    (folder / "journal.jsonl").write_text(old.replace("@BACKING@", str(backing)))
    assert recover(store, dump) == [run_id]
    finished, cut = store.load(run_id).results
    assert (finished.test, finished.complete) == ("SEM-P-SIG", True)
    assert finished.series == make.result().series
    assert (cut.test, cut.complete, cut.reason) == (TEST, False, ENDED)
    assert sum(series.count for series in cut.series) == (40 if is_recorded else 0)
    assert not backing.parent.exists()


class Elsewhere(Here):
    """A target whose memory is in another place than this machine's, and may be out of reach."""

    name = "elsewhere"

    def __init__(self, place: Path, is_up: bool = True) -> None:
        super().__init__()
        self._place = place
        self._is_up = is_up

    def memory(self, run_id: str, journal: Path) -> Memory:
        return FarMemory(self._place, run_id, journal)

    def dump(self, path: str) -> list[bytes]:
        if not self._is_up:
            raise TargetError("elsewhere does not answer", "switch it on")
        return dump(self._place / path)


class FarMemory(HostMemory):
    """Paths mean something on the target only: below `place`."""

    def __init__(self, place: Path, run_id: str, journal: Path) -> None:
        super().__init__(run_id, journal)
        self._place = place
        self._name = f"of-{run_id}"

    def path_for(self, number: int) -> str:
        (self._place / self._name).mkdir(exist_ok=True)
        return f"{self._name}/{number}.rec"

    def has(self, path: str) -> bool:
        return path.startswith(self._name) and (self._place / path).is_file()

    def copy(self, path: str) -> Iterator[bytes] | None:
        return super().copy(str(self._place / path))

    def drop(self, path: str) -> None:
        super().drop(str(self._place / path))

    def remove(self) -> None:
        super().remove()
        shutil.rmtree(self._place / self._name, ignore_errors=True)


@pytest.mark.parametrize("is_up", [True, False])
def test_a_recording_is_asked_of_the_target_that_made_it(
    store: Store, tmp_path: Path, is_up: bool
) -> None:
    """Where the target does not answer, the copies in the journal serve."""
    far = tmp_path / "far"
    far.mkdir()
    document = planned()
    journal = Journal(open_place(store.path), document, Elsewhere(far), sync_interval_s=0.001)
    path = journal.backing_file(TEST)
    recorded(far / path, TEST, 40)
    slot = journal_of(store, document).parent / "slot-1-a"
    wait_for(slot.exists)
    journal.close()
    Recording(replaced(far / path), TEST).record(41)
    asked: list[str] = []

    def reopen(name: str) -> Recorder:
        asked.append(name)
        return Elsewhere(far, is_up)

    assert store.recover(dump, reopen) == [document.id]
    assert asked == ["elsewhere"]
    (result,) = store.load(document.id).results
    assert result.series[0].count == (41 if is_up else 40)
    assert result.reason == (
        ENDED if is_up else f"{ENDED}; its recording is out of reach: elsewhere does not answer"
    )
    assert list(far.iterdir()) == []


def replaced(path: Path) -> Path:
    path.unlink()
    return path


def test_a_finished_run_leaves_nothing_on_its_target(store: Store, tmp_path: Path) -> None:
    document = planned(results=[make.result(TEST)])
    with store.journal(document, Elsewhere(tmp_path)) as journal:
        path = tmp_path / journal.backing_file(TEST)
        Recording(path, TEST)
        assert journal.has_recording()
        journal.result(document.results[0])
        assert not path.exists() and not journal.has_recording()
        journal.finish(document)
    assert not path.parent.exists()


def test_a_journal_without_its_plan_is_set_aside(store: Store) -> None:
    document = left_behind(store)
    path = journal_of(store, document)
    path.write_bytes(b"damaged\n" + b"\n".join(path.read_bytes().splitlines()[1:]))
    assert recover(store, dump) == []
    damaged = path.parent.with_name(f"{document.id}.damaged") / "journal.jsonl"
    assert b"SEM-P-SIG" in damaged.read_bytes()
    assert recover(store, dump) == []
    HostMemory(document.id, path.parent).remove()


def test_a_journal_in_use_is_left_alone(store: Store) -> None:
    document = planned()
    with store.journal(document, Here()) as journal:
        journal.result(make.result())
        assert recover(store, dump) == []
        journal.finish(document)


def test_a_run_that_was_stored_before_the_kill_is_not_touched(store: Store) -> None:
    document = left_behind(store, recorded=3)
    folder = journal_of(store, document).parent
    kept = shutil.copytree(folder, store.path / "kept")
    recover(store, dump)
    before = store.path_of(document.id).read_bytes()
    shutil.move(kept, folder)
    (store.path / "runs" / f".{document.id}.json.gz.1.tmp").write_bytes(b"")
    assert recover(store, dump) == []
    assert store.path_of(document.id).read_bytes() == before
    names = {path.name for path in (store.path / "runs").iterdir()}
    assert names == {f"{document.id}.json.gz", f"{document.id}.summary.json"}


def test_two_that_recover_at_once_share_the_work(store: Store) -> None:
    ids = {left_behind(store, recorded=3).id for _ in range(8)}
    found: list[list[str]] = []
    start = threading.Barrier(3)

    def share() -> None:
        start.wait()
        found.append(recover(Store(store.path), dump))

    threads = [threading.Thread(target=share) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(run_id for part in found for run_id in part) == sorted(ids)
    assert {entry.id for entry in store.runs()} == ids


def test_a_store_that_was_never_written_has_nothing_to_recover(tmp_path: Path) -> None:
    assert recover(Store(tmp_path), dump) == []
    assert list(tmp_path.glob("journals*")) == []


# What a kill leaves


class Owner:
    """tests.process.store.owner as a process, and what it said that could be relied on."""

    def __init__(self, root: Path, samples: int, sync_interval_s: float) -> None:
        arguments = [str(root), str(samples), str(sync_interval_s)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.process.store.owner", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        self.run_id = self.line()

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> list[int]:
        """Kills it; the numbers of the results that it had said to be finished."""
        self._process.kill()
        with self._process as process:
            assert process.stdout is not None
            rest = process.stdout.read().splitlines()
        assert self._process.returncode == -9
        return [int(line.split()[1]) for line in rest if line.startswith("result ")]


@pytest.mark.parametrize("round_number", range(10))
@pytest.mark.slow
def test_no_kill_loses_a_finished_result(store: Store, memory: Path, round_number: int) -> None:
    owner = Owner(store.path, samples=50 * round_number, sync_interval_s=0.02)
    said = [owner.line() for _ in range(7 * round_number + 1)]
    finished = [int(line.split()[1]) for line in said if line.startswith("result ")]
    finished += owner.kill()
    assert recover(store, dump) == [owner.run_id]
    results = {result.test: result for result in store.load(owner.run_id).results}
    for number in finished:
        assert results[f"SEM-P-{number}"] == make.result(f"SEM-P-{number}", [number] * 5)
    last = results.get(f"SEM-P-{len(results) - 1}")
    assert last is not None
    assert len(results) in range(len(finished), len(finished) + 3)


@pytest.mark.parametrize("is_power_cut", [False, True])
@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_test_keeps_its_samples(
    store: Store, memory: Path, is_power_cut: bool
) -> None:
    owner = Owner(store.path, samples=10**12, sync_interval_s=0.01)
    assert owner.line().startswith("begin 0 ")
    slots = store.path / "journals" / owner.run_id
    wait_for((slots / "slot-1-b").exists)
    assert owner.kill() == []
    if is_power_cut:
        shutil.rmtree(next(memory.iterdir()))
    assert recover(store, _capped_dump) == [owner.run_id]
    result = store.load("last").results[0]
    assert (result.status, result.complete, result.reason) == ("measured", False, ENDED)
    assert result.series[0].count > 0


def _capped_dump(path: Path) -> list[bytes]:
    """As dump, but of at most a thousand samples: the owner records millions."""
    data = path.read_bytes()
    if not data.startswith(b"RECORDED"):
        raise InputError("no recording")
    return stream("SEM-P-0", min(1000, int.from_bytes(data[100:108], "little")))


def test_tests_that_were_added_to_the_plan_are_in_it_again(store: Store) -> None:
    """The line of a result that follows, of a test that was added, is of its place."""
    document = planned()
    added = sample.planned("SEM-P-SIG", samples=7)
    journal = store.journal(document, Here())
    for one in document.plan.tests:
        journal.result(make.result(one.test))
    journal.planned([added])
    journal.backing_file(added.test)
    journal.close()
    assert recover(store, dump) == [document.id]
    found = store.load(document.id)
    assert found.plan.tests == [*document.plan.tests, added]
    assert len(found.results) == len(found.plan.tests)
    assert found.results[-1].params == added.params
