/* `hardstone-probe shield`: runs a command on reserved CPUs, shows what is reserved, or restores
 * what a killed shield left. */
#ifndef HS_COMMAND_SHIELD_H
#define HS_COMMAND_SHIELD_H

#include "base/emit.h"
#include "command/args.h"

enum {
    SHIELD_EXIT_USAGE = 2,     /* wrong input, or the CPUs are already reserved */
    SHIELD_EXIT_PRIVILEGE = 5, /* privilege missing, or not supported */
    SHIELD_EXIT_INTERNAL = 70,
    SHIELD_EXIT_CANNOT_RUN = 126, /* COMMAND exists; as env, nice, timeout */
    SHIELD_EXIT_NOT_FOUND = 127,
};

/* Returns the exit code: that of COMMAND (128 + signal if a signal ended it), or one of the above
 * if COMMAND was not started; 70 also if COMMAND returned 0 but not everything could be restored.
 */
int shield_command(const struct request *request, struct emit *emit);

#endif
