/* Without sem_open, sem_close, sem_unlink. */
#ifndef KESTREL_SEMAPHORE_H
#define KESTREL_SEMAPHORE_H
#define sem_open kes_absent_sem_open
#define sem_close kes_absent_sem_close
#define sem_unlink kes_absent_sem_unlink
#include_next <semaphore.h>
#undef sem_open
#undef sem_close
#undef sem_unlink
#endif
