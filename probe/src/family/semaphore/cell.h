/* The cells of a test over kinds of semaphores and scopes: its parameters `kinds` and `scopes`. */
#ifndef HS_CELL_H
#define HS_CELL_H

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"

/* Kinds times scopes. */
int cell_count(const struct run *run);

enum semaphore_kind cell_kind(const struct run *run, int cell);
enum partner_scope cell_scope(const struct run *run, int cell);

#endif
