/* cpu: Whetstone for a share of the time. */
#include "base/posix_source.h"

#include "load/element.h"

const struct load_element load_cpu = {
    .name = "cpu",
    .title = "floating-point work: Whetstone",
    .kind = LOAD_SHARE,
    .default_degree = "10ms/100ms",
    .counters = {"busy_ns", "cpu_ns", NULL, "rounds_count"},
    .prepare = whetstone_prepare,
    .work = whetstone_piece,
};
