#include "base/posix_source.h"

#include "agent/agent.h"
#include "base/console.h"
#include "base/emit.h"
#include "base/status.h"
#include "command/args.h"
#include "command/commands.h"
#include "port/port.h"
#include "record/arena.h"
#include "run/life_cycle.h"
#include "run/stream.h"
#include "work/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "hardstone-probe " PROBE_VERSION ": measures the system it runs on\n"
    "\n"
    "  hardstone-probe list                   the tests and their parameters\n"
    "  hardstone-probe facts                  what this machine is, and its clocks\n"
    "  hardstone-probe selftest               whether the probe computes rightly here\n"
    "  hardstone-probe run TEST [options]     one test\n"
    "  hardstone-probe load LOAD [options]    load alone, until -D has passed, Ctrl-C, ...\n"
    "  hardstone-probe load --list            the elements of load, and the named mixes\n"
    "  hardstone-probe dump FILE              what a killed probe recorded into FILE\n"
    "  hardstone-probe shield -- COMMAND      COMMAND on a CPU that is reserved for it\n"
    "  hardstone-probe shield --show          what is reserved, and what could be\n"
    "  hardstone-probe shield --restore       restore what a killed shield left; with --forget\n"
    "                                         give up what cannot be restored\n"
    "  hardstone-probe console TOKEN CRC ...  for hardstone --target console:DEVICE, which sends "
    "it\n"
    "  hardstone-probe agent FOLDER WORD      for hardstone --target ssh://HOST, which starts it\n"
    "\n"
    "options of run:\n"
    "  -D, --duration 30s|5m|24h|300   measuring time of the whole test\n"
    "  --samples N                     values per series\n"
    "  -p NAME=VALUE[,VALUE]           a parameter of the test\n"
    "  --cpu N  --policy fifo|rr|other  --priority N|max   (default: the maximum less one)\n"
    "  --load LOAD                     load beside the test: heavy, cpu=10ms/100ms+search, ...\n"
    "  --clock auto|monotonic          the processor's counter, or CLOCK_MONOTONIC\n"
    "  --cpu-config shared|single|shielded   no reservation; all on one CPU; one CPU reserved\n"
    "  --settings LIST                 what a shield changes, out of cpuset, interrupts,\n"
    "                                  workqueues, timers, watchdog, governor, dma_latency\n"
    "  --trace                         keep the kernel's events around the largest values\n"
    "  --dma-latency-us N              no idle state that takes longer than N us to leave\n"
    "  --dir PATH                      folder for the files of tests of files, and of their load\n"
    "  --preemption MODEL              switch the kernel to this preemption model meanwhile\n"
    "  --seed N                        for random choices\n"
    "  --deadline-ns N  --duration-ns N  --counter-hz N  --until-eof  --backing FILE\n"
    "\n"
    "options of load:\n"
    "  -D, --duration TIME  --cpus 0,2-3  --until-eof  --check LOAD\n"
    "\n"
    "options of shield, before --:\n"
    "  --cpu N | --cpus LIST           what is reserved (default: an isolated CPU, else the last)\n"
    "  --policy fifo|rr|other  --priority N|max   of COMMAND (default: as it is; fifo, rr: 50)\n"
    "  --settings LIST                 only these settings\n"
    "  --verbose                       every change, and everything that could not be moved\n"
    "\n"
    "options of list:\n"
    "  --from N  --count N             only N tests, from the N-th on, counted from 0\n"
    "\n"
    "options of all:\n"
    "  --json, --text                  lines of JSON (default on a pipe) or for people\n"
    "\n"
    "exit code of run: 0 measured (also when stopped early); 2 wrong usage; 3 the test failed, "
    "ran\n"
    "out of time or was stopped before it measured; 5 a right or something of the system is\n"
    "missing; 70 internal error, or the output could not be written\n";

static int dump(struct emit *emit, const char *path, bool is_json)
{
    char reason[200];
    struct arena *arena = arena_open(path, reason, sizeof reason);
    if (!arena) {
        message_print("%s: %s", path, reason);
        return EXIT_USAGE;
    }
    (void)is_json; /* --text changes nothing: dump is a recovery tool */
    struct record *scratch = malloc(arena_scratch_bytes(arena));
    if (scratch)
        stream_dump(emit, arena, scratch);
    else
        message_print("%s: not enough memory to read it", path);
    free(scratch);
    arena_free(arena);
    return scratch ? EXIT_FINE : EXIT_INTERNAL;
}

/* Of facts, list, selftest and dump, which take seconds: they end also where a call never returns.
 * On a console each frame has the time anew, since a slow line takes longer than all of it. */
enum { DEADLINE_S = 45 };

static void give_up(int number)
{
    static const char text[] = "hardstone-probe: ended after 45 s because a system call did not "
                               "return; please report it\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(EXIT_NOT_MEASURED);
}

static void limit_life(struct console *console)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = give_up;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm(DEADLINE_S);
    if (console)
        console->life_s = DEADLINE_S;
}

/* The tool's probes end with it, also where they are not yet watching their input. */
static void end_with_tool(const struct request *request)
{
    bool is_short = request->command == ARGS_FACTS || request->command == ARGS_LIST ||
                    request->command == ARGS_DUMP || request->command == ARGS_SELFTEST;
    if (is_short)
        limit_life(request->console);
    if (is_short || request->until_eof)
        (void)port_end_with(getppid());
}

/* A cut link leaves no login for ever, and a target that nobody asks no keeper. */
static int be_agent(const struct request *request)
{
    enum { IDLE_MS = 600000, LEASE_MS = 60000, GRACE_MS = 10000, SETTLE_MS = 500 };
    if (!HS_AGENT) {
        message_print("this build has no agent");
        return EXIT_USAGE;
    }
    return agent_serve(&(struct agent){request->path, request->word, STDIN_FILENO, STDOUT_FILENO,
                                       IDLE_MS, LEASE_MS, GRACE_MS, SETTLE_MS});
}

static void list(const struct request *request, struct emit *emit)
{
    const struct register_part part = {request->is_list_part, request->list_from,
                                       request->list_count};
    if (request->json)
        register_json(emit, &part);
    else
        register_text(emit, &part);
}

static int act(const struct request *request, struct emit *emit)
{
    switch (request->command) {
    case ARGS_RUN: /* see obey */
        break;
    case ARGS_LOAD:
        return load_command(request, emit);
    case ARGS_DUMP:
        return dump(emit, request->path, request->json);
    case ARGS_SHIELD:
        return shield_command(request, emit);
    case ARGS_AGENT:
        return be_agent(request);
    case ARGS_LIST:
        list(request, emit);
        return EXIT_FINE;
    case ARGS_FACTS:
        facts_send(emit, request->want_counter, request->json);
        return EXIT_FINE;
    case ARGS_SELFTEST:
        return selftest_send(emit, request->json, &selftest_own);
    case ARGS_VERSION:
        emit_raw(emit, PROBE_VERSION "\n");
        return EXIT_FINE;
    case ARGS_HELP:
        emit_raw(emit, help);
        return EXIT_FINE;
    }
    return EXIT_INTERNAL;
}

static int answer(const struct request *request)
{
    struct emit emit;
    emit_open(&emit, STDOUT_FILENO);
    emit.console = request->console;
    int code = act(request, &emit);
    return emit_flush(&emit) != 0 && code == EXIT_FINE ? EXIT_INTERNAL : code;
}

/* A run sends with a buffer of its own: a second one would be locked memory. */
static int obey(const struct request *request)
{
    end_with_tool(request);
    return request->command == ARGS_RUN ? run_test(request) : answer(request);
}

/* ---- signals whose actions main changes ---- */

enum { KEY_SIGNALS = 3, OWN_SIGNALS };
static const int own_signals[OWN_SIGNALS] = {SIGINT, SIGQUIT, SIGTSTP, SIGALRM};

static void keep_signals(struct sigaction before[OWN_SIGNALS])
{
    for (int i = 0; i < OWN_SIGNALS; i++)
        sigaction(own_signals[i], NULL, &before[i]);
}

/* On a system with one process the alarm would end whatever runs next. */
static void give_back_signals(const struct sigaction before[OWN_SIGNALS])
{
    alarm(0);
    for (int i = 0; i < OWN_SIGNALS; i++)
        sigaction(own_signals[i], &before[i], NULL);
}

/* Of a terminal whose line has noise, which may look like Ctrl-C: the letter `s` stops a run, and
 * a run takes Ctrl-C as well. */
static void ignore_keys(void)
{
    for (int i = 0; i < KEY_SIGNALS; i++)
        signal(own_signals[i], SIG_IGN);
}

/* What the words ask for. 0, or -1 with a message on the console. A host whose line was damaged may
 * have another token, and wait for the prompt. */
static int parse_on_console(int argc, char *argv[], struct request *request,
                            struct console *console)
{
    enum { DAMAGED_WAIT_S = 5 };
    char error[ARGS_ERROR_BYTES];
    char **words = argv + CONSOLE_WORDS - 1;
    int is_damaged = console_check_sum(argc, argv, error, sizeof error);
    words[0] = argv[0];
    if (is_damaged)
        console->wait_ns = DAMAGED_WAIT_S * CLOCK_NS_PER_S;
    if (!is_damaged &&
        args_parse(argc - CONSOLE_WORDS + 1, words, request, error, sizeof error) == 0 &&
        console_check_command(request, words[1], error, sizeof error) == 0)
        return 0;
    message_print("%s", error);
    return -1;
}

/* A run sends its own passes again (run/run.c): it must not measure again. */
static int serve_console(int argc, char *argv[], struct request *request)
{
    struct console console;
    console_open(&console, argv[2], STDIN_FILENO, STDOUT_FILENO);
    message_to(&console);
    ignore_keys();
    int code = EXIT_USAGE, is_refused = parse_on_console(argc, argv, request, &console);
    request->console = &console;
    do {
        console_begin(&console);
        if (!is_refused) {
            console_forget_messages(&console);
            code = obey(request);
        }
        console_end(&console, code);
    } while (console_is_asked_again(&console));
    message_to(NULL);
    request->console = NULL;
    return console.error && code == EXIT_FINE ? EXIT_INTERNAL : code;
}

/* Whether the words can be obeyed; else a message says why not. */
static bool parse(int argc, char *argv[], bool is_on_console, struct request *request)
{
    char error[ARGS_ERROR_BYTES];
    if (is_on_console ? console_check_form(argc, argv, error, sizeof error) == 0
                      : args_parse(argc, argv, request, error, sizeof error) == 0)
        return true;
    message_print("%s", error);
    return false;
}

int main(int argc, char *argv[])
{
    struct request request;
    message_to(NULL); /* where programs share their memory, this one may have run before */
    port_trim_heap();
    if (argc == 3 && strcmp(argv[1], JOB_COMMAND) == 0)
        return job_main(argv[2]);
    bool is_on_console = argc > 1 && strcmp(argv[1], "console") == 0;
    if (!parse(argc, argv, is_on_console, &request))
        return EXIT_USAGE;
    struct sigaction before[OWN_SIGNALS];
    keep_signals(before);
    int code = is_on_console ? serve_console(argc, argv, &request) : obey(&request);
    give_back_signals(before);
    return code;
}
