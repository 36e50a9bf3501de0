/* Parameters of the request's test. */
#ifndef HS_COMMAND_PARAMETERS_H
#define HS_COMMAND_PARAMETERS_H

#include "command/parser.h"

int parameters_set_defaults(struct parser *parser);

/* NAME=VALUE[,VALUE] */
int parameters_take(struct parser *parser, const char *text);

#endif
