"""A board for targets over SSH: an arm64 guest with busybox and an SSH server, without a compiler
and without Python.

    python -m bench.board_guest

prints the board's URL and the configuration with which ssh reaches it, and ends the board with
Ctrl-C. SIGUSR1 cuts the link, SIGUSR2 mends it. Nothing stays but packages in the lab's folder:
the server, its libraries and the drivers of the network come from Debian, once for each kernel.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from bench.processes import family
from hardstone.errors import HardstoneError, TargetError
from hardstone.files import replace_file
from hardstone.lab.debian import Package, PrivateApt, newest
from hardstone.lab.initramfs import (
    Entry,
    folder,
    make_archive,
    plain,
    program,
    read_config,
)
from hardstone.lab.kernels import Kernel, find_kernel, find_tree, needed_drivers
from hardstone.lab.lab_folder import lab_errors, lab_folder, make_guest_folder, work_folder
from hardstone.lab.qemu import console_lines, emulator, guard_command, said_last
from hardstone.lab.settings import kvm_obstacle
from hardstone.targets.host_memory import memory_folder, remove_guests

KERNEL = "debian-arm64"
ARCH, DEBIAN_ARCH = "aarch64", "arm64"
HERE = Path(__file__).resolve().parent
# The server, the libraries that it needs, and theirs.
PACKAGES = {
    "dropbear-bin": "usr/sbin/dropbear",
    "libc6": "lib/aarch64-linux-gnu/libc.so.6",
    "libcrypt1": "lib/aarch64-linux-gnu/libcrypt.so.1",
    "libgmp10": "usr/lib/aarch64-linux-gnu/libgmp.so.10",
    "libtomcrypt1": "usr/lib/aarch64-linux-gnu/libtomcrypt.so.1",
    "libtommath1": "usr/lib/aarch64-linux-gnu/libtommath.so.1",
    "zlib1g": "lib/aarch64-linux-gnu/libz.so.1",
}
LOADER = "lib/ld-linux-aarch64.so.1"
DRIVERS = {"virtio_pci": "CONFIG_VIRTIO_PCI", "virtio_net": "CONFIG_VIRTIO_NET"}
FOLDERS = (
    *("bin", "dev", "etc", "lib", "lib/aarch64-linux-gnu", "modules", "proc", "root", "run"),
    *("sbin", "sys", "tmp", "usr", "usr/bin", "usr/lib", "usr/lib/aarch64-linux-gnu", "usr/sbin"),
    "var",
)
HOME = "root"
HOST_KEY = "etc/dropbear/host_key"
FILES = {
    "etc/passwd": f"root:x:0:0:root:/{HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n".encode(),
    "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
    "etc/shells": b"/bin/sh\n",
    "etc/os-release": b'ID=board\nPRETTY_NAME="Board of the lab (busybox)"\n',
    "etc/inittab": f"::respawn:/usr/sbin/dropbear -F -E -s -r /{HOST_KEY}\n".encode(),
}
ROOM_BYTES = 1 << 26  # for the files of a board
MOST_CONSOLE_BYTES = 1 << 26
BOOT_S = 180.0
ASK_S = 5.0
END_S = 20.0
POLL_S = 0.2


class Board:
    """One boot, from `with` to its end. `folder` goes with it; `ssh_config` in it is a
    configuration with which ssh, by `-F`, reaches the host `board`, and `url`."""

    def __init__(
        self,
        *,
        kernel: str = KERNEL,
        key: Path | None = None,
        port: int = 0,
        cpus: int = 2,
        memory_mib: int = 1024,
        append: str = "",
    ) -> None:
        """`key`: a public key that root's login takes, None for one made for this boot; `port`: on
        127.0.0.1, 0 for a free one. HardstoneError if there is no board to be had here."""
        self._kernel = find_kernel(kernel)
        self._qemu = emulator(self._kernel.arch)
        self._parts = debian_parts(self._kernel)
        self._key = key
        self._append = append
        self._size = ("-smp", str(cpus), "-m", f"{memory_mib}M")
        self.port = port or free_port()
        self.boot_s = 0.0
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What `--target` takes."""
        return f"ssh://root@127.0.0.1:{self.port}"

    @property
    def ssh_config(self) -> Path:
        return self.folder / "config"

    def __enter__(self) -> Board:
        remove_guests()
        self.folder, self._lock = make_guest_folder(memory_folder(ROOM_BYTES))
        try:
            self._write_files()
            begin_s = time.monotonic()
            self._guard = subprocess.Popen(
                [
                    *guard_command(self.folder, self._lock, MOST_CONSOLE_BYTES, on_one_cpu=False),
                    *self._command(),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(self._lock,),
                start_new_session=True,
            )
            self._wait_for_server(begin_s + BOOT_S)
            self.boot_s = time.monotonic() - begin_s
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def ssh(self, *words: str) -> list[str]:
        """The command of ssh for a command on the board."""
        return ["ssh", "-F", str(self.ssh_config), "board", *words]

    def set_link(self, *, is_up: bool) -> None:
        """Cuts the network's link, or mends it: what is sent meanwhile is lost, and nobody told."""
        self._ask(f"set_link board {'on' if is_up else 'off'}")

    def reset(self) -> None:
        """Boots the board again, as its button would. `wait` waits until ssh reaches it."""
        self._ask("system_reset")

    def wait(self) -> None:
        """Until the server answers. TargetError if it does not."""
        self._wait_for_server(time.monotonic() + BOOT_S)

    def watch(self) -> NoReturn:
        """Waits until QEMU has ended: TargetError."""
        emulator = self._emulator()
        if emulator is not None:
            poller = select.poll()
            poller.register(os.pidfd_open(emulator), select.POLLIN)
            poller.poll()
        raise TargetError(f"the board has ended; {said_last(self.folder)}", "")

    def _write_files(self) -> None:
        identity, known = self.folder / "identity", self.folder / "known_hosts"
        host_key = make_key(self.folder / "host_key")
        public = make_key(identity) if self._key is None else self._key.read_text()
        name = f"[127.0.0.1]:{self.port}"
        known.write_text(f"{name} {' '.join(host_key.split()[:2])}\n")
        lines = [
            *("Host board 127.0.0.1", "HostName 127.0.0.1", f"Port {self.port}", "User root"),
            *(f'UserKnownHostsFile "{known}"', "StrictHostKeyChecking yes", "BatchMode yes"),
            *([f'IdentityFile "{identity}"', "IdentitiesOnly yes"] if self._key is None else []),
        ]
        self.ssh_config.write_text("".join(f"{line}\n" for line in lines))
        own = make_archive(
            [
                program("init", (HERE / "board.sh").read_bytes()),
                Entry("dev/console", 0o20600, device=(5, 1)),
                *(plain(path, content) for path, content in FILES.items()),
                Entry("etc/dropbear", 0o40700),
                Entry(HOST_KEY, 0o100600, dropbear_key((self.folder / "host_key").read_text())),
                Entry(f"{HOME}/.ssh", 0o40700),
                Entry(f"{HOME}/.ssh/authorized_keys", 0o100600, public.encode()),
            ]
        )
        (self.folder / "initramfs").write_bytes(self._parts.read_bytes() + own)

    def _command(self) -> list[str]:
        accel, cpu = "tcg,thread=multi", "cortex-a57"
        if kvm_obstacle(self._kernel.arch) is None:
            accel, cpu = "kvm", "host"
        word = f"hardstone.lab={accel.partition(',')[0]}"
        line = f"console=ttyAMA0 quiet panic=-1 {word} {self._kernel.append} {self._append}"
        forward = f"hostfwd=tcp:127.0.0.1:{self.port}-10.0.2.15:22"
        return [
            *(self._qemu, "-machine", "virt", "-accel", accel, "-cpu", cpu, *self._size),
            *("-nodefaults", "-no-user-config", "-display", "none"),
            *("-kernel", str(self._kernel.image), "-initrd", str(self.folder / "initramfs")),
            *("-append", line.strip()),
            *("-chardev", f"file,id=console,path={self.folder / 'console'}"),
            *("-serial", "chardev:console"),
            *("-netdev", f"user,id=net,restrict=on,{forward}"),
            *("-device", "virtio-net-pci,id=board,netdev=net,romfile="),
            *("-chardev", f"socket,id=monitor,path={self._monitor},server=on,wait=off"),
            *("-mon", "chardev=monitor,mode=readline"),
        ]

    @property
    def _monitor(self) -> Path:
        return self.folder / "monitor"

    def _ask(self, command: str) -> None:
        """A command to QEMU's monitor; its prompt comes before and after."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(ASK_S)
            monitor.connect(str(self._monitor))
            for line in ("", f"{command}\n"):
                monitor.sendall(line.encode())
                said = b""
                while not said.endswith(b"(qemu) "):
                    chunk = monitor.recv(4096)
                    if not chunk:
                        raise TargetError("the board has ended", "")
                    said += chunk

    def _wait_for_server(self, until_s: float) -> None:
        while not self._answers():
            said = read_text(self.folder / "qemu")
            if (said and not self._emulator()) or time.monotonic() > until_s:
                cause = said.strip() or said_last(self.folder)
                raise TargetError(f"the board does not start its SSH server: {cause}", "")
            time.sleep(POLL_S)

    def _emulator(self) -> int | None:
        """The process of QEMU, None where it has ended."""
        started = [] if self._guard is None else family(self._guard.pid)[1:]
        return started[0] if started else None

    def _answers(self) -> bool:
        if "board: the network is up" not in console_lines(self.folder):
            return False
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), ASK_S) as connection,
        ):
            return connection.recv(4) == b"SSH-"
        return False

    def _end(self) -> None:
        guard, self._guard = self._guard, None
        if guard is not None and guard.stdin is not None:
            guard.stdin.close()  # its end ends the guard, and this QEMU
            guard.wait(END_S)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def debian_parts(kernel: Kernel) -> Path:
    """The archive of what a board has from Debian; fetched where the lab's folder lacks it."""
    path = lab_folder() / "boards" / f"{kernel.sha256[:32]}.cpio"
    with lab_errors("keep the parts of a board in", path.parent):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with work_folder() as work:
                replace_file(path, fetched_parts(kernel, work), 0o644, is_durable=False)
    return path


def fetched_parts(kernel: Kernel, work: Path) -> bytes:
    """The archive, from Debian's packages; `work` is an empty folder."""
    (work / "apt").mkdir()
    apt = PrivateApt(work / "apt", DEBIAN_ARCH)
    trouble = apt.update(backports="@" in kernel.name)
    image = Package(*kernel.package.split("=", 1))
    found = {name: newest(apt.packages([name])) for name in PACKAGES}
    missing = [name for name, package in found.items() if package is None]
    if missing:
        raise TargetError(f"Debian's package {missing[0]} cannot be had", trouble)
    try:
        files = apt.download([image, *filter(None, found.values())], lambda done, total: None)
    except TargetError as error:
        again = "the archive may have a newer kernel: hardstone lab get debian --arch arm64"
        raise TargetError(error.cause, error.remedy or again) from error
    root = work / "root"
    for file in files.values():
        subprocess.run(["dpkg-deb", "-x", str(file), str(root)], check=True)
    options = read_config((root / "boot" / f"config-{kernel.release}").read_bytes(), "the config")
    drivers = needed_drivers(
        find_tree(root, kernel.release),
        options,
        arch=kernel.arch,
        release=kernel.release,
        needed=DRIVERS,
        welcome=(),
    )
    return make_archive(
        [
            *map(folder, FOLDERS),
            program("bin/busybox", kernel.busybox.read_bytes()),
            *(program(path, (root / path).read_bytes()) for path in (*PACKAGES.values(), LOADER)),
            *(
                plain(f"modules/{place:02}-{driver.name}.ko", driver.data)
                for place, driver in enumerate(drivers)
            ),
        ]
    )


def read_text(path: Path) -> str:
    """The text of a file, "" where there is none."""
    return path.read_text("utf-8", "replace") if path.exists() else ""


def make_key(path: Path) -> str:
    """A new key without a passphrase in the file `path`, and its public half as a line."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "board", "-f", str(path)]
    subprocess.run(command, check=True)
    return path.with_name(f"{path.name}.pub").read_text()


def dropbear_key(text: str) -> bytes:
    """A key of OpenSSH, of ed25519 and without a passphrase, as dropbear keeps it. PROTOCOL.key of
    OpenSSH has the format: a private part of two numbers, the type, the public key, both keys."""
    data = base64.b64decode("".join(text.split("\n")[1:-2]))
    at = len(b"openssh-key-v1\0")
    for _ in range(3):  # cipher and what it needs
        at += 4 + int.from_bytes(data[at : at + 4])
    at += 4  # one key
    at += 4 + int.from_bytes(data[at : at + 4])  # its public half
    at += 4 + 8
    kind, _, keys = (part for part in strings(data[at:], 3))
    return struct.pack(">I", len(kind)) + kind + struct.pack(">I", len(keys)) + keys


def strings(data: bytes, count: int) -> Iterator[bytes]:
    """The first strings of `data`, each behind its length, as SSH has them."""
    for _ in range(count):
        (size,) = struct.unpack_from(">I", data)
        yield data[4 : 4 + size]
        data = data[4 + size :]


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.board_guest", description=__doc__)
    parser.add_argument("--kernel", default=KERNEL, help=f"of the lab, for arm64 ({KERNEL})")
    parser.add_argument("--key", type=Path, help="a public key that root's login takes")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB")
    parser.add_argument("--append", default="", help="words for the kernel's command line")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Exit code: 0 after Ctrl-C or SIGTERM, that of the error if there is no board."""
    options = read_options(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with Board(
            kernel=options.kernel,
            key=options.key,
            port=options.port,
            cpus=options.cpus,
            memory_mib=options.memory,
            append=options.append,
        ) as board:
            signal.signal(signal.SIGUSR1, lambda number, frame: board.set_link(is_up=False))
            signal.signal(signal.SIGUSR2, lambda number, frame: board.set_link(is_up=True))
            print(board.url)
            print(f"booted in {board.boot_s:.1f} s; ssh -F {board.ssh_config} board", flush=True)
            board.watch()
    except KeyboardInterrupt:
        return 0
    except HardstoneError as error:
        print(f"board: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
