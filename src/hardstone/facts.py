"""The register of facts about a machine: what each is, who sends or reads it, and from where.

The data is `facts.toml`. Probe, doctor, report and documents use these names and no others.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

FactType = Literal["text", "integer", "bool", "integer or unlimited"]
# How a name ends whose value has this unit; none: the name says what is counted or set.
SUFFIXES = {
    "ns": "_ns",
    "us": "_us",
    "s": "_s",
    "bytes": "_bytes",
    "ppm": "_ppm",
    "percent": "_percent",
    "hz": "hz",
    "cpu": "_cpu",
    "id": "id",
    "count": None,
    "priority": None,
    "setting": None,
    "bits": None,
}


class FactEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact as the file has it.

    `unit` is a key of SUFFIXES; "" for a text and for a bool. A "setting" is a number of the
    kernel's own. `sender`: "probe" on every port, "linux" and "nuttx" on that port only, "doctor"
    where it follows from others, "transport" where the way to the target tells it, "toolkit" where
    raw_facts.py reads it from `sources`, which that port sends raw. `also`: other ports that send
    it.
    """

    type: FactType
    sender: Literal["probe", "linux", "nuttx", "toolkit", "transport", "doctor"]
    meaning: str
    unit: str = ""
    sources: list[str] = []
    also: list[Literal["nuttx"]] = []


class Fact(FactEntry, frozen=True, kw_only=True):
    """One fact with its name, `group.what_unit`.

    A fact that a system does not give is left out. null means known to be nothing; for
    `virtual.emulated` it means not known.
    """

    name: str


@cache
def load_facts() -> Mapping[str, Fact]:
    """All facts by name, in the order of their names."""
    text = resources.files("hardstone").joinpath("facts.toml").read_text("utf-8")
    entries = msgspec.convert(tomllib.loads(text), dict[str, FactEntry])
    return {
        name: Fact(name=name, **msgspec.structs.asdict(entry)) for name, entry in entries.items()
    }
