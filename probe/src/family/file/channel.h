/* A way for bytes from one end to another, both without waiting (O_NONBLOCK): pipe, FIFO, pair of
 * Unix sockets, or a pseudo-terminal, whose master writes what its terminal reads. */
#ifndef HS_FAMILY_FILE_CHANNEL_H
#define HS_FAMILY_FILE_CHANNEL_H

#include "base/posix_source.h"

#include "work/scratch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum channel_kind { CHANNEL_PIPE, CHANNEL_FIFO, CHANNEL_SOCKET, CHANNEL_TERMINAL, CHANNELS };

struct channel {
    enum channel_kind kind;
    int in, out;  /* written to, read from */
    bool is_late; /* bytes arrive a moment after they were written */
};

/* Opens it, empty: 0, or an errno value (ENOSYS: the system has none). A FIFO has a name in
 * scratch->own for a moment. */
int channel_open(struct channel *channel, enum channel_kind kind, const struct scratch *scratch);
void channel_close(struct channel *channel);

/* The first of `bytes` of what is written there: byte N is the same each time. */
void channel_fill(unsigned char *bytes, size_t count, size_t from);

/* Writes `count` bytes, which there is room for; false with errno. */
bool channel_put(const struct channel *channel, size_t count);

/* Waits until something can be read, by any of the means that the system has for it, for at most a
 * second. Where bytes do not arrive late, returns at once. */
void channel_settle(const struct channel *channel);

/* Reads all that is there, also what still arrives: the number of bytes. */
int64_t channel_drain(const struct channel *channel);

/* Writes until the end takes no more, or `is_over`: the number of bytes that it took. `error`:
 * errno value of the last write, EAGAIN if it is full. */
int64_t channel_stuff(const struct channel *channel, const atomic_bool *is_over, int *error);

#endif
