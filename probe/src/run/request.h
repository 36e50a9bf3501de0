/* What the command line asks for. */
#ifndef HS_RUN_REQUEST_H
#define HS_RUN_REQUEST_H

#include "base/cpus.h"
#include "load/spec.h"
#include "run/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct console;

enum args_command {
    ARGS_LIST,
    ARGS_RUN,
    ARGS_FACTS,
    ARGS_SELFTEST,
    ARGS_DUMP,
    ARGS_LOAD,
    ARGS_SHIELD,
    ARGS_AGENT,
    ARGS_HELP,
    ARGS_VERSION,
};
enum args_policy { ARGS_FIFO, ARGS_RR, ARGS_OTHER };

/* A negative cpu or priority means: the default. */
struct request {
    enum args_command command;
    const struct test *test;
    struct param_value params[TEST_PARAMS];
    bool has_counts;     /* samples or duration was given: replaces both defaults of the test */
    uint64_t samples;    /* 0: no limit */
    int64_t duration_ns; /* 0: no limit */
    int64_t deadline_ns; /* 0: derived from the expected time */
    int cpu;
    enum args_policy policy;
    int priority;         /* of max, the number */
    bool is_priority_max; /* was given as max */
    bool want_counter;
    uint64_t counter_hz;
    uint64_t seed;
    bool until_eof;
    bool trace;
    const char *preemption; /* model to measure under; NULL: as it is */
    bool has_dma_latency;
    int32_t dma_latency_us;
    const char *backing;
    const char *folder; /* for files of tests and of load; NULL: a scratch folder */
    const char *path;   /* of dump; of agent: its folder */
    const char *word;   /* of agent */
    struct load_spec load;
    bool is_load_list, is_load_check;
    bool is_list_part; /* of list: only list_count tests from list_from on */
    int64_t list_from, list_count;
    struct console *console; /* where the output goes (base/console.h); NULL: standard output */
    const char *called_as;   /* argv[0] */
    bool json;               /* default: true unless standard output is a terminal */
    enum cpu_config cpu_config;
    bool has_settings;  /* else the settings of the configuration */
    unsigned settings;  /* bits 1 << enum shield_setting */
    bool has_cpus;      /* shield --cpu, --cpus; load --cpus */
    struct cpus cpus;   /* value of these */
    bool restore, show; /* of shield, instead of a command */
    bool forget;        /* of shield --restore */
    bool verbose;       /* of shield */
    bool has_policy;    /* of shield: else COMMAND inherits its policy */
    char *const *words; /* of shield: the command, NULL-terminated */
};

#endif
