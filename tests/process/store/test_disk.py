"""Disks that are full or cannot be written: nothing that was measured is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.campaign.collect import CampaignEvent, MeasuringStarted, Snapshot, Tick, Warned
from hardstone.catalogue import load_catalogue
from hardstone.cli.main import run as command
from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.plan.make import Request, make_plan
from hardstone.store.documents import write_document
from hardstone.store.journal import RESERVE_BYTES, Journal
from hardstone.store.place import StoreError, new_run_id, open_place
from hardstone.store.recovery import ENDED
from hardstone.store.store import Store
from hardstone.targets.fake import FakeTarget
from hardstone.targets.host_memory import lost_recordings, remove_abandoned
from tests.machine import NOBODY_ID
from tests.process.store.fake_probe import Here, dump, journal_of, planned, recover
from tests.process.store.faults import SmallDisk, files_up_to
from tests.process.targets import sample
from tests.unit.stats import make

TESTS = ("TMR-P-LAT", "SEM-P-SIG", "CLK-P-BIN")
LARGE = make.result("SEM-P-0", reason="x" * 8192)  # more than is left in a block


@pytest.fixture
def store(disk: SmallDisk) -> Store:
    return Store(disk.folder / "store")


@pytest.mark.parametrize("is_limit", [True, False])
def test_a_full_disk_loses_no_finished_result(store: Store, tmp_path: Path, is_limit: bool) -> None:
    """The one that is full, or a limit on the size of files. It is said what to do."""
    small = Store(tmp_path / "store") if is_limit else store
    finished = []
    with (
        small.journal(planned(), Here()) as journal,
        files_up_to(100_000 if is_limit else 2**30),
        pytest.raises(StoreError, match="--store DIR") as caught,
    ):
        for number in range(10_000):
            journal.result(make.result(f"SEM-P-{number}", reason="x" * 8192))
            finished.append(f"SEM-P-{number}")
    assert caught.value.exit_code == EXIT_USAGE
    assert finished
    journals = small.path / "journals"
    recovered = Store(tmp_path / "recovered")
    shutil.copytree(journals, recovered.path / "journals")  # where there is room for a document
    shutil.rmtree(journals)
    assert len(recover(recovered, dump)) == 1
    assert [result.test for result in recovered.load("last").results] == finished


@contextmanager
def nobody() -> Iterator[None]:
    """Root may write everywhere; everything is imported by then, whoever may read it."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY_ID)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A filled store that can be read and not written (tmp_path is closed to others)."""
    root = Path(tempfile.mkdtemp())
    write_document(open_place(root), make.document())
    for path in (root, root / "runs"):
        path.chmod(0o555)
    yield root
    for path in (root, root / "runs"):
        path.chmod(0o755)
    shutil.rmtree(root)


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_store_that_cannot_be_written_is_listed(read_only: Path, is_indexed: bool) -> None:
    if is_indexed:
        read_only.chmod(0o755)
        Store(read_only).runs()
        read_only.chmod(0o555)
    with nobody():
        found = Store(read_only)
        assert [entry.id for entry in found.runs()] == [make.document().id]
        assert found.load("last").name == "evening"
        with pytest.raises(StoreError, match=r"Permission denied.*--store DIR"):
            found.journal(make.document(run_id=new_run_id()), Here())


def test_a_store_that_cannot_be_read_is_named(read_only: Path) -> None:
    read_only.chmod(0o000)
    with (
        nobody(),
        pytest.raises(StoreError, match=f"^cannot read the store {read_only}: Permission denied"),
    ):
        Store(read_only)


def run(
    tmp_path: Path, store: Store, take: Any = lambda event: None
) -> tuple[Outcome, list[CampaignEvent]]:
    target = FakeTarget(sample.scenario(tmp_path, {test: [*sample.stream(test)] for test in TESTS}))
    events: list[CampaignEvent] = []

    def on_event(event: CampaignEvent) -> None:
        events.append(event)
        take(event)

    plan = make_plan(Request(tests=TESTS), sample.register(), load_catalogue())
    return Campaign(target, store, on_event).run(plan, target.facts()), events


def test_a_store_that_fails_ends_no_measurement(
    store: Store, disk: SmallDisk, tmp_path: Path, memory: Path
) -> None:
    """Full from the second test on: told once, all in memory, taken over later."""

    def take(event: CampaignEvent) -> None:
        if getattr(event, "position", 0) >= 2:
            disk.fill()

    outcome, events = run(tmp_path, store, take)
    document = outcome.document
    assert [one.status for one in document.results] == ["measured"] * len(TESTS)
    assert document.status == "complete"
    assert outcome.exit_code == EXIT_USAGE
    assert outcome.problem is not None and "No space left" in str(outcome.problem)
    (warned,) = [event.text for event in events if isinstance(event, Warned)]
    assert "No space left on device" in warned and "measuring continues" in warned
    assert outcome.spare is not None and outcome.spare.parent.parent == memory
    told: list[str] = []
    assert recover(Store(store.path, told.append), dump) == []
    assert len(told) == 1 and "No space left" in told[0]
    assert outcome.spare.exists()
    disk.free()
    assert recover(store, dump) == [document.id]
    assert store.load("last") == document


class Recorded(FakeTarget):
    """Leaves a recording, and is silent for a while, as a probe is while it measures."""

    def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
        Path(backing).write_bytes(b"recorded")
        self.wait()
        on_idle()
        yield from super().run(planned, options, backing, stop, on_idle)


def test_a_long_recording_goes_on_and_can_be_watched(
    store: Store, disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full soon after its begin."""
    real_ns, waited_ns = time.monotonic_ns, 0
    monkeypatch.setattr(time, "monotonic_ns", lambda: real_ns() + waited_ns)

    def wait() -> None:
        nonlocal waited_ns
        waited_ns += 2_000_000_000

    lines = sample.stream(TESTS[0])
    path = sample.scenario(tmp_path, {TESTS[0]: [*lines]}, dump=lines[:-1])
    looks: list[Snapshot] = []

    def on_event(event: CampaignEvent) -> None:
        if isinstance(event, MeasuringStarted):
            disk.fill()
        elif isinstance(event, Tick):
            looks.append(event.look())

    target = Recorded(path)
    target.wait = wait
    plan = make_plan(Request(tests=TESTS[:1]), sample.register(), load_catalogue())
    outcome = Campaign(target, store, on_event).run(plan, target.facts())
    assert [look.result.series[0].count for look in looks if look.result] == [2000]
    (result,) = outcome.document.results
    assert (result.status, result.series[0].count) == ("measured", 2000)
    disk.free()
    recover(store, dump)
    assert store.load("last") == outcome.document


def fill_up(disk: SmallDisk, journal: Journal) -> None:
    """Full, the place that the journal kept included."""
    disk.fill()
    with pytest.raises(StoreError):
        journal.stream_line("SEM-P-0", b"x" * (2 * RESERVE_BYTES))
    disk.fill()


@pytest.mark.parametrize("has_spare", [True, False])
def test_after_its_store_failed_a_killed_tool_left_its_spare_or_the_true_reason(
    store: Store, disk: SmallDisk, has_spare: bool
) -> None:
    document = planned(results=[LARGE])
    with store.journal(msgspec.structs.replace(document, results=[]), Here()) as journal:
        journal.backing_file("SEM-P-0")
        fill_up(disk, journal)
        with pytest.raises(StoreError):
            journal.result(LARGE)
        assert not has_spare or journal.spare(document) is not None
    disk.free()
    assert recover(store, dump) == [document.id]
    found = store.load("last")
    (result,) = found.results
    assert found.status == "incomplete"
    assert (result == LARGE) == has_spare
    if not has_spare:
        assert result.reason is not None and ENDED not in result.reason
        assert "No space left on device" in result.reason


def test_the_place_that_was_kept_takes_the_result(store: Store, disk: SmallDisk) -> None:
    document = planned()
    journal = store.journal(document, Here())
    place = journal_of(store, document).parent / "reserve"
    assert place.stat().st_blocks * 512 >= RESERVE_BYTES
    disk.fill()
    journal.result(LARGE)
    assert not place.exists()
    disk.free()
    journal.backing_file("SEM-P-1")
    assert place.exists()
    journal.close()
    assert recover(store, dump) == [document.id]
    assert store.load("last").results[0] == LARGE


def test_without_place_nothing_is_begun(store: Store, disk: SmallDisk) -> None:
    store.runs()
    disk.fill()
    with pytest.raises(StoreError, match="No space left") as caught:
        store.journal(planned(), Here())
    assert "--store DIR" in caught.value.remedy
    assert list((store.path / "journals").iterdir()) == []
    assert recover(store, dump) == []


def test_a_file_system_that_promises_nothing_serves(store: Store) -> None:
    document = planned()
    with files_up_to(RESERVE_BYTES - 1), store.journal(document, Here()) as journal:
        assert not (journal_of(store, document).parent / "reserve").exists()
        assert journal.finish(document).exists()


def test_a_recording_goes_with_its_journal_and_stays_without_its_store(
    store: Store, memory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    document = planned()
    journal = store.journal(document, Here())
    folder = Path(journal.backing_file("SEM-P-0")).parent
    journal.close()
    away = store.path.with_name("away")
    store.path.rename(away)
    elsewhere = Store(store.path.with_name("elsewhere"))
    remove_abandoned(elsewhere.path / "journals")
    assert folder.exists(), "the store may be on a disk that comes back"
    assert lost_recordings() == [(folder, store.path)]
    assert command(["runs", "--store", str(elsewhere.path)]) == EXIT_OK
    assert f"    rm -r {folder}\n" in capfd.readouterr().err
    away.rename(store.path)
    assert lost_recordings() == []
    shutil.rmtree(store.path / "journals" / document.id)
    remove_abandoned(elsewhere.path / "journals")
    assert folder.exists(), "it is for its own store to clear"
    remove_abandoned(store.path / "journals")
    assert not folder.exists()
    assert list(memory.iterdir()) == []
