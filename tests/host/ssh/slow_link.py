"""A slow link, as ssh's ProxyCommand: every byte arrives late, and not many in a second.

python slow_link.py HOST PORT DELAY_S BYTES_PER_S
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

PIECE = 1024


def carry(
    read: Callable[[int], bytes],
    write: Callable[[bytes], object],
    end: Callable[[], object],
    delay_s: float,
    bytes_per_s: float,
) -> threading.Thread:
    """From `read` to `write`, until nothing comes; then `end`. Gives the thread that writes."""
    pieces: queue.Queue[tuple[float, bytes]] = queue.Queue(maxsize=64)

    def take() -> None:
        due_s = 0.0
        with suppress(OSError):
            while piece := read(PIECE):
                due_s = max(due_s, time.monotonic()) + len(piece) / bytes_per_s
                pieces.put((due_s + delay_s, piece))
        pieces.put((0.0, b""))

    def give() -> None:
        with suppress(OSError):
            while (due := pieces.get())[1]:
                time.sleep(max(0.0, due[0] - time.monotonic()))
                write(due[1])
            end()

    threading.Thread(target=take, daemon=True).start()
    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    return giver


def write_all(piece: bytes) -> None:
    while piece:
        piece = piece[os.write(1, piece) :]


def main(host: str, port: str, delay_s: str, bytes_per_s: str) -> None:
    line = socket.create_connection((host, int(port)))
    slow = (float(delay_s), float(bytes_per_s))
    carry(lambda most: os.read(0, most), line.sendall, lambda: line.shutdown(1), *slow)
    carry(line.recv, write_all, lambda: None, *slow).join()


if __name__ == "__main__":
    main(*sys.argv[1:])
