"""Debian's kernels come by apt with a state of its own; what fails is told and leaves nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import HardstoneError, InputError, TargetError
from hardstone.lab.debian import (
    Source,
    Steps,
    debian_sources,
    get_debian,
    host_sources,
    one_line_sources,
    parse_wanted,
    stanza_sources,
)
from hardstone.lab.kernels import all_kernels, find_kernel
from hardstone.lab.lab_folder import lab_folder
from tests.conftest import ROOT
from tests.process.lab import made_up
from tests.process.lab.made_up_archive import MadeUpArchive
from tests.running import has_ended
from tests.waiting import wait_until


def fetch(text: str, arch: str | None = None) -> str:
    """The package that was fetched."""
    return get_debian(parse_wanted(text, arch), Steps())[0].package


def left() -> list[str]:
    """What is in the lab's folder but for its lock and empty folders."""
    return [str(path) for path in lab_folder().rglob("*") if path.is_file() and path.name != "lock"]


def test_the_release_s_kernel_is_what_the_newest_meta_package_names(
    archive: MadeUpArchive,
) -> None:
    archive.add_release("6.1.0-9-amd64", "6.1.9-1")
    assert fetch("debian") == "linux-image-6.1.0-9-amd64=6.1.9-1"
    archive.add_release("6.1.0-10-amd64", "6.1.10-1")
    archive.add_image("6.1.0-11-amd64", "6.1.11-1")
    kernel, before = get_debian(parse_wanted("debian", None), Steps())
    assert kernel.package == "linux-image-6.1.0-10-amd64=6.1.10-1"
    assert before is not None and before.release == "6.1.0-9-amd64"
    assert [kernel] == all_kernels() == [find_kernel("debian")]
    assert kernel.image.read_bytes() == made_up.bzimage("6.1.0-10-amd64")
    assert [path.name[3:-3] for path in kernel.modules] == made_up.ORDER
    assert "backports" not in archive.sources


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
    # A mirror may have no backports: one list that cannot be fetched does no harm.
    archive.say(update_says="E: The repository does not have a Release file.\n")
    assert fetch(asked) == package
    assert find_kernel(asked).package == package
    assert parse_wanted("debian@6.12.9-1~bpo12+1", None).name == "debian@6.12.9-1-bpo12+1"
    assert parse_wanted("debian-rt@6.12", "aarch64").name == "debian-rt-arm64@6.12"
    assert "Suites: bookworm bookworm-updates bookworm-backports" in archive.sources


@pytest.mark.parametrize(
    ("text", "arch", "cause"),
    [
        ("ubuntu", None, "not a kernel that can be fetched"),
        ("debian@", None, "not a version"),
        ("debian@../6", None, "not a version"),
        ("debian@6.12 -o x", None, "not a version"),
        ("debian", "riscv64", "cannot run kernels for riscv64"),
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


FULL = "Cannot write: No space left on device"


def _say(**said: object) -> Callable[[MadeUpArchive], object]:
    return lambda archive: archive.say(**said)


NO_NETWORK = """\
W: Failed to fetch http://mirror.example/debian/InRelease  Could not resolve 'mirror.example'
W: Some index files failed to download.
"""


@pytest.mark.parametrize(
    ("asked", "change", "words"),
    [
        ("debian", _say(packages=[], update_says=NO_NETWORK), "resolve 'mirror.*; check the netw"),
        ("debian", _say(download_says="E: Failed  Hash Sum mismatch\n"), "Hash Sum mismatch"),
        ("debian", _say(unpack_says=f"tar: ./x: {FULL}\n"), f"{FULL}.*; .*free some space"),
        (
            "debian",
            lambda archive: (archive.programs / "apt-get").unlink(),
            "without apt-get",
        ),
        ("debian@6.12", _say(), "no kernel 6.12 for amd64; it has 6.1.9-1.*hardstone lab get deb"),
        ("debian-rt", _say(), "has no kernel for arm64"),
    ],
    ids=["network", "download", "disk", "apt", "version", "architecture"],
)
def test_what_cannot_be_had_is_told_and_leaves_nothing(
    archive: MadeUpArchive, asked: str, change: Callable[[MadeUpArchive], object], words: str
) -> None:
    archive.add_release()
    change(archive)
    with pytest.raises(TargetError, match=words) as caught:
        fetch(asked, "arm64" if asked == "debian-rt" else None)
    assert left() == []
    assert caught.value.exit_code == 4 and "\n" not in str(caught.value)


def test_a_hostile_archive_cannot_name_other_packages(archive: MadeUpArchive) -> None:
    """A name from the lists becomes an argument of apt-get: no option, no path."""
    archive.add("linux-image-amd64", "6.1.9-1", "--option, ../x, linux-image-6.1.0-7-amd64 (= 1)")
    archive.add_image("6.1.0-7-amd64", "6.1.9-1 --reinstall")
    with pytest.raises(TargetError, match="has no kernel"):
        fetch("debian")
    assert left() == []


@pytest.mark.parametrize(
    ("file", "goal", "reason"),
    [
        ("boot/vmlinuz-6.1.0-7-amd64", "secret/file", "holds no"),
        ("bin/busybox", "secret/file", "holds no"),
        ("lib/modules/6.1.0-7-amd64", "secret", "holds no"),
        ("boot/vmlinuz-6.1.0-7-amd64", "vmlinuz-6.1.0-7-amd64", "vmlinuz.* a link"),
        ("virtio_pci.ko", "/etc/passwd", r"virtio_pci\.ko cannot be read: it is a link"),
    ],
)
def test_a_link_in_a_package_leads_nowhere_outside(
    archive: MadeUpArchive, file: str, goal: str, reason: str, tmp_path: Path
) -> None:
    root = archive.add_release()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_bytes(made_up.bzimage("6.1.0-7-amd64"))
    tree = archive.tree("busybox-static") if file.endswith("busybox") else root
    (link,) = tree.rglob(file)
    shutil.rmtree(link) if link.is_dir() else link.unlink()
    link.symlink_to(tmp_path / goal if goal.startswith("secret") else goal)
    with pytest.raises(HardstoneError, match=reason):
        fetch("debian")
    assert left() == []


def test_odd_names_in_a_package_are_no_names_here(archive: MadeUpArchive) -> None:
    root = archive.add_release()
    modules = root / "lib" / "modules" / "6.1.0-7-amd64" / "kernel"
    for name in ("-rf.ko", "a\nb.ko", "\x1b[2J.ko", "x;reboot.ko", "$(reboot).ko"):
        (modules / name).write_bytes(b"not a driver")
    (root / "boot" / "evil\x1b[2J\n").write_text("")
    assert fetch("debian") == "linux-image-6.1.0-7-amd64=6.1.9-1"


def start(archive: MadeUpArchive) -> tuple[subprocess.Popen[bytes], int]:
    """`get_debian` in a process of its own, and the made-up tool that waits in it, or its child."""
    body = "from hardstone.lab.debian import *\nget_debian(parse_wanted('debian', None), Steps())"
    own = {"PATH": f"{archive.programs}:/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, "-c", body]
    process = subprocess.Popen(words, env={**os.environ, **own}, stderr=subprocess.DEVNULL)
    pid = archive.folder / "pid"
    return process, int(wait_until(lambda: pid.exists() and pid.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("waits", "number"), [("download_waits", signal.SIGKILL), ("unpack_waits", signal.SIGINT)]
)
def test_a_kill_or_ctrl_c_leaves_neither_entry_nor_process(
    archive: MadeUpArchive, waits: str, number: signal.Signals
) -> None:
    """dpkg-deb has children, which would go on unpacking."""
    if shutil.which("setpriv", path="/usr/bin:/bin") is None:
        pytest.skip("there is no setpriv, which ends apt-get with its parent")
    archive.add_release()
    archive.say(**{waits: True})
    process, tool = start(archive)
    with process:
        process.send_signal(number)
    assert all_kernels() == []
    wait_until(lambda: has_ended(tool))
    if number == signal.SIGKILL:
        assert left() != []
        archive.say(packages=[])
        with pytest.raises(TargetError):
            fetch("debian")
    assert left() == []


def test_ctrl_c_while_a_tool_is_started_leaves_no_process(
    archive: MadeUpArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add_release()
    archive.say(unpack_waits=True)
    pid = archive.folder / "pid"
    started = subprocess.Popen

    def interrupted(words: list[str], **more: Any) -> Any:
        process = started(words, **more)
        if "dpkg-deb" in words:
            wait_until(lambda: pid.exists() and pid.read_text())
            signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("debian")
    wait_until(lambda: has_ended(int(pid.read_text())))
    assert left() == []


# Debian's addresses are those of this machine's own sources, in both formats

BOOKWORM = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
ONE_LINE = """\
# deb http://old.example/debian bookworm main
deb [signed-by=/k.gpg arch=amd64,arm64 trusted=yes] http://m.example/debian bookworm main contrib
deb-src http://m.example/debian bookworm main
deb http://s.example/debian-security bookworm-security main  # updates
deb cdrom:[Debian]/ bookworm main
"""
STANZAS = """\
# a comment
Types: deb deb-src
URIs: http://m.example/debian
Suites: bookworm
 bookworm-updates
Components: main
# another
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm
Components: main
"""


def test_sources_are_read_in_both_formats() -> None:
    main, security, _ = one_line_sources(ONE_LINE)
    assert main.uris == ("http://m.example/debian",)
    assert (main.suites, main.components) == (("bookworm",), ("main", "contrib"))
    assert main.options == {"signed-by": "/k.gpg", "trusted": "yes"}
    assert security.suites == ("bookworm-security",)
    [source] = stanza_sources(STANZAS)
    assert source.suites == ("bookworm", "bookworm-updates")
    assert [*source.options] == ["signed-by"]
    key = source.options["signed-by"].splitlines()
    assert key[1:3] == [" -----BEGIN PGP PUBLIC KEY BLOCK-----", " ."]


@pytest.mark.parametrize("text", [ONE_LINE, STANZAS])
def test_what_is_written_is_read_back(text: str) -> None:
    read = one_line_sources if text == ONE_LINE else stanza_sources
    sources = debian_sources(read(text), BOOKWORM, backports=True)
    written = "\n".join(source.stanza() for source in sources)
    assert stanza_sources(written) == sources
    assert "cdrom" not in written
    assert sources[0].suites == ("bookworm", "bookworm-updates", "bookworm-backports")


def test_others_archives_are_left_out() -> None:
    text = f"{ONE_LINE}deb http://x.example/ bookworm stable\ndeb http://y.example/ nodistro main\n"
    sources = debian_sources(one_line_sources(text), BOOKWORM, backports=False)
    found = [source.uris[0] for source in sources]
    assert found == ["http://m.example/debian", "http://s.example/debian-security"]


@pytest.mark.parametrize(
    ("release", "name"),
    [(BOOKWORM, "bookworm"), ({"ID": "ubuntu", "VERSION_CODENAME": "noble"}, "stable")],
)
def test_without_own_sources_debian_s_public_addresses_are_used(
    release: dict[str, str], name: str, tmp_path: Path
) -> None:
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    ubuntu = Source(("http://archive.ubuntu.com/ubuntu",), ("noble",), ("main",))
    archive, security = debian_sources([ubuntu], release, backports=True, keyring=keyring)
    assert archive.uris == ("http://deb.debian.org/debian",)
    assert archive.suites == (name, f"{name}-updates", f"{name}-backports")
    assert security.suites == (f"{name}-security",)
    assert archive.options == security.options == {"Signed-By": str(keyring)}
    with pytest.raises(TargetError, match="cannot be verified") as caught:
        debian_sources([], {}, backports=False, keyring=tmp_path / "missing.gpg")
    assert caught.value.remedy.endswith("apt-get install debian-archive-keyring")


def test_files_are_read_where_apt_reads_them(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (tmp_path / "sources.list").write_text("deb http://a.example/ bookworm main\n")
    (parts / "b.list").write_text("deb http://b.example/ bookworm main\n")
    (parts / "c.sources").write_text("Types: deb\nURIs: http://c.example\nSuites: x\n")
    (parts / "d.list.disabled").write_text("deb http://d.example/ bookworm main\n")
    (parts / "e.list").mkdir()
    found = host_sources(tmp_path / "sources.list", parts)
    assert [source.uris[0][7] for source in found] == ["a", "b", "c"]
    assert host_sources(tmp_path / "missing", tmp_path / "none") == []
