#include "base/posix_source.h"

#include "load/spec.h"

#include "base/text.h"
#include "port/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the elements and named mixes ---- */

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
    emit_member_bool(emit, "device", element->takes_device);
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

/* ---- addresses ---- */

enum { MOST_PORT = 65535, PORT_DIGITS = 5 };

static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
static const char of_numbers[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%";

static bool is_host(const char *host, bool is_bracketed)
{
    size_t length = strlen(host);
    if (is_bracketed)
        return strchr(host, ':') && strspn(host, of_numbers) == length;
    return length > 0 && strspn(host, of_names) == length && !strchr(".-_", host[0]);
}

static bool is_port(const char *port)
{
    size_t digits = strspn(port, "0123456789");
    long number = strtol(port, NULL, 10);
    return digits > 0 && digits <= PORT_DIGITS && port[digits] == '\0' && number > 0 &&
           number <= MOST_PORT;
}

static bool copy_part(const char *from, const char *to, char *text, size_t bytes)
{
    if (to < from || (size_t)(to - from) >= bytes)
        return false;
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = '\0';
    return true;
}

/* Whether the host is an address, IPv4 or IPv6 (that with a link after '%'), and not a name. */
static bool is_numeric(const struct load_address *address)
{
    struct in6_addr bytes;
    char number[LOAD_HOST_BYTES];
    size_t length = strcspn(address->host, "%");
    memcpy(number, address->host, length);
    number[length] = '\0';
    return inet_pton(AF_INET, address->host, &bytes) == 1 ||
           inet_pton(AF_INET6, number, &bytes) == 1;
}

/* HOST:PORT, or [IPV6]:PORT: letters, digits, '.', '-' and '_', in brackets also ':' and '%', and
 * ports from 1 to 65535. False if it is none of these, or too long. */
static bool parse_address(const char *text, size_t length, struct load_address *address)
{
    const char *end = text + length, *colon = end;
    while (colon > text && *colon != ':')
        colon--;
    bool is_bracketed = colon - text >= 2 && *text == '[' && colon[-1] == ']';
    const char *from = text + (is_bracketed ? 1 : 0), *to = colon - (is_bracketed ? 1 : 0);
    return colon > text && copy_part(from, to, address->host, sizeof address->host) &&
           copy_part(colon + 1, end, address->port, sizeof address->port) &&
           is_host(address->host, is_bracketed) && is_port(address->port);
}

/* ---- devices ---- */

/* /dev/uioN, N from 0 to PORT_UIO_MOST_NUMBER without zeros before it: no other path, so that no
 * load opens anything else. */
static bool parse_device(const char *text, int *number)
{
    size_t length = strlen(PORT_UIO_PATH);
    if (strncmp(text, PORT_UIO_PATH, length) != 0)
        return false;
    const char *digits = text + length;
    size_t count = strspn(digits, "0123456789");
    *number = (int)strtol(digits, NULL, 10);
    return count > 0 && count <= 3 && digits[count] == '\0' && (count == 1 || digits[0] != '0') &&
           *number <= PORT_UIO_MOST_NUMBER;
}

/* ---- a load as text ---- */

static const char foreign_prefix[] = "stress-ng:", each_cpus[] = "@cpu";

struct parse {
    struct load_spec *spec;
    char *error;
    size_t error_bytes;
    bool is_each_cpus; /* name of the mix whose terms are parsed */
};

static int fail(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct parse *parse, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parse->error, parse->error_bytes, format, arguments);
    va_end(arguments);
    return -1;
}

/* A duration needs a unit: "10" alone is ambiguous. */
static int duration(const char *text, int64_t *ns)
{
    size_t length = strlen(text);
    if (length == 0 || (text[length - 1] >= '0' && text[length - 1] <= '9'))
        return -1;
    return duration_parse(text, 1, ns);
}

static int parse_share(struct parse *parse, struct load_term *term)
{
    char copy[LOAD_DEGREE_BYTES];
    struct load_degree *degree = &term->degree;
    const char *name = term->element->name;
    memcpy(copy, term->degree_text, sizeof copy);
    char *slash = strchr(copy, '/');
    if (slash)
        *slash = '\0';
    if (!slash || duration(copy, &degree->busy_ns) != 0 ||
        duration(slash + 1, &degree->period_ns) != 0)
        return fail(parse, "%s=%s is not WORK/PERIOD; write %s=10ms/100ms", name, term->degree_text,
                    name);
    if (degree->period_ns < LOAD_LEAST_PERIOD_NS || degree->period_ns > LOAD_MOST_PERIOD_NS)
        return fail(parse, "%s=%s: the period is out of limits; from 1ms to 10s", name,
                    term->degree_text);
    if (degree->busy_ns < LOAD_LEAST_BUSY_NS || degree->busy_ns > degree->period_ns)
        return fail(parse, "%s=%s: the work time is out of limits; from 100us to the period", name,
                    term->degree_text);
    return 0;
}

/* What is behind the '@' of a degree. */
static int parse_place(struct parse *parse, struct load_term *term, const char *place)
{
    struct load_degree *degree = &term->degree;
    const char *name = term->element->name, *text = term->degree_text;
    const char *form = term->element->default_degree;
    if (term->element->takes_device) {
        degree->has_device = parse_device(place, &degree->uio_number);
        if (!degree->has_device)
            return fail(parse,
                        "%s=%.60s does not name a UIO device; write %s=%s@" PORT_UIO_PATH
                        "N, with N from 0 to %d",
                        name, text, name, form, PORT_UIO_MOST_NUMBER);
        if (parse->is_each_cpus)
            return fail(parse,
                        "%s=%.60s: a device interrupts one CPU; leave out @cpu, or name no device",
                        name, text);
        return 0;
    }
    if (!parse_address(place, strlen(place), &degree->to))
        return fail(parse,
                    "%s=%.60s does not name a host and port; write %s=%s@HOST:PORT, or @[::1]:7 "
                    "with an IPv6 address",
                    name, text, name, form);
    if (!is_numeric(&degree->to))
        return fail(parse,
                    "%s=%.60s: '%.60s' is not an address; give one, such as 192.0.2.1:7 or "
                    "[::1]:7 (the hardstone command looks up names)",
                    name, text, degree->to.host);
    return 0;
}

/* A whole number from 1 to that of its kind, followed by `tail` and nothing else. */
static int parse_number(struct parse *parse, struct load_term *term, const char *tail)
{
    int most = load_most_number(term->element->kind);
    const char *name = term->element->name, *text = term->degree_text;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool is_number =
        end != text && strncmp(end, tail, strlen(tail)) == 0 && *text != '+' && *text != ' ';
    end += is_number ? strlen(tail) : 0;
    bool takes_place = term->element->takes_host || term->element->takes_device;
    if (!is_number || (*end != '\0' && !(takes_place && *end == '@')))
        return fail(parse, "%s=%.60s is not a number of %s; write %s=%s", name, text,
                    *tail ? "times in a second" : load_unit(term->element->kind), name,
                    term->element->default_degree);
    if (errno != 0 || number < 1 || number > most)
        return fail(parse, "%s=%.60s is out of limits; from 1%s to %d%s", name, text, tail, most,
                    tail);
    term->degree.number = number;
    return *end == '@' ? parse_place(parse, term, end + 1) : 0;
}

static int parse_degree(struct parse *parse, struct load_term *term)
{
    switch (term->element->kind) {
    case LOAD_SHARE:
        return parse_share(parse, term);
    case LOAD_RATE:
        return parse_number(parse, term, "/s");
    case LOAD_COUNT:
    case LOAD_JOBS:
    case LOAD_GROUPS:
        return parse_number(parse, term, "");
    default:
        return 0;
    }
}

/* Appends "@cpu" to the text of a degree that holds for each CPU. */
static void set_each_cpus(struct load_term *term)
{
    size_t used = strlen(term->degree_text);
    term->degree.is_each_cpus = true;
    snprintf(term->degree_text + used, sizeof term->degree_text - used, "%s", each_cpus);
}

static int add_term(struct parse *parse, const struct load_element *element, const char *degree,
                    size_t length)
{
    struct load_spec *spec = parse->spec;
    for (int i = 0; i < spec->count; i++)
        if (spec->terms[i].element == element)
            return fail(parse,
                        "load: %s is given twice (a named mix may contain it); name it once, or "
                        "list the elements of the mix",
                        element->name);
    struct load_term *term = &spec->terms[spec->count];
    memset(term, 0, sizeof *term);
    term->element = element;
    if (length + sizeof each_cpus > sizeof term->degree_text)
        return fail(parse, "load: the degree of %s is too long; write for example %s",
                    element->name, element->default_degree ? element->default_degree : "none");
    memcpy(term->degree_text, degree, length);
    if (parse_degree(parse, term) != 0)
        return -1;
    if (parse->is_each_cpus && element->kind != LOAD_EXTERNAL_STRESSOR)
        set_each_cpus(term);
    spec->count++;
    return 0;
}

static int add_terms(struct parse *parse, const char *text);

static int unknown(struct parse *parse, const char *name, size_t length)
{
    return fail(parse,
                "load: there is no element '%.*s'; did you mean %s? (hardstone-probe load "
                "--list)",
                (int)(length > 40 ? 40 : length), name, load_nearest_name(name, length));
}

static int add_plain(struct parse *parse, const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    size_t name_length = equals ? (size_t)(equals - text) : length;
    const struct load_mix *mix = equals ? NULL : load_mix_find(text, length);
    if (length == 0)
        return fail(parse, "load: a term is empty; write for example cpu=10ms/100ms+search");
    if (mix)
        return add_terms(parse, mix->text);
    const struct load_element *element = load_element_find(text, name_length);
    if (!element && equals && load_mix_find(text, name_length))
        return fail(parse, "load: %.*s has no degree; write it alone", (int)name_length, text);
    if (!element && name_length == 4 && strncmp(text, "none", 4) == 0)
        return fail(parse, "load: none cannot be combined with other elements; leave it out");
    if (!element)
        return unknown(parse, text, name_length);
    if (element->kind == LOAD_EXTERNAL_STRESSOR)
        return fail(parse, "load: %s takes options; write stress-ng:--cpu 2", element->name);
    if (equals && !element->default_degree)
        return fail(parse, "load: %s has no degree; write %s alone", element->name, element->name);
    if (equals)
        return add_term(parse, element, equals + 1, length - name_length - 1);
    const char *degree = element->default_degree ? element->default_degree : "";
    return add_term(parse, element, degree, strlen(degree));
}

/* A term with or without "@cpu" after it; "@cpu" after a mix applies to all its terms. */
static int add_one(struct parse *parse, const char *text, size_t length)
{
    size_t tail = sizeof each_cpus - 1;
    bool was_each_cpus = parse->is_each_cpus;
    if (length > tail && memcmp(text + length - tail, each_cpus, tail) == 0) {
        parse->is_each_cpus = true;
        length -= tail;
    }
    int answer = add_plain(parse, text, length);
    parse->is_each_cpus = was_each_cpus;
    return answer;
}

/* True if the option at `word` requests the real-time I/O class, or the stressor that uses all
 * classes. port_never_real_time does not prevent these for root. */
static bool is_real_time_io(const char *word, size_t length)
{
    static const char option[] = "--ionice-class", least[] = "--ionice-c", all[] = "--ioprio";
    const char *equals = memchr(word, '=', length);
    size_t name = equals ? (size_t)(equals - word) : length;
    if (name == strlen(all) && strncmp(word, all, name) == 0)
        return true;
    if (name < strlen(least) || name > strlen(option) || strncmp(word, option, name) != 0)
        return false;
    const char *value = equals ? equals + 1 : word + length + strspn(word + length, " \t");
    size_t given = strcspn(value, " \t");
    return (given == 2 && strncmp(value, "rt", 2) == 0) ||
           (given == 8 && strncmp(value, "realtime", 8) == 0);
}

static bool has_real_time_io(const char *options)
{
    for (size_t length; *options; options += length + strspn(options + length, " \t")) {
        length = strcspn(options, " \t");
        if (is_real_time_io(options, length))
            return true;
    }
    return false;
}

static int add_external_stressor(struct parse *parse, const char *options)
{
    options += strspn(options, " \t");
    if (*options == '\0')
        return fail(parse, "load: stress-ng: without options; write stress-ng:--cpu 2");
    if (has_real_time_io(options))
        return fail(parse, "load: stress-ng: a load may not use a real-time I/O priority; leave "
                           "out --ioprio, and write --ionice-class besteffort");
    if ((size_t)snprintf(parse->spec->options, LOAD_OPTIONS_BYTES, "%s", options) >=
        LOAD_OPTIONS_BYTES)
        return fail(parse, "load: the options of stress-ng are too long; at most %d characters",
                    LOAD_OPTIONS_BYTES - 1);
    return add_term(parse, &load_stress_ng, "", 0);
}

static int add_terms(struct parse *parse, const char *text)
{
    for (;;) {
        if (strncmp(text, foreign_prefix, strlen(foreign_prefix)) == 0)
            return add_external_stressor(parse, text + strlen(foreign_prefix));
        size_t length = strcspn(text, "+");
        if (add_one(parse, text, length) != 0)
            return -1;
        if (text[length] == '\0')
            return 0;
        text += length + 1;
    }
}

int load_spec_parse(const char *text, struct load_spec *spec, char *error, size_t error_bytes)
{
    struct parse parse = {spec, error, error_bytes, false};
    *spec = LOAD_SPEC_NONE;
    if (strcmp(text, "none") == 0)
        return 0;
    if ((size_t)snprintf(spec->text, sizeof spec->text, "%s", text) >= sizeof spec->text)
        return fail(&parse, "load: the text is too long; at most %d characters",
                    LOAD_TEXT_BYTES - 1);
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return fail(&parse, "load: it contains a control character; remove it");
    return add_terms(&parse, text);
}
