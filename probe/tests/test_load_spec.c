/* Parsing the text of a load: its meaning, and what is refused. */
#include "base/posix_source.h"

#include "load/spec.h"
#include "tap.h"

static struct load_spec spec;
static char error[LOAD_ERROR_BYTES];

static bool parses(const char *text)
{
    error[0] = '\0';
    return load_spec_parse(text, &spec, error, sizeof error) == 0;
}

static const struct load_term *term(const char *name)
{
    for (int i = 0; i < spec.count && i < LOAD_TERMS; i++)
        if (strcmp(spec.terms[i].element->name, name) == 0)
            return &spec.terms[i];
    static const struct load_term missing = {.degree_text = "missing"};
    return &missing;
}

TEST(none)
{
    CHECK(parses("none"));
    CHECK_SAME(spec.count, 0);
    CHECK_TEXT(spec.text, "none");
}

/* Each of one term of a text. */
TEST(degrees)
{
    static const struct {
        const char *text, *name, *degree_text;
        int count;
        int64_t busy_ns, period_ns, number;
        bool is_each_cpus;
        const char *host, *port, *device;
    } rows[] = {
        {"cpu=15ms/200ms+network=123/s+storm=7+search", "cpu", "15ms/200ms", 4, 15000000,
         200000000},
        {"cpu=15ms/200ms+network=123/s+storm=7+search", "network", "123/s", 4, .number = 123},
        {"cpu=15ms/200ms+network=123/s+storm=7+search", "storm", "7", 4, .number = 7},
        {"cpu=15ms/200ms+network=123/s+storm=7+search", "search", "", 4},
        /* "@cpu" is of one term, and of all terms of a mix */
        {"cpu=1ms/10ms@cpu+search@cpu+network", "cpu", "1ms/10ms@cpu", 3, 1000000, 10000000,
         .is_each_cpus = true},
        {"search@cpu+network", "search", "@cpu", 2, .is_each_cpus = true},
        {"search@cpu+network", "network", "4000/s", 2, .number = 4000},
        {"storm=7@cpu", "storm", "7@cpu", 1, .number = 7, .is_each_cpus = true},
        {"heavy@cpu+storm=3", "storm", "3", 8, .number = 3},
        {"heavy@cpu+storm=3", "network", "4000/s@cpu", 8, .number = 4000, .is_each_cpus = true},
        {"network=100/s@10.0.0.1:65535@cpu", "network", NULL, 1, .number = 100,
         .is_each_cpus = true, .host = "10.0.0.1", .port = "65535"},
        {"network=100/s@[::1]:7", "network", NULL, 1, .number = 100, .host = "::1", .port = "7"},
        {"network=100/s@[fe80::1%eth0]:7@cpu", "network", NULL, 1, .number = 100,
         .is_each_cpus = true, .host = "fe80::1%eth0", .port = "7"},
        {"interrupt=50/s@/dev/uio0+search", "interrupt", "50/s@/dev/uio0", 2, .number = 50,
         .device = "0"},
        {"interrupt=50/s@/dev/uio255", "interrupt", NULL, 1, .number = 50, .device = "255"},
        {"interrupt=50/s@cpu", "interrupt", NULL, 1, .number = 50, .is_each_cpus = true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_row(rows[i].text);
        CHECK(parses(rows[i].text));
        CHECK_TEXT(spec.text, rows[i].text);
        CHECK_SAME(spec.count, rows[i].count);
        const struct load_degree *degree = &term(rows[i].name)->degree;
        CHECK_TEXT(term(rows[i].name)->degree_text,
                   rows[i].degree_text ? rows[i].degree_text : strchr(rows[i].text, '=') + 1);
        CHECK_SAME(degree->busy_ns, rows[i].busy_ns);
        CHECK_SAME(degree->period_ns, rows[i].period_ns);
        CHECK_SAME(degree->number, rows[i].number);
        CHECK_SAME(degree->is_each_cpus, rows[i].is_each_cpus);
        CHECK_TEXT(degree->to.host, rows[i].host ? rows[i].host : "");
        CHECK_TEXT(degree->to.port, rows[i].port ? rows[i].port : "");
        CHECK_SAME(degree->has_device, rows[i].device != NULL);
        CHECK_SAME(degree->uio_number, rows[i].device ? atoi(rows[i].device) : 0);
    }
}

TEST(an_element_alone_has_the_degree_of_heavy)
{
    static struct load_spec heavy;
    CHECK(parses("heavy"));
    heavy = spec;
    for (int i = 0; i < heavy.count && i < LOAD_TERMS; i++) {
        char degree[LOAD_DEGREE_BYTES];
        snprintf(degree, sizeof degree, "%s", heavy.terms[i].degree_text);
        CHECK(parses(heavy.terms[i].element->name));
        CHECK_SAME(spec.count, 1);
        CHECK_TEXT(spec.terms[0].degree_text, degree);
    }
}

/* docs/reference/load.md */
TEST(the_mixes_are_those_of_the_documentation)
{
    static const char *const heavy[] = {"cpu",     "disk",   "interrupt", "network",
                                        "syscall", "memory", "search"};
    CHECK(parses("heavy"));
    CHECK_SAME(spec.count, 7);
    for (int i = 0; i < 7; i++)
        CHECK(term(heavy[i])->element != NULL);
    CHECK_SAME(term("interrupt")->degree.number, 1000);
    CHECK_SAME(term("network")->degree.number, 4000);
    CHECK_SAME(term("disk")->degree.busy_ns * 10, term("disk")->degree.period_ns);
    CHECK(parses("storm"));
    CHECK_SAME(spec.count, 11);
    CHECK_SAME(term("storm")->degree.number, 240);
    CHECK(term("build")->element && term("kernel")->element && term("messages")->element);
    CHECK(parses("latstat"));
    CHECK_SAME(spec.count, 2);
    CHECK_SAME(term("storm")->degree.number, 240);
    CHECK_SAME(term("build")->degree.number, 3400);
}

TEST(the_rest_belongs_to_stress_ng)
{
    CHECK(parses("cpu+stress-ng:--cpu 2 --vm 1+2"));
    CHECK_SAME(spec.count, 2);
    CHECK_TEXT(spec.options, "--cpu 2 --vm 1+2");
}

TEST(every_text_of_the_register_parses)
{
    char text[200];
    for (int i = 0; load_elements[i]; i++) {
        const struct load_element *element = load_elements[i];
        if (element->kind == LOAD_EXTERNAL_STRESSOR)
            continue;
        CHECK(parses(strcmp(element->name, "storm") == 0 ? "storm=1" : element->name));
        if (!element->default_degree)
            continue;
        snprintf(text, sizeof text, "%s=%s", element->name, element->default_degree);
        CHECK(parses(text));
    }
    for (int i = 0; load_mixes[i].name; i++)
        CHECK(parses(load_mixes[i].text));
}

TEST(wrong_names_get_the_nearest)
{
    static const char *const pairs[][2] = {{"cpuu", "cpu"},        {"dsik", "disk"},
                                           {"netwrok", "network"}, {"heavvy", "heavy"},
                                           {"HEAVY", "heavy"},     {"strom", "storm"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        CHECK(!parses(pairs[i][0]));
        CHECK_HOLDS(error, pairs[i][1]);
    }
}

/* With | between them: the first is empty. Only /dev/uioN is ever opened as a device. */
TEST(texts_that_are_refused)
{
    static const char *const reasons[][2] = {
        {"cpu=20ms/10ms", "from 100us to the period"},
        {"disk=-1ms/10ms", "write disk=10ms/100ms"},
        {"network=-5/s", "from 1/s to 100000/s"},
        {"network=4000", "write network=4000/s"},
        {"storm=0", "from 1 to 5000"},
        {"heavy=3", "has no degree"},
        {"cpu@cpu@cpu", "there is no element"},
        {"heavy+cpu=50ms/100ms", "cpu is given twice"},
        {"none+cpu", "none cannot be combined"},
        {"cpu++disk", "a term is empty"},
        {"stress-ng", "takes options"},
        {"stress-ng:", "without options"},
        {"cpu\n", "control character"},
        {"interrupt=50/s@uio0", "interrupt=50/s@uio0 does not name a UIO device; write "
                                "interrupt=1000/s@/dev/uioN, with N from 0 to 255"},
        {"interrupt=50/s@/dev/uio0@cpu", "a device interrupts one CPU; leave out @cpu"},
        {"network=5/s@host", "network=5/s@host does not name a host and port; write "
                             "network=4000/s@HOST:PORT, or @[::1]:7 with an IPv6 address"},
        {"network=100/s@target:7",
         "'target' is not an address; give one, such as 192.0.2.1:7 or [::1]:7 "
         "(the hardstone command looks up names)"},
        {"stress-ng:--ionice-class=rt", "a load may not use a real-time I/O priority"},
        {"stress-ng:--ionice-c realtime", "a load may not use a real-time I/O priority"},
        {"stress-ng:--ionice-cl  rt", "a load may not use a real-time I/O priority"},
        {"stress-ng:--ioprio 1", "leave out --ioprio, and write --ionice-class besteffort"}};
    static const char wrong[] =
        "|+|cpu+|+cpu|cpu=|cpu=10ms|cpu=/|cpu=a/b|cpu=10/100|cpu=2s/1s|cpu=1us/1ms|cpu=1ms/11s|"
        "cpu=1ns/9ns|disk=-1ms/1ms|storm=0|storm=-1|storm=1e9|storm=1000000000|storm=5001|"
        "storm= 5|storm=+5|network=1|network=0/s|network=1/m|network=100001/s|"
        "network=9999999999999999999999/s|search=1|heavy=1|none+cpu|cpu+none|cpu+cpu|"
        "storm+storm|heavy+search|stress-ng|stress-ng: |cpu=10ms/100ms/2|cpu =1ms/2ms|cpu\t|"
        "none=1|none@cpu|@cpu|cpu@cpu@cpu|cpu@CPU|cpu=@cpu|build=0|build=5001|messages=0|"
        "messages=251|messages=1/s|build=1/s|storm=3@host:7|network@host:7|network=5/s@host|"
        "network=5/s@|network=5/s@:7|network=5/s@host:|network=5/s@host:0|"
        "network=5/s@host:65536|network=5/s@host:7x|network=5/s@::1:7|network=5/s@[host]:7|"
        "network=5/s@-host:7|network=5/s@ho st:7|network=5/s@$(x):7|network=5/s@host:7@host:7|"
        "network=5/s@target:7@cpu|network=5/s@10.0.0:7@cpu|network=5/s@10.0.0.1.2:7@cpu|"
        "network=5/s@[::ffff:ffff:zz]:7@cpu|network=5/s@[%eth0]:7@cpu|"
        "network=5/s@[10.0.0.1%eth0:]:7@cpu|network=50/s@/dev/uio0|storm=3@/dev/uio0|"
        "interrupt=50/s@|interrupt=50/s@/|interrupt=50/s@/dev/uio|interrupt=50/s@/dev/uio256|"
        "interrupt=50/s@/dev/uio00|interrupt=50/s@/dev/uio1x|interrupt=50/s@/dev/uio 1|"
        "interrupt=50/s@/dev/uio-1|interrupt=50/s@/dev/uio+1|interrupt=50/s@/dev/uio1/|"
        "interrupt=50/s@/dev/sda|interrupt=50/s@/dev/../uio|interrupt=50/s@/dev/uio/../sda|"
        "interrupt=50/s@./uio0|interrupt=50/s@uio0|interrupt=50/s@0|interrupt=50/s@/dev/uio1234|"
        "interrupt=50/s@host:7|interrupt=50/s@/dev/uio0@/dev/uio1";
    char text[80];
    for (const char *at = wrong, *end; at; at = end ? end + 1 : NULL) {
        end = strchr(at, '|');
        snprintf(text, sizeof text, "%.*s", end ? (int)(end - at) : 79, at);
        tap_row(text);
        CHECK(!parses(text));
        CHECK(error[0] != '\0');
        CHECK(strchr(error, '\n') == NULL);
    }
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        CHECK(!parses(reasons[i][0]));
        CHECK_HOLDS(error, reasons[i][1]);
    }
}

/* No text, however long or strange, is taken for more than it is. */
TEST(long_and_random_texts)
{
    static const char letters[] = "cpudisk+=/:@[]0123456789ms- \x80\xff%heavystorm";
    char text[2000];
    uint64_t state = 7;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK(!parses(text));
    memcpy(text, "stress-ng:", 10);
    CHECK(!parses(text));
    memcpy(text, "cpu=", 4);
    CHECK(!parses(text));
    for (int i = 0; i < 20000; i++) {
        size_t length = tap_random(&state) % 60;
        for (size_t j = 0; j < length; j++)
            text[j] = letters[tap_random(&state) % (sizeof letters - 1)];
        text[length] = '\0';
        bool is_good = parses(text);
        CHECK(is_good || error[0] != '\0');
        CHECK(spec.count <= LOAD_TERMS);
    }
}
