#include "base/posix_source.h"

#include "command/list.h"

#include "command/args.h"
#include "run/stream.h"
#include "run/test.h"

#include <string.h>
#include <strings.h>

extern const struct test clk_b_res, clk_p_bin, tmr_p_jit, tmr_b_edge, tmr_p_lat, rsp_p_fix;
extern const struct test thr_b_new, thr_b_rr, thr_b_pri, thr_p_sls, thr_p_pre, thr_p_new;
extern const struct test sem_b_lck, sem_b_rel, sem_p_new, sem_p_arn, sem_p_arc, sem_p_sig,
    sem_p_rtp, sem_p_shf;
extern const struct test mut_b_arc, mut_b_inv, mut_p_arn, mut_p_arc, mut_p_inv;

const struct test *const test_register[] = {
    &clk_b_res, &clk_p_bin, &tmr_p_jit, &tmr_b_edge, &tmr_p_lat, &thr_b_new, &thr_b_rr,
    &thr_b_pri, &thr_p_sls, &thr_p_pre, &thr_p_new,  &sem_b_lck, &sem_b_rel, &sem_p_new,
    &sem_p_arn, &sem_p_arc, &sem_p_sig, &sem_p_rtp,  &sem_p_shf, &mut_b_arc, &mut_b_inv,
    &mut_p_arn, &mut_p_arc, &mut_p_inv, &rsp_p_fix,  NULL,
};

const struct test *test_find(const char *id)
{
    for (int i = 0; test_register[i]; i++)
        if (strcasecmp(test_register[i]->id, id) == 0)
            return test_register[i];
    return NULL;
}

static const char *unit_name(enum param_unit unit)
{
    static const char *const names[] = {
        [PARAM_NS] = "ns",   [PARAM_COUNT] = "count", [PARAM_BYTES] = "bytes",
        [PARAM_CPU] = "cpu", [PARAM_NAME] = "name",
    };
    return names[unit];
}

static void text_member(struct emit *emit, const char *key, const char *text, bool is_first)
{
    emit_key(emit, key, is_first);
    emit_string(emit, text);
}

/* "1,10,100" as a JSON array of words: strings when `is_text`. */
static void word_array(struct emit *emit, const char *words, bool is_text)
{
    char word[128];
    bool is_first = true;
    emit_raw(emit, "[");
    while (*words) {
        size_t length = strcspn(words, ",");
        if (length >= sizeof word)
            length = sizeof word - 1;
        memcpy(word, words, length);
        word[length] = '\0';
        emit_raw(emit, is_first ? "" : ",");
        if (is_text) {
            emit_string(emit, word);
        } else {
            int64_t number = 0;
            args_duration(word, 1, &number);
            emit_integer(emit, number);
        }
        is_first = false;
        words += length;
        words += strspn(words, ",");
    }
    emit_raw(emit, "]");
}

static void param_json(struct emit *emit, const struct param_spec *spec)
{
    text_member(emit, "name", spec->name, true);
    text_member(emit, "unit", unit_name(spec->unit), false);
    emit_key(emit, "default", 0);
    word_array(emit, spec->default_text, spec->unit == PARAM_NAME);
    emit_key(emit, "is_list", 0);
    emit_raw(emit, spec->is_list ? "true" : "false");
    text_member(emit, "about", spec->about, false);
    if (spec->unit != PARAM_NAME)
        emit_format(emit, ",\"min\":%lld,\"max\":%lld", (long long)spec->min, (long long)spec->max);
    emit_key(emit, "choices", 0);
    emit_raw(emit, "[");
    for (int i = 0; spec->choices && spec->choices[i]; i++) {
        emit_raw(emit, i ? "," : "");
        emit_string(emit, spec->choices[i]);
    }
    emit_raw(emit, "]");
}

static void params_json(struct emit *emit, const struct test *test)
{
    emit_key(emit, "params", 0);
    emit_raw(emit, "[");
    for (int i = 0; test->params && test->params[i].name; i++) {
        emit_raw(emit, i ? ",{" : "{");
        param_json(emit, &test->params[i]);
        emit_raw(emit, "}");
    }
    emit_raw(emit, "]");
}

static void series_json(struct emit *emit, const struct test *test)
{
    emit_key(emit, "series", 0);
    emit_raw(emit, "[");
    for (int i = 0; test->series && test->series[i].name; i++) {
        emit_raw(emit, i ? ",{" : "{");
        text_member(emit, "name", test->series[i].name, true);
        text_member(emit, "unit", test->series[i].unit, false);
        emit_key(emit, "labels", 0);
        word_array(emit, test->series[i].labels, true);
        text_member(emit, "begin", test->series[i].begin, false);
        text_member(emit, "end", test->series[i].end ? test->series[i].end : "", false);
        emit_raw(emit, "}");
    }
    emit_raw(emit, "]");
}

static void verdicts_json(struct emit *emit, const struct test *test)
{
    emit_key(emit, "verdicts", 0);
    emit_raw(emit, "[");
    for (int i = 0; test->verdicts && test->verdicts[i].name; i++) {
        emit_raw(emit, i ? ",{" : "{");
        text_member(emit, "name", test->verdicts[i].name, true);
        text_member(emit, "claim", test->verdicts[i].claim, false);
        emit_raw(emit, "}");
    }
    emit_raw(emit, "]");
}

static void test_json(struct emit *emit, const struct test *test)
{
    text_member(emit, "id", test->id, true);
    text_member(emit, "title", test->title, false);
    text_member(emit, "source", test->source, false);
    params_json(emit, test);
    emit_key(emit, "needs", 0);
    emit_format(emit, "[%s%s%s]", test->needs & TEST_NEEDS_REALTIME ? "\"realtime\"" : "",
                (test->needs & TEST_NEEDS_REALTIME) && (test->needs & TEST_NEEDS_TWO_CPUS) ? ","
                                                                                           : "",
                test->needs & TEST_NEEDS_TWO_CPUS ? "\"two_cpus\"" : "");
    series_json(emit, test);
    verdicts_json(emit, test);
    emit_format(emit, ",\"default_samples\":%llu,\"default_duration_ns\":%lld",
                (unsigned long long)test->default_samples, (long long)test->default_duration_ns);
}

void register_json(struct emit *emit)
{
    emit_raw(emit, "{\"schema\":\"hardstone.register/1\"");
    text_member(emit, "probe_version", PROBE_VERSION, false);
    emit_key(emit, "tests", 0);
    emit_raw(emit, "[");
    for (int i = 0; test_register[i]; i++) {
        emit_raw(emit, i ? ",{" : "{");
        test_json(emit, test_register[i]);
        emit_raw(emit, "}");
    }
    emit_raw(emit, "]}");
    emit_line(emit);
}

void register_text(struct emit *emit)
{
    for (int i = 0; test_register[i]; i++) {
        const struct test *test = test_register[i];
        emit_format(emit, "%-10s %s\n", test->id, test->title);
        for (int j = 0; test->params && test->params[j].name; j++)
            emit_format(emit, "           -p %s=%s  %s\n", test->params[j].name,
                        test->params[j].default_text, test->params[j].about);
    }
}
