/* Two parties, threads or processes, of equal priority on one CPU, with a message channel in each
 * direction or one to the first party: the common part of MSG-P-LAT and MSG-P-THR. The first party
 * is the measuring thread. */
#ifndef HS_FAMILY_MESSAGE_EXCHANGE_H
#define HS_FAMILY_MESSAGE_EXCHANGE_H

#include "base/posix_source.h"

#include "family/message/kind.h"
#include "family/shared/peer.h"
#include "run/run.h"

/* In memory that both parties share. The second party returns soon after is_over, which it sees
 * after each message; it sets is_done before. */
struct exchange_table {
    struct message_channel there, back; /* from the first party, to it */
    size_t bytes;                       /* of each message */
    atomic_bool is_over, is_done;
    atomic_bool is_lost;           /* no message passes any more (loss_watch in exchange.c) */
    atomic_bool had_odd_length;    /* the second party received one of another length */
    _Atomic uint64_t answer_count; /* of the second party: messages that it answered, */
    _Atomic uint64_t sent_count;   /* or sent on its own */
    /* Room of the first party, of the second, of the watch. */
    struct message *own, *received, *others, *watchs;
};

/* Why a message that came is none; NULL: it is one. */
static inline const char *exchange_lost(struct exchange_table *table)
{
    return atomic_load_explicit(&table->is_lost, memory_order_relaxed)
               ? "no message came for seconds while nothing ran: one was lost"
               : NULL;
}

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
