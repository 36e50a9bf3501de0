"""Ways to a board that hardstone takes or refuses, and what it says to whoever is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import machine
from tests.host.ssh.board import DROPBEAR, RUN, Board, Controller, Desk, Done, assert_measured

SUDO = "{} ALL=(root) NOPASSWD: ALL"
IN_MEMORY = "/dev/shm"
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


def test_an_ordinary_board(board: Board, controller: Controller) -> None:
    done = assert_measures(board, controller)
    assert f"ssh://{board.name}" in done.out, done


# ---- host keys ----

NOT_STRICT = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null"


@pytest.mark.parametrize("config", ["", NOT_STRICT, "StrictHostKeyChecking accept-new"])
def test_an_unknown_host_key(desk: Desk, board: Board, config: str) -> None:
    """Also where the user's configuration would accept any."""
    controller = desk.controller(board, is_known=False, config=config)
    assert_refused(board, controller, 4, "its host key is not known here", f"ssh {board.name}")
    assert not controller.known_hosts.exists()


@pytest.mark.parametrize("config", ["", NOT_STRICT])
def test_a_wrong_host_key(desk: Desk, board: Board, config: str) -> None:
    controller = desk.controller(board, config=config.partition("\n")[0])
    with desk.board(host_key="another") as other:
        line = f"{board.address} {other.public_key}\n"
    controller.known_hosts.write_text(line)
    said = "its host key is not the one that is known"
    assert_refused(board, controller, 4, said, f"ssh-keygen -R {board.name}")
    assert controller.known_hosts.read_text() == line


def test_a_key_that_is_not_accepted(desk: Desk, board: Board) -> None:
    controller = desk.controller(board)
    for name in ("id_ed25519", "id_ed25519.pub"):
        (controller.home / ".ssh" / name).unlink()
    assert_refused(board, controller, 4, "does not accept your keys", f"ssh-copy-id {board.name}")


def test_a_server_that_does_not_listen(board: Board, controller: Controller) -> None:
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


@pytest.mark.parametrize("name", RC_FILES)
def test_what_a_login_prints(desk: Desk, name: str) -> None:
    """As banner, message of the day and from the login scripts."""
    rc = {".bashrc": f"{RC_FILES[name]}\n", ".ssh/rc": "echo from sshd\n", ".profile": "echo no\n"}
    with desk.board(banner="Keep out!\nhardstone-agent\n" * 20, rc=rc) as board:
        assert_measures(board, desk.controller(board))


@pytest.mark.parametrize("shell", ["/usr/bin/fish", "/run/board/ash", "/bin/sh"])
def test_a_shell_of_another_kind(desk: Desk, shell: str) -> None:
    program = "busybox" if shell.endswith("/ash") else shell
    if shutil.which(program) is None:
        pytest.skip(f"{Path(program).name} is not installed")
    rc = {".config/fish/config.fish": "echo welcome\n", ".profile": "echo welcome\n"}
    with desk.board(login=shell, rc=rc) as board:
        assert_measures(board, desk.controller(board))


def test_no_shell(desk: Desk) -> None:
    with desk.board(login="/usr/sbin/nologin") as board:
        controller = desk.controller(board)
        said = ("This account is currently not available", "the account needs a login shell")
        assert_refused(board, controller, 4, *said)


def test_a_forced_command(desk: Desk) -> None:
    with desk.board(forced="/bin/echo only this") as board:
        said = ("only this", "no ForceCommand")
        assert_refused(board, desk.controller(board), 4, *said)
    with desk.board(forced='/bin/sh -c "$SSH_ORIGINAL_COMMAND"') as board:  # lets all pass
        assert_measures(board, desk.controller(board))
    with desk.board(forced="/bin/sleep 1000") as board:  # never answers
        controller = desk.controller(board)
        done = controller.run(*RUN, "--target", f"ssh://{board.name}", within_s=90)
        assert done.code == 4, done
        board.wait_for_nothing_left()


def test_dropbear(desk: Desk) -> None:
    if not Path(DROPBEAR).exists() or shutil.which("dropbearconvert") is None:
        pytest.skip("dropbear is not installed")
    with desk.board(server="dropbear", login="/run/board/ash") as board:
        assert_measures(board, desk.controller(board))


def test_a_slow_link(board: Board, controller: Controller) -> None:
    controller.slow(0.2, 400_000)
    done = controller.run(*RUN, "--target", f"ssh://{board.name}")
    assert done.code in (0, 3), done
    assert_measured(*controller.runs())
    board.wait_for_nothing_left()


# ---- folders ----


@pytest.mark.parametrize("fault", ["full", "noexec", "read-only"])
def test_a_folder_that_takes_no_program(desk: Desk, fault: str) -> None:
    """Another one is taken where there is one; else each is told with its reason."""
    with desk.board(faults={IN_MEMORY: fault}) as board:
        assert_measures(board, desk.controller(board))
    with desk.board(user="tester", faults=dict.fromkeys(ALL_FOLDERS, fault)) as board:
        words = {"full": "full", "noexec": "noexec", "read-only": "cannot be written"}[fault]
        said = (*(f"{folder}: " for folder in ALL_FOLDERS[:3]), words, "--folder PATH")
        assert_refused(board, desk.controller(board), 4, *said)


def test_a_folder_of_the_users_choice(board: Board, controller: Controller) -> None:
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


def test_an_account_without_rights(desk: Desk) -> None:
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


@machine.needs(no_sudo())
def test_sudo_for_the_probe(desk: Desk) -> None:
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


@machine.needs(no_sudo())
def test_sudo_that_asks_for_a_password(desk: Desk) -> None:
    with desk.board(user="tester", sudo="tester ALL=(root) ALL") as board:
        controller = desk.controller(board)
        url = f"ssh://{board.name}"
        assert controller.run("target", "add", "b", url, "--sudo").code == 0
        done = controller.run(*RUN, "--target", "b")
        assert done.code == 5, done
        assert "a password is required" in done.said and "NOPASSWD" in done.said, done
        board.wait_for_nothing_left()


# ---- the probe in a cache ----


def test_a_probe_that_is_kept(board: Board, controller: Controller) -> None:
    """Under its hash; one that was changed there is not run."""
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
