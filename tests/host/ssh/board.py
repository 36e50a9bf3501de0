"""A board that SSH reaches, and a desk from which somebody measures it: both are namespaces of this
machine, joined by a virtual cable.

A board has a network, processes, a host name and a boot ID of its own, and folders of its own where
anything can be written: /run, /tmp and /dev/shm in memory, /home and /var/tmp on a disk that
outlives a reboot. All else is this machine's, and cannot be changed from there. Its clocks, CPUs
and kernel are this machine's, too.

Whatever happens to the test, a board ends with the process that made it: the kernel then ends its
processes and takes its mounts and its end of the cable with them.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from hardstone.model import Result, RunDocument
from hardstone.stats.identity import series_problem
from hardstone.store.store import Store
from tests.conftest import ROOT
from tests.host.place import Marked
from tests.running import children, has_ended
from tests.waiting import soon, wait_until

HERE = Path(__file__).parent
SSHD = "/usr/sbin/sshd"
DROPBEAR = "/usr/sbin/dropbear"
START_S = 30
RUN = ("run", "TMR-P-LAT", "-D", "300ms")
USER_ID = 1001
LISTENS = ":0016 00000000:0000 0A "  # port 22, in /proc/net/tcp
# Where a board can be written to. /run/board has what the harness put there.
WRITABLE = ("/run", "/tmp", "/dev/shm", "/var/tmp", "/home")
# Of a lock that was taken once the file stays, as on this machine; of a login what a shell keeps.
STAYS = ("/run/board", "/run/lock/hardstone-measuring.lock", "/run/sudo")
OURS = "/hardstone-ssh-"  # how the folder of a run begins
OF_SHELLS = (".local/share/fish", ".config/fish", ".bash_history", ".ssh/authorized_keys")


def no_boards() -> str | None:
    """Why boards cannot be made here."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    for name in (SSHD, "ip", "ssh", "ssh-keygen", "unshare", "nsenter", "mount", "hostname"):
        if shutil.which(name) is None:
            return f"{Path(name).name} is not installed"
    cable = "ip link add name near type veth peer name far"
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "sh", "-c", cable]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "no namespaces can be made here" if done.returncode else None


def own_key(name: str) -> tuple[str, str]:
    """A private key of this session, and its public half."""
    with _KEYS:  # the cache alone would let two threads make one each
        return _made_key(name)


_KEYS = threading.Lock()


@cache
def _made_key(name: str) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="hardstone-key-") as folder:
        file = Path(folder, "key")
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(file)]
        subprocess.run(words, check=True)
        return file.read_text(), file.with_suffix(".pub").read_text()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a board is like. `server`: openssh or dropbear. `user`, `login`: the account, its shell.
    `forced`: sshd's ForceCommand. `banner`: what sshd shows before a login. `rc`: files of the
    account's home by name. `faults`: "full", "noexec" or "read-only" by folder. `sudo`: a line of
    sudoers for the account. `small`: a folder of 32 MiB. `uptime_s`: how much longer than this
    machine it has been running, as its own clocks tell. `host_key`: which of the keys it shows."""

    server: str = "openssh"
    user: str = "root"
    login: str = "/bin/bash"
    forced: str = ""
    banner: str = ""
    rc: Mapping[str, str] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    sudo: str = ""
    small: str = ""
    uptime_s: int = 0
    host_key: str = "board"

    @property
    def home(self) -> str:
        return f"/home/{self.user}"


class Desk:
    """The network of those who measure: a namespace in which their commands run. Use `desk_in`."""

    def __init__(self, holder: subprocess.Popen[str], folder: Path) -> None:
        self.folder, self._holder = folder, holder
        self.marked = Marked(folder)
        self.started: list[subprocess.Popen[str]] = []
        self.variables: dict[str, str] = {}  # of all commands
        self._boards, self._controllers = count(1), count(1)  # of several threads

    @property
    def pid(self) -> int:
        return self._holder.pid

    def within(self, *words: str) -> None:
        subprocess.run(["nsenter", f"--target={self.pid}", "--net", *words], check=True)

    @contextmanager
    def board(self, **of_kind: Any) -> Iterator[Board]:
        """A board that is up, whose key every controller made later knows."""
        number = next(self._boards)
        board = Board(self, number, self.folder / f"board{number}", Kind(**of_kind))
        try:
            board.boot()
            yield board
        finally:
            board.power_off()

    def controller(self, *boards: Board, config: str = "", is_known: bool = True) -> Controller:
        """Somebody who measures, with a home, a store and a configuration of SSH of his own."""
        home = self.folder / f"home{next(self._controllers)}"
        return Controller(self, home, boards, config, is_known=is_known)

    def clock(self) -> Clock:
        """A wall clock that can be set, for commands that get its variables."""
        return Clock(self.folder)


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long offset_s(void)
{
    long seconds = 0;
    FILE *file = fopen(getenv("CLOCK_OFFSET"), "re");
    if (file != NULL) {
        if (fscanf(file, "%ld", &seconds) != 1)
            seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += offset_s();
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now != NULL)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
"""


class Clock:
    """Use `Desk.clock`. Other clocks, and those of other programs, are as they are."""

    def __init__(self, folder: Path) -> None:
        source, library = folder / "clock.c", folder / "clock.so"
        source.write_text(CLOCK)
        words = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
        subprocess.run(words, check=True)
        self._offset = folder / "clock-offset"
        self.set(0)
        self.variables = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    def set(self, later_s: int) -> None:
        """By how much it is ahead."""
        self._offset.write_text(f"{later_s}\n")


@contextmanager
def desk_in(folder: Path) -> Iterator[Desk]:
    """Short is the folder's path: it is in that of sockets."""
    made = "mount --make-rprivate / && ip link set lo up && echo made && read x"
    with subprocess.Popen(
        ["unshare", "--net", "--mount", "sh", "-c", made],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        desk = Desk(holder, folder)
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "made\n"
            yield desk
        finally:
            holder.kill()
            for pid in desk.marked.all():  # of a test that failed, or killed its command
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in desk.started:
                process.kill()
                process.communicate()


class Board:
    """Use `Desk.board`."""

    def __init__(self, desk: Desk, number: int, folder: Path, kind: Kind) -> None:
        self.desk, self.number, self.folder, self.kind = desk, number, folder, kind
        self.name = f"board{number}"
        self.address, self._desk_address = f"10.43.{number}.2", f"10.43.{number}.1"
        self.boot_id = ""
        self.log = folder / "log"
        self._process: subprocess.Popen[str] | None = None
        self._init = 0
        self._first_files: set[str] = set()
        self._write_files()

    # ---- its disk ----

    def _write_files(self) -> None:
        kind, disk, etc = self.kind, self.folder / "disk", self.folder / "etc"
        for name in ("home", "var_tmp"):
            (disk / name).mkdir(parents=True)
        (disk / "var_tmp").chmod(0o1777)
        etc.mkdir()
        own = self.folder / "run"
        own.mkdir()
        numbers = "0:0" if kind.user == "root" else f"{USER_ID}:{USER_ID}"
        account = f"{kind.user}:x:{numbers}:board:{kind.home}:{kind.login}\n"
        root = "" if kind.user == "root" else "root:x:0:0:root:/:/bin/sh\n"
        others = "sshd:x:65533:65534:sshd:/run/sshd:/usr/sbin/nologin\n"
        machine_id = uuid.uuid5(uuid.NAMESPACE_DNS, str(self.folder)).hex
        files = {
            "passwd": account + root + others + "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
            "group": f"root:x:0:\nnogroup:x:65534:\nboard:x:{USER_ID}:\n",
            "shadow": f"{kind.user}:*:19000:0:99999:7:::\n",
            "shells": f"{kind.login}\n/bin/sh\n",
            "hostname": f"{self.name}\n",
            "hosts": f"127.0.0.1 localhost {self.name}\n",
            "machine-id": f"{machine_id}\n",
            "sudoers": f"root ALL=(ALL:ALL) ALL\n{kind.sudo}\n",
            "motd": "Welcome to the board.\n",
        }
        for name, text in files.items():
            (etc / name).write_text(text)
            (etc / name).chmod(0o440 if name == "sudoers" else 0o644)
        private, public = own_key(f"host-{kind.host_key}")
        (own / "host_key").write_text(private)
        (own / "host_key").chmod(0o600)
        self.public_key = " ".join(public.split()[:2])
        keys = own_key("controller")[1]
        (own / "authorized_keys").write_text(keys)
        (own / "banner").write_text(kind.banner)
        (own / "sshd_config").write_text(self._sshd_config())
        if Path(kind.login).is_relative_to("/run/board"):  # a name of busybox
            (own / Path(kind.login).name).symlink_to(shutil.which("busybox") or "busybox")
        home = disk / kind.home.lstrip("/")
        (home / ".ssh").mkdir(mode=0o700, parents=True)
        for name, text in {".ssh/authorized_keys": keys, **kind.rc}.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        if kind.user != "root":
            for path in (home, *home.rglob("*")):
                os.chown(path, USER_ID, USER_ID)
        if kind.server == "dropbear":
            words = [
                "dropbearconvert",
                "openssh",
                "dropbear",
                str(own / "host_key"),
                str(own / "dropbear_key"),
            ]
            subprocess.run(words, check=True, capture_output=True)

    def _sshd_config(self) -> str:
        lines = [
            "Port 22",
            "ListenAddress 0.0.0.0",
            "HostKey /run/board/host_key",
            "AuthorizedKeysFile /run/board/authorized_keys",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin yes",
            "StrictModes no",
            "UsePAM no",
            "UseDNS no",
            "PidFile none",
            "PrintMotd yes",
        ]
        if self.kind.banner:
            lines.append("Banner /run/board/banner")
        if self.kind.forced:
            lines.append(f"ForceCommand {self.kind.forced}")
        return "\n".join([*lines, ""])

    def _settings(self) -> dict[str, Any]:
        etc, disk = self.folder / "etc", self.folder / "disk"
        binds = [(str(self.folder / "run"), "/run/board")]
        binds += [(str(file), f"/etc/{file.name}") for file in etc.iterdir()]
        # What this machine lacks, as /etc/sudoers without sudo, a board lacks too.
        binds = [
            (source, target)
            for source, target in binds
            if not target.startswith("/etc") or Path(target).exists()
        ]
        binds.append((str(self.folder / "boot_id"), "/proc/sys/kernel/random/boot_id"))
        faults = self.kind.faults
        if "/home" not in faults:
            binds.append((str(disk / "home"), "/home"))
        servers = {
            "openssh": [SSHD, "-D", "-e", "-f", "/run/board/sshd_config"],
            "dropbear": [DROPBEAR, "-F", "-E", "-p", "22", "-r", "/run/board/dropbear_key"],
        }
        return {
            "name": self.name,
            "binds": binds,
            "var_tmp": str(disk / "var_tmp"),
            "faults": {**faults, **({self.kind.small: "small"} if self.kind.small else {})},
            "modes": {self.kind.home: "700"},
            "server": servers[self.kind.server],
        }

    # ---- power ----

    def boot(self) -> None:
        """Until its server listens. The next boot has another ID, and its memory is empty."""
        self.boot_id = str(uuid.uuid4())
        (self.folder / "boot_id").write_text(f"{self.boot_id}\n")
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps(self._settings()))
        later = [
            "--time",
            *(f"--{clock}={self.kind.uptime_s}" for clock in ("boottime", "monotonic")),
        ]
        words = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        words += ["--mount-proc", *(later if self.kind.uptime_s else [])]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*words, sys.executable, "-I", str(HERE / "init.py"), str(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "made\n", self.log.read_text()
        (self._init,) = children(self._process.pid)
        self._lay_cable()
        self.start_server()
        self._first_files = self.files()

    def _lay_cable(self) -> None:
        near = f"board{self.number}"
        cable = ["type", "veth", "peer", "name", "eth0", "netns", str(self._init)]
        self.desk.within("ip", "link", "add", "name", near, *cable)
        self.desk.within("ip", "address", "add", f"{self._desk_address}/24", "dev", near)
        self.desk.within("ip", "link", "set", near, "up")
        self._within("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self._within("ip", "link", "set", "eth0", "up")

    def _within(self, *words: str) -> None:
        subprocess.run(["nsenter", f"--target={self._init}", "--net", *words], check=True)

    def power_off(self) -> None:
        """At once, as when the plug is pulled. Files in memory are lost, the cable is dead."""
        if self._process is not None:
            self._process.kill()  # --kill-child: its first process, with that all others
            self._process.communicate()
            # It ends after all others.
            wait_until(lambda: has_ended(self._init), "the board does not end", START_S)
            self._process = None

    def reboot(self) -> None:
        self.power_off()
        self.boot()

    def start_server(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write("server\n")
        self._process.stdin.flush()
        wait_until(self._listens, "the server does not listen", START_S)

    def _listens(self) -> bool:
        return LISTENS in Path(f"/proc/{self._init}/net/tcp").read_text()

    # ---- the cable ----

    def cut(self) -> None:
        """Nobody is told: what is sent from either side is lost."""
        self._within("ip", "link", "set", "eth0", "down")

    def mend(self) -> None:
        self._within("ip", "link", "set", "eth0", "up")

    # ---- its processes ----

    def _all_processes(self) -> dict[int, str]:
        """All of them descend from the first one: it gets the orphans."""
        found: dict[int, str] = {}
        left = [self._init]
        while left:
            pid = left.pop()
            path = Path(f"/proc/{pid}")
            with suppress(OSError):
                if (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                    found[pid] = (path / "comm").read_text().strip()
                left += children(pid)
        return found

    def processes(self) -> dict[int, str]:
        """Names by this machine's IDs, but for the first one and the servers."""
        servers = self.servers()
        return {
            pid: name
            for pid, name in self._all_processes().items()
            if pid != self._init and pid not in servers
        }

    def servers(self) -> set[int]:
        """Those that listen."""
        names = ("sshd", "dropbear")
        known = self._all_processes()
        return {
            pid
            for pid in children(self._init)
            if known.get(pid, "").startswith(names) and self._is_listener(pid)
        }

    def _is_listener(self, pid: int) -> bool:
        """A session whose listener was killed has the first process as its parent, too."""
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            return b"listener" in words or words.startswith(DROPBEAR.encode() + b"\0-F")
        return False

    def sessions(self) -> set[int]:
        """Processes of the server that serve a connection."""
        return {
            pid for pid, name in self.processes().items() if name.startswith(("sshd", "dropbear"))
        }

    def wait_for_sessions_to_end(self) -> None:
        wait_until(lambda: not self.sessions(), "a session stays", START_S)

    def probes(self) -> set[int]:
        """The agent, the keeper, and the probes at work."""
        return {pid for pid, name in self.processes().items() if name.startswith("hardstone")}

    def has_agent(self) -> bool:
        """Somebody is connected to the agent."""
        return bool(self.sessions()) and len(self.probes()) > 1

    def jobs(self) -> set[int]:
        """The probes that run a test."""
        found = set()
        for pid in self.probes():
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                found |= {pid} if words[1:2] == [b"run"] else set()
        return found

    def kill(self, pids: set[int]) -> None:
        """Of this board."""
        for pid in pids & self._all_processes().keys():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def switches(self) -> int:
        """How often the server's tasks have been switched, of their own will or not."""
        tasks = (
            task
            for pid in self.servers() | self.sessions()
            for task in Path(f"/proc/{pid}/task").iterdir()
        )
        lines = (line for task in tasks for line in (task / "status").read_text().splitlines())
        return sum(int(line.split()[1]) for line in lines if "voluntary_ctxt_switches" in line)

    # ---- its files ----

    def path(self, name: str) -> Path:
        """A file of the board, as seen from here."""
        return Path(f"/proc/{self._init}", "root", name.lstrip("/"))

    def files(self) -> set[str]:
        found = set()
        for name in WRITABLE:
            for folder, folders, files in os.walk(self.path(name)):
                place = "/" + str(Path(folder).relative_to(self.path("/")))
                found |= {f"{place}/{one}" for one in (*folders, *files)}
        return found

    def of_runs(self, ending: str) -> set[str]:
        """Files with this ending in the folders of runs."""
        return {one for one in self.files() if OURS in one and one.endswith(ending)}

    def size_bytes(self, name: str) -> int:
        with suppress(OSError):
            return self.path(name).stat().st_size
        return 0

    def wait_for_job(self) -> None:
        wait_until(lambda: self.of_runs(".begun"), "no test begins", START_S)

    def fill(self, folder: str) -> None:
        """Takes all space that is left there."""
        with suppress(OSError), self.path(f"{folder}/fill").open("wb", buffering=0) as file:
            while file.write(bytes(1 << 16)):
                pass

    def is_measuring(self) -> bool:
        """A test runs there, and nobody is connected."""
        return len(self.of_runs(".begun")) > len(self.of_runs(".exit")) and not self.sessions()

    def left(self) -> set[str]:
        """What is there beyond what the board was started with."""
        shell_files = tuple(f"{self.kind.home}/{name}" for name in OF_SHELLS)
        parents = {str(one) for name in shell_files for one in Path(name).parents}
        found = {
            f"file {name}"
            for name in self.files() - self._first_files - parents
            if not name.startswith((*STAYS, *shell_files))
        }
        return found | {f"process {pid}: {name}" for pid, name in self.processes().items()}

    def wait_for_nothing_left(self, within_s: float = START_S) -> None:
        assert soon(lambda: not self.left(), within_s), self.left()


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    said: str

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.said}"


class Controller:
    """Use `Desk.controller`."""

    def __init__(
        self, desk: Desk, home: Path, boards: Sequence[Board], config: str, *, is_known: bool
    ) -> None:
        self.desk, self.home, self.place = desk, home, home
        ssh = home / ".ssh"
        ssh.mkdir(mode=0o700, parents=True)
        private, public = own_key("controller")
        (ssh / "id_ed25519").write_text(private)
        (ssh / "id_ed25519").chmod(0o600)
        (ssh / "id_ed25519.pub").write_text(public)
        self.known_hosts = ssh / "known_hosts"
        if is_known:
            self.known_hosts.write_text(
                "".join(f"{one.address} {one.public_key}\n" for one in boards)
            )
        hosts = (
            f"Host {one.name}\nHostName {one.address}\nUser {one.kind.user}\n" for one in boards
        )
        (ssh / "config").write_text("\n".join([*hosts, "Host *", config, ""]))
        # ssh takes the home from there, and not from the environment.
        self._passwd = home / "passwd"
        self._passwd.write_text(f"root:x:0:0:root:{home}:/bin/sh\n")
        self.temporary = home / "tmp"
        self.temporary.mkdir()

    @property
    def _prefix(self) -> list[str]:
        """The ID of the process stays that of the command: each of them is replaced by the next."""
        bind = 'mount --bind "$1" /etc/passwd && shift && exec "$@"'
        enter = ["nsenter", f"--target={self.desk.pid}", "--net", "--mount", f"--wd={self.place}"]
        return [*enter, "unshare", "--mount", "sh", "-c", bind, "sh", str(self._passwd)]

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_RUNTIME_DIR": str(self.temporary),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": f"{ROOT}/src",
            "COLUMNS": "200",
        }
        unwanted = ("SSH_AUTH_SOCK", "SSH_ASKPASS", "DISPLAY", "HARDSTONE_MEMORY_DIR")
        kept = {
            name: text
            for name, text in self.desk.marked.environment.items()
            if name not in unwanted
        }
        return {**kept, **own, **self.desk.variables}

    def popen(self, words: Sequence[str], **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self._prefix, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**self.environment, **variables},
            start_new_session=True,
        )
        self.desk.started.append(process)
        return process

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """`hardstone` with these words, at work; it stores in this one's store."""
        return self.popen([sys.executable, "-m", "hardstone", *words], **variables)

    def run(self, *words: str, within_s: float = 120, **variables: str) -> Done:
        """`hardstone` with these words, to its end; the test fails after `within_s`."""
        return ended(self.start(*words, **variables), within_s)

    def shell(self, line: str, within_s: float = 120) -> Done:
        return ended(self.popen(["sh", "-c", line]), within_s)

    def ssh(self, board: Board, command: str, *options: str, within_s: float = 60) -> Done:
        """A command on a board, without hardstone."""
        return ended(
            self.popen(["ssh", "-o", "BatchMode=yes", *options, board.name, command]), within_s
        )

    def slow(self, delay_s: float, bytes_per_s: float) -> None:
        """From now on every connection is."""
        words = [sys.executable, "-I", str(HERE / "slow_link.py"), "%h", "%p"]
        line = f"ProxyCommand {shlex.join(words)} {delay_s} {bytes_per_s}\n"
        with (self.home / ".ssh/config").open("a") as file:
            file.write(line)

    def quick(self) -> None:
        """From now on no connection is slow."""
        file = self.home / ".ssh/config"
        lines = file.read_text().splitlines()
        file.write_text(
            "\n".join(one for one in lines if not one.startswith("ProxyCommand")) + "\n"
        )

    def store(self) -> Store:
        return Store(self.home / "data/hardstone")

    def runs(self) -> list[RunDocument]:
        store = self.store()
        return [store.load(entry.id) for entry in store.runs()]

    def left(self) -> set[str]:
        """Processes, journals and temporary files that are still here."""
        found = {f"process {pid}: {name}" for pid, name in self.desk.marked.all().items()}
        places = (self.temporary, self.home / "data/hardstone/journals")
        return found | {f"file {one}" for place in places for one in place.glob("*")}

    def wait_for_nothing_left(self, within_s: float = START_S) -> None:
        assert soon(lambda: not self.left(), within_s), self.left()


def has_values(result: Result) -> bool:
    """Also where the boards beside took the CPU, and the probe says that its figures show that."""
    return result.status in ("measured", "failed") and any(one.count for one in result.series)


def assert_measured(*runs: RunDocument) -> None:
    """Complete, and all that was recorded is in the results."""
    assert runs, "no run was stored"
    for run in runs:
        said = [(one.test, one.status, one.reason) for one in run.results]
        assert run.status == "complete" and all(map(has_values, run.results)), said
        problems = [series_problem(series) for one in run.results for series in one.series]
        assert not any(problems), problems


def ended(process: subprocess.Popen[str], within_s: float) -> Done:
    try:
        out, said = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
        raise AssertionError(f"it has not ended within {within_s} s:\n{out}\n{said}") from None
    return Done(process.returncode, out, said)
