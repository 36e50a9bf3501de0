/* Sets of CPUs, and the two ways in which kernels write them. */
#ifndef HS_CPUS_H
#define HS_CPUS_H

#include "port/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPUS_WORDS = PORT_CPUS / 64, CPUS_TEXT_BYTES = 4096 };

struct cpus {
    uint64_t word[CPUS_WORDS];
};

void cpus_add(struct cpus *set, int cpu);
bool cpus_has(const struct cpus *set, int cpu);
int cpus_count(const struct cpus *set);
/* The lowest one; -1 in an empty set. */
int cpus_first(const struct cpus *set);
bool cpus_same(const struct cpus *a, const struct cpus *b);
bool cpus_overlap(const struct cpus *a, const struct cpus *b);
struct cpus cpus_without(const struct cpus *set, const struct cpus *taken);
struct cpus cpus_union(const struct cpus *a, const struct cpus *b);

/* What is left of `set` without `taken`; where that is nothing, `instead`. */
struct cpus cpus_kept_off(const struct cpus *set, const struct cpus *taken,
                          const struct cpus *instead);

/* "0-3,8"; an empty text is the empty set. 0, or -1: not such a list, or a CPU of PORT_CPUS
 * or above. */
int cpus_parse_list(const char *text, struct cpus *set);
void cpus_format_list(const struct cpus *set, char *text, size_t bytes);

/* "3" or "ff,ffffffff", hexadecimal, the highest CPUs first. 0, or -1 as above. */
int cpus_parse_mask(const char *text, struct cpus *set);
/* The same; leading groups of zeros are left out. */
void cpus_format_mask(const struct cpus *set, char *text, size_t bytes);

#endif
