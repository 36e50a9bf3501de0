"""Runs that go on at their target without the toolkit: what is sent at once, and what is collected.

As test_ssh.py: the client is a program of the tests, shells, agent and keeper are real.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.campaign.campaign import Campaign, Outcome
from hardstone.campaign.collect import CampaignEvent, LeftAlone, MeasuringFinished, Warned
from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY
from hardstone.memory import LEFT_NAME
from hardstone.model import Plan
from hardstone.plan.make import Request, make_plan
from hardstone.store.place import StoreError
from hardstone.store.store import Store
from hardstone.targets.base import LeftAloneError, Notices, Stop, TargetAwayError
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.ssh import SshTransport, stored_session
from tests.conftest import PROBE
from tests.process.targets import sample
from tests.process.targets.made_ssh import AWAY, ENDED, ENDED_AWAY, MadeSsh

pytestmark = [
    pytest.mark.skipif(not PROBE.exists(), reason=f"there is no {PROBE}: make setup"),
    pytest.mark.slow,
]
FIRST, SECOND = "TMR-P-LAT", "SEM-P-SIG"


@pytest.fixture
def board(tmp_path: Path) -> Iterator[MadeSsh]:
    made = MadeSsh(tmp_path)
    for test in (FIRST, SECOND):
        made.tell(test, "\n".join(sample.stream(test)) + "\n")
    yield made
    made.clear()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def make(tests: tuple[str, ...] = (FIRST, SECOND), **request: Any) -> Plan:
    plan = make_plan(
        Request(tests=tests, target="board", **request), sample.register(), load_catalogue()
    )
    short = [msgspec.structs.replace(one, expected_ns=1000) for one in plan.tests]
    return msgspec.structs.replace(plan, tests=short)


def opened(transport: SshTransport, **notices: Any) -> ProbeTarget:
    target = ProbeTarget(transport)
    target.open(Notices(**notices))
    return target


def leave(board: MadeSsh, store: Store) -> None:
    target = opened(board.transport(), leaves=True)
    with pytest.raises(LeftAloneError):
        Campaign(target, store).run(make(), target.facts(), target.probe_list())
    target.close()


def collected_transport(board: MadeSsh, store: Store, **how: Any) -> SshTransport:
    (left,) = store.left()
    assert left.target == "board" and not left.is_recorded
    session = stored_session(left.journal)
    assert session is not None
    return board.transport(session=session, **how)


def collect(
    board: MadeSsh, store: Store, known: tuple[str, ...] = ()
) -> tuple[Outcome, list[CampaignEvent]]:
    """Of a run whose results of `known` are in its journal; nothing stays anywhere."""
    transport = collected_transport(board, store)
    target = opened(transport)
    document, journal = store.collect(store.left()[0].id, target)
    assert tuple(one.test for one in document.results) == known
    events: list[CampaignEvent] = []
    outcome = Campaign(target, store, events.append).collect(journal, document)
    board.finish(transport)
    assert store.left() == []
    return outcome, events


def test_a_run_is_collected_as_if_it_had_been_waited_for(board: MadeSsh, store: Store) -> None:
    leave(board, store)
    outcome, events = collect(board, store)
    assert outcome.exit_code == EXIT_OK
    found = store.load("last")
    assert found == outcome.document and found.status == "complete"
    assert [one.status for one in found.results] == ["measured", "measured"]
    assert found.results[0].series[0].count == 2000
    assert found.clock_check is not None
    assert not any(isinstance(one, LeftAlone) for one in events)


def test_no_other_command_takes_a_run_that_is_left(board: MadeSsh, store: Store) -> None:
    leave(board, store)
    said: list[str] = []
    again = Store(store.path, said.append)

    def never(name: object) -> Any:
        pytest.fail(f"{name} was reached")

    assert again.recover(never, never) == []
    assert said == [] and again.runs() == []
    assert [one.target for one in again.left()] == ["board"]


def test_one_process_waits_for_a_run(board: MadeSsh, store: Store) -> None:
    leave(board, store)
    target = opened(collected_transport(board, store))
    run_id = store.left()[0].id
    _, journal = store.collect(run_id, target)
    assert store.left()[0].is_recorded
    with pytest.raises(StoreError, match="another process waits"):
        store.collect(run_id, target)
    journal.discard()
    assert store.left() == []
    target.close()


def test_a_collection_that_is_cut_off_goes_on(board: MadeSsh, store: Store) -> None:
    """Of two results one is in the journal when the target is lost; the other comes later."""
    leave(board, store)
    target = opened(collected_transport(board, store, patience=AWAY))
    document, journal = store.collect(store.left()[0].id, target)

    def lose_it(event: CampaignEvent) -> None:
        if isinstance(event, MeasuringFinished):
            board.cut()

    with pytest.raises(TargetAwayError, match="target collect board"):
        Campaign(target, store, lose_it).collect(journal, document)
    target.close()
    (board.state / "down").unlink()
    outcome, _ = collect(board, store, (FIRST,))
    assert [one.status for one in outcome.document.results] == ["measured", "measured"]
    assert outcome.document.status == "complete"


def test_tests_that_were_not_sent_are_skipped(board: MadeSsh, store: Store) -> None:
    """Under two loads the second round needs what the first calibrates."""
    target = opened(board.transport(), leaves=True)
    plan = make((FIRST,))
    plan = msgspec.structs.replace(plan, tests=[*plan.tests, *plan.tests])
    with pytest.raises(LeftAloneError):
        Campaign(target, store).run(plan, target.facts())
    target.close()
    outcome, _ = collect(board, store)
    first, second = outcome.document.results
    assert (first.status, second.status) == ("measured", "skipped")
    assert second.reason is not None and "before the test was sent" in second.reason
    assert outcome.document.status == "incomplete"
    assert outcome.exit_code == EXIT_UNTRUSTWORTHY


@pytest.mark.parametrize(
    ("tests", "counts"),
    [
        ((FIRST, SECOND), [2]),
        ((FIRST, SECOND, FIRST, SECOND), [2, 2]),  # the second round is given what the first found
        ((FIRST, FIRST, FIRST), [1, 2]),
    ],
)
def test_what_needs_no_result_is_sent_at_once(
    board: MadeSsh, store: Store, tests: tuple[str, ...], counts: list[int]
) -> None:
    target = opened(board.transport(patience=ENDED, clock=board.clock))
    by_name = {one.test: one for one in make().tests}
    plan = msgspec.structs.replace(make(), tests=[by_name[one] for one in tests])
    events: list[CampaignEvent] = []
    outcome = Campaign(target, store, events.append).run(plan, target.facts())
    target.close()
    assert [one.count for one in events if isinstance(one, LeftAlone)] == counts
    assert [one.status for one in outcome.document.results] == ["measured"] * len(tests)
    assert outcome.exit_code == EXIT_OK
    assert board.masters() == 1 + len(counts)


def test_a_target_that_is_lost_leaves_the_run(board: MadeSsh, store: Store) -> None:
    board.tell(f"{FIRST}.sh", "touch $state/down\n")
    target = opened(board.transport(patience=ENDED_AWAY, clock=board.clock))
    with pytest.raises(TargetAwayError, match="what it measures is kept there"):
        Campaign(target, store).run(make(), target.facts())
    target.close()
    assert [one.target for one in store.left()] == ["board"]
    assert store.runs() == []
    assert (store.left()[0].journal / LEFT_NAME).exists()


def test_ctrl_c_leaves_a_run_that_is_collected(board: MadeSsh, store: Store) -> None:
    board.tell(f"{FIRST}.sh", "cat >/dev/null\n")  # until its input ends
    leave(board, store)
    target = opened(collected_transport(board, store))
    document, journal = store.collect(store.left()[0].id, target)
    stop = Stop()
    stop.set()
    warned: list[CampaignEvent] = []
    campaign = Campaign(target, store, warned.append, stop=stop)
    with pytest.raises(TargetAwayError, match="still measures"):
        campaign.collect(journal, document)
    target.close()
    assert len(store.left()) == 1 and len(board.left()) == 1
    assert not any(isinstance(one, Warned) for one in warned)
