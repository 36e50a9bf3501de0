"""Which two preemption models stand for "off" and "on" on a machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hardstone.errors import PrivilegeError
from hardstone.model import Scalar

OFF, ON = "none", "full"
IN_THE_LAB = (
    "measure a kernel of the lab: hardstone run KRN-P-PRE --compare-preemption --target lab:debian"
)
_MOUNT = "sudo mount -t debugfs debugfs /sys/kernel/debug"
_SHARE = (
    "a container may not mount it: start it with --privileged -v /sys/kernel/debug:"
    "/sys/kernel/debug (docker and podman take these), or measure on the host"
)
_WITHOUT_DEBUGFS = {
    "none": "the kernel has no debugfs (CONFIG_DEBUG_FS)",
    "not mounted": "debugfs is not mounted",
    "refused": "the kernel refuses to show it even to root (lockdown), and to switch it",
    "mounted": "debugfs has no sched/preempt",
}
_ANY_REASON = (
    "debugfs is missing, or the kernel is locked down, which also keeps it from being switched"
)
_LEAST_FIRST = (OFF, "voluntary", "laziest", "lazy", ON)
_CHARACTERS = 40


class Models(NamedTuple):
    """`remark` says what of them is not as on a kernel with all models; empty: nothing."""

    off: str
    on: str
    remark: str = ""


def switched_models(facts: Mapping[str, Scalar]) -> Models:
    """The least and the most preemptible model that the kernel can be switched to at run time.

    PrivilegeError where it cannot be switched, or does not tell: with the reason and the next step.
    """
    return _chosen(facts, _LEAST_FIRST)


def booted_models(facts: Mapping[str, Scalar], known: Sequence[str]) -> Models:
    """The same of a kernel that is booted with one of the models `known`."""
    return _chosen(facts, [one for one in _LEAST_FIRST if one in known])


def _chosen(facts: Mapping[str, Scalar], known: Sequence[str]) -> Models:
    text = facts.get("kernel.preemption_choices")
    offered = {one.strip() for one in text.split(",")} if isinstance(text, str) else set()
    found = [one for one in known if one in offered]
    if len(found) < 2:
        raise PrivilegeError(_why_not(facts, has_choices=bool(offered)), _remedy(facts))
    return Models(found[0], found[-1], "; ".join(_remarks(facts, found[0], found[-1])))


def _remarks(facts: Mapping[str, Scalar], off: str, on: str) -> list[str]:
    found = []
    if off != OFF:
        found.append(f"the kernel has no model {OFF}: off is {off}, the least preemptible it has")
    if on != ON:
        found.append(f"the kernel has no model {ON}: on is {on}, the most preemptible it has")
    if facts.get("kernel.realtime") is True:
        found.append("it has PREEMPT_RT, under which the models differ for ordinary tasks only")
    return found


def _why_not(facts: Mapping[str, Scalar], *, has_choices: bool) -> str:
    model = facts.get("kernel.preemption") or facts.get("kernel.preemption_model")
    shown = "".join(char if char.isprintable() else "?" for char in str(model))[:_CHARACTERS]
    is_dynamic = facts.get("kernel.preemption_is_dynamic")
    if has_choices or is_dynamic is False:
        return f"the kernel's preemption model is built in ({shown}) and cannot be switched"
    if model is None:
        return "the target does not tell its preemption model, so it cannot be switched"
    if facts.get("user.effective_id") not in (0, None):
        return "only root sees and switches the preemption model: run it as root"
    why = _WITHOUT_DEBUGFS.get(str(facts.get("kernel.debugfs")), _ANY_REASON)
    return f"the preemption model cannot be seen ({shown}): {why}"


def _remedy(facts: Mapping[str, Scalar]) -> str:
    """Mounting is enough where the kernel has a choice of models and lets them be read."""
    is_enough = facts.get("kernel.preemption_is_dynamic") and (
        facts.get("user.effective_id") == 0 and facts.get("kernel.debugfs") == "not mounted"
    )
    if not is_enough:
        return IN_THE_LAB
    is_contained = facts.get("virtual.container") is not None
    may_mount = facts.get("user.cap_sys_admin") is not False
    return _SHARE if is_contained and not may_mount else f"mount it, then measure again: {_MOUNT}"
