/* Stacks for many threads, not locked: 1000 locked stacks take 36 MB. A thread touches its stack
 * when it starts, so page faults come only while memory is short. The stacks have no guard pages:
 * only for threads without deep calls. */
#ifndef HS_BASE_STACKS_H
#define HS_BASE_STACKS_H

#include <stdbool.h>
#include <stddef.h>

struct stacks {
    void *block;        /* of the heap, that holds them */
    char *memory;       /* its first page: the first stack */
    size_t stack_bytes; /* of each: RT_THREAD_SMALL_STACK_BYTES or what the system asks for */
};

/* Maps `count` stacks. is_locked: the process has locked its memory, present and future (mlockall);
 * the stacks are left out. 0 or an errno value; count 0 maps nothing. */
int stacks_make(struct stacks *stacks, int count, bool is_locked);

/* Lowest address of stack `place`. */
void *stacks_at(const struct stacks *stacks, int place);

/* Call it when their threads have been joined. */
void stacks_free(struct stacks *stacks);

#endif
