/* The parent of the loaders (guard.h). */
#ifndef HS_LOAD_KEEPER_H
#define HS_LOAD_KEEPER_H

#include "load/guard.h"

/* Is the keeper: starts the loaders of `plan`, and ends them at the order. `lifeline` breaks
 * when the guard ends; `told` takes one byte when everything is gone. Never returns. */
void keeper_be(const struct guard_plan *plan, int lifeline, int told) __attribute__((noreturn));

/* Kills all children of the calling process, and theirs as they become its own, until there
 * is none. `group`: a process group to kill first where the process table cannot be read; 0:
 * none. */
void keeper_end_children(pid_t group);

#endif
