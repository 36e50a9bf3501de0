"""Names of the tire's tests, series and events, as the probe declares them."""

from __future__ import annotations

from hardstone import event_names

REAL_TIME = "SIM-S-RT"
REAL_FAST = "SIM-P-RF"
TESTS = (REAL_TIME, REAL_FAST)
MISSED = "missed"
LATENESS = "lateness"
STEP_TIME = "step_time"
TOTAL_TIME = "total_time"
SIMULATION, COSTS = event_names.TIRE
DELAYED = "delayed_on_purpose"
PAUSED = "real_fast_paused"  # the only thread did not have the CPU
OUT_OF_STEP = "simulation_out_of_step"  # one thread far ahead, which ended it
NAME_CHARACTERS = 32  # of a solver, a policy and a code, as shown
