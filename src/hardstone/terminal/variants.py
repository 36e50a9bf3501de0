"""How a test measures, in words: variants, warm-up, CPU."""

from __future__ import annotations

from hardstone.model import Descriptor


def variants_text(test: Descriptor, mark: str = "") -> str:
    """Which parameters make variants, and whether these run at once; empty if none do.

    `mark` is put around names.
    """
    names = [f"{mark}{spec.name}{mark}" for spec in test.variant_params]
    if not names:
        return ""
    when = "at the same time" if test.is_concurrent else "one after another"
    if len(names) == 1:
        return f"The values of {names[0]} are variants, measured {when}."
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"The combinations of {listed} that differ are variants, measured {when}."


def warm_up_text(test: Descriptor) -> str:
    """Which values are not recorded; empty if all are."""
    count = test.warm_up_samples
    if not count:
        return ""
    first = "first value" if count == 1 else f"first {count} values"
    each = "each variant" if test.variant_params else "the test"
    are = "is" if count == 1 else "are"
    return (
        f"Warm-up: the {first} of {each} and after each rest {are} not recorded. "
        "The test rests so that the kernel does not throttle it."
    )


def cpu_text(test: Descriptor) -> str:
    """On which CPU the threads of the test run."""
    if "one_cpu" in test.needs:
        return "All its threads run on one CPU in every CPU configuration: it is about their order."
    if "a_cpu" in test.needs:
        return "Each thread is bound to the CPU that it measures, in every CPU configuration."
    return "Under `shared` its threads are not bound to a CPU, unless `--cpu` names one."
