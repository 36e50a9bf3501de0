"""The boards themselves: what the other tests here rely on."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.host.ssh.board import DROPBEAR, Board, Controller, Desk, desk_in, ended
from tests.waiting import soon, wait_until

FORGET = ("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2", "-o", "ConnectTimeout=3")


def test_a_command_over_ssh(board: Board, controller: Controller) -> None:
    done = controller.ssh(board, "hostname; cat /proc/sys/kernel/random/boot_id; id -u; pwd")
    assert done.code == 0, done
    assert done.out.split() == [board.name, board.boot_id, "0", board.kind.home]
    board.wait_for_nothing_left()


def test_a_file_goes_there_without_scp(board: Board, controller: Controller, probe: Path) -> None:
    line = f"ssh {board.name} 'cat > /tmp/copy && chmod 700 /tmp/copy' < {probe}"
    assert controller.shell(line).code == 0
    digest = hashlib.sha256(probe.read_bytes()).digest()
    assert hashlib.sha256(board.path("/tmp/copy").read_bytes()).digest() == digest
    board.wait_for_sessions_to_end()
    assert board.left() == {"file /tmp/copy"}


def test_what_is_left_is_found(board: Board, controller: Controller) -> None:
    line = "mkdir /dev/shm/d; touch .cache; (setsid sleep 300 </dev/null >/dev/null 2>&1 &)"
    assert controller.ssh(board, line).code == 0
    (pid,) = wait_until(lambda: [pid for pid, name in board.processes().items() if name == "sleep"])
    board.wait_for_sessions_to_end()
    left = {"file /dev/shm/d", f"file {board.kind.home}/.cache", f"process {pid}: sleep"}
    assert board.left() == left
    assert not Path("/dev/shm/d").exists()
    assert controller.ssh(board, "touch /usr/it /etc/it").code != 0  # of this machine


def test_a_cut_link_is_silent_until_it_is_mended(board: Board, controller: Controller) -> None:
    session = controller.popen(["ssh", board.name, "echo begun; sleep 100"])
    assert session.stdout is not None and session.stdout.readline() == "begun\n"
    board.cut()
    assert controller.ssh(board, "true", *FORGET).code == 255
    assert session.poll() is None and board.sessions()
    board.mend()
    assert soon(lambda: controller.ssh(board, "true", *FORGET).code == 0, 60)


def test_killed_sessions_and_a_killed_server(board: Board, controller: Controller) -> None:
    session = controller.popen(["ssh", board.name, "sleep 100"])
    wait_until(lambda: "sleep" in board.processes().values())
    board.kill(board.sessions())
    assert ended(session, 20).code == 255
    assert controller.ssh(board, "true").code == 0
    board.kill(board.servers())
    assert controller.ssh(board, "true").code == 255
    board.start_server()
    assert controller.ssh(board, "true").code == 0


def test_a_reboot(board: Board, controller: Controller) -> None:
    assert controller.ssh(board, "touch /tmp/gone /var/tmp/kept kept").code == 0
    session = controller.popen(["ssh", *FORGET, board.name, "sleep 100"])
    wait_until(lambda: "sleep" in board.processes().values())
    boot_id = board.boot_id
    board.reboot()
    assert ended(session, 20).code == 255
    done = controller.ssh(board, "cat /proc/sys/kernel/random/boot_id; ls /tmp /var/tmp .")
    assert done.out.split() == [board.boot_id, ".:", "kept", "/tmp:", "/var/tmp:", "kept"]
    assert boot_id != board.boot_id


def test_boards_share_no_lock(desk: Desk) -> None:
    """And are reached from one desk."""
    lock = "/run/lock/hardstone-measuring.lock"
    with desk.board() as one, desk.board() as other:
        controller = desk.controller(one, other)
        session = controller.popen(["ssh", one.name, f"flock {lock} sh -c 'echo held; sleep 100'"])
        assert session.stdout is not None and session.stdout.readline() == "held\n"
        assert controller.ssh(one, f"flock -n {lock} true").code == 1
        assert controller.ssh(other, f"flock -n {lock} true").code == 0


def test_an_unknown_host_and_a_wrong_key(desk: Desk, board: Board) -> None:
    done = desk.controller(board, is_known=False).ssh(board, "true")
    assert done.code == 255 and "Host key verification failed" in done.said
    with desk.board(host_key="another") as other:
        controller = desk.controller(other)
        controller.known_hosts.write_text(f"{other.address} {board.public_key}\n")
        done = controller.ssh(other, "true")
        assert done.code == 255 and "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.said


@pytest.mark.parametrize("shell", ["/usr/bin/fish", "/run/board/ash", "/usr/sbin/nologin"])
def test_the_shell_of_the_account(desk: Desk, shell: str) -> None:
    program = "busybox" if shell.endswith("ash") else shell
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    with desk.board(login=shell) as board:
        controller = desk.controller(board)
        shell_name = "readlink /proc/$fish_pid/exe" if "fish" in shell else "readlink /proc/$$/exe"
        done = controller.ssh(board, shell_name)
        if shell.endswith("nologin"):
            assert done.code == 1 and "not available" in done.out
        else:
            assert Path(done.out.strip()).name == Path(program).name, done
        board.wait_for_nothing_left()


def test_a_forced_command_and_what_shells_print(desk: Desk) -> None:
    with desk.board(forced="/bin/echo only this") as board:
        assert desk.controller(board).ssh(board, "true").out == "only this\n"
    with desk.board(banner="keep out\n", rc={".bashrc": "echo from the rc file\n"}) as board:
        done = desk.controller(board).ssh(board, "echo answer")
        assert done.out == "from the rc file\nanswer\n" and "keep out" in done.said


def test_folders_that_take_no_program(desk: Desk) -> None:
    faults = {"/tmp": "full", "/dev/shm": "noexec", "/var/tmp": "read-only"}
    with desk.board(faults=faults) as board:
        controller = desk.controller(board)
        full = controller.ssh(board, "cp /bin/true /tmp/it")
        assert full.code != 0 and "No space left" in full.said
        noexec = controller.ssh(board, "cp /bin/true /dev/shm/it && /dev/shm/it")
        assert noexec.code == 126 and "Permission denied" in noexec.said
        assert "Read-only" in controller.ssh(board, "touch /var/tmp/it").said


def test_an_account_that_is_not_root(desk: Desk) -> None:
    with desk.board(user="tester", sudo="tester ALL=(ALL) NOPASSWD: ALL") as board:
        controller = desk.controller(board)
        assert controller.ssh(board, "id -un; pwd; touch it").out.split() == [
            "tester",
            board.kind.home,
        ]
        board.wait_for_sessions_to_end()
        assert board.left() == {f"file {board.kind.home}/it"}
        if shutil.which("sudo") is None:
            pytest.skip("sudo is not installed")
        assert controller.ssh(board, "sudo -n id -u").out == "0\n"


def test_dropbear(desk: Desk) -> None:
    if not Path(DROPBEAR).exists() or shutil.which("dropbearconvert") is None:
        pytest.skip("dropbear is not installed")
    with desk.board(server="dropbear") as board:
        done = desk.controller(board).ssh(board, "hostname")
        assert done.out == f"{board.name}\n", done
        board.wait_for_nothing_left()


def test_a_slow_link(board: Board, controller: Controller) -> None:
    controller.slow(0.05, 200_000)
    begin_s = time.monotonic()
    done = controller.ssh(board, "head -c 200000 /dev/zero | tr '\\0' x")
    assert len(done.out) == 200_000
    assert time.monotonic() - begin_s > 1.2  # a dozen turns, and a second


def test_clocks_of_its_own(desk: Desk) -> None:
    with desk.board(uptime_s=1_000_000) as board:
        done = desk.controller(board).ssh(board, "cat /proc/uptime")
        own_s = float(Path("/proc/uptime").read_text().split()[0])
        assert abs(float(done.out.split()[0]) - own_s - 1_000_000) < 60


def test_the_server_sleeps_while_nobody_asks(board: Board, controller: Controller) -> None:
    assert controller.ssh(board, "true").code == 0
    board.wait_for_sessions_to_end()
    before = board.switches()
    assert before > 0
    assert controller.ssh(board, "true").code == 0
    assert board.switches() > before


# ---- the end of all ----


def of_the_network() -> tuple[set[str], str]:
    """Mounts and links of this machine."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
    return set(Path("/proc/self/mounts").read_text().splitlines()), links.stdout


def inits(folder: Path) -> list[int]:
    """First processes of boards in the folder, their parents, and holders of desks."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in words and b"init.py" in words:
            found.append(int(path.parent.name))
    return found


def test_nothing_is_left_of_a_board_after_a_failure(
    boards_can_be_made: None, tmp_path: Path
) -> None:
    before = of_the_network()
    folder = tmp_path / "desk"
    folder.mkdir()
    with pytest.raises(ZeroDivisionError), desk_in(folder) as desk, desk.board() as board:
        desk.controller(board).popen(["ssh", board.name, "sleep 1000"])
        wait_until(lambda: "sleep" in board.processes().values())
        assert inits(folder)
        raise ZeroDivisionError
    assert of_the_network() == before
    assert not inits(folder)
    assert not board.processes() and not desk.marked.all()
    shutil.rmtree(folder)


ALONE = """
import sys, time
from pathlib import Path
from tests.host.ssh.board import desk_in
with desk_in(Path(sys.argv[1])) as desk, desk.board() as board:
    print("up", flush=True)
    time.sleep(1000)
"""


def test_nothing_is_left_of_a_board_whose_maker_was_killed(
    boards_can_be_made: None, tmp_path: Path
) -> None:
    before = of_the_network()
    words = [sys.executable, "-c", ALONE, str(tmp_path)]
    path = os.pathsep.join([f"{ROOT}", f"{ROOT}/src"])
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as maker:
        assert maker.stdout is not None and maker.stdout.readline() == b"up\n"
        assert inits(tmp_path)
        maker.send_signal(signal.SIGKILL)
    assert soon(lambda: not inits(tmp_path), 20)
    assert of_the_network() == before
