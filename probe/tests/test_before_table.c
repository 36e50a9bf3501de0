/* Which task had the CPU before the worst values. */
#include "base/posix_source.h"

#include "record/tables.h"
#include "tap.h"

static struct before_table table;

static void see(int64_t value_ns, int64_t at_ns)
{
    const struct before before = {value_ns, at_ns, at_ns, "hog"};
    before_table_see(&table, &before);
}

static const struct before *find(int64_t value_ns, int64_t at_ns)
{
    const struct record_worst worst = {value_ns, at_ns, 0};
    return before_table_find(&table, 3, &worst);
}

static bool begin(void)
{
    memset(&table, 0, sizeof table);
    table.series = 3;
    return true;
}

#define TABLE_TEST(what) TEST_IN(begin(), (void)0, what)

TABLE_TEST(find)
{
    see(20, 1);
    see(40, 2);
    if (CHECK(find(40, 2) != NULL))
        CHECK_SAME(find(40, 2)->thread, 2);
    CHECK(!find(40, 1) && !find(30, 2));
}

TABLE_TEST(of_another_series)
{
    static const struct record_worst worst = {40, 2, 0};
    struct before_table first = {.next = &table, .series = 1};
    see(40, 2);
    CHECK(before_table_find(&first, 3, &worst) == &table.values[0]);
    CHECK(!before_table_find(&first, 1, &worst));
    CHECK(!before_table_find(NULL, 3, &worst));
}

/* As the record: of equal values those that came first. */
TABLE_TEST(the_worst_stay)
{
    for (int i = 0; i < 3 * RECORD_WORST; i++)
        see(i % 2 ? 1000 + i : 5, i);
    CHECK_SAME(table.count, RECORD_WORST);
    CHECK(find(1000 + 3 * RECORD_WORST - 1, 3 * RECORD_WORST - 1) != NULL);
    CHECK(!find(5, 0) && !find(1001, 1));
    begin();
    for (int i = 0; i <= RECORD_WORST; i++)
        see(7, i);
    CHECK(find(7, 0) != NULL && !find(7, RECORD_WORST));
}
