#include "base/posix_source.h"

#include "command/args.h"

#include "base/duration.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct parser {
    struct request *request;
    char *error;
    size_t error_bytes;
};

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
            return fail(parser, "%s: '%.60s' is there twice; give it once", spec->name, word);
        value->count++;
    }
    return 0;
}

static int parse_param(struct parser *parser, const char *text)
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

static int set_defaults(struct parser *parser)
{
    const struct test *test = parser->request->test;
    for (int i = 0; test->params && test->params[i].name; i++)
        if (*test->params[i].default_text &&
            parse_value(parser, &test->params[i], test->params[i].default_text,
                        &parser->request->params[i]) != 0)
            return -1;
    return 0;
}

static int parse_policy(const char *text, enum args_policy *policy)
{
    static const char *const names[] = {"fifo", "rr", "other"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *policy = (enum args_policy)i;
            return 0;
        }
    return -1;
}

static int parse_load(struct parser *parser, const char *text)
{
    return load_spec_parse(text, &parser->request->load, parser->error, parser->error_bytes);
}

static int parse_cpus(struct parser *parser, const char *text)
{
    struct request *request = parser->request;
    request->has_cpus = true;
    if (cpus_parse_list(text, &request->cpus) != 0 || cpus_first(&request->cpus) < 0)
        return fail(parser, "--cpus %.60s: write a list such as 1 or 2-3,6", text);
    return 0;
}

static int positive(struct parser *parser, const char *option, const char *text, int64_t most,
                    int64_t *number)
{
    if (parse_number(text, number) != 0 || *number < 0 || *number > most)
        return fail(parser, "%s %.60s: a whole number from 0 to %lld is wanted", option, text,
                    (long long)most);
    return 0;
}

static int parse_time(struct parser *parser, const char *option, const char *text, int64_t bare_ns,
                      int64_t *ns)
{
    if (duration_parse(text, bare_ns, ns) != 0)
        return fail(parser, "%s %.60s: not a duration; write 30s, 5m, 24h, 250us", option, text);
    return 0;
}

/* Options of CPU configurations, for run and shield. 1: not one of these. */
static int parse_division(struct parser *parser, const char *option, const char *text)
{
    struct request *request = parser->request;
    char bad[48];
    if (strcmp(option, "--settings") == 0) {
        request->has_settings = true;
        if (shield_parse_settings(text, &request->settings, bad, sizeof bad) != 0)
            return fail(parser,
                        "--settings: '%s' is not one of cpuset, interrupts, workqueues, timers, "
                        "watchdog, governor, dma_latency",
                        bad);
    } else if (strcmp(option, "--cpu-config") == 0) {
        if (cpu_config_parse(text, &request->cpu_config) != 0)
            return fail(parser, "--cpu-config %.60s: shared, single or shielded", text);
    } else if (strcmp(option, "--cpus") == 0) {
        return parse_cpus(parser, text);
    } else {
        return 1;
    }
    return 0;
}

/* What "max" is depends on the policy, which may come later. */
static int parse_priority(struct parser *parser, const char *text)
{
    int64_t number = -1;
    parser->request->is_priority_max = strcmp(text, "max") == 0;
    if (!parser->request->is_priority_max &&
        (parse_number(text, &number) != 0 || number < 0 || number > 65535))
        return fail(parser, "--priority %.60s: a whole number from 0 to 65535, or max, is wanted",
                    text);
    parser->request->priority = (int)number;
    return 0;
}

/* Options that take a value. 1: not one of these. */
static int parse_valued(struct parser *parser, const char *option, const char *text)
{
    struct request *request = parser->request;
    int64_t number = 0;
    int bad = 0;
    if (strcmp(option, "-p") == 0)
        return parse_param(parser, text);
    if (strcmp(option, "--samples") == 0) {
        bad = positive(parser, option, text, INT64_MAX, &number);
        request->samples = (uint64_t)number;
        request->has_counts = true;
    } else if (strcmp(option, "--duration-ns") == 0) {
        bad = parse_time(parser, option, text, 1, &request->duration_ns);
        request->has_counts = true;
    } else if (strcmp(option, "--duration") == 0 || strcmp(option, "-D") == 0) {
        bad = parse_time(parser, option, text, 1000000000, &request->duration_ns);
        request->has_counts = true;
    } else if (strcmp(option, "--deadline-ns") == 0) {
        bad = parse_time(parser, option, text, 1, &request->deadline_ns);
    } else if (strcmp(option, "--cpu") == 0) {
        bad = positive(parser, option, text, 65535, &number);
        request->cpu = (int)number;
    } else if (strcmp(option, "--priority") == 0) {
        return parse_priority(parser, text);
    } else if (strcmp(option, "--counter-hz") == 0) {
        bad = positive(parser, option, text, INT64_C(1000000000000), &number);
        request->counter_hz = (uint64_t)number;
    } else if (strcmp(option, "--seed") == 0) {
        bad = positive(parser, option, text, INT64_MAX, &number);
        request->seed = (uint64_t)number;
    } else if (strcmp(option, "--policy") == 0) {
        if (parse_policy(text, &request->policy) != 0)
            return fail(parser, "--policy %.60s: fifo, rr or other", text);
    } else if (strcmp(option, "--clock") == 0) {
        if (strcmp(text, "auto") != 0 && strcmp(text, "monotonic") != 0)
            return fail(parser, "--clock %.60s: auto or monotonic", text);
        request->want_counter = strcmp(text, "auto") == 0;
    } else if (strcmp(option, "--load") == 0) {
        return parse_load(parser, text);
    } else if (strcmp(option, "--cpus") == 0) {
        return parse_cpus(parser, text);
    } else if (strcmp(option, "--backing") == 0) {
        request->backing = text;
    } else {
        return parse_division(parser, option, text);
    }
    return bad;
}

static bool parse_flag(struct request *request, const char *option)
{
    if (strcmp(option, "--json") == 0)
        request->json = true;
    else if (strcmp(option, "--text") == 0)
        request->json = false;
    else if (strcmp(option, "--until-eof") == 0)
        request->until_eof = true;
    else
        return false;
    return true;
}

static int parse_options(struct parser *parser, int argc, char *const argv[])
{
    for (int i = 0; i < argc; i++) {
        if (parse_flag(parser->request, argv[i]))
            continue;
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        int answer = value ? parse_valued(parser, argv[i], value) : 1;
        if (answer < 0)
            return -1;
        if (answer > 0)
            return fail(
                parser, "%s '%.60s'; see hardstone-probe --help",
                value ? "unknown option" : "unknown option, or its value is missing:", argv[i]);
        i++;
    }
    return 0;
}

/* The maximum as a number, which the result tells as it tells any other priority. */
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
    if (set_defaults(parser) != 0 || parse_options(parser, argc - 1, argv + 1) != 0 ||
        resolve_priority(parser) != 0)
        return -1;
    const struct request *request = parser->request;
    if (request->has_counts && request->samples == 0 && request->duration_ns == 0)
        return fail(parser, "neither samples nor a duration: give --samples or --duration above 0");
    if (request->has_cpus)
        return fail(parser, "unknown option '--cpus'; see hardstone-probe --help");
    if (request->cpu_config == CPU_CONFIG_SINGLE && request->settings & 1u << SHIELD_CPUSET)
        return fail(parser, "--settings cpuset reserves the CPU that --cpu-config single shares; "
                            "leave one of them out");
    return 0;
}

/* Checked before anything is reserved for a command that could not start. */
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
        return fail(parser, "--forget belongs to --restore: it drops what cannot be put back");
    if (request->cpu >= 0 && request->has_cpus)
        return fail(parser, "--cpu and --cpus: give one of them");
    if (request->cpu >= PORT_CPUS)
        return fail(parser, "--cpu %d: CPUs from 0 to %d can be told apart", request->cpu,
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

static bool parse_shield_flag(struct request *request, const char *option)
{
    if (strcmp(option, "--restore") == 0)
        request->restore = true;
    else if (strcmp(option, "--show") == 0)
        request->show = true;
    else if (strcmp(option, "--forget") == 0)
        request->forget = true;
    else if (strcmp(option, "--verbose") == 0)
        request->verbose = true;
    else if (strcmp(option, "--json") == 0 || strcmp(option, "--text") == 0)
        return parse_flag(request, option);
    else
        return false;
    return true;
}

static int parse_shield_option(struct parser *parser, const char *option, const char *value)
{
    static const char *const known[] = {"--cpu", "--cpus", "--policy", "--priority", "--settings"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(option, known[i]) != 0)
            continue;
        return value ? parse_valued(parser, option, value)
                     : fail(parser, "%s: its value is missing", option);
    }
    if (*option != '-')
        return fail(parser, "shield: write -- before the command: shield -- %.60s", option);
    return fail(parser, "unknown option '%.60s'; see hardstone-probe --help", option);
}

/* Options up to "--", then the command. */
static int parse_shield(struct parser *parser, int argc, char *const argv[])
{
    struct request *request = parser->request;
    request->policy = ARGS_OTHER;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            request->words = argv + i + 1;
            break;
        }
        if (parse_shield_flag(request, argv[i]))
            continue;
        if (parse_shield_option(parser, argv[i], i + 1 < argc ? argv[i + 1] : NULL) != 0)
            return -1;
        request->has_policy = request->has_policy || strcmp(argv[i], "--policy") == 0;
        i++;
    }
    return check_shield(parser);
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
        return parse_load(parser, argv[1]) != 0 ? -1 : parse_options(parser, argc - 2, argv + 2);
    }
    if (argc < 1 || argv[0][0] == '-')
        return fail(parser, "load needs a load, such as heavy or cpu=10ms/100ms+search; see "
                            "hardstone-probe load --list");
    if (parse_load(parser, argv[0]) != 0 || parse_options(parser, argc - 1, argv + 1) != 0)
        return -1;
    if (request->load.count == 0)
        return fail(parser, "load none is no load; see hardstone-probe load --list");
    if (request->has_counts && request->duration_ns == 0)
        return fail(parser, "a duration of 0 is none: give -D above 0, or leave it out");
    return 0;
}

int args_parse(int argc, char *const argv[], struct request *request, char *error,
               size_t error_bytes)
{
    struct parser parser = {request, error, error_bytes};
    memset(request, 0, sizeof *request);
    request->cpu = -1;
    request->priority = -1;
    request->want_counter = true;
    request->json = !isatty(STDOUT_FILENO);
    request->called_as = argc > 0 ? argv[0] : "hardstone-probe";
    load_spec_none(&request->load);
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        request->command = ARGS_HELP;
    else if (strcmp(word, "--version") == 0)
        request->command = ARGS_VERSION;
    else if (strcmp(word, "list") == 0)
        request->command = ARGS_LIST;
    else if (strcmp(word, "facts") == 0)
        request->command = ARGS_FACTS;
    else if (strcmp(word, "run") == 0)
        request->command = ARGS_RUN;
    else if (strcmp(word, "dump") == 0)
        request->command = ARGS_DUMP;
    else if (strcmp(word, "load") == 0)
        request->command = ARGS_LOAD;
    else if (strcmp(word, "shield") == 0)
        request->command = ARGS_SHIELD;
    else
        return fail(&parser, "there is no command '%.60s'; list, run, load, facts, dump or shield",
                    word);
    if (request->command == ARGS_SHIELD)
        return parse_shield(&parser, argc - 2, argv + 2);
    if (request->command == ARGS_RUN)
        return parse_run(&parser, argc - 2, argv + 2);
    if (request->command == ARGS_LOAD)
        return parse_load_command(&parser, argc - 2, argv + 2);
    if (request->command == ARGS_DUMP)
        return parse_dump(&parser, argc - 2, argv + 2);
    return argc > 2 ? parse_options(&parser, argc - 2, argv + 2) : 0;
}
