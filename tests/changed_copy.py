"""Copies of dataclasses and structs with other fields, as Python 3.13 has them for both."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")


def replace(one: Kind, **changed: Any) -> Kind:
    if isinstance(one, msgspec.Struct):
        return msgspec.structs.replace(one, **changed)
    return dataclasses.replace(one, **changed)  # type: ignore[type-var]
