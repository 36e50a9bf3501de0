"""What is left of the search of IRQ-S-SUS: the sources that have not ended, from their steps."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hardstone.model import Plan

_SOURCES = "source"


def rest_of_search(
    plan: Plan, ended: set[str], known: Mapping[str, tuple[int, int]]
) -> Plan | None:
    """`plan`, of one test, without the sources in `ended`; None: none is left.

    `known`: by source the period that is sustained and one that is not, as the probe takes them.
    """
    one = plan.tests[0]
    asked = one.params.get(_SOURCES)
    sources = [name for name in asked if name not in ended] if isinstance(asked, list) else []
    if not sources:
        return None
    bounds = [known.get(str(name), (0, 0)) for name in sources]
    params = {
        **one.params,
        _SOURCES: sources,
        "passed_ns": [passed for passed, _ in bounds],
        "failed_ns": [failed for _, failed in bounds],
    }
    return msgspec.structs.replace(plan, tests=[msgspec.structs.replace(one, params=params)])
