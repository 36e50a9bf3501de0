"""A load under test: its processes, known by a mark that each inherits, and what it says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.running import children
from tests.waiting import wait_until

GIVE_UP_S = 60
MARK = "HARDSTONE_TEST_MARK"
Line = dict[str, Any]


def _state_and_start(process: Path) -> tuple[str, str]:
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return fields[0], fields[19]


class Marked:
    """The processes that carry one mark, or work in the folder: stress-ng writes over its
    environment."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._folder: Path | None = None
        self._known: set[tuple[int, str]] = set()  # with their starts: ids are given again

    def environment(self, folder: Path) -> dict[str, str]:
        self._folder = folder
        return {**os.environ, MARK: self.mark, "TMPDIR": str(folder)}

    def all(self) -> dict[int, str]:
        """Name by id. Whoever ends loses its environment first, and its files and sockets after
        it: those that were seen count until they are dead."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                state, start = _state_and_start(path)
                one = (int(path.name), start)
                if state in "ZX" or (one not in self._known and not self._is_marked(path)):
                    continue
                self._known.add(one)
                found[one[0]] = (path / "comm").read_text().strip()
        return found

    def _is_marked(self, process: Path) -> bool:
        words = (process / "environ").read_bytes().split(b"\0")
        if f"{MARK}={self.mark}".encode() in words:
            return True
        place = str((process / "cwd").readlink())
        return place.startswith(f"{self._folder}/hardstone-load-")

    def named(self, name: str) -> list[int]:
        return [pid for pid, known in self.all().items() if known == name]

    def wait_for(self, name: str) -> int:
        return wait_until(lambda: self.named(name))[0]

    def wait_for_none(self) -> None:
        wait_until(lambda: not self.all())


def lines_of(raw: bytes) -> list[Line]:
    return [json.loads(line) for line in raw.splitlines()]


def elements(lines: Sequence[Line]) -> dict[str, Line]:
    return {line["element"]: line for line in lines if line["type"] == "load"}


def events(lines: Sequence[Line]) -> dict[str, str]:
    return {line["name"]: line["text"] for line in lines if line["type"] == "event"}


class RunningLoad:
    """A probe with load: `lines` of what it sent once it has ended."""

    def __init__(self, process: subprocess.Popen[bytes], marked: Marked, folder: Path) -> None:
        self.process, self.marked, self.folder = process, marked, folder

    def wait_until_it_runs(self) -> None:
        """All wait at one gate, so that of any one that works they all do. On a busy machine some
        come late: the probe then says so, and goes on."""
        assert self.process.stdout is not None
        self.head = [self.process.stdout.readline()]
        while not any(name in self.head[-1] for name in (b"load_runs", b"load_not_settled")):
            self.head.append(self.process.stdout.readline())
            assert self.head[-1] != b""

    def end(self) -> list[Line]:
        out, _ = self.process.communicate(timeout=GIVE_UP_S)
        assert self.process.returncode == 0
        return lines_of(b"".join(self.head) + out)

    def kill(self, name: str) -> int:
        pid = self.process.pid if name == "probe" else wait_until(lambda: self._ours(name)).pop()
        os.kill(pid, signal.SIGKILL)
        return pid

    def own(self, name: str) -> list[int]:
        """Processes of the load of this name, without what they started."""
        return sorted(self._ours(name))

    def stop(self) -> list[Line]:
        """Ends its input, which is the order to end; its lines."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None
        return self.end()

    def have_all_ended(self) -> bool:
        """Not even a dead one is left of those that the keeper started: it has noted how each of
        them ended."""
        return not children(self.marked.wait_for("hs-load-keeper"))

    def _ours(self, name: str) -> set[int]:
        """Those of the load itself: what they start has their name until it has its own."""
        found = set(self.marked.named(name))
        if name in {"hs-load-guard", "hs-load-keeper"}:
            return found
        return found & children(self.marked.wait_for("hs-load-keeper"))


def load_command(probe: Path, load: str, *options: str) -> list[str]:
    return [str(probe), "load", load, "--json", "--until-eof", *options]


@contextmanager
def loading(
    probe: Path, load: str, folder: Path, *options: str, prefix: Sequence[str] = ()
) -> Iterator[RunningLoad]:
    """`hardstone-probe load` until its input ends; its files are made in `folder`."""
    marked = Marked()
    with subprocess.Popen(
        [*prefix, *load_command(probe, load, *options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=marked.environment(folder),
    ) as process:
        running = RunningLoad(process, marked, folder)
        try:
            running.wait_until_it_runs()
            yield running
        finally:
            process.kill()
            process.communicate()
            marked.wait_for_none()


def once(probe: Path, load: str, folder: Path, *options: str, prefix: Sequence[str] = ()) -> Any:
    """One load for a given time: its lines."""
    marked = Marked()
    done = subprocess.run(
        [*prefix, str(probe), "load", load, "--json", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIVE_UP_S,
        check=False,
        env=marked.environment(folder),
    )
    assert done.returncode == 0, done.stderr
    assert marked.all() == {}
    return lines_of(done.stdout)


def used_bytes(folder: Path) -> int:
    facts = os.statvfs(folder)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


def load_in_places_of_its_own(probe: Path, script: str, cpu: str, *more: str) -> list[Line]:
    """What a load says that `script` starts with mounts of its own: $0 is a copy of the probe that
    no mount hides, $1 the CPU; skips where it exits with 77. `more`: options of unshare."""
    copy = Path(f"/dev/shm/hardstone-test-{os.getpid()}")
    shutil.copy(probe, copy)
    try:
        done = subprocess.run(
            ["unshare", "--mount", *more, "sh", "-c", script, str(copy), cpu],
            capture_output=True,
            timeout=GIVE_UP_S,
            check=False,
        )
    finally:
        copy.unlink()
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 0, done.stderr
    return lines_of(done.stdout)
