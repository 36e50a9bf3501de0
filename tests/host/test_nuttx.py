"""The probe on NuttX, in QEMU: built from the checkouts that NUTTX_DIR and NUTTX_APPS_DIR name."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nuttx
from hardstone.targets import find_transport
from hardstone.targets.base import Stop
from hardstone.targets.transport import Limits

QEMU = "qemu-system-riscv64"
MACHINE = ["-M", "virt,aclint=on", "-m", "128", "-nographic", "-bios", "none", "-kernel"]
PROMPT = b"nsh> "
LIMIT_S = 120
NAME = "tested"
FINDINGS = nuttx.ROOT / "docs" / "findings"


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
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Builds the image, with the probe and with the program that is `hello` in its copy of the
    applications, and gives its path."""
    more = tmp_path_factory.mktemp("nuttx") / "hello.config"
    more.write_text("CONFIG_EXAMPLES_HELLO=y\n")
    options = nuttx.parse(["--name", NAME, "--setting", "full", "--config", str(more)])
    return lambda: nuttx.build(options)[0]


@pytest.fixture(scope="module")
def image(build: Callable[[], Path]) -> Path:
    return build()


@pytest.fixture(scope="module")
def shell(image: Path) -> Iterator[Shell]:
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


def _counted(image: Path, *words: str) -> bytes:
    """What a command writes where time counts instructions."""
    transport = find_transport(f"console:qemu:{image},time=instructions")
    return b"".join(transport.chunks(words, Limits(30.0, stop_s=1.0, end_s=1.0), Stop()))


def test_two_runs_of_one_image_are_the_same_on_a_busy_machine(image: Path) -> None:
    words = ("run", "TMR-P-LAT", "--json", "--samples", "200", "-p", "interval_ns=1000000")
    calm = _counted(image, *words)
    assert b'"status":"measured"' in calm
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert _counted(image, *words) == calm
    finally:
        busy.kill()
        busy.wait()


def _lines_of_page(page: str, number: int) -> list[str]:
    """What the page says that NuttX wrote, in its example `number`."""
    text = (FINDINGS / page).read_text()
    return re.findall(r"```text\nnsh> hello\n(.*?)```", text, re.DOTALL)[number].splitlines()


@pytest.mark.parametrize(
    ("program", "page", "number"),
    [
        ("inheritance_chain", "nuttx-inheritance-chain.md", 0),
        ("changed_while_inherited", "nuttx-inheritance-chain.md", 1),
        ("lowered_priority", "nuttx-lowered-priority.md", 0),
    ],
)
def test_a_finding_is_seen_again(
    build: Callable[[], Path], image: Path, program: str, page: str, number: int
) -> None:
    hello = nuttx.BUILD / NAME / "apps" / "examples" / "hello" / "hello_main.c"
    shutil.copyfile(FINDINGS / "nuttx" / f"{program}.c", hello)
    shell = Shell(build())
    try:
        said = shell.run("hello")
    finally:
        shell.close()
    lines = _lines_of_page(page, number)
    assert len(lines) >= 3
    assert "\n".join(lines) in "\n".join(line.rstrip() for line in said.splitlines())
