"""The probe on NuttX, in QEMU: built from the checkouts that NUTTX_DIR and NUTTX_APPS_DIR name."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import nuttx

QEMU = "qemu-system-riscv64"
MACHINE = ["-M", "virt,aclint=on", "-m", "128", "-nographic", "-bios", "none", "-kernel"]
PROMPT = b"nsh> "
LIMIT_S = 120


def _missing() -> str:
    for name in nuttx.VARIABLES.values():
        if not os.environ.get(name):
            return f"{name} names no checkout"
    for program in (QEMU, f"{nuttx.BOARDS['rv-virt'].tools}gcc"):
        if not shutil.which(program):
            return f"there is no {program}"
    return ""


pytestmark = pytest.mark.skipif(bool(_missing()), reason=_missing() or "all is there")


class Shell:
    """The shell of an emulated NuttX."""

    def __init__(self, image: Path) -> None:
        self._qemu = subprocess.Popen(
            [QEMU, *MACHINE, str(image)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._until_prompt()

    def _until_prompt(self) -> str:
        assert self._qemu.stdout is not None
        descriptor, read, end_s = self._qemu.stdout.fileno(), b"", time.monotonic() + LIMIT_S
        while not read.replace(b"\x1b[K", b"").endswith(PROMPT):
            left_s = end_s - time.monotonic()
            assert left_s > 0, f"no prompt after {LIMIT_S} s: {read[-2000:]!r}"
            if select.select([descriptor], [], [], left_s)[0]:
                more = os.read(descriptor, 65536)
                assert more, f"QEMU ended: {read[-2000:]!r}"
                read += more
        return read.decode("utf-8", "replace").replace("\r", "")

    def run(self, command: str) -> str:
        assert self._qemu.stdin is not None
        self._qemu.stdin.write(command.encode() + b"\r")
        self._qemu.stdin.flush()
        return self._until_prompt()

    def close(self) -> None:
        self._qemu.kill()
        self._qemu.communicate()


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    image, _ = nuttx.build(nuttx.parse(["--setting", "full"]))
    shell = Shell(image)
    yield shell
    shell.close()


def test_it_lists_its_tests_and_measures_one_twice(shell: Shell) -> None:
    assert "CLK-B-RES  Clock resolution and monotonicity" in shell.run("hardstone list --text")
    for _ in range(2):  # what a run leaves behind in memory must not change the next one
        said = shell.run("hardstone run CLK-B-RES --samples 100 --text")
        assert "clock rdtime" in said
        assert "step counter" in said


def test_joined_threads_have_left_their_stacks(shell: Shell) -> None:
    said = shell.run("hardstone run THR-B-PRI --text")
    assert "pass  ready_order: 253 threads" in said
    assert "did not get the CPU" not in said


def test_a_message_that_is_too_long_for_the_system_is_not_asked_of_it(shell: Shell) -> None:
    said = shell.run(
        "hardstone run MSG-P-LAT -p kinds=mq -p sizes_bytes=64,65536 --samples 5 --text"
    )
    assert "latency mq" in said
    assert "65536" in said
    assert "probe.port" in shell.run("hardstone facts --text")  # it still lives


@pytest.mark.parametrize("test", ["MSG-P-LAT", "MSG-P-THR", "SIG-P-LAT", "POS-B-INV"])
def test_a_test_that_met_a_fault_of_the_system_ends_and_the_system_lives(
    shell: Shell, test: str
) -> None:
    said = shell.run(f"hardstone run {test} --samples 20 --text")
    assert "instrument: " in said
    assert "timeout: " not in said
    assert "denied: " not in said
    if test == "POS-B-INV":
        assert "thread_sporadic_server: untried: left out by the port" in said
    assert "probe.port" in shell.run("hardstone facts --text")
