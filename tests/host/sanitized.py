"""Runs every test of the register of a probe that was built with a sanitizer.

`python -m tests.host.sanitized [WORD...] PROBE`, the words going before each command. Ends
with 1 when a run does not end with 0 or says anything on standard error, as a report does.
What is measured under a sanitizer means nothing, and its own threads have their say in the
order of the test's: neither figures nor verdicts are looked at. So one test runs on each CPU,
at a priority that takes none from the tests which run beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import msgspec

from hardstone.model import Register
from hardstone.targets.alone import default_lock_file, measuring_alone
from tests import machine
from tests.host import few

GIVE_UP_S = 300  # beside others, at a low priority
HANGS = f"not over after {GIVE_UP_S} s"
ALONE_S = 600
# The waiters of another process are started there after a fork, which the thread sanitizer
# follows only when told to.
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": "die_after_fork=0"}
LONGEST = ("TMR-B-EDGE", "THR-B-RR", "THR-B-PRI", "MUT-B-INV")  # they wait: begun first
FEWER = {  # a thread costs a sanitizer much
    "THR-P-SLS": ("-p", "threads=2,10,128"),
    "SEM-P-ARC": ("-p", "waiters=1,8"),
}


def output_of(command: Sequence[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True, timeout=GIVE_UP_S).stdout


def complaint(command: Sequence[str]) -> str:
    """What is wrong with the run of a command; empty when nothing is."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=GIVE_UP_S,
            env=ENVIRONMENT,
        )
    except subprocess.TimeoutExpired:
        return HANGS
    report = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 3, 5):  # what a result may end with
        return f"exit code {done.returncode}\n{report}"
    return report


def run_all(probe: Sequence[str]) -> int:
    register = msgspec.json.decode(output_of([*probe, "list", "--json"]), type=Register)
    facts = msgspec.json.decode(output_of([*probe, "facts", "--json"]))
    counter_hz = str(facts["instrument"]["counter_hz"] or 0)
    cpus: SimpleQueue[int] = SimpleQueue()
    for cpu in sorted(os.sched_getaffinity(0)):
        cpus.put(cpu)

    def is_good(test: str) -> bool:
        """Runs it on a CPU on which none of the others is."""
        words = [
            "run",
            test,
            "--json",
            *few.options(test),
            *FEWER.get(test, ()),
            *machine.BELOW_OTHERS,
        ]
        cpu = cpus.get()
        words += ["--counter-hz", counter_hz, "--cpu", str(cpu)]
        what = complaint([*probe, *words])
        if what == HANGS:
            # The sanitizer's own locks spin: whoever waits for one keeps a thread of a lower
            # priority, which has it, from the CPU. A lock of the probe's would hang again.
            print(f"{test}: {what}, once more", flush=True)
            what = complaint([*probe, *words])
        cpus.put(cpu)
        if what:
            print(f"{test}: {what}", flush=True)
        return not what

    tests = sorted((test.id for test in register.tests), key=lambda test: test not in LONGEST)
    with ThreadPoolExecutor(cpus.qsize()) as pool:
        bad = list(pool.map(is_good, tests)).count(False)
    print(f"{len(tests)} tests, {bad} with a complaint")
    return 1 if bad or not tests else 0


def main() -> int:
    give_up_s = time.monotonic() + ALONE_S
    with measuring_alone(
        lambda: time.monotonic() > give_up_s, lambda: None, print, default_lock_file()
    ):
        return run_all(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
