"""What a screen costs: the CPU time of each command that only shows something.

`HARDSTONE_BENCH_BEFORE=DIR` names a checkout of an older commit: each command runs there too, and
the ratio is after by before. Without it the other side is Python's own start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench import compare, processes
from bench.comparison import Comparison
from bench.rounds import Metrics, Side
from hardstone.store.documents import write_document
from hardstone.store.place import Place

ROOT = Path(__file__).resolve().parent.parent
BEFORE = "HARDSTONE_BENCH_BEFORE"
FINE = (0, 3, 5)  # a doctor that finds a blocker, a run that is not trustworthy
# Goals in ms, from start to end on a quiet machine. The doctor has none here: most of its time it
# waits for the probe, which watches the machine for a second, and CPU time does not show that.
COMMANDS: dict[str, tuple[list[str], float | None]] = {
    "help": (["--help"], 70),
    "list": (["list"], 120),
    "explain": (["explain", "TMR-P-LAT"], 150),
    "runs": (["runs"], 200),
    "show": (["show", "RUN"], 450),
    "all": (["show", "RUN", "--all"], 700),
    "why": (["show", "RUN", "--why"], 450),
    "doctor": (["doctor"], None),
}
_OF_STORE = {"runs", "show"}


class Screen:
    """Runs a command of the checkout `tree`, on a store with one run of the whole battery."""

    def __init__(self, name: str, tree: Path, folder: Path) -> None:
        self._name, self._tree, self._folder = name, tree, folder / "screens"

    def __call__(self) -> Metrics:
        words = COMMANDS[self._name][0]
        if words[0] in _OF_STORE:
            run = self._stored()
            words = [run if one == "RUN" else one for one in words] + ["--store", str(self._folder)]
        environment = {**os.environ, "PYTHONPATH": str(self._tree / "src")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what a user never waits for
        command = [sys.executable, "-m", "hardstone", *words]
        return {f"{self._name}_ns": processes.run(command, environment, fine=FINE).cpu_ns}

    def _stored(self) -> str:
        """The id of the run, which is stored the first time."""
        (self._folder / "runs").mkdir(parents=True, exist_ok=True)
        found = list(self._folder.glob("runs/*.json.gz"))
        path = found[0] if found else write_document(Place(self._folder), compare.source_run())
        return path.name.removesuffix(".json.gz")


def bare_python(name: str) -> Side:
    return lambda: {f"{name}_ns": processes.run([sys.executable, "-c", "pass"]).cpu_ns}


def comparisons(folder: Path) -> list[Comparison]:
    before = os.environ.get(BEFORE)
    return [
        Comparison(
            f"screen-{name}",
            {f"{name}_ns": (f"CPU time of hardstone {' '.join(words)}", "ms")},
            Screen(name, ROOT, folder),
            Screen(name, Path(before).resolve(), folder) if before else bare_python(name),
            "before" if before else "python -c pass",
            goals={} if goal_ms is None else {f"{name}_ns": goal_ms * 1e6},
        )
        for name, (words, goal_ms) in COMMANDS.items()
    ]
