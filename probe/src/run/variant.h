/* The variants of a test: the combinations of values of the parameters that have a label. The
 * descriptor determines them, their series, their share of the samples, and the expected time.
 *
 * The first parameter varies slowest. */
#ifndef HS_RUN_VARIANT_H
#define HS_RUN_VARIANT_H

#include "run/run.h"

/* Number of variants; 1 for a test without labels. */
int variant_count(const struct run *run);

/* Default `declare` step: adds for each variant its series. 0, or -1 with the outcome. */
int variant_declare(struct run *run);

/* Calls the test's measure_variant for each variant after variant_begin, until a stop is requested.
 * 0, or -1 with the outcome at the first failure. */
int variants_measure(struct run *run);

/* For measure_variant: the system lacks what the current variant needs (event variant_unsupported),
 * and the others are measured. If that leaves no value at all, variants_measure gives the reason as
 * the outcome. 0. */
int variant_lacks(struct run *run, const char *reason);

/* Makes variant `index` (0 to variant_count - 1) the current one, for run->variant and run_record;
 * a series that it does not have has no record. May take some 100 us: not inside timed sections. */
void variant_begin(struct run *run, int index);

/* Index of a parameter in the test's table, which must contain it. */
int variant_place(const struct run *run, const char *param);

/* Value of a parameter in run->variant. */
int64_t variant_number(const struct run *run, const char *param);

/* Text of its label, for messages; NULL if the label is a number. */
const char *variant_text(const struct run *run, const char *param);

/* Writes the label values of run->variant to `text`, such as "sem_open, process". */
void variant_name(const struct run *run, char *text, size_t bytes);

/* Takes values until the variant's share of samples or time is used up, or a stop is requested;
 * calls burst_next every `burst_count` values. `take` measures one value and records it with
 * run_take; the count is that of series `counted`. At the start and after each rest, the test's
 * warm_up_samples values are not recorded. 0, or the first nonzero result of `take`. */
int variant_sample(struct run *run, int counted, int burst_count, int (*take)(struct run *run));

/* The same within `budget`. */
int variant_sample_within(struct run *run, int counted, int burst_count,
                          const struct run_budget *budget, int (*take)(struct run *run));

/* Expected time of the measurement, ns: by samples (a generous estimate) or by duration, whichever
 * ends first, plus setup and extra samples. At most RUN_LONGEST_NS. */
#define RUN_LONGEST_NS (INT64_C(3660) * 86400 * 1000000000)
int64_t variant_expected_ns(const struct run *run);

/* Expected length of the shortest measurement: a value of each variant, after its extra ones. */
int64_t variant_least_ns(const struct run *run);

#endif
