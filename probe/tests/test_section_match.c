/* Sections from events that are made up. */
#include "base/posix_source.h"

#include "family/kernel/section_match.h"
#include "tap.h"

enum { MOST = 50 };

static struct {
    int count;
    enum section_kind kinds[MOST];
    struct section sections[MOST];
} seen;

static void take(void *context, enum section_kind kind, const struct section *section)
{
    (void)context;
    if (!CHECK(seen.count < MOST))
        return;
    seen.kinds[seen.count] = kind;
    seen.sections[seen.count++] = *section;
}

static struct section_match begun(void)
{
    memset(&seen, 0, sizeof seen);
    return (struct section_match){.take = take};
}

/* The place of an event is its time, which tells them apart. */
static void event(struct section_match *match, enum section_kind kind, bool is_begin, int64_t at_ns)
{
    section_match_event(match, kind, is_begin, at_ns, (struct section_place){at_ns, at_ns + 1});
}

static void check_section(int index, enum section_kind kind, int64_t begin_ns, int64_t end_ns)
{
    const struct section *section = &seen.sections[index];
    if (!CHECK(index < seen.count))
        return;
    CHECK_SAME(seen.kinds[index], kind);
    CHECK_SAME(section->begin_ns, begin_ns);
    CHECK_SAME(section->length_ns, end_ns - begin_ns);
    CHECK_SAME(section->begin.offset, begin_ns);
    CHECK_SAME(section->begin.caller, begin_ns + 1);
    CHECK_SAME(section->end.offset, end_ns);
    CHECK_SAME(section->end.caller, end_ns + 1);
}

TEST(a_section_is_from_off_to_on)
{
    struct section_match match = begun();
    event(&match, SECTION_PREEMPTION, true, 100);
    event(&match, SECTION_PREEMPTION, false, 350);
    CHECK_SAME(seen.count, 1);
    check_section(0, SECTION_PREEMPTION, 100, 350);
}

/* It began before the first event. */
TEST(half_a_section_is_none)
{
    struct section_match match = begun();
    event(&match, SECTION_INTERRUPTS, false, 100);
    event(&match, SECTION_INTERRUPTS, true, 200);
    CHECK_SAME(seen.count, 0);
    CHECK_SAME(match.unmatched_count, 0);
}

static void know_both(struct section_match *match)
{
    event(match, SECTION_PREEMPTION, false, 1);
    event(match, SECTION_INTERRUPTS, false, 2);
}

TEST(either_spans_both)
{
    struct section_match match = begun();
    know_both(&match);
    event(&match, SECTION_PREEMPTION, true, 100);
    event(&match, SECTION_INTERRUPTS, true, 150);
    event(&match, SECTION_PREEMPTION, false, 200);
    event(&match, SECTION_INTERRUPTS, false, 260);
    CHECK_SAME(seen.count, 3);
    check_section(0, SECTION_PREEMPTION, 100, 200);
    check_section(1, SECTION_INTERRUPTS, 150, 260);
    check_section(2, SECTION_EITHER, 100, 260);
}

TEST(either_of_one_inside_the_other)
{
    struct section_match match = begun();
    know_both(&match);
    event(&match, SECTION_PREEMPTION, true, 100);
    event(&match, SECTION_INTERRUPTS, true, 120);
    event(&match, SECTION_INTERRUPTS, false, 130);
    event(&match, SECTION_PREEMPTION, false, 200);
    CHECK_SAME(seen.count, 3);
    check_section(0, SECTION_INTERRUPTS, 120, 130);
    check_section(1, SECTION_PREEMPTION, 100, 200);
    check_section(2, SECTION_EITHER, 100, 200);
}

/* While interrupts may have been off from before. */
TEST(either_needs_both_to_be_known)
{
    struct section_match match = begun();
    event(&match, SECTION_PREEMPTION, true, 100);
    event(&match, SECTION_PREEMPTION, false, 200);
    event(&match, SECTION_PREEMPTION, true, 300);
    event(&match, SECTION_INTERRUPTS, false, 310); /* off until now: the begin is not known */
    event(&match, SECTION_PREEMPTION, false, 400);
    event(&match, SECTION_PREEMPTION, true, 500);
    event(&match, SECTION_PREEMPTION, false, 600);
    CHECK_SAME(seen.count, 4);
    check_section(0, SECTION_PREEMPTION, 100, 200);
    check_section(1, SECTION_PREEMPTION, 300, 400);
    check_section(2, SECTION_PREEMPTION, 500, 600);
    check_section(3, SECTION_EITHER, 500, 600);
}

TEST(what_was_lost_ends_nothing)
{
    struct section_match match = begun();
    know_both(&match);
    event(&match, SECTION_PREEMPTION, true, 100);
    section_match_lost(&match);
    event(&match, SECTION_PREEMPTION, false, 5000);
    event(&match, SECTION_PREEMPTION, true, 6000);
    event(&match, SECTION_PREEMPTION, false, 6100);
    CHECK_SAME(match.lost_count, 1);
    CHECK_SAME(seen.count, 1);
    check_section(0, SECTION_PREEMPTION, 6000, 6100);
}

TEST(another_window_begins_anew)
{
    struct section_match match = begun();
    know_both(&match);
    event(&match, SECTION_PREEMPTION, true, 100);
    section_match_restart(&match);
    event(&match, SECTION_PREEMPTION, false, 900000);
    CHECK_SAME(seen.count, 0);
    CHECK_SAME(match.lost_count, 0);
}

/* The later begin is the one that the end belongs to. */
TEST(two_begins_are_counted)
{
    struct section_match match = begun();
    event(&match, SECTION_PREEMPTION, true, 100);
    event(&match, SECTION_PREEMPTION, true, 200);
    event(&match, SECTION_PREEMPTION, false, 300);
    event(&match, SECTION_PREEMPTION, false, 400);
    CHECK_SAME(match.unmatched_count, 2);
    CHECK_SAME(seen.count, 1);
    check_section(0, SECTION_PREEMPTION, 200, 300);
}

TEST(handlers_are_no_part_of_either)
{
    struct section_match match = begun();
    know_both(&match);
    event(&match, SECTION_INTERRUPT, true, 100);
    event(&match, SECTION_INTERRUPT, false, 180);
    CHECK_SAME(seen.count, 1);
    check_section(0, SECTION_INTERRUPT, 100, 180);
}
