/* What the two parties of an exchange share. */
#ifndef HS_FAMILY_MESSAGE_TABLE_H
#define HS_FAMILY_MESSAGE_TABLE_H

#include "base/posix_source.h"

#include "family/message/kind.h"

/* In memory that both parties share. The second party returns soon after is_over, which it sees
 * after each message; it sets is_done before. */
struct exchange_table {
    struct message_channel there, back; /* from the first party, to it */
    size_t bytes;                       /* of each message */
    atomic_bool is_over, is_done;
    atomic_bool is_lost;           /* no message passes any more (loss_watch.h) */
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
               ? "no message came for seconds while nobody ran: one was lost"
               : NULL;
}

#endif
