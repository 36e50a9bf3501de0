#include "../posix_source.h"

#include "semaphore_kind.h"

#include <errno.h>
#include <stddef.h>

const char *const semaphore_kind_names[SEMAPHORE_KINDS + 1] = {"unnamed", NULL};

int semaphore_open(struct semaphore *semaphore, enum semaphore_kind kind)
{
    semaphore->kind = kind;
    return sem_init(&semaphore->unnamed, 0, 0) == 0 ? 0 : errno;
}

void semaphore_close(struct semaphore *semaphore)
{
    sem_destroy(&semaphore->unnamed);
}
