/* The register of elements and named mixes: the only place that lists them. */
#ifndef HS_LOAD_ELEMENTS_H
#define HS_LOAD_ELEMENTS_H

#include "base/emit.h"
#include "load/element.h"

extern const struct load_element *const load_elements[]; /* ends with NULL */

/* A name for a load text; the text may contain other mixes. */
struct load_mix {
    const char *name, *text;
};
extern const struct load_mix load_mixes[]; /* ends with a NULL name */

/* The element or mix whose name is the first `length` bytes of `name`; NULL: none. */
const struct load_element *load_element_find(const char *name, size_t length);
const struct load_mix *load_mix_find(const char *name, size_t length);

/* The name of an element or mix that is closest to a wrong one (edit distance). */
const char *load_nearest_name(const char *name, size_t length);

/* Writes the register as one line of JSON, {"schema":"hardstone.loads/1",...}, or as a table. */
void load_list_json(struct emit *emit);
void load_list_text(struct emit *emit);

/* Unit of a degree: "share", "per_s", "processes", "jobs", "groups" or "rounds_per_s". */
const char *load_unit(enum load_degree_kind kind);

/* The largest number of a degree; 0: the degree is not a number. */
int load_most_number(enum load_degree_kind kind);

extern const struct load_element load_cpu, load_disk, load_interrupt, load_network, load_syscall,
    load_memory, load_search, load_storm, load_build, load_kernel, load_messages, load_stress_ng;

#endif
