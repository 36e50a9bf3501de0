#include "base/posix_source.h"

#include "base/cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_CPUS = 32, GROUPS = (PORT_CPUS + GROUP_CPUS - 1) / GROUP_CPUS, MOST_DIGITS = 6 };

void cpus_clear(struct cpus *set)
{
    memset(set, 0, sizeof *set);
}

void cpus_add(struct cpus *set, int cpu)
{
    if (cpu >= 0 && cpu < PORT_CPUS)
        set->word[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

void cpus_remove(struct cpus *set, int cpu)
{
    if (cpu >= 0 && cpu < PORT_CPUS)
        set->word[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

bool cpus_has(const struct cpus *set, int cpu)
{
    return cpu >= 0 && cpu < PORT_CPUS && (set->word[cpu / 64] >> (cpu % 64) & 1) != 0;
}

int cpus_count(const struct cpus *set)
{
    int count = 0;
    for (int cpu = 0; cpu < PORT_CPUS; cpu++)
        count += cpus_has(set, cpu) ? 1 : 0;
    return count;
}

int cpus_first(const struct cpus *set)
{
    return cpus_next(set, -1);
}

int cpus_next(const struct cpus *set, int cpu)
{
    for (cpu++; cpu < PORT_CPUS; cpu++)
        if (cpus_has(set, cpu))
            return cpu;
    return -1;
}

int cpus_last(const struct cpus *set)
{
    for (int cpu = PORT_CPUS - 1; cpu >= 0; cpu--)
        if (cpus_has(set, cpu))
            return cpu;
    return -1;
}

bool cpus_same(const struct cpus *a, const struct cpus *b)
{
    return memcmp(a->word, b->word, sizeof a->word) == 0;
}

bool cpus_overlap(const struct cpus *a, const struct cpus *b)
{
    for (int i = 0; i < CPUS_WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

struct cpus cpus_without(const struct cpus *set, const struct cpus *taken)
{
    struct cpus left;
    for (int i = 0; i < CPUS_WORDS; i++)
        left.word[i] = set->word[i] & ~taken->word[i];
    return left;
}

struct cpus cpus_union(const struct cpus *a, const struct cpus *b)
{
    struct cpus both;
    for (int i = 0; i < CPUS_WORDS; i++)
        both.word[i] = a->word[i] | b->word[i];
    return both;
}

struct cpus cpus_kept_off(const struct cpus *set, const struct cpus *taken,
                          const struct cpus *instead)
{
    struct cpus left = cpus_without(set, taken);
    return cpus_first(&left) < 0 ? *instead : left;
}

static int parse_cpu(const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > MOST_DIGITS)
        return -1;
    long cpu = strtol(*at, NULL, 10);
    *at += digits;
    return cpu < PORT_CPUS ? (int)cpu : -1;
}

int cpus_parse_list(const char *text, struct cpus *set)
{
    cpus_clear(set);
    if (*text == '\0')
        return 0;
    for (const char *at = text;; at++) {
        int first = parse_cpu(&at), last = first;
        if (first >= 0 && *at == '-') {
            at++;
            last = parse_cpu(&at);
        }
        if (first < 0 || last < first)
            return -1;
        for (int cpu = first; cpu <= last; cpu++)
            cpus_add(set, cpu);
        if (*at == '\0')
            return 0;
        if (*at != ',')
            return -1;
    }
}

void cpus_format_list(const struct cpus *set, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int cpu = 0; cpu < PORT_CPUS && used < bytes; cpu++) {
        if (!cpus_has(set, cpu))
            continue;
        int last = cpu;
        while (cpus_has(set, last + 1))
            last++;
        const char *comma = used ? "," : "";
        if (last > cpu)
            used += (size_t)snprintf(text + used, bytes - used, "%s%d-%d", comma, cpu, last);
        else
            used += (size_t)snprintf(text + used, bytes - used, "%s%d", comma, cpu);
        cpu = last;
    }
}

int cpus_parse_mask(const char *text, struct cpus *set)
{
    int groups = 1;
    cpus_clear(set);
    for (const char *at = text; *at; at++)
        groups += *at == ',' ? 1 : 0;
    for (const char *at = text; groups > 0; groups--) {
        size_t digits = strspn(at, "0123456789abcdefABCDEF");
        if (digits == 0 || digits > GROUP_CPUS / 4)
            return -1;
        unsigned long bits = strtoul(at, NULL, 16);
        for (int i = 0; i < GROUP_CPUS; i++) {
            int cpu = (groups - 1) * GROUP_CPUS + i;
            if (bits >> i & 1 && cpu >= PORT_CPUS)
                return -1;
            if (bits >> i & 1)
                cpus_add(set, cpu);
        }
        at += digits;
        if (*at != (groups > 1 ? ',' : '\0'))
            return -1;
        at++;
    }
    return 0;
}

void cpus_format_mask(const struct cpus *set, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int group = GROUPS - 1; group >= 0 && used < bytes; group--) {
        unsigned long bits =
            (unsigned long)(set->word[group / 2] >> (group % 2 * GROUP_CPUS) & 0xffffffff);
        if (used == 0 && bits == 0 && group > 0)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, used ? ",%08lx" : "%lx", bits);
    }
}

const char *cpu_config_name(enum cpu_config config)
{
    static const char *const names[] = {[CPU_CONFIG_SHARED] = "shared",
                                        [CPU_CONFIG_SINGLE] = "single",
                                        [CPU_CONFIG_SHIELDED] = "shielded"};
    return names[config];
}

int cpu_config_parse(const char *text, enum cpu_config *config)
{
    for (int i = CPU_CONFIG_SHARED; i <= CPU_CONFIG_SHIELDED; i++)
        if (strcmp(text, cpu_config_name((enum cpu_config)i)) == 0) {
            *config = (enum cpu_config)i;
            return 0;
        }
    return -1;
}
