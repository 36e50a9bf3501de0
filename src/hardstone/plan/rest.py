"""What is left of a plan of one test that was recorded in part."""

from __future__ import annotations

import msgspec

from hardstone.model import Plan

_SECOND_NS = 1_000_000_000


def rest_of(plan: Plan, measured_ns: int, samples: int) -> Plan | None:
    """`plan`, of one test, without the time and the samples that are recorded; None: none is left.

    A rest of less than a second of a time is none: a recording that was cut off tells its length
    in whole seconds.
    """
    one = plan.tests[0]
    left_ns = one.duration_ns - measured_ns if one.duration_ns else 0
    left = one.samples - samples if one.samples else 0
    if (one.duration_ns and left_ns < _SECOND_NS) or (one.samples and left <= 0):
        return None
    spent_ns = min(measured_ns, one.expected_ns - _SECOND_NS) if measured_ns else 0
    spent_ns = max(spent_ns, 0)
    rest = msgspec.structs.replace(
        one,
        duration_ns=left_ns,
        samples=left,
        expected_ns=one.expected_ns - spent_ns,
        deadline_ns=one.deadline_ns - spent_ns,
    )
    return msgspec.structs.replace(plan, tests=[rest])
