/* Parser of the probe's command line. It rejects every value that is out of limits. */
#ifndef HS_COMMAND_ARGS_H
#define HS_COMMAND_ARGS_H

#include "run/request.h"

#include <stddef.h>

enum { ARGS_ERROR_BYTES = 400 };

/* Fills `request`, which points into argv. 0, or -1 with cause and remedy in one line in `error`.
 */
int args_parse(int argc, char *const argv[], struct request *request, char *error,
               size_t error_bytes);

#endif
