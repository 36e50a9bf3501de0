/* The real-time profiles of 1003.13-2003: which options each needs, and whether a system has them.
 */
#ifndef HS_FAMILY_POSIX_PROFILES_H
#define HS_FAMILY_POSIX_PROFILES_H

#include "base/posix_source.h"

#include "base/options.h"
#include "family/posix/answer.h"

#include <stdbool.h>

/* The two texts of an answer find room in the data of one event. */
enum {
    PROFILE_COUNT = 4,
    PROFILE_TEXT_BYTES = HS_ARENA_DATA_BYTES > 256 ? HS_ARENA_DATA_BYTES / 2 - 20 : 100,
    PROFILE_NEXT_BYTES = PROFILE_TEXT_BYTES / 2,
};

/* What a profile needs beyond the one before it: keys of option_table.c; the last is NULL. */
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
