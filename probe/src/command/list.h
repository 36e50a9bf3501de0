/* The register of tests, as JSON and as a list for people. */
#ifndef HS_COMMAND_LIST_H
#define HS_COMMAND_LIST_H

#include "base/emit.h"

#include <stdbool.h>

/* Writes hardstone.register/1 as one line of JSON. */
void register_json(struct emit *emit);

/* Writes one line per test, and one per parameter below it. */
void register_text(struct emit *emit);

#endif
