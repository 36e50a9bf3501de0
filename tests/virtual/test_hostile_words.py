"""What others wrote does not steer the terminal that the probe's messages go to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.waiting import LONGEST_S

# ESC and others of C0, DEL, C1 as UTF-8 and as a byte, broken UTF-8, and what turns the text round.
HOSTILE = b"\x1b]0;t\x07\x1b[2J\r\x08\x7f\xc2\x9b31m\x9b\xe2\x82|\xe2\x80\xae|\xff"
HEAD = "hardstone-shield\t1\nboot\t{boot}\nowner\t1\t1\nsince\t1\ncpus\t0\n"


def assert_shown(text: bytes) -> None:
    """UTF-8 whose every line only shows something, and some '?' in place of what does not."""
    assert "?" in text.decode()
    for line in text.decode().split("\n"):
        assert line.isprintable(), text


@pytest.mark.parametrize(
    "words",
    [
        (HOSTILE,),
        (b"run", HOSTILE),
        (b"dump", HOSTILE),
        (b"load", HOSTILE),
        (b"load", b"--check", b"network@" + HOSTILE),
        (b"load", b"cpu", b"--cpus", HOSTILE),
        (b"list", HOSTILE),
        (b"facts", b"--clock", HOSTILE),
        (b"run", b"TMR-P-LAT", b"-p", HOSTILE),
        (b"run", b"TMR-P-LAT", b"-p", HOSTILE + b"=1"),
        (b"run", b"TMR-P-LAT", b"-p", b"cpus=" + HOSTILE),
        (b"run", b"TMR-P-LAT", b"--settings", HOSTILE),
        (b"run", b"TMR-P-LAT", b"--load", b"disk=" + HOSTILE),
        (b"shield", HOSTILE),
        (b"shield", b"--cpus", HOSTILE, b"--", b"true"),
    ],
    ids=lambda words: b" ".join(words).replace(HOSTILE, b"HOSTILE").decode(),
)
def test_arguments(probe: Path, words: tuple[bytes, ...]) -> None:
    command = [os.fsencode(probe), *words]
    done = subprocess.run(command, capture_output=True, check=False, timeout=LONGEST_S)
    assert done.returncode == 2 and done.stdout == b""
    if b"control character" not in done.stderr:
        assert_shown(done.stderr)
    assert done.stderr.count(b"\n") == 1


def test_the_result_of_a_run_for_people(probe: Path) -> None:
    command = [os.fsencode(probe), b"run", b"CLK-P-BIN", b"--text", b"--samples", b"1"]
    command += [b"--backing", b"/nowhere/" + HOSTILE]
    done = subprocess.run(command, capture_output=True, check=False, timeout=LONGEST_S)
    assert done.returncode != 0
    assert_shown(done.stdout + done.stderr)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a journal, and a /run of its own")
@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
@pytest.mark.parametrize(
    "line",
    [
        b"file\t/proc/" + HOSTILE + b"\t1\t0",
        b"irq\t" + HOSTILE + b"\t1\t0\t1",
        b"irq\t7\t" + HOSTILE + b"\t0\t1",
        b"task\t" + HOSTILE + b"\t1\t0\t1",
        b"task\t1\t1\t" + HOSTILE + b"\t1",
        b"mask\t" + HOSTILE,
        b"group\t/" + HOSTILE + b"\t/",
        b"control\t" + HOSTILE,
        HOSTILE,
        HOSTILE + b"\t" + HOSTILE,
    ],
    ids=lambda line: line.replace(HOSTILE, b"HOSTILE").decode().replace("\t", " "),
)
@pytest.mark.parametrize("words", [["--restore"], ["--", "true"]], ids=["restore", "next shield"])
def test_journals(probe: Path, tmp_path: Path, line: bytes, words: list[str]) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    journal = tmp_path / "journal"
    journal.write_bytes(HEAD.format(boot=boot).encode() + line + b"\n")
    script = "mount -t tmpfs none /run || exit 1\n"
    script += 'install -m 600 "$0" /run/hardstone-shield.journal || exit 1; exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, str(journal), str(probe), "shield", *words]
    done = subprocess.run(command, capture_output=True, check=False, timeout=LONGEST_S)
    assert done.returncode == 70, done.stderr
    for shown in done.stderr.decode().split("\n"):
        assert shown.isprintable(), shown
