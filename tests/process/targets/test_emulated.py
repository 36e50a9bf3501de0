"""An image in an emulator that hardstone starts. QEMU is a script here: it does what job.c does, or
what the test says."""

from __future__ import annotations

import os
import re
import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hardstone.errors import InputError, TargetError
from hardstone.targets import find_transport
from hardstone.targets.base import ProbeError, Stop
from hardstone.targets.console.address import parse_console
from hardstone.targets.console.emulated_guest import job_bytes, open_emulated, read_settings
from hardstone.targets.console.job import JobTransport
from hardstone.targets.transport import Limits

Emulates = Callable[[str], None]
_LIMITS = Limits(300.0, stop_s=1.0, end_s=1.0)
# Finds what QEMU gives to the guest, then acts: `said` answers with frames, as the probe does.
_QEMU = """#!{python} -IS
import os, re, sys, time, zlib
words = " ".join(sys.argv)
job = re.search(r"loader,file=([^,]+),addr=(0x[0-9a-f]+)", words)
command = open(job[1], "rb").read() if job else b""
path = re.search(r"file,id=console,path=(\\S+)", words)
descriptor = re.search(r"socket,id=console,fd=([0-9]+)", words)
console = open(path[1], "wb", 0) if path else os.fdopen(int(descriptor[1]), "r+b", 0)
def said(output, code=0):
    token = command.split(b" ")[3]
    frames = [(b"^", b"1"), *((b".", line) for line in output.splitlines())]
    frames.append((b"!", b"%d %d %08x" % (code, len(output), zlib.crc32(output))))
    for number, (kind, payload) in enumerate(frames):
        head = b"%s %d %s " % (token, number, kind)
        console.write(b"@hs:%s%08x %s\\r\\n" % (head, zlib.crc32(head + payload), payload))
{act}
"""


def _elf(folder: Path, bits: int, machine: int) -> Path:
    path = folder / f"image-{bits}-{machine}"
    path.write_bytes(b"\x7fELF" + bytes([bits // 32, 1]) + bytes(12) + struct.pack("<H", machine))
    return path


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return _elf(tmp_path, 64, 243)


@pytest.fixture
def emulates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulates:
    """Call it with what QEMU does."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path))

    def write(act: str) -> None:
        script = tmp_path / "qemu-system-riscv64"
        script.write_text(_QEMU.format(python=sys.executable, act=act))
        script.chmod(0o755)

    return write


def _job(image: Path) -> JobTransport:
    found = find_transport(f"console:qemu:{image},time=instructions")
    assert isinstance(found, JobTransport)
    return found


def _run(image: Path, *words: str, stop: Stop | None = None) -> bytes:
    return b"".join(_job(image).chunks(list(words), _LIMITS, stop or Stop()))


def test_a_command_is_in_memory_before_the_boot_and_its_output_comes_back(
    image: Path, emulates: Emulates, tmp_path: Path
) -> None:
    emulates("said(repr((job[2], command)).encode() + b'\\n')")
    output = _run(image, "run", "TMR-P-LAT", "--backing", "/nowhere", "--json").decode()
    words = re.search(r"hardstone console ([0-9a-f]{4}) ([0-9a-f]{8}) run TMR-P-LAT --json", output)
    assert words is not None and "@hs-job hardstone" in output and r"\x00" in output
    assert "0x84000000" in output, "the address that the port is configured with"
    assert zlib.crc32(f"{words[1]} run TMR-P-LAT --json".encode()) == int(words[2], 16)
    assert output == _run(image, "run", "TMR-P-LAT", "--json").decode(), "nothing in it is random"
    assert not list(tmp_path.glob("hardstone-lab-*")), "its files are gone"


def test_time_that_counts_instructions_is_asked_for_on_one_processor(
    image: Path, emulates: Emulates
) -> None:
    emulates("pass")
    settings = read_settings(parse_console(f"console:qemu:{image},time=instructions,memory=256"))
    command = " ".join(settings.command(("file", "path=/c,,d"), Path("/a,b/job")))
    assert "-accel tcg,thread=single -smp 1 -m 256M" in command
    assert "-icount shift=1,sleep=off -rtc base=2026-01-01T00:00:00,clock=vm" in command
    assert "-chardev file,id=console,path=/c,,d -serial chardev:console" in command
    assert "-device loader,file=/a,,b/job,addr=0x84000000,force-raw=on" in command
    assert settings.facts()["virtual.time"] == "instructions"


def test_in_real_time_nothing_counts_and_nothing_is_loaded(image: Path, emulates: Emulates) -> None:
    emulates("pass")
    settings = read_settings(parse_console(f"console:qemu:{image}"))
    command = " ".join(settings.command(("socket", "fd=7")))
    assert "-icount" not in command and "loader" not in command
    facts = settings.facts()
    assert (facts["virtual.emulated"], facts["virtual.time"]) == (True, None)


@pytest.mark.parametrize(
    ("bits", "machine", "name", "options"),
    [
        (64, 243, "rv-virt", "qemu-system-riscv64 -machine virt -bios none -cpu rv64"),
        (32, 243, "rv-virt", "qemu-system-riscv32 -machine virt -bios none -cpu rv32"),
        (32, 40, "qemu-armv7a", "qemu-system-arm -machine virt,highmem=off -cpu cortex-a7"),
        (64, 183, "qemu-armv8a", "qemu-system-aarch64 -machine virt,gic-version=3 -cpu cortex-a57"),
    ],
)
def test_the_machine_is_that_of_the_image(
    bits: int,
    machine: int,
    name: str,
    options: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda program: program)
    image = _elf(tmp_path, bits, machine)
    settings = read_settings(parse_console(f"console:qemu:{image}"))
    assert settings.machine == name
    assert " ".join(settings.command(("socket", "fd=7"))).startswith(options)


def test_an_image_for_another_machine_and_other_settings_are_refused(
    image: Path, tmp_path: Path
) -> None:
    for words, cause in (
        ("machine=qemu-armv7a", "does not fit"),
        ("machine=pc", "machine=pc is not known"),
        ("time=real", "time=real is not known"),
        ("memory=64", "is not a size in MiB"),
    ):
        with pytest.raises(InputError, match=cause):
            read_settings(parse_console(f"console:qemu:{image},{words}"))
    text = tmp_path / "text"
    text.write_text("no image at all, though long enough")
    with pytest.raises(InputError, match="is not an image for"):
        read_settings(parse_console(f"console:qemu:{text}"))
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(parse_console(f"console:qemu:{tmp_path}/missing"))
    with pytest.raises(InputError, match="takes 2000"):
        job_bytes("run " + 2000 * "x")


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        ("console.write(b'nothing to do\\n')", "without running the command: .*nothing to do"),
        (
            "console.write(b'riscv_exception: EXCEPTION: Load access fault\\n'); "
            "console.write(b'dump_assert_info: Current Version: NuttX\\n'); time.sleep(60)",
            "the system crashed: riscv_exception: EXCEPTION: Load access fault",
        ),
        (
            "console.write(b'riscv_exception: EXCEPTION: Load access fault\\n')",
            "the system crashed: riscv_exception: EXCEPTION: Load access fault",
        ),
        ("said(b'x\\n'); console.truncate(40)", "ended before its command had"),
        ("sys.exit('cannot map the image')", "QEMU said: cannot map the image"),
    ],
)
def test_a_guest_that_ends_without_its_last_frame_is_no_result(
    act: str, cause: str, image: Path, emulates: Emulates
) -> None:
    emulates(act)
    with pytest.raises((ProbeError, TargetError), match=cause):
        _run(image, "list", "--json")


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        ("console.write(b'NuttShell\\r\\nnsh> '); time.sleep(60)", "started its shell, and not"),
        ("console.write(b'booting\\n'); time.sleep(60)", "did not begin the command within 0 s"),
    ],
)
def test_an_image_that_takes_no_command_from_memory_is_not_waited_for(
    act: str, cause: str, image: Path, emulates: Emulates
) -> None:
    emulates(act)
    settings = parse_console(f"console:qemu:{image},time=instructions")
    impatient = JobTransport(settings, boot_s=300.0 if "shell" in cause else 0.0, prompt_s=0.0)
    with pytest.raises(TargetError, match=cause) as caught:
        list(impatient.chunks(["list", "--json"], _LIMITS, Stop()))
    assert "CONFIG_HARDSTONE_JOB" in (caught.value.remedy or "")


def test_a_guest_that_goes_on_after_an_abort_is_ended(
    image: Path, emulates: Emulates, tmp_path: Path
) -> None:
    emulates("time.sleep(60)")
    stop = Stop()
    stop.abort()
    with pytest.raises(Exception, match="ended at once"):
        _run(image, "run", "TMR-P-LAT", stop=stop)
    assert not list(tmp_path.glob("hardstone-lab-*"))


def test_the_console_in_real_time_is_a_line(image: Path, emulates: Emulates) -> None:
    emulates("console.write(b'nsh> '); console.write(console.read(5)[::-1])")
    with closing(open_emulated(parse_console(f"console:qemu:{image}"))) as line:
        line.write(b"12345")
        heard = b""
        while len(heard) < 10:
            heard += line.read(5.0)
        assert heard == b"nsh> 54321"
        with pytest.raises(TargetError, match="QEMU ended"):
            while True:
                line.read(5.0)
