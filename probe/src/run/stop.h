/* Stop requests of a run, and where they came from. Tests use run_should_stop and run_request_stop
 * (run.h). */
#ifndef HS_RUN_STOP_H
#define HS_RUN_STOP_H

#include <stdbool.h>

/* Clears a stop request to an earlier run of this process. Called once at the start of a run. */
void stop_reset(void);

/* Requests a stop because of a signal or the end of standard input, and tells whether that was
 * done. Async-signal-safe. */
void stop_from_outside(void);
bool stop_came_from_outside(void);

#endif
