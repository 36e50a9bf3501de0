"""Debian's kernels come by apt with a state of its own; what fails is told and leaves nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.errors import HardstoneError, InputError, TargetError
from hardstone.lab.debian import Steps, get_debian, parse_wanted
from hardstone.lab.kernels import all_kernels, find_kernel
from hardstone.lab.lab_folder import lab_folder
from tests.conftest import ROOT
from tests.process.lab import made_up
from tests.process.lab.made_up_archive import MadeUpArchive
from tests.waiting import wait_until


def fetch(text: str, arch: str | None = None) -> str:
    """The package that was fetched."""
    return get_debian(parse_wanted(text, arch), Steps())[0].package


def left() -> list[str]:
    """What is in the lab's folder but for its lock and empty folders."""
    return [str(path) for path in lab_folder().rglob("*") if path.is_file() and path.name != "lock"]


def test_the_release_s_kernel_is_what_the_meta_package_names(archive: MadeUpArchive) -> None:
    archive.add_release("6.1.0-7-amd64", "6.1.9-1")
    archive.add_image("6.1.0-8-amd64", "6.1.10-1")
    assert fetch("debian") == "linux-image-6.1.0-7-amd64=6.1.9-1"
    kernel = find_kernel("debian")
    assert kernel.image.read_bytes() == made_up.bzimage("6.1.0-7-amd64")
    assert [path.name[3:-3] for path in kernel.modules] == made_up.ORDER
    assert "backports" not in archive.sources


def test_the_newest_meta_package_counts(archive: MadeUpArchive) -> None:
    archive.add_release("6.1.0-9-amd64", "6.1.9-1")
    archive.add_release("6.1.0-10-amd64", "6.1.10-1")
    assert fetch("debian") == "linux-image-6.1.0-10-amd64=6.1.10-1"


@pytest.mark.parametrize(
    ("asked", "package"),
    [
        ("debian@6.1", "linux-image-6.1.0-10-amd64=6.1.10-1"),
        ("debian@6.1.9", "linux-image-6.1.0-9-amd64=6.1.9-2"),
        ("debian@6.1.9-2", "linux-image-6.1.0-9-amd64=6.1.9-2"),
        ("debian@6.1.0-9", "linux-image-6.1.0-9-amd64=6.1.9-2"),
        ("debian@6.12", "linux-image-6.12.9+deb12-amd64=6.12.9-1~bpo12+1"),
        ("debian-rt@6.12", "linux-image-6.12.9+deb12-rt-amd64=6.12.9-1~bpo12+1"),
    ],
)
def test_a_version_names_the_newest_of_it(archive: MadeUpArchive, asked: str, package: str) -> None:
    archive.add_image("6.1.0-9-amd64", "6.1.9-2")
    archive.add_image("6.1.0-10-amd64", "6.1.10-1")
    archive.add_image("6.1.0-99-cloud-amd64", "6.1.99-1")
    archive.add_image("6.1.0-99-amd64-dbg", "6.1.99-1")
    archive.add_image("6.1.0-99-amd64-unsigned", "6.1.99-1")
    archive.add("linux-image-6.12-amd64", "6.12.99-1", "linux-image-6.12.9+deb12-amd64")
    archive.add_image("6.12.9+deb12-amd64", "6.12.9-1~bpo12+1")
    archive.add_image("6.12.9+deb12-rt-amd64", "6.12.9-1~bpo12+1")
    assert fetch(asked) == package
    assert find_kernel(asked).package == package
    assert "Suites: bookworm bookworm-updates bookworm-backports" in archive.sources


def test_a_version_s_name_fits_a_folder(archive: MadeUpArchive) -> None:
    assert parse_wanted("debian@6.12.9-1~bpo12+1", None).name == "debian@6.12.9-1-bpo12+1"
    assert parse_wanted("debian-rt@6.12", "aarch64").name == "debian-rt-arm64@6.12"
    assert parse_wanted("debian", "x86_64").name == "debian"


@pytest.mark.parametrize(
    ("text", "arch", "cause"),
    [
        ("ubuntu", None, "not a kernel that can be fetched"),
        ("debian@", None, "not a version"),
        ("debian@../6", None, "not a version"),
        ("debian@6.12 -o x", None, "not a version"),
        ("debian", "riscv64", "runs no kernels for riscv64"),
    ],
)
def test_wrong_words_are_told_before_apt_runs(
    archive: MadeUpArchive, text: str, arch: str | None, cause: str
) -> None:
    with pytest.raises(InputError, match=cause):
        fetch(text, arch)
    assert archive.calls == [] and not lab_folder().exists()


def test_nothing_of_the_system_s_apt_changes(archive: MadeUpArchive) -> None:
    """Sources, lists, status and cache are in the lab's folder; hooks do not run."""
    archive.add_release()
    fetch("debian")
    own = {"sourceparts": "/sources", "lists": "/lists", "status": "/status", "Cache": "/cache"}
    for call in archive.calls:
        if call[0] in ("apt-get", "apt-cache"):
            for key, end in own.items():
                [place] = [word for word in call if re.match(rf"Dir::[A-Za-z:]*{key}=", word)]
                assert str(lab_folder()) in place and place.endswith(end)
            assert "Dir::Etc::sourcelist=/dev/null" in call
    config = (archive.folder / "apt.conf").read_text()
    assert "#clear APT::Update::Post-Invoke;" in config
    assert 'APT::Architectures { "amd64"; };' in config
    assert "Acquire::http" not in config and "Dir::Etc::parts" not in str(archive.calls)


def test_getting_again_replaces_the_kernel(archive: MadeUpArchive) -> None:
    archive.add_release("6.1.0-9-amd64", "6.1.9-1")
    fetch("debian")
    archive.add_release("6.1.0-10-amd64", "6.1.10-1")
    kernel, before = get_debian(parse_wanted("debian", None), Steps())
    assert before is not None and before.release == "6.1.0-9-amd64"
    assert [kernel] == all_kernels()


def refused(text: str = "debian", arch: str | None = None) -> HardstoneError:
    with pytest.raises(TargetError) as caught:
        fetch(text, arch)
    assert left() == []
    assert "\n" not in str(caught.value)
    return caught.value


def test_no_network(archive: MadeUpArchive) -> None:
    archive.say(
        packages=[],
        update_says="W: Failed to fetch http://mirror.example/debian/InRelease  "
        "Could not resolve 'mirror.example'\nW: Some index files failed to download.\n",
    )
    error = refused()
    assert error.exit_code == 4
    assert "Could not resolve 'mirror.example'" in error.cause
    assert "network" in error.remedy


def test_one_list_that_cannot_be_fetched_does_no_harm(archive: MadeUpArchive) -> None:
    """A mirror may have no backports."""
    archive.add_image("6.1.0-9-amd64", "6.1.9-1")
    archive.say(update_says="E: The repository does not have a Release file.\n")
    assert fetch("debian@6.1") == "linux-image-6.1.0-9-amd64=6.1.9-1"


def test_no_such_version(archive: MadeUpArchive) -> None:
    archive.add_image("6.1.0-9-amd64", "6.1.9-1")
    error = refused("debian@6.12")
    assert "has no kernel 6.12 for amd64; it has 6.1.9-1" in error.cause
    assert error.remedy.endswith("hardstone lab get debian")


def test_no_kernel_for_the_architecture(archive: MadeUpArchive) -> None:
    archive.add_release()
    assert "has no kernel for arm64" in refused("debian-rt", "arm64").cause


def test_a_download_that_fails(archive: MadeUpArchive) -> None:
    archive.add_release()
    archive.say(download_says="E: Failed to fetch http://x  Hash Sum mismatch\n")
    assert "Hash Sum mismatch" in refused().cause


def test_a_full_disk_in_apt(archive: MadeUpArchive) -> None:
    archive.add_release()
    archive.say(unpack_says="tar: ./boot/x: Cannot write: No space left on device\n")
    error = refused()
    assert "No space left on device" in error.cause and "free some space" in error.remedy


def test_without_apt_the_other_way_is_told(archive: MadeUpArchive) -> None:
    (archive.programs / "apt-get").unlink()
    error = refused()
    assert "no apt-get" in error.cause and "hardstone lab add" in error.remedy


@pytest.mark.parametrize("what", ["vmlinuz", "busybox", "modules"])
def test_a_link_in_a_package_leads_nowhere_outside(
    archive: MadeUpArchive, what: str, tmp_path: Path
) -> None:
    root = archive.add_release()
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_bytes(made_up.bzimage("6.1.0-7-amd64"))
    if what == "vmlinuz":
        link, goal = root / "boot" / "vmlinuz-6.1.0-7-amd64", secret / "file"
    elif what == "busybox":
        link, goal = archive.tree("busybox-static") / "bin" / "busybox", secret / "file"
    else:
        link, goal = root / "lib" / "modules" / "6.1.0-7-amd64", secret
    shutil.rmtree(link) if link.is_dir() else link.unlink()
    link.symlink_to(goal)
    assert "holds no" in refused().cause


def test_a_link_in_a_package_may_go_round_in_a_circle(archive: MadeUpArchive) -> None:
    image = archive.add_release() / "boot" / "vmlinuz-6.1.0-7-amd64"
    image.unlink()
    image.symlink_to(image.name)
    with pytest.raises(HardstoneError):
        fetch("debian")
    assert left() == []


def test_a_driver_that_is_a_link_is_not_followed(archive: MadeUpArchive) -> None:
    root = archive.add_release()
    [driver] = root.rglob("virtio_pci.ko")
    driver.unlink()
    driver.symlink_to("/etc/passwd")
    with pytest.raises(InputError, match=r"virtio_pci\.ko cannot be read: it is a link"):
        fetch("debian")
    assert left() == []


def test_odd_names_in_a_package_are_no_names_here(archive: MadeUpArchive) -> None:
    root = archive.add_release()
    modules = root / "lib" / "modules" / "6.1.0-7-amd64" / "kernel"
    for name in ("-rf.ko", "a\nb.ko", "\x1b[2J.ko", "x;reboot.ko", "$(reboot).ko"):
        (modules / name).write_bytes(b"not a driver")
    (root / "boot" / "evil\x1b[2J\n").write_text("")
    assert fetch("debian") == "linux-image-6.1.0-7-amd64=6.1.9-1"


def test_a_hostile_archive_cannot_name_other_packages(archive: MadeUpArchive) -> None:
    """A name from the lists becomes an argument of apt-get: no option, no path."""
    archive.add("linux-image-amd64", "6.1.9-1", "--option, ../x, linux-image-6.1.0-7-amd64 (= 1)")
    archive.add_image("6.1.0-7-amd64", "6.1.9-1 --reinstall")
    assert "has no kernel" in refused().cause


def start(archive: MadeUpArchive) -> subprocess.Popen[bytes]:
    """`get_debian` in a process of its own, and the made-up tool that waits in it."""
    program = (
        "from hardstone.lab.debian import *\nget_debian(parse_wanted('debian', None), Steps())"
    )
    environment = {**os.environ, "PATH": f"{archive.programs}:/usr/bin:/bin"}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment | {"PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: waiting_tool(archive) is not None)
    return process


def waiting_tool(archive: MadeUpArchive) -> Path | None:
    """The folder in /proc of the made-up tool that waits, or of its child."""
    pid = archive.folder / "pid"
    text = pid.read_text() if pid.exists() else ""
    return Path("/proc") / text if text else None


def has_ended(archive: MadeUpArchive) -> bool:
    tool = waiting_tool(archive)
    try:
        return tool is not None and ") Z " in (tool / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.slow
def test_a_kill_leaves_neither_entry_nor_process(archive: MadeUpArchive) -> None:
    if shutil.which("setpriv", path="/usr/bin:/bin") is None:
        pytest.skip("there is no setpriv, which ends apt-get with its parent")
    archive.add_release()
    archive.say(download_waits=True)
    with start(archive) as process:
        process.send_signal(signal.SIGKILL)
    assert all_kernels() == []
    wait_until(lambda: has_ended(archive))
    assert left() != []
    archive.say(packages=[])
    refused()


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_and_no_child_of_a_tool(archive: MadeUpArchive) -> None:
    """dpkg-deb has children, which would go on unpacking."""
    archive.add_release()
    archive.say(unpack_waits=True)
    with start(archive) as process:
        process.send_signal(signal.SIGINT)
    wait_until(lambda: has_ended(archive))
    assert left() == [] and all_kernels() == []
