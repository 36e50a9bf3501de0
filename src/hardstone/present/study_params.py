"""Whether a result was measured with the policy and parameters that a study fixed."""

from __future__ import annotations

from hardstone.model import Result
from hardstone.present.wording import parameter_text
from hardstone.systems.published import Figure


def why_another(figure: Figure, result: Result) -> str:
    """Policy and parameters of `result` that differ from those the study fixed for `figure`;
    "" if none do."""
    told = []
    policy = figure.address.conditions.get("policy", result.conditions.policy)
    if policy != result.conditions.policy:
        told.append(f"policy {result.conditions.policy}, in the study {policy}")
    for name, value in figure.params.items():
        used = result.params.get(name)
        if used is None:
            told.append(f"{name} is not known, in the study {parameter_text(name, value)}")
        elif used not in (value, [value]):
            told.append(f"{parameter_text(name, used)}, in the study {parameter_text(name, value)}")
    return "; ".join(told)
