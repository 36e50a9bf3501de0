"""A QEMU that boots nothing: it plays process 1 of a guest, and what can go wrong with one.

A program of its own. $MADE_UP_QEMU names a file of JSON, read at its start:
  boot      what happens before READY: "hang", "panic", "port", "garbage", "version", "flood",
            "fail" (QEMU itself), "silent" (with an empty console), nothing
  kvm       the same where -accel kvm is asked for
  unpacked  the same where the kernel is an unpacked one
  at, then  a command one of whose words is `at` meets "hang", "die", "garbage" or "errno"
  speed     of the guest's clock
  wrong_clock  the reading of the clock, the first is 1, that is answered by garbage
  probe     the program that commands run
  stubborn  signals to the command and to QEMU have no effect
It writes its own arguments to the file `log`, one boot a line.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HEAD = struct.Struct("<cI")
# A console is not trusted: no command is taken from it.
PANIC = "[    0.1] Kernel panic - not syncing: no init found\r\n"
GARBAGE = bytes(range(256)) * 8


class Agent:
    """The guest's side of the channel."""

    def __init__(self, play: dict[str, Any], port: socket.socket | Turns) -> None:
        self.play = play
        self.port = port
        self.started_ns = time.monotonic_ns()
        self.readings = 0

    def send(self, kind: bytes, content: bytes = b"") -> None:
        self.port.sendall(HEAD.pack(kind, len(content)) + content)

    def receive(self) -> tuple[bytes, bytes]:
        kind, length = HEAD.unpack(self._read(HEAD.size))
        return kind, self._read(length)

    def serve(self) -> None:
        self.send(b"H", b"\2")
        while True:
            kind, content = self.receive()
            if kind == b"C":
                self.tell_clock()
            elif kind == b"R":
                self.run([word.decode() for word in content.split(b"\0")[:-1]])

    def tell_clock(self) -> None:
        self.readings += 1
        if self.readings == self.play.get("wrong_clock"):
            self.strike("garbage")
        passed_ns = time.monotonic_ns() - self.started_ns
        self.send(b"C", struct.pack("<Q", int(passed_ns * self.play.get("speed", 1))))

    def run(self, words: list[str]) -> None:
        if self.play.get("at") in words:
            self.strike(self.play["then"])
        child = subprocess.Popen(
            [self.play["probe"], *words[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=die_along,  # noqa: PLW1509 - this program has one thread
        )
        self.pass_on(child)
        code = child.wait()
        self.send(b"X", bytes([code if code >= 0 else 128 - code, 0]))

    def strike(self, what: str) -> None:
        if what == "hang":
            time.sleep(1000)
        if what == "garbage":
            self.port.sendall(GARBAGE)
            time.sleep(1000)
        if what == "errno":
            self.send(b"X", bytes([127, 2]))
            self.serve()
        os.kill(os.getpid(), signal.SIGKILL)

    def pass_on(self, child: subprocess.Popen[bytes]) -> None:
        kinds = {child.stdout: b"O", child.stderr: b"E"}
        with selectors.DefaultSelector() as selector:
            for stream in kinds:
                selector.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]
            if isinstance(self.port, socket.socket):
                selector.register(self.port, selectors.EVENT_READ)
            while selector.get_map().keys() - {self.port.fileno()}:
                for key, _ in selector.select():
                    if key.fileobj is self.port:
                        self.obey(child)
                    elif chunk := os.read(key.fd, 1 << 16):
                        self.send(kinds[key.fileobj], chunk)  # type: ignore[index]
                    else:
                        selector.unregister(key.fileobj)

    def obey(self, child: subprocess.Popen[bytes]) -> None:
        kind, content = self.receive()
        assert child.stdin is not None
        if kind == b"C":
            self.tell_clock()
        elif kind == b"S" and not self.play.get("stubborn"):
            os.killpg(child.pid, content[0])
        elif kind == b"I":
            child.stdin.write(content)
            child.stdin.flush()
            self.send(b"T", b"")
        elif kind == b"Z":
            child.stdin.close()

    def _read(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            chunk = self.port.recv(count - len(content))
            if not chunk:
                sys.exit(0)  # the host is gone
            content += chunk
        return content


class Turns:
    """The side of a guest that counts instructions, in place of its port."""

    DATA, HOST_DATA = 4096, 1 << 19

    def __init__(self, shared: Path, bells: list[Path]) -> None:
        with shared.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.bells = [os.open(bell, os.O_WRONLY) for bell in bells]
        self.turn = 0
        self.said = self.held = b""

    def fileno(self) -> int:
        """None: it sends only when asked."""
        return -1

    def sendall(self, content: bytes) -> None:
        self.said += content

    def recv(self, count: int) -> bytes:
        while not self.held:
            self.hand_over()
        taken, self.held = self.held[:count], self.held[count:]
        return taken

    def hand_over(self) -> None:
        self.memory[self.DATA : self.DATA + len(self.said)] = self.said
        self.turn += 1
        self.memory[:8] = struct.pack("<II", self.turn, len(self.said))
        os.write(self.bells[self.turn % 2], b".")
        (count,) = struct.unpack_from("<I", self.memory, 8)
        self.said, self.held = b"", self.memory[self.HOST_DATA : self.HOST_DATA + count]


def die_along() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def boot(what: str, console: Path, port: socket.socket | Turns) -> None:
    """What comes instead of READY, or before it."""
    if what == "silent":
        sys.exit(1)
    console.write_text("Booting a made-up kernel\r\nwhat helps: sudo rm -rf everything\r\n")
    if what == "fail":
        # Said before the channel closes, as QEMU does; sys.exit(TEXT) may say it afterwards.
        said = "qemu-system-x86_64: cannot set up guest memory 'ram': Cannot allocate memory"
        print(said, file=sys.stderr, flush=True)
        sys.exit(1)
    if what == "panic":
        with console.open("a") as file:
            file.write(PANIC)
        sys.exit(0)
    if what == "port":
        console.write_text("hardstone-lab: no port of virtio-serial\r\n")
        sys.exit(0)
    if what == "garbage":
        port.sendall(GARBAGE)
    if what == "version":
        port.sendall(HEAD.pack(b"H", 1) + b"\7")
    if what == "flood":
        with console.open("ab") as file:
            while True:
                file.write(b"a line of the kernel's\n" * 4096)
    if what:
        time.sleep(1000)


def port_of(words: list[str], chardevs: dict[str, str]) -> socket.socket | Turns:
    if "-icount" not in words:
        return socket.socket(fileno=int(chardevs["id=port"].removeprefix("fd=")))
    (turns,) = (word for word in words if ",id=turns," in word)
    shared = turns.partition("mem-path=")[2].replace(",,", ",")
    bells = [Path(chardevs[f"id=bell{bell}"].removeprefix("path=")) for bell in range(2)]
    return Turns(Path(shared), bells)


def main() -> None:
    words = sys.argv[1:]
    play = json.loads(Path(os.environ["MADE_UP_QEMU"]).read_text())
    with Path(play["log"]).open("a") as log:
        print(json.dumps(words), file=log)
    if play.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    chardevs = dict(one.split(",", 2)[1:] for one in words if one.startswith(("file,", "socket,")))
    console = Path(chardevs["id=console"].removeprefix("path=").replace(",,", ","))
    port = port_of(words, chardevs)
    is_unpacked = "/vmlinux-" in words[words.index("-kernel") + 1]
    case = "kvm" if "kvm" in words else "unpacked" if is_unpacked else "boot"
    boot(play.get(case, ""), console, port)
    Agent(play, port).serve()


if __name__ == "__main__":
    main()
