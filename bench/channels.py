"""Bytes that a full pipe, socket or pseudo-terminal has taken in FIO-B-ASY, beside a loop of
Python that fills one of its own, and, of a pipe, what the kernel says (F_GETPIPE_SZ)."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import time
import tty
from collections.abc import Callable
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

BLOCK = bytes(4096)  # as async.c writes
QUIET_S, QUIET_COUNT = 0.001, 5  # a terminal takes more when its kernel thread has run
TOOK = re.compile(r"took (\d+) bytes")
KINDS = ("pipe", "socket", "pty")


def hardstone(probe: Path) -> Metrics:
    command = [str(probe), "run", "FIO-B-ASY", "--json", "-p", f"kinds={','.join(KINDS)}"]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    evidence = {line["name"]: line["evidence"] for line in lines if line["type"] == "verdict"}
    found = {kind: TOOK.search(evidence.get(f"full_write/{kind}", "")) for kind in KINDS}
    return {f"{kind}_bytes": float(took[1]) for kind, took in found.items() if took}


def stuffed(end: int) -> float:
    os.set_blocking(end, False)
    taken = full = 0
    while full < QUIET_COUNT:
        try:
            taken += os.write(end, BLOCK)
            full = 0
        except BlockingIOError:
            full += 1
            time.sleep(QUIET_S)
    return float(taken)


def stuffed_pair(make: Callable[[], tuple[int, int]]) -> float:
    out, into = make()
    try:
        return stuffed(into)
    finally:
        os.close(out)
        os.close(into)


def sockets() -> tuple[int, int]:
    out, into = socket.socketpair()
    return out.detach(), into.detach()


def terminal() -> tuple[int, int]:
    master, end = os.openpty()
    tty.setraw(end)
    return end, master


def own_loop() -> Metrics:
    out, into = os.pipe()
    pipe_bytes = float(fcntl.fcntl(into, fcntl.F_GETPIPE_SZ))
    os.close(out)
    os.close(into)
    return {
        "pipe_bytes": pipe_bytes,
        "socket_bytes": stuffed_pair(sockets),
        "pty_bytes": stuffed_pair(terminal),
    }
