/* The options of POSIX, each with the three means by which it is looked at: what the header says,
 * what sysconf or pathconf says, and what a real call does. */
#ifndef HS_FAMILY_POSIX_OPTION_H
#define HS_FAMILY_POSIX_OPTION_H

#include "base/posix_source.h"

#include "base/options.h"
#include "family/posix/call.h"

#include <stdbool.h>
#include <stdint.h>

struct posix_option {
    const char *part; /* of the standard */
    const char *key;
    const char *header; /* the macro as the preprocessor left it: its value, or its own name */
    int name;           /* of sysconf, or of pathconf; NO_NAME */
    bool is_path;
    posix_call call;
};

/* All options in the order of the parts; the last has no key. */
extern const struct posix_option posix_options[];

/* Whether the call changes its whole process: it is untried where it cannot have one of its own. */
bool posix_call_needs_process(posix_call call);

enum { OPTION_MOST = 80 };
int option_count(void);

/* Place of the option in the table; -1: there is none. */
int option_place(const char *key);

/* ---- what the system says of it ---- */

enum { SAYING_BYTES = 24 };

/* What was said: a number; or none: not defined (headers), -1 (sysconf); or unknown: sysconf has no
 * such name, or gave an error. */
enum saying_kind { SAYING_NUMBER, SAYING_NONE, SAYING_UNKNOWN };

struct saying {
    enum saying_kind kind;
    long number;
};

struct saying option_header(const struct posix_option *option);
struct saying option_sysconf(const struct posix_option *option, const char *folder);

/* A number, "none" or "unknown". Returns `text`. */
const char *saying_text(struct saying saying, char text[SAYING_BYTES]);

/* Whether headers or sysconf promise the option. 0 in a header promises nothing: it is decided at
 * run time. Of pathconf 0 is a value like others. */
bool option_is_claimed(const struct posix_option *option, struct saying header,
                       struct saying sysconf);

/* ---- profiles ---- */

/* The real-time profiles of 1003.13-2003: which options each needs, and whether a system has them.
 */

/* The two texts of an answer find room in the data of one event. */
enum {
    PROFILE_COUNT = 4,
    PROFILE_TEXT_BYTES = HS_ARENA_DATA_BYTES > 256 ? HS_ARENA_DATA_BYTES / 2 - 20 : 100,
    PROFILE_NEXT_BYTES = PROFILE_TEXT_BYTES / 2,
};

/* What a profile needs beyond the one before it: keys of options; the last is NULL. */
struct posix_profile {
    const char *name;
    const char *const *adds;
};

extern const struct posix_profile posix_profiles[PROFILE_COUNT];

struct profile_answer {
    bool is_satisfied; /* all that it and those before it need works */
    int missing_count, denied_count;
    int next_missing_count;           /* of those that it adds */
    char missing[PROFILE_TEXT_BYTES]; /* keys with commas; as many as fit, then "..." */
    char next_missing[PROFILE_NEXT_BYTES];
};

/* `answers` of all options, in the order of posix_options. What works only partly is missing; what
 * was denied or not tried too, and is counted: another user may get another answer. */
struct profile_answer profile_decide(int profile, const struct answer *answers);

#endif
