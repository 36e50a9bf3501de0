#include "base/posix_source.h"

#include "load/elements.h"

#include "load/limits.h"

#include <string.h>
#include <strings.h>

const struct load_element *const load_elements[] = {
    &load_cpu,    &load_disk,  &load_interrupt, &load_network, &load_syscall,  &load_memory,
    &load_search, &load_storm, &load_build,     &load_kernel,  &load_messages, &load_stress_ng,
    NULL};

const struct load_mix load_mixes[] = {
    {"heavy", "cpu=10ms/100ms+disk=10ms/100ms+interrupt=1000/s+network=4000/s+"
              "syscall=10ms/100ms+memory=10ms/100ms+search"},
    {"storm", "heavy+storm=240+build+kernel+messages"},
    {"latstat", "storm=240+build=3400"},
    {NULL, NULL},
};

static bool is_named(const char *known, const char *name, size_t length)
{
    return strlen(known) == length && strncmp(known, name, length) == 0;
}

const struct load_element *load_element_find(const char *name, size_t length)
{
    for (int i = 0; load_elements[i]; i++)
        if (is_named(load_elements[i]->name, name, length))
            return load_elements[i];
    return NULL;
}

const struct load_mix *load_mix_find(const char *name, size_t length)
{
    for (int i = 0; load_mixes[i].name; i++)
        if (is_named(load_mixes[i].name, name, length))
            return &load_mixes[i];
    return NULL;
}

enum { NAME_BYTES = 32 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Levenshtein distance, ignoring case. */
static int distance(const char *known, const char *name, size_t length)
{
    int row[NAME_BYTES + 1];
    size_t columns = strlen(known);
    for (size_t j = 0; j <= columns; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= columns; j++) {
            int exchanged = diagonal + (strncasecmp(&known[j - 1], &name[i - 1], 1) != 0);
            diagonal = row[j];
            row[j] = least(exchanged, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[columns];
}

const char *load_nearest_name(const char *name, size_t length)
{
    const char *nearest = load_elements[0]->name;
    int best = NAME_BYTES * 2;
    if (length > NAME_BYTES)
        length = NAME_BYTES;
    for (int i = 0; load_elements[i]; i++)
        if (distance(load_elements[i]->name, name, length) < best) {
            best = distance(load_elements[i]->name, name, length);
            nearest = load_elements[i]->name;
        }
    for (int i = 0; load_mixes[i].name; i++)
        if (distance(load_mixes[i].name, name, length) < best) {
            best = distance(load_mixes[i].name, name, length);
            nearest = load_mixes[i].name;
        }
    return nearest;
}

const char *load_unit(enum load_degree_kind kind)
{
    static const char *const units[] = {
        [LOAD_SHARE] = "share",
        [LOAD_RATE] = "per_s",
        [LOAD_COUNT] = "processes",
        [LOAD_JOBS] = "jobs",
        [LOAD_GROUPS] = "groups",
        [LOAD_CONTINUOUS] = "rounds_per_s",
        [LOAD_EXTERNAL_STRESSOR] = "processes",
    };
    return units[kind];
}

int load_most_number(enum load_degree_kind kind)
{
    switch (kind) {
    case LOAD_RATE:
        return LOAD_MOST_PER_S;
    case LOAD_COUNT:
    case LOAD_JOBS:
        return LOAD_MOST_PROCESSES;
    case LOAD_GROUPS:
        return LOAD_MOST_GROUPS;
    default:
        return 0;
    }
}

static const char *form(enum load_degree_kind kind)
{
    static const char *const forms[] = {
        [LOAD_SHARE] = "BUSY/PERIOD",
        [LOAD_RATE] = "N/s",
        [LOAD_COUNT] = "N",
        [LOAD_JOBS] = "N",
        [LOAD_GROUPS] = "N",
        [LOAD_CONTINUOUS] = "",
        [LOAD_EXTERNAL_STRESSOR] = "OPTIONS",
    };
    return forms[kind];
}

static void limits_json(struct emit *emit, enum load_degree_kind kind)
{
    if (kind == LOAD_SHARE) {
        emit_member_integer(emit, "min_busy_ns", LOAD_LEAST_BUSY_NS);
        emit_member_integer(emit, "min_period_ns", LOAD_LEAST_PERIOD_NS);
        emit_member_integer(emit, "max_period_ns", LOAD_MOST_PERIOD_NS);
    } else if (load_most_number(kind) > 0) {
        emit_member_integer(emit, "min", 1);
        emit_member_integer(emit, "max", load_most_number(kind));
        if (kind == LOAD_GROUPS)
            emit_member_integer(emit, "processes_each", 1 + LOAD_GROUP_MEMBERS);
    }
}

static void element_json(struct emit *emit, const struct load_element *element)
{
    emit_begin_object(emit);
    emit_member_text(emit, "name", element->name);
    emit_member_text(emit, "title", element->title);
    emit_member_text_or_null(emit, "degree", form(element->kind));
    emit_member_text_or_null(emit, "default", element->default_degree);
    emit_member_text(emit, "unit", load_unit(element->kind));
    limits_json(emit, element->kind);
    emit_member_bool(emit, "each_cpu", element->kind != LOAD_EXTERNAL_STRESSOR);
    emit_member_bool(emit, "host", element->takes_host);
    emit_member_array(emit, "counters");
    for (int i = 0; i < LOAD_COUNTERS; i++)
        if (element->counters[i])
            emit_string(emit, element->counters[i]);
    emit_end_array(emit);
    emit_end_object(emit);
}

void load_list_json(struct emit *emit)
{
    emit_begin_object(emit);
    emit_member_text(emit, "schema", "hardstone.loads/1");
    emit_member_array(emit, "elements");
    for (int i = 0; load_elements[i]; i++)
        element_json(emit, load_elements[i]);
    emit_end_array(emit);
    emit_member_array(emit, "mixes");
    for (int i = 0; load_mixes[i].name; i++) {
        emit_begin_object(emit);
        emit_member_text(emit, "name", load_mixes[i].name);
        emit_member_text(emit, "load", load_mixes[i].text);
        emit_end_object(emit);
    }
    emit_end_array(emit);
    emit_end_object(emit);
    emit_line(emit);
}

void load_list_text(struct emit *emit)
{
    for (int i = 0; load_elements[i]; i++) {
        const struct load_element *element = load_elements[i];
        emit_format(emit, "%-10s %-12s %-12s %s\n", element->name, form(element->kind),
                    element->default_degree ? element->default_degree : "", element->title);
    }
    for (int i = 0; load_mixes[i].name; i++)
        emit_format(emit, "%-10s = %s\n", load_mixes[i].name, load_mixes[i].text);
}
