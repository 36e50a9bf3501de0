/* What a run ends in: the lines of hardstone.stream/1 (schema/README.md), or text for a person. */
#ifndef HS_RUN_STREAM_H
#define HS_RUN_STREAM_H

#include "base/emit.h"
#include "run/run.h"

#define PROBE_VERSION "0.1.0"

/* Store the text of the header line, and later that of the conditions, in the arena, where
 * `dump` finds them. */
void stream_compose_header(const struct run *run);
void stream_compose_conditions(const struct run *run);

void stream_header(struct emit *emit, const struct arena *arena);

/* The lines of the arena's tables; nothing where it has none. */
void table_lines(struct emit *emit, const struct arena *arena);

/* Everything after the header: instrument, events, series, verdicts, result, footer. */
void stream_rest(struct emit *emit, const struct run *run);

/* Header, result and footer of a run that has no arena. */
void stream_without_arena(struct emit *emit, const struct run *run);

/* The stream of a killed probe: no instrument, no footer, and a result only if the conditions
 * were already stored. `scratch`: arena_scratch_bytes of memory. */
void stream_dump(struct emit *emit, const struct arena *arena, struct record *scratch);

/* {"clock":...}: the members of an instrument, without the braces. */
void stream_instrument_members(struct emit *emit, const struct clock *clock,
                               const struct instrument *instrument);

/* What is possible for a series: of a time without a bound of its own, the measurement. */
struct record_range stream_possible(const struct arena *arena, const struct arena_series *series);

/* The bounds of a range; null where it has none. */
void stream_range_members(struct emit *emit, const struct record_range *range);

/* ---- text.c ---- */

/* What `run` says to a person: series, verdicts and outcome as text. */
void text_report(struct emit *emit, const struct run *run);

#endif
