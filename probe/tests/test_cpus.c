/* Sets of CPUs: parsing, formatting, and what is refused. */
#include "base/posix_source.h"

#include "base/cpus.h"
#include "tap.h"

TEST(there_and_back)
{
    static const char *const lists[] = {"", "0", "8191", "0-1", "0,2,4-7", "0-8191", "63-64"};
    static const char *const masks[] = {
        "0", "1", "3", "80000000", "1,00000000", "ffffffff,ffffffff", "80000000,00000000,00000001"};
    struct cpus set;
    char text[CPUS_TEXT_BYTES];
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        CHECK_SAME(cpus_parse_list(lists[i], &set), 0);
        cpus_format_list(&set, text, sizeof text);
        CHECK_TEXT(text, lists[i]);
    }
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        CHECK_SAME(cpus_parse_mask(masks[i], &set), 0);
        cpus_format_mask(&set, text, sizeof text);
        CHECK_TEXT(text, masks[i]);
    }
}

/* Kernels built for more CPUs write more groups of zeros. */
TEST(a_mask_with_many_zeros)
{
    struct cpus set;
    char text[4096] = "";
    for (int i = 0; i < 300; i++)
        strcat(text, "00000000,");
    strcat(text, "00000003");
    CHECK_SAME(cpus_parse_mask(text, &set), 0);
    CHECK_SAME(cpus_count(&set), 2);
    text[0] = '1';
    CHECK_SAME(cpus_parse_mask(text, &set), -1);
}

TEST(what_is_neither)
{
    static const char *const no_lists[] = {"8192",   "-1",  "1-",  "1-0", "1,",
                                           ",1",     "a",   "1 2", "0x1", "1--2",
                                           "1-2-3",  " 1",  "1\n", "+1",  "99999999999999999999",
                                           "0-8192", "1,,2"};
    static const char *const no_masks[] = {"",          "g",   "1,",   ",1", "0x1",
                                           "123456789", "1-2", "1,,1", " 1"};
    struct cpus set;
    foreach (row, no_lists, *row) {
        CHECK_SAME(cpus_parse_list(*row, &set), -1);
    }
    foreach (one, no_masks, *one) {
        CHECK_SAME(cpus_parse_mask(*one, &set), -1);
    }
}

TEST(nothing_is_ever_left_empty)
{
    struct cpus all, reserved, others, kept;
    char text[CPUS_TEXT_BYTES];
    cpus_parse_list("0-3", &all);
    cpus_parse_list("3", &reserved);
    others = cpus_without(&all, &reserved);
    kept = cpus_kept_off(&all, &reserved, &others);
    cpus_format_list(&kept, text, sizeof text);
    CHECK_TEXT(text, "0-2");
    kept = cpus_kept_off(&reserved, &reserved, &others);
    CHECK(cpus_same(&kept, &others));
    CHECK(cpus_overlap(&all, &reserved));
    CHECK(!cpus_overlap(&others, &reserved));
    kept = cpus_union(&others, &reserved);
    CHECK(cpus_same(&kept, &all));
    CHECK_SAME(cpus_first(&reserved), 3);
    CHECK(!cpus_has(&all, -1) && !cpus_has(&all, PORT_CPUS));
}

TEST(one_after_another)
{
    struct cpus set;
    cpus_parse_list("0,63-64,8191", &set);
    static const int in_order[] = {0, 63, 64, 8191, -1};
    int cpu = cpus_first(&set);
    for (size_t i = 0; i < sizeof in_order / sizeof in_order[0]; i++) {
        CHECK_SAME(cpu, in_order[i]);
        cpu = cpus_next(&set, cpu);
    }
    CHECK_SAME(cpus_last(&set), 8191);
    cpus_remove(&set, 8191);
    cpus_remove(&set, 5);
    cpus_remove(&set, -1);
    cpus_remove(&set, PORT_CPUS);
    CHECK_SAME(cpus_last(&set), 64);
    CHECK_SAME(cpus_count(&set), 3);
    cpus_clear(&set);
    CHECK_SAME(cpus_first(&set), -1);
    CHECK_SAME(cpus_last(&set), -1);
}

/* A text that has no room is cut, not overrun. */
TEST(a_short_buffer)
{
    struct cpus set;
    char text[8];
    cpus_parse_list("0,2,4,6,8,10,12", &set);
    cpus_format_list(&set, text, sizeof text);
    CHECK(strlen(text) < sizeof text);
    cpus_format_mask(&set, text, 2);
    CHECK(strlen(text) < 2);
}
