/* When the whole process was stopped (SIGSTOP, Ctrl-Z, a debugger, the freezer of a control group)
 * and went on, and what of a record that concerns: a value that was under way then says how long
 * somebody stopped the program, and nothing about the system.
 *
 * What is known of a stop is the moment at which it ended. No value ends while the process is
 * stopped, so that is enough: the values of a stop are those under way at its end. They are taken
 * out of the worst values of a record, where a value that matters is. */
#ifndef HS_RECORD_STOPS_H
#define HS_RECORD_STOPS_H

#include "record/arena.h"

/* Notes that the process goes on. From one thread only. */
void stops_add(struct arena *arena, int64_t monotonic_ns);

/* Whether a value of `value_ns` that ended `at_ns` after the start was under way when the process
 * went on. Only the last ARENA_STOPS stops are known. From any thread. */
bool stops_touch(const struct arena *arena, int64_t value_ns, int64_t at_ns);

/* Whether a stop ended at or after this time, CLOCK_MONOTONIC. From any thread. */
bool stops_since(const struct arena *arena, int64_t monotonic_ns);

/* Takes the values of stops out of a record of the arena. To be called as record_settle. Where all
 * of `worst` is of stops, more of them may be left: arena_tell_stops tells it. */
void stops_take_out(struct arena *arena, struct record *record);

#endif
