"""The probe, really built for another architecture, says and records the same."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import TargetError
from hardstone.lab.initramfs import Programs
from hardstone.model import Register
from hardstone.targets.arches import arch_of, cross_compiler, own_arch
from hardstone.targets.build import programs_for
from hardstone.targets.probe_target import decode_facts
from tests.conftest import PROBE, ROOT
from tests.waiting import wait_until

OTHER = "x86_64" if own_arch() == "aarch64" else "aarch64"
KEPT = ROOT / "build" / "other-architecture"
HEAD_BYTES = 24  # signature, size and version of the layout: record/arena.h
_VALUES = re.compile(rb'"count":[1-9].*"type":"result"', re.DOTALL)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    """Built once for each state of the source, and without optimisation, which takes half the time:
    tests/process/targets/test_static_probes.py runs the optimised code of each architecture."""
    try:
        compiler = cross_compiler(OTHER)
    except TargetError as error:
        pytest.skip(str(error))
    KEPT.mkdir(parents=True, exist_ok=True)
    quick = KEPT / "hardstone-quick-cc"  # found on the path: words of the variable end at blanks
    quick.write_text(f'#!/bin/sh\nexec {shlex.join(compiler)} "$@" -O0\n')
    quick.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(KEPT), prepend=os.pathsep)
        patch.setenv(arch_of(OTHER).variable, quick.name)
        patch.setenv("HARDSTONE_LAB_DIR", str(KEPT))
        yield programs_for(OTHER)


@pytest.fixture(scope="module")
def emulator() -> str:
    found = shutil.which(f"qemu-{OTHER}") or shutil.which(f"qemu-{OTHER}-static")
    if found is None:
        pytest.skip(f"there is no qemu-{OTHER}: sudo apt-get install qemu-user")
    return found


def test_the_programs_are_static_and_of_that_architecture(programs: Programs) -> None:
    programs.check(OTHER)


def test_the_same_tests_with_the_same_parameters(programs: Programs, emulator: str) -> None:
    theirs = subprocess.run(
        [emulator, programs.probe, "list", "--json"], capture_output=True, check=True
    )
    own = subprocess.run([PROBE, "list", "--json"], capture_output=True, check=True)
    assert theirs.stdout == own.stdout
    assert msgspec.json.decode(theirs.stdout, type=Register).tests


def test_compiler_and_library_are_told(programs: Programs, emulator: str) -> None:
    told = subprocess.run(
        [emulator, programs.probe, "facts", "--json"], capture_output=True, check=True
    )
    facts = decode_facts(told.stdout)
    assert facts.facts["machine.arch"] == OTHER
    assert facts.facts["virtual.emulated"] is True
    assert facts.compiler and facts.libc.startswith(("glibc ", "musl"))


def test_the_guest_without_a_channel_says_so(programs: Programs, emulator: str) -> None:
    told = subprocess.run([emulator, programs.guest], capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert told.stdout.startswith("hardstone-guest: no channel to the host")


def recorded(command: list[str], file: Path) -> bytes:
    """What a probe recorded until it was killed."""
    options = ["TMR-P-LAT", "-D", "1h", "--policy", "other", "--cpu", "0", "--backing", str(file)]
    probe = subprocess.Popen(
        [*command, "run", *options], stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wait_until(lambda: _VALUES.search(dumped(file)) or probe.poll() is not None)
        assert probe.poll() is None
    finally:
        os.killpg(probe.pid, signal.SIGKILL)
        probe.wait()
    return file.read_bytes()


def dumped(file: Path) -> bytes:
    return subprocess.run([PROBE, "dump", str(file)], capture_output=True, check=False).stdout


def test_a_recording_of_that_architecture_is_read_here(
    programs: Programs, emulator: str, tmp_path: Path
) -> None:
    theirs = recorded([emulator, str(programs.probe)], tmp_path / "theirs")
    own = recorded([str(PROBE)], tmp_path / "own")
    assert theirs[:HEAD_BYTES] == own[:HEAD_BYTES]
    lines = dumped(tmp_path / "theirs").splitlines()
    first, *others, last = map(msgspec.json.decode, lines)
    assert first["type"] == "header"
    assert any(one["type"] == "series" and one["count"] > 0 for one in others)
    assert last["type"] == "result" and "was killed" in last["reason"]
