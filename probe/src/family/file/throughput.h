/* Throughput in windows: bytes over time, each window at least WINDOW_NS long and ended by the
 * write that passes that. */
#ifndef HS_FAMILY_FILE_THROUGHPUT_H
#define HS_FAMILY_FILE_THROUGHPUT_H

#include <stdbool.h>
#include <stdint.h>

#define THROUGHPUT_WINDOW_NS INT64_C(100000000)

struct throughput {
    int64_t begin_ns, bytes;
};

/* A window begins. */
static inline void throughput_begin(struct throughput *throughput, int64_t now_ns)
{
    *throughput = (struct throughput){.begin_ns = now_ns};
}

/* `bytes` more, written at `now_ns`. Bytes per second if the window is over, else -1; the next
 * window begins with throughput_begin. */
int64_t throughput_take(struct throughput *throughput, int64_t bytes, int64_t now_ns);

/* Bytes per second; -1 in no time. */
int64_t throughput_of(int64_t bytes, int64_t ns);

#endif
