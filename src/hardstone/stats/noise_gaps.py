"""Gaps of a watching loop as arrays, with the windows in which it watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Window

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MERGED_NS = 1_000  # two gaps closer than this are one


@dataclass(frozen=True)
class Gaps:
    """Begin and length of each gap, ascending, in ns since the start; begin and end of each
    window, which do not overlap. All int64, shapes (gaps,) and (windows,)."""

    begin: IntArray
    length: IntArray
    window_begin: IntArray
    window_end: IntArray

    @property
    def end(self) -> IntArray:
        return self.begin + self.length

    @property
    def watched_ns(self) -> int:
        return int((self.window_end - self.window_begin).sum())

    def only(self, chosen: BoolArray) -> Gaps:
        """The chosen gaps in the same windows."""
        return replace(self, begin=self.begin[chosen], length=self.length[chosen])


def gaps_of(windows: Sequence[Window]) -> Gaps:
    """All gaps of these windows."""
    begin = [np.zeros(0, dtype=np.int64)]
    length = [np.zeros(0, dtype=np.int64)]
    for one in windows:
        begin.append(one.begin_ns + np.cumsum(np.array(one.distance_ns, dtype=np.int64)))
        length.append(np.array(one.length_ns, dtype=np.int64))
    return Gaps(
        np.concatenate(begin),
        np.concatenate(length),
        np.array([one.begin_ns for one in windows], dtype=np.int64),
        np.array([one.end_ns for one in windows], dtype=np.int64),
    )


def merged_gaps(gaps: Gaps) -> Gaps:
    """Gaps closer than MERGED_NS as one, from the begin of the first to the end of the last.

    What took the CPU twice in a row is one disturbance to the thread. Gaps of two windows stay
    two: between them the loop did not watch.
    """
    if gaps.begin.size == 0:
        return gaps
    window = np.searchsorted(gaps.window_begin, gaps.begin, side="right")
    is_new = np.ones(gaps.begin.size, dtype=np.bool_)
    is_new[1:] = (gaps.begin[1:] - gaps.end[:-1] >= MERGED_NS) | (window[1:] != window[:-1])
    first = np.flatnonzero(is_new)
    last = np.append(first[1:] - 1, gaps.begin.size - 1)
    begin = gaps.begin[first]
    return replace(gaps, begin=begin, length=gaps.end[last] - begin)


def share_within(gaps: Gaps, tolerance_ns: float) -> float:
    """Share of the watched time that is within `tolerance_ns` of the begin of a gap: the chance
    that a random moment is."""
    if gaps.watched_ns == 0:
        return 1.0
    reach = np.minimum(np.diff(gaps.begin), 2 * tolerance_ns).sum() + 2 * tolerance_ns
    return min(1.0, float(reach) / gaps.watched_ns)
