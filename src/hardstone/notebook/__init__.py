"""hardstone in Python: runs, their series as numpy arrays, comparison and rating, read only."""

from hardstone.notebook.compared_rows import Comparison, compare
from hardstone.notebook.load_run import load
from hardstone.notebook.loaded_run import Run
from hardstone.notebook.loaded_series import Exceedance, RunSeries
from hardstone.notebook.loaded_test import Claim, RunTest
from hardstone.stats.block_bootstrap import block_bootstrap, interval_of_runs

__all__ = [
    "Claim",
    "Comparison",
    "Exceedance",
    "Run",
    "RunSeries",
    "RunTest",
    "block_bootstrap",
    "compare",
    "interval_of_runs",
    "load",
]
