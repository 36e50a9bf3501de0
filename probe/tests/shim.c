#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_RULES = 200, MOST_PARTS = 4, LINE_BYTES = 160, NS_PER_MS = 1000000 };
enum { UNKNOWN_BREACH = 97 }; /* no exit code of the probe */
#define NS_PER_S INT64_C(1000000000)

/* Of a script: looks at a word of a call, or changes it. */
struct part {
    int word;
    char sign;
    long value;
    char text[32];
};

struct shim_rule {
    struct shim_rule *next; /* for the same call */
    long (*act)(struct call *call);
    struct part parts[MOST_PARTS];
    int part_count;
    bool has_answer;
    long of_child, is_made, if_failed, stops, kills, ends;
    long nth, from, each, before_ms, after_ms, answer, error;
    atomic_long count;
};

static struct shim_rule rules[MOST_RULES], *first_rules[SHIM_CALL_COUNT];
static int rule_count;
static pid_t first_process;

/* ---- the way of a call ---- */

#define NAME(name) #name,
const char *const shim_call_names[] = {SHIM_CALLS(NAME)};
static void *_Atomic reals[SHIM_CALL_COUNT];

void *shim_real(enum shim_call id)
{
    void *real = atomic_load(&reals[id]);
    if (!real) {
        real = dlsym(RTLD_NEXT, shim_call_names[id]);
        atomic_store(&reals[id], real);
    }
    return real;
}

typedef long any_call(long, long, long, long, long, long, long);

long pass(struct call *call)
{
    struct shim_rule *rule = call->rule;
    const long *word = call->word;
    if (!rule)
        return ((any_call *)shim_real(call->id))(word[0], word[1], word[2], word[3], word[4],
                                                 word[5], word[6]);
    call->rule = rule->next;
    call->own = rule;
    return rule->act(call);
}

/* Integers and pointers are passed alike, whatever the types are. */
#define WRAPPER(name)                                                                              \
    any_call shim_##name __asm__(#name) __attribute__((visibility("default")));                    \
    long shim_##name(long a, long b, long c, long d, long e, long f, long g)                       \
    {                                                                                              \
        struct call call = {CALL_##name, {a, b, c, d, e, f, g}, first_rules[CALL_##name], NULL};   \
        return pass(&call);                                                                        \
    }
SHIM_CALLS(WRAPPER)

/* ---- scripts ---- */

#define VALUES(X)                                                                                  \
    X(EACCES), X(EAGAIN), X(EDQUOT), X(EINVAL), X(EIO), X(EMFILE), X(EMSGSIZE), X(ENOENT),         \
        X(ENOSPC), X(ENOSYS), X(EOPNOTSUPP), X(EPERM), X(EPROTONOSUPPORT), X(EROFS), X(ETIMEDOUT), \
        X(CLOCK_MONOTONIC), X(CLOCK_PROCESS_CPUTIME_ID), X(F_SETFL), X(IPC_CREAT),                 \
        X(MADV_PAGEOUT), X(MAP_PRIVATE), X(MAP_SHARED), X(MCL_FUTURE), X(O_CREAT), X(O_DIRECT),    \
        X(O_SYNC), X(O_TMPFILE), X(PTHREAD_PRIO_INHERIT), X(PTHREAD_PRIO_NONE),                    \
        X(RUSAGE_CHILDREN), X(SCHED_OTHER), X(SIGPWR), X(SIGRTMIN), X(SYS_ioprio_set),             \
        X(_SC_RTSIG_MAX), X(_SC_SPORADIC_SERVER), X(_SC_STREAM_MAX), X(_SC_TIMERS),                \
        X(_SC_TIMER_MAX), X(_SC_TRACE), X(_SC_TYPED_MEMORY_OBJECTS)
#define NAME_OF(name) #name
#define ITSELF(name) name

static _Noreturn void give_up(const char *word)
{
    fprintf(stderr, "shim: what is %s?\n", word);
    abort();
}

static long value_of(const char *text)
{
    static const char *const names[] = {VALUES(NAME_OF)};
    const long values[] = {VALUES(ITSELF)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0)
            return values[i];
    char *end;
    long number = strtol(text, &end, 0);
    if (end == text || *end)
        give_up(text);
    return number;
}

static bool is_so(const struct part *part, const struct call *call)
{
    long word = part->word < 0 ? own_priority() : call->word[part->word];
    if (part->sign == '~')
        return strstr((const char *)word, part->text) != NULL;
    return part->sign == '='   ? (int)word == (int)part->value
           : part->sign == '!' ? (int)word != (int)part->value
           : part->sign == '>' ? (int)word > (int)part->value
           : part->sign == '<' ? (int)word < (int)part->value
           : part->sign == '&' ? (word & part->value) == part->value
                               : true;
}

static void change(const struct part *part, struct call *call)
{
    if (part->word < 0)
        return; /* the priority of the caller is only looked at */
    long *word = &call->word[part->word];
    *word = part->sign == ':'   ? part->value
            : part->sign == '-' ? *word & ~part->value
            : part->sign == '+' ? *word | part->value
            : part->sign == '^' ? *word ^ part->value
                                : *word;
}

static bool applies(struct shim_rule *rule, const struct call *call)
{
    if (rule->of_child && !is_child())
        return false;
    for (int i = 0; i < rule->part_count; i++)
        if (!is_so(&rule->parts[i], call))
            return false;
    long count = atomic_fetch_add(&rule->count, 1) + 1;
    return (rule->nth == 0 || count == rule->nth) && count >= rule->from &&
           (rule->each == 0 || count % rule->each == 0);
}

static long play(struct call *call)
{
    struct shim_rule *rule = call->own;
    if (!applies(rule, call))
        return pass(call);
    sleep_ns(rule->before_ms * NS_PER_MS);
    if (rule->stops)
        REAL(kill)(first_process, SIGINT);
    if (rule->ends)
        kill(getpid(), SIGKILL);
    for (int i = 0; i < rule->part_count; i++)
        change(&rule->parts[i], call);
    if (rule->has_answer && !rule->is_made && !rule->if_failed)
        return rule->error ? fail((int)rule->error) : rule->answer;
    long answer = pass(call);
    sleep_ns(rule->after_ms * NS_PER_MS);
    if (rule->kills)
        REAL(kill)(first_process, SIGKILL);
    if (!rule->has_answer || (rule->if_failed && (int)answer >= 0))
        return answer;
    return rule->error ? fail((int)rule->error) : rule->answer;
}

static void read_word(struct shim_rule *rule, const char *word)
{
    struct part *part = &rule->parts[rule->part_count];
    char text[64], key[16] = "";
    const struct {
        const char *name;
        long *value;
    } words[] = {{"nth", &rule->nth},           {"from", &rule->from},
                 {"each", &rule->each},         {"before_ms", &rule->before_ms},
                 {"after_ms", &rule->after_ms}, {"return", &rule->answer},
                 {"errno", &rule->error},       {"child", &rule->of_child},
                 {"made", &rule->is_made},      {"failed", &rule->if_failed},
                 {"stop", &rule->stops},        {"kill", &rule->kills},
                 {"end", &rule->ends}};
    if (sscanf(word, "%1d%1[=!><&~:+^-]%31s", &part->word, key, part->text) == 3) {
        part->sign = key[0];
        part->word--;
        part->value = part->sign == '~' ? 0 : value_of(part->text);
        if (part->word < 0 && !strchr("=!><&", part->sign))
            give_up(word);
        if (++rule->part_count > MOST_PARTS)
            abort();
        return;
    }
    bool has_value = sscanf(word, "%15[^=]=%63s", key, text) == 2;
    size_t place = 0;
    while (strcmp(words[place].name, key) != 0)
        if (++place == sizeof words / sizeof words[0])
            give_up(word);
    *words[place].value = has_value ? value_of(text) : 1;
    rule->has_answer |= words[place].value == &rule->answer || words[place].value == &rule->error;
}

static struct shim_rule *add_rule(enum shim_call id, long (*act)(struct call *call))
{
    struct shim_rule *rule = &rules[rule_count], **last = &first_rules[id];
    if (++rule_count > MOST_RULES)
        abort();
    while (*last)
        last = &(*last)->next;
    rule->act = act;
    *last = rule;
    return rule;
}

/* To the word behind the next comma. */
static const char *next(const char *list)
{
    list += strcspn(list, ",");
    return list + (*list == ',');
}

static bool has_word(const char *list, const char *word, size_t length)
{
    for (const char *at = list; at && *at; at = next(at))
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

static enum shim_call call_of(const char *name, size_t length)
{
    for (int id = 0; id < SHIM_CALL_COUNT; id++)
        if (strlen(shim_call_names[id]) == length &&
            strncmp(shim_call_names[id], name, length) == 0)
            return (enum shim_call)id;
    give_up(name);
}

void shim_add(const char *calls, long (*act)(struct call *call))
{
    for (; *calls; calls = next(calls))
        add_rule(call_of(calls, strcspn(calls, ",")), act);
}

static void add_lines(const char *lines)
{
    char text[4 * LINE_BYTES], *next_line, *next_word;
    snprintf(text, sizeof text, "%s", lines);
    for (char *line = strtok_r(text, ";", &next_line); line;
         line = strtok_r(NULL, ";", &next_line)) {
        const char *word = strtok_r(line, " ", &next_word);
        struct shim_rule *rule = add_rule(call_of(word, strlen(word)), play);
        while ((word = strtok_r(NULL, " ", &next_word)))
            read_word(rule, word);
    }
}

bool breaks(const char *names)
{
    const char *asked = getenv("HARDSTONE_BROKEN");
    for (const char *at = names; *at; at = next(at))
        if (has_word(asked, at, strcspn(at, ",")))
            return true;
    return false;
}

/* Learns `names`. The first one that HARDSTONE_BROKEN has and that is not known yet; NULL: none. */
static const char *unknown_name(const char *names)
{
    static uint64_t known; /* a bit for each name of HARDSTONE_BROKEN */
    const char *unknown = NULL, *at = getenv("HARDSTONE_BROKEN");
    uint64_t bit = 1;
    for (; at && *at; at = next(at), bit *= 2) {
        known |= has_word(names, at, strcspn(at, ",")) ? bit : 0;
        unknown = known & bit ? unknown : at;
    }
    return unknown;
}

static bool has_names; /* else HARDSTONE_BROKEN is for another library */

static bool learns_and_breaks(const char *names)
{
    has_names = true;
    unknown_name(names);
    return breaks(names);
}

void shim_breach(const char *names, const char *calls, long (*act)(struct call *call))
{
    if (learns_and_breaks(names))
        shim_add(calls, act);
}

/* Looking for the real calls takes a lock of the loader, and a thread that sleeps on it lets lower
 * priorities run. */
__attribute__((constructor(101))) static void begin(void)
{
    const char *lines = getenv("HARDSTONE_SCRIPT");
    first_process = getpid();
    for (int id = 0; id < SHIM_CALL_COUNT; id++)
        shim_real((enum shim_call)id);
    if (lines)
        add_lines(lines);
    for (const struct shim_script *script = shim_scripts; script->names; script++)
        if (learns_and_breaks(script->names))
            add_lines(script->lines);
}

/* After all BREACHes. A name that means nothing would break nothing, and let its test pass. */
__attribute__((constructor(103))) static void check_names(void)
{
    const char *unknown = unknown_name("");
    if (!has_names || !unknown)
        return;
    fprintf(stderr, "shim: HARDSTONE_BROKEN names no breach that is known at: %s\n", unknown);
    _exit(UNKNOWN_BREACH);
}

/* ---- for acts ---- */

bool is_child(void)
{
    return getpid() != first_process;
}

int own_priority(void)
{
    struct sched_param own = {0};
    return sched_getparam(0, &own) == 0 ? own.sched_priority : 0;
}

long fail(int error)
{
    errno = error;
    return -1;
}

int64_t ns_of(const struct timespec *time)
{
    return time->tv_sec * NS_PER_S + time->tv_nsec;
}

struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

int64_t real_now_ns(void)
{
    struct timespec now = {0};
    REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
    return ns_of(&now);
}

void sleep_ns(int64_t ns)
{
    struct timespec time = timespec_of(ns);
    if (ns > 0)
        REAL(clock_nanosleep)(CLOCK_MONOTONIC, 0, &time, NULL);
}

void *shared_memory(size_t bytes)
{
    void *memory =
        REAL(mmap64)(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}
