/* Which rounds of the inversion tests count, and which are repeated. */
#include "family/mutex/inversion.h"
#include "tap.h"

/* Ends of rounds: "g" good, "b" bad, "w" by the watchdog, "p" out of patience, "d" disturbed, "n"
 * not waited. Of each the answer, "c" counts, "a" again, "u" undecided, and the scale after it. */
static const char ends[] = "gbwpdn", answers[] = "cau";

static const struct {
    const char *name, *ends, *answers;
} rows[] = {
    {"an order counts at once", "gb", "c1c1"},
    {"ended by the watchdog once in each round", "wgwgwg", "a2c1a2c1a2c1"},
    {"out of patience once in each round", "pgpgpg", "a2c1a2c1a2c1"},
    {"ended by the watchdog each time", "www", "a2a4c1"},
    {"out of patience each time", "ppp", "a2a4c1"},
    {"late in two ways", "wpw", "a2a4u1"},
    {"another order after a late round", "wb", "a2c1"},
};

TEST(rounds)
{
    foreach (row, rows, row->name) {
        struct inversion_repeats repeats = {0};
        char got[20] = "";
        for (const char *end = row->ends; *end; end++) {
            char *answer = got + strlen(got);
            *answer = answers[inversion_answer(&repeats,
                                               (enum inversion_end)(strchr(ends, *end) - ends))];
            answer[1] = (char)('0' + inversion_scale(&repeats));
        }
        CHECK_TEXT(got, row->answers);
    }
}

/* However long the claim is: the CPU that is always taken ends it, without a count. */
TEST(disturbed)
{
    struct inversion_repeats repeats = {0};
    for (int i = 0; i < INVERSION_DISTURBED; i++) {
        CHECK_SAME(inversion_answer(&repeats, INVERSION_DISTURBED_BAD), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 1);
        CHECK_SAME(inversion_answer(&repeats, INVERSION_GOOD), INVERSION_COUNTS);
    }
    CHECK_SAME(inversion_answer(&repeats, INVERSION_DISTURBED_BAD), INVERSION_UNDECIDED);
}

TEST(high_does_not_wait)
{
    struct inversion_repeats repeats = {0};
    for (int i = 0; i < INVERSION_NOT_WAITED_MOST; i++) {
        CHECK_SAME(inversion_answer(&repeats, INVERSION_NOT_WAITED), INVERSION_AGAIN);
        CHECK_SAME(inversion_scale(&repeats), 1);
    }
    CHECK_SAME(inversion_answer(&repeats, INVERSION_NOT_WAITED), INVERSION_UNDECIDED);
}
