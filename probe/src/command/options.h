/* The options of all commands: one table. */
#ifndef HS_COMMAND_OPTIONS_H
#define HS_COMMAND_OPTIONS_H

#include "command/parser.h"

/* Takes options with their values; for shield also the command after "--". Fails for an option that
 * is unknown, or that the request's command does not take. */
int options_parse(struct parser *parser, int argc, char *const argv[]);

/* The value of --load, or of the command load. */
int options_load(struct parser *parser, const char *text);

#endif
