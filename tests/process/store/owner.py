"""A process that measures into a store until it is killed.

python -m tests.process.store.owner STORE SAMPLES SYNC-INTERVAL-S

It says on standard output what it may rely on: "begin N PATH", "result N".
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from hardstone.store.journal import Journal
from hardstone.store.place import new_run_id, open_place
from tests.process.store.fake_probe import Here, Recording, stream
from tests.unit.stats import make


def main(root: Path, *, samples: int, sync_interval_s: float) -> None:
    run_id = new_run_id()
    document = make.document(run_id=run_id, results=[], status="incomplete", finished_utc=None)
    journal = Journal(open_place(root), document, Here(), sync_interval_s=sync_interval_s)
    print(run_id, flush=True)
    for number in itertools.count():
        test = f"SEM-P-{number}"
        path = Path(journal.backing_file(test))
        recording = Recording(path, test)
        print(f"begin {number} {path}", flush=True)
        for count in range(1, samples):
            recording.record(count)
        for line in stream(test, 3):
            journal.stream_line(test, line)
        journal.result(make.result(test=test, values=[number] * 5))
        print(f"result {number}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), samples=int(sys.argv[2]), sync_interval_s=float(sys.argv[3]))
