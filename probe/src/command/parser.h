/* Shared by the parts of the command line parser. A parser returns 0, or -1 with cause and remedy
 * in one line. */
#ifndef HS_COMMAND_PARSER_H
#define HS_COMMAND_PARSER_H

#include "run/request.h"

struct parser {
    const char *command; /* as it was written */
    struct request *request;
    char *error;
    size_t error_bytes;
};

/* Writes the error. Always -1. */
int parser_fail(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parses a decimal number with nothing before or after it; -1, without an error, for anything else.
 */
int parser_number(const char *text, int64_t *number);

#endif
