"""python -m bench.fuzz: damaged and made-up inputs through every door that reads them.

Exits with 1 where one crashes, hangs or takes too much memory; bench/README.md says more.
"""

from __future__ import annotations

import argparse
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

from bench.fuzz.inputs import KINDS, input_of
from bench.fuzz.worker import MOST_RSS_BYTES, MOST_S, MOST_S_PER_MIB, Failure, Share

SHARES = {"document": 3, "stream": 4, "journal": 3, "import": 10}
_EACH = 200
_SILENT_S = 300.0
_PROGRESS_S = 20.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000, help="in all, of these kinds")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--failures", type=Path, default=Path("build/fuzz"), help="folder for them")
    options = parser.parse_args(arguments)
    waiting: SimpleQueue[tuple[str, int, int]] = SimpleQueue()
    kinds = options.kind or KINDS
    for kind in kinds:
        count = -(-options.inputs * SHARES[kind] // sum(SHARES[one] for one in kinds))
        for first in range(0, count, _EACH):
            waiting.put((kind, first, min(_EACH, count - first)))
    shares: list[Share] = []
    threads = [
        threading.Thread(target=_work, args=(options.seed, waiting, shares))
        for _ in range(options.workers)
    ]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    kept: list[Failure] = []
    while any(thread.is_alive() for thread in threads):
        threads[-1].join(_PROGRESS_S)
        known = list(shares)
        failures = [failure for share in known for failure in share.failures]
        _keep(failures[len(kept) :], options.seed, options.failures)
        kept = failures
        done = sum(share.inputs for share in known)
        if done < options.inputs:
            spent_s = time.monotonic() - started
            print(f"{spent_s:5.0f} s: {done} inputs, {len(kept)} failed", flush=True)
    failures = [failure for share in shares for failure in share.failures]
    _keep(failures[len(kept) :], options.seed, options.failures)
    print(_table(shares))
    print(f"seed {options.seed}, {time.monotonic() - started:.0f} s; times are of the CPU")
    return 1 if failures else 0


def _work(seed: int, waiting: SimpleQueue[tuple[str, int, int]], shares: list[Share]) -> None:
    """One worker, started anew when it is gone."""
    worker = None
    while True:
        try:
            kind, first, count = waiting.get_nowait()
        except Empty:
            break
        worker = worker if worker is not None and worker.poll() is None else _started(seed)
        answer = _asked(worker, f"{kind} {first} {count}\n")
        if answer is not None:
            shares.append(answer)
            continue
        worker.kill()
        worker.wait()
        if count > 1:  # which of them it was
            for number in range(first, first + count):
                waiting.put((kind, number, 1))
        else:
            failure = Failure(kind, first, "crash", "the worker died, or was silent for too long")
            shares.append(Share(kind, inputs=1, failures=[failure]))
    if worker is not None and worker.stdin is not None:
        worker.stdin.close()
        worker.wait()


def _started(seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.fuzz.worker", str(seed)]
    # Every thread of numpy would take address space of its own.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def _asked(worker: subprocess.Popen[str], line: str) -> Share | None:
    """The answer of the worker, None where none comes."""
    if worker.stdin is None or worker.stdout is None:
        return None
    try:
        worker.stdin.write(line)
        worker.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(worker.stdout, selectors.EVENT_READ)
            if not selector.select(_SILENT_S):
                return None
        answer = worker.stdout.readline()
        return msgspec.json.decode(answer, type=Share) if answer else None
    except (OSError, msgspec.DecodeError):
        return None


def _keep(failures: list[Failure], seed: int, folder: Path) -> None:
    """Each input that failed, as it was, and what it led to."""
    for one in failures:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{one.what}-{one.kind}-{seed}-{one.number}"
        (folder / name).write_bytes(input_of(seed, one.kind, one.number))
        (folder / f"{name}.txt").write_text(one.text, "utf-8", "replace")
        last = one.text.strip().splitlines()[-1:] or [""]
        print(
            f"{one.what}: {one.kind} {one.number}: {last[0][:200]}; see {folder / name}", flush=True
        )


def _table(shares: list[Share]) -> str:
    titles = ("inputs", "refused", "accepted", "crashes", "hangs", "too large", "slowest", "peak")
    lines = [f"{'':9}" + "".join(f"{title:>11}" for title in titles)]
    for kind in (*KINDS, "all"):
        found = [share for share in shares if kind in (share.kind, "all")]
        whats = [failure.what for share in found for failure in share.failures]
        slowest_s = max((share.slowest_s for share in found), default=0.0)
        peak_bytes = max((share.peak_bytes for share in found), default=0)
        counts = [
            *(sum(getattr(share, name) for share in found) for name in titles[:3]),
            *(whats.count(what) for what in ("crash", "hang", "memory")),
        ]
        cells = [*map(str, counts), f"{slowest_s:.2f} s", f"{peak_bytes >> 20} MiB"]
        lines.append(f"{kind:9}" + "".join(f"{cell:>11}" for cell in cells))
    limit = f"{MOST_S:g} s and {MOST_S_PER_MIB:g} s for each MiB"
    lines.append(f"limits: {limit}, {MOST_RSS_BYTES >> 20} MiB of memory for an input")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
