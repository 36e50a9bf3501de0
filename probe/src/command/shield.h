/* `hardstone-probe shield`: a command on reserved CPUs; what is reserved; putting back. */
#ifndef HS_SHIELD_COMMAND_H
#define HS_SHIELD_COMMAND_H

#include "base/emit.h"
#include "command/args.h"

enum {
    SHIELD_EXIT_USAGE = 2,     /* wrong input, CPUs that are taken */
    SHIELD_EXIT_PRIVILEGE = 5, /* no right, or no such facility */
    SHIELD_EXIT_INTERNAL = 70,
    SHIELD_EXIT_CANNOT_RUN = 126, /* COMMAND is there; as of env, nice, timeout ... */
    SHIELD_EXIT_NOT_FOUND = 127,
};

/* The exit code: of COMMAND (128 + signal), or one of the above before it has started; 70 also when
 * COMMAND ended with 0 and not everything could be put back. */
int shield_command(const struct request *request, struct emit *emit);

#endif
