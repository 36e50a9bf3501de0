"""How long a test takes that nobody gave samples, duration or parameters."""

from __future__ import annotations

from hardstone.catalogue import Entry
from hardstone.expected_time import expected_ns
from hardstone.model import Descriptor
from hardstone.plan.params import fill_params
from hardstone.plan.problems import Problems


def own_time_ns(test: Descriptor, entry: Entry) -> int:
    """Time that a test without samples and duration takes with its default parameters."""
    return expected_ns(test, entry, 0, 0, fill_params(test, {}, Problems()))
