#include "base/posix_source.h"

#include "command/args.h"

#include "agent/agent.h"
#include "base/text.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A parser returns 0, or -1 with cause and remedy in one line. */
struct parser {
    const char *command; /* as it was written */
    struct request *request;
    char *error;
    size_t error_bytes;
};

/* Writes the error. Always -1. */
static int fail(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fail(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->error, parser->error_bytes, format, arguments);
    va_end(arguments);
    return -1;
}

/* Parses a decimal number with nothing before or after it; -1, without an error, for anything else.
 */
static int parse_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || (*text != '-' && (*text < '0' || *text > '9')))
        return -1;
    *number = value;
    return 0;
}

/* ---- parameters of the request's test ---- */

static const struct param_spec *find_param(const struct test *test, const char *name, size_t length,
                                           int *index)
{
    for (*index = 0; test->params && test->params[*index].name; ++*index)
        if (strlen(test->params[*index].name) == length &&
            strncmp(test->params[*index].name, name, length) == 0)
            return &test->params[*index];
    return NULL;
}

static int parse_choice(const struct param_spec *spec, const char *word, int64_t *number)
{
    for (int i = 0; spec->choices[i]; i++)
        if (strcmp(word, spec->choices[i]) == 0) {
            *number = i;
            return 0;
        }
    return -1;
}

static int parse_word(struct parser *parser, const struct param_spec *spec, const char *word,
                      int64_t *number)
{
    if (spec->unit == PARAM_NAME) {
        if (parse_choice(spec, word, number) == 0)
            return 0;
        return fail(parser, "%s: '%.60s' is not one of its names; see hardstone-probe list",
                    spec->name, word);
    }
    int bad = spec->unit == PARAM_NS ? duration_parse(word, 1, number) : parse_number(word, number);
    if (bad)
        return fail(parser, "%s: '%.60s' is not a number; write for example %s", spec->name, word,
                    spec->default_text);
    if (*number < spec->min || *number > spec->max)
        return fail(parser, "%s: %s is out of limits; from %lld to %lld", spec->name, word,
                    (long long)spec->min, (long long)spec->max);
    return 0;
}

/* Whether the value repeats another one of a list whose values are variants: two series would have
 * the same labels. */
static bool is_repeated(const struct param_spec *spec, const struct param_value *value,
                        int64_t number)
{
    for (int i = 0; spec->label && i < value->count; i++)
        if (value->number[i] == number)
            return true;
    return false;
}

static int parse_value(struct parser *parser, const struct param_spec *spec, const char *text,
                       struct param_value *value)
{
    char copy[512];
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return fail(parser, "%s: the value is too long", spec->name);
    value->count = 0;
    char *rest = copy;
    while (rest) {
        char *word = rest;
        char *comma = spec->is_list ? strchr(rest, ',') : NULL;
        if (comma)
            *comma = '\0';
        rest = comma ? comma + 1 : NULL;
        if (value->count == TEST_VALUES)
            return fail(parser, "%s: more than %d values; give fewer", spec->name, TEST_VALUES);
        if (parse_word(parser, spec, word, &value->number[value->count]) != 0)
            return -1;
        if (is_repeated(spec, value, value->number[value->count]))
            return fail(parser, "%s: '%.60s' is given twice; give it once", spec->name, word);
        value->count++;
    }
    return 0;
}

/* NAME=VALUE[,VALUE] */
static int take_param(struct parser *parser, const char *text)
{
    const struct test *test = parser->request->test;
    const char *equals = strchr(text, '=');
    if (!equals)
        return fail(parser, "-p %.60s: write -p NAME=VALUE", text);
    int index;
    const struct param_spec *spec = find_param(test, text, (size_t)(equals - text), &index);
    if (!spec)
        return fail(parser, "%s has no parameter '%.*s'; see hardstone-probe list", test->id,
                    (int)(equals - text > 40 ? 40 : equals - text), text);
    return parse_value(parser, spec, equals + 1, &parser->request->params[index]);
}

static int set_default_params(struct parser *parser)
{
    const struct test *test = parser->request->test;
    for (int i = 0; test->params && test->params[i].name; i++)
        if (*test->params[i].default_text &&
            parse_value(parser, &test->params[i], test->params[i].default_text,
                        &parser->request->params[i]) != 0)
            return -1;
    return 0;
}

/* ---- options: their values ---- */

static int take_whole(struct parser *parser, const char *option, const char *text, int64_t most,
                      int64_t *number)
{
    if (parse_number(text, number) != 0 || *number < 0 || *number > most)
        return fail(parser, "%s %.60s: give a whole number from 0 to %lld", option, text,
                    (long long)most);
    return 0;
}

static int take_time(struct parser *parser, const char *option, const char *text, int64_t bare_ns,
                     int64_t *ns)
{
    if (duration_parse(text, bare_ns, ns) != 0)
        return fail(parser, "%s %.60s: not a duration; write 30s, 5m, 24h, 250us", option, text);
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
        return fail(parser, "%s %.60s: write a list such as 1 or 2-3,6", option, text);
    return 0;
}

/* The value of "max" depends on the policy, which may follow later on the command line. */
static int take_priority(struct parser *parser, const char *option, const char *text)
{
    int64_t number = -1;
    parser->request->is_priority_max = strcmp(text, "max") == 0;
    if (!parser->request->is_priority_max &&
        (parse_number(text, &number) != 0 || number < 0 || number > 65535))
        return fail(parser, "%s %.60s: give a whole number from 0 to 65535, or max", option, text);
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
    return fail(parser, "%s %.60s: fifo, rr or other", option, text);
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
        return fail(parser, "%s %.60s: a model such as none, voluntary, full or lazy", option,
                    text);
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
        return fail(parser, "%s %.60s: auto or monotonic", option, text);
    return 0;
}

static int take_settings(struct parser *parser, const char *option, const char *text)
{
    char bad[48];
    parser->request->has_settings = true;
    if (shield_parse_settings(text, &parser->request->settings, bad, sizeof bad) != 0)
        return fail(parser,
                    "%s: '%s' is not one of cpuset, interrupts, workqueues, timers, "
                    "watchdog, governor, dma_latency",
                    option, bad);
    return 0;
}

static int take_cpu_config(struct parser *parser, const char *option, const char *text)
{
    if (cpu_config_parse(text, &parser->request->cpu_config) != 0)
        return fail(parser, "%s %.60s: shared, single or shielded", option, text);
    return 0;
}

static int take_backing(struct parser *parser, const char *option, const char *text)
{
    if (*text == '\0')
        return fail(parser, "%s: the name is empty; write %s FILE", option, option);
    parser->request->backing = text;
    return 0;
}

static int take_from(struct parser *parser, const char *option, const char *text)
{
    parser->request->is_list_part = true;
    return take_whole(parser, option, text, INT32_MAX, &parser->request->list_from);
}

static int take_count(struct parser *parser, const char *option, const char *text)
{
    parser->request->is_list_part = true;
    return take_whole(parser, option, text, INT32_MAX, &parser->request->list_count);
}

/* The test finds out whether it can be used. */
static int take_folder(struct parser *parser, const char *option, const char *text)
{
    if (*text == '\0')
        return fail(parser, "%s: the name is empty; write %s PATH", option, option);
    parser->request->folder = text;
    return 0;
}

/* The value of --load, or of the command load. */
static int take_load_text(struct parser *parser, const char *text)
{
    return load_spec_parse(text, &parser->request->load, parser->error, parser->error_bytes);
}

static int take_load(struct parser *parser, const char *option, const char *text)
{
    (void)option;
    return take_load_text(parser, text);
}

static int take_parameter(struct parser *parser, const char *option, const char *text)
{
    (void)option;
    return take_param(parser, text);
}

/* ---- options: the table ---- */

enum {
    RUN = 1 << ARGS_RUN,
    LOAD = 1 << ARGS_LOAD,
    FACTS = 1 << ARGS_FACTS,
    SHIELD = 1 << ARGS_SHIELD,
    LIST = 1 << ARGS_LIST,
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
    {"--from", LIST, take_from},
    {"--count", LIST, take_count},
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
        return fail(parser, "shield: write -- before the command: shield -- %.60s", word);
    if (!option)
        return fail(parser, "unknown option '%.60s'; see hardstone-probe --help", word);
    if (!(option->commands & 1 << parser->request->command))
        return fail(parser, "%s takes no %s; see hardstone-probe --help", parser->command, word);
    if (!option->take) {
        *(bool *)((char *)parser->request + option->flag) = option->flag_value;
        return 1;
    }
    if (!next)
        return fail(parser, "%s: its value is missing; see hardstone-probe --help", word);
    return option->take(parser, word, next) != 0 ? -1 : 2;
}

static int parse_options(struct parser *parser, int argc, char *const argv[])
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

/* ---- commands ---- */

/* Stores the maximum as a number, so that the result states it like any other priority. */
static int resolve_priority(struct parser *parser)
{
    struct request *request = parser->request;
    if (!request->is_priority_max)
        return 0;
    if (request->policy == ARGS_OTHER)
        return fail(parser, "--priority max is one of --policy fifo or rr");
    request->priority = sched_get_priority_max(request->policy == ARGS_RR ? SCHED_RR : SCHED_FIFO);
    return 0;
}

static int parse_run(struct parser *parser, int argc, char *const argv[])
{
    if (argc < 1)
        return fail(parser, "run needs a test; see hardstone-probe list");
    parser->request->test = test_find(argv[0]);
    if (!parser->request->test)
        return fail(parser, "there is no test '%.60s'; see hardstone-probe list", argv[0]);
    if (set_default_params(parser) != 0 || parse_options(parser, argc - 1, argv + 1) != 0 ||
        resolve_priority(parser) != 0)
        return -1;
    const struct request *request = parser->request;
    if (request->has_counts && request->samples == 0 && request->duration_ns == 0)
        return fail(parser, "neither samples nor a duration is given: give --samples or "
                            "--duration above 0");
    if (request->cpu_config == CPU_CONFIG_SINGLE && request->settings & 1u << SHIELD_CPUSET)
        return fail(parser, "--settings cpuset reserves the CPU that --cpu-config single "
                            "shares; leave out one of them");
    return 0;
}

/* Check this first: nothing may be reserved for a command that cannot start. */
static int check_priority(struct parser *parser)
{
    const struct request *request = parser->request;
    if (resolve_priority(parser) != 0)
        return -1;
    if (request->priority < 0)
        return 0;
    if (request->policy == ARGS_OTHER)
        return fail(parser, "--priority is one of --policy fifo or rr");
    int policy = request->policy == ARGS_RR ? SCHED_RR : SCHED_FIFO;
    int least = sched_get_priority_min(policy), most = sched_get_priority_max(policy);
    if (request->priority < least || request->priority > most)
        return fail(parser, "--priority %d: from %d to %d", request->priority, least, most);
    return 0;
}

static int check_shield(struct parser *parser)
{
    struct request *request = parser->request;
    bool has_command = request->words && request->words[0];
    if (request->restore + request->show + has_command != 1)
        return fail(parser, "shield wants one of: -- COMMAND, --show, --restore");
    if (request->forget && !request->restore)
        return fail(parser, "--forget belongs to --restore: it gives up what cannot be restored");
    if (request->cpu >= 0 && request->has_cpus)
        return fail(parser, "--cpu and --cpus: give one of them");
    if (request->cpu >= PORT_CPUS)
        return fail(parser, "--cpu %d: this build supports CPUs 0 to %d", request->cpu,
                    PORT_CPUS - 1);
    if (request->cpu >= 0) {
        cpus_add(&request->cpus, request->cpu);
        request->has_cpus = true;
    }
    if ((request->priority >= 0 || request->is_priority_max) && !request->has_policy) {
        request->policy = ARGS_FIFO;
        request->has_policy = true;
    }
    return check_priority(parser);
}

static int parse_shield(struct parser *parser, int argc, char *const argv[])
{
    parser->request->policy = ARGS_OTHER;
    return parse_options(parser, argc, argv) != 0 ? -1 : check_shield(parser);
}

static int parse_dump(struct parser *parser, int argc, char *const argv[])
{
    if (argc < 1)
        return fail(parser, "dump needs the file that a probe recorded into");
    parser->request->path = argv[0];
    return parse_options(parser, argc - 1, argv + 1);
}

static int parse_load_command(struct parser *parser, int argc, char *const argv[])
{
    struct request *request = parser->request;
    if (argc >= 1 && strcmp(argv[0], "--list") == 0) {
        request->is_load_list = true;
        return parse_options(parser, argc - 1, argv + 1);
    }
    if (argc >= 2 && strcmp(argv[0], "--check") == 0) {
        request->is_load_check = true;
        return take_load_text(parser, argv[1]) != 0 ? -1
                                                    : parse_options(parser, argc - 2, argv + 2);
    }
    if (argc < 1 || argv[0][0] == '-')
        return fail(parser, "load needs a load, such as heavy or cpu=10ms/100ms+search; see "
                            "hardstone-probe load --list");
    if (take_load_text(parser, argv[0]) != 0 || parse_options(parser, argc - 1, argv + 1) != 0)
        return -1;
    if (request->load.count == 0)
        return fail(parser, "load none is not a load; see hardstone-probe load --list");
    if (request->has_counts && request->duration_ns == 0)
        return fail(parser, "-D 0 is not a duration: give -D above 0, or leave it out");
    return 0;
}

/* WHO is for people who look at the processes of the target. */
static int parse_agent(struct parser *parser, int argc, char *const argv[])
{
    if (argc < 2 || argc > 3 || argv[0][0] != '/')
        return fail(parser, "agent wants FOLDER WORD [WHO], FOLDER with an absolute path; "
                            "hardstone --target ssh://HOST starts it");
    for (int i = 1; i < argc; i++)
        if (HS_AGENT && !agent_word_is_valid(argv[i]))
            return fail(parser, "agent: '%.60s' is not a word of at most %d of A-Z a-z 0-9 @ . _ -",
                        argv[i], AGENT_MOST_WORD_BYTES);
    parser->request->path = argv[0];
    parser->request->word = argv[1];
    return 0;
}

static const struct command {
    const char *word;
    enum args_command command;
    int (*parse)(struct parser *parser, int argc, char *const argv[]);
} commands[] = {
    {"--help", ARGS_HELP, parse_options},
    {"-h", ARGS_HELP, parse_options},
    {"help", ARGS_HELP, parse_options},
    {"--version", ARGS_VERSION, parse_options},
    {"list", ARGS_LIST, parse_options},
    {"facts", ARGS_FACTS, parse_options},
    {"selftest", ARGS_SELFTEST, parse_options},
    {"run", ARGS_RUN, parse_run},
    {"dump", ARGS_DUMP, parse_dump},
    {"load", ARGS_LOAD, parse_load_command},
    {"shield", ARGS_SHIELD, parse_shield},
    {"agent", ARGS_AGENT, parse_agent},
};

int args_parse(int argc, char *const argv[], struct request *request, char *error,
               size_t error_bytes)
{
    memset(request, 0, sizeof *request);
    request->cpu = -1;
    request->priority = -1;
    request->list_count = INT32_MAX;
    request->want_counter = true;
    request->json = !isatty(STDOUT_FILENO);
    request->called_as = argc > 0 ? argv[0] : "hardstone-probe";
    request->load = LOAD_SPEC_NONE;
    const char *word = argc > 1 ? argv[1] : "--help";
    struct parser parser = {word, request, error, error_bytes};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(word, commands[i].word) == 0) {
            request->command = commands[i].command;
            return commands[i].parse(&parser, argc > 2 ? argc - 2 : 0, argv + 2);
        }
    return fail(&parser,
                "there is no command '%.60s'; list, run, load, facts, selftest, dump or shield",
                word);
}
