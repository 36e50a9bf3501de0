"""The command line in a child of this process, where all is imported already: a process of its own
for signals and streams, without the half second that Python takes to load one."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

import hardstone.campaign.campaign
import hardstone.cli.measure
import hardstone.cli.progress
import hardstone.cli.runs
import hardstone.doctor.diagnose
import hardstone.terminal.one_screen  # noqa: F401 - all of these once, and not in each child
from hardstone.calling import stay_in
from hardstone.cli.main import main
from hardstone.targets.fake import FakeTarget
from tests.process.cli.conftest import Lab
from tests.waiting import wait_until


class Forked:
    """`hardstone` with `words`; `before` is done in the child, first. Its streams go to files
    unless descriptors are given. Killed at the end of the `with`, should it still be there."""

    def __init__(
        self,
        *words: object,
        out: int | None = None,
        err: int | None = None,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self._files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115 - closed below
        self.code: int | None = None
        streams = [file.fileno() for file in self._files]
        given = [streams[0] if out is None else out, streams[1] if err is None else err]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, which a child of this kind does not need
            self.pid = os.fork()
        if self.pid == 0:
            _become([str(word) for word in words], given, before)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is None:
            self.send(signal.SIGKILL)
            self.wait()
        for file in self._files:
            file.close()

    @property
    def out(self) -> str:
        return self._text(0)

    @property
    def err(self) -> str:
        return self._text(1)

    def _text(self, place: int) -> str:
        descriptor = self._files[place].fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()

    def wait_for(self, said: str) -> None:
        """Until standard error has that."""
        wait_until(lambda: said in self.err, f"it does not say {said!r}")

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code; minus the number of the signal that ended it."""
        if self.code is None:
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
        return self.code


def at_run(lab: Lab, target: str, number: int, happens: Callable[[], object]) -> str:
    """A target of the lab that plays the fake one: `happens` while its run of that number
    measures."""
    numbers = count(1)

    class Watched(FakeTarget):
        def run(self, *how: Any) -> Generator[bytes]:
            if next(numbers) == number:
                happens()
            return super().run(*how)

    lab(target=lambda name: Watched(Path(target.removeprefix("fake:"))))
    return "lab:watched"


def interrupt() -> None:
    """Ctrl-C, at once: a signal to the process may first reach another of its threads."""
    signal.raise_signal(signal.SIGINT)


def _become(words: list[str], streams: list[int], before: Callable[[], object]) -> None:
    """Ends the process with the exit code of the command, as Python would."""
    code = 1
    try:
        for number, descriptor in enumerate(streams, 1):
            os.dup2(descriptor, number)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        warnings.simplefilter("ignore")
        os.environ["HARDSTONE_CHART_HELPERS"] = "1"  # threads that draw here were not forked
        stay_in(None)
        before()
        main(words)
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 1
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError):  # it was closed
                try:
                    stream.flush()
                except OSError:
                    code = 120
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
