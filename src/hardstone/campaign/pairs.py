"""A plan of interleaved pairs: the same test without and with settings of the probe."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from hardstone.model import Plan, PlannedTest


def pair_plan(plan: Plan, settings: Sequence[str], pairs: int, seed: int) -> Plan:
    """`plan`, of one test, as `pairs` pairs of it.

    Of every two pairs one begins without the settings and one with them, in an order drawn by
    `seed`, so that neither drift nor order looks like an effect.
    """
    if len(plan.tests) != 1:
        raise ValueError("pairs are of one test")
    without = plan.tests[0]
    with_settings = msgspec.structs.replace(without, settings=list(settings))
    tests: list[PlannedTest] = []
    for is_with_first in _orders(pairs, seed):
        pair = [without, with_settings]
        tests += reversed(pair) if is_with_first else pair
    return msgspec.structs.replace(plan, tests=tests)


def _orders(pairs: int, seed: int) -> list[bool]:
    draw = random.Random(seed)  # noqa: S311 - an order that can be repeated, no secret
    orders: list[bool] = []
    while len(orders) < pairs:
        first = draw.random() < 0.5
        orders += [first, not first]
    return orders[:pairs]
