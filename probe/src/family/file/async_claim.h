/* One claim of FIO-B-ASY: what was expected, the first thing that was not so, and its verdict. */
#ifndef HS_FAMILY_FILE_ASYNC_CLAIM_H
#define HS_FAMILY_FILE_ASYNC_CLAIM_H

#include "base/posix_source.h"

#include "run/run.h"

#include <stdbool.h>

enum { ASYNC_TEXT_BYTES = 160 };

struct async_claim {
    struct run *run;
    const char *name, *kind;
    bool has_failed;
    char failure[ASYNC_TEXT_BYTES]; /* empty: none yet */
};

/* Begins the claim `name` about `kind`. */
struct async_claim async_claim_begin(struct run *run, const char *name, const char *kind);

/* If it is not so: keeps the text, unless something failed before. Returns is_so. */
bool async_expect(struct async_claim *claim, bool is_so, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the verdict NAME/KIND: `seen` is what was seen if nothing failed. None where a stop was
 * requested meanwhile. */
void async_claim_end(const struct async_claim *claim, const char *seen);

/* Sleeps for a millisecond. */
void async_pause(void);

/* How many such pauses are waited for what has to come by itself: longer than any system takes. */
enum { ASYNC_PAUSES = 1000 };

#endif
