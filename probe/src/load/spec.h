/* A load as text: "none", or terms ELEMENT[=DEGREE] and named mixes, joined by '+'. "@cpu" after a
 * term makes its degree hold for each CPU of the load. The options of stress-ng come last and end
 * the text: stress-ng:OPTIONS. */
#ifndef HS_LOAD_SPEC_H
#define HS_LOAD_SPEC_H

#include "base/emit.h"
#include "base/options.h"
#include "load/element.h"

/* A build without load has no terms. */
enum {
    LOAD_TERMS = HS_LOAD ? 16 : 1,
    LOAD_TEXT_BYTES = HS_LOAD ? 640 : 64,
    LOAD_ERROR_BYTES = 320
};

struct load_term {
    const struct load_element *element;
    char degree_text[LOAD_DEGREE_BYTES];
    struct load_degree degree;
};

struct load_spec {
    char text[LOAD_TEXT_BYTES]; /* as given; "none": no load */
    int count;
    struct load_term terms[LOAD_TERMS];
    char options[LOAD_OPTIONS_BYTES]; /* of stress-ng */
};

#define LOAD_SPEC_NONE ((struct load_spec){.text = "none"})

/* Parses `text`: 0, or -1 with one line of cause and remedy in `error`. */
int load_spec_parse(const char *text, struct load_spec *spec, char *error, size_t error_bytes);

/* ---- the elements and named mixes: the only place that lists them ---- */

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
