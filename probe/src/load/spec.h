/* A load as text: "none", or terms ELEMENT[=DEGREE] and named mixes, joined by '+'. "@cpu" after a
 * term makes its degree hold for each CPU of the load. The options of stress-ng come last and end
 * the text: stress-ng:OPTIONS. */
#ifndef HS_LOAD_SPEC_H
#define HS_LOAD_SPEC_H

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

/* Sets `spec` to "none". */
void load_spec_none(struct load_spec *spec);

/* Parses `text`: 0, or -1 with one line of cause and remedy in `error`. */
int load_spec_parse(const char *text, struct load_spec *spec, char *error, size_t error_bytes);

#endif
