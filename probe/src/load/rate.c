#include "base/posix_source.h"

#include "load/rate.h"

void rate_start(struct rate *rate, int64_t per_s, int64_t now_ns)
{
    *rate = (struct rate){now_ns, per_s, 0};
}

int64_t rate_skip(struct rate *rate, int64_t now_ns, int64_t most_ns)
{
    int64_t skipped = 0;
    int64_t whole_s = (now_ns - most_ns - rate->second_ns) / 1000000000 - 1;
    if (whole_s > 0) { /* skip whole seconds at once after a long stop */
        rate->second_ns += whole_s * 1000000000;
        skipped = whole_s * rate->per_s;
    }
    for (; rate_next_ns(rate) < now_ns - most_ns; skipped++)
        rate_step(rate);
    return skipped;
}
