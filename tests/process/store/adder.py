"""A process that resumes a stored run again and again until it is killed.

python -m tests.process.store.adder STORE NUMBER

It says "added N" when part N, counted from NUMBER, may be relied on.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import msgspec

from hardstone.store import Store, new_run_id
from tests.process.store.fake_probe import Here
from tests.unit.stats.test_joined_run import recording


def main(root: Path, start: int) -> None:
    store = Store(root)
    run_id = store.runs()[0].id
    for number in itertools.count(start):
        part = msgspec.structs.replace(
            recording(number % 10, begin_s=number * 12, complete=False), id=new_run_id()
        )
        with store.journal(
            msgspec.structs.replace(part, results=[]), Here(), resumes=run_id
        ) as journal:
            journal.result(part.results[0])
            journal.finish(part)
        print(f"added {number}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
