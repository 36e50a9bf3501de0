/* The kinds of semaphore, behind one interface. */
#ifndef HS_SEMAPHORE_KIND_H
#define HS_SEMAPHORE_KIND_H

#include "../posix_source.h"

#include <semaphore.h>

enum semaphore_kind { SEMAPHORE_UNNAMED, SEMAPHORE_KINDS };

extern const char *const semaphore_kind_names[SEMAPHORE_KINDS + 1];

struct semaphore {
    enum semaphore_kind kind;
    sem_t unnamed;
};

/* Value 0. 0 or errno (ENOSYS: not on this system). */
int semaphore_open(struct semaphore *semaphore, enum semaphore_kind kind);
void semaphore_close(struct semaphore *semaphore);

/* One call: nothing else stands between two time stamps. EINTR is retried. */
static inline void semaphore_signal(struct semaphore *semaphore)
{
    sem_post(&semaphore->unnamed);
}

static inline void semaphore_wait(struct semaphore *semaphore)
{
    while (sem_wait(&semaphore->unnamed) != 0)
        ;
}

#endif
