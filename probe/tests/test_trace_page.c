/* Pages of the trace ring: one of a kernel against the text that the kernel made of the same
 * events, made-up ones, and damaged ones, which end at memory that cannot be read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/posix_source.h"

#include "port/linux/trace_format.h"
#include "port/linux/trace_page.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, TEXT = 32768, EVENTS = 256, ROUNDS = 200000, HEADER = 16 };

static char format[TEXT], text[TEXT];
static struct trace_layout layout;
static uint8_t sample[PAGE];
static size_t sample_bytes;

static size_t read_sample(const char *name, void *bytes, size_t most)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SAMPLES, name);
    FILE *file = fopen(path, "r");
    size_t got = file ? fread(bytes, 1, most, file) : 0;
    CHECK(got > 0);
    if (file)
        fclose(file);
    return got;
}

static void read_all(void)
{
    char header[TEXT];
    header[read_sample("header_page.txt", header, TEXT - 1)] = '\0';
    format[read_sample("timerlat_format.txt", format, TEXT - 1)] = '\0';
    text[read_sample("timerlat_page.txt", text, TEXT - 1)] = '\0';
    sample_bytes = read_sample("timerlat_page.bin", sample, PAGE);
    CHECK(trace_layout_parse(header, &layout));
}

TEST(layout)
{
    read_all();
    CHECK_SAME((int64_t)layout.data_at, HEADER);
    CHECK_SAME((int64_t)layout.page_bytes, PAGE);
    CHECK_SAME((int64_t)layout.commit_bytes, 8);
    struct trace_layout none;
    CHECK(!trace_layout_parse("", &none));
    CHECK(!trace_layout_parse("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n", &none));
    /* data before the header's end, and a page beyond any kernel's */
    CHECK(!trace_layout_parse("field: u64 timestamp;\toffset:0;\tsize:8;\n"
                              "field: local_t commit;\toffset:8;\tsize:8;\n"
                              "field: char data;\toffset:4;\tsize:80;\n",
                              &none));
    CHECK(!trace_layout_parse("field: u64 timestamp;\toffset:0;\tsize:8;\n"
                              "field: local_t commit;\toffset:8;\tsize:8;\n"
                              "field: char data;\toffset:16;\tsize:1048576;\n",
                              &none));
}

struct line {
    long long us, sequence, latency_ns;
    char context[16];
};

/* "... [001] d.h1.    25.931062: #1     context    irq timer_latency     85139 ns" */
static int lines_of(struct line lines[EVENTS])
{
    int count = 0;
    for (char *at = text; at && *at && count < EVENTS; at = strchr(at, '\n')) {
        at += *at == '\n';
        long long s, us;
        char *mark = strchr(at, '#'), *end = strchr(at, '\n');
        if (*at == '#' || !mark || !end || mark > end)
            continue;
        char *stamp = mark - 2;
        while (stamp > at && stamp[-1] != ' ')
            stamp--;
        struct line *line = &lines[count];
        if (sscanf(stamp, "%lld.%lld:", &s, &us) == 2 &&
            sscanf(mark, "#%lld context %15s timer_latency %lld", &line->sequence, line->context,
                   &line->latency_ns) == 3) {
            line->us = s * 1000000 + us;
            count++;
        }
    }
    return count;
}

static int64_t field(const struct trace_entry *entry, const char *name)
{
    struct trace_field place;
    int64_t number = -1;
    CHECK(trace_format_field(format, name, &place));
    CHECK(trace_field_number(&place, entry->data, entry->bytes, &number));
    return number;
}

/* The page has more events than the text, which was read first. */
TEST(page_and_text)
{
    static const char *const contexts[] = {"irq", "thread", "user-ret"};
    struct line lines[EVENTS];
    struct trace_page page;
    struct trace_entry entry;
    unsigned id = 0;
    read_all();
    int count = lines_of(lines), seen = 0;
    CHECK(count > 50);
    CHECK(trace_format_id(format, &id));
    CHECK(trace_page_open(&page, &layout, sample, sample_bytes));
    while (seen < count && trace_page_next(&page, &entry)) {
        CHECK_SAME(field(&entry, "common_type"), (int64_t)id);
        CHECK_SAME(field(&entry, "seqnum"), lines[seen].sequence);
        CHECK_SAME(field(&entry, "timer_latency"), lines[seen].latency_ns);
        CHECK_TEXT(contexts[field(&entry, "context") % 3], lines[seen].context);
        CHECK_SAME((entry.at_ns + 500) / 1000, lines[seen].us);
        seen++;
    }
    CHECK_SAME(seen, count);
    CHECK(!page.is_damaged);
    CHECK(!page.has_lost);
}

/* ---- made-up pages ---- */

struct made {
    uint8_t bytes[PAGE];
    size_t used;
};

static void word(struct made *made, uint32_t value)
{
    memcpy(made->bytes + made->used, &value, sizeof value);
    made->used += sizeof value;
}

static void head(struct made *made, unsigned type, uint32_t delta)
{
    word(made, delta << 5 | type);
}

static void event(struct made *made, uint32_t delta, uint32_t value)
{
    head(made, 1, delta);
    word(made, value);
}

static void begin(struct made *made, uint64_t time_ns)
{
    memset(made, 0, sizeof *made);
    memcpy(made->bytes, &time_ns, sizeof time_ns);
    made->used = HEADER;
}

static void finish(struct made *made, uint64_t flags)
{
    uint64_t commit = (made->used - HEADER) | flags;
    memcpy(made->bytes + 8, &commit, sizeof commit);
}

static void open_made(struct trace_page *page, const struct made *made)
{
    CHECK(trace_page_open(page, &layout, made->bytes, PAGE));
}

TEST(times)
{
    struct made made;
    struct trace_page page;
    struct trace_entry entry;
    read_all();
    begin(&made, 1000);
    event(&made, 5, 77);
    head(&made, 30, 3); /* 2 * 2^27 + 3 later */
    word(&made, 2);
    event(&made, 1, 78);
    head(&made, 29, 10); /* discarded: its time counts */
    word(&made, 8);
    word(&made, 0);
    event(&made, 0, 79);
    head(&made, 31, 9); /* an absolute time */
    word(&made, 100);
    head(&made, 0, 4); /* a length of its own: 8 bytes of data */
    word(&made, 12);
    word(&made, 80);
    word(&made, 81);
    finish(&made, 0);
    open_made(&page, &made);
    CHECK(trace_page_next(&page, &entry));
    CHECK_SAME(entry.at_ns, 1005);
    CHECK_SAME((int64_t)entry.bytes, 4);
    CHECK(trace_page_next(&page, &entry));
    CHECK_SAME(entry.at_ns, 1005 + (INT64_C(2) << 27) + 3 + 1);
    CHECK(trace_page_next(&page, &entry));
    CHECK_SAME(entry.at_ns, 1005 + (INT64_C(2) << 27) + 14);
    CHECK(trace_page_next(&page, &entry));
    CHECK_SAME(entry.at_ns, (INT64_C(100) << 27) + 9 + 4);
    CHECK_SAME((int64_t)entry.bytes, 8);
    CHECK(!trace_page_next(&page, &entry));
    CHECK(!page.is_damaged);
}

/* An absolute stamp has no bits above the 59th: those of the page's time stay. */
TEST(upper_bits_of_a_stamp)
{
    const uint64_t upper = UINT64_C(3) << 59;
    struct made made;
    struct trace_page page;
    struct trace_entry entry;
    read_all();
    begin(&made, upper + 1000);
    head(&made, 31, 9);
    word(&made, UINT32_MAX);
    event(&made, 4, 77);
    finish(&made, 0);
    open_made(&page, &made);
    CHECK(trace_page_next(&page, &entry));
    CHECK_SAME(entry.at_ns, upper + ((uint64_t)UINT32_MAX << 27) + 9 + 4);
}

TEST(lost)
{
    struct made made;
    struct trace_page page;
    uint64_t count = 4711;
    read_all();
    begin(&made, 1);
    event(&made, 1, 1);
    finish(&made, UINT64_C(3) << 30);
    memcpy(made.bytes + made.used, &count, sizeof count);
    open_made(&page, &made);
    CHECK(page.has_lost);
    CHECK_SAME((int64_t)page.lost_count, 4711);
    finish(&made, UINT64_C(1) << 31);
    open_made(&page, &made);
    CHECK(page.has_lost);
    CHECK_SAME((int64_t)page.lost_count, 0);
}

static void expect_damage(const struct made *made, int events_before)
{
    struct trace_page page;
    struct trace_entry entry;
    int seen = 0;
    open_made(&page, made);
    while (trace_page_next(&page, &entry))
        seen++;
    CHECK(page.is_damaged);
    CHECK_SAME(seen, events_before);
    CHECK(!trace_page_next(&page, &entry));
}

TEST(damaged)
{
    struct made made;
    struct trace_page page;
    read_all();
    begin(&made, 1);
    event(&made, 1, 1);
    head(&made, 28, 1); /* longer than what is left */
    finish(&made, 0);
    expect_damage(&made, 1);
    begin(&made, 1);
    head(&made, 0, 1); /* a length that does not even hold itself */
    word(&made, 3);
    finish(&made, 0);
    expect_damage(&made, 0);
    begin(&made, 1);
    head(&made, 0, 1);
    word(&made, UINT32_MAX);
    finish(&made, 0);
    expect_damage(&made, 0);
    begin(&made, 1);
    head(&made, 29, 1); /* discarded, without a length that moves on */
    word(&made, 0);
    finish(&made, 0);
    expect_damage(&made, 0);
    begin(&made, 1);
    head(&made, 30, 1); /* cut short */
    finish(&made, 0);
    expect_damage(&made, 0);
    begin(&made, 1);
    event(&made, 1, 1);
    made.used = PAGE; /* more than was read */
    finish(&made, 0);
    CHECK(trace_page_open(&page, &layout, made.bytes, PAGE - 8));
    CHECK(page.is_damaged);
    CHECK(!trace_page_open(&page, &layout, made.bytes, HEADER - 1));
}

/* Whatever is in a page, nothing outside it is read, and reading ends. */
TEST(any_bytes)
{
    uint8_t *memory =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(memory != MAP_FAILED))
        return;
    CHECK(mprotect(memory + PAGE, PAGE, PROT_NONE) == 0);
    read_all();
    unsigned seed = 14;
    int64_t most = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct trace_page page;
        struct trace_entry entry;
        size_t bytes = (size_t)(rand_r(&seed) % 256) + (i % 4 == 0 ? 0 : HEADER);
        uint8_t *at = memory + PAGE - bytes;
        memcpy(at, sample, bytes);
        uint64_t commit = bytes > HEADER ? bytes - HEADER : 0;
        if (bytes >= HEADER && i % 3)
            memcpy(at + 8, &commit, sizeof commit);
        for (int j = 0; bytes > 0 && j < 1 + i % 5; j++)
            at[(size_t)rand_r(&seed) % bytes] = (uint8_t)rand_r(&seed);
        if (!trace_page_open(&page, &layout, at, bytes))
            continue;
        int64_t seen = 0;
        unsigned sum = 0;
        while (trace_page_next(&page, &entry)) {
            for (size_t j = 0; j < entry.bytes; j++)
                sum += entry.data[j];
            seen += 1 + (sum == UINT32_MAX);
        }
        most = seen > most ? seen : most;
    }
    CHECK(most > 5 && most < 256 / 4);
    munmap(memory, 2 * PAGE);
}

TEST(formats)
{
    static const char of_switch[] =
        "name: sched_switch\nID: 318\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
        "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
        "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
        "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";
    const uint8_t bytes[8] = {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0};
    struct trace_field place;
    int64_t number;
    unsigned id;
    CHECK(trace_format_id(of_switch, &id) && id == 318);
    CHECK(!trace_format_id("name: x\n", &id));
    CHECK(trace_format_field(of_switch, "prev_comm", &place));
    CHECK_SAME((int64_t)place.offset, 8);
    CHECK_SAME((int64_t)place.bytes, 16);
    CHECK(trace_format_field(of_switch, "next_pid", &place));
    CHECK_SAME((int64_t)place.offset, 56);
    CHECK(place.is_signed);
    CHECK(!trace_format_field(of_switch, "pid", &place)); /* only whole names */
    CHECK(!trace_format_field(of_switch, "prev_prio", &place));
    place = (struct trace_field){0, 4, true};
    CHECK(trace_field_number(&place, bytes, sizeof bytes, &number) && number == -1);
    place.is_signed = false;
    CHECK(trace_field_number(&place, bytes, sizeof bytes, &number) && number == UINT32_MAX);
    place = (struct trace_field){6, 4, false};
    CHECK(!trace_field_number(&place, bytes, sizeof bytes, &number));
    place = (struct trace_field){0, 3, false};
    CHECK(!trace_field_number(&place, bytes, sizeof bytes, &number));
}
