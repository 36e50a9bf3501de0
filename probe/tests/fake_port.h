/* A port whose answers the tests choose; linked before the real one, so that it takes its
 * place. */
#ifndef HS_FAKE_PORT_H
#define HS_FAKE_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct fake_port {
    bool is_counter_trusted;
    int cpu_count; /* < 0: CPUs cannot be told apart */
    int pin_error;
    bool has_budget;
    int64_t runtime_ns, period_ns;
    bool counts_waits;
    int64_t ran_ns, waited_ns; /* of each of its two threads */
};

extern struct fake_port fake_port;

#define FAKE_REASON "an invented cause"
#define FAKE_REMEDY "an invented remedy"

#endif
