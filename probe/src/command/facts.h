/* Facts about the machine and about the instrument on it. */
#ifndef HS_FACTS_H
#define HS_FACTS_H

#include "base/emit.h"

#include <stdbool.h>

/* Calibrates the clock for a second, measures the skew of the CPUs, and sends one
 * hardstone.facts/1 document, or a list for people. */
void facts_send(struct emit *emit, bool want_counter, bool is_json);

#endif
