"""Campaign: what comes is stored first, whatever the target does."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hardstone.campaign.campaign import Campaign, Outcome, realtime_advice
from hardstone.campaign.collect import (
    CampaignEvent,
    Collector,
    MeasuringFinished,
    MeasuringStarted,
    RunFinished,
    RunStarted,
    Warned,
    tell_copies,
)
from hardstone.catalogue import load_catalogue
from hardstone.errors import (
    EXIT_GATE,
    EXIT_OK,
    EXIT_PRIVILEGE,
    EXIT_UNREACHABLE,
    EXIT_UNTRUSTWORTHY,
    EXIT_USAGE,
    HardstoneError,
    InputError,
    PrivilegeError,
    TargetError,
    UntrustworthyError,
)
from hardstone.event_names import COPIED, LOOKED
from hardstone.model import ClockCheck, Event, Plan, PlannedTest, Result, RunDocument
from hardstone.plan.make import Request, make_plan
from hardstone.report.opening import head_of
from hardstone.stats.conditions import environment_moved
from hardstone.store.slots import CopyCost
from hardstone.store.store import Store
from hardstone.targets.base import Target, run_options
from hardstone.targets.fake import FakeTarget
from hardstone.targets.local import local_target
from hardstone.targets.transport import Limits
from tests.process.store.fake_probe import recover
from tests.process.targets import sample
from tests.waiting import LONGEST_S

FIRST, SECOND = "TMR-P-LAT", "SEM-P-SIG"
BEGUN = sample.stream(FIRST)[:3]  # with its series, and without a result
FAILED = EXIT_UNTRUSTWORTHY
Play = Callable[..., Outcome]
Fake = Callable[..., FakeTarget]


def make(tests: tuple[str, ...], **request: Any) -> Plan:
    fields: dict[str, Any] = {"profile": "standard", **request}
    return make_plan(Request(tests=tests, **fields), sample.register(), load_catalogue())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A target that has the given streams, else that of FIRST."""

    def target(
        streams: dict[str, list[Any]] | None = None,
        kind: type[FakeTarget] = FakeTarget,
        **more: Any,
    ) -> FakeTarget:
        streams = {FIRST: sample.stream(FIRST)} if streams is None else streams
        return kind(sample.scenario(tmp_path, streams, **more))

    return target


@pytest.fixture
def play(fake: Fake, store: Store) -> Play:
    """Runs the two tests with the steps given, and hands over the outcome."""

    def run(
        first: list[Any] | None = None,
        second: list[Any] | None = None,
        events: list[CampaignEvent] | None = None,
        **request: Any,
    ) -> Outcome:
        whole = {FIRST: first or sample.stream(FIRST), SECOND: second or sample.stream(SECOND)}
        target = fake(whole)
        seen = [] if events is None else events
        campaign = Campaign(target, store, seen.append)
        outcome = campaign.run(make((FIRST, SECOND), **request), target.facts())
        assert store.load(outcome.document.id) == outcome.document
        return outcome

    return run


def alone(target: Target, store: Store, take: Any = lambda event: None) -> Outcome:
    """A run of FIRST and nothing else."""
    return Campaign(target, store, take).run(make((FIRST,)), target.facts())


def test_a_good_run(play: Play) -> None:
    events: list[CampaignEvent] = []
    outcome = play(events=events)
    document = outcome.document
    assert outcome.exit_code == EXIT_OK
    assert document.status == "complete"
    assert [result.status for result in document.results] == ["measured", "measured"]
    assert document.results[0].series[0].count == 2000
    assert document.results[0].params
    assert document.tool.probe_version == "0.1.0"
    assert document.system["kernel.release"] == "6.12.0-rt"
    assert document.instrument is not None and document.finished_utc is not None
    assert document.environment_moved == [] == document.advice
    assert document.clock_check is None  # no second clock was there
    assert document.trust.reasons == ["no load"]
    measuring = [MeasuringStarted, MeasuringFinished]
    assert [type(event) for event in events] == [RunStarted, *measuring, *measuring, RunFinished]
    assert [one.position for one in events if isinstance(one, MeasuringStarted)] == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "status", "words", "code"),
    [
        ([*BEGUN, {"hang": True}], "timeout", "did not end within its deadline", EXIT_UNREACHABLE),
        ([{"exit": 2, "stderr": "no such option"}], "failed", "code 2: no such option", FAILED),
        ([{"garbage_bytes": 400}], "failed", "line 1: not JSON", EXIT_USAGE),
        ([{"exit": 0}], "failed", "ended before its footer", EXIT_USAGE),
        ([*sample.stream(FIRST)[:-1]], "measured", "ended before its footer", EXIT_USAGE),
        ([*BEGUN, {"cut": '{"type": "ser'}], "failed", "line 4: not JSON", EXIT_USAGE),
        (sample.stream(SECOND), "failed", "TMR-P-LAT was requested", EXIT_USAGE),
        ([*sample.stream(FIRST), {"exit": 70, "stderr": "late"}], "failed", "70: late", FAILED),
        ([{"garbage_bytes": 1 << 40}], "failed", "more than 256 MiB", EXIT_USAGE),
    ],
)
def test_a_probe_that_goes_wrong_loses_one_test(
    play: Play, steps: list[Any], status: str, words: str, code: int
) -> None:
    events: list[CampaignEvent] = []
    outcome = play(steps, events=events)
    first, second = outcome.document.results
    assert (first.status, first.complete) == (status, False)
    assert first.reason is not None and words in first.reason
    if steps[:3] == BEGUN:  # what came before the fault is kept
        assert first.series[0].count == 2000
    assert second.status == "measured"
    assert outcome.document.status == "incomplete"
    assert outcome.exit_code == code
    warned = [event.text for event in events if isinstance(event, Warned)]
    if code == EXIT_USAGE:
        assert first.command == "hardstone probe build"
        assert warned == [f"{FIRST}: {first.reason}; {first.remedy}: {first.command}"]
    elif code == EXIT_UNREACHABLE:  # a new build changes nothing about a time-out
        assert "continue stopped processes" in (first.remedy or "") and not first.command
        assert warned == [f"{FIRST}: {first.reason}; {first.remedy}"]
    else:
        assert warned == []


def test_a_bad_stream_is_not_read_on(fake: Fake, store: Store) -> None:
    taken: list[bytes] = []

    class Babbling(FakeTarget):
        def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
            for _ in range(1000):
                taken.append(b"garbage")
                yield b"garbage"

    outcome = alone(fake({}, Babbling), store)
    assert outcome.exit_code == EXIT_USAGE
    assert len(taken) == 1


def test_empty_lines_are_not_kept(fake: Fake, store: Store) -> None:
    held: list[int] = []

    class Spaced(FakeTarget):
        def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
            for line in super().run(planned, options, backing, stop, on_idle):
                yield from (b"", b"\r", b"  ", line)
            (journal,) = store.path.glob("journals/*/journal.jsonl")
            held.append(sum(b'"kind":"line"' in one for one in journal.read_bytes().splitlines()))

    outcome = alone(fake(kind=Spaced), store)
    assert outcome.document.results[0].complete
    assert held == [len(sample.stream(FIRST))]


def test_garbage_as_the_facts_at_the_end_is_bad_input(fake: Fake, store: Store) -> None:
    outcome = Campaign(fake(facts={"schema": "x"}), store).run(make((FIRST,)), sample.facts())
    assert outcome.exit_code == EXIT_USAGE
    assert outcome.document.status == "incomplete"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        *(({"status": one}, FAILED) for one in ("unsupported", "timeout", "skipped", "failed")),
        ({"status": "denied"}, EXIT_PRIVILEGE),
        ({"status": "failed", "events": ("threshold_crossed",)}, EXIT_GATE),
        ({"verdicts": (("never_early", False, "3 of 10 came early"),)}, EXIT_OK),
    ],
)
def test_only_a_test_that_ran_exits_zero_also_where_a_behaviour_fails(
    play: Play, changed: dict[str, Any], code: int
) -> None:
    reason = "because" if "status" in changed else None
    outcome = play(sample.stream(FIRST, reason=reason, **changed))
    (result, _) = outcome.document.results
    assert (result.status, outcome.exit_code) == (changed.get("status", "measured"), code)
    assert [one.passed for one in result.verdicts] == [False] * ("verdicts" in changed)


@pytest.mark.parametrize(
    ("asked", "measured", "changed", "reason", "code"),
    [
        (("*",), (FIRST, SECOND), {}, "no such timer", EXIT_OK),
        (("tmr-*", SECOND), (FIRST, SECOND), {}, "no such timer", EXIT_OK),
        ((FIRST, SECOND), (FIRST, SECOND), {}, "no such timer", FAILED),
        # a pattern does not excuse what is named as well
        (("*", FIRST.lower()), (FIRST, SECOND), {}, "no such timer", FAILED),
        (("*",), (FIRST, SECOND), {"command": ["evaluate"]}, "no such timer", EXIT_OK),
        (("*",), (FIRST, SECOND), {}, "", FAILED),  # a reason is what excuses it
        # which needs the figures of its limits
        (("*",), (FIRST, SECOND), {"command": ["gate", "*"]}, "no such timer", FAILED),
        (("*",), (FIRST,), {}, "no such timer", FAILED),  # no figure at all
    ],
)
def test_an_unsupported_test_is_a_failure_only_where_it_was_named(
    fake: Fake, store: Store, asked: tuple[str, ...], measured: tuple[str, ...],
    changed: dict[str, Any], reason: str, code: int,
) -> None:  # fmt: skip
    lacking = sample.stream(FIRST, status="unsupported", reason=reason)
    target, plan = fake({FIRST: lacking, SECOND: sample.stream(SECOND)}), make(asked)
    few = [one for one in plan.tests if one.test in measured]
    plan = msgspec.structs.replace(plan, tests=few, **changed)
    outcome = Campaign(target, store).run(plan, target.facts())
    statuses = {FIRST: "unsupported", SECOND: "measured"}
    assert {one.test: one.status for one in outcome.document.results} == {
        one: statuses[one] for one in measured
    }
    assert outcome.exit_code == code


def test_without_realtime_it_measures_and_says_what_to_grant_unless_it_was_not_asked_for(
    play: Play,
) -> None:
    outcome = play(sample.stream(FIRST, realtime=False, policy="other", priority=0))
    assert outcome.exit_code == EXIT_OK
    (advice,) = outcome.document.advice
    assert "it was granted before the run" in advice
    refused = sample.facts(limits__can_realtime=False, limits__realtime_cause="capability").facts
    (advice,) = realtime_advice(outcome.document, refused, None)
    assert advice.endswith("type: sudo setcap cap_sys_nice,cap_ipc_lock=ep hardstone-probe")
    refused["limits.realtime_cause"] = "group_budget"
    assert "setcap" not in str(realtime_advice(outcome.document, refused, None))
    assert play(sample.stream(FIRST, realtime=False), policy="other").document.advice == []


def test_a_target_that_vanishes(play: Play) -> None:
    events: list[CampaignEvent] = []
    outcome = play([*BEGUN, {"vanish": True}], events=events)
    first, second = outcome.document.results
    assert outcome.exit_code == EXIT_UNREACHABLE
    assert outcome.document.status == "incomplete"
    assert (first.status, first.complete, first.series[0].count) == ("failed", False, 2000)
    assert second.status == "skipped"
    assert second.reason == "not run: the target is gone"
    assert any(isinstance(event, Warned) and "gone" in event.text for event in events)


def test_facts_that_moved_are_recorded(fake: Fake, store: Store) -> None:
    target = fake()
    before = sample.facts(power__governor="powersave", machine__node="elsewhere")
    document = Campaign(target, store).run(make((FIRST,)), before).document
    (one,) = document.environment_moved
    assert (one.fact, one.before) == ("power.governor", "powersave")
    assert one.after == "performance"
    assert document.trust.grade == "indicative"
    moved = environment_moved({"cpu.online": "0-3"}, {"kernel.hz": 250})
    found = {(one.fact, one.before, one.after) for one in moved}
    assert found == {("cpu.online", "0-3", None), ("kernel.hz", None, 250)}


def test_a_reporter_that_fails_leaves_a_journal_to_recover(fake: Fake, store: Store) -> None:
    target = fake()

    def fail(event: CampaignEvent) -> None:
        if isinstance(event, MeasuringFinished):
            raise RuntimeError("the terminal is gone")

    with pytest.raises(RuntimeError):
        Campaign(target, store, fail).run(make((FIRST, SECOND)), target.facts())
    (run_id,) = recover(store, lambda path: [])
    document = store.load(run_id)
    assert document.status == "incomplete"
    assert document.results[0].series[0].count == 2000


@pytest.mark.slow
def test_who_measures_unlocked_is_told(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("HARDSTONE_LOCK_FILE", str(tmp_path / "link"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # of the lock of this user alone
    facts, stream = (sample.GOLDEN / "facts.json").read_text(), sample.stream(FIRST)
    body = f"if sys.argv[1] == 'facts': lines({facts!r})\nelse: lines(*{stream!r})"
    events: list[CampaignEvent] = []
    target = local_target(sample.executable(tmp_path, body), limits=Limits(LONGEST_S))
    alone(target, store, events.append)
    (said,) = [event.text for event in events if isinstance(event, Warned)]
    assert str(tmp_path / "link") in said and "disturb each other" in said


def test_the_frequency_is_passed_on_only_where_it_is_trusted() -> None:
    facts = sample.facts()
    assert run_options(make((FIRST,)), facts.instrument).counter_hz == 2_400_000_000
    assert run_options(make((FIRST,), clock="monotonic"), facts.instrument).counter_hz is None
    facts.instrument.trusted = False
    assert run_options(make((FIRST,)), facts.instrument).counter_hz is None


class Stopped(FakeTarget):
    """Its silence has something to say."""

    def run(self, planned, options, backing, stop, on_idle=lambda said="": None):  # type: ignore[no-untyped-def]
        on_idle()
        on_idle("the probe is stopped")
        yield from super().run(planned, options, backing, stop, on_idle)


def test_a_person_is_told_of_a_silence(fake: Fake, store: Store) -> None:
    events: list[CampaignEvent] = []
    outcome = alone(fake(kind=Stopped), store, events.append)
    assert outcome.exit_code == EXIT_OK
    said = [event.text for event in events if isinstance(event, Warned)]
    assert said == [f"{FIRST}: the probe is stopped"]


class Recorded(FakeTarget):
    """Leaves a recording behind, as a probe that was killed does."""

    def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
        Path(backing).write_bytes(b"recorded")
        yield from super().run(planned, options, backing, stop, on_idle)


@pytest.mark.parametrize(("step", "status"), [("hang", "timeout"), ("vanish", "failed")])
def test_the_recording_of_a_probe_that_hung_or_was_lost_is_read(
    fake: Fake, store: Store, step: str, status: str
) -> None:
    dump = sample.stream(FIRST, calibrated={"turns": 7})
    outcome = alone(fake({FIRST: [{step: True}]}, Recorded, dump=dump), store)
    (result,) = outcome.document.results
    assert outcome.exit_code == EXIT_UNREACHABLE
    assert (result.status, result.complete, result.series[0].count) == (status, False, 2000)
    assert result.conditions.realtime and result.calibrated == {"turns": 7}


CLOCK = {"host_ns": 60_000_000_000, "target_ns": 609_000_000_000, "uncertainty_ns": 40_000}


def test_a_clock_that_ran_too_fast_makes_the_run_untrustworthy(fake: Fake, store: Store) -> None:
    outcome = alone(fake(clock_check=CLOCK), store)
    document = store.load(outcome.document.id)
    assert document.clock_check == ClockCheck(**CLOCK)
    assert document.trust.grade == "untrustworthy"
    said = "the target's clock ran 10.15 times as fast as this machine's"
    assert document.trust.reasons[0] == said
    assert outcome.exit_code == EXIT_UNTRUSTWORTHY
    assert said in str(head_of(document))


def test_what_looking_took_is_told_of_the_result_that_was_looked_at() -> None:
    journal: Any = SimpleNamespace(has_recording=lambda: True, snapshot=lambda: None)
    unused: Any = None
    target: Any = SimpleNamespace(is_looked_at=False, is_unattended=False)
    common = Collector(target, unused, journal, unused, unused)
    for count in (2, 0, 1):
        costs_ns = [common.look(FIRST).cost_ns for _ in range(count)]
        result = Result(test=FIRST, status="measured")
        common.tell_looks(result)
        told = [event.data for event in result.events if event.name == LOOKED]
        assert told == [{"looks_count": count, "cost_ns": sum(costs_ns)}] * bool(count)


class _Copied(FakeTarget):
    """Leaves a recording, changes it, and waits until the journal has copied it twice."""

    store: Path

    def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
        for slot in ("slot-1-a", "slot-1-b"):
            Path(backing).write_bytes(slot.encode())
            while not list(self.store.glob(f"journals/*/{slot}")):
                time.sleep(0.01)
        yield from super().run(planned, options, backing, stop, on_idle)


def with_copies(tmp_path: Path, duration_ns: int) -> list[Event]:
    old, new = (f'"duration_ns":{one}' for one in (1_000_000_000, duration_ns))
    lines = [line.replace(old, new) for line in sample.stream(FIRST)]
    target = _Copied(sample.scenario(tmp_path, {FIRST: lines}))
    target.store = tmp_path / "store"
    outcome = alone(target, Store(target.store))
    return [one for one in outcome.document.results[0].events if one.name == COPIED]


def test_what_the_copies_of_a_test_took_is_told_if_it_was_long(tmp_path: Path) -> None:
    (event,) = with_copies(tmp_path, 10_000_000_000)
    assert int(str(event.data["copies_count"])) >= 1
    assert int(str(event.data["written_bytes"])) > 4096
    assert int(str(event.data["longest_ns"])) > 0
    assert with_copies(tmp_path, 9_999_999_999) == []


@pytest.mark.parametrize(
    ("longest_ns", "said"),
    [
        (999_000_000, "a power cut would have lost at most 999 ms"),
        (3_200_000_000, "a power cut could have lost 3.20 s"),
    ],
)
def test_a_gap_beyond_the_promise_says_what_could_have_been_lost(
    longest_ns: int, said: str
) -> None:
    result = Result(test=FIRST, status="measured", duration_ns=10_000_000_000)
    tell_copies(result, CopyCost(2000, 1_234_567, longest_ns))
    assert said in result.events[0].text
    assert result.events[0].data == {
        "copies_count": 2000,
        "written_bytes": 1_234_567,
        "longest_ns": longest_ns,
    }


class _Mute(FakeTarget):
    """Lost when its clock is asked for, after the last test."""

    def clock_check(self) -> ClockCheck | None:
        raise TargetError("no answer", "see its console output")


@pytest.mark.slow
def test_a_target_lost_at_the_end_keeps_its_results(fake: Fake, store: Store) -> None:
    events: list[CampaignEvent] = []
    outcome = alone(fake(kind=_Mute), store, events.append)
    assert outcome.exit_code == EXIT_UNREACHABLE
    assert outcome.document.results[0].series[0].count == 2000
    (said,) = [event.text for event in events if isinstance(event, Warned)]
    assert said.startswith("the clock could not be read") and "no answer" in said


def test_more_tests_are_asked_for_until_there_are_none(fake: Fake, store: Store) -> None:
    """Each is in the plan of the document, and of its journal, before it is measured."""
    target = fake()
    plan, asked, noted = make((FIRST,)), [], []

    def more(document: RunDocument) -> list[PlannedTest]:
        asked.append(len(document.results))
        (journal,) = store.path.glob("journals/*/journal.jsonl")
        noted.append(journal.read_bytes().count(b'"kind":"planned"'))
        return plan.tests if len(asked) < 3 else []

    events: list[CampaignEvent] = []
    campaign = Campaign(target, store, events.append, more=more)
    document = campaign.run(plan, target.facts()).document
    assert (asked, noted) == ([1, 2, 3], [0, 1, 2])
    assert len(document.plan.tests) == len(document.results) == 3
    assert document.status == "complete" and store.load(document.id) == document
    started = [one for one in events if isinstance(one, MeasuringStarted)]
    assert [(one.position, one.total) for one in started] == [(1, 1), (2, 2), (3, 3)]


def test_a_target_that_is_gone_is_asked_for_nothing_more(fake: Fake, store: Store) -> None:
    """Neither for another test nor for its clock."""
    target, plan = fake({FIRST: [{"vanish": True}]}, clock_check=CLOCK), make((FIRST,))
    outcome = Campaign(target, store, more=lambda document: plan.tests).run(plan, target.facts())
    assert len(outcome.document.results) == 1 and outcome.document.clock_check is None
    assert outcome.exit_code == EXIT_UNREACHABLE


EXIT_CODES = {HardstoneError: 70, InputError: 2, UntrustworthyError: 3}
EXIT_CODES |= {TargetError: 4, PrivilegeError: 5}


def test_each_error_has_the_exit_code_that_is_promised() -> None:
    assert {kind: kind("cause").exit_code for kind in EXIT_CODES} == EXIT_CODES
