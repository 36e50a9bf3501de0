"""Whatever a file holds, it is refused in one line or gives figures that do not contradict one
another without the run's trust saying so. `make fuzz` tries 100 000 files."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.fuzz.samples import damaged_sample, samples
from hardstone.errors import InputError
from hardstone.importers.imported import document_of
from hardstone.importers.recognise import all_formats, read
from hardstone.stats.identity import series_problem
from tests.unit.importers.one_file import source

pytestmark = pytest.mark.slow
RUN_ID = "20261121T032200Z-1a2b3c"


def _check(content: bytes) -> bool:
    """Whether it was read; AssertionError, or whatever a parser raises, where it should not be."""
    file = source(content)
    try:
        document = document_of(read(file), file, RUN_ID)
    except InputError as error:
        assert error.cause and "\n" not in str(error) and str(error).isprintable()
        return False
    series = [one for result in document.results for one in result.series]
    assert document.trust.grade == "untrustworthy" or not any(map(series_problem, series))
    return True


@given(st.binary(max_size=400))
@settings(max_examples=150)
def test_random_bytes(content: bytes) -> None:
    _check(content)


@given(st.integers(0, 2**32))
@settings(max_examples=400)
def test_damaged_samples(seed: int) -> None:
    _check(damaged_sample(Random(seed)))


@given(st.sampled_from(samples()), st.integers(0, 4096), st.binary(max_size=40))
@settings(max_examples=150)
def test_samples_that_go_on_otherwise(raw: bytes, kept: int, rest: bytes) -> None:
    _check(raw[:kept] + rest)


@pytest.mark.parametrize("title", [one.title for one in all_formats()])
@given(content=st.binary(max_size=200))
@example(content=b"")
@settings(max_examples=20)
def test_each_parser_refuses_what_is_not_its_own(title: str, content: bytes) -> None:
    """`--tool` asks a parser whatever its recogniser says."""
    (found,) = [one for one in all_formats() if one.title == title]
    found.recognises(content)
    try:
        found.read(content)
    except InputError as error:
        assert "\n" not in str(error)


def test_a_number_that_python_does_not_read() -> None:
    for content in samples():
        with pytest.raises(InputError):
            read(source(content + b"7" * 5000))


@pytest.mark.parametrize("blank", [b" ", b"\n", b" \n"])
def test_blanks_take_no_time(blank: bytes) -> None:
    """Patterns that begin with blanks were of quadratic time: minutes for a page of them."""
    started = time.process_time()
    for content in samples()[::16]:
        lines = content.splitlines(keepends=True)
        _check(b"".join([*lines[:1], blank * 30_000, *lines[1:4]]))
    assert time.process_time() - started < 20
