"""The way over SSH: deployment, jobs without a connection, and what was left is collected.

The client is a program of the tests that reaches this machine; shells, agent and keeper are real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import InputError, TargetError
from hardstone.memory import LEFT_NAME
from hardstone.targets.base import (
    Notices,
    NotSentError,
    OnIdle,
    ProbeError,
    ProbeExitError,
    RunOptions,
    Stop,
    TargetAwayError,
)
from hardstone.targets.named import SshSettings
from hardstone.targets.openssh import explained
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.ssh import RunLostError, SshTransport, states_of, stored_session
from hardstone.targets.transport import Limits
from tests.conftest import PROBE
from tests.process.targets import sample
from tests.process.targets.made_ssh import AWAY, ENDED, ENDED_AWAY, QUICK, MadeSsh
from tests.waiting import LONGEST_S, wait_until

pytestmark = pytest.mark.skipif(not PROBE.exists(), reason=f"there is no {PROBE}: make setup")
LIMITS = Limits(LONGEST_S, expected_s=0.0)
STEP_S = 1e6  # of a clock that a test sets


@pytest.fixture
def board(tmp_path: Path) -> Iterator[MadeSsh]:
    """Its tests A, B and C print their names."""
    made = MadeSsh(tmp_path)
    for test in "ABC":
        made.tell(test, f"{test}\n")
    yield made
    made.clear()


def words(transport: SshTransport, test: str, number: int) -> list[str]:
    return ["run", test, "--backing", f"{transport.session().folder}/{number}.rec"]


def collected(transport: SshTransport, test: str, number: int, stop: Stop | None = None) -> bytes:
    return b"".join(transport.chunks(words(transport, test, number), LIMITS, stop or Stop()))


def test_commands_run_attached_and_nothing_is_left(board: MadeSsh) -> None:
    target = ProbeTarget(board.opened(), limits=LIMITS)
    assert target.probe_list() == sample.register()
    found = target.facts()
    assert found.facts.pop("target.url") == "ssh://board"
    assert "target.libc" in found.facts and found.facts.pop("target.libc") != ""
    assert found == sample.facts()
    assert len(board.left()) == 1
    check = target.clock_check()
    assert check is not None and check.host_ns > 0
    target.close()
    assert board.left() == []
    assert board.masters() == board.closed() == 1


def test_a_banner_before_each_answer_is_left_out(board: MadeSsh) -> None:
    board.tell("banner", "Welcome!\nhardstone-look\nhardstone-agent\n\x1b[2J" + "x" * 70_000)
    target = ProbeTarget(board.opened(), limits=LIMITS)
    assert target.probe_list() == sample.register()
    target.close()
    assert board.left() == []


def test_tests_run_in_one_go_without_a_connection(board: MadeSsh) -> None:
    """A connection is the file that ssh was told to make its socket: each job looks for it."""
    for test in ("A", "B", "C"):
        socket = f"$(sed -n 's/^-S \\([^ ]*\\) .*/\\1/p' {board.state}/log | sort -u)"
        look = f"echo $s >>$state/sockets; test -e $s && echo {test} >>$state/connected"
        wait = "while test -e $s; do :; done; " if test == "A" else ""  # it is being closed
        board.tell(f"{test}.sh", f"for s in {socket}; do {wait}{look}; done\n")
    transport = board.opened(patience=ENDED, clock=board.clock)
    transport.announce([(["run", "B"], LIMITS), (["run", "C"], LIMITS)])
    assert collected(transport, "A", 1) == b"A\n"
    assert transport.has_more()
    assert collected(transport, "B", 2) == b"B\n"
    assert collected(transport, "C", 3) == b"C\n"
    assert board.masters() == 2  # to send, and to collect all three
    assert not transport.has_more()
    transport.stored()
    transport.close()
    sockets = (board.state / "sockets").read_text().splitlines()
    assert len(sockets) >= 1 and all(one.endswith("/s") for one in sockets)
    assert not (board.state / "connected").exists()
    ran = [line.split()[1] for line in (board.state / "ran").read_text().splitlines()]
    assert ran == ["A", "B", "C"]
    assert board.left() == []


def test_the_exit_code_and_the_words_of_a_job(board: MadeSsh) -> None:
    board.tell("A", "out\n")
    board.tell("A.sh", "echo sorry >&2; cat $state/A; exit 5\n")
    transport = board.opened()
    chunks = transport.chunks(words(transport, "A", 1), LIMITS, Stop())
    assert next(chunks) == b"out\n"
    with pytest.raises(ProbeExitError, match="exit code 5: sorry"):
        next(chunks)
    transport.close()


def test_another_request_than_announced_is_sent_again(board: MadeSsh) -> None:
    """With it the later ones, which were announced too, and whose numbers are used up."""
    transport = board.opened()
    transport.announce([(["run", "B", "-p", "n=1"], LIMITS), (["run", "C"], LIMITS)])
    assert collected(transport, "A", 1) == b"A\n"
    asked = ["run", "B", "-p", "n=2", *words(transport, "B", 2)[2:]]
    assert b"".join(transport.chunks(asked, LIMITS, Stop())) == b"B\n"
    assert "n=2" in (board.state / "ran").read_text().splitlines()[-1]
    assert collected(transport, "C", 3) == b"C\n"
    assert not transport.has_more()
    board.finish(transport)


def test_an_abort_ends_the_running_test_and_begins_no_other(board: MadeSsh) -> None:
    board.tell("A.sh", "touch $state/begun; exec sleep 1000\n")
    board.tell("B.sh", "touch $state/second\n")
    transport = board.opened()
    transport.announce([(["run", "B"], LIMITS)])
    stop = Stop()

    def on_idle(said: str = "") -> None:
        if (board.state / "begun").exists():
            stop.abort()

    with pytest.raises(ProbeError, match="ended at once"):
        list(transport.chunks(words(transport, "A", 1), LIMITS, stop, on_idle))
    transport.stored()
    transport.close()
    assert board.left() == [] and not (board.state / "second").exists()


def test_a_target_that_does_not_answer_keeps_the_run(board: MadeSsh, tmp_path: Path) -> None:
    """The journal says where it is, and another transport collects it."""
    board.tell("A.sh", f"touch {board.state}/down\n")  # gone once it runs
    transport = board.opened(patience=ENDED_AWAY, clock=board.clock)
    memory = transport.memory("20261130T000000Z-abcdef", tmp_path)
    assert memory.path_for(1) == f"{transport.session().folder}/1.rec"
    session = stored_session(tmp_path)
    assert session == transport.session()
    with pytest.raises(TargetAwayError, match="target collect board") as caught:
        collected(transport, "A", 1)
    assert caught.value.exit_code == 4
    transport.close()
    assert len(board.left()) == 1
    (board.state / "down").unlink()
    again = board.opened(session=session)
    assert again.has_more()
    assert collected(again, "A", 1) == b"A\n"
    with pytest.raises(NotSentError):
        collected(again, "B", 2)
    again.close()
    assert len(board.left()) == 1  # until it is stored
    again = board.opened(session=session)
    board.finish(again)


def test_a_target_that_has_no_unattended_jobs_cannot_be_left(tmp_path: Path) -> None:
    from hardstone.targets.local import local_target

    with pytest.raises(InputError, match="--detach: local measures only while"):
        local_target().open(Notices(leaves=True))


def test_a_stop_ends_the_running_test_and_drops_the_rest(board: MadeSsh) -> None:
    """A ended before the stop, B runs until its input ends, C does not begin."""
    board.tell("B.sh", "touch $state/begun; cat >/dev/null\n")
    transport = board.opened()
    transport.announce([(["run", "B"], LIMITS), (["run", "C"], LIMITS)])
    assert collected(transport, "A", 1) == b"A\n"
    wait_until((board.state / "begun").exists)
    stop = Stop()
    stop.set()
    assert collected(transport, "B", 2, stop) == b"B\n"
    assert transport.has_more()
    with pytest.raises(NotSentError):
        collected(transport, "C", 3, stop)
    board.finish(transport)


def test_a_connection_while_a_test_runs_is_told(board: MadeSsh) -> None:
    board.tell("A.sh", "until test -e $state/log2; do :; done\n")
    transport = board.opened()
    chunks = transport.chunks(words(transport, "A", 1), LIMITS, Stop(), _on_second_master(board))
    assert b"".join(chunks) == b"A\n"
    (remark,) = transport.take_remarks()
    assert remark.name == "connected" and remark.data["connections_count"] == 1
    assert transport.take_remarks() == []
    transport.close()


def _on_second_master(board: MadeSsh) -> OnIdle:
    """Lets the job end once the toolkit has connected again."""

    def on_idle(said: str = "") -> None:
        if board.masters() > 1:
            board.tell("log2")

    return on_idle


def test_a_target_that_takes_longer_is_left_alone_again(board: MadeSsh) -> None:
    for test, sign in (("A", "seen"), ("B", "alone")):
        board.tell(f"{test}.sh", f"until test -e $state/{sign}; do :; done\n")
    now_s = 0.0  # goes on while the target is left alone

    def on_idle(said: str = "") -> None:
        nonlocal now_s
        now_s += STEP_S
        if board.masters() > 1:
            board.tell("seen")
            if board.closed() == board.masters():
                board.tell("alone")

    transport = board.opened(patience=replace(QUICK, attached_s=STEP_S / 2), clock=lambda: now_s)
    expected = Limits(LONGEST_S, expected_s=STEP_S)
    transport.announce([(["run", "B"], expected)])
    for number, test in enumerate("AB", 1):
        chunks = transport.chunks(words(transport, test, number), expected, Stop(), on_idle)
        assert b"".join(chunks) == f"{test}\n".encode()
    board.finish(transport)


def test_output_that_is_not_read_to_its_end_spoils_no_later_answer(board: MadeSsh) -> None:
    board.tell("A", "A" * 300_000)  # many frames
    transport = board.opened()
    transport.announce([(["run", "B"], LIMITS)])
    chunks = transport.chunks(words(transport, "A", 1), LIMITS, Stop())
    assert next(chunks).startswith(b"A")
    assert collected(transport, "B", 2) == b"B\n"
    rest = transport.chunks(words(transport, "A", 1), LIMITS, Stop())
    assert next(rest).startswith(b"A")
    check = transport.clock_check()
    assert check is not None and 0 <= check.target_ns <= check.host_ns + check.uncertainty_ns
    board.finish(transport)


def test_another_measurement_on_the_target_is_waited_for(board: MadeSsh, tmp_path: Path) -> None:
    """Both keepers are on one machine, and take the same lock."""
    first, second = board.opened(), board.opened()
    said: list[str] = []
    with (
        first.alone(Stop(), said.append, said.append),
        pytest.raises(TargetError, match=r"has held .*/lock for longer"),
        second.alone(Stop(), said.append, said.append, wait_s=0.0),
    ):
        pytest.fail("the lock was given twice")
    (text,) = said
    assert "Another hardstone measurement is running on board" in text
    assert "agent" in text  # whose command holds it
    with second.alone(Stop(), said.append, said.append, wait_s=0.0):
        pass
    first.close()
    second.close()
    assert board.left() == []


@pytest.mark.parametrize(
    "said, cause, typed, is_final",
    [
        ("No ED25519 host key is known for b and you have requested strict checking.\n"
         "Host key verification failed.", "not known here", "ssh -p 22 root@b", True),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
         "another machine answers", "ssh-keygen -R b", True),
        ("root@b: Permission denied (publickey).", "does not accept your keys",
         "ssh-copy-id -p 22 root@b", True),
        ("ssh: Could not resolve hostname b: Name or service not known",
         "cannot be resolved", "~/.ssh/config", True),
        ("ssh: connect to host b port 22: Connection refused", "Connection refused",
         "ssh -p 22 root@b", False),
        ("", "does not answer", "ssh -p 22 root@b", False),
    ],
)  # fmt: skip
def test_what_ssh_says_is_explained(said: str, cause: str, typed: str, is_final: bool) -> None:
    settings = SshSettings(name="board", host="b", user="root", port=22)
    found = explained(said, settings, "ssh -p 22 root@b")
    assert cause in found[0] and typed in found[1] and found[2] is is_final


@pytest.mark.parametrize("folder", ["/tmp/a b", "/tmp/$(id)", "/tmp/a'b", "/tmp/a\nb", "-r"])
def test_a_folder_that_a_shell_would_read_is_refused(board: MadeSsh, folder: str) -> None:
    settings = SshSettings(name="board", host="board", folder=folder)
    transport = SshTransport(settings, client=board.client())
    with pytest.raises((InputError, TargetError), match="folder"):
        transport.open()
    transport.close()
    assert not any("$(id)" in line or "a b" in line for line in board.log())


def test_a_target_without_a_shell_is_told(board: MadeSsh) -> None:
    board.tell("shell", "/bin/false")
    transport = board.transport()
    with pytest.raises(TargetError, match="no shell answers") as caught:
        transport.open()
    assert "login shell" in caught.value.remedy
    transport.close()


def test_a_folder_without_room_or_rights_is_told(board: MadeSsh, tmp_path: Path) -> None:
    settings = SshSettings(name="board", host="board", folder=str(tmp_path / "none"))
    transport = SshTransport(settings, client=board.client())
    with pytest.raises(TargetError, match="it is no folder") as caught:
        transport.open()
    assert "--folder" in caught.value.remedy
    transport.close()


def test_a_session_that_is_damaged_is_none(tmp_path: Path) -> None:
    assert stored_session(tmp_path) is None
    (tmp_path / LEFT_NAME).write_text(json.dumps({"url": "ssh://x"}))
    assert stored_session(tmp_path) is None


def test_a_run_that_is_looked_at_is_dumped_on_the_target(board: MadeSsh, tmp_path: Path) -> None:
    board.tell("dumped", "line\n")
    transport = board.opened(Notices(look_s=0.0))
    memory = transport.memory("20261130T000000Z-abcdef", tmp_path)
    path = memory.path_for(1)
    assert memory.copy(path) is None
    assert memory.direct(path) == path
    assert ProbeTarget(transport).dump(path) == [b"line"]
    (remark,) = transport.take_remarks()
    assert remark.data["connections_count"] == 1
    transport.close()
    quiet = board.opened()
    assert quiet.memory("20261130T000000Z-abcdef", tmp_path / "b").direct(path) is None
    quiet.close()


def test_options_reach_the_probe_as_they_are(board: MadeSsh) -> None:
    """No shell reads the words of a request."""
    board.tell("TMR-P-LAT", "")
    target = ProbeTarget(board.opened(), limits=LIMITS)
    planned = sample.planned(params={"mask": "$(touch x) `id` 'a' \"b\" \\ ; & |"})
    backing = target.memory("20261130T000000Z-abcdef", board.state).path_for(1)
    list(target.run(planned, RunOptions(), backing, Stop()))
    assert "mask=$(touch x) `id` 'a' \"b\" \\ ; & |" in (board.state / "ran").read_text()
    target.close()


def test_a_connection_is_told_of_the_test_that_ran_meanwhile(board: MadeSsh) -> None:
    """A has ended when the toolkit comes back, B runs until it is connected."""
    board.tell("B.sh", "touch $state/begun; until test -e $state/go; do :; done\n")
    begun = board.state / "begun"
    later_s = 1e17  # start_s later is the same number: B may begin before hardstone counts
    transport = board.transport(
        patience=replace(QUICK, start_s=1.0), clock=lambda: later_s * begun.exists()
    )
    transport.open()
    transport.announce([(["run", "B"], LIMITS)])

    def on_idle(said: str = "") -> None:
        """B may end once the toolkit waits for it with a connection."""
        if begun.exists() and board.masters() > 1:
            board.tell("go")

    assert collected(transport, "A", 1) == b"A\n"
    assert transport.take_remarks() == []
    assert b"".join(transport.chunks(words(transport, "B", 2), LIMITS, Stop(), on_idle)) == b"B\n"
    (remark,) = transport.take_remarks()
    assert remark.data["connections_count"] == 1
    transport.stored()
    transport.close()


def test_a_folder_that_stays_is_told(board: MadeSsh) -> None:
    warned: list[str] = []
    transport = board.opened(Notices(warn=warned.append))
    board.cut()
    transport.close()
    (text,) = warned
    assert "could not be removed" in text and f"rm -r {board.home}/hardstone-ssh-" in text


def test_an_agent_that_dies_at_each_question_is_given_up(board: MadeSsh) -> None:
    transport = board.opened(patience=AWAY)
    board.tell("dying")
    with pytest.raises(TargetAwayError):
        collected(transport, "A", 1)
    (board.state / "dying").unlink()
    transport.close()


def test_what_ended_before_a_reboot_is_collected(board: MadeSsh) -> None:
    """Files on a disk outlive it; the test that ran does not."""
    board.tell("B.sh", "touch $state/begun; cat >/dev/null\n")
    transport = board.opened()
    transport.announce([(["run", "B"], LIMITS)])
    assert collected(transport, "A", 1) == b"A\n"
    session = msgspec.structs.replace(transport.session(), boot_id="another")
    transport.close()
    again = board.opened(session=session)
    assert collected(again, "A", 1) == b"A\n"
    with pytest.raises(RunLostError, match="was rebooted while it measured"):
        collected(again, "B", 2)
    again.close()


def test_a_lock_of_another_place_is_told(board: MadeSsh, tmp_path: Path) -> None:
    told: list[str] = []
    locks = [str(tmp_path / "none" / "lock"), str(board.state / "lock")]
    transport = board.opened(locks=locks)
    with transport.alone(Stop(), told.append, told.append):
        pass
    (text,) = told
    assert "the lock" in text and "waits only for measurements that use another one" in text
    transport.close()


def test_nothing_is_copied_while_somebody_measures_there(board: MadeSsh) -> None:
    first = board.opened()
    warned: list[str] = []
    with first.alone(Stop(), warned.append, warned.append):
        before = board.left()
        second = board.transport()
        with pytest.raises(TargetError, match="for longer than"):
            second.open(Notices(warn=warned.append, wait_s=0.0))
        assert board.left() == before
        second.close()
    (text,) = warned
    assert "Another hardstone measurement is running on board" in text
    first.close()


def test_a_program_that_is_ended_leaves_the_test(board: MadeSsh) -> None:
    transport = board.opened(patience=replace(QUICK, start_s=60.0))
    stop = Stop()
    with pytest.raises(TargetAwayError, match="is left alone"):
        list(transport.chunks(words(transport, "A", 1), LIMITS, stop, lambda said="": stop.leave()))
    session = transport.session()
    transport.close()
    again = board.opened(session=session)
    assert collected(again, "A", 1) == b"A\n"
    again.close()


def test_odd_answers_about_jobs_are_no_jobs() -> None:
    jobs = [("\u00b2", "ended", "0"), ("-", "ended", ""), ("7", "ended", "0"), ("123456", "x", "")]
    assert list(states_of(["keeper", "1", *(word for job in jobs for word in job)])) == [7]
    assert states_of([]) == {}
    assert list(states_of(["none", "1", "ended", "0"])) == [1]
