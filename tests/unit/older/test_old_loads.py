"""Loads from before "@cpu": what each of their texts is called today."""

from __future__ import annotations

import pytest

from hardstone.older.old_loads import each_cpus_degree, each_cpus_load, each_cpus_loads

STORM = "heavy@cpu+storm=240 (nice 19)+build=1@cpu+kernel@cpu"


@pytest.mark.parametrize(
    ("old", "today"),
    [
        ("none", "none"),
        ("heavy", "heavy@cpu"),
        ("storm", STORM),
        ("storm=100", "storm=100 (nice 19)"),
        ("heavy+storm=100", "heavy@cpu+storm=100 (nice 19)"),
        ("cpu=10ms/100ms+search", "cpu=10ms/100ms@cpu+search@cpu"),
        ("build+kernel", "build=1@cpu+kernel@cpu"),
        ("stress-ng:--cpu 2", "stress-ng:--cpu 2"),
        ("heavy+stress-ng:--cpu 1+2", "heavy@cpu+stress-ng:--cpu 1+2"),
    ],
)
def test_a_load_of_before_is_one_of_each_cpu(old: str, today: str) -> None:
    assert each_cpus_load(old) == today


@pytest.mark.parametrize(
    ("old", "today"),
    [
        ("none,heavy,storm", f"none,heavy@cpu,{STORM}"),
        ("none,stress-ng:--class cpu,heavy", "none,stress-ng:--class cpu,heavy"),
        ("heavy,cpu+stress-ng:--cpu 2,--vm 1", "heavy@cpu,cpu@cpu+stress-ng:--cpu 2,--vm 1"),
    ],
)
def test_a_list_of_loads(old: str, today: str) -> None:
    assert each_cpus_loads(old) == today


@pytest.mark.parametrize(
    ("element", "old", "today"),
    [
        ("cpu", "10ms/100ms", "10ms/100ms@cpu"),
        ("search", "", "@cpu"),
        ("build", "", "1@cpu"),
        ("storm", "240", "240 (nice 19)"),
        ("stress-ng", "--cpu 2", "--cpu 2"),
    ],
)
def test_degrees(element: str, old: str, today: str) -> None:
    assert each_cpus_degree(element, old) == today
