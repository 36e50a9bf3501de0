/* A test is one const descriptor; the register is a table of descriptors. */
#ifndef HS_RUN_TEST_H
#define HS_RUN_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "record/record.h"

struct run;

enum {
    TEST_PARAMS = 14,
    TEST_VALUES = HS_PARAM_VALUES, /* of a parameter that is a list */
    TEST_SERIES = 8,               /* of one variant */
};

/* Hard requirements of a test (bits). Without anything else it still runs and reports what is
 * missing. */
enum test_needs {
    TEST_NEEDS_REALTIME = 1, /* denied without real-time scheduling */
    TEST_NEEDS_TWO_CPUS = 2, /* unsupported on one CPU */
    /* Subtracts stamps of several CPUs (run->setup.cpu and those that `check` or `declare` adds to
     * run->uses_cpu): the run uses the counter only if the counters of these CPUs agree. */
    TEST_COMPARES_CPUS = 4,
    /* About order, switching, blocking or inversion: all its threads share one CPU, in every CPU
     * configuration. Unsupported where threads cannot be bound and there are several CPUs. */
    TEST_NEEDS_ONE_CPU = 8,
    /* Measures a CPU: the measuring thread is bound to it, where threads can be bound. A test with
     * neither of the two is bound to nothing under `shared`. */
    TEST_NEEDS_A_CPU = 16,
    /* Makes files in the folder of --dir. */
    TEST_NEEDS_FILES = 32,
    /* Its threads change their CPU themselves while it measures: they are not held to be moved. */
    TEST_CHANGES_CPU = 64,
    /* The test's own unnamed semaphores are in what it times: unsupported where they are missing.
     */
    TEST_NEEDS_UNNAMED_SEMAPHORES = 128,
};

enum param_unit { PARAM_NS, PARAM_COUNT, PARAM_BYTES, PARAM_CPU, PARAM_NAME };

/* `default_text` is parsed like user input. Numbers have min and max (inclusive), names have
 * `choices` (NULL-terminated). A table ends with a NULL name.
 *
 * `label`: each value of this parameter is a variant of the test, and its series carry the value
 * under this label. NULL: one value for all variants. */
struct param_spec {
    const char *name;
    enum param_unit unit;
    bool is_list;
    const char *default_text;
    int64_t min, max;
    const char *const *choices;
    const char *about;
    const char *label;
};

/* Value of a parameter: `count` numbers; for names, indices into `choices`. */
struct param_value {
    int count;
    int64_t number[TEST_VALUES];
};

/* A series and the two events between which a value is timed. `labels`: separated by commas, each
 * the label of a parameter, or NAME=TEXT for a constant. If nothing is timed, `begin` says what a
 * value is and `end` is NULL. `derived`: formula, if computed from other series. `shape`: range and
 * resolution, if not the default. `range`: values that are possible, if not the default. Where the
 * two stamps are of different clocks, the test bounds their error and takes a negative value within
 * it for 0. `may_be_empty`: a good system gives no value, or one that lacks the subject. Without a
 * value of any other series the test has measured nothing. */
struct series_spec {
    const char *name;
    const char *unit;
    const char *labels;
    const char *begin;
    const char *end;
    const char *derived;
    struct record_shape shape;
    struct record_range range;
    bool may_be_empty;
};

/* One combination of values of the parameters that have a label. */
struct variant {
    int series;                    /* index of its first series in the result */
    int64_t number[TEST_PARAMS];   /* by parameter: a number, or an index into its choices */
    const char *text[TEST_PARAMS]; /* of the label; NULL: the label is the number */
};

struct verdict_spec {
    const char *name;
    const char *claim;
};

/* clang-format off */
/* Steps of a test, in the order in which the life cycle calls them. Each returns 0, or -1 with
 * run->outcome set; NULL: nothing to do.
 *
 *   step             thread     what it does
 *   check            main       whether the test can run as requested; before memory is allocated
 *   has_variant      main       false: this combination is no variant; may change the label texts
 *   declare          main       adds the series; NULL: each of `series` for each variant
 *   prepare          main       creates objects, before the load works
 *   calibrate        measuring  finds what has to be the same under every load, and notes it
 *                               (arena_calibrated), before the load works; again if the program was
 *                               stopped meanwhile
 *   measure          measuring  measures; ends soon after run_should_stop; NULL: variants_measure
 *   measure_variant  measuring  measures run->variant; called by variants_measure
 *   judge            main       verdicts
 *   finish           main       undoes `prepare`, whatever happened after it began
 *
 * The measuring thread has the run's policy, priority and CPU; calibrate and measure have one each.
 *
 * Times are for plans and deadlines: one value of one variant takes sample_ns, plus sample_percent
 * (0: 100) percent of the parameter sample_param (NULL: none). Each variant takes extra_samples
 * more values. setup_ns is spent once. */
/* clang-format on */
struct test {
    const char *id;
    const char *title;
    const char *source;
    const struct param_spec *params;
    const struct series_spec *series;
    const struct verdict_spec *verdicts;
    unsigned needs;
    bool is_concurrent; /* variants are measured at the same time */
    bool counts_rounds; /* samples is the size of its rounds, and not only a limit: with a length
                         * alone it stays default_samples */
    uint64_t default_samples;
    int64_t default_duration_ns;
    int64_t setup_ns, sample_ns;
    const char *sample_param;
    int sample_percent;
    uint64_t extra_samples;
    int warm_up_samples; /* at the start of a variant and after each rest; they are not recorded */
    int (*check)(struct run *run);
    bool (*has_variant)(const struct run *run, struct variant *variant);
    int (*declare)(struct run *run);
    int (*prepare)(struct run *run);
    int (*calibrate)(struct run *run);
    int (*measure)(struct run *run);
    int (*measure_variant)(struct run *run);
    int (*judge)(struct run *run);
    void (*finish)(struct run *run);
};

/* All tests, NULL-terminated, in the order of the battery. */
extern const struct test *const test_register[];

/* The test with this ID, in any letter case; NULL if there is none. */
const struct test *test_find(const char *id);

#endif
