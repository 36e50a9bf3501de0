#include "made_up_kernel.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_NAME "/hardstone-shield.journal"
#define LATENCY_NAME "/dev/cpu_dma_latency"
#define HERE "0-3"
#define CPU_FOLDER "/sys/devices/system/cpu/cpu"

enum { PATHS = 200, PATH_BYTES = 160, TEXT_BYTES = 160, THREADS = 24 };

struct made_up_kernel made_up;

static struct {
    char path[PATH_BYTES], text[TEXT_BYTES]; /* a free place has no path */
} files[PATHS];

static struct thread {
    pid_t id;
    unsigned flags;
    struct cpus mask;
    char group[PATH_BYTES]; /* with the mount */
} threads[THREADS];

static struct {
    int files, threads;
    const char *mount;
    bool is_v2, is_open, is_filling;
    int back_cpu, back_in; /* after so many waits the root cpuset has this CPU again; 0: has it */
    struct cpus own_mask;
    struct {
        struct cpus mask; /* of the child of a fork in progress */
        pid_t id;         /* 0: it has not appeared */
        bool is_begun;
    } fork;
} state;

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void add_to_log(const char *format, const char *what, const char *more, int more_bytes)
{
    size_t used = strlen(made_up.log);
    snprintf(made_up.log + used, sizeof made_up.log - used, format, what, more_bytes, more);
}

/* ---- files ---- */

static char *text_of(const char *path)
{
    for (int i = 0; i < state.files; i++)
        if (strcmp(files[i].path, path) == 0)
            return files[i].text;
    return NULL;
}

static void store(const char *path, const char *text)
{
    FILE *file = fopen(machine_path(path), "w");
    if (!file)
        abort();
    fprintf(file, "%s\n", text);
    fclose(file);
}

void made_up_put(const char *path, const char *text)
{
    state.is_filling = true;
    machine_put(path, "");
    state.is_filling = false;
    char *place = text_of(path);
    if (!place) {
        if (state.files == PATHS)
            abort();
        snprintf(files[state.files].path, PATH_BYTES, "%s", path);
        place = files[state.files++].text;
    }
    snprintf(place, TEXT_BYTES, "%s", text);
    store(path, text);
}

const char *made_up_text(const char *path)
{
    static char text[CPUS_TEXT_BYTES];
    int error = linux_shield_read(&made_up.shield, path, text, sizeof text);
    return error ? "-" : text;
}

bool made_up_has(const char *path)
{
    return linux_shield_exists(&made_up.shield, path);
}

void made_up_refuse(const char *path, int error, const char *kept)
{
    int place = 0;
    while (made_up.refusal[place].path)
        if (++place == MADE_UP_REFUSALS)
            abort();
    made_up.refusal[place].path = path;
    made_up.refusal[place].error = error;
    made_up.refusal[place].kept = kept;
}

/* < 0: it is not refused. */
static int refusal_of(const char *path)
{
    for (int i = 0; i < MADE_UP_REFUSALS; i++)
        if (made_up.refusal[i].path && strcmp(made_up.refusal[i].path, path) == 0)
            return i;
    return -1;
}

int made_up_when(const char *text)
{
    const char *found = strstr(made_up.log, text);
    return found ? (int)(found - made_up.log) : -1;
}

/* ---- control groups ---- */

static void file_of(char path[PATH_BYTES], const char *group, const char *name)
{
    int length = snprintf(path, PATH_BYTES, "%s/%s", group, name);
    if (length >= PATH_BYTES)
        abort();
}

static const char *group_text(const char *group, const char *name)
{
    char path[PATH_BYTES];
    file_of(path, group, name);
    return text_of(path);
}

static struct cpus cpus_of(const char *group)
{
    struct cpus set;
    const char *text = group_text(group, "cpuset.cpus");
    if (cpus_parse_list(text ? text : HERE, &set) != 0)
        abort();
    return set;
}

static bool is_exclusive(const char *group)
{
    const char *text = group_text(group, LINUX_EXCLUSIVE);
    return text && strcmp(text, "1") == 0;
}

static void above(char outer[PATH_BYTES], const char *group)
{
    snprintf(outer, PATH_BYTES, "%s", group);
    *strrchr(outer, '/') = '\0';
}

static bool has_end(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Calls of groups that have CPUs, below `group` (directly) but `but`: whether one of them is so. */
static bool any_below(const char *group, const char *but,
                      bool (*is_so)(const char *path, const struct cpus *cpus),
                      const struct cpus *cpus)
{
    for (int i = 0; i < state.files; i++) {
        char path[PATH_BYTES], outer[PATH_BYTES];
        if (!has_end(files[i].path, "/cpuset.cpus"))
            continue;
        above(path, files[i].path);
        above(outer, path);
        if (strcmp(outer, group) == 0 && strcmp(path, but) != 0 && is_so(path, cpus))
            return true;
    }
    return false;
}

static bool has_other_cpus(const char *path, const struct cpus *cpus)
{
    struct cpus now = cpus_of(path), more = cpus_without(&now, cpus);
    return cpus_first(&more) >= 0;
}

static bool shares_cpus(const char *path, const struct cpus *cpus)
{
    struct cpus now = cpus_of(path);
    return cpus_overlap(&now, cpus);
}

static bool keeps_cpus(const char *path, const struct cpus *cpus)
{
    return is_exclusive(path) && shares_cpus(path, cpus);
}

static int set_group_cpus(const char *group, const char *text)
{
    struct cpus wanted, outer_cpus, more;
    char outer[PATH_BYTES];
    if (cpus_parse_list(text, &wanted) != 0)
        return EINVAL;
    if (state.is_v2)
        return 0;
    if (strcmp(group, state.mount) == 0)
        return EACCES;
    above(outer, group);
    outer_cpus = cpus_of(outer);
    more = cpus_without(&wanted, &outer_cpus);
    if (cpus_first(&more) >= 0)
        return EACCES;
    if (any_below(group, "", has_other_cpus, &wanted))
        return EBUSY;
    bool is_taken =
        any_below(outer, group, is_exclusive(group) ? shares_cpus : keeps_cpus, &wanted);
    return is_taken ? EINVAL : 0;
}

static int set_exclusive(const char *group, const char *text)
{
    char outer[PATH_BYTES];
    struct cpus cpus = cpus_of(group);
    above(outer, group);
    return strcmp(text, "1") == 0 && any_below(outer, group, shares_cpus, &cpus) ? EINVAL : 0;
}

/* What a partition says after `kind` was written to it. */
static const char *partition(const char *group, const char *kind, char text[TEXT_BYTES])
{
    char outer[PATH_BYTES];
    struct cpus cpus = cpus_of(group), isolated = {{0}};
    above(outer, group);
    if (made_up.boot_isolated)
        cpus_parse_list(made_up.boot_isolated, &isolated);
    const char *why = NULL;
    if (any_below(outer, group, shares_cpus, &cpus))
        why = "Cpu list in cpuset.cpus not exclusive";
    else if (strcmp(kind, "root") == 0 && cpus_overlap(&cpus, &isolated))
        why = "partition config conflicts with housekeeping setup";
    if (strcmp(kind, "member") == 0 || !why)
        snprintf(text, TEXT_BYTES, "%.*s", TEXT_BYTES - 1, kind);
    else
        snprintf(text, TEXT_BYTES, "%.32s invalid (%.100s)", kind, why);
    return text;
}

/* "tasks" and "cgroup.procs" of every group. */
static void store_members(void)
{
    for (int i = 0; i < state.files; i++) {
        char group[PATH_BYTES], now[TEXT_BYTES] = "";
        if (!has_end(files[i].path, "/tasks") && !has_end(files[i].path, "/cgroup.procs"))
            continue;
        above(group, files[i].path);
        for (int n = 0; n < state.threads; n++)
            if (strcmp(threads[n].group, group) == 0)
                snprintf(now + strlen(now), sizeof now - strlen(now), "%s%ld", now[0] ? "\n" : "",
                         (long)threads[n].id);
        if (strcmp(files[i].text, now) != 0) {
            memcpy(files[i].text, now, sizeof now);
            store(files[i].path, now);
        }
    }
}

static struct thread *thread_of(pid_t id)
{
    for (int i = 0; i < state.threads; i++)
        if (threads[i].id == id)
            return &threads[i];
    return NULL;
}

/* In the root group, as its mother was until now. */
static void give_birth(pid_t mother)
{
    pid_t id = made_up.birth.id;
    if (id == 0 || mother != made_up.birth.mother)
        return;
    made_up.birth.id = 0;
    made_up_thread(id, "born", MADE_UP_USER, made_up.birth.cpus);
}

static bool is_root(const char *group)
{
    return strcmp(group, state.mount) == 0;
}

static void interrupt_fork(const struct thread *mother, const char *group)
{
    if (made_up.fork.id == 0 || mother->id != made_up.fork.mother || !is_root(group))
        return;
    state.fork.is_begun = true;
    state.fork.mask = cpus_of(mother->group);
}

static void end_fork(void)
{
    char list[CPUS_TEXT_BYTES];
    if (!state.fork.is_begun)
        return;
    cpus_format_list(&state.fork.mask, list, sizeof list);
    made_up_thread(made_up.fork.id, "late", MADE_UP_USER, list);
    state.fork.id = made_up.fork.id;
    state.fork.is_begun = false;
    made_up.fork.id = 0;
}

static int move(const char *group, const char *id)
{
    struct thread *thread = thread_of((pid_t)strtol(id, NULL, 10));
    if (!thread)
        return ESRCH;
    if (thread->flags == MADE_UP_BOUND)
        return EINVAL;
    interrupt_fork(thread, group);
    if (thread->id == state.fork.id && is_root(group) && !is_root(thread->group))
        cpus_parse_list(HERE, &thread->mask);
    snprintf(thread->group, sizeof thread->group, "%s", group);
    if (made_up.forgets_masks)
        thread->mask = cpus_of(group);
    give_birth(thread->id);
    return 0;
}

static void add_group_files(const char *group)
{
    static const char *const of_v1[][2] = {{"tasks", ""},
                                           {"cgroup.procs", ""},
                                           {"cpuset.cpus", ""},
                                           {"cpuset.mems", ""},
                                           {LINUX_EXCLUSIVE, "0"}};
    static const char *const of_v2[][2] = {{"cgroup.procs", ""},
                                           {"cgroup.subtree_control", ""},
                                           {"cpuset.cpus", ""},
                                           {"cpuset.cpus.partition", "member"},
                                           {"cpuset.cpus.exclusive", ""}};
    char path[PATH_BYTES];
    const char *control = group_text(state.mount, "cgroup.subtree_control");
    int count = !state.is_v2                             ? 5
                : !control || !strstr(control, "cpuset") ? 2
                : made_up.has_exclusive                  ? 5
                                                         : 4;
    for (int i = 0; i < count; i++) {
        file_of(path, group, (state.is_v2 ? of_v2 : of_v1)[i][0]);
        made_up_put(path, (state.is_v2 ? of_v2 : of_v1)[i][1]);
    }
}

void made_up_group(const char *name, const char *cpus)
{
    char group[PATH_BYTES], path[PATH_BYTES];
    snprintf(group, sizeof group, "%s/%s", state.mount, name);
    add_group_files(group);
    file_of(path, group, "cpuset.cpus");
    made_up_put(path, cpus);
}

void made_up_groups_v1(void)
{
    state.mount = MADE_UP_V1;
    made_up_put("/proc/self/mounts", "cgroup " MADE_UP_V1 " cgroup rw,cpuset 0 0");
    made_up_put("/proc/self/cgroup", "3:cpuset:/");
    made_up_put(MADE_UP_V1 "/cpuset.cpus", HERE);
    made_up_put(MADE_UP_V1 "/cpuset.mems", "0");
    made_up_put(MADE_UP_V1 "/" LINUX_EXCLUSIVE, "1");
    made_up_put(MADE_UP_V1 "/tasks", "");
    made_up_put(MADE_UP_V1 "/cgroup.procs", "");
}

void made_up_groups_v2(void)
{
    state.mount = MADE_UP_V2;
    state.is_v2 = true;
    made_up_put("/proc/self/mounts", "cgroup2 " MADE_UP_V2 " cgroup2 rw 0 0");
    made_up_put("/proc/self/cgroup", "0::/");
    made_up_put(MADE_UP_V2 "/cgroup.controllers", "cpuset cpu io memory");
    made_up_put(MADE_UP_V2 "/cgroup.subtree_control", "");
    made_up_put(MADE_UP_V2 "/cgroup.procs", "");
}

/* ---- CPUs that go offline ---- */

static void set_text(int file, const struct cpus *cpus)
{
    cpus_format_list(cpus, files[file].text, TEXT_BYTES);
    store(files[file].path, files[file].text);
}

/* Its folders come back with the values of the kernel. */
static void switch_own_file(int file, bool is_on)
{
    static const char *const values[][2] = {{"/disable", "0"},
                                            {"/scaling_governor", "schedutil"},
                                            {"/scaling_min_freq", "100"},
                                            {"/scaling_max_freq", "900"}};
    if (!is_on)
        unlink(machine_path(files[file].path));
    for (size_t i = 0; is_on && i < sizeof values / sizeof values[0]; i++)
        if (has_end(files[file].path, values[i][0])) {
            snprintf(files[file].text, TEXT_BYTES, "%s", values[i][1]);
            store(files[file].path, files[file].text);
        }
}

/* Groups of version 1 lose the CPU for good, and an interrupt of this CPU alone its affinity. */
static void switch_list(int file, int cpu, bool is_on)
{
    const char *path = files[file].path;
    bool is_group = !state.is_v2 && has_end(path, "/cpuset.cpus");
    bool is_root = is_group && strlen(path) == strlen(state.mount) + strlen("/cpuset.cpus");
    struct cpus cpus;
    if ((!is_group && !has_end(path, "/smp_affinity_list")) ||
        cpus_parse_list(files[file].text, &cpus) != 0)
        return;
    bool is_alone = cpus_has(&cpus, cpu) && cpus_count(&cpus) == 1;
    if (is_root && is_on && state.back_in == 0)
        cpus_add(&cpus, cpu);
    if (is_group && !is_on)
        cpus_remove(&cpus, cpu);
    if (!is_group && !is_on && is_alone)
        cpus_parse_list(HERE, &cpus);
    set_text(file, &cpus);
}

static bool is_in_partition(int cpu)
{
    for (int i = 0; i < state.files; i++) {
        char group[PATH_BYTES];
        if (!has_end(files[i].path, "/" LINUX_PARTITION) || strcmp(files[i].text, "member") == 0)
            continue;
        above(group, files[i].path);
        struct cpus cpus = cpus_of(group);
        if (cpus_has(&cpus, cpu))
            return true;
    }
    return false;
}

/* A thread of this CPU alone, in a group that has it, loses its affinity. */
static void forget_masks(int cpu)
{
    for (int i = 0; i < state.threads; i++) {
        struct cpus in_group = cpus_of(threads[i].group);
        if (threads[i].flags != MADE_UP_BOUND && cpus_has(&in_group, cpu) &&
            !is_in_partition(cpu) && cpus_has(&threads[i].mask, cpu) &&
            cpus_count(&threads[i].mask) == 1)
            cpus_parse_list(HERE, &threads[i].mask);
    }
}

static void switch_cpu(const char *path, bool is_on)
{
    int cpu = atoi(path + strlen(CPU_FOLDER));
    char own[PATH_BYTES];
    snprintf(own, sizeof own, CPU_FOLDER "%d/cpu", cpu); /* cpuidle, cpufreq */
    state.back_cpu = cpu;
    state.back_in = is_on ? made_up.waits_for_groups : 0;
    if (!is_on)
        forget_masks(cpu);
    for (int i = 0; i < state.files; i++)
        if (has_prefix(files[i].path, own))
            switch_own_file(i, is_on);
        else
            switch_list(i, cpu, is_on);
}

static void tell_groups_late(void)
{
    if (state.back_in == 0 || --state.back_in > 0)
        return;
    for (int i = 0; i < state.files; i++)
        if (has_end(files[i].path, "/cpuset.cpus"))
            switch_list(i, state.back_cpu, true);
}

void made_up_switch_cpu(int cpu, bool is_on)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, CPU_FOLDER "%d/online", cpu);
    made_up_put(path, is_on ? "1" : "0");
    switch_cpu(path, is_on);
}

/* ---- what a write does ---- */

/* 0 or an errno value; `now` is what the file has then. */
static int obey(const char *path, const char *text, char now[TEXT_BYTES])
{
    char group[PATH_BYTES];
    snprintf(group, sizeof group, "%s", path);
    char *name = strrchr(group, '/');
    *name++ = '\0';
    if (strcmp(name, "tasks") == 0 || strcmp(name, "cgroup.procs") == 0)
        return move(group, text);
    if (strcmp(name, "cgroup.subtree_control") == 0) {
        bool is_on = strcmp(text, "+cpuset") == 0;
        snprintf(now, TEXT_BYTES, "%s", is_on ? "cpuset" : "");
        return !is_on && made_up.control_is_used ? EBUSY : 0;
    }
    if (strcmp(name, "cpuset.cpus.partition") == 0) {
        partition(group, text, now);
        return 0;
    }
    snprintf(now, TEXT_BYTES, "%.*s", TEXT_BYTES - 1, text);
    if (strcmp(name, "online") == 0)
        switch_cpu(path, strcmp(text, "1") == 0);
    if (strcmp(name, "cpuset.cpus") == 0)
        return set_group_cpus(group, text);
    return strcmp(name, LINUX_EXCLUSIVE) == 0 ? set_exclusive(group, text) : 0;
}

static ssize_t answer(const char *path, const char *text, size_t count)
{
    char now[TEXT_BYTES], *kept = text_of(path);
    int place = refusal_of(path);
    const char *other = place >= 0 ? made_up.refusal[place].kept : NULL;
    snprintf(now, sizeof now, "%s", other ? other : kept);
    int error = place >= 0 ? made_up.refusal[place].error : obey(path, text, now);
    if (!error)
        snprintf(kept, TEXT_BYTES, "%s", now);
    store(path, kept); /* it was truncated, as no file of a kernel is */
    store_members();
    errno = error;
    return error ? -1 : (ssize_t)count;
}

static bool path_of(int file, char path[PATH_BYTES])
{
    char link[64], full[320];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, full, sizeof full - 1);
    full[length > 0 ? length : 0] = '\0';
    if (!state.is_open || !has_prefix(full, machine_root))
        return false;
    snprintf(path, PATH_BYTES, "%.*s", PATH_BYTES - 1, full + strlen(machine_root));
    return true;
}

/* A number in 4 bytes: what is not kept reads as what `kept` says. NULL: it is refused. */
static const void *kept_latency(const void *bytes)
{
    static int32_t kept;
    int place = refusal_of(LATENCY_NAME);
    if (place < 0)
        return bytes;
    const char *other = made_up.refusal[place].kept;
    errno = made_up.refusal[place].error;
    kept = other ? atoi(other) : 0;
    return errno ? NULL : &kept;
}

WRAP(ssize_t, write, int file, const void *bytes, size_t count)
{
    char path[PATH_BYTES], text[CPUS_TEXT_BYTES];
    if (!path_of(file, path))
        return __real_write(file, bytes, count);
    if (strcmp(path, LATENCY_NAME) == 0) {
        const void *kept = kept_latency(bytes);
        return kept ? __real_write(file, kept, count) : -1;
    }
    if (has_prefix(path, JOURNAL_NAME))
        add_to_log("%s%.*s;", "journal", "", 0);
    if (!text_of(path))
        return __real_write(file, bytes, count);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(bytes, "\n"), (const char *)bytes);
    add_to_log("%s=%.*s;", path, text, (int)strlen(text));
    return answer(path, text, count);
}

WRAP(int, fsync, int file)
{
    if (state.is_open)
        add_to_log("%s%.*s;", "sync", "", 0);
    return made_up.sync_error ? tap_fail(made_up.sync_error) : __real_fsync(file);
}

/* ---- folders ---- */

static const char *group_path(const char *full)
{
    if (!state.is_open || state.is_filling || !*state.mount || !has_prefix(full, machine_root) ||
        !has_prefix(full + strlen(machine_root), state.mount))
        return NULL;
    return full + strlen(machine_root);
}

WRAP(int, mkdir, const char *path, mode_t mode)
{
    int result = __real_mkdir(path, mode);
    const char *group = group_path(path);
    if (result == 0 && group) {
        add_to_log("mkdir %s%.*s;", group, "", 0);
        add_group_files(group);
    }
    return result;
}

/* Its files go; true when one of them is a group. */
static bool is_in_use(const char *group)
{
    char inside[PATH_BYTES];
    snprintf(inside, sizeof inside, "%s/", group);
    for (int i = 0; i < state.threads; i++)
        if (strcmp(threads[i].group, group) == 0)
            return true;
    for (int i = 0; i < state.files; i++)
        if (has_prefix(files[i].path, inside) && strchr(files[i].path + strlen(inside), '/'))
            return true;
    return false;
}

WRAP(int, rmdir, const char *path)
{
    const char *group = group_path(path);
    if (!group || access(path, F_OK) != 0)
        return __real_rmdir(path);
    add_to_log("rmdir %s%.*s;", group, "", 0);
    if (is_in_use(group))
        return tap_fail(EBUSY);
    char inside[PATH_BYTES];
    snprintf(inside, sizeof inside, "%s/", group);
    for (int i = 0; i < state.files; i++) {
        if (!has_prefix(files[i].path, inside))
            continue;
        unlink(machine_path(files[i].path));
        files[i].path[0] = '\0';
    }
    return __real_rmdir(path);
}

/* ---- threads, time and names ---- */

void made_up_thread(pid_t id, const char *name, unsigned flags, const char *cpus)
{
    char path[PATH_BYTES], line[TEXT_BYTES];
    if (state.threads == THREADS)
        abort();
    struct thread *thread = &threads[state.threads++];
    memset(thread, 0, sizeof *thread);
    thread->id = id;
    thread->flags = flags;
    snprintf(thread->group, sizeof thread->group, "%s", state.mount);
    cpus_parse_list(cpus, &thread->mask);
    snprintf(line, sizeof line, "%ld (%s) S %ld 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %lu 0",
             (long)id, name, (long)made_up.parent, flags, made_up.start);
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)id);
    made_up_put(path, line);
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)id, (long)id);
    made_up_put(path, line);
    store_members();
}

const char *made_up_mask_of(pid_t id)
{
    static char list[CPUS_TEXT_BYTES];
    const struct thread *thread = thread_of(id);
    cpus_format_list(thread ? &thread->mask : &state.own_mask, list, sizeof list);
    return list;
}

const char *made_up_group_of(pid_t id)
{
    const struct thread *thread = thread_of(id);
    return thread ? thread->group + strlen(state.mount) : "-";
}

static struct cpus *mask_of(pid_t id)
{
    struct thread *thread = thread_of(id);
    return thread ? &thread->mask : id == 0 || id == getpid() ? &state.own_mask : NULL;
}

WRAP(int, sched_getaffinity, pid_t id, size_t bytes, cpu_set_t *set)
{
    if (!state.is_open)
        return __real_sched_getaffinity(id, bytes, set);
    const struct cpus *mask = mask_of(id);
    CPU_ZERO(set);
    for (int cpu = 0; mask && cpu < CPU_SETSIZE; cpu++)
        if (cpus_has(mask, cpu))
            CPU_SET(cpu, set);
    errno = ESRCH;
    return mask ? 0 : -1;
}

WRAP(int, sched_setaffinity, pid_t id, size_t bytes, const cpu_set_t *set)
{
    if (!state.is_open)
        return __real_sched_setaffinity(id, bytes, set);
    const struct thread *thread = thread_of(id);
    struct cpus *mask = mask_of(id);
    errno = thread && thread->flags == MADE_UP_BOUND ? EINVAL : mask ? 0 : ESRCH;
    if (errno)
        return -1;
    memset(mask, 0, sizeof *mask);
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < PORT_CPUS; cpu++)
        if (CPU_ISSET(cpu, set))
            cpus_add(mask, cpu);
    give_birth(id);
    return 0;
}

WRAP(int, nanosleep, const struct timespec *wanted, struct timespec *left)
{
    if (!state.is_open)
        return __real_nanosleep(wanted, left);
    int64_t ns = (int64_t)wanted->tv_sec * 1000000000 + wanted->tv_nsec;
    made_up.waited_ns += ns;
    if (made_up.shown.waits < 4 && made_up.shown.text[made_up.shown.waits])
        made_up_put(made_up.shown.path, made_up.shown.text[made_up.shown.waits]);
    made_up.shown.waits++;
    tell_groups_late();
    end_fork();
    if (made_up.shortest_wait_ns == 0 || ns < made_up.shortest_wait_ns)
        made_up.shortest_wait_ns = ns;
    if (ns > made_up.longest_wait_ns)
        made_up.longest_wait_ns = ns;
    return 0;
}

WRAP(int, uname, struct utsname *names)
{
    int result = __real_uname(names);
    if (result == 0 && state.is_open)
        snprintf(names->release, sizeof names->release, "%s", made_up.release);
    return result;
}

/* ---- the whole ---- */

bool made_up_open(void)
{
    struct journal_head head = {.boot = "abc", .owner = 5, .owner_start = 40};
    if (!tap_is_wrapped())
        return false;
    memset(&made_up, 0, sizeof made_up);
    memset(&state, 0, sizeof state);
    machine_open();
    state.mount = "";
    made_up.release = "6.12.0";
    made_up.start = 30;
    made_up.parent = 1;
    made_up.has_exclusive = true;
    cpus_parse_list(HERE, &state.own_mask);
    made_up.shield = (struct port_shield){.root = machine_root,
                                          .log = &shield_log,
                                          .journal = &made_up.journal,
                                          .notes = &made_up.notes,
                                          .latency = -1};
    cpus_parse_list("3", &made_up.shield.reserved);
    cpus_parse_list("0-2", &made_up.shield.others);
    head.reserved = made_up.shield.reserved;
    if (journal_create(&made_up.journal, machine_root) != 0 ||
        journal_begin(&made_up.journal, &head) != 0)
        abort();
    state.is_open = true;
    return true;
}

void made_up_close(void)
{
    state.is_open = false;
    journal_close(&made_up.journal);
    machine_close();
}

const char *made_up_undo(int counts[MADE_UP_UNDO_KINDS])
{
    static char first[600];
    struct journal_image image;
    char text[600];
    first[0] = '\0';
    memset(counts, 0, MADE_UP_UNDO_KINDS * sizeof *counts);
    if (journal_reread(&made_up.journal, &image, text, sizeof text) != 0)
        return NULL;
    for (size_t i = image.changes.count; i > 0; i--) {
        text[0] = '\0';
        counts[port_shield_undo(&made_up.shield, &image.changes, i - 1, text, sizeof text)]++;
        if (!first[0])
            snprintf(first, sizeof first, "%s", text);
    }
    journal_free_image(&image);
    return first;
}

int made_up_lines(const char *kind)
{
    struct journal_image image;
    char reason[200];
    int count = 0;
    if (journal_reread(&made_up.journal, &image, reason, sizeof reason) != 0)
        return -1;
    for (size_t i = 0; i < image.changes.count; i++)
        count += !kind || strcmp(image.changes.each[i].field[0], kind) == 0 ? 1 : 0;
    journal_free_image(&image);
    return count;
}

bool made_up_is_noted(const char *setting, const char *part)
{
    for (int i = 0; i < made_up.notes.count; i++)
        if (strcmp(made_up.notes.note[i].setting, setting) == 0 &&
            strstr(made_up.notes.note[i].reason, part))
            return true;
    return false;
}
