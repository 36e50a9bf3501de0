/* The register of tests, as a document and as a list for people. */
#ifndef HS_REGISTER_H
#define HS_REGISTER_H

#include "base/emit.h"

#include <stdbool.h>

/* hardstone.register/1 as one line of JSON. */
void register_json(struct emit *emit);

/* One line a test, and their parameters. */
void register_text(struct emit *emit);

#endif
