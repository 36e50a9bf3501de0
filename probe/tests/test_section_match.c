/* Sections from events that are made up. */
#include "base/posix_source.h"

#include "family/kernel/section_match.h"
#include "tap.h"

/* What was taken: the letter of its kind, the times of begin and end. */
static char seen[256];

/* The place of an event is its time, which tells them apart. */
static struct section_place place_of(int64_t at_ns)
{
    return (struct section_place){at_ns, at_ns + 1};
}

static void take(void *context, enum section_kind kind, const struct section *section)
{
    static const char letters[SECTION_KINDS] = {[SECTION_PREEMPTION] = 'p',
                                                [SECTION_INTERRUPTS] = 'i',
                                                [SECTION_EITHER] = 'e',
                                                [SECTION_INTERRUPT] = 'h'};
    int64_t begin_ns = section->begin_ns, end_ns = begin_ns + section->length_ns;
    struct section_place begin = place_of(begin_ns), end = place_of(end_ns);
    (void)context;
    CHECK(memcmp(&section->begin, &begin, sizeof begin) == 0);
    CHECK(memcmp(&section->end, &end, sizeof end) == 0);
    size_t used = strlen(seen);
    snprintf(seen + used, sizeof seen - used, "%c%lld-%lld ", letters[kind], (long long)begin_ns,
             (long long)end_ns);
}

/* "p" and "P": preemption off and on, "i" and "I": interrupts, "h" and "H": a handler begins and
 * ends, each with its time; "L": something was lost; "W": another window begins. */
static struct section_match match_of(const char *events)
{
    static const char letters[] = "pPiIhH";
    static const enum section_kind kinds[] = {SECTION_PREEMPTION, SECTION_INTERRUPTS,
                                              SECTION_INTERRUPT};
    struct section_match match = {.take = take};
    seen[0] = '\0';
    for (char *next; *events; events = next + strspn(next, " ")) {
        const char *letter = strchr(letters, *events);
        int64_t at_ns = strtoll(events + 1, &next, 10);
        if (letter)
            section_match_event(&match, kinds[(letter - letters) / 2], (letter - letters) % 2 == 0,
                                at_ns, place_of(at_ns));
        else if (*events == 'L')
            section_match_lost(&match);
        else
            section_match_restart(&match);
    }
    return match;
}

#define BOTH_KNOWN "P1 I2 "

static const struct {
    const char *name, *events, *seen;
    uint32_t unmatched, lost;
} rows[] = {
    {"from off to on", "p100 P350", "p100-350 ", 0, 0},
    {"half a section, begun before the first event", "I100 i200", "", 0, 0},
    {"either spans both", BOTH_KNOWN "p100 i150 P200 I260", "p100-200 i150-260 e100-260 ", 0, 0},
    {"one in the other", BOTH_KNOWN "p100 i120 I130 P200", "i120-130 p100-200 e100-200 ", 0, 0},
    /* until 310 interrupts may have been off from before */
    {"either needs both to be known", "p100 P200 p300 I310 P400 p500 P600",
     "p100-200 p300-400 p500-600 e500-600 ", 0, 0},
    {"what was lost ends nothing", BOTH_KNOWN "p100 L P5000 p6000 P6100", "p6000-6100 ", 0, 1},
    {"another window begins anew", BOTH_KNOWN "p100 W P900000", "", 0, 0},
    /* the later begin is the one that the end belongs to */
    {"two begins", "p100 p200 P300 P400", "p200-300 ", 2, 0},
    {"a handler is no part of either", BOTH_KNOWN "h100 H180", "h100-180 ", 0, 0},
};

TEST(sections)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_row(rows[i].name);
        struct section_match match = match_of(rows[i].events);
        CHECK_TEXT(seen, rows[i].seen);
        CHECK_SAME(match.unmatched_count, rows[i].unmatched);
        CHECK_SAME(match.lost_count, rows[i].lost);
    }
}
