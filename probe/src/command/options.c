#include "base/posix_source.h"

#include "command/options.h"

#include "base/text.h"
#include "command/parameters.h"
#include "shield/shield.h"

#include <stddef.h>
#include <string.h>

/* ---- values ---- */

static int take_whole(struct parser *parser, const char *option, const char *text, int64_t most,
                      int64_t *number)
{
    if (parser_number(text, number) != 0 || *number < 0 || *number > most)
        return parser_fail(parser, "%s %.60s: give a whole number from 0 to %lld", option, text,
                           (long long)most);
    return 0;
}

static int take_time(struct parser *parser, const char *option, const char *text, int64_t bare_ns,
                     int64_t *ns)
{
    if (duration_parse(text, bare_ns, ns) != 0)
        return parser_fail(parser, "%s %.60s: not a duration; write 30s, 5m, 24h, 250us", option,
                           text);
    return 0;
}

static int take_samples(struct parser *parser, const char *option, const char *text)
{
    int64_t number = 0;
    int answer = take_whole(parser, option, text, INT64_MAX, &number);
    parser->request->samples = (uint64_t)number;
    parser->request->has_counts = true;
    return answer;
}

static int take_duration(struct parser *parser, const char *option, const char *text)
{
    parser->request->has_counts = true;
    return take_time(parser, option, text, 1000000000, &parser->request->duration_ns);
}

static int take_duration_ns(struct parser *parser, const char *option, const char *text)
{
    parser->request->has_counts = true;
    return take_time(parser, option, text, 1, &parser->request->duration_ns);
}

static int take_deadline_ns(struct parser *parser, const char *option, const char *text)
{
    return take_time(parser, option, text, 1, &parser->request->deadline_ns);
}

static int take_cpu(struct parser *parser, const char *option, const char *text)
{
    int64_t number = 0;
    int answer = take_whole(parser, option, text, 65535, &number);
    parser->request->cpu = (int)number;
    return answer;
}

static int take_cpus(struct parser *parser, const char *option, const char *text)
{
    struct request *request = parser->request;
    request->has_cpus = true;
    if (cpus_parse_list(text, &request->cpus) != 0 || cpus_first(&request->cpus) < 0)
        return parser_fail(parser, "%s %.60s: write a list such as 1 or 2-3,6", option, text);
    return 0;
}

/* The value of "max" depends on the policy, which may follow later on the command line. */
static int take_priority(struct parser *parser, const char *option, const char *text)
{
    int64_t number = -1;
    parser->request->is_priority_max = strcmp(text, "max") == 0;
    if (!parser->request->is_priority_max &&
        (parser_number(text, &number) != 0 || number < 0 || number > 65535))
        return parser_fail(parser, "%s %.60s: give a whole number from 0 to 65535, or max", option,
                           text);
    parser->request->priority = (int)number;
    return 0;
}

static int take_policy(struct parser *parser, const char *option, const char *text)
{
    static const char *const names[] = {
        [ARGS_FIFO] = "fifo", [ARGS_RR] = "rr", [ARGS_OTHER] = "other"};
    parser->request->has_policy = true;
    for (int i = ARGS_FIFO; i <= ARGS_OTHER; i++)
        if (strcmp(text, names[i]) == 0) {
            parser->request->policy = (enum args_policy)i;
            return 0;
        }
    return parser_fail(parser, "%s %.60s: fifo, rr or other", option, text);
}

static int take_counter_hz(struct parser *parser, const char *option, const char *text)
{
    int64_t number = 0;
    int answer = take_whole(parser, option, text, INT64_C(1000000000000), &number);
    parser->request->counter_hz = (uint64_t)number;
    return answer;
}

/* The kernel's own default is 2000 s: no limit. */
static int take_dma_latency(struct parser *parser, const char *option, const char *text)
{
    int64_t number = 0;
    int answer = take_whole(parser, option, text, 2000000000, &number);
    parser->request->dma_latency_us = (int32_t)number;
    parser->request->has_dma_latency = true;
    return answer;
}

/* The kernel decides whether it is a model. */
static int take_preemption(struct parser *parser, const char *option, const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    if (length == 0 || length > 15 || text[length] != '\0')
        return parser_fail(parser, "%s %.60s: a model such as none, voluntary, full or lazy",
                           option, text);
    parser->request->preemption = text;
    return 0;
}

static int take_seed(struct parser *parser, const char *option, const char *text)
{
    int64_t number = 0;
    int answer = take_whole(parser, option, text, INT64_MAX, &number);
    parser->request->seed = (uint64_t)number;
    return answer;
}

static int take_clock(struct parser *parser, const char *option, const char *text)
{
    parser->request->want_counter = strcmp(text, "auto") == 0;
    if (!parser->request->want_counter && strcmp(text, "monotonic") != 0)
        return parser_fail(parser, "%s %.60s: auto or monotonic", option, text);
    return 0;
}

static int take_settings(struct parser *parser, const char *option, const char *text)
{
    char bad[48];
    parser->request->has_settings = true;
    if (shield_parse_settings(text, &parser->request->settings, bad, sizeof bad) != 0)
        return parser_fail(parser,
                           "%s: '%s' is not one of cpuset, interrupts, workqueues, timers, "
                           "watchdog, governor, dma_latency",
                           option, bad);
    return 0;
}

static int take_cpu_config(struct parser *parser, const char *option, const char *text)
{
    if (cpu_config_parse(text, &parser->request->cpu_config) != 0)
        return parser_fail(parser, "%s %.60s: shared, single or shielded", option, text);
    return 0;
}

static int take_backing(struct parser *parser, const char *option, const char *text)
{
    if (*text == '\0')
        return parser_fail(parser, "%s: the name is empty; write %s FILE", option, option);
    parser->request->backing = text;
    return 0;
}

/* The test finds out whether it can be used. */
static int take_folder(struct parser *parser, const char *option, const char *text)
{
    if (*text == '\0')
        return parser_fail(parser, "%s: the name is empty; write %s PATH", option, option);
    parser->request->folder = text;
    return 0;
}

int options_load(struct parser *parser, const char *text)
{
    return load_spec_parse(text, &parser->request->load, parser->error, parser->error_bytes);
}

static int take_load(struct parser *parser, const char *option, const char *text)
{
    (void)option;
    return options_load(parser, text);
}

static int take_parameter(struct parser *parser, const char *option, const char *text)
{
    (void)option;
    return parameters_take(parser, text);
}

/* ---- the table ---- */

enum {
    RUN = 1 << ARGS_RUN,
    LOAD = 1 << ARGS_LOAD,
    FACTS = 1 << ARGS_FACTS,
    SHIELD = 1 << ARGS_SHIELD,
    ALL = ~0
};

#define FLAG(member, value) .flag = offsetof(struct request, member), .flag_value = (value)

static const struct option {
    const char *name;
    int commands; /* bits 1 << enum args_command: those that take it */
    int (*take)(struct parser *parser, const char *option, const char *text); /* its value */
    size_t flag; /* without a value: place of the bool of struct request that it sets */
    bool flag_value;
} options[] = {
    {"-p", RUN, take_parameter},
    {"-D", RUN | LOAD, take_duration},
    {"--duration", RUN | LOAD, take_duration},
    {"--duration-ns", RUN | LOAD, take_duration_ns},
    {"--samples", RUN, take_samples},
    {"--deadline-ns", RUN, take_deadline_ns},
    {"--cpu", RUN | SHIELD, take_cpu},
    {"--cpus", LOAD | SHIELD, take_cpus},
    {"--policy", RUN | SHIELD, take_policy},
    {"--priority", RUN | SHIELD, take_priority},
    {"--load", RUN, take_load},
    {"--cpu-config", RUN, take_cpu_config},
    {"--settings", RUN | SHIELD, take_settings},
    {"--clock", RUN | FACTS, take_clock},
    {"--counter-hz", RUN, take_counter_hz},
    {"--dma-latency-us", RUN, take_dma_latency},
    {"--preemption", RUN, take_preemption},
    {"--seed", RUN | LOAD, take_seed},
    {"--backing", RUN, take_backing},
    {"--dir", RUN, take_folder},
    {"--trace", RUN, FLAG(trace, true)},
    {"--until-eof", RUN | LOAD, FLAG(until_eof, true)},
    {"--restore", SHIELD, FLAG(restore, true)},
    {"--show", SHIELD, FLAG(show, true)},
    {"--forget", SHIELD, FLAG(forget, true)},
    {"--verbose", SHIELD, FLAG(verbose, true)},
    {"--json", ALL, FLAG(json, true)},
    {"--text", ALL, FLAG(json, false)},
};

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

/* `next`: the word after the option, or NULL. The number of words that it takes, or -1. */
static int take_option(struct parser *parser, const char *word, const char *next)
{
    const struct option *option = find_option(word);
    if (!option && parser->request->command == ARGS_SHIELD && *word != '-')
        return parser_fail(parser, "shield: write -- before the command: shield -- %.60s", word);
    if (!option)
        return parser_fail(parser, "unknown option '%.60s'; see hardstone-probe --help", word);
    if (!(option->commands & 1 << parser->request->command))
        return parser_fail(parser, "%s takes no %s; see hardstone-probe --help", parser->command,
                           word);
    if (!option->take) {
        *(bool *)((char *)parser->request + option->flag) = option->flag_value;
        return 1;
    }
    if (!next)
        return parser_fail(parser, "%s: its value is missing; see hardstone-probe --help", word);
    return option->take(parser, word, next) != 0 ? -1 : 2;
}

int options_parse(struct parser *parser, int argc, char *const argv[])
{
    for (int i = 0; i < argc;) {
        if (parser->request->command == ARGS_SHIELD && strcmp(argv[i], "--") == 0) {
            parser->request->words = argv + i + 1;
            return 0;
        }
        int taken = take_option(parser, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (taken < 0)
            return -1;
        i += taken;
    }
    return 0;
}
