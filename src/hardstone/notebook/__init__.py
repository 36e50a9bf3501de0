"""hardstone in Python: runs, their series as numpy arrays, comparison and rating, read only."""

from hardstone.notebook.loaded_run import Comparison, Run, compare, load
from hardstone.notebook.loaded_series import Claim, Exceedance, RunSeries, RunTest
from hardstone.notebook.plot import Chart
from hardstone.stats.resampling import block_bootstrap, interval_of_runs

__all__ = [
    "Chart",
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
