"""Compares the lengths of a plan, samples and durations, with those of the profile `standard`."""

from __future__ import annotations

from hardstone.catalogue import Entry, ProfileCount, load_catalogue
from hardstone.expected_time import expected_ns
from hardstone.model import Descriptor, PlannedTest, RunDocument

_SHORT_PROFILES = ("quick",)


def shorter_than_standard(document: RunDocument) -> dict[str, bool]:
    """Whether each planned test ends before it would under `standard`, by test.

    Tests that run until they are done are left out. The name of the profile decides where the
    length is not known: for a test that is not in the catalogue, and where samples and durations
    are to be compared and the document has no descriptor.
    """
    catalogue = load_catalogue()
    entries = {test: catalogue.entry(test) for test in catalogue.ids()}
    descriptors = {one.id: one for one in document.descriptors}
    found: dict[str, bool] = {}
    for one in document.plan.tests:
        entry = entries.get(one.test)
        if entry is not None and not any(entry.profiles["standard"]):
            continue
        is_short = None if entry is None else _is_short(one, entry, descriptors.get(one.test))
        if is_short is None:
            is_short = has_short_profile(document)
        found[one.test] = is_short or found.get(one.test, False)
    return found


def has_short_profile(document: RunDocument) -> bool:
    """Whether the profile, by its name, measures for less time than `standard`."""
    return document.plan.profile in _SHORT_PROFILES


def _is_short(one: PlannedTest, entry: Entry, descriptor: Descriptor | None) -> bool | None:
    """Whether a limit of `one` ends it before `standard` would; None if that is not known."""
    samples, duration_ns = one.samples, one.duration_ns
    if duration_ns and not entry.takes_duration:
        duration_ns = 0
        if not samples:  # the probe takes its default
            if descriptor is None:
                return None
            samples = descriptor.default_samples
    limits = [ProfileCount(samples, 0), ProfileCount(0, duration_ns)]
    ends = [_is_below(limit, one, entry, descriptor) for limit in limits if any(limit)]
    return True if True in ends else None if None in ends else False


def _is_below(
    limit: ProfileCount, one: PlannedTest, entry: Entry, descriptor: Descriptor | None
) -> bool | None:
    """`limit` has samples or a duration, and is compared with `standard` in the same unit, or
    else by the expected time."""
    standard = entry.profiles["standard"]
    for given, usual in zip(limit, standard, strict=True):
        if given and usual:
            return given < usual
    if descriptor is None:
        return None
    given_ns, usual_ns = (
        expected_ns(descriptor, entry, *count, one.params) for count in (limit, standard)
    )
    return given_ns < usual_ns
