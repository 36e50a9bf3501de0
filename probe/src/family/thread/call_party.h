/* A time-shared party that is inside one kind of system call nearly all the time. For THR-B-PRI. */
#ifndef HS_FAMILY_THREAD_CALL_PARTY_H
#define HS_FAMILY_THREAD_CALL_PARTY_H

#include "base/posix_source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_KINDS = 5, CALL_BUFFER_BYTES = 16384 };

/* In memory that both sides share. */
struct call_party {
    int kind;
    atomic_bool is_over;             /* the party ends after its operation */
    atomic_int error;                /* errno value of a call; the party has ended */
    atomic_uint_fast64_t step_count; /* begins and ends of operations; odd: inside one */
    int pipe[2];
    size_t page_bytes;
    unsigned char buffer[CALL_BUFFER_BYTES];
};

struct call_kind {
    const char *name, *title;
    bool is_woken; /* it blocks until call_party_wake */
    int (*act)(struct call_party *party);
};
extern const struct call_kind call_kinds[CALL_KINDS];

/* Opens what the kind needs; `party` is zeroed. 0 or an errno value. */
int call_party_open(struct call_party *party, int kind);
void call_party_close(struct call_party *party);

/* The body of the party. */
void call_party_work(void *party);

/* Makes a party ready that blocks in its call. */
void call_party_wake(struct call_party *party);

/* Tells the party to end. */
void call_party_end(struct call_party *party);

/* Whether the party is between begin and end of an operation. */
bool call_party_is_inside(struct call_party *party);

#endif
