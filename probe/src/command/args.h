/* The command line of the probe, checked: nothing that is out of limits gets past. */
#ifndef HS_ARGS_H
#define HS_ARGS_H

#include "base/cpus.h"
#include "load/spec.h"
#include "run/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum args_command {
    ARGS_LIST,
    ARGS_RUN,
    ARGS_FACTS,
    ARGS_DUMP,
    ARGS_LOAD,
    ARGS_SHIELD,
    ARGS_HELP,
    ARGS_VERSION,
};
enum args_policy { ARGS_FIFO, ARGS_RR, ARGS_OTHER };
enum args_cpu_config { ARGS_SHARED, ARGS_SINGLE, ARGS_SHIELDED };
enum { ARGS_ERROR_BYTES = 400 };

/* A negative cpu or priority means: the default. */
struct request {
    enum args_command command;
    const struct test *test;
    struct param_value params[TEST_PARAMS];
    bool has_counts;     /* samples or duration was given: then the test's defaults are off */
    uint64_t samples;    /* 0: no limit */
    int64_t duration_ns; /* 0: no limit */
    int64_t deadline_ns; /* 0: from the expected time */
    int cpu;
    enum args_policy policy;
    int priority;
    bool want_counter;
    uint64_t counter_hz;
    uint64_t seed;
    bool until_eof;
    const char *backing;
    const char *path; /* of dump */
    struct load_spec load;
    bool is_load_list, is_load_check;
    const char *called_as; /* argv[0] */
    bool json;             /* default: true unless standard output is a terminal */
    enum args_cpu_config cpu_config;
    bool has_settings;  /* else: those that the configuration means */
    unsigned settings;  /* bits 1 << enum shield_setting */
    bool has_cpus;      /* shield --cpu, --cpus; load --cpus */
    struct cpus cpus;   /* of these */
    bool restore, show; /* of shield, in place of a command */
    bool forget;        /* of shield --restore */
    bool verbose;       /* of shield */
    bool has_policy;    /* of shield: else COMMAND keeps the one that it would have anyway */
    char *const *words; /* of shield: the command, NULL-terminated */
};

/* The word of the contract for a configuration. */
const char *args_cpu_config_name(enum args_cpu_config config);

/* Fills `request` (pointers into argv). 0, or -1 with one line of cause and remedy in
 * `error`. */
int args_parse(int argc, char *const argv[], struct request *request, char *error,
               size_t error_bytes);

/* "10s", "1ms", "250us", "2m", "24h", or a bare number of ns or seconds. 0, or -1 for
 * anything else, for a negative value, and above a year. */
int args_duration(const char *text, int64_t bare_ns, int64_t *ns);

#endif
