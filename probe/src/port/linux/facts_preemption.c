/* The preemption model in force. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static bool is_realtime(const struct utsname *names)
{
    int64_t flag;
    return strstr(names->version, "PREEMPT_RT") || strstr(names->version, "PREEMPT RT") ||
           (linux_read_number("/sys/kernel/realtime", &flag) && flag == 1);
}

static bool is_from(const char *release, long major, long minor)
{
    char *rest;
    long own_major = strtol(release, &rest, 10);
    long own_minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return own_major > major || (own_major == major && own_minor >= minor);
}

static bool is_model(const char *word)
{
    static const char *const models[] = {"none", "voluntary", "full", "lazy", "laziest"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(word, models[i]) == 0)
            return true;
    return false;
}

/* False: the configuration cannot be read, or says none of them. */
static bool configured_model(char *model, size_t bytes)
{
    static const char *const built[][2] = {{"CONFIG_PREEMPT_NONE", "none"},
                                           {"CONFIG_PREEMPT_VOLUNTARY", "voluntary"},
                                           {"CONFIG_PREEMPT", "full"},
                                           {"CONFIG_PREEMPT_LAZY", "lazy"},
                                           {"CONFIG_PREEMPT_LAZIEST", "laziest"}};
    char value[32];
    for (size_t i = 0; i < sizeof built / sizeof built[0]; i++) {
        if (!linux_config(built[i][0], value, sizeof value))
            return false;
        if (strcmp(value, "y") == 0) {
            snprintf(model, bytes, "%s", built[i][1]);
            return true;
        }
    }
    return false;
}

/* Model that a dynamic kernel boots with, from its command line, else its configuration.
 * Returns which of the two; NULL: not known. */
static const char *default_model(char *model, size_t bytes)
{
    if (linux_boot_option("preempt", model, bytes) && is_model(model))
        return "boot line";
    return configured_model(model, bytes) ? "configuration" : NULL;
}

/* The words of a list such as "full (lazy) laziest" without its marks, with commas. Returns their
 * number. */
static int choices(const char *list, char *text, size_t bytes)
{
    char copy[256];
    struct linux_words words = {text, bytes, 0, 0};
    int count = 0;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *rest, *word = strtok_r(copy, " ()[]\n", &rest); word;
         word = strtok_r(NULL, " ()[]\n", &rest), count++)
        linux_add_word(&words, ", ", word);
    return count;
}

/* The model that debugfs marks is the one in force, whatever the kernel is called: one with
 * PREEMPT_RT and PREEMPT_DYNAMIC names only the former. False: debugfs does not tell. */
static bool visible_facts(const struct port_fact_sink *sink, const char *before)
{
    char list[256], model[64], text[128];
    if (!linux_read_debug("debugfs", "sched/preempt", list, sizeof list) ||
        !linux_bracketed(list, model, sizeof model))
        return false;
    sink->text(sink->context, "kernel.preemption_model", model);
    bool is_dynamic = choices(list, text, sizeof text) > 1;
    sink->truth(sink->context, "kernel.preemption_is_dynamic", is_dynamic);
    sink->text(sink->context, "kernel.preemption_choices", text);
    snprintf(text, sizeof text, "%s%s%s", before, model, is_dynamic ? " (dynamic)" : "");
    sink->text(sink->context, "kernel.preemption", text);
    return true;
}

static void hidden_facts(const struct port_fact_sink *sink, const char *before)
{
    char model[64], text[128];
    const char *source = default_model(model, sizeof model);
    sink->truth(sink->context, "kernel.preemption_is_dynamic", true);
    if (source) {
        snprintf(text, sizeof text, "%s%s (dynamic, %s)", before, model, source);
        sink->text(sink->context, "kernel.preemption_default", model);
    } else {
        snprintf(text, sizeof text, "%sdynamic (active model not visible)", before);
    }
    sink->text(sink->context, "kernel.preemption", text);
}

static void constant_facts(const struct port_fact_sink *sink, const struct utsname *names)
{
    char built[64];
    bool is_preemptible = strstr(names->version, "PREEMPT") != NULL;
    const char *model = !is_preemptible                  ? "none or voluntary"
                        : is_from(names->release, 6, 13) ? "full or lazy"
                                                         : "full";
    if (strstr(model, " or ") && configured_model(built, sizeof built))
        model = built;
    sink->truth(sink->context, "kernel.preemption_is_dynamic", false);
    sink->text(sink->context, "kernel.preemption", model);
    sink->text(sink->context, "kernel.preemption_model", model);
}

/* Whether a PREEMPT_RT kernel was built with a choice of models. Those older than 6.12 have none,
 * and debugfs shows a choice where there is one. */
static bool is_choice_known(const struct utsname *names, bool *has_choice)
{
    char value[256];
    *has_choice = false;
    if (!is_from(names->release, 6, 12) ||
        linux_read_debug("debugfs", "sched/features", value, sizeof value))
        return true;
    bool is_known = linux_config("CONFIG_PREEMPT_DYNAMIC", value, sizeof value);
    *has_choice = is_known && strcmp(value, "y") == 0;
    return is_known;
}

/* In a PREEMPT_RT kernel a model says only when ordinary tasks preempt each other. */
static void realtime_facts(const struct port_fact_sink *sink, const struct utsname *names)
{
    bool has_choice, is_known = is_choice_known(names, &has_choice);
    sink->text(sink->context, "kernel.preemption_model", "rt");
    if (has_choice) {
        hidden_facts(sink, "rt, ");
        return;
    }
    if (is_known)
        sink->truth(sink->context, "kernel.preemption_is_dynamic", false);
    sink->text(sink->context, "kernel.preemption", "rt");
}

void linux_preemption_facts(const struct port_fact_sink *sink)
{
    struct utsname names;
    if (uname(&names) != 0)
        return;
    bool is_rt = is_realtime(&names);
    sink->truth(sink->context, "kernel.realtime", is_rt);
    if (visible_facts(sink, is_rt ? "rt, " : ""))
        return;
    sink->text(sink->context, "kernel.debugfs", linux_debug_state("debugfs", "sched/preempt"));
    if (is_rt)
        realtime_facts(sink, &names);
    else if (strstr(names.version, "PREEMPT_DYNAMIC"))
        hidden_facts(sink, "");
    else
        constant_facts(sink, &names);
}
