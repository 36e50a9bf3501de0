"""A load under test: its processes, known by a mark that each inherits, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import machine
from tests.host.place import Marked
from tests.running import children
from tests.waiting import wait_until

GIVE_UP_S = 60
ONE_CPU = ("--cpus", str(machine.cpu()))
Line = dict[str, Any]


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
    marked = Marked(folder)
    with subprocess.Popen(
        [*prefix, *load_command(probe, load, *options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=marked.environment,
    ) as process:
        running = RunningLoad(process, marked, folder)
        try:
            running.wait_until_it_runs()
            yield running
        finally:
            process.kill()
            process.communicate()
            marked.wait_for_none()
