/* The register of elements and of named mixes: the only place that lists them. */
#ifndef HS_LOAD_ELEMENTS_H
#define HS_LOAD_ELEMENTS_H

#include "base/emit.h"
#include "load/element.h"

extern const struct load_element *const load_elements[]; /* NULL at the end */

/* A mix's text may hold another mix. */
struct load_mix {
    const char *name, *text;
};
extern const struct load_mix load_mixes[]; /* a NULL name at the end */

/* What is named `length` bytes of `name`; NULL: none. */
const struct load_element *load_element_find(const char *name, size_t length);
const struct load_mix *load_mix_find(const char *name, size_t length);

/* The element or mix whose name is nearest to a wrong one. */
const char *load_nearest_name(const char *name, size_t length);

/* {"schema":"hardstone.loads/1",...}, or a table for people. */
void load_list_json(struct emit *emit);
void load_list_text(struct emit *emit);

/* "share", "per_s", "processes", "rounds_per_s". */
const char *load_unit(enum load_degree_kind kind);

extern const struct load_element load_cpu, load_disk, load_interrupt, load_network, load_syscall,
    load_memory, load_search, load_storm, load_build, load_kernel, load_stress_ng;

#endif
