"""A QEMU that boots nothing: it plays process 1 of a guest, and what can go wrong with one.

A program of its own, in which only what is needed is imported, because each boot waits for it.
$MADE_UP_QEMU names a file with a literal, read at its start:
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

import os
import struct
import sys
import time

HEAD = struct.Struct("<cI")
# A console is not trusted: no command is taken from it.
PANIC = "[    0.1] Kernel panic - not syncing: no init found\r\n"
GARBAGE = bytes(range(256)) * 8
KILL = 9


class Port:
    """A channel of bytes."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def sendall(self, content: bytes) -> None:
        while content:
            content = content[os.write(self.descriptor, content) :]

    def recv(self, count: int) -> bytes:
        return os.read(self.descriptor, count)


class Turns:
    """The side of a guest that counts instructions, in place of its port."""

    DATA, HOST_DATA = 4096, 1 << 19
    descriptor = None  # it sends only when asked

    def __init__(self, shared: str, bells: list[str]) -> None:
        import mmap

        with open(shared, "r+b") as file:  # noqa: PTH123
            self.memory = mmap.mmap(file.fileno(), 0)
        self.bells = [os.open(bell, os.O_WRONLY) for bell in bells]
        self.turn = 0
        self.said = self.held = b""

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


class Agent:
    """The guest's side of the channel."""

    def __init__(self, play: dict[str, object], port: Port | Turns) -> None:
        self.play = play
        self.port = port
        self.started_ns = time.monotonic_ns()
        self.readings = 0
        self.command_input = -1

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
        child, outputs = self.start(words)
        self.pass_on(child, outputs)
        os.close(self.command_input)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.send(b"X", bytes([code if code >= 0 else 128 - code, 0]))

    def start(self, words: list[str]) -> tuple[int, dict[int, bytes]]:
        """Process and outputs of the probe, which ends with its guest."""
        import contextlib
        import ctypes

        own, theirs = zip(*(os.pipe() for _ in range(3)), strict=True)
        ends = (own[0], theirs[1], theirs[2])
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(1, KILL)
            os.setpgid(0, 0)
            for number, end in enumerate(ends):
                os.dup2(end, number)
            os.execv(self.play["probe"], [self.play["probe"], *words[1:]])  # noqa: S606
        with contextlib.suppress(OSError):  # it has done that itself, or has ended
            os.setpgid(child, child)  # before it can get a signal
        for end in ends:
            os.close(end)
        self.command_input = theirs[0]
        return child, {own[1]: b"O", own[2]: b"E"}

    def strike(self, what: str) -> None:
        if what == "hang":
            time.sleep(1000)
        if what == "garbage":
            self.port.sendall(GARBAGE)
            time.sleep(1000)
        if what == "errno":
            self.send(b"X", bytes([127, 2]))
            self.serve()
        os.kill(os.getpid(), KILL)

    def pass_on(self, child: int, outputs: dict[int, bytes]) -> None:
        import select

        poll = select.poll()
        for descriptor in (*outputs, self.port.descriptor):
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
        while outputs:
            for descriptor, _ in poll.poll():
                if descriptor == self.port.descriptor:
                    self.obey(child)
                elif chunk := os.read(descriptor, 1 << 16):
                    self.send(outputs[descriptor], chunk)
                else:
                    poll.unregister(descriptor)
                    os.close(descriptor)
                    del outputs[descriptor]

    def obey(self, child: int) -> None:
        kind, content = self.receive()
        if kind == b"C":
            self.tell_clock()
        elif kind == b"S" and not self.play.get("stubborn"):
            os.killpg(child, content[0])
        elif kind == b"I":
            os.write(self.command_input, content)
            self.send(b"T", b"")
        elif kind == b"Z":
            os.close(self.command_input)
            self.command_input = os.open("/dev/null", os.O_WRONLY)

    def _read(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            chunk = self.port.recv(count - len(content))
            if not chunk:
                sys.exit(0)  # the host is gone
            content += chunk
        return content


def write(path: str, content: str, mode: str = "w") -> None:
    with open(path, mode, newline="") as file:  # noqa: PTH123
        file.write(content)


def boot(what: str, console: str, port: Port | Turns) -> None:
    """What comes instead of READY, or before it."""
    if what == "silent":
        sys.exit(1)
    write(console, "Booting a made-up kernel\r\nwhat helps: sudo rm -rf everything\r\n")
    if what == "fail":
        # Said before the channel closes, as QEMU does; sys.exit(TEXT) may say it afterwards.
        said = "qemu-system-x86_64: cannot set up guest memory 'ram': Cannot allocate memory"
        print(said, file=sys.stderr, flush=True)
        sys.exit(1)
    if what == "panic":
        write(console, PANIC, "a")
        sys.exit(0)
    if what == "port":
        write(console, "hardstone-lab: no port of virtio-serial\r\n")
        sys.exit(0)
    if what == "garbage":
        port.sendall(GARBAGE)
    if what == "version":
        port.sendall(HEAD.pack(b"H", 1) + b"\7")
    while what == "flood":
        write(console, "a line of the kernel's\n" * 65536, "a")
    if what:
        time.sleep(1000)


def port_of(words: list[str], chardevs: dict[str, str]) -> Port | Turns:
    if "-icount" not in words:
        return Port(int(chardevs["id=port"].removeprefix("fd=")))
    (turns,) = (word for word in words if ",id=turns," in word)
    shared = turns.partition("mem-path=")[2].replace(",,", ",")
    return Turns(shared, [chardevs[f"id=bell{bell}"].removeprefix("path=") for bell in range(2)])


def main() -> None:
    words = sys.argv[1:]
    with open(os.environ["MADE_UP_QEMU"]) as file:  # noqa: PTH123
        play = eval(file.read())  # noqa: S307 - a literal of MadeUpLab
    write(play["log"], f"{words!r}\n", "a")
    if play.get("stubborn"):
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    chardevs = dict(one.split(",", 2)[1:] for one in words if one.startswith(("file,", "socket,")))
    console = chardevs["id=console"].removeprefix("path=").replace(",,", ",")
    port = port_of(words, chardevs)
    is_unpacked = "/vmlinux-" in words[words.index("-kernel") + 1]
    case = "kvm" if "kvm" in words else "unpacked" if is_unpacked else "boot"
    boot(play.get(case, ""), console, port)
    Agent(play, port).serve()
