#include "base/posix_source.h"

#include "family/posix/call_runner.h"

#include "base/clock.h"
#include "family/posix/limits.h"
#include "family/posix/option.h"
#include "family/posix/sysconf_names.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { GROUP_MOST = 10, VALUE_BYTES = 64, LIST_BYTES = 320 };

/* Data of one event, as many as its room holds (base/data.h). */
struct group {
    const char *name;
    struct datum data[GROUP_MOST + 3];
    char values[GROUP_MOST][VALUE_BYTES];
    char text[ARENA_TEXT_BYTES];
    int count, fixed_count; /* the first are in every event of the group */
    size_t bytes;
};

/* Begins a group of events of this name; each of them has `fixed`, which may be one text. */
static void send_event(struct group *group, const char *name, const struct datum *fixed)
{
    group->name = name;
    group->count = 0;
    group->fixed_count = fixed ? 1 : 0;
    group->bytes = 2;
    group->text[0] = '\0';
    if (!fixed)
        return;
    group->data[0] = fixed[0];
    group->bytes += strlen(fixed[0].key) + strlen(fixed[0].value.text) + 3;
    snprintf(group->text, sizeof group->text, "%s", fixed[0].value.text);
}

static void group_flush(struct run *run, struct group *group)
{
    struct datum fixed = group->data[0];
    if (group->count == 0)
        return;
    group->data[group->fixed_count + group->count] = (struct datum){.key = NULL};
    arena_event(run->arena, group->name, -1, group->data, "%s", group->text);
    send_event(group, group->name, group->fixed_count ? &fixed : NULL);
}

static void group_say(struct group *group, const char *key, const char *value)
{
    size_t used = strlen(group->text);
    if (used < sizeof group->text)
        snprintf(group->text + used, sizeof group->text - used, "%s%s %s", used ? ", " : "", key,
                 value);
}

/* `bytes`: of its packed value. */
static bool group_has_room(const struct group *group, const char *key, size_t bytes)
{
    return group->count < GROUP_MOST &&
           group->bytes + strlen(key) + 2 + bytes + 1 <= ARENA_DATA_BYTES;
}

static void group_text(struct run *run, struct group *group, const char *key, const char *value,
                       const char *said)
{
    if (!group_has_room(group, key, strlen(value) + 1))
        group_flush(run, group);
    char *kept = group->values[group->count];
    snprintf(kept, VALUE_BYTES, "%s", value);
    group->data[group->fixed_count + group->count++] = data_text(key, kept);
    group->bytes += strlen(key) + strlen(value) + 3;
    group_say(group, key, said);
}

static void group_number(struct run *run, struct group *group, const char *key, int64_t value)
{
    char said[SAYING_BYTES];
    if (!group_has_room(group, key, sizeof value))
        group_flush(run, group);
    group->data[group->count++] = data_integer(key, value);
    group->bytes += strlen(key) + 2 + sizeof value;
    snprintf(said, sizeof said, "%lld", (long long)value);
    group_say(group, key, said);
}

int inventory_events(void)
{
    return 2 * option_count() + 2 * PROFILE_COUNT;
}

/* ---- options ---- */

static void report_option(struct run *run, struct group *group, const struct posix_option *option,
                          const struct answer *answer, const char *folder)
{
    char header[SAYING_BYTES], conf[SAYING_BYTES], value[VALUE_BYTES];
    const char *result = call_result_name(answer->result);
    snprintf(value, sizeof value, "%s %s %s", saying_text(option_header(option), header),
             saying_text(option_sysconf(option, folder), conf), result);
    group_text(run, group, option->key, value, result);
}

static void report_options(struct run *run, const struct inventory *inventory)
{
    struct group group = {.count = 0};
    const char *part = NULL;
    for (int i = 0; i < inventory->option_count; i++) {
        const struct posix_option *option = &posix_options[i];
        if (!part || strcmp(option->part, part) != 0) {
            if (part)
                group_flush(run, &group);
            part = option->part;
            send_event(&group, "posix_options", DATA(data_text("part", part)));
        }
        report_option(run, &group, option, &inventory->options[i], inventory->folder);
    }
    group_flush(run, &group);
}

static void report_why(struct run *run, const struct inventory *inventory)
{
    for (int i = 0; i < inventory->option_count; i++) {
        const struct answer *answer = &inventory->options[i];
        const char *result = call_result_name(answer->result);
        if (answer->result != CALL_WORKS)
            arena_event(run->arena, "posix_option_why", -1,
                        DATA(data_text("option", posix_options[i].key), data_text("call", result),
                             data_text("why", answer->why)),
                        "%s: %s: %s", posix_options[i].key, result, answer->why);
    }
}

/* ---- limits, clocks, profiles ---- */

static void report_limits(struct run *run, const struct inventory *inventory)
{
    struct group group = {.count = 0};
    int64_t value;
    send_event(&group, "posix_limits", NO_DATA);
    for (int i = 0; i < inventory->limit_count; i++)
        if (limit_value(&posix_limits[i], &value))
            group_number(run, &group, posix_limits[i].key, value);
    group_number(run, &group, "priorities_fifo_count", inventory->fifo->number);
    group_number(run, &group, "priorities_rr_count", inventory->rr->number);
    group_flush(run, &group);
}

static void report_clock(struct run *run, struct group *group, const char *key, clockid_t clock)
{
    struct timespec step;
    if (clock_getres(clock, &step) == 0)
        group_number(run, group, key, clock_timespec_ns(&step));
}

static void report_clocks(struct run *run)
{
    struct group group = {.count = 0};
    send_event(&group, "posix_clocks", NO_DATA);
    report_clock(run, &group, "realtime_ns", CLOCK_REALTIME);
#ifdef CLOCK_MONOTONIC
    report_clock(run, &group, "monotonic_ns", CLOCK_MONOTONIC);
#endif
#ifdef CLOCK_PROCESS_CPUTIME_ID
    report_clock(run, &group, "process_cputime_ns", CLOCK_PROCESS_CPUTIME_ID);
#endif
#ifdef CLOCK_THREAD_CPUTIME_ID
    report_clock(run, &group, "thread_cputime_ns", CLOCK_THREAD_CPUTIME_ID);
#endif
    group_flush(run, &group);
}

static void report_profiles(struct run *run, const struct inventory *inventory)
{
    for (int i = 0; i < PROFILE_COUNT; i++) {
        struct profile_answer decided = profile_decide(i, inventory->options);
        const char *name = posix_profiles[i].name;
        arena_event(run->arena, "posix_profile", -1,
                    DATA(data_text("profile", name),
                         data_integer("is_satisfied", decided.is_satisfied),
                         data_integer("missing_count", decided.missing_count),
                         data_integer("denied_count", decided.denied_count),
                         data_integer("next_missing_count", decided.next_missing_count),
                         data_text("missing", decided.missing),
                         data_text("next_missing", decided.next_missing)),
                    "%s: %d missing%s%s", name, decided.missing_count,
                    decided.is_satisfied ? "" : ": ", decided.missing);
    }
}

void inventory_report(struct run *run, const struct inventory *inventory)
{
    report_options(run, inventory);
    report_why(run, inventory);
    report_limits(run, inventory);
    report_clocks(run);
    report_profiles(run, inventory);
    arena_event(run->arena, "posix_named_only", -1, DATA(data_text("parts", "1003.1h,1003.21")),
                "1003.1h (services for reliable systems) and 1003.21 (distributed real-time "
                "communication) are only named: nothing of them is tested");
}

/* ---- verdicts ---- */

/* A list of names in a text, as many as fit, then "...". */
static void append(char list[LIST_BYTES], const char *name, const char *why)
{
    size_t used = strlen(list);
    if (used >= 3 && strcmp(list + used - 3, "...") == 0)
        return;
    if (used + strlen(name) + strlen(why) + 8 > LIST_BYTES)
        snprintf(list + used, LIST_BYTES - used, "; ...");
    else
        snprintf(list + used, LIST_BYTES - used, "%s%s%s%s", used ? "; " : "", name,
                 why[0] ? ": " : "", why);
}

static bool is_broken(enum call_result result)
{
    return result == CALL_FAILS || result == CALL_MISSING;
}

struct claims {
    int claimed_count, broken_count, open_count;
    char broken[LIST_BYTES], open[LIST_BYTES]; /* open: denied or not tried */
};

static void count_claim(struct claims *claims, const struct posix_option *option,
                        const struct answer *answer)
{
    claims->claimed_count++;
    if (is_broken(answer->result)) {
        claims->broken_count++;
        append(claims->broken, option->key, answer->why);
    } else if (answer->result == CALL_DENIED || answer->result == CALL_UNTRIED) {
        claims->open_count++;
        append(claims->open, option->key, "");
    }
}

static void judge_claims(struct run *run, const struct inventory *inventory)
{
    struct claims claims = {.claimed_count = 0};
    for (int i = 0; i < inventory->option_count; i++) {
        const struct posix_option *option = &posix_options[i];
        if (option_is_claimed(option, option_header(option),
                              option_sysconf(option, inventory->folder)))
            count_claim(&claims, option, &inventory->options[i]);
    }
    if (claims.broken_count > 0)
        arena_verdict(run->arena, false, (uint64_t)claims.claimed_count, "claims_are_true",
                      "%d of %d claims are false: %s", claims.broken_count, claims.claimed_count,
                      claims.broken);
    else
        arena_verdict(run->arena, true, (uint64_t)claims.claimed_count, "claims_are_true",
                      "none of the %d options claimed fails%s%s", claims.claimed_count,
                      claims.open_count ? "; denied or not tried: " : "", claims.open);
}

/* Too few are a fault also where none could be set; enough of them hold nothing then. */
static void judge_priorities(struct run *run, const char *policy, const struct answer *answer)
{
    char name[ARENA_NAME_BYTES];
    bool is_enough = answer->number >= REACH_PRIORITIES;
    snprintf(name, sizeof name, "priorities_32/%s", policy);
    if (answer->result == CALL_UNTRIED || (answer->result == CALL_DENIED && is_enough))
        return;
    arena_verdict(run->arena, is_enough && !is_broken(answer->result), 1, name,
                  "%lld priorities%s%s", (long long)answer->number,
                  answer->result == CALL_WORKS ? ", each of them was set" : "; ", answer->why);
}

struct limits_seen {
    int told_count, reached_count;
    char low[LIST_BYTES], denied[LIST_BYTES];
};

/* A limit by the name that <limits.h> gives it. */
static void upper_case(const char *key, char name[SAYING_BYTES])
{
    size_t i = 0;
    for (; key[i] && i + 1 < SAYING_BYTES; i++)
        name[i] = (char)(key[i] >= 'a' && key[i] <= 'z' ? key[i] - 'a' + 'A' : key[i]);
    name[i] = '\0';
}

static void look_at_limit(struct limits_seen *seen, const struct posix_limit *limit,
                          const struct answer *reached)
{
    char words[ANSWER_WHY_BYTES], name[SAYING_BYTES];
    int64_t value;
    bool is_told = limit_value(limit, &value);
    seen->told_count += is_told ? 1 : 0;
    seen->reached_count += reached && reached->result == CALL_WORKS ? 1 : 0;
    if (reached && reached->result == CALL_DENIED)
        append(seen->denied, limit->key, reached->why);
    if (!limit_is_low(limit, is_told, value, reached))
        return;
    bool has_why = reached && reached->why[0];
    upper_case(limit->key, name);
    snprintf(words, sizeof words, "%s is %lld, POSIX requires %lld%s%.60s%s", name,
             (long long)value, (long long)limit->least, has_why ? " (" : "",
             has_why ? reached->why : "", has_why ? ")" : "");
    append(seen->low, words, "");
}

/* Limits of the base, or those of threads and real-time. */
static void judge_limits(struct run *run, const struct inventory *inventory, bool is_base,
                         const char *name)
{
    struct limits_seen seen = {.told_count = 0};
    for (int i = 0; i < inventory->limit_count; i++)
        if (posix_limits[i].is_base == is_base)
            look_at_limit(&seen, &posix_limits[i],
                          posix_limits[i].reach ? &inventory->limits[i] : NULL);
    if (seen.low[0])
        arena_verdict(run->arena, false, 1, name, "%s", seen.low);
    else
        arena_verdict(run->arena, true, (uint64_t)seen.told_count, name,
                      "none of the %d limits reported is below its minimum; calls reached the "
                      "minimum of %d%s%.200s",
                      seen.told_count, seen.reached_count,
                      seen.denied[0] ? "; kept lower by limits of this user: " : "", seen.denied);
}

void inventory_judge(struct run *run, const struct inventory *inventory)
{
    judge_claims(run, inventory);
    judge_priorities(run, "fifo", inventory->fifo);
    judge_priorities(run, "rr", inventory->rr);
    judge_limits(run, inventory, false, "limits_at_least_posix_minimum");
    judge_limits(run, inventory, true, "base_limits_at_least_posix_minimum");
}
