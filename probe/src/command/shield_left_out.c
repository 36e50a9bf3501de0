/* Stubs of the shield for a build with HS_SHIELD=0, which links nothing of shield/: requests for a
 * shield are refused with a reason. */
#include "base/posix_source.h"

#include "base/build_options.h"
#include "base/message.h"
#include "command/shield.h"
#include "shield/shield.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#if !HS_SHIELD

#define WHY "shields are left out of this build"
#define REMEDY "build the probe with -Dshield=true"

const char *shield_setting_name(enum shield_setting setting)
{
    (void)setting; /* none is ever applied */
    return "";
}

/* Accepts any text, so that a run's result can say why nothing is reserved. */
int shield_parse_settings(const char *text, unsigned *settings, char *bad, size_t bad_bytes)
{
    (void)text, (void)bad, (void)bad_bytes;
    *settings = 1u << SHIELD_DMA_LATENCY;
    return 0;
}

int shield_default_cpu(void)
{
    return -1;
}

int shield_staying_cpu(void)
{
    return -1;
}

int shield_other_cpus(int cpu, struct cpus *others)
{
    (void)cpu;
    cpus_clear(others);
    return -1;
}

void shield_clear_way(shield_tell tell, void *context, struct shield_earlier *restored)
{
    (void)tell, (void)context;
    memset(restored, 0, sizeof *restored);
}

bool shield_is_left(struct shield_earlier *left)
{
    (void)left;
    return false;
}

enum shield_answer shield_open(struct shield *shield, const struct shield_wish *wish)
{
    (void)wish;
    memset(shield, 0, sizeof *shield);
    snprintf(shield->reason, sizeof shield->reason, WHY);
    snprintf(shield->remedy, sizeof shield->remedy, REMEDY);
    return SHIELD_UNSUPPORTED;
}

enum shield_answer shield_add_timerlat(struct shield *shield, int64_t period_us)
{
    (void)shield, (void)period_us;
    return SHIELD_UNSUPPORTED;
}

enum shield_answer shield_add_preemption(struct shield *shield, const char *model)
{
    (void)shield, (void)model;
    return SHIELD_UNSUPPORTED;
}

bool shield_preemption(struct shield *shield, char *text, size_t bytes)
{
    (void)shield;
    snprintf(text, bytes, WHY);
    return false;
}

int shield_enter(struct shield *shield)
{
    (void)shield;
    return ENOTSUP;
}

struct shield_undone shield_close(struct shield *shield, shield_tell tell, void *context)
{
    struct shield_undone none = {0};
    (void)shield, (void)tell, (void)context;
    return none;
}

int shield_settings(const struct shield *shield, bool is_changed,
                    const char *settings[SHIELD_SETTINGS])
{
    (void)shield, (void)is_changed, (void)settings;
    return 0;
}

void shield_describe(const struct shield *shield, char *text, size_t bytes)
{
    (void)shield;
    snprintf(text, bytes, WHY);
}

void shield_note_text(const struct shield_note *note, char *text, size_t bytes)
{
    (void)note;
    snprintf(text, bytes, WHY);
}

struct remedy shield_remedy(int cpu)
{
    (void)cpu;
    return (struct remedy){"choose one of cpu.allowed in hardstone-probe facts", NULL};
}

int shield_command(const struct request *request, struct emit *emit)
{
    (void)request, (void)emit;
    message_write(WHY "; " REMEDY);
    return SHIELD_EXIT_PRIVILEGE;
}

#endif
