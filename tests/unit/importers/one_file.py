"""A file read by the one format that recognises it, and the line with which one is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.importers import recognise
from hardstone.importers.imported import Added, document_of
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.importers.recognise import SourceFile, all_formats
from hardstone.model import Series
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


def by_label(reading: Reading, name: str, label: str = "cpu") -> dict[int | str | None, ReadSeries]:
    """The series of one quantity, by a label."""
    return {one.labels.get(label): one for one in reading.series if one.name == name}


def us(one: ReadSeries) -> tuple[int | None, float | None, float | None, float | None]:
    """Count, minimum, mean and maximum, in us."""
    least, most = (None if ns is None else ns / 1000 for ns in (one.min, one.max))
    return one.count, least, None if one.mean is None else one.mean / 1000, most


def losses(reading: Reading) -> set[str]:
    return {loss.what for loss in reading.losses}
