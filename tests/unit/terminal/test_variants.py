"""What people read of variants, warm-up and CPUs."""

from __future__ import annotations

import msgspec
import pytest

import docs_tests
from hardstone.catalogue import load_catalogue
from hardstone.model import Descriptor
from hardstone.terminal.variants import cpu_text, variants_text, warm_up_text
from tests.process.targets import sample


def described(test: str, **changed: object) -> Descriptor:
    found = next(one for one in sample.register().tests if one.id == test)
    return msgspec.structs.replace(found, **changed)


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("THR-P-SLS", "The values of threads are variants, measured one after another."),
        (
            "SEM-P-ARC",
            "The combinations of kinds, scopes and waiters that differ are variants, "
            "measured one after another.",
        ),
        ("TMR-P-LAT", "The values of cpus are variants, measured at the same time."),
        ("THR-B-RR", ""),
        ("CLK-B-RES", ""),
    ],
)
def test_variants(test: str, text: str) -> None:
    assert variants_text(described(test)) == text


@pytest.mark.parametrize(
    ("test", "count", "text"),
    [
        ("SEM-P-SIG", 64, "the first 64 values of each variant and after each rest are not"),
        ("MUT-P-INV", 1, "the first value of each variant and after each rest is not recorded"),
        ("THR-B-RR", 2, "the first 2 values of the test and after each rest are not recorded"),
    ],
)
def test_a_warm_up_is_told(test: str, count: int, text: str) -> None:
    assert text in warm_up_text(described(test, warm_up_samples=count))


def test_without_warm_up_nothing_is_told() -> None:
    assert warm_up_text(described("SEM-P-SIG", warm_up_samples=0)) == ""


def test_the_page_of_a_test_tells_both() -> None:
    test = described("SEM-P-SIG", warm_up_samples=64)
    series, parameters = docs_tests.page(test, load_catalogue()).split("## Parameters")
    assert warm_up_text(test) in series.split("## Series")[1]
    assert variants_text(test, mark="`") in parameters


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("SEM-P-SHF", "on one CPU in every CPU configuration"),
        ("TMR-P-LAT", "bound to the CPU that it measures"),
        ("RSP-P-FIX", "Under `shared` its threads are not bound"),
    ],
)
def test_where_a_test_runs(test: str, text: str) -> None:
    assert text in cpu_text(described(test))
