"""`hardstone lab`: what a person sees and types, and the exit codes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.lab.kernels import find_kernel
from hardstone.lab.lab_folder import lab_folder
from tests.process.cli.conftest import Done
from tests.process.lab import made_up
from tests.process.lab.made_up_archive import MadeUpArchive

Call = Callable[..., Done]


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


def test_get_says_what_came_and_what_to_type(hardstone: Call, archive: MadeUpArchive) -> None:
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


def test_get_again_says_what_changed(hardstone: Call, archive: MadeUpArchive) -> None:
    archive.add_release("6.1.0-7-amd64", "6.1.9-1")
    hardstone("lab", "get", "debian", "-q")
    assert "hardstone: the kernel is the same as before" in hardstone("lab", "get", "debian").told
    archive.add_release("6.1.0-8-amd64", "6.1.10-1")
    told = hardstone("lab", "get", "debian", "-q").told
    assert told[0] == ("hardstone: it was 6.1.0-7-amd64, x86_64, linux-image-6.1.0-7-amd64=6.1.9-1")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["get", "ubuntu"], 2),
        (["get", "debian", "--arch", "riscv64"], 2),
        (["get", "debian@../x"], 2),
        (["get", "debian@7"], 4),
        (["get", "debian", "--arch", "arm64"], 4),
        (["get"], 2),
        (["add", "mine"], 2),
        (["add", "../x", "--kernel", "/etc/passwd"], 2),
        (["add", "mine", "--kernel", "/missing"], 2),
        (["add", "mine", "--kernel", "/etc/passwd"], 2),
        (["remove"], 2),
        (["remove", "mine"], 2),
        (["remove", "../mine"], 2),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    hardstone: Call, archive: MadeUpArchive, words: list[str], code: int
) -> None:
    archive.add_release()
    done = hardstone("lab", *words)
    assert done.code == code
    errors = [line for line in done.told if "fetching" not in line]
    assert len(errors) == 1 and done.out == ""
    assert not (lab_folder() / "kernels").exists()


def test_add_list_remove(hardstone: Call, archive: MadeUpArchive, kernel: list[str]) -> None:
    done = hardstone("lab", "add", "mine", *kernel, "--append", "threadirqs quiet")
    assert (done.code, done.out) == (0, f"mine: {made_up.RELEASE}, x86_64, threadirqs quiet\n")
    assert hardstone("lab", "add", "other", *kernel).code == 0
    [header, _, *rows] = hardstone("lab", "list").out.splitlines()
    assert header.split() == ["name", "arch", "release", "version", "append", "QEMU"]
    assert rows[0].split() == [
        "mine", "x86_64", made_up.RELEASE, "-", "threadirqs", "quiet", "missing"
    ]  # fmt: skip
    assert hardstone("lab", "remove", "mine", "other", "mine").code == 0
    done = hardstone("lab", "list")
    assert "no kernels yet" in done.out and "lab get debian" in done.out


def test_list_as_json(hardstone: Call, archive: MadeUpArchive, kernel: list[str]) -> None:
    assert hardstone("lab", "list", "--json").document == []
    hardstone("lab", "add", "mine", *kernel)
    stored = find_kernel("mine")
    [document] = hardstone("lab", "list", "--json").document
    assert document == {
        "name": "mine",
        "arch": "x86_64",
        "release": made_up.RELEASE,
        "package": None,
        "append": "",
        "sha256": stored.sha256,
        "image": str(stored.image),
        "has_emulator": False,
    }


def test_a_missing_emulator_is_told_with_its_package(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str]
) -> None:
    done = hardstone("lab", "add", "mine", *kernel)
    assert any("no qemu-system-x86_64" in line for line in done.told)
    assert any(line.endswith("apt-get install qemu-system-x86") for line in done.typed)
    install_emulator(archive)
    assert not any("qemu" in line for line in hardstone("lab", "list").told)


def test_one_wrong_name_removes_nothing(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str]
) -> None:
    hardstone("lab", "add", "mine", *kernel)
    assert hardstone("lab", "remove", "mine", "nine").code == 2
    assert find_kernel("mine").name == "mine"


def test_a_damaged_kernel_is_told(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str]
) -> None:
    hardstone("lab", "add", "mine", *kernel)
    find_kernel("mine").image.unlink()
    done = hardstone("lab", "list")
    assert done.told == ["hardstone: mine is damaged: image is missing; to remove it:"]
    assert done.out == ""
    assert hardstone("lab", "remove", "mine").code == 0


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "ä", "x" * 1001])
def test_a_command_line_that_no_kernel_reads_is_refused(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str], text: str
) -> None:
    done = hardstone("lab", "add", "mine", *kernel, "--append", text)
    assert done.code == 2 and len(done.told) == 1 and "\x1b" not in done.err


def without(options: list[str], name: str) -> list[str]:
    at = options.index(name)
    return options[:at] + options[at + 2 :]


@pytest.mark.parametrize("option", ["--kernel", "--modules", "--config", "--busybox"])
@pytest.mark.parametrize("path", ["circle", "x" * 300, "pipe", "missing", "file/below"])
def test_paths_that_cannot_be_read_are_told(
    hardstone: Call,
    archive: MadeUpArchive,
    kernel: list[str],
    tmp_path: Path,
    option: str,
    path: str,
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    done = hardstone("lab", "add", "mine", *without(kernel, option), option, tmp_path / path)
    assert done.code == 2 and len(done.told) == 1
    assert not (lab_folder() / "kernels").exists()


def test_without_busybox_that_of_another_kernel_is_taken(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str]
) -> None:
    options = without(kernel, "--busybox")
    done = hardstone("lab", "add", "mine", *options)
    assert done.code == 2 and "there is no static busybox for x86_64" in done.told[0]
    archive.add_release()
    hardstone("lab", "get", "debian")
    assert hardstone("lab", "add", "mine", *options).code == 0
    assert find_kernel("mine").busybox.read_bytes() == made_up.busybox()


def test_this_machine_s_busybox_is_taken_if_it_fits(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str]
) -> None:
    installed = archive.programs / "busybox"
    for data in (made_up.busybox(is_static=False), made_up.busybox("aarch64"), b"#!/bin/sh\n"):
        installed.write_bytes(data)
        installed.chmod(0o755)
        assert hardstone("lab", "add", "mine", *without(kernel, "--busybox")).code == 2
    installed.write_bytes(made_up.busybox() + b"own")
    assert hardstone("lab", "add", "mine", *without(kernel, "--busybox")).code == 0
    assert find_kernel("mine").busybox.read_bytes().endswith(b"own")


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (made_up.busybox(is_static=False), "is not static, and a guest has no libraries"),
        (made_up.busybox("aarch64"), "is not a program for x86_64"),
        (b"#!/bin/sh\n", "is not a program for 64 bits"),
    ],
)
def test_a_busybox_that_no_guest_could_run_is_refused(
    hardstone: Call,
    archive: MadeUpArchive,
    kernel: list[str],
    tmp_path: Path,
    data: bytes,
    cause: str,
) -> None:
    (tmp_path / "busybox").write_bytes(data)
    done = hardstone(
        "lab", "add", "mine", *without(kernel, "--busybox"), "--busybox", tmp_path / "busybox"
    )
    assert done.code == 2 and cause in done.told[0]


def test_a_folder_that_is_read_only_is_told(
    hardstone: Call, archive: MadeUpArchive, kernel: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_LAB_DIR", "/proc/lab")
    done = hardstone("lab", "add", "mine", *kernel)
    assert done.code == 4 and "HARDSTONE_LAB_DIR" in done.told[-1]


def test_the_commands_have_help(hardstone: Call) -> None:
    for words in ([], ["get"], ["add"], ["list"], ["remove"]):
        done = hardstone("lab", *words, "--help")
        assert done.code == 0 and "Usage: hardstone lab" in done.out
