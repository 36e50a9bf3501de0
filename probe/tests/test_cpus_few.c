/* Sets of CPUs in a build for few CPUs. Builds cpus.c anew. */
#undef HS_CPUS
#define HS_CPUS 5
#include "base/cpus.c"

#include "tap.h"

TEST(what_has_room)
{
    struct cpus set;
    char text[CPUS_TEXT_BYTES];
    CHECK_SAME(cpus_parse_list("0-4", &set), 0);
    CHECK_SAME(cpus_count(&set), 5);
    cpus_format_list(&set, text, sizeof text);
    CHECK_TEXT(text, "0-4");
    cpus_format_mask(&set, text, sizeof text);
    CHECK_TEXT(text, "1f");
    CHECK_SAME(cpus_parse_mask("1f", &set), 0);
    CHECK_SAME(cpus_last(&set), 4);
}

TEST(what_has_none)
{
    struct cpus set;
    CHECK_SAME(cpus_parse_list("5", &set), -1);
    CHECK_SAME(cpus_parse_list("0-5", &set), -1);
    CHECK_SAME(cpus_parse_mask("20", &set), -1);
    CHECK_SAME(cpus_parse_mask("1,00000001", &set), -1);
    cpus_clear(&set);
    cpus_add(&set, 5);
    CHECK_SAME(cpus_count(&set), 0);
}
