"""What the probe says of its tests holds together: variants, labels, times."""

from __future__ import annotations

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


def variant_labels(test: Descriptor) -> list[str | None]:
    return [spec.label for spec in test.variant_params]


def test_every_label_of_a_series_is_that_of_a_parameter_or_fixed() -> None:
    for test in TESTS:
        labels = {label for series in test.series for label in series.labels}
        assert labels - set(variant_labels(test)) == FIXED.get(test.id, set()), test.id


def test_every_parameter_with_a_label_is_in_a_series_of_a_timing_test() -> None:
    for test in TESTS:
        labels = {label for series in test.series for label in series.labels}
        assert kind_of(test.id) != "timing" or set(variant_labels(test)) <= labels, test.id


def test_labels_are_distinct() -> None:
    for test in TESTS:
        for labels in (variant_labels(test), *(one.labels for one in test.series)):
            assert len(labels) == len(set(labels)), test.id


def test_a_list_of_several_values_makes_variants() -> None:
    for test in TESTS:
        lists = [spec.name for spec in test.params if spec.is_list and spec.label is None]
        assert lists == OF_VARIANTS.get(test.id, []), test.id


def test_times_are_said() -> None:
    for test in TESTS:
        assert test.setup_ns > 0, test.id
        assert test.sample_ns > 0 or test.sample_param, test.id
        assert test.sample_percent >= 100, test.id
        assert test.extra_samples >= 0 and test.warm_up_samples >= 0, test.id
        assert test.sample_param in {None, *(spec.name for spec in test.params)}, test.id


def test_only_tests_with_series_have_a_warm_up() -> None:
    for test in TESTS:
        assert test.series or not test.warm_up_samples, test.id
