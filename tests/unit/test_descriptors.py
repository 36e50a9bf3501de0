"""What the probe says of its tests holds together: variants, labels, times."""

from __future__ import annotations

import pytest

from hardstone.model import Descriptor
from hardstone.terminal.tests import kind_of
from tests.process.targets import sample

TESTS = sample.register().tests
# Labels that no parameter sets: clocks and timers that a system has, and "total" of all CPUs.
FIXED = {
    "CLK-B-RES": {"clock", "mechanism"},
    "TMR-P-LAT": {"part"},
    "KRN-P-PRE": {"kind"},
    "MEM-B-LCK": {"locked"},
    "IRQ-S-SUS": {"period_ns"},
}
# Lists with one number for each variant.
OF_VARIANTS = {
    "SEM-P-RTP": ["signal_wait_ns"],
    "IRQ-S-SUS": ["passed_ns", "failed_ns", "source_failed_ns"],
}

each_test = pytest.mark.parametrize("test", TESTS, ids=lambda one: one.id)


def variant_labels(test: Descriptor) -> list[str | None]:
    return [spec.label for spec in test.variant_params]


@each_test
def test_every_label_of_a_series_is_that_of_a_parameter_or_fixed(test: Descriptor) -> None:
    labels = {label for series in test.series for label in series.labels}
    fixed = FIXED.get(test.id, set())
    assert labels - set(variant_labels(test)) == fixed


@each_test
def test_every_parameter_with_a_label_is_in_a_series_of_a_timing_test(test: Descriptor) -> None:
    labels = {label for series in test.series for label in series.labels}
    if kind_of(test.id) == "timing":
        assert set(variant_labels(test)) <= labels


@each_test
def test_labels_are_distinct(test: Descriptor) -> None:
    labels = variant_labels(test)
    assert len(labels) == len(set(labels))
    assert all(len(one.labels) == len(set(one.labels)) for one in test.series)


@each_test
def test_a_list_of_several_values_makes_variants(test: Descriptor) -> None:
    lists = [spec.name for spec in test.params if spec.is_list and spec.label is None]
    assert lists == OF_VARIANTS.get(test.id, [])


@each_test
def test_times_are_said(test: Descriptor) -> None:
    assert test.setup_ns > 0
    assert test.sample_ns > 0 or test.sample_param
    assert test.sample_percent >= 100
    assert test.extra_samples >= 0 and test.warm_up_samples >= 0
    assert test.sample_param in {None, *(spec.name for spec in test.params)}


@each_test
def test_only_tests_with_series_have_a_warm_up(test: Descriptor) -> None:
    assert test.series or not test.warm_up_samples
