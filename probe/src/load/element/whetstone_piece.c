#include "base/posix_source.h"

#include "load/element/whetstone_piece.h"

#include "work/fixed_work.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE_NS INT64_C(100000)

struct whetstones {
    uint64_t turns; /* in one piece */
    struct work_space space;
};

int whetstone_prepare(struct worker *worker)
{
    struct whetstones *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    int64_t start_ns = worker_cpu_ns();
    work_do(&own->space, WORK_WHETSTONE, 1);
    int64_t turn_ns = worker_cpu_ns() - start_ns;
    own->turns = turn_ns > 0 && turn_ns < PIECE_NS ? (uint64_t)(PIECE_NS / turn_ns) : 1;
    worker->own = own;
    return 0;
}

void whetstone_piece(struct worker *worker)
{
    struct whetstones *own = worker->own;
    work_do(&own->space, WORK_WHETSTONE, own->turns);
}
