/* Facts about the machine and about the instrument (run/instrument.h) on it. */
#ifndef HS_COMMAND_FACTS_H
#define HS_COMMAND_FACTS_H

#include "base/emit.h"

#include <stdbool.h>

/* Calibrates the clock for 1 s, measures the skew between CPUs, and writes one hardstone.facts/1
 * document, or a list for people. Writes nothing if there is no memory. */
void facts_send(struct emit *emit, bool want_counter, bool is_json);

#endif
