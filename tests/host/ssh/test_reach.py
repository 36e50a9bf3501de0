"""Ways to a board that hardstone takes or refuses, and what it says to whoever is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.host.ssh.at_once import Cases, Outcomes
from tests.host.ssh.board import DROPBEAR, RUN, Board, Controller, Desk, Done, assert_measured

SUDO = "{} ALL=(root) NOPASSWD: ALL"
IN_MEMORY = "/dev/shm"
AT_ONCE = 4
cases = Cases()
ALL_FOLDERS = (IN_MEMORY, "/tmp", "/var/tmp", "/home")


def assert_measures(board: Board, controller: Controller, *words: str) -> Done:
    """It does, and leaves nothing there."""
    done = controller.run(*RUN, "--target", f"ssh://{board.name}", *words)
    assert done.code in (0, 3), done  # 3: too busy to be trusted
    assert_measured(*controller.runs())
    board.wait_for_nothing_left()
    controller.wait_for_nothing_left()
    return done


def assert_refused(board: Board, controller: Controller, code: int, *said: str) -> None:
    """In these words, at once, and without a trace."""
    done = controller.run(*RUN, "--target", f"ssh://{board.name}")
    assert done.code == code, done
    missing = [words for words in said if words not in done.said]
    assert not missing, (missing, done)
    assert not controller.runs()
    board.wait_for_nothing_left()
    controller.wait_for_nothing_left()


@cases
def an_ordinary_board(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        done = assert_measures(board, controller)
        assert f"ssh://{board.name}" in done.out, done


# ---- host keys ----

NOT_STRICT = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null"


@cases.each(
    "", NOT_STRICT, "StrictHostKeyChecking accept-new", names=("plain", "not-strict", "new")
)
def an_unknown_host_key(desk: Desk, config: str) -> None:
    """Also where the user's configuration would accept any."""
    with desk.board() as board:
        controller = desk.controller(board, is_known=False, config=config)
        assert_refused(board, controller, 4, "its host key is not known here", f"ssh {board.name}")
        assert not controller.known_hosts.exists()


@cases.each("", NOT_STRICT, names=("plain", "not-strict"))
def a_wrong_host_key(desk: Desk, config: str) -> None:
    with desk.board() as board:
        controller = desk.controller(board, config=config.partition("\n")[0])
        with desk.board(host_key="another") as other:
            line = f"{board.address} {other.public_key}\n"
        controller.known_hosts.write_text(line)
        said = "its host key is not the one that is known"
        assert_refused(board, controller, 4, said, f"ssh-keygen -R {board.name}")
        assert controller.known_hosts.read_text() == line


@cases
def a_key_that_is_not_accepted(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        for name in ("id_ed25519", "id_ed25519.pub"):
            (controller.home / ".ssh" / name).unlink()
        assert_refused(
            board, controller, 4, "does not accept your keys", f"ssh-copy-id {board.name}"
        )


@cases
def a_server_that_does_not_listen(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        board.kill(board.servers())
        done = controller.run(*RUN, "--target", f"ssh://{board.name}", within_s=60)
        assert done.code == 4 and "Connection refused" in done.said, done
        assert f"ssh {board.name}" in done.said and not controller.runs()


# ---- the channel ----

LIKE_OURS = "hardstone-agent 0123456789ab\\n\\nhardstone-look x\\nhardstone-end x\\n"
RC_FILES = {
    "words": "echo welcome; date; uptime",
    "no line end": "printf 'last login: today'",
    "to both": "echo one; echo two >&2",
    "bytes": "head -c 100000 /dev/urandom",
    "much": "head -c 100000 /dev/zero | tr '\\0' x",
    "lines that look like ours": f"printf '{LIKE_OURS}'",
}


@cases.each(*RC_FILES)
def what_a_login_prints(desk: Desk, name: str) -> None:
    """As banner, message of the day and from the login scripts."""
    rc = {".bashrc": f"{RC_FILES[name]}\n", ".ssh/rc": "echo from sshd\n", ".profile": "echo no\n"}
    with desk.board(banner="Keep out!\nhardstone-agent\n" * 20, rc=rc) as board:
        assert_measures(board, desk.controller(board))


@cases.each("/usr/bin/fish", "/run/board/ash", "/bin/sh", names=("fish", "ash", "sh"))
def a_shell_of_another_kind(desk: Desk, shell: str) -> None:
    program = "busybox" if shell.endswith("/ash") else shell
    if shutil.which(program) is None:
        pytest.skip(f"{Path(program).name} is not installed")
    rc = {".config/fish/config.fish": "echo welcome\n", ".profile": "echo welcome\n"}
    with desk.board(login=shell, rc=rc) as board:
        assert_measures(board, desk.controller(board))


@cases
def no_shell(desk: Desk) -> None:
    with desk.board(login="/usr/sbin/nologin") as board:
        controller = desk.controller(board)
        said = ("This account is currently not available", "the account needs a login shell")
        assert_refused(board, controller, 4, *said)


@cases
def a_forced_command(desk: Desk) -> None:
    with desk.board(forced="/bin/echo only this") as board:
        said = ("only this", "no ForceCommand")
        assert_refused(board, desk.controller(board), 4, *said)
    with desk.board(forced='/bin/sh -c "$SSH_ORIGINAL_COMMAND"') as board:  # lets all pass
        assert_measures(board, desk.controller(board))


@cases
def dropbear(desk: Desk) -> None:
    if not Path(DROPBEAR).exists() or shutil.which("dropbearconvert") is None:
        pytest.skip("dropbear is not installed")
    with desk.board(server="dropbear", login="/run/board/ash") as board:
        assert_measures(board, desk.controller(board))


@cases
def a_slow_link(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        controller.slow(0.2, 400_000)
        done = controller.run(*RUN, "--target", f"ssh://{board.name}")
        assert done.code in (0, 3), done
        assert_measured(*controller.runs())
        board.wait_for_nothing_left()


# ---- folders ----


@cases.each("full", "noexec", "read-only")
def a_folder_that_takes_no_program(desk: Desk, fault: str) -> None:
    """Another one is taken where there is one; else each is told with its reason."""
    with desk.board(faults={IN_MEMORY: fault}) as board:
        assert_measures(board, desk.controller(board))
    with desk.board(user="tester", faults=dict.fromkeys(ALL_FOLDERS, fault)) as board:
        words = {"full": "full", "noexec": "noexec", "read-only": "cannot be written"}[fault]
        said = (*(f"{folder}: " for folder in ALL_FOLDERS[:3]), words, "--folder PATH")
        assert_refused(board, desk.controller(board), 4, *said)


@cases
def a_folder_of_the_users_choice(desk: Desk) -> None:
    with desk.board() as board:
        controller = desk.controller(board)
        url = f"ssh://{board.name}"
        assert controller.run("target", "add", "b", url, "--folder", "/var/tmp").code == 0
        process = controller.start(*RUN, "--target", "b")
        board.wait_for_job()
        assert {Path(one).parents[1] for one in board.of_runs(".begun")} == {Path("/var/tmp")}
        out, said = process.communicate(timeout=60)
        assert process.returncode in (0, 3), (out, said)
        assert_measured(*controller.runs())
        board.wait_for_nothing_left()
        assert controller.run("target", "add", "c", url, "--folder", "/nowhere").code == 0
        done = controller.run(*RUN, "--target", "c")
        assert done.code == 4 and "/nowhere" in done.said, done


# ---- rights ----


@cases
def an_account_without_rights(desk: Desk) -> None:
    """It measures, not as real-time, and `target check` says what to type."""
    with desk.board(user="tester") as board:
        controller = desk.controller(board)
        done = controller.run("target", "check", f"ssh://{board.name}")
        assert done.code == 5, done
        for words in ("not granted there: real-time scheduling", "--sudo", "rtprio"):
            assert words in done.out + done.said, (words, done)
        board.wait_for_nothing_left()
        done = controller.run(*RUN, "--target", f"ssh://{board.name}")
        (run,) = controller.runs()
        assert run.status == "complete" and run.system["user.effective_id"] != 0
        board.wait_for_nothing_left()


def no_sudo() -> str | None:
    """Whether sudo lets root through where it would let anybody."""
    if shutil.which("sudo") is None:
        return "sudo is not installed"
    done = subprocess.run(["sudo", "-n", "true"], capture_output=True, text=True, check=False)
    return f"sudo does not work here: {done.stderr.strip()}" if done.returncode else None


def skip_without_sudo() -> None:
    if reason := no_sudo():
        pytest.skip(reason)


@cases
def sudo_for_the_probe(desk: Desk) -> None:
    skip_without_sudo()
    with desk.board(user="tester", sudo=SUDO.format("tester")) as board:
        controller = desk.controller(board)
        url = f"ssh://{board.name}"
        assert controller.run("target", "add", "b", url, "--sudo").code == 0
        done = controller.run("target", "check", "b")
        assert done.code == 0, done
        done = controller.run(*RUN, "--target", "b")
        assert done.code in (0, 3), done
        (run,) = controller.runs()
        assert_measured(run)
        assert run.system["user.effective_id"] == 0
        board.wait_for_nothing_left()


@cases
def sudo_that_asks_for_a_password(desk: Desk) -> None:
    skip_without_sudo()
    with desk.board(user="tester", sudo="tester ALL=(root) ALL") as board:
        controller = desk.controller(board)
        url = f"ssh://{board.name}"
        assert controller.run("target", "add", "b", url, "--sudo").code == 0
        done = controller.run(*RUN, "--target", "b")
        assert done.code == 5, done
        assert "a password is required" in done.said and "NOPASSWD" in done.said, done
        board.wait_for_nothing_left()


# ---- the probe in a cache ----


@cases
def a_probe_that_is_kept(desk: Desk) -> None:
    """Under its hash; one that was changed there is not run."""
    with desk.board() as board:
        controller = desk.controller(board)
        url = f"ssh://{board.name}"
        assert controller.run("target", "add", "b", url, "--keep-probe").code == 0
        for _ in range(2):
            done = controller.run(*RUN, "--target", "b")
            assert done.code in (0, 3), done
        assert_measured(*controller.runs())
        kept = {one for one in board.left() if "/.cache/hardstone/probe-" in one}
        assert len(kept) == 1
        others = {f"file {board.kind.home}/.cache", f"file {board.kind.home}/.cache/hardstone"}
        assert board.left() - kept - others == set()
        (name,) = kept
        file = board.path(name.removeprefix("file "))
        file.write_bytes(b"#!/bin/sh\necho 1.0.0; touch /tmp/ran\n")
        controller.run(*RUN, "--target", "b")
        assert not board.path("/tmp/ran").exists()


@pytest.mark.parametrize("name", cases.known)
def test_reach(name: str, outcomes: Outcomes) -> None:
    outcomes[name].result()
