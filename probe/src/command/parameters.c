#include "base/posix_source.h"

#include "command/parameters.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const struct param_spec *find_param(const struct test *test, const char *name, size_t length,
                                           int *index)
{
    for (*index = 0; test->params && test->params[*index].name; ++*index)
        if (strlen(test->params[*index].name) == length &&
            strncmp(test->params[*index].name, name, length) == 0)
            return &test->params[*index];
    return NULL;
}

static int parse_choice(const struct param_spec *spec, const char *word, int64_t *number)
{
    for (int i = 0; spec->choices[i]; i++)
        if (strcmp(word, spec->choices[i]) == 0) {
            *number = i;
            return 0;
        }
    return -1;
}

static int parse_word(struct parser *parser, const struct param_spec *spec, const char *word,
                      int64_t *number)
{
    if (spec->unit == PARAM_NAME) {
        if (parse_choice(spec, word, number) == 0)
            return 0;
        return parser_fail(parser, "%s: '%.60s' is not one of its names; see hardstone-probe list",
                           spec->name, word);
    }
    int bad =
        spec->unit == PARAM_NS ? duration_parse(word, 1, number) : parser_number(word, number);
    if (bad)
        return parser_fail(parser, "%s: '%.60s' is not a number; write for example %s", spec->name,
                           word, spec->default_text);
    if (*number < spec->min || *number > spec->max)
        return parser_fail(parser, "%s: %s is out of limits; from %lld to %lld", spec->name, word,
                           (long long)spec->min, (long long)spec->max);
    return 0;
}

/* Whether the value repeats another one of a list whose values are variants: two series would have
 * the same labels. */
static bool is_repeated(const struct param_spec *spec, const struct param_value *value,
                        int64_t number)
{
    for (int i = 0; spec->label && i < value->count; i++)
        if (value->number[i] == number)
            return true;
    return false;
}

static int parse_value(struct parser *parser, const struct param_spec *spec, const char *text,
                       struct param_value *value)
{
    char copy[512];
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy)
        return parser_fail(parser, "%s: the value is too long", spec->name);
    value->count = 0;
    char *rest = copy;
    while (rest) {
        char *word = rest;
        char *comma = spec->is_list ? strchr(rest, ',') : NULL;
        if (comma)
            *comma = '\0';
        rest = comma ? comma + 1 : NULL;
        if (value->count == TEST_VALUES)
            return parser_fail(parser, "%s: more than %d values; give fewer", spec->name,
                               TEST_VALUES);
        if (parse_word(parser, spec, word, &value->number[value->count]) != 0)
            return -1;
        if (is_repeated(spec, value, value->number[value->count]))
            return parser_fail(parser, "%s: '%.60s' is there twice; give it once", spec->name,
                               word);
        value->count++;
    }
    return 0;
}

int parameters_take(struct parser *parser, const char *text)
{
    const struct test *test = parser->request->test;
    const char *equals = strchr(text, '=');
    if (!equals)
        return parser_fail(parser, "-p %.60s: write -p NAME=VALUE", text);
    int index;
    const struct param_spec *spec = find_param(test, text, (size_t)(equals - text), &index);
    if (!spec)
        return parser_fail(parser, "%s has no parameter '%.*s'; see hardstone-probe list", test->id,
                           (int)(equals - text > 40 ? 40 : equals - text), text);
    return parse_value(parser, spec, equals + 1, &parser->request->params[index]);
}

int parameters_set_defaults(struct parser *parser)
{
    const struct test *test = parser->request->test;
    for (int i = 0; test->params && test->params[i].name; i++)
        if (*test->params[i].default_text &&
            parse_value(parser, &test->params[i], test->params[i].default_text,
                        &parser->request->params[i]) != 0)
            return -1;
    return 0;
}
