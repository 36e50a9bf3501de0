#include "base/posix_source.h"

#include "command/args.h"

#include "command/options.h"
#include "command/parameters.h"
#include "shield/shield.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

/* Stores the maximum as a number, so that the result states it like any other priority. */
static int resolve_priority(struct parser *parser)
{
    struct request *request = parser->request;
    if (!request->is_priority_max)
        return 0;
    if (request->policy == ARGS_OTHER)
        return parser_fail(parser, "--priority max is one of --policy fifo or rr");
    request->priority = sched_get_priority_max(request->policy == ARGS_RR ? SCHED_RR : SCHED_FIFO);
    return 0;
}

static int parse_run(struct parser *parser, int argc, char *const argv[])
{
    if (argc < 1)
        return parser_fail(parser, "run needs a test; see hardstone-probe list");
    parser->request->test = test_find(argv[0]);
    if (!parser->request->test)
        return parser_fail(parser, "there is no test '%.60s'; see hardstone-probe list", argv[0]);
    if (parameters_set_defaults(parser) != 0 || options_parse(parser, argc - 1, argv + 1) != 0 ||
        resolve_priority(parser) != 0)
        return -1;
    const struct request *request = parser->request;
    if (request->has_counts && request->samples == 0 && request->duration_ns == 0)
        return parser_fail(parser,
                           "neither samples nor a duration: give --samples or --duration above 0");
    if (request->cpu_config == CPU_CONFIG_SINGLE && request->settings & 1u << SHIELD_CPUSET)
        return parser_fail(parser, "--settings cpuset reserves the CPU that --cpu-config single "
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
        return parser_fail(parser, "--priority is one of --policy fifo or rr");
    int policy = request->policy == ARGS_RR ? SCHED_RR : SCHED_FIFO;
    int least = sched_get_priority_min(policy), most = sched_get_priority_max(policy);
    if (request->priority < least || request->priority > most)
        return parser_fail(parser, "--priority %d: from %d to %d", request->priority, least, most);
    return 0;
}

static int check_shield(struct parser *parser)
{
    struct request *request = parser->request;
    bool has_command = request->words && request->words[0];
    if (request->restore + request->show + has_command != 1)
        return parser_fail(parser, "shield wants one of: -- COMMAND, --show, --restore");
    if (request->forget && !request->restore)
        return parser_fail(parser,
                           "--forget belongs to --restore: it gives up what cannot be restored");
    if (request->cpu >= 0 && request->has_cpus)
        return parser_fail(parser, "--cpu and --cpus: give one of them");
    if (request->cpu >= PORT_CPUS)
        return parser_fail(parser, "--cpu %d: this build supports CPUs 0 to %d", request->cpu,
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
    return options_parse(parser, argc, argv) != 0 ? -1 : check_shield(parser);
}

static int parse_dump(struct parser *parser, int argc, char *const argv[])
{
    if (argc < 1)
        return parser_fail(parser, "dump needs the file that a probe recorded into");
    parser->request->path = argv[0];
    return options_parse(parser, argc - 1, argv + 1);
}

static int parse_load_command(struct parser *parser, int argc, char *const argv[])
{
    struct request *request = parser->request;
    if (argc >= 1 && strcmp(argv[0], "--list") == 0) {
        request->is_load_list = true;
        return options_parse(parser, argc - 1, argv + 1);
    }
    if (argc >= 2 && strcmp(argv[0], "--check") == 0) {
        request->is_load_check = true;
        return options_load(parser, argv[1]) != 0 ? -1 : options_parse(parser, argc - 2, argv + 2);
    }
    if (argc < 1 || argv[0][0] == '-')
        return parser_fail(parser, "load needs a load, such as heavy or cpu=10ms/100ms+search; see "
                                   "hardstone-probe load --list");
    if (options_load(parser, argv[0]) != 0 || options_parse(parser, argc - 1, argv + 1) != 0)
        return -1;
    if (request->load.count == 0)
        return parser_fail(parser, "load none is no load; see hardstone-probe load --list");
    if (request->has_counts && request->duration_ns == 0)
        return parser_fail(parser, "a duration of 0 is none: give -D above 0, or leave it out");
    return 0;
}

static const struct command {
    const char *word;
    enum args_command command;
    int (*parse)(struct parser *parser, int argc, char *const argv[]);
} commands[] = {
    {"--help", ARGS_HELP, options_parse},
    {"-h", ARGS_HELP, options_parse},
    {"help", ARGS_HELP, options_parse},
    {"--version", ARGS_VERSION, options_parse},
    {"list", ARGS_LIST, options_parse},
    {"facts", ARGS_FACTS, options_parse},
    {"selftest", ARGS_SELFTEST, options_parse},
    {"run", ARGS_RUN, parse_run},
    {"dump", ARGS_DUMP, parse_dump},
    {"load", ARGS_LOAD, parse_load_command},
    {"shield", ARGS_SHIELD, parse_shield},
};

int args_parse(int argc, char *const argv[], struct request *request, char *error,
               size_t error_bytes)
{
    memset(request, 0, sizeof *request);
    request->cpu = -1;
    request->priority = -1;
    request->want_counter = true;
    request->json = !isatty(STDOUT_FILENO);
    request->called_as = argc > 0 ? argv[0] : "hardstone-probe";
    load_spec_none(&request->load);
    const char *word = argc > 1 ? argv[1] : "--help";
    struct parser parser = {word, request, error, error_bytes};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(word, commands[i].word) == 0) {
            request->command = commands[i].command;
            return commands[i].parse(&parser, argc > 2 ? argc - 2 : 0, argv + 2);
        }
    return parser_fail(
        &parser, "there is no command '%.60s'; list, run, load, facts, selftest, dump or shield",
        word);
}
