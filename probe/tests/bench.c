/* Measures the cost of the core's functions and prints it as one line of JSON, for bench/. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "record/record.h"
#include "run/instrument.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static struct instrument instrument;
    struct clock clock;
    struct record *record = calloc(1, record_size(NULL, 0));
    if (!record)
        return 70;
    record_init(record, NULL, 0);
    clock_open(&clock, true, 0);
    instrument_measure(&instrument, &clock, record);
    printf("{\"clock\": \"%s\", \"record_step_ns\": %.3f, \"pair_plus_record_ns\": %.3f, "
           "\"gap_loop_ns\": %.3f}\n",
           clock.name, instrument.record_step_ns, instrument.perturbation_ns,
           instrument_gap_loop_ns(&clock));
    free(record);
    return 0;
}
