/* A test is one const descriptor. The register is a table of them. */
#ifndef HS_TEST_H
#define HS_TEST_H

#include <stdbool.h>
#include <stdint.h>

struct run;

enum {
    TEST_PARAMS = 8,
    TEST_VALUES = 16, /* of a parameter that is a list */
};

/* What a test cannot do without (bits). Everything else degrades, and says so. */
enum test_needs {
    TEST_NEEDS_REALTIME = 1, /* denied without real-time scheduling */
    TEST_NEEDS_TWO_CPUS = 2, /* unsupported on one CPU */
};

enum param_unit { PARAM_NS, PARAM_COUNT, PARAM_BYTES, PARAM_CPU, PARAM_NAME };

/* `default_text` is read like user input. Numbers have min and max (inclusive), names
 * have `choices` (NULL-terminated). A table ends with a NULL name. */
struct param_spec {
    const char *name;
    enum param_unit unit;
    bool is_list;
    const char *default_text;
    int64_t min, max;
    const char *const *choices;
    const char *about;
};

/* Value of a parameter: `count` numbers, or indices into `choices`. */
struct param_value {
    int count;
    int64_t number[TEST_VALUES];
};

/* A series and the two moments between which it is taken. Labels: names with commas.
 * Where nothing is timed `begin` says what a value is and `end` is NULL. */
struct series_spec {
    const char *name;
    const char *unit;
    const char *labels;
    const char *begin;
    const char *end;
};

struct verdict_spec {
    const char *name;
    const char *claim;
};

/* Steps, in the order of the life cycle; each returns 0, or -1 with run->outcome set.
 * NULL: nothing to do.
 *   expected_ns  how long measuring will take; sizes records and the deadline
 *   size         declares series in run->plan
 *   prepare      makes objects; undone by `finish`, which always runs after it
 *   measure      runs on a real-time thread at the run's priority and CPU; ends soon
 *                after run_should_stop
 *   judge        verdicts and derived series, after measuring
 */
struct test {
    const char *id;
    const char *title;
    const char *source;
    const struct param_spec *params;
    const struct series_spec *series;
    const struct verdict_spec *verdicts;
    unsigned needs;
    uint64_t default_samples;
    int64_t default_duration_ns;
    int64_t (*expected_ns)(const struct run *run);
    int (*size)(struct run *run);
    int (*prepare)(struct run *run);
    int (*measure)(struct run *run);
    int (*judge)(struct run *run);
    void (*finish)(struct run *run);
};

/* All tests, NULL-terminated, in the order of the specification. */
extern const struct test *const test_register[];

/* NULL when there is none; letter case does not matter. */
const struct test *test_find(const char *id);

#endif
