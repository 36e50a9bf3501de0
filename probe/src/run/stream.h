/* The lines of hardstone.stream/1 (schema/README.md), from an arena and a run. */
#ifndef HS_STREAM_H
#define HS_STREAM_H

#include "base/emit.h"
#include "run/run.h"

#define PROBE_VERSION "0.1.0"

/* Writes the header line's text into the arena, and later the conditions' text; both
 * stay there for `dump`. */
void stream_compose_header(const struct run *run);
void stream_compose_conditions(const struct run *run);

void stream_header(struct emit *emit, const struct arena *arena);

/* Everything after the header: instrument, events, series, verdicts, result, footer. */
void stream_rest(struct emit *emit, const struct run *run);

/* The header and result of a run that has no arena. */
void stream_without_arena(struct emit *emit, const struct run *run);

/* The stream that a killed probe left behind: no instrument, a result that says so (once
 * the conditions were known), no footer. */
void stream_dump(struct emit *emit, const struct arena *arena);

/* {"clock":...}: the members of an instrument, without the braces. */
void stream_instrument_members(struct emit *emit, const struct clock *clock,
                               const struct instrument *instrument, bool is_first);

#endif
