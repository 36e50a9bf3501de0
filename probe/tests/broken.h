/* Shared by the files of the broken libc (see broken.c). */
#ifndef HS_BROKEN_H
#define HS_BROKEN_H

#include <dlfcn.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* The libc function `name` that this library overrides. dlsym is called once at each place: it
 * takes a lock of the loader, and a thread that sleeps on it lets lower priorities run. */
#define REAL(name)                                                                                 \
    (__extension__({                                                                               \
        static void *_Atomic kept;                                                                 \
        (__typeof__(&(name)))broken_real(&kept, #name);                                            \
    }))

static inline void *broken_real(void *_Atomic *kept, const char *name)
{
    void *real = atomic_load(kept);
    if (!real) {
        real = dlsym(RTLD_NEXT, name);
        atomic_store(kept, real);
    }
    return real;
}

/* Whether HARDSTONE_BROKEN names the breach `word`. */
static inline bool breaks(const char *word)
{
    const char *words = getenv("HARDSTONE_BROKEN");
    size_t length = strlen(word);
    for (const char *at = words; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

/* Called by clock_gettime with the time of CLOCK_MONOTONIC: breaches that act on threads that spin
 * and read the clock. */
void broken_look_at_spinner(long long now_ns);

/* How much later a sleep until an absolute time ends, for breaches of broken_floods.c. */
int64_t broken_lateness_ns(void);

/* Called when a thread has slept until a time: breaches that keep it from running. */
void broken_wait_for_kernel(void);

/* sem_post, sem_wait and read for semaphores that broken_semaphores.c replaced; false: it is a
 * real one. */
bool broken_post(sem_t *semaphore);
bool broken_wait(sem_t *semaphore);
bool broken_read(int file);

/* Called by send: whether it fails, with errno. Called by read with what it got: breaches of pipes.
 */
bool broken_refuses_send(size_t count);
void broken_harm_read(void *bytes, ssize_t got);
/* syscall for I/O priorities that are refused, or not set; false: the real one. */
bool broken_io_priority(long *answer);

/* The same for locks that broken_locks.c replaced by a priority-inheritance mutex. */
bool broken_lends_semaphore(sem_t *semaphore, unsigned value);
bool broken_take_lent(const void *object);
bool broken_let_go_lent(const void *object);
bool broken_drop_lent(const void *object);

/* mlockall, and calls of channels and rings: whether broken_memory.c or broken_async.c has answered
 * the call. broken_ring may change its arguments. */
bool broken_lock(int flags, int *answer);
bool broken_read_channel(int file, void *buffer, size_t bytes, ssize_t *got);
bool broken_write_channel(int file, const void *bytes, size_t count, ssize_t *put);
bool broken_ring(long number, long words[6], long *answer);

/* fcntl that refuses direct I/O, and mkdir on a read-only file system: errno if they do. */
bool broken_refuses_direct(int command, long argument);
bool broken_refuses_folder(void);

#endif
