"""Where a test starts what it looks for afterwards: processes with a mark that each inherits,
objects in name spaces of their own, files in one folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.running import Running, Stream, command, note_crash
from tests.waiting import wait_until

MARK = "HARDSTONE_TEST_MARK"
FIRST_PIDS = "pid:[4026531836]"  # the first PID namespace has this name in every kernel
MOST_QUEUED = 1000  # signals of other programs of this user
# Answers each line with what is there in memory, and a last line.
HOLDER = """
mount -t tmpfs hardstone-test /dev/shm && mount -t mqueue hardstone-test /mnt || exit
mount -t tracefs hardstone-test /sys/kernel/tracing 2>/dev/null
echo made
while read x; do
    tail -qn +2 /proc/sysvipc/msg /proc/sysvipc/sem /proc/sysvipc/shm
    ls -A /dev/shm; ls -A /mnt; echo end
done
"""


class Marked:
    """The processes that carry one mark, or work in the folder: stress-ng writes over its
    environment."""

    def __init__(self, folder: Path) -> None:
        self._mark, self._folder = uuid.uuid4().hex, folder
        self._known: set[tuple[int, str]] = set()  # with their starts: ids are given again

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, MARK: self._mark, "TMPDIR": str(self._folder)}

    def all(self) -> dict[int, str]:
        """Name by id. Whoever ends loses its environment first, and its files and sockets after
        it: those that were seen count until they are dead."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                one = (int(path.name), fields[19])
                if fields[0] in "ZX" or (one not in self._known and not self._is_marked(path)):
                    continue
                self._known.add(one)
                found[one[0]] = (path / "comm").read_text().strip()
        return found

    def _is_marked(self, process: Path) -> bool:
        words = (process / "environ").read_bytes().split(b"\0")
        if f"{MARK}={self._mark}".encode() in words:
            return True
        place = str((process / "cwd").readlink())
        return place.startswith(f"{self._folder}/hardstone-load-")

    def named(self, name: str) -> list[int]:
        return [pid for pid, known in self.all().items() if known == name]

    def wait_for(self, name: str) -> int:
        return wait_until(lambda: self.named(name))[0]

    def wait_for_none(self) -> None:
        wait_until(lambda: not self.all())


class Place:
    """`prefix`: words before a command that is to be here."""

    def __init__(self, holder: subprocess.Popen[str], folder: Path) -> None:
        self._holder, self.folder, self.marked = holder, folder, Marked(folder)
        self.prefix = ["nsenter", "--ipc", "--mount", f"--target={holder.pid}"]
        self._started: list[int] = []

    def objects(self) -> list[str]:
        """System V objects, message queues, and files in memory: one line each."""
        assert self._holder.stdin is not None and self._holder.stdout is not None
        self._holder.stdin.write("\n")
        self._holder.stdin.flush()
        return list(iter(self._holder.stdout.readline, "end\n"))

    def left(self) -> set[str]:
        """Of all that was started here."""
        found = {f"process {pid}: {name}" for pid, name in self.marked.all().items()}
        found |= {f"in memory: {line}" for line in self.objects()}
        found |= {f"file {path}" for path in self.folder.rglob("*")}
        for pid in self._started:
            found |= {f"trace {path.name}" for path in self._traces.glob(f"hardstone-{pid}-*")}
            # os.walk passes over a group that goes meanwhile.
            groups = (Path(path) for path, _, _ in os.walk("/sys/fs/cgroup"))
            found |= {f"group {p}" for p in groups if p.name.startswith(f"hardstone-memory-{pid}-")}
        if queued_count() > MOST_QUEUED:
            found.add("queued signals")
        return found

    @property
    def _traces(self) -> Path:
        return Path("/proc", str(self._holder.pid), "root", "sys/kernel/tracing/instances")

    @property
    def no_traces(self) -> str | None:
        """Why nothing can be traced here."""
        if not self._traces.exists():
            return "this kernel has no tracefs, or lets nobody mount it"
        if str(Path("/proc/self/ns/pid").readlink()) != FIRST_PIDS:
            return "the thread IDs in the kernel's events are not those of this PID namespace"
        return None

    def is_traced(self, pid: int, count: int) -> bool:
        """So many instances are there, and all of them record."""
        with suppress(OSError):
            found = self._traces.glob(f"hardstone-{pid}-*")
            return [(one / "tracing_on").read_text() for one in found] == ["1\n"] * count
        return False

    @contextmanager
    def measuring(self, probe: Path, test: str, *words: str, **variables: str) -> Iterator[Running]:
        words = (*words, "--dir", str(self.folder)) if test.startswith("FIO-P-") else words
        with subprocess.Popen(
            [*self.prefix, *command(probe, test, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**self.marked.environment, **variables},
        ) as process:
            self._started.append(process.pid)
            try:
                yield Running(process, test)
            finally:
                process.kill()
                note_crash(test, process.wait())


def dumped(probe: Path, file: Path, test: str) -> Stream:
    """What a probe recorded into a file, also one that is at work or was killed."""
    done = subprocess.run([probe, "dump", file, "--json"], capture_output=True, check=False)
    return Stream(test, done.returncode, done.stdout, done.stderr.decode())


def queued_count() -> int:
    """Signals that are queued for this user, by whatever process."""
    line = Path("/proc/self/status").read_text().partition("\nSigQ:")[2].split()[0]
    return int(line.partition("/")[0])


@contextmanager
def place_in(folder: Path) -> Iterator[Place]:
    if os.geteuid() != 0 or not all(map(shutil.which, ("nsenter", "unshare"))):
        pytest.skip("only root can set this apart, with unshare and nsenter")
    with subprocess.Popen(
        ["unshare", "--ipc", "--mount", "sh", "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != "made\n":
                pytest.skip("no name spaces can be made here")
            yield Place(holder, folder)
        finally:
            holder.kill()


@contextmanager
def group_of(controller: str, **values: str) -> Iterator[Path]:
    """A control group of the process that asks, of either version."""
    mount = Path("/sys/fs/cgroup", controller)
    mount = mount if mount.is_dir() else mount.parent
    own = Path("/proc/self/cgroup").read_text().splitlines()
    (inside,) = [one.split(":")[2] for one in own if controller in one.split(":")[1]][:1] or ["/"]
    group = mount / inside.lstrip("/") / f"hardstone-test-{os.getpid()}"
    try:
        group.mkdir()
        for name, value in values.items():
            (group / f"{controller}.{name}").write_text(value)
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no group of {controller} can be made here: {error}")
    try:
        yield group
    finally:
        wait_until(lambda: (group / "cgroup.procs").read_text() == "")
        group.rmdir()


def within(group: Path) -> list[str]:
    """Words before a command."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
