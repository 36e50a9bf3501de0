"""A lab on this machine whose QEMU, kernel and programs are made up."""

from __future__ import annotations

import ast
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.lab.debian import read_kernel
from hardstone.lab.kernels import add_kernel
from hardstone.lab.lab_folder import lab_folder
from tests.process.lab import made_up, made_up_qemu
from tests.process.targets import sample
from tests.waiting import soon

KERNEL = "made"
_TESTS = ("SEM-P-SIG", "SEM-P-RTP", "MUT-P-ARC")


class MadeUpLab:
    """`folder` is for its files; `memory` is where guests have theirs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.memory = folder / "memory"
        self.programs = folder / "programs"
        self.memory.mkdir()
        self.programs.mkdir()
        self._qemu = self.programs / "qemu-system-x86_64"
        self._playing: dict[str, Any] = {"log": str(folder / "log")}

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its programs are all that is on the PATH; it has the kernel "made"."""
        if platform.machine() != "x86_64":
            pytest.skip("the made-up kernel is for x86-64")
        for name in ("hardstone-probe", "hardstone-guest"):
            (self.folder / name).write_bytes(made_up.program())
            (self.folder / name).chmod(0o755)
        where = {
            "PATH": self.programs,
            "HARDSTONE_LAB_DIR": self.folder / "lab",
            "HARDSTONE_MEMORY_DIR": self.memory,
            "HARDSTONE_PROBE": self.folder / "hardstone-probe",
            "MADE_UP_QEMU": self.folder / "play",
        }
        for name, path in where.items():
            monkeypatch.setenv(name, str(path))
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        monkeypatch.delenv("HARDSTONE_BOOT_S", raising=False)
        add_kernel(KERNEL, read_kernel(**made_up.make_kernel(self.folder / "files")))  # type: ignore[arg-type]
        self._qemu.write_text(
            f"#!{sys.executable} -IS\nimport sys\n"
            f"sys.path.insert(0, {str(Path(made_up_qemu.__file__).parent)!r})\n"
            "import made_up_qemu\nmade_up_qemu.main()\n"
        )
        self._qemu.chmod(0o755)
        self.probe("")
        self.play()

    def play(self, **how: Any) -> None:
        """What the next boots do: see made_up_qemu.py."""
        self._playing |= how
        (self.folder / "play").write_text(repr(self._playing))

    def probe(self, body: str, **facts: Any) -> None:
        """What the guest's probe does, but for what it lists, says of itself, and three tests.

        `facts` differ from those of the samples: their names have "__" for a dot.
        """
        answers = {
            "list": json.dumps(json.loads((sample.GOLDEN / "register.json").read_text())),
            "facts": msgspec.json.encode(sample.facts(**facts)).decode(),
            "selftest": "\n".join(sample.selftest()),
        }
        streams = {test: sample.stream(test) for test in _TESTS}
        path = sample.executable(
            self.folder,
            f"{body}\nanswers, streams = {answers!r}, {streams!r}\n"
            "if sys.argv[1] in answers: lines(answers[sys.argv[1]])\n"
            "elif sys.argv[1] == 'run': lines(*streams[sys.argv[2]])\n",
            "scripted",
        )
        self.play(probe=str(path))

    def boots(self) -> list[list[str]]:
        """The arguments of QEMU at each boot."""
        log = self.folder / "log"
        return (
            [ast.literal_eval(line) for line in log.read_text().splitlines()]
            if log.exists()
            else []
        )

    def processes(self) -> dict[int, bytes]:
        """Guards and guests that are there, with their command lines."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if os.fsencode(self.memory) in command and state != "Z":
                found[int(entry.name)] = command
        return found

    def left(self) -> list[str]:
        """What guests have left, after a moment for guards that still clean up."""
        return [] if soon(lambda: not self._found()) else self._found()

    def console(self) -> str:
        """The console of the last guest, as it is kept."""
        return (lab_folder() / "consoles" / f"{KERNEL}.log").read_text()

    def _found(self) -> list[str]:
        files = [str(path) for path in self.memory.rglob("*")]
        return files + [repr(command) for command in self.processes().values()]
