/* The kernel's tracing: an instance of tracefs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/tracing.h"

#include "base/guard.h"
#include "port/linux/trace_page.h"
#include "port/linux/tracefs.h"
#include "port/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- files of tracefs ---- */

static const char lockdown_path[] = "/sys/kernel/security/lockdown";
static const char as_root[] = "run it as root (sudo)";

/* Lockdown "confidentiality" refuses tracefs to everybody; "integrity" does not. */
static bool is_locked_down(void)
{
    char text[64];
    return linux_read(lockdown_path, text, sizeof text) && strstr(text, "[confidentiality]");
}

static int refuse_locked_down(struct outcome *outcome)
{
    return outcome_set(outcome, STATUS_DENIED, "boot without lockdown=confidentiality",
                       "the kernel is locked down (confidentiality) and refuses tracing");
}

static int refuse_namespace(struct outcome *outcome)
{
    return outcome_set(outcome, STATUS_UNSUPPORTED, "run it outside the user namespace",
                       "this process is in a user namespace (a rootless container), whose root may "
                       "neither mount nor open tracefs");
}

int tracefs_refuse(struct outcome *outcome, int error, const char *what)
{
    if (error == EPERM && is_locked_down())
        return refuse_locked_down(outcome);
    if ((error == EPERM || error == EACCES || error == EROFS) && linux_in_user_namespace())
        return refuse_namespace(outcome);
    if (error == EPERM || error == EACCES || error == EROFS)
        return outcome_set(outcome, STATUS_DENIED, as_root, "%s: %s", what, strerror(error));
    return outcome_set_errno(outcome, error, what, NULL);
}

static int try_place(const char *place)
{
    char path[TRACEFS_PATH_BYTES], full[LINUX_PLACE_BYTES];
    snprintf(path, sizeof path, "%s/instances", place);
    int folder = open(linux_rooted(path, full), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno;
    close(folder);
    snprintf(path, sizeof path, "%s/available_tracers", place);
    int file = open(linux_rooted(path, full), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    close(file);
    return 0;
}

static bool is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

const char *tracefs_find(struct outcome *outcome)
{
    static const char *const places[] = {TRACEFS_PLACE, TRACEFS_OLD_PLACE};
    int refusal = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int error = try_place(places[i]);
        if (error == 0)
            return places[i];
        if (!is_missing(error) && refusal == 0)
            refusal = error;
    }
    if (refusal)
        tracefs_refuse(outcome, refusal, TRACEFS_PLACE);
    else if (is_locked_down())
        refuse_locked_down(outcome);
    else if (linux_exists(TRACEFS_PLACE) && linux_in_user_namespace())
        refuse_namespace(outcome);
    else if (linux_exists(TRACEFS_PLACE))
        outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                           (struct remedy){"mount it", "mount -t tracefs tracefs " TRACEFS_PLACE},
                           "tracefs is not mounted");
    else
        outcome_set(outcome, STATUS_UNSUPPORTED, "use a kernel with CONFIG_FTRACE",
                    "the kernel has no tracefs");
    return NULL;
}

int tracefs_write(const char *path, const char *text, const char *kept)
{
    char full[LINUX_PLACE_BYTES], now[TRACEFS_TEXT_BYTES];
    int file = open(linux_rooted(path, full), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0)
        return errno;
    size_t length = strlen(text);
    ssize_t done = write(file, text, length);
    int error = done < 0 ? errno : done != (ssize_t)length ? EIO : 0;
    close(file);
    if (error || !kept)
        return error;
    if (!linux_read_any(path, now, sizeof now))
        return errno ? errno : EIO;
    return strstr(now, kept) ? 0 : EAGAIN;
}

int tracefs_open(const char *path, int flags)
{
    char full[LINUX_PLACE_BYTES];
    return open(linux_rooted(path, full), flags | O_CLOEXEC);
}

bool tracefs_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " \n")) {
        size_t span = strcspn(at, " \n");
        if (span == length && strncmp(at, word, length) == 0)
            return true;
        at += span;
    }
    return false;
}

/* ---- instances ---- */

void tracefs_instance_name(pid_t process, char *name, size_t bytes)
{
    snprintf(name, bytes, TRACEFS_INSTANCE "%ld-%" PRIu64, (long)process,
             port_process_start(process));
}

/* The start time tells a process from a later one with its id. */
bool tracefs_is_left(const char *name)
{
    char *end;
    size_t prefix = sizeof TRACEFS_INSTANCE - 1;
    if (strncmp(name, TRACEFS_INSTANCE, prefix) != 0 || name[prefix] < '1' || name[prefix] > '9')
        return false;
    errno = 0;
    long process = strtol(name + prefix, &end, 10);
    if (errno || process > INT32_MAX || *end != '-' || end[1] < '0' || end[1] > '9')
        return false;
    uint64_t start = strtoull(end + 1, &end, 10);
    if (errno || (*end != '\0' && *end != '.'))
        return false;
    if (kill((pid_t)process, 0) != 0 && errno == ESRCH)
        return true;
    uint64_t now = port_process_start((pid_t)process);
    return start > 0 && now > 0 && now != start;
}

int tracefs_remove(const char *path)
{
    char full[LINUX_PLACE_BYTES];
    return rmdir(linux_rooted(path, full)) == 0 || errno == ENOENT ? 0 : errno;
}

/* The kernel keeps an instance of which somebody has a file open (EBUSY): one whose owner is in
 * another PID namespace, and looks as if it had ended, loses nothing. */
int tracefs_remove_left(const char *place)
{
    char path[TRACEFS_PATH_BYTES + 256];
    snprintf(path, sizeof path, "%s/instances", place);
    int count = 0;
    DIR *folder = linux_open_folder(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!tracefs_is_left(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/instances/%s", place, entry->d_name);
        count += tracefs_remove(path) == 0 ? 1 : 0;
    }
    if (folder)
        closedir(folder);
    return count;
}

/* ---- an instance of it ---- */

/* FLAG_HARD_INTERRUPT: TRACE_FLAG_HARDIRQ of the kernel. */
enum { PAGES_A_CALL = 1024, FLAG_HARD_INTERRUPT = 0x08, FILE_BYTES = TRACEFS_PATH_BYTES + 300 };
enum { REMOVE_TRIES = 500, REMOVE_PAUSE_NS = 20000000 };

struct kind {
    unsigned id;
    struct trace_field fields[PORT_TRACING_FIELDS], text;
    int field_count;
};

struct port_tracing {
    struct port_tracing_wish wish;
    struct kind kinds[PORT_TRACING_KINDS];
    struct trace_field type, flags;
    struct trace_layout layout;
    char path[TRACEFS_PATH_BYTES]; /* of the instance */
    struct guard guard; /* removes the instance if its owner ends: the kernel would go on */
    int switch_file;    /* tracing_on, for port_tracing_stop */
    int rings[PORT_CPUS];
    uint8_t *page;
};

/* ---- what there is ---- */

static void event_path(char path[FILE_BYTES], const char *place,
                       const struct port_tracing_kind *kind, const char *file)
{
    snprintf(path, FILE_BYTES, "%s/events/%.60s/%.60s/%s", place, kind->system, kind->name, file);
}

static int look_at_tracer(const char *place, const char *tracer, struct outcome *outcome)
{
    char path[FILE_BYTES], list[1024];
    if (!tracer)
        return 0;
    snprintf(path, sizeof path, "%s/available_tracers", place);
    if (!linux_read_any(path, list, sizeof list))
        return tracefs_refuse(outcome, errno, path);
    if (tracefs_has_word(list, tracer))
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, "use a kernel that has it",
                       "the kernel has no tracer %s", tracer);
}

static int look_at_kind(const char *place, const struct port_tracing_kind *kind,
                        struct outcome *outcome)
{
    char path[FILE_BYTES];
    event_path(path, place, kind, "format");
    if (linux_exists(path))
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, "use a kernel that has it",
                       "the kernel has no event %s/%s", kind->system, kind->name);
}

/* Events name threads by their ids in the first PID namespace. timerlat's events name none. */
static int look_at_ids(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    char own[64];
    if (wish->tracer || !linux_link("/proc/self/ns/pid", own, sizeof own) ||
        strcmp(own, LINUX_FIRST_PIDS) == 0)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED,
                       linux_in_user_namespace()
                           ? "run it outside the container"
                           : "run it outside the container, or with the host's PID namespace",
                       "the thread IDs in the kernel's events are not those of this PID namespace");
}

static const char *look(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    const char *place = look_at_ids(wish, outcome) == 0 ? tracefs_find(outcome) : NULL;
    if (!place || look_at_tracer(place, wish->tracer, outcome) != 0)
        return NULL;
    for (int i = 0; i < wish->kind_count; i++)
        if (look_at_kind(place, &wish->kinds[i], outcome) != 0)
            return NULL;
    return place;
}

int port_tracing_look(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    return look(wish, outcome) ? 0 : -1;
}

void port_tracing_name(char *name, size_t bytes)
{
    tracefs_instance_name(getpid(), name, bytes);
}

static bool is_mounted(const char *place)
{
    struct linux_lines lines;
    struct linux_mount mount;
    char line[1024];
    bool is_found = false;
    if (!linux_lines_open(&lines, "/proc/self/mounts"))
        return false;
    while (!is_found && linux_lines_next(&lines, line, sizeof line))
        is_found = linux_mount_read(line, &mount) && strcmp(mount.place, place) == 0;
    linux_lines_close(&lines);
    return is_found;
}

/* Where only debugfs has it, a look would mount it. */
int port_tracing_remove_left(void)
{
    int count = tracefs_remove_left(TRACEFS_PLACE);
    if (is_mounted(TRACEFS_OLD_PLACE))
        count += tracefs_remove_left(TRACEFS_OLD_PLACE);
    return count;
}

pid_t port_tracing_thread(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* ---- formats ---- */

static int misses(struct outcome *outcome, const char *path, const char *what)
{
    return outcome_set(outcome, STATUS_UNSUPPORTED, NULL, "%s has no %s in a known form", path,
                       what);
}

static int read_kind(struct port_tracing *tracing, int index, char *text, struct outcome *outcome)
{
    const struct port_tracing_kind *wanted = &tracing->wish.kinds[index];
    struct kind *kind = &tracing->kinds[index];
    char path[FILE_BYTES];
    event_path(path, tracing->path, wanted, "format");
    if (!linux_read(path, text, TRACEFS_TEXT_BYTES))
        return tracefs_refuse(outcome, errno ? errno : ENOENT, path);
    if (!trace_format_id(text, &kind->id) ||
        !trace_format_field(text, "common_type", &tracing->type) ||
        !trace_format_field(text, "common_flags", &tracing->flags))
        return misses(outcome, path, "number");
    for (int i = 0; i < PORT_TRACING_FIELDS && wanted->fields[i]; i++, kind->field_count++)
        if (!trace_format_field(text, wanted->fields[i], &kind->fields[i]))
            return misses(outcome, path, wanted->fields[i]);
    if (wanted->text && !trace_format_field(text, wanted->text, &kind->text))
        return misses(outcome, path, wanted->text);
    return 0;
}

static int read_formats(struct port_tracing *tracing, struct outcome *outcome)
{
    char path[FILE_BYTES], text[TRACEFS_TEXT_BYTES];
    snprintf(path, sizeof path, "%s/events/header_page", tracing->path);
    if (!linux_exists(path)) /* an instance has none of its own before Linux 5.x */
        snprintf(path, sizeof path, "%.*s/events/header_page",
                 (int)(strstr(tracing->path, "/instances/") - tracing->path), tracing->path);
    if (!linux_read(path, text, sizeof text))
        return tracefs_refuse(outcome, errno ? errno : ENOENT, path);
    if (!trace_layout_parse(text, &tracing->layout))
        return misses(outcome, path, "layout");
    tracing->page = malloc(tracing->layout.page_bytes);
    if (!tracing->page)
        return outcome_set_errno(outcome, ENOMEM, "memory for a page of the trace", NULL);
    memset(tracing->page, 0, tracing->layout.page_bytes);
    for (int i = 0; i < tracing->wish.kind_count; i++)
        if (read_kind(tracing, i, text, outcome) != 0)
            return -1;
    return 0;
}

/* ---- opening ---- */

static int set(const struct port_tracing *tracing, const char *file, const char *text,
               const char *kept, struct outcome *outcome)
{
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s/%s", tracing->path, file);
    int error = tracefs_write(path, text, kept);
    if (error == EAGAIN)
        return outcome_set(outcome, STATUS_UNSUPPORTED, NULL, "%s did not keep the value '%s'",
                           path, text);
    return error ? tracefs_refuse(outcome, error, path) : 0;
}

static int make(const struct port_tracing *tracing, struct outcome *outcome)
{
    char full[LINUX_PLACE_BYTES];
    int error = mkdir(linux_rooted(tracing->path, full), 0700) == 0 ? 0 : errno;
    return error ? tracefs_refuse(outcome, error, tracing->path) : 0;
}

/* An instance begins with the same ring for each CPU of the machine, 1.4 MB: those that are not
 * traced keep the least. */
static int size_rings(const struct port_tracing *tracing, struct outcome *outcome)
{
    const struct port_tracing_wish *wish = &tracing->wish;
    char size[32], file[64];
    snprintf(size, sizeof size, "%lld", (long long)((wish->bytes_per_cpu + 1023) / 1024));
    if (set(tracing, "buffer_size_kb", "4", NULL, outcome) != 0)
        return -1;
    for (int cpu = cpus_first(&wish->cpus); cpu >= 0; cpu = cpus_next(&wish->cpus, cpu)) {
        snprintf(file, sizeof file, "per_cpu/cpu%d/buffer_size_kb", cpu);
        if (set(tracing, file, size, NULL, outcome) != 0)
            return -1;
    }
    return 0;
}

static int configure(struct port_tracing *tracing, struct outcome *outcome)
{
    char mask[CPUS_TEXT_BYTES];
    const struct port_tracing_wish *wish = &tracing->wish;
    cpus_format_mask(&wish->cpus, mask, sizeof mask);
    if (set(tracing, "tracing_on", "0", "0", outcome) != 0 ||
        set(tracing, "trace_clock", "mono", "[mono]", outcome) != 0 ||
        size_rings(tracing, outcome) != 0 ||
        set(tracing, "tracing_cpumask", mask, NULL, outcome) != 0)
        return -1;
    return 0;
}

static int open_switch(struct port_tracing *tracing, struct outcome *outcome)
{
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s/tracing_on", tracing->path);
    tracing->switch_file = tracefs_open(path, O_WRONLY);
    return tracing->switch_file >= 0 ? 0 : tracefs_refuse(outcome, errno, path);
}

static int open_rings(struct port_tracing *tracing, struct outcome *outcome)
{
    const struct cpus *cpus = &tracing->wish.cpus;
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        char path[FILE_BYTES];
        snprintf(path, sizeof path, "%s/per_cpu/cpu%d/trace_pipe_raw", tracing->path, cpu);
        tracing->rings[cpu] = tracefs_open(path, O_RDONLY | O_NONBLOCK);
        if (tracing->rings[cpu] < 0)
            return tracefs_refuse(outcome, errno, path);
    }
    return 0;
}

/* Other processes that end with the owner may have files of the instance open a little longer. */
static void remove_instance(void *instance)
{
    static const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
    char path[TRACEFS_PATH_BYTES + 20];
    snprintf(path, sizeof path, "%s/tracing_on", (const char *)instance);
    (void)tracefs_write(path, "0", NULL);
    for (int i = 0; i < REMOVE_TRIES && tracefs_remove(instance) != 0; i++)
        nanosleep(&pause, NULL);
}

/* Before the instance is made. timerlat's has the guard of its settings, which removes it before it
 * puts them back. */
static int start_guard(struct port_tracing *tracing, struct outcome *outcome)
{
    if (tracing->wish.tracer)
        return 0;
    const struct guard_duty duty = {.watch = GUARD_BY_SIGNAL,
                                    .name = "hs-trace-guard",
                                    .kept = -1,
                                    .undo = remove_instance,
                                    .context = tracing->path};
    int error = guard_start(&tracing->guard, &duty);
    if (!error)
        return 0;
    return outcome_set_errno(outcome, error,
                             "starting the process that removes the trace after a kill", NULL);
}

/* The tracer last of all before the rings: once one of them is open, the kernel refuses to change
 * it.
 */
static int fill(struct port_tracing *tracing, struct outcome *outcome)
{
    if (configure(tracing, outcome) != 0 || read_formats(tracing, outcome) != 0)
        return -1;
    if (tracing->wish.tracer &&
        set(tracing, "current_tracer", tracing->wish.tracer, tracing->wish.tracer, outcome) != 0)
        return -1;
    return open_switch(tracing, outcome) != 0 ? -1 : open_rings(tracing, outcome);
}

struct port_tracing *port_tracing_open(const struct port_tracing_wish *wish,
                                       struct outcome *outcome)
{
    const char *place = look(wish, outcome);
    char name[64], left[TRACEFS_PATH_BYTES];
    if (!place)
        return NULL;
    struct port_tracing *tracing = calloc(1, sizeof *tracing);
    if (!tracing) {
        outcome_set_errno(outcome, ENOMEM, "memory for tracing", NULL);
        return NULL;
    }
    tracing->wish = *wish;
    tracing->switch_file = -1;
    for (int i = 0; i < PORT_CPUS; i++)
        tracing->rings[i] = -1;
    port_tracing_name(name, sizeof name);
    snprintf(tracing->path, sizeof tracing->path, "%s/instances/%s%s%.20s", place, name,
             wish->purpose ? "." : "", wish->purpose ? wish->purpose : "");
    tracefs_remove_left(place);
    if (start_guard(tracing, outcome) != 0 || make(tracing, outcome) != 0) {
        guard_dismiss(&tracing->guard);
        free(tracing);
        return NULL;
    }
    if (fill(tracing, outcome) == 0)
        return tracing;
    port_tracing_close(tracing, left, sizeof left);
    return NULL;
}

/* ---- at work ---- */

int port_tracing_filter(struct port_tracing *tracing, int kind, const char *expression)
{
    char path[FILE_BYTES];
    event_path(path, tracing->path, &tracing->wish.kinds[kind], "filter");
    return tracefs_write(path, expression, NULL);
}

int port_tracing_start(struct port_tracing *tracing, struct outcome *outcome)
{
    for (int i = 0; i < tracing->wish.kind_count; i++) {
        char path[FILE_BYTES];
        if (tracing->wish.kinds[i].is_recorded_by_tracer)
            continue;
        event_path(path, tracing->path, &tracing->wish.kinds[i], "enable");
        int error = tracefs_write(path, "1", "1");
        if (error)
            return tracefs_refuse(outcome, error, path);
    }
    return set(tracing, "tracing_on", "1", "1", outcome);
}

bool port_tracing_is_on(const struct port_tracing *tracing)
{
    char path[FILE_BYTES];
    int64_t is_on;
    snprintf(path, sizeof path, "%s/tracing_on", tracing->path);
    return linux_read_number(path, &is_on) && is_on == 1;
}

int port_tracing_stop(struct port_tracing *tracing)
{
    return pwrite(tracing->switch_file, "0", 1, 0) == 1 ? 0 : errno;
}

static void tell_lost(int64_t at_ns, uint64_t count, port_tracing_visit visit, void *context)
{
    struct port_tracing_event event = {.at_ns = at_ns, .kind = PORT_TRACING_LOST};
    event.field[0] = (int64_t)count;
    visit(&event, context);
}

/* Delivers an entry that is of a kind of the wish, and whole. */
static bool deliver(const struct port_tracing *tracing, const struct trace_entry *entry,
                    port_tracing_visit visit, void *context)
{
    int64_t id, flags;
    if (!trace_field_number(&tracing->type, entry->data, entry->bytes, &id) ||
        !trace_field_number(&tracing->flags, entry->data, entry->bytes, &flags))
        return false;
    int index = 0;
    while (index < tracing->wish.kind_count && tracing->kinds[index].id != (unsigned)id)
        index++;
    if (index == tracing->wish.kind_count)
        return true;
    const struct kind *kind = &tracing->kinds[index];
    struct port_tracing_event event = {.at_ns = entry->at_ns,
                                       .kind = index,
                                       .is_in_interrupt = (flags & FLAG_HARD_INTERRUPT) != 0};
    for (int i = 0; i < kind->field_count; i++)
        if (!trace_field_number(&kind->fields[i], entry->data, entry->bytes, &event.field[i]))
            return false;
    if (kind->text.offset > entry->bytes || kind->text.bytes > entry->bytes - kind->text.offset)
        return false;
    event.text = (const char *)entry->data + kind->text.offset;
    event.text_bytes = kind->text.bytes;
    visit(&event, context);
    return true;
}

static void read_page(const struct port_tracing *tracing, size_t bytes, port_tracing_visit visit,
                      void *context)
{
    struct trace_page page;
    struct trace_entry entry;
    bool is_whole = true;
    if (!trace_page_open(&page, &tracing->layout, tracing->page, bytes)) {
        tell_lost(INT64_MAX, 0, visit, context);
        return;
    }
    if (page.has_lost)
        tell_lost(page.first_ns, page.lost_count, visit, context);
    while (is_whole && trace_page_next(&page, &entry))
        is_whole = deliver(tracing, &entry, visit, context);
    if (!is_whole || page.is_damaged)
        tell_lost(page.time_ns, 0, visit, context);
}

int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context)
{
    for (int i = 0; i < PAGES_A_CALL; i++) {
        ssize_t got = read(tracing->rings[cpu], tracing->page, tracing->layout.page_bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (got < 0 && errno == EAGAIN))
            return 0;
        if (got < 0)
            return -1;
        read_page(tracing, (size_t)got, visit, context);
    }
    return 1;
}

int port_tracing_close(struct port_tracing *tracing, char *path, size_t bytes)
{
    if (tracing->switch_file >= 0)
        close(tracing->switch_file);
    for (int i = 0; i < PORT_CPUS; i++)
        if (tracing->rings[i] >= 0)
            close(tracing->rings[i]);
    snprintf(path, bytes, "%s", tracing->path);
    int error = tracefs_remove(tracing->path);
    guard_dismiss(&tracing->guard);
    free(tracing->page);
    free(tracing);
    return error;
}

/* ---- timerlat ----
 *
 * timerlat's interface for threads of programs (Linux 6.5 and later). */

/* osnoise and timerlat share their settings and their threads. */
static bool uses_it(const char *folder)
{
    char path[FILE_BYTES], tracer[64];
    snprintf(path, sizeof path, "%.500s/current_tracer", folder);
    return linux_read(path, tracer, sizeof tracer) &&
           (strcmp(tracer, "timerlat") == 0 || strcmp(tracer, "osnoise") == 0);
}

static bool is_used_in_instance(const char *place, char *name, size_t bytes)
{
    char path[FILE_BYTES];
    bool is_used = false;
    snprintf(path, sizeof path, "%s/instances", place);
    DIR *folder = linux_open_folder(path);
    for (struct dirent *entry; folder && !is_used && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/instances/%s", place, entry->d_name);
        is_used = entry->d_name[0] != '.' && uses_it(path);
        if (is_used)
            snprintf(name, bytes, "in the instance %.100s", entry->d_name);
    }
    if (folder)
        closedir(folder);
    return is_used;
}

static int look_at_use(const char *place, struct outcome *outcome)
{
    char where[128] = "at the top";
    if (!uses_it(place) && !is_used_in_instance(place, where, sizeof where))
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, "wait until it ends",
                       "timerlat or osnoise is in use by another program (%s), and has one "
                       "period for all",
                       where);
}

/* A bound that somebody has set would stop the tracer in the middle. */
static int look_at_bounds(const char *place, struct outcome *outcome)
{
    static const char *const names[] = {"stop_tracing_us", "stop_tracing_total_us"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[FILE_BYTES];
        int64_t us;
        snprintf(path, sizeof path, "%s/osnoise/%s", place, names[i]);
        if (linux_read_number(path, &us) && us != 0)
            return outcome_set(outcome, STATUS_UNSUPPORTED, "write 0 to it",
                               "%s is %lld: timerlat would stop there", path, (long long)us);
    }
    return 0;
}

static int look_at_period(int64_t period_us, struct outcome *outcome)
{
    if (period_us >= PORT_TIMERLAT_LEAST_US && period_us <= PORT_TIMERLAT_MOST_US)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, "choose interval_ns in this range",
                       "timerlat takes a period of %d to %d us", PORT_TIMERLAT_LEAST_US,
                       PORT_TIMERLAT_MOST_US);
}

int port_timerlat_look(int64_t period_us, struct outcome *outcome)
{
    static const struct port_tracing_wish wish = {.tracer = "timerlat"};
    char path[FILE_BYTES];
    if (port_tracing_look(&wish, outcome) != 0 || look_at_period(period_us, outcome) != 0)
        return -1;
    const char *place = tracefs_find(outcome);
    if (!place)
        return -1;
    tracefs_remove_left(place);
    snprintf(path, sizeof path, "%s/osnoise/per_cpu", place);
    if (!linux_exists(path))
        return outcome_set(outcome, STATUS_UNSUPPORTED, "use Linux 6.5 or later",
                           "timerlat has no interface for user threads");
    return look_at_use(place, outcome) != 0 ? -1 : look_at_bounds(place, outcome);
}

int port_timerlat_open(int cpu)
{
    struct outcome outcome = {0};
    char path[FILE_BYTES], full[LINUX_PLACE_BYTES];
    const char *place = tracefs_find(&outcome);
    if (!place) {
        errno = ENOENT;
        return -1;
    }
    snprintf(path, sizeof path, "%s/osnoise/per_cpu/cpu%d/timerlat_fd", place, cpu);
    return open(linux_rooted(path, full), O_RDONLY | O_CLOEXEC);
}
