/* A load as text, and what it means: ELEMENT[=DEGREE] joined by '+', named mixes, "none". */
#ifndef HS_LOAD_SPEC_H
#define HS_LOAD_SPEC_H

#include "load/element.h"

enum { LOAD_TERMS = 16, LOAD_TEXT_BYTES = 640, LOAD_ERROR_BYTES = 320 };

struct load_term {
    const struct load_element *element;
    char degree_text[LOAD_DEGREE_BYTES];
    struct load_degree degree;
};

struct load_spec {
    char text[LOAD_TEXT_BYTES]; /* as asked; "none" for no load */
    int count;
    struct load_term terms[LOAD_TERMS];
    char options[LOAD_OPTIONS_BYTES]; /* of stress-ng */
};

void load_spec_none(struct load_spec *spec);

/* 0, or -1 with one line of cause and remedy in `error`. */
int load_spec_parse(const char *text, struct load_spec *spec, char *error, size_t error_bytes);

#endif
