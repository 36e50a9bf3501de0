"""Made-up results of POS-B-INV that hold its contract, and some that do not."""

from __future__ import annotations

from hardstone.model import DataValue, Event, Result, RunDocument, Verdict
from hardstone.posix.analysis import TEST, posix_data
from tests.unit.stats import make

WORKS = "200809 200809 works"
# Of these POSIX has neither a macro nor a name for sysconf.
_UNITS = (
    "single_process multi_process signals c_lang_jump signal_jump c_lang_support c_lang_math "
    "device_io device_specific fd_mgmt file_system file_attributes fifo pipe user_groups mutexes "
    "condition_variables file_locking networking event_mgmt symbolic_links xsi_threads_ext"
)
UNITS = set(_UNITS.split())


def told(name: str) -> str:
    """What a system says of an option that works."""
    if name in posix_data().pathconf:
        return "0 0 works"
    return "none unknown works" if name in UNITS else WORKS


EVERY_PART = {
    part: {name: told(name) for name in one.options} for part, one in posix_data().parts.items()
}
# As a Linux of today, but for those options of which two means say the opposite.
ODD: dict[str, str] = {
    "prioritized_io": "none none partly",
    "message_passing": "200809 200809 fails",
    "sporadic_server": "-1 none missing",
    "thread_sporadic_server": "none none missing",
    "typed_memory_objects": "-1 none missing",
    "spin_locks": "none none works",
    "memlock": "200809 200809 denied",
    "spawn": "0 unknown works",
    "timeouts": "200809 none works",
    "trace": "-1 none missing",
    "trace_event_filter": "-1 none missing",
    "trace_log": "-1 none missing",
}


def event(name: str, **data: DataValue) -> Event:
    return Event(name=name, text=f"{name} in words", data=data)


def options(part: str, found: dict[str, str]) -> Event:
    return event("posix_options", part=part, **found)


LIMITS = {"mq_prio_max": 32_768, "rtsig_max": 32, "sigqueue_max": -1, "timer_max": 16}
LIMITS |= {"priorities_fifo_count": 99, "priorities_rr_count": 99}
CLOCKS = ("realtime_ns", "monotonic_ns", "process_cputime_ns", "thread_cputime_ns")
MISSING = ["message_passing", "sporadic_server", "typed_memory_objects"]


def profile(name: str, *missing: str, **data: DataValue) -> Event:
    data |= {"missing_count": len(missing), "missing": ",".join(missing)}
    return event("posix_profile", profile=name, is_satisfied=not missing, **data)


def events(odd: dict[str, str] | None = None) -> list[Event]:
    odd = ODD if odd is None else odd
    why = {"option": "message_passing", "call": "mq_open", "why": "Function not implemented"}
    next_one = {"next_missing": "typed_memory_objects", "next_missing_count": 1}
    return [
        *(
            options(part, {name: odd.get(name, told) for name, told in found.items()})
            for part, found in EVERY_PART.items()
        ),
        event("posix_option_why", **why),
        event("posix_limits", **LIMITS),
        event("posix_clocks", **dict.fromkeys(CLOCKS, 1)),
        event("posix_profile", profile="PSE51", is_satisfied=1, missing_count=0, missing=""),
        profile("PSE52"),
        profile("PSE53", *MISSING[:2]),
        profile("PSE54", *MISSING, denied_count=1, **next_one),
        event("posix_named_only", parts="1003.1h,1003.21"),
    ]


def claim(name: str, evidence: str, *, is_true: bool = True) -> Verdict:
    return Verdict(name=name, passed=is_true, evidence=evidence)


def result(found: list[Event] | None = None, **changed: object) -> Result:
    verdicts = [
        claim("claims_are_true", "1 of 37 claims: message_passing fails", is_true=False),
        claim("priorities_32/fifo", "99 levels"),
        claim("priorities_32/rr", "99 levels"),
        claim("limits_at_least_posix_minimum", "timer_max 16 of 32", is_true=False),
    ]
    fields: dict[str, object] = {
        "series": [],
        "verdicts": verdicts,
        "events": events() if found is None else found,
    }
    return make.result(TEST, **(fields | changed))


def document(*others: Result, found: Result | None = None, **changed: object) -> RunDocument:
    fields: dict[str, object] = {
        "results": [*others, found or result()],
        "system": {"kernel.name": "Linux", "kernel.release": "6.18.0", "machine.arch": "x86_64"},
    }
    return make.document(**(fields | changed))
