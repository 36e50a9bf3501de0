/* What the breaches of the broken libc share (broken.c says how it is used). */
#ifndef HS_BROKEN_H
#define HS_BROKEN_H

#include <dlfcn.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The function that this library stands before. */
#define REAL(name) ((__typeof__(&(name)))broken_real(#name))

static inline void *broken_real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
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

/* Called by clock_gettime with what CLOCK_MONOTONIC says: breaches that act on threads
 * which spin and look at the clock. */
void broken_look_at_spinner(long long now_ns);

/* What sem_post and sem_wait do with a semaphore that broken_semaphores.c replaced, and read
 * with such a descriptor; false: it is a real one. */
bool broken_post(sem_t *semaphore);
bool broken_wait(sem_t *semaphore);
bool broken_read(int file);

/* The same with what broken_locks.c replaced by a mutex that inherits. */
bool broken_lends_semaphore(sem_t *semaphore, unsigned value);
bool broken_take_lent(const void *object);
bool broken_let_go_lent(const void *object);
bool broken_drop_lent(const void *object);

#endif
