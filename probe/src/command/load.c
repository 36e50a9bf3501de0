#include "base/posix_source.h"

#include "command/commands.h"

#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"
#include "load/load.h"
#include "load/report.h"
#include "load/spec.h"
#include "run/stream.h"
#include "shield/shield.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#if HS_LOAD

#define YEAR_NS (INT64_C(366) * 86400 * 1000000000)
#define START_NS INT64_C(300000000000) /* for the load to start */
#define SHOW_NS INT64_C(1000000000)

static volatile sig_atomic_t is_asked_to_end;

static void on_signal(int number)
{
    (void)number;
    is_asked_to_end = 1;
}

static bool should_stop(void)
{
    return is_asked_to_end != 0;
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static void take_signals(struct sigaction before[NUMBERS])
{
    struct sigaction action;
    is_asked_to_end = 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &action, &before[i]);
}

/* The process may go on, as on a system that has only one. */
static void give_back_signals(const struct sigaction before[NUMBERS])
{
    for (int i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &before[i], NULL);
}

/* ---- which CPUs ---- */

static int complain(const char *text)
{
    message_print("%s", text);
    return EXIT_USAGE;
}

static int choose_cpus(const struct request *request, struct load_setup *setup)
{
    setup->cpu_count = port_allowed_cpus(&setup->cpus);
    if (!request->has_cpus)
        return 0;
    if (setup->cpu_count < 0)
        return complain("--cpus: this port cannot choose a CPU; leave it out");
    struct cpus refused = cpus_without(&request->cpus, &setup->cpus), allowed = setup->cpus;
    setup->cpus = request->cpus;
    setup->cpu_count = cpus_count(&request->cpus);
    int cpu = cpus_first(&refused);
    if (cpu < 0)
        return 0;
    char text[500], remedy[200], list[160];
    cpus_format_list(&allowed, list, sizeof list);
    snprintf(text, sizeof text,
             "--cpus: CPU %d does not exist, or this process may not use it: it may use %s; %s",
             cpu, list, remedy_text(shield_remedy(cpu), remedy, sizeof remedy));
    return complain(text);
}

/* ---- while it runs ---- */

static bool input_ended(void)
{
    char ignored[256];
    ssize_t got = read(STDIN_FILENO, ignored, sizeof ignored);
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

static void show_progress(const struct request *request, int64_t since_ns)
{
    int64_t seconds = (clock_monotonic_ns() - since_ns) / 1000000000;
    if (request->json || !isatty(STDERR_FILENO))
        return;
    if (request->duration_ns > 0)
        fprintf(stderr, "\rload: %lld of %lld s ", (long long)seconds,
                (long long)(request->duration_ns / 1000000000));
    else
        fprintf(stderr, "\rload: %lld s, Ctrl-C ends it ", (long long)seconds);
}

static void wait_for_end(const struct request *request)
{
    int64_t start_ns = clock_monotonic_ns();
    int64_t until_ns = start_ns + (request->duration_ns > 0 ? request->duration_ns : YEAR_NS);
    int64_t left_ns;
    while (!is_asked_to_end && (left_ns = until_ns - clock_monotonic_ns()) > 0) {
        struct timespec moment = clock_ns_timespec(left_ns < SHOW_NS ? left_ns : SHOW_NS);
        fd_set watched;
        FD_ZERO(&watched);
        if (request->until_eof)
            FD_SET(STDIN_FILENO, &watched);
        /* a signal between the check and pselect delays the end by SHOW_NS at most */
        int ready = pselect(STDIN_FILENO + 1, &watched, NULL, NULL, &moment, NULL);
        if (ready > 0 && input_ended())
            return;
        show_progress(request, start_ns);
    }
}

/* ---- what is sent ---- */

static void send_event(void *context, const char *name, int64_t at_ns, const struct datum *data,
                       const char *text)
{
    struct emit *emit = context;
    char packed[HS_ARENA_DATA_BYTES];
    (void)at_ns;
    data_pack(packed, sizeof packed, data);
    emit_begin_object(emit);
    emit_member_text(emit, "type", "event");
    emit_member_text(emit, "name", name);
    emit_member_null(emit, "at_ns");
    emit_key(emit, "data");
    data_emit(emit, packed, sizeof packed);
    emit_member_text(emit, "text", text);
    emit_end_object(emit);
    emit_line(emit);
}

static void report_event(void *context, const char *name, int64_t at_ns, const struct datum *data,
                         const char *text)
{
    (void)name, (void)at_ns, (void)data;
    emit_format(context, "note  %s\n", text);
}

static void send_header(struct emit *emit, const struct load_spec *spec)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    emit_begin_object(emit);
    emit_member_text(emit, "type", "header");
    emit_member_text(emit, "schema", "hardstone.load/1");
    emit_member_text(emit, "probe_version", PROBE_VERSION);
    emit_member_text(emit, "load", spec->text);
    emit_member_integer(emit, "started_utc_ns", clock_timespec_ns(&now));
    emit_end_object(emit);
    emit_line(emit);
}

static void send_result(struct emit *emit, const struct load *load, bool is_json)
{
    if (!is_json) {
        load_table(emit, load);
        load_events(load, report_event, emit);
        return;
    }
    load_events(load, send_event, emit);
    load_lines(emit, load);
    emit_begin_object(emit);
    emit_member_text(emit, "type", "footer");
    emit_member_integer(emit, "lines", (int64_t)emit->line_count);
    emit_end_object(emit);
    emit_line(emit);
}

static int refuse(const struct outcome *outcome)
{
    char remedy[STATUS_TEXT_BYTES + STATUS_COMMAND_BYTES];
    message_print("%s; %s", outcome->reason, outcome_remedy_text(outcome, remedy, sizeof remedy));
    return EXIT_MISSING;
}

/* Starting many processes keeps the CPUs busy before the requested duration begins. */
static void report_start(const struct load_setup *setup)
{
    enum { MANY = 500 };
    int processes = load_processes(setup);
    if (processes > MANY)
        message_print("starting %d processes; this may take up to %lld s", processes,
                      (long long)(load_patience_ns(processes) / 1000000000));
}

static int run_load(const struct request *request, const struct load_setup *setup,
                    struct emit *emit)
{
    struct load load;
    struct outcome outcome = {0};
    const char *call;
    int error = clock_check_sleep(&call);
    if (error) {
        outcome_set_errno(&outcome, error, call, CLOCK_SLEEP_REMEDY);
        return refuse(&outcome);
    }
    if (!clock_advances()) {
        outcome_set(&outcome, STATUS_FAILED, CLOCK_STANDS_STILL_REMEDY,
                    CLOCK_STANDS_STILL ": no load would end");
        return refuse(&outcome);
    }
    report_start(setup);
    if (load_start(&load, setup, &outcome) != 0) {
        load_free(&load);
        return refuse(&outcome);
    }
    bool is_recovered = load_settle(&load, should_stop);
    if (!is_recovered && load_deny(&load, &outcome) != 0) {
        load_free(&load);
        return refuse(&outcome);
    }
    if (request->json)
        send_header(emit, setup->spec);
    load_teller *tell = request->json ? send_event : report_event;
    if (!is_recovered)
        load_unsettled_events(&load, tell, emit);
    else if (request->json)
        send_event(emit, "load_runs", -1, NO_DATA, "every process of the load is working");
    load_begin(&load);
    if (emit_flush(emit) == 0)
        wait_for_end(request);
    load_end(&load);
    load_stop(&load);
    if (!request->json && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%40s\r", "");
    send_result(emit, &load, request->json);
    load_free(&load);
    return emit_flush(emit) == 0 ? EXIT_FINE : EXIT_INTERNAL;
}

int load_command(const struct request *request, struct emit *emit)
{
    struct load_setup setup = {
        .spec = &request->load, .called_as = request->called_as, .seed = request->seed};
    if (request->is_load_list) {
        (request->json ? load_list_json : load_list_text)(emit);
        return EXIT_FINE;
    }
    int code = choose_cpus(request, &setup);
    struct outcome outcome = {0};
    if (code != 0)
        return code;
    if (request->is_load_check)
        return load_check(setup.spec, &outcome) != 0 ? refuse(&outcome) : EXIT_FINE;
    setup.limit_ns = clock_monotonic_ns() + START_NS +
                     (request->duration_ns > 0 ? request->duration_ns : YEAR_NS);
    struct sigaction before[NUMBERS];
    take_signals(before);
    code = run_load(request, &setup, emit);
    give_back_signals(before);
    return code;
}

#else

/* A build without load, which links nothing of load/: requests for load are refused with a reason.
 */

#define WHY "this build has no load"
#define REMEDY "build the probe with -Dload=true"

/* Accepts any text as one term without an element, so that a run's result can say why it has no
 * load. */
int load_spec_parse(const char *text, struct load_spec *spec, char *error, size_t error_bytes)
{
    *spec = LOAD_SPEC_NONE;
    if (strcmp(text, "none") == 0)
        return 0;
    spec->count = 1;
    if ((size_t)snprintf(spec->text, sizeof spec->text, "%s", text) < sizeof spec->text)
        return 0;
    snprintf(error, error_bytes, WHY "; " REMEDY);
    return -1;
}

int load_start(struct load *load, const struct load_setup *setup, struct outcome *outcome)
{
    memset(load, 0, sizeof *load);
    load->setup = *setup;
    if (setup->spec->count == 0)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, REMEDY, WHY);
}

void load_wait_ready(struct load *load)
{
    (void)load;
}

int load_deny(const struct load *load, struct outcome *outcome)
{
    (void)load, (void)outcome;
    return 0;
}

bool load_settle(struct load *load, bool (*should_stop)(void))
{
    (void)load, (void)should_stop;
    return true;
}

void load_begin(struct load *load)
{
    (void)load;
}

void load_end(struct load *load)
{
    (void)load;
}

void load_stop(struct load *load)
{
    (void)load;
}

void load_free(struct load *load)
{
    (void)load;
}

void load_unsettled_events(const struct load *load, load_teller *tell, void *context)
{
    (void)load, (void)tell, (void)context;
}

void load_events(const struct load *load, load_teller *tell, void *context)
{
    (void)load, (void)tell, (void)context;
}

void load_lines(struct emit *emit, const struct load *load)
{
    (void)emit, (void)load;
}

void load_table(struct emit *emit, const struct load *load)
{
    (void)emit, (void)load;
}

int load_command(const struct request *request, struct emit *emit)
{
    (void)request, (void)emit;
    message_print(WHY "; " REMEDY);
    return EXIT_MISSING;
}

#endif
