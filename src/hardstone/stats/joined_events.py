"""Events of two parts of a result: what speaks of a whole part names the part that it is of."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hardstone.event_names import JOINED, NEW_PART, NOT_RESUMED
from hardstone.model import Event, Result

_OF = "of_parts"  # in the data of an event: "1", "1, 2"
_MARKS = (JOINED, NEW_PART, NOT_RESUMED)
_LONGEST, _MOST_DATA = 65_000, 63  # a document may hold little more
_WORST = "parts_worst"  # the one with a moment that is the worst of its part only


def part_after(first: Result) -> int:
    """The number of the part that is joined to `first`, counted within the result from 1."""
    return 2 + sum(event.name == JOINED for event in first.events)


def of_part(text: str | None, number: int) -> str | None:
    """Words of one part, as such."""
    return f"part {number}: {text}" if text else text


def joined_events(
    first: Sequence[Event], mark: Event, later: Sequence[Event], number: int
) -> list[Event]:
    """`later`, the events of part `number`, after those of the parts before it and `mark`.

    One that both have, in the same words and figures, is kept once.
    """
    found = [_named(event, "1") if number == 2 else event for event in first]
    places = {_key(event): place for place, event in enumerate(found) if _OF in event.data}
    added = [mark]
    for event in later:
        named = _named(event, str(number))
        place = places.get(_key(named)) if _OF in named.data else None
        if place is None:
            added.append(named)
        else:
            found[place] = _named(_bare(named), f"{found[place].data[_OF]}, {number}")
    return [*found, *added]


def _named(event: Event, parts: str) -> Event:
    """What has a moment lies in its part; what has none speaks of all of it."""
    has_moment = event.at_ns is not None and event.name != _WORST
    is_full = len(event.text) > _LONGEST or len(event.data) >= _MOST_DATA
    if has_moment or is_full or event.name in _MARKS:
        return event
    return msgspec.structs.replace(
        event, text=f"{_head(parts)}{event.text}", data={**event.data, _OF: parts}
    )


def _bare(event: Event) -> Event:
    data = {name: value for name, value in event.data.items() if name != _OF}
    text = event.text.removeprefix(_head(str(event.data[_OF])))
    return msgspec.structs.replace(event, text=text, data=data)


def _head(parts: str) -> str:
    return f"part{'s' if ', ' in parts else ''} {parts}: "


def _key(event: Event) -> tuple[object, ...]:
    if _OF not in event.data:
        return ()
    bare = _bare(event)
    return bare.name, bare.text, bare.at_ns, repr(sorted(bare.data.items()))
