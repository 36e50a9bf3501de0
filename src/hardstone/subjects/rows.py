"""The series of several subjects side by side: which of them are the same figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hardstone.published import Address, AddressError, resolve
from hardstone.subjects.measured import MeasuredRun, MeasuredSeries
from hardstone.subjects.published_system import PublishedSeries
from hardstone.subjects.subject import Held, Subject
from hardstone.units import whole_number

_CPU = "cpu"
Key = tuple[str, str, tuple[tuple[str, str], ...]]  # test, series, labels


@dataclass(frozen=True)
class FigureRow:
    """One series; `found` has a place for each subject, None where it has no figure.

    `notes` say, subject by subject, how its series differs from the row: "10 threads, the row has
    2".
    """

    key: Key
    found: tuple[Held | None, ...]
    notes: tuple[tuple[str, ...], ...]

    @property
    def test(self) -> str:
        return self.key[0]

    @property
    def first(self) -> Held:
        """The first subject's series that is there; a measured one if any is."""
        held = [one for one in self.found if one is not None]
        return next((one for one in held if one.series is not None), held[0])

    @property
    def address(self) -> str:
        """TEST/label-values/series; without the CPU where the subjects have one each."""
        first, kept = self.first, dict(self.key[2])
        values = (value for label, value in first.labels.items() if label in kept)
        return "/".join(filter(None, (first.test, *values, *first.parts, first.name)))


def figure_rows(subjects: Sequence[Subject]) -> list[FigureRow]:
    """Every series of any of `subjects`, in the order in which they have them.

    A measured series is matched by test, name and labels, the CPU only where a subject has the
    series on several. A published one is matched by its address to a measured series, first to one
    that is just that, then to one with a smaller number; and among published ones by the text of
    the address.
    """
    runs = [one for one in subjects if isinstance(one, MeasuredRun)]
    keep_cpu = {name for run in runs for name in _on_several_cpus(run)}
    found: dict[Key, list[Held | None]] = {}
    notes: dict[Key, list[tuple[str, ...]]] = {}
    for place, subject in enumerate(subjects):
        for one in subject.held():
            key, note = _matched(one, runs, keep_cpu)
            cells = found.setdefault(key, [None] * len(subjects))
            if cells[place] is None:
                cells[place] = one
                notes.setdefault(key, [()] * len(subjects))[place] = note
    return [FigureRow(key, tuple(cells), tuple(notes[key])) for key, cells in found.items()]


def _matched(
    one: Held, runs: Sequence[MeasuredRun], keep_cpu: set[tuple[str, str]]
) -> tuple[Key, tuple[str, ...]]:
    if not isinstance(one, PublishedSeries):
        return _measured_key(one, keep_cpu), ()
    nearest: tuple[Key, tuple[str, ...]] | None = None
    for run in runs:
        try:
            there = resolve(_unconditional(one), run.alone)
        except AddressError:
            continue
        if there.series is not None:
            measured = MeasuredSeries(run.id, there.result, there.series)
            other = other_numbers(one, measured)
            if not other:
                return _measured_key(measured, keep_cpu), ()
            if nearest is None:
                said = tuple(f"{ours} {label}, the row has {used}" for label, ours, used in other)
                nearest = _measured_key(measured, keep_cpu), said
    return nearest or (_key(one), ())


def other_numbers(one: PublishedSeries, measured: MeasuredSeries) -> list[tuple[str, str, str]]:
    """The labels of which a run had a smaller number than the study: 97 waiters, not 128. Each with
    the number of the study and that of the run."""
    texts = (*one.labels.values(), *one.parts)
    asked = {text: number for text in texts if (number := whole_number(text)) is not None}
    return [
        (label, text, value)
        for text, most in asked.items()
        if text not in measured.labels.values()
        for label, value in measured.labels.items()
        if label != _CPU and value not in asked
        if (number := whole_number(value)) is not None and number < most
    ]


def _unconditional(one: PublishedSeries) -> Address:
    """The address without conditions: the subject has results of one condition only."""
    return replace(one.figures[0].address, conditions={})


def _key(one: Held) -> Key:
    parts = tuple((f"#{place}", value) for place, value in enumerate(one.parts))
    return one.test, one.name, (*sorted(one.labels.items()), *parts)


def _measured_key(one: Held, keep_cpu: set[tuple[str, str]]) -> Key:
    test, name, labels = _key(one)
    if (test, name) not in keep_cpu:
        labels = tuple(label for label in labels if label[0] != _CPU)
    return test, name, labels


def _on_several_cpus(run: MeasuredRun) -> set[tuple[str, str]]:
    """Test and name of the series that `run` has on several CPUs."""
    without = Counter(_measured_key(one, set()) for one in run.held())
    return {key[:2] for key, count in without.items() if count > 1}
