"""How long a test takes, from the time per sample in its descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from hardstone.catalogue import Entry
from hardstone.model import Descriptor, ParamValue

Params = Mapping[str, ParamValue]


def expected_ns(
    test: Descriptor, entry: Entry, samples: int, duration_ns: int, params: Params
) -> int:
    """Time that `test` takes: its duration, or that of its samples; of both the shorter one."""
    round_ns = _sample_ns(test, params) * variant_count(test, params)
    least_ns = test.setup_ns + test.extra_samples * round_ns
    counted = _interrupts(params) or samples if entry.takes_samples else 0
    if duration_ns and entry.takes_duration:
        return least_ns + min(duration_ns, counted * round_ns or duration_ns)
    return least_ns + counted * round_ns


def _interrupts(params: Params) -> int:
    """Interrupts of each step, where that parameter stands for the samples."""
    asked = params.get("interrupts")
    return asked if isinstance(asked, int) else 0


def variant_count(test: Descriptor, params: Params) -> int:
    """Number of variants measured in succession; a probe may leave some of them out."""
    if test.is_concurrent:
        return 1
    lists = (params.get(spec.name) for spec in test.variant_params)
    return prod(len(values) for values in lists if isinstance(values, list) and values)


def _sample_ns(test: Descriptor, params: Params) -> int:
    """Time per sample, as a mean over the variants."""
    named = params.get(test.sample_param or "")
    spans = named if isinstance(named, list) else [named]
    known = [span for span in spans if isinstance(span, int)]
    mean_ns = Fraction(sum(known), len(known) or 1)
    return test.sample_ns + round(mean_ns * test.sample_percent / 100)
