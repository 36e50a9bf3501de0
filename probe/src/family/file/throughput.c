#include "base/posix_source.h"

#include "family/file/throughput.h"

#include "base/clock.h"

/* Not bytes * 1e9: 16 GiB times that are more than 64 bits. */
int64_t throughput_of(int64_t bytes, int64_t ns)
{
    if (ns <= 0)
        return -1;
    double per_s = (double)bytes * (double)CLOCK_NS_PER_S / (double)ns;
    return (int64_t)(per_s + 0.5);
}

int64_t throughput_take(struct throughput *throughput, int64_t bytes, int64_t now_ns)
{
    throughput->bytes += bytes;
    int64_t ns = now_ns - throughput->begin_ns;
    return ns < THROUGHPUT_WINDOW_NS ? -1 : throughput_of(throughput->bytes, ns);
}
