#include "base/posix_source.h"

#include "command/commands.h"

#include "base/text.h"
#include "run/stream.h"
#include "run/test.h"

#include <stdio.h>
#include <string.h>

static const char *unit_name(enum param_unit unit)
{
    static const char *const names[] = {
        [PARAM_NS] = "ns",   [PARAM_COUNT] = "count", [PARAM_BYTES] = "bytes",
        [PARAM_CPU] = "cpu", [PARAM_NAME] = "name",
    };
    return names[unit];
}

/* "1,10,100" as a JSON array of words: strings when `is_text`. */
static void word_array(struct emit *emit, const char *words, bool is_text)
{
    char word[128];
    emit_begin_array(emit);
    while (*words) {
        size_t length = strcspn(words, ",");
        if (length >= sizeof word)
            length = sizeof word - 1;
        memcpy(word, words, length);
        word[length] = '\0';
        if (is_text) {
            emit_string(emit, word);
        } else {
            int64_t number = 0;
            bool is_negative = word[0] == '-';
            duration_parse(word + is_negative, 1, &number);
            emit_integer(emit, is_negative ? -number : number);
        }
        words += length;
        words += strspn(words, ",");
    }
    emit_end_array(emit);
}

static void param_json(struct emit *emit, const struct param_spec *spec)
{
    emit_member_text(emit, "name", spec->name);
    emit_member_text(emit, "unit", unit_name(spec->unit));
    emit_key(emit, "default");
    word_array(emit, spec->default_text, spec->unit == PARAM_NAME);
    emit_member_bool(emit, "is_list", spec->is_list);
    emit_member_text(emit, "about", spec->about);
    if (spec->unit != PARAM_NAME) {
        emit_member_integer(emit, "min", spec->min);
        emit_member_integer(emit, "max", spec->max);
    }
    emit_member_array(emit, "choices");
    for (int i = 0; spec->choices && spec->choices[i]; i++)
        emit_string(emit, spec->choices[i]);
    emit_end_array(emit);
    emit_member_text_or_null(emit, "label", spec->label ? spec->label : "");
}

static void params_json(struct emit *emit, const struct test *test)
{
    emit_member_array(emit, "params");
    for (int i = 0; test->params && test->params[i].name; i++) {
        emit_begin_object(emit);
        param_json(emit, &test->params[i]);
        emit_end_object(emit);
    }
    emit_end_array(emit);
}

/* Names of the labels: "part" and "cpu" for "part=total,cpu". */
static void label_names(struct emit *emit, const char *labels)
{
    char name[128] = "";
    emit_begin_array(emit);
    for (; *labels; labels += strcspn(labels, ",")) {
        labels += strspn(labels, ",");
        size_t length = strcspn(labels, "=,");
        length = length < sizeof name ? length : sizeof name - 1;
        memcpy(name, labels, length);
        name[length] = '\0';
        emit_string(emit, name);
    }
    emit_end_array(emit);
}

/* Values of those that are the same in each of its series: {"part":"total"}. */
static void fixed_labels(struct emit *emit, const char *labels)
{
    char name[64], text[64];
    emit_member_object(emit, "fixed");
    for (; *labels; labels += strcspn(labels, ",")) {
        labels += strspn(labels, ",");
        size_t length = strcspn(labels, "=,");
        if (labels[length] != '=')
            continue;
        const char *value = labels + length + 1;
        snprintf(name, sizeof name, "%.*s", (int)length, labels);
        snprintf(text, sizeof text, "%.*s", (int)strcspn(value, ","), value);
        emit_member_text(emit, name, text);
    }
    emit_end_object(emit);
}

static void series_json(struct emit *emit, const struct test *test)
{
    emit_member_array(emit, "series");
    for (int i = 0; test->series && test->series[i].name; i++) {
        emit_begin_object(emit);
        emit_member_text(emit, "name", test->series[i].name);
        emit_member_text(emit, "unit", test->series[i].unit);
        emit_key(emit, "labels");
        label_names(emit, test->series[i].labels);
        fixed_labels(emit, test->series[i].labels);
        emit_member_text(emit, "begin", test->series[i].begin);
        emit_member_text(emit, "end", test->series[i].end ? test->series[i].end : "");
        emit_member_text_or_null(emit, "derived",
                                 test->series[i].derived ? test->series[i].derived : "");
        stream_range_members(emit, &test->series[i].range);
        emit_member_bool(emit, "within_measurement",
                         test->series[i].range.most == 0 &&
                             record_is_timed(test->series[i].unit, test->series[i].derived));
        emit_end_object(emit);
    }
    emit_end_array(emit);
}

static void verdicts_json(struct emit *emit, const struct test *test)
{
    emit_member_array(emit, "verdicts");
    for (int i = 0; test->verdicts && test->verdicts[i].name; i++) {
        emit_begin_object(emit);
        emit_member_text(emit, "name", test->verdicts[i].name);
        emit_member_text(emit, "claim", test->verdicts[i].claim);
        emit_end_object(emit);
    }
    emit_end_array(emit);
}

static void times_json(struct emit *emit, const struct test *test)
{
    emit_member_integer(emit, "setup_ns", test->setup_ns);
    emit_member_integer(emit, "sample_ns", test->sample_ns);
    emit_member_text_or_null(emit, "sample_param", test->sample_param ? test->sample_param : "");
    emit_member_integer(emit, "sample_percent", test->sample_percent ? test->sample_percent : 100);
    emit_member_integer(emit, "extra_samples", (int64_t)test->extra_samples);
    emit_member_integer(emit, "warm_up_samples", test->warm_up_samples);
    emit_member_bool(emit, "concurrent", test->is_concurrent);
}

static void test_json(struct emit *emit, const struct test *test)
{
    emit_member_text(emit, "id", test->id);
    emit_member_text(emit, "title", test->title);
    emit_member_text(emit, "source", test->source);
    params_json(emit, test);
    emit_member_array(emit, "needs");
    if (test->needs & TEST_NEEDS_REALTIME)
        emit_string(emit, "realtime");
    if (test->needs & TEST_NEEDS_TWO_CPUS)
        emit_string(emit, "two_cpus");
    if (test->needs & TEST_NEEDS_ONE_CPU)
        emit_string(emit, "one_cpu");
    if (test->needs & TEST_NEEDS_A_CPU)
        emit_string(emit, "a_cpu");
    if (test->needs & TEST_NEEDS_FILES)
        emit_string(emit, "files");
    emit_end_array(emit);
    series_json(emit, test);
    verdicts_json(emit, test);
    emit_member_integer(emit, "default_samples", (int64_t)test->default_samples);
    emit_member_integer(emit, "default_duration_ns", test->default_duration_ns);
    times_json(emit, test);
}

/* Of test number `i`. */
static bool is_in_part(const struct register_part *part, int i)
{
    return !part->is_part || (i >= part->from && i - part->from < part->count);
}

static int test_count(void)
{
    int count = 0;
    while (test_register[count])
        count++;
    return count;
}

void register_json(struct emit *emit, const struct register_part *part)
{
    emit_begin_object(emit);
    emit_member_text(emit, "schema", "hardstone.register/1");
    emit_member_text(emit, "probe_version", PROBE_VERSION);
    if (part->is_part)
        emit_member_integer(emit, "of", test_count());
    emit_member_array(emit, "tests");
    for (int i = 0; test_register[i]; i++) {
        if (!is_in_part(part, i))
            continue;
        emit_begin_object(emit);
        test_json(emit, test_register[i]);
        emit_end_object(emit);
    }
    emit_end_array(emit);
    emit_end_object(emit);
    emit_line(emit);
}

void register_text(struct emit *emit, const struct register_part *part)
{
    for (int i = 0; test_register[i]; i++) {
        if (!is_in_part(part, i))
            continue;
        const struct test *test = test_register[i];
        emit_format(emit, "%-10s %s\n", test->id, test->title);
        for (int j = 0; test->params && test->params[j].name; j++)
            emit_format(emit, "           -p %s=%s  %s\n", test->params[j].name,
                        test->params[j].default_text, test->params[j].about);
    }
}
