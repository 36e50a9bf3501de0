"""What a target says is bounded and may be anything, and no word reaches its shell unchecked."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from hardstone import frames
from hardstone.errors import InputError, PrivilegeError, TargetError
from hardstone.frames import Frame, PeerLostError, words_frame
from hardstone.targets.agent import VERSION, Agent
from hardstone.targets.base import ProbeError
from hardstone.targets.deploy import agent_line, boot_of, deploy, measured_by, remove
from hardstone.targets.named import SshSettings
from hardstone.targets.openssh import OpenSsh, UnreachableError, refused_sudo, remove_unused
from tests.conftest import ROOT
from tests.process.targets.made_ssh import SESSION, MadeSsh
from tests.programs import script


@pytest.fixture
def board(tmp_path: Path) -> MadeSsh:
    return MadeSsh(tmp_path)


@pytest.fixture
def ssh(board: MadeSsh) -> Iterator[OpenSsh]:
    client = board.client()
    client.connect()
    yield client
    client.close()


def with_shell(board: MadeSsh, body: str) -> None:
    """The login shell does `body`, which has the line as $2."""
    board.tell("shell", str(script(board.state / "login", body)))


# ---- the client ----


@pytest.mark.parametrize("command", ["cat /dev/zero", "cat /dev/zero >&2"])
def test_an_account_that_writes_without_end_is_told_at_once(ssh: OpenSsh, command: str) -> None:
    with pytest.raises(UnreachableError, match="board: the account writes without end") as caught:
        ssh.run(command, b"input", deadline_s=300.0)
    assert caught.value.is_final and "ForceCommand" in caught.value.remedy
    assert not ssh.is_connected


def test_input_output_and_error_pass_whole(ssh: OpenSsh) -> None:
    content = bytes(range(256)) * 4000
    said = ssh.run("cat; echo sorry >&2; exit 7", content)
    assert (said.code, said.output, said.error) == (7, content, "sorry\n")
    assert ssh.run("exec <&-; echo unread", content * 3).output == b"unread\n"


def test_a_command_has_a_deadline(ssh: OpenSsh) -> None:
    with pytest.raises(UnreachableError, match="no answer to a command") as caught:
        ssh.run("exec sleep 1000", deadline_s=0.1)
    assert not caught.value.is_final
    ssh.connect()
    with pytest.raises(UnreachableError, match="no answer to a command"):
        ssh.run("exec >&- 2>&- <&-; exec sleep 1000", deadline_s=0.1)


def test_a_connection_without_a_person_has_the_time_it_is_given(board: MadeSsh) -> None:
    body = 'case " $* " in *" -O "*) exit 255 ;; esac; exec sleep 1000'
    client = OpenSsh(board.settings, str(script(board.state / "slow", body)))
    with pytest.raises(UnreachableError, match="does not answer"):
        client.connect(0.1, may_ask=False)


_AT_A_TERMINAL = """
import sys
from hardstone.targets.named import SshSettings
from hardstone.targets.openssh import OpenSsh
client = OpenSsh(SshSettings(name="board", host="board"), sys.argv[1])
client.connect(20.0, may_ask=sys.argv[2] == "yes")
client.close()
client.run("true")
client.close()
"""


@pytest.mark.parametrize("may_ask, batch", [("yes", "no"), ("no", "yes")])
def test_a_person_is_asked_only_where_that_is_allowed(
    board: MadeSsh, may_ask: str, batch: str
) -> None:
    """`run`, which makes a lost connection again, asks no more than was allowed before."""
    ours, theirs = pty.openpty()
    try:
        words = [sys.executable, "-c", _AT_A_TERMINAL, str(board.state / "ssh"), may_ask]
        env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}"}
        subprocess.run(words, stdin=theirs, stderr=theirs, env=env, check=True, timeout=300)
    finally:
        os.close(ours)
        os.close(theirs)
    masters = [line for line in board.log() if " -M " in line]
    assert len(masters) == 2 and all(f"BatchMode={batch}" in line for line in masters)


def test_each_connection_checks_keys_strictly_in_a_folder_of_its_own(
    board: MadeSsh, ssh: OpenSsh
) -> None:
    """No sweep of what cut links left finds that folder."""
    ssh.run("true")
    for line in board.log():
        assert "-o NoHostAuthenticationForLocalhost=no " in line
        assert "-o VerifyHostKeyDNS=no " in line
        assert "-o StrictHostKeyChecking=yes " in line
        socket = Path(line.split()[line.split().index("-S") + 1])
        assert socket.parent.name.startswith("hardstone-master-")


def test_the_folder_of_a_killed_program_goes_when_it_is_empty(tmp_path: Path) -> None:
    names = ("old", "new", "used", "other")
    folders = {one: tmp_path / f"hardstone-master-{one}" for one in names[:3]}
    folders["other"] = tmp_path / "something-else"
    for folder in folders.values():
        folder.mkdir()
    (folders["used"] / "s").touch()
    for name in ("old", "used", "other"):
        os.utime(folders[name], (0, 0))
    remove_unused(tmp_path)
    assert sorted(name for name in names if folders[name].exists()) == ["new", "other", "used"]


def test_only_sudo_refuses_for_sudo() -> None:
    settings = SshSettings(name="sudo-board", host="b", user="anna")
    lost = "sudo-board: the connection was lost"
    folder = "/var/lib/hardstone/hardstone-ssh-0123"
    refused = refused_sudo(settings, f"{lost}: sudo: a password is required", folder)
    assert isinstance(refused, PrivilegeError)
    assert refused.cause.endswith("sudo refuses to start the probe: sudo: a password is required")
    assert "may run any command as root" in refused.remedy
    assert "anna ALL=(root) NOPASSWD: /var/lib/hardstone/hardstone-ssh-*/" in refused.remedy
    for said in (lost, f"{lost}: Killed"):
        other = refused_sudo(settings, said, folder)
        assert isinstance(other, TargetError) and "NOPASSWD" not in other.remedy
        assert "ssh anna@b sudo -n -l" in other.remedy


# ---- lines for the shell there ----


@pytest.mark.parametrize(
    "folder, word",
    [
        ("/tmp/x;touch y;#", SESSION.word),
        ("/tmp/x;touch y;#/hardstone-ssh-0123456789ab", SESSION.word),
        ("/tmp", SESSION.word),
        ("/tmp/hardstone-ssh-0123456789ab/..", SESSION.word),
        ("tmp/hardstone-ssh-0123456789ab", SESSION.word),
        ("/tmp/hardstone-ssh-", ""),
        ("/tmp/hardstone-ssh-$(id)", "$(id)"),
        ("/tmp/hardstone-ssh-a/../..", "a/../.."),
    ],
)
def test_a_session_of_another_folder_reaches_no_shell(
    board: MadeSsh, ssh: OpenSsh, folder: str, word: str
) -> None:
    session = msgspec.structs.replace(SESSION, folder=folder, word=word)
    before = board.log()
    for is_root in (False, True):
        with pytest.raises(InputError, match="no folder of hardstone's"):
            agent_line(msgspec.structs.replace(session, is_root=is_root))
    with pytest.raises(InputError, match="no folder of hardstone's"):
        boot_of(ssh, session)
    with pytest.raises(InputError, match="no folder of hardstone's"):
        remove(ssh, folder, word)
    assert board.log() == before


def test_a_session_of_ours_reaches_its_shell(board: MadeSsh, ssh: OpenSsh) -> None:
    word = SESSION.word
    folder = board.home / f"hardstone-ssh-{word}"
    folder.mkdir()
    session = msgspec.structs.replace(SESSION, folder=str(folder))
    assert f"exec {folder}/hardstone-probe agent {folder} {word} " in agent_line(session)
    boot_id, is_there = boot_of(ssh, session)
    assert len(boot_id) == 36 and not is_there
    remove(ssh, session.folder, word)
    assert board.left() == []


def test_a_wrong_lock_file_reaches_no_shell(board: MadeSsh, ssh: OpenSsh) -> None:
    before = board.log()
    with pytest.raises(InputError, match="a shell may read"):
        measured_by(ssh, "w", ["/run/lock/x;touch y"])
    assert board.log() == before


@pytest.mark.parametrize(
    "body, cause, kind",
    [
        (f"echo hardstone-boot {SESSION.word}; echo 1", "before its answer was complete",
         UnreachableError),
        ("echo This account is not available", "no shell answers.*not available", TargetError),
    ],
)  # fmt: skip
def test_a_cut_answer_is_another_error_than_none(
    board: MadeSsh, ssh: OpenSsh, body: str, cause: str, kind: type[TargetError]
) -> None:
    with_shell(board, body)
    with pytest.raises(TargetError, match=cause) as caught:
        boot_of(ssh, SESSION)
    assert type(caught.value) is kind
    assert ("ForceCommand" in caught.value.remedy) is (kind is TargetError)


def test_what_a_cut_link_left_is_found_from_any_folder(board: MadeSsh, ssh: OpenSsh) -> None:
    """Also where the folder that a login begins in has a name like those that are looked for."""
    old = board.home / "hardstone-ssh-abcdef"
    old.mkdir()
    os.utime(old, (0, 0))
    login = board.state / "hardstone-ssh-home"
    login.mkdir()
    with_shell(board, f'cd {board.state}; exec /bin/sh -c "$2"')
    session = deploy(ssh, board.settings, lambda text: None, lambda *_: board.state / "probe")
    assert board.left() == [Path(session.folder).name]
    remove(ssh, session.folder, session.word)


# ---- who measures there ----


def test_who_holds_the_lock_is_seen_by_one_login_that_puts_nothing_there(
    board: MadeSsh, ssh: OpenSsh
) -> None:
    lock, other = board.state / "lock", board.state / "other"
    locks = [str(board.state / "none" / "lock"), str(other), str(lock)]
    assert measured_by(ssh, "w", locks) is None
    lock.touch()
    other.touch()
    assert measured_by(ssh, "w", locks) is None
    before = len(board.log())
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        who = measured_by(ssh, "w", locks)
        assert who is not None and f"(pid {os.getpid()} of user " in who
        assert Path(sys.executable).name in who
        assert measured_by(ssh, "w", locks[:2]) is None
    assert measured_by(ssh, "w", locks) is None
    assert sum(" -O " not in line for line in board.log()[before:]) == 3
    assert board.left() == []


@pytest.mark.parametrize(
    "lock, who",
    [
        ("1: FLOCK ADVISORY WRITE 12 08:11:77 0 EOF",
         " (pid 12 of user 4000000000: keeper ?[2J x)"),
        ("1: FLOCK ADVISORY WRITE 13 08:11:77 0 EOF",
         " (pid 13 took the lock and has ended; fuser shows who holds it)"),
        ("1: FLOCK ADVISORY WRITE \u00b2 08:11:77 0 EOF", ""),
        ("1: FLOCK ADVISORY WRITE 12 00:19:77 0 EOF", None),  # of another mount
        ("1: FLOCK ADVISORY WRITE 12 08:11:7 0 EOF", None),
        ("1: -> FLOCK ADVISORY WRITE 12 08:11:77 0 EOF", None),  # waits for it
        ("1: POSIX ADVISORY WRITE 12 08:11:77 0 EOF", None),
        ("1: FLOCK", None),
    ],
)  # fmt: skip
def test_a_lock_is_of_its_mount_and_its_inode(
    board: MadeSsh, ssh: OpenSsh, lock: str, who: str | None
) -> None:
    answer = [
        "Welcome", "hardstone-held w",
        "20 1 8:1 / / rw - ext4 /dev/a rw",
        "21 20 0:25 / /run/lock rw - tmpfs a rw",
        "22 20 8:17 / /run/lock rw - tmpfs b rw",  # hides the one before
        "23 20 \u00b2:17 / /run rw - tmpfs c rw",
        "file 77 /run/lock/hardstone", f"lock {lock}",
        "of 12", "Uid:\t4000000000\t0\t0\t0", "keeper\0\x1b[2J\0x\0", "",
        "of 13", "", "hardstone-end w", "",
    ]  # fmt: skip
    (board.state / "answer").write_bytes("\n".join(answer).encode())
    with_shell(board, f"cat {board.state}/answer")
    assert measured_by(ssh, "w", ["/run/lock/hardstone"]) == who


# ---- the agent ----


@contextmanager
def agent_that_sends(folder: Path, *sent: Frame) -> Iterator[Agent]:
    ready = Frame(frames.READY, bytes([VERSION]))
    file = folder / "sent"
    file.write_bytes(b"hardstone-agent w\n" + b"".join(one.packed() for one in (ready, *sent)))
    pipe = subprocess.PIPE
    words = ["cat", str(file), "-"]  # until its input ends
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        agent = Agent(process, "w", "board")
        try:
            yield agent
        finally:
            agent.close()


@pytest.mark.parametrize("kind", [frames.LOCK, frames.JOB, frames.QUERY, frames.WAIT])
def test_an_answer_without_its_words_is_refused(tmp_path: Path, kind: bytes) -> None:
    with (
        agent_that_sends(tmp_path, Frame(frames.ANSWER)) as agent,
        pytest.raises(ProbeError, match="an answer without its words"),
    ):
        agent.ask(kind, [])


def test_an_answer_may_have_no_words_where_none_are_due(tmp_path: Path) -> None:
    with agent_that_sends(tmp_path, Frame(frames.ANSWER)) as agent:
        assert agent.ask(frames.STOP, ["stop"]) == []


@pytest.mark.parametrize(
    "frame, cause",
    [
        (Frame(frames.EXIT, b"\0\0"), "a frame of type b'X'"),
        (Frame(frames.OUTPUT, b"x"), "a frame of type b'O'"),
        (Frame(frames.REFUSED, b"W: NUMBER\x1b[2J"), r"the agent refused: W: NUMBER\?\[2J"),
    ],
)
def test_another_frame_than_an_answer_is_refused(tmp_path: Path, frame: Frame, cause: str) -> None:
    """A later question finds the channel closed, and no answer of an earlier one."""
    rest = words_frame(frames.ANSWER, ["locked", "/lock"])
    with agent_that_sends(tmp_path, frame, rest) as agent:
        with pytest.raises(ProbeError, match=cause):
            agent.ask(frames.LOCK, ["/lock"])
        with pytest.raises(PeerLostError):
            agent.ask(frames.LOCK, ["/lock"])


@pytest.mark.parametrize("frame", [Frame(frames.ANSWER, b"x\0"), Frame(frames.CLOCK, b"\xff" * 8)])
def test_a_clock_that_is_none_is_refused(tmp_path: Path, frame: Frame) -> None:
    with agent_that_sends(tmp_path, frame) as agent, pytest.raises(ProbeError, match="board: "):
        agent.clock()


@pytest.mark.parametrize(
    "sent",
    [
        [Frame(frames.OUTPUT, b"12345"), Frame(frames.OUTPUT, b"678901")],
        [Frame(frames.OUTPUT, b"12345"), Frame(frames.OUTPUT)],
        [Frame(frames.OUTPUT, b"12345"), Frame(frames.ANSWER)],
    ],
)
def test_no_more_of_a_file_is_taken_than_was_asked_for(tmp_path: Path, sent: list[Frame]) -> None:
    with agent_that_sends(tmp_path, *sent) as agent:
        chunks = agent.fetch("1.out", 0, 10)
        assert next(chunks) == b"12345"
        with pytest.raises(ProbeError, match="the agent there sends"):
            next(chunks)
        assert agent.has_unread


def test_the_answer_to_a_sign_of_life_is_no_other_answer(tmp_path: Path) -> None:
    """It may come after the end of the command that it was sent for."""
    late = Frame(frames.CLOCK, bytes(8))
    clock = Frame(frames.CLOCK, (5).to_bytes(8, "little"))
    answer = words_frame(frames.ANSWER, ["none"])
    with agent_that_sends(tmp_path, late, answer, late, clock) as agent:
        agent.keep_alive(alive_s=0.0)
        assert agent.ask(frames.QUERY, []) == ["none"]
        agent.keep_alive(alive_s=0.0)
        assert agent.clock().target_ns == 5


_LEAVES_ONE = """
import subprocess, sys
sys.stderr.write("sorry\\n")
sys.stderr.flush()
subprocess.Popen(["cat"], stdin=int(sys.argv[1]), stdout=subprocess.DEVNULL)
sys.exit(1)
"""


def test_an_agent_that_ends_is_told_while_another_process_holds_its_error(tmp_path: Path) -> None:
    """As the process of the connection may."""
    ours, theirs = os.pipe()
    pipe = subprocess.PIPE
    words = [sys.executable, "-IS", "-c", _LEAVES_ONE, str(ours)]
    try:
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=[ours])
        with pytest.raises(PeerLostError, match="the connection was lost: sorry"):
            Agent(process, "w", "board")
    finally:
        os.close(ours)
        os.close(theirs)
