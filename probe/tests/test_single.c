/* The CPU configuration `single`: what a run does and says when the other CPUs go offline, and when
 * that is refused. The linker wraps the shield (--wrap); the port is a fake. */
#include "base/posix_source.h"

#include "child_run.h"
#include "fake_port.h"
#include "run/run.h"
#include "shield/shield.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS = 3, MEASURED = 2 };

static struct {
    enum shield_answer answer;
    bool has_begun, is_alone, is_unknown;
    const char *left; /* by an earlier shield, which has the other CPUs offline */
} scene;

enum shield_answer __wrap_shield_open(struct shield *shield, const struct shield_wish *wish);
struct shield_undone __wrap_shield_close(struct shield *shield, shield_tell tell, void *context);
int __wrap_shield_other_cpus(int cpu, struct cpus *others);
void __wrap_shield_clear_way(shield_tell tell, void *context, struct shield_earlier *restored);
bool __wrap_shield_is_left(struct shield_earlier *left);

void __wrap_shield_clear_way(shield_tell tell, void *context, struct shield_earlier *restored)
{
    (void)tell, (void)context;
    *restored = (struct shield_earlier){.cpus = "0-1", .owner = 77, .undone = 3, .foreign = 1};
    snprintf(restored->text, sizeof restored->text, "%s", scene.left ? scene.left : "");
    scene.left = NULL;
}

bool __wrap_shield_is_left(struct shield_earlier *left)
{
    *left = (struct shield_earlier){.cpus = "0-1", .owner = 77};
    if (scene.left)
        snprintf(left->text, sizeof left->text, "%s", scene.left);
    return scene.left != NULL;
}

enum shield_answer __wrap_shield_open(struct shield *shield, const struct shield_wish *wish)
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

struct shield_undone __wrap_shield_close(struct shield *shield, shield_tell tell, void *context)
{
    struct shield_undone none = {0};
    (void)shield;
    tell(context, NO_DATA, "told at the end");
    return none;
}

int __wrap_shield_other_cpus(int cpu, struct cpus *others)
{
    cpus_clear(others);
    for (int other = 0; other < CPUS && !scene.is_alone && !scene.left; other++)
        if (other != cpu && !scene.is_unknown)
            cpus_add(others, other);
    return scene.is_unknown ? -1 : cpus_count(others);
}

static int end_at_once(struct run *run)
{
    (void)run;
    return 0;
}

static void take_fake_test(struct request *request)
{
    static const struct test test = {
        .id = "ENDS", .title = "ends", .setup_ns = 1000000, .measure = end_at_once};
    request->test = &test;
}

/* `more`: an option and its value, or NULL. */
static const char *stream_of(enum shield_answer answer, bool has_begun, const char *more,
                             const char *value)
{
    int code;
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = CPUS};
    scene.answer = answer;
    scene.has_begun = has_begun;
    const char *words[] = {
        "hardstone-probe",   "run",       "SEM-P-SIG",    "--policy", "other",
        "--clock",           "monotonic", "--cpu-config", "single",   more ? more : "--cpu",
        value ? value : "2", NULL};
    return child_run((char *const *)words, take_fake_test, &code);
}

TEST(offline)
{
    if (!tap_is_wrapped())
        return;
    const char *text = stream_of(SHIELD_DONE, true, NULL, NULL);
    CHECK_HOLDS(text, "\"name\":\"offline\",\"at_ns\":null,\"data\":{\"cpu\":2,\"cpus\":\"0-1\","
                      "\"changed\":[\"offline\",\"cpuset\",\"interrupts\"],\"unchanged\":[]},"
                      "\"text\":\"CPU 0-1: offline");
    CHECK_HOLDS(text, "\"cpu_config\":\"single\",\"settings\":[\"offline\"],\"cpu\":2");
    CHECK_HOLDS(text, "\"name\":\"not_put_back\",\"at_ns\":null,\"data\":{},"
                      "\"text\":\"told at the end\"");
    CHECK_HOLDS(text, "\"status\":\"measured\"");
}

TEST(refused)
{
    static const struct {
        enum shield_answer answer;
        bool has_begun;
    } refusals[] = {{SHIELD_DENIED, false},
                    {SHIELD_DENIED, true},
                    {SHIELD_UNSUPPORTED, false},
                    {SHIELD_FAILED, true}};
    if (!tap_is_wrapped())
        return;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const char *text = stream_of(refusals[i].answer, refusals[i].has_begun, NULL, NULL);
        CHECK_HOLDS(text, "\"name\":\"not_offline\"");
        CHECK_HOLDS(text, "(an invented reason): measuring and load are on CPU 2 only");
        CHECK_HOLDS(text, "\"settings\":[],\"cpu\":2");
        CHECK_HOLDS(text, "\"status\":\"measured\"");
    }
}

/* Another shield, or what one has left: the machine is not as it should be. */
TEST(held)
{
    if (!tap_is_wrapped())
        return;
    const char *text = stream_of(SHIELD_HELD, false, NULL, NULL);
    CHECK_HOLDS(text, "\"status\":\"denied\",\"reason\":\"an invented reason\"");
    CHECK_HOLDS(text, "\"remedy\":\"an invented remedy\",\"command\":\"invented --command\"");
    CHECK_HOLDS(stream_of(SHIELD_FAILED, false, NULL, NULL), "\"status\":\"failed\"");
}

TEST(no_other_cpu)
{
    if (!tap_is_wrapped())
        return;
    scene.is_alone = true;
    const char *text = stream_of(SHIELD_UNSUPPORTED, false, NULL, NULL);
    scene.is_alone = false;
    CHECK_HOLDS(text, "no other CPU is online");
    CHECK_HOLDS(text, "\"settings\":[\"offline\"]");
}

/* They are restored before CPUs are counted. */
TEST(what_was_left)
{
    if (!tap_is_wrapped())
        return;
    scene.left = "an invented process left it";
    const char *text = stream_of(SHIELD_DONE, true, NULL, NULL);
    CHECK_HOLDS(text, "\"name\":\"restored_before\",\"at_ns\":null,\"data\":{\"process_id\":77,"
                      "\"cpus\":\"0-1\",\"is_of_earlier_boot\":false,\"put_back_count\":3,"
                      "\"left_count\":1},\"text\":\"an invented process left it\"");
    CHECK_HOLDS(text, "\"name\":\"offline\",\"at_ns\":null,\"data\":{\"cpu\":2,\"cpus\":\"0-1\","
                      "\"changed\":[\"offline\",\"cpuset\",\"interrupts\"],\"unchanged\":[]},"
                      "\"text\":\"CPU 0-1: offline");
}

/* A run that changes nothing itself says that the machine is not as it should be. */
TEST(what_was_left_under_shared)
{
    int code;
    char *words[] = {"hardstone-probe", "run",     "SEM-P-SIG", "--policy",
                     "other",           "--clock", "monotonic", NULL};
    if (!tap_is_wrapped())
        return;
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = CPUS};
    scene.left = "an invented process left it";
    const char *text = child_run(words, take_fake_test, &code);
    scene.left = NULL;
    CHECK_HOLDS(text, "\"name\":\"not_put_back\",\"at_ns\":null,\"data\":{\"process_id\":77,"
                      "\"cpus\":\"0-1\",\"command\":\"hardstone shield --restore\"},"
                      "\"text\":\"an invented process left it\"");
}

/* That is no proof that there is but one. */
TEST(online_cpus_are_not_known)
{
    if (!tap_is_wrapped())
        return;
    scene.is_unknown = true;
    const char *text = stream_of(SHIELD_UNSUPPORTED, false, NULL, NULL);
    scene.is_unknown = false;
    CHECK_HOLDS(text, "\"name\":\"not_offline\"");
    CHECK_HOLDS(text, "\"settings\":[]");
}

/* They are for the measuring CPU, and all that is changed. */
TEST(single_settings)
{
    if (!tap_is_wrapped())
        return;
    const char *text = stream_of(SHIELD_DONE, true, "--settings", "timers");
    CHECK_HOLDS(text, "(--settings lists everything that is changed)");
    CHECK_HOLDS(text, "\"settings\":[\"timers\"]");
}

TEST(no_cpu_can_be_chosen)
{
    int code;
    char *words[] = {"hardstone-probe", "run",       "SEM-P-SIG",    "--policy", "other",
                     "--clock",         "monotonic", "--cpu-config", "single",   NULL};
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = -1};
    const char *text = child_run(words, take_fake_test, &code);
    if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
        CHECK_HOLDS(text, "no other CPU is online");
    else
        CHECK_HOLDS(text, "measuring and load cannot be kept on one");
}
