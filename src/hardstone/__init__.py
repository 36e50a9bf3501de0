"""hardstone measures how real-time an operating system is.

In Python: `hardstone.load("last")["TMR-P-LAT"].series("wakeup").quantile(0.999)`; see
docs/reference/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hardstone.notebook import (
        Comparison,
        Run,
        RunSeries,
        RunTest,
        block_bootstrap,
        compare,
        interval_of_runs,
        load,
    )

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "Run",
    "RunSeries",
    "RunTest",
    "__version__",
    "block_bootstrap",
    "compare",
    "interval_of_runs",
    "load",
]


def __getattr__(name: str) -> Any:
    """Opens the notebook's interface when it is first asked for: a command does without it."""
    if name not in __all__:
        raise AttributeError(f"module 'hardstone' has no attribute '{name}'")
    from hardstone import notebook

    return getattr(notebook, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
