/* Ends the wait for a message that was lost: then both parties of an exchange would wait for ever.
 *
 * A thread of the first party's process, one priority below the parties on their CPU, looks once a
 * second whether messages still pass. It runs only while neither party is ready, so a busy machine
 * does not mislead it. */
#ifndef HS_FAMILY_MESSAGE_LOSS_WATCH_H
#define HS_FAMILY_MESSAGE_LOSS_WATCH_H

#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "family/message/table.h"

#include <semaphore.h>

struct loss_watch {
    struct exchange_table *table;
    struct message *room; /* for a message that ends the wait */
    struct rt_thread rt_thread;
    sem_t end;
    bool is_running;
};

/* Starts it for the open channels of `table`. Without a lower priority or a thread there is no
 * watch: a loss then ends at the test's deadline. */
void loss_watch_start(struct loss_watch *watch, struct exchange_table *table, struct message *room,
                      const struct rt_thread_setup *parties);
void loss_watch_end(struct loss_watch *watch);

#endif
