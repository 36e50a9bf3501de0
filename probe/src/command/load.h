/* `hardstone-probe load`: only the load. */
#ifndef HS_LOAD_COMMAND_H
#define HS_LOAD_COMMAND_H

#include "base/emit.h"
#include "command/args.h"

/* The exit code: 0 when what was reached was sent; 2, 5 when the load cannot be started as
 * asked; 70 when output failed. */
int load_command(const struct request *request, struct emit *emit);

#endif
