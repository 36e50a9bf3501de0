"""Measures a real system behind a faulty line, many times: nothing wrong may be shown as right.

    python bench/console_faults.py IMAGE [--runs 100] [--seed 1]

IMAGE is an image with the probe for one of the machines of `console:qemu:`. QEMU runs it in real
time, its serial port on a socket; a relay between that and hardstone loses, doubles and inserts
bytes, is silent for a while, or resets the machine. Faults are drawn from a seed. After each run
what hardstone stored is compared with what the probe sent into the line, which the relay keeps:
a run is right (all lines as they were sent), or it says what is wrong; anything else is an error
of hardstone, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hardstone.targets.console.address import parse_console
from hardstone.targets.console.emulated_guest import read_settings

FAULTS = ("none", "lost", "doubled", "inserted", "mixed", "silent", "reset")
_FRAME = re.compile(rb"@hs:([0-9a-f]{4}) ([0-9]+) ([\^+.!-]) ([0-9a-f]{8}) ?([^\r\n]*)\r?\n")
_NO_REBOOT = "-no-reboot"
_MOST_RUN_S = 150.0


@dataclass
class Relay:
    """Between QEMU's port and hardstone's. `clean`: all that the system has sent."""

    guest: socket.socket
    port: int
    kind: str
    random: random.Random
    rate: float
    reset: threading.Event
    clean: bytearray = field(default_factory=bytearray)
    faults: int = 0
    bytes_seen: int = 0

    def serve(self, listener: socket.socket, ended: threading.Event) -> None:
        # Where in the stream a machine is reset or a line is silent: within a command's output.
        special_at = self.random.randrange(2_000, 125_000)
        client: socket.socket | None = None
        while not ended.is_set():
            ready = [one for one in (self.guest, client or listener) if one is not None]
            for one in select.select(ready, [], [], 0.1)[0]:
                if one is listener:
                    client = listener.accept()[0]
                    continue
                data = one.recv(256)
                if not data:
                    if one is self.guest:
                        return
                    client = None
                    continue
                if one is client:
                    self.guest.sendall(self._spoilt(data, self.rate / 4))
                    continue
                self.clean += data
                self.bytes_seen += len(data)
                if self.kind in ("silent", "reset") and self.bytes_seen > special_at:
                    special_at = 1 << 60
                    self.faults += 1
                    if self.kind == "reset":
                        self.reset.set()
                    else:
                        self._drop_for(self.random.uniform(1.0, 12.0), ended)
                if client is not None:
                    try:
                        client.sendall(self._spoilt(data, self.rate))
                    except OSError:
                        client = None

    def _drop_for(self, seconds: float, ended: threading.Event) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not ended.is_set():
            if select.select([self.guest], [], [], 0.1)[0]:
                self.clean += self.guest.recv(256)

    def _spoilt(self, data: bytes, rate: float) -> bytes:
        if self.kind not in ("lost", "doubled", "inserted", "mixed"):
            return data
        found = bytearray()
        for byte in data:
            if self.random.random() >= rate:
                found.append(byte)
                continue
            self.faults += 1
            kind = self.kind
            if kind == "mixed":
                kind = self.random.choice(("lost", "doubled", "inserted", "changed", "foreign"))
            if kind == "doubled":
                found += bytes([byte, byte])
            elif kind == "inserted":
                found += bytes([byte, self.random.randrange(256)])
            elif kind == "changed":
                found.append(byte ^ (1 << self.random.randrange(8)))
            elif kind == "foreign":
                found += b"\r\n[ 12.345] eth0: link up\r\n" + bytes([byte])
        return bytes(found)


def sent_outputs(clean: bytes) -> list[bytes]:
    """The output of each pass that the probe sent whole: by a decoder of its own."""
    passes: dict[bytes, list[dict[int, tuple[bytes, bytes]]]] = {}
    for token, number, kind, crc, payload in _FRAME.findall(clean):
        if zlib.crc32(b"%s %s %s %s" % (token, number, kind, payload)) != int(crc, 16):
            continue
        held = passes.setdefault(token, [{}])
        if int(number) in held[-1]:
            held.append({})
        held[-1][int(number)] = (kind, payload)
    outputs = []
    for held in passes.values():
        for frames in held:
            last = max(frames)
            if frames[last][0] != b"!" or len(frames) != last + 1:
                continue  # a reset cut it off
            text = b"".join(
                payload + (b"\n" if kind == b"." else b"")
                for _, (kind, payload) in sorted(frames.items())
                if kind in (b"+", b".")
            )
            outputs.append(text)
    return outputs


def _series(one: dict[str, Any]) -> Any:
    labels = sorted((one.get("labels") or {}).items())
    return one["name"], labels, one["count"], one["min"], one["max"], one["histogram"]["buckets"]


def sent_figures(outputs: Sequence[bytes]) -> list[list[Any]]:
    """The series of each stream of a test that the probe sent whole."""
    found = []
    for output in outputs:
        lines = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
        if lines and lines[-1].get("type") == "footer":
            found.append([_series(line) for line in lines if line["type"] == "series"])
    return found


def one_run(
    image: Path, kind: str, number: int, seed: int, words: Sequence[str]
) -> tuple[str, str, str]:
    """The fault, what became of it ("right", "told" or "WRONG"), and what was said."""
    generator = random.Random(f"{seed}/{number}")  # noqa: S311 - repeatable
    rate = 10 ** generator.uniform(-5.0, -2.7)
    own, guests = socket.socketpair()
    monitor, guests_monitor = socket.socketpair()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    settings = read_settings(parse_console(f"console:qemu:{image}"))
    command = [
        # A reset boots it again, as on a board.
        *(
            one
            for one in settings.command(("socket", f"fd={guests.fileno()}"))
            if one != _NO_REBOOT
        ),
        *("-chardev", f"socket,id=monitor,fd={guests_monitor.fileno()}"),
        *("-mon", "chardev=monitor"),
    ]
    ended, reset = threading.Event(), threading.Event()
    relay = Relay(own, port, kind, generator, rate, reset)
    with tempfile.TemporaryDirectory() as folder:
        emulator = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=(guests.fileno(), guests_monitor.fileno()),
            cwd=folder,
        )
        guests.close()
        guests_monitor.close()
        thread = threading.Thread(target=relay.serve, args=(listener, ended))
        thread.start()
        own_place = {"XDG_DATA_HOME": folder, "HARDSTONE_LOCK_FILE": f"{folder}/lock"}
        target = f"console:tcp:127.0.0.1:{port}"
        tool = subprocess.Popen(
            [sys.executable, "-m", "hardstone", "run", *words, "--quiet", "--target", target],
            env=os.environ | own_place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            until = time.monotonic() + _MOST_RUN_S
            while tool.poll() is None and time.monotonic() < until:
                if reset.wait(0.2) and not relay.reset.is_set():
                    continue
                if reset.is_set():
                    reset.clear()
                    monitor.sendall(b"system_reset\n")
            if tool.poll() is None:
                tool.kill()
                tool.communicate()
                return kind, "WRONG", f"it did not end within {_MOST_RUN_S:g} s"
            said = tool.communicate()[0].decode("utf-8", "replace")
        finally:
            ended.set()
            emulator.kill()
            emulator.wait()
            thread.join()
            for one in (own, monitor, listener):
                one.close()
        return (f"{kind} {relay.faults}", *_judged(Path(folder), said, bytes(relay.clean)))


def _judged(folder: Path, said: str, clean: bytes) -> tuple[str, str]:
    told = [line for line in said.splitlines() if line.startswith("hardstone: ")]
    shown = subprocess.run(
        [sys.executable, "-m", "hardstone", "show", "last", "--json"],
        env=os.environ | {"XDG_DATA_HOME": str(folder)},
        capture_output=True,
        check=False,
    )
    if not shown.stdout.startswith(b"{"):
        return ("told", told[-1]) if told else ("WRONG", "neither a run nor a reason")
    results = json.loads(shown.stdout)["results"]
    sent = sent_figures(sent_outputs(clean))
    verdicts = [_of_result(result, sent) for result in results] or ["told"]
    if "WRONG" in verdicts:
        return "WRONG", f"{len(sent)} streams were sent, and the run has another"
    reasons = [str(result["reason"]) for result in results if result.get("reason")]
    return verdicts[0], (reasons or told or [""])[-1]


def _of_result(result: dict[str, Any], sent: list[list[Any]]) -> str:
    """A part of what was sent is right only where the result says that it is a part."""
    ours = [_series(one) for one in result["series"]]
    if result["status"] == "measured" and result["complete"]:
        return "right" if ours and ours in sent else "WRONG"
    known = [one for stream in sent for one in stream]
    return "told" if result["reason"] and all(one in known for one in ours) else "WRONG"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("image", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--fault", choices=FAULTS, help="this one alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test", nargs="+", default=["SEM-P-ARN", "--samples", "200"])
    options = parser.parse_args(words)
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(options.first, options.first + options.runs):
        kind = options.fault or FAULTS[number % len(FAULTS)]
        fault, verdict, said = one_run(options.image, kind, number, options.seed, options.test)
        counts[fault.split()[0], verdict] += 1
        print(f"{number:3} {fault:16} {verdict:5} {said[:160]}", flush=True)
    for (fault, verdict), count in sorted(counts.items()):
        print(f"{fault:10} {verdict:5} {count}")
    return 1 if any(verdict == "WRONG" for _, verdict in counts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
