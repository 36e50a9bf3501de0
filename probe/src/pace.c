#include "posix_source.h"

#include "pace.h"

#define DISTURBED_NS INT64_C(1000000)

void pace_begin(struct pace *pace, struct run *run, pid_t partner)
{
    *pace = (struct pace){.run = run};
    occupancy_open(&pace->occupancy);
    bool is_counted = partner <= 0 || occupancy_add_process(&pace->occupancy, partner) == 0;
    pace->is_watched = run->is_realtime && is_counted && pace->occupancy.is_limited;
    breathe(&run->breath);
    occupancy_begin(&pace->occupancy);
}

bool pace_was_disturbed(const struct pace *pace)
{
    return occupancy_lost_ns(&pace->occupancy, clock_monotonic_ns()) > DISTURBED_NS;
}

int64_t pace_next(struct pace *pace)
{
    struct occupancy *burst = &pace->occupancy;
    if (pace->is_watched && clock_monotonic_ns() - burst->begin_wall_ns > burst->pause_ns / 2) {
        occupancy_end(burst, pace->run);
        if (occupancy_judge(burst, pace->run) != 0)
            run_request_stop();
    }
    int64_t now_ns = breathe(&pace->run->breath);
    occupancy_begin(burst);
    return now_ns;
}
