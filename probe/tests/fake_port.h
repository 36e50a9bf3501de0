/* A port whose answers the tests choose. It is linked in place of the real one. */
#ifndef HS_FAKE_PORT_H
#define HS_FAKE_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct fake_port {
    bool is_counter_trusted;
    int cpu_count; /* < 0: CPUs are not known */
    int pin_error; /* returned for every CPU */
    int lacks_cpu; /* returns EINVAL for this CPU; 0: for none */
    int pin_back_error;
    void (*on_pin)(void);      /* called when a thread is bound */
    void (*on_visit)(int cpu); /* called by port_pin_for_now; by port_pin_back with -1 */
    bool has_budget;
    int64_t runtime_ns, period_ns, most_ns;
    const char *group;
    int64_t tick_ns; /* 0: not known */
    bool counts_waits;
    bool has_no_processes;     /* port_has_processes is false */
    bool refuses_fork;         /* port_fork fails, though processes are there */
    int64_t ran_ns, waited_ns; /* of each of its two threads */
    bool lacks_usage;          /* faults and switches are not counted */
    int64_t stack_bytes;       /* 0: not known */
    int64_t steal_ns;          /* since boot; 0: not known */
    int bound_count;           /* processes of one CPU, with the ids from 1; -1: not told */
    int current_cpu;           /* 0: not known */
    int latency_error;         /* of port_hold_dma_latency */
    int32_t latency_of_others; /* a lower bound that is in force; 0: none */
    int latency_descriptor;    /* that it gave last */
    int interrupt_error;       /* of port_interrupt_register; 0: ENOTSUP */
    int (*on_arm)(
        int64_t start_ns); /* of an event timer: 0, or -1 with errno; NULL: there is none */
    int64_t (*on_timer_wait)(void);
    int steal_cpu; /* the only CPU with steal time; 0: all alike */
};

extern struct fake_port fake_port;

/* CPU that the calling thread was bound to last; 0: none yet. */
extern _Thread_local int fake_port_cpu;

/* Defines a function of a port that only answers, as an expression says, or does nothing. */
#define ANSWERS(result, name, parameters, answer)                                                  \
    result name parameters                                                                         \
    {                                                                                              \
        return answer;                                                                             \
    }                                                                                              \
    result name parameters
#define DOES_NOTHING(name, parameters)                                                             \
    void name parameters                                                                           \
    {                                                                                              \
    }                                                                                              \
    void name parameters

#define FAKE_REASON "an invented cause"
#define FAKE_REMEDY "an invented remedy"

#endif
