/* Names of ARM processors. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>

struct part {
    unsigned implementer, number;
    const char *name;
};

/* Implementer and part of MIDR_EL1, as the vendors' manuals give them. */
static const struct part parts[] = {
    {0x00, 0x051, "QEMU max"},
    {0x41, 0xd01, "Cortex-A32"},
    {0x41, 0xd02, "Cortex-A34"},
    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd04, "Cortex-A35"},
    {0x41, 0xd05, "Cortex-A55"},
    {0x41, 0xd06, "Cortex-A65"},
    {0x41, 0xd07, "Cortex-A57"},
    {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},
    {0x41, 0xd0b, "Cortex-A76"},
    {0x41, 0xd0c, "Neoverse N1"},
    {0x41, 0xd0d, "Cortex-A77"},
    {0x41, 0xd0e, "Cortex-A76AE"},
    {0x41, 0xd40, "Neoverse V1"},
    {0x41, 0xd41, "Cortex-A78"},
    {0x41, 0xd42, "Cortex-A78AE"},
    {0x41, 0xd44, "Cortex-X1"},
    {0x41, 0xd46, "Cortex-A510"},
    {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},
    {0x41, 0xd49, "Neoverse N2"},
    {0x41, 0xd4b, "Cortex-A78C"},
    {0x41, 0xd4d, "Cortex-A715"},
    {0x41, 0xd4e, "Cortex-X3"},
    {0x41, 0xd4f, "Neoverse V2"},
    {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},
    {0x41, 0xd82, "Cortex-X4"},
    {0x43, 0x0a1, "ThunderX"},
    {0x43, 0x0af, "ThunderX2"},
    {0x46, 0x001, "A64FX"},
    {0x48, 0xd01, "Kunpeng 920"},
    {0x4e, 0x004, "Carmel"},
    {0x61, 0x022, "Apple M1 Icestorm"},
    {0x61, 0x023, "Apple M1 Firestorm"},
    {0x61, 0x032, "Apple M2 Blizzard"},
    {0x61, 0x033, "Apple M2 Avalanche"},
    {0xc0, 0xac3, "Ampere-1"},
};

static void write_name(unsigned implementer, unsigned number, char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].implementer == implementer && parts[i].number == number) {
            snprintf(name, bytes, "%s", parts[i].name);
            return;
        }
    snprintf(name, bytes, "ARM implementer 0x%02x part 0x%03x", implementer, number);
}

static void add_once(struct linux_words *names, const char *name)
{
    const char *at = strstr(names->text, name);
    size_t length = strlen(name);
    while (at && ((at > names->text && at[-1] != ' ') || (at[length] && at[length] != ',')))
        at = strstr(at + 1, name);
    if (!at)
        linux_add_word(names, ", ", name);
}

static void look_at_cpu(void *context, int cpu)
{
    char path[96], text[32], name[64];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/regs/identification/midr_el1", cpu);
    if (!linux_read(path, text, sizeof text))
        return;
    unsigned long midr = strtoul(text, NULL, 16);
    write_name((unsigned)(midr >> 24 & 0xff), (unsigned)(midr >> 4 & 0xfff), name, sizeof name);
    add_once(context, name);
}

/* Linux before 4.8 has no register files; /proc/cpuinfo then tells of the first CPU. */
static void look_at_cpuinfo(struct linux_words *names)
{
    char implementer[16], number[16], name[64];
    if (!linux_cpuinfo("CPU implementer", implementer, sizeof implementer) ||
        !linux_cpuinfo("CPU part", number, sizeof number))
        return;
    write_name((unsigned)strtoul(implementer, NULL, 16), (unsigned)strtoul(number, NULL, 16), name,
               sizeof name);
    linux_add_word(names, ", ", name);
}

bool linux_arm_model(char *text, size_t bytes)
{
    struct linux_words names = {text, bytes, 0, 0};
    text[0] = '\0';
    linux_each_online(look_at_cpu, &names);
    if (!names.used)
        look_at_cpuinfo(&names);
    return names.used > 0;
}
