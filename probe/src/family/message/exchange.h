/* Two parties, threads or processes, of equal priority on one CPU, with a message channel in each
 * direction or one to the first party: the common part of MSG-P-LAT and MSG-P-THR. The first party
 * is the measuring thread. */
#ifndef HS_FAMILY_MESSAGE_EXCHANGE_H
#define HS_FAMILY_MESSAGE_EXCHANGE_H

#include "base/posix_source.h"

#include "family/message/content.h"
#include "family/message/table.h"
#include "family/shared/peer.h"
#include "run/run.h"

struct exchange {
    struct ipc_cleanup ipc_cleanup;
    struct exchange_table *table;
    size_t table_bytes;
    unsigned char *memory; /* behind the table: rooms, then slots of two rings */
    size_t ring_bytes;     /* of one */
    struct peer peer;
    uint64_t number; /* of the latest message of this variant that the first party handled */
};

struct exchange_body {
    bool is_one_way; /* no channel to the second party */
    int depth;
    int burst_count;  /* values between two looks at the CPU budget */
    int64_t ahead_ns; /* longest time of them, for tests whose values take long; 0: short */
    int (*take)(struct run *run); /* for variant_sample */
    void (*work)(void *table);    /* of the second party */
};

/* Reports that messages did not pass as they have to, and sets the outcome; `what` says how. -1. */
int exchange_refuse(struct run *run, const char *what);

/* For `prepare` and `finish`: run->own is a struct exchange. 0, or -1 with the outcome. */
int exchange_prepare(struct run *run, int depth);
void exchange_finish(struct run *run);

/* For measure_variant: opens the channels if kind, scope and size are here, starts the second
 * party, takes values and ends it. 0, also if something is not here; -1 with the outcome. */
int exchange_measure(struct run *run, const struct exchange_body *body);

#endif
