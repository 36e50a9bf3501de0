/* CPU sets, and the two text formats that kernels use for them: lists and masks. The only type,
 * parser and printer of CPU sets in the probe. */
#ifndef HS_BASE_CPUS_H
#define HS_BASE_CPUS_H

#include "base/posix_source.h"

#include "base/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PORT_CPUS = HS_CPUS,
    CPUS_WORDS = (PORT_CPUS + 63) / 64,
    CPUS_TEXT_BYTES = PORT_CPUS * 4 + 64, /* fits every set, as a list or as a mask */
};

struct cpus {
    uint64_t word[CPUS_WORDS];
};

/* CPUs outside 0 to PORT_CPUS - 1 are ignored, and in no set. */
void cpus_clear(struct cpus *set);
void cpus_add(struct cpus *set, int cpu);
void cpus_remove(struct cpus *set, int cpu);
bool cpus_has(const struct cpus *set, int cpu);
int cpus_count(const struct cpus *set);
/* Lowest CPU; -1 if the set is empty. */
int cpus_first(const struct cpus *set);
/* Lowest CPU above `cpu`; -1 if there is none. For loops:
 * for (int cpu = cpus_first(set); cpu >= 0; cpu = cpus_next(set, cpu)) */
int cpus_next(const struct cpus *set, int cpu);
/* Highest CPU; -1 if the set is empty. */
int cpus_last(const struct cpus *set);
bool cpus_same(const struct cpus *a, const struct cpus *b);
bool cpus_overlap(const struct cpus *a, const struct cpus *b);
struct cpus cpus_without(const struct cpus *set, const struct cpus *taken);
struct cpus cpus_union(const struct cpus *a, const struct cpus *b);

/* `set` without `taken`; `instead` if that is empty. */
struct cpus cpus_kept_off(const struct cpus *set, const struct cpus *taken,
                          const struct cpus *instead);

/* "0-3,8"; an empty text is the empty set. 0, or -1: not a list, or a CPU is PORT_CPUS or
 * above. */
int cpus_parse_list(const char *text, struct cpus *set);
void cpus_format_list(const struct cpus *set, char *text, size_t bytes);

/* "3" or "ff,ffffffff": hexadecimal groups of 32 CPUs, highest CPUs first. 0, or -1 as above. */
int cpus_parse_mask(const char *text, struct cpus *set);
/* Leading zero groups are omitted. */
void cpus_format_mask(const struct cpus *set, char *text, size_t bytes);

/* How a run divides CPUs between tests and load. */
enum cpu_config {
    CPU_CONFIG_SHARED,   /* nothing is reserved, nothing bound without need */
    CPU_CONFIG_SINGLE,   /* the other CPUs are offline; where refused, tests and load on one */
    CPU_CONFIG_SHIELDED, /* one CPU is reserved for the tests */
};

/* Name of a configuration, as in options and in the stream. */
const char *cpu_config_name(enum cpu_config config);

/* 0, or -1 for an unknown name. */
int cpu_config_parse(const char *text, enum cpu_config *config);

#endif
