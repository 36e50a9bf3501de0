"""Threads of the library below numpy."""

from __future__ import annotations

import os


def one_array_thread() -> None:
    """Before numpy is loaded: its library would start a thread for each CPU, which takes longer
    than all that a report has for them, and which ends this program where no thread can be
    started. For commands alone that start no program of the user, who would inherit it, and where
    threads are refused."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
