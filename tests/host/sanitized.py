"""Runs every test of the register of a probe that was built with a sanitizer.

`python -m tests.host.sanitized [WORD...] PROBE`, the words going before each command. Ends
with 1 when a run does not end with 0 or says anything on standard error, as a report does.
What is measured under a sanitizer means nothing, and its own threads have their say in the
order of the test's: neither figures nor verdicts are looked at. So one test runs on each CPU,
at a priority that takes none from the tests which run beside it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from hardstone.targets.alone import default_lock_file, measuring_alone
from tests import machine
from tests.host import few
from tests.process.targets import sample
from tests.running import GIVE_UP_S, run

HANGS = f"not over after {GIVE_UP_S} s"  # beside others, at a low priority
ALONE_S = 600
# The waiters of another process are started there after a fork, which the thread sanitizer
# follows only when told to.
# A thread that ends on a stack which another one had before looks to the address sanitizer as if it
# wrote below a frame of that one.
VARIABLES = {"TSAN_OPTIONS": "die_after_fork=0", "ASAN_OPTIONS": "use_sigaltstack=0"}
LONGEST = ("TMR-B-EDGE", "THR-B-RR", "THR-B-PRI", "MUT-B-INV")  # they wait: begun first
FEWER = {  # a thread costs a sanitizer much
    "THR-P-SLS": ("-p", "threads=2,10,128"),
    "SEM-P-ARC": ("-p", "waiters=1,8"),
}


def complaint(probe: list[str], test: str, cpu: int) -> str:
    """What is wrong with the run of a test; empty when nothing is."""
    words = (*few.options(test), *FEWER.get(test, ()), *machine.BELOW_OTHERS, "--cpu", str(cpu))
    try:
        stream = run(Path(probe[-1]), test, *words, prefix=probe[:-1], variables=VARIABLES)
    except subprocess.TimeoutExpired:
        return HANGS
    if stream.code not in (0, 3, 5):  # what a result may end with
        return f"exit code {stream.code}\n{stream.stderr}"
    return stream.stderr


def run_all(probe: list[str]) -> int:
    cpus: SimpleQueue[int] = SimpleQueue()
    for cpu in sorted(machine.allowed()):
        cpus.put(cpu)

    def is_good(test: str) -> bool:
        """Runs it on a CPU on which none of the others is."""
        cpu = cpus.get()
        what = complaint(probe, test, cpu)
        if what == HANGS:
            # The sanitizer's own locks spin: whoever waits for one keeps a thread of a lower
            # priority, which has it, from the CPU. A lock of the probe's would hang again.
            print(f"{test}: {what}, once more", flush=True)
            what = complaint(probe, test, cpu)
        cpus.put(cpu)
        if what:
            print(f"{test}: {what}", flush=True)
        return not what

    ids = (test.id for test in sample.register().tests)
    tests = sorted(ids, key=lambda test: test not in LONGEST)
    with ThreadPoolExecutor(cpus.qsize()) as pool:
        bad = list(pool.map(is_good, tests)).count(False)
    print(f"{len(tests)} tests, {bad} with a complaint")
    return 1 if bad or not tests else 0


def main() -> int:
    give_up_s = time.monotonic() + ALONE_S
    with measuring_alone(lambda: time.monotonic() > give_up_s, print, print, default_lock_file()):
        return run_all(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
