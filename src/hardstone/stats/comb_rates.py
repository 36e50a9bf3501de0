"""Rates at which gaps may recur: those that kernels use, and the peaks of the record's spectrum.

At its own rate a comb has the amplitude of all its gaps, as many as it has slots; at a multiple
the same, of more slots. So a peak whose amplitude is far below the slots of its rate is no comb.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardstone.stats.noise_gaps import BoolArray, FloatArray, Gaps

USUAL_HZ = (1000.0, 300.0, 250.0, 100.0)
USUAL_UNCERTAINTY = 300e-6
LEAST_HZ, MOST_HZ = 4.0, 5_000.0
_BIN_NS = 50_000
_MOST_BINS = 1 << 19  # 26 s
_MOST_PEAKS = 16
_LEAST_OVER_NOISE = 2.5  # times the amplitude of the rates around
_AROUND_BINS = 129
# Of the gaps are shorter: long ones stand out without them. Each leaves half of the one before, so
# that whatever the number of long gaps is, one of the rest has them and hardly more others.
_SHARES = tuple(1 - 0.5**halvings for halvings in range(9))
_LEAST_SLOTS = 20
_LEAST_FILLED = 0.6  # amplitude at the top of a peak, in slots
_BETWEEN_BINS = 0.6  # of the amplitude is left half-way between two bins
_FINER = 16


@dataclass(frozen=True)
class Rate:
    """A rate within `uncertainty`, a ratio."""

    hz: float
    uncertainty: float


def candidate_rates(gaps: Gaps, taken: BoolArray, kernels_hz: float | None) -> list[Rate]:
    """The highest first."""
    free = gaps.only(~taken)
    if free.begin.size < 2:
        return []
    usual = {*USUAL_HZ, *([kernels_hz] if kernels_hz else [])}
    found: list[Rate] = []
    for share in _SHARES:
        spectrum = _spectrum(free.only(free.length >= np.quantile(free.length, share)))
        rates = [Rate(hz, USUAL_UNCERTAINTY) for hz in usual if spectrum.may_have(hz)]
        for rate in [*rates, *_peaks(spectrum)]:
            if all(abs(rate.hz / one.hz - 1) > one.uncertainty / 2 for one in found):
                found.append(rate)
    return sorted(found, key=lambda rate: -rate.hz)


@dataclass(frozen=True)
class _Spectrum:
    """Amplitudes of the begins of gaps, `step_hz` apart; `at_s` are those of the same time."""

    amplitude: FloatArray
    step_hz: float
    watched_s: float
    at_s: FloatArray

    def may_have(self, hz: float) -> bool:
        """Whether the amplitude near a usual rate is that of a comb."""
        reach = int(np.ceil(hz * USUAL_UNCERTAINTY / self.step_hz)) + 1
        place = round(hz / self.step_hz)
        near = self.amplitude[max(place - reach, 1) : place + reach + 1]
        least = _LEAST_FILLED * _BETWEEN_BINS * hz * self.watched_s
        return bool(near.size) and float(near.max()) >= least

    def around(self, hz: FloatArray) -> FloatArray:
        """Amplitudes at any rates."""
        turns: FloatArray = np.abs(np.exp(-2j * np.pi * np.outer(hz, self.at_s)).sum(axis=1))
        return turns


def _peaks(spectrum: _Spectrum) -> list[Rate]:
    from scipy.ndimage import uniform_filter1d

    amplitude, step_hz = spectrum.amplitude, spectrum.step_hz
    first, last = int(LEAST_HZ / step_hz) + 1, min(int(MOST_HZ / step_hz), amplitude.size - 2)
    if first >= last:
        return []
    middle = amplitude[first:last]
    slots = np.arange(first, last) * step_hz * spectrum.watched_s
    left, right = amplitude[first - 1 : last - 1], amplitude[first + 1 : last + 1]
    is_peak = (middle > left) & (middle >= right)
    is_peak &= middle > _LEAST_FILLED * _BETWEEN_BINS * slots
    around = np.sqrt(uniform_filter1d(amplitude**2, _AROUND_BINS)[first:last])
    is_peak &= (middle > _LEAST_OVER_NOISE * around) & (slots >= _LEAST_SLOTS)
    places = np.flatnonzero(is_peak)
    places = places[np.argsort(-middle[places])][:_MOST_PEAKS] + first
    found = [_finer(spectrum, int(place)) for place in places]
    return [one for one in found if one is not None]


def _finer(spectrum: _Spectrum, place: int) -> Rate | None:
    """The top of a peak between the bins beside it; None where it is too low."""
    step_hz = spectrum.step_hz / _FINER
    hz: FloatArray = (place * _FINER + np.arange(-_FINER, _FINER + 1.0)) * step_hz
    amplitude = spectrum.around(hz)
    top = int(np.argmax(amplitude))
    rate_hz = float(hz[top])
    if amplitude[top] < _LEAST_FILLED * rate_hz * spectrum.watched_s:
        return None
    return Rate(rate_hz, max(USUAL_UNCERTAINTY, step_hz / rate_hz))


def _spectrum(gaps: Gaps) -> _Spectrum:
    """Of the point process in bins, less its mean where the loop watched."""
    start_ns = int(gaps.window_begin[0])
    size = int(min((int(gaps.window_end[-1]) - start_ns) // _BIN_NS + 1, _MOST_BINS))
    places = (gaps.begin - start_ns) // _BIN_NS
    inside = places < size
    counts = np.bincount(places[inside], minlength=size).astype(np.float64)
    watched = np.zeros(size + 1)
    np.add.at(watched, np.minimum((gaps.window_begin - start_ns) // _BIN_NS, size), 1.0)
    np.add.at(watched, np.minimum((gaps.window_end - start_ns) // _BIN_NS, size), -1.0)
    watched = np.cumsum(watched)[:size]
    total = float(watched.sum())
    counts -= watched * (counts.sum() / total if total else 0.0)
    at_s = (gaps.begin[inside] - start_ns) / 1e9
    amplitude: FloatArray = np.abs(np.fft.rfft(counts))
    return _Spectrum(amplitude, 1e9 / (_BIN_NS * size), total * _BIN_NS / 1e9, at_s)
