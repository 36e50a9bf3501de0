/* `hardstone-probe load`: load without a test. */
#ifndef HS_COMMAND_LOAD_H
#define HS_COMMAND_LOAD_H

#include "base/emit.h"
#include "command/args.h"

/* Runs, lists or checks loads. Returns the exit code: 0 on success; 2 if the requested CPUs cannot
 * be used; 5 if the load cannot be started (an unsupported element, a limit); 70 if output failed.
 */
int load_command(const struct request *request, struct emit *emit);

#endif
