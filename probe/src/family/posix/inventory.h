/* Tells what was found: the events and verdicts of POS-B-INV. */
#ifndef HS_FAMILY_POSIX_INVENTORY_H
#define HS_FAMILY_POSIX_INVENTORY_H

#include "base/posix_source.h"

#include "family/posix/limits.h"
#include "family/posix/option.h"
#include "run/run.h"

/* All answers of one run, each in the order of its table. */
struct inventory {
    int option_count, limit_count;
    const struct answer *options;
    const struct answer *limits; /* of those with a call; untried otherwise */
    const struct answer *fifo, *rr;
    const char *folder; /* that pathconf is asked about */
};

/* Places for events that inventory_report needs beyond the usual ones. */
int inventory_events(void);

void inventory_report(struct run *run, const struct inventory *inventory);
void inventory_judge(struct run *run, const struct inventory *inventory);

#endif
