"""Names of events that the toolkit acts on, by what they mean for a reader; and of the tests that
have tables of their own.

Every other event is a detail. The probe declares its events where it sends them.
"""

from __future__ import annotations

LEFT = "not_put_back"  # a shield left a setting changed
LEFT_REMEDY = "hardstone shield --restore"
DIFFER = "conditions_differ"
THROTTLED = "throttled"
CPU_LOST = "lost CPU time (throttling or preemption)"  # what it says of a test
MISSED = "missed_periods"
THRESHOLD = "threshold_crossed"
STOPS_MIXED = "stops_mixed"  # values of a stop are left in the figures
STOPS_NOT_WATCHED = "stops_not_watched"  # a port, or a refusal: stops would look like latencies
STOPPED = "stopped"  # the program, by a signal, a debugger or the freezer
LOOKED = "looked_at"  # what the view of a running test took
CONNECTED = "connected"  # the toolkit to the target, while the test ran
REPEATED = "console_repeated"  # the output of a test, over a line that loses bytes
COPIED = "copied"  # what the copies on disk of a long test took
# Of a run that was resumed: where a part was added, where it has a result of its own, where it
# recorded nothing.
JOINED = "joined"
NEW_PART = "new_part"
NOT_RESUMED = "not_resumed"
PARTS_SEEN = "parts_seen"
ACCOUNTED = "interrupts_accounted"  # what became of those that were sent
DROPPED = "events_dropped"  # more events than fit
TABLES_CUT = "tables_not_stored"  # a run asked for more than a document holds
PARTS_NOT_SEEN = "parts_not_seen"  # totals only
TRACED = "traced"
NOT_SEEN = "not_seen"  # a verdict that could not be given
STEP_BOUNDED = "expiry_step_bounded"
NOT_WATCHED = "not_watched"  # no counters of the seconds of worst values
SHIELDED = "shielded"
IN_MEMORY = "file_in_memory"  # no device under the files of a test
ON_NETWORK = "file_on_network"
ONLINE = "not_offline"
KERNEL_TEST = "KRN-P-PRE"
# The inventory of POSIX.
POSIX_TEST = "POS-B-INV"
POSIX_OPTIONS = "posix_options"
POSIX_WHY = "posix_option_why"  # the call that does not work
POSIX_LIMITS = "posix_limits"
POSIX_CLOCKS = "posix_clocks"
POSIX_PROFILE = "posix_profile"
POSIX_NAMED = "posix_named_only"  # parts of which nothing is asked
# Claims that name the limits that are too low themselves, which says more than the claim's name.
LIMIT_CLAIMS = ("limits_at_least_posix_minimum", "base_limits_at_least_posix_minimum")
POSIX = (POSIX_OPTIONS, POSIX_WHY, POSIX_LIMITS, POSIX_CLOCKS, POSIX_PROFILE, POSIX_NAMED)
# The simulation of the tire.
TIRE_TESTS = ("SIM-S-RT", "SIM-P-RF")
TIRE = TIRE_STEPS, TIRE_COSTS = ("simulation", "tire_costs")
TIRE_PREDICTED = "size_predicted"  # the largest that a curve will hold, before its first point
# The load was not what was asked for.
SHORT = ("load_short", "load_unseen", "load_ended_early")
# What a shield did: long, and the same in every test.
SHIELD_DETAILS = ("not_moved", SHIELDED, "offline")
# Deviations from the request that one result has.
DEVIATIONS = {
    "load_short": "The load was lower than requested",
    "load_unseen": "The kernel did not count what the load sent or wrote",
    "load_ended_early": "The load ended early",
    DIFFER: "The conditions differ from the request",
    ONLINE: "The other CPUs stayed online",
    IN_MEMORY: "Files were in memory",
    ON_NETWORK: "Files were on a network",
}
