/* The commands of the probe, one file each. */
#ifndef HS_COMMAND_COMMANDS_H
#define HS_COMMAND_COMMANDS_H

#include "base/posix_source.h"

#include "base/clock.h"
#include "base/console.h"
#include "base/emit.h"
#include "command/args.h"
#include "family/simulate/tire_checks.h"
#include "record/arena.h"

#include <stdbool.h>

/* ---- list: the register of tests ---- */

/* Tests of the register, from 0. */
struct register_part {
    bool is_part; /* false: all */
    int64_t from, count;
};

/* Writes hardstone.register/1 as one line of JSON; of a part with the number of all tests. */
void register_json(struct emit *emit, const struct register_part *part);

/* Writes one line per test, and one per parameter below it. */
void register_text(struct emit *emit, const struct register_part *part);

/* ---- console: one of the other commands, whose output travels as frames (base/console.h) ----
 *
 * PROGRAM console TOKEN CRC COMMAND...: CRC is that of "TOKEN COMMAND...", with single spaces, so
 * that a line that was cut or damaged runs as no other one. Each check returns 0, or -1 with cause
 * and remedy in one line. */

enum { CONSOLE_WORDS = 4 };

/* Whether there are a token and a checksum: else nobody knows whom to answer. */
int console_check_form(int argc, char *const argv[], char *error, size_t error_bytes);
/* Whether the checksum is that of the words. */
int console_check_sum(int argc, char *const argv[], char *error, size_t error_bytes);
/* Whether the command, whose name is `word`, is one for a console. */
int console_check_command(const struct request *request, const char *word, char *error,
                          size_t error_bytes);

/* ---- facts: this machine, and the instrument (run/instrument.h) on it ---- */

/* Calibrates the clock for 1 s, measures the skew between CPUs, and writes one hardstone.facts/1
 * document, or a list for people. Writes nothing if there is no memory. */
void facts_send(struct emit *emit, bool want_counter, bool is_json);

/* ---- load: load without a test ---- */

/* Runs, lists or checks loads. Returns the exit code: 0 on success; 2 if the requested CPUs cannot
 * be used; 5 if the load cannot be started (an unsupported element, a limit); 70 if output failed.
 */
int load_command(const struct request *request, struct emit *emit);

/* ---- shield: runs a command on reserved CPUs, shows what is reserved, or restores what a killed
 * shield left ---- */

enum {
    SHIELD_EXIT_USAGE = 2,     /* wrong input, or the CPUs are already reserved */
    SHIELD_EXIT_PRIVILEGE = 5, /* privilege missing, or not supported */
    SHIELD_EXIT_INTERNAL = 70,
    SHIELD_EXIT_CANNOT_RUN = 126, /* COMMAND exists; as env, nice, timeout */
    SHIELD_EXIT_NOT_FOUND = 127,
};

/* Returns the exit code: that of COMMAND (128 + signal if a signal ended it), or one of the above
 * if COMMAND was not started; 70 also if COMMAND returned 0 but not everything could be restored.
 */
int shield_command(const struct request *request, struct emit *emit);

/* `hardstone-probe selftest`: what the probe computes, checked against another way to the same
 * result. No check depends on a time, a load or the machine's clock: one that fails means that this
 * build computes wrongly on this processor. */

/* What is checked: the probe's own code. A test puts broken code in its place. */
struct selftest_subject {
    int64_t (*ns_of_ticks)(const struct clock *clock, uint64_t ticks); /* clock_ns */
    void (*record)(struct record *record, int64_t value, int64_t at_ns);
    int64_t (*quantile)(const struct record *record, double q);
    double (*mean)(const struct record *record);
    double (*stddev)(const struct record *record);
    void (*recover)(struct arena *arena); /* arena_recover */
    tire_advancer *advance;
};

extern const struct selftest_subject selftest_own;

enum selftest_place {
    SELFTEST_CLOCK_CONVERSION,
    SELFTEST_CLOCK_ORDER,
    SELFTEST_RECORD_COUNTS,
    SELFTEST_RECORD_MOMENTS,
    SELFTEST_RECORD_QUANTILES,
    SELFTEST_ARENA_RECOVERY,
    SELFTEST_TIRE_REST,
    SELFTEST_TIRE_FREE_FALL,
    SELFTEST_TIRE_ENERGY,
    SELFTEST_TIRE_SYMMETRY,
    SELFTEST_TIRE_MOMENTUM,
    SELFTEST_TIRE_SAME_BITS,
    SELFTEST_CHECKS,
};

/* Carries out all checks. One for which there is no memory is left out: it passes, and says so. */
void selftest_check(const struct selftest_subject *subject, struct finding found[SELFTEST_CHECKS]);

/* Sends hardstone.selftest/1, one line a check, or the same for people. The probe's exit code:
 * EXIT_FINE if all checks passed. */
int selftest_send(struct emit *emit, bool is_json, const struct selftest_subject *subject);

#endif
