/* The shield on systems that cannot reserve a CPU: everything answers ENOTSUP. */
#include "port/shield.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char reason[] = "this port cannot reserve a CPU";

int port_shield_apply(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes)
{
    (void)shield;
    snprintf(text, bytes, "%s",
             setting == SHIELD_PREEMPTION ? "this port cannot switch the preemption model"
                                          : reason);
    return ENOTSUP;
}

bool port_shield_show(struct port_shield *shield, enum shield_setting setting, char *text,
                      size_t bytes)
{
    (void)shield, (void)setting;
    snprintf(text, bytes, "%s", reason);
    return false;
}

int port_shield_enter(const struct port_shield *shield)
{
    (void)shield;
    return ENOTSUP;
}

enum port_undo port_shield_undo(struct port_shield *shield, const struct port_changes *changes,
                                size_t index, char *text, size_t bytes)
{
    (void)shield, (void)changes, (void)index;
    snprintf(text, bytes, "%s", reason);
    return PORT_UNDO_REFUSED;
}

bool port_boot_name(char *text, size_t bytes)
{
    (void)text, (void)bytes;
    return false;
}

uint64_t port_process_start(pid_t pid)
{
    (void)pid;
    return 0;
}

void port_isolated_cpus(struct cpus *isolated, struct cpus *tickless)
{
    memset(isolated, 0, sizeof *isolated);
    memset(tickless, 0, sizeof *tickless);
}

int port_offline_error(int cpu)
{
    (void)cpu;
    return ENOTSUP;
}

int port_online_cpus(struct cpus *online)
{
    (void)online;
    return -1;
}

bool port_is_online(int cpu)
{
    (void)cpu;
    return true;
}
