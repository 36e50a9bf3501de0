/* The CPU configuration `single`: what a run does and says when the other CPUs go offline, and when
 * that is refused. The linker wraps the shield (--wrap); the port is a fake. */
#include "base/posix_source.h"

#include "child_run.h"
#include "fake_port.h"
#include "run/run.h"
#include "shield/shield.h"
#include "tap.h"

#include <unistd.h>

enum { CPUS = 3, MEASURED = 2 };

static struct scene {
    enum shield_answer answer;
    bool has_begun, is_alone, is_unknown;
    const char *left; /* by an earlier shield, which has the other CPUs offline */
} scene;

WRAP(void, shield_clear_way, shield_tell tell, void *context, struct shield_earlier *restored)
{
    (void)tell, (void)context;
    *restored = (struct shield_earlier){.cpus = "0-1", .owner = 77, .undone = 3, .foreign = 1};
    snprintf(restored->text, sizeof restored->text, "%s", scene.left ? scene.left : "");
    scene.left = NULL;
}

WRAP(bool, shield_is_left, struct shield_earlier *left)
{
    *left = (struct shield_earlier){.cpus = "0-1", .owner = 77};
    snprintf(left->text, sizeof left->text, "%s", scene.left ? scene.left : "");
    return scene.left != NULL;
}

WRAP(enum shield_answer, shield_open, struct shield *shield, const struct shield_wish *wish)
{
    memset(shield, 0, sizeof *shield);
    shield->port.reserved = wish->reserved;
    shield->has_begun = scene.has_begun;
    shield->applied = wish->settings;
    snprintf(shield->reason, sizeof shield->reason, "an invented reason");
    snprintf(shield->remedy, sizeof shield->remedy, "an invented remedy");
    snprintf(shield->command, sizeof shield->command, "invented --command");
    return scene.answer;
}

WRAP(struct shield_undone, shield_close, struct shield *shield, shield_tell tell, void *context)
{
    (void)shield;
    tell(context, NO_DATA, "told at the end");
    return (struct shield_undone){0};
}

WRAP(int, shield_other_cpus, int cpu, struct cpus *others)
{
    cpus_clear(others);
    for (int other = 0; other < CPUS && !scene.is_alone && !scene.left; other++)
        if (other != cpu && !scene.is_unknown)
            cpus_add(others, other);
    return scene.is_unknown ? -1 : cpus_count(others);
}

static int end_at_once(struct run *run)
{
    arena_verdict(run->arena, true, 1, "ran", "it ran");
    return 0;
}

static const char *stream(int cpus, const char *config, const char *option, const char *value)
{
    static const struct test test = {
        .id = "ENDS", .title = "ends", .setup_ns = 1000000, .measure = end_at_once};
    const char *all[] = {"--cpu-config", config, option, value, NULL};
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = cpus};
    return child_run_of(&test, config ? all : all + 2);
}

#define OFFLINE                                                                                    \
    "\"name\":\"offline\",\"at_ns\":null,\"data\":{\"cpu\":2,\"cpus\":\"0-1\","                    \
    "\"changed\":[\"offline\",\"cpuset\",\"interrupts\"],\"unchanged\":[]},"                       \
    "\"text\":\"CPU 0-1: offline"

#define NOT_OFFLINE                                                                                \
    "\"name\":\"not_offline\"", "(an invented reason); measurement and load run on CPU 2 only",    \
        "\"settings\":[],\"cpu\":2", "\"status\":\"measured\""
#define LEFT "an invented process left it"

WRAP_TEST(single)
{
    static const struct {
        struct scene scene;
        const char *texts[4];
    } rows[] = {
        {{SHIELD_DONE, true},
         {OFFLINE, "\"cpu_config\":\"single\",\"settings\":[\"offline\"],\"cpu\":2",
          "\"name\":\"not_put_back\",\"at_ns\":null,\"data\":{},\"text\":\"told at the end\"",
          "\"status\":\"measured\""}},
        {{SHIELD_DENIED, false}, {NOT_OFFLINE}},
        {{SHIELD_DENIED, true}, {NOT_OFFLINE}},
        {{SHIELD_UNSUPPORTED, false}, {NOT_OFFLINE}},
        {{SHIELD_FAILED, true}, {NOT_OFFLINE}},
        /* another shield, or what one has left: the machine is not as it should be */
        {{SHIELD_HELD},
         {"\"status\":\"denied\",\"reason\":\"an invented reason\"",
          "\"remedy\":\"an invented remedy\",\"command\":\"invented --command\""}},
        {{SHIELD_FAILED}, {"\"status\":\"failed\""}},
        {{SHIELD_UNSUPPORTED, .is_alone = true},
         {"no other CPU is online", "\"settings\":[\"offline\"]"}},
        /* they are restored before CPUs are counted */
        {{SHIELD_DONE, true, .left = LEFT},
         {"\"name\":\"restored_before\",\"at_ns\":null,\"data\":{\"process_id\":77,"
          "\"cpus\":\"0-1\",\"is_of_earlier_boot\":false,\"put_back_count\":3,"
          "\"left_count\":1},\"text\":\"" LEFT "\"",
          OFFLINE}},
        /* that is no proof that there is but one */
        {{SHIELD_UNSUPPORTED, .is_unknown = true}, {"\"name\":\"not_offline\"", "\"settings\":[]"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char row[16];
        snprintf(row, sizeof row, "row %zu", i);
        tap_row(row);
        scene = rows[i].scene;
        const char *text = stream(CPUS, "single", "--cpu", "2");
        for (int j = 0; j < 4 && rows[i].texts[j]; j++)
            CHECK_HOLDS(text, rows[i].texts[j]);
    }
}

/* A run that changes nothing itself says that the machine is not as it should be. */
WRAP_TEST(what_was_left_under_shared)
{
    scene = (struct scene){.left = LEFT};
    CHECK_HOLDS(stream(CPUS, NULL, NULL, NULL),
                "\"name\":\"not_put_back\",\"at_ns\":null,\"data\":{\"process_id\":77,"
                "\"cpus\":\"0-1\",\"command\":\"hardstone shield --restore\"},"
                "\"text\":\"" LEFT "\"");
}

/* They are for the measuring CPU, and all that is changed. */
WRAP_TEST(single_settings)
{
    scene = (struct scene){SHIELD_DONE, true};
    const char *text = stream(CPUS, "single", "--settings", "timers");
    CHECK_HOLDS(text, "(--settings lists everything that is changed)");
    CHECK_HOLDS(text, "\"settings\":[\"timers\"]");
}

TEST(no_cpu_can_be_chosen)
{
    scene = (struct scene){0};
    CHECK_HOLDS(stream(-1, "single", NULL, NULL), sysconf(_SC_NPROCESSORS_ONLN) == 1
                                                      ? "no other CPU is online"
                                                      : "measurement and load cannot be kept on "
                                                        "one");
}
