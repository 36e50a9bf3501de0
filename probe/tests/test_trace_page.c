/* Pages of the trace ring: one of a kernel against the text that the kernel made of the same
 * events, made-up ones, and damaged ones, which end at memory that cannot be read. */
#include "base/posix_source.h"

#include "port/linux/trace_page.h"
#include "tap.h"

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

#define TIMESTAMP "field: u64 timestamp;\toffset:0;\tsize:8;\n"
#define COMMIT "field: local_t commit;\toffset:8;\tsize:8;\n"

TEST(layout)
{
    struct trace_layout none;
    read_all();
    CHECK_SAME(layout.data_at, HEADER);
    CHECK_SAME(layout.page_bytes, PAGE);
    CHECK_SAME(layout.commit_bytes, 8);
    CHECK(!trace_layout_parse("", &none));
    CHECK(!trace_layout_parse("\t" TIMESTAMP, &none));
    /* data before the header's end, and a page beyond any kernel's */
    CHECK(!trace_layout_parse(TIMESTAMP COMMIT "field: char data;\toffset:4;\tsize:80;\n", &none));
    CHECK(!trace_layout_parse(TIMESTAMP COMMIT "field: char data;\toffset:16;\tsize:1048576;\n",
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

#define HEAD(type, delta) ((delta) << 5 | (type))

/* A page that begins at `time_ns`, of so many words. */
static void make(uint8_t bytes[PAGE], uint64_t time_ns, const uint32_t *words, size_t word_count)
{
    uint64_t commit = word_count * sizeof *words;
    memset(bytes, 0, PAGE);
    memcpy(bytes, &time_ns, sizeof time_ns);
    memcpy(bytes + 8, &commit, sizeof commit);
    memcpy(bytes + HEADER, words, word_count * sizeof *words);
}

/* An absolute stamp has no bits above the 59th: those of the page's time stay. */
#define UPPER (UINT64_C(3) << 59)

TEST(made_up_pages)
{
    static const struct {
        const char *name;
        uint64_t time_ns;
        size_t word_count;
        uint32_t words[17];
        bool is_damaged;
        int event_count;
        struct {
            uint64_t at_ns;
            size_t bytes;
        } events[4];
    } rows[] = {
        {"times",
         1000,
         17,
         {HEAD(1, 5), 77, HEAD(30, 3), 2, HEAD(1, 1), 78, /* 2 * 2^27 + 3 later */
          HEAD(29, 10), 8, 0, HEAD(1, 0), 79,             /* discarded: its time counts */
          HEAD(31, 9), 100, HEAD(0, 4), 12, 80, 81},      /* absolute; a length of its own */
         false,
         4,
         {{1005, 4},
          {1005 + (UINT64_C(2) << 27) + 3 + 1, 4},
          {1005 + (UINT64_C(2) << 27) + 14, 4},
          {(UINT64_C(100) << 27) + 9 + 4, 8}}},
        {"upper bits of a stamp",
         UPPER + 1000,
         4,
         {HEAD(31, 9), UINT32_MAX, HEAD(1, 4), 77},
         false,
         1,
         {{UPPER + ((uint64_t)UINT32_MAX << 27) + 9 + 4, 4}}},
        {"longer than what is left", 1, 3, {HEAD(1, 1), 1, HEAD(28, 1)}, true, 1, {{2, 4}}},
        {"a length that does not hold itself", 1, 2, {HEAD(0, 1), 3}, true, 0, {{0}}},
        {"the longest length", 1, 2, {HEAD(0, 1), UINT32_MAX}, true, 0, {{0}}},
        {"discarded, and no length that moves on", 1, 4, {HEAD(29, 1), 0, 8, 5}, true, 0, {{0}}},
        {"a time that is cut short", 1, 1, {HEAD(30, 1)}, true, 0, {{0}}},
    };
    read_all();
    foreach (row, rows, row->name) {
        uint8_t bytes[PAGE];
        struct trace_page page;
        struct trace_entry entry;
        make(bytes, row->time_ns, row->words, row->word_count);
        CHECK(trace_page_open(&page, &layout, bytes, PAGE));
        for (int j = 0; j < row->event_count && CHECK(trace_page_next(&page, &entry)); j++) {
            CHECK_SAME(entry.at_ns, row->events[j].at_ns);
            CHECK_SAME(entry.bytes, row->events[j].bytes);
        }
        CHECK(!trace_page_next(&page, &entry));
        CHECK(page.is_damaged == row->is_damaged);
        CHECK(!trace_page_next(&page, &entry));
    }
}

TEST(lost)
{
    static const uint32_t words[] = {HEAD(1, 1), 1, 4711, 0}; /* behind the event: how many */
    uint8_t bytes[PAGE];
    struct trace_page page;
    read_all();
    for (int has_count = 0; has_count < 2; has_count++) {
        make(bytes, 1, words, 4);
        uint64_t commit = 8 | (has_count ? UINT64_C(3) << 30 : UINT64_C(1) << 31);
        memcpy(bytes + 8, &commit, sizeof commit);
        CHECK(trace_page_open(&page, &layout, bytes, PAGE));
        CHECK(page.has_lost);
        CHECK_SAME(page.lost_count, has_count ? 4711 : 0);
    }
}

TEST(more_than_was_read)
{
    static const uint32_t words[(PAGE - HEADER) / 4] = {HEAD(1, 1), 1};
    uint8_t bytes[PAGE];
    struct trace_page page;
    read_all();
    make(bytes, 1, words, sizeof words / sizeof words[0]);
    CHECK(trace_page_open(&page, &layout, bytes, PAGE - 8));
    CHECK(page.is_damaged);
    CHECK(!trace_page_open(&page, &layout, bytes, HEADER - 1));
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
    CHECK_SAME(place.offset, 8);
    CHECK_SAME(place.bytes, 16);
    CHECK(trace_format_field(of_switch, "next_pid", &place));
    CHECK_SAME(place.offset, 56);
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
