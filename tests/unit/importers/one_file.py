"""A file read by the one format that recognises it, and the line with which one is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.facts import load_facts
from hardstone.importers import recognise
from hardstone.importers.imported import Added, document_of
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.importers.recognise import SourceFile, all_formats
from hardstone.model import Series
from hardstone.stats.consistency import contradictions
from hardstone.systems.moments import load_moments

SAMPLES = Path(__file__).parents[2] / "samples"


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def source(content: bytes | str) -> SourceFile:
    content = content.encode() if isinstance(content, str) else content
    return SourceFile(name="file", content=content, sha256="0" * 64, size_bytes=len(content))


def imported(text: str, unit: str | None = None) -> list[Series]:
    """The series of the run that it becomes, where a person named the unit or not."""
    run = document_of(read(text), source(text), "id", Added(unit=unit))
    return [one for result in run.results for one in result.series]


def read(content: bytes | str) -> Reading:
    """What it holds. Exactly one format of all may say that it is its own."""
    content = content.encode() if isinstance(content, str) else content
    (found,) = [one for one in all_formats() if one.recognises(content)]
    reading = found.read(content)
    quantities = load_moments()[reading.tool].series
    assert {one.name for one in reading.series} <= set(quantities)
    return reading


def refused(content: bytes | str) -> str:
    """The cause, in one line, without the name of the file and of its format."""
    with pytest.raises(InputError) as caught:
        recognise.read(source(content))
    assert str(caught.value).isprintable() and caught.value.remedy
    return re.sub(r"^file(?: \([^)]*\))?: ", "", caught.value.cause)


def us(one: ReadSeries) -> tuple[int | None, float | None, float | None, float | None]:
    """Count, minimum, mean and maximum, in us."""
    least, most = (None if ns is None else ns / 1000 for ns in (one.min, one.max))
    return one.count, least, None if one.mean is None else one.mean / 1000, most


def losses(reading: Reading) -> set[str]:
    return {loss.what for loss in reading.losses}


MOST = 12  # events and unknown keys of a file that have a line each


def told(content: bytes | str) -> str:
    """All that it says, in lines, or why it is refused. Two formats may not both recognise it."""
    content = content.encode() if isinstance(content, str) else content
    assert len([one for one in all_formats() if one.recognises(content)]) <= 1
    try:
        reading = recognise.read(source(content))
    except InputError:
        return f"refused: {refused(content)}"
    document = document_of(reading, source(content), "id")
    assert set(document.system) <= set(load_facts())
    described = {one.id for one in document.descriptors}
    assert {one.test for one in document.results if one.series} == described
    tests = {one.test: sorted({series.name for series in one.series}) for one in document.results}
    doubts = [f"contradiction: {one.where}: {one.what}" for one in contradictions(document)]
    if document.trust.grade != "indicative":
        doubts.append(f"trust: {document.trust.grade}")
    return "\n".join([*_lines(reading), f"results: {_pairs(tests)}", *doubts])


def _lines(reading: Reading) -> Iterator[str]:
    conditions = msgspec.structs.asdict(reading.conditions)
    about = {
        "version": reading.version,
        "started": reading.started_utc,
        "duration_ns": reading.duration_ns,
        "command": reading.command,
        "unit": reading.unit_doubt,
        "params": _pairs(reading.params),
        "conditions": _pairs(
            {name: one for name, one in conditions.items() if one not in (None, [])}
        ),
        "facts": _pairs(reading.facts),
    }
    yield f"{reading.tool}, {reading.format}{', cut' if reading.is_cut else ''}"
    yield from (f"{title}: {text}" for title, text in about.items() if text not in (None, ""))
    for one in reading.series:
        yield from _of_series(one)
    for verdict in reading.verdicts:
        yield f"{verdict.name} {'passed' if verdict.passed else 'failed'}: {verdict.evidence}"
    for event in reading.events[:MOST]:
        yield f"event {event.name}: {event.text} {_pairs(event.data)}"
    for loss in reading.losses:
        yield f"loss {loss.what}: {loss.text}"
    for name, value in list(reading.unknown.items())[:MOST]:
        yield f"unknown {name}: {value}"
    if len(reading.events) > MOST:
        yield f"{len(reading.events)} events"
    if more := list(reading.unknown.items())[MOST:]:
        yield f"{len(more)} more unknown: {_pairs(dict(more))}"


def _of_series(one: ReadSeries) -> Iterator[str]:
    name = f"{one.name} {_pairs(one.labels)}".rstrip()
    unit = f" in {one.unit}" if one.unit != "ns" else ""
    figures = {name: getattr(one, name) for name in ("count", "min", "mean", "max", "stddev")}
    told = " ".join(f"{name} {value}" for name, value in figures.items() if value is not None)
    yield f"{name}{unit}: {told or 'no figures'}, step {one.step_ns}"
    if one.buckets is not None:
        total, mass = (sum(n * low**power for low, n in one.buckets) for power in (0, 1))
        first, last = [*one.buckets][:3], [*one.buckets][-1:]
        yield (
            f"  {len(one.buckets)} buckets of {one.bucket_width_ns} with {total}, {one.underflow} "
            f"below, {one.overflow} above: {first} ... {last}, sum {mass}"
        )
    elif (one.underflow, one.overflow) != (0, 0):
        yield f"  {one.underflow} below, {one.overflow} above"
    if one.values is not None:
        values = [*one.values]
        yield f"  {len(values)} values: {values[:5]} ... {values[-1:]}, sum {sum(values)}"
    if one.worst:
        yield f"  worst: {[(each.index, each.value_ns) for each in one.worst[:3]]}"
    if one.maxima_per_s:
        yield f"  maxima: {list(one.maxima_per_s[:8])} of {len(one.maxima_per_s)}"
    if one.derived is not None:
        yield f"  derived: {one.derived}"


def _pairs(found: Mapping[str, object]) -> str:
    text = " ".join(f"{name}={value}" for name, value in found.items())
    return text if len(text) < 600 else f"{text[:600]} ..."
