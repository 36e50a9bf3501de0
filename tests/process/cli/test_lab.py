"""`hardstone lab`, the options for its kernels, and commands that run in a guest."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from hardstone.cli.options import LabOptions, MeasureOptions, lab_targets
from hardstone.errors import EXIT_UNREACHABLE, EXIT_USAGE, TargetError
from hardstone.lab.kernels import find_kernel
from hardstone.lab.lab_folder import lab_folder
from hardstone.targets.base import SILENT, Notices
from hardstone.targets.local import LocalTransport
from tests.process.cli.conftest import Hardstone, Lab
from tests.process.lab import made_up
from tests.process.lab.made_up_archive import MadeUpArchive
from tests.process.targets import sample
from tests.process.targets.test_transport import playing


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUpArchive:
    made = MadeUpArchive(tmp_path / "archive")
    made.stand_in(monkeypatch)
    return made


@pytest.fixture
def kernel(tmp_path: Path, archive: MadeUpArchive) -> list[str]:
    """The options of `lab add` for a whole kernel."""
    paths = made_up.make_kernel(tmp_path / "made")
    names = {"image": "kernel"}
    pairs = [(f"--{names.get(key, key)}", str(path)) for key, path in paths.items()]
    return [word for pair in pairs for word in pair]


def install_emulator(archive: MadeUpArchive, arch: str = "x86_64") -> None:
    (archive.programs / f"qemu-system-{arch}").symlink_to("/bin/true")


def test_get_says_what_came_what_to_type_and_what_changed(
    hardstone: Hardstone, archive: MadeUpArchive
) -> None:
    archive.add_release("6.1.0-7-amd64", "6.1.9-1")
    install_emulator(archive)
    done = hardstone("lab", "get", "debian")
    assert done.code == 0
    assert done.out == "debian: 6.1.0-7-amd64, x86_64, linux-image-6.1.0-7-amd64=6.1.9-1\n"
    assert done.told == [
        "hardstone: fetching the lists of Debian's packages for amd64",
        "hardstone: fetching linux-image-6.1.0-7-amd64=6.1.9-1 and busybox-static=1:1.35.0-4",
        "hardstone: unpacking linux-image-6.1.0-7-amd64",
        "hardstone: to measure it:",
    ]
    assert done.typed[0].endswith("evaluate --target lab:debian")
    assert "hardstone: the kernel is the same as before" in hardstone("lab", "get", "debian").told
    archive.add_release("6.1.0-8-amd64", "6.1.10-1")
    told = hardstone("lab", "get", "debian", "-q").told
    assert told[0] == "hardstone: it was 6.1.0-7-amd64, x86_64, linux-image-6.1.0-7-amd64=6.1.9-1"


def test_add_list_remove(hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str]) -> None:
    assert hardstone("lab", "list", "--json").document == []
    done = hardstone("lab", "add", "mine", *kernel, "--append", "threadirqs quiet")
    assert (done.code, done.out) == (0, f"mine: {made_up.RELEASE}, x86_64, threadirqs quiet\n")
    assert any("guest runs in qemu-system-x86_64" in line for line in done.told)
    assert done.typed[0].endswith("apt-get install qemu-system-x86")
    assert hardstone("lab", "add", "other", *kernel).code == 0
    [header, _, *rows] = hardstone("lab", "list").out.splitlines()
    assert header.split() == ["name", "arch", "release", "version", "append", "QEMU"]
    assert rows[0].split() == [
        "mine", "x86_64", made_up.RELEASE, "-", "threadirqs", "quiet", "missing"
    ]  # fmt: skip
    install_emulator(archive)
    assert not any("qemu" in line for line in hardstone("lab", "list").told)
    stored = find_kernel("mine")
    [document, _] = hardstone("lab", "list", "--json").document
    assert document == {
        "name": "mine",
        "arch": "x86_64",
        "release": made_up.RELEASE,
        "package": None,
        "append": "threadirqs quiet",
        "sha256": stored.sha256,
        "image": str(stored.image),
        "has_emulator": True,
    }
    assert hardstone("lab", "remove", "mine", "nine").code == 2
    assert find_kernel("mine").name == "mine"  # one wrong name removes nothing
    assert hardstone("lab", "remove", "mine", "other", "mine").code == 0
    assert hardstone("lab", "list", "--json").document == []


def test_a_damaged_kernel_is_told(
    hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str]
) -> None:
    hardstone("lab", "add", "mine", *kernel)
    find_kernel("mine").image.unlink()
    done = hardstone("lab", "list")
    assert done.told == ["hardstone: mine is damaged: image is missing; to remove it:"]
    assert done.out == ""
    assert hardstone("lab", "remove", "mine").code == 0


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "ä", "x" * 1001])
def test_a_command_line_that_no_kernel_reads_is_refused(
    hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str], text: str
) -> None:
    done = hardstone("lab", "add", "mine", *kernel, "--append", text)
    assert done.code == 2 and len(done.told) == 1 and "\x1b" not in done.err


def without(options: list[str], name: str) -> list[str]:
    at = options.index(name)
    return options[:at] + options[at + 2 :]


@pytest.mark.parametrize("option", ["--kernel", "--modules", "--config", "--busybox"])
def test_paths_that_cannot_be_read_are_told(
    hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str], tmp_path: Path, option: str
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for path in ("circle", "x" * 300, "pipe", "missing", "file/below"):
        done = hardstone("lab", "add", "mine", *without(kernel, option), option, tmp_path / path)
        assert done.code == 2 and len(done.told) == 1, path
    assert not (lab_folder() / "kernels").exists()


def test_without_busybox_that_of_another_kernel_is_taken(
    hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str]
) -> None:
    options = without(kernel, "--busybox")
    done = hardstone("lab", "add", "mine", *options)
    assert done.code == 2 and "there is no static busybox for x86_64" in done.told[0]
    archive.add_release()
    hardstone("lab", "get", "debian")
    assert hardstone("lab", "add", "mine", *options).code == 0
    assert find_kernel("mine").busybox.read_bytes() == made_up.busybox()


def test_only_a_busybox_that_a_guest_could_run_is_taken(
    hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str], tmp_path: Path
) -> None:
    """Of this machine, or named."""
    installed, named = archive.programs / "busybox", tmp_path / "busybox"
    options = without(kernel, "--busybox")
    for data, cause in (
        (
            made_up.busybox(is_static=False),
            ("is not statically linked, and a guest has no libraries"),
        ),
        (made_up.busybox("aarch64"), "is not a program for x86_64"),
        (b"#!/bin/sh\n", "is not a program for 64 bits"),
    ):
        for path in (installed, named):
            path.write_bytes(data)
            path.chmod(0o755)
        assert hardstone("lab", "add", "mine", *options).code == 2, cause
        done = hardstone("lab", "add", "mine", *options, "--busybox", named)
        assert done.code == 2 and cause in done.told[0]
    installed.write_bytes(made_up.busybox() + b"own")
    assert hardstone("lab", "add", "mine", *options).code == 0
    assert find_kernel("mine").busybox.read_bytes().endswith(b"own")


def test_a_folder_that_is_read_only_is_told(
    hardstone: Hardstone, archive: MadeUpArchive, kernel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_LAB_DIR", "/proc/lab")
    done = hardstone("lab", "add", "mine", *kernel)
    assert done.code == 4 and "HARDSTONE_LAB_DIR" in done.told[-1]


# ---- options ----

ALL: dict[str, Any] = {
    "lab_cpus": "4",
    "lab_memory": "2G",
    "lab_preempt": "full",
    "lab_accel": "tcg",
    "lab_deterministic": False,
    "lab_device": "edu",
    "lab_append": "mitigations=off, quiet",
}


def test_options_become_settings_of_every_target_in_its_one_form() -> None:
    settings = "cpus=4,memory=2048M,preempt=full,accel=tcg,device=edu,append=mitigations=off, quiet"
    assert lab_targets(["lab:a", "lab:b"], LabOptions(**ALL)) == [
        f"lab:a,{settings}",
        f"lab:b,{settings}",
    ]
    assert lab_targets(["lab:a"], LabOptions(lab_deterministic=True)) == ["lab:a,deterministic"]
    names = ["local", "lab:a,preempt=none,memory=1G,cpus=2", "fake:x"]
    assert lab_targets(names, MeasureOptions(cpu="3")) == [
        "local",
        "lab:a,cpus=2,memory=1024M,preempt=none",
        "fake:x",
    ]


class Guest(LocalTransport):
    """A guest whose probe is a program here; it tells what happens to it."""

    def __init__(self, settings: str, probe: Path) -> None:
        super().__init__(probe)
        self.name = f"lab:{settings}"
        self.told: list[Any] = []

    def open(self, notices: Notices = SILENT) -> None:
        self.told.append("open")

    def close(self) -> None:
        self.told.append("close")

    def call(
        self, arguments: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        self.told.append(list(arguments))
        stdout.write(b"from COMMAND\n")
        stderr.write(b"could not be moved\n")
        for stream in (stdout, stderr):
            stream.flush()
        return 42


@pytest.fixture
def guests(lab: Lab, tmp_path: Path) -> list[Guest]:
    """Every guest that was made, whose probe takes `cpu` for a load."""
    listed = (sample.GOLDEN / "loads.json").read_text()
    lines = [
        {"type": "header", "schema": "hardstone.load/1", "probe_version": "0", "load": "cpu",
         "started_utc_ns": 1},
        {"type": "footer", "lines": 1},
    ]  # fmt: skip
    body = (
        f"if sys.argv[2] == '--list':\n    print({listed!r}); sys.exit(0)\n"
        f"if sys.argv[2] == '--check':\n    sys.exit(0)\n"
        f"lines(*{[json.dumps(line) for line in lines]!r})\n"
    )
    return guests_of(lab, sample.executable(tmp_path, body))


def guests_of(lab: Lab, probe: Path) -> list[Guest]:
    """Every guest that is made from now on; each has this probe."""
    made: list[Guest] = []

    def make(settings: str) -> Guest:
        made.append(Guest(settings, probe))
        return made[-1]

    lab(make)
    return made


def test_a_load_runs_in_the_guest(hardstone: Hardstone, guests: list[Guest]) -> None:
    words = ["--target", "lab:a,cpus=2", "--preempt", "none", "cpu", "-D", "1", "--json"]
    done = hardstone("load", *words, "--cpus", "0")
    assert done.code == 0, done.err
    assert done.document["target"] == "lab:a,cpus=2,preempt=none"
    (guest,) = guests
    assert guest.name == "lab:a,cpus=2,preempt=none"
    assert guest.told == ["open", "close"]


def test_a_shield_has_the_streams_and_the_code_of_the_command(
    hardstone: Hardstone, guests: list[Guest]
) -> None:
    done = hardstone("shield", "--target", "lab:a", "--accel", "tcg", "-a", "1", "--", "ls", "-l")
    assert (done.code, done.out, done.err) == (42, "from COMMAND\n", "could not be moved\n")
    (guest,) = guests
    assert guest.name == "lab:a,accel=tcg"
    asked = ["shield", "--cpu", "1", "--text", "--", "ls", "-l"]
    assert guest.told == ["open", asked, "close"]


@pytest.mark.parametrize("words", [("load", "cpu", "-D", "1"), ("shield", "--show")])
def test_a_guest_that_does_not_boot(
    hardstone: Hardstone, guests: list[Guest], words: tuple[str, ...], monkeypatch: Any
) -> None:
    def fail(guest: Guest, notices: Notices) -> None:
        raise TargetError("the kernel panicked", "see its console output")

    monkeypatch.setattr(Guest, "open", fail)
    done = hardstone(words[0], "--target", "lab:a", *words[1:])
    assert (done.code, len(done.told)) == (EXIT_UNREACHABLE, 1)
    assert "the kernel panicked; see its console output" in done.err
    assert [guest.told for guest in guests] == [["close"]]


def test_a_target_without_a_way_for_commands(hardstone: Hardstone, lab: Lab) -> None:
    lab(lambda settings: LocalTransport())
    done = hardstone("shield", "--target", "lab:a", "--", "true")
    assert done.code == EXIT_USAGE
    assert "no command can be run on the target 'lab:a'" in done.err


@pytest.fixture
def playing_guests(lab: Lab, tmp_path: Path) -> list[Guest]:
    """Every guest that was made; each has the facts of the sample machine, and one test."""
    return guests_of(lab, playing(tmp_path, sample.stream("SEM-P-SIG")))


def test_the_doctor_examines_the_guest(hardstone: Hardstone, playing_guests: list[Guest]) -> None:
    done = hardstone("doctor", "--target", "lab:a", "--append", "isolcpus=1", "--json")
    assert done.document["target"] == "lab:a,append=isolcpus=1"
    assert playing_guests[-1].told == ["open", "close"]


def test_a_run_is_stored_under_what_was_booted(
    hardstone: Hardstone, playing_guests: list[Guest], tmp_path: Path
) -> None:
    words = ["--target", "lab:a", "--preempt", "none", "--cpus", "2", "--store", tmp_path / "store"]
    done = hardstone("run", "SEM-P-SIG", *words, "--json")
    assert done.code == 0, done.err
    plan = done.document["plan"]
    assert plan["target"] == "lab:a,cpus=2,preempt=none"
    again = hardstone(*plan["command"], "--dry-run", "--json")
    assert again.document["target"] == plan["target"]
    assert [guest.told for guest in playing_guests] == [["open", "close"]] * 2


def test_two_kernels_differ_in_one_option_of_their_names(
    hardstone: Hardstone, playing_guests: list[Guest], tmp_path: Path
) -> None:
    targets = ["--target", "lab:a,preempt=none", "--target", "lab:a,preempt=full"]
    words = [*targets, "--deterministic", "--store", tmp_path / "store"]
    done = hardstone("run", "SEM-P-SIG", *words)
    assert done.code == 0, done.err
    told = " ".join(done.out[done.out.index("test, series") - 200 :].split())
    assert "preempt=none," in told and "preempt=full," in told and "deterministic" in told
    asked = {guest.name for guest in playing_guests if guest.told}
    assert asked == {"lab:a,preempt=none,deterministic", "lab:a,preempt=full,deterministic"}
